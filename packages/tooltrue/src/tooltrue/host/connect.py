"""From a server of a file to the target of a client, once a person has agreed to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tooltrue.client.client import Target
from tooltrue.client.config import AskInput, HostConfig, Launch, ServerConfig, resolved
from tooltrue.host.launches import ApproveLaunch, Launches

if TYPE_CHECKING:
    from tooltrue.client.client import Auth

__all__ = ["connect"]


async def connect(
    one: ServerConfig,
    config: HostConfig,
    launches: Launches,
    approve: ApproveLaunch | None,
    ask_input: AskInput | None = None,
    input_answers: dict[str, str] | None = None,
    *,
    is_of_a_file: bool = True,
) -> tuple[Target, dict[str, Any]]:
    """The target, and the settings of :class:`Client` for it. ``ConfigurationError`` where a variable is missing, or no
    person has agreed. An address needs approval only for servers of a file."""
    target = await resolved(one, config, ask_input, input_answers)
    if isinstance(target, Launch) or is_of_a_file:
        await launches.check(one.label, config.name, target, approve)
    if isinstance(target, Launch):
        return target.argv, {"env": target.env, "cwd": target.cwd, "revision": one.revision}
    is_told = any(name.lower() == "authorization" for name in target.headers)
    auth = one.auth or (None if is_told else _signed_in(target.url))
    return target.url, {"headers": target.headers, "auth": auth, "revision": one.revision, "transport": one.transport}


def _signed_in(url: str) -> Auth | None:
    from tooltrue.client.oauth import signed_in  # noqa: PLC0415 - only a URL needs a sign-in

    return signed_in(url)
