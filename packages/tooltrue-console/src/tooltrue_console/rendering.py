"""Pages from templates. Owns jinja2.

Every text that a template writes is escaped twice: characters that are invisible, or turn the direction of text, become
visible, and then the text is escaped for HTML. A template marks no text as safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from tooltrue.policy.consent.argument_display import display_arguments, display_text
from tooltrue.protocol.terminal import printable
from tooltrue_console.phrases import phrase

__all__ = ["render"]


def _visible(value: Any) -> Any:
    """A text with its hidden characters escaped. Text that Jinja has escaped itself is of a type of its own."""
    return printable(value) if type(value) is str else value


class _EnteredText(str):
    """A text that a form sends back as it is: its hidden characters stay. Only a person's own entries are shown so."""

    __slots__ = ()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["as_entered"] = _EnteredText
    made.filters["moment"] = _moment
    made.filters["in_full"] = display_arguments
    made.filters["shown"] = display_text
    return made


_TEMPLATES: Final = _environment()


def render(template: str, language: str, values: Mapping[str, Any]) -> str:
    """The HTML of a template. ``t(NAME)`` in it is a phrase in ``language``."""
    return _TEMPLATES.get_template(template).render(values, t=partial(phrase, language=language), language=language)
