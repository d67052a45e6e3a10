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


def kbhit() -> bool:
    with open("/dev/tty", "rb", buffering=0) as terminal:
        before = termios.tcgetattr(terminal)
        try:
            tty.setcbreak(terminal.fileno(), termios.TCSANOW)
            return bool(select.select([terminal], [], [], 0)[0])
        finally:
            termios.tcsetattr(terminal, termios.TCSANOW, before)


def getwch() -> str:
    """The next key, unechoed. Ctrl-C is a character here, as on Windows."""
    with open("/dev/tty", "rb", buffering=0) as terminal:
        before = termios.tcgetattr(terminal)
        try:
            tty.setraw(terminal.fileno(), termios.TCSANOW)
            key = terminal.read(1)
            while key[0] >= 0xC0 and len(key) < _length(key[0]):
                key += terminal.read(1)
            return key.decode("utf-8", "replace")
        finally:
            termios.tcsetattr(terminal, termios.TCSANOW, before)


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
    with open("/dev/tty", "w") as terminal:
        terminal.write(key)


def putch(key: bytes) -> None:
    putwch(key.decode())
