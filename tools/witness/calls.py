# SPDX-License-Identifier: Apache-2.0
"""Which system calls are reported to the supervisor, and the BPF program that picks them out.

A call that only looks never stops: `open` is reported only with a flag that writes or creates. What cannot be told from
numbers (the flags of `openat2` lie in memory) is always reported.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

AUDIT_ARCH_X86_64 = 0xC000003E
X32_BIT = 0x40000000
WRITE_FLAGS = 0o1 | 0o2 | 0o100 | 0o1000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC."""
NEW_NAMESPACES = 0x7E020000
"""Every CLONE_NEW... flag of clone(2)."""
IPC_CREAT = 0o1000
PTRACE_BEGINS = (0, 16, 0x4206)
"""PTRACE_TRACEME, PTRACE_ATTACH, PTRACE_SEIZE: what comes after them comes by the thousand."""


@dataclass(frozen=True)
class Call:
    """A reported system call.

    `kind` is the word of the report. `paths` are (argument of the directory descriptor or None, argument of the path);
    `descriptor` is the argument that is an open file. `when` limits the report: ("set", argument, mask), ("not",
    argument, value) or ("in", argument, values), on the lower 32 bits; all must hold. `refused` is answered with EPERM
    whatever it asks for.
    """

    kind: str
    paths: tuple[tuple[int | None, int], ...] = ()
    descriptor: int | None = None
    when: tuple[tuple[str, int, int | tuple[int, ...]], ...] = ()
    refused: bool = False


def _at(kind: str, *pairs: tuple[int | None, int]) -> Call:
    return Call(kind, pairs)


CALLS: dict[int, Call] = {
    2: Call("open", ((None, 0),), when=(("set", 1, WRITE_FLAGS),)),
    257: Call("open", ((0, 1),), when=(("set", 2, WRITE_FLAGS),)),
    437: _at("openat2", (0, 1)),
    85: _at("create", (None, 0)),
    76: _at("truncate", (None, 0)),
    83: _at("mkdir", (None, 0)),
    258: _at("mkdir", (0, 1)),
    84: _at("delete", (None, 0)),
    87: _at("delete", (None, 0)),
    263: _at("delete", (0, 1)),
    82: _at("rename", (None, 0), (None, 1)),
    264: _at("rename", (0, 1), (2, 3)),
    316: _at("rename", (0, 1), (2, 3)),
    86: _at("link", (None, 1)),
    265: _at("link", (2, 3)),
    88: _at("symlink", (None, 1)),
    266: _at("symlink", (1, 2)),
    90: _at("chmod", (None, 0)),
    91: Call("chmod", descriptor=0),
    268: _at("chmod", (0, 1)),
    452: _at("chmod", (0, 1)),
    92: _at("chown", (None, 0)),
    93: Call("chown", descriptor=0),
    94: _at("chown", (None, 0)),
    260: _at("chown", (0, 1)),
    132: _at("utime", (None, 0)),
    235: _at("utime", (None, 0)),
    261: _at("utime", (0, 1)),
    280: _at("utime", (0, 1)),
    133: _at("mknod", (None, 0)),
    259: _at("mknod", (0, 1)),
    188: _at("xattr", (None, 0)),
    189: _at("xattr", (None, 0)),
    190: Call("xattr", descriptor=0),
    197: _at("xattr", (None, 0)),
    198: _at("xattr", (None, 0)),
    199: Call("xattr", descriptor=0),
    463: _at("xattr", (0, 1)),
    466: _at("xattr", (0, 1)),
    469: _at("xattr", (0, 1)),
    59: _at("exec", (None, 0)),
    322: _at("exec", (0, 1)),
    42: Call("connect"),
    49: Call("bind"),
    50: Call("listen"),
    44: Call("sendto", when=(("not", 5, 0),)),
    46: Call("sendmsg"),
    307: Call("sendmmsg"),
    62: Call("kill", when=(("not", 1, 0),)),
    200: Call("kill", when=(("not", 1, 0),)),
    234: Call("tgkill", when=(("not", 2, 0),)),
    129: Call("kill", when=(("not", 1, 0),)),
    297: Call("tgkill", when=(("not", 2, 0),)),
    424: Call("pidfd_send_signal", when=(("not", 1, 0),)),
    302: Call("prlimit", when=(("not", 0, 0), ("not", 2, 0))),
    141: Call("setpriority", when=(("not", 1, 0),)),
    144: Call("sched_setscheduler", when=(("not", 0, 0),)),
    203: Call("sched_setaffinity", when=(("not", 0, 0),)),
    251: Call("ioprio_set", when=(("not", 1, 0),)),
    29: Call("shmget", when=(("set", 2, IPC_CREAT),)),
    64: Call("semget", when=(("set", 2, IPC_CREAT),)),
    68: Call("msgget", when=(("set", 1, IPC_CREAT),)),
    31: Call("shmctl"),
    66: Call("semctl"),
    71: Call("msgctl"),
    240: Call("mq_open", when=(("set", 1, WRITE_FLAGS),)),
    241: Call("mq_unlink"),
    16: Call("ioctl"),
    101: Call("ptrace", when=(("in", 0, PTRACE_BEGINS),)),
    425: Call("io_uring_setup", refused=True),
    56: Call("clone", when=(("set", 0, NEW_NAMESPACES),), refused=True),
    **{
        number: Call(name, refused=True)
        for number, name in {
            165: "mount",
            166: "umount",
            155: "pivot_root",
            161: "chroot",
            308: "setns",
            272: "unshare",
            321: "bpf",
            298: "perf_event_open",
            175: "init_module",
            313: "finit_module",
            176: "delete_module",
            246: "kexec_load",
            320: "kexec_file_load",
            169: "reboot",
            167: "swapon",
            168: "swapoff",
            164: "settimeofday",
            227: "clock_settime",
            311: "process_vm_writev",
            438: "pidfd_getfd",
            323: "userfaultfd",
            170: "sethostname",
            171: "setdomainname",
            163: "acct",
            179: "quotactl",
            443: "quotactl",
            248: "add_key",
            249: "request_key",
            250: "keyctl",
            304: "open_by_handle_at",
            428: "open_tree",
            429: "move_mount",
            430: "fsopen",
            431: "fsconfig",
            432: "fsmount",
            433: "fspick",
            442: "mount_setattr",
            467: "open_tree",
            172: "iopl",
            173: "ioperm",
            153: "vhangup",
            180: "nfsservctl",
        }.items()
    },
}

IOCTLS = {
    0x40086602: "set file flags",  # FS_IOC_SETFLAGS
    0x401C5820: "set file flags",  # FS_IOC_FSSETXATTR
    0x40049409: "clone a file",  # FICLONE
    0x4020940D: "clone a file",  # FICLONERANGE
    0x5412: "type into a terminal",  # TIOCSTI
    0x541C: "command the console",  # TIOCLINUX
    0xC0109428: "dedupe",  # FIDEDUPERANGE (size varies by version)
}

CLONE3, ENOSYS = 435, 38
SOCKET, EACCES = 41, 13

_LOAD, _EQUAL, _SET, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _NOTIFY, _ERROR = 0x7FFF0000, 0x7FC00000, 0x00050000


def program(*, sockets: bool = True) -> bytes:
    """The BPF program, eight bytes an instruction. Without `sockets` none can be made.

    `clone3` hides its flags in memory and is refused with ENOSYS: every libc falls back to `clone`. A call of another
    architecture is reported too, whatever it is.
    """
    code: list[tuple[int, int, int, int]] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, AUDIT_ARCH_X86_64),
        (_RETURN, 0, 0, _NOTIFY),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, 0, 1, X32_BIT),
        (_RETURN, 0, 0, _NOTIFY),
        (_EQUAL, 0, 1, CLONE3),
        (_RETURN, 0, 0, _ERROR | ENOSYS),
    ]
    if not sockets:
        code += [(_EQUAL, 0, 1, SOCKET), (_RETURN, 0, 0, _ERROR | EACCES)]
    for number, call in CALLS.items():
        if call.kind == "ioctl":
            tests = [(_EQUAL, command) for command in IOCTLS]
            body = [(_LOAD, 0, 0, _argument(1))]
            body += [(test, len(tests) - place, 0, value) for place, (test, value) in enumerate(tests)]
            body += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _NOTIFY)]
        else:
            body = [(_RETURN, 0, 0, _NOTIFY)]
            if call.when:
                body.append((_RETURN, 0, 0, _ALLOW))
            for test, argument, value in reversed(call.when):
                past = len(body) - 1  # over the remaining tests, onto "allow"
                if isinstance(value, tuple):
                    known = [(_EQUAL, len(value) - place - 1, 0, each) for place, each in enumerate(value)]
                    body = [*known[:-1], (_EQUAL, 0, past, value[-1]), *body]
                elif test == "set":
                    body.insert(0, (_SET, 0, past, value))
                else:
                    body.insert(0, (_EQUAL, past, 0, value))
                body.insert(0, (_LOAD, 0, 0, _argument(argument)))
        code.append((_EQUAL, 0, len(body), number))
        code += body
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _argument(number: int) -> int:
    return 16 + 8 * number
