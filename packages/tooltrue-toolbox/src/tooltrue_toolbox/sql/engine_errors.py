"""Errors of an engine, without the values and names that are hidden from the caller.

An error quotes values and names. In a statement over tables alone these are the caller's own, or visible; but a view, a
trigger, a default or a foreign key uses others as well. So where anything is hidden, an error of such a statement
repeats only words of the caller and visible names. A message that a trigger or function has worded itself (``by_hand``)
is withheld.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from tooltrue.errors import ToolError
from tooltrue.wording import Worded, names_or_none
from tooltrue_toolbox.sql.catalog import SchemaCatalog
from tooltrue_toolbox.sql.engine import EngineSession
from tooltrue_toolbox.sql.statement import Statement
from tooltrue_toolbox.sql.table_description import visible_description
from tooltrue_toolbox.sql.wording import REASON_WITHHELD, SQL_TABLES_CHANGED, UNKNOWN_COLUMN

__all__ = ["PendingStatement", "near_columns", "redacted"]

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|'.*|\".*")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\w.:+-]*")
_WORD = re.compile(r"\w+")
_WITHHELD = Worded(REASON_WITHHELD, {})


@dataclass(slots=True)
class PendingStatement:
    """A statement in progress. ``text`` is all that the caller wrote; the other fields are set as the call proceeds."""

    text: str
    catalog: SchemaCatalog | None = None
    statement: Statement | None = None


def redacted(error: ToolError, pending: PendingStatement) -> ToolError:
    """The error as the caller may read it."""
    problem, catalog = error.facts.get("problem"), pending.catalog
    if not error.code or not isinstance(problem, str | Worded) or catalog is None or not catalog.hides_anything:
        return error
    text = str(problem)
    shown = _problem(error, text, catalog, pending)
    return error if shown == text else ToolError.of(error.code, **{**error.facts, "problem": shown})


def near_columns(error: ToolError, session: EngineSession, pending: PendingStatement) -> ToolError:
    """The error about a missing column, with similar columns that are visible."""
    if pending.statement is None or pending.catalog is None:
        return error
    if str(error.facts["name"]).lower() not in pending.text.lower():  # it is one of a view, or of a trigger
        return ToolError.of(SQL_TABLES_CHANGED, problem=_WITHHELD)
    names = {
        column["name"].lower(): column["name"]
        for relation in pending.statement.named
        for column in visible_description(session.describe(relation), relation, pending.catalog)["columns"]
    }
    column_name = str(error.facts["name"]).rpartition(".")[2].lower()
    near = difflib.get_close_matches(column_name, names, n=3, cutoff=0.6)
    return ToolError.of(UNKNOWN_COLUMN, name=error.facts["name"], near=names_or_none(names[name] for name in near))


def _problem(error: ToolError, problem: str, catalog: SchemaCatalog, pending: PendingStatement) -> str | Worded:
    words = set(_WORD.findall(pending.text.lower()))
    if (catalog.hidden_names - words) & set(_WORD.findall(problem.lower())):
        return _WITHHELD
    statement = pending.statement
    if statement is None or not (statement.kind == "change" or any(r.kind == "view" for r in statement.named)):
        return problem
    if error.facts.get("by_hand"):
        return _WITHHELD
    return _without_values(problem, _quotable_text(pending.text, catalog, statement))


def _quotable_text(text: str, catalog: SchemaCatalog, statement: Statement) -> str:
    """The text whose parts an error may repeat."""
    names = [name for r in catalog.relations for name in (r.schema, r.name, *r.shown_columns)]
    return "\n".join((text, statement.sql, *names)).lower()


def _without_values(problem: str, quotable: str) -> str:
    def visible_or_cut(match: re.Match[str]) -> str:
        inner = re.escape(match[0].strip("'\"`").lower())
        return match[0] if re.search(rf"(?<!\w){inner}(?!\w)", quotable) else "…"

    return _NUMBER.sub(visible_or_cut, _QUOTED.sub(visible_or_cut, problem))
