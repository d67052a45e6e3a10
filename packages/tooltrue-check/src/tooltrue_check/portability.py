"""Portability of tools: a verdict on each tool for each client and provider, one column each.

The limits of a client or provider are a profile of ``contract/profiles``; ``contract/portable`` adapts a definition to
it. A column shows the tools as they are published, without tooltrue in between: a client that replaces characters of
a name changes the tool, one that leaves a tool out hides it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Final

from tooltrue.contract.digests import Definition
from tooltrue.contract.portable import Adjustment, Fitted, UnportableTool, alias, check, fit, joined, legal
from tooltrue.contract.profile import Profile
from tooltrue.contract.wording import (
    PORTABILITY_DESCRIPTION_CUT,
    PORTABILITY_INPUT_NOT_OBJECT,
    PORTABILITY_KEYWORD_REWRITTEN,
    PORTABILITY_KEYWORD_WEAKENED,
    PORTABILITY_NAME_ALIASED,
    PORTABILITY_SCHEMA_TOO_LARGE,
    PORTABILITY_TOO_MANY_TOOLS,
)
from tooltrue.jsonrpc.messages import encode
from tooltrue.tools.search.token_estimate import estimated
from tooltrue_check.card import Level
from tooltrue_check.report import Unjudged
from tooltrue_check.source import ToolSource
from tooltrue_check.wording import (
    PORTABILITY_NAME_NOT_ACCEPTED,
    PORTABILITY_NAME_TOO_LONG,
    PORTABILITY_TOO_MANY_TOKENS,
)

__all__ = ["ClientColumn", "ClientOutcome", "Matrix", "ToolVerdict", "matrix"]


class ClientOutcome(Enum):
    """The result for a tool, from the best to the worst."""

    ACCEPTED = "accepted"
    CHANGED = "changed"
    """Accepted after changes to the published definition: a client makes them itself, for a provider a client does."""
    CUT = "cut"
    """Usable, but the end of the description is cut off."""
    REJECTED = "rejected"
    """No definition of the same meaning would be accepted."""
    UNSEEN = "unseen"
    """Left out silently: the model never sees the tool."""


_GONE: Final = (ClientOutcome.REJECTED, ClientOutcome.UNSEEN)
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
    PORTABILITY_NAME_ALIASED: _NAME,
    PORTABILITY_DESCRIPTION_CUT: ("description_length", "description_is_cut"),
    PORTABILITY_SCHEMA_TOO_LARGE: (),
    PORTABILITY_INPUT_NOT_OBJECT: (),
    PORTABILITY_TOO_MANY_TOOLS: ("tools",),
    PORTABILITY_NAME_TOO_LONG: ("name_length", "name_is_left_out"),
    PORTABILITY_TOO_MANY_TOKENS: ("definition_tokens",),
    PORTABILITY_NAME_NOT_ACCEPTED: _NAME,
}
"""Code of a change → the settings that cause it; the settings of schemas for codes not listed."""
_HARMLESS: Final = frozenset({PORTABILITY_KEYWORD_WEAKENED, PORTABILITY_KEYWORD_REWRITTEN})


def _is_known(profile: Profile, changes: Iterable[Adjustment]) -> bool:
    """Whether every fact behind these changes was read at its source."""
    return all(profile.knows(*_SETTINGS.get(one.code, _SCHEMA)) for one in changes)


@dataclass(frozen=True, slots=True)
class ToolVerdict:
    """The result for one tool. ``name`` is the name for the model, whether accepted or not; ``lost`` is the end of the
    description that the model does not see; ``is_known``: all facts behind the verdict were read at their sources."""

    server: str
    tool: str
    outcome: ClientOutcome
    name: str
    changes: tuple[Adjustment, ...] = ()
    lost: str = ""
    tokens: int = 0
    is_known: bool = True

    @property
    def level(self) -> Level | None:
        """The severity, or None. A verdict that rests on unverified facts is never an error; a schema that was
        rewritten or weakened is only a hint, since calls are validated against the full schema."""
        if self.outcome is ClientOutcome.ACCEPTED:
            return None
        if self.outcome in _GONE:
            return Level.ERROR if self.is_known else Level.WARNING
        return Level.HINT if {one.code for one in self.changes} <= _HARMLESS else Level.WARNING


@dataclass(frozen=True)
class ClientColumn:
    """All tools as seen by one client or provider."""

    profile: Profile
    verdicts: tuple[ToolVerdict, ...]

    @cached_property
    def counts(self) -> Mapping[ClientOutcome, int]:
        totals = Counter(one.outcome for one in self.verdicts)
        return {outcome: totals[outcome] for outcome in ClientOutcome}

    @property
    def tools(self) -> int:
        """The number of tools that it would have to take."""
        return sum(one.outcome not in _GONE for one in self.verdicts)

    @cached_property
    def tokens(self) -> int:
        """The approximate number of tokens of the definitions that it would have to take."""
        return sum(one.tokens for one in self.verdicts)

    @property
    def longest(self) -> int:
        """The length of the longest name."""
        return max((len(one.name) for one in self.verdicts), default=0)

    @cached_property
    def notes(self) -> tuple[tuple[Level, Adjustment], ...]:
        """Problems of all tools together."""
        problems = check(self.profile, self.tools)
        too_many = [(Level.ERROR if _is_known(self.profile, problems) else Level.WARNING, one) for one in problems]
        limit = self.profile.definition_tokens
        if limit is None or self.tokens <= limit:
            return tuple(too_many)
        facts = {"count": self.tokens, "limit": limit, "profile": self.profile.title}
        return (*too_many, (Level.HINT, Adjustment(PORTABILITY_TOO_MANY_TOKENS, (), facts)))

    @property
    def levels(self) -> Iterable[Level]:
        yield from (level for one in self.verdicts if (level := one.level))
        yield from (level for level, _ in self.notes)


@dataclass(frozen=True)
class Matrix:
    """The tools of all sources, with a column for each profile."""

    sources: tuple[ToolSource, ...]
    columns: tuple[ClientColumn, ...]
    unjudged: tuple[Unjudged, ...] = field(default=())

    @property
    def tools(self) -> int:
        return sum(len(one.contract.tools) for one in self.sources)

    @cached_property
    def rows(self) -> Sequence[tuple[ToolVerdict, ...]]:
        """The verdicts of all profiles on each tool."""
        return list(zip(*(column.verdicts for column in self.columns), strict=True))

    @property
    def levels(self) -> Mapping[Level, int]:
        counts = Counter(level for column in self.columns for level in column.levels)
        return {level: counts[level] for level in (Level.ERROR, Level.WARNING, Level.HINT)}

    def fails(self, least: Level | None) -> bool:
        """Whether any verdict or note is at least as severe as ``least``."""
        return least is not None and any(count and level.rank >= least.rank for level, count in self.levels.items())


def matrix(sources: Sequence[ToolSource], profiles: Iterable[Profile], unjudged: Sequence[Unjudged] = ()) -> Matrix:
    """Judge each tool by each profile. Servers keep their names in the sources, also as part of tool names."""
    fits = _Fits()
    columns = tuple(ClientColumn(profile, tuple(_verdicts(sources, profile, fits))) for profile in profiles)
    return Matrix(tuple(sources), columns, tuple(unjudged))


class _Fits:
    """A cache of adapted definitions, shared by all profiles that differ only in their rules on names."""

    def __init__(self) -> None:
        self._cache: dict[tuple[object, ...], tuple[Fitted | UnportableTool, int]] = {}

    def of(self, definition: Definition, profile: Profile) -> tuple[Fitted | UnportableTool, int]:
        """The adapted definition, and its approximate number of tokens without the name."""
        key = (id(definition), *(getattr(profile, setting) for setting in _NOT_NAME))
        if key not in self._cache:
            fit_result = fit(definition, profile)
            self._cache[key] = (fit_result, _tokens(fit_result))
        return self._cache[key]


def _tokens(fit_result: Fitted | UnportableTool) -> int:
    if isinstance(fit_result, UnportableTool):
        return 0
    data = encode({"description": fit_result.description, "parameters": fit_result.schema})
    return estimated(data.decode(errors="replace"))


def _verdicts(sources: Sequence[ToolSource], profile: Profile, fits: _Fits) -> Iterable[ToolVerdict]:
    for source in sources:
        # Users choose the label of a server when they connect it, so a usable label is assumed. Without a template it
        # is unknown whether the label is part of the name.
        label = legal(source.server, profile) if profile.name_template else ""
        for tool, definition in source.contract.tools.items():
            fit_result, tokens = fits.of(definition, profile)
            name, whole = _name(label, str(definition.get("name", tool)), profile), _whole(fit_result, profile)
            outcome = max(name.outcome, whole.outcome, key=list(ClientOutcome).index)
            changes = (*name.changes, *whole.changes)
            weight = 0 if outcome in _GONE else tokens + estimated(name.name)
            lost_text, is_known = _lost_text(definition, profile), _is_known(profile, changes)
            yield ToolVerdict(source.server, tool, outcome, name.name, changes, lost_text, weight, is_known)


@dataclass(frozen=True, slots=True)
class _Part:
    """The result for a part of a definition, with the reasons."""

    outcome: ClientOutcome
    changes: tuple[Adjustment, ...] = ()
    name: str = ""


def _name(label: str, tool: str, profile: Profile) -> _Part:
    name = joined(label, tool, profile)
    plain = legal(name, profile)
    facts: dict[str, Any] = {"name": name, "length": len(name), "limit": profile.name_length, "profile": profile.title}
    if name and plain == name:
        return _Part(ClientOutcome.ACCEPTED, (), name)
    if profile.name_is_left_out and len(name) > profile.name_length:
        return _Part(ClientOutcome.UNSEEN, (Adjustment(PORTABILITY_NAME_TOO_LONG, ("name",), facts),), name)
    if profile.is_client and not (profile.name_is_mended and len(plain) == len(name)):
        facts["characters"] = f"[{profile.name_characters}]"
        return _Part(ClientOutcome.REJECTED, (Adjustment(PORTABILITY_NAME_NOT_ACCEPTED, ("name",), facts),), name)
    facts["alias"] = plain if profile.is_client else alias(label, tool, profile)
    return _Part(ClientOutcome.CHANGED, (Adjustment(PORTABILITY_NAME_ALIASED, ("name",), facts),), facts["alias"])


def _whole(fit_result: Fitted | UnportableTool, profile: Profile) -> _Part:
    """Judge the description and the schema. Changes are made for providers, by clients; for a client no other program
    makes them."""
    if isinstance(fit_result, UnportableTool):
        return _Part(ClientOutcome.REJECTED, fit_result.reasons)
    changes = tuple(one for one in fit_result.adjustments if one.code != PORTABILITY_NAME_ALIASED)
    refused = [one for one in changes if one.code != PORTABILITY_DESCRIPTION_CUT or not profile.description_is_cut]
    if refused:
        return _Part(ClientOutcome.REJECTED if profile.is_client else ClientOutcome.CHANGED, changes)
    return _Part(ClientOutcome.CUT if changes else ClientOutcome.ACCEPTED, changes)


def _lost_text(definition: Definition, profile: Profile) -> str:
    description = definition.get("description")
    return (
        description[profile.description_length :] if isinstance(description, str) and profile.description_is_cut else ""
    )
