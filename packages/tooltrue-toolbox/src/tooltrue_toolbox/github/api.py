"""Requests to the GitHub API, and the translation of its errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue.transport.fetch import Fetcher, FetchResponse, NotFetched
from tooltrue.transport.urls import origin_of
from tooltrue.version import __version__
from tooltrue.wording import Worded
from tooltrue_toolbox.github.wording import (
    GITHUB_NOT_FOUND,
    GITHUB_PERMISSION_MISSING,
    GITHUB_RATE_LIMIT_EXCEEDED,
    GITHUB_RESPONSE_UNEXPECTED,
    GITHUB_TOKEN_REJECTED,
    GITHUB_VALUES_REJECTED,
    REASON_GITHUB_STATUS,
    REASON_GITHUB_STATUS_WITH_MESSAGE,
    REASON_OTHER_ANSWER,
)
from tooltrue_toolbox.service_client import ServicePatience, json_of, wait_of, with_retries

__all__ = ["API", "Api", "ApiResponse", "OutcomeUnknown"]

API = "https://api.github.com"
_VERSION = "2022-11-28"
_NEXT = re.compile(r'<([^<>]{1,2000})>\s*;[^,<]*\brel="?next"?')
_SLOW = (403, 429)


class OutcomeUnknown(Exception):
    """A request that changes data failed in transit: it may or may not have been processed."""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A response. ``next_page`` is the number of the following page, if there is one."""

    value: Json
    next_page: int | None = None

    @property
    def items(self) -> list[dict[str, Any]]:
        """The objects of a list, or of the results of a search."""
        value = self.value.get("items") if is_object(self.value) else self.value
        return [item for item in value if is_object(item)] if is_array(value) else []

    @property
    def is_cut(self) -> bool:
        """Whether it is the incomplete result of a search that ran out of time."""
        return is_object(self.value) and self.value.get("incomplete_results") is True

    @property
    def item(self) -> dict[str, Any]:
        if not is_object(self.value):
            raise ToolError.of(GITHUB_RESPONSE_UNEXPECTED, problem=Worded(REASON_OTHER_ANSWER, {}))
        return self.value


class Api:
    """The client of the API. ``token`` is sent to this service only; redirects are not followed, nor links in a
    response."""

    def __init__(self, fetcher: Fetcher, base: str, token: str | None, patience: ServicePatience) -> None:
        self._fetcher = fetcher
        self._base = base.rstrip("/")
        self._patience = patience
        self._headers = {
            "accept": "application/vnd.github+json",
            "x-github-api-version": _VERSION,
            "user-agent": f"tooltrue/{__version__}",
        }
        if token:
            self._headers["authorization"] = f"Bearer {token}"

    async def get(
        self, path: str, query: Mapping[str, str | int] | None = None, *, what: Worded, accept: str | None = None
    ) -> ApiResponse:
        """Send a GET request, with retries. ``what`` names the object in an error."""
        headers = self._headers | ({"accept": accept} if accept else {})
        url = f"{self._base}{path}" + (f"?{urlencode(query)}" if query else "")

        async def ask() -> FetchResponse:
            return await self._fetcher.request("GET", url, headers=headers)

        try:
            answer = await with_retries(ask, self._patience)
        except NotFetched as error:
            raise ToolError.of(GITHUB_RESPONSE_UNEXPECTED, problem=error.facts["problem"]) from None
        return self._response(answer, what)

    async def post(self, path: str, value: Json, *, what: Worded) -> ApiResponse:
        """Send a POST request, without retries. Raises :class:`OutcomeUnknown` where it is unknown whether it was
        processed."""
        headers = {**self._headers, "content-type": "application/json"}
        try:
            answer = await self._fetcher.request("POST", f"{self._base}{path}", headers=headers, content=encode(value))
        except NotFetched as error:
            if error.why == "refused":
                raise ToolError.of(GITHUB_RESPONSE_UNEXPECTED, problem=error.facts["problem"]) from None
            raise OutcomeUnknown from error
        if answer.status >= 500:
            raise OutcomeUnknown
        return self._response(answer, what)

    def _response(self, answer: FetchResponse, what: Worded) -> ApiResponse:
        if answer.status in (200, 201):
            return ApiResponse(json_of(answer), self._next_page(answer))
        self._check_pace(answer)
        body = json_of(answer)
        message = str(body.get("message", ""))[:200] if is_object(body) else ""
        code = _CODES.get(answer.status, GITHUB_RESPONSE_UNEXPECTED)
        facts = {"status": answer.status, "message": message}
        problem = Worded(REASON_GITHUB_STATUS_WITH_MESSAGE if message else REASON_GITHUB_STATUS, facts)
        raise ToolError.of(code, what=what, problem=problem)

    def _check_pace(self, answer: FetchResponse) -> None:
        """``ToolError`` for an exceeded rate limit (its documentation: "Rate limits for the REST API")."""
        wait = wait_of(answer.headers, self._patience.now())
        used_up = answer.headers.get("x-ratelimit-remaining") == "0"
        if answer.status not in _SLOW or not (used_up or wait is not None or answer.status == 429):
            return
        if wait is None:
            reset = answer.headers.get("x-ratelimit-reset", "")
            until = float(reset) if reset.isdecimal() and len(reset) < 12 else 0.0
            wait = until - self._patience.now().timestamp() if used_up else 60.0
        seconds = max(1, min(int(wait) + 1, 86_400))
        at = datetime.fromtimestamp(self._patience.now().timestamp() + seconds, UTC)
        raise ToolError.of(GITHUB_RATE_LIMIT_EXCEEDED, seconds=seconds, time=at.strftime("%H:%M:%S UTC"))

    def _next_page(self, answer: FetchResponse) -> int | None:
        """The page number in the link to the next page. Links to other hosts are ignored."""
        match = _NEXT.search(answer.headers.get("link", "")[:10_000])
        try:
            if match is None or origin_of(match[1]) != origin_of(self._base):
                return None
            return int(parse_qs(urlsplit(match[1]).query)["page"][0])
        except (ValueError, KeyError):
            return None


_CODES: Mapping[int, str] = {
    401: GITHUB_TOKEN_REJECTED,
    403: GITHUB_PERMISSION_MISSING,
    404: GITHUB_NOT_FOUND,
    410: GITHUB_NOT_FOUND,
    422: GITHUB_VALUES_REJECTED,
}
