"""API keys for small set-ups: ``Authorization: Bearer KEY`` or ``X-API-Key: KEY``. Only their digests are stored.

A key has 256 random bits, so it cannot be guessed and a plain SHA-256 is as good as a slow hash. A slow hash is for
passwords, and junk requests could use it to keep the server busy. ``tooltrue keys new NAME`` makes a key.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tooltrue._internal.platform.file_replacement import read_file
from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue.server.identity import Authentication, Refused, bearer
from tooltrue.server.wording import (
    API_KEY_MALFORMED,
    KEYS_FILE_INVALID,
    LABEL_KEY_NAME,
    LABEL_KEY_NAME_FORM,
    LABEL_SCOPE,
    LABEL_SCOPE_FORM,
    REASON_API_KEY_EXPIRED,
    REASON_KEY_DIGEST_INVALID,
    REASON_KEY_EXPIRY_INVALID,
    REASON_KEY_MEMBER_UNKNOWN,
    REASON_KEY_NO_TABLE,
    REASON_KEY_SCOPES_INVALID,
    REASON_NO_SUCH_API_KEY,
    REASON_NOT_API_KEY,
)
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier
from tooltrue.wording import SETTING_INVALID, Worded

__all__ = ["ApiKeys", "Key", "check_name", "check_scope", "new_key", "read_keys"]

_HEADER = "x-api-key"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_SCOPE = re.compile(r"[!#-\[\]-~]{1,128}")  # RFC 6749, section 3.3
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEY = re.compile(r"tt_([a-z0-9][a-z0-9.-]{0,63})_[A-Za-z0-9_-]{43}")
_LOOK_AGAIN_SECONDS = 1.0
_NOBODY = "0" * 64
_MEMBERS = {"sha256", "scopes", "expires"}

_log = logging.getLogger("tooltrue")


@dataclass(frozen=True, slots=True)
class Key:
    """The stored part of a key: its SHA-256 in hexadecimal, its scopes, and its expiry (Unix time)."""

    sha256: str
    scopes: frozenset[str] = frozenset()
    expires: float | None = None


def new_key(name: str) -> tuple[str, str]:
    """Return a new key, to be shown once, and its digest, to be stored."""
    key = f"tt_{check_name(name)}_{secrets.token_urlsafe(32)}"
    return key, hashlib.sha256(key.encode()).hexdigest()


def check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ConfigurationError.of(
            SETTING_INVALID, name=Worded(LABEL_KEY_NAME, {"name": name}), wanted=Worded(LABEL_KEY_NAME_FORM, {})
        )
    return name


def check_scope(scope: str) -> str:
    if not _SCOPE.fullmatch(scope):
        raise ConfigurationError.of(
            SETTING_INVALID, name=Worded(LABEL_SCOPE, {"scope": scope}), wanted=Worded(LABEL_SCOPE_FORM, {})
        )
    return scope


class ApiKeys(Authentication):
    """The keys of a file, or of a mapping from names to :class:`Key`. The holder of a key is ``key:NAME``.

    A changed file is read again, so that removing a key revokes it within a second. While the file cannot be read,
    every key is refused.
    """

    headers = (_HEADER,)
    security = {  # noqa: RUF012 - the type is that of the base
        "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "A key of the operator."},
        "bearerKey": {"type": "http", "scheme": "bearer", "description": "The same key."},
    }

    def __init__(self, keys: str | Path | Mapping[str, Key], *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._path = Path(keys) if isinstance(keys, str | Path) else None
        self._stamp: object = None
        self._looked = 0.0
        self._problem = ""
        self._keys = {check_name(name): key for name, key in keys.items()} if isinstance(keys, Mapping) else {}
        self.shown = f"{len(self._keys)} keys" if self._path is None else f"keys of {self._path}"
        if self._path is not None:
            self._looked, self._stamp = clock(), _stamp(self._path)
            self._keys = read_keys(self._path)

    async def principal(self, carrier: Carrier) -> Principal | None:
        sent = (carrier.headers or {}).get(_HEADER)
        key = sent or bearer(carrier)
        if key is None:
            return None
        shape = _KEY.fullmatch(key)
        if shape is None:
            if sent is not None:
                raise Refused.token(Worded(REASON_NOT_API_KEY, {}))
            return None  # a token for another authentication method
        return self._holder(shape[1], key)

    def _holder(self, name: str, key: str) -> Principal:
        entry = self._current().get(name)
        digest = hashlib.sha256(key.encode()).hexdigest()
        is_right = hmac.compare_digest(digest, _NOBODY if entry is None else entry.sha256)
        if entry is None or not is_right:
            raise Refused.token(Worded(REASON_NO_SUCH_API_KEY, {}))
        if entry.expires is not None and entry.expires <= self._clock():
            raise Refused.token(Worded(REASON_API_KEY_EXPIRED, {}))
        return Principal(f"key:{name}", entry.scopes)

    def _current(self) -> Mapping[str, Key]:
        now = self._clock()
        if self._path is not None and not 0 <= now - self._looked < _LOOK_AGAIN_SECONDS:
            self._looked = now
            self._look_again(self._path)
        return self._keys

    def _look_again(self, path: Path) -> None:
        stamp = _stamp(path)
        if stamp == self._stamp:
            return
        try:
            self._keys, self._stamp, self._problem = read_keys(path), stamp, ""
        except ConfigurationError as error:
            # Without a stamp it is read again: the cause, such as too many open files, may pass by itself.
            self._keys, self._stamp = {}, None
            if error.say() != self._problem:
                self._problem = error.say()
                _log.error("nobody comes in by a key: %s", self._problem)


def _stamp(path: Path) -> object:
    """A value that changes with the file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_keys(path: Path) -> dict[str, Key]:
    """Return the keys of a file. ``ConfigurationError`` names the mistake and its place."""
    try:
        tables = tomllib.loads(read_file(path).decode())
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigurationError.of(KEYS_FILE_INVALID, path=str(path), problem=problem) from None
    try:
        return {check_name(name): _read_key(table) for name, table in tables.items()}
    except ConfigurationError as error:
        problem = Worded(error.code, error.facts)
        raise ConfigurationError.of(KEYS_FILE_INVALID, path=str(path), problem=problem) from None


def _read_key(table: Any) -> Key:
    if not is_object(table):
        raise ConfigurationError.of(API_KEY_MALFORMED, problem=Worded(REASON_KEY_NO_TABLE, {}))
    if unknown := sorted(table.keys() - _MEMBERS):
        raise ConfigurationError.of(API_KEY_MALFORMED, problem=Worded(REASON_KEY_MEMBER_UNKNOWN, {"name": unknown[0]}))
    digest, scopes, expires = table.get("sha256"), table.get("scopes", []), table.get("expires")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ConfigurationError.of(API_KEY_MALFORMED, problem=Worded(REASON_KEY_DIGEST_INVALID, {}))
    if not is_array(scopes) or not all(isinstance(scope, str) for scope in scopes):
        raise ConfigurationError.of(API_KEY_MALFORMED, problem=Worded(REASON_KEY_SCOPES_INVALID, {}))
    if expires is not None and (not isinstance(expires, datetime) or expires.tzinfo is None):
        raise ConfigurationError.of(API_KEY_MALFORMED, problem=Worded(REASON_KEY_EXPIRY_INVALID, {}))
    return Key(digest, frozenset(map(check_scope, scopes)), expires and expires.timestamp())
