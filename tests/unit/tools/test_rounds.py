"""Questions by replay: remembered answers, repeated questions, and values that are computed once."""

import asyncio
from typing import Any

import pytest

from tooltrue import Form, Link
from tooltrue.errors import DefinitionError, InvalidParams, ToolError
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.protocol.types import InputRequiredResult
from tooltrue.tools.rounds import MAX_MISFITS, MAX_ROUNDS, InputRequired, Memory, Rounds, how_it_ended, remembered

SURE = Form("Sure?")
NAME = Form("Who?", {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
YES = {"action": "accept", "content": {}}


def question_of(rounds: Rounds, *args: Any, **kwargs: Any) -> InputRequiredResult:
    with pytest.raises(InputRequired) as raised:
        rounds.ask(*args, **kwargs)
    return outcome_of(raised)


def outcome_of(raised: pytest.ExceptionInfo[InputRequired]) -> InputRequiredResult:
    assert isinstance(raised.value.outcome, InputRequiredResult)
    return raised.value.outcome


def next_round(outcome: InputRequiredResult, rounds: Rounds, **responses: Any) -> Rounds:
    """As a door does it: the memory travels as JSON."""
    return Rounds(Memory(**decode(encode(remembered(outcome, rounds)))), responses)


def test_a_question_ends_the_round_and_its_answer_begins_the_next():
    first = Rounds()
    outcome = question_of(first, NAME, "name")
    assert outcome.inputRequests == {"name": NAME.request}
    second = next_round(outcome, first, name={"action": "accept", "content": {"name": "Ada"}})
    assert (first.number, second.number) == (0, 1)
    assert second.ask(NAME, "name").value == {"name": "Ada"}


def test_an_answer_stays_for_all_rounds_that_follow():
    first = Rounds()
    second = next_round(question_of(first, SURE, "a"), first, a=YES)
    assert second.ask(SURE, "a")
    third = next_round(question_of(second, NAME, "b"), second)
    assert third.ask(SURE, "a")


@pytest.mark.requirement("MRTR-03")
def test_questions_without_a_key_are_numbered_in_their_order():
    first = Rounds()
    outcome = question_of(first, SURE)
    assert outcome.inputRequests is not None
    assert list(outcome.inputRequests) == ["question-1"]
    second = next_round(outcome, first, **{"question-1": YES})
    assert second.ask(SURE)
    again = question_of(second, SURE)
    assert again.inputRequests is not None
    assert list(again.inputRequests) == ["question-2"]


@pytest.mark.parametrize("other", [Form("Sure? Really?"), NAME, Link("Sure?", "https://example.com")])
def test_an_answer_counts_for_the_question_that_was_put_and_for_no_other(other: Any):
    first = Rounds()
    second = next_round(question_of(first, SURE, "a"), first, a=YES)
    assert question_of(second, other, "a").inputRequests == {"a": other.request}


def test_an_answer_without_a_question_is_ignored():
    assert question_of(Rounds(None, {"a": YES}), SURE, "a").inputRequests == {"a": SURE.request}


@pytest.mark.requirement("MRTR-18")
def test_all_that_is_missing_is_asked_for_together_and_only_that():
    def ask_all(rounds: Rounds) -> dict[str, Any]:
        return rounds.ask_all({"a": SURE, "b": NAME})

    first = Rounds()
    with pytest.raises(InputRequired) as one:
        ask_all(first)
    second = next_round(outcome_of(one), first, a=YES, c=YES)
    with pytest.raises(InputRequired) as two:
        ask_all(second)
    assert outcome_of(two).inputRequests == {"b": NAME.request}
    third = next_round(outcome_of(two), second, b={"action": "decline"})
    answers = ask_all(third)
    assert answers["a"]
    assert not answers["b"]
    assert answers["b"].action == "decline"


@pytest.mark.requirement("MRTR-15", "MRTR-16")
@pytest.mark.parametrize("answer", [5, None, [], {}, {"action": "maybe"}, {"action": "accept", "content": 1}])
def test_a_malformed_answer_is_a_protocol_error(answer: Any):
    first = Rounds()
    second = next_round(question_of(first, SURE, "a"), first, a=answer)
    with pytest.raises(InputRequired) as raised:
        second.ask(SURE, "a")
    with pytest.raises(InvalidParams, match="inputResponses"):
        how_it_ended(raised.value)


@pytest.mark.requirement("ELIC-42")
def test_a_form_that_does_not_fit_is_asked_for_again_and_says_why():
    first = Rounds()
    second = next_round(question_of(first, NAME, "a"), first, a={"action": "accept", "content": {"name": 1}})
    outcome = question_of(second, NAME, "a")
    assert outcome.inputRequests is not None
    assert outcome.inputRequests["a"]["params"]["message"].startswith("Who?\n\n")
    third = next_round(outcome, second, a={"action": "accept", "content": {"name": "Ada"}})
    assert third.ask(NAME, "a").value == {"name": "Ada"}


MISFIT = {"action": "accept", "content": {"name": 1}}


@pytest.mark.requirement("ELIC-42")
def test_a_question_is_not_asked_again_after_three_invalid_answers():
    rounds = next_round(question_of(first := Rounds(), NAME, "a"), first, a=MISFIT)
    for _ in range(MAX_MISFITS - 1):
        rounds = next_round(question_of(rounds, NAME, "a"), rounds, a=MISFIT)
    with pytest.raises(ToolError, match="3 times"):
        rounds.ask(NAME, "a")


def test_answers_that_did_not_fit_count_for_their_question_and_for_no_other():
    other = Form("Who else?", NAME.fields)
    rounds = Rounds()
    for question in (NAME, other) * MAX_MISFITS:
        rounds = next_round(question_of(rounds, question, "a"), rounds, a=MISFIT)
        rounds = next_round(question_of(rounds, question, "a"), rounds)
    rounds = next_round(question_of(rounds, NAME, "a"), rounds, a={"action": "decline"})
    assert not rounds.ask(NAME, "a")


def test_once_is_made_once_and_is_json_from_the_start():
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return {"pair": (1, 2)}

    first = Rounds()
    assert first.once("k", make) == {"pair": [1, 2]}
    assert first.once("k", make) == {"pair": [1, 2]}
    second = next_round(question_of(first, SURE, "a"), first, a=YES)
    assert second.once("k", make) == {"pair": [1, 2]}
    assert made == [1]


def test_once_is_awaited_in_each_round_where_it_was_in_the_first():
    async def main() -> None:
        async def make() -> int:
            return 7

        first = Rounds()
        assert await first.once("k", make) == 7
        second = next_round(question_of(first, SURE, "a"), first, a=YES)
        assert await second.once("k", lambda: make()) == 7

    asyncio.run(main())


def test_a_once_value_that_cannot_be_serialized_is_refused_in_the_first_round():
    with pytest.raises(DefinitionError, match="once"):
        Rounds().once("k", object)


@pytest.mark.requirement("SAMP-17")
def test_questions_come_to_an_end():
    rounds = Rounds()
    for number in range(MAX_ROUNDS - 1):
        rounds = next_round(question_of(rounds, Form(f"{number}?"), "a"), rounds, a=YES)
    with pytest.raises(ToolError, match=str(MAX_ROUNDS)):
        rounds.ask(Form("Again?"), "a")


def test_a_question_is_not_swallowed_by_a_body_that_catches_exceptions():
    assert not issubclass(InputRequired, Exception)


def test_concurrent_questions_are_asked_one_at_a_time():
    first, second = Rounds(), Rounds()
    one, two = question_of(first, SURE, "a"), question_of(second, NAME, "b")
    group = BaseExceptionGroup("", [BaseExceptionGroup("", [InputRequired(one)]), InputRequired(two)])
    assert how_it_ended(group) is one
    with pytest.raises(BaseExceptionGroup):
        how_it_ended(BaseExceptionGroup("", [InputRequired(one), ValueError()]))


def test_a_once_value_is_not_changed_by_later_mutation():
    first = Rounds()
    first.once("k", list).append(1)
    second = next_round(question_of(first, SURE, "a"), first, a=YES)
    assert second.once("k", list) == []
