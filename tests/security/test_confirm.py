"""Attacks of a model on approval by a person: B18 to B23, B50, B51 and B57, and their similar benign twins, which must
pass."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.confirming import ERAS, YES, Attic, Post, posting, said, state
from support.variants import tried
from tooltrue import Abuse, Confirm, Form, Link, Rate, RateLimits, Server, ToolError
from tooltrue.errors import DefinitionError, StateError
from tooltrue.policy.guard import Guard
from tooltrue.protocol import modern, versions
from tooltrue.protocol.types import CallToolResult, Implementation
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.server import ProtocolServer
from tooltrue.server.service import SILENT, ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.vocabulary import LOCAL, Principal, RequestContext, ToolCall
from tooltrue_toolbox.files import Files

eras = pytest.mark.parametrize("revision", ERAS)


def yes(question: object) -> bool:
    return True


async def called(attic: Attic, principal: Principal, **arguments: Any) -> str:
    """The code of a refusal, for a caller that cannot be asked; else the text of the tool's result."""
    outcome = await attic.provider.call_tool(ToolCall("burn", arguments, RequestContext(principal, SILENT)))
    assert isinstance(outcome, CallToolResult)
    text: str = outcome.content[0].text
    return text.rsplit("[", 1)[1].rstrip("]") if outcome.isError else text


# -- B18: the approved call is sent again ------------------------------------------------------------------------------


@pytest.mark.attack("B18")
@pytest.mark.parametrize(("idempotent", "code"), [(False, "TT1031"), (True, "TT2416")])
def test_b18_an_answer_is_not_good_for_a_second_run(idempotent: bool, code: str):
    attic = Attic()
    attic.tools.remove("burn")
    attic.tools.add(attic.burn, effect="destructive", idempotent=idempotent)

    async def scenario(post: Post) -> list[str]:
        again = {"requestState": state(await post("maps")), "inputResponses": YES}
        return [said(await post("maps", **again)) for _ in range(3)]

    assert asyncio.run(posting(attic, scenario)) == ["maps is ashes", code, code]
    assert attic.lost == ["maps"]


@pytest.mark.attack("B18")
def test_b18_a_ticket_is_not_good_for_a_second_run():
    attic = Attic()

    async def main() -> list[str]:
        await attic.allow(await attic.ticket("maps"))
        return [await attic.code("maps"), await attic.code("maps")]

    assert asyncio.run(main()) == ["", "TT2404"]


@pytest.mark.twin("B18")
@eras
def test_b18_twin_two_approvals_allow_two_calls(revision: str):
    attic = Attic()

    async def main() -> list[str]:
        return [await attic.code("maps", yes, revision) for _ in range(2)]

    assert asyncio.run(main()) == ["", ""]
    assert attic.lost == ["maps", "maps"]


# -- B19: other arguments, another caller, another tool ----------------------------------------------------------------


@pytest.mark.attack("B19")
@given(st.text(), st.text())
def test_b19_a_yes_to_one_call_is_none_to_another(one: str, other: str):
    attic = Attic(Guard(server="attic", confirm=Confirm(max_shown=100_000)))

    async def scenario(post: Post) -> list[str]:
        swapped = {"requestState": state(await post(one)), "inputResponses": YES}
        return [said(await post(other, **swapped))]

    if one != other:
        assert asyncio.run(posting(attic, scenario)) == ["TT1030"]
        assert attic.lost == []


@pytest.mark.attack("B19")
def test_b19_an_approval_holds_only_for_that_caller_those_arguments_and_that_tool():
    attic = Attic()

    async def main() -> list[str]:
        await attic.allow(await attic.ticket("a"))
        codes = [await called(attic, LOCAL, box="b"), await called(attic, Principal("eve"), box="a")]
        attic.tools.remove("burn")
        attic.tools.add(attic.burn, description="Burn a box, and the house.", effect="destructive")
        return [*codes, await called(attic, LOCAL, box="a")]

    assert asyncio.run(main()) == ["TT2403", "TT2403", "TT2403"]
    assert attic.lost == []


@pytest.mark.twin("B19")
def test_b19_twin_the_same_arguments_in_another_spelling_are_the_same_call():
    attic = Attic()

    async def main() -> list[str]:
        def move(boxes: list[dict[str, Any]], weight: float) -> str:
            return f"{len(boxes)}, {weight:g}"

        attic.tools.add(move, name="move", effect="destructive", blocking=False)

        async def moved(boxes: list[dict[str, Any]], weight: float) -> str:
            arguments = {"weight": weight, "boxes": boxes}
            outcome = await attic.provider.call_tool(ToolCall("move", arguments, RequestContext(LOCAL, SILENT)))
            assert isinstance(outcome, CallToolResult)
            return outcome.content[0].text

        refused = await moved([{"a": 1, "b": 2}], 5)
        await attic.allow(refused.split("ticket ")[1].split()[0])
        return [await moved([{"b": 2.0, "a": 1}], 5.0)]

    assert asyncio.run(main()) == ["1, 5"]


# -- B20: the shown call differs from the executed call ----------------------------------------------------------------


@pytest.mark.attack("B20")
@eras
@pytest.mark.parametrize(
    "hiding",
    [
        *(each * 10_000 for each in (" ", "\n", "\r", "\t", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")),
        *(each * 10_000 for each in ("\u00a0", "\u3000", "\u2003", "\u2800", "\u3164", "\u115f", "\uffa0")),
        *("\u202e", "\u202d", "\u2066", "\u061c", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e", "\u034f"),
        *("\x1b[8m", "\x9b8m", "\b" * 50, "\x7f" * 50, "\U000e0020", "\U000e0100", "\ufe0f" * 50, "\ufff9", "\ue000"),
    ],
    ids=lambda text: ascii(text[:9]),
)
def test_b20_no_part_of_an_argument_hides_the_rest(revision: str, hiding: str):
    attic, seen = Attic(), list[str]()
    box = f"ls{hiding}; rm -rf /"

    def look(question: Any) -> bool:
        seen.append(question.message)
        return False

    assert asyncio.run(attic.code(box, look, revision)) == "TT2401"
    *_, line = seen[0].split("\n")
    assert line.endswith('; rm -rf /"')
    assert len(line) < 100
    assert hiding not in line
    assert f"({len(box)})" in line


@pytest.mark.attack("B20")
@eras
def test_b20_arguments_too_long_to_read_are_not_asked_about_but_shown_by_their_ticket(revision: str):
    attic = Attic()
    box = "".join(f"{number} " for number in range(2_000)) + "; rm -rf /"
    assert asyncio.run(attic.code(box, must_not_be_asked, revision)) == "TT2406"
    [ticket] = asyncio.run(attic.approvals.all())
    assert ticket.wanted.arguments == {"box": box}


def must_not_be_asked(question: object) -> bool:
    raise AssertionError("nobody is asked this")


@pytest.mark.twin("B20")
def test_b20_twin_text_of_people_is_shown_as_it_is():
    attic, seen = Attic(), list[str]()
    box = "两个 旧 箱子,   Käse – naïve 👩🏽"
    asyncio.run(attic.code(box, lambda question: seen.append(question.message)))
    assert f'"{box}"' in seen[0]


# -- B21: the model approves -------------------------------------------------------------------------------------------


@pytest.mark.attack("B21")
@pytest.mark.parametrize("argument", ["confirm", "confirmed", "approved", "ticket", "force", "tooltrue:confirm"])
def test_b21_no_argument_approves(argument: str):
    attic = Attic()
    assert asyncio.run(called(attic, LOCAL, box="maps", **{argument: True})) == "TT2001"


@pytest.mark.attack("B21")
def test_b21_an_unsolicited_answer_approves_no_call():
    attic = Attic()

    async def scenario(post: Post) -> str:
        return (await post("maps", inputResponses=YES))["result"]["resultType"]

    assert asyncio.run(posting(attic, scenario)) == "input_required"
    assert attic.lost == []


@pytest.mark.attack("B21")
@pytest.mark.parametrize("name", ["tooltrue-approvals.db", "tooltrue-approvals.db-wal", "Tooltrue-Approvals.DB"])
def test_b21_the_files_tools_do_not_touch_approvals(tmp_path: Path, name: str):
    (tmp_path / "tooltrue").mkdir()
    (tmp_path / "tooltrue" / "tooltrue-approvals.db").write_text("open")
    with Files([tmp_path]) as files:
        for use in (
            lambda: files.read_file(f"tooltrue/{name}"),
            lambda: files.write_file(f"tooltrue/{name}", "yes", mode="overwrite"),
        ):
            with pytest.raises(ToolError, match="secret"):
                use()
    assert (tmp_path / "tooltrue" / "tooltrue-approvals.db").read_text() == "open"


@pytest.mark.twin("B21")
def test_b21_twin_a_file_that_only_sounds_alike_is_written(tmp_path: Path):
    with Files([tmp_path]) as files:
        assert files.write_file("approvals.md", "# Approvals")["created"]


# -- B22: a flood of questions -----------------------------------------------------------------------------------------


@pytest.mark.attack("B22")
@eras
def test_b22_five_hundred_calls_in_a_minute_are_ten_questions(revision: str):
    attic, asked = Attic(), list[str]()

    def tire(question: Any) -> bool:
        asked.append(question.message)
        return False

    async def main() -> set[str]:
        return {await attic.code(f"box {number}", tire, revision) for number in range(500)}

    assert asyncio.run(main()) == {"TT2401", "TT2408"}
    assert len(asked) == 10


@pytest.mark.attack("B22")
def test_b22_the_same_call_many_times_at_once_is_one_question():
    attic = Attic()

    async def scenario(post: Post) -> list[str]:
        answers = await asyncio.gather(*(post("maps") for _ in range(50)))
        return [said(one) for one in answers if one["result"]["resultType"] == "complete"]

    assert asyncio.run(posting(attic, scenario)) == ["TT2407"] * 49


@pytest.mark.twin("B22")
def test_b22_twin_a_minute_later_and_to_others_questions_are_put():
    attic = Attic()

    async def main() -> list[str]:
        for number in range(11):
            await attic.code(f"box {number}", lambda question: False)
        attic.now += 60.0
        return [await attic.code("maps", yes)]

    assert asyncio.run(main()) == [""]


# -- B23: the person does not answer -----------------------------------------------------------------------------------


@pytest.mark.attack("B23")
def test_b23_an_answer_that_comes_too_late_is_none():
    attic = Attic()

    async def scenario(post: Post) -> str:
        asked = state(await post("maps"))
        attic.now += 901.0
        return said(await post("maps", requestState=asked, inputResponses=YES))

    assert asyncio.run(posting(attic, scenario)) == "TT1030"
    assert attic.lost == []


@pytest.mark.attack("B23")
def test_b23_a_missing_answer_of_a_person_is_no_approval():
    attic = Attic()
    served = ServedProvider(
        Implementation("attic", "1"), attic.provider, Sealer([new_key()]), attic.facts, question_seconds=0.0
    )
    attic.server = ProtocolServer(served)

    async def never(question: object) -> bool:
        await asyncio.Event().wait()
        return True

    assert asyncio.run(attic.code("maps", never, versions.NEWEST_LEGACY)) == "TT2012"
    assert attic.lost == []


@pytest.mark.twin("B23")
def test_b23_twin_a_person_may_take_their_time():
    attic = Attic()

    async def scenario(post: Post) -> str:
        asked = state(await post("maps"))
        attic.now += 890.0
        return said(await post("maps", requestState=asked, inputResponses=YES))

    assert asyncio.run(posting(attic, scenario)) == "maps is ashes"


# -- B50, B51: the allowed fields of a form, and the allowed URLs for a person -----------------------------------------


def form(**field: str) -> Form[Any]:
    name = field.pop("name", "field")
    return Form("?", {"type": "object", "properties": {name: {"type": "string", **field}}})


@pytest.mark.attack("B50")
@pytest.mark.parametrize(
    "field",
    [
        {"name": "password"},
        {"name": "api_key"},
        {"name": "userPassword"},
        {"name": "GITHUB_ACCESS_TOKEN"},
        {"name": "clientSecret"},
        {"name": "ｐａｓｓｗｏｒｄ"},
        {"name": "card-number"},
        {"name": "x", "title": "Your password"},
        {"name": "x", "title": "Recovery phrase"},
    ],
    ids=str,
)
def test_b50_a_form_asks_for_no_secret(field: dict[str, str]):
    with pytest.raises(DefinitionError, match="with a Link"):
        form(**field)


@pytest.mark.twin("B50")
@pytest.mark.parametrize(
    "name", ["secretary", "max_tokens", "key", "passenger", "card_holder", "pinned", "tokenizer", "passport_country"]
)
def test_b50_twin_a_field_that_only_sounds_like_a_secret_is_asked(name: str):
    assert form(name=name)


@pytest.mark.attack("B50")
def test_b50_the_question_says_which_server_asks():
    attic, seen = Attic(), list[str]()
    asyncio.run(attic.code("maps", lambda question: seen.append(question.message)))
    assert seen[0].startswith("attic asks before burn runs (destructive).")


@pytest.mark.attack("B51")
@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "http://example.com/",
        "https://bank.example@evil.example/",
        "https://bаnk.example/",
        "https://example.com\\@evil.example/ x",
    ],
)
def test_b51_a_deceptive_address_is_refused_as_a_link(url: str):
    with pytest.raises(DefinitionError):
        Link("Sign in.", url)


@pytest.mark.twin("B51")
@pytest.mark.parametrize(
    "url", ["https://example.com/a?b=c%40d#e", "https://xn--bnk-7cd.example/", "http://localhost:8000/x"]
)
def test_b51_twin_a_page_is_shown_by_its_whole_address_with_a_name_of_other_scripts_as_it_is_looked_up(url: str):
    assert Link("Sign in.", url).request["params"]["url"] == url


# -- B57: a failing component denies -----------------------------------------------------------------------------------


class Down(MemoryFacts):
    async def get(self, key: str) -> bytes | None:
        raise StateError("gone")

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        raise StateError("gone")


@pytest.mark.attack("B57")
@eras
def test_b57_where_approvals_cannot_be_read_nothing_is_lost(revision: str):
    attic = Attic()
    attic.approvals._values = Down()  # pyright: ignore[reportPrivateUsage]
    assert asyncio.run(attic.code("maps", yes, revision)) == "TT2410"
    assert attic.lost == []


@pytest.mark.attack("B57")
@eras
def test_b57_a_preview_that_breaks_lets_nothing_run(revision: str):
    attic = Attic()
    attic.tools.add(attic.burn, name="other", effect="destructive", preview=lambda arguments: 1 // 0)
    assert asyncio.run(attic.call("maps", yes, revision, "other")).is_error
    assert attic.lost == []


@pytest.mark.twin("B57")
def test_b57_twin_a_read_only_tool_runs_while_the_approval_store_is_down():
    attic = Attic()
    attic.approvals._values = Down()  # pyright: ignore[reportPrivateUsage]
    attic.tools.add(attic.burn, name="other", effect="read")
    assert not asyncio.run(attic.call("maps", tool="other")).is_error


@pytest.mark.twin("B21")
def test_b21_twin_the_operator_may_turn_confirmation_off():
    server = Server("s", confirm=Confirm.never())
    assert ("confirm", "on: where a tool or a rule demands it", "Server(confirm=…)") in server.guard()


# -- families: the same attacks in every spelling that a client can choose ---------------------------------------------


MANY = Rate(1_000_000, 1_000_000)
NO_RATE, NO_PAUSE = RateLimits(MANY, MANY, MANY), Abuse(MANY, MANY, MANY)


class Yard(Attic):
    """Has a tool of more parameters as well: ``move``."""

    def __init__(self, *, idempotent: bool = False) -> None:
        super().__init__(Guard(server="attic", confirm=Confirm(questions=10_000), abuse=NO_PAUSE, rate=NO_RATE))
        self.tools.remove("burn")
        self.tools.add(self.burn, effect="destructive", idempotent=idempotent)
        for name in ("move", "carry"):
            self.tools.add(self.move, name=name, effect="destructive")

    async def move(self, boxes: list[Any], weight: float = 1.0, note: str | None = None) -> str:
        """Move boxes."""
        self.lost.append(f"{boxes} {weight:g} {note}")
        return "moved"


OTHER_META: dict[str, Any] = {
    modern.VERSION: versions.LATEST,
    modern.CAPABILITIES: {"elicitation": {}},
    "com.example/nonce": 1,
}
AGAIN: dict[str, dict[str, Any]] = {
    "the same": {},
    "with facts of another kind": {"_meta": OTHER_META},
    "with a member more": {"again": True},
    "with an answer more": {"inputResponses": {**YES, "other": {"action": "accept"}}},
    "with content": {"inputResponses": {"tooltrue:confirm": {"action": "accept", "content": {"answer": "once"}}}},
    "without content": {"inputResponses": {"tooltrue:confirm": {"action": "accept"}}},
    "with the time of a progress": {"_meta": {**OTHER_META, "progressToken": 7}},
    "with a note in the answer": {"inputResponses": {"tooltrue:confirm": {"action": "accept", "_meta": {"a": 1}}}},
    "with its arguments in another order": {"name": "burn", "arguments": {"box": "maps"}},
    "with a name of a task": {"task": {"ttl": 1}},
}


@pytest.mark.variants(len(AGAIN))
@pytest.mark.attack("B18")
@pytest.mark.parametrize("connection", ["the same", "another", "eight at once"])
@pytest.mark.parametrize("idempotent", [False, True])
def test_b18_no_way_to_send_a_call_again_runs_it_again(idempotent: bool, connection: str):
    attic = Yard(idempotent=idempotent)
    states: list[str] = []

    async def first(post: Post) -> list[str]:
        states.append(state(await post("maps")))
        return [said(await post("maps", requestState=states[0], inputResponses=YES)), *await again(post)]

    async def again(post: Post) -> list[str]:
        sent: list[str] = []
        for name, more in AGAIN.items():
            tried(name)
            params = {"requestState": states[0], "inputResponses": YES, **more}
            if connection == "eight at once":
                sent += map(said, await asyncio.gather(*(post("maps", **params) for _ in range(8))))
            else:
                sent.append(said(await post("maps", **params)))
        return sent

    answered = asyncio.run(posting(attic, first))
    if connection == "another":
        answered += asyncio.run(posting(attic, again))
    assert answered[0] == "maps is ashes"
    assert {*answered[1:]} <= {"TT1030", "TT1031", "TT2416"}, {*answered[1:]}
    assert attic.lost == ["maps"]


ASKED = {"boxes": [1, {"a": "b", "c": [True]}], "weight": 5.0, "note": "x"}
SWAPPED: dict[str, dict[str, Any]] = {
    "another number": {**ASKED, "weight": 5.5},
    "a number of another sign": {**ASKED, "weight": -5.0},
    "the next number": {**ASKED, "weight": 5.000000000000001},
    "a larger number": {**ASKED, "weight": 5e300},
    "the default": {"boxes": ASKED["boxes"], "note": "x"},
    "a note less": {"boxes": ASKED["boxes"], "weight": 5.0},
    "null for a note": {**ASKED, "note": None},
    "an empty note": {**ASKED, "note": ""},
    "a note in capitals": {**ASKED, "note": "X"},
    "a note with a space": {**ASKED, "note": "x "},
    "a note with what nobody sees": {**ASKED, "note": "x\u200b"},
    "a note in full width": {**ASKED, "note": "\uff58"},
    "a note of another script": {**ASKED, "note": "\u0445"},
    "a note with a mark": {**ASKED, "note": "x\u0301"},
    "true for one": {**ASKED, "boxes": [True, {"a": "b", "c": [True]}]},
    "text for one": {**ASKED, "boxes": ["1", {"a": "b", "c": [True]}]},
    "one for true": {**ASKED, "boxes": [1, {"a": "b", "c": [1]}]},
    "null for true": {**ASKED, "boxes": [1, {"a": "b", "c": [None]}]},
    "another order": {**ASKED, "boxes": [{"a": "b", "c": [True]}, 1]},
    "one more": {**ASKED, "boxes": [1, {"a": "b", "c": [True]}, 2]},
    "one less": {**ASKED, "boxes": [1]},
    "none": {**ASKED, "boxes": []},
    "another list around": {**ASKED, "boxes": [[1, {"a": "b", "c": [True]}]]},
    "a member more": {**ASKED, "boxes": [1, {"a": "b", "c": [True], "d": 0}]},
    "a member less": {**ASKED, "boxes": [1, {"a": "b"}]},
    "names and values exchanged": {**ASKED, "boxes": [1, {"b": "a", "c": [True]}]},
    "a name in capitals": {**ASKED, "boxes": [1, {"A": "b", "c": [True]}]},
    "an empty object for a list": {**ASKED, "boxes": [1, {"a": "b", "c": {}}]},
}


@pytest.mark.variants(len(SWAPPED) + 1)
@pytest.mark.attack("B19")
@pytest.mark.parametrize("way", ["state", "ticket"])
def test_b19_no_other_arguments_run_by_a_yes_to_these(way: str):
    attic = Yard()

    async def by_state(post: Post) -> list[str]:
        asked = state(await post("", name="move", arguments=ASKED))
        answered = {"requestState": asked, "inputResponses": YES}
        others = [("move", other) for other in SWAPPED.values()] + [("carry", ASKED)]
        return [said(await post("", **answered, name=name, arguments=other)) for name, other in others]

    async def by_ticket(name: str, arguments: dict[str, Any]) -> str:
        outcome = await attic.provider.call_tool(ToolCall(name, arguments, RequestContext(LOCAL, SILENT)))
        assert isinstance(outcome, CallToolResult)
        return outcome.content[0].text

    async def by_tickets() -> list[str]:
        await attic.allow((await by_ticket("move", ASKED)).split("ticket ")[1].split()[0])
        return [await by_ticket("move", other) for other in SWAPPED.values()] + [await by_ticket("carry", ASKED)]

    for name in (*SWAPPED, "another tool"):
        tried(name)
    answered = asyncio.run(posting(attic, by_state) if way == "state" else by_tickets())
    assert "moved" not in answered
    assert attic.lost == []


@pytest.mark.twin("B19")
def test_b19_twin_the_call_that_was_agreed_to_runs_in_any_order_of_its_arguments():
    attic = Yard()
    same = {"note": "x", "weight": 5, "boxes": [1.0, {"c": [True], "a": "b"}]}

    async def scenario(post: Post) -> str:
        asked = state(await post("", name="move", arguments=ASKED))
        return said(await post("", requestState=asked, inputResponses=YES, name="move", arguments=same))

    assert asyncio.run(posting(attic, scenario)) == "moved"


CLAIMED: dict[str, dict[str, Any]] = {
    **{f"params.{name}": {name: True} for name in ("approved", "confirm", "force", "ticket", "elicitation", "agreed")},
    **{
        f"_meta.{name}": {"_meta": {**OTHER_META, name: True}}
        for name in ("tooltrue/approved", "tooltrue:confirm", "io.modelcontextprotocol/approved", "agreed")
    },
    "an answer without a question": {"inputResponses": YES},
    "an answer and an empty state": {"inputResponses": YES, "requestState": ""},
    "an answer and a state of null": {"inputResponses": YES, "requestState": None},
    "an answer and a state of text": {"inputResponses": YES, "requestState": "tooltrue:confirm"},
    "an answer and a state of an object": {"inputResponses": YES, "requestState": {"tooltrue:confirm": True}},
    "an answer as a list": {"inputResponses": [YES]},
    "an answer by another name": {"inputResponses": {"confirm": {"action": "accept"}}},
    "an answer within an answer": {"inputResponses": {"tooltrue": {"confirm": {"action": "accept"}}}},
    "a question of its own": {"inputRequests": {"tooltrue:confirm": {}}, "inputResponses": YES},
    "a result of its own": {"result": {"tooltrue:confirm": {"action": "accept"}}},
}


@pytest.mark.attack("B21")
@pytest.mark.parametrize("claim", CLAIMED)
def test_b21_no_claim_of_a_caller_approves_a_call(claim: str):
    attic = Yard()

    async def scenario(post: Post) -> dict[str, Any]:
        return await post("maps", **CLAIMED[claim])

    answer = asyncio.run(posting(attic, scenario))
    assert "error" in answer or answer["result"]["resultType"] == "input_required"
    assert attic.lost == []


NO_ANSWERS: dict[str, Any] = {
    "nothing": {},
    "another answer": {"other": {"action": "accept", "content": {}}},
    "null": {"tooltrue:confirm": None},
    "true": {"tooltrue:confirm": True},
    "text": {"tooltrue:confirm": "accept"},
    "a list": {"tooltrue:confirm": ["accept"]},
    "an empty object": {"tooltrue:confirm": {}},
    "content alone": {"tooltrue:confirm": {"content": {}}},
    **{
        f"the action {action!r}": {"tooltrue:confirm": {"action": action, "content": {}}}
        for action in ("decline", "cancel", "ACCEPT", "Accept", "accept ", "yes", "", True, 1, None, ["accept"])
    },
    **{
        f"the content {json.dumps(content)}": {"tooltrue:confirm": {"action": "accept", "content": content}}
        for content in (
            {"answer": "no"}, {"answer": "Once"}, {"answer": ""}, {"answer": None}, {"answer": True},
            {"answer": ["once"]},
            {"approved": False}, {"confirm": "no"}, {"Answer": "deny"}, {"answers": "deny"}, {"answer": "once",
            "approved": False},
        )
    },
    "an error": {"tooltrue:confirm": {"error": {"code": -1, "message": "gone"}}},
    "an action elsewhere": {"tooltrue:confirm": {"content": {"action": "accept"}}},
    "another case": {"Tooltrue:Confirm": {"action": "accept", "content": {}}},
}  # fmt: skip


@pytest.mark.attack("B23")
@pytest.mark.parametrize("answer", NO_ANSWERS)
def test_b23_only_an_explicit_yes_approves_a_call(answer: str):
    attic = Yard()

    async def scenario(post: Post) -> dict[str, Any]:
        return await post("maps", requestState=state(await post("maps")), inputResponses=NO_ANSWERS[answer])

    answered = asyncio.run(posting(attic, scenario))
    assert attic.lost == [], answered


LATE = [901.0, 902.5, 1_000.0, 3_600.0, 86_400.0, 1e9]


@pytest.mark.attack("B23")
@pytest.mark.parametrize("seconds", LATE)
def test_b23_a_yes_after_the_time_of_its_question_is_none(seconds: float):
    attic = Yard()

    async def scenario(post: Post) -> str:
        asked = state(await post("maps"))
        attic.now += seconds
        return said(await post("maps", requestState=asked, inputResponses=YES))

    assert asyncio.run(posting(attic, scenario)) == "TT1030"
    assert attic.lost == []


# -- B28: the state of a question --------------------------------------------------------------------------------------


def forged(true: str) -> dict[str, str]:
    """Forged request states, derived from an issued one."""
    half = len(true) // 2
    made = {
        f"letter {at} changed": f"{true[:at]}{'A' if true[at] != 'A' else 'B'}{true[at + 1 :]}"
        for at in range(len(true))
    }
    made |= {f"without letter {at}": true[:at] + true[at + 1 :] for at in range(0, len(true), 9)}
    made |= {f"cut to {size}": true[:size] for size in range(0, len(true), 9)}
    made |= {f"{sign!r} behind": true + sign for sign in ("=", "A", " ", "\n", "\0", ".", "é", "AAAA")}
    made |= {f"{sign!r} in front": sign + true for sign in ("=", "A", " ", "v2.", "\ufeff")}
    return made | {
        "twice": true * 2,
        "halves exchanged": true[half:] + true[:half],
        "reversed": true[::-1],
        "in capitals": true.upper(),
    }


@pytest.mark.variants(200)
@pytest.mark.attack("B28")
def test_b28_no_state_that_was_forged_is_taken():
    attic = Yard()

    async def scenario(post: Post) -> list[str]:
        true, taken = state(await post("maps")), list[str]()
        for name, other in forged(true).items():
            assert other != true
            tried(name)
            if said(await post("maps", requestState=other, inputResponses=YES)) != "TT1030":
                taken.append(name)
        return taken

    assert asyncio.run(posting(attic, scenario)) == []
    assert attic.lost == []


@pytest.mark.twin("B28")
def test_b28_twin_the_state_that_was_given_out_is_taken():
    async def scenario(post: Post) -> str:
        return said(await post("maps", requestState=state(await post("maps")), inputResponses=YES))

    assert asyncio.run(posting(Yard(), scenario)) == "maps is ashes"
