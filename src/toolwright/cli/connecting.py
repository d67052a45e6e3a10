"""What a verb that talks to a server connects to: a server of ours, a URL, or a command."""

from __future__ import annotations

import shlex

from toolwright.cli.families import Family
from toolwright.cli.targets import Spec, is_ours, load_server
from toolwright.client.client import Target
from toolwright.errors import ConfigurationError
from toolwright.loading import load
from toolwright.transport.carrier import Auth

__all__ = ["auth_of", "target_of"]


def target_of(target: str, family: Family | None = None, config: str | None = None) -> Target:
    """The client's target that ``target`` names on the command line."""
    if config is not None and not is_ours(target):
        raise ConfigurationError.of("TW4312", target=target)
    if _is_url(target):
        return target
    return load_server(Spec.of(target, family, config)) if is_ours(target) else shlex.split(target)


def auth_of(target: Target) -> Auth | None:
    """Who has signed in there with ``toolwright login``."""
    is_url = isinstance(target, str) and _is_url(target)
    return load("client.oauth:signed_in")(target) if is_url else None


def _is_url(target: str) -> bool:
    return target.startswith(("http://", "https://"))
