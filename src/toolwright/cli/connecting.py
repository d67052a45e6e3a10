"""What a verb that talks to a server connects to: a server of ours, a URL, or a command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from toolwright.cli.targets import Spec, is_ours, load_server
from toolwright.client.client import Target

__all__ = ["target_of"]


def target_of(target: str, roots: Sequence[str] = ()) -> Target:
    """The client's target that ``target`` names on the command line."""
    if target.startswith(("http://", "https://")):
        return target
    return load_server(Spec(target, tuple(roots))) if is_ours(target) else shlex.split(target)
