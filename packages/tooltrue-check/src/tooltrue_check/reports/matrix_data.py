"""A matrix as JSON for programs. Members may be added; none are removed or change their meaning."""

from __future__ import annotations

import json

from tooltrue.contract.display import display_safe_json
from tooltrue.contract.portable import Adjustment
from tooltrue.jsonrpc.messages import Json
from tooltrue.version import __version__
from tooltrue_check.portability import ClientColumn, Matrix, ToolVerdict

__all__ = ["data", "render"]


def render(matrix: Matrix, language: str) -> str:
    return display_safe_json(json.dumps(data(matrix, language), ensure_ascii=False, indent=2)) + "\n"


def data(matrix: Matrix, language: str) -> dict[str, Json]:
    return {
        "tooltrue": __version__,
        "servers": [
            {"server": one.server, "target": one.target, "tools": len(one.contract.tools)} for one in matrix.sources
        ],
        "counts": {level.value: count for level, count in matrix.levels.items()},
        "profiles": [_column(column, language) for column in matrix.columns],
        "unjudged": [
            {"target": one.target, "code": one.reason.code, "reason": one.reason.say(language)}
            for one in matrix.unjudged
        ],
    }


def _column(column: ClientColumn, language: str) -> dict[str, Json]:
    profile = column.profile
    return {
        "profile": profile.name,
        "title": profile.title,
        "kind": profile.kind,
        "verified": profile.is_verified,
        "counts": {outcome.value: count for outcome, count in column.counts.items()},
        "count": {"tools": column.tools, "limit": profile.tools},
        "tokens": {"estimate": column.tokens, "limit": profile.definition_tokens},
        "notes": [{"level": level.value, **_change(note, language)} for level, note in column.notes],
        "tools": [_verdict(one, profile.name_length, language) for one in column.verdicts],
        "facts": [
            {"of": [*one.of], "says": one.says, "source": one.source, "date": str(one.date), "verified": one.verified}
            for one in profile.facts
        ],
    }


def _verdict(verdict: ToolVerdict, limit: int, language: str) -> dict[str, Json]:
    return {
        "server": verdict.server,
        "tool": verdict.tool,
        "outcome": verdict.outcome.value,
        "level": verdict.level.value if verdict.level else None,
        "verified": verdict.is_known,
        "name": {"name": verdict.name, "length": len(verdict.name), "limit": limit},
        "tokens": verdict.tokens,
        "changes": [_change(one, language) for one in verdict.changes],
        **({"lost": verdict.lost} if verdict.lost else {}),
    }


def _change(change: Adjustment, language: str) -> dict[str, Json]:
    return {"code": change.code, "path": change.place, "says": change.say(language)}
