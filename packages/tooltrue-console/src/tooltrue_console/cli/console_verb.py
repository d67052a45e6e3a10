"""``tooltrue console``: the console over the state and the logs of this user, whether or not a server runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import click

from tooltrue.app import Server
from tooltrue.cli.printing import with_own_output
from tooltrue.cli.usage import Verb, misuse
from tooltrue.errors import ConfigurationError
from tooltrue.policy.config import examine
from tooltrue.server.auth_settings import AuthSettings
from tooltrue.server.keys import ApiKeys
from tooltrue.transport import http_runner
from tooltrue.transport.http_server import AllowedHosts
from tooltrue_console.cli.links import new_link, show_link
from tooltrue_console.desk import Desk, DeskSettings
from tooltrue_console.issuer_access import issuer_access
from tooltrue_console.sign_in import WaysToSignIn
from tooltrue_console.tried import TriedServers
from tooltrue_console.web import BASE, alone
from tooltrue_console.wording import CONSOLE_WITHOUT_SIGN_IN

__all__ = ["command"]

_ADDRESS = "127.0.0.1:8765"


@with_own_output
@click.command("console", cls=Verb, short_help="Watch, approve and investigate in a browser.")
@click.argument("servers", nargs=-1, metavar="[SERVER]...")
@click.option("--http", metavar="HOST:PORT", default=_ADDRESS, show_default=True, help="Serve there; :0 is any port.")
@click.option("--keys", metavar="FILE", help="Let holders of a key of this file sign in; see 'tooltrue keys'.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A further host name to accept. Repeatable.")
@click.option("--store", metavar="URL", help="The store of tickets and sessions. Default: that of approvals.")
@click.option(
    "--log", "logs", multiple=True, metavar="NAME=URL", help="A further audit log: sqlite:PATH or postgresql://…"
)
@click.option("--config", metavar="FILE", help="The operator's file: rules, settings, sign-in.")
@click.option("--lock", "locks", multiple=True, metavar="FILE", help="A lock file, for the page on contracts.")
@click.option("--acts", metavar="URL", help="The log of what people do here. Default: a file of your own.")
@click.option("--approve-own", is_flag=True, help="Let the caller of a tool approve the call.")
@click.option("--link", "link_only", metavar="URL", is_flag=False, flag_value="", help="Print a new link, and end.")
def command(
    servers: tuple[str, ...],
    http: str,
    keys: str | None,
    hosts: tuple[str, ...],
    store: str | None,
    logs: tuple[str, ...],
    config: str | None,
    locks: tuple[str, ...],
    acts: str | None,
    approve_own: bool,
    link_only: str | None,
) -> None:
    """Show pending approvals, calls, logs and rules in a browser, and let a person decide.

    The tools of each SERVER can be tried there: a tooltrue server, the list of servers of any client, a command in
    quotes, or a URL.

    On this machine, a link with a token that works once opens it. Elsewhere people sign in by a key, or at the issuer
    that the operator's file names, with the scopes console:read, console:approve and console:admin.
    """
    settings = DeskSettings(
        store or "", dict(map(_named_log, logs)), acts or "", approves_own=approve_own, config=config or "", locks=locks
    )
    if link_only is not None:
        new_link(Desk(settings), link_only.rstrip("/") or f"http://{_ADDRESS}{BASE}")
        return
    address = http_runner.parse_address(http)
    sign_in = _ways_to_sign_in(address, keys, config)
    is_for_one = not (sign_in.by_key or sign_in.issuer())
    desk = Desk(settings, tried=TriedServers(_tried(servers, config, is_for_one=is_for_one)))
    if not (sign_in.by_link or sign_in.by_key or sign_in.issuer()):
        raise ConfigurationError.of(CONSOLE_WITHOUT_SIGN_IN, address=address.netloc)
    listener = http_runner.bind(address)
    listener.listen()  # a browser that opens the link at once waits until the servers to try have started
    address = http_runner.Address(address.host, listener.getsockname()[1])
    access = AllowedHosts((*http_runner.hosts_of(address), *hosts))
    url = f"http://{address.netloc}{BASE}"
    show_link(desk, url, by_link=sign_in.by_link)
    http_runner.run(partial(alone, desk, sign_in, access), listener, workers=1)


def _ways_to_sign_in(address: http_runner.Address, keys: str | None, config: str | None) -> WaysToSignIn:
    """The ways that the options and the operator's file give. Raises the ``ConfigurationError`` of a file with a
    mistake where people sign in by it; on loopback a link opens the pages that show the mistake."""
    holders = [] if keys is None else [ApiKeys(keys)]
    operator, problems = (None, ()) if config is None else examine(config)
    if problems and not address.is_loopback:
        raise problems[0]
    if operator is None or problems:
        return WaysToSignIn(address.is_loopback, lambda: holders)
    methods = AuthSettings(*operator.settings_of("auth")).with_secrets().methods()
    issuer = issuer_access(operator, methods)
    holders += [method for method in methods if isinstance(method, ApiKeys)]
    return WaysToSignIn(address.is_loopback, lambda: holders, lambda: issuer)


def _tried(targets: Sequence[str], config: str | None, *, is_for_one: bool) -> list[Server]:
    """The servers of the command line; those that are not ours, behind a gateway. With ``is_for_one``, one person alone
    calls them."""
    if not targets:
        return []
    from tooltrue_console.cli import tried_servers  # noqa: PLC0415 - a console without servers loads no gateway

    return [tried_servers.load(target, config, is_for_one=is_for_one) for target in targets]


def _named_log(text: str) -> tuple[str, str]:
    name, equals, url = text.partition("=")
    if not (name and equals and url):
        raise misuse("--log takes NAME=URL.")
    return name, url
