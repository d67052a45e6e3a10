"""Documents as text: the type of a body, its decoding, and the process that reads formats other than plain text.

Pages and PDFs are untrusted, and parsers of both have had security holes. So each is read in a process of its own,
which has none of the environment's secrets, limits on memory and time, and ends with the call.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from tooltrue._internal.platform.child_descriptors import keep_descriptors
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.extras import install_command
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.wording import Worded
from tooltrue_toolbox.completion import wait_until_done
from tooltrue_toolbox.distribution import DISTRIBUTION
from tooltrue_toolbox.web.wording import (
    PAGE_UNREADABLE,
    REASON_DOCUMENT_BEYOND_LIMITS,
    REASON_READING_TOO_LONG,
    WEB_EXTRA_MISSING,
)

__all__ = ["Document", "Kind", "Part", "check_installed", "kind_of", "read"]

Kind = Literal["html", "pdf", "text", "other"]
Part = Literal["main", "whole", "source"]

_MODULES = {"html": "tooltrue_toolbox.web.html_reader", "pdf": "tooltrue_toolbox.web.pdf_reader"}
_PACKAGES = ("html_to_markdown", "selectolax", "pypdf", "protego")
_PASSED_ON = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")
_SECONDS = 25.0

_HTML = ("text/html", "application/xhtml+xml")
_TEXTS = ("application/json", "application/xml", "application/yaml", "application/toml", "application/javascript")
_NO_HINT = ("", "application/octet-stream", "text/plain")
_TAG = re.compile(rb"\s*(?:<!--.{0,2000}?-->\s*)?<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE | re.DOTALL)
_META = re.compile(rb"<meta[^>]{0,200}?charset\s{0,5}=\s{0,5}[\"']?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_PARAMETER = re.compile(r";\s*charset\s*=\s*\"?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSETS = re.compile(
    r"utf-8|utf-16(?:-le|-be)?|ascii|cp125[0-8]|cp874|cp866|cp932|cp949|iso8859-\d{1,2}|koi8-[ru]|mac-(?:roman|cyrillic)"
    r"|gb2312|gbk|gb18030|big5|big5hkscs|shift_jis|euc_jp|iso2022_jp|euc_kr|tis-620"
)
"""Names as in :mod:`codecs`. Other codecs decode no text, or cost more than they are worth."""


@dataclass(frozen=True, slots=True)
class Document:
    """The content of a document. Passages that are ``hidden`` from a viewer are left out and counted."""

    text: str
    title: str = ""
    pages: int = 0
    hidden: int = 0


def check_installed() -> None:
    """``ConfigurationError`` where the packages that read documents are missing."""
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        raise ConfigurationError.of(
            WEB_EXTRA_MISSING, packages=", ".join(missing), command=install_command("web", DISTRIBUTION)
        )


def kind_of(content_type: str, body: bytes) -> Kind:
    """The kind of ``body``. Its content decides where the header says nothing certain."""
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in _HTML:
        return "html"
    if media_type == "application/pdf" or (media_type in _NO_HINT and body.startswith(b"%PDF-")):
        return "pdf"
    if media_type in _NO_HINT and media_type != "text/plain" and _TAG.match(body):
        return "html"
    is_text = (
        media_type.startswith("text/")
        or media_type in _TEXTS
        or media_type.endswith(("+json", "+xml"))
        or media_type in _NO_HINT
    )
    return "text" if is_text and not _is_binary(body) else "other"


def _is_binary(body: bytes) -> bool:
    return b"\0" in body[:4096] and not any(body.startswith(mark) for mark, _ in _MARKS)


def _text_of(content_type: str, body: bytes, *, is_page: bool) -> str:
    """The text of ``body``, decoded by its byte order mark, its header, the page's own declaration, or else as UTF-8;
    then as Windows-1252, as browsers do."""
    for mark, charset in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(charset, "replace")
    parameter = _PARAMETER.search(content_type)
    in_page = _META.search(body[:4096]) if is_page else None
    for name in (parameter[1] if parameter else "", in_page[1].decode("ascii") if in_page else ""):
        with contextlib.suppress(LookupError, ValueError):
            if name and _CHARSETS.fullmatch(codecs.lookup(name).name):
                return body.decode(name, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


async def read(kind: Kind, content_type: str, body: bytes, url: str, part: Part) -> Document:
    """The text of a document. ``ToolError`` for one that cannot be read."""
    if kind == "pdf":
        return await _read_apart("pdf", body, url, part)
    text = _text_of(content_type, body, is_page=kind == "html").replace("\0", "\ufffd")
    if kind == "html" and part != "source":
        return await _read_apart("html", text.encode(errors="replace"), url, part)
    return Document(text)


async def _read_apart(kind: str, data: bytes, url: str, part: Part) -> Document:
    job = encode({"url": url, "part": part}) + b"\n" + data
    keep_descriptors()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", _MODULES[kind]),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        cwd="/",
    )
    try:
        async with asyncio.timeout(_SECONDS):
            output, _ = await process.communicate(job)
    except TimeoutError:
        raise ToolError.of(PAGE_UNREADABLE, url=url, problem=Worded(REASON_READING_TOO_LONG, {})) from None
    finally:
        if process.returncode is None:
            process.kill()
            await wait_until_done(lambda: process.returncode is not None, process.wait)
    if not output:
        raise ToolError.of(PAGE_UNREADABLE, url=url, problem=Worded(REASON_DOCUMENT_BEYOND_LIMITS, {}))
    made: dict[str, Any] = decode(output)
    if "code" in made:
        raise ToolError.of(made["code"], url=url)
    if "problem" in made:
        raise ToolError.of(PAGE_UNREADABLE, url=url, problem=made["problem"])
    return Document(**made)
