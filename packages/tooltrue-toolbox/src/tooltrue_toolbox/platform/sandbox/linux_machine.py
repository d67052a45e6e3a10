"""The confinement mechanisms of this machine: Landlock, seccomp, namespaces, and the limits of a process.

Each function changes one thing in the calling process, irrevocably, and raises ``OSError`` where the kernel refuses.
They are called between fork and exec, in :mod:`tooltrue_toolbox.platform.sandbox.linux_supervisor`. Linux only.

Structures and numbers are those of ``linux/landlock.h``, ``linux/seccomp.h`` and ``asm/unistd.h``.
"""

from __future__ import annotations

import sys

assert sys.platform == "linux"

import ctypes
import errno
import os
import resource
import signal
import stat
import struct
from collections.abc import Iterable, Mapping

__all__ = [
    "DEVICES",
    "SYSTEM",
    "drop_privileges",
    "filter_calls",
    "landlock",
    "limit",
    "own_processes",
    "separate",
    "usual_signals",
]

SYSTEM: tuple[str, ...] = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    *(
        f"/etc/{name}"
        for name in (
            "alternatives",
            "ca-certificates",
            "gitattributes",
            "gitconfig",
            "group",
            "host.conf",
            "hosts",
            "ld.so.cache",
            "ld.so.conf",
            "ld.so.conf.d",
            "locale.alias",
            "localtime",
            "magic",
            "mime.types",
            "nsswitch.conf",
            "passwd",
            "pki",
            "protocols",
            "resolv.conf",
            "services",
            "ssl/certs",
            "ssl/openssl.cnf",
            "timezone",
        )
    ),
    "/sys/devices/system/cpu",
    "/dev/random",
    "/dev/urandom",
)
"""Paths that any program may read and run: programs, libraries, and system configuration. No home, no logs, no
secrets."""

DEVICES: tuple[str, ...] = ("/dev/null", "/dev/zero", "/dev/full")
"""Paths that any program may write."""

_libc = ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: object) -> int:
    return _check_call(_libc.syscall(ctypes.c_long(number), *arguments))


def _prctl(option: int, *arguments: int) -> int:
    words = [ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0, 0)[:4]]
    return _check_call(_libc.prctl(ctypes.c_int(option), *words))


def _check_call(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def usual_signals() -> None:
    """Restore the default handling of the signals that Python ignores."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)


# Privileges

_PR_CAPBSET_READ, _PR_CAPBSET_DROP = 23, 24
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_PR_SET_NO_NEW_PRIVS = 38


def drop_privileges() -> None:
    """Prevent this process and its children from gaining privileges; root keeps access to its files, and no
    capability."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        try:
            _prctl(_PR_CAPBSET_READ, capability)
        except OSError:
            break  # past the last one that the kernel knows
        try:
            _prctl(_PR_CAPBSET_DROP, capability)
        except PermissionError:
            break  # a process that may not drop any has none to drop


# Limits


def limit(bounds: Mapping[str, int]) -> None:
    """Set ``RLIMIT_…`` by name, such as ``{"CPU": 10}``; never above the current maximum. Core dumps are disabled."""
    for name, value in {**bounds, "CORE": 0}.items():
        number: int = getattr(resource, f"RLIMIT_{name}")
        _, most = resource.getrlimit(number)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(number, (value, value))


# Namespaces

_NEWNS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 16384, 1 << 18


def separate(*, network: bool) -> None:
    """Move the children of this process to new namespaces, where they see no other processes, end with the first of
    them, and have no network unless ``network`` is set. Without root this takes a user namespace, too."""
    flags = _NEWPID | _NEWIPC | (0 if network else _NEWNET)
    if os.geteuid() == 0:
        _check_call(_libc.unshare(flags))
        return
    user, group = os.geteuid(), os.getegid()
    _check_call(_libc.unshare(flags | _NEWUSER))
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def own_processes() -> None:
    """Mount ``/proc`` of the namespace that :func:`separate` has made, for this process and its children."""
    _check_call(_libc.unshare(_NEWNS))
    _check_call(_libc.mount(None, b"/", None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None))
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _check_call(_libc.mount(b"proc", b"/proc", b"proc", ctypes.c_ulong(flags), None))


# Landlock

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE = 1 << 14
_REMOVE = 1 << 4 | 1 << 5
_MAKE = 1 << 7 | 1 << 8 | 1 << 10 | 1 << 12  # directories, files, pipes, links; neither devices nor sockets
_REFER = 1 << 13
_ALL_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_WRITE = _WRITE_FILE | _TRUNCATE | _REMOVE | _MAKE | _REFER
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE

_TCP = 1 << 0 | 1 << 1  # bind, connect; from version 4
_SCOPES = 1 << 0 | 1 << 1  # abstract sockets, signals; from version 6


def landlock(readable: Iterable[str], writable: Iterable[str | int], *, network: bool) -> None:
    """Restrict opening to these folders and files, given by path or descriptor, for this process and its children.
    Paths that do not exist are left out."""
    version = _call(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG))
    handled = _ALL_OF_VERSION[min(version, 5)]
    net = 0 if network or version < 4 else _TCP
    attributes = struct.pack("=QQQ", handled, net, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = _call(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in readable:
            _permit(rules, path, _READ & handled)
        for path in writable:
            _permit(rules, path, (_READ | _WRITE) & handled)
        _call(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    finally:
        os.close(rules)


def _permit(rules: int, place: str | int, access: int) -> None:
    try:
        fd = os.dup(place) if isinstance(place, int) else os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
            return
        raise
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= _OF_FILES
        rule = struct.pack("=Qi", access, fd)
        _call(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(fd)


# seccomp

# machine → AUDIT_ARCH_…, and the numbers of the calls below
_ARCHITECTURES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "socket": 41, "clone": 56, "ptrace": 101, "mount": 165, "umount2": 166, "pivot_root": 155, "swapon": 167,
            "reboot": 169, "init_module": 175, "add_key": 248, "request_key": 249, "keyctl": 250, "unshare": 272,
            "perf_event_open": 298, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
            "process_vm_writev": 311, "finit_module": 313, "kexec_load": 246, "bpf": 321, "userfaultfd": 323,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "socket": 198, "clone": 220, "ptrace": 117, "mount": 40, "umount2": 39, "pivot_root": 41, "swapon": 224,
            "reboot": 142, "init_module": 105, "add_key": 217, "request_key": 218, "keyctl": 219, "unshare": 97,
            "perf_event_open": 241, "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270,
            "process_vm_writev": 271, "finit_module": 273, "kexec_load": 104, "bpf": 280, "userfaultfd": 282,
        },
    ),
}  # fmt: skip
# The same everywhere. The filter cannot see the arguments of clone3, and io_uring bypasses the filter.
_COMMON = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "clone3": 435, "pidfd_getfd": 438,
}  # fmt: skip
_ABSENT = frozenset(("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"))  # ENOSYS: there is another way

# Calls that change modes, owners, times and attributes of files: Landlock leaves these to the files' permissions.
_ATTRIBUTES: dict[str, dict[str, int]] = {
    "x86_64": {
        "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "utime": 132, "setxattr": 188,
        "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "utimes": 235,
        "fchownat": 260, "futimesat": 261, "fchmodat": 268, "utimensat": 280,
    },
    "aarch64": {
        "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
        "fchmod": 52, "fchmodat": 53, "fchownat": 54, "fchown": 55, "utimensat": 88,
    },
}  # fmt: skip
_COMMON_ATTRIBUTES = {"fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469}

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NEW_NAMESPACES = 0x7E020080  # every CLONE_NEW…
_X32 = 0x40000000
_PR_SET_SECCOMP, _MODE_FILTER = 22, 2


def filter_calls(*, network: bool, writes: bool) -> None:
    """Forbid this process and its children to create sockets (unless ``network``), and to trace, mount, load modules or
    change namespaces. Without ``writes`` also to change modes, owners, times and attributes of files."""
    machine = os.uname().machine
    if machine not in _ARCHITECTURES or struct.calcsize("P") != 8:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    architecture, numbers = _ARCHITECTURES[machine]
    refused = {**numbers, **_COMMON, **({} if writes else {**_ATTRIBUTES[machine], **_COMMON_ATTRIBUTES})}
    if network:
        del refused["socket"]
    program = b"".join(_program(architecture, refused))
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    holder = ctypes.create_string_buffer(header, len(header))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.addressof(holder))


def _program(architecture: int, refused: Mapping[str, int]) -> Iterable[bytes]:
    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    yield step(_LOAD, _AT_ARCHITECTURE)
    yield step(_EQUAL, architecture, 1, 0)
    yield step(_RETURN, _KILL)
    yield step(_LOAD, _AT_NUMBER)
    yield step(_AT_LEAST, _X32, 0, 1)
    yield step(_RETURN, _KILL)
    for name, number in refused.items():
        if name != "clone":
            yield step(_EQUAL, number, 0, 1)
            yield step(_RETURN, _ERROR | (errno.ENOSYS if name in _ABSENT else errno.EPERM))
    yield step(_EQUAL, refused["clone"], 0, 3)
    yield step(_LOAD, _AT_FIRST_ARGUMENT)
    yield step(_ANY_BIT, _NEW_NAMESPACES, 0, 1)
    yield step(_RETURN, _ERROR | errno.EPERM)
    yield step(_RETURN, _ALLOW)
