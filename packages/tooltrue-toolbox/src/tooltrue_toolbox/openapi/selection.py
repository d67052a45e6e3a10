"""Which operations become tools, by patterns: ``tag:PATTERN``, ``path:PATTERN``, ``method:NAME``, ``id:PATTERN``.

Patterns of one kind are alternatives, and an operation must fit one of each kind that is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

from tooltrue.errors import ConfigurationError
from tooltrue_toolbox.openapi.operation import ApiOperation
from tooltrue_toolbox.openapi.wording import OPERATIONS_PATTERN_INVALID

__all__ = ["selected"]

_TEXTS: Final[Mapping[str, Callable[[ApiOperation], Sequence[str]]]] = {
    "tag": lambda operation: operation.tags,
    "path": lambda operation: (operation.path,),
    "method": lambda operation: (operation.method, operation.method.lower()),
    "id": lambda operation: (operation.id,),
}


def selected(operations: Sequence[ApiOperation], patterns: Sequence[str]) -> list[ApiOperation]:
    """The operations that fit; all of them without patterns. ``ConfigurationError`` for a pattern of another kind."""
    kinds = dict[str, list[str]]()
    for text in patterns:
        kind, colon, pattern = text.partition(":")
        if not colon or kind not in _TEXTS or not pattern:
            raise ConfigurationError.of(OPERATIONS_PATTERN_INVALID, text=text)
        kinds.setdefault(kind, []).append(pattern)
    return [
        operation
        for operation in operations
        if all(_fits(_TEXTS[kind](operation), alternatives) for kind, alternatives in kinds.items())
    ]


def _fits(texts: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)
