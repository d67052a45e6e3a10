"""The file in which a person decides which operations become tools, and how: written from a description, edited, read.

It has the whole of what a tool publishes, so that a later description changes no tool without this file. An operation
that does not stand in it is not served.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tooltrue.errors import SchemaError
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.protocol.terminal import one_line
from tooltrue.wording import LABEL_NONE, Worded
from tooltrue_toolbox.openapi.document import UnusablePart
from tooltrue_toolbox.openapi.operation import EFFECT_LEVELS, RESPONSES, ApiEffect, ApiOperation, Responses
from tooltrue_toolbox.openapi.operation_choice import ChoiceForm, Form, choice_described, operations_of
from tooltrue_toolbox.openapi.operations import DescribedApi, OmittedOperation
from tooltrue_toolbox.openapi.schema_conversion import SchemaConversion
from tooltrue_toolbox.openapi.toml_file import Keys, TomlFault, read_toml
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
    LABEL_PLAN_RESPONSES,
    LABEL_PLAN_TABLE,
    LABEL_PLAN_TABLES,
    LABEL_PLAN_TEXT,
    PLAN_INVALID,
    REASON_PLAN_EFFECT,
    REASON_PLAN_HIDES_REQUIRED,
    REASON_PLAN_LEFT_OUT,
    REASON_PLAN_NAME,
    REASON_PLAN_NO_SUCH_NAME,
    REASON_PLAN_ONE_OPERATION,
    REASON_PLAN_PARAMETER,
    REASON_PLAN_TWICE,
    REASON_PLAN_TWO_TOOLS,
    REASON_PLAN_UNKNOWN_KEY,
    REASON_PLAN_UNKNOWN_OPERATION,
    REASON_PLAN_VALUE,
    REASON_PLAN_WRONG_TYPE,
)

__all__ = ["plan_text", "planned_forms"]

_NAME: Final = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,{MAX_NAME - 1}}}")
_KEYS: Final = ("operation", "name", "title", "description", "effect", "hide", "fixed", "fields", "responses")
_TOOL_KEYS: Final = ("name", "title", "description", "operations")

_HEAD: Final = """\
# The operations of {title} that become tools. Remove those that no model needs; the rest is yours to edit.
#
# name, title, description   what a model reads
# effect                     read, write or destructive; a lower one than that of the method for POST only
# hide = ["limit"]           arguments that are neither shown nor sent
# fixed = {{limit = 10}}       arguments that are not shown, and always have this value
# fields = ["id", "owner.id"]  the fields of an answer that are returned; without it all are
# responses = "strict"       an answer that differs from the description: strict refuses it, log reports it, off
#
# Several operations become one tool, whose argument `operation` names one of them:
#
# [[tool]]
# name = "manage_things"     also title, description
# operations = ["add_thing", "get_thing"]   the names of two or more operations of this file
"""


# --- written ----------------------------------------------------------------------------------------------------------


def plan_text(api: DescribedApi, forms: Sequence[Form], beyond: Sequence[Form] = ()) -> str:
    """The text of a plan with these tools. Comments name the operations ``beyond`` a budget, and those that cannot be
    served."""
    parts = [_HEAD.format(title=one_line(api.description.title))]
    for form in forms:
        parts += map(_table, operations_of(form))
        parts += [_tool_table(form)] if isinstance(form, ChoiceForm) else []
    if beyond:
        names = [one_line(one.operation.key) for form in beyond for one in operations_of(form)]
        parts += ["# Operations beyond the budget:", *(f"#   {name}" for name in names), ""]
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


def _tool_table(form: ChoiceForm) -> str:
    return "\n".join(
        [
            "[[tool]]",
            f"name = {_quoted(form.name)}",
            f"title = {_quoted(form.title)}",
            f"description = {_quoted(form.description)}",
            f"operations = [{', '.join(_quoted(one.name) for one in form.operations)}]",
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


def planned_forms(api: DescribedApi, file: Path) -> list[Form]:
    """The tools of a plan. ``ConfigurationError`` names what is wrong in it, and the line."""
    return read_toml(file, PLAN_INVALID, _PlanReader(api).forms)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the file, at ``keys``."""

    data: Mapping[str, Json]
    keys: Keys

    @property
    def place(self) -> object:
        return f"[[{self.keys[0]}]] {int(self.keys[1]) + 1}" if self.keys else Worded(LABEL_PLAN_FILE, {})

    def fault(self, code: str, at: str, /, **facts: object) -> TomlFault:
        return TomlFault(Worded(code, facts), (*self.keys, at))

    def wrong_type(self, key: str, label: str) -> TomlFault:
        return self.fault(REASON_PLAN_WRONG_TYPE, key, key=key, place=self.place, wanted=Worded(label, {}))

    def check_keys(self, keys: Sequence[str]) -> None:
        for key in self.data:
            if key not in keys:
                raise self.fault(REASON_PLAN_UNKNOWN_KEY, key, place=self.place, key=key, known=", ".join(keys))

    def text(self, key: str, otherwise: str | None = None) -> str:
        value = self.data.get(key, otherwise)
        if not isinstance(value, str):
            raise self.wrong_type(key, LABEL_PLAN_TEXT)
        return value

    def tool_name(self) -> str:
        name = self.text("name")
        if _NAME.fullmatch(name) is None:
            raise self.fault(REASON_PLAN_NAME, "name", name=name, limit=MAX_NAME)
        return name

    def names(self, key: str) -> list[str]:
        value = self.data.get(key, [])
        if not is_array(value) or not all(isinstance(one, str) and all(one.split(".")) for one in value):
            raise self.wrong_type(key, LABEL_PLAN_NAMES)
        return [str(one) for one in value]

    def fixed(self) -> dict[str, Json]:
        value = self.data.get("fixed", {})
        if not is_object(value):
            raise self.wrong_type("fixed", LABEL_PLAN_TABLE)
        return value

    def effect(self, operation: ApiOperation) -> ApiEffect:
        """The effect that the file declares. It may be lower than that of the method for POST only: many searches are
        POST, and no other method that changes something reads."""
        value = self.data.get("effect", effect_of(operation))
        effect: ApiEffect | None = next((level for level in EFFECT_LEVELS if level == value), None)
        if effect is None:
            raise self.wrong_type("effect", LABEL_PLAN_EFFECT)
        if EFFECT_LEVELS.index(effect) < EFFECT_LEVELS.index(least_effect(operation)) and operation.method != "POST":
            raise self.fault(REASON_PLAN_EFFECT, "effect", operation=operation.key, effect=effect)
        return effect

    def responses(self) -> Responses | None:
        value = self.data.get("responses")
        declared: Responses | None = next((one for one in RESPONSES if one == value), None)
        if value is not None and declared is None:
            raise self.wrong_type("responses", LABEL_PLAN_RESPONSES)
        return declared

    def tables(self, key: str) -> list[_Table]:
        tables = self.data.get(key, [])
        if not is_array(tables) or not all(map(is_object, tables)):
            raise self.wrong_type(key, LABEL_PLAN_TABLES)
        return [_Table(one, (key, number)) for number, one in enumerate(tables) if is_object(one)]


class _PlanReader:
    def __init__(self, api: DescribedApi) -> None:
        self._api = api
        self._operations = {operation.key: operation for operation in api.operations}
        self._unusable = {one.key: one.problem for one in api.left_out}

    def forms(self, data: Mapping[str, Json]) -> list[Form]:
        """The tools of one operation in the order of the file, and then those of several."""
        file = _Table(data, ())
        file.check_keys(("operation", "tool"))
        operations, keys = dict[str, ToolForm](), set[str]()
        for table in file.tables("operation"):
            form = self._form(table)
            for key, value, others in (("operation", form.operation.key, keys), ("name", form.name, operations)):
                if value in others:
                    raise table.fault(REASON_PLAN_TWICE, key, what=value)
            keys.add(form.operation.key)
            operations[form.name] = form
        choices = self._choices(file.tables("tool"), operations)
        chosen = {one.name for choice in choices for one in choice.operations}
        return [*(form for name, form in operations.items() if name not in chosen), *choices]

    def _choices(self, tables: Sequence[_Table], operations: Mapping[str, ToolForm]) -> list[ChoiceForm]:
        choices, tool_of = dict[str, ChoiceForm](), dict[str, str]()
        for table in tables:
            choice = _choice(table, operations)
            if choice.name in choices or choice.name in operations:
                raise table.fault(REASON_PLAN_TWICE, "name", what=choice.name)
            for one in choice.operations:
                if (other := tool_of.setdefault(one.name, choice.name)) != choice.name:
                    facts = {"name": one.name, "first": other, "second": choice.name}
                    raise table.fault(REASON_PLAN_TWO_TOOLS, "operations", **facts)
            choices[choice.name] = choice
        return list(choices.values())

    def _form(self, table: _Table) -> ToolForm:
        table.check_keys(_KEYS)
        operation = self._operation(table)
        effect = table.effect(operation)
        title, description = described(operation, effect)
        form = ToolForm(
            operation,
            table.tool_name(),
            table.text("title", title),
            table.text("description", description),
            effect,
            frozenset(table.names("hide")),
            table.fixed(),
            tuple(table.names("fields")),
            table.responses(),
        )
        self._check_arguments(form, table)
        return form

    def _operation(self, table: _Table) -> ApiOperation:
        key = table.text("operation")
        if key in self._unusable:
            raise table.fault(REASON_PLAN_LEFT_OUT, "operation", operation=key, problem=self._unusable[key])
        if key not in self._operations:
            nearest = _nearest(key, self._operations)
            raise table.fault(REASON_PLAN_UNKNOWN_OPERATION, "operation", operation=key, nearest=nearest)
        return self._operations[key]

    def _check_arguments(self, form: ToolForm, table: _Table) -> None:
        names, body_name = argument_names(form.operation)
        required = {name for name, parameter in names.items() if parameter.required}
        schemas = {name: parameter.schema for name, parameter in names.items()}
        if (body := form.operation.body) is not None and body_name is not None:
            schemas[body_name] = body.schema
            required |= {body_name} if body.required else set()
        operation = form.operation.key
        for key, given in (("hide", form.hidden), ("fixed", form.fixed)):
            for name in given:
                if name not in schemas:
                    known = ", ".join(schemas) or Worded(LABEL_NONE, {})
                    raise table.fault(REASON_PLAN_PARAMETER, key, operation=operation, name=name, known=known)
        for name in form.hidden & required:
            raise table.fault(REASON_PLAN_HIDES_REQUIRED, "hide", operation=operation, name=name)
        for name, value in form.fixed.items():
            if (problem := self._misfit(dict(schemas[name]), value)) is not None:
                raise table.fault(REASON_PLAN_VALUE, "fixed", operation=operation, name=name, problem=problem)

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


def _choice(table: _Table, operations: Mapping[str, ToolForm]) -> ChoiceForm:
    """A tool of several operations, by their names in the file."""
    table.check_keys(_TOOL_KEYS)
    name, names = table.tool_name(), table.names("operations")
    for one in names:
        if one not in operations:
            nearest = _nearest(one, operations)
            raise table.fault(REASON_PLAN_NO_SUCH_NAME, "operations", tool=name, name=one, nearest=nearest)
        if names.count(one) > 1:
            raise table.fault(REASON_PLAN_TWICE, "operations", what=one)
    if len(names) < 2:
        raise table.fault(REASON_PLAN_ONE_OPERATION, "operations", tool=name)
    members = tuple(operations[one] for one in names)
    title, description = choice_described(name, members)
    return ChoiceForm(name, table.text("title", title), table.text("description", description), members)


def _nearest(text: str, known: Collection[str]) -> object:
    return ", ".join(difflib.get_close_matches(text, known, 3)) or Worded(LABEL_NONE, {})
