"""The rules of Windows for names and paths, as pure functions.

They follow "Naming Files, Paths, and Namespaces" and "File path formats on Windows systems" of Microsoft's
documentation. A name that Windows would change before it opens anything, such as ``a.txt.`` or ``CON``, is refused and
not repaired: then what the caller has written, what the rules are checked against, and what is opened are one name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, Literal

__all__ = [
    "TAKES_ANY_NAME",
    "Fault",
    "PathForm",
    "WindowsPath",
    "anchored",
    "comparable",
    "fault_of",
    "form_of",
    "is_absolute",
    "is_device",
    "is_refused",
    "may_be_short",
    "split",
    "utf16_length",
]

PathForm = Literal["relative", "drive", "drive relative", "rooted", "share", "device", "verbatim", "object"]
"""``a\\b``, ``C:\\a``, ``C:a``, ``\\a``, ``\\\\server\\share\\a``, ``\\\\.\\a``, ``\\\\?\\a``, ``\\??\\a``."""

Fault = Literal["empty", "dots", "separator", "stream", "character", "surrogate", "device", "ending", "length"]

TAKES_ANY_NAME: Final = False
"""Whether every name that can be shown can also be opened."""

LONGEST_NAME: Final = 255
"""UTF-16 units in one name, on NTFS and on ReFS."""

_RESERVED = frozenset('<>"|?*')
_DEVICES = frozenset(
    (
        *("CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"),
        # Windows takes the superscript digits of Latin-1 for digits.
        *(f"{port}{digit}" for port in ("COM", "LPT") for digit in "123456789\u00b9\u00b2\u00b3"),
    )
)
_SHORT = re.compile(r"[^.~]{1,6}~[0-9]{1,6}(?:\.[^.]{0,3})?")
_DRIVE = re.compile(r"[A-Za-z]:")
_UNCHANGED = frozenset("\u0131\u017f")
"""Small letters that Unicode maps to ASCII capitals, and Windows to themselves."""


@dataclass(frozen=True, slots=True)
class WindowsPath:
    """A path by its form, the part before its names, and its names; ``.``, ``..`` and empty ones are still there."""

    form: PathForm
    anchor: str
    names: tuple[str, ...]


def form_of(path: str) -> WindowsPath:
    """The parts of ``path``. It is not normalized, and no name in it is judged."""
    if path.startswith("\\??\\"):
        return WindowsPath("object", path[:4], _names(path[4:]))
    if path.startswith("\\\\?\\"):
        return WindowsPath("verbatim", path[:4], tuple(path[4:].split("\\")))
    text = path.replace("/", "\\")
    if text.startswith(("\\\\.\\", "\\\\?\\")) or text in ("\\\\.", "\\\\?"):
        return WindowsPath("device", text[:4], _names(text[4:]))
    if text.startswith("\\\\"):
        server, _, rest = text[2:].partition("\\")
        share, _, rest = rest.partition("\\")
        return WindowsPath("share", f"\\\\{server}\\{share}\\", _names(rest))
    if text.startswith("\\"):
        return WindowsPath("rooted", "\\", _names(text[1:]))
    if _DRIVE.match(text):
        drive, rest = text[:2].upper(), text[2:]
        if rest.startswith("\\"):
            return WindowsPath("drive", f"{drive}\\", _names(rest[1:]))
        return WindowsPath("drive relative", drive, _names(rest))
    return WindowsPath("relative", "", _names(text))


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.replace("/", "\\").split("\\")) if text else ()


def split(path: str) -> tuple[str, tuple[str, ...]] | None:
    """The anchor of ``path``, empty for a relative one, and its names. ``None`` for a form that depends on the process
    or leaves the file system: ``C:a``, ``\\\\?\\a``, ``\\\\.\\a``, ``\\??\\a``."""
    parts = form_of(path)
    if parts.form in ("drive relative", "device", "verbatim", "object"):
        return None
    return parts.anchor, parts.names


def is_absolute(path: str) -> bool:
    """Whether ``path`` names a place on the machine, which an error does not repeat."""
    return form_of(path).form != "relative"


def anchored(path: PurePath) -> tuple[str, ...]:
    """The anchor and the names of an absolute path, in the spelling of :func:`split`."""
    return (path.anchor.replace("/", "\\"), *path.parts[1:])


def comparable(name: str) -> str:
    """A key that two names have in common if NTFS takes them for one: letter by letter, without regard to case."""
    return "".join(map(_upcase, name))


def _upcase(char: str) -> str:
    upper = char.upper()
    is_mapped = len(upper) == 1 and ord(char) < 0x10000 and ord(upper) < 0x10000 and char not in _UNCHANGED
    return upper if is_mapped else char


def is_device(name: str) -> bool:
    """Whether Windows may read ``name`` as a device: also with an extension, a stream, or spaces after the base."""
    return re.split(r"[.:]", name, maxsplit=1)[0].rstrip(" ").upper() in _DEVICES


def may_be_short(name: str) -> bool:
    """Whether ``name`` has the form of the short names that NTFS makes by itself, such as ``PROGRA~1``."""
    return _SHORT.fullmatch(name) is not None


def utf16_length(name: str) -> int:
    return len(name) + sum(ord(char) > 0xFFFF for char in name)


def fault_of(name: str) -> Fault | None:
    """The reason why Windows would not open exactly ``name``; ``None`` for an ordinary name."""
    if not name:
        return "empty"
    if name in (".", ".."):
        return "dots"
    if "\\" in name or "/" in name:
        return "separator"
    if is_device(name):
        return "device"
    if ":" in name:
        return "stream"
    if _RESERVED & set(name) or any(ord(char) < 32 for char in name):
        return "character"
    if any(0xD800 <= ord(char) < 0xE000 for char in name):
        return "surrogate"
    if name[-1] in ". ":
        return "ending"
    return "length" if utf16_length(name) > LONGEST_NAME else None


def is_refused(name: str) -> bool:
    """Whether a path may not contain ``name``. One that is too long is left to the system to refuse."""
    return fault_of(name) not in (None, "length")
