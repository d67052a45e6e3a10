"""Fills security schemes with the secrets of the operator, or with tokens that are made of the caller's own.

No argument and no result of a tool holds one.
"""

from __future__ import annotations

import base64
import os
import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote

from tooltrue.errors import ConfigurationError, ToolError, TransportError, fact_of
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.wording import LABEL_NONE, Worded
from tooltrue_toolbox.openapi.operation import ApiOperation, Scheme
from tooltrue_toolbox.openapi.request_building import ApiRequest, is_header_text
from tooltrue_toolbox.openapi.wording import API_SECRET_INVALID, API_SECRET_UNSET, SECRET_MISSING, TOKEN_NOT_OBTAINED

__all__ = ["ApiCredentials", "FilledRequest", "SchemeSecret", "TokenSource", "secrets_from"]

_GIVEN: Final = re.compile(r"([^=]+)=([A-Za-z_][A-Za-z0-9_]*)")
_LEAST_SECRET: Final = 6
"""A shorter text stands in answers by chance."""


class TokenSource(Protocol):
    """Obtains the tokens of a security scheme. ``of_callers``: each caller has tokens of its own, which are made of the
    one by which it is known here."""

    @property
    def of_callers(self) -> bool: ...

    async def token(self, context: RequestContext) -> str:
        """The token for the next request. Raises ``TransportError`` if there is none."""
        ...

    async def rejected(self, token: str, context: RequestContext) -> None:
        """Forget a token that the API has refused."""
        ...


SchemeSecret: TypeAlias = str | TokenSource | ssl.SSLContext
"""The secret of a security scheme: a fixed one, tokens that are renewed, or the TLS with a client certificate."""


@dataclass(frozen=True, slots=True)
class FilledRequest:
    """A request with its secrets. ``tokens`` are those of token sources, by the name of their scheme; ``tls`` has the
    client certificate."""

    request: ApiRequest
    tokens: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class ApiCredentials:
    """The secrets by the name of their scheme."""

    schemes: Mapping[str, Scheme]
    secrets: Mapping[str, SchemeSecret] = field(default_factory=dict[str, SchemeSecret], repr=False)

    def are_of_callers(self, operation: ApiOperation) -> bool:
        """Whether requests of an operation have tokens of their callers."""
        named = {name for alternative in operation.security for name in alternative}
        secrets = (self.secrets[name] for name in named if name in self.secrets)
        return any(not isinstance(secret, str | ssl.SSLContext) and secret.of_callers for secret in secrets)

    async def filled(self, request: ApiRequest, operation: ApiOperation, context: RequestContext) -> FilledRequest:
        """The request with the secrets of the first alternative that has all of its own.

        Raises ``ToolError`` if there is none, and the operation needs one, and if a token cannot be obtained.
        """
        tokens, tls = dict[str, str](), None
        for name, secret in self._secrets(operation).items():
            if isinstance(secret, ssl.SSLContext):
                tls = secret
                continue
            if not isinstance(secret, str):
                secret = tokens[name] = await _token(secret, name, operation, context)
            request = _filled(request, self.schemes[name], secret)
        return FilledRequest(request, tokens, tls)

    def _secrets(self, operation: ApiOperation) -> Mapping[str, SchemeSecret]:
        for alternative in operation.security:
            if all(name in self.secrets for name in alternative):
                return {name: self.secrets[name] for name in alternative}
        if not operation.security:
            return {}
        missing = next(name for name in operation.security[0] if name not in self.secrets)
        raise ToolError.of(SECRET_MISSING, operation=operation.key, scheme=missing)

    async def rejected(self, filled: FilledRequest, context: RequestContext) -> bool:
        """Forget the tokens of a request that the API has refused. Returns whether it had some."""
        for name, token in filled.tokens.items():
            source = self.secrets[name]
            assert not isinstance(source, str | ssl.SSLContext)
            await source.rejected(token, context)
        return bool(filled.tokens)

    @property
    def query_names(self) -> frozenset[str]:
        """The parameters of a query that hold secrets."""
        return frozenset(scheme.name for scheme in self.schemes.values() if scheme.location == "query")

    def masked(self, body: bytes, filled: FilledRequest) -> bytes:
        """The body of an answer without the secrets, which some APIs repeat."""
        texts = list(filled.tokens.values())
        for name, secret in self.secrets.items():
            if isinstance(secret, str):
                texts += [secret, *([_basic(secret)] if self.schemes[name].kind == "basic" else [])]
        for text in texts:
            if len(text) >= _LEAST_SECRET:
                body = body.replace(text.encode(), b"[secret]")
        return body


async def _token(source: TokenSource, scheme: str, operation: ApiOperation, context: RequestContext) -> str:
    try:
        return await source.token(context)
    except TransportError as error:
        facts = {"operation": operation.key, "scheme": scheme, "problem": fact_of(error)}
        raise ToolError.of(TOKEN_NOT_OBTAINED, **facts) from None


def _basic(secret: str) -> str:
    return base64.b64encode(secret.encode()).decode()


def _filled(request: ApiRequest, scheme: Scheme, secret: str) -> ApiRequest:
    headers = dict(request.headers)
    match scheme.kind, scheme.location:
        case "basic", _:
            headers["authorization"] = f"Basic {_basic(secret)}"
        case "bearer", _:
            headers["authorization"] = f"Bearer {secret}"
        case _, "header":
            headers[scheme.name.lower()] = secret
        case _, "cookie":
            own = f"{scheme.name}={quote(secret, safe='')}"
            headers["cookie"] = f"{headers['cookie']}; {own}" if "cookie" in headers else own
        case _:
            joint = "&" if "?" in request.url else "?"
            return replace(request, url=f"{request.url}{joint}{quote(scheme.name, safe='')}={quote(secret, safe='')}")
    return replace(request, headers=headers)


def secrets_from(texts: Sequence[str], schemes: Mapping[str, Scheme]) -> dict[str, str]:
    """The secrets that ``SCHEME=VARIABLE`` names, read from the environment. ``ConfigurationError`` for a scheme that
    the description does not have, and for a variable that is not set."""
    secrets = dict[str, str]()
    for one in texts:
        match = _GIVEN.fullmatch(one)
        if match is None or match[1] not in schemes or schemes[match[1]].kind == "mutualTLS":
            names = ", ".join(schemes) or Worded(LABEL_NONE, {})
            # The text on the right may be the secret itself.
            raise ConfigurationError.of(API_SECRET_INVALID, text=one.partition("=")[0][:60], names=names)
        scheme, variable = match[1], match[2]
        secret = os.environ.get(variable, "")
        if not secret or not is_header_text(secret) or (schemes[scheme].kind == "basic" and ":" not in secret):
            raise ConfigurationError.of(API_SECRET_UNSET, variable=variable, scheme=scheme)
        secrets[scheme] = secret
    return secrets
