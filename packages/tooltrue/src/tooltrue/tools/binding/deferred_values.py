"""Finishes returned values that are read or drawn before they are sent: files, pictures, figures, data frames,
iterators. It is done on a thread, or on the event loop where the value itself is asynchronous.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, cast

from tooltrue.errors import InvalidResult
from tooltrue.protocol.types import CallToolResult, TextContent, ToolOutcome
from tooltrue.tools.binding.collecting import collected, collected_async
from tooltrue.tools.binding.dependencies import Threads
from tooltrue.tools.binding.return_values import json_text
from tooltrue.tools.content import BLOCKS, Unfinished
from tooltrue.tools.foreign_types import kind_of
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.tools.wording import LABEL_NESTED_ITERATOR, RETURNED_VALUE_NOT_JSON
from tooltrue.wording import Worded

__all__ = ["finished"]

_ROUNDS = 3  # an iterator of frames within a list is the deepest


async def finished(unfinished: Unfinished, context: RequestContext, threads: Threads | None) -> ToolOutcome:
    """Return the outcome of an unfinished value. Raises ``InvalidResult`` for one that cannot be finished."""
    for _ in range(_ROUNDS):
        value = await _plain(unfinished.value, context, threads)
        if isinstance(value, CallToolResult):
            return value
        try:
            return unfinished.present(value)
        except Unfinished as again:
            unfinished = again
    kind = cast("type[object]", type(unfinished.value)).__qualname__
    raise InvalidResult.of(RETURNED_VALUE_NOT_JSON, type=kind, problem=Worded(LABEL_NESTED_ITERATOR, {}))


async def _plain(value: Any, context: RequestContext, threads: Threads | None) -> Any:
    if hasattr(value, "__aiter__"):
        return await collected_async(value)
    work = functools.partial(_finished_value, value, context)
    return work() if threads is None else await threads.run(work)


def _finished_value(value: Any, context: RequestContext) -> Any:
    kind = kind_of(value)
    if kind in ("helper", "picture", "figure"):
        from tooltrue.tools.media import block_of_object  # noqa: PLC0415 - few tools return such values

        return block_of_object(value, context)
    if kind in ("frame", "table", "column"):
        from tooltrue.tools.tables import cells_of, table_result  # noqa: PLC0415 - few tools return such values

        return cells_of(value) if kind == "column" else table_result(value, context)
    if isinstance(value, list | tuple):
        return _blocks(value, context)  # pyright: ignore[reportUnknownArgumentType]
    items: Iterable[Any] = value
    return collected(items)


def _blocks(items: Sequence[Any], context: RequestContext) -> list[Any]:
    """Return the content blocks of a mixed list, in its order: text is text, and other values are their JSON."""
    made: list[Any] = []
    for item in items:
        if isinstance(item, BLOCKS):
            made.append(item)
        elif isinstance(item, str):
            made.append(TextContent(text=item))
        elif kind_of(item) in ("helper", "picture", "figure"):
            made.append(_finished_value(item, context))
        elif kind_of(item) in ("frame", "table"):
            made += _finished_value(item, context).content
        else:
            made.append(TextContent(text=json_text(item)))
    return made
