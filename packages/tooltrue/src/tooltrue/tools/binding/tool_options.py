"""The author's declarations beside the function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, get_args

from tooltrue.errors import DefinitionError
from tooltrue.jsonrpc.messages import is_object
from tooltrue.protocol import types as wire
from tooltrue.protocol.name_rules import DEPRECATED, REPLACES, TAGS, is_name
from tooltrue.protocol.types import Value, field
from tooltrue.tools.advice import TOOL
from tooltrue.tools.bounds import Rate
from tooltrue.tools.vocabulary import Effect, Personal, Principal, Secrets, TaskMode
from tooltrue.tools.wording import (
    DEFINITION_SETTING_INVALID,
    DEPENDS_WITHIN_TYPE,
    PROVIDER_WITHIN_TYPE,
    SETTING_EQUIVALENT_HERE,
    UNKNOWN_DEFINITION_SETTING,
)

__all__ = ["Completes", "Depends", "Header", "Lifespan", "ToolOptions"]


class Depends(Value, frozen=True):
    """``x: Annotated[T, Depends(make)]`` or ``x: T = Depends(make)``: for each call, ``make`` provides the parameter.

    ``make`` is a plain or an ``async`` function, a generator that yields the value once, a function of ``contextlib``
    or a class of context managers; the last three are closed after the call. Its own parameters may be a ``Context``,
    other dependencies, ``Lifespan`` and ``Header``. Within one call it is made once for all parameters that depend on
    it, unless ``use_cache=False``.

    The parameter is not part of the schema, and no client can set it. Within the type of a parameter it is refused.
    """

    make: Callable[..., Any]
    use_cache: bool = True

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Raise ``DefinitionError``: pydantic calls this for fields, and a value that a client can set is not a
        dependency.
        """
        raise DefinitionError.of(DEPENDS_WITHIN_TYPE)


class Lifespan(Value, frozen=True):
    """``db: Annotated[Pool, Lifespan]``: the value of type ``Pool`` that the ``lifespan=`` of the server has yielded.

    The parameter is not part of the schema, and no client can set it. Within the type of a parameter it is refused.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        raise DefinitionError.of(PROVIDER_WITHIN_TYPE, provider="Lifespan")


class Header(Value, frozen=True):
    """``tenant: Annotated[str | None, Header("x-tenant")]``: a header of the HTTP request, as text.

    Without a name, the name of the parameter counts, with hyphens for underscores. Where the request has no such
    header, and on stdio, the parameter is its default, or ``None`` if its type allows that; otherwise the call fails.
    ``credentials=True`` is required for headers by which a caller authenticates (``Authorization``, ``Cookie``): the
    protocol forbids a server to pass the token of its caller on.

    The parameter is not part of the schema, and no model can set it. Within the type of a parameter it is refused.
    """

    name: str = ""
    credentials: bool = False

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        raise DefinitionError.of(PROVIDER_WITHIN_TYPE, provider="Header")


class Completes(Value, frozen=True):
    """``Annotated[str, Completes(suggest)]``: the values of a prompt's argument, or of a template's variable.

    ``suggest(prefix)``, ``suggest(prefix, arguments)`` or ``suggest(prefix, arguments, context)`` returns the values
    with this prefix; ``arguments`` are those that are settled already, ``context`` identifies the caller. It may be
    ``async``. A client is shown the first 100.
    """

    suggest: Callable[..., Any]


class ToolOptions(Value, frozen=True):
    """The settings of a tool; each has a default.

    - ``name``: the name of the tool, by default that of the function.
    - ``title``: the name that a person sees in a client.
    - ``description``: the text for the model, by default the docstring of the function.
    - ``effect``: ``read`` (changes nothing), ``write`` (changes, and can be undone), ``destructive`` (may lose data),
      ``open-world`` (acts on other systems). Undeclared counts as ``write``, and no hints are published, so that
      clients assume the worst.
    - ``idempotent``: calling again with the same arguments has no further effect.
    - ``open_world``: the tool talks to other systems; published with the effect, ``False`` by default.
    - ``seconds``: the time limit of a call; by default the server's.
    - ``max_bytes``: the size limit of a result; by default the server's.
    - ``max_argument_bytes``: the size limit of the arguments; by default the server's.
    - ``rate``: the rate limit per caller.
    - ``at_once``: how many calls of it run at the same time.
    - ``isolation="process"``: each call runs in a process of its own, which is killed at its timeout.
    - ``blocking=False``: a plain function that is known to be quick is called directly, without a thread.
    - ``visible(principal)``: whether this caller may know of the tool, now. To all others it does not exist: it is
      neither listed nor called. It is evaluated each time, so keep it quick; it may depend on the caller, flags and the
      time alone, since a list must not depend on a connection.
    - ``requires``: scopes, all of which a caller needs to call it. A caller who could obtain them sees the tool, and is
      told the required scopes.
    - ``confirm``: whether a person is asked before each call; by default the effect decides (``docs/approvals.md``).
    - ``read_when``: arguments with which a call changes nothing, such as ``{"dry_run": True}``: for the decision
      whether a person is asked, such a call has the effect ``read``. It is not published.
    - ``preview(arguments)``: text that describes the effect of such a call; shown to the person who is asked. It must
      have no effects of its own, and may be ``async``.
    - ``secrets``: ``mask`` secrets in the tool's output, or ``keep`` them, for a tool whose purpose they are; by
      default the server's setting.
    - ``personal``: ``mask`` e-mail addresses and the numbers of telephones, cards and residents in the tool's output,
      or ``keep`` them; by default the server's setting, which is ``keep`` by default.
    - ``untrusted=True``: the tool's output comes from strangers (web pages, mail), and is marked so for the client.
    - ``sends=True``: the tool's arguments go to a third party (a web site, a mailbox). Arguments that hold a secret are
      refused.
    - ``reads_stored=True``: the tool takes URIs of stored results of its caller as arguments, and
      ``await context.read_stored(uri)`` returns the content.
    - ``repair=True``: text that holds JSON, or a number, is converted to that value if the schema allows no text.
    - ``replaces``: the former name, or names, of the tool. It can still be called by them, and is guarded, limited and
      recorded under its present name; it is listed by its present name alone.
    - ``deprecated``: the replacement of this tool, which will be removed: the description begins with it, and results
      of calls carry it in ``_meta``.
    - ``task``: when a call becomes a task, which its client asks for later, if the client supports that:
      ``True`` for at once, ``"when-slow"`` for a call that has not ended within a second, ``"manual"`` for where the
      function calls ``context.become_task()``, ``"required"`` for at once, and to refuse other clients. A task runs on
      a durable engine, of the extra ``tooltrue[tasks]`` (``docs/tasks.md``).
    - ``tags``: words by which views and ``server.disable`` select the tool; published in ``_meta``.
    - ``excused``: rules of ``tooltrue check`` that are not followed here, by their code, each with the reason. They
      are not published.
    - ``examples``: arguments that are checked against the schema and published in it.
    - ``icons``: pictures of the tool that a client may show.
    - ``meta``: published in the ``_meta`` of the tool.
    """

    name: str | None = None
    title: str | None = None
    description: str | None = None
    effect: Effect | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    examples: Sequence[Mapping[str, Any]] = ()
    seconds: float | None = None
    max_bytes: int | None = None
    max_argument_bytes: int | None = None
    rate: Rate | None = None
    at_once: int | None = None
    isolation: Literal["process"] | None = None
    blocking: bool = True
    secrets: Secrets | None = None
    personal: Personal | None = None
    untrusted: bool = False
    sends: bool = False
    reads_stored: bool = False
    repair: bool = False
    visible: Callable[[Principal], bool] | None = None
    requires: Collection[str] = ()
    confirm: bool | None = None
    read_when: Mapping[str, bool] = field(default_factory=dict[str, bool])
    preview: Callable[[dict[str, Any]], Any] | None = None
    excused: Mapping[str, str] = field(default_factory=dict[str, str])
    icons: Sequence[wire.Icon] = ()
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    replaces: str | Collection[str] = ()
    deprecated: str = ""
    tags: Collection[str] = ()
    task: bool | Literal["when-slow", "manual", "required"] = False

    @property
    def task_mode(self) -> TaskMode | None:
        return None if self.task is False else "always" if self.task is True else self.task

    @property
    def old_names(self) -> tuple[str, ...]:
        return (self.replaces,) if isinstance(self.replaces, str) else tuple(self.replaces)

    def published_meta(self) -> dict[str, Any] | None:
        own: dict[str, Any] = {DEPRECATED: self.deprecated} if self.deprecated else {}
        if self.replaces:
            own[REPLACES] = list(self.old_names)
        if self.tags:
            own[TAGS] = sorted(set(self.tags))
        return {**self.meta, **own} or None

    def annotations(self) -> wire.ToolAnnotations | None:
        """Return the hints that follow from the declarations; undeclared ones are left out."""
        if self.effect is None:
            hints = wire.ToolAnnotations(idempotentHint=self.idempotent, openWorldHint=self.open_world)
            return None if hints == wire.ToolAnnotations() else hints
        return wire.ToolAnnotations(
            readOnlyHint=self.effect == "read",
            destructiveHint=None if self.effect == "read" else self.effect != "write",
            idempotentHint=None if self.effect == "read" else self.idempotent,
            openWorldHint=bool(self.open_world) or self.effect == "open-world",
        )

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> ToolOptions:
        """Make settings from the arguments of a decorator. Raises ``DefinitionError`` for an unknown or invalid one."""
        fields = cls.__struct_fields__
        for name in arguments:
            if name in TOOL:
                raise DefinitionError.of(SETTING_EQUIVALENT_HERE, name=name, here=TOOL[name])
            if name not in fields:
                raise DefinitionError.of(UNKNOWN_DEFINITION_SETTING, name=name, known=", ".join(fields))
        settings = cls(**arguments)
        for name, holds, requirement in _CHECKS:
            if (value := getattr(settings, name)) is not None and not holds(value):
                raise DefinitionError.of(DEFINITION_SETTING_INVALID, name=name, wanted=requirement)
        return settings


"""The names of the effect in other libraries."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_rate(value: Any) -> bool:
    return isinstance(value, Rate) and value.holds


def _is_yes_or_no(value: Any) -> bool:
    return isinstance(value, bool)


def _are_objects(value: Any) -> bool:
    return not isinstance(value, str | Mapping) and all(isinstance(one, Mapping) for one in value)


def _are_texts(value: Any) -> bool:
    return not isinstance(value, str | Mapping) and all(isinstance(one, str) and one for one in value)


def _are_names(value: Any) -> bool:
    names = [value] if isinstance(value, str) and value else value
    return (_are_texts(names) and all(map(is_name, names)) and len(set(names)) == len(names)) or value == ""


def _are_reasons(value: Any) -> bool:
    return is_object(value) and all(isinstance(why, str) and why.strip() for why in value.values())


def _are_marks(value: Any) -> bool:
    return is_object(value) and all(isinstance(one, bool) for one in value.values())


# setting, its check, and the description of valid values
_CHECKS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("name", _is_text, "text"),
    ("title", _is_text, "text"),
    ("description", _is_text, "text"),
    ("seconds", _is_positive, "a number above 0"),
    ("max_bytes", _is_positive, "a number above 0"),
    ("max_argument_bytes", _is_count, "a whole number above 0"),
    ("rate", _is_rate, "a Rate of more than 0 a second and a burst of 1 or more"),
    ("at_once", _is_count, "a whole number above 0"),
    ("isolation", lambda value: value == "process", "'process'"),
    ("confirm", _is_yes_or_no, "True or False"),
    ("read_when", _are_marks, "the names of arguments, each with True or False"),
    ("secrets", lambda value: value in get_args(Secrets), "mask or keep"),
    ("personal", lambda value: value in get_args(Personal), "mask or keep"),
    ("examples", _are_objects, "a list of objects"),
    ("requires", _are_texts, "scopes: a list of text"),
    ("replaces", _are_names, "the name that the tool had before, or a list of such names"),
    ("deprecated", _is_text, "text: what to use instead"),
    ("tags", _are_texts, "a list or set of words"),
    (
        "task",
        lambda value: value in (True, False, "when-slow", "manual", "required"),
        "True, False, when-slow, manual or required",
    ),
    ("excused", _are_reasons, "reasons by the code of the rule: {'TT9710': 'why'}"),
)
