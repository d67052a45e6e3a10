"""A host at a terminal: the servers of a file, with a person to approve their start."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tooltrue.cli.language import current_language
from tooltrue.cli.printing import is_somebody_here, one_line, tell
from tooltrue.cli.terminal_prompts import agrees, answer_question, prompted
from tooltrue.cli.wording import CONFIGURED_SERVERS_UNUSABLE, UNKNOWN_CONFIGURED_SERVER, WARNING_DANGEROUS_COMMAND
from tooltrue.client.client import Target
from tooltrue.client.config import AskInput, HostConfig, Input, Launch, ReadSecret, read_config, resolved
from tooltrue.errors import ConfigurationError, TransportError
from tooltrue.host.host import Elicit, Host, ServerStatus
from tooltrue.host.launches import ApproveLaunch, Launches, LaunchRequest
from tooltrue.host.prompters import at_terminal
from tooltrue.host.servers import Patience
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.pipeline import standard
from tooltrue.state.facts import Facts
from tooltrue.tools.toolset import Provider
from tooltrue.wording import sentence

__all__ = [
    "approve_here",
    "check_any",
    "elicit_here",
    "is_config",
    "launch_requests",
    "opened",
    "problem_of",
    "show_request",
    "speaking_only",
]


def is_config(target: str) -> bool:
    """Whether ``target`` is a file of servers rather than one server."""
    return target.endswith((".json", ".jsonc", ".toml")) and Path(target).is_file()


def _as_of_a_server(
    provider: Provider, guard: Guard, facts: Facts, recorder: Recorder, approvals: Approvals
) -> Provider:
    return standard(provider, guard, facts, recorder, approvals=approvals)


TYPED: Mapping[str, Any] = {"guard": Guard(confirm=Confirm.never()), "guarding": _as_of_a_server}
"""Settings for calls typed by a person: typing a call approves it, and results are not marked, since marks are for
models."""


@contextlib.asynccontextmanager
async def opened(
    source: str | HostConfig | Mapping[str, Target], timeout: float, **settings: Any
) -> AsyncGenerator[Host]:
    """Open the host of a file, or of servers by their labels, with all servers started. Approvals are requested at the
    terminal.

    ``settings`` are those of :class:`Host`; :data:`TYPED` has those for a person who types a call and reads its result.
    """
    settings = {
        "approve_launch": approve_here(),
        "ask_input": inputs_here(),
        "elicit": elicit_here(),
        "patience": Patience(start=timeout, ready=timeout),
        **settings,
    }
    host = Host.from_config(source, **settings) if isinstance(source, str) else Host(source, **settings)
    for note in host.config.notes:
        tell(one_line(note.say()), fg="yellow", err=True)
    async with host:
        for status in host.servers:
            if problem := problem_of(status):
                tell(problem, fg="yellow", err=True)
        for one in host.quarantined:
            tell(one_line(f"{one.server}: {one.problem.say()}"), fg="yellow", err=True)
        yield host


def problem_of(status: ServerStatus) -> str:
    """The reason why a server cannot be used; empty if it can."""
    if status.state in ("ready", "disabled"):
        return ""
    reason = "" if status.reason is None else f": {status.reason.say()}"
    return one_line(f"{status.name} is {status.state}{reason}")


def speaking_only(file: str, revision: str) -> HostConfig:
    """The servers of a file, each with this protocol revision, whatever the file says."""
    config = read_config(file)
    return replace(config, servers=tuple(replace(one, revision=revision) for one in config.servers))


def check_any(host: Host, file: str) -> None:
    """``TransportError`` if no enabled server of a file is ready."""
    enabled_servers = [one for one in host.servers if one.state != "disabled"]
    if enabled_servers and not any(one.state == "ready" for one in enabled_servers):
        servers = ", ".join(f"{one.name} ({one.state})" for one in enabled_servers)
        raise TransportError.of(CONFIGURED_SERVERS_UNUSABLE, file=file, servers=servers)


def approve_here() -> ApproveLaunch | None:
    """A callback that approves commands at this terminal; ``None`` without a terminal."""
    return _approve if is_somebody_here() else None


async def _approve(request: LaunchRequest) -> bool:
    async with at_terminal():
        show_request(request)
        with contextlib.suppress(EOFError):
            what = "Send it" if request.connects else "Start it"
            return await agrees(f"{what}, now and whenever it is the same?")
    return False


def launch_requests(
    launches: Launches, config: HostConfig, servers: Sequence[str], read_secret: ReadSecret | None = None
) -> list[LaunchRequest]:
    """The requests for approval of these servers of a file, by default of all. A server whose variables are missing is
    reported, and has none."""
    by_label = {one.label: one for one in config.servers}
    for label in servers:
        if label not in by_label:
            known = ", ".join(by_label)
            raise ConfigurationError.of(UNKNOWN_CONFIGURED_SERVER, file=config.name, server=label, known=known)
    requests: list[LaunchRequest] = []
    for label in servers or by_label:
        default_of: AskInput = lambda one: one.default or f"${{input:{one.id}}}"  # noqa: E731 - it has no other name
        try:
            way = asyncio.run(resolved(by_label[label], config, default_of, read_secret=read_secret))
        except ConfigurationError as error:
            tell(one_line(error.say(current_language())), fg="yellow", err=True)
            continue
        if isinstance(way, Launch) or way.takes:
            requests.append(launches.request(label, config.name, way))
    return requests


def show_request(request: LaunchRequest) -> None:
    """Print the whole command to be started, and the warnings about it."""
    does = "is sent what is yours" if request.connects else "starts this, as you"
    tell(f"\n{one_line(request.server)} of {one_line(request.file)} {does}:", bold=True, err=True)
    tell(request.text, err=True)
    if not request.connects:
        tell(sentence(WARNING_DANGEROUS_COMMAND, current_language(), {}), fg="red", err=True)
    for package in request.warnings:
        warning = f"{package} names no release: what runs is whatever is newest that day."
        tell(warning, fg="yellow", err=True)
    if request.before is not None:
        tell("Approved before was something else:", fg="yellow", err=True)
        tell(request.before, err=True)


def inputs_here() -> AskInput | None:
    """A callback that prompts for the inputs of a file at this terminal; ``None`` without a terminal."""
    return _input if is_somebody_here() else None


async def _input(one: Input) -> str | None:
    async with at_terminal():
        label = one_line(one.description or one.id)
        with contextlib.suppress(EOFError):
            return await prompted(label, default=one.default, options=one.options, is_hidden=one.secret)
    return None


def elicit_here() -> Elicit | None:
    """A callback by which the person at this terminal answers questions of servers; ``None`` without a terminal."""
    return (lambda server, question: answer_question(question, server)) if is_somebody_here() else None
