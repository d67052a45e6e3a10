"""Terminal prompts: a typed line answers only the question that was shown before it."""

from __future__ import annotations

import asyncio
import codecs
import os
import socket
import sys
import webbrowser
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest

from support.reading import read_soon
from support.terminals import at_terminal, open_terminal
from tooltrue.cli import terminal_host
from tooltrue.cli.printing import one_line
from tooltrue.cli.terminal_prompts import confirmed, elicit_here
from tooltrue.client.answers import Elicitation
from tooltrue.client.config import Input, Launch
from tooltrue.host.launches import LaunchRequest, described
from tooltrue.host.prompters import at_terminal as holding_terminal
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.needs("terminals")

REQUEST = LaunchRequest("a", "f.json", "d", "command  touch")
ASKED = Elicitation("Once more, please.", {"type": "object", "properties": {}})


class Terminal:
    """The user's end of the terminal that the program runs in. ``shown`` is the text displayed so far."""

    def __init__(self, end: int, sit_down: Callable[[], None]) -> None:
        self.end = end
        self.sit_down = sit_down
        self.shown = ""
        self._decode = codecs.getincrementaldecoder("utf-8")().decode  # a read may end within a character

    def type(self, line: str) -> None:
        os.write(self.end, f"{line}\n".encode())

    def press_ctrl_d(self) -> None:
        os.write(self.end, b"\x04")

    async def sees(self, text: str) -> None:
        """Return once this is shown."""
        while text not in self.shown:
            data = await asyncio.to_thread(read_soon, self.end)
            assert data, f"{text!r} was not shown: {self.shown}"
            self.shown += self._decode(data)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Generator[Terminal]:
    end, other = open_terminal()
    with at_terminal(other), open(other, closefd=False) as read, open(other, "w", closefd=False) as written:

        def sit_down() -> None:
            monkeypatch.setattr("sys.stdin", read)
            monkeypatch.setattr("sys.stderr", written)

        yield Terminal(end, sit_down)
        monkeypatch.undo()
    os.close(end)
    os.close(other)


def limited(test: Callable[[], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(LIMIT):
            return await test()

    return asyncio.run(main())


def test_a37_input_typed_before_a_command_was_shown_does_not_start_it(terminal: Terminal) -> None:
    terminal.sit_down()
    approve = terminal_host.approve_here()
    assert approve is not None

    async def test() -> Any:
        terminal.type("y")
        asking = asyncio.ensure_future(asked(approve(REQUEST)))
        await terminal.sees("[y/N]")
        terminal.type("n")
        return await asking

    assert limited(test) is False


def test_a37_twin_input_typed_after_a_command_was_shown_starts_it(terminal: Terminal) -> None:
    terminal.sit_down()
    approve = terminal_host.approve_here()
    assert approve is not None

    async def test() -> Any:
        asking = asyncio.ensure_future(asked(approve(REQUEST)))
        await terminal.sees("[y/N]")
        terminal.type("y")
        return await asking

    assert limited(test) is True


def test_the_question_of_a_server_waits_until_the_one_before_is_answered(terminal: Terminal) -> None:
    terminal.sit_down()
    approve, elicit = terminal_host.approve_here(), elicit_here("desk")
    assert approve is not None
    assert elicit is not None

    async def test() -> Any:
        first = asyncio.ensure_future(asked(approve(REQUEST)))
        await terminal.sees("[y/N]")
        second = asyncio.ensure_future(asked(elicit(ASKED)))
        await asyncio.sleep(0)  # the loop goes on while a question is open
        assert "Once more" not in terminal.shown
        terminal.type("n")
        assert await first is False
        await terminal.sees("Do you agree? [y]")
        terminal.type("y")
        return await second

    assert limited(test) is True


def test_a_person_is_not_asked_while_another_prompt_has_the_terminal(terminal: Terminal) -> None:
    terminal.sit_down()
    elicit = elicit_here("desk")
    assert elicit is not None

    async def test() -> Any:
        async with holding_terminal():
            asking = asyncio.ensure_future(asked(elicit(ASKED)))
            await asyncio.sleep(0)
            asking.cancel()
        return (await asyncio.gather(asking, return_exceptions=True))[0]

    assert isinstance(limited(test), asyncio.CancelledError)


def test_a_field_is_asked_for_until_it_fits(terminal: Terminal) -> None:
    terminal.sit_down()
    elicit = elicit_here("desk")
    assert elicit is not None
    fields = {"n": {"type": "integer"}, "size": {"type": "string", "enum": ["S", "L"]}}

    async def test() -> Any:
        asking = asyncio.ensure_future(asked(elicit(Elicitation("Which?", {"properties": fields, "required": ["n"]}))))
        for prompt, line in (("n: ", "many"), ("not a valid integer", ""), ("size (S, L)", "L"), ("Send this?", "y")):
            await terminal.sees(prompt)
            if line == "":
                await terminal.sees("\nn: ")
                line = "3"
            terminal.type(line)
        return await asking

    assert limited(test) == {"n": 3, "size": "L"}


def test_a_secret_is_not_shown_while_it_is_typed(terminal: Terminal) -> None:
    terminal.sit_down()

    async def test() -> Any:
        asking = asyncio.ensure_future(terminal_host._input(Input("key", secret=True)))  # pyright: ignore[reportPrivateUsage]
        await terminal.sees("key: ")
        terminal.type("s3cret")
        return await asking

    assert limited(test) == "s3cret"
    assert "s3cret" not in terminal.shown


def test_typed_ahead_input_confirms_no_question(terminal: Terminal) -> None:
    terminal.sit_down()

    async def test() -> Any:
        terminal.type("y")
        asking = asyncio.ensure_future(asyncio.to_thread(confirmed, "Approve it?"))
        await terminal.sees("[y/N]")
        terminal.type("n")
        return await asking

    assert limited(test) is False


# -- requirements of the specification on display and user actions -----------------------------------------------------


LOOK = "\0"
"""Typed for a text that is no prompt: no line."""


def answers(terminal: Terminal, question: Elicitation, *typed: tuple[str, str | None], server: str = "desk") -> Any:
    """The reply to ``question``: wait for each text in order and type its line. ``None`` is Ctrl-D."""
    terminal.sit_down()
    elicit = elicit_here(server)
    assert elicit is not None

    async def test() -> Any:
        asking = asyncio.ensure_future(asked(elicit(question)))
        for prompt, line in typed:
            await terminal.sees(prompt)
            terminal.shown = terminal.shown.partition(prompt)[2]
            if line is None:
                terminal.press_ctrl_d()
            elif line != LOOK:
                terminal.type(line)
        return await asking

    return limited(test)


FORM = Elicitation("Your name,\nfor the badge.", {"properties": {"name": {"type": "string"}}, "required": ["name"]})
ALLOW = Elicitation("Delete it?", {"properties": {"a": {"type": "string", "enum": ["once", "session", "deny"]}}})
VISIT = Elicitation("Sign in.", url="https://login.example/a?" + "b" * 900)
AT_THE_END = {"form": (FORM, ("name: ", "Ada")), "consent": (ALLOW,), "visit": (VISIT,), "empty": (ASKED,)}


@pytest.mark.requirement("ELIC-11", "ELIC-26")
@pytest.mark.parametrize(("line", "reply"), [("n", False), ("", False), ("c", None), ("cancel", None), (None, None)])
@pytest.mark.parametrize("kind", AT_THE_END)
def test_every_question_shows_how_to_decline_and_how_to_cancel(
    terminal: Terminal, kind: str, line: str | None, reply: bool | None
) -> None:
    question, *before = AT_THE_END[kind]
    assert answers(terminal, question, *before, ("[c] cancel: ", line)) is reply


@pytest.mark.requirement("ELIC-11")
def test_a_question_can_be_cancelled_while_its_form_is_filled_in(terminal: Terminal) -> None:
    assert answers(terminal, FORM, ("Ctrl-D cancels", LOOK), ("name: ", None)) is None


@pytest.mark.requirement("ELIC-10", "ELIC-28")
@pytest.mark.parametrize("kind", AT_THE_END)
def test_a_question_names_the_asking_server_and_its_request(terminal: Terminal, kind: str) -> None:
    question, *_ = AT_THE_END[kind]
    server = "mail\n\x1b[2Jbank"
    first, _, second = question.message.partition("\n")
    seen = [(f"The server {one_line(server)} asks:\x1b[0m\r\n", LOOK), (f"    {first}", LOOK)]
    seen += [(f"    {second}", LOOK)] if second else []
    assert answers(terminal, question, *seen, ("name: " if kind == "form" else "cancel: ", None), server=server) is None


@pytest.mark.requirement("ELIC-10")
def test_a_host_says_by_which_label_the_person_knows_the_server(terminal: Terminal) -> None:
    terminal.sit_down()
    elicit = terminal_host.elicit_here()
    assert elicit is not None

    async def test() -> Any:
        asking = asyncio.ensure_future(asked(elicit("calendar", ASKED)))
        await terminal.sees("The server calendar asks:")
        await terminal.sees("[c] cancel: ")
        terminal.type("y")
        return await asking

    assert limited(test) is True


@pytest.mark.requirement("ELIC-12")
def test_a_person_sees_the_answers_of_a_form_before_they_are_sent_and_can_change_them(terminal: Terminal) -> None:
    said = answers(
        terminal,
        FORM,
        ("name: ", "Bob\u202e"),
        ('"name" (4): "Bob\\u202e"\r\nSend this? ', "e"),
        ("name: ", "Ada"),
        ('"name" (3): "Ada"\r\nSend this? ', "y"),
    )
    assert said == {"name": "Ada"}


@pytest.mark.requirement("ELIC-12")
def test_a_form_is_not_sent_before_the_person_has_reviewed_it(terminal: Terminal) -> None:
    assert answers(terminal, FORM, ("name: ", "Ada"), ("Send this? ", "what?"), ("nothing means no", "n")) is False


@pytest.mark.requirement("ELIC-13", "ELIC-35", "ELIC-37")
@pytest.mark.parametrize(("line", "reply"), [("y", True), ("n", False), ("", False), ("c", None), (None, None)])
def test_the_host_and_the_whole_url_are_shown_before_a_person_agrees_to_a_visit(
    terminal: Terminal, line: str | None, reply: bool | None
) -> None:
    assert VISIT.url is not None
    host = "\x1b[1mlogin.example\x1b[0m"
    seen = [(f"a page of {host}", LOOK), (f"    {VISIT.url}\r\n", LOOK), ("Have you opened the page? ", line)]
    assert answers(terminal, VISIT, *seen) is reply


@pytest.mark.requirement("ELIC-38")
def test_a_host_that_imitates_another_by_foreign_letters_is_warned_of(terminal: Terminal) -> None:
    question = Elicitation("Sign in.", url="https://xn--pple-43d.example/")
    seen = [("xn--pple-43d.example stands for \u0430pple.example", LOOK), ("opened the page? ", "n")]
    assert answers(terminal, question, *seen) is False
    broken = Elicitation("Sign in.", url="https://xn--a---9.example/")
    assert answers(terminal, broken, ("Take care: ", LOOK), ("opened the page? ", "n")) is False


_events: list[str] = []
_OPENING = (
    "webbrowser.open",
    "subprocess.Popen",
    "os.system",
    "os.posix_spawn",
    "os.exec",
    "os.fork",
    "socket.connect",
)


def _heard(event: str, _: object) -> None:
    if event in _OPENING:
        _events.append(event)


sys.addaudithook(_heard)


@pytest.mark.requirement("ELIC-34", "ELIC-36")
@pytest.mark.parametrize("line", ["y", "n", "", "c", None])
def test_a_page_is_opened_by_the_person_alone(terminal: Terminal, line: str | None) -> None:
    """The page is a listener here. No answer has this process connect to it, or start a program that could."""
    with socket.create_server(("127.0.0.1", 0)) as page:
        page.setblocking(False)
        question = Elicitation("Sign in.", url=f"http://127.0.0.1:{page.getsockname()[1]}/secret")
        _events.clear()
        said = answers(terminal, question, ("Have you opened the page? ", line))
        assert said is {"y": True, "c": None, None: None}.get(line, False)  # no word of the page comes along
        assert _events == []
        with pytest.raises(BlockingIOError):
            page.accept()
    webbrowser.GenericBrowser("true").open("about:blank")
    assert "webbrowser.open" in _events, "what opens a page is heard"


ARGV = ("run", *(f"{number:03} a word of the command" for number in range(40)))
LAUNCH = LaunchRequest("a", "f.json", "d", described(Launch(ARGV, "/", {}, ARGV, {})))


@pytest.mark.requirement("SEC-20", "SEC-21", "SEC-22")
@pytest.mark.parametrize("line", ["y", "yes", "n", "", "c", None])
def test_a_command_is_shown_whole_and_as_dangerous_before_a_person_agrees(terminal: Terminal, line: str | None) -> None:
    terminal.sit_down()
    approve = terminal_host.approve_here()
    assert approve is not None

    async def test() -> Any:
        asking = asyncio.ensure_future(asked(approve(LAUNCH)))
        for word in ARGV[1:]:
            await terminal.sees(f'         "{word}"\r\n')
        await terminal.sees("Dangerous: this command runs as you.")
        await terminal.sees("[y/N]: ")
        terminal.press_ctrl_d() if line is None else terminal.type(line)
        if line == "c":
            await terminal.sees("nothing means no")
            await terminal.sees("same? [y/N]: ")
            terminal.type("n")
        return await asking

    assert limited(test) is (line in ("y", "yes"))


async def asked(said: Any) -> Any:
    """The reply to a question."""
    return await said


CONSENT = Elicitation(
    "Delete it?",
    {
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "oneOf": [{"const": word, "title": word} for word in ("once", "session", "deny")],
                "default": "once",
            }
        },
    },
)


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        *((word, {"answer": "once"}) for word in ("y", "Y", "yes", "once")),
        *((word, {"answer": "session"}) for word in ("s", "session")),
        *((word, False) for word in ("n", "no", "deny", "")),
    ],
)
def test_consent_is_asked_for_once_and_nothing_means_no(terminal: Terminal, typed: str, reply: object) -> None:
    terminal.sit_down()
    elicit = elicit_here("desk")
    assert elicit is not None

    async def test() -> Any:
        asking = asyncio.ensure_future(asked(elicit(CONSENT)))
        await terminal.sees("[c] cancel: ")
        terminal.type(typed)
        return await asking

    assert limited(test) == reply
