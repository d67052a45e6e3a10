"""Lines that a person types at a terminal, by the way of this system."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator

import pytest

from support.reading import read_soon
from support.terminals import at_terminal, open_terminal
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue._internal.platform.terminal_input import discard_typed, is_terminal, typed_text, without_echo
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.needs("terminals")

of_the_console = pytest.mark.skipif(HAS_POSIX, reason="elsewhere the terminal edits a line, and not tooltrue")


class Person:
    """At ``end``, the terminal of this process."""

    def __init__(self, own_end: int, end: int) -> None:
        self._own_end = own_end
        self.end = end

    def types(self, keys: str) -> None:
        os.write(self._own_end, keys.encode())

    def sees(self, last: str) -> str:
        """Return the text that has been shown, as soon as it ends with ``last``."""
        shown = b""
        while not shown.endswith(last.encode()):
            data = read_soon(self._own_end)
            assert data, f"not shown: {last!r}, but {shown!r}"
            shown = (shown + data).replace(b"\r\r\n", b"\r\n")  # a terminal adds a return to that of a console
        return shown.decode()


@pytest.fixture
def person() -> Generator[Person]:
    own_end, end = open_terminal()
    with at_terminal(end):
        yield Person(own_end, end)
    os.close(own_end)
    os.close(end)


def read(person: Person, then: Callable[[], Awaitable[object]] | None = None) -> str:
    """The next line that is typed; ``then`` runs meanwhile."""

    async def main() -> str:
        async with asyncio.timeout(LIMIT):
            line = asyncio.ensure_future(typed_text(person.end))
            if then is not None:
                await then()
            return await line

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("yes\n", "yes\n"),
        ("\n", "\n"),
        ("née 北京 \U0001f600\n", "née 北京 \U0001f600\n"),
        ("nope\x7f\x7f\x7fo\n", "no\n"),
        ("\x7fa\n", "a\n"),
        ("می\u200cخواهم\n", "می\u200cخواهم\n"),  # a word of Persian, with a character that has no width
        ("\x04", ""),
    ],
)
def test_a_line_is_what_was_typed_up_to_its_end(person: Person, keys: str, line: str) -> None:
    person.types(keys)
    assert read(person) == line


def test_a_second_line_is_not_part_of_the_first(person: Person) -> None:
    person.types("one\n")
    assert read(person) == "one\n"
    person.types("two\n")
    assert read(person) == "two\n"


def test_what_was_typed_before_is_discarded(person: Person) -> None:
    person.types("earlier\n")
    if HAS_POSIX:
        person.sees("earlier\r\n")  # the terminal has got it
    discard_typed(person.end)
    person.types("later\n")
    assert read(person) == "later\n"


def test_a_line_is_shown_while_it_is_typed(person: Person) -> None:
    person.types("abc\n")
    read(person)
    assert person.sees("\n") == "abc\r\n"


def test_a_secret_is_not_shown_while_it_is_typed(person: Person) -> None:
    with without_echo(person.end):
        person.types("s3cret\x7f\n")
        assert read(person) == "s3cre\n"
    person.types("x\n")
    read(person)
    assert person.sees("x\r\n").strip() == "x"


def test_a_read_that_is_cancelled_takes_no_line(person: Person) -> None:
    async def main() -> str:
        first = asyncio.ensure_future(typed_text(person.end))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        person.types("for the second\n")
        async with asyncio.timeout(LIMIT):
            return await typed_text(person.end)

    assert asyncio.run(main()) == "for the second\n"


def test_only_a_terminal_is_one(person: Person) -> None:
    reading, writing = os.pipe()
    with open(os.devnull) as nothing, open(reading) as pipe, open(person.end, closefd=False) as terminal:
        assert [is_terminal(stream) for stream in (terminal, pipe, nothing)] == [True, False, False]
    os.close(writing)


# -- the line editor of Windows ----------------------------------------------------------------------------------------


@of_the_console
@pytest.mark.parametrize(
    ("keys", "line", "shown"),
    [
        ("ab\bc\r", "ac\n", "ab\b \bc\r\n"),
        ("京\x7fo\r", "o\n", "京\b\b  \b\bo\r\n"),
        ("e\u0301\x7fa\r", "a\n", "e\u0301\b \ba\r\n"),  # a letter and its accent
        ("a\u200c\x7fb\r", "b\n", "a\b \bb\r\n"),
        ("all\x1bnew\r", "new\n", "all\b \b\b \b\b \bnew\r\n"),  # Escape
        ("a\x01\x0bb\r", "ab\n", "ab\r\n"),
        ("\x1a", "", ""),  # Ctrl-Z, at the start
        ("a\x1a\x04b\r", "ab\n", "ab\r\n"),
        ("\0;f\r", "f\n", "f\r\n"),  # F1 comes as two keys
        ("\U0001f600\x7fa\r", "a\n", "\U0001f600\b\b  \b\ba\r\n"),  # in two halves
    ],
)
def test_the_keys_of_the_console_edit_the_line(person: Person, keys: str, line: str, shown: str) -> None:
    person.types(keys)
    assert read(person) == line
    assert not shown or person.sees("\r\n") == shown
