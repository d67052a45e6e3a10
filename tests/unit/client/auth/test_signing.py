"""Signatures of a client with its own keys, verified by a third-party library."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from typing import Any

import pytest
from joserfc import jwk, jwt

from tooltrue import ConfigurationError
from tooltrue.client.auth.signing_keys import ProofKey, SigningKey


@functools.cache
def pem(kind: Any, of: Any) -> str:
    return jwk.generate_key(kind, of).as_pem(private=True).decode()


def read(token: str) -> tuple[dict[str, object], dict[str, object]]:
    head, body = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2])
    return head, body


@pytest.mark.parametrize(
    ("kind", "of", "algorithm", "signs"),
    [
        ("EC", "P-256", None, "ES256"),
        ("EC", "P-384", None, "ES384"),
        ("RSA", 2048, None, "RS256"),
        ("RSA", 2048, "PS256", "PS256"),
        ("OKP", "Ed25519", None, "Ed25519"),
    ],
)
def test_an_assertion_is_for_one_issuer_and_not_for_long(kind: str, of: str | int, algorithm: str | None, signs: str):
    key = pem(kind, of)
    head, claims = read(token := SigningKey(key, algorithm).assertion("robot", "https://issuer.example", 1000.7))
    assert head["alg"] == signs
    assert (claims["iss"], claims["sub"], claims["aud"]) == ("robot", "robot", "https://issuer.example")
    assert (claims["iat"], claims["exp"]) == (1000, 1120)
    assert jwt.decode(token, jwk.import_key(key, kind), algorithms=[signs]).claims == claims  # pyright: ignore[reportCallIssue, reportArgumentType]


def test_no_two_assertions_are_the_same():
    key = SigningKey(pem("EC", "P-256"), None)
    assert len({str(read(key.assertion("a", "b", 0.0))[1]["jti"]) for _ in range(5)}) == 5


@pytest.mark.parametrize("algorithm", ["HS256", "none", "RS256"])
def test_an_algorithm_that_does_not_fit_the_key_is_said(algorithm: str):
    with pytest.raises(ConfigurationError):
        SigningKey(pem("EC", "P-256"), algorithm)


def test_a_public_key_is_no_key_to_sign_with():
    public = jwk.generate_key("EC", "P-256").as_pem(private=False).decode()
    with pytest.raises(ConfigurationError, match="a private key"):
        SigningKey(public, None)


def test_a_proof_is_of_one_request_and_shows_no_private_key():
    key = ProofKey()
    head, claims = read(key.proof("POST", "https://a.example/mcp?x=1#y", 5.0, token="t", nonce="n"))
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"t").digest()).rstrip(b"=").decode()
    assert (head["typ"], head["alg"]) == ("dpop+jwt", "ES256")
    assert sorted(head["jwk"]) == ["crv", "kty", "x", "y"]  # pyright: ignore[reportArgumentType]
    jti = claims.pop("jti")
    assert claims == {"htm": "POST", "htu": "https://a.example/mcp", "iat": 5, "ath": digest, "nonce": "n"}
    assert read(key.proof("POST", "https://a.example/mcp", 5.0))[1]["jti"] != jti


def test_a_key_that_was_kept_is_the_same_key():
    key = ProofKey()
    again = ProofKey(key.to_json())
    assert read(again.proof("GET", "https://a.example", 0.0))[0] == read(key.proof("GET", "https://a.example", 0.0))[0]
