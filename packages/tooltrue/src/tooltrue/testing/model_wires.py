"""A model's answers in the format of each API, and the requests that it would refuse. The counterpart of
:mod:`tooltrue.host.models`, written independently of it, by the providers' documentation."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias

from tooltrue.errors import ParseError
from tooltrue.jsonrpc.messages import Json, decode, encode, is_array, is_object
from tooltrue.protocol.types import Value

__all__ = ["WIRES", "Call", "Event", "Says", "Wire"]

Event: TypeAlias = tuple[str, Json]
"""The event's name, empty where the API has none, and its data; bytes are written unchanged."""


class Call(Value, frozen=True):
    """A call by the model. ``arguments`` that are text are sent unchanged, even if they are not JSON."""

    name: str
    arguments: Json = "{}"
    id: str = ""

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else encode(self.arguments).decode()


class Says(Value, frozen=True):
    """An answer of the model. ``stop`` overrides the stop reason, in the terms of the API; by default it is the right
    one."""

    text: str = ""
    calls: Sequence[Call] = ()
    thinking: str = ""
    stop: str = ""
    input: int = 10
    output: int = 5

    @property
    def named(self) -> list[tuple[str, Call]]:
        """The calls, with their ids."""
        return [(call.id or f"id_{number}_{call.name[:20]}", call) for number, call in enumerate(self.calls)]


class Wire(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    def problem(self, body: dict[str, Json]) -> str | None: ...

    def event(self, data: Json) -> Event: ...

    def events(self, reply: Says, body: dict[str, Json]) -> Iterator[Event]: ...

    def whole(self, reply: Says, body: dict[str, Json]) -> Json: ...


def _pieces(text: str, size: int = 5) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def _bad_tools(tools: Iterable[Json], schema: str) -> str | None:
    names = [tool.get("name") for tool in tools if is_object(tool)]
    for tool, name in zip(tools, names, strict=True):
        if not isinstance(name, str) or not _NAME.fullmatch(name) or names.count(name) > 1:
            return f"a tool cannot be called {name!r}"
        if not is_object(tool.get(schema)) or tool[schema].get("type") != "object":
            return f"{name}: {schema} has to be a schema of an object"
    return None


def _is_object(text: Json) -> bool:
    try:
        return isinstance(text, str) and is_object(decode(text.encode()))
    except ParseError:
        return False


def _unanswered(call_ids: Sequence[Json], result_ids: Sequence[Json]) -> str | None:
    if len(set(call_ids)) != len(call_ids) or not all(isinstance(id, str) and id for id in call_ids):
        return f"calls need ids, each its own: {call_ids}"
    return None if [*call_ids] == [*result_ids] else f"calls {call_ids} are answered by results of {result_ids}"


# --- chat completions ------------------------------------------------------------------------------------------------


class ChatWire:
    name = "chat"
    path = "/chat/completions"

    def problem(self, body: dict[str, Json]) -> str | None:
        messages: list[Json] = body.get("messages") or []
        if problem := _bad_tools([tool["function"] for tool in body.get("tools", ())], "parameters"):
            return problem
        for place, message in enumerate(messages):
            calls = message.get("tool_calls", [])
            for call in calls:
                if not _NAME.fullmatch(call["function"]["name"]) or not _is_object(call["function"]["arguments"]):
                    return f"a call that cannot be read: {call}"
            following = itertools.takewhile(lambda one: one["role"] == "tool", messages[place + 1 :])
            if message["role"] == "assistant" and (
                problem := _unanswered([call["id"] for call in calls], [one["tool_call_id"] for one in following])
            ):
                return problem
            if message["role"] == "tool" and not isinstance(message["content"], str):
                return "the content of a result is text"
        return None if messages else "messages are needed"

    def event(self, data: Json) -> Event:
        return "", data

    def events(self, reply: Says, body: dict[str, Json]) -> Iterator[Event]:
        def chunk(delta: Json, reason: str | None = None) -> Event:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            return "", {"id": "c1", "object": "chat.completion.chunk", "model": body["model"], "choices": [choice]}

        yield chunk({"role": "assistant", "content": ""})
        for piece in _pieces(reply.thinking):
            yield chunk({"reasoning_content": piece})
        for piece in _pieces(reply.text):
            yield chunk({"content": piece})
        for number, (id, call) in enumerate(reply.named):
            head = {"index": number, "id": id, "type": "function", "function": {"name": call.name, "arguments": ""}}
            yield chunk({"tool_calls": [head]})
            for piece in _pieces(call.text):
                yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
        yield chunk({}, self._reason(reply))
        options = body.get("stream_options")
        if is_object(options) and options.get("include_usage"):
            yield "", {"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": self._usage(reply)}
        yield "", b"[DONE]"

    def whole(self, reply: Says, body: dict[str, Json]) -> Json:
        calls = [
            {"id": id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
            for id, call in reply.named
        ]
        message: dict[str, Json] = {"role": "assistant", "content": reply.text or None}
        message |= {"tool_calls": calls} if calls else {}
        message |= {"reasoning_content": reply.thinking} if reply.thinking else {}
        choice = {"index": 0, "message": message, "finish_reason": self._reason(reply)}
        return {"id": "c1", "object": "chat.completion", "choices": [choice], "usage": self._usage(reply)}

    def _reason(self, reply: Says) -> str:
        return reply.stop or ("tool_calls" if reply.calls else "stop")

    def _usage(self, reply: Says) -> Json:
        return {
            "prompt_tokens": reply.input,
            "completion_tokens": reply.output,
            "total_tokens": reply.input + reply.output,
        }


# --- responses -------------------------------------------------------------------------------------------------------


class ResponsesWire:
    name = "responses"
    path = "/responses"

    def problem(self, body: dict[str, Json]) -> str | None:
        items: list[Json] = body["input"] if is_array(body.get("input")) else []
        if problem := _bad_tools(body.get("tools", ()), "parameters"):
            return problem
        call_ids = [item["call_id"] for item in items if item.get("type") == "function_call"]
        result_ids = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
        if body.get("store") is not False and any(item.get("type") == "reasoning" for item in items):
            return "what was thought is kept here"
        return _unanswered(call_ids, result_ids) or (None if items else "input is needed")

    def event(self, data: Json) -> Event:
        return (data.get("type", "") if is_object(data) else ""), data

    def events(self, reply: Says, body: dict[str, Json]) -> Iterator[Event]:
        numbers = itertools.count()

        def event(type: str, **more: Json) -> Event:
            return type, {"type": type, "sequence_number": next(numbers), **more}

        response = self._response(reply)
        yield event("response.created", response={**response, "status": "in_progress", "output": []})
        for place, item in enumerate(response["output"]):
            where = {"item_id": item["id"], "output_index": place}
            yield event("response.output_item.added", output_index=place, item={**item, "status": "in_progress"})
            match item["type"]:
                case "message":
                    for piece in _pieces(reply.text):
                        yield event("response.output_text.delta", **where, content_index=0, delta=piece)
                case "reasoning":
                    for piece in _pieces(reply.thinking):
                        yield event("response.reasoning_summary_text.delta", **where, summary_index=0, delta=piece)
                case _:
                    for piece in _pieces(item["arguments"]):
                        yield event("response.function_call_arguments.delta", **where, delta=piece)
            yield event("response.output_item.done", output_index=place, item=item)
        yield event(f"response.{response['status']}", response=response)

    def whole(self, reply: Says, body: dict[str, Json]) -> Json:
        return self._response(reply)

    def _response(self, reply: Says) -> dict[str, Json]:
        output: list[Json] = []
        if reply.thinking:
            summary = [{"type": "summary_text", "text": reply.thinking}]
            output.append({"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": "c2VhbGVk"})
        if reply.text:
            part: Json = {"type": "output_text", "text": reply.text, "annotations": []}
            output.append({"id": "msg_1", "type": "message", "role": "assistant", "content": [part]})
        output += [
            {"id": f"fc_{id}", "type": "function_call", "call_id": id, "name": call.name, "arguments": call.text}
            for id, call in reply.named
        ]
        usage = {"input_tokens": reply.input, "output_tokens": reply.output, "total_tokens": reply.input + reply.output}
        response: dict[str, Json] = {"id": "resp_1", "object": "response", "status": "completed", "usage": usage}
        if reply.stop:
            response |= {"status": "incomplete", "incomplete_details": {"reason": reply.stop}}
        return {**response, "output": [{**item, "status": "completed"} for item in output]}


# --- Anthropic's messages --------------------------------------------------------------------------------------------


class MessagesWire:
    name = "messages"
    path = "/messages"

    def problem(self, body: dict[str, Json]) -> str | None:
        messages: list[Json] = body.get("messages") or []
        if problem := _bad_tools(body.get("tools", ()), "input_schema"):
            return problem
        if not isinstance(body.get("max_tokens"), int):
            return "max_tokens is needed"
        call_ids: list[Json] = []
        for place, message in enumerate(messages):
            if message["role"] != ("user", "assistant")[place % 2]:
                return "roles have to take turns, and a user begins"
            blocks: list[Json] = message["content"] if is_array(message["content"]) else []
            if message["content"] in ("", []) or any(block.get("text") == "" for block in blocks):
                return "content is needed"
            result_ids = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
            if problem := _unanswered(call_ids, result_ids):
                return problem
            calls = [block for block in blocks if block["type"] == "tool_use"]
            if bad := [block for block in calls if not is_object(block["input"]) or not _NAME.fullmatch(block["name"])]:
                return f"a call that cannot be read: {bad[0]}"
            call_ids = [block["id"] for block in calls]
        ids = [block["id"] for one in messages for block in one["content"] if block.get("type") == "tool_use"]
        if len(set(ids)) != len(ids):
            return f"calls need ids, each its own: {ids}"
        return None if messages else "messages are needed"

    def event(self, data: Json) -> Event:
        return (data.get("type", "") if is_object(data) else ""), data

    def events(self, reply: Says, body: dict[str, Json]) -> Iterator[Event]:
        def event(type: str, **more: Json) -> Event:
            return type, {"type": type, **more}

        usage = {"input_tokens": reply.input, "output_tokens": 1}
        message: Json = {**self._message(reply, body), "content": [], "stop_reason": None, "usage": usage}
        yield event("message_start", message=message)
        yield event("ping")
        for place, block in enumerate(self._blocks(reply)):
            yield event("content_block_start", index=place, content_block=self._empty_block(block))
            for delta in self._deltas(block, reply):
                yield event("content_block_delta", index=place, delta=delta)
            yield event("content_block_stop", index=place)
        yield event("message_delta", delta={"stop_reason": self._reason(reply)}, usage={"output_tokens": reply.output})
        yield event("message_stop")

    def whole(self, reply: Says, body: dict[str, Json]) -> Json:
        return self._message(reply, body)

    def _message(self, reply: Says, body: dict[str, Json]) -> dict[str, Json]:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": self._blocks(reply),
            "stop_reason": self._reason(reply),
            "usage": {"input_tokens": reply.input, "output_tokens": reply.output},
        }

    def _blocks(self, reply: Says) -> list[dict[str, Json]]:
        blocks: list[dict[str, Json]] = []
        if reply.thinking:
            blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": "c2lnbmVk"})
        if reply.text:
            blocks.append({"type": "text", "text": reply.text})
        for id, call in reply.named:
            input: Json = decode(call.text.encode()) if _is_object(call.text) else {}
            blocks.append({"type": "tool_use", "id": id, "name": call.name, "input": input})
        return blocks

    def _empty_block(self, block: dict[str, Json]) -> dict[str, Json]:
        return {**block, **{field: empty for field, empty in _EMPTY.items() if field in block}}

    def _deltas(self, block: dict[str, Json], reply: Says) -> Iterator[Json]:
        match block["type"]:
            case "text":
                yield from ({"type": "text_delta", "text": piece} for piece in _pieces(block["text"]))
            case "thinking":
                yield from ({"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"]))
                yield {"type": "signature_delta", "signature": block["signature"]}
            case _:
                text = next(call.text for id, call in reply.named if id == block["id"])
                yield from ({"type": "input_json_delta", "partial_json": piece} for piece in _pieces(text))

    def _reason(self, reply: Says) -> str:
        return reply.stop or ("tool_use" if reply.calls else "end_turn")


_EMPTY: dict[str, Json] = {"text": "", "thinking": "", "signature": "", "input": {}}

WIRES: tuple[Wire, ...] = (ChatWire(), ResponsesWire(), MessagesWire())
