"""Symptoms of tools in use, their likely causes, and the findings of the rules that match them.

If the log, or the data given with it, lacks the facts for a symptom, the diagnosis reports the gap instead of guessing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tooltrue.check.checking import Finding
from tooltrue.check.doctor.figures import Bounded
from tooltrue.check.doctor.seen import PAUSED, UNKNOWN_TOOL, Seen, Used
from tooltrue.contract.display import display_safe
from tooltrue.wording import sentence

__all__ = ["EXPLAIN", "Diagnosis", "Limits", "Symptom", "diagnose"]

_SHOWN: Final = 3
_FINDINGS: Final = 3
_LOCAL: Final = frozenset({"local", "local:http"})


@dataclass(frozen=True, slots=True)
class Limits:
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
    findings: tuple[Finding, ...] = ()

    def say(self, language: str = "en") -> str:
        return display_safe(sentence(self.code, language, {"tool": self.tool, "count": self.count, **self.facts}))

    def because(self, language: str = "en") -> str:
        """The likely cause, and the remedy."""
        return display_safe(sentence(self.cause, language, self.facts))


@dataclass(frozen=True)
class Diagnosis:
    """The result of a diagnosis. ``unknown`` holds code and facts of a sentence for each gap."""

    seen: Seen
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
    seen: Seen, tools: Sequence[str] | None = None, findings: Iterable[Finding] = (), limits: Limits | None = None
) -> Diagnosis:
    """Diagnose a log that was read to its end. Symptoms are sorted by kind, then by frequency. ``tools`` are the names
    of the existing tools, if known, and ``findings`` those of the rules for these tools."""
    bounds, matching = limits or Limits(), _matching(findings)
    found = [one for tool, used in sorted(seen.tools.items()) for one in _of_tool(tool, used, bounds)]
    found += _never(seen, tools or ())
    found += _signs(seen, bounds)
    ordered = sorted(found, key=lambda one: (_ORDER.index(one.kind), -one.count, one.tool))
    return Diagnosis(seen, tuple(_explained(one, matching) for one in ordered), tuple(_gaps(seen, tools, found)))


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


def _of_tool(tool: str, used: Used, limits: Limits) -> Iterator[Symptom]:
    for judge in (_wrong, _gave_up, _failing, _repeated, _refused, _slow, _large, _old):
        if (found := judge(tool, used, limits)) is not None:
            yield found


def _often(count: int, used: Used, limits: Limits, share: float | None = None) -> bool:
    return count >= limits.least and count >= (limits.share if share is None else share) * used.calls


def _wrong(tool: str, used: Used, limits: Limits) -> Symptom | None:
    count = used.codes.counts["TT2001"]
    if not _often(count, used, limits):
        return None
    where = [f"{path} ({keyword}) {times}×" for (path, keyword), times in used.wrong.counts.most_common(_SHOWN)]
    paths = [path for (path, _), _ in used.wrong.counts.most_common(_SHOWN)]
    facts = {"calls": used.calls, "where": ", ".join(where) or "?", "paths": paths}
    return Symptom("wrong", "TT9850", "TT9870", tool, count, facts)


def _gave_up(tool: str, used: Used, limits: Limits) -> Symptom | None:
    count = used.gave_up.counts.total()
    if not _often(count, used, limits):
        return None
    return Symptom("gave_up", "TT9851", "TT9871", tool, count, {"codes": _most(used.gave_up)})


def _failing(tool: str, used: Used, limits: Limits) -> Symptom | None:
    count = used.outcomes["error"] + used.outcomes["abandoned"]
    if not _often(count, used, limits, limits.failing):
        return None
    codes = Counter({code: times for code, times in used.codes.counts.items() if code not in used.refused.counts})
    said = ", ".join(f"{code} {times}×" for code, times in codes.most_common(_SHOWN)) or "-"
    return Symptom("failing", "TT9852", "TT9872", tool, count, {"calls": used.calls, "codes": said})


def _repeated(tool: str, used: Used, limits: Limits) -> Symptom | None:
    if not _often(used.repeated, used, limits):
        return None
    return Symptom("repeated", "TT9853", "TT9873", tool, used.repeated, {"calls": used.calls})


def _refused(tool: str, used: Used, limits: Limits) -> Symptom | None:
    by = Counter({rule: times for rule, times in used.refused.counts.items() if rule != "TT2001"})
    if not _often(by.total(), used, limits):
        return None
    said = ", ".join(f"{rule or '-'} {times}×" for rule, times in by.most_common(_SHOWN))
    return Symptom("refused", "TT9854", "TT9874", tool, by.total(), {"calls": used.calls, "by": said})


def _slow(tool: str, used: Used, limits: Limits) -> Symptom | None:
    late = used.codes.counts["TT2002"] + used.codes.counts["TT2003"]
    times = {f"p{share}": _time(used.milliseconds.percentile(share / 100)) for share in (50, 95, 99)}
    is_slow = used.milliseconds.count >= limits.least and used.milliseconds.percentile(0.95) >= limits.slow_ms
    if not is_slow and not _often(late, used, limits):
        return None
    return Symptom("slow", "TT9855", "TT9875", tool, used.milliseconds.count, {**times, "late": late})


def _large(tool: str, used: Used, limits: Limits) -> Symptom | None:
    refused = used.codes.counts["TT2006"]
    sizes = {f"p{share}": _size(used.size.percentile(share / 100)) for share in (50, 95)}
    is_large = used.size.count >= limits.least and used.size.percentile(0.95) >= limits.large_bytes
    if not is_large and not _often(refused, used, limits):
        return None
    return Symptom("large", "TT9856", "TT9876", tool, used.size.count, {**sizes, "refused": refused})


def _old(tool: str, used: Used, limits: Limits) -> Symptom | None:
    if not (count := used.called.counts.total()):
        return None
    return Symptom("old", "TT9857", "TT9877", tool, count, {"names": _most(used.called)})


# -- of all tools ------------------------------------------------------------------------------------------------------


def _never(seen: Seen, tools: Sequence[str]) -> Iterator[Symptom]:
    if seen.records:
        for tool in tools:
            if tool not in seen.tools and seen.together:
                yield Symptom("never", "TT9861", "TT9862", tool, 0, {"calls": seen.records, "more": seen.together})
            elif tool not in seen.tools:
                yield Symptom("never", "TT9858", "TT9878", tool, 0, {"calls": seen.records})


def _signs(seen: Seen, limits: Limits) -> Iterator[Symptom]:
    for code, kind, said, cause in (
        (PAUSED, "paused", "TT9859", "TT9879"),
        (UNKNOWN_TOOL, "guessed", "TT9860", "TT9880"),
    ):
        signs = seen.signs.get(code)
        if signs is not None and signs.counts.total() >= limits.least:
            yield Symptom(kind, said, cause, "", signs.counts.total() + signs.left_out, {"who": _most(signs)})


def _most(counted: Bounded[str]) -> str:
    return ", ".join(f"{name or '-'} {times}×" for name, times in counted.counts.most_common(_SHOWN))


def _time(milliseconds: float) -> str:
    return f"{milliseconds / 1e3:.1f} s" if milliseconds >= 1e3 else f"{milliseconds:.0f} ms"


def _size(size: float) -> str:
    return f"{size / 1e3:.0f} kB" if size >= 1e3 else f"{size:.0f} B"


# -- matching findings of the rules ------------------------------------------------------------------------------------

_Match = Callable[[Symptom], Iterable[Finding]]


def _matching(findings: Iterable[Finding]) -> _Match:
    by_tool: dict[str, list[Finding]] = {}
    for finding in findings:
        by_tool.setdefault(finding.tool, []).append(finding)

    def of(symptom: Symptom) -> Iterable[Finding]:
        wanted = EXPLAIN.get(symptom.kind, frozenset[str]())
        every = [one for one in by_tool.get(symptom.tool, ()) if {one.card.name, one.card.group} & wanted]
        near = [one for one in every if _is_near(one, symptom.facts.get("paths", ()))]
        return sorted(near or every, key=lambda one: (-one.level.rank, one.code))

    return of


def _is_near(finding: Finding, paths: Iterable[str]) -> bool:
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
    seen: Seen, tools: Sequence[str] | None, symptoms: Sequence[Symptom]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if tools is None:
        yield "TT9890", {}
    if seen.records and set(seen.principals.counts) <= _LOCAL:
        yield "TT9891", {"who": ", ".join(sorted(seen.principals.counts))}
    if seen.without_place:
        yield "TT9892", {"count": seen.without_place}
    if seen.together:
        yield "TT9897", {"count": seen.together}
    if seen.damaged:
        yield "TT9893", {"count": seen.damaged}
    if seen.tools_left_out or seen.callers_left_out:
        yield "TT9894", {"tools": seen.tools_left_out, "callers": seen.callers_left_out}
    if any(
        "TT2006" in used.codes.counts or used.size.percentile(0.95) >= Limits().large_bytes
        for used in seen.tools.values()
    ):
        yield "TT9895", {}
