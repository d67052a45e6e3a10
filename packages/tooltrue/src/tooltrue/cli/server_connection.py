"""The connection of a command to a server: a tooltrue server, a URL, or a command."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import click

from tooltrue._internal.platform.command_lines import words_of
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.targets import Spec, is_ours, load_server
from tooltrue.cli.wording import CONFIG_FOR_LOCAL_SERVER_ONLY
from tooltrue.client.client import Client, Target
from tooltrue.errors import ConfigurationError, RpcError, TransportError
from tooltrue.protocol import versions
from tooltrue.transport.carrier import Auth

__all__ = ["auth_of", "connected", "gateway_words", "revision_option", "show_log", "target_of"]

_SHOWN_LINES = 20

revision_option = click.option(
    "--revision",
    type=click.Choice(versions.ALL),
    help="Speak this protocol revision, and no other. Default: the newest that both sides speak.",
)


def target_of(
    target: str, family: FamilyOptions | None = None, config: str | None = None, *, only_lists: bool = False
) -> Target:
    """Turn ``target`` from the command line into a target of the client. A server of ours whose client ``only_lists``
    does not enter its lifespan: its database need not be there.
    """
    if config is not None and not is_ours(target):
        raise ConfigurationError.of(CONFIG_FOR_LOCAL_SERVER_ONLY, target=target)
    if _is_url(target):
        return target
    if not is_ours(target):
        return words_of(target)
    server = load_server(Spec.of(target, family, config))
    return server.without_lifespan() if only_lists else server


def gateway_words(target: str) -> list[str] | None:
    """The words behind ``tooltrue gateway`` in a target; ``None`` if it is another command."""
    try:
        words = words_of(target)
    except ValueError:  # an open quotation
        return None
    return words[2:] if len(words) > 1 and Path(words[0]).stem == "tooltrue" and words[1] == "gateway" else None


@contextlib.asynccontextmanager
async def connected(target: Target, **settings: Any) -> AsyncGenerator[Client]:
    """Connect a client to ``target``, with the login of the user. If a server that it has started fails, the end of
    that server's standard error is printed, unless the error contains it."""
    client = Client(target, auth=auth_of(target), **settings)
    try:
        async with client:
            yield client
    except (RpcError, TransportError) as error:
        show_log(client, str(error))
        raise


def show_log(client: Client, error_text: str = "") -> None:
    """Print the end of the server's standard error, unless ``error_text`` contains it already."""
    lines = client.stderr.strip().splitlines()[-_SHOWN_LINES:]
    if all(line in error_text for line in lines):
        return
    tell("The server has written to standard error:", fg="yellow", err=True)
    for line in lines:
        tell(f"    {one_line(line)}", err=True)


def auth_of(target: Target) -> Auth | None:
    """The login made with ``tooltrue login``; None unless the target is a URL to which tokens can be sent safely."""
    if not isinstance(target, str) or not _is_url(target):
        return None
    from tooltrue.client.oauth import signed_in  # noqa: PLC0415 - only a URL needs a sign-in

    return signed_in(target)


def _is_url(target: str) -> bool:
    return target.startswith(("http://", "https://"))
