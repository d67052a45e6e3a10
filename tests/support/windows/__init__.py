"""Stand-ins for the few calls of Windows that ``platform`` uses, made of what Linux has.

Each module beside this one has those of one subject. A function of a DLL is registered by its name::

    @function("kernel32", "CloseHandle")
    def close_handle(handle: int) -> bool: ...

It is called with the arguments as they were given, whatever ``argtypes`` and ``restype`` say. The handle of a file, a
pipe or a socket is its descriptor; other objects take their handles from :func:`new_handle`. Only the tests that
``without_posix.py`` runs see these modules.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import itertools
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_functions: dict[tuple[str, str], dict[str, Callable[..., Any]]] = {}
_makers: dict[int, str] = {}
"""The module that has made a handle."""
_state = threading.local()
_handles = itertools.count(0x10000, 4)

_ERRNO = {
    2: errno.ENOENT,
    3: errno.ENOENT,
    5: errno.EACCES,
    6: errno.EBADF,
    17: errno.EXDEV,
    32: errno.EACCES,
    33: errno.EACCES,
    80: errno.EEXIST,
    87: errno.EINVAL,
    109: errno.EPIPE,
    145: errno.ENOTEMPTY,
    183: errno.EEXIST,
    232: errno.EPIPE,
    258: errno.ETIMEDOUT,
    267: errno.ENOTDIR,
    1314: errno.EPERM,
    4390: errno.EINVAL,
}


def function(dll: str, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a stand-in for the function ``name`` of ``dll``, without the ending ``.dll``.

    Where several modules have one, as of ``CloseHandle``, the module is called that has made the handle; for a
    descriptor the first one, by the order of the names of the modules.
    """

    def registered(call: Callable[..., Any]) -> Callable[..., Any]:
        _functions.setdefault((dll, name), {})[call.__module__] = call
        return call

    return registered


def new_handle() -> int:
    """A handle that is no descriptor."""
    handle = next(_handles)
    _makers[handle] = sys._getframe(1).f_globals["__name__"]  # pyright: ignore[reportPrivateUsage] - the caller's
    return handle


def set_last_error(code: int) -> int:
    """As ``SetLastError``; returns what was set before."""
    before, _state.error = get_last_error(), code
    return before


def get_last_error() -> int:
    return getattr(_state, "error", 0)


deletable: dict[int, tuple[int, int]] = {}
"""Handles that share their file for deletion, with the device and the number of the file: it may be removed."""


def share_for_deletion(handle: int) -> None:
    """Note that the handle of a file was opened with ``FILE_SHARE_DELETE``."""
    found = os.fstat(handle)
    deletable[handle] = (found.st_dev, found.st_ino)


def windows_error(code: int | None = None, message: str | None = None, path: object = None) -> OSError:
    """The exception that Windows's Python would raise, with ``winerror``."""
    code = get_last_error() if code is None else code
    number = _ERRNO.get(code, errno.EINVAL)
    error = OSError(number, message or format_error(code), path)
    setattr(error, "winerror", code)  # noqa: B010 - the types of Linux do not know it
    return error


def format_error(code: int | None = None) -> str:
    code = get_last_error() if code is None else code
    return f"{os.strerror(_ERRNO[code])} (Windows error {code})" if code in _ERRNO else f"Windows error {code}"


class Function:
    """A function of a DLL: its types may be set, and are not needed."""

    argtypes: Any = None
    restype: Any = None
    errcheck: Any = None

    def __init__(self, calls: dict[str, Callable[..., Any]], name: str) -> None:
        self._calls = calls
        self.__name__ = name

    def __call__(self, *arguments: Any) -> Any:
        first = self._calls[min(self._calls)]
        maker = _makers.get(arguments[0]) if arguments and isinstance(arguments[0], int) else None
        result = self._calls.get(maker or "", first)(*arguments)
        return result if self.errcheck is None else self.errcheck(result, self, arguments)


class WinDLL:
    """A library whose functions are those that :func:`function` has registered."""

    def __init__(self, name: str, *_: Any, **__: Any) -> None:
        self._name = name.lower().removesuffix(".dll")

    def __getattr__(self, name: str) -> Function:
        if name.startswith("_"):
            raise AttributeError(name)
        load()
        calls = _functions.get((self._name, name))
        if calls is None:
            raise AttributeError(f"no stand-in for {self._name}.{name}: register one in tests/support/windows")
        made = Function(calls, name)
        setattr(self, name, made)  # the same object each time, as in ctypes
        return made

    def __getitem__(self, name: str) -> Function:
        return getattr(self, name)


class Libraries:
    """``ctypes.windll``."""

    def __getattr__(self, name: str) -> WinDLL:
        if name.startswith("_"):
            raise AttributeError(name)
        library = WinDLL(name)
        setattr(self, name, library)
        return library

    def LoadLibrary(self, name: str) -> WinDLL:
        return WinDLL(name)


CTYPES: dict[str, Any] = {
    "FormatError": format_error,
    "GetLastError": get_last_error,
    "HRESULT": ctypes.c_long,
    "OleDLL": WinDLL,
    "WINFUNCTYPE": ctypes.CFUNCTYPE,
    "WinDLL": WinDLL,
    "WinError": windows_error,
    "get_last_error": get_last_error,
    "oledll": Libraries(),
    "set_last_error": set_last_error,
    "windll": Libraries(),
}
"""What ``ctypes`` has on Windows alone."""


def load() -> None:
    """Import every module beside this one, so that its functions are registered."""
    for file in sorted(Path(__file__).parent.glob("[!_]*.py")):
        importlib.import_module(f"{__name__}.{file.stem}")
