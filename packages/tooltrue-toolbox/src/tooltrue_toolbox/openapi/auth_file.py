"""The file of the operator with the credentials of an API by security scheme. It names secrets, and holds none.

``docs/openapi.md`` explains it. The tables are those of ``[servers.NAME.auth]`` of a gateway where they are the same.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tooltrue.client.auth.metadata import is_loopback_url
from tooltrue.gateway.server_auth import SecretAbsent, secret_of, secret_or_none
from tooltrue.gateway.token_exchange import ExchangeSettings
from tooltrue.policy.server_auth_table import SECRET, SERVER_AUTH
from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.wording import LABEL_NONE, Worded
from tooltrue_toolbox.openapi.credentials import SchemeSecret
from tooltrue_toolbox.openapi.operation import Scheme
from tooltrue_toolbox.openapi.token_sources import CallerTokens, ClientTokens, ClientTokenSettings
from tooltrue_toolbox.openapi.toml_file import TomlFault, read_toml
from tooltrue_toolbox.openapi.wording import (
    AUTH_FILE_INVALID,
    REASON_AUTH_CERTIFICATE,
    REASON_AUTH_ENDPOINT,
    REASON_AUTH_METHOD_MISFIT,
    REASON_AUTH_SCHEME_UNKNOWN,
    REASON_AUTH_VALUE,
)

__all__ = ["read_auth"]


def _closed(keys: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(keys), "additionalProperties": False, "required": list(required)}


_TEXT: Final = {"type": "string", "minLength": 1}
_TEXTS: Final = {"type": "array", "items": _TEXT, "minItems": 1}
_SECRET: Final = SECRET["properties"]
_CLIENT: Final = _closed(
    {
        **dict.fromkeys(("client_id", "token_endpoint", "issuer", "audience", "resource"), _TEXT),
        **dict.fromkeys(("scopes", "trusted"), _TEXTS),
        "method": {"enum": ["client_secret_basic", "client_secret_post"]},
        **_SECRET,
    },
    "client_id",
)
_CERTIFICATE: Final = _closed(
    {**dict.fromkeys(("certificate_file", "key_file", "ca_file"), _TEXT), **_SECRET}, "certificate_file"
)
_METHODS: Final = {
    "client": _CLIENT,
    "exchange": SERVER_AUTH["properties"]["exchange"],
    "certificate": _CERTIFICATE,
}
_SCHEME: Final = {**_closed({**_METHODS, **_SECRET}), "minProperties": 1, "maxProperties": 1}
_FILE: Final = _closed({"schemes": {"type": "object", "additionalProperties": _SCHEME}}, "schemes")
_KINDS: Final = {"client": "bearer", "exchange": "bearer", "certificate": "mutualTLS"}


def read_auth(file: Path, schemes: Mapping[str, Scheme], url: str) -> dict[str, SchemeSecret]:
    """The secrets by security scheme, for the API at ``url``. ``ConfigurationError`` names what is wrong in the file,
    and a secret that is not there."""
    return read_toml(file, AUTH_FILE_INVALID, lambda data: _secrets(data, schemes, url))


def _secrets(data: Mapping[str, Any], schemes: Mapping[str, Scheme], url: str) -> dict[str, SchemeSecret]:
    problems = compile_schema(_FILE, bounds=OWN).problems(data, 1)
    if problems:
        raise TomlFault(Worded(REASON_AUTH_VALUE, {"scheme": "*", "problem": problems[0]}))
    secrets = dict[str, SchemeSecret]()
    for name, table in data["schemes"].items():
        if name not in schemes:
            names = ", ".join(schemes) or Worded(LABEL_NONE, {})
            raise _fault(REASON_AUTH_SCHEME_UNKNOWN, name, names=names)
        (method,) = table
        kind = schemes[name].kind
        if kind != _KINDS.get(method, kind) or (kind == "mutualTLS" and method != "certificate"):
            raise _fault(REASON_AUTH_METHOD_MISFIT, name, method=method, kind=kind)
        try:
            secrets[name] = _secret(name, method, table, url)
        except SecretAbsent as error:
            raise _fault(REASON_AUTH_VALUE, name, problem=error.problem) from None
    return secrets


def _fault(code: str, scheme: str, **facts: object) -> TomlFault:
    return TomlFault(Worded(code, {"scheme": scheme, **facts}), ("schemes", scheme))


def _secret(scheme: str, method: str, table: Mapping[str, Any], url: str) -> SchemeSecret:
    match method:
        case "client":
            return ClientTokens(_client(scheme, table[method]))
        case "exchange":
            own = table[method]
            endpoint, scopes = own["token_endpoint"], tuple(own.get("scopes", ()))
            _check_endpoint(scheme, endpoint)
            settings = ExchangeSettings(endpoint, own["client_id"], secret_of(own), own.get("audience"), scopes)
            return CallerTokens(settings, url)
        case "certificate":
            return _certificate(scheme, table[method])
        case _:
            return secret_of(table)


def _client(scheme: str, own: Mapping[str, Any]) -> ClientTokenSettings:
    endpoint, issuer = own.get("token_endpoint"), own.get("issuer")
    if (endpoint is None) == (issuer is None):
        raise _fault(REASON_AUTH_ENDPOINT, scheme)
    _check_endpoint(scheme, str(endpoint or issuer))
    return ClientTokenSettings(
        own["client_id"],
        secret_of(own),
        endpoint,
        issuer,
        tuple(own.get("scopes", ())),
        own.get("audience"),
        own.get("resource"),
        own.get("method"),
        tuple(own.get("trusted", ())),
    )


def _check_endpoint(scheme: str, endpoint: str) -> None:
    if not endpoint.lower().startswith("https://") and not is_loopback_url(endpoint):
        raise _fault(REASON_AUTH_ENDPOINT, scheme)


def _certificate(scheme: str, own: Mapping[str, Any]) -> ssl.SSLContext:
    """The TLS with a client certificate. ``ca_file`` replaces the public authorities for the certificate of the API."""
    password = secret_or_none(own)
    try:
        tls = ssl.create_default_context(cafile=own.get("ca_file"))
        # Without a password the library would ask on the terminal.
        tls.load_cert_chain(own["certificate_file"], own.get("key_file"), password or "")
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise _fault(REASON_AUTH_CERTIFICATE, scheme, problem=problem) from None
    return tls
