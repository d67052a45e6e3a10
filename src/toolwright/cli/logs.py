"""How a served server logs: words, as Python does it, or one JSON object a line for whoever collects lines."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from toolwright.policy.observe import OPERATIONS

__all__ = ["FORMATS", "begin"]

FORMATS = ("text", "json")
_UVICORN = ("uvicorn", "uvicorn.error", "uvicorn.access")


class _Lines(logging.Formatter):
    """ASCII only and escaped: what somebody else has named cannot begin a line of its own."""

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
    """From now on. ``json`` has a line for each operation too: who, what, how it ended, how long it took."""
    if format != "json":
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    logging.basicConfig(handlers=[handler], force=True)
    logging.getLogger(OPERATIONS).setLevel(logging.INFO)
    for name in _UVICORN:  # it has set up its own words by then
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
