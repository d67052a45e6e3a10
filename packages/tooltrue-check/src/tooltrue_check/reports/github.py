"""A report as annotations of GitHub Actions: one workflow command per finding, with its line if known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tooltrue.contract.display import display_safe
from tooltrue_check.card import Level
from tooltrue_check.findings import RuleFinding
from tooltrue_check.report import CheckReport

__all__ = ["render"]

_COMMANDS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.HINT: "notice"}


def render(report: CheckReport, language: str) -> str:
    return "".join(f"{line}\n" for line in _lines(report, language))


def _lines(report: CheckReport, language: str) -> Iterator[str]:
    for group in report.groups:
        yield from (_annotation(report, finding, language) for finding in group.findings)
    for one in report.unjudged:
        yield f"::error::{_text(display_safe(f'{one.target}: {one.reason.say(language)}'))}"


def _annotation(report: CheckReport, finding: RuleFinding, language: str) -> str:
    at = report.place(finding)
    properties = {"file": Path(at.file).as_posix(), "line": str(at.line)} if at else {}
    properties["title"] = f"{finding.code} {display_safe(finding.tool)}"
    property_list = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    text = f"{finding.place}: {finding.say(language)}\n{finding.instead(language)}"
    return f"::{_COMMANDS[finding.level]} {property_list}::{_text(text)}"


def _text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _text(text).replace(":", "%3A").replace(",", "%2C")
