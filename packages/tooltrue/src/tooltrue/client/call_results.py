"""The result of a call, checked against its tool's promises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec

from tooltrue.client.wording import RESULT_VIOLATES_REQUESTED_TYPE
from tooltrue.errors import InvalidAnswer, InvalidResult, ToolError
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.jsonrpc.wording import SERVER_RESPONSE_INVALID
from tooltrue.protocol.types import (
    UNSET,
    BlobResource,
    CallToolResult,
    ContentBlock,
    PromptMessage,
    PromptResult,
    TextContent,
    TextResource,
)
from tooltrue.tools.advice import RESULT, missing

__all__ = ["Result", "T", "contents_of", "converted", "prompt_of", "result_of"]

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    T = DefaultTypeVar("T", default=Any)  # "Result" alone is a result of anything
else:
    T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """The result of a call. ``structured`` is ``UNSET`` if the server sent none; ``None`` is JSON's null."""

    content: tuple[Any, ...]
    structured: Any
    is_error: bool
    raw: Mapping[str, Json]
    _value: Any = field(default=UNSET, repr=False)

    @classmethod
    def of(cls, result: CallToolResult) -> Result[Any]:
        """Make a result that was not sent over a wire; ``raw`` is its wire form."""
        raw: dict[str, Json] = {"content": result.content, "isError": result.isError}
        raw |= {} if result.structuredContent is UNSET else {"structuredContent": result.structuredContent}
        raw |= {} if result.meta is None else {"_meta": result.meta}
        return Result(tuple(result.content), result.structuredContent, result.isError, raw)

    if not TYPE_CHECKING:  # a type checker reports missing names better

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name, RESULT)

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def value(self) -> T:
        """The structured value if there is one, else the text. Raises ``ToolError`` if the call failed.

        With ``returns=`` in the call, it is of that type.
        """
        if self.is_error:
            raise ToolError(self.text)
        if self._value is not UNSET:
            return self._value
        return cast(T, self.text if self.structured is UNSET else self.structured)


class _Members(msgspec.Struct):
    """The typed members of a result. A struct, because msgspec caches its type information for structs only."""

    content: list[ContentBlock] = []


def result_of(tool: str, members: Mapping[str, Json], returns: Any = None) -> Result[Any]:
    """Make a result from its members on the wire.

    Raises ``TransportError`` for invalid content, and ``InvalidResult`` if the value is not of the type ``returns``.
    """
    content = converted(members, _Members, "tools/call").content
    structured = members.get("structuredContent", UNSET)
    result: Result[Any] = Result(tuple(content), structured, members.get("isError") is True, members)
    if returns is None or result.is_error:
        return result
    value = _typed(tool, result.value, returns)
    return Result(result.content, structured, False, members, value)


def contents_of(members: Mapping[str, Json]) -> list[TextResource | BlobResource]:
    """Return the contents of a resource from the members of a result. Raises ``TransportError`` for invalid ones."""
    contents = members.get("contents")
    parts: list[Any] = contents if is_array(contents) else []
    return [
        converted(part, BlobResource if is_object(part) and "blob" in part else TextResource, "resources/read")
        for part in parts
    ]


def prompt_of(members: Mapping[str, Json]) -> PromptResult:
    """Make a prompt's messages from the members of a result. Raises ``TransportError`` for invalid ones."""
    prompt = converted(members, PromptResult, "prompts/get")
    messages = [
        PromptMessage(message.role, converted(message.content, ContentBlock, "prompts/get"))
        for message in prompt.messages
    ]
    return PromptResult(messages, prompt.description, members.get("_meta"))


def converted(value: Json, shape: Any, method: str) -> Any:
    """Convert ``value`` to ``shape``. Raises ``TransportError`` if the server's answer to ``method`` is invalid."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=str(error).replace("`", "'")) from None


def _typed(tool: str, value: Json, shape: Any) -> Any:
    try:
        return _convert(value, shape)
    except ValueError as error:
        # In session-based revisions, a value that is not an object comes wrapped in one.
        if is_object(value) and value.keys() == {"result"}:
            return _typed(tool, value["result"], shape)
        problem = str(error).replace("`", "'").splitlines()
        raise InvalidResult.of(
            RESULT_VIOLATES_REQUESTED_TYPE, tool=tool, problem=": ".join(problem[:2])[:300]
        ) from None


def _convert(value: Json, shape: Any) -> Any:
    return msgspec.convert(value, shape, dec_hook=_validated)


def _validated(shape: Any, value: Any) -> Any:
    """Convert to a type that validates itself, such as a pydantic model."""
    validate = getattr(shape, "model_validate", None)
    if validate is None:
        raise TypeError(f"returns={shape!r}: a type that JSON can be converted to is needed")
    return validate(value)
