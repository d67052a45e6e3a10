"""Questions put to whoever sits at the terminal: one after the other, and only what is typed after one answers it."""

from __future__ import annotations

import contextlib
import sys
import termios
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import click

from toolwright.cli.printing import one_line, tell
from toolwright.client.answers import Elicit, Elicitation, Reply
from toolwright.host.fronts import at_terminal, lines_of

__all__ = ["agrees", "answered", "asked_here", "confirmed", "is_somebody_here", "prompted"]


def is_somebody_here() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(text: str) -> bool:
    """A yes or no, in a command that does nothing else meanwhile."""
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    while True:
        tell(f"{text} [y/N]: ", nl=False, err=True)
        if not (said := sys.stdin.readline()):
            raise click.Abort
        if (word := _word(said, _WORDS)) is not None:
            return word != "deny"


async def agrees(text: str) -> bool:
    """The same while other things go on. ``EOFError`` where nobody types any more; so below."""
    return await _chosen(f"{text} [y/N]: ", _WORDS) != "deny"


async def _chosen(prompt: str, words: Mapping[str, str]) -> str:
    """What one of these words means, typed by a person."""
    while True:
        if (word := _word(await _line(prompt), words)) is not None:
            return word


def _word(said: str, words: Mapping[str, str]) -> str | None:
    word = words.get(said.strip().lower())
    if word is None:
        _say(f"Type {', '.join(filter(None, words))}; nothing means no.")
    return word


_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("y", "yes", "once", "是"), "once"),
    **dict.fromkeys(("n", "no", "deny", "否", ""), "deny"),
}
_WORDS_OF_SESSION: Mapping[str, str] = {**_WORDS, **dict.fromkeys(("s", "session"), "session")}


async def prompted(
    text: str, kind: type = str, default: Any = None, *, options: Sequence[str] = (), is_hidden: bool = False
) -> Any:
    """What is typed, as ``kind``, or one of ``options``; nothing is ``default``, where there is one."""
    choices = f" ({', '.join(options)})" if options else ""
    offered = f" [{one_line(str(default))}]" if default not in (None, "") and not is_hidden else ""
    read = click.types.convert_type(click.Choice(options) if options else kind)
    while True:
        with _unseen() if is_hidden else contextlib.nullcontext():
            said = await _line(f"{text}{one_line(choices)}{offered}: ")
        if not said and default is not None:
            return default
        try:
            if said:
                return read(said)
        except click.UsageError as error:
            _say(f"Error: {one_line(error.message)}")


def asked_here() -> Elicit | None:
    """Who answers a server at this terminal; ``None`` where there is none, so that nobody is asked."""
    return answered if is_somebody_here() else None


async def answered(question: Elicitation, server: str = "") -> Reply:
    """What a person says to the question of a server."""
    async with at_terminal():
        try:
            return await _answered(question, server)
        except EOFError:
            return None


async def _answered(question: Elicitation, server: str) -> Reply:
    if server:
        tell(f"\n{one_line(server)}:", bold=True, err=True)
    _say(f"\nThe server asks:\n{question.message}")
    if question.url is not None:
        _say(f"Open {one_line(question.url)} yourself, if you trust it.")
        return await agrees("Have you?")
    schema = question.fields or {}
    required = schema.get("required", ())
    fields = schema.get("properties", {})
    if (name := _decision(fields)) is not None:
        word = await _chosen("Allow it? y: once, s: for this session, n: no [y/s/N]: ", _WORDS_OF_SESSION)
        return False if word == "deny" else {name: word}
    filled = {name: await _field(name, field, name in required) for name, field in fields.items()}
    sent = {name: value for name, value in filled.items() if value not in ("", [""])}
    return sent if await agrees("Send this?" if filled else "Yes?") else False


def _decision(fields: Mapping[str, Any]) -> str | None:
    """The one field of a form that asks for consent, as a server of ours does; ``None`` for any other form."""
    for name, field in fields.items() if len(fields) == 1 else ():
        options = {one.get("const") for one in field.get("oneOf", ())} | {*field.get("enum", ())}
        return name if options == {"once", "session", "deny"} else None
    return None


async def _field(name: str, field: Mapping[str, Any], required: bool) -> Any:
    """What is typed for one field of a form; nothing leaves out what may be left out."""
    titled = {one["const"]: one["title"] for one in field.get("oneOf", ())}
    for value, title in titled.items():
        _say(f"  {one_line(str(value))}: {one_line(str(title))}")
    choices = [*titled] or field.get("enum")
    default = field.get("default", None if required else "")
    title = one_line(field.get("title", name))
    said = await prompted(title, _KINDS.get(field["type"], str), default, options=choices or ())
    return said.split(",") if field["type"] == "array" and isinstance(said, str) else said


_KINDS: Mapping[str, type] = {"integer": int, "number": float, "boolean": bool}


def _say(text: str) -> None:
    tell(text, err=True)


async def _line(prompt: str) -> str:
    return await lines_of(sys.stdin.fileno(), lambda text: tell(text, nl=False, err=True))(prompt)


@contextlib.contextmanager
def _unseen() -> Generator[None]:
    """What is typed is not shown."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    silent = [*before]
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
        _say("")
