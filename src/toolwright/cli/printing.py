"""The one way from a verb to the terminal: nothing in what others have written is obeyed there.

Verbs print by :func:`tell`, :func:`tell_json` and :func:`redrawn`; a test of the architecture holds that no other
module of the command prints. Colours are added here, after the text has been escaped.
"""

from __future__ import annotations

import io
import json
import logging
import secrets
import sys
from typing import Any

import click

from toolwright.protocol.terminal import json_text, one_line, printable

__all__ = ["escape_logs", "one_line", "paint", "printable", "redrawn", "tell", "tell_data", "tell_json", "tell_usage"]

_MARK = f"\x1b{secrets.token_hex(8)}"  # stands before our own colours; nobody else can write it
_ERASE = "\r\x1b[K"


def tell(text: str = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print text, all of it escaped but what :func:`paint` has made."""
    shown = _escaped(text)
    click.echo(click.style(shown, **style) if style else shown, nl=nl, err=err)


def paint(text: str, **style: Any) -> str:
    """Text in a colour, within a text for :func:`tell`."""
    return click.style(printable(text), **style).replace("\x1b", _MARK)


def _escaped(text: str) -> str:
    return "\x1b".join(map(printable, text.split(_MARK)))


def redrawn(text: str = "") -> None:
    """A line on standard error that the next one overwrites; without text, it is erased."""
    click.echo(f"{_ERASE}{one_line(text)}", nl=False, err=True)


def tell_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a JSON value. Ordinary letters are readable; what a terminal obeys, or nobody sees, is escaped."""
    tell_data(json.dumps(value, ensure_ascii=False, indent=indent))


def tell_data(text: str, *, nl: bool = True) -> None:
    """Print JSON text."""
    click.echo(json_text(text), nl=nl)


def tell_usage(error: click.ClickException) -> None:
    """Print what is wrong with a command line."""
    said = io.StringIO()
    error.show(file=said)
    tell(said.getvalue(), err=True, nl=False)


class _Escaping(logging.Formatter):
    """A record as it is, escaped. A message of several lines is indented, so that none passes for another record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\n", "\n    ")

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def escape_logs() -> None:
    """What modules log goes to standard error as Python prints it by default, escaped."""
    if not logging.root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setLevel(logging.WARNING)
        handler.setFormatter(_Escaping())
        logging.root.addHandler(handler)
