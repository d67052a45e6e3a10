"""``tooltrue check``: problems of tools with models and clients, before they occur."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.main import exit_code
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.printing import has_colours, paint, tell, with_own_output
from tooltrue.cli.usage import misuse
from tooltrue.contract.files import write_whole
from tooltrue.errors import ConfigurationError
from tooltrue.spelling import closest
from tooltrue_check import baseline as baselines
from tooltrue_check.card import Card, Level, cards
from tooltrue_check.cli.check_fixes import difference, fixed, save
from tooltrue_check.cli.check_sources import sources_of
from tooltrue_check.excuses import Excuse, excuses_in
from tooltrue_check.findings import RuleFinding
from tooltrue_check.report import CheckReport, judge
from tooltrue_check.reports import data, github, html, sarif, text
from tooltrue_check.reports.report_phrases import phrase
from tooltrue_check.source import ToolSource
from tooltrue_check.wording import UNKNOWN_CHECK_RULE

if TYPE_CHECKING:  # only needed with --for
    from tooltrue_check.portability import Matrix

__all__ = ["command"]

_LEVELS = [level.value for level in Level]
_FORMATS: Mapping[str, Callable[..., str]] = {
    "text": text.render,
    "json": data.render,
    "sarif": sarif.render,
    "github": github.render,
    "html": html.render,
}
_COLOURS = {"error": "red", "warning": "yellow", "hint": "blue"}


@with_own_output
@click.command("check", cls=TargetVerb, short_help="Find what is wrong with tools, before a model does.")
@click.argument("targets", nargs=-1, metavar="TARGET...")
@click.option(
    "--for",
    "clients",
    metavar="NAMES",
    help="Report how these clients and providers treat the tools: names with commas, or all.",
)
@click.option(
    "--level", type=click.Choice(_LEVELS), default="hint", show_default=True, help="The lowest level to report."
)
@click.option(
    "--select", multiple=True, metavar="RULE", help="Only this rule: code, beginning, name, group. Repeatable."
)
@click.option("--ignore", multiple=True, metavar="RULE", help="Not this rule, likewise. Repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice([*_LEVELS, "never"]),
    default="error",
    show_default=True,
    help="The lowest level that makes the command fail.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice([*_FORMATS]),
    default="text",
    show_default=True,
    help="The format of the report.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the report there.")
@click.option("-v", "--verbose", is_flag=True, help="text: with the evidence of each rule.")
@click.option("--summary", is_flag=True, help="text: the summary alone.")
@click.option("--config", metavar="FILE", help="The operator's file, whose [[check.excused]] lists accepted findings.")
@click.option("--baseline", metavar="FILE", help="Known findings: only others are reported.")
@click.option("--write-baseline", is_flag=True, help="Write all current findings to the file of --baseline.")
@click.option("--fix", is_flag=True, help="Change dumps of tools/list, and Python files of ours, where a rule is sure.")
@click.option("--dry-run", is_flag=True, help="With --fix: show what would change.")
@click.option("--explain", metavar="RULE", help="Explain a rule, and check nothing.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds to wait for a server.")
@click.pass_context
def command(
    context: click.Context, targets: tuple[str, ...], family: FamilyOptions, explain: str | None, **options: Any
) -> None:
    """Check the tools of each TARGET: a server of ours, a URL, a command in quotes, a host's file of servers, a dump of
    tools/list as JSON, or a lock file.

    Exits with 1 if a finding has at least the level of --fail-on, and with the code of the failure if a server could
    not be checked.
    """
    language = context.obj or "en"
    if explain is not None:
        tell("\n".join(text.explained(card, language, _paint) for card in _cards_named(explain)), nl=False)
        return
    wish = _CheckOptions(**options)
    if not targets:
        raise misuse("Missing argument 'TARGET...'.")
    if wish.dry_run > wish.fix or wish.write_baseline > (wish.baseline is not None):
        raise misuse("--dry-run goes with --fix, --write-baseline with --baseline FILE.")
    if wish.clients is not None:
        _for_clients(wish, targets, family, language)
        return
    gc.disable()  # findings and definitions live until the report is written: a garbage collection would free nothing
    atexit.register(gc.freeze)  # nor would the last one, of a process that ends
    run_rules = wish.judge()
    sources, unjudged = sources_of(targets, family, wish.timeout)
    report = (
        fixed(partial(run_rules, unjudged=unjudged), sources) if wish.fix else run_rules(sources, unjudged=unjudged)
    )
    if wish.dry_run:
        _show_difference(sources, report.sources)
    if wish.fix:
        save(sources, report.sources)
    if wish.write_baseline:
        _keep(Path(wish.baseline or ""), report, language)
        sys.exit(_unjudged(report))
    for note in report.notes:
        tell(_paint(note.say(language), "warning"), err=True)
    _put(wish.render(report, language), wish.output)
    sys.exit(wish.status(report))


def _for_clients(wish: _CheckOptions, targets: Sequence[str], family: FamilyOptions, language: str) -> NoReturn:
    """Report on the tools by client and provider, instead of by rule."""
    from tooltrue_check.cli import check_clients as for_clients  # noqa: PLC0415 - each command loads what it needs

    if wish.is_about_rules or wish.form not in for_clients.FORMATS:
        raise misuse("--for goes with --fail-on, --format text|json|html, -o, -v, --summary, --timeout only.")
    profiles = for_clients.profiles_of(wish.clients or "")
    sources, unjudged = sources_of(targets, family, wish.timeout)
    matrix = for_clients.matrix(sources, profiles, unjudged)
    _put(wish.render(matrix, language, for_clients.FORMATS), wish.output)
    sys.exit(wish.status(matrix))


@dataclass(frozen=True)
class _CheckOptions:
    """The options of the command."""

    clients: str | None
    level: str
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_on: str
    form: str
    output: str | None
    verbose: bool
    summary: bool
    config: str | None
    baseline: str | None
    write_baseline: bool
    fix: bool
    dry_run: bool
    timeout: float

    def judge(self) -> Callable[..., CheckReport]:
        """Return the function that judges sources. Invalid settings are reported here, before any server is started."""
        if self.write_baseline:  # a baseline also contains the findings that are filtered out now
            return partial(judge, excuses=self._excuses())
        known_keys = frozenset[baselines.FindingKey]() if self.baseline is None else baselines.read(Path(self.baseline))
        return partial(judge, excuses=self._excuses(), baseline=known_keys, is_reported=self._is_told())

    def _excuses(self) -> list[Excuse]:
        if self.config is None:
            return []
        from tooltrue.policy.config import read_operator_config  # noqa: PLC0415 - only an operator's file needs it

        return [*excuses_in(read_operator_config(self.config))]

    def _is_told(self) -> Callable[[RuleFinding], bool]:
        least = Level(self.level).rank
        for word in (*self.select, *self.ignore):
            _cards_named(word)

        codes = frozenset(card.code for card in cards().values() if self._is_wanted(card))

        def is_told(finding: RuleFinding) -> bool:
            return finding.code in codes and finding.level.rank >= least

        return is_told

    def _is_wanted(self, card: Card) -> bool:
        is_selected = not self.select or any(_names(word, card) for word in self.select)
        return is_selected and not any(_names(word, card) for word in self.ignore)

    @property
    def is_about_rules(self) -> bool:
        """Whether an option was given that only applies to rules."""
        return any((self.level != "hint", self.select, self.ignore, self.config, self.baseline, self.fix))

    def render(
        self, report: CheckReport | Matrix, language: str, formats: Mapping[str, Callable[..., str]] = _FORMATS
    ) -> str:
        write = formats[self.form]
        if self.form != "text":
            return write(report, language)
        paint = _paint if self.output is None and has_colours() else text.plain
        return write(report, language, paint=paint, is_whole=self.verbose, is_short=self.summary)

    def status(self, report: CheckReport | Matrix) -> int:
        """The exit code. An incomplete report counts as worse than a failed check."""
        least = None if self.fail_on == "never" else Level(self.fail_on)
        return _unjudged(report) or int(report.fails(least))


def _unjudged(report: CheckReport | Matrix) -> int:
    """The exit code for the first target that could not be judged; 0 if all were."""
    return exit_code(report.unjudged[0].reason) if report.unjudged else 0


def _names(word: str, card: Card) -> bool:
    return word in (card.name, card.group, *card.also) or card.code.startswith(word)


def _cards_named(word: str) -> list[Card]:
    """The rules that a word names: one rule by its code, its name or a code that it passes on; several by the beginning
    of a code or by a group."""
    every = cards().values()
    matches = [card for card in every if _names(word, card)]
    if not matches or not word:
        choices = {option for card in every for option in (card.code, card.name, card.group)}
        raise ConfigurationError.of(UNKNOWN_CHECK_RULE, word=word, nearest=closest(word, choices))
    return matches


def _show_difference(before: Sequence[ToolSource], after: Sequence[ToolSource]) -> NoReturn:
    lines = [*difference(before, after)]
    tell("".join(f"{line}\n" for line in lines), nl=False)
    sys.exit(1 if lines else 0)


def _keep(file: Path, report: CheckReport, language: str) -> None:
    """Write the baseline. Entries of servers that could not be judged this time are kept."""
    before = baselines.read(file) if report.unjudged and file.exists() else frozenset[baselines.FindingKey]()
    keys = {report.key_of(one) for one in report.findings}
    baselines.write(file, keys | {one for one in before if one.server not in report.by_server})
    tell(phrase("known", language, count=len(keys)))


def _paint(words: str, colour: str) -> str:
    """Colour a text. ``click.echo`` removes the colours if the output is not a terminal."""
    if "NO_COLOR" in os.environ:
        return words
    if colour in _COLOURS:
        return paint(words, fg=_COLOURS[colour])
    return paint(words, bold=colour == "tool", dim=colour == "aside")


def _put(report: str, output: str | None) -> None:
    if output is None:
        tell(report, nl=False)
    else:
        write_whole(Path(output), report)
