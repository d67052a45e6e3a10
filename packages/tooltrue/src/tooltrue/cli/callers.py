"""Authentication of HTTP callers on the command line: the options, and their combination."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from tooltrue.cli.wording import INTROSPECTION_ISSUER_AMBIGUOUS, OPTION_REQUIRES_OTHER_OPTION
from tooltrue.errors import ConfigurationError
from tooltrue.server.auth_settings import AuthSettings
from tooltrue.wording import SETTING_INVALID, alternatives

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
_NAMES: Final = ("keys", *_GOES_WITH, "public")


def options(function: F) -> F:
    """Add the options on the authentication of callers, for :func:`callers_of`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def callers_of(parameters: Mapping[str, Any]) -> AuthSettings:
    """Combine those options of a command. ``ConfigurationError`` for an option that requires another one."""
    values = {name: value for name in _NAMES if (value := parameters.get(name))}
    for option, others in _GOES_WITH.items():
        if option in values and not values.keys() & set(others):
            raise ConfigurationError.of(
                OPTION_REQUIRES_OTHER_OPTION,
                option=_option_name(option),
                other=alternatives([*map(_option_name, others)]),
            )
    if "introspection" in values and len(values["oauth"]) > 1:
        raise ConfigurationError.of(INTROSPECTION_ISSUER_AMBIGUOUS)
    return AuthSettings({**_keys(values), **_oauth(values), **_by_proxy(values)}, _option_name(next(iter(values), "")))


def _option_name(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _keys(values: Mapping[str, Any]) -> dict[str, Any]:
    return {"keys": values["keys"]} if "keys" in values else {}


def _oauth(values: Mapping[str, Any]) -> dict[str, Any]:
    if "oauth" not in values:
        return {}
    issuers: list[dict[str, Any]] = [{"url": url} for url in values["oauth"]]
    if "introspection" in values:
        login = {"client_id": values["introspection"], "client_secret_env": SECRET}
        issuers[0]["introspection"] = login | _some(values, endpoint="introspection_endpoint")
    return {"oauth": {"issuers": issuers, "resource": values["resource"], **_some(values, scopes="scope")}}


def _by_proxy(values: Mapping[str, Any]) -> dict[str, Any]:
    addresses, auth = values.get("trust_proxy", ()), dict[str, Any]()
    if "user_header" in values:
        demand = dict(map(_pair, values.get("demand_header", ())))
        settings = _some(values, user_header="user_header", scopes_header="scopes_header")
        auth["proxy"] = {"addresses": addresses, "demand": demand, **settings}
    if "public" in values:
        auth["public"] = {"proxies": addresses}
    return auth


def _some(values: Mapping[str, Any], **options: str) -> dict[str, Any]:
    return {key: values[option] for key, option in options.items() if option in values}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ConfigurationError.of(SETTING_INVALID, name="--demand-header", wanted="NAME=VALUE")
    return name, value
