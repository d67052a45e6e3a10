"""What is typed at a terminal answers the question that was shown before it, and no other."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest

from toolwright.cli import hosting
from toolwright.cli.asking import asked_here, confirmed
from toolwright.client.answers import Elicitation
from toolwright.client.config import Input
from toolwright.host.fronts import at_terminal
from toolwright.host.launches import LaunchRequest
from toolwright.testing.state import LIMIT

REQUEST = LaunchRequest("a", "f.json", "d", "command  touch")
ASKED = Elicitation("Once more, please.", {"type": "object", "properties": {}})


class Terminal:
    """The person's end of the terminal that the program is at. ``shown`` is what they have seen."""

    def __init__(self, end: int, sit_down: Callable[[], None]) -> None:
        self.end = end
        self.sit_down = sit_down
        self.shown = ""

    def type(self, line: str) -> None:
        os.write(self.end, f"{line}\n".encode())

    async def sees(self, text: str) -> None:
        """Return once this is shown."""
        os.set_blocking(self.end, False)
        while text not in self.shown:
            with contextlib.suppress(BlockingIOError):
                self.shown += os.read(self.end, 65_536).decode()
            await asyncio.sleep(0)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Generator[Terminal]:
    end, other = os.openpty()
    with open(other, closefd=False) as read, open(other, "w", closefd=False) as written:

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


def test_a37_what_was_typed_before_a_command_was_shown_does_not_start_it(terminal: Terminal) -> None:
    terminal.sit_down()
    approve = hosting.approve_here()
    assert approve is not None

    async def test() -> Any:
        terminal.type("y")
        asking = asyncio.ensure_future(asked(approve(REQUEST)))
        await terminal.sees("[y/N]")
        terminal.type("n")
        return await asking

    assert limited(test) is False


def test_a37_twin_what_is_typed_after_it_was_shown_starts_it(terminal: Terminal) -> None:
    terminal.sit_down()
    approve = hosting.approve_here()
    assert approve is not None

    async def test() -> Any:
        asking = asyncio.ensure_future(asked(approve(REQUEST)))
        await terminal.sees("[y/N]")
        terminal.type("y")
        return await asking

    assert limited(test) is True


def test_the_question_of_a_server_waits_until_the_one_before_is_answered(terminal: Terminal) -> None:
    terminal.sit_down()
    approve, elicit = hosting.approve_here(), asked_here()
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
        await terminal.sees("Yes? [y/N]")
        terminal.type("y")
        return await second

    assert limited(test) == {}


def test_nobody_is_asked_while_somebody_else_has_the_terminal(terminal: Terminal) -> None:
    terminal.sit_down()
    elicit = asked_here()
    assert elicit is not None

    async def test() -> Any:
        async with at_terminal():
            asking = asyncio.ensure_future(asked(elicit(ASKED)))
            await asyncio.sleep(0)
            asking.cancel()
        return (await asyncio.gather(asking, return_exceptions=True))[0]

    assert isinstance(limited(test), asyncio.CancelledError)


def test_a_field_is_asked_for_until_it_fits(terminal: Terminal) -> None:
    terminal.sit_down()
    elicit = asked_here()
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
        asking = asyncio.ensure_future(hosting._input(Input("key", secret=True)))  # pyright: ignore[reportPrivateUsage]
        await terminal.sees("key: ")
        terminal.type("s3cret")
        return await asking

    assert limited(test) == "s3cret"
    assert "s3cret" not in terminal.shown


def test_what_was_typed_ahead_confirms_nothing(terminal: Terminal) -> None:
    terminal.sit_down()

    async def test() -> Any:
        terminal.type("y")
        asking = asyncio.ensure_future(asyncio.to_thread(confirmed, "Approve it?"))
        await terminal.sees("[y/N]")
        terminal.type("n")
        return await asking

    assert limited(test) is False


async def asked(said: Any) -> Any:
    """What comes of a question."""
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
    elicit = asked_here()
    assert elicit is not None

    async def test() -> Any:
        asking = asyncio.ensure_future(asked(elicit(CONSENT)))
        await terminal.sees("[y/s/N]")
        terminal.type(typed)
        return await asking

    assert limited(test) == reply
