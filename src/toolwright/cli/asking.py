"""Questions put to whoever sits at the terminal: one after the other, and only what is typed after one answers it."""

from __future__ import annotations

import contextlib
import sys
import termios
from collections.abc import Generator, Mapping, Sequence
from typing import Any

import click

from toolwright.cli.printing import printable
from toolwright.client.answers import Elicit, Elicitation, Reply
from toolwright.host.fronts import at_terminal, lines_of

__all__ = ["agrees", "answered", "asked_here", "confirmed", "is_somebody_here", "prompted"]


def is_somebody_here() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(text: str) -> bool:
    """A yes or no, in a command that does nothing else meanwhile."""
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    return click.confirm(text, err=True)


async def agrees(text: str) -> bool:
    """The same while other things go on. ``EOFError`` where nobody types any more; so below."""
    while True:
        match (await _line(f"{text} [y/N]: ")).strip().lower():
            case "y" | "yes":
                return True
            case "" | "n" | "no":
                return False
            case _:
                _say("Error: invalid input")


async def prompted(
    text: str, kind: type = str, default: Any = None, *, options: Sequence[str] = (), is_hidden: bool = False
) -> Any:
    """What is typed, as ``kind``, or one of ``options``; nothing is ``default``, where there is one."""
    choices = f" ({', '.join(options)})" if options else ""
    offered = f" [{printable(str(default))}]" if default not in (None, "") and not is_hidden else ""
    read = click.types.convert_type(click.Choice(options) if options else kind)
    while True:
        with _unseen() if is_hidden else contextlib.nullcontext():
            said = await _line(f"{text}{printable(choices)}{offered}: ")
        if not said and default is not None:
            return default
        try:
            if said:
                return read(said)
        except click.UsageError as error:
            _say(f"Error: {printable(error.message)}")


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
        click.secho(f"\n{printable(server)}:", bold=True, err=True)
    _say(f"\nThe server asks:\n{printable(question.message)}")
    if question.url is not None:
        _say(f"Open {printable(question.url)} yourself, if you trust it.")
        return await agrees("Have you?")
    schema = question.fields or {}
    required = schema.get("required", ())
    fields = schema.get("properties", {})
    filled = {name: await _field(name, field, name in required) for name, field in fields.items()}
    sent = {name: value for name, value in filled.items() if value not in ("", [""])}
    return sent if await agrees("Send this?" if filled else "Yes?") else False


async def _field(name: str, field: Mapping[str, Any], required: bool) -> Any:
    """What is typed for one field of a form; nothing leaves out what may be left out."""
    titled = {one["const"]: one["title"] for one in field.get("oneOf", ())}
    for value, title in titled.items():
        _say(f"  {printable(str(value))}: {printable(str(title))}")
    choices = [*titled] or field.get("enum")
    default = field.get("default", None if required else "")
    title = printable(field.get("title", name))
    said = await prompted(title, _KINDS.get(field["type"], str), default, options=choices or ())
    return said.split(",") if field["type"] == "array" and isinstance(said, str) else said


_KINDS: Mapping[str, type] = {"integer": int, "number": float, "boolean": bool}


def _say(text: str) -> None:
    click.echo(text, err=True)


async def _line(prompt: str) -> str:
    return await lines_of(sys.stdin.fileno(), lambda text: click.echo(text, nl=False, err=True))(prompt)


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
