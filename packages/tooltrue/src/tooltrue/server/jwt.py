"""Self-contained tokens, signed by a key of their issuer. Owns joserfc; no network access here."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from joserfc import jwk, jws
from joserfc.errors import ExpiredTokenError, InvalidClaimError, JoseError, MissingClaimError, SecurityWarning
from joserfc.jwt import JWTClaimsRegistry

from tooltrue.errors import RpcError
from tooltrue.jsonrpc.messages import decode, is_array, is_object
from tooltrue.protocol.types import Value
from tooltrue.server.wording import (
    REASON_CLAIM_INVALID,
    REASON_CLAIM_MISSING,
    REASON_KEY_NAME_NOT_TEXT,
    REASON_NOT_ACCESS_TOKEN,
    REASON_NOT_KEY_SET,
    REASON_SIGNATURE_UNKNOWN,
    REASON_TOKEN_ALGORITHM,
    REASON_TOKEN_EXPIRED,
    REASON_TOKEN_FOR_OTHER_SERVER,
    REASON_TOKEN_FROM_FUTURE,
    REASON_TOKEN_NOT_YET_VALID,
    REASON_TOKEN_OF_OTHER_ISSUER,
    REASON_TOKEN_UNREADABLE,
    REASON_TOKEN_WITHOUT_SUBJECT,
)
from tooltrue.wording import Worded

__all__ = ["ALGORITHMS", "BadToken", "Claims", "JwtHeader", "check_claims", "header_of", "read_keys", "signed_claims"]

Claims: TypeAlias = Mapping[str, Any]

# Asymmetric ones alone: with a shared secret, or without one, every verifier of a token could also make one.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "Ed25519", "EdDSA")
_TYPES = (None, "jwt", "at+jwt", "application/at+jwt")
_MIN_RSA_BITS = 2048


class BadToken(Exception):
    """The reason why a token is rejected; it contains no part of the token itself."""

    def __init__(self, problem: Worded) -> None:
        super().__init__(problem)
        self.problem = problem


class JwtHeader(Value, frozen=True):
    """``issuer`` is a claim of the payload; it is here because it selects the keys."""

    algorithm: str
    key: str | None
    issuer: str


def header_of(token: str, algorithms: Iterable[str]) -> JwtHeader:
    """Read the unverified header of a token: enough to find the key. Keys, or locations of keys, in the token are
    ignored.
    """
    extracted = _extracted(token)
    headers = extracted.headers()
    algorithm, key, kind = headers.get("alg"), headers.get("kid"), headers.get("typ")
    if algorithm not in tuple(algorithms):
        raise BadToken(Worded(REASON_TOKEN_ALGORITHM, {}))
    if (kind.lower() if isinstance(kind, str) else kind) not in _TYPES:
        raise BadToken(Worded(REASON_NOT_ACCESS_TOKEN, {}))
    if not isinstance(key, str | None):
        raise BadToken(Worded(REASON_KEY_NAME_NOT_TEXT, {}))
    return JwtHeader(algorithm, key, _issuer(extracted.payload))


def _issuer(payload: bytes | None) -> str:
    try:
        claims = decode(payload or b"")
    except RpcError:
        raise BadToken(Worded(REASON_TOKEN_UNREADABLE, {})) from None
    issuer = claims.get("iss") if is_object(claims) else None
    if not isinstance(issuer, str):
        raise BadToken(Worded(REASON_CLAIM_MISSING, {"claim": "iss"}))
    return issuer


def read_keys(document: Any) -> list[jwk.Key]:
    """Return the keys of a JWKS that can verify signatures. Symmetric, encryption and short keys are left out."""
    entries = document.get("keys") if is_object(document) else None
    if not is_array(entries):
        raise BadToken(Worded(REASON_NOT_KEY_SET, {}))
    return [key for entry in entries if (key := _read_key(entry)) is not None]


def _read_key(entry: Any) -> jwk.Key | None:
    if not is_object(entry) or entry.get("use", "sig") != "sig":
        return None
    try:
        key = jwk.import_key(entry)
    except (JoseError, ValueError, TypeError, KeyError):
        return None  # of an unknown kind, or broken: the others may still do (RFC 7517, section 5)
    if isinstance(key, jwk.OctKey) or (isinstance(key, jwk.RSAKey) and key.public_key.key_size < _MIN_RSA_BITS):
        return None
    return key


def signed_claims(token: str, header: JwtHeader, keys: Sequence[jwk.Key]) -> Claims:
    """Return the claims, if one of ``keys`` has signed them. Raises :class:`BadToken` otherwise."""
    registry = jws.JWSRegistry(algorithms=[header.algorithm], strict_check_header=False)
    for key in keys:
        if key.get("alg") in (None, header.algorithm):
            try:
                claims = decode(_payload(token, key, registry))
            except (JoseError, ValueError, RpcError):
                continue
            if is_object(claims):
                return claims
    raise BadToken(Worded(REASON_SIGNATURE_UNKNOWN, {}))


def _payload(token: str, key: jwk.Key, registry: jws.JWSRegistry) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SecurityWarning)  # "EdDSA" has a new name, and all issuers use the old one
        return jws.deserialize_compact(token, key, registry=registry).payload or b""


def check_claims(
    claims: Claims, *, issuer: str, audiences: Sequence[str], now: float, leeway: int, needed: Iterable[str]
) -> None:
    """Check issuer, audience and validity period; the claims in ``needed`` must be present. Raises
    :class:`BadToken`.
    """
    options: dict[str, Any] = {"iss": {"value": issuer}, "aud": {"values": list(audiences)}, "sub": {}, "exp": {}}
    for name in needed:
        options.setdefault(name, {})["essential"] = True
    try:
        JWTClaimsRegistry(now=int(now), leeway=leeway, **options).validate({**claims})
    except ExpiredTokenError:
        raise BadToken(Worded(REASON_TOKEN_EXPIRED, {})) from None
    except MissingClaimError as error:
        raise BadToken(Worded(REASON_CLAIM_MISSING, {"claim": error.claim})) from None
    except InvalidClaimError as error:
        raise BadToken(Worded(_WRONG.get(error.claim, REASON_CLAIM_INVALID), {"claim": error.claim})) from None


_WRONG = {
    "iss": REASON_TOKEN_OF_OTHER_ISSUER,
    "aud": REASON_TOKEN_FOR_OTHER_SERVER,
    "nbf": REASON_TOKEN_NOT_YET_VALID,
    "iat": REASON_TOKEN_FROM_FUTURE,
    "sub": REASON_TOKEN_WITHOUT_SUBJECT,
}


def _extracted(token: str) -> jws.CompactSignature:
    try:
        return jws.extract_compact(token.encode())
    except (JoseError, ValueError, RecursionError):
        raise BadToken(Worded(REASON_TOKEN_UNREADABLE, {})) from None
