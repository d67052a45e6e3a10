"""Authentication of HTTP callers on the command line: the options, and their combination."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from tooltrue.cli.usage import usage_text
from tooltrue.errors import ConfigurationError
from tooltrue.server.auth_settings import AuthSettings

__all__ = ["callers_of", "options"]

F = TypeVar("F", bound=Callable[..., Any])

SECRET = "TOOLTRUE_CLIENT_SECRET"

_OPTIONS: Final = (
    click.option("--keys", metavar="FILE", help="HTTP: accept callers with a key of this file; see 'tooltrue keys'."),
    click.option(
        "--oauth", multiple=True, metavar="ISSUER", help="HTTP: accept callers with a token of this issuer. Repeatable."
    ),
    click.option("--resource", metavar="URL", help="OAuth: this server's endpoint, as clients know it."),
    click.option(
        "--scope", multiple=True, metavar="SCOPE", help="OAuth: a scope that every request needs. Repeatable."
    ),
    click.option(
        "--introspection",
        metavar="CLIENT",
        help=f"OAuth: introspect opaque tokens at the issuer, as this client; its secret is in ${SECRET}.",
    ),
    click.option(
        "--introspection-endpoint", metavar="URL", help="OAuth: introspect tokens there, not where the issuer says."
    ),
    click.option(
        "--trust-proxy",
        multiple=True,
        metavar="ADDRESS",
        help="HTTP: a trusted proxy, or a network of them, for --user-header, or for addresses with --public.",
    ),
    click.option("--user-header", metavar="NAME", help="Proxy: the header with the caller's name."),
    click.option("--scopes-header", metavar="NAME", help="Proxy: the header with the caller's scopes."),
    click.option(
        "--demand-header",
        multiple=True,
        metavar="NAME=VALUE",
        help="Proxy: a header that must have this value (mTLS). Repeatable.",
    ),
    click.option("--public", is_flag=True, help="HTTP: accept every caller, identified by address alone."),
)

# option → options of which it requires at least one
_GOES_WITH: Final[Mapping[str, tuple[str, ...]]] = {
    "oauth": ("resource",),
    "resource": ("oauth",),
    "scope": ("oauth",),
    "introspection": ("oauth",),
    "introspection_endpoint": ("introspection",),
    "trust_proxy": ("user_header", "public"),
    "user_header": ("trust_proxy",),
    "scopes_header": ("user_header",),
    "demand_header": ("user_header",),
}


def options(function: F) -> F:
    """Add the options on the authentication of callers, for :func:`callers_of`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def callers_of(said: Mapping[str, Any]) -> AuthSettings:
    """Combine the options. ``ConfigurationError`` for an option that requires another one."""
    given = {name: value for name, value in said.items() if value}
    for option, others in _GOES_WITH.items():
        if option in given and not given.keys() & set(others):
            raise ConfigurationError.of(
                "TT4205", option=_shown(option), other=usage_text(" or ").join(map(_shown, others))
            )
    if "introspection" in given and len(given["oauth"]) > 1:
        raise ConfigurationError.of("TT1065")
    return AuthSettings({**_keys(given), **_oauth(given), **_by_proxy(given)}, _shown(next(iter(given), "")))


def _shown(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _keys(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"keys": given["keys"]} if "keys" in given else {}


def _oauth(given: Mapping[str, Any]) -> dict[str, Any]:
    if "oauth" not in given:
        return {}
    issuers: list[dict[str, Any]] = [{"url": url} for url in given["oauth"]]
    if "introspection" in given:
        login = {"client_id": given["introspection"], "client_secret_env": SECRET}
        issuers[0]["introspection"] = login | _some(given, endpoint="introspection_endpoint")
    return {"oauth": {"issuers": issuers, "resource": given["resource"], **_some(given, scopes="scope")}}


def _by_proxy(given: Mapping[str, Any]) -> dict[str, Any]:
    addresses, found = given.get("trust_proxy", ()), dict[str, Any]()
    if "user_header" in given:
        demand = dict(map(_pair, given.get("demand_header", ())))
        settings = _some(given, user_header="user_header", scopes_header="scopes_header")
        found["proxy"] = {"addresses": addresses, "demand": demand, **settings}
    if "public" in given:
        found["public"] = {"proxies": addresses}
    return found


def _some(given: Mapping[str, Any], **options: str) -> dict[str, Any]:
    return {key: given[option] for key, option in options.items() if option in given}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ConfigurationError.of("TT4009", name="--demand-header", wanted="NAME=VALUE")
    return name, value
