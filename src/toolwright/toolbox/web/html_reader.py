"""Somebody else's page, read: HTML as Markdown. Runs in a process of its own (``reading.py`` starts it). Owner of
html-to-markdown and selectolax.

What a reader of the page would not see is not in the text: comments, scripts, what a style hides. Pictures are told by
what they show, without their address, and links to anything but the web and mail are their words alone.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin, urlsplit

import html_to_markdown
from selectolax.lexbor import LexborHTMLParser, LexborNode

from toolwright.toolbox.web.child import TEXT, Job, answer

__all__ = ["read_html"]

_NO_TEXT = "script,style,noscript,template,iframe,frame,object,embed,svg,canvas,audio,video,input,select,textarea,head"
_AROUND = "nav,footer,aside,form,button,dialog"
_HIDES = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|opacity:0(?:\.0+)?(?![.\d])|font-size:0(?![.\d]*[1-9])"
    r"|(?:text-indent|left|top|margin-left|margin-top|right):-\d{3,}|clip:rect\(0|clip-path:inset\((?:50|100)%"
    r"|color:transparent|(?<![-\w])(?:width|height):0(?:px)?(?:;|$)"
)
_BLANKS = re.compile(r"\s+")
_LEAST = 200
"""Characters that the main part of a page has; with fewer it is none."""


def read_html(text: str, url: str, part: str) -> dict[str, Any]:
    """``part``: ``main`` leaves out what stands around the text of a page, ``whole`` does not."""
    page = LexborHTMLParser(text)
    base = page.css_first("base[href]")
    url = urljoin(url, (base.attributes.get("href") or "") if base is not None else "")
    title = page.css_first("title")
    name = _BLANKS.sub(" ", title.text()).strip()[:300] if title is not None else ""
    _drop(page, _NO_TEXT)
    hidden = _drop_hidden(page)
    if part == "main":
        _keep_main(page)
    for image in page.css("img"):
        shown = _BLANKS.sub(" ", image.attributes.get("alt") or "").strip()
        image.replace_with(f"[image: {shown}]" if shown else "")
    for link in page.css("a[href]"):
        _settle(link, url)
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
    """Takes out what nobody sees who looks at the page; how many passages with words that were."""
    unseen = [*page.css("[hidden]"), *(node for node in page.css("[style]") if _is_hidden(node))]
    hidden = sum(bool(node.text(strip=True)) for node in unseen)
    for node in unseen:
        node.decompose()
    return hidden


def _is_hidden(node: LexborNode) -> bool:
    style = _BLANKS.sub("", node.attributes.get("style") or "").lower()
    return _HIDES.search(style) is not None


def _keep_main(page: LexborHTMLParser) -> None:
    body = page.body
    for selector in ("main", "[role=main]", "article"):
        found = page.css(selector)
        if body is not None and len(found) == 1 and len(found[0].text(strip=True)) >= _LEAST:
            kept = found[0].html or ""
            body.inner_html = kept
            break
    _drop(page, _AROUND)


def _settle(link: LexborNode, url: str) -> None:
    """An address that a reader of the text can use, or none."""
    try:
        target = urljoin(url, (link.attributes.get("href") or "").strip())
        is_known = urlsplit(target).scheme in ("http", "https", "mailto")
    except ValueError:
        is_known, target = False, ""
    if is_known:
        link.attrs["href"] = target
    else:
        link.unwrap()


def _read(job: Job) -> dict[str, Any]:
    return read_html(job.data.decode(), job.url, job.part)


if __name__ == "__main__":
    answer(_read)
