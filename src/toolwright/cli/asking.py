"""Questions of a server, put to whoever sits at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from toolwright.cli.printing import printable
from toolwright.client.answers import Elicit, Elicitation, Reply

__all__ = ["asked_here"]


def asked_here() -> Elicit | None:
    """Who answers at this terminal; ``None`` where there is none, so that nobody is asked."""
    return _ask if sys.stdin.isatty() and sys.stderr.isatty() else None


def _ask(question: Elicitation) -> Reply:
    click.echo(f"\nThe server asks:\n{printable(question.message)}", err=True)
    if question.url is not None:
        click.echo(f"Open {printable(question.url)} yourself, if you trust it.", err=True)
        return click.confirm("Have you?", err=True)
    schema = question.fields or {}
    required = schema.get("required", ())
    filled = {name: _field(name, field, name in required) for name, field in schema.get("properties", {}).items()}
    sent = {name: value for name, value in filled.items() if value not in ("", [""])}
    return sent if click.confirm("Send this?" if filled else "Yes?", err=True) else False


def _field(name: str, field: Mapping[str, Any], required: bool) -> Any:
    """What is typed for one field of a form; nothing leaves out what may be left out."""
    titled = {one["const"]: one["title"] for one in field.get("oneOf", ())}
    for value, title in titled.items():
        click.echo(f"  {printable(str(value))}: {printable(str(title))}", err=True)
    choices = [*titled] or field.get("enum")
    kind: Any = click.Choice(choices) if choices else _KINDS.get(field["type"], str)
    default = field.get("default", None if required else "")
    said = click.prompt(printable(field.get("title", name)), type=kind, default=default, err=True)
    return said.split(",") if field["type"] == "array" else said


_KINDS: Mapping[str, type] = {"integer": int, "number": float, "boolean": bool}
