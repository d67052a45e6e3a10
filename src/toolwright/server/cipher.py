"""AES-256-GCM, for what a client carries and may not read. Owns cryptography, which only servers that ask load."""

from __future__ import annotations

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["decrypt", "encrypt"]

_NONCE = 12


def encrypt(key: bytes, plain: bytes, bound_to: bytes) -> bytes:
    """``plain`` under a key of 32 bytes; ``bound_to`` is not part of it, and is needed to open it again."""
    nonce = secrets.token_bytes(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, plain, bound_to)


def decrypt(key: bytes, sealed: bytes, bound_to: bytes) -> bytes | None:
    """What was encrypted, or ``None`` when anything of it is different."""
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], bound_to)
    except (InvalidTag, ValueError):
        return None
