"""The words of ``tooltrue connect`` for a person: the change as a diff, and what follows for destructive tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tooltrue._internal.platform.file_names import NO_FILE
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.wording import (
    HINT_CLIENT_ASKS_FOR_GATEWAY,
    HINT_CLIENT_BEHAVIOUR_UNKNOWN,
    HINT_CLIENT_GUARDS_ALONE,
    HINT_CLIENT_SHOWS_QUESTIONS,
    HINT_CONFIRM_CHOSEN,
    HINT_NO_CONFIRM_CHOSEN,
    LABEL_ANY_CLIENT,
    LABEL_DESTRUCTIVE_TOOLS,
    LABEL_DESTRUCTIVE_TOOLS_UNKNOWN,
    REPORT_NO_DESTRUCTIVE_TOOL,
    WARNING_SERVER_NOT_STARTED,
)
from tooltrue.client.client import Client
from tooltrue.errors import TooltrueError, fact_of
from tooltrue.host.client_files.clients import ClientProfile
from tooltrue.host.client_files.shown_change import diff
from tooltrue.wording import Worded, sentence

__all__ = ["gateway_consequence", "show_consequence", "show_diff", "tell_message", "title_of", "warn"]

_SECONDS: Final = 30.0
_SHOWN_TOOLS: Final = 8


def title_of(profile: ClientProfile) -> str | Worded:
    """The client as messages name it."""
    return profile.title or Worded(LABEL_ANY_CLIENT, {})


def tell_message(code: str, *, err: bool = False, **facts: Any) -> None:
    """Print a message in the language of the command."""
    tell(sentence(code, current_language(), _shown(facts)), err=err)


def warn(code: str, **facts: Any) -> None:
    """Print a warning in the language of the command."""
    tell(sentence(code, current_language(), _shown(facts)), fg="yellow", err=True)


def _shown(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fact if hasattr(fact, "say") else one_line(str(fact)) for name, fact in facts.items()}


_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


def show_diff(file: str, before: str | None, after: str | None, form: str) -> None:
    """Print the change of a file, secrets masked."""
    tell(one_line(f"--- {file if before is not None else NO_FILE}"), bold=True)
    tell(one_line(f"+++ {file if after is not None else NO_FILE}"), bold=True)
    for line in diff(before, after, form):
        tell(one_line(line.expandtabs(4)), fg=_COLOURS.get(line[:1]))


def show_consequence(
    profile: ClientProfile, server: str, line: Sequence[str], env: Mapping[str, str], confirms: bool | None
) -> bool:
    """Start the server once, tell what follows for its destructive tools in this client, and return whether its own
    question is left out. ``confirms`` is the person's decision, if there is one."""
    tools = _destructive_tools(line, env)
    if tools is not None and not tools:
        tell_message(REPORT_NO_DESTRUCTIVE_TOOL, server=server, err=True)
        return confirms is False
    if tools is None:
        tell_message(LABEL_DESTRUCTIVE_TOOLS_UNKNOWN, server=server, err=True)
    else:
        named = ", ".join(tools[:_SHOWN_TOOLS]) + (", …" if len(tools) > _SHOWN_TOOLS else "")
        tell_message(LABEL_DESTRUCTIVE_TOOLS, server=server, tools=named, err=True)
    hint, is_left_out = _consequence(profile, confirms)
    tell_message(hint, client=title_of(profile), err=True)
    return is_left_out


def _consequence(profile: ClientProfile, confirms: bool | None) -> tuple[str, bool]:
    """The hint, and whether the question of the server is left out. Left out is it only where the client is known to
    ask, and known not to show the server's question."""
    if confirms is False:
        return HINT_NO_CONFIRM_CHOSEN, True
    if profile.elicitation == "form":
        return HINT_CLIENT_SHOWS_QUESTIONS, False
    if confirms:
        return HINT_CONFIRM_CHOSEN, False
    if profile.elicitation == "none" and profile.asks_before_calls == "yes":
        return HINT_CLIENT_GUARDS_ALONE, True
    return HINT_CLIENT_BEHAVIOUR_UNKNOWN, False


def gateway_consequence(profile: ClientProfile, confirms: bool | None) -> bool:
    """Tell which side asks before the calls of a gateway in this client, and return whether its own question is left
    out. A gateway asks before each tool whose effect the operator has not declared, so a client that asks before each
    call would ask for the second time."""
    if confirms is None and profile.asks_before_calls == "yes":
        tell_message(HINT_CLIENT_ASKS_FOR_GATEWAY, client=title_of(profile), err=True)
        return True
    hint, is_left_out = _consequence(profile, confirms)
    tell_message(hint, client=title_of(profile), err=True)
    return is_left_out


def _destructive_tools(line: Sequence[str], env: Mapping[str, str]) -> list[str] | None:
    """The names of the tools before which the server asks; None if it does not start."""
    try:
        return asyncio.run(_listed(line, env))
    except TooltrueError as error:
        warn(WARNING_SERVER_NOT_STARTED, problem=fact_of(error, is_clause=False))
        return None


async def _listed(line: Sequence[str], env: Mapping[str, str]) -> list[str]:
    async with Client(list(line), env=dict(env), timeout=_SECONDS) as client:
        tools = await client.list_tools()
    return [tool.name for tool in tools if tool.annotations is not None and tool.annotations.destructiveHint]
