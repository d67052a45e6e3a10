"""Signatures with a key of the client's own. Owns joserfc on this side, which comes with the extra ``auth``."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Any

from joserfc import jwk, jws, jwt
from joserfc.errors import JoseError

from tooltrue.client.wording import LABEL_PRIVATE_KEY
from tooltrue.errors import ConfigurationError
from tooltrue.wording import SETTING_INVALID, Worded, alternatives

__all__ = ["ProofKey", "SigningKey"]

_ASSERTION_SECONDS = 120
_PROOF = "ES256"
_KINDS: tuple[tuple[type[jwk.Key], tuple[str, ...]], ...] = (
    (jwk.ECKey, ("ES256", "ES384", "ES512")),
    (jwk.RSAKey, ("RS256", "PS256", "RS384", "PS384", "RS512", "PS512")),
    (jwk.OKPKey, ("Ed25519",)),
)
_OF_CURVES = {"P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


class SigningKey:
    """A private key (PEM) that authenticates a client (RFC 7523, section 2.2)."""

    def __init__(self, pem: str, algorithm: str | None) -> None:
        self._key, possible = _imported(pem)
        self.algorithm = algorithm or _OF_CURVES.get(str(self._key.get("crv")), possible[0])
        if self.algorithm not in possible:
            raise ConfigurationError.of(SETTING_INVALID, name="algorithm=…", wanted=alternatives(possible))

    def assertion(self, client_id: str, audience: str, now: float) -> str:
        """Return a single-use, short-lived assertion for ``audience`` alone that this is ``client_id``."""
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": audience,
            "jti": secrets.token_urlsafe(16),
            "iat": int(now),
            "exp": int(now) + _ASSERTION_SECONDS,
        }
        return jwt.encode({"alg": self.algorithm}, claims, self._key, algorithms=[self.algorithm])


def _imported(pem: str) -> tuple[jwk.Key, tuple[str, ...]]:
    for kind, algorithms in _KINDS:
        try:
            key: Any = kind.import_key(pem)
        except (JoseError, ValueError, TypeError):
            continue
        if key.is_private:
            return key, algorithms
    raise ConfigurationError.of(SETTING_INVALID, name="private_key=…", wanted=Worded(LABEL_PRIVATE_KEY, {}))


class ProofKey:
    """A key that tokens are bound to: the token alone is useless (RFC 9449)."""

    def __init__(self, text: str | None = None) -> None:
        self._key: Any = jwk.generate_key("EC", "P-256") if text is None else jwk.import_key(json.loads(text))

    def to_json(self) -> str:
        return json.dumps(self._key.as_dict(private=True))

    def proof(self, method: str, url: str, now: float, *, token: str | None = None, nonce: str | None = None) -> str:
        """Return a proof for one request: this URL, this method, now, and this token if there is one."""
        claims: dict[str, Any] = {
            "jti": secrets.token_urlsafe(16),
            "htm": method,
            "htu": url.partition("#")[0].partition("?")[0],
            "iat": int(now),
        }
        if token is not None:
            digest = hashlib.sha256(token.encode()).digest()
            claims["ath"] = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if nonce is not None:
            claims["nonce"] = nonce
        header: Mapping[str, Any] = {"typ": "dpop+jwt", "alg": _PROOF, "jwk": self._key.as_dict(private=False)}
        registry = jws.JWSRegistry(algorithms=[_PROOF])
        return jws.serialize_compact(dict(header), json.dumps(claims).encode(), self._key, registry=registry)
