"""A call of one operation: its arguments become a request, and the answer a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import Json, decode, encode
from tooltrue.protocol.schema import Schema
from tooltrue.protocol.types import CallToolResult, ContentBlock, TextContent, replaced
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.wording import sentence
from tooltrue_toolbox.openapi.answer_cache import etag_of
from tooltrue_toolbox.openapi.answer_fields import has_fields, only_fields
from tooltrue_toolbox.openapi.api_client import ApiAnswer, ApiClient
from tooltrue_toolbox.openapi.file_references import FileReferences, SentFile
from tooltrue_toolbox.openapi.multipart import file_references
from tooltrue_toolbox.openapi.request_building import build_request
from tooltrue_toolbox.openapi.response_check import AnswerCheck
from tooltrue_toolbox.openapi.tool_definition import ToolForm, argument_names
from tooltrue_toolbox.openapi.wording import (
    ANSWER_WITHOUT_FIELDS,
    API_NOT_MODIFIED,
    API_RESULT_NOT_TEXT,
    API_RESULT_UNEXPECTED,
    NEXT_ETAG,
    NEXT_PAGE,
    NEXT_PAGE_UNKNOWN,
    RESPONSE_AS_TEXT,
)

__all__ = ["OperationCall"]

_EMPTY: Final[Sequence[Json]] = ({}, [])
_PAGE_TYPE: Final = "application/vnd.tooltrue.next-page+json"


class OperationCall:
    """Calls of one operation. ``base`` is the address of the operator, and ``page_name`` the argument for a next page,
    if there is one. ``etag_name`` is the argument of another operation on the same object that takes the ETag of an
    answer. ``check`` compares answers with the description. ``published`` is the output schema of the tool: a client
    may refuse a result that does not fit it."""

    def __init__(
        self,
        form: ToolForm,
        client: ApiClient,
        base: str,
        files: FileReferences,
        check: AnswerCheck,
        page_name: str | None,
        etag_name: str | None,
        published: Schema | None,
    ) -> None:
        self._form = form
        self._client = client
        self._base = base
        self._files = files
        self._check = check
        self._page_name = page_name
        self._etag_name = etag_name
        self._published = published
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
        fits = self._check.fits(answer)
        if self._published is not None and answer.status == 304:
            raise ToolError.of(API_NOT_MODIFIED, operation=operation.key)
        if answer.data is not None:
            return self._without_value(self._stored(answer, answer.data, context), answer)
        if answer.is_empty:
            return self._without_value(CallToolResult([TextContent(text=str(answer.value))]), answer)
        notes = [*self._notes_of_page(answer, request.url, context), *self._notes_of_version(answer, context)]
        if answer.is_json and (fields := self._form.fields):
            answer = replace(answer, value=only_fields(answer.value, fields))
            if not has_fields(answer.value):
                notes.append(sentence(ANSWER_WITHOUT_FIELDS, context.language, {"fields": ", ".join(fields)}))
        if self._published is not None and not (fits or self._published.accepts(answer.value)):
            return self._as_text(answer, context)
        return _with_notes(answer, notes) if notes else answer.value

    def _without_value(self, result: CallToolResult, answer: ApiAnswer) -> CallToolResult:
        """A result of an answer that has no value. Clients that expect one get an empty one."""
        if self._published is None:
            return result
        value = next((one for one in _EMPTY if self._published.accepts(one)), None)
        if value is None:
            raise ToolError.of(API_RESULT_UNEXPECTED, operation=self._form.operation.key, status=answer.status)
        return replaced(result, structuredContent=value)

    def _as_text(self, answer: ApiAnswer, context: RequestContext) -> CallToolResult:
        """An answer that the output schema refuses, as an error: of errors clients expect no structured content."""
        facts = {"operation": self._form.operation.key, "status": answer.status}
        return replaced(_with_notes(answer, [sentence(RESPONSE_AS_TEXT, context.language, facts)]), isError=True)

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
