"""Where a description comes from: a file, an address, or an ASGI application of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from tooltrue.errors import ConfigurationError
from tooltrue.transport import fetch
from tooltrue.transport.fetch import AppFetcher, Fetcher, FetchResponse, NotFetched, Resolve
from tooltrue.wording import Worded
from tooltrue_toolbox.openapi.document import MAX_BYTES, ApiDescription, description_of, read_description
from tooltrue_toolbox.openapi.wording import DESCRIPTION_UNREADABLE, REASON_ANSWER_STATUS

__all__ = ["APP_URL", "description_at", "description_of_app"]

APP_URL: Final = "http://localhost"
"""The address by which an application of this process is called."""
_APP_PATH: Final = "/openapi.json"
_SECONDS: Final = 30.0
_REDIRECTS: Final = 3
T = TypeVar("T")


def description_at(place: str, *, resolve: Resolve = fetch.resolve) -> ApiDescription:
    """The description of a file, or of an ``http(s)`` address that the operator names. The fetch is guarded, also after
    a redirect; references to other files of an address are not followed. Raises ``ConfigurationError``."""
    if not place.startswith(("http://", "https://")):
        return read_description(Path(place))
    fetcher = Fetcher((place,), resolve=resolve, seconds=_SECONDS, max_bytes=MAX_BYTES, redirects=_REDIRECTS)
    return _fetched(fetcher, place)


def description_of_app(app: Any) -> ApiDescription:
    """The description that an application returns at ``/openapi.json``. Raises ``ConfigurationError``."""
    return _fetched(AppFetcher(app, seconds=_SECONDS, max_bytes=MAX_BYTES), APP_URL + _APP_PATH)


def _fetched(fetcher: Fetcher, url: str) -> ApiDescription:
    place = url.partition("?")[0]
    try:
        response = _completed(fetcher.request("GET", url, headers={"accept": "application/json, */*;q=0.5"}))
    except NotFetched as error:
        raise ConfigurationError.of(DESCRIPTION_UNREADABLE, file=place, problem=error.facts["problem"]) from None
    if response.status != 200:
        problem = Worded(REASON_ANSWER_STATUS, {"status": response.status})
        raise ConfigurationError.of(DESCRIPTION_UNREADABLE, file=place, problem=problem)
    return description_of(response.body, place)


def _completed(work: Coroutine[Any, Any, FetchResponse]) -> FetchResponse:
    """The result of ``work``, in an event loop of a thread: the caller may be within one of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
