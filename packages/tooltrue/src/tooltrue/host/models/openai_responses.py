"""OpenAI's Responses API, without storage at the provider: the whole conversation is sent each time, with the encrypted
reasoning items that belong to it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tooltrue.host.models.failures import no_answer, refused
from tooltrue.host.models.model import (
    AsyncCloseable,
    Delta,
    Message,
    ModelMessage,
    OnDelta,
    Part,
    Picture,
    Stop,
    SystemMessage,
    ToolMessage,
    ToolReply,
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

__all__ = ["OpenAIResponses", "read", "wire_items"]

_PROVIDER = "openai-responses"


class OpenAIResponses(AsyncCloseable):
    """A model of the Responses API. ``more`` is added to every request unchanged: ``reasoning``, ``max_output_tokens``,
    …"""

    tool_format = "openai-responses"

    def __init__(
        self,
        name: str,
        access: ModelAccess,
        *,
        stream: bool = True,
        profile: str = "openai-responses",
        more: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.profile = profile
        self._endpoint = endpoint(name, access)
        self._stream = stream
        self._more = more or {}

    async def answer(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Json]], on_delta: OnDelta = ignore_deltas
    ) -> Turn:
        body: dict[str, Json] = {
            "model": self.name,
            "input": [item for message in messages for item in wire_items(message)],
            "store": False,
            "include": ["reasoning.encrypted_content"],
            **self._more,
        }
        if tools:
            body["tools"] = [*tools]
        if self._stream:
            body["stream"] = True
        response: dict[str, Json] | None = None
        async with contextlib.aclosing(self._endpoint.pieces("/responses", body)) as pieces:
            async for piece in pieces:
                response = self._complete_response(piece, on_delta) or response
        if response is None:
            raise no_answer(self.name, "it ended in the middle")
        turn = read(self.name, response, messages)
        if turn.message.text and not self._stream:
            on_delta(Delta("text", turn.message.text))
        return turn

    def _complete_response(self, piece: dict[str, Json], on_delta: OnDelta) -> dict[str, Json] | None:
        """The response, once it is complete; pieces before that are passed to ``on_delta``."""
        if not self._stream:
            return piece
        delta, kind = piece.get("delta"), piece.get("type")
        if kind == "error":
            raise refused(self.name, None, str(piece.get("message")))
        if kind in _ENDS:
            response = piece.get("response")
            return response if is_object(response) else None
        if isinstance(delta, str) and kind in _DELTAS:
            on_delta(Delta("text" if kind == "response.output_text.delta" else "thinking", delta))
        return None

    async def close(self) -> None:
        await self._endpoint.close()


_ENDS = ("response.completed", "response.incomplete", "response.failed")
_DELTAS = ("response.output_text.delta", "response.reasoning_summary_text.delta", "response.reasoning_text.delta")


# --- requests --------------------------------------------------------------------------------------------------------


def wire_items(message: Message) -> Iterable[Json]:
    match message:
        case SystemMessage():
            yield {"role": "system", "content": message.text}
        case UserMessage():
            yield {"role": "user", "content": _content(message.parts)}
        case ModelMessage():
            if message.by == _PROVIDER and is_array(message.native):
                yield from message.native
                return
            if message.text:
                yield {"role": "assistant", "content": message.text}
            yield from map(_used, message.uses)
        case ToolMessage():
            yield from map(_output, message.replies)


def _used(use: ToolUse) -> Json:
    arguments = encode(as_object(use)).decode()
    return {"type": "function_call", "call_id": use.id, "name": use.name, "arguments": arguments}


def _output(reply: ToolReply) -> Json:
    if reply.is_error:
        output = f"Error: {reply.text}"
    else:
        output = _content(reply.parts) if any(isinstance(part, Picture) for part in reply.parts) else reply.text
    return {"type": "function_call_output", "call_id": reply.use.id, "output": output}


def _content(parts: Sequence[Part]) -> Json:
    return [
        {"type": "input_text", "text": part}
        if isinstance(part, str)
        else {"type": "input_image", "image_url": part.url, "detail": "auto"}
        for part in parts
    ]


# --- responses -------------------------------------------------------------------------------------------------------


def read(model: str, response: Mapping[str, Json], before: Sequence[Message] = ()) -> Turn:
    """Convert a complete response to an answer. ``ModelError`` if it has failed."""
    if response.get("status") == "failed":
        error = response.get("error")
        raise refused(model, None, str(error.get("message")) if is_object(error) else "it failed")
    items = response.get("output")
    output = [item for item in items if is_object(item)] if is_array(items) else []
    used = identified((_use(item) for item in output if item.get("type") == "function_call"), before)
    parts = [part for item in output if item.get("type") == "message" for part in _parts(item)]
    refusal = "".join(str(part.get("refusal") or "") for part in parts)
    stop = _stop(response, refused=bool(refusal), calls=bool(used))
    uses = () if stop == "refused" else used
    text = joined("".join(str(part.get("text") or "") for part in parts)) or joined(refusal)
    return Turn(ModelMessage(text, uses, _native(output, uses), _PROVIDER), stop, _usage(response.get("usage")))


def _native(output: Sequence[Mapping[str, Json]], uses: Sequence[ToolUse]) -> Json:
    """The items to send back: all in their order, with reasoning items as they came."""
    again, calls = list[Json](), iter(uses)
    for item in output:
        match item.get("type"):
            case "reasoning":
                again.append({name: value for name, value in item.items() if name != "status" and value is not None})
            case "message" if text := joined("".join(str(part.get("text") or "") for part in _parts(item))):
                again.append({"role": "assistant", "content": text})
            case "function_call":
                again += map(_used, itertools.islice(calls, 1))
            case _:
                pass
    return again or None


def _stop(response: Mapping[str, Json], *, refused: bool, calls: bool) -> Stop:
    details = response.get("incomplete_details")
    reason = details.get("reason") if is_object(details) else None
    if refused or reason == "content_filter":
        return "refused"
    return "length" if response.get("status") == "incomplete" else "tools" if calls else "end"


def _use(item: Mapping[str, Json]) -> ToolUse:
    arguments = item.get("arguments")
    text = joined(arguments) if isinstance(arguments, str) else arguments if is_object(arguments) else ""
    return ToolUse(str(item.get("call_id") or ""), str(item.get("name") or ""), text)


def _parts(item: Mapping[str, Json]) -> list[dict[str, Json]]:
    content = item.get("content")
    return [part for part in content if is_object(part)] if is_array(content) else []


def _usage(usage: Json) -> Usage:
    if not is_object(usage):
        return Usage()
    details = usage.get("input_tokens_details")
    cached = details.get("cached_tokens") if is_object(details) else None
    return Usage.of(usage.get("input_tokens"), usage.get("output_tokens"), cached)
