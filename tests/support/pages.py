"""Pages as a person reads them, and as a browser does."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Final

__all__ = ["hostile_markup", "words"]

_OURS: Final = frozenset(
    {"a", "article", "bdi", "button", "code", "dd", "details", "div", "dl", "dt", "form", "h1", "h2", "h3", "h4"}
    | {"input", "label", "li", "main", "noscript", "option", "p", "pre", "section", "select", "span", "strong"}
    | {"summary", "table", "tbody", "td", "textarea", "th", "thead", "tr", "ul", "body", "html"}
    | {"abbr", "fieldset", "legend", "ol"}
)
# Not the characters that isolate words from right to left, which the pages write themselves.
_HIDDEN: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066\u2067\x07\x08\x1b\U000e0041]")


def words(page: str) -> str:
    """The text of a page, with one space between its parts."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", page)))


def hostile_markup(page: str) -> list[str]:
    """The elements and attributes below ``<main`` that no template writes, and characters that hide or turn text."""
    reader = _Reader()
    reader.feed(page[page.index("<main") :] if "<main" in page else page)
    reader.close()
    return reader.found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _OURS:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            is_script = (value or "").strip().lower().startswith(("javascript:", "data:"))
            if name.startswith("on") or name == "style" or (is_script and name in ("href", "action", "src")):
                self.found.append(f"{name}={value}")
            if (
                name.startswith("hx-")
                and value
                and not value.startswith(("/console/", "#", "none", "outerHTML", "find ", "closest "))
            ):
                self.found.append(f"{name}={value}")

    def handle_data(self, data: str) -> None:
        self.found += _HIDDEN.findall(data)
