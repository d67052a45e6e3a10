"""Replay of the audit log: the verdicts that other rules would have reached on its records.

A record may hold less than the call did: secrets are masked, and long arguments are cut. If a rule reads an argument
that is missing, and the verdict depends on it, the result is "undecidable".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue.policy.rules.lint import constrained_arguments
from tooltrue.policy.rules.rule import OPEN, Rule, Rules, Subject
from tooltrue.protocol import types as wire
from tooltrue.protocol.schema import Schema, compile_schema
from tooltrue.protocol.types import Value
from tooltrue.tools.vocabulary import EFFECTS, Effect, Principal, Tool

__all__ = ["Happened", "Reconsidered", "ReplayCounts", "happened", "replay"]

Would: TypeAlias = Literal["allow", "deny", "ask", "undecidable"]


class Happened(Value, frozen=True):
    """One record, as far as a rule can read it. ``missing`` are the arguments that are masked, in whole or in part;
    ``None`` if all of them are."""

    subject: Subject
    principal: Principal
    arguments: Mapping[str, Any]
    missing: frozenset[str] | None
    was: str


_ANY: Final[Schema] = compile_schema({"type": "object"})
_EFFECTS: Final[Mapping[str, Effect]] = {effect: effect for effect in EFFECTS}
_CUT: Final = frozenset({"[cut]", "[unreadable]"})  # placeholders for arguments that a record could not hold


def happened(record: Mapping[str, Any]) -> Happened | None:
    """Parse a record of the audit log; ``None`` for one that is not about the use of a tool, resource or prompt, or is
    about one that has another record."""
    subject = _subject(record)
    if subject is None:
        return None
    raw_arguments, masked = record.get("arguments"), record.get("masked")
    arguments = raw_arguments if is_object(raw_arguments) else {}
    paths = [path for path in masked if isinstance(path, str)] if is_array(masked) else []
    names = frozenset(path.split("/")[1].replace("~1", "/").replace("~0", "~") for path in paths if "/" in path)
    is_cut = not _CUT.isdisjoint(arguments) or not all("/" in path for path in paths)
    scopes = record.get("scopes")
    principal_scopes = (
        frozenset(scope for scope in scopes if isinstance(scope, str)) if is_array(scopes) else frozenset[str]()
    )
    principal = Principal(str(record.get("who", "")), principal_scopes)
    return Happened(subject, principal, arguments, None if is_cut else names, str(record.get("decision", "")))


def _subject(record: Mapping[str, Any]) -> Subject | None:
    name = str(record.get("subject", ""))
    match record.get("kind"):
        case "call":
            effect = _EFFECTS.get(str(record.get("effect")), "write")
            server = str(record.get("server", ""))
            return Tool(wire.ToolDefinition(name=name, inputSchema={"type": "object"}), effect, _ANY, server=server)
        case "read":
            return wire.ResourceDefinition(name, name)
        case "get":
            return wire.Prompt(name)
        case _:
            return None


# -- deciding again ----------------------------------------------------------------------------------------------------


class Reconsidered(Value, frozen=True):
    """One record, and the verdict that the rules reach on it now; ``rule`` is the first that decides, or may."""

    record: Happened
    would: Would
    rule: str


class ReplayCounts:
    """The counts of a replay. A row is the verdict of the record, the verdict now, the subject and the rule, which is
    empty if no rule decides."""

    def __init__(self) -> None:
        self.rows: Counter[tuple[str, Would, str, str]] = Counter()

    def add(self, one: Reconsidered) -> tuple[str, Would, str, str]:
        """Count a record, and return its row."""
        subject = one.record.subject
        row = one.record.was, one.would, getattr(subject, "uri", subject.name), one.rule
        self.rows[row] += 1
        return row

    @property
    def total(self) -> int:
        return self.rows.total()

    @property
    def changed(self) -> int:
        """The number of records that would be decided otherwise."""
        return sum(count for (was, would, *_), count in self.rows.items() if would not in (was, "undecidable"))

    @property
    def undecidable(self) -> int:
        return sum(count for (_, would, *_), count in self.rows.items() if would == "undecidable")


def replay(rules: Rules, records: Iterable[Mapping[str, Any]]) -> Iterator[Reconsidered]:
    for record in records:
        one = happened(record)
        if one is not None:
            yield _again(rules, one)


def _again(rules: Rules, one: Happened) -> Reconsidered:
    possible: list[tuple[Would, str]] = []
    server = one.subject.server if isinstance(one.subject, Tool) else ""
    for rule in rules.here(server):
        stop = rule.stop_at(one.subject) or rule.stop(one.principal, _readable(rule, one), rules.local_scopes)
        if stop in ("", OPEN):
            possible.append((_would(rule), rule.name))
        if not stop:
            break
    else:
        possible.append(("deny", ""))
    would, rule = possible[0]
    return Reconsidered(one, would if {would} == {other for other, _ in possible} else "undecidable", rule)


def _would(rule: Rule) -> Would:
    return "deny" if rule.then == "hide" else rule.then


_ALL: Final = frozenset({"patternProperties", "const", "enum", "$ref", "dependentSchemas"})
_REST: Final = ("additionalProperties", "unevaluatedProperties")


def _readable(rule: Rule, one: Happened) -> Mapping[str, Any] | None:
    """Return the arguments, or ``None`` if the rule reads some that are missing."""
    if rule.arguments is None or one.missing == frozenset():
        return one.arguments
    schema = rule.arguments.definition
    if one.missing is None or not one.missing.isdisjoint(constrained_arguments(schema)) or _reads_unnamed(schema):
        return None
    return one.arguments


def _reads_unnamed(schema: Any) -> bool:
    """Return whether a schema may look at arguments that it does not name. Deep inside, that would do no harm, but one
    undecidable record too many is not a mistake."""
    if is_object(schema):
        closes = any(is_object(schema.get(word)) for word in _REST)
        return closes or not _ALL.isdisjoint(schema) or any(map(_reads_unnamed, schema.values()))
    return is_array(schema) and any(map(_reads_unnamed, schema))
