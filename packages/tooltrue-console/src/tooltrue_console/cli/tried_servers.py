"""The servers whose tools the console tries: a target of the command line as a server of this process."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from tooltrue._internal.platform.command_lines import words_of
from tooltrue.app import Server
from tooltrue.cli.gateway_verb import GatewaySpec
from tooltrue.cli.server_connection import target_of
from tooltrue.cli.targets import Spec, is_ours, load_server
from tooltrue.cli.terminal_host import approve_here, inputs_here, is_config
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import read_operator_config

__all__ = ["load"]


def load(target: str, config: str | None, *, is_for_one: bool) -> Server:
    """Load a tooltrue server, or a gateway for a file of servers, a command or a URL. ``config`` is the operator's
    file. ``ConfigurationError`` if there is no such server."""
    if is_config(target):
        return GatewaySpec(target, config, confirm=True, is_for_one=is_for_one).load()
    if is_ours(target):
        return load_server(Spec.of(target, None, config))
    label = _label(target)
    return Gateway(
        {label: target_of(target)},
        name=label,
        operator=None if config is None else read_operator_config(config),
        approve_launch=approve_here(),
        ask_input=inputs_here(),
        is_for_one=is_for_one,
    )


def _label(target: str) -> str:
    """A short name for a URL or a command: its host, or its last word."""
    place = urlsplit(target).hostname or Path(words_of(target)[-1]).stem
    return re.sub(r"[^A-Za-z0-9]+", "-", place).strip("-")[:40] or "server"
