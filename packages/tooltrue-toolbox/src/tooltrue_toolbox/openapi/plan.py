"""The file in which a person decides which operations become tools, and how: written from a description, edited, read.

It has the whole of what a tool publishes, so that a later description changes no tool without this file. An operation
that does not stand in it is not served.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from tooltrue.errors import ConfigurationError, SchemaError
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.protocol.terminal import one_line
from tooltrue.wording import LABEL_NONE, REASON_FILE_NOT_FOUND, REASON_NOT_UTF8, Worded
from tooltrue_toolbox.openapi.document import UnusablePart
from tooltrue_toolbox.openapi.operation import EFFECT_LEVELS, ApiEffect, ApiOperation
from tooltrue_toolbox.openapi.operations import DescribedApi, OmittedOperation
from tooltrue_toolbox.openapi.schema_conversion import SchemaConversion
from tooltrue_toolbox.openapi.tool_definition import (
    MAX_NAME,
    ToolForm,
    argument_names,
    described,
    effect_of,
    least_effect,
)
from tooltrue_toolbox.openapi.wording import (
    LABEL_PLAN_EFFECT,
    LABEL_PLAN_FILE,
    LABEL_PLAN_NAMES,
    LABEL_PLAN_TABLE,
    LABEL_PLAN_TABLES,
    LABEL_PLAN_TEXT,
    PLAN_INVALID,
    REASON_PLAN_EFFECT,
    REASON_PLAN_HIDES_REQUIRED,
    REASON_PLAN_LEFT_OUT,
    REASON_PLAN_NAME,
    REASON_PLAN_PARAMETER,
    REASON_PLAN_TWICE,
    REASON_PLAN_UNKNOWN_KEY,
    REASON_PLAN_UNKNOWN_OPERATION,
    REASON_PLAN_VALUE,
    REASON_PLAN_WRONG_TYPE,
)

__all__ = ["plan_text", "planned_forms"]

_NAME: Final = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{MAX_NAME - 1}}}")
_KEYS: Final = ("operation", "name", "title", "description", "effect", "hide", "fixed", "fields")

_HEAD: Final = """\
# The operations of {title} that become tools. Remove those that no model needs; the rest is yours to edit.
#
# name, title, description   what a model reads
# effect                     read, write or destructive; a lower one than that of the method for POST only
# hide = ["limit"]           arguments that are neither shown nor sent
# fixed = {{limit = 10}}       arguments that are not shown, and always have this value
# fields = ["id", "owner.id"]  the fields of an answer that are returned; without it all are
"""


# --- written ----------------------------------------------------------------------------------------------------------


def plan_text(api: DescribedApi, forms: Sequence[ToolForm], beyond: Sequence[ToolForm] = ()) -> str:
    """The text of a plan with these tools. Comments name the operations ``beyond`` a budget, and those that cannot be
    served."""
    parts = [_HEAD.format(title=one_line(api.description.title)), *map(_table, forms)]
    if beyond:
        parts += ["# Operations beyond the budget:", *(f"#   {one_line(form.operation.key)}" for form in beyond), ""]
    return "\n".join([*parts, *_left_out(api.left_out)])


def _table(form: ToolForm) -> str:
    names, body = argument_names(form.operation)
    arguments = ", ".join([*names, *([] if body is None else [body])])
    return "\n".join(
        [
            "[[operation]]",
            f"operation = {_quoted(form.operation.key)}",
            f"name = {_quoted(form.name)}",
            f"title = {_quoted(form.title)}",
            f"description = {_quoted(form.description)}",
            f"effect = {_quoted(form.effect)}",
            f"# arguments: {one_line(arguments) or 'none'}",
            "",
        ]
    )


def _left_out(left_out: Sequence[OmittedOperation]) -> Iterator[str]:
    if left_out:
        yield "# Operations that cannot be served:"
        yield from (f"#   {one_line(one.key)}: {one_line(str(one.problem))}" for one in left_out)
        yield ""


def _quoted(text: str) -> str:
    """``text`` as a basic string of TOML, which has the escapes of JSON and no DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


# --- read -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _PlanFault(Exception):
    problem: Worded


def planned_forms(api: DescribedApi, file: Path) -> list[ToolForm]:
    """The tools of a plan. ``ConfigurationError`` names what is wrong in it."""
    try:
        data = tomllib.loads(file.read_text("utf-8"))
        return _PlanReader(api).forms(data)
    except FileNotFoundError:
        problem: object = Worded(REASON_FILE_NOT_FOUND, {})
    except OSError as error:
        problem = error.strerror or str(error)
    except UnicodeDecodeError:
        problem = Worded(REASON_NOT_UTF8, {})
    except tomllib.TOMLDecodeError as error:
        problem = str(error)
    except _PlanFault as error:
        problem = error.problem
    raise ConfigurationError.of(PLAN_INVALID, file=str(file), problem=problem)


class _PlanReader:
    def __init__(self, api: DescribedApi) -> None:
        self._api = api
        self._operations = {operation.key: operation for operation in api.operations}
        self._unusable = {one.key: one.problem for one in api.left_out}

    def forms(self, data: Mapping[str, Json]) -> list[ToolForm]:
        _check_keys(data, ("operation",), Worded(LABEL_PLAN_FILE, {}))
        tables = data.get("operation", [])
        if not is_array(tables) or not all(map(is_object, tables)):
            raise _wrong_type("operation", Worded(LABEL_PLAN_FILE, {}), LABEL_PLAN_TABLES)
        forms, keys = dict[str, ToolForm](), set[str]()
        for number, table in enumerate(cast("list[dict[str, Json]]", tables), 1):
            form = self._form(table, f"[[operation]] {number}")
            for what, others in ((form.operation.key, keys), (form.name, forms)):
                if what in others:
                    raise _PlanFault(Worded(REASON_PLAN_TWICE, {"what": what}))
            keys.add(form.operation.key)
            forms[form.name] = form
        return list(forms.values())

    def _form(self, table: Mapping[str, Json], place: str) -> ToolForm:
        _check_keys(table, _KEYS, place)
        key = _text(table, "operation", place)
        if key in self._unusable:
            raise _PlanFault(Worded(REASON_PLAN_LEFT_OUT, {"operation": key, "problem": self._unusable[key]}))
        operation = self._operations.get(key)
        if operation is None:
            near = difflib.get_close_matches(key, [*self._operations], 3)
            facts = {"operation": key, "nearest": ", ".join(near) or Worded(LABEL_NONE, {})}
            raise _PlanFault(Worded(REASON_PLAN_UNKNOWN_OPERATION, facts))
        name = _text(table, "name", place)
        if _NAME.fullmatch(name) is None:
            raise _PlanFault(Worded(REASON_PLAN_NAME, {"name": name, "limit": MAX_NAME}))
        effect = _effect(table, operation, place)
        title, description = described(operation, effect)
        form = ToolForm(
            operation,
            name,
            _text(table, "title", place, title),
            _text(table, "description", place, description),
            effect,
            frozenset(_names(table, "hide", place)),
            _fixed(table, place),
            tuple(_names(table, "fields", place)),
        )
        self._check_arguments(form)
        return form

    def _check_arguments(self, form: ToolForm) -> None:
        names, body_name = argument_names(form.operation)
        required = {name for name, parameter in names.items() if parameter.required}
        schemas = {name: parameter.schema for name, parameter in names.items()}
        if (body := form.operation.body) is not None and body_name is not None:
            schemas[body_name] = body.schema
            required |= {body_name} if body.required else set()
        key = form.operation.key
        for name in (*form.hidden, *form.fixed):
            if name not in schemas:
                names_text = ", ".join(schemas) or Worded(LABEL_NONE, {})
                raise _PlanFault(Worded(REASON_PLAN_PARAMETER, {"operation": key, "name": name, "known": names_text}))
        for name in form.hidden & required:
            raise _PlanFault(Worded(REASON_PLAN_HIDES_REQUIRED, {"operation": key, "name": name}))
        for name, value in form.fixed.items():
            if (problem := self._misfit(dict(schemas[name]), value)) is not None:
                facts = {"operation": key, "name": name, "problem": problem}
                raise _PlanFault(Worded(REASON_PLAN_VALUE, facts))

    def _misfit(self, schema: Json, value: Json) -> object | None:
        """Why a value does not fit a schema of the description; ``None`` if it does."""
        conversion = SchemaConversion(self._api.description, "request", patterns=False)
        try:
            converted = conversion.convert(schema)
            compiled = compile_schema({**converted, "$defs": conversion.definitions}, bounds=OWN)
        except UnusablePart as error:
            return error.problem
        except SchemaError as error:
            return str(error)
        problems = compiled.problems(value, 1)
        return problems[0] if problems else None


def _check_keys(table: Mapping[str, Json], keys: Sequence[str], place: object) -> None:
    for key in table:
        if key not in keys:
            facts = {"place": place, "key": key, "known": ", ".join(keys)}
            raise _PlanFault(Worded(REASON_PLAN_UNKNOWN_KEY, facts))


def _wrong_type(key: str, place: object, label: str) -> _PlanFault:
    return _PlanFault(Worded(REASON_PLAN_WRONG_TYPE, {"key": key, "place": place, "wanted": Worded(label, {})}))


def _text(table: Mapping[str, Json], key: str, place: str, otherwise: str | None = None) -> str:
    value = table.get(key, otherwise)
    if not isinstance(value, str):
        raise _wrong_type(key, place, LABEL_PLAN_TEXT)
    return value


def _names(table: Mapping[str, Json], key: str, place: str) -> list[str]:
    value = table.get(key, [])
    if not is_array(value) or not all(isinstance(one, str) and all(one.split(".")) for one in value):
        raise _wrong_type(key, place, LABEL_PLAN_NAMES)
    return [str(one) for one in value]


def _fixed(table: Mapping[str, Json], place: str) -> dict[str, Json]:
    value = table.get("fixed", {})
    if not is_object(value):
        raise _wrong_type("fixed", place, LABEL_PLAN_TABLE)
    return value


def _effect(table: Mapping[str, Json], operation: ApiOperation, place: str) -> ApiEffect:
    """The effect that the file declares. It may be lower than that of the method for POST only: many searches are
    POST, and no other method that changes something reads."""
    value = table.get("effect", effect_of(operation))
    effect: ApiEffect | None = next((level for level in EFFECT_LEVELS if level == value), None)
    if effect is None:
        raise _wrong_type("effect", place, LABEL_PLAN_EFFECT)
    if EFFECT_LEVELS.index(effect) < EFFECT_LEVELS.index(least_effect(operation)) and operation.method != "POST":
        raise _PlanFault(Worded(REASON_PLAN_EFFECT, {"operation": operation.key, "effect": effect}))
    return effect
