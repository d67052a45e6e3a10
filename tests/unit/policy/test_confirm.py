"""The confirmation layer: when it asks, the scope of an approval, and refusals where no person can be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from support.confirming import ERAS, YES, Attic, Post, posting, said, state
from tooltrue import Form
from tooltrue.errors import ConfigurationError, StateError, ToolError
from tooltrue.policy.consent.approvals import MAX_OF_ONE, MAX_TICKETS, ApprovalRequest, Scope, Ticket
from tooltrue.policy.consent.question import approval_message
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.rules.rule import ALLOW, Ask, Verdict
from tooltrue.protocol.types import ToolOutcome, replaced
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.client_questions import Answer
from tooltrue.tools.toolset import Wrapper
from tooltrue.tools.vocabulary import Context, RequestContext, ToolCall
from tooltrue.wording import sentence

SURE = Form("Sure?")

eras = pytest.mark.parametrize("revision", ERAS)


def no(question: object) -> bool:
    return False


def yes(question: object) -> bool:
    return True


def session(question: object) -> dict[str, str]:
    return {"answer": "session"}


# -- when a person is asked --------------------------------------------------------------------------------------------


@eras
@pytest.mark.parametrize(
    ("answer", "code"),
    [(True, ""), (False, "TT2401"), (None, "TT2402"), ({"answer": "deny"}, "TT2401"), ({"answer": "once"}, "")],
    ids=str,
)
def test_only_a_yes_lets_it_run(revision: str, answer: Any, code: str):
    attic = Attic()
    assert asyncio.run(attic.code("maps", lambda question: answer, revision)) == code
    assert attic.lost == ([] if code else ["maps"])


@eras
def test_a_yes_for_the_session_is_for_the_identical_call_and_ends(revision: str):
    attic = Attic()

    async def main() -> list[str]:
        first = [await attic.code("maps", session, revision), await attic.code("maps", None, revision)]
        other = await attic.code("hats", no, revision)
        attic.now += Confirm().session_seconds
        return [*first, other, await attic.code("maps", no, revision)]

    assert asyncio.run(main()) == ["", "", "TT2401", "TT2401"]


@pytest.mark.parametrize(
    ("settings", "confirm", "asked"),
    [
        ({"effect": "read"}, Confirm(), False),
        ({"effect": "write"}, Confirm(), False),
        ({"effect": "open-world"}, Confirm(), False),
        ({}, Confirm(), False),
        ({"effect": "destructive"}, Confirm(), True),
        ({"effect": "destructive", "confirm": False}, Confirm(), False),
        ({"effect": "read", "confirm": True}, Confirm(), True),
        ({"effect": "read", "confirm": True}, Confirm.never(), True),
        ({"effect": "destructive"}, Confirm.never(), False),
        ({"effect": "open-world"}, Confirm(frozenset({"open-world"})), True),
    ],
    ids=str,
)
def test_the_effect_decides_unless_the_tool_does(settings: dict[str, Any], confirm: Confirm, asked: bool):
    attic = Attic(Guard(server="attic", confirm=confirm))
    attic.tools.add(attic.burn, name="other", **settings)
    assert asyncio.run(attic.call("maps", no, tool="other")).is_error == asked


@eras
def test_a_rule_that_asks_asks_about_any_tool_in_its_own_words(revision: str):
    def decide(tool: Any, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
        return Ask("Maps are rare.") if arguments and arguments["box"] == "maps" else ALLOW

    attic = Attic(Guard(server="attic", confirm=Confirm.never(), decide=decide))
    asked: list[str] = []

    def hear(question: Any) -> bool:
        asked.append(question.message)
        return True

    async def main() -> list[str]:
        codes = [await attic.code(box, hear, revision) for box in ("maps", "hats")]
        return [*codes, await attic.code("maps", None, revision)]

    assert asyncio.run(main()) == ["", "", "TT2470"]
    assert len(asked) == 1
    assert "Maps are rare." in asked[0]


def test_a_setting_that_makes_no_sense_is_refused():
    senseless: list[dict[str, Any]] = [
        {"effects": {"deadly"}},
        {"questions": 0},
        {"session_seconds": float("inf")},
        {"max_shown": -1},
    ]
    for settings in senseless:
        with pytest.raises(ConfigurationError):
            Confirm(**settings)


# -- the scope of an approval ------------------------------------------------------------------------------------------


def test_a_yes_in_flight_is_good_for_one_run():
    attic = Attic()
    going, ending = asyncio.Event(), asyncio.Event()

    async def slowly(box: str) -> str:
        going.set()
        await ending.wait()
        return await attic.burn(box)

    attic.tools.remove("burn")
    attic.tools.add(slowly, name="burn", effect="destructive", idempotent=True)

    async def scenario(post: Post) -> list[str]:
        again = {"requestState": state(await post("maps")), "inputResponses": YES}
        first = asyncio.create_task(post("maps", **again))
        await going.wait()
        second = asyncio.create_task(post("maps", **again))
        early = said(await second)
        ending.set()
        return [early, said(await first)]

    assert asyncio.run(posting(attic, scenario)) == ["TT2416", "maps is ashes"]
    assert attic.lost == ["maps"]


@eras
def test_a_tool_that_asks_after_the_yes_runs_once(revision: str):
    attic = Attic()

    async def which(box: str, context: Context) -> str:
        answer: Answer[None] = context.ask(SURE)
        return await attic.burn(box) if answer else "kept"

    attic.tools.add(which, effect="destructive")
    assert asyncio.run(attic.call("maps", yes, revision, "which")).text == "maps is ashes"
    assert attic.lost == ["maps"]


class Full(Wrapper, frozen=True):
    """No place for a call, where the limits stand: above the step that uses a yes up."""

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        raise ToolError("full")


@eras
def test_a_refusal_after_the_yes_does_not_cost_it(revision: str, monkeypatch: pytest.MonkeyPatch):
    full = True

    def concurrency(inner: Any) -> Any:
        class Sometimes(Wrapper, frozen=True):
            async def call_tool(self, call: ToolCall) -> ToolOutcome:
                return await (Full(inner).call_tool(call) if full else inner.call_tool(call))

        return Sometimes(inner)

    monkeypatch.setattr("tooltrue.policy.pipeline.concurrency", lambda *_: concurrency)
    attic = Attic()

    async def main() -> list[str]:
        nonlocal full
        refused = (await attic.call("maps", yes, revision)).text
        full = False
        return [refused, await attic.code("maps", None, revision), await attic.code("maps", None, revision)]

    assert asyncio.run(main()) == ["full", "", "TT2404"]
    assert attic.lost == ["maps"]


@eras
def test_a_tool_that_changed_while_the_question_was_open_does_not_run(revision: str):
    attic = Attic()

    def change(question: object) -> bool:
        attic.tools.remove("burn")
        attic.tools.add(attic.burn, description="Another.", effect="destructive")
        return True

    async def main() -> str:
        try:
            return await attic.code("maps", change, revision)
        except Exception as error:  # noqa: BLE001 - the modern door refuses it as a broken state
            return str(error).rsplit("[", 1)[1].rstrip("]")

    assert asyncio.run(main()) == ("TT1030" if revision == ERAS[0] else "TT2411")
    assert attic.lost == []


@pytest.mark.parametrize("scope", ["once", "session", "pattern"])
def test_a_yes_to_one_server_is_none_to_another_of_its_name(scope: Scope):
    attic = Attic()
    one, other = wanted(instance="/a"), wanted(instance="/b")

    async def main() -> list[str | None]:
        pattern = {} if scope == "pattern" else None
        await attic.approvals.allow(await attic.approvals.open(one), scope, pattern=pattern)
        return [await attic.approvals.granted(one), await attic.approvals.granted(other)]

    assert asyncio.run(main()) == [scope, None]


def test_a_remote_caller_does_not_see_the_path_of_the_server():
    here, elsewhere = (approval_message(wanted(principal=id, instance="/a"), "en") for id in ("local", "somebody"))
    assert here.startswith("attic (/a) asks")
    assert elsewhere.startswith("attic asks")


def test_a_ticket_names_the_start_of_a_server_without_an_instance_name():
    unsaid = replaced(wanted(), started="/a.py #1")
    assert (unsaid.whose, unsaid.key == wanted().key) == ("attic (/a.py #1)", False)
    assert approval_message(unsaid, "en").startswith("attic asks")


# -- the contents of a question ----------------------------------------------------------------------------------------


def test_the_preview_is_made_once_and_shown():
    attic, made = Attic(), list[dict[str, Any]]()

    def preview(arguments: dict[str, Any]) -> str:
        made.append(arguments)
        return f"{arguments['box']} \u202e"

    attic.tools.add(attic.burn, name="other", effect="destructive", preview=preview)
    seen: list[str] = []
    result = asyncio.run(attic.call("maps", lambda question: seen.append(question.message) or True, tool="other"))
    assert (result.is_error, made) == (False, [{"box": "maps"}])
    assert seen[0].endswith("\n\nmaps \\u202e")


def test_a_preview_that_fails_lets_nothing_run():
    attic = Attic()

    def preview(arguments: dict[str, Any]) -> str:
        raise ToolError("no such box")

    attic.tools.add(attic.burn, name="other", effect="destructive", preview=preview)
    assert asyncio.run(attic.call("maps", yes, tool="other")).text == "no such box"
    assert attic.lost == []


# -- tickets -----------------------------------------------------------------------------------------------------------


def test_a_ticket_that_is_allowed_lets_the_identical_call_run_once():
    attic = Attic()

    async def main() -> list[str]:
        id = await attic.ticket("maps")
        same = await attic.ticket("maps") == id
        await attic.allow(id)
        codes = [await attic.code(box) for box in ("hats", "maps", "maps", "maps")]
        return [str(same), *codes, str(await attic.ticket("maps") == id)]

    assert asyncio.run(main()) == ["True", "TT2403", "", "TT2404", "TT2403", "False"]
    assert attic.lost == ["maps"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("code", ["TT2403", "TT2404", "TT2406", "TT2420", "TT2470"])
def test_a_refusal_names_the_command_that_settles_its_ticket(code: str, language: str):
    said = sentence(code, language, {"tool": "burn", "ticket": "t-0123abcd"})
    assert "`tooltrue approvals allow t-0123abcd`" in said
    assert ("--no-confirm" in said) == (code == "TT2403")


def test_two_at_once_share_one_grant():
    attic = Attic()
    going, ending = asyncio.Event(), asyncio.Event()

    async def slowly(box: str) -> str:
        going.set()
        await ending.wait()
        return await attic.burn(box)

    attic.tools.remove("burn")
    attic.tools.add(slowly, name="burn", effect="destructive")

    async def main() -> list[str]:
        await attic.allow(await attic.ticket("maps"))
        first = asyncio.create_task(attic.code("maps"))
        await going.wait()
        second = await attic.code("maps")
        ending.set()
        return [await first, second]

    assert asyncio.run(main()) == ["", "TT2405"]
    assert attic.lost == ["maps"]


def test_a_ticket_that_is_denied_is_no_and_no_new_one():
    attic = Attic()

    async def main() -> list[Any]:
        id = await attic.ticket("maps")
        await attic.approvals.deny(await attic.approvals.find(id))
        codes = [await attic.code("maps"), await attic.code("maps")]
        left = await attic.approvals.all()
        attic.now += 3_600
        return [*codes, left, await attic.code("maps")]

    assert asyncio.run(main()) == ["TT2415", "TT2415", [], "TT2403"]


def test_tickets_and_grants_expire():
    attic = Attic()

    async def main() -> list[Any]:
        await attic.allow(await attic.ticket("maps"))
        attic.now += 3_601
        codes = [await attic.code("maps")]
        attic.now += 86_401
        return [*codes, await attic.approvals.all()]

    assert asyncio.run(main()) == ["TT2403", []]
    assert attic.lost == []


def test_a_pattern_lets_all_calls_run_that_fit_it_until_it_is_taken_back():
    attic = Attic()
    pattern = {"properties": {"box": {"pattern": "^old "}}, "required": ["box"]}

    async def main() -> list[str]:
        ticket = await attic.approvals.find(await attic.ticket("old maps"))
        await attic.approvals.allow(ticket, "pattern", pattern=pattern)
        codes = [await attic.code(box) for box in ("old maps", "old hats", "new hats")]
        await attic.approvals.deny(await attic.approvals.find(ticket.id))
        return [*codes, await attic.code("old hats"), await attic.code("old maps")]

    assert asyncio.run(main()) == ["", "", "TT2403", "TT2403", "TT2415"]


def test_a_pattern_that_the_call_itself_does_not_fit_is_refused():
    attic = Attic()

    async def main() -> None:
        ticket = await attic.approvals.find(await attic.ticket("maps"))
        with pytest.raises(ConfigurationError, match="does not fit"):
            await attic.approvals.allow(ticket, "pattern", pattern={"required": ["other"]})

    asyncio.run(main())


def test_a_tool_that_only_asks_on_has_not_used_its_ticket():
    attic = Attic()

    async def which(box: str, context: Context) -> str:
        return await attic.burn(box) if context.ask(SURE) else "kept"

    attic.tools.add(which, effect="destructive", max_bytes=1000)

    async def main() -> list[str]:
        refused = (await attic.call("maps", tool="which")).text
        await attic.allow(refused.split("ticket ")[1].split()[0])
        return [(await attic.call("maps", yes, tool="which")).text, str(len(await attic.approvals.all()))]

    assert asyncio.run(main()) == ["maps is ashes", "0"]


def test_there_are_not_more_tickets_than_a_person_can_read():
    attic = Attic()

    async def main() -> set[str]:
        codes = {await attic.code(f"box {number}") for number in range(60)}
        assert len(await attic.approvals.all()) == 10
        return codes

    assert asyncio.run(main()) == {"TT2403", "TT2408", "TT2409"}


def wanted(box: str = "maps", principal: str = "local", instance: str = "") -> ApprovalRequest:
    return ApprovalRequest("attic", principal, "burn", "destructive", "pin", {"box": box}, instance=instance)


def test_the_ticket_limit_of_one_caller_and_its_grants_take_no_places_of_other_callers():
    attic = Attic()

    async def main() -> None:
        for number in range(MAX_OF_ONE):
            await attic.approvals.open(wanted(f"box {number}"))
        with pytest.raises(ToolError, match="wait for one already"):
            await attic.approvals.open(wanted())
        await attic.approvals.open(wanted(principal="another"))
        await attic.approvals.open(wanted(instance="another"))
        for ticket in await attic.approvals.all():
            await attic.approvals.allow(ticket, "session")
        await attic.approvals.open(wanted())
        assert len(await attic.approvals.all()) == MAX_OF_ONE + 3

    asyncio.run(main())


def test_all_callers_share_a_total_limit_of_tickets():
    attic = Attic()

    async def main() -> None:
        for number in range(MAX_TICKETS):
            await attic.approvals.open(wanted(principal=f"{number}"))
        with pytest.raises(ToolError, match="wait for one already"):
            await attic.approvals.open(wanted())

    asyncio.run(main())


@pytest.mark.parametrize("end", ["give_back", "settle"])
@pytest.mark.parametrize("said", ["denied", "session"])
def test_a_decision_made_during_a_run_holds_after_it(end: str, said: str):
    attic = Attic()

    async def main() -> Ticket | None:
        ticket = await attic.approvals.open(wanted())
        await attic.approvals.allow(ticket, "once")
        until = await attic.approvals.take(wanted())
        assert until is not None
        ticket = await attic.approvals.find(ticket.id)
        await (attic.approvals.deny(ticket) if said == "denied" else attic.approvals.allow(ticket, "session"))
        await (attic.approvals.give_back(wanted(), until) if end == "give_back" else attic.approvals.settle(wanted()))
        assert await attic.approvals.granted(wanted()) == (None if said == "denied" else "session")
        assert len(await attic.approvals.all()) == (0 if said == "denied" else 1)
        return await attic.approvals.ticket(wanted())

    ticket = asyncio.run(main())
    assert ticket is not None
    assert ticket.state == said


def test_a_ticket_that_a_person_has_settled_meanwhile_is_not_opened_anew():
    attic = Attic()

    async def main() -> list[str]:
        ticket = await attic.approvals.open(wanted())
        again = await attic.approvals.open(wanted())
        await attic.approvals.deny(ticket)
        return [again.id, (await attic.approvals.open(wanted())).state, str(await attic.approvals.all()), ticket.id]

    again, state, left, id = asyncio.run(main())
    assert (again, state, left) == (id, "denied", "[]")


def test_a_no_to_one_pattern_renews_no_other():
    attic = Attic()

    async def main() -> list[str | None]:
        first, second = [await attic.approvals.open(wanted(box)) for box in ("maps", "hats")]
        await attic.approvals.allow(first, "pattern", pattern={}, seconds=100)
        second = await attic.approvals.allow(second, "pattern", pattern={"required": ["box"]}, seconds=500)
        attic.now += 50
        await attic.approvals.deny(second)
        before = await attic.approvals.granted(wanted("other"))
        attic.now += 51
        return [before, await attic.approvals.granted(wanted("other"))]

    assert asyncio.run(main()) == ["pattern", None]


def test_a_no_to_this_very_call_beats_the_pattern_of_another():
    attic = Attic()

    async def main() -> list[str | None]:
        first, second = [await attic.approvals.open(wanted(box)) for box in ("maps", "hats")]
        await attic.approvals.allow(first, "pattern", pattern={})
        await attic.approvals.deny(second)
        return [await attic.approvals.granted(wanted(box)) for box in ("maps", "hats", "other")]

    assert asyncio.run(main()) == ["pattern", None, "pattern"]


def test_an_answer_sent_again_renews_no_session_that_a_person_has_ended():
    attic = Attic()
    attic.tools.remove("burn")
    attic.tools.add(attic.burn, effect="destructive", idempotent=True)
    answer = {"tooltrue:confirm": {"action": "accept", "content": {"answer": "session"}}}

    async def scenario(post: Post) -> list[str]:
        again = {"requestState": state(await post("maps")), "inputResponses": answer}
        texts = [said(await post("maps", **again)), said(await post("maps"))]
        [ticket] = await attic.approvals.all()
        await attic.approvals.deny(ticket)
        texts.append(said(await post("maps", **again)))
        return [*texts, str(await attic.approvals.all())]

    assert asyncio.run(posting(attic, scenario)) == ["maps is ashes", "maps is ashes", "TT2416", "[]"]
    assert attic.lost == ["maps", "maps"]


# -- a store that is down ----------------------------------------------------------------------------------------------


class Down(MemoryFacts):
    """A state store whose reads fail."""

    down = True

    async def get(self, key: str) -> bytes | None:
        if self.down:
            raise StateError("gone")
        return await super().get(key)


@eras
def test_no_call_that_needs_approval_runs_while_the_store_is_down(revision: str, caplog: pytest.LogCaptureFixture):
    attic = Attic()
    attic.approvals._values = Down()  # pyright: ignore[reportPrivateUsage]
    assert asyncio.run(attic.code("maps", yes, revision)) == "TT2410"
    assert attic.lost == []
    assert "gone" in caplog.text


def test_a_call_that_needs_no_approval_runs_while_the_store_is_down():
    attic = Attic()
    attic.approvals._values = Down()  # pyright: ignore[reportPrivateUsage]
    attic.tools.add(attic.burn, name="other", effect="write")
    assert not asyncio.run(attic.call("maps", tool="other")).is_error
