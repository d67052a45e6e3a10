"""``tooltrue policy explain``: the rule that decides on a call, and why the others do not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Any

import click

from tooltrue.cli.call_verb import read_arguments
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.output import show_rows
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.targets import Spec, load_server
from tooltrue.cli.wording import POLICY_ENTRY_NOT_FOUND
from tooltrue.errors import ConfigurationError
from tooltrue.policy.config import OperatorConfig, read_operator_config
from tooltrue.policy.explain import Explanation, explain, in_words, why
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.validate import check_arguments
from tooltrue.policy.rules.lint import Inventory
from tooltrue.policy.rules.rule import OPEN, Allow, Deny, Subject
from tooltrue.protocol import types as wire
from tooltrue.server.service import SILENT
from tooltrue.spelling import closest
from tooltrue.tools.vocabulary import Principal, RequestContext, Tool

__all__ = ["command"]


@click.command(
    "explain",
    cls=TargetVerb,
    example="tooltrue policy explain notes.py get_notes --config tooltrue.toml",
    short_help="Show which rule decides about a call, and why.",
)
@click.argument("target")
@click.argument("name", metavar="TOOL")
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--config", required=True, metavar="FILE", help="The rules.")
@click.option("--principal", default="local", show_default=True, metavar="ID", help="The caller.")
@click.option("--scope", "scopes", multiple=True, metavar="NAME", help="A scope that the caller holds. Repeatable.")
@click.option("--resource", "kind", flag_value="resource", help="TOOL is the URI of a resource.")
@click.option("--prompt", "kind", flag_value="prompt", help="TOOL is the name of a prompt.")
def command(
    target: str,
    name: str,
    pairs: tuple[str, ...],
    config: str,
    principal: str,
    scopes: tuple[str, ...],
    kind: str | None,
    family: FamilyOptions,
) -> None:
    """Explain how the rules in FILE decide about a call of TOOL, with KEY=VALUE arguments, on the server TARGET.

    Nothing is called. The exit code is 0 if the call would be allowed, and 1 otherwise.
    """
    server, rules = load_server(Spec(target, family)), read_operator_config(config)
    server.configure(rules)
    subject = _subject(name, kind, asyncio.run(server.inventory()))
    arguments = _arguments(subject, pairs)
    context = RequestContext(Principal(principal, frozenset(scopes)), SILENT)
    explanation = explain(server.settings, subject, context, arguments)
    _show(explanation, rules, server.settings, subject, context, arguments)
    if not isinstance(explanation.verdict, Allow):
        sys.exit(1)


def _subject(name: str, kind: str | None, there: Inventory) -> Subject:
    if kind == "resource":
        return wire.ResourceDefinition(name, name)
    subjects: dict[str, Subject] = {old: tool for tool in there.tools for old in tool.replaces}
    subjects |= {tool.name: tool for tool in there.tools}  # a current name takes precedence over an old one
    if kind == "prompt":
        subjects = {prompt: wire.Prompt(prompt) for prompt in there.prompts}
    if name not in subjects:
        raise ConfigurationError.of(POLICY_ENTRY_NOT_FOUND, name=name, nearest=closest(name, subjects))
    return subjects[name]


def _arguments(subject: Subject, pairs: tuple[str, ...]) -> Mapping[str, Any] | None:
    """Arguments as the rules will see them: validated, and with defaults. Without arguments, a tool is judged as for a
    list."""
    if not isinstance(subject, Tool) or not pairs:
        return None
    return check_arguments(subject, read_arguments(pairs, subject.definition))


def _verdict_text(explanation: Explanation) -> str:
    if isinstance(explanation.verdict, Deny) or all(step.stop != OPEN for step in explanation.steps):
        return in_words(explanation.verdict)
    return "there is one; what it may be used for depends on what is not said here"


def _show(
    explanation: Explanation,
    config: OperatorConfig,
    guard: Guard,
    subject: Subject,
    context: RequestContext,
    arguments: Mapping[str, Any] | None,
) -> None:
    verdict, has_arguments = explanation.verdict, isinstance(subject, Tool) and arguments is not None
    what = " with these arguments" if has_arguments else ", whatever the arguments" if isinstance(subject, Tool) else ""
    name = subject.uri if isinstance(subject, wire.ResourceDefinition) else subject.name
    tell(one_line(f"{name} for {context.principal.id}{what}: {_verdict_text(explanation)}"), bold=True)
    reason = getattr(verdict, "reason", "")
    if reason:
        tell(f"The caller is told: {reason}")
    if not verdict.rule and not isinstance(verdict, Allow):
        tell("No rule says so: none of them matches, or the tool or its server asks for more.")
    if sum(not step.stop for step in explanation.steps) > 1:
        tell("Rules that say an old name of the tool hold for it too. Of those that match, the strictest decides:")
    show_rows(
        (
            config.place(("rules", step.rule.number)),
            step.rule.name,
            step.rule.then,
            why(step, guard, subject, context, arguments if explanation.called else None),
        )
        for step in explanation.steps
    )
