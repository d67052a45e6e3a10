"""Reads a function's signature: its parameters, their types and descriptions, its return type."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from tooltrue._internal.signatures import signature_of
from tooltrue.errors import DefinitionError
from tooltrue.protocol.types import Value
from tooltrue.tools.advice import CONTEXT_NAMES
from tooltrue.tools.binding.tool_options import Depends, Header, Lifespan
from tooltrue.tools.docstrings import read_docstring
from tooltrue.tools.type_aliases import unaliased
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.tools.wording import (
    CONTEXT_WITHOUT_TYPE,
    GENERATOR_AS_TOOL,
    MULTIPLE_CONTEXT_PARAMETERS,
    PARAMETER_KIND_NOT_SUPPORTED,
    PARAMETER_PROVIDER_NOT_DEPENDS,
    PARAMETER_WITHOUT_TYPE,
    SIGNATURE_UNREADABLE,
    TYPE_ANNOTATION_UNREADABLE,
    UNBOUND_METHOD_AS_TOOL,
)

if TYPE_CHECKING:  # a function without pydantic's types is read without pydantic
    from pydantic.fields import FieldInfo

__all__ = [
    "MISSING",
    "FunctionParameter",
    "Provided",
    "Signature",
    "field_info",
    "is_context",
    "is_provider",
    "parameter_hints",
    "parameters_of",
    "plain",
    "provided_by",
    "read_signature",
    "required",
]

MISSING = inspect.Parameter.empty
_PLAIN_ORIGINS = (dict, list, Union, types.UnionType, Literal)
# Each version of Python knows the parameters of more of them, but their types of none.
_BUILTINS = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)
_NO_ITERATORS = (MISSING, None, type(None), str, int, float, bool, dict, list, Any)


class FunctionParameter(Value, frozen=True):
    """``key`` is the name on the wire: the alias, if there is one. ``description`` is in addition to ``type``."""

    name: str
    key: str
    type: Any
    default: Any
    description: str | None = None


Provider: TypeAlias = Depends | Lifespan | Header


class Provided(Value, frozen=True):
    """A parameter that is provided for each call: by what, and of which type. ``default`` is its own, if any."""

    provider: Provider
    type: Any
    default: Any = MISSING


class Signature(Value, frozen=True):
    """The parameters and the return type of a function. ``context`` names the parameter for the request context,
    ``provided`` are those for dependencies and the like; ``positional`` are the positional-only parameters, in their
    order. ``is_iterator``: its items are collected.
    """

    parameters: tuple[FunctionParameter, ...]
    context: str | None
    provided: Mapping[str, Provided]
    positional: tuple[str, ...]
    returns: Any
    description: str | None
    is_async: bool
    is_iterator: bool = False


def read_signature(function: Callable[..., Any], *, collects: bool = False) -> Signature:
    """Read the signature of any callable. Raises ``DefinitionError`` if it cannot be described. ``collects``: the items
    of an iterator are collected, so a generator function is accepted if its return type is that of one.
    """
    target = plain(function)
    is_generator = inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target)
    if is_generator and not collects:
        raise DefinitionError.of(GENERATOR_AS_TOOL)
    hints = _hints(target)
    returns = hints.get("return", MISSING)
    is_iterator = collects and returns not in _NO_ITERATORS and _is_iterator(returns)
    if is_generator and not is_iterator:
        raise DefinitionError.of(GENERATOR_AS_TOOL)
    description, described = read_docstring(inspect.getdoc(_documented(function)))
    parameters: list[FunctionParameter] = []
    contexts: list[str] = []
    provided: dict[str, Provided] = {}
    declared = parameters_of(function)
    _check_bound(function, declared)
    if declared and isinstance(target, _BUILTINS):
        raise DefinitionError.of(SIGNATURE_UNREADABLE, problem=repr(target))
    for parameter in declared:
        annotation = hints.get(parameter.name, MISSING)
        if (provision := provided_by(parameter, annotation)) is not None:
            provided[parameter.name] = provision
            continue
        _check_parameter(parameter, annotation)
        if is_context(annotation):
            contexts.append(parameter.name)
        else:
            parameters.append(_parameter(parameter, annotation, described.get(parameter.name)))
    if len(contexts) > 1:
        raise DefinitionError.of(MULTIPLE_CONTEXT_PARAMETERS, names=", ".join(contexts))
    return Signature(
        tuple(parameters),
        contexts[0] if contexts else None,
        provided,
        tuple(parameter.name for parameter in declared if parameter.kind is parameter.POSITIONAL_ONLY),
        returns,
        description,
        inspect.iscoroutinefunction(target) or inspect.isasyncgenfunction(target),
        is_iterator,
    )


def _is_iterator(returns: Any) -> bool:
    if get_origin(returns) in _PLAIN_ORIGINS:
        return False
    from tooltrue.tools.binding.sent_types import is_iterator_type  # noqa: PLC0415 - plain types need no replacement

    return is_iterator_type(returns)


def plain(function: Any) -> Callable[..., Any]:
    """Return the function behind a partial, or behind a callable object."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return function if inspect.isroutine(function) else type(function).__call__


def parameters_of(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    try:
        return list(signature_of(function).parameters.values())
    except (ValueError, TypeError) as error:  # a builtin without a signature
        raise DefinitionError.of(SIGNATURE_UNREADABLE, problem=str(error)) from None


def _check_bound(function: Any, parameters: Sequence[inspect.Parameter]) -> None:
    """Raise ``DefinitionError`` for a method that is registered inside its class body."""
    outer, _, name = getattr(function, "__qualname__", "").rpartition(".")
    is_within = bool(outer) and not outer.endswith("<locals>")
    if is_within and not inspect.ismethod(function) and parameters and parameters[0].name == "self":
        raise DefinitionError.of(UNBOUND_METHOD_AS_TOOL, kind=outer.rpartition(".")[2], name=name)


def _documented(function: Any) -> Any:
    return plain(function) if isinstance(function, functools.partial) else function


def _hints(target: Callable[..., Any]) -> dict[str, Any]:
    try:
        hints = get_type_hints(target, include_extras=True)
        return {name: unaliased(hint) for name, hint in hints.items()}
    except (NameError, TypeError) as error:
        raise DefinitionError.of(TYPE_ANNOTATION_UNREADABLE, problem=str(error)) from None


def _check_parameter(parameter: inspect.Parameter, annotation: Any) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise DefinitionError.of(PARAMETER_KIND_NOT_SUPPORTED, name=str(parameter))
    if annotation is MISSING and parameter.name in CONTEXT_NAMES:
        raise DefinitionError.of(CONTEXT_WITHOUT_TYPE, name=parameter.name)
    if annotation is MISSING:
        raise DefinitionError.of(PARAMETER_WITHOUT_TYPE, name=parameter.name)


def _options(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else ()


def is_context(annotation: Any) -> bool:
    """Whether a parameter of this type is for the context: ``Context``, annotated or not, or optional."""
    inner = get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation
    return inner is RequestContext or any(map(is_context, _options(inner)))


def parameter_hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the types of the parameters, as far as they can be resolved."""
    target = function.__init__ if isinstance(function, type) else plain(function)
    with contextlib.suppress(DefinitionError):
        return _hints(inspect.unwrap(target))
    return {}


_PROVIDERS = (Depends, Lifespan, Header)


def is_provider(item: Any) -> bool:
    """Whether it provides a parameter: one of ours, even as a bare class, or a dependency of another library."""
    kinds: tuple[type, ...] = (item if isinstance(item, type) else type(item)).__mro__
    return any(kind in _PROVIDERS or kind.__name__.lstrip("_") == "Depends" or _is_fastapis(kind) for kind in kinds)


def _is_fastapis(kind: type) -> bool:
    """Whether the class is one by which FastAPI reads a part of a request: its ``Header`` is a field to pydantic."""
    return kind.__module__ == "fastapi.params"


def provided_by(parameter: inspect.Parameter, annotation: Any) -> Provided | None:
    """Return what provides a parameter, from its type or its default: a model can set neither.

    Raises ``DefinitionError`` for two providers, for one of another library, and for ``Depends`` without a call.
    """
    providers = [item for item in (*_defaults(parameter.default), *_metadata(annotation)) if is_provider(item)]
    if not providers:
        return None
    provider = providers[0]() if providers[0] in (Lifespan, Header) else providers[0]
    if len(providers) > 1 or not isinstance(provider, _PROVIDERS):
        raise DefinitionError.of(PARAMETER_PROVIDER_NOT_DEPENDS, name=parameter.name)
    default = MISSING if any(map(is_provider, _defaults(parameter.default))) else parameter.default
    return Provided(provider, _bare(annotation), default)


def _bare(annotation: Any) -> Any:
    """Return the type of an annotation without its metadata, and of each option of a union."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    options = _options(annotation)
    return Union[tuple(map(_bare, options))] if options else annotation  # noqa: UP007 - made of a tuple


def field_info(item: Any) -> FieldInfo | None:
    """Return ``item`` if it is a ``Field`` of pydantic, which nothing is before pydantic is imported."""
    fields = sys.modules.get("pydantic.fields")
    return item if fields is not None and isinstance(item, fields.FieldInfo) else None


def _defaults(default: Any) -> tuple[Any, ...]:
    """Return the default and the default factory, also within a ``Field``."""
    field = field_info(default)
    return (default,) if field is None else (field.default, field.default_factory)


def _metadata(annotation: Any) -> list[Any]:
    """Return the metadata of an annotation, and of each option of a union."""
    if get_origin(annotation) is Annotated:
        inner, *items = get_args(annotation)
        return [part for item in items for part in (item, *_defaults_of_field(item))] + _metadata(inner)
    return [item for option in _options(annotation) for item in _metadata(option)]


def _defaults_of_field(item: Any) -> tuple[Any, ...]:
    return () if (field := field_info(item)) is None else (*_defaults(field), *field.metadata)


def _parameter(parameter: inspect.Parameter, annotation: Any, described: str | None) -> FunctionParameter:
    metadata: list[Any] = []
    if get_origin(annotation) is Annotated:
        annotation, *metadata = get_args(annotation)
    metadata += _words_within(annotation)
    default = parameter.default
    if (field := field_info(default)) is not None:  # written x: int = Field(5, ge=1)
        metadata.append(field)
        default = field.default if _has_default(field) and field.default is not ... else MISSING
    texts = [item for item in metadata if isinstance(item, str)]
    rest = [item for item in metadata if not isinstance(item, str)]
    description = texts[0] if texts else described
    if not description or any(field.description for field in map(field_info, rest) if field is not None):
        description = None
    parts = [part for item in rest for part in _without_default(item)]
    type_: Any = Annotated[(annotation, *parts)] if parts else annotation  # pyright: ignore[reportInvalidTypeForm]
    key = next((field.alias for field in map(field_info, parts) if field is not None and field.alias), parameter.name)
    return FunctionParameter(parameter.name, key, type_, default, description)


def _words_within(annotation: Any) -> list[str]:
    """Return descriptions inside the parameter's type: ``Annotated[str, "…"] | None`` describes the parameter too."""
    inner = [part for part in get_args(annotation) if get_origin(part) is Annotated]
    return [item for part in inner for item in get_args(part)[1:] if isinstance(item, str)]


def _without_default(item: Any) -> Sequence[Any]:
    """Make a parameter's metadata fit a TypedDict: its default is published from the signature instead."""
    field = field_info(item)
    if field is None or not _has_default(field):
        return (item,)
    from pydantic import Field  # noqa: PLC0415 - the author has imported it

    bare = Field(title=field.title, description=field.description, examples=field.examples, alias=field.alias)
    return (*field.metadata, bare)


def _has_default(field: FieldInfo) -> bool:
    from pydantic_core import PydanticUndefined  # noqa: PLC0415 - the author has imported it

    return field.default is not PydanticUndefined


def required(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters without a default, which the caller must provide."""
    return [one for one in parameters_of(function) if one.default is MISSING]
