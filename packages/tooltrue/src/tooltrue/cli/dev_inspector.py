"""The official Inspector beside ``tooltrue dev``: npx fetches and starts it, if a person agrees."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Generator

from tooltrue._internal.platform.command_lines import joined
from tooltrue._internal.platform.processes import kill_tree, start_program
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import is_somebody_here, tell
from tooltrue.cli.terminal_prompts import confirmed
from tooltrue.cli.wording import (
    CONSOLE_FETCH_INSPECTOR,
    HINT_INSPECTOR_STARTS,
    INSPECTOR_REQUIRES_PERSON,
    NOTE_INSPECTOR_WITHOUT_NODE,
)
from tooltrue.errors import ConfigurationError
from tooltrue.wording import sentence

__all__ = ["INSPECTOR", "inspector_command", "inspector_running", "is_inspector_wanted"]

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
"""The package and its release: what runs does not change with the day."""


def inspector_command(url: str) -> list[str]:
    return ["npx", "--yes", INSPECTOR, "--transport", "http", "--server-url", url]


def is_inspector_wanted(url: str, *, yes: bool) -> bool:
    """Ask before npx fetches the Inspector; a note where there is no npx. ``ConfigurationError`` if there is nobody to
    ask, and no ``yes``."""
    facts = {"command": joined(inspector_command(url))}
    if shutil.which("npx") is None:
        tell(sentence(NOTE_INSPECTOR_WITHOUT_NODE, current_language(), facts), fg="yellow", err=True)
        return False
    if yes:
        return True
    if not is_somebody_here():
        raise ConfigurationError.of(INSPECTOR_REQUIRES_PERSON)
    return confirmed(sentence(CONSOLE_FETCH_INSPECTOR, current_language(), facts))


@contextlib.contextmanager
def inspector_running(url: str) -> Generator[None]:
    """Start the Inspector; end it, and all that it has started, at the end of the block."""
    command = inspector_command(url)
    tell(sentence(HINT_INSPECTOR_STARTS, current_language(), {"command": joined(command)}), err=True)
    program = shutil.which(command[0]) or command[0]  # npx.cmd, where a name alone would be npx.exe
    process = start_program([program, *command[1:]], stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        kill_tree(process.pid)
        process.wait()
