"""Self-contained HTML pages without scripts or network access; quoted text is always escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from tooltrue.contract.display import display_safe

__all__ = ["page", "safe"]

_STYLE: Final = """\
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse}td,th{text-align:start;padding:.3rem .6rem;border-bottom:1px solid #8884}
td.n,th.n{text-align:end}.wide{overflow-x:auto}code{overflow-wrap:anywhere}svg text{fill:currentColor;font-size:13px}
"""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, language: str, body: Iterable[str], style: str = "") -> str:
    """Build a complete page. ``body`` is HTML and ``style`` CSS; neither may contain untrusted text."""
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="{language}"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{safe(title)}</title><style>{_STYLE}{style}</style></head><body>",
            f"<h1>{safe(title)}</h1>",
            *body,
            "</body></html>",
            "",
        ]
    )


def safe(text: str) -> str:
    """Escape untrusted text for HTML."""
    return escape(display_safe(text))
