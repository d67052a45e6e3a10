"""The token endpoint of an authorization server, the only place that credentials are sent to."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote_plus

from tooltrue.client.auth.metadata import IssuerMetadata
from tooltrue.client.auth.tokens import Registered, Tokens, Unusable, read_tokens
from tooltrue.client.wording import REASON_HTTP_STATUS, REASON_TOKEN_ANSWER_NO_OBJECT
from tooltrue.errors import RpcError
from tooltrue.jsonrpc.messages import Json, decode, is_object
from tooltrue.transport.fetch import Fetched, Fetcher
from tooltrue.wording import REASON_NO_REASON_GIVEN, Worded

if TYPE_CHECKING:  # comes with an extra
    from tooltrue.client.auth.signing_keys import ProofKey, SigningKey

__all__ = ["Denied", "TokenEndpoint", "problem_of"]

_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


class Denied(Unusable):
    """The issuer has refused. ``error`` is its error code (RFC 6749, section 5.2)."""

    def __init__(self, problem: Worded, error: str = "") -> None:
        super().__init__(problem)
        self.error = error


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """The token endpoint of ``issuer``, for a client that is registered there as ``client``."""

    issuer: IssuerMetadata
    client: Registered
    fetcher: Fetcher
    clock: Callable[[], float]
    signing: SigningKey | None = None
    proof: ProofKey | None = None

    async def tokens(
        self, form: Mapping[str, str], resource: str, requested: tuple[str, ...], before: Tokens | None = None
    ) -> Tokens:
        """Redeem a grant. ``form`` is the grant; the resource is added to each (RFC 8707). Raises :class:`Denied`,
        :class:`Unusable` and ``NotFetched``.
        """
        answer = await self.ask({**form, "resource": resource})
        return read_tokens(
            answer,
            issuer=self.issuer.issuer,
            resource=resource,
            client_id=self.client.client_id,
            requested=requested,
            now=self.clock(),
            key=None if self.proof is None else self.proof.to_json(),
            before=before,
        )

    async def ask(self, form: Mapping[str, str]) -> Mapping[str, Json]:
        answer = await self._post(self.issuer.token_endpoint, form, None)
        if self.proof is not None and answer.status == 400 and answer.nonce and _error(answer) == "use_dpop_nonce":
            answer = await self._post(self.issuer.token_endpoint, form, answer.nonce)
        return _members(_granted(answer))

    async def post(self, url: str, form: Mapping[str, str]) -> None:
        """Post as the same client to another endpoint of the issuer, whose answer has no content."""
        _granted(await self._post(url, form, None))

    async def _post(self, url: str, form: Mapping[str, str], nonce: str | None) -> Fetched:
        ours, headers = self._authenticated()
        if self.proof is not None:
            headers["dpop"] = self.proof.proof("POST", url, self.clock(), nonce=nonce)
        return await self.fetcher.post(url, {**form, **ours}, headers=headers)

    def _authenticated(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the form fields and the headers that authenticate the client (RFC 6749, section 2.3.1)."""
        id, secret = self.client.client_id, self.client.client_secret or ""
        match self._method():
            case "private_key_jwt" if self.signing is not None:
                assertion = self.signing.assertion(id, self.issuer.issuer, self.clock())
                return {"client_id": id, "client_assertion_type": _ASSERTION, "client_assertion": assertion}, {}
            case "client_secret_basic":
                login = base64.b64encode(f"{quote_plus(id)}:{quote_plus(secret)}".encode()).decode()
                return {}, {"authorization": f"Basic {login}"}
            case "client_secret_post":
                return {"client_id": id, "client_secret": secret}, {}
            case _:
                return {"client_id": id}, {}

    def _method(self) -> str:
        """Choose the authentication method: that of the registration, else the best that both sides support."""
        if self.signing is not None:
            return "private_key_jwt"
        if not self.client.client_secret:
            return "none"
        supported = self.issuer.token_endpoint_auth_methods_supported or ("client_secret_basic",)
        agreed = (self.client.method,) if self.client.method else ()
        ours = ("client_secret_basic", "client_secret_post", "none")
        return next((method for method in (*agreed, *ours) if method in (agreed or supported)), ours[0])


def _granted(answer: Fetched) -> Fetched:
    if answer.status != 200:
        raise Denied(
            Worded(REASON_HTTP_STATUS, {"status": answer.status, "problem": problem_of(_members(answer))}),
            _error(answer),
        )
    return answer


def _members(answer: Fetched) -> Mapping[str, Json]:
    try:
        members = decode(answer.body)
    except RpcError:
        members = None
    if is_object(members):
        return members
    if answer.status == 200:
        raise Unusable(Worded(REASON_TOKEN_ANSWER_NO_OBJECT, {}))
    return {}


def _error(answer: Fetched) -> str:
    return str(_members(answer).get("error", ""))


def problem_of(answer: Mapping[str, Json]) -> str | Worded:
    """Return an issuer's reason for a refusal: one line, at most 300 characters."""
    words = [str(answer[name]) for name in ("error", "error_description") if answer.get(name)]
    plain = "".join(sign if sign.isprintable() else " " for sign in ": ".join(words))
    return plain[:300] or Worded(REASON_NO_REASON_GIVEN, {})
