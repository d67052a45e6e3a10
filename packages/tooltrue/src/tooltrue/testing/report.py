"""The findings of a test run, as values, as text for a person and as JSON for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tooltrue.testing.wording import LABEL_MORE_FINDINGS
from tooltrue.wording import sentence

__all__ = ["SECTIONS", "Finding", "Report", "Status", "failed", "not_run", "passed"]

Status: TypeAlias = Literal["passed", "failed", "not run"]

SECTIONS = ("functional", "integration", "security", "performance", "error handling")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check for one tool, or for the whole server (``tool`` is ``None``).

    ``code`` and ``facts`` say why it failed or was not run; ``figures`` are counts or measurements.
    """

    status: Status
    tool: str | None = None
    code: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    section: str = ""
    check: str = ""

    def say(self, language: str = "en") -> str:
        """The reason in ``language`` (``en`` or ``zh``) with its code, or the figures."""
        if self.code:
            return f"{sentence(self.code, language, self.facts)} [{self.code}]"
        return ", ".join(f"{name} {_number(value)}" for name, value in self.figures.items())


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3g}" if value < 1_000 else f"{value:.0f}"


def passed(tool: str | None = None, /, **figures: float) -> Finding:
    return Finding("passed", tool, figures=figures)


def failed(code: str, tool: str | None = None, /, **facts: Any) -> Finding:
    return Finding("failed", tool, code, facts)


def not_run(code: str, tool: str | None = None, /, **facts: Any) -> Finding:
    return Finding("not run", tool, code, facts)


@dataclass(frozen=True, slots=True)
class Report:
    """The findings of a run. ``server`` and ``revision`` are as the server reports them; ``seed`` repeats the run."""

    server: str
    revision: str
    seed: int
    findings: tuple[Finding, ...]

    @property
    def failures(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.status == "failed")

    @property
    def ok(self) -> bool:
        """Whether no check failed. Checks that were not run do not count."""
        return not self.failures

    def text(self, language: str = "en") -> str:
        """By section, a line for each kind of finding in each tool, failures first; ``as_json`` lists them one by
        one."""
        return "\n".join(self._lines(language))

    def _lines(self, language: str) -> Iterator[str]:
        yield f"{self.server or '(unnamed)'}, {self.revision}, seed {self.seed}"
        width = max((len(_subject(finding)) for finding in self.findings), default=0)
        for section in SECTIONS:
            findings = [finding for finding in self.findings if finding.section == section]
            yield f"\n{section}: {_status_counts(findings)}"
            for alike in _kinds(findings):
                text = "\n".ljust(width + 14).join(_group_text(alike, language).splitlines())
                yield f"  {_MARKS[alike[0].status]:<8} {_subject(alike[0]):<{width}}  {text}".rstrip()
        yield f"\nall: {_status_counts(self.findings)}"

    def as_json(self, language: str = "en") -> dict[str, Any]:
        """Plain JSON values: sections in order, each with its findings."""
        return {
            "ok": self.ok,
            "server": self.server,
            "revision": self.revision,
            "seed": self.seed,
            "sections": {
                section: [_as_json(finding, language) for finding in self.findings if finding.section == section]
                for section in SECTIONS
            },
        }


def _kinds(findings: Sequence[Finding]) -> Iterable[Sequence[Finding]]:
    """Group findings of one kind in one tool, so that many of one kind do not hide the others; failures first."""
    kinds: dict[tuple[str, ...], list[Finding]] = {}
    for one in sorted(findings, key=lambda one: one.status != "failed"):
        kind = (one.status, one.check, one.tool or "", one.code or one.say())
        kinds.setdefault(kind, []).append(one)
    return kinds.values()


def _group_text(alike: Sequence[Finding], language: str) -> str:
    """The first finding, and the number of others."""
    if len(alike) == 1:
        return alike[0].say(language)
    more = sentence(LABEL_MORE_FINDINGS, language, {"count": len(alike) - 1})
    return f"{alike[0].say(language)} {more}"


_MARKS = {"passed": "ok", "failed": "FAILED", "not run": "not run"}


def _subject(finding: Finding) -> str:
    return f"{finding.check}: {finding.tool}" if finding.tool else finding.check


def _status_counts(findings: tuple[Finding, ...] | list[Finding]) -> str:
    counts = Counter(finding.status for finding in findings)
    return f"{counts['passed']} ok, {counts['failed']} failed, {counts['not run']} not run"


def _as_json(finding: Finding, language: str) -> dict[str, Any]:
    data: dict[str, Any] = {"check": finding.check, "status": finding.status}
    if finding.tool is not None:
        data["tool"] = finding.tool
    if finding.code:
        data |= {"code": finding.code, "message": finding.say(language)}
    return {**data, "figures": dict(finding.figures)} if finding.figures else data
