"""The number of workers that a foreign HTTP server starts, as far as an application in it can see."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath

__all__ = ["workers_started"]

_PROGRAMS = frozenset({"uvicorn", "gunicorn", "hypercorn", "granian"})
_OPTION = re.compile(r"(?:^|\s)(?:--workers[=\s]\s*|-w\s*)([0-9]{1,4})(?=\s|$)")
_VARIABLES = ("GRANIAN_WORKERS", "WEB_CONCURRENCY")


def workers_started(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Return the number of workers that the command line of a known HTTP server requests, or the variables that it
    reads; 1 without either.
    """
    place = PurePath(command[0]) if command else PurePath()
    if (place.parent.name if place.name == "__main__.py" else place.name) not in _PROGRAMS:
        return 1
    options = " ".join((environment.get("GUNICORN_CMD_ARGS", ""), *command[1:]))
    numbers = _OPTION.findall(options) or [n for name in _VARIABLES if (n := environment.get(name, "")).isdecimal()]
    return int(numbers[-1]) if numbers else 1
