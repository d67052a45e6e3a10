"""Terminal output of all commands. Untrusted text is escaped, so that a terminal obeys no part of it.

Commands print by :func:`tell`, :func:`tell_json` and :func:`redrawn`; a test of the architecture checks that no other
module of the command line prints. Colours are added here, after the text has been escaped. Within :func:`own_output`
standard output is reserved for these functions.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import secrets
import sys
from collections.abc import Generator
from typing import Any, TextIO, TypeVar

import click

from tooltrue._internal.platform.descriptors import open_discarded_output
from tooltrue._internal.platform.terminal_input import is_terminal
from tooltrue.protocol.terminal import is_ordinary, json_text, one_line, printable

__all__ = [
    "discard_output",
    "escape_logs",
    "flush_output",
    "has_colours",
    "is_somebody_here",
    "one_line",
    "own_output",
    "paint",
    "printable",
    "redrawn",
    "tell",
    "tell_data",
    "tell_json",
    "tell_usage",
    "with_own_output",
]

C = TypeVar("C", bound=click.Command)

_MARK = f"\x1b{secrets.token_hex(8)}"  # marks our own colours; no other text can contain it
_ERASE = "\r\x1b[K"


def tell(text: str = "", *, err: bool = False, nl: bool = True, **style: Any) -> None:
    """Print text, escaped except for the output of :func:`paint`."""
    safe_text = _escaped(text)
    click.echo(click.style(safe_text, **style) if style else safe_text, file=None if err else _output(), nl=nl, err=err)


def paint(text: str, **style: Any) -> str:
    """Colour a part of a text for :func:`tell`."""
    return click.style(printable(text), **style).replace("\x1b", _MARK)


def is_somebody_here() -> bool:
    """Whether a person can read questions on standard error, and answer them on standard input."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def has_colours() -> bool:
    """Whether standard output is a terminal. Elsewhere :func:`tell` prints no colours, and need not be given any."""
    return _output().isatty()


def _escaped(text: str) -> str:
    if is_ordinary(text.replace(_MARK, "")):
        return text.replace(_MARK, "\x1b")
    return "\x1b".join(map(printable, text.split(_MARK)))


def redrawn(text: str = "") -> None:
    """Print a line on standard error that the next one overwrites; without text, erase it."""
    click.echo(f"{_ERASE}{one_line(text)}", nl=False, err=True)


def tell_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a JSON value. Letters stay readable; control and invisible characters are escaped."""
    tell_data(json.dumps(value, ensure_ascii=False, indent=indent))


def tell_data(text: str, *, nl: bool = True) -> None:
    """Print JSON text."""
    click.echo(json_text(text), file=_output(), nl=nl)


def tell_usage(error: click.ClickException, language: str) -> None:
    """Print the error of a command line."""
    buffer = io.StringIO()
    with click.Context(click.Command(None), obj=language):  # the one of the command line has ended
        error.show(file=buffer)
    tell(buffer.getvalue(), err=True, nl=False)


class _Escaping(logging.Formatter):
    """Formats and escapes log records. Further lines of a message are indented, so that none passes for another
    record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).replace("\n", "\n    ")

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def escape_logs() -> None:
    """Send log records to standard error in Python's default format, escaped."""
    if not logging.root.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setLevel(logging.WARNING)
        handler.setFormatter(_Escaping())
        logging.root.addHandler(handler)


# --- standard output --------------------------------------------------------------------------------------------------

_own: list[TextIO] = []  # the standard output of the running command


def _output() -> TextIO:
    return _own[-1] if _own else sys.stdout


@contextlib.contextmanager
def own_output() -> Generator[None]:
    """Reserve standard output for the command. Output of a tooltrue server in this process or in its children goes to
    standard error."""
    if _own:  # a command within a command
        yield
        return
    sys.stdout.flush()
    shared = sys.stdout
    with _aside(shared) as output:
        _own.append(output)
        try:
            yield
            output.flush()
        finally:
            _own.pop()
            sys.stdout = shared


@contextlib.contextmanager
def _aside(shared: TextIO) -> Generator[TextIO]:
    """Yield a stream to the destination of ``shared``, and redirect ``shared`` and its descriptor to standard error."""
    try:
        number = shared.fileno()
    except (OSError, ValueError):  # without a descriptor: a program that runs the command has replaced it
        sys.stdout = sys.stderr
        yield shared
        return
    ours = os.dup(number)
    os.dup2(sys.stderr.fileno(), number)
    output = os.fdopen(os.dup(ours), "w", encoding=shared.encoding, errors=shared.errors, newline="\n")
    try:
        yield output
    finally:
        with contextlib.suppress(OSError):
            shared.flush()
        os.dup2(ours, number)
        os.close(ours)
        with contextlib.suppress(OSError):
            output.close()


def with_own_output(verb: C) -> C:
    """Make the command and its subcommands run within :func:`own_output`."""
    if verb in _alone:
        return verb
    _alone.add(verb)
    for inner in verb.commands.values() if isinstance(verb, click.Group) else ():
        with_own_output(inner)
    if verb.callback is not None and not isinstance(verb, click.Group):
        verb.callback = own_output()(verb.callback)
    return verb


_alone: set[click.Command] = set()


def flush_output() -> None:
    """Flush the output of the command. ``OSError`` if it cannot be written."""
    _output().flush()


def discard_output() -> None:
    """Discard output that could not be written, so that it does not fail again when the process ends."""
    nowhere = open_discarded_output()
    os.dup2(nowhere, _output().fileno())
    os.close(nowhere)
