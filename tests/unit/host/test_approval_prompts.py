"""Approval prompts of a host: the question, the possible answers, and the scope of each answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.clock import skip
from support.guarded_host import Person, Place, text_of
from support.hosting import Published, tool
from tooltrue.client.config import ServerConfig
from tooltrue.host.approval_prompts import (
    Always,
    ApprovalAnswer,
    ApprovalQuestion,
    EditedArguments,
    No,
    Once,
    PromptLimits,
    ThisSession,
)
from tooltrue.host.host import Host
from tooltrue.host.prompters import callback
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.rules.globs import globs
from tooltrue.policy.rules.rule import Rule, Rules
from tooltrue.protocol.schema import compile_schema
from tooltrue.protocol.types import replaced
from tooltrue.state.log import MemoryLog
from tooltrue.state.sqlite import SqliteFacts
from tooltrue.testing.state import LIMIT, StoppedClock


def ruled(*rules: Rule, **settings: Any) -> Guard:
    return Guard(server="desk", rules=Rules(rules, "desk"), **settings)


def test_reading_runs_and_all_else_asks_where_no_rule_says_otherwise():
    person = Person(Once(), Once(), Once())
    place = Place(person)
    for effect in ("read", "write", "destructive", "open-world"):
        place.add(effect, effect=effect)

    async def main() -> list[str]:
        return [await place.code(name) for name in ("read", "write", "destructive", "open-world")]

    assert asyncio.run(main()) == ["", "", "", ""]
    assert [question.request.tool for question in person.asked] == ["write", "destructive", "open-world"]


@pytest.mark.requirement("SEC-02", "TOOL-08")
@pytest.mark.parametrize("answer", [Once(), No(), None])
@pytest.mark.parametrize("hints", [{"readOnlyHint": True}, {"readOnlyHint": True, "destructiveHint": False}, {}])
def test_a_host_asks_for_approval_even_if_the_hints_of_an_untrusted_server_call_a_tool_safe(
    answer: ApprovalAnswer | None, hints: dict[str, bool]
):
    """The server is untrusted: its configuration declares no effects of tools and does not trust their hints."""
    server = Published(tool("look", annotations=hints))
    person = Person(*([] if answer is None else [answer]))
    servers = {"desk": ServerConfig("desk", "desk", target=server)}

    async def main() -> bool:
        front = None if answer is None else person
        async with asyncio.timeout(LIMIT), Host(servers, front=front, audit=False) as host:
            return (await host.call_tool("desk_look")).is_error

    assert asyncio.run(main()) is (answer != Once())
    assert len(server.called) == (answer == Once())
    assert [question.request.tool for question in person.asked] == ([] if answer is None else ["desk_look"])


def test_the_record_of_a_call_has_the_time_for_which_a_person_was_asked():
    async def slow(question: ApprovalQuestion) -> ApprovalAnswer:
        skip(3)
        return Once()

    log = MemoryLog()
    servers = {"desk": ServerConfig("desk", "desk", target=Published(tool("look")))}

    async def main() -> list[Any]:
        async with asyncio.timeout(LIMIT), Host(servers, front=callback(slow), audit=log) as host:
            await host.call_tool("desk_look")
        return [entry.record for entry in await log.read(0, 10) if entry.record["kind"] == "call"]

    (record,) = asyncio.run(main())
    assert record["question_ms"] >= 3000


def test_a_rule_lets_a_tool_run_unasked_and_denies_another():
    person = Person()
    rules = ruled(Rule("allow", "a", 0, tools=globs(["put"])), Rule("deny", "d", 1, tools=globs(["look"]), reason="no"))
    place = Place(person, guard=rules)
    place.add("put", effect="write")
    place.add("look", effect="read")

    async def main() -> list[str]:
        return [await place.code("put"), await place.code("look")]

    codes = asyncio.run(main())
    assert codes == ["", "TT2200"]
    assert place.ran == [("put", {})]
    assert person.asked == []


def test_a_rule_for_a_server_counts_for_the_tools_of_that_server_alone():
    rules = Rules((Rule("deny", "d", 0, tools=globs(["*"]), server=globs(["mail"]), reason="no mail"),), "desk")
    place = Place(Person.willing(), guard=Guard(server="desk", rules=rules))
    place.add("put", effect="write")
    tool = asyncio.run(place.tools.find_tool("put", place.context()))
    from_mail = type(tool)(tool.definition, "write", tool.input, server="mail")
    decide = rules.decide
    assert type(decide(from_mail, place.context(), {})).__name__ == "Deny"
    assert asyncio.run(place.code("put")) == ""


def test_an_approval_question_shows_server_tool_effect_full_arguments_and_changes():
    person = Person(Once(), Once())
    place = Place(person)
    place.add("put", effect="write")

    async def main() -> None:
        await place.call("put", x="a\u202eb" + 5_000 * " " + "; rm -rf")
        place.tools.remove("put")
        place.add("put", effect="write", title="Put it")
        await place.call("put", x="b")

    asyncio.run(main())
    first, second = (question.text.splitlines() for question in person.asked)
    assert first[0].startswith("put of the server desk is to run (write).")
    assert first[-1] == '"x" (5011): "a\\u202eb⟨5000 × " "⟩; rm -rf"'
    assert '"x" (1): "b"' in second
    assert second[6] == "Its definition has changed since you last agreed to it: title."
    assert second[8:10] == ["When you last agreed to it, this was:", '"x" (5011): "a\\u202eb⟨5000 × " "⟩; rm -rf"']


def test_once_is_for_one_call_and_for_the_session_for_each_identical_one():
    person = Person(Once(), ThisSession(), No())
    place = Place(person, asking=PromptLimits(no_seconds=1))
    place.add("put", effect="write")

    async def main() -> list[str]:
        return [await place.code("put", x=x) for x in ("a", "a", "a", "a", "b")]

    assert asyncio.run(main()) == ["", "", "", "", "TT2401"]
    assert len(person.asked) == 3


def test_always_is_for_the_calls_that_fit_the_pattern():
    pattern = {"properties": {"x": {"pattern": "^notes/"}}, "required": ["x"]}
    person = Person(Always(pattern))
    place = Place(person)
    place.add("put", effect="write")

    async def main() -> list[str]:
        return [await place.code("put", x=x) for x in ("notes/a", "notes/b", "secret")]

    assert asyncio.run(main()) == ["", "", "TT2401"]
    assert len(person.asked) == 2


def test_a_pattern_that_the_call_does_not_fit_is_asked_about_again():
    person = Person(Always({"properties": {"x": {"const": "b"}}}), Always({"type": 5}), No("neither"))
    place = Place(person)
    place.add("put", effect="write")
    assert asyncio.run(place.code("put", x="a")) == "TT2421"
    assert next(question.problem[:10] for question in person.asked) == ""
    assert all(question.problem for question in person.asked[1:])
    assert place.ran == []


def test_edited_arguments_are_shown_again_and_the_model_learns_the_arguments_that_ran():
    person = Person(EditedArguments({"x": "b"}), Once())
    place = Place(person)
    place.add("put", effect="write")

    async def main() -> Any:
        return text_of(await place.call("put", x="a")), await place.records()

    text, records = asyncio.run(main())
    assert place.ran == [("put", {"x": "b"})]
    assert '"x" (1): "b"' in person.asked[1].text
    assert text.startswith(
        'The user changed the arguments of put before it ran. The result below is that of: {"x":"b"}'
    )
    assert records[0]["arguments"] == {"x": "b"}
    assert records[0]["notes"] == ["edited by the person: x", "agreed to by the person: once"]


def test_edited_arguments_that_do_not_fit_are_for_the_person_to_mend():
    person = Person(EditedArguments({"y": 1}), EditedArguments({"x": "b"}), Once())
    place = Place(person)
    place.add("put", effect="write")
    assert asyncio.run(place.code("put", x="a")) == ""
    assert "y" in person.asked[1].problem
    assert place.ran == [("put", {"x": "b"})]


def test_edits_without_an_approval_never_run_the_tool():
    person = Person(*(EditedArguments({"x": str(number)}) for number in range(100)))
    place = Place(person)
    place.add("put", effect="write")
    assert asyncio.run(place.code("put", x="a")) == "TT2427"
    assert place.ran == []


def test_the_model_reads_why_the_person_said_no_and_the_identical_call_is_not_asked_about_again():
    person = Person(No("that folder is Anna's"), Once())
    place = Place(person)
    place.add("put", effect="write")

    async def main() -> list[str]:
        texts = [text_of(await place.call("put", x="a")) for _ in range(2)]
        place.now += 61
        return [*texts, await place.code("put", x="a")]

    first, second, third = asyncio.run(main())
    assert first.startswith("put was not run: the user said no, and why: that folder is Anna's")
    assert "(that folder is Anna's)" in second
    assert second.endswith("[TT2424]")
    assert third == ""
    assert len(person.asked) == 2


@pytest.mark.parametrize("trouble", [EOFError(), RuntimeError("the window is gone")])
def test_no_answer_is_a_no(trouble: Exception):
    place = Place(Person(trouble))
    place.add("put", effect="write")
    assert asyncio.run(place.code("put")) == "TT2422"
    assert place.ran == []


def test_an_approval_question_that_times_out_is_a_denial():
    async def silent(question: ApprovalQuestion) -> ApprovalAnswer:
        await asyncio.Event().wait()
        return Once()

    place = Place(silent, asking=PromptLimits(seconds=0.01))
    place.add("put", effect="write")
    assert asyncio.run(place.code("put")) == "TT2422"
    assert place.ran == []


def test_questions_are_put_one_after_another_and_identical_ones_once():
    open_now, most, asked = 0, 0, list[str]()

    async def front(question: ApprovalQuestion) -> ApprovalAnswer:
        nonlocal open_now, most
        open_now, most = open_now + 1, max(most, open_now + 1)
        asked.append(str(question.request.arguments["x"]))
        await asyncio.sleep(0)
        open_now -= 1
        return Once()

    place = Place(front)
    place.add("put", effect="write")

    async def main() -> list[str]:
        return await asyncio.gather(*(place.code("put", x=x) for x in "abcaa"))

    assert sorted(asyncio.run(main())) == ["", "", "", "TT2423", "TT2423"]
    assert most == 1
    assert sorted(asked) == ["a", "b", "c"]
    assert sorted(call[1]["x"] for call in place.ran) == ["a", "b", "c"]


def test_identical_calls_are_one_question_also_where_facts_lie_in_a_file(tmp_path: Path):
    person = Person(No("not that one"))

    async def main() -> tuple[list[str], list[str]]:
        async with SqliteFacts(tmp_path / "facts.db", clock=StoppedClock()) as facts:
            place = Place(person, facts=facts)
            place.add("put", effect="write")
            first = await asyncio.gather(*(place.code("put", x="a") for _ in range(4)))
            return first, await asyncio.gather(*(place.code("put", x="a") for _ in range(4)))

    first, later = asyncio.run(main())
    assert {"TT2421"} <= {*first} <= {"TT2421", "TT2424"}
    assert later == ["TT2424"] * 4, "those that came with one that is refused are refused like it"
    assert len(person.asked) == 1


def test_no_more_questions_wait_than_may_also_where_facts_lie_in_a_file(tmp_path: Path):
    person = Person.willing()

    async def main() -> list[str]:
        async with SqliteFacts(tmp_path / "facts.db", clock=StoppedClock()) as facts:
            answered = asyncio.Event()

            async def front(question: ApprovalQuestion) -> ApprovalAnswer:
                await answered.wait()
                return await person(question)

            place = Place(front, facts=facts, asking=PromptLimits(waiting=2))
            place.add("put", effect="write")
            calls = [asyncio.ensure_future(place.code("put", x=x)) for x in "abcd"]
            async with asyncio.timeout(LIMIT):
                while sum(call.done() for call in calls) < 2:
                    await asyncio.wait([call for call in calls if not call.done()], return_when="FIRST_COMPLETED")
            answered.set()
            return await asyncio.gather(*calls)

    assert sorted(asyncio.run(main())) == ["", "", "TT2425", "TT2425"]


def test_a_yes_for_a_pattern_answers_the_questions_that_wait_behind_it():
    person = Person(Always({"properties": {"x": {"type": "string"}}}))
    place = Place(person)
    place.add("put", effect="write")

    async def main() -> list[str]:
        return await asyncio.gather(*(place.code("put", x=x) for x in "abcd"))

    assert asyncio.run(main()) == ["", "", "", ""]
    assert len(person.asked) == 1


def test_a_call_that_is_cancelled_while_it_is_asked_about_leaves_the_way_free():
    begun = asyncio.Event()

    async def front(question: ApprovalQuestion) -> ApprovalAnswer:
        if question.request.arguments["x"] == "a":
            begun.set()
            await asyncio.Event().wait()
        return Once()

    place = Place(front)
    place.add("put", effect="write")

    async def main() -> list[str]:
        first = asyncio.create_task(place.code("put", x="a"))
        await begun.wait()
        twin = asyncio.create_task(place.code("put", x="a"))
        other = asyncio.create_task(place.code("put", x="b"))
        await asyncio.sleep(0)
        first.cancel()
        return [await twin, await other]

    assert asyncio.run(main()) == ["TT2422", ""]
    assert place.ran == [("put", {"x": "b"})]


def test_without_anybody_to_ask_a_call_waits_as_a_ticket():
    place = Place(None)
    place.add("put", effect="write")

    async def main() -> list[str]:
        refused = text_of(await place.call("put", x="a"))
        [ticket] = await place.approvals.all()
        await place.approvals.allow(ticket, "once")
        return [refused, ticket.id, await place.code("put", x="a"), await place.code("put", x="a")]

    refused, ticket, *codes = asyncio.run(main())
    assert f"ticket {ticket} waits" in refused
    assert refused.endswith("[TT2420]")
    assert codes == ["", "TT2404"]


def test_the_model_reads_the_reason_for_a_denied_ticket():
    place = Place(None)
    place.add("put", effect="write")

    async def main() -> str:
        await place.call("put", x="a")
        [ticket] = await place.approvals.all()
        await place.approvals.deny(ticket, "that folder is Anna's")
        return text_of(await place.call("put", x="a"))

    text = asyncio.run(main())
    assert text == "put was not run: the user said no, and why: that folder is Anna's [TT2421]"


def test_a_question_too_long_to_be_read_waits_as_a_ticket():
    place = Place(Person.willing(), guard=Guard(server="desk", confirm=Confirm(max_shown=500)))
    place.add("put", effect="write")
    text = "".join(chr(0x100 + number) for number in range(600))
    assert asyncio.run(place.code("put", x=text)) == "TT2406"
    assert place.ran == []


def test_the_time_that_a_person_takes_is_not_the_tasks():
    place = Place(callback(lambda question: setattr(place, "now", place.now + 5_000) or True))
    place.add("put", effect="write")
    task = place.task()

    async def main() -> list[str]:
        return [await place.code("put", task, x=x) for x in "ab"]

    assert asyncio.run(main()) == ["", ""]
    assert task.seconds == 0


@pytest.mark.parametrize(("said", "ran"), [(True, True), (Once(), True), (False, False), (None, False), ("yes", False)])
def test_a_callback_says_yes_by_true_or_by_an_answer(said: object, ran: bool):
    async def later(question: ApprovalQuestion) -> object:
        return said

    def now(question: ApprovalQuestion) -> object:
        return said

    functions: list[Callable[[ApprovalQuestion], object]] = [now, later]
    for function in functions:
        place = Place(callback(function))
        place.add("put", effect="write")
        asyncio.run(place.call("put"))
        assert bool(place.ran) is ran


def test_an_approval_question_carries_the_input_schema_that_edits_must_match():
    person = Person(Once())
    place = Place(person)
    place.add("put", effect="write")
    asyncio.run(place.call("put"))
    schema = person.asked[0].tool.definition.inputSchema
    assert compile_schema(dict(schema)).accepts({"x": "a"})


def test_a_ticket_for_one_call_lets_one_of_those_run_that_wait_for_their_turn():
    shown, desk = asyncio.Queue[ApprovalQuestion](), asyncio.Event()

    async def front(question: ApprovalQuestion) -> ApprovalAnswer:
        shown.put_nowait(question)
        await desk.wait()
        return Once()

    place = Place(front)
    place.add("put", effect="write")

    async def main() -> list[str]:
        other = asyncio.create_task(place.code("put", x="other"))
        wanted = replaced((await shown.get()).request, arguments={"x": "a"})
        same = [asyncio.create_task(place.code("put", x="a")) for _ in range(3)]
        await asyncio.sleep(0)
        await place.approvals.allow(await place.approvals.open(wanted), "once")
        desk.set()
        return [await other, *await asyncio.gather(*same)]

    assert sorted(asyncio.run(main())) == ["", "", "TT2423", "TT2423"]
    assert sorted(call[1]["x"] for call in place.ran) == ["a", "other"]


def test_time_in_which_several_calls_wait_for_the_person_counts_once():
    place = Place(callback(lambda question: setattr(place, "now", place.now + 100) or True))
    place.add("put", effect="write")
    task = place.task()

    async def main() -> list[str]:
        return await asyncio.gather(*(place.code("put", task, x=x) for x in "abc"))

    assert asyncio.run(main()) == ["", "", ""]
    assert (task.question_seconds, task.seconds) == (300, 0)
