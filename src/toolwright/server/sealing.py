"""Tokens that a client carries for us and cannot read, change, or use elsewhere: cursors, session ids, request state.

AES-GCM with 128 bits of tag; the purpose and what the token is bound to (principal, method, call) are authenticated with
it. Owns cryptography.
"""

from __future__ import annotations

import base64
import binascii
import os
import time
from collections.abc import Callable, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["BadSeal", "Sealer", "new_key"]

_NONCE = 12
_EXPIRY = 6


class BadSeal(Exception):
    """Not a token of ours, or changed, expired, or bound to something else. It does not say which."""


def new_key() -> bytes:
    return AESGCM.generate_key(128)


class Sealer:
    """Seals with the first key and opens with any of them, so that keys can be rotated without ending sessions."""

    def __init__(self, keys: Sequence[bytes], *, clock: Callable[[], float] = time.time) -> None:
        self._ciphers = [AESGCM(key) for key in keys]
        self._clock = clock

    def seal(self, purpose: str, bound_to: Sequence[str], payload: bytes, seconds: float) -> str:
        """A URL-safe token that opens for ``seconds``, for the same purpose and binding only."""
        expiry = int(self._clock() + seconds).to_bytes(_EXPIRY, "big")
        nonce = os.urandom(_NONCE)
        sealed = self._ciphers[0].encrypt(nonce, expiry + payload, _binding(purpose, bound_to))
        return base64.urlsafe_b64encode(nonce + sealed).rstrip(b"=").decode()

    def open(self, purpose: str, bound_to: Sequence[str], token: str) -> bytes:
        """The payload of a token, or ``BadSeal``."""
        try:
            raw = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, UnicodeError, ValueError):
            raise BadSeal from None
        opened = self._decrypt(raw[:_NONCE], raw[_NONCE:], _binding(purpose, bound_to))
        if int.from_bytes(opened[:_EXPIRY], "big") < self._clock():
            raise BadSeal
        return opened[_EXPIRY:]

    def _decrypt(self, nonce: bytes, sealed: bytes, binding: bytes) -> bytes:
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, sealed, binding)
            except (InvalidTag, ValueError):
                continue
        raise BadSeal


def _binding(purpose: str, bound_to: Sequence[str]) -> bytes:
    # Lengths first: ("a", "bc") and ("ab", "c") are different bindings.
    parts = [part.encode(errors="surrogatepass") for part in (purpose, *bound_to)]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
