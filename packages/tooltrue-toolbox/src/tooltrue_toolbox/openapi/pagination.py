"""The next page of an answer, where the API names one: by a link, a URL, a cursor, or the number of an item or a page.

An API names a query, and nothing else: the request for the next page goes to the address and the path of the operation,
whatever the URL of the API says. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import quote, unquote_plus, urlsplit

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.transport.urls import joined, origin_of
from tooltrue_toolbox.openapi.operation import ApiOperation

__all__ = ["has_pages", "next_query"]

_CURSORS: Final = (
    "cursor",
    "page_token",
    "pageToken",
    "next_token",
    "nextToken",
    "continue",
    "after",
    "marker",
    "next_cursor",
)
_LAST_IDS: Final = ("starting_after", "after", "after_id")
_OFFSETS: Final = ("offset", "skip", "start", "startAt", "$skip")
_PAGES: Final = ("page", "page_number", "pageNumber")
_SIZES: Final = ("limit", "per_page", "perPage", "page_size", "pageSize", "$top", "maxResults", "count")
_NAMES: Final = frozenset((*_CURSORS, *_LAST_IDS, *_OFFSETS, *_PAGES, *_SIZES))

_URL_PLACES: Final = (
    "next",
    "next_url",
    "nextLink",
    "@odata.nextLink",
    "next_page_url",
    "next_page_uri",
    "links.next",
    "links.next.href",
    "links.pages.next",
    "_links.next",
    "_links.next.href",
    "meta.next",
    "paging.next",
    "pagination.next",
    "pagination.next_url",
)
_CURSOR_PLACES: Final = (
    "next_cursor",
    "nextCursor",
    "next_page_token",
    "nextPageToken",
    "next_token",
    "nextToken",
    "next",
    "response_metadata.next_cursor",
    "meta.next_cursor",
    "metadata.continue",
    "paging.cursors.after",
    "paging.next.after",
    "pagination.next_cursor",
)
_NEXT_PAGE_PLACES: Final = ("next_page", "nextPage", "meta.next_page", "pagination.next_page")
_TOTAL_PLACES: Final = ("total", "total_count", "totalCount", "count", "meta.total", "pagination.total", "paging.total")
_PAGE_COUNT_PLACES: Final = ("total_pages", "totalPages", "meta.total_pages", "pagination.total_pages", "page_count")
_MORE_PLACES: Final = ("has_more", "hasMore", "has_next", "hasNext", "meta.has_more", "pagination.has_more")
_LIST_NAMES: Final = ("data", "items", "results", "values", "records", "entries", "value")
_LINK: Final = re.compile(
    r"<([^<>]{1,4000})>((?:\s*;\s*[\w*-]{1,40}\s*=\s*(?:\"[^\"]{0,400}\"|[^\s;,\"]{0,400})){0,20})"
)
_RELATION: Final = re.compile(r";\s*rel\s*=\s*(?:\"([^\"]*)\"|([^\s;,\"]+))", re.IGNORECASE)
_LONGEST: Final = 4_000


def has_pages(operation: ApiOperation) -> bool:
    """Whether answers of an operation may have a next page: it reads, and has a parameter for pages or says so."""
    if operation.method != "GET":
        return False
    names = {parameter.name for parameter in operation.parameters if parameter.location == "query"}
    return not names.isdisjoint(_NAMES)


def next_query(
    operation: ApiOperation, url: str, headers: Mapping[str, str], value: Json, secret_names: Collection[str] = ()
) -> str | None:
    """The query of the request for the next page, or ``None`` if the answer names none. ``url`` is that of this
    request, and ``secret_names`` are parameters that the next one gets anew."""
    query = urlsplit(url).query
    query_of_next = _linked(url, headers, value) or _counted(operation, query, value)
    if query_of_next is None:
        return None
    parts = [part for part in query_of_next.split("&") if part and _name(part) not in secret_names]
    made = quote("&".join(parts), safe="!$&'()*+,;=:@/?%-._~[]")
    return made if made and made != query and len(made) <= _LONGEST else None


# --- by a URL ---------------------------------------------------------------------------------------------------------


def _linked(url: str, headers: Mapping[str, str], value: Json) -> str | None:
    """The query of the first link to the next page that leads to the host of this request."""
    for link in (*_links(headers.get("link", "")), *_texts(value, _URL_PLACES)):
        if not link.startswith(("http://", "https://", "/", "?")):
            continue
        try:
            target = joined(url, link)
            if origin_of(target) == origin_of(url) and (query := urlsplit(target).query):
                return query
        except ValueError:
            continue
    return None


def _links(header: str) -> Iterator[str]:
    """The targets of a ``Link`` header with the relation ``next`` (RFC 8288)."""
    for link in _LINK.finditer(header[: 16 * _LONGEST]):
        relation = _RELATION.search(link[2])
        if relation is not None and "next" in (relation[1] or relation[2]).lower().split():
            yield link[1]


# --- by a cursor, an offset or a number -------------------------------------------------------------------------------


def _counted(operation: ApiOperation, query: str, value: Json) -> str | None:
    names = {parameter.name for parameter in operation.parameters if parameter.location == "query"}
    sent = {_name(part): unquote_plus(part.partition("=")[2]) for part in query.split("&")}
    items = _items(value)

    def of(candidates: Sequence[str]) -> str | None:
        return next((name for name in candidates if name in names), None)

    if (cursor := next(_texts(value, _CURSOR_PLACES), None)) and (name := of(_CURSORS)):
        return _with(query, name, cursor)
    has_more = any(one is True for one in _values(value, _MORE_PLACES))
    if has_more and items and is_object(items[-1]) and (name := of(_LAST_IDS)):
        last = items[-1].get("id")
        return _with(query, name, str(last)) if isinstance(last, str | int) else None
    if name := of(_PAGES):
        page = _next_page(sent.get(name), value, has_more=has_more)
        return None if page is None else _with(query, name, str(page))
    if items and (name := of(_OFFSETS)):
        begin = _number(sent.get(name, "0"))
        end = None if begin is None else begin + len(items)
        total = next(_numbers(value, _TOTAL_PLACES), 0)
        if end is not None and (has_more or end < total):
            return _with(query, name, str(end))
    return None


def _next_page(sent: str | None, value: Json, *, has_more: bool) -> int | None:
    if (page := next(_numbers(value, _NEXT_PAGE_PLACES), None)) is not None:
        return page
    first = 0 if is_object(value) and value.get("number") == 0 else 1
    current = first if sent is None else _number(sent)
    if current is None:
        return None
    count = next(_numbers(value, _PAGE_COUNT_PLACES), 0)
    return current + 1 if has_more or current + (1 - first) < count else None


def _items(value: Json) -> Sequence[Json]:
    if is_array(value):
        return value
    if not is_object(value):
        return []
    lists = {name: one for name, one in value.items() if is_array(one)}
    named = next((lists[name] for name in _LIST_NAMES if name in lists), None)
    return named if named is not None else next(iter(lists.values())) if len(lists) == 1 else []


def _with(query: str, name: str, value: str) -> str:
    others = [part for part in query.split("&") if part and _name(part) != name]
    return "&".join([*others, f"{quote(name, safe='$')}={quote(value, safe='')}"])


def _name(part: str) -> str:
    return unquote_plus(part.partition("=")[0])


# --- the answer -------------------------------------------------------------------------------------------------------


def _values(value: Json, places: Sequence[str]) -> Iterator[Json]:
    """The values at these places of an answer. A name with a dot is tried as it is, too."""
    if not is_object(value):
        return
    for place in places:
        here: Json = value
        for name in [place] if place in value else place.split("."):
            here = here.get(name) if is_object(here) else None
        if here is not None:
            yield here


def _texts(value: Json, places: Sequence[str]) -> Iterator[str]:
    return (one for one in _values(value, places) if isinstance(one, str) and 0 < len(one) <= _LONGEST)


def _numbers(value: Json, places: Sequence[str]) -> Iterator[int]:
    return (one for one in _values(value, places) if isinstance(one, int) and not isinstance(one, bool) and one > 0)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 16 else None
