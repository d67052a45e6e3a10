"""Holds the answers of an API against its description, which many APIs do not keep to.

``strict`` publishes the schema of the answer, and the pipeline refuses an answer that does not fit. ``log`` publishes
none: an answer that differs is returned as it is, and the log says where it differs. ``off`` does not look.
"""

from __future__ import annotations

import logging
from typing import Final, Literal, TypeAlias

from tooltrue.errors import SchemaError
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.schema import OWN, Schema, compile_schema
from tooltrue.wording import coded_sentence
from tooltrue_toolbox.openapi.document import ApiDescription, UnusablePart
from tooltrue_toolbox.openapi.operation import ApiOperation
from tooltrue_toolbox.openapi.schema_conversion import SchemaConversion
from tooltrue_toolbox.openapi.tool_definition import success_schemas
from tooltrue_toolbox.openapi.wording import RESPONSE_DIFFERS, RESPONSE_SCHEMA_UNUSABLE

__all__ = ["ResponseLog", "Responses", "output_schema"]

Responses: TypeAlias = Literal["strict", "log", "off"]

_log = logging.getLogger("tooltrue")
_MOST: Final = 20
"""The differences of one operation that are logged, each once."""


def output_schema(description: ApiDescription, operation: ApiOperation) -> dict[str, Json] | None:
    """The schema of all answers that tell of success; ``None`` if some have none. Raises :class:`UnusablePart`."""
    schemas = success_schemas(operation)
    if schemas is None:
        return None
    conversion = SchemaConversion(description, "response", patterns=False)
    converted = [conversion.convert(schema) for _, schema in schemas]
    (first, *others) = converted
    made: dict[str, Json] = {"anyOf": [*converted]} if others else first
    return {**made, "$defs": dict(conversion.definitions)} if conversion.definitions else made


class ResponseLog:
    """Logs where the answers of one operation differ from its description. Compiled at the first answer."""

    def __init__(self, description: ApiDescription, operation: ApiOperation) -> None:
        self._description = description
        self._operation = operation
        self._schema: Schema | None = None
        self._is_ready = False
        self._reported = set[tuple[str, str]]()

    def look(self, status: int, value: Json) -> None:
        """Log the first difference, if it was not logged before. The text has places and no values."""
        schema = self._compiled()
        if schema is None or schema.accepts(value) or len(self._reported) >= _MOST:
            return
        (problem, *_) = schema.problems(value, 1)
        if (problem.path, problem.rule) not in self._reported:
            self._reported.add((problem.path, problem.rule))
            self._warn(RESPONSE_DIFFERS, status=status, problem=f"{problem.path}: {problem.rule}")

    def _compiled(self) -> Schema | None:
        if self._is_ready:
            return self._schema
        self._is_ready = True
        try:
            made = output_schema(self._description, self._operation)
            self._schema = None if made is None else compile_schema(made, bounds=OWN)
        except UnusablePart as error:
            self._warn(RESPONSE_SCHEMA_UNUSABLE, problem=error.problem)
        except SchemaError as error:
            self._warn(RESPONSE_SCHEMA_UNUSABLE, problem=str(error))
        return self._schema

    def _warn(self, code: str, **facts: object) -> None:
        _log.warning("%s", coded_sentence(code, "en", {"operation": self._operation.key, **facts}))
