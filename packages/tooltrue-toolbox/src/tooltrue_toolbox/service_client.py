"""Requests of tools to services on the web, with retries of safe requests.

A GET is retried a few times: when the connection failed, and when the service answered 429, 502, 503 or 504, after the
time that it named. Any other request is sent once: whether a failed POST was processed is unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tooltrue.errors import ConfigurationError, RpcError, fact_of
from tooltrue.jsonrpc.messages import Json, decode
from tooltrue.transport.fetch import FetchResponse, NotFetched
from tooltrue.transport.urls import origin_of
from tooltrue_toolbox.wording import SERVICE_URL_INVALID

__all__ = ["BUSY", "ServicePatience", "check_urls", "json_of", "wait_of", "with_retries"]

BUSY = frozenset((429, 502, 503, 504))
"""Statuses of a service that may succeed a moment later."""


@dataclass(frozen=True, slots=True)
class ServicePatience:
    """The retry policy: at most ``tries`` requests, and no wait beyond ``longest`` seconds: then the last answer is
    returned."""

    tries: int = 3
    longest: float = 10.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


async def with_retries(ask: Callable[[], Awaitable[FetchResponse]], patience: ServicePatience) -> FetchResponse:
    """The answer of ``ask``, which must be safe to repeat, with the retries described above. Raises
    :class:`NotFetched`."""
    for attempt in range(1, patience.tries):
        backoff = 0.5 * 2 ** (attempt - 1)
        try:
            answer = await ask()
        except NotFetched as error:
            if error.why != "failed":
                raise
            await patience.sleep(backoff)
            continue
        wait = wait_of(answer.headers, patience.now())
        if answer.status not in BUSY or (wait or 0) > patience.longest:
            return answer
        await patience.sleep(backoff if wait is None else wait)
    return await ask()


def wait_of(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds in ``Retry-After`` (RFC 9110, section 10.2.3); ``None`` if it is missing or invalid."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal() and value.isascii() and len(value) < 10:
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds())


def check_urls(*urls: str) -> None:
    """``ConfigurationError`` for an invalid URL of a service."""
    for url in urls:
        try:
            origin_of(url)
        except ValueError as error:
            raise ConfigurationError.of(SERVICE_URL_INVALID, url=url, problem=fact_of(error)) from None


def json_of(answer: FetchResponse) -> Json:
    """The JSON of an answer; ``None`` if it is not valid JSON."""
    try:
        return decode(answer.body)
    except RpcError:
        return None
