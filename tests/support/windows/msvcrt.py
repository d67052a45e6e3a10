"""The module ``msvcrt``: descriptors and handles, locks on bytes, and the keyboard of the console."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct
import termios
import time
import tty

from support.windows.console import of_this_process

__all__ = [
    "LK_LOCK",
    "LK_NBLCK",
    "LK_NBRLCK",
    "LK_RLCK",
    "LK_UNLCK",
    "get_osfhandle",
    "getch",
    "getche",
    "getwch",
    "getwche",
    "kbhit",
    "locking",
    "open_osfhandle",
    "putch",
    "putwch",
    "setmode",
]

LK_UNLCK, LK_LOCK, LK_NBLCK, LK_RLCK, LK_NBRLCK = range(5)

_RETRIES = 10
_TEXT = 1 << 26  # os.O_TEXT of the harness


def get_osfhandle(fd: int) -> int:
    os.fstat(fd)
    return fd


def open_osfhandle(handle: int, flags: int) -> int:
    os.fstat(handle)
    return handle


def setmode(fd: int, flags: int) -> int:
    os.fstat(fd)
    return _TEXT


def locking(fd: int, mode: int, nbytes: int) -> None:
    """Lock or unlock ``nbytes`` from the current position. A lock belongs to the handle, not to the process."""
    kind = fcntl.F_UNLCK if mode == LK_UNLCK else fcntl.F_WRLCK
    position = os.lseek(fd, 0, os.SEEK_CUR)
    wanted = struct.pack("hhqqi", kind, os.SEEK_SET, position, nbytes, 0)
    for attempt in range(_RETRIES):
        try:
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, wanted)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            if mode in (LK_NBLCK, LK_NBRLCK):
                raise PermissionError(errno.EACCES, "Permission denied") from None
            if attempt + 1 < _RETRIES:
                time.sleep(1)
        else:
            return
    raise OSError(errno.EDEADLK, "Resource deadlock avoided")


_first_halves: list[str] = []
_second_halves: list[str] = []
"""Of characters beyond the first plane, which go and come as two keys."""


def kbhit() -> bool:
    if _second_halves:
        return True
    with of_this_process() as console:
        return bool(select.select([console], [], [], 0)[0])


def getwch() -> str:
    """The next key, unechoed. Ctrl-C is a character here, as on Windows."""
    if _second_halves:
        return _second_halves.pop()
    with of_this_process() as console:
        before = termios.tcgetattr(console)
        try:
            tty.setraw(console, termios.TCSANOW)
            key = os.read(console, 1)
            while key and key[0] >= 0xC0 and len(key) < _length(key[0]):
                key += os.read(console, 1)
        finally:
            termios.tcsetattr(console, termios.TCSANOW, before)
    units = key.decode("utf-8", "replace").encode("utf-16-le")
    first, second = (units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in (0, 2))
    if second:
        _second_halves.append(second)
    return first


def _length(first: int) -> int:
    return 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def getwche() -> str:
    key = getwch()
    putwch(key)
    return key


def getch() -> bytes:
    return getwch().encode()


def getche() -> bytes:
    return getwche().encode()


def putwch(key: str) -> None:
    if "\ud800" <= key <= "\udbff":
        _first_halves.append(key)
        return
    units = "".join((*_first_halves, key)).encode("utf-16-le", "surrogatepass")
    _first_halves.clear()
    with of_this_process() as console:
        os.write(console, units.decode("utf-16-le").encode())


def putch(key: bytes) -> None:
    putwch(key.decode())
