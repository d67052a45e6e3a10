"""Verdicts, and the rules that reach them.

A decision is pure and total: it depends on the caller, the subject and, the second time, the arguments. Rules are data,
in an order. The first that matches decides; if none matches, the verdict is a denial, except for results that an
allowed call has handed out. Without arguments, the verdict about a tool is not settled yet if some arguments might be
allowed, nor that about a template if some of its URIs might: it is a denial only if no use could be allowed.

A tool that had other names is decided about by all of them (``Rules._of_names``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.policy.rules.globs import Globs
from tooltrue.protocol import types as wire
from tooltrue.protocol.schema import Schema
from tooltrue.protocol.types import Value, field
from tooltrue.tools.stored_results import SCHEME
from tooltrue.tools.vocabulary import Effect, Entry, Principal, RequestContext, Tool

__all__ = [
    "ALLOW",
    "EARLIER",
    "OPEN",
    "Allow",
    "Ask",
    "Decide",
    "Deny",
    "Rule",
    "RuleStep",
    "Rules",
    "Subject",
    "Then",
    "Verdict",
    "allow_all",
    "can_obtain",
    "lacking",
    "uris_of",
]


class Allow(Value, frozen=True):
    """The call may run. ``rule``, here and below, is the name of the rule that decided; empty if no rule did."""

    rule: str = ""


class Deny(Value, frozen=True):
    """The call is refused. ``reason`` is told to the caller. ``hidden``: for this caller the tool does not exist, and
    no reason is told. ``scopes`` are those, all together, with which the caller would be let in, if it can get them.
    ``fault`` is the id in the log of a decision that failed."""

    reason: str = ""
    hidden: bool = False
    rule: str = ""
    scopes: frozenset[str] = frozenset()
    fault: str = ""


class Ask(Value, frozen=True):
    """A person decides. A tool that asks is always listed."""

    question: str = ""
    rule: str = ""


Verdict: TypeAlias = Allow | Deny | Ask

Subject: TypeAlias = Tool | Entry
"""The subject of a decision. A resource of a template is decided about twice: the template first, then its own URI."""

Decide: TypeAlias = Callable[[Subject, RequestContext, Mapping[str, Any] | None], Verdict]
"""Arguments are ``None`` for a decision about the subject alone: for a list, and before they have been checked."""

ALLOW = Allow()


def allow_all(subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
    """Allow every use: the decision of a server without one of its own."""
    return ALLOW


# -- scopes ------------------------------------------------------------------------------------------------------------

LocalScopes: TypeAlias = Mapping[str, frozenset[str]]
"""The scopes of callers that cannot get a token, ``local`` and ``local:http``. All scopes for those that are not
listed."""

_WITHOUT_TOKENS: Final = frozenset({"local", "local:http"})


def lacking(scopes: frozenset[str], principal: Principal, local_scopes: LocalScopes) -> frozenset[str]:
    """Return those of ``scopes`` that the principal lacks."""
    if principal.id not in _WITHOUT_TOKENS:
        return scopes - principal.scopes
    return scopes - local_scopes[principal.id] if principal.id in local_scopes else frozenset()


def can_obtain(principal: Principal) -> bool:
    return principal.id not in _WITHOUT_TOKENS


# -- one rule ----------------------------------------------------------------------------------------------------------

Then: TypeAlias = Literal["allow", "deny", "ask", "hide"]

OPEN: Final = "?"
"""Depends on facts that are not known yet: the arguments, or which URI of a template it will be."""

EARLIER: Final = "earlier"
"""The rule would match, but earlier rules have decided about the tool by all the names that it means."""


class Rule(Value, frozen=True):
    """Conditions that all have to hold, and the verdict that follows. ``None`` and an empty set of scopes hold for all.

    A rule that names neither ``tools`` nor ``resources`` nor ``prompts`` is for all three; one that has an ``effect``
    or ``arguments``, for tools. ``number`` is its place in the order, from 0. One with a ``view`` is for those views of
    a gateway alone.
    """

    then: Then
    name: str = ""
    number: int = 0
    tools: Globs | None = None
    resources: Globs | None = None
    prompts: Globs | None = None
    effect: frozenset[Effect] | None = None
    server: Globs | None = None
    view: Globs | None = None
    principal: Globs | None = None
    scopes: frozenset[str] = frozenset()
    arguments: Schema | None = None
    reason: str = ""

    def is_for_view(self, view: str) -> bool:
        """Return whether the rule holds in this view of a gateway; ``""`` outside of any view."""
        return self.view is None or (view != "" and self.view.match(view))

    @property
    def named(self) -> Mapping[str, Globs | None]:
        return {"tools": self.tools, "resources": self.resources, "prompts": self.prompts}

    @property
    def is_for_all(self) -> bool:
        return self.tools is None and self.resources is None and self.prompts is None

    @property
    def is_for_every_tool(self) -> bool:
        return self.is_for_all or (self.tools is not None and "*" in self.tools.patterns)

    def names_of(self, tool: Tool) -> frozenset[str]:
        """Return the names of a tool, present and old, that the rule means."""
        if self.is_for_all:
            return frozenset(tool.names)
        return frozenset(filter(self.tools.match, tool.names)) if self.tools is not None else frozenset()

    def stop_at(self, subject: Subject) -> str:
        """Return the key of the condition that keeps the rule from this subject; ``""`` if all hold, ``OPEN`` if one
        may."""
        if isinstance(subject, Tool):
            if not self.names_of(subject):
                return "tools"
            return "" if self.effect is None or subject.effect in self.effect else "effect"
        if self.effect is not None or self.arguments is not None:
            return "effect" if self.effect is not None else "arguments"
        if self.is_for_all:
            return ""
        match subject:
            case wire.Prompt():
                return "" if self.prompts is not None and self.prompts.match(subject.name) else "prompts"
            case wire.ResourceDefinition():
                return "" if self.resources is not None and self.resources.match(subject.uri) else "resources"
            case wire.ResourceTemplate():
                return "resources" if self.resources is None else _stop_at_template(self.resources, subject.uriTemplate)

    def stop(self, principal: Principal, arguments: Mapping[str, Any] | None, local_scopes: LocalScopes) -> str:
        """Return the same for the caller and the arguments. Scopes come last: where they stop the rule, no
        other condition does."""
        if self.principal is not None and not self.principal.match(principal.id):
            return "principal"
        if self.arguments is not None and arguments is not None and not self.arguments.accepts(arguments):
            return "arguments"
        if self.scopes and lacking(self.scopes, principal, local_scopes):
            return "scopes"
        return OPEN if self.arguments is not None and arguments is None else ""

    def verdict(self) -> Verdict:
        match self.then:
            case "allow":
                return Allow(self.name)
            case "ask":
                return Ask(self.reason or self.name, self.name)
            case "deny" | "hide":
                return Deny(self.reason, rule=self.name)


def uris_of(template: str) -> str:
    """Return a pattern of the URIs that a template may become; it matches others too."""
    return _VARIABLE.compiled.sub("*", template)


def _stop_at_template(resources: Globs, template: str) -> str:
    uris = uris_of(template)
    if resources.cover([uris]):
        return ""
    return OPEN if resources.meet(uris) else "resources"


# -- all of them -------------------------------------------------------------------------------------------------------


class RuleStep(NamedTuple):
    """A rule that was tried, and the key of the condition that did not hold (``Rule.stop``)."""

    rule: Rule
    stop: str


_REMEMBERED = 4096


class Rules(Value, frozen=True):
    """Rules in their order, for the server that is called ``server``, and for its ``view`` if it is one of a gateway.
    ``local_scopes``: the scopes of local callers."""

    rules: tuple[Rule, ...]
    server: str = ""
    local_scopes: LocalScopes = field(default_factory=dict[str, frozenset[str]])
    view: str = ""
    _about: dict[tuple[type[Any], str, str, str], tuple[RuleStep, ...]] = field(
        default_factory=dict[tuple[type[Any], str, str, str], tuple[RuleStep, ...]]
    )

    def __eq__(self, other: object) -> bool:
        """Whether the rules are the same; the steps that were found for some tools do not count."""
        if not isinstance(other, Rules):
            return NotImplemented
        return (self.rules, self.server, self.local_scopes, self.view) == (
            other.rules,
            other.server,
            other.local_scopes,
            other.view,
        )

    def on(self, server: str) -> Rules:
        """Return the rules as they hold on that server: rules for other servers do not apply."""
        return Rules(self.rules, server, self.local_scopes, self.view)

    def here(self, server: str = "") -> Iterable[Rule]:
        """Return the rules for this view of this server, or of ``server``, on which a host has a tool."""
        return (
            rule
            for rule in self.rules
            if rule.is_for_view(self.view) and (rule.server is None or rule.server.match(server or self.server))
        )

    def decide(self, subject: Subject, context: RequestContext, arguments: Mapping[str, Any] | None) -> Verdict:
        """Return the verdict for this caller. A subject that could not be allowed is hidden, unless there is a reason
        to tell."""
        if isinstance(subject, Tool) and subject.replaces:
            return self._of_names(subject, context.principal, arguments)
        principal, local_scopes = context.principal, self.local_scopes
        possible: list[Verdict] = []
        obtainable: frozenset[str] = frozenset()
        for rule, at_subject in self._steps(subject):
            stop = rule.stop(principal, arguments, local_scopes) or at_subject
            if not stop:
                last = rule.verdict()
                break
            if stop == OPEN:
                if rule.then == "allow":
                    return rule.verdict()  # no verdict promises more
                possible.append(rule.verdict())
            elif stop == "scopes" and not obtainable and rule.then in ("allow", "ask") and can_obtain(principal):
                obtainable = rule.scopes
        else:
            last = ALLOW if self._is_handed_out(subject) else Deny(scopes=obtainable)
        if arguments is not None:
            return last
        return _unsettled([*possible, last]) if possible else _settled(last)

    def _of_names(self, tool: Tool, principal: Principal, arguments: Mapping[str, Any] | None) -> Verdict:
        """Decide about a tool that had other names: rules that name an old one still mean it. The first rule for each
        of its names counts, but a rule for every tool counts only if none came before it for any of them: it does not
        mean the old name. Of the rules that count, the strictest decides.

        Where a rule may match or not, both are followed. ``outcomes`` maps the names that are decided about by then to
        the most promising verdict that leads there.
        """
        outcomes: dict[frozenset[str], Verdict] = {frozenset(): ALLOW}
        obtainable: frozenset[str] = frozenset()
        for rule in self.here(tool.server):
            stop = rule.stop_at(tool) or rule.stop(principal, arguments, self.local_scopes)
            if stop == "scopes" and not obtainable and rule.then in ("allow", "ask") and can_obtain(principal):
                obtainable = rule.scopes
            if stop not in ("", OPEN):
                continue
            names = rule.names_of(tool)
            for decided, so_far in tuple(outcomes.items()):
                if names <= decided:
                    continue
                verdict = so_far if decided and rule.is_for_every_tool else max(so_far, rule.verdict(), key=_severity)
                if not stop:
                    del outcomes[decided]
                if (already := outcomes.get(decided | names)) is None or _promise(verdict) < _promise(already):
                    outcomes[decided | names] = verdict
        verdict = min((outcome if by else Deny(scopes=obtainable) for by, outcome in outcomes.items()), key=_promise)
        return verdict if arguments is not None else _settled(verdict)

    def _is_handed_out(self, subject: Subject) -> bool:
        """Return whether an allowed call has handed the subject out, by reference, to this very caller, and no rule
        names it."""
        return (
            isinstance(subject, wire.ResourceDefinition)
            and subject.uri.startswith(SCHEME)
            and all(step.rule.resources is None for step in self._steps(subject))
        )

    def _steps(self, subject: Subject) -> tuple[RuleStep, ...]:
        """Return the rules that match this subject, or may."""
        key = _key(subject)
        steps = self._about.get(key)
        if steps is None:
            if len(self._about) >= _REMEMBERED:
                self._about.clear()
            every = (RuleStep(rule, rule.stop_at(subject)) for rule in self.here(_server(subject)))
            steps = self._about[key] = tuple(step for step in every if step.stop in ("", OPEN))
        return steps

    def trace(
        self, subject: Subject, principal: Principal, arguments: Mapping[str, Any] | None
    ) -> tuple[RuleStep, ...]:
        """Return each rule in its order, down to the one that decides, with the condition that stopped it. For a tool
        that had other names, down to the rule that decides about the last of them."""
        steps: list[RuleStep] = []
        every = frozenset(subject.names) if isinstance(subject, Tool) else frozenset("-")
        decided: frozenset[str] = frozenset()
        for rule in self.rules:
            elsewhere = rule.server is not None and not rule.server.match(_server(subject) or self.server)
            stop = "server" if elsewhere else "" if rule.is_for_view(self.view) else "view"
            stop = stop or rule.stop_at(subject)
            if stop in ("", OPEN):
                stop = rule.stop(principal, arguments, self.local_scopes) or stop
            names = rule.names_of(subject) if isinstance(subject, Tool) else every
            is_late = names <= decided or (decided and rule.is_for_every_tool)
            steps.append(RuleStep(rule, EARLIER if stop in ("", OPEN) and is_late else stop))
            decided |= names if not stop else frozenset()
            if decided == every:
                break
        return tuple(steps)


def _server(subject: Subject) -> str:
    return subject.server if isinstance(subject, Tool) else ""


def _key(subject: Subject) -> tuple[type[Any], str, str, str]:
    match subject:
        case Tool():
            return Tool, subject.name, subject.effect, subject.server
        case wire.ResourceDefinition():
            return wire.ResourceDefinition, subject.uri, "", ""
        case wire.ResourceTemplate():
            return wire.ResourceTemplate, subject.uriTemplate, "", ""
        case wire.Prompt():
            return wire.Prompt, subject.name, "", ""


def _settled(verdict: Verdict) -> Verdict:
    """Hide a subject whose denial has neither a reason nor scopes to tell, since it holds for any arguments."""
    if not isinstance(verdict, Deny) or verdict.reason or verdict.scopes:
        return verdict
    return Deny(hidden=True, rule=verdict.rule)


def _unsettled(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the best of the possible verdicts: one that lets in, then one with a way in, then one with a reason."""
    return _settled(min(verdicts, key=_promise))


def _promise(verdict: Verdict) -> int:
    match verdict:
        case Allow():
            return 0
        case Ask():
            return 1
        case Deny():
            return 2 if verdict.scopes else 3 if verdict.reason else 4


def _severity(verdict: Verdict) -> tuple[int, bool]:
    return _promise(verdict), bool(verdict.rule)


_VARIABLE: Final = LazyPattern(r"\{[^}]*\}")
