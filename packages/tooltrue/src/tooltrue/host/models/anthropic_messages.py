"""Anthropic's Messages API, and the endpoints that imitate it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from tooltrue.host.models.anthropic_sdk import endpoint
from tooltrue.host.models.failures import no_answer
from tooltrue.host.models.model import (
    AsyncCloseable,
    Delta,
    Message,
    ModelMessage,
    OnDelta,
    Part,
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
from tooltrue.host.models.tool_uses import as_object, identified, joined
from tooltrue.jsonrpc.messages import Json, is_array, is_object

__all__ = ["Anthropic", "MessagesAssembly", "wire_messages"]

_PROVIDER = "anthropic"


class Anthropic(AsyncCloseable):
    """A model of the Messages API. ``max_tokens`` limits an answer; this API requires it. ``more`` is added to every
    request unchanged: ``temperature``, ``thinking``, …"""

    tool_format = "anthropic"

    def __init__(
        self,
        name: str,
        access: ModelAccess,
        *,
        stream: bool = True,
        profile: str = "anthropic",
        max_tokens: int = 8192,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.profile = profile
        self._endpoint = endpoint(name, access)
        self._stream = stream
        self._settings = {"max_tokens": max_tokens, **(more or {})}

    async def answer(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Json]], on_delta: OnDelta = ignore_deltas
    ) -> Turn:
        body: dict[str, Json] = {"model": self.name, "messages": wire_messages(messages), **self._settings}
        if system := [message.text for message in messages if isinstance(message, SystemMessage)]:
            body["system"] = "\n\n".join(system)
        if tools:
            body["tools"] = [*tools]
        if self._stream:
            body["stream"] = True
        assembly = MessagesAssembly(on_delta, self.name)
        async with contextlib.aclosing(self._endpoint.pieces("/v1/messages", body)) as pieces:
            async for piece in pieces:
                assembly.add(piece)
        return assembly.turn(self.name, messages)

    async def close(self) -> None:
        await self._endpoint.close()


# --- requests --------------------------------------------------------------------------------------------------------


def wire_messages(messages: Sequence[Message]) -> list[Json]:
    """Convert messages. Roles alternate: consecutive messages of one side are merged."""
    turns: list[tuple[str, list[Json]]] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            continue
        role = "assistant" if isinstance(message, ModelMessage) else "user"
        if not turns or turns[-1][0] != role:
            turns.append((role, []))
        turns[-1][1].extend(_blocks(message))
    return [{"role": role, "content": blocks or [_block("(nothing)")]} for role, blocks in turns]


def _blocks(message: UserMessage | ModelMessage | ToolMessage) -> list[Json]:
    match message:
        case UserMessage():
            return [_block(part) for part in message.parts if part]
        case ModelMessage():
            if message.by == _PROVIDER and is_array(message.native):
                return message.native
            texts = [_block(message.text)] if message.text.strip() else []
            return [*texts, *map(_used, message.uses)]
        case ToolMessage():
            return [
                {
                    "type": "tool_result",
                    "tool_use_id": reply.use.id,
                    "content": [_block(part) for part in reply.parts if part],
                    "is_error": reply.is_error,
                }
                for reply in message.replies
            ]


def _used(use: ToolUse) -> Json:
    return {"type": "tool_use", "id": use.id, "name": use.name, "input": as_object(use)}


def _block(part: Part) -> Json:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image", "source": {"type": "base64", "media_type": part.mime_type, "data": part.data}}


# --- responses -------------------------------------------------------------------------------------------------------

_STOPS: dict[str, Stop] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class MessagesAssembly:
    """Assembles an answer, event by event. A response that is not streamed is one event."""

    def __init__(self, on_delta: OnDelta, model: str = _PROVIDER) -> None:
        self._on_delta = on_delta
        self._model = model
        self._blocks: dict[int, dict[str, Json]] = {}
        self._inputs: dict[int, str] = {}
        self._reason: str | None = None
        self._is_whole = False
        self._counts: dict[str, Json] = {}

    def add(self, event: Mapping[str, Json]) -> None:
        place = event.get("index", 0)
        if type(place) is not int:
            raise no_answer(self._model, "the index of an event is no number")
        match event.get("type"):
            case "message_start":
                self._count(_within(event, "message").get("usage"))
            case "content_block_start":
                self._blocks[place] = {**_within(event, "content_block")}
            case "content_block_delta":
                self._add(place, _within(event, "delta"))
            case "message_delta":
                self._reason = _word(_within(event, "delta").get("stop_reason")) or self._reason
                self._count(event.get("usage"))
            case "message_stop":
                self._is_whole = True
            case "message":
                self._whole(event)
            case _:
                pass  # pings, and future kinds of events

    def _whole(self, message: Mapping[str, Json]) -> None:
        content = message.get("content")
        for place, block in enumerate(filter(is_object, content if is_array(content) else ())):
            self._blocks[place] = block
            if text := block.get("text") or block.get("thinking"):
                self._on_delta(Delta("text" if block.get("text") else "thinking", str(text)))
        self._reason, self._is_whole = _word(message.get("stop_reason")), True
        self._count(message.get("usage"))

    def _add(self, place: int, delta: Mapping[str, Json]) -> None:
        kind = _word(delta.get("type"))
        if kind == "input_json_delta":
            self._inputs[place] = self._inputs.get(place, "") + str(delta.get("partial_json") or "")
        elif kind in _TEXTS:
            field, block = _TEXTS[kind], self._blocks.setdefault(place, {"type": "text", "text": ""})
            block[field] = str(block.get(field) or "") + (piece := str(delta.get(field) or ""))
            if field == "text":
                self._on_delta(Delta("text", piece))
            elif field == "thinking":
                self._on_delta(Delta("thinking", piece))

    def _count(self, usage: Json) -> None:
        if is_object(usage):
            self._counts |= {name: count for name, count in usage.items() if count is not None}

    def turn(self, model: str, before: Sequence[Message] = ()) -> Turn:
        """The whole answer. ``ModelError`` if it is incomplete: a call may be cut off."""
        if not self._is_whole or self._reason is None:
            raise no_answer(model, "it ended in the middle")
        blocks = sorted(self._blocks.items())
        calls = [self._use(place, block) for place, block in blocks if block.get("type") == "tool_use"]
        used = identified(calls, before)
        stop = _STOPS.get(self._reason, "tools" if used else "end")
        uses = () if stop == "refused" else used
        text = joined("".join(str(block.get("text") or "") for _, block in blocks if block.get("type") == "text"))
        return Turn(ModelMessage(text, uses, self._native(uses) or None, _PROVIDER), stop, self._usage())

    def _native(self, uses: Sequence[ToolUse]) -> list[Json]:
        """The content to send back: all in its order, with signed thoughts unchanged."""
        again, calls = list[Json](), iter(uses)
        for _, block in sorted(self._blocks.items()):
            match block.get("type"):
                case "thinking" | "redacted_thinking":
                    again.append(block)
                case "text" if text := joined(str(block.get("text") or "")).strip():
                    again.append(_block(text))
                case "tool_use":
                    again += map(_used, itertools.islice(calls, 1))
                case _:
                    pass
        return again

    def _use(self, place: int, block: Mapping[str, Json]) -> ToolUse:
        input, text = block.get("input"), joined(self._inputs.get(place, ""))
        arguments = text or (input if isinstance(input, str) or is_object(input) else "")
        return ToolUse(str(block.get("id") or ""), str(block.get("name") or ""), arguments)

    def _usage(self) -> Usage:
        cached = self._counts.get("cache_read_input_tokens")
        fresh = [self._counts.get("input_tokens"), self._counts.get("cache_creation_input_tokens"), cached]
        total = sum(count for count in fresh if type(count) is int)  # this API counts them separately
        return Usage.of(total, self._counts.get("output_tokens"), cached)


def _within(event: Mapping[str, Json], field: str) -> dict[str, Json]:
    value = event.get(field)
    return value if is_object(value) else {}


def _word(value: Json) -> str | None:
    return value if isinstance(value, str) else None
