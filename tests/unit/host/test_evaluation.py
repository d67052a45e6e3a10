"""The parts of an evaluation that need no model: figures, grades, stored answers, and the schedule of questions."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.errors import ConfigurationError, ModelError, ModelRateLimited, ModelUnavailable
from tooltrue.host.exposed_tools import ExposedTools
from tooltrue.host.models.failures import unreachable
from tooltrue.host.models.model import ModelMessage, ToolUse, Turn
from tooltrue_check.evaluation.argument_verdicts import Schemas, fields
from tooltrue_check.evaluation.grades import Comparison, Evaluation
from tooltrue_check.evaluation.model_answers import ModelAnswer, ModelCall, StoredAnswers
from tooltrue_check.evaluation.model_queries import QuerySettings, QuestionOutcome, ask_all
from tooltrue_check.evaluation.question_file import EvaluationQuestion, ExpectedCall
from tooltrue_check.evaluation.statistics import Share, exact_p
from tooltrue_check.evaluation.tool_choice import made

SCHEMAS: Schemas = {"find": {"properties": {"limit": {"type": "integer", "default": 10}}}}
FIND = EvaluationQuestion("where?", (ExpectedCall("find", {"key": "a"}),), place="q:1")
DROP = EvaluationQuestion("away!", (ExpectedCall("drop"),), place="q:2")


# --- figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_the_interval_is_wilsons(right: int, of: int, low: float, high: float):
    found = Share(right, of).interval
    assert found is not None
    assert found == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("right", "of"), [(29, 50), (29, 100), (57, 100), (116, 200), (29 / 3, 50 / 3)])
def test_an_equal_share_is_not_below_a_percentage(right: float, of: int):
    percent = round(100 * right / of)
    assert not Share(right, of).is_below(percent)
    assert Share(right, of).is_below(percent + 1)
    assert Share(right - 0.25, of).is_below(percent)
    assert not Share(0, 0).is_below(100)


def test_a_share_of_zero_attempts_has_no_value_and_no_interval():
    assert (Share(0, 0).value, Share(0, 0).interval) == (None, None)


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_exact_test_is_symmetric_and_sums_the_outcomes_at_least_as_uneven(better: int, worse: int):
    most, rare = better + worse, min(better, worse)
    tail = sum(math.comb(most, count) for count in range(most + 1) if count <= rare or count >= most - rare)
    assert exact_p(better, worse) == exact_p(worse, better)
    assert exact_p(better, worse) == pytest.approx(min(1.0, tail / 2**most))


# --- grades ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"key": "a"}, {"key": "right", "limit": "right"}),
        ({"key": "a", "limit": 10.0}, {"key": "right", "limit": "right"}),
        ({"key": "a", "limit": 9}, {"key": "right", "limit": "different"}),
        ({"limit": 10, "more": None}, {"key": "missing", "limit": "right", "more": "extra"}),
        ("key=a", {"key": "missing", "limit": "right"}),
        ({"key": True}, {"key": "different", "limit": "right"}),
    ],
)
def test_arguments_are_compared_after_their_defaults(arguments: dict[str, Any] | str, found: dict[str, str]):
    assert fields(FIND.calls[0], ModelCall("find", arguments), SCHEMAS) == found


@pytest.mark.parametrize("schema", [None, 1, [], {"key": 1}, {"key": {"default": "b"}}, {"key": []}])
def test_no_schema_keeps_an_answer_from_being_graded(schema: Any):
    properties = {"properties": schema}
    assert fields(FIND.calls[0], ModelCall("find", {"key": "a"}), {"find": properties})["key"] == "right"


def evaluated(*answers: tuple[EvaluationQuestion, int, ModelAnswer]) -> Evaluation:
    return Evaluation.of("here", [QuestionOutcome(*one) for one in answers], SCHEMAS)


RIGHT = ModelAnswer((ModelCall("find", {"key": "a"}),))
WRONG = ModelAnswer((ModelCall("drop", {}),))
SILENT = ModelAnswer((), "I do not know.")


def test_rounds_of_one_question_are_parts_of_one():
    found = evaluated((FIND, 1, RIGHT), (FIND, 2, WRONG), (FIND, 3, SILENT), (DROP, 1, WRONG))
    assert found.right.of == 2
    assert found.right.right == pytest.approx(1 + 1 / 3)
    assert found.arguments == Share(1, 1)  # of answers with the right tool
    assert found.confusion == {("find", "find"): 1, ("find", "drop"): 1, ("find", ""): 1, ("drop", "drop"): 1}


def test_a_question_that_one_side_could_not_answer_compares_nothing():
    new = evaluated((FIND, 1, RIGHT), (DROP, 1, WRONG))
    old = Evaluation.of("there", [QuestionOutcome(FIND, 1, WRONG), QuestionOutcome(DROP, 1, None)], SCHEMAS)
    found = Comparison.of(new, old)
    assert (found.better, found.worse, found.same) == (("q:1",), (), 0)


def test_a_question_is_better_where_more_of_its_rounds_are_right():
    new = evaluated((FIND, 1, RIGHT), (FIND, 2, WRONG), (DROP, 1, WRONG), (DROP, 2, SILENT))
    old = evaluated((FIND, 1, WRONG), (FIND, 2, WRONG), (DROP, 1, WRONG), (DROP, 2, WRONG))
    found = Comparison.of(new, old)
    assert (found.better, found.worse, found.same) == (("q:1",), ("q:2",), 0)


def test_calls_beyond_those_that_are_expected_are_not_graded():
    found = evaluated((DROP, 1, ModelAnswer((ModelCall("drop", {}), ModelCall("drop", {})))))
    assert found.right == Share(1, 1)


@pytest.mark.parametrize("arguments", [{"key": math.nan}, {"key": "\ud800"}, "\ud800", "{"])
def test_any_arguments_of_a_model_can_be_stored_and_evaluated(tmp_path: Path, arguments: dict[str, Any] | str):
    turn = Turn(ModelMessage("", (ToolUse("1", "find", arguments),)), "tools")
    answer = ModelAnswer(tuple(made(turn, ExposedTools((), {"find": "find"}))))
    StoredAnswers(tmp_path / "answers").add("key", answer)
    assert StoredAnswers(tmp_path / "answers").get("key") == answer
    assert evaluated((FIND, 1, answer)).arguments == Share(0, 1)


def test_no_arguments_are_an_object():
    turn = Turn(ModelMessage("", (ToolUse("1", "find", " "),)), "tools")
    assert made(turn, ExposedTools((), {"find": "find"})) == [ModelCall("find", {})]


# --- stored answers --------------------------------------------------------------------------------------------------


@given(st.binary())
def test_a_file_of_anything_keeps_nothing_and_takes_more(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    file = tmp_path_factory.mktemp("kept") / "answers.jsonl"
    file.write_bytes(data)
    StoredAnswers(file).add("key", RIGHT)
    assert StoredAnswers(file).get("key") == RIGHT


@pytest.mark.parametrize(
    "answer",
    ["7", "{}", '{"calls":[],"text":1,"input":0,"output":0}', '{"calls":[{"tool":1}],"text":"","input":0,"output":0}'],
)
def test_an_invalid_line_of_stored_answers_is_ignored(tmp_path: Path, answer: str):
    file = tmp_path / "answers.jsonl"
    file.write_text(f'{{"key":"a","answer":{answer}}}\n')
    assert StoredAnswers(file).get("a") is None


def test_a_file_that_cannot_be_had_is_said(tmp_path: Path):
    with pytest.raises(ConfigurationError) as caught:
        StoredAnswers(tmp_path)
    assert caught.value.code == "TT9006"
    with pytest.raises(ConfigurationError) as caught:
        StoredAnswers(tmp_path / "nowhere" / "answers.jsonl").add("key", RIGHT)
    assert caught.value.code == "TT9009"


# --- asking ----------------------------------------------------------------------------------------------------------


class Scripted:
    """Answers, or fails, as its script says; counts how many are asked at once."""

    key = "scripted"
    schemas = SCHEMAS

    def __init__(self, *script: ModelAnswer | ModelError) -> None:
        self.script: list[ModelAnswer | ModelError] = [*script]
        self.now = self.most = 0

    async def answer(self, question: EvaluationQuestion) -> ModelAnswer:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        said = self.script.pop(0)
        if isinstance(said, ModelError):
            raise said
        return said


def failure(status: int | None) -> ModelError:
    error = ModelError.of("TT9520", model="m", status="", problem="no")
    error.status = status
    return error


def busy(seconds: float | None) -> ModelRateLimited:
    error = ModelRateLimited.of("TT9522", model="m", status="", problem="no")
    error.seconds, error.status = seconds, 429
    return error


def away() -> ModelUnavailable:
    return ModelUnavailable.of("TT9530", model="m", problem="refused")


def asked(
    script: Scripted, *questions: EvaluationQuestion, kept: StoredAnswers | None = None, **more: Any
) -> tuple[list[QuestionOutcome], list[float]]:
    """The outcomes of the questions, and the pauses between attempts."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    found = asyncio.run(ask_all(script, questions, kept or StoredAnswers(), QuerySettings(sleep=sleep, **more)))
    return found, pauses


def test_pauses_are_those_that_the_endpoint_wants_or_grow_and_have_a_bound():
    script = Scripted(busy(7), busy(None), failure(None), busy(1000), RIGHT)
    found, pauses = asked(script, FIND)
    assert (found[0].answer, pauses) == (RIGHT, [7, 4, 8, 60])


def test_a_permanent_failure_is_not_retried_and_does_not_block_other_queries():
    found, pauses = asked(Scripted(failure(400), WRONG), FIND, DROP, at_once=1)
    assert [one.answer for one in found] == [None, WRONG]
    assert pauses == []


def test_where_nothing_listens_and_nothing_has_been_heard_it_ends_at_once():
    script = Scripted(away(), RIGHT, RIGHT)
    with pytest.raises(ModelUnavailable):
        asked(script, FIND, DROP, at_once=1)
    assert script.script == [RIGHT, RIGHT]


@pytest.mark.parametrize(
    ("tried", "is_away"),
    [
        ([ConnectionRefusedError(111, "refused")], True),
        ([ConnectionRefusedError(111, "refused"), ConnectionRefusedError(111, "refused")], True),
        ([ConnectionRefusedError(111, "refused"), TimeoutError()], False),
        ([ConnectionResetError(104, "reset")], False),
    ],
)
def test_a_model_is_unavailable_if_each_address_of_its_name_failed_to_connect(tried: list[Exception], is_away: bool):
    """A name may stand for several: localhost does for two, on most machines."""
    failed = OSError("All connection attempts failed")
    failed.__cause__ = tried[0] if len(tried) == 1 else ExceptionGroup("several", tried)
    sdk = RuntimeError("Connection error.")
    sdk.__cause__ = failed
    assert isinstance(unreachable("m", sdk), ModelUnavailable) == is_away


@pytest.mark.parametrize("heard", [RIGHT, busy(1)])
def test_an_endpoint_that_goes_away_on_the_way_is_waited_for(heard: ModelAnswer | ModelError):
    found, pauses = asked(Scripted(heard, away(), away(), RIGHT, RIGHT), FIND, DROP, at_once=1)
    assert [one.answer for one in found] == [RIGHT, RIGHT]
    assert len(pauses) == (2 if heard == RIGHT else 3)


def test_no_more_are_asked_at_once_than_was_said_and_all_come_in_their_order():
    script = Scripted(*[RIGHT] * 6)
    found, _ = asked(script, FIND, DROP, rounds=3, at_once=2)
    assert script.most == 2
    assert [(one.question.place, one.round) for one in found] == [
        (place, n) for place in ("q:1", "q:2") for n in (1, 2, 3)
    ]


def test_an_evaluation_ends_with_an_error_if_an_answer_cannot_be_stored(tmp_path: Path):
    with pytest.raises(ConfigurationError):
        asked(Scripted(RIGHT, RIGHT), FIND, DROP, kept=StoredAnswers(tmp_path / "nowhere" / "answers.jsonl"))


def test_a_cancelled_evaluation_keeps_the_answers_it_has():
    kept, script = StoredAnswers(), Scripted(RIGHT)

    async def scenario() -> None:
        stuck = asyncio.Event()

        async def sleep(seconds: float) -> None:
            stuck.set()
            await asyncio.Event().wait()

        script.script.append(busy(None))
        task = asyncio.create_task(ask_all(script, [FIND, DROP], kept, QuerySettings(at_once=1, sleep=sleep)))
        await stuck.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    script.script.append(WRONG)
    found, _ = asked(script, FIND, DROP, kept=kept)
    assert [one.answer for one in found] == [RIGHT, WRONG]
