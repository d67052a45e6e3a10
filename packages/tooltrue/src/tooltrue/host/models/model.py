"""Messages between a host and a model, independent of any provider; and the model interface.

A provider's file translates. Data that only the provider understands, and has to get back unchanged (signed thoughts,
reasoning items), travels as ``native`` of the message that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, Self, TypeAlias

from tooltrue.errors import ConfigurationError
from tooltrue.host.wording import MODEL_MESSAGE_INVALID
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.types import Value
from tooltrue.tools.tasks import TaskTaint

__all__ = [
    "AsyncCloseable",
    "Delta",
    "Message",
    "Model",
    "ModelInput",
    "ModelMessage",
    "OnDelta",
    "Part",
    "Picture",
    "Stop",
    "SystemMessage",
    "ToolMessage",
    "ToolReply",
    "ToolUse",
    "Turn",
    "Usage",
    "UserMessage",
    "ignore_deltas",
    "read_messages",
    "text_of",
]

Stop: TypeAlias = Literal["end", "tools", "length", "refused"]
"""Why a model has stopped: it is done, it calls tools, its answer was cut at a limit, or it (or a filter) refuses."""


class Picture(Value, frozen=True):
    """A picture. ``data`` is base64."""

    data: str
    mime_type: str

    @property
    def url(self) -> str:
        return f"data:{self.mime_type};base64,{self.data}"

    @property
    def stand_in(self) -> str:
        """Text that replaces the picture for a model without vision."""
        return f"[a picture, {self.mime_type}, about {len(self.data) * 3 // 4} bytes, which is not shown to you]"


Part: TypeAlias = str | Picture


class ToolUse(Value, frozen=True):
    """A call as the model wrote it, not validated. ``arguments`` are text, or already an object where the endpoint
    sends one. ``name`` is the model's name for the tool."""

    id: str
    name: str
    arguments: str | dict[str, Json]


class ToolReply(Value, frozen=True):
    """The reply to one call, as the model reads it."""

    use: ToolUse
    parts: tuple[Part, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        return text_of(self.parts)


class SystemMessage(Value, frozen=True):
    text: str


class UserMessage(Value, frozen=True):
    """A message of the user; or of the program, with results of tasks that have ended and the ``taint`` of these."""

    parts: tuple[Part, ...]
    taint: TaskTaint | None = None


class ModelMessage(Value, frozen=True):
    """An answer of the model. ``native`` is what the provider ``by`` wants to get back with it; it has no meaning to
    others."""

    text: str
    uses: tuple[ToolUse, ...] = ()
    native: Json = None
    by: str = ""


class ToolMessage(Value, frozen=True):
    """The replies to all calls of one message, in their order. ``taint`` is the taint of their task at that time, for a
    run that continues from here; ``None`` for calls outside any task, whose taint is unknown."""

    replies: tuple[ToolReply, ...]
    taint: TaskTaint | None = None


Message: TypeAlias = SystemMessage | UserMessage | ModelMessage | ToolMessage


class Usage(Value, frozen=True):
    """Tokens, as the provider counts them. ``cached`` are those of ``input`` that were read from its cache."""

    input: int = 0
    output: int = 0
    cached: int = 0

    @classmethod
    def of(cls, input: Json, output: Json, cached: Json) -> Usage:
        """The counts of a provider's answer. A value that is not a positive integer counts as 0."""
        return cls(*(count if type(count) is int and count > 0 else 0 for count in (input, output, cached)))

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input + other.input, self.output + other.output, self.cached + other.cached)

    @property
    def total(self) -> int:
        return self.input + self.output


class Turn(Value, frozen=True):
    """One answer of a model."""

    message: ModelMessage
    stop: Stop
    usage: Usage = Usage()


class Delta(Value, frozen=True):
    """A streamed piece of an answer: of its ``text``, or of the model's ``thinking`` before."""

    kind: Literal["text", "thinking"]
    text: str


OnDelta: TypeAlias = Callable[[Delta], None]


def ignore_deltas(delta: Delta) -> None:
    """Ignores deltas, for callers that wait for the whole answer."""


class Model(Protocol):
    """A model behind an endpoint.

    ``name`` is the endpoint's name for it, ``tool_format`` the format in which it wants tools
    (:mod:`tooltrue.host.models.tool_formats`), ``profile`` the parts of a definition that it accepts
    (:mod:`tooltrue.contract.profile`). ``answer`` gives one answer; it ends with ``ModelError`` on any failure, or
    when it is cancelled. Text is passed to ``on_delta`` as it arrives, or at the end where the answer is not streamed.
    ``async with`` closes its connections.
    """

    @property
    def name(self) -> str: ...

    @property
    def tool_format(self) -> str: ...

    @property
    def profile(self) -> str: ...

    async def answer(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Json]], on_delta: OnDelta = ignore_deltas
    ) -> Turn: ...

    async def close(self) -> None: ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


class AsyncCloseable:
    """``async with`` for a class with a ``close``."""

    async def close(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def text_of(parts: Iterable[Part]) -> str:
    """The text, and a line for each picture."""
    return "\n".join(part if isinstance(part, str) else part.stand_in for part in parts)


# --- messages as a program passes them -------------------------------------------------------------------------------

ModelInput: TypeAlias = "str | Sequence[Message | Mapping[str, Any]]"
"""A question; or messages, ours or ``{"role": "user", "content": "…"}``."""


def read_messages(messages: ModelInput) -> list[Message]:
    """Convert to messages. ``ConfigurationError`` for an entry that is not a message."""
    if isinstance(messages, str):
        return [UserMessage((messages,))]
    return [_read(number, message) for number, message in enumerate(messages)]


def _read(number: int, message: Message | Mapping[str, Any]) -> Message:
    if not isinstance(message, Mapping):
        return message
    text = _text(message.get("content"))
    match message.get("role"):
        case "system" | "developer" if text is not None:
            return SystemMessage(text)
        case "user" if text is not None:
            return UserMessage((text,))
        case "assistant" if text is not None and not message.get("tool_calls"):
            return ModelMessage(text)
        case _:
            raise ConfigurationError.of(MODEL_MESSAGE_INVALID, number=number)


def _text(content: Any) -> str | None:
    """The text of a content value: a string, or a list of text parts."""
    if isinstance(content, str):
        return content
    parts = content if is_array(content) else [None]
    texts = [part.get("text") if is_object(part) and part.get("type") == "text" else None for part in parts]
    return "\n".join(map(str, texts)) if all(isinstance(text, str) for text in texts) else None
