"""What clients and providers make of tools: for each of them a column, and in it a verdict on each tool.

What one of them accepts is a profile of ``contract/profiles``; what becomes of a definition there,
``contract/portable``. A column asks what happens to tools as they are published, without us between: a client that
mends a name itself changes it, one that leaves a tool out hides it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Final

from toolwright.check.card import Level
from toolwright.check.report import Unjudged
from toolwright.check.source import Source
from toolwright.check.tokens import estimated
from toolwright.contract.contract import Definition
from toolwright.contract.portable import Adjustment, Fitted, Quarantined, alias, check, fit, joined, legal
from toolwright.contract.profile import Profile
from toolwright.jsonrpc.messages import encode

__all__ = ["Column", "Matrix", "Outcome", "Verdict", "matrix"]


class Outcome(Enum):
    """What becomes of a tool, from the best to the worst."""

    ACCEPTED = "accepted"
    CHANGED = "changed"
    """It is accepted once what is listed has been changed: a client does that itself, for a provider a client does."""
    CUT = "cut"
    """It can be used, and its description ends before its end."""
    REJECTED = "rejected"
    """Nothing that keeps its meaning would be accepted."""
    UNSEEN = "unseen"
    """It is left out without a word: a model never hears of it."""


_GONE: Final = (Outcome.REJECTED, Outcome.UNSEEN)
_NAME: Final = ("name_characters", "name_first", "name_length", "name_is_mended")
_SCHEMA: Final = (
    "refused",
    "references",
    "type_lists",
    "const",
    "text_enums",
    "items_needed",
    "types_needed",
    "type_beside_alternatives",
    "top_level_alternatives",
)
_NOT_NAME: Final = (*_SCHEMA, "description_length")
_SETTINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "TW9060": _NAME,
    "TW9061": ("description_length", "description_is_cut"),
    "TW9067": (),
    "TW9068": (),
    "TW9069": ("tools",),
    "TW9830": ("name_length", "name_is_left_out"),
    "TW9831": ("definition_tokens",),
    "TW9832": _NAME,
}
"""What a change is made for; a schema's settings where it is not said."""
_HARMLESS: Final = frozenset({"TW9062", "TW9063"})


def _is_known(profile: Profile, changes: Iterable[Adjustment]) -> bool:
    """Whether every fact that these rest on was read at its source."""
    return all(profile.knows(*_SETTINGS.get(one.code, _SCHEMA)) for one in changes)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of one tool. ``name`` is what a model would call it, whether that is accepted or not; ``lost`` is
    the end of the description that it does not see; ``is_known``: all facts behind this were read at their sources."""

    server: str
    tool: str
    outcome: Outcome
    name: str
    changes: tuple[Adjustment, ...] = ()
    lost: str = ""
    tokens: int = 0
    is_known: bool = True

    @property
    def level(self) -> Level | None:
        """How bad that is, if at all. What is only believed is never an error; a schema that is said otherwise, or more
        weakly, is no more than a hint, for calls are judged by the whole one."""
        if self.outcome is Outcome.ACCEPTED:
            return None
        if self.outcome in _GONE:
            return Level.ERROR if self.is_known else Level.WARNING
        return Level.HINT if {one.code for one in self.changes} <= _HARMLESS else Level.WARNING


@dataclass(frozen=True)
class Column:
    """All tools as one client or provider takes them."""

    profile: Profile
    verdicts: tuple[Verdict, ...]

    @cached_property
    def counts(self) -> Mapping[Outcome, int]:
        found = Counter(one.outcome for one in self.verdicts)
        return {outcome: found[outcome] for outcome in Outcome}

    @property
    def tools(self) -> int:
        """How many it would have to take."""
        return sum(one.outcome not in _GONE for one in self.verdicts)

    @cached_property
    def tokens(self) -> int:
        """About how many tokens the definitions are that it would have to take."""
        return sum(one.tokens for one in self.verdicts)

    @property
    def longest(self) -> int:
        """The length of the longest name."""
        return max((len(one.name) for one in self.verdicts), default=0)

    @cached_property
    def notes(self) -> tuple[tuple[Level, Adjustment], ...]:
        """What is wrong with all of them together."""
        found = check(self.profile, self.tools)
        too_many = [(Level.ERROR if _is_known(self.profile, found) else Level.WARNING, one) for one in found]
        limit = self.profile.definition_tokens
        if limit is None or self.tokens <= limit:
            return tuple(too_many)
        facts = {"count": self.tokens, "limit": limit, "profile": self.profile.title}
        return (*too_many, (Level.HINT, Adjustment("TW9831", (), facts)))

    @property
    def levels(self) -> Iterable[Level]:
        yield from (level for one in self.verdicts if (level := one.level))
        yield from (level for level, _ in self.notes)


@dataclass(frozen=True)
class Matrix:
    """The tools of all sources, in a column for each profile."""

    sources: tuple[Source, ...]
    columns: tuple[Column, ...]
    unjudged: tuple[Unjudged, ...] = field(default=())

    @property
    def tools(self) -> int:
        return sum(len(one.contract.tools) for one in self.sources)

    @cached_property
    def rows(self) -> Sequence[tuple[Verdict, ...]]:
        """The verdicts of all profiles on each tool."""
        return list(zip(*(column.verdicts for column in self.columns), strict=True))

    @property
    def levels(self) -> Mapping[Level, int]:
        counts = Counter(level for column in self.columns for level in column.levels)
        return {level: counts[level] for level in (Level.ERROR, Level.WARNING, Level.HINT)}

    def fails(self, least: Level | None) -> bool:
        """Whether something is as bad as ``least``, or worse."""
        return least is not None and any(count and level.rank >= least.rank for level, count in self.levels.items())


def matrix(sources: Sequence[Source], profiles: Iterable[Profile], unjudged: Sequence[Unjudged] = ()) -> Matrix:
    """What each profile makes of each tool. A server is called what it is called in the sources, also in names."""
    fits = _Fits()
    columns = tuple(Column(profile, tuple(_verdicts(sources, profile, fits))) for profile in profiles)
    return Matrix(tuple(sources), columns, tuple(unjudged))


class _Fits:
    """What becomes of definitions, found out once for all profiles that differ in names alone."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[Fitted | Quarantined, int]] = {}

    def of(self, definition: Definition, profile: Profile) -> tuple[Fitted | Quarantined, int]:
        """And about how many tokens that is, without the name."""
        key = (id(definition), *(getattr(profile, setting) for setting in _NOT_NAME))
        if key not in self._known:
            found = fit(definition, profile)
            self._known[key] = (found, _tokens(found))
        return self._known[key]


def _tokens(found: Fitted | Quarantined) -> int:
    if isinstance(found, Quarantined):
        return 0
    said = encode({"description": found.description, "parameters": found.schema})
    return estimated(said.decode(errors="replace"))


def _verdicts(sources: Sequence[Source], profile: Profile, fits: _Fits) -> Iterable[Verdict]:
    for source in sources:
        # What a server is called is up to whoever connects to it, so that is taken to be a label that can be used.
        # Without a template nobody knows whether it is part of the name.
        label = legal(source.server, profile) if profile.name_template else ""
        for tool, definition in source.contract.tools.items():
            found, tokens = fits.of(definition, profile)
            name, whole = _name(label, str(definition.get("name", tool)), profile), _whole(found, profile)
            outcome = max(name.outcome, whole.outcome, key=list(Outcome).index)
            changes = (*name.changes, *whole.changes)
            weight = 0 if outcome in _GONE else tokens + estimated(name.name)
            lost, is_known = _lost(definition, profile), _is_known(profile, changes)
            yield Verdict(source.server, tool, outcome, name.name, changes, lost, weight, is_known)


@dataclass(frozen=True, slots=True)
class _Part:
    """What becomes of a part of a definition, and why."""

    outcome: Outcome
    changes: tuple[Adjustment, ...] = ()
    name: str = ""


def _name(label: str, tool: str, profile: Profile) -> _Part:
    name = joined(label, tool, profile)
    plain = legal(name, profile)
    facts: dict[str, Any] = {"name": name, "length": len(name), "limit": profile.name_length, "profile": profile.title}
    if name and plain == name:
        return _Part(Outcome.ACCEPTED, (), name)
    if profile.name_is_left_out and len(name) > profile.name_length:
        return _Part(Outcome.UNSEEN, (Adjustment("TW9830", ("name",), facts),), name)
    if profile.is_client and not (profile.name_is_mended and len(plain) == len(name)):
        facts["characters"] = f"[{profile.name_characters}]"
        return _Part(Outcome.REJECTED, (Adjustment("TW9832", ("name",), facts),), name)
    facts["alias"] = plain if profile.is_client else alias(label, tool, profile)
    return _Part(Outcome.CHANGED, (Adjustment("TW9060", ("name",), facts),), facts["alias"])


def _whole(found: Fitted | Quarantined, profile: Profile) -> _Part:
    """The description and the schema. What a client does not take nobody changes for it."""
    if isinstance(found, Quarantined):
        return _Part(Outcome.REJECTED, found.reasons)
    changes = tuple(one for one in found.adjustments if one.code != "TW9060")
    refused = [one for one in changes if one.code != "TW9061" or not profile.description_is_cut]
    if refused:
        return _Part(Outcome.REJECTED if profile.is_client else Outcome.CHANGED, changes)
    return _Part(Outcome.CUT if changes else Outcome.ACCEPTED, changes)


def _lost(definition: Definition, profile: Profile) -> str:
    said = definition.get("description")
    return said[profile.description_length :] if isinstance(said, str) and profile.description_is_cut else ""
