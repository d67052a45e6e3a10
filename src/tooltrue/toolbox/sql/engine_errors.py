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
from tooltrue.toolbox.sql.catalog import Catalog
from tooltrue.toolbox.sql.describing import described
from tooltrue.toolbox.sql.engine import Session
from tooltrue.toolbox.sql.statement import Statement

__all__ = ["Asked", "near_columns", "redacted"]

_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|'.*|\".*")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\w.:+-]*")
_WORD = re.compile(r"\w+")
_WITHHELD = "the reason names or quotes what may be hidden here"


@dataclass(slots=True)
class Asked:
    """A statement in progress. ``text`` is all that the caller wrote; the other fields are set as the call proceeds."""

    text: str
    catalog: Catalog | None = None
    statement: Statement | None = None


def redacted(error: ToolError, asked: Asked) -> ToolError:
    """The error as the caller may read it."""
    problem, catalog = error.facts.get("problem"), asked.catalog
    if not error.code or not isinstance(problem, str) or catalog is None or not catalog.hides_anything:
        return error
    return ToolError.of(error.code, **{**error.facts, "problem": _problem(error, problem, catalog, asked)})


def near_columns(error: ToolError, session: Session, asked: Asked) -> ToolError:
    """The error about a missing column, with similar columns that are visible."""
    if asked.statement is None or asked.catalog is None:
        return error
    if str(error.facts["name"]).lower() not in asked.text.lower():  # it is one of a view, or of a trigger
        return ToolError.of("TT6224", problem=_WITHHELD)
    names = {
        column["name"].lower(): column["name"]
        for relation in asked.statement.named
        for column in described(session.describe(relation), relation, asked.catalog)["columns"]
    }
    wanted = str(error.facts["name"]).rpartition(".")[2].lower()
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    return ToolError.of("TT6241", name=error.facts["name"], near=", ".join(names[name] for name in near) or "(none)")


def _problem(error: ToolError, problem: str, catalog: Catalog, asked: Asked) -> str:
    written = set(_WORD.findall(asked.text.lower()))
    if (catalog.hidden_names - written) & set(_WORD.findall(problem.lower())):
        return _WITHHELD
    statement = asked.statement
    if statement is None or not (statement.kind == "change" or any(r.kind == "view" for r in statement.named)):
        return problem
    if error.facts.get("by_hand"):
        return _WITHHELD
    return _without_values(problem, _known(asked.text, catalog, statement))


def _known(text: str, catalog: Catalog, statement: Statement) -> str:
    """The text whose parts an error may repeat."""
    names = [name for r in catalog.relations for name in (r.schema, r.name, *r.shown_columns)]
    return "\n".join((text, statement.sql, *names)).lower()


def _without_values(problem: str, known: str) -> str:
    def kept(found: re.Match[str]) -> str:
        inner = re.escape(found[0].strip("'\"`").lower())
        return found[0] if re.search(rf"(?<!\w){inner}(?!\w)", known) else "…"

    return _NUMBER.sub(kept, _QUOTED.sub(kept, problem))
