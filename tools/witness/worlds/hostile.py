# SPDX-License-Identifier: Apache-2.0
"""The hostile world: the plain one, where every configuration file that a tool may obey runs a marker program.

A marker is a program of its own, `~/.traps/KIND/NAME`; the witness sees it being started. KIND says how such a file reaches
a user: `clone` arrives with the files of a repository, `repo` is the repository's own configuration, `home` lies in the home.
"""

from __future__ import annotations

from pathlib import Path

from tools.witness.places import HOME
from tools.witness.worlds import plain

TRAPS = f"{HOME}/.traps"
KINDS = ("clone", "repo", "home")


def trap_of(path: str) -> str | None:
    """`KIND/NAME` where the path is a marker program, else None."""
    return path.removeprefix(f"{TRAPS}/") if path.startswith(f"{TRAPS}/") else None


def build(home: Path) -> None:
    """Fills an empty folder: the plain world first, then the traps."""
    plain.build(home)
    made: set[str] = set()

    def trap(kind: str, name: str) -> str:
        made.add(f"{kind}/{name}")
        return f"{TRAPS}/{kind}/{name}"

    _traps_of_clone(home / "work", trap)
    _traps_of_repository(home / "work/.git", trap)
    _traps_of_home(home, trap)
    for name in made:
        # A filter must give its input back, or the tool that asked for it stops before it does anything else.
        plain.write(home / ".traps" / name, b"#!/bin/sh\n[ -t 0 ] || timeout 1 cat\nexit 0\n", 0o755)


def _python(trap: str) -> str:
    return f"import os\nos.system({trap!r} + ' </dev/null')\n"


def _javascript(trap: str) -> str:
    return f"require('child_process').execFileSync({trap!r}, {{input: ''}});\n"


def _traps_of_clone(work: Path, trap: "Trap") -> None:
    def put(name: str, text: str, mode: int = 0o644) -> None:
        plain.write(work / name, text.encode(), mode)

    make = trap("clone", "make")
    put("Makefile", f"X := $(shell {make})\nall:\n\t+@{make}\n\t@echo foo\n.PHONY: all\n")
    put("GNUmakefile", f"X := $(shell {make})\nall:\n\t+@{make}\n")
    for name in (
        "calendar",
        "json",
        "tokenize",
        "ast",
        "py_compile",
        "timeit",
        "base64",
        "site_packages",
        "zipfile",
    ):
        put(f"{name}.py", _python(trap("clone", f"module-{name}")))
    put("conftest.py", _python(trap("clone", "conftest")))
    put("setup.py", _python(trap("clone", "setup")))
    put("noxfile.py", _python(trap("clone", "nox")))
    put("fabfile.py", _python(trap("clone", "fab")))
    put("tasks.py", _python(trap("clone", "invoke")))
    put("manage.py", _python(trap("clone", "manage")))
    put("plugin_of_mypy.py", _python(trap("clone", "mypy")) + "def plugin(version): ...\n")
    put("mypy.ini", "[mypy]\nplugins = ./plugin_of_mypy.py\n")
    pylint = trap("clone", "pylint")
    put(".pylintrc", f"[MAIN]\ninit-hook=import os; os.system('{pylint} </dev/null')\n")
    put("tox.ini", f"[tox]\nskipsdist=true\n[testenv]\ncommands={trap('clone', 'tox')}\n")
    put(".flake8", "[flake8:local-plugins]\nextension =\n  X = plugin_of_flake8:Plugin\npaths = .\n")
    put("plugin_of_flake8.py", _python(trap("clone", "flake8")))
    put("eslint.config.js", _javascript(trap("clone", "eslint")) + "module.exports = [];\n")
    put(".eslintrc.js", _javascript(trap("clone", "eslint")) + "module.exports = {};\n")
    put("prettier.config.js", _javascript(trap("clone", "prettier")) + "module.exports = {};\n")
    put(".prettierrc.js", _javascript(trap("clone", "prettier")) + "module.exports = {};\n")
    put("jest.config.js", _javascript(trap("clone", "jest")) + "module.exports = {};\n")
    put("vitest.config.js", _javascript(trap("clone", "vitest")) + "module.exports = {};\n")
    put("webpack.config.js", _javascript(trap("clone", "webpack")) + "module.exports = {};\n")
    put(".cargo/config.toml", f'[build]\nrustc = "{trap("clone", "cargo")}"\n')
    put("rust-toolchain.toml", '[toolchain]\npath = "/home/user/.traps/toolchain"\n')
    plain.write(
        work.parent / ".traps/toolchain/bin/rustc",
        f"#!/bin/sh\n{trap('clone', 'toolchain')}\n".encode(),
        0o755,
    )
    put("build.rs", "fn main() {}\n")
    put("ansible.cfg", f"[defaults]\ninventory = {trap('clone', 'ansible')}\n")
    put(".gdbinit", f"shell {trap('clone', 'gdbinit')}\n")
    put(".lldbinit", f"platform shell {trap('clone', 'lldbinit')}\n")
    npm = trap("clone", "npmrc")
    put(
        ".npmrc",
        f"node-options=--require {work_path('hook.js')}\ngit={npm}\neditor={npm}\nshell={npm}\nscript-shell={npm}\n",
    )
    put("hook.js", _javascript(npm))
    put(".pnpmfile.cjs", _javascript(trap("clone", "pnpm")))
    put(".yarnrc.yml", "yarnPath: ./hook-of-yarn.js\n")
    put(".yarnrc", "yarn-path ./hook-of-yarn.js\n")
    put("hook-of-yarn.js", _javascript(trap("clone", "yarn")))
    put("Rakefile", f"system('{trap('clone', 'rake')}')\n")
    put("Gemfile", f"system('{trap('clone', 'bundle')}')\nsource 'https://example.org'\n")
    put(
        "x.gemspec",
        f"system('{trap('clone', 'gemspec')}')\nGem::Specification.new {{ |s| s.name='x'; s.version='1' }}\n",
    )
    put("Vagrantfile", f"system('{trap('clone', 'vagrant')}')\n")
    put(".rubocop.yml", "require:\n  - ./hook_of_rubocop.rb\n")
    put("hook_of_rubocop.rb", f"system('{trap('clone', 'rubocop')}')\n")
    put(".rspec", "--require ./hook_of_rspec.rb\n")
    put("hook_of_rspec.rb", f"system('{trap('clone', 'rspec')}')\n")
    put(".irbrc", f"system('{trap('clone', 'irb')}')\n")
    put(".pryrc", f"system('{trap('clone', 'pry')}')\n")
    put(".Rprofile", f"system('{trap('clone', 'R')}')\n")
    put(".pdbrc", f"import os; os.system('{trap('clone', 'pdb')}')\n")
    put(".ghci", f":! {trap('clone', 'ghci')}\n")
    put(
        "CMakeLists.txt",
        f"cmake_minimum_required(VERSION 3.1)\nexecute_process(COMMAND {trap('clone', 'cmake')})\n",
    )
    put("meson.build", f"project('x')\nrun_command('{trap('clone', 'meson')}', check: false)\n")
    put("build.gradle", f"['{trap('clone', 'gradle')}'].execute()\n")
    put("gradlew", f"#!/bin/sh\n{trap('clone', 'gradle')}\n", 0o755)
    put("justfile", f"x := `{trap('clone', 'just')}`\nall:\n  echo {{{{x}}}}\n")
    put("Jenkinsfile", "")
    put(".envrc", f"{trap('clone', 'direnv')}\n")
    put(".luacheckrc", f"os.execute('{trap('clone', 'luacheck')}')\n")
    put(".perltidyrc", "")
    put("phpunit.xml", '<phpunit bootstrap="hook.php"/>\n')
    put("hook.php", f"<?php system('{trap('clone', 'php')}');\n")
    put("composer.json", '{"scripts": {"pre-autoload-dump": "%s"}}\n' % trap("clone", "composer"))
    put(
        "package.json",
        '{"name":"x","version":"1.0.0","scripts":{"test":"%s","prepare":"%s"}}\n'
        % ((trap("clone", "npm-script"),) * 2),
    )
    put(
        ".pre-commit-config.yaml",
        "repos:\n- repo: local\n  hooks:\n  - {id: x, name: x, entry: %s, language: system}\n"
        % trap("clone", "pre-commit"),
    )
    put(".gitattributes", "*.txt diff=trap filter=trap merge=trap\n*.py diff=trap filter=trap\n")
    put(".terraformrc", "")
    put("Procfile", f"web: {trap('clone', 'procfile')}\n")
    put("dodo.py", _python(trap("clone", "doit")))
    put("SConstruct", _python(trap("clone", "scons")))
    put("wscript", _python(trap("clone", "waf")))
    put(".ctags.d/x.ctags", "")
    put("mix.exs", "")
    put(".vscode/settings.json", "{}\n")


def work_path(name: str) -> str:
    """Where a file of the workspace lies for a command."""
    return f"{HOME}/work/{name}"


def _traps_of_repository(git: Path, trap: "Trap") -> None:
    config = git / "config"
    values = {
        "core": {
            "fsmonitor": "fsmonitor",
            "pager": "pager",
            "editor": "editor",
            "sshCommand": "ssh",
            "askPass": "askpass",
            "gitProxy": "proxy",
            "alternateRefsCommand": "alternates",
        },
        "diff": {"external": "diff-external"},
        'diff "trap"': {"textconv": "textconv", "command": "diff-command"},
        'filter "trap"': {"clean": "clean", "smudge": "smudge"},
        'merge "trap"': {"driver": "merge"},
        "gpg": {"program": "gpg"},
        'gpg "ssh"': {"program": "gpg-ssh"},
        "credential": {"helper": "credential"},
        "sequence": {"editor": "sequence-editor"},
        "interactive": {"diffFilter": "diff-filter"},
        "uploadpack": {"packObjectsHook": "pack-objects"},
        'difftool "trap"': {"cmd": "difftool"},
        'mergetool "trap"': {"cmd": "mergetool"},
        'browser "trap"': {"cmd": "browser"},
        'man "trap"': {"cmd": "man"},
        'remote "origin"': {"uploadpack": "uploadpack", "receivepack": "receivepack"},
        'trailer "sign"': {"command": "trailer"},
        "sendemail": {"smtpServer": "sendemail"},
        "instaweb": {"browser": "instaweb"},
        "imap": {"tunnel": "imap"},
        'lfs "customtransfer.trap"': {"path": "lfs"},
        'tar "tar.gz"': {"command": "archive"},
    }
    text = ""
    for section, entries in values.items():
        text += f"[{section}]\n"
        text += "".join(f"\t{key} = {trap('repo', name)}\n" for key, name in entries.items())
    text += f"[alias]\n\tst = !{trap('repo', 'alias')}\n[diff]\n\ttool = trap\n[merge]\n\ttool = trap\n"
    text += "[help]\n\tbrowser = trap\n[man]\n\tviewer = trap\n"
    text += f"[core]\n\thooksPath = {HOME}/.traps/repo/hooks\n"
    for hook in (
        "pre-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-auto-gc",
        "post-rewrite",
    ):
        trap("repo", f"hooks/{hook}")
    with config.open("a", encoding="ascii") as stream:
        stream.write(text)


def _traps_of_home(home: Path, trap: "Trap") -> None:
    def put(name: str, text: str, mode: int = 0o644) -> None:
        plain.write(home / name, text.encode(), mode)

    put(".sqliterc", f".shell {trap('home', 'sqlite')}\n")
    put(".psqlrc", f"\\! {trap('home', 'psql')}\n")
    put(".duckdbrc", f".shell {trap('home', 'duckdb')}\n")
    put(".my.cnf", f"[mysql]\npager={trap('home', 'mysql')}\n")
    put(".gdbinit", f"shell {trap('home', 'gdb')}\nset auto-load safe-path /\n")
    put(".lldbinit", f"platform shell {trap('home', 'lldb')}\n")
    put(".npmrc", f"node-options=--require {HOME}/hook.js\n")
    put("hook.js", _javascript(trap("home", "npm")))
    put(".cargo/config.toml", f'[build]\nrustc-wrapper = "{trap("home", "cargo")}"\n')
    put(
        ".config/gh/config.yml",
        f"git_protocol: https\nprompt: disabled\npager: {trap('home', 'gh')}\neditor: {trap('home', 'gh')}\naliases:\n    st: '!{trap('home', 'gh-alias')}'\n",
    )
    put(".config/bat/config", f'--pager="{trap("home", "bat")}"\n--paging=always\n')
    put(".ackrc", f"--pager={trap('home', 'ack')}\n")
    put(".hgrc", f"[hooks]\npre-status = {trap('home', 'hg')}\n[alias]\nst = !{trap('home', 'hg-alias')}\n")
    put(
        ".subversion/config",
        f"[helpers]\ndiff-cmd = {trap('home', 'svn')}\neditor-cmd = {trap('home', 'svn')}\n",
    )
    put(".ssh/config", f"Host *\n  ProxyCommand {trap('home', 'ssh')}\n", 0o600)
    put(".lessfilter", f"#!/bin/sh\n{trap('home', 'lessfilter')}\n", 0o755)
    put(".bashrc", f"{trap('home', 'bashrc')} </dev/null\n")
    put(".bash_profile", f"{trap('home', 'profile')} </dev/null\n")
    put(".profile", f"{trap('home', 'profile')} </dev/null\n")
    put(".zshenv", f"{trap('home', 'zshenv')} </dev/null\n")
    put(".Rprofile", f"system('{trap('home', 'R')}')\n")
    put(".irbrc", f"system('{trap('home', 'irb')}')\n")
    put(".pdbrc", f"import os; os.system('{trap('home', 'pdb')}')\n")
    put(
        ".aws/config",
        f"[default]\nregion = us-east-1\ncredential_process = {trap('home', 'aws')}\ncli_pager = {trap('home', 'aws-pager')}\n",
    )
    (home / ".aws/credentials").unlink()
    put(".docker/config.json", '{"credsStore": "trap"}\n')
    put(".gnupg/gpg.conf", f"photo-viewer {trap('home', 'gpg')}\n")
    put(".ansible.cfg", f"[defaults]\ninventory = {trap('home', 'ansible')}\n")
    put(".tmux.conf", f"run-shell {trap('home', 'tmux')}\n")
    put(".mailcap", f"text/*; {trap('home', 'mailcap')}\n")
    put(".perldb", f"system '{trap('home', 'perldb')}';\n")
    put(
        ".kube/config",
        (home / ".kube/config")
        .read_text()
        .replace(
            '{"token": "x"}',
            '{"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "%s", "interactiveMode": "Never"}}'
            % trap("home", "kubectl"),
        ),
    )
    put(
        ".gitconfig",
        (home / ".gitconfig").read_text()
        + f"[alias]\n\thome = !{trap('home', 'git-alias')}\n[pager]\n\tbranch = {trap('home', 'git-pager')}\n\tlog = {trap('home', 'git-pager')}\n",
    )
    put(".curlrc", f'output = "{HOME}/.traps-curlrc"\n')
    put(".wgetrc", f"output_document = {HOME}/.traps-wgetrc\n")
    put(".netrc", "", 0o600)
    put(".inputrc", "")


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Trap: TypeAlias = Callable[[str, str], str]
