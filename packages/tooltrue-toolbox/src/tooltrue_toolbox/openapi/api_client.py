"""Sends the requests of calls and makes results of the answers, those that tell of an error too."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.types import replaced
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.transport.fetch import Fetcher, FetchResponse, NotFetched
from tooltrue.version import __version__
from tooltrue.wording import Worded
from tooltrue_toolbox.openapi.answer_cache import AnswerCache, etag_of
from tooltrue_toolbox.openapi.credentials import ApiCredentials, FilledRequest
from tooltrue_toolbox.openapi.operation import ApiOperation
from tooltrue_toolbox.openapi.pagination import next_query
from tooltrue_toolbox.openapi.request_building import ApiRequest
from tooltrue_toolbox.openapi.texts import plain_text, shortened
from tooltrue_toolbox.openapi.wording import (
    API_BUSY,
    API_FAILED,
    API_NOT_FOUND,
    API_NOT_MODIFIED,
    API_OUTCOME_UNKNOWN,
    API_PRECONDITION,
    API_REDIRECTED,
    API_REFUSED_SECRET,
    API_REFUSED_VALUES,
    API_RESULT_EMPTY,
    API_SAID,
    API_SAID_NOTHING,
    API_UNREACHABLE,
)
from tooltrue_toolbox.service_client import BUSY, ServicePatience, json_of, wait_of, with_retries

__all__ = ["ApiAnswer", "ApiClient"]

_READING: Final = frozenset(("GET", "HEAD", "QUERY"))
_MESSAGE: Final = 400
_MESSAGE_KEYS: Final = ("message", "detail", "error_description", "error", "title", "description", "msg", "reason")
_LIST_KEYS: Final = ("errors", "details", "fieldErrors", "violations", "issues")
_TEXT_TYPES: Final = re.compile(r"text/.*|application/(?:xml|javascript|yaml|x-yaml|graphql)|.*\+(?:xml|yaml)")
_JSON_TYPES: Final = re.compile(r"application/json|text/json|.*\+json")
_MEDIA_TYPE: Final = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,80}", re.ASCII)
_CHARSET: Final = re.compile(r"charset=\"?([\w.:-]{1,40})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """The answer to a call that succeeded. ``value``: its JSON, or its text; ``is_json`` tells them apart. An answer of
    bytes has ``data``, of ``media_type``, and no value; the value of an empty one is our sentence. The names of
    ``headers`` are lower-case."""

    status: int
    value: Json
    is_json: bool
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    data: bytes | None = None
    media_type: str = ""
    is_empty: bool = False


class ApiClient:
    """Sends requests to the API. Redirects are not followed, so that a secret goes to its address alone. A request that
    only reads is repeated while the API is busy; any other is sent once. One whose token is refused is sent once more,
    with another. ``fetcher_with`` makes the fetcher of the API for one client certificate, or for none; its second
    argument is whether connections are used again, which those with the token of a caller are not."""

    def __init__(
        self,
        fetcher_with: Callable[[ssl.SSLContext | None, bool], Fetcher],
        credentials: ApiCredentials,
        patience: ServicePatience,
    ) -> None:
        self._fetcher_with = fetcher_with
        self._fetchers: dict[tuple[ssl.SSLContext | None, bool], Fetcher] = {}
        self._answers = AnswerCache()
        self._credentials = credentials
        self._patience = patience

    async def call(self, request: ApiRequest, operation: ApiOperation, context: RequestContext) -> ApiAnswer:
        """Send a request for a caller. Raises ``ToolError`` for an answer that tells of an error, and where there is
        none."""
        earlier = self._earlier_answer(request, context)
        sent = request if earlier is None else _conditional(request, earlier)
        response = await self._authenticated(sent, operation, context)
        if earlier is not None and response.status == 304:
            response = earlier
        elif operation.method == "GET" and response.status == 200:
            self._answers.put(context.principal, request.url, request.headers, response)
        if response.status == 304:
            return ApiAnswer(304, str(Worded(API_NOT_MODIFIED, {"operation": operation.key})), is_json=False)
        if not 200 <= response.status < 300:
            raise self._error(response, operation)
        return replace(_answer(response), headers=response.headers)

    def _earlier_answer(self, request: ApiRequest, context: RequestContext) -> FetchResponse | None:
        """The last answer to this request, unless the caller itself asks on a condition."""
        if request.method != "GET" or "if-none-match" in request.headers or "range" in request.headers:
            return None
        return self._answers.get(context.principal, request.url, request.headers)

    async def _authenticated(
        self, request: ApiRequest, operation: ApiOperation, context: RequestContext
    ) -> FetchResponse:
        """The answer, without the secrets that it may repeat."""
        filled = await self._credentials.filled(request, operation, context)
        response = await self._response(filled, operation)
        if response.status == 401 and await self._credentials.rejected(filled, context):
            filled = await self._credentials.filled(request, operation, context)
            response = await self._response(filled, operation)
        return replaced(response, body=self._credentials.masked(response.body, filled))

    async def _response(self, filled: FilledRequest, operation: ApiOperation) -> FetchResponse:
        request = filled.request
        headers = {"user-agent": f"tooltrue/{__version__}", "accept": _accept(operation), **request.headers}
        key = (filled.tls, not self._credentials.are_of_callers(operation))
        if key not in self._fetchers:
            self._fetchers[key] = self._fetcher_with(*key)
        fetcher = self._fetchers[key]

        async def send() -> FetchResponse:
            return await fetcher.request(request.method, request.url, headers=headers, content=request.content)

        reads = operation.method in _READING
        try:
            return await (with_retries(send, self._patience) if reads else send())
        except NotFetched as error:
            lost = not reads and error.why != "refused"
            code = API_OUTCOME_UNKNOWN if lost else API_UNREACHABLE
            raise ToolError.of(code, operation=operation.key, problem=error.facts["problem"]) from None

    def next_query(self, operation: ApiOperation, url: str, answer: ApiAnswer) -> str | None:
        """The query of the request for the next page, if the answer names one."""
        return next_query(operation, url, answer.headers, answer.value, self._credentials.query_names)

    def _error(self, response: FetchResponse, operation: ApiOperation) -> ToolError:
        status = response.status
        message = _message(response)
        clause = Worded(API_SAID, {"message": message}) if message else Worded(API_SAID_NOTHING, {})
        facts = {"operation": operation.key, "status": status, "said": clause}
        if 300 <= status < 400:
            error = ToolError.of(API_REDIRECTED, operation=operation.key, status=status)
        elif status in (401, 403):
            error = ToolError.of(API_REFUSED_SECRET, **facts)
        elif status in (412, 428):
            error = ToolError.of(API_PRECONDITION, **facts)
        elif status in (404, 410):
            error = ToolError.of(API_NOT_FOUND, **facts)
        elif status == 429 or (status in BUSY and "retry-after" in response.headers):
            wait = wait_of(response.headers, self._patience.now())
            error = ToolError.of(API_BUSY, **facts, seconds=max(1, min(int(wait or 30), 86_400)))
        else:
            error = ToolError.of(API_REFUSED_VALUES if status < 500 else API_FAILED, **facts)
        error.untrusted = True
        return error


def _conditional(request: ApiRequest, earlier: FetchResponse) -> ApiRequest:
    return replace(request, headers={**request.headers, "if-none-match": etag_of(earlier.headers) or ""})


def _accept(operation: ApiOperation) -> str:
    kinds = [kind for response in operation.responses if response.status[:1] == "2" for kind in response.schemas]
    return "application/json" if not kinds or any(map(_JSON_TYPES.fullmatch, kinds)) else "*/*"


def _message(response: FetchResponse) -> str:
    """The message of the API about an error: from the usual members of JSON, or its text. Cleaned, and bounded."""
    value = json_of(response)
    text = _text_of(value) if value is not None else _decoded(response)
    return shortened(plain_text(text), _MESSAGE)


def _text_of(value: Json, depth: int = 0) -> str:
    if isinstance(value, str | int | float):
        return str(value)
    if is_array(value):
        return "; ".join(filter(None, (_text_of(one, depth + 1) for one in value[:5]))) if depth < 4 else ""
    if not is_object(value) or depth >= 4:
        return ""
    keys = [key for key in (*_MESSAGE_KEYS, *_LIST_KEYS) if value.get(key)]
    texts = list(dict.fromkeys(filter(None, (_text_of(value[key], depth + 1) for key in keys))))
    place = next((value[key] for key in ("loc", "field", "path", "param", "pointer") if value.get(key)), None)
    text = "; ".join(texts)
    return f"{_place(place)}: {text}" if place is not None and text else text


def _place(value: Json) -> str:
    return ".".join(str(one) for one in value) if is_array(value) else str(value)


def _decoded(response: FetchResponse) -> str:
    if b"\0" in response.body[:10_000]:
        return ""
    charset = _CHARSET.search(response.headers.get("content-type", ""))
    try:
        return response.body.decode(charset[1] if charset else "utf-8", "replace")
    except (LookupError, UnicodeError):
        return response.body.decode("utf-8", "replace")


def _answer(response: FetchResponse) -> ApiAnswer:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not response.body:
        text = str(Worded(API_RESULT_EMPTY, {"status": response.status}))
        return ApiAnswer(response.status, text, is_json=False, is_empty=True)
    is_json = _JSON_TYPES.fullmatch(kind) is not None
    if (is_json or not kind) and (value := json_of(response)) is not None:
        return ApiAnswer(response.status, value, is_json=True)
    if is_json and response.body.strip() == b"null":
        return ApiAnswer(response.status, None, is_json=True)
    if is_json or not kind or _TEXT_TYPES.fullmatch(kind) is not None or kind == "application/x-www-form-urlencoded":
        return ApiAnswer(response.status, _decoded(response), is_json=False)
    media_type = kind if _MEDIA_TYPE.fullmatch(kind) else "application/octet-stream"
    return ApiAnswer(response.status, "", is_json=False, data=response.body, media_type=media_type)
