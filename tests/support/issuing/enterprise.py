"""The two ends of the enterprise extension: an identity provider that vouches for its people, and the token endpoint of
an authorization server that takes its word. Both check what they get, as the extension and its grant require."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from joserfc import jwk, jwt
from joserfc.errors import JoseError

from support.issuing.server import Issuing

__all__ = ["ID_JAG", "IdentityProvider", "VouchedTokens"]

ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


class _Endpoint:
    """A token endpoint. ``forms`` are the forms that it was sent, and ``logins`` the clients that sent them."""

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []
        self.logins: list[str] = []

    def answer(self, login: str, form: dict[str, str]) -> dict[str, Any]:
        raise NotImplementedError

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        form = dict(parse_qsl((await receive())["body"].decode()))
        basic = dict(scope["headers"]).get(b"authorization", b"").decode().partition(" ")[2]
        self.forms.append(form)
        self.logins.append(base64.b64decode(basic).decode())
        answer = self.answer(self.logins[-1], form)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 400 if "error" in answer else 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})


class IdentityProvider(_Endpoint):
    """Vouches for the people of ``company`` to the issuers of ``audiences``, with the client id there. ``changes`` are
    made to the claims of a grant, as a provider would that is at fault."""

    def __init__(self, company: Issuing, audiences: dict[str, str], client: str = "gateway:secret") -> None:
        super().__init__()
        self._company = company
        self._audiences = audiences
        self._client = client
        self.changes: dict[str, Any] = {}
        self.header: dict[str, Any] = {"typ": "oauth-id-jag+jwt"}
        self.answers: dict[str, Any] = {}

    def answer(self, login: str, form: dict[str, str]) -> dict[str, Any]:
        if login != self._client:
            return {"error": "invalid_client"}
        if (form["grant_type"], form["requested_token_type"]) != (EXCHANGE, ID_JAG):
            return {"error": "unsupported_grant_type"}
        if form["audience"] not in self._audiences:
            return {"error": "invalid_target"}
        try:
            subject = jwt.decode(form["subject_token"], _public(self._company), algorithms=["RS256"]).claims["sub"]
        except JoseError:
            return {"error": "invalid_request"}
        claims = {
            "sub": subject,
            "aud": form["audience"],
            "resource": form["resource"],
            "client_id": self._audiences[form["audience"]],
            "scope": form.get("scope"),
            "jti": f"grant-{len(self.forms)}",
            **self.changes,
        }
        grant = self._company.signed(self.header, **claims)
        return {"issued_token_type": ID_JAG, "access_token": grant, "token_type": "N_A", **self.answers}


class VouchedTokens(_Endpoint):
    """The token endpoint of ``issuer``, which trusts ``company``. ``made`` makes a token of the claims of a grant."""

    def __init__(self, issuer: Issuing, company: Issuing, client: str = "at-up:secret") -> None:
        super().__init__()
        self._issuer = issuer
        self._company = company
        self._client = client
        self._used: set[str] = set()
        self.made: Callable[[dict[str, Any]], str] = lambda claims: issuer.signed(**claims)
        self.problems: list[str] = []

    def answer(self, login: str, form: dict[str, str]) -> dict[str, Any]:
        problem, claims = self._checked(login, form)
        if problem:
            self.problems.append(problem)
            return {"error": "invalid_grant"}
        self._used.add(claims["jti"])
        scope = claims.get("scope", "")
        token = self.made({"aud": claims["resource"], "sub": claims["sub"], "scope": scope})
        return {"access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": scope}

    def _checked(self, login: str, form: dict[str, str]) -> tuple[str, dict[str, Any]]:
        if login != self._client or form["grant_type"] != JWT_BEARER:
            return "client", {}
        try:
            grant = jwt.decode(form["assertion"], _public(self._company), algorithms=["RS256"])
            jwt.JWTClaimsRegistry(
                iss={"essential": True, "value": self._company.url},
                aud={"essential": True, "value": self._issuer.url},
                resource={"essential": True, "value": form["resource"]},
                client_id={"essential": True, "value": login.partition(":")[0]},
                exp={"essential": True},
                sub={"essential": True},
                jti={"essential": True},
            ).validate(grant.claims)
        except JoseError as error:
            return str(error), {}
        if grant.header.get("typ") != "oauth-id-jag+jwt" or grant.claims["jti"] in self._used:
            return "typ or jti", {}
        return "", grant.claims


def _public(issuer: Issuing) -> Any:
    return jwk.KeySet.import_key_set(issuer.jwks())  # pyright: ignore[reportArgumentType]
