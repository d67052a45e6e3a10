"""The path of a file in a URL: on Windows ``C:\\a.db`` is ``/C:/a.db`` there."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, unquote

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["path_from_url", "path_in_url"]

_MEANINGFUL = re.compile(r"[\x00-\x1f%?#]+")
_DRIVE = re.compile(r"/+(?=[A-Za-z]:(?:[/\\]|$))")


def path_in_url(path: Path) -> str:
    """The path as it stands in a URL behind ``//``. Characters that mean something else there are encoded."""
    text = path.as_posix()
    slash = "" if HAS_POSIX or text.startswith("/") or not path.is_absolute() else "/"
    return slash + _MEANINGFUL.sub(lambda found: quote(found[0]), text)


def path_from_url(text: str) -> Path:
    """The path that the path of a URL means; ``~`` stands for the home."""
    plain = unquote(text)
    return Path(plain if HAS_POSIX else _DRIVE.sub("", plain, count=1) if _DRIVE.match(plain) else plain).expanduser()
