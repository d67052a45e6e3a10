"""The console beside the endpoint of a server: for ``tooltrue serve --console`` and ``tooltrue gateway --console``.

It watches the tickets and the log of that server and those of the other servers of this user, and people sign in by the
keys of that server, at the issuer of its callers, or on this machine by a link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Final

from tooltrue.app import Server
from tooltrue.errors import ConfigurationError
from tooltrue.server.identity import Authentication, methods_of
from tooltrue.server.keys import ApiKeys
from tooltrue_console.cli.links import show_link
from tooltrue_console.desk import Desk, DeskSettings
from tooltrue_console.issuer_access import IssuerAccess, issuer_access
from tooltrue_console.sign_in import WaysToSignIn
from tooltrue_console.tried import TriedServers
from tooltrue_console.web import BASE, below_base
from tooltrue_console.wording import CONSOLE_WITHOUT_SIGN_IN

__all__ = ["CONSOLE", "Beside", "desk_of"]


class Beside:
    """The console beside a server, found by the command through its entry point; without a state of its own."""

    def mount(self, server: Server, *, is_loopback: bool) -> None:
        """Add the console to a server. The server checks Host and Origin."""
        sign_in = WaysToSignIn(is_loopback, partial(_keys, server), cache(partial(_issuer, server)))
        server.route(BASE, below_base(desk_of(server), sign_in, None), public=True)

    def announce(self, server: Server, url: str, *, is_loopback: bool) -> None:
        if not (is_loopback or _keys(server) or _issuer(server)):
            raise ConfigurationError.of(CONSOLE_WITHOUT_SIGN_IN, address=url)
        show_link(desk_of(server), f"{url}{BASE}", by_link=is_loopback)


def desk_of(server: Server) -> Desk:
    """The desk of the console beside this server."""
    settings = server.settings
    return Desk(
        DeskSettings(approvals=settings.confirm.store or "", logs=_log_of(server), server=server),
        tried=TriedServers([server]),
    )


def _log_of(server: Server) -> Mapping[str, str]:
    audit = server.settings.audit
    return {server.name: audit.to} if audit.is_kept and isinstance(audit.to, str) else {}


def _keys(server: Server) -> Sequence[Authentication]:
    """The keys of the server, once its authentication is settled."""
    return [method for method in _methods(server) if isinstance(method, ApiKeys)]


def _issuer(server: Server) -> IssuerAccess | None:
    return issuer_access(server.operator_config, _methods(server))


def _methods(server: Server) -> Sequence[Authentication]:
    authenticator = server.authenticator()
    return () if authenticator is None else methods_of(authenticator)


CONSOLE: Final = Beside()
