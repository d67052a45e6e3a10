"""Answers that an API has given an ETag (RFC 9110, section 8.8.3), so that an unchanged one is not sent again.

Each belongs to one caller, and the API is asked each time whether it is still the present one. So no answer is served
that the API has not just confirmed to that caller.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, TypeAlias

from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.fetch import FetchResponse

__all__ = ["AnswerCache", "etag_of"]

_ETAG: Final = re.compile(r'(?:W/)?"[\x21\x23-\x7e]{0,200}"')
_MAX_BYTES: Final = 16 << 20
_MAX_ANSWERS: Final = 1_000
_MAX_ANSWER: Final = 1 << 20

_Key: TypeAlias = tuple[str, str, str, tuple[tuple[str, str], ...]]


def etag_of(headers: Mapping[str, str]) -> str | None:
    """The ETag of an answer, if it has a valid one."""
    etag = headers.get("etag", "").strip()
    return etag if _ETAG.fullmatch(etag) else None


class AnswerCache:
    """The answers of one API, without secrets. The oldest make room for new ones."""

    def __init__(self, *, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._answers: OrderedDict[_Key, FetchResponse] = OrderedDict()
        self._size = 0

    def get(self, principal: Principal, url: str, headers: Mapping[str, str]) -> FetchResponse | None:
        """The last answer to this request of this caller. ``headers`` are those of the request, without secrets."""
        key = _key(principal, url, headers)
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
        return answer

    def put(self, principal: Principal, url: str, headers: Mapping[str, str], answer: FetchResponse) -> None:
        """Remember an answer, if it has an ETag and may be stored. Any other one is forgotten."""
        key = _key(principal, url, headers)
        if (old := self._answers.pop(key, None)) is not None:
            self._size -= len(old.body)
        may_be_stored = "no-store" not in answer.headers.get("cache-control", "").lower()
        if etag_of(answer.headers) is None or not may_be_stored or len(answer.body) > min(_MAX_ANSWER, self._max_bytes):
            return
        self._answers[key] = answer
        self._size += len(answer.body)
        while self._size > self._max_bytes or len(self._answers) > _MAX_ANSWERS:
            _, oldest = self._answers.popitem(last=False)
            self._size -= len(oldest.body)


def _key(principal: Principal, url: str, headers: Mapping[str, str]) -> _Key:
    return principal.id, principal.client, url, tuple(sorted(headers.items()))
