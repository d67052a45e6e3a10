"""What a model must not be able to do where a person has to agree: attacks B18 to B23, B50, B51 and B57, and what looks
alike and must pass."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwright import Confirm, Form, Link, Server, ToolError
from toolwright.errors import DefinitionError, StateError
from toolwright.policy.pipeline import Guard
from toolwright.protocol import versions
from toolwright.protocol.types import CallToolResult, Implementation
from toolwright.server.sealing import Sealer, new_key
from toolwright.server.served import SILENT, Served
from toolwright.server.server import ProtocolServer
from toolwright.state.facts import MemoryFacts
from toolwright.toolbox.files import Files
from toolwright.tools.toolset import LOCAL, Principal, RequestContext, ToolCall
from unit.policy.confirming import ERAS, YES, Attic, Post, posting, said, state

eras = pytest.mark.parametrize("revision", ERAS)


def yes(question: object) -> bool:
    return True


async def called(attic: Attic, principal: Principal, **arguments: Any) -> str:
    """The code of a refusal, for a caller that cannot be asked; else what the tool said."""
    outcome = await attic.provider.call_tool(ToolCall("burn", arguments, RequestContext(principal, SILENT)))
    assert isinstance(outcome, CallToolResult)
    text: str = outcome.content[0].text  # pyright: ignore
    return text.rsplit("[", 1)[1].rstrip("]") if outcome.isError else text


# -- B18: the approved call is sent again ------------------------------------------------------------------------------


@pytest.mark.attack("B18")
@pytest.mark.parametrize(("idempotent", "code"), [(False, "TW1031"), (True, "TW2416")])
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

    assert asyncio.run(main()) == ["", "TW2404"]


@pytest.mark.twin("B18")
@eras
def test_b18_twin_who_agrees_twice_gets_it_twice(revision: str):
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
        assert asyncio.run(posting(attic, scenario)) == ["TW1030"]
        assert attic.lost == []


@pytest.mark.attack("B19")
def test_b19_what_was_allowed_is_allowed_to_that_caller_and_for_that_tool():
    attic = Attic()

    async def main() -> list[str]:
        await attic.allow(await attic.ticket("a"))
        codes = [await called(attic, LOCAL, box="b"), await called(attic, Principal("eve"), box="a")]
        attic.tools.remove("burn")
        attic.tools.add(attic.burn, description="Burn a box, and the house.", effect="destructive")
        return [*codes, await called(attic, LOCAL, box="a")]

    assert asyncio.run(main()) == ["TW2403", "TW2403", "TW2403"]
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
            return outcome.content[0].text  # pyright: ignore

        refused = await moved([{"a": 1, "b": 2}], 5)
        await attic.allow(refused.split("ticket ")[1].split()[0])
        return [await moved([{"b": 2.0, "a": 1}], 5.0)]

    assert asyncio.run(main()) == ["1, 5"]


# -- B20: what is shown is not what runs -------------------------------------------------------------------------------


@pytest.mark.attack("B20")
@eras
@pytest.mark.parametrize(
    "hiding", [" " * 10_000, "\n" * 10_000, "\u202e", "\u200b", "\x1b[8m", "\U000e0020"], ids=ascii
)
def test_b20_nothing_in_the_arguments_hides_the_rest(revision: str, hiding: str):
    attic, seen = Attic(), list[str]()
    box = f"ls{hiding}; rm -rf /"

    def look(question: Any) -> bool:
        seen.append(question.message)
        return False

    assert asyncio.run(attic.code(box, look, revision)) == "TW2401"
    *_, line = seen[0].split("\n")
    assert line.endswith('; rm -rf /"')
    assert len(line) < 100
    assert hiding not in line
    assert f"({len(box)})" in line


@pytest.mark.attack("B20")
@eras
def test_b20_what_is_too_long_to_be_read_is_not_asked_but_shown_by_its_ticket(revision: str):
    attic = Attic()
    box = "".join(f"{number} " for number in range(2_000)) + "; rm -rf /"
    assert asyncio.run(attic.code(box, must_not_be_asked, revision)) == "TW2406"
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
@pytest.mark.parametrize("argument", ["confirm", "confirmed", "approved", "ticket", "force", "toolwright:confirm"])
def test_b21_no_argument_approves(argument: str):
    attic = Attic()
    assert asyncio.run(called(attic, LOCAL, box="maps", **{argument: True})) == "TW2001"


@pytest.mark.attack("B21")
def test_b21_an_answer_that_nobody_asked_for_approves_nothing():
    attic = Attic()

    async def scenario(post: Post) -> str:
        return (await post("maps", inputResponses=YES))["result"]["resultType"]

    assert asyncio.run(posting(attic, scenario)) == "input_required"
    assert attic.lost == []


@pytest.mark.attack("B21")
@pytest.mark.parametrize("name", ["toolwright-approvals.db", "toolwright-approvals.db-wal", "Toolwright-Approvals.DB"])
def test_b21_the_files_tools_do_not_touch_approvals(tmp_path: Path, name: str):
    (tmp_path / "toolwright").mkdir()
    (tmp_path / "toolwright" / "toolwright-approvals.db").write_text("open")
    with Files([tmp_path]) as files:
        for use in (
            lambda: files.read_file(f"toolwright/{name}"),
            lambda: files.write_file(f"toolwright/{name}", "yes", mode="overwrite"),
        ):
            with pytest.raises(ToolError, match="secret"):
                use()
    assert (tmp_path / "toolwright" / "toolwright-approvals.db").read_text() == "open"


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

    assert asyncio.run(main()) == {"TW2401", "TW2408"}
    assert len(asked) == 10


@pytest.mark.attack("B22")
def test_b22_the_same_call_many_times_at_once_is_one_question():
    attic = Attic()

    async def scenario(post: Post) -> list[str]:
        answers = await asyncio.gather(*(post("maps") for _ in range(50)))
        return [said(one) for one in answers if one["result"]["resultType"] == "complete"]

    assert asyncio.run(posting(attic, scenario)) == ["TW2407"] * 49


@pytest.mark.twin("B22")
def test_b22_twin_a_minute_later_and_to_others_questions_are_put():
    attic = Attic()

    async def main() -> list[str]:
        for number in range(11):
            await attic.code(f"box {number}", lambda question: False)
        attic.now += 60.0
        return [await attic.code("maps", yes)]

    assert asyncio.run(main()) == [""]


# -- B23: nobody answers -----------------------------------------------------------------------------------------------


@pytest.mark.attack("B23")
def test_b23_an_answer_that_comes_too_late_is_none():
    attic = Attic()

    async def scenario(post: Post) -> str:
        asked = state(await post("maps"))
        attic.now += 901.0
        return said(await post("maps", requestState=asked, inputResponses=YES))

    assert asyncio.run(posting(attic, scenario)) == "TW1030"
    assert attic.lost == []


@pytest.mark.attack("B23")
def test_b23_a_person_who_does_not_answer_has_not_agreed():
    attic = Attic()
    served = Served(
        Implementation("attic", "1"), attic.provider, Sealer([new_key()]), attic.facts, question_seconds=0.0
    )
    attic.server = ProtocolServer(served)

    async def never(question: object) -> bool:
        await asyncio.Event().wait()
        return True

    assert asyncio.run(attic.code("maps", never, versions.NEWEST_LEGACY)) == "TW2012"
    assert attic.lost == []


@pytest.mark.twin("B23")
def test_b23_twin_a_person_may_take_their_time():
    attic = Attic()

    async def scenario(post: Post) -> str:
        asked = state(await post("maps"))
        attic.now += 890.0
        return said(await post("maps", requestState=asked, inputResponses=YES))

    assert asyncio.run(posting(attic, scenario)) == "maps is ashes"


# -- B50, B51: what a form may ask, and where a person may be sent -----------------------------------------------------


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
def test_b51_nobody_is_sent_where_the_address_deceives(url: str):
    with pytest.raises(DefinitionError):
        Link("Sign in.", url)


@pytest.mark.twin("B51")
@pytest.mark.parametrize(
    "url", ["https://example.com/a?b=c%40d#e", "https://xn--bnk-7cd.example/", "http://localhost:8000/x"]
)
def test_b51_twin_a_page_is_shown_by_its_whole_address_with_a_name_of_other_scripts_as_it_is_looked_up(url: str):
    assert Link("Sign in.", url).request["params"]["url"] == url


# -- B57: what is broken denies ----------------------------------------------------------------------------------------


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
    assert asyncio.run(attic.code("maps", yes, revision)) == "TW2410"
    assert attic.lost == []


@pytest.mark.attack("B57")
@eras
def test_b57_a_preview_that_breaks_lets_nothing_run(revision: str):
    attic = Attic()
    attic.tools.add(attic.burn, name="other", effect="destructive", preview=lambda arguments: 1 // 0)
    assert asyncio.run(attic.call("maps", yes, revision, "other")).is_error
    assert attic.lost == []


@pytest.mark.twin("B57")
def test_b57_twin_what_only_reads_goes_on():
    attic = Attic()
    attic.approvals._values = Down()  # pyright: ignore[reportPrivateUsage]
    attic.tools.add(attic.burn, name="other", effect="read")
    assert not asyncio.run(attic.call("maps", tool="other")).is_error


@pytest.mark.twin("B21")
def test_b21_twin_the_operator_may_ask_nobody():
    server = Server("s", confirm=Confirm.never())
    assert ("confirm", "on: where a tool or a rule says so", "Server(confirm=…)") in server.guard()
