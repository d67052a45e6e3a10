"""The encoding of the standard streams of a command."""

from __future__ import annotations

import io
import sys

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["carry_every_character"]


def carry_every_character() -> None:
    """Let the standard streams carry every character.

    On Windows a pipe or a file would have the code page of the system, in which there is no Chinese sentence: it has
    UTF-8, as a console does. Elsewhere the user has chosen the encoding; what it cannot express is escaped.
    """
    for stream in (sys.stdout, sys.stderr) if HAS_POSIX else (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
            stream.reconfigure(encoding=None if HAS_POSIX else "utf-8", errors="backslashreplace")
