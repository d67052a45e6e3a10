"""Converts an untrusted HTML page to Markdown. Runs in a process of its own (``document_reader.py`` starts it). Owner
of html-to-markdown and selectolax.

Text that a reader of the page would not see is removed: comments, scripts, hidden elements. Pictures are represented by
their alternative text, without their address, and links to other schemes than web and mail by their text alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import html_to_markdown
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from tooltrue_toolbox.web.child import TEXT, ReaderJob, Unreadable, answer
from tooltrue_toolbox.web.css import StyleRule, data_sheet, media_holds, rules
from tooltrue_toolbox.web.hidden_elements import TooMuch, hidden_nodes
from tooltrue_toolbox.web.wording import PAGE_STYLE_SHEETS_TOO_LARGE

__all__ = ["read_html"]

_NOT_RUN = "noscript,template"
_NO_TEXT = (
    "script,style,iframe,frame,object,embed,svg,canvas,audio,video,input,select,textarea,head,datalist,noembed,noframes,"
    "progress,meter,rp"
)
_AROUND = "nav,footer,aside,form,button,dialog"
_CLOSED = "[hidden],[popover],dialog:not([open])"
_BLANKS = re.compile(r"\s+")
_MARKS = ("#", "¶", "§", "🔗", "⚓", "↩", "^")
_SHEETS = 4 << 20
"""Characters of style sheets in one page."""
_NOT_SHOWN = ("head", "title", "script", "style")
_LEAST = 200
"""The fewest characters of a page's main part; a shorter one is not used as such."""


def read_html(text: str, url: str, part: str) -> dict[str, Any]:
    """Convert a page. ``part``: ``main`` leaves out the parts around the main text of a page, ``whole`` does not."""
    page = LexborHTMLParser(text)
    base = page.css_first("base[href]")
    url = urljoin(url, (base.attributes.get("href") or "") if base is not None else "")
    title = page.css_first("title")
    name = _BLANKS.sub(" ", title.text()).strip()[:300] if title is not None else ""
    _drop(page, _NOT_RUN)
    hidden = _drop_hidden(page)
    _drop(page, _NO_TEXT)
    if part == "main":
        _keep_main(page)
    for image in page.css("img"):
        alt = _BLANKS.sub(" ", image.attributes.get("alt") or "").strip()
        image.replace_with(f"[image: {alt}]" if alt else "")
    for link in page.css("a[href]"):
        _resolve_link(link, url)
    html = page.html or ""
    as_it_is = html_to_markdown.PreprocessingOptions(enabled=False, remove_navigation=False, remove_forms=False)
    options = html_to_markdown.ConversionOptions(extract_metadata=False, preprocessing=as_it_is)
    markdown = html_to_markdown.convert(html, options).content or ""
    if not markdown.strip() and page.body is not None:
        markdown = page.body.text(separator="\n", strip=True)  # nested deeper than the conversion goes
    return {"title": name, "text": markdown.strip()[:TEXT], "hidden": hidden}


def _drop(page: LexborHTMLParser, selector: str) -> None:
    for node in page.css(selector):
        node.decompose()


def _drop_hidden(page: LexborHTMLParser) -> int:
    """Remove the elements that a viewer of the page does not see; return the number of removed passages with text."""
    page_rules, is_linked = _rules(page)
    try:
        whole, silent = hidden_nodes(lambda selector: _select(page, selector), page_rules, is_linked=is_linked)
    except TooMuch:
        raise Unreadable(PAGE_STYLE_SHEETS_TOO_LARGE) from None
    hidden = sum(_silence(node) for node in silent if node.tag not in _NOT_SHOWN)
    unseen = [*page.css(_CLOSED), *whole]
    hidden += sum(bool(node.text(strip=True)) for node in unseen)
    for node in unseen:
        node.decompose()
    return hidden


def _select(page: LexborHTMLParser, selector: str) -> Sequence[LexborNode]:
    try:
        return page.css(selector)
    except SelectolaxError as error:
        raise ValueError(selector) from error


def _rules(page: LexborHTMLParser) -> tuple[list[StyleRule], bool]:
    """The rules of the page's own style sheets, and whether it has external ones."""
    page_rules: list[StyleRule] = []
    is_linked = False
    size = 0
    for node in page.css("style,link[href]"):
        sheet = node.text() if node.tag == "style" else _sheet_of_link(node)
        is_linked = is_linked or sheet is None
        size += len(sheet or "")
        if size > _SHEETS:
            raise Unreadable(PAGE_STYLE_SHEETS_TOO_LARGE)
        page_rules += rules(sheet or "", media_holds(node.attributes.get("media") or ""))
    return page_rules, is_linked


def _sheet_of_link(link: LexborNode) -> str | None:
    """The style sheet in the ``data:`` address of a link; ``None`` for an external one."""
    if "stylesheet" not in (link.attributes.get("rel") or "").lower().split():
        return ""
    return data_sheet(link.attributes.get("href") or "")


def _silence(node: LexborNode) -> bool:
    """Remove the text of ``node``, except that of its children; return whether there was any."""
    if node.tag == "img":
        node.decompose()
        return False
    words = [child for child in node.iter(include_text=True) if child.is_text_node]
    had_text = any((child.text_content or "").strip() for child in words)
    for child in words:
        child.decompose()
    return had_text


def _keep_main(page: LexborHTMLParser) -> None:
    body = page.body
    for selector in ("main", "[role=main]", "article"):
        nodes = page.css(selector)
        if body is not None and len(nodes) == 1 and len(nodes[0].text(strip=True)) >= _LEAST:
            html = nodes[0].html or ""
            body.inner_html = html
            break
    _drop(page, _AROUND)


def _resolve_link(link: LexborNode, url: str) -> None:
    """Make the address of a link absolute, or remove the link: one within the page keeps only its text, and one whose
    text is a mere mark, as beside headings, is left out."""
    try:
        target = urljoin(url, (link.attributes.get("href") or "").strip())
        is_known = urlsplit(target).scheme in ("http", "https", "mailto")
    except ValueError:
        is_known, target = False, ""
    is_within = "#" in target and urldefrag(target)[0] == urldefrag(url)[0]
    words = link.text(strip=True)
    if not words or (is_within and words in _MARKS):
        link.decompose()
    elif is_known and not is_within:
        link.attrs["href"] = target
    else:
        link.unwrap()


def _read(job: ReaderJob) -> dict[str, Any]:
    return read_html(job.data.decode(), job.url, job.part)


if __name__ == "__main__":
    answer(_read)
