# SPDX-License-Identifier: Apache-2.0
"""To which class a path belongs: what a rule may declare (`git-index`, `cache`, `tmp`) and what it may not."""

from __future__ import annotations

HOME = "/home/user"
WORK = f"{HOME}/work"
TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/", "/run/user/", "/run/lock/", "/run/screen/")
LOGS = frozenset(
    {
        "/dev/log",
        "/dev/console",
        "/run/systemd/journal/socket",
        "/run/systemd/journal/dev-log",
        "/var/log/apt/eipp.log.xz",
        "/var/log/zypper.log",
        "/var/log/btmp",
        "/var/log/wtmp",
        "/var/log/lastlog",
    }
)
"""Where the system's log is written to: a class of its own, since many tools note there that they ran."""

ALIASES = ("/testbed", "/workspace", "/repo", "/app", "/project", "/code")
"""Names under which recorded commands look for their project; each is a link to `WORK`."""
PROJECTS = (
    *(f"{HOME}/{name}" for name in ("work", "repo", "project", "hostile", "code", "tree", "src")),
    *ALIASES,
)
"""Folders that count as workspaces; the first is the one that commands are run in."""

_HARMLESS_DEVICES = frozenset(
    f"/dev/{name}"
    for name in ("null", "zero", "full", "tty", "random", "urandom", "ptmx", "stdin", "stdout", "stderr")
)
_CACHE_NAMES = frozenset(
    {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".eslintcache", ".gradle"}
)
_HG_CACHES = ("dirstate", ".dirstate", "undo.backup.dirstate", "wcache", "cache", "wlock", "tmp")
_CACHES = (
    *(
        f"{HOME}/{name}/"
        for name in (
            ".cache",
            ".npm",
            ".kube/cache",
            ".kube/http-cache",
            ".cargo/registry",
            ".config/go/telemetry",
            ".config/helm/cache",
            ".docker/scout",
            ".java",
            ".m2",
            ".conda",
            ".rustup",
            ".terraform.d/checkpoint_cache",
            ".terraform.d/checkpoint_signature",
            ".ansible/tmp",
            ".local/share/gem/specs",
            ".config/gcloud",
            ".gsutil",
            ".local/share/uv/tools",
            ".azure",
            ".docker/trust",
            ".config/fossil.db",
            ".config/fossil.db-journal",
            ".rpmdb",
            ".local/share/flatpak",
            ".local/share/tldr",
            ".subversion",
            ".config/procps",
            ".config/htop",
        )
    ),
    "/var/cache/man/",
    "/var/lib/libuuid/",
    "/var/lib/dnf/",
    "/var/lib/pacman/local/",
    "/var/lib/rpm/rpmdb.sqlite/",
)
"""Places that a tool fills by itself and can do without: a rule may declare them as `cache`."""


def class_of(path: str) -> str | None:
    """The class of an absolute path; None for what every program opens and nobody keeps."""
    if path in _HARMLESS_DEVICES or path.startswith(
        ("/dev/pts/", "/dev/fd/", "pipe:", "socket:", "anon_inode:")
    ):
        return None
    if path.startswith("/memfd:") or not path.startswith("/"):
        return None
    if path.startswith("/proc/"):
        return None if _own_process_file(path) else "kernel"
    if path in LOGS:
        return "log"
    if path.startswith("/sys/"):
        return "kernel"
    if path.startswith(TEMPORARY) or f"{path}/" in TEMPORARY:
        return "tmp"
    if path.startswith("/dev/"):
        return "kernel"
    if "/.git/" in path and path.endswith(("/index", "/index.lock")):
        return "git-index"  # also that of a submodule or of another working tree
    if "/.hg/" in path and path.partition("/.hg/")[2].startswith(_HG_CACHES):
        return "cache"  # what Mercurial remembers of the times of files, as git does in its index
    if not _CACHE_NAMES.isdisjoint(path.split("/")) or f"{path}/".startswith(_CACHES):
        return "cache"
    if any(path == folder or path.startswith(f"{folder}/") for folder in PROJECTS):
        return "workspace"
    if path == HOME or path.startswith(f"{HOME}/"):
        return "home"
    return "system"


def _own_process_file(path: str) -> bool:
    """Files of /proc that a process writes about itself, without an effect on any other."""
    parts = path.split("/")
    if len(parts) < 4 or not (parts[2] in ("self", "thread-self") or parts[2].isdigit()):
        return False
    return parts[-1] in (
        "comm",
        "oom_score_adj",
        "oom_adj",
        "coredump_filter",
        "loginuid",
        "timerslack_ns",
        "autogroup",
        "setgroups",
        "uid_map",
        "gid_map",
    ) or parts[-2] in ("fd",)
