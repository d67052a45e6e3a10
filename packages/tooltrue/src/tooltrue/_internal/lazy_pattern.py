"""Regular expressions that are compiled at their first use: a server does not wait for all of them at its start."""

from __future__ import annotations

import re
from functools import cached_property
from typing import AnyStr, Generic

__all__ = ["LazyPattern"]


class LazyPattern(Generic[AnyStr]):
    """A pattern with its flags. A mistake in it is found at the first use."""

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self._pattern, self._flags)
