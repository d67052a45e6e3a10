"""Logging of a served server: text, as in Python's default, or one JSON object per line for log collectors."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from tooltrue.policy.layers.observe import OPERATIONS

__all__ = ["FORMATS", "begin"]

FORMATS = ("text", "json")
_UVICORN = ("uvicorn", "uvicorn.error", "uvicorn.access")


class _Lines(logging.Formatter):
    """JSON in ASCII, escaped: names chosen by others cannot begin a line of their own."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def begin(format: str) -> None:
    """Configure logging. ``json`` also logs a line per operation: caller, operation, outcome and duration."""
    if format != "json":
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger(OPERATIONS).setLevel(logging.INFO)
    for name in _UVICORN:  # it has configured its own handlers by then
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
