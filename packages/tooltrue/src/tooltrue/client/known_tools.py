"""The tools that a client has listed: arguments that are mirrored into headers, and output schemas."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from tooltrue.client.call_results import Result
from tooltrue.client.wording import REASON_NO_STRUCTURED_CONTENT, RESULT_VIOLATES_OUTPUT_SCHEMA
from tooltrue.errors import DefinitionError, InvalidResult, SchemaError
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.headers import PARAM_PREFIX, Mirrors, find_mirrors, param_headers
from tooltrue.protocol.types import UNSET, ToolDefinition
from tooltrue.wording import Phrase, Worded

__all__ = ["KnownTools", "mirrors_of"]

_log = logging.getLogger("tooltrue")

_NO_HEADERS: Mapping[str, str] = {}


def mirrors_of(tool: ToolDefinition) -> Mirrors | None:
    """Return the arguments that are repeated in headers; ``None``, with a warning, if the schema's marks are invalid.

    Over HTTP such a tool must not be used (server/tools "x-mcp-header").
    """
    try:
        return find_mirrors(tool.inputSchema)
    except DefinitionError as error:
        _log.warning("the tool %r of the server is left out: %r", tool.name[:128], str(error)[:500])
        return None


class KnownTools:
    """The most recently listed tools. Results of unknown tools are not checked."""

    def __init__(self) -> None:
        self._mirrors: dict[str, Mirrors] = {}
        self._outputs: dict[str, Mapping[str, Json]] = {}
        self._schemas: dict[str, Any] = {}

    def learn(self, tools: Iterable[tuple[ToolDefinition, Mirrors]]) -> None:
        self.forget()
        for tool, mirrors in tools:
            if mirrors:
                self._mirrors[tool.name] = mirrors
            if tool.outputSchema is not None:
                self._outputs[tool.name] = tool.outputSchema

    def forget(self) -> None:
        self._mirrors.clear()
        self._outputs.clear()
        self._schemas.clear()

    def headers(
        self, name: str, arguments: Mapping[str, Json], others: Mapping[str, str] = _NO_HEADERS
    ) -> Mapping[str, str]:
        """Return the headers that repeat arguments of a call, and those of ``others`` that repeat none."""
        mirrors = self._mirrors.get(name)
        if mirrors is None:
            return others
        known = {PARAM_PREFIX + suffix.lower() for suffix, _, _ in mirrors}
        unknown = {header: value for header, value in others.items() if header not in known}
        return {**unknown, **param_headers(mirrors, arguments)}

    def check(self, name: str, result: Result[Any]) -> None:
        """Raise ``InvalidResult``, which carries the result, if its tool's output schema does not allow it."""
        if name in self._outputs and not result.is_error:
            problem = self._problem(name, result.structured)
            if problem is not None:
                error = InvalidResult.of(RESULT_VIOLATES_OUTPUT_SCHEMA, tool=name, problem=problem)
                error.result = result
                raise error

    def _problem(self, name: str, structured: Any) -> Phrase | None:
        if structured is UNSET:
            return Worded(REASON_NO_STRUCTURED_CONTENT, {})
        schema = self._schema(name)
        if schema is None or schema.accepts(structured):
            return None
        from tooltrue.protocol.schema import ProblemClauses  # noqa: PLC0415 - few answers need a schema

        return ProblemClauses(schema.problems(structured, 3))

    def _schema(self, name: str) -> Any:
        """The tool's output schema, compiled on first use; ``None`` for one that cannot be compiled."""
        if name not in self._schemas:
            self._schemas[name] = _compiled(name, self._outputs[name])
        return self._schemas[name]


def _compiled(name: str, schema: Mapping[str, Json]) -> Any:
    try:
        from tooltrue.protocol.schema import compile_schema  # noqa: PLC0415 - few answers need a schema

        return compile_schema(schema, assert_formats=False)
    except SchemaError as error:
        _log.warning("results of the tool %r are not checked: its output schema cannot be used: %s", name[:128], error)
        return None
