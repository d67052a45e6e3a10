"""A request as a page sees it, and the answers that a page gives. No page knows the web framework."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tooltrue_console.desk import Desk
from tooltrue_console.sessions import READ, Person

__all__ = ["Answer", "Download", "Endpoint", "EventStream", "Html", "OtherPage", "PageVisit"]


@dataclass(frozen=True, slots=True)
class PageVisit:
    """One request of a person. ``parts`` are the parameters of the path. ``address`` and ``agent`` are the other end of
    the connection and its ``User-Agent``, for the record of an act. ``base`` is the path of the console."""

    person: Person
    language: str
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    form: Mapping[str, str] = field(default_factory=dict[str, str])
    address: str = ""
    agent: str = ""
    base: str = ""


@dataclass(frozen=True, slots=True)
class Html:
    """A page or a part of one, made from a template. ``title`` is the name of a phrase. ``has_pictures``: the page may
    show pictures that are part of its text."""

    template: str
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    status: int = 200
    title: str = ""
    has_pictures: bool = False


@dataclass(frozen=True, slots=True)
class OtherPage:
    """Another address, below that of the console."""

    path: str


@dataclass(frozen=True, slots=True)
class Download:
    """A file that is written while it is sent."""

    name: str
    lines: AsyncIterator[str]


@dataclass(frozen=True, slots=True)
class EventStream:
    """Server-sent events: each is a name, and a text without line ends or a part of a page, which is sent as JSON."""

    events: AsyncIterator[tuple[str, str | Html]]


Answer: TypeAlias = Html | OtherPage | Download | EventStream


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One address of a page: ``answer`` gets the desk and the visit of a person who has ``scope``. A GET changes
    nothing."""

    method: Literal["GET", "POST"]
    path: str
    answer: Callable[[Desk, PageVisit], Awaitable[Answer]]
    scope: str = READ
