"""The validator: a wrapper of ``jsonschema_rs``, which only this module imports and which alone accepts or refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NoReturn, cast
from urllib.parse import quote

import jsonschema_rs

from tooltrue.errors import SchemaError
from tooltrue.protocol.schema.dialects import Dialect, refuse
from tooltrue.protocol.schema.survey import BASE, SchemaBounds, SchemaPlace, Targets, absolute
from tooltrue.protocol.schema.words import ARTICLE, Node, Path, json_path, printable
from tooltrue.protocol.wording import (
    REASON_SCHEMA_TYPE_INVALID,
    SCHEMA_INVALID,
    SCHEMA_NOT_COMPILABLE,
    SCHEMA_PATTERN_UNSAFE,
)
from tooltrue.wording import Worded

_Make = Callable[..., jsonschema_rs.Validator]
_ENGINES: Final[dict[str, tuple[_Make, int]]] = {
    "2020-12": (jsonschema_rs.Draft202012Validator, jsonschema_rs.Draft202012),
    "draft-07": (jsonschema_rs.Draft7Validator, jsonschema_rs.Draft7),
}


def compiled(root: Node, dialect: Dialect, targets: Targets, bounds: SchemaBounds, assert_formats: bool) -> Compiled:
    """Compile with the linear regex engine; for patterns beyond it, with the backtracking one if the bounds allow."""
    options = jsonschema_rs.RegexOptions(size_limit=bounds.pattern_bytes)
    make = partial(_ENGINES[dialect.name][0], validate_formats=assert_formats, offline=True, pattern_options=options)
    try:
        judge = _judge(make, root, dialect)
    except SchemaError as error:
        if error.code != _PATTERN or not bounds.backtracks:
            raise
        fancy = jsonschema_rs.FancyRegexOptions(backtrack_limit=bounds.backtracks, size_limit=bounds.pattern_bytes)
        make = partial(make, pattern_options=fancy)
        judge = _judge(make, root, dialect)
    return Compiled(root, dialect, targets, make, judge.is_valid)


_PATTERN: Final = SCHEMA_PATTERN_UNSAFE


def _judge(make: _Make, root: Node, dialect: Dialect) -> jsonschema_rs.Validator:
    try:
        return make(root)
    except jsonschema_rs.ValidationError as error:
        _refuse_as(error, dialect)
    except ValueError as error:  # lone surrogates, numbers beyond all limits
        refuse(SCHEMA_NOT_COMPILABLE, problem=printable(str(error)))


def _refuse_as(error: jsonschema_rs.ValidationError, dialect: Dialect) -> NoReturn:
    path = tuple(error.instance_path)
    match error.kind:
        case jsonschema_rs.ValidationErrorKind.Format(format="regex") | jsonschema_rs.ValidationErrorKind.Pattern():
            refuse(_PATTERN, path=json_path(path))
        case _ if path[-1:] == ("type",):
            problem = Worded(REASON_SCHEMA_TYPE_INVALID, {"names": ", ".join(ARTICLE)})
        case _:
            problem = printable(error.message.partition("\n")[0])
    refuse(SCHEMA_INVALID, dialect=dialect.name, path=json_path(path), problem=problem)


class Compiled:
    """A schema with a validator for the whole, and one for each subschema, created on first use."""

    __slots__ = ("dialect", "is_valid", "judges", "make", "registry", "root", "targets")

    def __init__(
        self, root: Node, dialect: Dialect, targets: Targets, make: _Make, is_valid: Callable[[Any], bool]
    ) -> None:
        self.root = root
        self.dialect = dialect
        self.targets = targets
        self.make = make
        self.is_valid = is_valid
        # (path, whether it validates each item of an array) → validator, or None where it cannot be built
        self.judges: dict[tuple[Path, bool], Callable[[Any], bool] | None] = {((), False): is_valid}
        self.registry: jsonschema_rs.Registry | None = None

    def fits(self, place: SchemaPlace, value: Any, each: bool = False) -> bool:
        """Whether ``value``, or each item of it, fits the subschema at ``place``.

        Where no validator can be built, a value fits and a list of items does not.
        """
        if isinstance(place.node, bool) and not each:
            return place.node
        key = (place.path, each)
        if key not in self.judges:
            self.judges[key] = self.judge_of(place.path, each)
        judge = self.judges[key]
        try:
            return judge(value) if judge else not each
        except ValueError:  # not JSON
            return False

    def judge_of(self, path: Path, each: bool) -> Callable[[Any], bool] | None:
        name = self.root.get("$id")
        base = absolute(BASE, name).removesuffix("#") if isinstance(name, str) else BASE
        rule: Node = {"$ref": f"{base}#{_pointer(path)}"}
        try:
            if self.registry is None:
                draft = _ENGINES[self.dialect.name][1]
                self.registry = jsonschema_rs.Registry([(base, self.root)], draft=draft)
            return self.make({"items": rule} if each else rule, registry=self.registry).is_valid
        except (ValueError, jsonschema_rs.ReferencingError):
            return None  # the pointer may not resolve across a nested $id; then the outer problem is reported

    def cost(self, place: SchemaPlace, each: bool = False) -> int:
        """The cost of a verdict: 1, or, if the validator must be built first, the number of JSON values it is built
        from."""
        if (place.path, each) in self.judges:
            return 1
        visited: set[int] = set()
        count, rest = 0, [place.node]
        while rest:
            node = rest.pop()
            count += 1
            if isinstance(node, (dict, list)) and id(cast("object", node)) not in visited:
                visited.add(id(cast("object", node)))
                rest.extend(cast("Node", node).values() if isinstance(node, dict) else cast("list[Any]", node))
                rest.extend(target.node for target in self.targets.get(id(cast("object", node)), ()))
        return count

    def refuser(self, rule: Node) -> Callable[[Any], bool]:
        """A predicate that tells whether these few keywords alone refuse a value."""
        judge = self.make(rule)

        def refuses(value: Any) -> bool:
            try:
                return not judge.is_valid(value)
            except ValueError:  # not JSON
                return False

        return refuses


def _pointer(path: Path) -> str:
    """The path as a JSON pointer in a URI fragment."""
    return "".join("/" + quote(str(step).replace("~", "~0").replace("/", "~1"), safe="") for step in path)
