"""The keys that seal the state carried by clients, from a file or the environment: base64, one per line; the first
seals."""

from __future__ import annotations

import base64
import binascii
import os
from pathlib import Path

from tooltrue.errors import ConfigurationError
from tooltrue.server.wording import (
    REASON_KEY_TOO_SHORT,
    REASON_LINE_NOT_BASE64,
    REASON_NO_KEYS,
    REASON_NOT_TEXT,
    SEALING_KEY_UNREADABLE,
)
from tooltrue.wording import Worded

__all__ = ["VARIABLE", "read_keys"]

VARIABLE = "TOOLTRUE_SEALING_KEY"
_LEAST_BYTES = 16


def read_keys(path: str | None) -> tuple[bytes, ...]:
    """Read the keys of the file, else those of the environment variable, which is removed so that child processes do
    not inherit it. Empty without either. ``ConfigurationError`` for an invalid key, or a source without keys."""
    text = os.environ.pop(VARIABLE, None)
    if path is not None:
        text = _text(Path(path))
    elif not text:
        return ()
    place = VARIABLE if path is None else path
    lines = [line.strip() for line in text.splitlines()]
    keys = tuple(_key(line, place) for line in lines if line and not line.startswith("#"))
    if not keys:
        raise _no_key(place, Worded(REASON_NO_KEYS, {}))
    return keys


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except UnicodeDecodeError:
        raise _no_key(str(path), Worded(REASON_NOT_TEXT, {})) from None
    except OSError as error:
        raise _no_key(str(path), error.strerror or str(error)) from None


def _key(line: str, place: str) -> bytes:
    text = line.replace("-", "+").replace("_", "/")
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        raise _no_key(place, Worded(REASON_LINE_NOT_BASE64, {})) from None
    if len(key) < _LEAST_BYTES:
        raise _no_key(place, Worded(REASON_KEY_TOO_SHORT, {"count": len(key), "least": _LEAST_BYTES}))
    return key


def _no_key(place: str, problem: str | Worded) -> ConfigurationError:
    return ConfigurationError.of(SEALING_KEY_UNREADABLE, place=place, problem=problem)
