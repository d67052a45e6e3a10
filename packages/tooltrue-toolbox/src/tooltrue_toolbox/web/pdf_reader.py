"""Extracts the text of an untrusted PDF. Runs in a process of its own (``document_reader.py`` starts it). Owner of
pypdf."""

from __future__ import annotations

import io
from typing import Any

import pypdf

from tooltrue_toolbox.web.child import TEXT, ReaderJob, answer

__all__ = ["read_pdf"]

PAGES = 2000
"""The most pages that are read."""


def read_pdf(data: bytes) -> dict[str, Any]:
    """The text of each page, after a line with its number."""
    pdf = pypdf.PdfReader(io.BytesIO(data))
    if pdf.is_encrypted and not pdf.decrypt(""):
        return {"problem": "it is encrypted"}
    texts, size = list[str](), 0
    for number, page in enumerate(pdf.pages[:PAGES], 1):
        texts.append(f"[page {number}]\n{page.extract_text().strip()}")
        size += len(texts[-1])
        if size > TEXT:
            break
    title = str(pdf.metadata.title or "") if pdf.metadata is not None else ""
    return {"title": title[:300], "text": "\n\n".join(texts)[:TEXT], "pages": len(pdf.pages), "hidden": 0}


def _read(job: ReaderJob) -> dict[str, Any]:
    return read_pdf(job.data)


if __name__ == "__main__":
    answer(_read)
