"""Regular expressions from a model, in time linear in the text. Owns ``re2``, which comes with an extra.

Lookaround and backreferences are not supported; that is the price of linear time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import re2

from tooltrue.errors import ToolError
from tooltrue.wording import REASON_NOT_UNICODE, Worded
from tooltrue_toolbox.wording import (
    REGULAR_EXPRESSION_INVALID,
)

__all__ = ["finder"]


def finder(pattern: str, *, ignore_case: bool) -> Callable[[bytes, int], Any]:
    """Compile ``pattern`` to ``search(data: bytes, pos: int)`` for UTF-8 text. ``^`` and ``$`` match at lines, and no
    match spans lines. ``ToolError`` for an invalid pattern."""
    options = re2.Options()
    options.log_errors = False
    options.never_nl = True
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(f"(?m){pattern}".encode(), options).search
    except (re2.error, UnicodeEncodeError) as error:
        raise ToolError.of(REGULAR_EXPRESSION_INVALID, pattern=pattern, problem=_problem(error)) from error


def _problem(error: Exception) -> str | Worded:
    message: Any = error.args[0] if error.args else ""
    return message.decode(errors="replace") if isinstance(message, bytes) else Worded(REASON_NOT_UNICODE, {})
