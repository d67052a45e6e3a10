"""How many instructions of the CPU this process has run: a cost that other work on the machine does not change."""

import ctypes
import os
from collections.abc import Callable

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_INSTRUCTIONS = 1  # of the kind "hardware", which is 0
_INHERIT, _WITHOUT_KERNEL, _WITHOUT_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6


class _Event(ctypes.Structure):
    """The attribute structure of perf_event_open(2)."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("rest", ctypes.c_uint8 * 72),
    )


def instructions() -> Callable[[], int]:
    """Counts from now on, in user mode, this thread and those that begin later. OSError where the kernel, or the
    machine that is virtual, does not allow it."""
    flags = _INHERIT | _WITHOUT_KERNEL | _WITHOUT_HYPERVISOR
    event = _Event(size=ctypes.sizeof(_Event), config=_INSTRUCTIONS, flags=flags)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(_PERF_EVENT_OPEN[os.uname().machine], ctypes.byref(event), 0, -1, -1, 0)
    if descriptor < 0:
        raise OSError(
            ctypes.get_errno(), f"the CPU's instructions cannot be counted: {os.strerror(ctypes.get_errno())}"
        )
    return lambda: int.from_bytes(os.read(descriptor, 8), "little")
