"""A task: its budget, loop detection, and the warnings to the model before the task is stopped."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from support.guarded_host import Person, Place, text_of
from tooltrue import ToolError
from tooltrue.errors import ConfigurationError
from tooltrue.policy.rules.globs import globs
from tooltrue.policy.tasks.loop_detection import Loops
from tooltrue.tools.tasks import Budget, Task


def place_with(budget: Budget | None = None, loops: Loops | None = None) -> Place:
    place = Place(Person.willing(), budget=budget or Budget(), loops=loops or Loops())
    numbers = itertools.count()
    place.add("next", lambda arguments: str(next(numbers)), effect="read")
    place.add("same", "as ever", effect="read")
    place.add("other", "as ever too", effect="read")
    return place


# --- budgets ----------------------------------------------------------------------------------------------------------


def test_a_run_near_its_budget_is_warned_then_refused_and_then_stopped():
    place = place_with(Budget(calls=4))
    task = place.task()

    async def main() -> list[str]:
        return [text_of(await place.call("next", task)) for _ in range(8)]

    texts = asyncio.run(main())
    assert ["TT9352" in text or "nearly used up (calls)" in text for text in texts[:4]] == [False, False, False, True]
    assert "calls: 0 / 4" in texts[4]
    assert [text[-7:-1] for text in texts[4:]] == [
        "TT9350",
        "TT9350",
        "TT9351",
        "TT9353",
    ]
    assert task.stopped.endswith("[TT9351]")
    assert len(place.ran) == 4


def test_results_time_tokens_and_money_count_too():
    place = place_with()
    place.add("long", 2_000 * "word ", effect="read")

    async def refused(budget: Budget, spend: str) -> str:
        task = Task(budget, place.clock)
        assert await place.code("next", task) == ""
        match spend:
            case "bytes":
                await place.call("long", task)
            case "seconds":
                place.now += 11
            case _:
                task.note(tokens=1_000, money=1.5)
        return text_of(await place.call("next", task))

    for budget, spend in (
        (Budget(bytes=10_000), "bytes"),
        (Budget(seconds=10), "seconds"),
        (Budget(tokens=1_000), "tokens"),
        (Budget(money=1.0), "money"),
    ):
        said = asyncio.run(refused(budget, spend))
        assert said.endswith("[TT9350]")
        assert f"used up ({spend})" in said


def test_calls_at_once_do_not_get_past_a_budget():
    place = place_with(Budget(calls=3))
    task = place.task()

    async def main() -> list[str]:
        return await asyncio.gather(*(place.code("next", task) for _ in range(4)))

    assert asyncio.run(main()) == ["", "", "", "TT9350"]


def test_a_budget_is_that_of_one_task():
    place = place_with(Budget(calls=1))

    async def main() -> list[str]:
        return [await place.code("next", task) for task in (place.task(), place.task(), None, None)]

    assert asyncio.run(main()) == ["", "", "", ""]


# --- circles ----------------------------------------------------------------------------------------------------------


def told(text: str) -> bool:
    return "You have gone through the same calls" in text


def test_the_same_call_with_the_same_result_is_told_and_then_stops():
    place = place_with()
    task = place.task()

    async def main() -> list[str]:
        return [text_of(await place.call("same", task)) for _ in range(7)]

    texts = asyncio.run(main())
    assert [told(text) for text in texts[:5]] == [False, False, True, False, False]
    assert texts[5].endswith("[TT9361]")
    assert texts[6].endswith("[TT9353]")
    assert len(place.ran) == 5
    assert task.stopped


def slow(place: Place) -> asyncio.Event:
    """A tool whose calls all end when that is set."""
    goes_on = asyncio.Event()

    async def handler(arguments: dict[str, Any]) -> str:
        place.ran.append(("slow", arguments))
        await goes_on.wait()
        return "as ever"

    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    place.tools.add_raw("slow", schema, handler, description="Waits.", effect="read")
    return goes_on


async def at_once(place: Place, task: Task, goes_on: asyncio.Event, *calls: str) -> list[str]:
    """The results of calls that all start before the first of them ends."""
    goes_on.clear()
    calling = [asyncio.ensure_future(place.call("slow", task, x=x)) for x in calls]
    for _ in range(20):
        await asyncio.sleep(0)
    goes_on.set()
    return [text_of(one) for one in await asyncio.gather(*calling)]


def test_the_same_call_many_times_at_once_runs_no_more_often_than_it_would_be_told():
    place = place_with()
    task = place.task()

    async def main() -> list[str]:
        return await at_once(place, task, slow(place), *64 * ["a"])

    texts = asyncio.run(main())
    assert len(place.ran) == 3
    assert ["[TT9364]" in text for text in texts] == 3 * [False] + 61 * [True]
    assert any(told(text) for text in texts)
    assert task.stopped == ""


def test_the_same_call_at_once_again_and_again_is_stopped():
    place = place_with()
    task = place.task()

    async def main() -> None:
        goes_on = slow(place)
        for _ in range(3):
            await at_once(place, task, goes_on, *8 * ["a"])

    asyncio.run(main())
    assert len(place.ran) == 5
    assert task.stopped.endswith("[TT9361]")


def test_twin_other_calls_of_one_tool_at_once_all_run():
    place = place_with()
    task = place.task()

    async def main() -> list[str]:
        return await at_once(place, task, slow(place), *map(str, range(20)))

    assert not any("[TT" in text for text in asyncio.run(main()))
    assert len(place.ran) == 20


def test_calls_that_go_to_and_fro_are_a_circle_too():
    place = place_with()
    task = place.task()

    async def main() -> list[str]:
        return [text_of(await place.call(name, task)) for name in 6 * ("same", "other")]

    texts = asyncio.run(main())
    assert [place for place, text in enumerate(texts) if told(text)] == [5, 6]
    assert texts[11].endswith("[TT9361]")


def test_twin_a_call_whose_result_changes_is_no_circle():
    place = place_with()
    task = place.task()

    async def main() -> list[str]:
        return [text_of(await place.call("next", task)) for _ in range(20)]

    assert not any(told(text) for text in asyncio.run(main()))
    assert task.stopped == ""


def test_twin_a_tool_that_is_meant_to_be_called_until_something_happens_may_be():
    place = place_with(loops=Loops(patient=globs(["same"])))
    task = place.task()

    async def main() -> list[str]:
        return [await place.code("same", task) for _ in range(20)]

    assert set(asyncio.run(main())) == {""}


def test_twin_the_same_call_again_after_something_else_is_no_circle():
    place = place_with()
    task = place.task()

    async def main() -> list[str]:
        return [text_of(await place.call(name, task)) for name in 10 * ("same", "next")]

    assert not any(told(text) for text in asyncio.run(main()))


def test_a_repeated_error_is_reported_under_any_arguments_and_then_stops_the_run():
    place = place_with()
    place.add("broken", lambda arguments: ToolError("the disk is full"), effect="read")
    task = place.task()

    async def main() -> list[str]:
        return [text_of(await place.call("broken", task, x=str(number))) for number in range(9)]

    texts = asyncio.run(main())
    assert [number for number, text in enumerate(texts) if "failed 4 times in a row" in text] == [3]
    assert texts[7].endswith("[TT9363]")
    assert texts[8].endswith("[TT9353]")


def test_a_refusal_that_comes_again_and_again_is_the_same_error():
    place = Place(None)
    place.add("put", effect="write")
    task = place.task()

    async def main() -> list[str]:
        return [text_of(await place.call("put", task, y=str(number))) for number in range(8)]

    texts = asyncio.run(main())
    assert "failed 4 times in a row" in texts[3]
    assert "[TT2001]" in texts[3]
    assert texts[7].endswith("[TT9363]")


def test_the_audit_record_of_a_stopped_run_names_the_reason():
    place = place_with(Budget(calls=1))
    task = place.task()

    async def main() -> list[list[str]]:
        for _ in range(4):
            await place.call("next", task)
        return [record.get("notes", []) for record in await place.records()]

    assert asyncio.run(main()) == [[], ["budget: calls"], ["budget: calls"], ["run stopped: TT9351"]]


@pytest.mark.parametrize("wrong", [{"told_after": 1}, {"told_after": 6}, {"errors_after": 1}])
def test_thresholds_that_cannot_be_meant_are_refused(wrong: dict[str, Any]):
    with pytest.raises(ConfigurationError):
        Loops(**wrong)
