"""Approvals in the console: what is shown, what a decision is bound to, and its record."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from support.console import House, request
from tooltrue.policy.audit.log_queries import record_of
from tooltrue.policy.consent.approvals import ApprovalRequest
from tooltrue.protocol.types import replaced
from tooltrue.state.urls import open_log


async def records(house: House) -> list[dict[str, Any]]:
    async with open_log(house.settings.acts) as log:
        return [record_of(entry) for entry in await log.read()]


def test_a_person_sees_everything_that_they_decide_by(tmp_path: Path):
    call = request(
        arguments={"box": "old", "count": [1, {"deep": True}], "note": "z" * 3000},
        reason="a rule says so",
        preview="burns 3 boxes",
        instance="eu-1",
        stake="private data leaves",
    )

    async def scenario(house: House) -> str:
        await house.ticket(call)
        async with house.visitor("operator") as visitor:
            return await visitor.text("/approvals")

    text = House(tmp_path).visited(scenario)
    for part in (
        "burn",
        "destructive",
        "ann",
        "attic (eu-1)",
        "a rule says so",
        "burns 3 boxes",
        "private data leaves",
    ):
        assert part in text
    assert '"box" (3): "old"' in text
    assert '"count": [1, {"deep": true}]' in text
    assert '"note" (3000): "⟨3000 × "z"⟩"' in text


@pytest.mark.parametrize("scope", ["once", "session"])
def test_a_call_is_approved(tmp_path: Path, scope: str):
    async def scenario(house: House) -> tuple[int, str]:
        ticket = await house.ticket()
        async with house.visitor("bob") as visitor:
            fields = await visitor.form("/approvals")
            answer = await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": scope})
        return answer.status_code, await house.state_of()

    assert House(tmp_path).visited(scenario) == (200, scope)


def test_a_pattern_is_approved_and_one_that_the_call_does_not_fit_is_not(tmp_path: Path):
    async def scenario(house: House) -> list[str]:
        ticket = await house.ticket()
        async with house.visitor("bob") as visitor:
            fields = {**await visitor.form("/approvals"), "scope": "pattern"}
            seen = []
            for pattern in ("[", "[]", '{"type": 3}', '{"required": ["lid"]}', '{"required": ["box"]}'):
                answer = await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "pattern": pattern})
                seen.append(answer.text)
            async with house.desk.approvals() as approvals:
                seen.append(await approvals.granted(request(arguments={"box": "another"})) or "none")
        return seen

    *refused, allowed, other = House(tmp_path).visited(scenario)
    assert [code in text for code, text in zip(("TT4405", "TT4405", "TT", "TT4403"), refused, strict=True)] == [
        True
    ] * 4
    assert "approve pattern" in allowed
    assert other == "pattern"


def test_the_reason_of_a_denial_reaches_the_model(tmp_path: Path):
    async def scenario(house: House) -> tuple[str, str]:
        ticket = await house.ticket()
        async with house.visitor("bob") as visitor:
            fields = await visitor.form("/approvals")
            await visitor.post(f"/approvals/{ticket.id}/deny", {**fields, "why": "the box holds letters"})
        async with house.desk.approvals() as approvals:
            settled = await approvals.ticket(request())
        assert settled is not None
        return settled.state, settled.why

    assert House(tmp_path).visited(scenario) == ("denied", "the box holds letters")


def test_a_grant_is_revoked(tmp_path: Path):
    async def scenario(house: House) -> str:
        ticket = await house.ticket()
        async with house.desk.approvals() as approvals:
            await approvals.allow(ticket, "session")
        async with house.visitor("bob") as visitor:
            fields = await visitor.form("/approvals")
            await visitor.post(f"/approvals/{ticket.id}/revoke", fields)
        return await house.state_of()

    assert House(tmp_path).visited(scenario) == "denied"


@pytest.mark.parametrize("field", ["pin", "arguments", "shown"])
def test_a_decision_is_bound_to_each_digest_that_was_shown(tmp_path: Path, field: str):
    async def scenario(house: House) -> tuple[int, bool, str]:
        ticket = await house.ticket()
        async with house.visitor("bob") as visitor:
            fields = await visitor.form("/approvals")
            answer = await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once", field: "0" * 64})
            del fields[field]
            await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"})
        return answer.status_code, "TT9408" in answer.text, await house.state_of()

    assert House(tmp_path).visited(scenario) == (400, True, "open")


def test_a_ticket_of_the_same_id_for_another_call_is_refused(tmp_path: Path):
    """The store is written by the servers: what it holds under the id that was shown may be another call by now."""

    async def scenario(house: House) -> tuple[int, str]:
        ticket = await house.ticket()
        async with house.visitor("bob") as visitor:
            fields = await visitor.form("/approvals")
            async with house.desk.approvals() as approvals:
                await approvals.allow(replaced(ticket, wanted=replaced(ticket.wanted, preview="burns all")), "once")
            answer = await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"})
        return answer.status_code, answer.text

    status, text = House(tmp_path).visited(scenario)
    assert status == 400
    assert "TT9408" in text


def test_of_two_people_at_once_one_decides_and_the_other_is_told(tmp_path: Path):
    async def scenario(house: House) -> tuple[list[int], list[str], str]:
        ticket = await house.ticket(request(principal="carl"))
        async with house.visitor("ann") as ann, house.visitor("bob") as bob:
            forms = [await visitor.form("/approvals") for visitor in (ann, bob)]
            answers = await asyncio.gather(
                ann.post(f"/approvals/{ticket.id}/allow", {**forms[0], "scope": "once"}),
                bob.post(f"/approvals/{ticket.id}/deny", {**forms[1], "why": "no"}),
            )
        texts = [answer.text for answer in answers if answer.status_code != 200]
        return [answer.status_code for answer in answers], texts, await house.state_of(request(principal="carl"))

    statuses, (told,), state = House(tmp_path).visited(scenario)
    assert sorted(statuses) == [200, 400]
    assert state == ("once" if statuses[0] == 200 else "denied")
    assert "TT4406" in told or "TT9408" in told


def test_the_caller_of_a_tool_cannot_approve_the_call_and_may_deny_it(tmp_path: Path):
    own = request(principal="key:ann")

    async def scenario(house: House) -> list[Any]:
        ticket = await house.ticket(own)
        async with house.visitor("ann") as visitor:
            fields = await visitor.form("/approvals")
            allowed = await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"})
            before = await house.state_of(own)
            await visitor.post(f"/approvals/{ticket.id}/deny", fields)
        return ["TT9407" in allowed.text, before, await house.state_of(own)]

    assert House(tmp_path).visited(scenario) == [True, "open", "denied"]


def test_the_operator_may_let_callers_approve_their_own_calls(tmp_path: Path):
    own = request(principal="key:ann")

    async def scenario(house: House) -> str:
        ticket = await house.ticket(own)
        async with house.visitor("ann") as visitor:
            fields = await visitor.form("/approvals")
            await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"})
        return await house.state_of(own)

    assert House(tmp_path, approves_own=True).visited(scenario) == "once"


def test_a_session_without_the_scope_to_approve_reads_and_decides_nothing(tmp_path: Path):
    async def scenario(house: House) -> list[Any]:
        ticket = await house.ticket()
        async with house.visitor("bob") as bob, house.visitor("reader") as reader:
            fields = await bob.form("/approvals")
            page = await reader.get("/approvals")
            theirs = {**fields, "form_token": (await reader.form("/approvals")).get("form_token", "")}
            answer = await reader.post(f"/approvals/{ticket.id}/allow", theirs)
        return [page.status_code, "/allow" in page.text, answer.status_code, await house.state_of()]

    assert House(tmp_path).visited(scenario) == [200, False, 403, "open"]


def test_a_decision_is_recorded_with_who_from_where_and_what_was_shown(tmp_path: Path):
    async def scenario(house: House) -> list[dict[str, Any]]:
        ticket = await house.ticket(request(preview="burns 3 boxes"))
        async with house.visitor("bob") as visitor:
            fields = await visitor.form("/approvals")
            for _ in range(2):  # the second comes too late
                await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"})
        return await records(house)

    before, after = House(tmp_path).visited(scenario)
    assert (before["kind"], after["kind"], after["outcome"]) == ("intent", "act", "ok")
    assert before["id"] == after["id"]
    assert after["who"] == "key:bob"
    assert (after["address"], after["agent"], after["how"]) == ("127.0.0.1", "Browser/1", "key")
    assert (after["decision"], after["subject"], after["instance"]) == ("approve once", "burn", "attic")
    shown = after["arguments"]
    assert (shown["arguments"], shown["pin"], shown["preview"]) == ({"box": "old"}, "p1", "burns 3 boxes")


def test_a_decision_that_cannot_be_recorded_is_not_made(tmp_path: Path):
    async def scenario(house: House) -> tuple[int, str, str]:
        ticket = await house.ticket()
        async with house.visitor("bob") as visitor:
            fields = await visitor.form("/approvals")
            (tmp_path / "acts.db").unlink(missing_ok=True)
            (tmp_path / "acts.db").write_text("no database " * 1000)
            answer = await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"})
        return answer.status_code, answer.text, await house.state_of()

    status, text, state = House(tmp_path).visited(scenario)
    assert (status, "TT9410" in text, state) == (503, True, "open")


def test_a_decision_whose_outcome_cannot_be_recorded_is_told_to_have_taken_effect(tmp_path: Path):
    async def scenario(house: House) -> tuple[int, str, str]:
        ticket = await house.ticket()
        async with house.visitor("bob") as visitor:
            fields = await visitor.form("/approvals")
            with sqlite3.connect(tmp_path / "acts.db") as db:
                db.execute(
                    'CREATE TRIGGER broken BEFORE INSERT ON log WHEN NEW.record LIKE \'%"kind":"act"%\''
                    " BEGIN SELECT RAISE(FAIL, 'x'); END"
                )
            db.close()
            answer = await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"})
        return answer.status_code, answer.text, await house.state_of()

    status, text, state = House(tmp_path).visited(scenario)
    assert (status, "TT9450" in text, state) == (503, True, "once")


def test_pending_calls_are_shown_although_the_decisions_cannot_be_read(tmp_path: Path):
    async def scenario(house: House) -> str:
        ticket = await house.ticket()
        async with house.visitor("bob") as visitor:
            (tmp_path / "acts.db").write_text("no database " * 1000)
            page = await visitor.get("/approvals")
            assert page.status_code == 200
            assert f"ticket-{ticket.id}" in page.text
            return page.text

    assert "TT7002" in House(tmp_path).visited(scenario)


def test_a_ticket_that_is_gone_says_who_has_settled_it(tmp_path: Path):
    async def scenario(house: House) -> str:
        ticket = await house.ticket()
        async with house.visitor("bob") as bob, house.visitor("ann") as ann:
            fields = await bob.form("/approvals")
            await bob.post(f"/approvals/{ticket.id}/deny", fields)
            return await ann.text(f"/approvals/{ticket.id}/card")

    text = House(tmp_path).visited(scenario)
    assert "deny by key:bob" in text


def test_a_ticket_that_has_expired_says_so_and_is_not_approved(tmp_path: Path):
    async def scenario(house: House) -> tuple[str, str, int, str]:
        ticket = await house.ticket()
        async with house.visitor("bob") as visitor:
            fields = await visitor.form("/approvals")
            with sqlite3.connect(tmp_path / "approvals.db") as db:
                db.execute("UPDATE facts SET dies = 0 WHERE key NOT LIKE 'console-%'")
            db.close()
            card, pending = await visitor.text(f"/approvals/{ticket.id}/card"), await visitor.text("/approvals")
            answer = await visitor.post(f"/approvals/{ticket.id}/allow", {**fields, "scope": "once"})
            return card, pending, answer.status_code, await house.state_of()

    card, pending, status, state = House(tmp_path).visited(scenario)
    assert "or the time is over" in card
    assert "No call waits for a person." in pending
    assert (status, state) == (400, "none")


def test_the_oldest_pending_ticket_comes_first(tmp_path: Path):
    async def scenario(house: House) -> str:
        times = iter([3e9, 1e9 * 2, 2.5e9])
        for tool in ("third", "first", "second"):
            now = next(times)
            house.desk.clock = lambda now=now: now
            await house.ticket(request(tool, pin=tool))
        house.desk.clock = lambda: 2e9
        async with house.visitor("operator") as visitor:
            return await visitor.text("/approvals")

    text = House(tmp_path).visited(scenario)
    assert text.index("first") < text.index("second") < text.index("third")


def test_a_pattern_is_proposed_that_fits_the_call_and_no_other(tmp_path: Path):
    arguments = {"box": 'a "quoted" <b>', "count": 3}

    async def scenario(house: House) -> Any:
        call = request(arguments=arguments)
        ticket = await house.ticket(call)
        async with house.visitor("operator") as visitor:
            page = await visitor.text("/approvals")
            start = page.index('{\n  "type": "object"')
            proposal = json.JSONDecoder().raw_decode(page[start:])[0]
            fields = await visitor.form("/approvals")
            answer = await visitor.post(
                f"/approvals/{ticket.id}/allow", {**fields, "scope": "pattern", "pattern": json.dumps(proposal)}
            )
        async with house.desk.approvals() as approvals:
            others: list[ApprovalRequest] = [call, request(arguments={**arguments, "count": 4})]
            return answer.status_code, [await approvals.granted(one) for one in others]

    assert House(tmp_path).visited(scenario) == (200, ["pattern", None])


def test_a_store_that_goes_away_and_comes_back_costs_the_requests_in_between(tmp_path: Path):
    async def scenario(house: House) -> list[int]:
        await house.ticket()
        store = tmp_path / "approvals.db"
        statuses = []
        async with house.visitor("operator") as visitor:
            statuses.append((await visitor.get("/approvals")).status_code)
            content = store.read_bytes()
            store.write_bytes(b"no database " * 1000)
            page = await visitor.get("/approvals")
            statuses.append(page.status_code)
            assert "TT7" in page.text
            store.write_bytes(content)
            statuses.append((await visitor.get("/approvals")).status_code)
        return statuses

    first, between, last = House(tmp_path).visited(scenario)
    assert (first, last) == (200, 200)
    assert between >= 400
