#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that some tests use as a second opinion, and tools whose reads the witness runs. What needs a
# program that is missing is skipped with a reason, so this is never needed to work on shellguard. Run as root; a second run changes nothing.
set -euo pipefail

packages=(
  dash # what other shells make of a text: the rules for the dialect `any`
  zsh
  busybox # a second opinion on sed, awk, tar and find
  csvkit  # the tools that the tables of tests/analysis/small run
  datamash
  gawk
  git
  jq
  libarchive-tools
  libxml2-utils
  mawk
  miller
  openssh-client
  original-awk
  rsync
  toybox
  yq
  perl # scripts in words: what they really do
  strace # commands that run commands: what reaches the one inside
  ltrace
  hyperfine
  faketime
  expect
  fd-find
  runit
  eatmydata
  fakeroot
  dbus
  valgrind
  rlwrap
  direnv
  time
  ruby
  nodejs
  php-cli
  docker.io # templates; the client alone is asked, without a daemon
  # what the quick run of the witness tries, beside what every Debian has
  bsdextrautils
  curl
  dnsutils
  fd-find
  file
  iproute2
  less
  lsof
  openssl
  procps
  ripgrep
  shellcheck
  sqlite3
  tree
  unzip
  xxd
  zip
)
if [[ ${SHELLGUARD_SERVERS:-} ]]; then # large, and used by tests/analysis/test_sql.py alone
  packages+=(mariadb-client mariadb-server postgresql util-linux)
fi

missing=()
for package in "${packages[@]}"; do
  if [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
    missing+=("$package")
  fi
done

if [[ ${#missing[@]} -eq 0 ]]; then
  echo "already installed: ${packages[*]}"
  exit 0
fi

# A machine without a network must be told so soon, not after minutes of retries.
options=(-o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o DPkg::Lock::Timeout=60)
export DEBIAN_FRONTEND=noninteractive
apt-get "${options[@]}" update -qq
apt-get "${options[@]}" install -y -qq --no-install-recommends "${missing[@]}" </dev/null
echo "installed: ${missing[*]}"
