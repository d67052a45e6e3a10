"""Symptoms of tools in use, their likely causes, and the findings of the rules that match them.

If the log, or the data given with it, lacks the facts for a symptom, the diagnosis reports the gap instead of guessing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tooltrue.contract.display import display_safe
from tooltrue.policy.wording import TOOL_RESULT_TOO_LARGE, TOOL_TIMEOUT_STILL_RUNNING, TOOL_TIMEOUT_STOPPED
from tooltrue.tools.wording import TOOL_ARGUMENTS_INVALID
from tooltrue.wording import sentence
from tooltrue_check.doctor.counters import Bounded
from tooltrue_check.doctor.log_figures import PAUSED, UNKNOWN_TOOL, LogFigures, ToolFigures
from tooltrue_check.findings import RuleFinding
from tooltrue_check.wording import (
    ADVICE_ALIAS_RENAMED_TOOLS,
    ADVICE_CHECK_COUNTED_REFUSALS,
    ADVICE_CONFIRM_COMPLETION,
    ADVICE_INSPECT_CALLER,
    ADVICE_INVESTIGATE_FAILURES,
    ADVICE_KEEP_OLD_NAME,
    ADVICE_NAME_NEXT_STEP,
    ADVICE_NARROW_SCHEMA,
    ADVICE_REDUCE_RESULT,
    ADVICE_REDUCE_WORK,
    ADVICE_SHARPEN_DESCRIPTION,
    ADVICE_STATE_RULE,
    CAVEAT_ARGUMENT_PATHS_MISSING,
    CAVEAT_CALLERS_INDISTINCT,
    CAVEAT_RECORDS_UNREADABLE,
    CAVEAT_REFUSALS_WITHOUT_TOOL,
    CAVEAT_STATISTICS_INCOMPLETE,
    CAVEAT_TRUNCATION_NOT_RECORDED,
    CAVEAT_UNCALLED_TOOLS_UNKNOWN,
    SYMPTOM_ARGUMENTS_INVALID,
    SYMPTOM_CALLERS_GAVE_UP,
    SYMPTOM_CALLS_FAILED,
    SYMPTOM_CALLS_REFUSED,
    SYMPTOM_CALLS_REPEATED,
    SYMPTOM_LARGE_RESULTS,
    SYMPTOM_OLD_NAME_USED,
    SYMPTOM_PAUSED_CALLERS,
    SYMPTOM_SLOW_ANSWERS,
    SYMPTOM_TOOL_NEVER_CALLED,
    SYMPTOM_TOOL_NOT_RECORDED,
    SYMPTOM_UNKNOWN_TOOLS_CALLED,
)

__all__ = ["EXPLAIN", "Diagnosis", "Symptom", "SymptomLimits", "diagnose"]

_MAX_NAMED: Final = 3
_FINDINGS: Final = 3
_LOCAL: Final = frozenset({"local", "local:http"})


@dataclass(frozen=True, slots=True)
class SymptomLimits:
    """Thresholds of symptoms: a minimum count ``least`` and a minimum ``share`` of the calls of a tool; a time of
    ``slow_ms`` or a result of ``large_bytes`` at the 95th percentile."""

    least: int = 3
    share: float = 0.02
    failing: float = 0.2
    slow_ms: float = 5_000.0
    large_bytes: float = 100_000.0


@dataclass(frozen=True)
class Symptom:
    """One symptom. ``kind`` is its name, ``count`` its frequency, ``cause`` the code of the sentence on its likely
    cause. ``tool`` is empty if it does not concern one tool."""

    kind: str
    code: str
    cause: str
    tool: str = ""
    count: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    findings: tuple[RuleFinding, ...] = ()

    def say(self, language: str = "en") -> str:
        return display_safe(sentence(self.code, language, {"tool": self.tool, "count": self.count, **self.facts}))

    def because(self, language: str = "en") -> str:
        """The likely cause, and the remedy."""
        return display_safe(sentence(self.cause, language, self.facts))


@dataclass(frozen=True)
class Diagnosis:
    """The result of a diagnosis. ``unknown`` holds code and facts of a sentence for each gap."""

    figures: LogFigures
    symptoms: tuple[Symptom, ...]
    unknown: tuple[tuple[str, Mapping[str, Any]], ...]

    def gaps(self, language: str = "en") -> list[str]:
        return [display_safe(sentence(code, language, facts)) for code, facts in self.unknown]


# The rules whose findings explain a symptom, by name or group of their cards.
EXPLAIN: Final[Mapping[str, frozenset[str]]] = {
    "never": frozenset({"name", "neighbours", "no_description", "short_description", "vague_description", "no_when"})
    | {"only_its_name", "same_description"},
    "wrong": frozenset({"parameter", "strictness", "accuracy", "shape", "arguments_in_description"}),
    "repeated": frozenset({"no_result", "no_limits", "no_when"}),
    "gave_up": frozenset({"no_limits", "no_result", "no_when"}),
    "failing": frozenset({"no_limits", "hedge"}),
    "slow": frozenset({"no_limits", "no_result"}),
    "large": frozenset({"no_limits", "no_result"}),
    "refused": frozenset({"no_effects", "annotations"}),
}


def diagnose(
    figures: LogFigures,
    tools: Sequence[str] | None = None,
    findings: Iterable[RuleFinding] = (),
    limits: SymptomLimits | None = None,
) -> Diagnosis:
    """Diagnose a log that was read to its end. Symptoms are sorted by kind, then by frequency. ``tools`` are the names
    of the existing tools, if known, and ``findings`` those of the rules for these tools."""
    bounds, matching = limits or SymptomLimits(), _matching(findings)
    symptoms = [one for tool, use in sorted(figures.tools.items()) for one in _of_tool(tool, use, bounds)]
    symptoms += _never(figures, tools or ())
    symptoms += _signs(figures, bounds)
    ordered = sorted(symptoms, key=lambda one: (_ORDER.index(one.kind), -one.count, one.tool))
    return Diagnosis(
        figures, tuple(_explained(one, matching) for one in ordered), tuple(_gaps(figures, tools, symptoms))
    )


_ORDER: Final = (
    "paused",
    "guessed",
    "wrong",
    "gave_up",
    "failing",
    "repeated",
    "refused",
    "slow",
    "large",
    "never",
    "old",
)


# -- of one tool -------------------------------------------------------------------------------------------------------


def _of_tool(tool: str, use: ToolFigures, limits: SymptomLimits) -> Iterator[Symptom]:
    for judge in (_wrong, _gave_up, _failing, _repeated, _refused, _slow, _large, _old):
        if (symptom := judge(tool, use, limits)) is not None:
            yield symptom


def _often(count: int, use: ToolFigures, limits: SymptomLimits, share: float | None = None) -> bool:
    return count >= limits.least and count >= (limits.share if share is None else share) * use.calls


def _wrong(tool: str, use: ToolFigures, limits: SymptomLimits) -> Symptom | None:
    count = use.codes.counts[TOOL_ARGUMENTS_INVALID]
    if not _often(count, use, limits):
        return None
    where = [f"{path} ({keyword}) {times}×" for (path, keyword), times in use.wrong.counts.most_common(_MAX_NAMED)]
    paths = [path for (path, _), _ in use.wrong.counts.most_common(_MAX_NAMED)]
    facts = {"calls": use.calls, "where": ", ".join(where) or "?", "paths": paths}
    return Symptom("wrong", SYMPTOM_ARGUMENTS_INVALID, ADVICE_NARROW_SCHEMA, tool, count, facts)


def _gave_up(tool: str, use: ToolFigures, limits: SymptomLimits) -> Symptom | None:
    count = use.gave_up.counts.total()
    if not _often(count, use, limits):
        return None
    return Symptom(
        "gave_up", SYMPTOM_CALLERS_GAVE_UP, ADVICE_NAME_NEXT_STEP, tool, count, {"codes": _most(use.gave_up)}
    )


def _failing(tool: str, use: ToolFigures, limits: SymptomLimits) -> Symptom | None:
    count = use.outcomes["error"] + use.outcomes["abandoned"]
    if not _often(count, use, limits, limits.failing):
        return None
    codes = Counter({code: times for code, times in use.codes.counts.items() if code not in use.refused.counts})
    by_code = ", ".join(f"{code} {times}×" for code, times in codes.most_common(_MAX_NAMED)) or "-"
    return Symptom(
        "failing",
        SYMPTOM_CALLS_FAILED,
        ADVICE_INVESTIGATE_FAILURES,
        tool,
        count,
        {"calls": use.calls, "codes": by_code},
    )


def _repeated(tool: str, use: ToolFigures, limits: SymptomLimits) -> Symptom | None:
    if not _often(use.repeated, use, limits):
        return None
    return Symptom(
        "repeated", SYMPTOM_CALLS_REPEATED, ADVICE_CONFIRM_COMPLETION, tool, use.repeated, {"calls": use.calls}
    )


def _refused(tool: str, use: ToolFigures, limits: SymptomLimits) -> Symptom | None:
    by = Counter({rule: times for rule, times in use.refused.counts.items() if rule != TOOL_ARGUMENTS_INVALID})
    if not _often(by.total(), use, limits):
        return None
    by_rule = ", ".join(f"{rule or '-'} {times}×" for rule, times in by.most_common(_MAX_NAMED))
    return Symptom(
        "refused", SYMPTOM_CALLS_REFUSED, ADVICE_STATE_RULE, tool, by.total(), {"calls": use.calls, "by": by_rule}
    )


def _slow(tool: str, use: ToolFigures, limits: SymptomLimits) -> Symptom | None:
    late = use.codes.counts[TOOL_TIMEOUT_STOPPED] + use.codes.counts[TOOL_TIMEOUT_STILL_RUNNING]
    times = {f"p{share}": _time(use.milliseconds.percentile(share / 100)) for share in (50, 95, 99)}
    is_slow = use.milliseconds.count >= limits.least and use.milliseconds.percentile(0.95) >= limits.slow_ms
    if not is_slow and not _often(late, use, limits):
        return None
    return Symptom(
        "slow", SYMPTOM_SLOW_ANSWERS, ADVICE_REDUCE_WORK, tool, use.milliseconds.count, {**times, "late": late}
    )


def _large(tool: str, use: ToolFigures, limits: SymptomLimits) -> Symptom | None:
    refused = use.codes.counts[TOOL_RESULT_TOO_LARGE]
    sizes = {f"p{share}": _size(use.size.percentile(share / 100)) for share in (50, 95)}
    is_large = use.size.count >= limits.least and use.size.percentile(0.95) >= limits.large_bytes
    if not is_large and not _often(refused, use, limits):
        return None
    return Symptom(
        "large", SYMPTOM_LARGE_RESULTS, ADVICE_REDUCE_RESULT, tool, use.size.count, {**sizes, "refused": refused}
    )


def _old(tool: str, use: ToolFigures, limits: SymptomLimits) -> Symptom | None:
    if not (count := use.called.counts.total()):
        return None
    return Symptom("old", SYMPTOM_OLD_NAME_USED, ADVICE_KEEP_OLD_NAME, tool, count, {"names": _most(use.called)})


# -- of all tools ------------------------------------------------------------------------------------------------------


def _never(figures: LogFigures, tools: Sequence[str]) -> Iterator[Symptom]:
    if figures.records:
        for tool in tools:
            if tool not in figures.tools and figures.together:
                yield Symptom(
                    "never",
                    SYMPTOM_TOOL_NOT_RECORDED,
                    ADVICE_CHECK_COUNTED_REFUSALS,
                    tool,
                    0,
                    {"calls": figures.records, "more": figures.together},
                )
            elif tool not in figures.tools:
                yield Symptom(
                    "never", SYMPTOM_TOOL_NEVER_CALLED, ADVICE_SHARPEN_DESCRIPTION, tool, 0, {"calls": figures.records}
                )


def _signs(figures: LogFigures, limits: SymptomLimits) -> Iterator[Symptom]:
    for code, kind, sentence_code, cause in (
        (PAUSED, "paused", SYMPTOM_PAUSED_CALLERS, ADVICE_INSPECT_CALLER),
        (UNKNOWN_TOOL, "guessed", SYMPTOM_UNKNOWN_TOOLS_CALLED, ADVICE_ALIAS_RENAMED_TOOLS),
    ):
        signs = figures.signs.get(code)
        if signs is not None and signs.counts.total() >= limits.least:
            yield Symptom(kind, sentence_code, cause, "", signs.counts.total() + signs.left_out, {"who": _most(signs)})


def _most(counter: Bounded[str]) -> str:
    return ", ".join(f"{name or '-'} {times}×" for name, times in counter.counts.most_common(_MAX_NAMED))


def _time(milliseconds: float) -> str:
    return f"{milliseconds / 1e3:.1f} s" if milliseconds >= 1e3 else f"{milliseconds:.0f} ms"


def _size(size: float) -> str:
    return f"{size / 1e3:.0f} kB" if size >= 1e3 else f"{size:.0f} B"


# -- matching findings of the rules ------------------------------------------------------------------------------------

_Match = Callable[[Symptom], Iterable[RuleFinding]]


def _matching(findings: Iterable[RuleFinding]) -> _Match:
    by_tool: dict[str, list[RuleFinding]] = {}
    for finding in findings:
        by_tool.setdefault(finding.tool, []).append(finding)

    def of(symptom: Symptom) -> Iterable[RuleFinding]:
        rules_or_groups = EXPLAIN.get(symptom.kind, frozenset[str]())
        every = [one for one in by_tool.get(symptom.tool, ()) if {one.card.name, one.card.group} & rules_or_groups]
        near = [one for one in every if _is_near(one, symptom.facts.get("paths", ()))]
        return sorted(near or every, key=lambda one: (-one.level.rank, one.code))

    return of


def _is_near(finding: RuleFinding, paths: Iterable[str]) -> bool:
    """Whether a finding concerns an argument that was wrong in calls."""
    names = {path.split(".")[-1].removesuffix("[]") for path in paths}
    return any(step in names for step in finding.problem.path if isinstance(step, str))


def _explained(symptom: Symptom, matching: _Match) -> Symptom:
    findings = tuple(matching(symptom))[:_FINDINGS]
    facts = {name: value for name, value in symptom.facts.items() if name != "paths"}
    return Symptom(symptom.kind, symptom.code, symptom.cause, symptom.tool, symptom.count, facts, findings)


_Gap = tuple[str, Mapping[str, Any]]


# -- gaps --------------------------------------------------------------------------------------------------------------


def _gaps(
    figures: LogFigures, tools: Sequence[str] | None, symptoms: Sequence[Symptom]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if tools is None:
        yield CAVEAT_UNCALLED_TOOLS_UNKNOWN, {}
    if figures.records and set(figures.principals.counts) <= _LOCAL:
        yield CAVEAT_CALLERS_INDISTINCT, {"who": ", ".join(sorted(figures.principals.counts))}
    if figures.without_place:
        yield CAVEAT_ARGUMENT_PATHS_MISSING, {"count": figures.without_place}
    if figures.together:
        yield CAVEAT_REFUSALS_WITHOUT_TOOL, {"count": figures.together}
    if figures.damaged:
        yield CAVEAT_RECORDS_UNREADABLE, {"count": figures.damaged}
    if figures.tools_left_out or figures.callers_left_out:
        yield CAVEAT_STATISTICS_INCOMPLETE, {"tools": figures.tools_left_out, "callers": figures.callers_left_out}
    if any(
        TOOL_RESULT_TOO_LARGE in use.codes.counts or use.size.percentile(0.95) >= SymptomLimits().large_bytes
        for use in figures.tools.values()
    ):
        yield CAVEAT_TRUNCATION_NOT_RECORDED, {}
