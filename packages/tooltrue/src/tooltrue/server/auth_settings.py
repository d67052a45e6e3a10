"""Authentication settings of an operator, for HTTP: from the command line, or from the table ``[auth]`` of a file.

They are plain data until authentication methods are made of them, because workers receive them through a pipe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from tooltrue.errors import ConfigurationError, fact_of
from tooltrue.protocol.types import Value, field, replaced
from tooltrue.server.wording import (
    ALLOWED_CALLERS_SET_TWICE,
    AUTH_SETTING_INVALID,
    CLIENT_SECRET_NOT_AVAILABLE,
    PRESET_OR_ISSUERS,
    REASON_SECRET_ABSENT,
    REASON_SECRET_NAMED_NOWHERE,
    REASON_SECRET_NAMED_TWICE,
)
from tooltrue.wording import Worded

if TYPE_CHECKING:  # loaded on first use
    from tooltrue.server.identity import Authentication
    from tooltrue.server.oauth import Introspection

__all__ = ["AuthSettings"]


class AuthSettings(Value, frozen=True):
    """``table`` has the shape of ``[auth]``, and is empty without settings. ``origin`` is the option or table that they
    come from, and ``places`` the line of each part.
    """

    table: Mapping[str, Any] = field(default_factory=dict[str, Any])
    origin: str = ""
    places: Mapping[str, str] = field(default_factory=dict[str, str])

    def or_else(self, other: AuthSettings) -> AuthSettings:
        """Return the one of the two that has settings. Raises ``ConfigurationError`` if both do."""
        if self.table and other.table:
            raise ConfigurationError.of(ALLOWED_CALLERS_SET_TWICE, option=self.origin, other=other.origin)
        return self if self.table else other

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host name under which clients know the server: that of the OAuth resource, if there is one."""
        resource: str = self.table["oauth"]["resource"] if "oauth" in self.table else ""
        name = urlsplit(resource).hostname
        return (name,) if name else ()

    @property
    def proxies(self) -> Sequence[str]:
        """The addresses of the proxies in front, which speak for many callers."""
        return [*self.table.get("proxy", {}).get("addresses", ()), *self.table.get("public", {}).get("proxies", ())]

    @property
    def files(self) -> Sequence[str]:
        """The key and secret files that the settings name: write access to them is access to the server."""
        oauth = self.table.get("oauth", {})
        logins = [oauth, *(one.get("introspection", {}) for one in oauth.get("issuers", ()))]
        places = (self.table.get("keys"), *(login.get("client_secret_file") for login in logins))
        return [place for place in places if place is not None]

    def with_secrets(self) -> AuthSettings:
        """Read the secrets into the settings, and remove them from the environment, which processes started later
        inherit.
        """
        if "oauth" not in self.table:
            return self
        names = set[str]()
        oauth = self._placed("oauth", lambda table: _with_secrets(table, names), self.table["oauth"])
        for name in names:
            os.environ.pop(name, None)
        return replaced(self, table={**self.table, "oauth": oauth})

    def methods(self) -> Sequence[Authentication]:
        """Make the authentication methods that the settings name. Raises ``ConfigurationError`` for an invalid one."""
        return [self._placed(key, method, self.table[key]) for key, method in _METHODS.items() if key in self.table]

    def _placed(self, key: str, make: Callable[[Any], Any], table: Any) -> Any:
        """Apply ``make`` to the settings of ``key``; an error names their line."""
        try:
            return make(table)
        except ConfigurationError as error:
            if key not in self.places:
                raise
            facts = {"place": self.places[key], "problem": fact_of(error, is_clause=False), "cause": error.code}
            raise ConfigurationError.of(AUTH_SETTING_INVALID, **facts) from None


def _keys(path: str) -> Authentication:
    from tooltrue.server.keys import ApiKeys  # noqa: PLC0415 - stdio needs no HTTP

    return ApiKeys(path)


def _oauth(table: Mapping[str, Any]) -> Authentication:
    from tooltrue.server import oauth  # noqa: PLC0415 - stdio needs no HTTP

    if ("preset" in table) == ("issuers" in table):
        raise ConfigurationError.of(PRESET_OR_ISSUERS)
    if "preset" in table:
        return _preset(table)
    if _PRESET_SETTINGS & table.keys():
        raise ConfigurationError.of(PRESET_OR_ISSUERS)
    settings = {key: value for key, value in table.items() if key != "issuers"}
    issuers = [
        oauth.AuthorizationServer(one["url"], one.get("jwks_uri"), _introspection(one.get("introspection")))
        for one in table["issuers"]
    ]
    return oauth.OAuth(issuer=issuers, **settings)


_PRESET_SETTINGS: Final = frozenset(
    {
        *("domain", "url", "realm", "server", "tenant", "client_id", "client_ids", "api", "tokeninfo", "jwks_uri"),
        *("client_secret_env", "client_secret_file"),
    }
)


def _preset(table: Mapping[str, Any]) -> Authentication:
    sources = ("preset", "client_secret_env", "client_secret_file")
    settings = {key: value for key, value in table.items() if key not in sources}
    if any(source in table for source in sources[1:]):
        settings[_SECRET] = _secret(table)
    from tooltrue.server import oauth  # noqa: PLC0415 - stdio needs no HTTP

    return oauth.OAuth.preset(table["preset"], **settings)


def _introspection(table: Mapping[str, Any] | None) -> Introspection | None:
    if table is None:
        return None
    settings = {key: table[key] for key in ("endpoint", "always") if key in table}
    from tooltrue.server.oauth import Introspection  # noqa: PLC0415 - stdio needs no HTTP

    return Introspection(table["client_id"], _secret(table), **settings)


def _proxy(table: Mapping[str, Any]) -> Authentication:
    settings = {key: value for key, value in table.items() if key != "addresses"}
    from tooltrue.server.proxies import TrustedProxy  # noqa: PLC0415 - stdio needs no HTTP

    return TrustedProxy(table["addresses"], **settings)


def _public(table: Mapping[str, Any]) -> Authentication:
    from tooltrue.server.proxies import Public  # noqa: PLC0415 - stdio needs no HTTP

    return Public(**table)


_METHODS: Final[Mapping[str, Callable[[Any], Authentication]]] = {
    "keys": _keys,
    "oauth": _oauth,
    "proxy": _proxy,
    "public": _public,
}
"""In the order in which they are asked: public access comes last."""


# -- secrets: never in a settings file, but in a variable or a file of their own --------------------------------------


def _with_secrets(oauth: Mapping[str, Any], names: set[str]) -> Mapping[str, Any]:
    """Return the table ``oauth`` with the secrets of our clients; variables that held one are added to ``names``."""
    if "client_secret_env" in oauth or "client_secret_file" in oauth:
        oauth = _with_secret(oauth, names)
    return {**oauth, "issuers": [_with_login(one, names) for one in oauth["issuers"]]} if "issuers" in oauth else oauth


def _with_login(issuer: Mapping[str, Any], names: set[str]) -> Mapping[str, Any]:
    table = issuer.get("introspection")
    return issuer if table is None else {**issuer, "introspection": _with_secret(table, names)}


def _with_secret(table: Mapping[str, Any], names: set[str]) -> Mapping[str, Any]:
    if "client_secret_env" in table:
        names.add(table["client_secret_env"])
    return {**table, _SECRET: _secret(table)}


_SECRET: Final = "client_secret"  # not a key of the table in the file


def _secret(table: Mapping[str, Any]) -> str:
    if _SECRET in table:
        return table[_SECRET]
    variable, file = table.get("client_secret_env"), table.get("client_secret_file")
    if (variable is None) == (file is None):
        raise _no_secret(table, Worded(REASON_SECRET_NAMED_NOWHERE if file is None else REASON_SECRET_NAMED_TWICE, {}))
    secret = os.environ.get(variable, "") if variable is not None else _text(table, Path(str(file)))
    if not secret:
        raise _no_secret(table, Worded(REASON_SECRET_ABSENT, {"source": file or variable}))
    return secret


def _text(table: Mapping[str, Any], path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _no_secret(table, f"{path}: {problem}") from None


def _no_secret(table: Mapping[str, Any], problem: str | Worded) -> ConfigurationError:
    client = table.get("client_id", table.get("preset", ""))
    return ConfigurationError.of(CLIENT_SECRET_NOT_AVAILABLE, client=client, problem=problem)
