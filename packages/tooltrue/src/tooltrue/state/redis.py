"""Facts on Redis or Valkey, for workers on any number of machines. Owns the package ``redis``; the extra of that name.

Redis 6.2 and later, any version of Valkey. Each method is one command or one script, and so is atomic for all workers;
rates use the clock of the store. A command is never sent twice: if its answer is missing, the outcome is unknown, and
``StateError`` says so. The next command reconnects.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from redis.asyncio import BlockingConnectionPool, Connection, Redis, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from tooltrue.errors import ConfigurationError, StateError
from tooltrue.state.facts import Callback
from tooltrue.state.redis_events import RedisEvents
from tooltrue.state.wording import REDIS_URL_INVALID, STATE_STORE_FAILED, STATE_STORE_NOT_OPEN

__all__ = ["RedisFacts"]

MICROSECONDS = 1_000_000
PREFIX = "tooltrue:"
_PORT = 6379
_TLS = {"redis": False, "rediss": True, "valkey": False, "valkeys": True}

# The algorithm of ``admit`` in ``facts``, in whole microseconds: Lua's numbers represent current times exactly in
# these, but not in nanoseconds. The script reads the time itself, so that the clocks of the workers do not matter.
_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local span = burst * interval
local arrival = tonumber(redis.call('GET', KEYS[1]) or now)
local ahead = math.min(math.max(arrival, now), now + span) + cost * interval - now
if ahead > span then
    return ahead - span
end
redis.call('SET', KEYS[1], string.format('%.0f', now + ahead), 'PX', math.ceil(ahead / 1000) + 1)
return 0
"""

_REPLACE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
    return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""


class _CheckedConnection(Connection):
    """A connection that is not written to after it was lost.

    In CPython 3.12 and later, ``writelines`` of a socket that was reset raises ``AttributeError``, or it goes on
    watching a descriptor that the next connection then has: https://github.com/python/cpython/issues/136234.
    """

    async def send_packed_command(self, command: bytes | str | Iterable[bytes], check_health: bool = True) -> None:
        if self._writer is not None and self._writer.is_closing():
            await self.disconnect(nowait=True)
            raise RedisConnectionError("the connection was lost")
        await super().send_packed_command(command, check_health)


class _CheckedSSLConnection(_CheckedConnection, SSLConnection):
    """The same with TLS."""


class RedisFacts:
    """Facts shared at one ``url``: ``redis://user:password@host:port/db``, or ``rediss://`` with TLS.

    ``?prefix=…`` separates servers that share a database; ``?ssl_ca_certs=FILE`` names the authority of a private
    certificate. No call waits longer than ``patience`` seconds for the store; ``connections`` is their maximum number.
    """

    def __init__(self, url: str, *, patience: float = 2.0, connections: int = 32) -> None:
        parts = urlsplit(url)
        parsed = _parse_url(parts)
        if parsed is None:
            raise ConfigurationError.of(REDIS_URL_INVALID, url=_display_url(parts))
        prefix, self._settings, self._connection_class = parsed
        self.display_url = _display_url(parts)
        self._values = f"{prefix}value:".encode()
        self._rates = f"{prefix}rate:".encode()
        self._patience = patience
        self._connections = connections
        self._events = RedisEvents(self._connect, f"{prefix}event:".encode(), self.display_url, patience)
        self._client: Any = None  # the package's own types cover neither bytes-only results nor all parameters

    @classmethod
    def at(cls, parts: SplitResult) -> Self | None:
        """The store for a URL, not opened yet; ``None`` if the URL has unknown or missing parts."""
        return cls(parts.geturl()) if _parse_url(parts) else None

    async def __aenter__(self) -> Self:
        pool = BlockingConnectionPool(
            self._connections,
            timeout=self._patience,
            connection_class=self._connection_class,
            socket_timeout=self._patience,
            **self._settings,
        )
        self._client = Redis(connection_pool=pool)
        self._script = self._client.register_script(_TAKE)
        self._replacing = self._client.register_script(_REPLACE)
        try:
            await self.remove("")  # checks that the store answers, and has the commands we need
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._events.close()
        await self._close()

    async def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose(close_connection_pool=True)

    async def get(self, key: str) -> bytes | None:
        return await self._answer(self._open.get(self._values + key.encode()))

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        await self._answer(self._open.set(self._values + key.encode(), value, px=_milliseconds(seconds)))

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        won = self._open.set(self._values + key.encode(), value, px=_milliseconds(seconds), nx=True)
        return await self._answer(won) is not None

    async def replace(self, key: str, old: bytes, value: bytes, seconds: float) -> bool:
        arguments = [old, value, _milliseconds(seconds)]
        return bool(await self._answer(self._replacing([self._values + key.encode()], arguments, self._open)))

    async def remove(self, key: str) -> bytes | None:
        return await self._answer(self._open.getdel(self._values + key.encode()))

    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        if not (0 < cost <= burst and per_second > 0):
            raise ValueError(f"cannot take {cost} of {burst} at {per_second} a second")
        interval = math.ceil(MICROSECONDS / per_second)  # rounded up, so that the limit is never exceeded
        client = self._open
        wait = await self._answer(self._script([self._rates + key.encode()], [interval, burst, cost], client))
        return (wait + 1) / MICROSECONDS if wait else 0.0

    async def publish(self, channel: str, payload: bytes) -> None:
        await self._answer(self._open.publish(self._events.name(channel), payload))

    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        _ = self._open
        return await self._events.subscribe(channel, callback)

    @property
    def _open(self) -> Any:
        if self._client is None:
            raise StateError.of(STATE_STORE_NOT_OPEN, url=self.display_url)
        return self._client

    async def _answer(self, answer: Awaitable[Any]) -> Any:
        try:
            return await answer
        except (RedisError, OSError) as error:
            raise StateError.of(STATE_STORE_FAILED, url=self.display_url, problem=str(error).rstrip(".")) from None

    def _connect(self) -> Connection:
        """A dedicated connection for events. The timeout is passed to each read."""
        return self._connection_class(socket_timeout=None, **self._settings)


def _milliseconds(seconds: float) -> int:
    return max(1, math.ceil(seconds * 1000))


def _display_url(parts: SplitResult) -> str:
    """The URL without its credentials."""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _parse_url(parts: SplitResult) -> tuple[str, dict[str, Any], type[Connection]] | None:
    """The prefix in a URL and the settings of its connections; ``None`` if the URL has unknown parts."""
    tls, db, more = _TLS.get(parts.scheme), parts.path.strip("/") or "0", dict(parse_qsl(parts.query))
    try:
        port = parts.port or _PORT
    except ValueError:
        return None
    if tls is None or parts.hostname is None or parts.fragment or not (db.isascii() and db.isdecimal()):
        return None
    prefix, authority = more.pop("prefix", PREFIX), more.pop("ssl_ca_certs", None)
    if more or (authority is not None and not tls):
        return None
    settings: dict[str, Any] = {
        "host": parts.hostname,
        "port": port,
        "db": int(db),
        "username": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else None,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "client_name": "tooltrue",
    }
    if authority is not None:
        settings["ssl_ca_certs"] = authority
    return prefix, settings, _CheckedSSLConnection if tls else _CheckedConnection
