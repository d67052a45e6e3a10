"""JSON Lines files for a search: questions, and the tools of other servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tooltrue.check.findability import Question
from tooltrue.check.subject import Shelf, Subject
from tooltrue.errors import ConfigurationError, ParseError
from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object
from tooltrue.spelling import closest

__all__ = ["corpus_in", "questions_in"]


def questions_in(text: str, file: str, tools: Sequence[Subject]) -> list[Question]:
    """Read questions, ``{"tool": NAME, "query": TEXT}`` per line, with ``"server"`` if two servers have a tool of that
    name. ``ConfigurationError`` for a line of another form or with an unknown tool, and for a file without
    questions."""
    questions = [_question(said, f"{file}:{number}", tools) for number, said in _lines(text)]
    if not questions:
        raise ConfigurationError.of("TT9820", place=file)
    return questions


def _question(said: Json, place: str, tools: Sequence[Subject]) -> Question:
    name, query, server = (said.get(key) if is_object(said) else None for key in ("tool", "query", "server"))
    if not isinstance(name, str) or not isinstance(query, str) or not query.strip():
        raise ConfigurationError.of("TT9820", place=place)
    for tool in tools:
        if tool.name == name and server in (None, tool.server):
            return Question(tool, query)
    named = name if server is None else f"{server}/{name}"
    raise ConfigurationError.of("TT9821", place=place, tool=named, nearest=closest(name, {tool.name for tool in tools}))


def corpus_in(text: str, file: str) -> list[Subject]:
    """Read tools, ``{"server": NAME, "tools": […]}`` per line, with definitions as in a result of ``tools/list``.
    ``ConfigurationError`` for a line of another form."""
    shelf = Shelf()
    for number, said in _lines(text):
        tools = said.get("tools") if is_object(said) else None
        if not is_object(said) or not isinstance(said.get("server"), str) or not is_array(tools):
            raise ConfigurationError.of("TT9822", place=f"{file}:{number}")
        shelf.subjects.extend(Subject(said["server"], tool, shelf) for tool in tools if is_object(tool))
    return shelf.subjects


def _lines(text: str) -> Iterator[tuple[int, Json]]:
    """The number and the value of each line; None for a line that is not JSON."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield number, decode(line.encode())
            except ParseError:
                yield number, None
