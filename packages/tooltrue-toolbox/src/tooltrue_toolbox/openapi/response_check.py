"""Holds the answers of an API against its description, which many APIs do not keep to.

``strict`` publishes the schema of the answer, and an answer that does not fit is refused. ``log`` publishes its shape,
which is wider (:mod:`~tooltrue_toolbox.openapi.response_shape`), and the log says where an answer differs from the
description. ``off`` publishes nothing and does not look.
"""

from __future__ import annotations

import logging
from typing import Final

from tooltrue.errors import ConfigurationError, SchemaError, ToolError
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.schema import OWN, Schema, compile_schema
from tooltrue.wording import SETTING_INVALID, coded_sentence
from tooltrue_toolbox.openapi.api_client import ApiAnswer
from tooltrue_toolbox.openapi.document import ApiDescription, UnusablePart
from tooltrue_toolbox.openapi.operation import RESPONSES, ApiOperation, Responses
from tooltrue_toolbox.openapi.response_shape import ResponseShapes
from tooltrue_toolbox.openapi.schema_conversion import SchemaConversion
from tooltrue_toolbox.openapi.tool_definition import ToolForm, success_schemas
from tooltrue_toolbox.openapi.wording import (
    API_RESULT_UNEXPECTED,
    RESPONSE_DIFFERS,
    RESPONSE_REFUSED,
    RESPONSE_SCHEMA_UNUSABLE,
)

__all__ = ["AnswerCheck", "output_schema", "published_schema", "responses_of"]

_log = logging.getLogger("tooltrue")
_MOST: Final = 20
"""The differences of one operation that are logged, each once."""


def responses_of(setting: str, value: str) -> Responses:
    """The mode that a setting of this name has. ``ConfigurationError`` for another value."""
    mode: Responses | None = next((one for one in RESPONSES if one == value), None)
    if mode is None:
        raise ConfigurationError.of(SETTING_INVALID, name=setting, wanted=", ".join(RESPONSES))
    return mode


def published_schema(shapes: ResponseShapes, form: ToolForm, responses: Responses) -> dict[str, Json] | None:
    """The output schema of the tool of one operation. Raises :class:`UnusablePart`."""
    if responses == "off":
        return None
    if responses == "strict":
        # The schema is that of whole answers.
        return None if form.fields else output_schema(shapes.description, form.operation)
    schemas = success_schemas(form.operation)
    return None if schemas is None else shapes.shape([schema for _, schema in schemas], form.fields)


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


class AnswerCheck:
    """Compares the answers of one operation with its description. Compiled at the first answer."""

    def __init__(self, description: ApiDescription, operation: ApiOperation, responses: Responses) -> None:
        self._description = description
        self._operation = operation
        self._responses: Responses = responses
        self._schema: Schema | None = None
        self._is_ready = False
        self._reported = set[tuple[str, str]]()

    def fits(self, answer: ApiAnswer) -> bool:
        """Whether an answer is known to fit. The log gets the first difference, if it was not logged before: its place,
        and no value. Raises ``ToolError`` for a difference where the description is to be kept to."""
        schema = self._compiled() if self._responses != "off" and answer.status != 304 else None
        if schema is None or not (answer.is_json or self._responses == "strict"):
            return False
        if not answer.is_json:
            raise ToolError.of(API_RESULT_UNEXPECTED, operation=self._operation.key, status=answer.status)
        if schema.accepts(answer.value):
            return True
        (problem, *_) = schema.problems(answer.value, 1)
        facts = {"status": answer.status, "problem": f"{problem.path}: {problem.rule}"}
        if self._responses == "strict":
            raise ToolError.of(RESPONSE_REFUSED, operation=self._operation.key, **facts)
        key = (problem.path, problem.rule)
        if key not in self._reported and len(self._reported) < _MOST:
            self._reported.add(key)
            self._warn(RESPONSE_DIFFERS, **facts)
        return False

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
