"""A call of one operation: its arguments become a request, and the answer a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import Json, decode, encode
from tooltrue.protocol.types import CallToolResult, ContentBlock, TextContent
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.wording import sentence
from tooltrue_toolbox.openapi.answer_cache import etag_of
from tooltrue_toolbox.openapi.answer_fields import has_fields, only_fields
from tooltrue_toolbox.openapi.api_client import ApiAnswer, ApiClient
from tooltrue_toolbox.openapi.file_references import FileReferences, SentFile
from tooltrue_toolbox.openapi.multipart import file_references
from tooltrue_toolbox.openapi.request_building import build_request
from tooltrue_toolbox.openapi.response_check import ResponseLog
from tooltrue_toolbox.openapi.tool_definition import ToolForm, argument_names
from tooltrue_toolbox.openapi.wording import (
    ANSWER_WITHOUT_FIELDS,
    API_NOT_MODIFIED,
    API_RESULT_NOT_TEXT,
    API_RESULT_UNEXPECTED,
    NEXT_ETAG,
    NEXT_PAGE,
    NEXT_PAGE_UNKNOWN,
)

__all__ = ["PAGE_SCHEMA", "OperationCall"]

PAGE_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "description": "The next page, from the last result; all other arguments as before",
}
_PAGE_TYPE: Final = "application/vnd.tooltrue.next-page+json"


class OperationCall:
    """Calls of one operation. ``base`` is the address of the operator, and ``page_name`` the argument for a next page,
    if there is one. ``etag_name`` is the argument of another operation on the same object that takes the ETag of an
    answer. ``is_structured``: the schema of the answer is published."""

    def __init__(
        self,
        form: ToolForm,
        client: ApiClient,
        base: str,
        files: FileReferences,
        log: ResponseLog | None,
        page_name: str | None,
        etag_name: str | None,
        *,
        is_structured: bool,
    ) -> None:
        self._form = form
        self._client = client
        self._base = base
        self._files = files
        self._log = log
        self._page_name = page_name
        self._etag_name = etag_name
        self._is_structured = is_structured
        self._parameters, self._body = argument_names(form.operation)

    async def run(self, arguments: dict[str, Json], context: RequestContext) -> object:
        operation = self._form.operation
        values = {**arguments, **self._form.fixed}
        page = values.pop(self._page_name, None) if self._page_name is not None else None
        files: Mapping[str, SentFile] = {}
        if operation.body is not None and self._body is not None and self._body in values:
            files = await self._files.files(file_references(operation.body, values[self._body]), context)
        request = build_request(self._base, operation, values, self._parameters, self._body, files)
        if page is not None:
            request = replace(request, url=await self._url_of_page(request.url, str(page), context))
        answer = await self._client.call(request, operation, context)
        if answer.is_json and self._log is not None:
            self._log.look(answer.status, answer.value)
        if self._is_structured and answer.status == 304:
            raise ToolError.of(API_NOT_MODIFIED, operation=operation.key)
        if self._is_structured and not answer.is_json:
            raise ToolError.of(API_RESULT_UNEXPECTED, operation=operation.key, status=answer.status)
        if answer.data is not None:
            return self._stored(answer, answer.data, context)
        notes = [*self._notes_of_page(answer, request.url, context), *self._notes_of_version(answer, context)]
        if answer.is_json and (fields := self._form.fields):
            answer = replace(answer, value=only_fields(answer.value, fields))
            if not has_fields(answer.value):
                notes.append(sentence(ANSWER_WITHOUT_FIELDS, context.language, {"fields": ", ".join(fields)}))
        return _with_notes(answer, notes) if notes else answer.value

    def _stored(self, answer: ApiAnswer, data: bytes, context: RequestContext) -> CallToolResult:
        """A link to bytes, which no model reads as text: other calls take them by reference."""
        link = context.keep(data, self._form.name, mime_type=answer.media_type)
        facts = {"status": answer.status, "kind": answer.media_type, "size": len(data), "uri": link.uri}
        return CallToolResult([TextContent(text=sentence(API_RESULT_NOT_TEXT, context.language, facts)), link])

    # A next page is a stored result: it belongs to its caller, expires, is known to all workers, and cannot be made up.

    def _notes_of_page(self, answer: ApiAnswer, url: str, context: RequestContext) -> Iterator[str]:
        operation = self._form.operation
        query = None if self._page_name is None else self._client.next_query(operation, url, answer)
        if query is not None:
            page = encode([operation.key, urlsplit(url).path, query])
            link = context.keep(page, f"next page of {self._form.name}", mime_type=_PAGE_TYPE)
            yield sentence(NEXT_PAGE, context.language, {"tool": self._form.name, "uri": link.uri})

    async def _url_of_page(self, url: str, page: str, context: RequestContext) -> str:
        """The URL of a next page: that of the same call, with the query that the API named."""
        parts = urlsplit(url)
        stored = await context.read_stored(page)
        match None if stored is None or stored.mime_type != _PAGE_TYPE else decode(stored.data):
            case [key, path, str() as query] if (key, path) == (self._form.operation.key, parts.path):
                return parts._replace(query=query).geturl()
            case _:
                raise ToolError.of(NEXT_PAGE_UNKNOWN, reference=page[:100], operation=self._form.operation.key)

    def _notes_of_version(self, answer: ApiAnswer, context: RequestContext) -> Iterator[str]:
        if self._etag_name is not None and (etag := etag_of(answer.headers)) is not None:
            yield sentence(NEXT_ETAG, context.language, {"etag": etag, "argument": self._etag_name})


def _with_notes(answer: ApiAnswer, notes: Sequence[str]) -> CallToolResult:
    """The answer as a result, with our sentences behind it."""
    text = encode(answer.value).decode() if answer.is_json else str(answer.value)
    content: list[ContentBlock] = [TextContent(text=one) for one in (text, *notes)]
    return CallToolResult(content, answer.value) if answer.is_json else CallToolResult(content)
