"""Several operations as one tool: an argument names the operation, and each takes its own arguments and no others.

All arguments are properties of one object, since model providers refuse alternatives at the top of a schema. The
arguments of each operation stand below ``dependentSchemas``, by which a call is validated; a model that is not shown
them reads the same in the description of the argument.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, TypeVar

from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue.tools.vocabulary import RequestContext
from tooltrue_toolbox.openapi.document import ApiDescription
from tooltrue_toolbox.openapi.operation import ApiEffect
from tooltrue_toolbox.openapi.operation_call import OperationCall
from tooltrue_toolbox.openapi.schema_conversion import SchemaConversion
from tooltrue_toolbox.openapi.texts import free_name, identifier, shortened
from tooltrue_toolbox.openapi.tool_definition import (
    ToolForm,
    argument_names,
    arguments_of,
    effect_sentence,
    input_schema,
    object_schema,
    page_argument,
    strongest,
)

__all__ = [
    "AnyForm",
    "ChoiceCall",
    "ChoiceForm",
    "Form",
    "choice_described",
    "choice_schema",
    "operations_of",
    "part_of",
    "tool_schema",
]

_ABOUT: Final = 160
"""The most characters of the text about one operation, without the names of its arguments."""
_ARGUMENT_TEXT: Final = 300
_ARGUMENT: Final = 60
_NOT_JUDGED: Final = ("description", "default", "examples", "deprecated")
"""The keywords by which no value is accepted or refused."""


@dataclass(frozen=True, slots=True)
class ChoiceForm:
    """How several operations become one tool. The names of ``operations`` are the values of the argument."""

    name: str
    title: str
    description: str
    operations: tuple[ToolForm, ...]

    @property
    def effect(self) -> ApiEffect:
        return strongest(one.effect for one in self.operations)

    @property
    def argument(self) -> str:
        """The name of the argument that names the operation: no operation has another one of this name."""
        names = {name for one in self.operations for name in _own_names(one)}
        return free_name("operation", names)


Form: TypeAlias = ToolForm | ChoiceForm


AnyForm = TypeVar("AnyForm", ToolForm, ChoiceForm, Form)


def operations_of(form: Form) -> tuple[ToolForm, ...]:
    return form.operations if isinstance(form, ChoiceForm) else (form,)


def part_of(form: Form, keys: Collection[str]) -> Form | None:
    """The form with these operations alone; ``None`` if it has none of them."""
    chosen = tuple(one for one in operations_of(form) if one.operation.key in keys)
    if not chosen:
        return None
    return replace(form, operations=chosen) if isinstance(form, ChoiceForm) else form


def tool_schema(description: ApiDescription, form: Form, *, patterns: bool) -> dict[str, Json]:
    """The schema of the arguments of any tool. Raises ``UnusablePart`` for a schema that cannot be converted."""
    if isinstance(form, ChoiceForm):
        return choice_schema(description, form, patterns=patterns)[0]
    return input_schema(description, form, patterns=patterns)


def _own_names(form: ToolForm) -> set[str]:
    names, body = argument_names(form.operation)
    return {*names, body or "", page_argument(form.operation) or ""}


def choice_described(name: str, operations: Sequence[ToolForm]) -> tuple[str, str]:
    """The title and the description of a tool of several operations, where a plan has none."""
    names = ", ".join(one.name for one in operations)
    requests = ", ".join(one.operation.key for one in operations)
    effect = strongest(one.effect for one in operations)
    title = name.replace("_", " ").replace("-", " ").capitalize()
    return title, f"Run one operation of the API: {names}.\n\n{effect_sentence(requests, effect)}"


# --- the schema -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OperationPart:
    """An operation of a tool. ``public_names`` are those of its arguments in the tool, by its own names of them."""

    form: ToolForm
    properties: dict[str, Json]
    required: Sequence[str]
    public_names: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def defaults(self) -> dict[str, Json]:
        """The defaults of arguments, by its own names. Those of one operation are not those of another."""
        return {
            name: schema["default"]
            for name, schema in self.properties.items()
            if is_object(schema) and "default" in schema
        }

    @property
    def needed(self) -> list[str]:
        return [self.public_names[name] for name in self.required if name not in self.defaults]

    def rule(self, argument: str) -> dict[str, Json]:
        """The rule that a call of this operation has its arguments and no others."""
        own = {public: self._in_rule(name, public) for name, public in self.public_names.items()}
        chosen = {argument: {"type": "string", "const": self.form.name}}
        return {
            # Some providers want a type in every schema.
            "type": "object",
            "if": {"type": "object", "properties": chosen},
            "then": object_schema({argument: True, **own}, self.needed, {}),
        }

    def _in_rule(self, name: str, public: str) -> Json:
        """An argument in the rule. The property has its schema; by a reference, an error says what is missing."""
        reference = {"$ref": f"#/properties/{public}"}
        if name in self.defaults:
            return {**reference, "default": self.defaults[name]}
        return reference if public in self.needed else True

    def __str__(self) -> str:
        """The purpose and the arguments of the operation, for a model."""
        about = shortened(self.form.description.partition("\n")[0], _ABOUT)
        optional = [public for public in self.public_names.values() if public not in self.needed]
        needs = f"Needs {', '.join(self.needed)}." if self.needed else "Needs no other argument."
        takes = f" Takes {', '.join(optional)}." if optional else ""
        return f"{self.form.name} ({self.form.effect}): {about} {needs}{takes}"


def choice_schema(
    description: ApiDescription, form: ChoiceForm, *, patterns: bool
) -> tuple[dict[str, Json], list[OperationPart]]:
    """The schema of the arguments, and the operations. Raises ``UnusablePart`` for a schema that cannot be converted.

    Arguments of one name and one schema are one. Where schemas differ, each has the name of its operation before its
    own: ``add_pet_body``, ``change_pet_body``.
    """
    conversion = SchemaConversion(description, "request", patterns=patterns)
    parts = [OperationPart(one, *arguments_of(conversion, one)) for one in form.operations]
    names = dict.fromkeys(name for part in parts for name in part.properties)
    properties, used_names = dict[str, Json](), {form.argument, *names}
    for name in names:
        takers = [part for part in parts if name in part.properties]
        if _is_one(name, takers):
            properties[name] = _in_common(name, takers)
            for part in takers:
                part.public_names[name] = name
            continue
        for part in takers:
            public = free_name(identifier(f"{part.form.name}_{name}", _ARGUMENT) or "argument", used_names)
            used_names.add(public)
            part.public_names[name] = public
            properties[public] = _without_default(part.properties[name])
    argument: dict[str, Json] = {
        "type": "string",
        "enum": [part.form.name for part in parts],
        "description": " ".join(map(str, parts)),
    }
    schema = object_schema({form.argument: argument, **properties}, [form.argument], conversion.definitions)
    schema["dependentSchemas"] = {form.argument: {"allOf": [part.rule(form.argument) for part in parts]}}
    return schema, parts


def _is_one(name: str, takers: Sequence[OperationPart]) -> bool:
    first, *others = (_judged(part.properties[name]) for part in takers)
    return all(one == first for one in others)


def _judged(schema: Json) -> Json:
    """The part of a schema by which values are accepted or refused."""
    return {key: value for key, value in schema.items() if key not in _NOT_JUDGED} if is_object(schema) else schema


def _without_default(schema: Json) -> Json:
    """A default at the top is filled in for every call, also of operations without the argument."""
    return {key: value for key, value in schema.items() if key != "default"} if is_object(schema) else schema


def _in_common(name: str, takers: Sequence[OperationPart]) -> Json:
    """The property of an argument that operations share, with what each of them says of it."""
    schemas = [schema for part in takers if is_object(schema := part.properties[name])]
    texts = dict.fromkeys(str(schema["description"]) for schema in schemas if "description" in schema)
    made = _without_default({**schemas[0], "description": shortened(" / ".join(texts), _ARGUMENT_TEXT)})
    is_deprecated = all("deprecated" in schema for schema in schemas)
    return {key: value for key, value in made.items() if key != "deprecated" or is_deprecated}


# --- calls ------------------------------------------------------------------------------------------------------------


class ChoiceCall:
    """Calls of a tool of several operations: each is one of the operation that ``argument`` names."""

    def __init__(self, argument: str, parts: Sequence[OperationPart], calls: Sequence[OperationCall]) -> None:
        self._argument = argument
        self._operations = {
            part.form.name: (call, part.defaults, {public: name for name, public in part.public_names.items()})
            for part, call in zip(parts, calls, strict=True)
        }

    async def run(self, arguments: dict[str, Json], context: RequestContext) -> object:
        call, defaults, names = self._operations[str(arguments[self._argument])]
        values = {names[public]: value for public, value in arguments.items() if public != self._argument}
        return await call.run({**defaults, **values}, context)
