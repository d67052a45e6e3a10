"""Writes `reference/`: the public names of `tooltrue` and `tooltrue.testing`, from their docstrings and signatures.

A name stands on the page of the first row of `PLACES` that its module begins with, so that a new export needs no entry
here. An item "- ``name``: text" of a docstring describes the parameter of this name.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from types import FunctionType
from typing import Any, get_args, get_type_hints

from msgspec import NODEFAULT, Struct
from typing_extensions import get_protocol_members, is_protocol, is_typeddict

import tooltrue
import tooltrue.testing
from tooltrue.tools.binding.tool_options import ToolOptions
from tooltrue.tools.settings import PromptSettings, ResourceSettings, ToolSettings

__all__ = ["PAGES", "SETTINGS", "Entry", "entries", "reference_pages"]

PAGES = {
    "server": ("Server", "The server of an author, and where it is served."),
    "tools": ("Tools and toolsets", "The settings of tools, resources and prompts, and toolsets made from toolsets."),
    "layers": ("Layers", "The protocols of toolsets and layers, and layers of one's own."),
    "context": ("Context and questions", "The facts of a request, and questions to the user."),
    "results": ("Results", "Content blocks and results, in the form of the newest protocol revision."),
    "client": ("Client", "The client, and its sign-in to servers."),
    "host": ("Host and models", "Many servers behind one guard, and a model that uses their tools."),
    "guard": ("Guard settings", "The settings of the middleware layers."),
    "rules": ("Rules", "The decisions about a call."),
    "authentication": ("Authentication", "Methods to authenticate HTTP callers of a server."),
    "errors": ("Errors", "The exceptions. [errors.md](../errors.md) lists the codes."),
    "testing": ("Testing", "The names of `tooltrue.testing` ([testing.md](../testing.md))."),
}
"""Page → its title and its first sentence, in the order of the index."""

PLACES = {
    "tooltrue.testing": "testing",
    "tooltrue.app": "server",
    "tooltrue.errors": "errors",
    "tooltrue.client": "client",
    "tooltrue.transport": "client",
    "tooltrue.host": "host",
    "tooltrue.policy.rules": "rules",
    "tooltrue.policy.placing": "layers",
    "tooltrue.policy.plan": "layers",
    "tooltrue.policy": "guard",
    "tooltrue.protocol": "results",
    "tooltrue.server.routes": "server",
    "tooltrue.server.route_requests": "server",
    "tooltrue.server": "authentication",
    "tooltrue.tools.client_questions": "context",
    "tooltrue.tools.binding.forms": "context",
    "tooltrue.tools.vocabulary": "context",
    "tooltrue.tools.toolset": "layers",
    "tooltrue.tools.media": "results",
    "tooltrue.tools.tables": "results",
    "tooltrue": "tools",
}
"""Beginning of a module's name → page; the first that fits counts."""

SETTINGS = {"ToolSettings": ToolSettings, "ResourceSettings": ResourceSettings, "PromptSettings": PromptSettings}
"""The arguments of decorators: types that are not exported, on the page of tools."""

MADE = "<!-- Made by docs/api_reference.py from the docstrings of packages/tooltrue. Change them there. -->"
TABLES = ("Server", "Client", "Host")
"""The classes with so many parameters that a table shows them."""

BASES = {member for base in (object, Exception, tuple) for member in dir(base)}


@dataclass(frozen=True)
class Entry:
    """A public name, and the object behind it."""

    name: str
    value: Any
    module: str
    package: str = "tooltrue"

    @cached_property
    def page(self) -> str:
        return next(page for start, page in PLACES.items() if f"{self.module}.".startswith(f"{start}."))

    @property
    def docstring(self) -> str:
        """The docstring of the object itself, not one that it inherits."""
        if is_alias(self.value):
            return _written_below(self.module, self.name)
        own = vars(self.value).get("__doc__") if inspect.isclass(self.value) else self.value.__doc__
        return inspect.cleandoc(own or "")


def is_alias(value: Any) -> bool:
    """Whether it is a name for a union or another composed type."""
    return bool(get_args(value)) and not inspect.isclass(value)


def _written_below(module: str, name: str) -> str:
    """The string below the assignment of a name, which Python does not keep."""
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body
    for statement, following in pairwise(body):
        assigned = isinstance(statement, ast.AnnAssign) and getattr(statement.target, "id", "") == name
        if assigned and isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            return inspect.cleandoc(str(following.value.value))
    return ""


@cache
def entries() -> tuple[Entry, ...]:
    """All public names, in the order of the alphabet."""
    own = [Entry(name, getattr(tooltrue, name), module) for name, module in _exports(tooltrue)]
    testing = tooltrue.testing
    tests = [Entry(name, getattr(testing, name), module, testing.__name__) for name, module in _exports(testing)]
    settings = [Entry(name, value, "tooltrue.tools.settings", value.__module__) for name, value in SETTINGS.items()]
    return tuple(sorted((*own, *tests, *settings), key=lambda entry: (entry.name.lower(), entry.package)))


def _exports(package: Any) -> Iterator[tuple[str, str]]:
    for name, place in package._EXPORTS.items():
        yield name, place.partition(":")[0]


@cache
def _classes() -> set[Any]:
    """The exported classes. The members that a class inherits from one of them stand there."""
    return {one.value for one in entries() if inspect.isclass(one.value)}


def reference_pages() -> dict[str, str]:
    """The text of each page, by its file."""
    return {"reference/README.md": _index()} | {f"reference/{page}.md": _page(page) for page in PAGES}


def _heading(entry: Entry) -> str:
    """The name, with its kind where another name of the page differs only in case."""
    same = [one for one in entries() if one.page == entry.page and one.name.lower() == entry.name.lower()]
    return (
        f"`{entry.name}` {'class' if inspect.isclass(entry.value) else 'function'}"
        if len(same) > 1
        else f"`{entry.name}`"
    )


def _index() -> str:
    pages = "".join(f"- [{title}]({page}.md): {text[0].lower()}{text[1:]}\n" for page, (title, text) in PAGES.items())
    rows = "".join(
        f"| [`{one.name}`]({one.page}.md#{_anchor(one)}) | {_cell(_first_sentence(one.docstring))} |\n"
        for one in entries()
    )
    return (
        f"# API reference\n\n{MADE}\n\nAll public names of `tooltrue`, by subject:\n\n{pages}\n"
        f"## All names\n\n| name | meaning |\n|---|---|\n{rows}"
    )


def _page(page: str) -> str:
    title, text = PAGES[page]
    parts = "\n".join(_section(one) for one in entries() if one.page == page)
    return f"# {title}\n\n{MADE}\n\n{text}\n\n{parts}"


def _section(entry: Entry) -> str:
    parts = [f"## {_heading(entry)}"]
    if entry.name in (*TABLES, *SETTINGS):
        parts += [_text(_without_items(entry.docstring)), _parameters_table(entry), _aliases(entry)]
    else:
        signed = _signed(entry.name, entry.value)
        blank = "\n\n\n" if signed.startswith("class ") else "\n\n"  # as the formatter has it
        parts += [_code(f"from {entry.package} import {entry.name}{blank}{signed}")]
        parts += [_text(entry.docstring)]
    parts += [part for name, member in _members(entry.value) for part in _member(f"{entry.name}.{name}", member)]
    return "\n\n".join(part for part in parts if part) + "\n"


# --- members ----------------------------------------------------------------------------------------------------------


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that have a docstring, those of base classes without an entry among them."""
    if not inspect.isclass(value) or is_typeddict(value):
        return
    bases = {name for base in value.__mro__[1:] if base in _classes() for name in dir(base)}
    for name, member in inspect.getmembers_static(value):
        own = inspect.unwrap(getattr(member, "__func__", member))
        if (
            not name.startswith("_")
            and name not in (*BASES, *(bases - vars(value).keys()))
            and isinstance(own, FunctionType | property)
            and own.__doc__
        ):
            yield name, member


def _member(name: str, member: Any) -> tuple[str, str, str]:
    if isinstance(member, property):
        assert member.fget is not None
        returned = _returned(inspect.signature(member.fget))
        return f"### `{name}`", _code(f"{name}{returned.replace(' ->', ':')}"), _text(inspect.getdoc(member) or "")
    function = inspect.unwrap(getattr(member, "__func__", member))
    return f"### `{name}`", _code(_signed(name, function, skip_first=True)), _text(inspect.getdoc(function) or "")


# --- signatures -------------------------------------------------------------------------------------------------------


def _signed(name: str, value: Any, *, skip_first: bool = False) -> str:
    """The call with its parameters and types, one a line where it is long. A parameter of type ``Never`` is left out:
    it refuses names that do not exist."""
    if is_alias(value):
        return f"{name}: TypeAlias = {_type(value)}"
    if is_protocol(value):
        methods = "".join(f"\n    {one}" for one in _methods(value))
        return f"class {name}(Protocol){':' if methods else ''}{methods}"
    if inspect.isclass(value) and issubclass(value, Exception) and "__init__" not in vars(value):
        return f"class {name}({', '.join(base.__name__ for base in value.__bases__)})"
    signature = _signature(value)
    parameters = _shown(signature, skip_first)
    words = list(_words(parameters))
    returned = "" if inspect.isclass(value) else _returned(signature)
    start = "await " if inspect.iscoroutinefunction(value) else ""
    line = f"{start}{name}({', '.join(words)}){returned}"
    if len(line) <= 100:
        return line
    return f"{start}{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){returned}"


def _methods(protocol: Any) -> Iterator[str]:
    """The methods that an object of the protocol has, on a line each."""
    for name in sorted(get_protocol_members(protocol)):
        member = inspect.getattr_static(protocol, name, None)
        if isinstance(member, FunctionType):
            signature = inspect.signature(member)
            words = ", ".join(("self", *_words(_shown(signature, skip_first=True))))
            start = "async def" if inspect.iscoroutinefunction(member) else "def"
            yield f"{start} {name}({words}){_returned(signature)}: ..."


def _signature(value: Any) -> inspect.Signature:
    """The signature with types as the source writes them; msgspec would look up each, though some are absent."""
    if not (inspect.isclass(value) and issubclass(value, Struct)):
        if not (inspect.isclass(value) and "__deprecated__" in vars(value)):
            return inspect.signature(value)
        made = inspect.signature(value.__init__)  # the decorator of a deprecated class hides it
        return made.replace(parameters=[*made.parameters.values()][1:], return_annotation=made.empty)
    annotations = {name: text for one in reversed(value.__mro__) for name, text in inspect.get_annotations(one).items()}
    fields = value.__struct_fields__
    missing = [NODEFAULT] * (len(fields) - len(value.__struct_defaults__))
    return inspect.Signature(
        [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD
                if name in value.__match_args__
                else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if default is NODEFAULT else default,
                annotation=annotations[name],
            )
            for name, default in zip(fields, (*missing, *value.__struct_defaults__), strict=True)
        ]
    )


def _shown(signature: inspect.Signature, skip_first: bool = False) -> list[inspect.Parameter]:
    parameters = list(signature.parameters.values())[skip_first:]
    return [one for one in parameters if _type(one.annotation) != "Never" and not one.name.startswith("_")]


def _words(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    keyword = False
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL or (one.kind is one.KEYWORD_ONLY and not keyword):
            keyword = True
            if one.kind is one.KEYWORD_ONLY:
                yield "*"
        stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        typed = "" if one.annotation is one.empty else f": {_type(one.annotation)}"
        yield f"{stars}{one.name}{typed}{'' if one.default is one.empty else f' = {_default(one.default)}'}"


def _returned(signature: inspect.Signature) -> str:
    return "" if signature.return_annotation is signature.empty else f" -> {_type(signature.return_annotation)}"


QUALIFIED = re.compile(r"(?:\b[a-z_]+\.)+(?=\w)")


def _type(annotation: Any) -> str:
    """A type as the source writes it, without the names of modules."""
    if isinstance(annotation, type) and not getattr(annotation, "__args__", ()):
        return annotation.__name__
    return QUALIFIED.sub("", str(annotation)).replace("NoneType", "None").replace("'", '"')


def _default(value: Any) -> str:
    """A default as an author writes it; an object without a short form is left out."""
    value = value.factory() if hasattr(value, "factory") else value  # of msgspec
    if callable(value):
        return getattr(value, "__name__", "…")
    text = "…" if type(value) is object else repr(value)
    text = re.sub(r"^'(.*)'$", r'"\1"', re.sub(r"<[^>]*>|UNSET", "…", text))
    return text if len(text) <= 60 else f"{type(value).__name__}(…)"


# --- tables of parameters ---------------------------------------------------------------------------------------------

ITEM = re.compile(r"^- ``(\w+)(\([^`]*\)|=[^`]*)?``: (.*(?:\n  .*)*)\n?", re.MULTILINE)


def described(docstring: str) -> dict[str, str]:
    """The parameters that a docstring describes in items: name → text, with the form of its value if it has one."""
    found: dict[str, str] = {}
    for name, form, text in ITEM.findall(docstring):
        found[name] = (f"``{name}{form}``: " if form else "") + re.sub(r"\s+", " ", text).strip()
    return found


def _without_items(docstring: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", ITEM.sub("", docstring)).strip()


def parameters_of(entry: Entry) -> list[inspect.Parameter]:
    """The parameters of a class with a table; or of the decorator that takes these settings."""
    if not is_typeddict(entry.value):
        return _shown(_signature(entry.value))
    defaults = inspect.signature(ToolOptions).parameters if entry.value is ToolSettings else {}
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults[name].default if name in defaults else inspect.Parameter.empty,
            annotation=annotation,
        )
        for name, annotation in get_type_hints(entry.value).items()
    ]


def meanings_of(entry: Entry) -> dict[str, str]:
    """The meaning of each parameter, from the docstring."""
    return (
        described(inspect.cleandoc(ToolOptions.__doc__ or ""))
        if entry.value is ToolSettings
        else described(entry.docstring)
    )


def _parameters_table(entry: Entry) -> str:
    words = {name: _cell(_upper(text)) for name, text in meanings_of(entry).items()}
    rows = "".join(
        f"| `{one.name}` | {_code_cell(_type(one.annotation))} | {_default_cell(one)} | {words.get(one.name, '')} |\n"
        for one in parameters_of(entry)
    )
    return f"| parameter | type | default | meaning |\n|---|---|---|---|\n{rows}".rstrip()


def _aliases(entry: Entry) -> str:
    """The meaning of the names in the types of a table that are no classes."""
    known = vars(importlib.import_module(entry.module))
    names = sorted({name for one in parameters_of(entry) for name in re.findall(r"\w+", _type(one.annotation))})
    texts = [f"`{name}` is `{_type(known[name])}`" for name in names if get_args(known.get(name))]
    return f"In this table, {', '.join(texts)}." if texts else ""


def _default_cell(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is parameter.empty else _code_cell(_default(parameter.default))


# --- Markdown ---------------------------------------------------------------------------------------------------------

ROLE = re.compile(r":(?:class|meth|func|attr|mod):`~?([\w.]+)`")
LITERAL = re.compile(r"``(.+?)``", re.DOTALL)


def _text(docstring: str) -> str:
    """A docstring as Markdown: names of the reference are links."""
    linked = ROLE.sub(lambda found: _link(found[1]), docstring)
    return LITERAL.sub(lambda found: f"`{' '.join(found[1].split())}`", linked)


def _link(path: str) -> str:
    name = path.removeprefix("tooltrue.").removeprefix("testing.")
    for one in entries():
        if one.name == name:
            return f"[`{name}`]({one.page}.md#{_anchor(one)})"
    return f"`{name.rpartition('.')[2]}`"


def _anchor(entry: Entry) -> str:
    return re.sub(r"[^\w\- ]", "", _heading(entry).lower()).replace(" ", "-")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _code(text: str) -> str:
    return f"```py\n{text}\n```"


def _code_cell(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", _text(text)).replace("|", "\\|")


def _first_sentence(docstring: str) -> str:
    paragraph = re.sub(r"\s+", " ", docstring.partition("\n\n")[0])
    found = re.match(r"(.*?[^.]\.)(?: [A-Z`]|$)", paragraph)
    return found[1] if found else paragraph
