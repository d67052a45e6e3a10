"""Resources, resource templates and prompts of this process, each backed by a function.

They stand beside the tools, go through the same layers, and can be added and removed at any time; watchers are
notified.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from tooltrue.errors import DefinitionError, InvalidParams, UnknownEntry
from tooltrue.protocol import types as wire
from tooltrue.protocol.characters import check_plain
from tooltrue.protocol.name_rules import check_meta
from tooltrue.protocol.types import Completion, InputRequiredResult, PromptOutcome, ReadOutcome, Value, replaced
from tooltrue.protocol.uris import Template, is_template, is_uri, read_template
from tooltrue.protocol.wording import URI_NOT_ABSOLUTE
from tooltrue.tools.library_content import prompt_result, resource_result
from tooltrue.tools.null import NoTools
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.toolset import Provider, Wrapper, unknown
from tooltrue.tools.vocabulary import (
    UNTRUSTED,
    CompletionGet,
    Entry,
    Kind,
    LibraryOperation,
    PromptGet,
    ProviderChange,
    RequestContext,
    ResourceFollow,
    ResourceRead,
    Unwatch,
    resource_of,
)
from tooltrue.tools.wording import (
    DEFINITION_SETTING_INVALID,
    DUPLICATE_RESOURCE_OR_PROMPT,
    LABEL_LEFT_OUT_TEMPLATE,
    PROMPT_NAME_INVALID,
    PROMPT_NOT_FOUND,
    REGISTERED_VALUE_NOT_FUNCTION,
    RESOURCE_NOT_FOUND,
    RESOURCE_WITHOUT_URI,
    TEMPLATE_PARAMETERS_MISMATCH,
    UNKNOWN_DEFINITION_SETTING,
)
from tooltrue.wording import Worded

if TYPE_CHECKING:  # a server without resources and prompts does not need it
    from tooltrue.tools.binding.text_functions import TextFunction
    from tooltrue.tools.lifespan_values import LifespanValues
    from tooltrue.tools.settings import PromptSettings, ResourceSettings

__all__ = ["LocalLibrary", "shelved"]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class _LocalResource(Value, frozen=True):
    definition: wire.ResourceDefinition
    function: TextFunction
    untrusted: bool


class _Template(Value, frozen=True):
    definition: wire.ResourceTemplate
    function: TextFunction
    template: Template
    untrusted: bool

    def arguments_of(self, uri: str) -> Mapping[str, Any] | None:
        """Return the arguments for the function, or ``None`` if ``uri`` is not one of its resources.

        A text that is not a valid value matches no resource, and neither does another spelling of a value: decisions
        made about a URI would not hold for it.
        """
        texts = self.template.match(uri)
        if texts is None:
            return None
        try:
            arguments = self.function.convert(texts)
        except InvalidParams:
            return None
        return arguments if self.template.expand(self.function.spell(arguments)) == uri else None


class _Prompt(Value, frozen=True):
    definition: wire.Prompt
    function: TextFunction


class _ResourceMatch(Value, frozen=True):
    """The resolution of one URI: its entries, and the function with its arguments."""

    entries: tuple[Entry, ...]
    function: TextFunction
    arguments: Mapping[str, Any]
    mime_type: str | None
    untrusted: bool


_MAX_NAME = 128


class LocalLibrary(NoTools):
    """The resources and prompts of this process. It is a provider without tools."""

    def __init__(self, *, threads: int = 32) -> None:
        self.pool = ThreadPool(threads)
        self._lock = threading.Lock()  # entries are added and removed on any thread
        self._resources: dict[str, _LocalResource] = {}
        self._templates: dict[str, _Template] = {}
        self._prompts: dict[str, _Prompt] = {}
        self._off: dict[tuple[int, str], Any] = {}  # the disabled entries, by shelf and key
        self._lists: dict[str, tuple[Any, ...]] = {}
        self._offers: frozenset[str] = frozenset()
        self._watchers: list[Callable[[ProviderChange], None]] = []
        self.lifespan: LifespanValues | None = None

    def lifespan_values(self) -> LifespanValues:
        """The values that the functions take from the lifespan of a server, made for the first of these functions."""
        if self.lifespan is None:
            from tooltrue.tools.lifespan_values import LifespanValues  # noqa: PLC0415 - few servers need it

            self.lifespan = LifespanValues()
        return self.lifespan

    # --- registering -------------------------------------------------------------------------------------------------

    def resource(self, uri: str, /, **settings: Unpack[ResourceSettings]) -> Callable[[F], F]:
        """Make a resource of a function without parameters, or a template of one whose parameters the URI names."""
        _check_uri(uri)

        def register(function: F) -> F:
            self.add_resource(uri, function, **settings)
            return function

        return register

    def add_resource(self, uri: str, function: Callable[..., Any], /, **settings: Unpack[ResourceSettings]) -> None:
        """Serve the return value of ``function`` at ``uri``, or at each URI that the template ``uri`` matches.

        Text is text, ``bytes`` are binary, :class:`TextResource`, :class:`BlobResource` and lists of them are
        themselves, ``None`` means not found, and any other value is JSON. Raises ``DefinitionError``, also for a URI
        that is taken.
        """
        _check_uri(uri)
        _check_settings(settings, "ResourceSettings")
        bound = self._text_function(function, f"resource {uri!r}", settings)
        about = _about(settings, _name_of(function) or uri, bound)
        about |= {"mimeType": settings.get("mime_type"), "annotations": settings.get("annotations")}
        is_untrusted = settings.get("untrusted", False)
        if is_template(uri):
            if "size" in settings:
                raise DefinitionError.of(
                    DEFINITION_SETTING_INVALID, name="size", wanted=Worded(LABEL_LEFT_OUT_TEMPLATE, {})
                )
            template = read_template(uri)
            _check_parameters(uri, bound, template.variables)
            made = _Template(wire.ResourceTemplate(uriTemplate=uri, **about), bound, template, is_untrusted)
            self._put(self._templates, uri, made, "resources", _offered("resources", bound))
        else:
            _check_fixed(uri, bound)
            resource = _LocalResource(
                wire.ResourceDefinition(uri=uri, size=settings.get("size"), **about), bound, is_untrusted
            )
            self._put(self._resources, uri, resource, "resources", _offered("resources"))

    @overload
    def prompt(self, function: F, /, **settings: Unpack[PromptSettings]) -> F: ...

    @overload
    def prompt(self, /, **settings: Unpack[PromptSettings]) -> Callable[[F], F]: ...

    def prompt(self, function: F | None = None, /, **settings: Unpack[PromptSettings]) -> F | Callable[[F], F]:
        """Make a prompt of a function: ``@library.prompt``, ``@library.prompt(title="…", …)``, or
        ``library.prompt(function, title="…", …)``.
        """

        def register(function: F) -> F:
            self.add_prompt(function, **settings)
            return function

        return register if function is None else register(function)

    def add_prompt(self, function: Callable[..., Any], /, **settings: Unpack[PromptSettings]) -> None:
        """Make a prompt of any callable; its parameters are converted from text, and required without a default.

        It returns text or a content block, as a message of the user, a :class:`PromptMessage`, a list of these, or a
        :class:`PromptResult`. Raises ``DefinitionError``, also for a name that is taken.
        """
        if isinstance(function, str):
            raise DefinitionError.of(REGISTERED_VALUE_NOT_FUNCTION, value=function, kind="prompt")
        _check_settings(settings, "PromptSettings")
        name = settings.get("name") or _name_of(function)
        if not (name.isprintable() and name.strip() == name and 0 < len(name) <= _MAX_NAME):
            raise DefinitionError.of(PROMPT_NAME_INVALID, name=name)
        bound = self._text_function(function, f"prompt {name!r}", settings)
        arguments = [
            wire.PromptArgument(one.name, one.title, one.description, one.required) for one in bound.arguments.values()
        ]
        prompt = wire.Prompt(arguments=arguments or None, **_about(settings, name, bound))
        self._put(self._prompts, name, _Prompt(prompt, bound), "prompts", _offered("prompts", bound))

    def _text_function(self, function: Callable[..., Any], what: str, settings: Mapping[str, Any]) -> TextFunction:
        from tooltrue.tools.binding.text_functions import TextFunction  # noqa: PLC0415 - most servers have tools alone

        blocking = settings.get("blocking", True)
        return TextFunction(function, what, self.pool, blocking=blocking, lifespan=self.lifespan_values)

    def _put(self, shelf: dict[str, Any], key: str, entry: object, kind: Kind, offers: frozenset[str]) -> None:
        with self._lock:
            if key in shelf or (id(shelf), key) in self._off:
                raise DefinitionError.of(DUPLICATE_RESOURCE_OR_PROMPT, name=key)
            shelf[key] = entry
            self._lists.clear()
            self._offers |= offers
        self._notify(ProviderChange(kind))

    def remove_resource(self, uri: str) -> None:
        """Remove a resource or a template; reads that already run finish. Raises ``UnknownEntry``."""
        with self._lock:
            if not self._take(self._shelf_of(uri), uri):
                raise UnknownEntry.of(RESOURCE_NOT_FOUND, uri=uri)
            self._lists.clear()
        self._notify(ProviderChange("resources"))

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt. Raises ``UnknownEntry``."""
        with self._lock:
            if not self._take(self._prompts, name):
                raise UnknownEntry.of(PROMPT_NOT_FOUND, name=name)
            self._lists.clear()
        self._notify(ProviderChange("prompts"))

    def _shelf_of(self, uri: str) -> dict[str, Any]:
        return self._templates if is_template(uri) else self._resources

    def _take(self, shelf: dict[str, Any], key: str) -> bool:
        """Remove an entry, disabled or not. Returns whether there was one."""
        is_off = self._off.pop((id(shelf), key), None) is not None
        return shelf.pop(key, None) is not None or is_off

    def disable(self, *, resources: Collection[str] = (), prompts: Collection[str] = ()) -> None:
        """Disable resources and templates, by their URIs, and prompts. To callers they do not exist; operations that
        already run finish. Raises ``UnknownEntry``. Thread-safe.
        """
        self._switch(resources, prompts, on=False)

    def enable(self, *, resources: Collection[str] = (), prompts: Collection[str] = ()) -> None:
        """Enable entries again. Raises ``UnknownEntry``. Thread-safe."""
        self._switch(resources, prompts, on=True)

    def _switch(self, resources: Collection[str], prompts: Collection[str], *, on: bool) -> None:
        with self._lock:
            shelves = [(self._shelf_of(uri), uri) for uri in resources]
            self._check_entries(shelves, RESOURCE_NOT_FOUND, "uri")
            self._check_entries(named := [(self._prompts, name) for name in prompts], PROMPT_NOT_FOUND, "name")
            for shelf, key in (*shelves, *named):
                if on and (id(shelf), key) in self._off:
                    shelf[key] = self._off.pop((id(shelf), key))
                elif not on and key in shelf:
                    self._off[id(shelf), key] = shelf.pop(key)
            self._lists.clear()
        if resources:
            self._notify(ProviderChange("resources"))
        if prompts:
            self._notify(ProviderChange("prompts"))

    def _check_entries(self, entries: Sequence[tuple[dict[str, Any], str]], code: str, fact: str) -> None:
        for shelf, key in entries:
            if key not in shelf and (id(shelf), key) not in self._off:
                raise UnknownEntry.of(code, **{fact: key})

    def resource_updated(self, uri: str) -> None:
        """Notify the subscribers of ``uri`` that its contents have changed. Thread-safe."""
        self._notify(ProviderChange("resource", uri))

    def _notify(self, change: ProviderChange) -> None:
        for changed in tuple(self._watchers):
            changed(change)

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed) if changed in self._watchers else None

    # --- serving -----------------------------------------------------------------------------------------------------

    def offers(self) -> frozenset[str]:
        return self._offers

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        return self._listed("resources", self._resources)

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        return self._listed("templates", self._templates)

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return self._listed("prompts", self._prompts)

    def _listed(self, name: str, shelf: Mapping[str, Any]) -> tuple[Any, ...]:
        with self._lock:
            if name not in self._lists:
                self._lists[name] = tuple(entry.definition for _, entry in sorted(shelf.items()))
            return self._lists[name]

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        match operation:
            case ResourceRead():
                return self._find(operation).entries
            case PromptGet() | CompletionGet(of="prompt"):
                return (self._on(self._prompts, operation).definition,)
            case CompletionGet():
                return (self._on(self._templates, operation).definition,)

    def _find(self, request: ResourceRead) -> _ResourceMatch:
        fixed = self._resources.get(request.uri)
        if fixed is not None:
            return _ResourceMatch((fixed.definition,), fixed.function, {}, fixed.definition.mimeType, fixed.untrusted)
        for made in tuple(self._templates.values()):
            arguments = made.arguments_of(request.uri)
            if arguments is not None:
                entries = (made.definition, resource_of(made.definition, request.uri))
                return _ResourceMatch(entries, made.function, arguments, made.definition.mimeType, made.untrusted)
        raise unknown(request)

    def _on(self, shelf: Mapping[str, T], operation: PromptGet | CompletionGet) -> T:
        entry = shelf.get(operation.name)
        if entry is None:
            raise unknown(operation)
        return entry

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        reading = self._find(request)
        if isinstance(request, ResourceFollow):
            return wire.ReadResourceResult([])
        value = await reading.function.call(reading.arguments, request.context)
        outcome = resource_result(value, request.uri, reading.mime_type)
        if outcome is None:
            raise unknown(request)
        if reading.untrusted and not isinstance(outcome, InputRequiredResult):
            return replaced(outcome, meta={**(outcome.meta or {}), UNTRUSTED: True})
        return outcome

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        prompt = self._on(self._prompts, get)
        value = await prompt.function.call(prompt.function.convert(get.arguments), get.context)
        return prompt_result(value, prompt.definition.description)

    async def complete(self, get: CompletionGet) -> Completion:
        entry = self._on(self._prompts, get) if get.of == "prompt" else self._on(self._templates, get)
        return await entry.function.complete(get.argument, get.value, get.arguments, get.context)


def _check_uri(uri: object) -> None:
    if not isinstance(uri, str):
        raise DefinitionError.of(RESOURCE_WITHOUT_URI, name=getattr(uri, "__name__", type(uri).__name__))


def _check_settings(settings: Mapping[str, Any], options: Literal["PromptSettings", "ResourceSettings"]) -> None:
    from tooltrue.tools import settings as types  # noqa: PLC0415 - most servers have tools alone

    known = getattr(types, options).__annotations__
    for name in settings:
        if name not in known:
            raise DefinitionError.of(UNKNOWN_DEFINITION_SETTING, name=name, known=", ".join(known))


def _about(settings: Mapping[str, Any], name: str, bound: TextFunction) -> dict[str, Any]:
    """Return the common fields of resources, templates and prompts."""
    check_meta(settings.get("meta", {}))
    about = {
        "name": settings.get("name") or name,
        "title": settings.get("title"),
        "description": settings.get("description") or bound.description,
        "icons": list(settings.get("icons", ())) or None,
        "meta": dict(settings.get("meta", {})) or None,
    }
    check_plain("The definition", about)
    return about


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "")
    return "" if name == "<lambda>" else name


def _check_fixed(uri: str, bound: TextFunction) -> None:
    if not is_uri(uri):
        raise DefinitionError.of(URI_NOT_ABSOLUTE, uri=uri)
    _check_parameters(uri, bound, ())


def _check_parameters(uri: str, bound: TextFunction, variables: Sequence[str]) -> None:
    """Check that each variable has a parameter, and each required parameter a variable."""
    needed = {argument.name for argument in bound.arguments.values() if argument.required}
    if wrong := sorted((needed - set(variables)) | (set(variables) - bound.arguments.keys())):
        raise DefinitionError.of(TEMPLATE_PARAMETERS_MISMATCH, uri=uri, names=", ".join(wrong))


def _offered(what: str, bound: TextFunction | None = None) -> frozenset[str]:
    can_complete = bound is not None and any(argument.suggest for argument in bound.arguments.values())
    return frozenset({what, "completions"} if can_complete else {what})


def shelved(tools: Provider, library: LocalLibrary) -> Provider:
    """Combine the tools of the one with the library of the other."""
    return _Shelved(tools, library)


class _Shelved(Wrapper, frozen=True):
    library: LocalLibrary

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        ends = (self.inner.watch(changed), self.library.watch(changed))

        def unwatch() -> None:
            for end in ends:
                end()

        return unwatch

    def lacks(self, name: str) -> bool:
        lacks = getattr(self.inner, "lacks", None)
        return lacks is not None and lacks(name)

    def offers(self) -> frozenset[str]:
        return self.library.offers()

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        return await self.library.list_resources(context)

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        return await self.library.list_templates(context)

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return await self.library.list_prompts(context)

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        return await self.library.find_entries(operation)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        return await self.library.read_resource(request)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        return await self.library.get_prompt(get)

    async def complete(self, get: CompletionGet) -> Completion:
        return await self.library.complete(get)
