"""What a verb that talks to a server connects to: a server of ours, a URL, or a command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from toolwright.cli.targets import Spec, is_ours, load_server
from toolwright.client.client import Target
from toolwright.errors import ConfigurationError

__all__ = ["target_of"]


def target_of(target: str, roots: Sequence[str] = (), config: str | None = None) -> Target:
    """The client's target that ``target`` names on the command line."""
    if config is not None and not is_ours(target):
        raise ConfigurationError.of("TW4312", target=target)
    if target.startswith(("http://", "https://")):
        return target
    return load_server(Spec.of(target, roots, config)) if is_ours(target) else shlex.split(target)
