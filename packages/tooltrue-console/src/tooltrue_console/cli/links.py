"""The one-time link: printed to a terminal, and nowhere else."""

from __future__ import annotations

import asyncio
import sys

from tooltrue._internal.platform.terminal_input import is_terminal
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import tell
from tooltrue.errors import ConfigurationError
from tooltrue.wording import sentence
from tooltrue_console.desk import Desk
from tooltrue_console.sessions import Sessions, link_to
from tooltrue_console.wording import CONSOLE_LINK_NEEDS_TERMINAL, NOTE_CONSOLE_LINK, NOTE_CONSOLE_SERVES

__all__ = ["new_link", "show_link"]


def show_link(desk: Desk, url: str, *, by_link: bool) -> None:
    """Tell where the console is, and print a link to the terminal where a link opens it."""
    _say(NOTE_CONSOLE_SERVES, url=f"{url}/")
    if by_link and is_terminal(sys.stderr):
        _say(NOTE_CONSOLE_LINK, link=_link(desk, url))
    elif by_link:
        _say(CONSOLE_LINK_NEEDS_TERMINAL)


def new_link(desk: Desk, url: str) -> None:
    """Print a link to a console that runs. ``ConfigurationError`` unless there is a terminal to print it to."""
    if not is_terminal(sys.stderr):
        raise ConfigurationError.of(CONSOLE_LINK_NEEDS_TERMINAL)
    _say(NOTE_CONSOLE_LINK, link=_link(desk, url))


def _link(desk: Desk, url: str) -> str:
    async def token() -> str:
        async with desk.facts() as facts:
            return await Sessions(facts).new_link()

    return link_to(url, asyncio.run(token()))


def _say(code: str, **facts: str) -> None:
    tell(sentence(code, current_language(), facts), err=True)
