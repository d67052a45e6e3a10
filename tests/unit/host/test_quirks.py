"""Endpoints with deviating imitations of chat completions, and model output that could not be sent back."""

from __future__ import annotations

from typing import Any

import pytest

from tooltrue.errors import ModelError
from tooltrue.host.models import anthropic_messages
from tooltrue.host.models.failures import measured
from tooltrue.host.models.model import Delta, ModelMessage, ToolUse, Turn, Usage, UserMessage, ignore_deltas
from tooltrue.host.models.openai_chat import ChatAssembly, wire_messages


def assembled(*deltas: Any, reason: str | None = "tool_calls", **last: Any) -> Turn:
    assembly = ChatAssembly(lambda delta: None)
    for delta in deltas:
        assembly.add({"choices": [{"index": 0, "delta": delta}]})
    assembly.add({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], **last})
    return assembly.turn("m")


def piece(arguments: Any = "", name: str | None = None, **more: Any) -> dict[str, Any]:
    function = {"arguments": arguments} | ({} if name is None else {"name": name})
    return {"tool_calls": [{"function": function, **more}]}


def called(turn: Turn) -> list[tuple[str, Any]]:
    return [(use.name, use.arguments) for use in turn.message.uses]


def test_calls_without_ids_get_ids_that_differ():
    turn = assembled(piece("{}", "a", index=0), piece("{}", "a", index=1))
    ids = [use.id for use in turn.message.uses]
    assert len(set(ids)) == 2
    assert all(ids)


def test_an_id_that_was_used_before_is_replaced():
    before = [ModelMessage("", (ToolUse("call_0", "a", "{}"),))]
    assembly = ChatAssembly(lambda delta: None)
    assembly.add({"choices": [{"delta": piece("{}", "a", index=0, id="call_0"), "finish_reason": "tool_calls"}]})
    assert assembly.turn("m", before).message.uses[0].id not in ("", "call_0")


def test_numbers_with_gaps_keep_their_order():
    turn = assembled(piece("1", "b", index=5), piece("0", "a", index=2), piece("1", index=5), piece("0", index=2))
    assert called(turn) == [("a", "00"), ("b", "11")]


def test_calls_that_all_have_number_nought_are_told_apart_by_their_ids():
    turn = assembled(piece("{}", "a", index=0, id="x"), piece("{}", "b", index=0, id="y"))
    assert called(turn) == [("a", "{}"), ("b", "{}")]


def test_calls_without_numbers_are_put_together_by_ids_or_by_their_order():
    turn = assembled(piece('{"x', "a", id="1"), piece('":1}'), piece("{", "b", id="2"), piece("}", id="2"))
    assert called(turn) == [("a", '{"x":1}'), ("b", "{}")]


def test_a_name_that_comes_with_every_piece_stands_once():
    assert called(assembled(piece("{", "add", index=0, id="1"), piece("}", "add", index=0))) == [("add", "{}")]


def test_arguments_that_are_an_object_already_are_taken():
    assert called(assembled(piece({"a": 1}, "add", index=0))) == [("add", {"a": 1})]


@pytest.mark.parametrize("nothing", [None, "", [], 0])
def test_content_that_is_nothing_is_no_text(nothing: Any):
    assert assembled({"content": nothing}, reason="stop").message.text == ""


def test_content_in_parts_is_their_text():
    parts = [{"type": "text", "text": "one, "}, {"type": "text", "text": "two"}, {"type": "odd"}]
    assert assembled({"content": parts}, reason="stop").message.text == "one, two"


def test_calls_count_where_the_reason_to_stop_forgets_them():
    turn = assembled(piece("{}", "a", index=0), reason="stop")
    assert (turn.stop, called(turn)) == ("tools", [("a", "{}")])


def test_thoughts_are_heard_and_kept_under_the_name_that_they_came_with():
    heard: list[Delta] = []
    assembly = ChatAssembly(heard.append)
    assembly.add({"choices": [{"delta": {"reasoning": "hm"}, "finish_reason": "stop"}]})
    assert heard == [Delta("thinking", "hm")]
    assert assembly.turn("m").message.native == {"reasoning": "hm"}


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4},
    ],
)
def test_tokens_are_counted_wherever_they_are_told(usage: Any):
    assert assembled(reason="stop", usage=usage).usage == Usage(9, 3, 4)
    assembly = ChatAssembly(lambda delta: None)
    assembly.add({"choices": [{"delta": {}, "finish_reason": "stop", "usage": usage}], "usage": None})
    assert assembly.turn("m").usage == Usage(9, 3, 4)


@pytest.mark.parametrize("odd", [{"prompt_tokens": "9"}, {"prompt_tokens": -1}, {"prompt_tokens": True}, "many", [1]])
def test_an_invalid_token_count_counts_as_zero(odd: Any):
    assert assembled(reason="stop", usage=odd).usage == Usage()


@pytest.mark.parametrize(
    "chunk", [{}, {"choices": None}, {"choices": []}, {"choices": [None]}, {"choices": [{"delta": None}]}]
)
def test_a_chunk_that_says_nothing_is_passed_over(chunk: Any):
    assembly = ChatAssembly(lambda delta: None)
    assembly.add(chunk)
    assembly.add({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]})
    assert assembly.turn("m").message.text == "hi"


def test_a_character_that_was_cut_in_two_is_one_and_a_half_alone_can_be_sent():
    assert assembled({"content": "a\ud83d"}, {"content": "\ude00b"}, reason="stop").message.text == "a😀b"
    assert assembled({"content": "a\ud83d"}, reason="stop").message.text == "a\ufffd"


def test_an_invalid_tool_call_is_sent_back_to_the_model_in_a_valid_form():
    turn = assembled(piece('{"a":', "rm -rf /", index=0, id="1"))
    function = wire_messages([UserMessage(("go",)), turn.message], sees=False)[1]["tool_calls"][0]["function"]
    assert function == {"name": "rm_-rf__", "arguments": "{}"}


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content_block_start", "index": [], "content_block": {"type": "text"}},
        {"type": "content_block_start", "index": "0", "content_block": {"type": "text"}},
        {"type": "message_delta", "delta": {"stop_reason": {"a": 1}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": {}, "text": "x"}},
    ],
)
def test_an_event_of_other_types_than_announced_is_no_answer(event: dict[str, Any]):
    def whole() -> Turn:
        assembly = anthropic_messages.MessagesAssembly(ignore_deltas)
        assembly.add(event)
        assembly.add({"type": "message_stop"})
        return assembly.turn("m")

    with pytest.raises(ModelError):
        whole()


def test_an_answer_without_an_end_is_none():
    with pytest.raises(ModelError, match="larger than"):
        measured("m", 64 * 1024 * 1024, {"a": "b"})
