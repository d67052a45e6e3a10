"""AES-256-GCM, for data that a client carries and may not read. Owns cryptography, which is loaded on first use."""

from __future__ import annotations

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["decrypt", "encrypt"]

_NONCE = 12


def encrypt(key: bytes, plain: bytes, bound_to: bytes) -> bytes:
    """Encrypt ``plain`` under a key of 32 bytes. ``bound_to`` is authenticated, not included: decryption needs it
    again.
    """
    nonce = secrets.token_bytes(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, plain, bound_to)


def decrypt(key: bytes, sealed: bytes, bound_to: bytes) -> bytes | None:
    """Return the plain text, or ``None`` if the key, the ciphertext or ``bound_to`` differs."""
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], bound_to)
    except (InvalidTag, ValueError):
        return None
