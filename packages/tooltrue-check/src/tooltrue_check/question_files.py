"""JSON Lines files for a search: questions, and the tools of other servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tooltrue.errors import ConfigurationError, ParseError
from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object
from tooltrue.spelling import closest
from tooltrue_check.findability import SearchQuestion
from tooltrue_check.subject import Shelf, Subject
from tooltrue_check.wording import SEARCH_QUERY_INVALID, SEARCH_QUERY_TOOL_UNKNOWN, SEARCH_SERVER_LINE_INVALID

__all__ = ["corpus_in", "questions_in"]


def questions_in(text: str, file: str, tools: Sequence[Subject]) -> list[SearchQuestion]:
    """Read questions, ``{"tool": NAME, "query": TEXT}`` per line, with ``"server"`` if two servers have a tool of that
    name. ``ConfigurationError`` for a line of another form or with an unknown tool, and for a file without
    questions."""
    questions = [_question(row, f"{file}:{number}", tools) for number, row in _lines(text)]
    if not questions:
        raise ConfigurationError.of(SEARCH_QUERY_INVALID, place=file)
    return questions


def _question(row: Json, place: str, tools: Sequence[Subject]) -> SearchQuestion:
    name, query, server = (row.get(key) if is_object(row) else None for key in ("tool", "query", "server"))
    if not isinstance(name, str) or not isinstance(query, str) or not query.strip():
        raise ConfigurationError.of(SEARCH_QUERY_INVALID, place=place)
    for tool in tools:
        if tool.name == name and server in (None, tool.server):
            return SearchQuestion(tool, query)
    full_name = name if server is None else f"{server}/{name}"
    raise ConfigurationError.of(
        SEARCH_QUERY_TOOL_UNKNOWN, place=place, tool=full_name, nearest=closest(name, {tool.name for tool in tools})
    )


def corpus_in(text: str, file: str) -> list[Subject]:
    """Read tools, ``{"server": NAME, "tools": […]}`` per line, with definitions as in a result of ``tools/list``.
    ``ConfigurationError`` for a line of another form."""
    shelf = Shelf()
    for number, row in _lines(text):
        tools = row.get("tools") if is_object(row) else None
        if not is_object(row) or not isinstance(row.get("server"), str) or not is_array(tools):
            raise ConfigurationError.of(SEARCH_SERVER_LINE_INVALID, place=f"{file}:{number}")
        shelf.subjects.extend(Subject(row["server"], tool, shelf) for tool in tools if is_object(tool))
    return shelf.subjects


def _lines(text: str) -> Iterator[tuple[int, Json]]:
    """The number and the value of each line; None for a line that is not JSON."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, decode(line.encode())
            except ParseError:
                yield number, None
