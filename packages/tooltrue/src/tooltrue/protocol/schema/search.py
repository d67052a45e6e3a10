"""The search for the problems of a refused value: descends where the validator refuses, and never decides itself."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, cast

from tooltrue.protocol.schema import wording
from tooltrue.protocol.schema.dialects import HERE, subschemas
from tooltrue.protocol.schema.survey import SchemaPlace
from tooltrue.protocol.schema.validator import Compiled
from tooltrue.protocol.schema.words import (
    ASSERTIONS,
    DECISIVE,
    NONE,
    Node,
    Path,
    ProblemDraft,
    SchemaProblem,
    absent,
    described,
    got,
    json_path,
    json_text,
    must_be,
    unknown_property,
    wrong_count,
)
from tooltrue.protocol.types import replaced
from tooltrue.wording import Worded

_WORK: Final = 100_000
_A_PLACE: Final = 40  # the approximate cost of a visit, in single verdicts
_PER_BRANCH: Final = 8
_LOT: Final = 1_000
_DEEPEST: Final = 60  # subschemas nested in each other; each takes about five frames of the interpreter's stack


def search(compiled: Compiled, value: Any) -> Iterator[SchemaProblem]:
    """The problems of a refused value, without duplicates: allOf and references often report the same one twice."""
    reported: set[tuple[str, str, str]] = set()
    for problem in _ProblemSearch(compiled).below(SchemaPlace((), compiled.root), value, ()):
        what = (problem.path, problem.rule, str(problem))
        if what not in reported:
            reported.add(what)
            yield problem


class _ProblemSearch:
    """One search, limited by its budget ``work``.

    Does not use ``iter_errors``, which collects every error before it yields the first: nested ``anyOf`` produces
    exponentially many.
    """

    def __init__(self, compiled: Compiled) -> None:
        self.compiled = compiled
        self.work = _WORK
        self.depth = 0
        self.floor: int = sys.maxsize  # parts of the value below this level are not examined

    def below(self, place: SchemaPlace, value: Any, at: Path) -> Iterator[SchemaProblem]:
        """The problems of ``value``, which ``place`` refuses: at least one, if only a generic one."""
        self.work -= _A_PLACE
        if isinstance(place.node, bool):
            yield SchemaProblem(json_path(at), "false", Worded(wording.PROBLEM_NOT_ALLOWED, {}))
            return
        has_problem = False
        self.depth += 1
        try:
            if self.work > 0 and self.depth < _DEEPEST and len(at) <= self.floor:
                for problem in self.keywords(place, value, at):
                    has_problem = True
                    yield problem
        finally:
            self.depth -= 1
        if not has_problem:
            yield SchemaProblem(json_path(at), "schema", Worded(wording.PROBLEM_MISFIT, {}), got(value))

    def fits(self, place: SchemaPlace, value: Any, each: bool = False) -> bool:
        """Whether ``value``, or each item of it, fits ``place``; True, and unreliable, once the budget is used up."""
        self.work -= self.compiled.cost(place, each)
        return self.work <= 0 or self.compiled.fits(place, value, each)

    def into(self, place: SchemaPlace, value: Any, at: Path) -> Iterator[SchemaProblem]:
        """The problems of ``value`` if ``place`` refuses it."""
        if not self.fits(place, value):
            yield from self.below(place, value, at)

    def keywords(self, place: SchemaPlace, value: Any, at: Path) -> Iterator[SchemaProblem]:
        node = cast("Node", place.node)
        dialect = self.compiled.dialect
        targets = self.compiled.targets.get(id(node), ())
        for target in targets:
            yield from self.into(target, value, at)
        if targets and dialect.ref_stands_alone:
            return
        for rule, words in ASSERTIONS.items():
            if rule in node and self.compiled.refuser({rule: node[rule]})(value):
                yield self.checked(place, rule, words(node[rule], value, node), at)
                if rule in DECISIVE:
                    return
        for rule, (concerned, finder) in _FINDERS.items():
            if rule in node and rule not in dialect.ignored and isinstance(value, concerned):
                yield from finder(self, rule, place, value, at)

    def checked(self, place: SchemaPlace, rule: str, draft: ProblemDraft, at: Path) -> SchemaProblem:
        """The problem; includes the suggested value only if the validator accepts it."""
        fitting = draft.nearest is not NONE and self.fits(place, draft.nearest) and self.work > 0
        nearest = json_text(draft.nearest) if fitting else None
        return SchemaProblem(json_path(at), rule, draft.expected, draft.got, draft.allowed, nearest, draft.hint)

    def parts(self, value: Node) -> Iterator[tuple[str, Any]]:
        """The properties of ``value``, as long as the budget lasts."""
        for name, part in value.items():
            self.work -= 1
            if self.work <= 0:
                return
            yield name, part

    # -- forms ---------------------------------------------------------------------------------------------------------

    def all_of(self, rule: str, place: SchemaPlace, value: Any, at: Path) -> Iterator[SchemaProblem]:
        for branch in _branches(place, rule):
            yield from self.into(branch, value, at)

    def any_of(self, rule: str, place: SchemaPlace, value: Any, at: Path) -> Iterator[SchemaProblem]:
        branches = _branches(place, rule)
        if not any(self.fits(branch, value) for branch in branches):
            yield from self.closest(branches, value, at)

    def one_of(self, rule: str, place: SchemaPlace, value: Any, at: Path) -> Iterator[SchemaProblem]:
        branches = _branches(place, rule)
        fitting = sum(self.fits(branch, value) for branch in branches)
        if fitting == 0:
            yield from self.closest(branches, value, at)
        elif fitting > 1 and self.work > 0:
            expected = Worded(wording.PROBLEM_ONE_OF, {"count": len(branches)})
            yield SchemaProblem(json_path(at), rule, expected, Worded(wording.COUNT_FORMS_THAT_FIT, {"count": fitting}))

    def closest(self, branches: list[SchemaPlace], value: Any, at: Path) -> Iterator[SchemaProblem]:
        """The problems of the branch that the value most likely targets."""
        each = self.glance(branches, value, at)
        common = _one_choice(each)
        if common is not None:
            yield common
            return
        here = json_path(at)
        best = min(range(len(each)), key=lambda index: _distance(each[index], here))
        first, *others = islice(self.below(branches[best], value, at), _PER_BRANCH)
        hint = Worded(wording.HINT_CLOSEST_FORM, {"count": len(branches)})
        yield first if first.hint else replaced(first, hint=hint)
        yield from others

    def glance(self, branches: list[SchemaPlace], value: Any, at: Path) -> list[list[SchemaProblem]]:
        """The problems of each branch in the value and its direct parts, no deeper: recursive forms would multiply."""
        floor = self.floor
        self.floor = min(floor, len(at) + 1)
        try:
            return [list(islice(self.below(branch, value, at), _PER_BRANCH)) for branch in branches]
        finally:
            self.floor = floor

    def excluded(self, rule: str, place: SchemaPlace, value: Any, at: Path) -> Iterator[SchemaProblem]:
        inner = _child(place, rule)
        if self.fits(inner, value) and self.work > 0:
            kind = described(inner.node)
            expected = Worded(wording.PROBLEM_NOT, {"kind": kind}) if kind else Worded(wording.PROBLEM_NOT_FORM, {})
            yield SchemaProblem(json_path(at), rule, expected)

    def conditional(self, rule: str, place: SchemaPlace, value: Any, at: Path) -> Iterator[SchemaProblem]:
        then = "then" if self.fits(_child(place, rule), value) else "else"
        if then in place.node:
            yield from self.into(_child(place, then), value, at)

    # -- objects -------------------------------------------------------------------------------------------------------

    def required(self, rule: str, place: SchemaPlace, value: Node, at: Path) -> Iterator[SchemaProblem]:
        yield from self.missing(place.node[rule], None, place, value, at)

    def dependent(self, rule: str, place: SchemaPlace, value: Node, at: Path) -> Iterator[SchemaProblem]:
        """Properties required because another one is present: names, or a schema."""
        for trigger, needs in place.node[rule].items():
            if trigger not in value:
                continue
            if isinstance(needs, list):
                yield from self.missing(cast("list[str]", needs), trigger, place, value, at)
            else:
                yield from self.into(_child(place, rule, trigger), value, at)

    def missing(
        self, names: list[str], trigger: str | None, place: SchemaPlace, value: Node, at: Path
    ) -> Iterator[SchemaProblem]:
        for name in names:
            if name not in value:
                yield absent(self.property_node(place, name), name, at, trigger)

    def property_node(self, place: SchemaPlace, name: str) -> Any:
        """The subschema of a property, with references followed while it is not descriptive itself."""
        node = place.node.get("properties", {}).get(name)
        for _ in range(8):
            targets = self.compiled.targets.get(id(node))
            if not targets or described(node):
                break
            own = cast("Node", node)
            node = targets[0].node
            if "description" in own and isinstance(node, dict):
                return cast("Node", node) | {"description": own["description"]}
        return node

    def properties(self, rule: str, place: SchemaPlace, value: Node, at: Path) -> Iterator[SchemaProblem]:
        for name in place.node[rule]:
            if name in value:
                yield from self.into(_child(place, rule, name), value[name], (*at, name))

    def pattern_properties(self, rule: str, place: SchemaPlace, value: Node, at: Path) -> Iterator[SchemaProblem]:
        for pattern in place.node[rule]:
            matches = self.compiled.refuser({rule: {pattern: False}})
            for name, part in self.parts(value):
                if matches({name: None}):
                    yield from self.into(_child(place, rule, pattern), part, (*at, name))

    def additional_properties(self, rule: str, place: SchemaPlace, value: Node, at: Path) -> Iterator[SchemaProblem]:
        yield from self.unknown(rule, list(place.node.get("properties", ())), place, value, at)

    def unevaluated_properties(self, rule: str, place: SchemaPlace, value: Node, at: Path) -> Iterator[SchemaProblem]:
        yield from self.unknown(rule, list(dict.fromkeys(self.names_in(place.node, 8))), place, value, at)

    def names_in(self, node: Any, depth: int) -> Iterator[str]:
        """The property names defined by ``node`` and by the subschemas that it applies in place."""
        if not isinstance(node, dict) or depth == 0 or self.work <= 0:
            return
        self.work -= 1
        node = cast("Node", node)
        yield from node.get("properties", ())
        for target in self.compiled.targets.get(id(node), ()):
            yield from self.names_in(target.node, depth - 1)
        for rule, value in node.items():
            if self.compiled.dialect.applicators.get(rule) == HERE and rule != "not":
                for _, child in subschemas(rule, value):
                    yield from self.names_in(child, depth - 1)

    def unknown(
        self, rule: str, properties: list[str], place: SchemaPlace, value: Node, at: Path
    ) -> Iterator[SchemaProblem]:
        """The properties of ``value`` that ``rule`` covers: forbidden, or constrained by a schema."""
        patterns = dict.fromkeys(place.node.get("patternProperties", ()), False)
        matches = self.compiled.refuser({"patternProperties": patterns})
        child = _child(place, rule)
        names = frozenset(properties)
        for name, part in self.parts(value):
            if name in names or matches({name: None}):
                continue
            if child.node is False:
                yield unknown_property(rule, name, properties, at)
            else:
                yield from self.into(child, part, (*at, name))

    def property_names(self, rule: str, place: SchemaPlace, value: Node, at: Path) -> Iterator[SchemaProblem]:
        for name, _ in self.parts(value):
            for problem in self.into(_child(place, rule), name, (*at, name)):
                expected = Worded(wording.PROBLEM_PROPERTY_NAME, {"problem": problem.expected})
                yield replaced(problem, rule=rule, expected=expected)

    # -- arrays --------------------------------------------------------------------------------------------------------

    def items(self, rule: str, place: SchemaPlace, value: list[Any], at: Path) -> Iterator[SchemaProblem]:
        """The items of an array: one schema for each position, or one for all remaining items."""
        if not isinstance(place.node[rule], list):
            yield from self.rest(_child(place, rule), value, _listed_before(place.node, rule), at)
            return
        for index, (child, part) in enumerate(zip(_branches(place, rule), value, strict=False)):
            yield from self.into(child, part, (*at, index))

    def rest(self, place: SchemaPlace, value: list[Any], start: int, at: Path) -> Iterator[SchemaProblem]:
        """The items from ``start`` on, which share a schema; validated in batches, to find one bad row among many."""
        for begin in range(start, len(value), _LOT):
            lot = value[begin : begin + _LOT]
            self.work -= _A_PLACE
            if self.work <= 0:
                return
            if not self.fits(place, lot, each=True):
                for index, part in enumerate(lot, begin):
                    yield from self.into(place, part, (*at, index))

    def contains(self, rule: str, place: SchemaPlace, value: list[Any], at: Path) -> Iterator[SchemaProblem]:
        """Too few or too many items that match a schema."""
        self.work -= len(value)
        if self.work <= 0:
            return
        form = _child(place, rule)
        matching = sum(self.fits(form, part) for part in value)
        limits: Node = {} if "minContains" in self.compiled.dialect.ignored else place.node
        least, most = limits.get("minContains", 1), limits.get("maxContains", math.inf)
        if self.work > 0 and not least <= matching <= most:
            code = wording.PROBLEM_CONTAINS_FEW if matching < least else wording.PROBLEM_CONTAINS_MANY
            yield wrong_count(form.node, code, least if matching < least else most, matching, at)


_Finder = Callable[[_ProblemSearch, str, SchemaPlace, Any, Path], Iterator[SchemaProblem]]

# keyword → the type of value it concerns, and the method that examines it
_FINDERS: Final[dict[str, tuple[type, _Finder]]] = {
    "required": (dict, _ProblemSearch.required),
    "additionalProperties": (dict, _ProblemSearch.additional_properties),
    "properties": (dict, _ProblemSearch.properties),
    "patternProperties": (dict, _ProblemSearch.pattern_properties),
    "propertyNames": (dict, _ProblemSearch.property_names),
    "dependentRequired": (dict, _ProblemSearch.dependent),
    "dependentSchemas": (dict, _ProblemSearch.dependent),
    "dependencies": (dict, _ProblemSearch.dependent),
    "prefixItems": (list, _ProblemSearch.items),
    "items": (list, _ProblemSearch.items),
    "additionalItems": (list, _ProblemSearch.items),
    "contains": (list, _ProblemSearch.contains),
    "allOf": (object, _ProblemSearch.all_of),
    "anyOf": (object, _ProblemSearch.any_of),
    "oneOf": (object, _ProblemSearch.one_of),
    "if": (object, _ProblemSearch.conditional),
    "not": (object, _ProblemSearch.excluded),
    "unevaluatedProperties": (dict, _ProblemSearch.unevaluated_properties),
}


def _child(place: SchemaPlace, *steps: str) -> SchemaPlace:
    node = place.node
    for step in steps:
        node = node[step]
    return SchemaPlace((*place.path, *steps), node)


def _branches(place: SchemaPlace, rule: str) -> list[SchemaPlace]:
    return [SchemaPlace((*place.path, *step), child) for step, child in subschemas(rule, place.node[rule])]


def _listed_before(node: Node, rule: str) -> int:
    """The number of items that other keywords validate one by one before ``rule`` takes the rest."""
    before = node.get("items" if rule == "additionalItems" else "prefixItems")
    return len(cast("list[Any]", before)) if isinstance(before, list) else 0


# -- the closest form --------------------------------------------------------------------------------------------------

_CHOICES: Final = frozenset({"enum", "const"})
_FAR: Final = {"type": 10, "const": 20, "enum": 5, "false": 20}


def _one_choice(branches: list[list[SchemaProblem]]) -> SchemaProblem | None:
    """All branches merged into one problem, if they want different types, or different values of the same part."""
    firsts = [problems[0] for problems in branches if len(problems) == 1]
    same_part = len(firsts) == len(branches) and len({problem.path for problem in firsts}) == 1
    if same_part and all(problem.rule == "type" for problem in firsts):
        wanted = [problem.expected.facts["kinds"] for problem in firsts if isinstance(problem.expected, Worded)]
        kinds = {str(kind): kind for kind in wanted}
        return replaced(firsts[0], expected=must_be(kinds.values()))
    choices = [{problem.path: problem for problem in problems if problem.rule in _CHOICES} for problems in branches]
    path = next((path for path in choices[0] if all(path in choice for choice in choices)), None)
    if path is None:
        return None
    tags = [choice[path] for choice in choices]
    allowed = tuple(dict.fromkeys(value for tag in tags for value in tag.allowed))
    near = next((tag.nearest for tag in tags if tag.nearest is not None), None)
    return replaced(tags[0], rule="enum", expected=Worded(wording.PROBLEM_ENUM, {}), allowed=allowed, nearest=near)


def _distance(problems: list[SchemaProblem], here: str) -> int:
    """The distance of a value from a branch: a wrong type at the top is far, a wrong discriminator farther than a
    typo."""
    return sum(_FAR.get(problem.rule, 1) * (10 if problem.path == here else 1) for problem in problems)
