"""Chat completions: the API of OpenAI that most others imitate (DeepSeek, Qwen, Kimi, GLM, Ollama, vLLM, …).

They imitate it differently, so responses are read leniently: calls without ids or with gaps in their numbers, arguments
as an object, a stop reason that ignores the calls, missing content, thoughts in separate fields.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tooltrue.host.models.failures import no_answer
from tooltrue.host.models.model import (
    AsyncCloseable,
    Delta,
    Message,
    ModelMessage,
    OnDelta,
    Picture,
    Stop,
    SystemMessage,
    ToolMessage,
    ToolUse,
    Turn,
    Usage,
    UserMessage,
    ignore_deltas,
)
from tooltrue.host.models.model_access import ModelAccess
from tooltrue.host.models.openai_sdk import endpoint
from tooltrue.host.models.tool_uses import as_object, identified, joined
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object

__all__ = ["ChatAssembly", "OpenAIChat", "wire_messages"]

_PROVIDER = "openai"


class OpenAIChat(AsyncCloseable):
    """``sees``: whether the model takes pictures; they follow the results, in a message of their own, because a result
    in this API is text. ``more`` is added to every request unchanged: ``temperature``, ``max_tokens``, …"""

    tool_format = "openai"

    def __init__(
        self,
        name: str,
        access: ModelAccess,
        *,
        stream: bool = True,
        profile: str = "openai",
        sees: bool = False,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.profile = profile
        self._endpoint = endpoint(name, access)
        self._stream = stream
        self._sees = sees
        self._more = more or {}

    async def answer(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Json]], on_delta: OnDelta = ignore_deltas
    ) -> Turn:
        body: dict[str, Json] = {"model": self.name, "messages": wire_messages(messages, sees=self._sees), **self._more}
        if tools:
            body["tools"] = [*tools]
        if self._stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        assembly = ChatAssembly(on_delta)
        async with contextlib.aclosing(self._endpoint.pieces("/chat/completions", body)) as pieces:
            async for piece in pieces:
                assembly.add(piece)
        return assembly.turn(self.name, messages)

    async def close(self) -> None:
        await self._endpoint.close()


# --- requests --------------------------------------------------------------------------------------------------------


def wire_messages(messages: Sequence[Message], *, sees: bool) -> list[Json]:
    return [
        wire
        for number, message in enumerate(messages)
        for wire in _wire_parts(message, number > _newest_question(messages), sees)
    ]


def _newest_question(messages: Sequence[Message]) -> int:
    """The index of the newest question."""
    return max((number for number, message in enumerate(messages) if isinstance(message, UserMessage)), default=-1)


def _wire_parts(message: Message, is_new: bool, sees: bool) -> Iterable[Json]:
    match message:
        case SystemMessage():
            yield {"role": "system", "content": message.text}
        case UserMessage():
            yield {"role": "user", "content": _content(message.parts, sees)}
        case ModelMessage():
            yield _assistant_message(message, is_new)
        case ToolMessage():
            for reply in message.replies:
                text = f"Error: {reply.text}" if reply.is_error else reply.text
                yield {"role": "tool", "tool_call_id": reply.use.id, "content": text}
            for reply in message.replies if sees else ():
                if pictures := [part for part in reply.parts if isinstance(part, Picture)]:
                    caption = f"What {reply.use.name} ({reply.use.id}) has returned:"
                    yield {"role": "user", "content": _content((caption, *pictures), sees)}


def _assistant_message(message: ModelMessage, is_new: bool) -> Json:
    wire: dict[str, Json] = {"role": "assistant", "content": message.text or None}
    if message.uses:
        wire["tool_calls"] = [
            {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": _arguments(use)}}
            for use in message.uses
        ]
    elif not message.text:
        wire["content"] = ""
    if is_new and message.by == _PROVIDER and is_object(message.native):
        # Models that think between calls want their thoughts back until the question is answered, and not after that.
        wire |= message.native
    return wire


def _arguments(use: ToolUse) -> str:
    """The arguments as JSON of an object: some endpoints parse them again before they show them to the model."""
    return encode(as_object(use)).decode()


def _content(parts: Sequence[str | Picture], sees: bool) -> Json:
    if not sees or all(isinstance(part, str) for part in parts):
        return "\n".join(part if isinstance(part, str) else part.stand_in for part in parts)
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": part.url}}
        for part in parts
    ]


# --- responses -------------------------------------------------------------------------------------------------------

_STOPS: dict[str, Stop] = {"length": "length", "content_filter": "refused"}
_THOUGHTS = ("reasoning_content", "reasoning")


class _Use:
    """A call, assembled from its pieces."""

    def __init__(self) -> None:
        self.id = self.name = self.text = ""
        self.whole: dict[str, Json] | None = None

    def add(self, piece: Mapping[str, Json]) -> None:
        self.id = self.id or _text(piece.get("id"))
        function = piece.get("function")
        if not is_object(function):
            return
        name, arguments = _text(function.get("name")), function.get("arguments")
        if name != self.name:  # some repeat the whole name with every piece
            self.name += name
        if is_object(arguments):
            self.whole = arguments
        else:
            self.text += _text(arguments)

    @property
    def use(self) -> ToolUse:
        return ToolUse(self.id, self.name, joined(self.text) if self.whole is None else self.whole)


class ChatAssembly:
    """Assembles an answer, chunk by chunk. A response that is not streamed is one chunk."""

    def __init__(self, on_delta: OnDelta) -> None:
        self._on_delta = on_delta
        self._text = ""
        self._thoughts = dict.fromkeys(_THOUGHTS, "")
        self._uses: dict[int, _Use] = {}
        self._refusal = ""
        self._reason: str | None = None
        self._usage = Usage()

    def add(self, chunk: Mapping[str, Json]) -> None:
        choices = chunk.get("choices")
        choice = choices[0] if is_array(choices) and choices and is_object(choices[0]) else {}
        self._count(chunk.get("usage") or choice.get("usage"))
        self._reason = _text(choice.get("finish_reason")) or self._reason
        delta = choice.get("delta") or choice.get("message")
        if is_object(delta):
            self._add(delta)

    def _add(self, delta: Mapping[str, Json]) -> None:
        if text := _joined_text(delta.get("content")):
            self._text += text
            self._on_delta(Delta("text", text))
        self._refusal += _text(delta.get("refusal"))
        for field in _THOUGHTS:
            if thought := _text(delta.get(field)):
                self._thoughts[field] += thought
                self._on_delta(Delta("thinking", thought))
        pieces = delta.get("tool_calls")
        for piece in pieces if is_array(pieces) else ():
            if is_object(piece):
                self._whose(piece).add(piece)

    def _whose(self, piece: Mapping[str, Json]) -> _Use:
        """The call that a piece belongs to: by its number, unless it has the id of another one; without a number by its
        id, or the last call if the piece has no name to begin a new one."""
        number, id = piece.get("index"), _text(piece.get("id"))
        if type(number) is not int:
            number = self._number_of(piece, id)
        elif id and self._uses.get(number, _NONE).id not in ("", id):
            number = max(self._uses) + 1  # this endpoint gives all calls the same number
        return self._uses.setdefault(number, _Use())

    def _number_of(self, piece: Mapping[str, Json], id: str) -> int:
        last = max(self._uses, default=-1)
        if id:
            return next((number for number, use in self._uses.items() if use.id == id), last + 1)
        function = piece.get("function")
        return last + 1 if last < 0 or (is_object(function) and function.get("name")) else last

    def _count(self, usage: Json) -> None:
        if is_object(usage):
            details = usage.get("prompt_tokens_details")
            cached = details.get("cached_tokens") if is_object(details) else usage.get("prompt_cache_hit_tokens")
            self._usage = Usage.of(usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)

    def turn(self, model: str, before: Sequence[Message] = ()) -> Turn:
        """The whole answer. ``ModelError`` if it is incomplete: a call may be cut off."""
        if self._reason is None:
            raise no_answer(model, "it ended in the middle")
        thoughts = {field: joined(thought) for field, thought in self._thoughts.items() if thought}
        uses = identified((use.use for _, use in sorted(self._uses.items())), before)
        stop: Stop = "refused" if self._refusal else _STOPS.get(self._reason, "tools" if uses else "end")
        uses = () if stop == "refused" else uses
        return Turn(
            ModelMessage(joined(self._text or self._refusal), uses, thoughts or None, _PROVIDER), stop, self._usage
        )


_NONE = _Use()


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _joined_text(content: Json) -> str:
    """Text, or the texts of its parts."""
    if is_array(content):
        return "".join(_text(part.get("text")) for part in content if is_object(part))
    return _text(content)
