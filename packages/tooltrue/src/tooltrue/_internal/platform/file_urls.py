"""The path of a file in a URL: on Windows ``C:\\a.db`` is ``/C:/a.db`` there."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, unquote

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["exact_path_from_url", "path_from_url", "path_in_url", "without_slash_before_drive"]

_MEANINGFUL = re.compile(r"[\x00-\x1f%?#]+")
_DRIVE = re.compile(r"/+(?=[A-Za-z]:(?:[/\\]|$))")


def path_in_url(path: Path) -> str:
    """The path as it stands in a URL behind ``//``. Characters that mean something else there are encoded."""
    text = path.as_posix()
    slash = "" if HAS_POSIX or text.startswith("/") or not path.is_absolute() else "/"
    return slash + _MEANINGFUL.sub(lambda found: quote(found[0]), text)


def path_from_url(text: str) -> Path:
    """The path that the path of a URL means; ``~`` stands for the home."""
    return exact_path_from_url(text).expanduser()


def exact_path_from_url(text: str) -> Path:
    """The path that the path of a URL means; ``~`` is a name like any other."""
    plain = unquote(text)
    return Path(plain if HAS_POSIX else without_slash_before_drive(plain))


def without_slash_before_drive(text: str) -> str:
    """A path of Windows as it stands in a URL, as Windows reads it: ``C:/a.db`` for ``/C:/a.db``."""
    return _DRIVE.sub("", text, count=1) if _DRIVE.match(text) else text
