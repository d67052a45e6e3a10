"""The part of a log that a diagnosis reads: the records from a time on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tooltrue.errors import ConfigurationError
from tooltrue_check.doctor.log_figures import LogFigures
from tooltrue_check.wording import TIME_ARGUMENT_INVALID

__all__ = ["add_since", "begin_of"]

_AGO: Final = re.compile(r"(\d{1,6})([dhm])")
_UNITS: Final = {"d": "days", "h": "hours", "m": "minutes"}


def begin_of(text: str, now: datetime) -> str:
    """The time in the form of the records, which is in UTC: of ``7d``, ``12h`` or ``30m`` before ``now``, or of an ISO
    8601 time; empty if ``text`` is. ``ConfigurationError`` for any other text."""
    if not text:
        return ""
    try:
        if ago := _AGO.fullmatch(text):
            begin = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            begin = datetime.fromisoformat(text)
        begin = begin.astimezone(UTC) if begin.tzinfo else begin
        return begin.replace(tzinfo=None).isoformat()
    except (ValueError, OverflowError):
        raise ConfigurationError.of(TIME_ARGUMENT_INVALID, text=text) from None


def add_since(figures: LogFigures, record: Mapping[str, Any], begin: str) -> None:
    """Add a record, unless it is older than ``begin``. A record without a time is added."""
    if not begin or str(record.get("at", begin)) >= begin:
        figures.add(record)
