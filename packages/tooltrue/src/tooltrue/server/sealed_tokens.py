"""Tokens that a client carries for us and cannot change, forge, or use elsewhere.

*Sealed* tokens (cursors, session ids) are an HMAC-SHA-256 of the payload, its expiry, the purpose, and the binding
(principal, method, call). A client could read them, so they hold no secrets. The standard library's HMAC is enough for
that, and spares servers the time and memory of a cipher that they would not use. *Hidden* tokens (the memory of a call
between its rounds) hold values of tools, and are encrypted too.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Sequence

from tooltrue.server.wording import SEALED_TOKEN_UNREADABLE
from tooltrue.wording import coded_sentence

__all__ = ["BadSeal", "Sealer", "new_key", "realm_of_view"]

_TAG = 32
_EXPIRY = 6
_NONCE = 12

_log = logging.getLogger("tooltrue")


class BadSeal(Exception):
    """The token was not sealed by us, or was changed, has expired, or is bound elsewhere. It does not say which."""


def new_key() -> bytes:
    return secrets.token_bytes(32)


def realm_of_view(name: str) -> str:
    """Return the realm of a view of a gateway."""
    return f"view {name}"


class Sealer:
    """Seals with the first key and opens with any of them, so that keys can be rotated without ending sessions.

    Servers that share keys have a ``realm`` each, and do not open the tokens of another.
    With keys that this process has generated for itself (``own``), the log reports once that a token came which they do
    not open: other workers may have sealed it.
    """

    def __init__(
        self, keys: Sequence[bytes], *, clock: Callable[[], float] = time.time, own: bool = False, realm: str = ""
    ) -> None:
        self._keys = tuple(_key_of_realm(key, realm) for key in keys) if realm else tuple(keys)
        self._clock = clock
        self._may_warn = own

    def seal(self, purpose: str, bound_to: Sequence[str], payload: bytes, seconds: float) -> str:
        """Return a URL-safe token that opens for ``seconds``, for the same purpose and binding only. Every token is
        unique.
        """
        body = int(self._clock() + seconds).to_bytes(_EXPIRY, "big") + secrets.token_bytes(_NONCE) + payload
        tag = _tag(self._keys[0], body, purpose, bound_to)
        return _spelt(tag + body)

    def open(self, purpose: str, bound_to: Sequence[str], token: str) -> bytes:
        """Return the payload of a token, or raise ``BadSeal``."""
        raw = _unspelt(token)
        tag, body = raw[:_TAG], raw[_TAG:]
        is_current = int.from_bytes(body[:_EXPIRY], "big") >= self._clock()
        if not any(hmac.compare_digest(tag, _tag(key, body, purpose, bound_to)) for key in self._keys):
            if is_current and len(body) >= _EXPIRY + _NONCE:
                self._warn_once()
            raise BadSeal
        if not is_current:
            raise BadSeal
        return body[_EXPIRY + _NONCE :]

    def hide(self, purpose: str, bound_to: Sequence[str], payload: bytes, seconds: float) -> str:
        """Like :meth:`seal`, with an encrypted payload."""
        body = int(self._clock() + seconds).to_bytes(_EXPIRY, "big") + payload
        from tooltrue.server import cipher  # noqa: PLC0415 - cryptography is slow to load

        return _spelt(cipher.encrypt(_cipher_key(self._keys[0]), body, _joined(purpose, bound_to)))

    def reveal(self, purpose: str, bound_to: Sequence[str], token: str) -> bytes:
        """Return the payload of a hidden token, or raise ``BadSeal``."""
        from tooltrue.server import cipher  # noqa: PLC0415 - cryptography is slow to load

        raw, cipher = _unspelt(token), cipher
        for key in self._keys:
            body = cipher.decrypt(_cipher_key(key), raw, _joined(purpose, bound_to))
            if body is not None and int.from_bytes(body[:_EXPIRY], "big") >= self._clock():
                return body[_EXPIRY:]
        self._warn_once()
        raise BadSeal

    def _warn_once(self) -> None:
        if self._may_warn:
            self._may_warn = False
            _log.warning("%s", coded_sentence(SEALED_TOKEN_UNREADABLE, "en", {}))


def _key_of_realm(key: bytes, realm: str) -> bytes:
    return hmac.digest(key, b"tooltrue: realm " + realm.encode(), "sha256")


def _cipher_key(key: bytes) -> bytes:
    """Derive a separate key for the cipher: one key, one use."""
    return hmac.digest(key, b"tooltrue: hidden tokens, AES-256-GCM", "sha256")


def _unspelt(token: str) -> bytes:
    try:
        raw = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeError):
        raise BadSeal from None
    if _spelt(raw) != token:  # base64 has several spellings of the same bytes; a token has one
        raise BadSeal
    return raw


def _spelt(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _tag(key: bytes, body: bytes, purpose: str, bound_to: Sequence[str]) -> bytes:
    return hmac.digest(key, len(body).to_bytes(4, "big") + body + _joined(purpose, bound_to), "sha256")


def _joined(purpose: str, bound_to: Sequence[str]) -> bytes:
    # Lengths first: ("a", "bc") and ("ab", "c") are different bindings.
    parts = [part.encode(errors="surrogatepass") for part in (purpose, *bound_to)]
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
