"""Fills security schemes with the secrets of the operator. No argument and no result of a tool holds one."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import quote

from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.wording import LABEL_NONE, Worded
from tooltrue_toolbox.openapi.operation import ApiOperation, Scheme
from tooltrue_toolbox.openapi.request_building import ApiRequest, is_header_text
from tooltrue_toolbox.openapi.wording import API_SECRET_INVALID, API_SECRET_UNSET, SECRET_MISSING

__all__ = ["ApiCredentials", "secrets_from"]

_GIVEN: Final = re.compile(r"([^=]+)=([A-Za-z_][A-Za-z0-9_]*)")
_LEAST_SECRET: Final = 6
"""A shorter text stands in answers by chance."""


@dataclass(frozen=True, slots=True)
class ApiCredentials:
    """The secrets by the name of their scheme."""

    schemes: Mapping[str, Scheme]
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def added(self, request: ApiRequest, operation: ApiOperation) -> ApiRequest:
        """The request with the secrets of the first alternative that has all of its own.

        Raises ``ToolError`` if there is none, and the operation needs one.
        """
        for alternative in operation.security:
            if all(name in self.secrets for name in alternative):
                for name in alternative:
                    request = _filled(request, self.schemes[name], self.secrets[name])
                return request
        if not operation.security:
            return request
        missing = next(name for name in operation.security[0] if name not in self.secrets)
        raise ToolError.of(SECRET_MISSING, operation=operation.key, scheme=missing)

    @property
    def query_names(self) -> frozenset[str]:
        """The parameters of a query that hold secrets."""
        return frozenset(scheme.name for scheme in self.schemes.values() if scheme.location == "query")

    def masked(self, body: bytes) -> bytes:
        """The body of an answer without the secrets, which some APIs repeat."""
        for name, secret in self.secrets.items():
            texts = [secret, *([_basic(secret)] if self.schemes[name].kind == "basic" else [])]
            for text in texts:
                if len(text) >= _LEAST_SECRET:
                    body = body.replace(text.encode(), b"[secret]")
        return body


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
        if match is None or match[1] not in schemes:
            names = ", ".join(schemes) or Worded(LABEL_NONE, {})
            # The text on the right may be the secret itself.
            raise ConfigurationError.of(API_SECRET_INVALID, text=one.partition("=")[0][:60], names=names)
        scheme, variable = match[1], match[2]
        secret = os.environ.get(variable, "")
        if not secret or not is_header_text(secret) or (schemes[scheme].kind == "basic" and ":" not in secret):
            raise ConfigurationError.of(API_SECRET_UNSET, variable=variable, scheme=scheme)
        secrets[scheme] = secret
    return secrets
