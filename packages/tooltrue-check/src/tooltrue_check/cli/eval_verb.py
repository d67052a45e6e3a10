"""``tooltrue eval``: the tools that a model chooses for questions, and a comparison with other descriptions."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import click

from tooltrue.cli.chat_tools import chat_tools
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.main import exit_code
from tooltrue.cli.numbers import SECONDS, Finite
from tooltrue.cli.printing import one_line, redrawn, tell, with_own_output
from tooltrue.cli.usage import misuse
from tooltrue.contract.contract import Contract
from tooltrue.contract.digests import Definition
from tooltrue.contract.files import write_whole
from tooltrue.contract.wording import FILE_UNREADABLE
from tooltrue.errors import ConfigurationError, DefinitionError
from tooltrue.host.catalogue import CatalogueRow
from tooltrue.host.models.endpoints import model_of
from tooltrue.host.models.model import Model
from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue.protocol.types import ToolDefinition
from tooltrue.wording import REASON_NOT_UTF8, Worded, sentence
from tooltrue_check.cli.check_sources import sources_of
from tooltrue_check.cli.dumps import bytes_of
from tooltrue_check.evaluation.grades import Evaluation
from tooltrue_check.evaluation.model_answers import StoredAnswers
from tooltrue_check.evaluation.model_queries import QuerySettings, ask_all
from tooltrue_check.evaluation.question_file import EvaluationQuestion, absent, check_tools, questions_in, renamed
from tooltrue_check.evaluation.report_page import as_page
from tooltrue_check.evaluation.report_text import EvaluationReport, as_json, as_text
from tooltrue_check.evaluation.tool_choice import ToolChoice
from tooltrue_check.evaluation.tool_conversation import ToolConversation
from tooltrue_check.source import ToolSource
from tooltrue_check.wording import (
    EVALUATION_EXPECTED_TOOL_MISSING,
)

__all__ = ["command"]

_FORMS: Final[Mapping[str, Callable[[EvaluationReport, str], str]]] = {
    "text": as_text,
    "json": as_json,
    "html": as_page,
}


@with_own_output
@click.command(
    "eval",
    cls=TargetVerb,
    example="tooltrue eval notes.py --model deepseek:deepseek-chat --questions questions.jsonl",
    short_help="See which tool a model chooses for a question.",
)
@click.argument("target")
@click.option("--model", "name", required=True, metavar="MODEL", help="PROVIDER:MODEL, or MODEL with --base-url.")
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint; its key is $TOOLTRUE_MODEL_KEY.")
@click.option("--questions", "file", required=True, metavar="FILE", help="The questions, JSON Lines.")
@click.option("--against", metavar="TARGET", help="Ask the same with these tools, such as a lock file, and compare.")
@click.option(
    "--renamed",
    "renames",
    multiple=True,
    metavar="OLD=NEW",
    help="With --against: one tool, by its two names. Repeatable.",
)
@click.option(
    "--answers", metavar="FILE", help="The file of answers. Default: FILE of --questions, with .answers.jsonl."
)
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, help="How often to ask each question.")
@click.option("--concurrency", type=click.IntRange(1), default=4, show_default=True, help="Questions at once.")
@click.option("--system", default="", metavar="TEXT", help="The system prompt, before each question.")
@click.option(
    "--temperature", type=Finite(0), metavar="NUMBER", help="Sent with each request. Default: the endpoint's."
)
@click.option("--run", is_flag=True, help="Execute the calls of the model, behind the guard of a host.")
@click.option("--rules", metavar="FILE", help="With --run: the operator's rules, such as tooltrue.toml.")
@click.option(
    "--fail-under", type=click.FloatRange(0, 100), metavar="PERCENT", help="Fail if fewer answers are entirely right."
)
@click.option(
    "--format",
    "form",
    type=click.Choice([*_FORMS]),
    default="text",
    show_default=True,
    help="The format of the report.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the report there.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds to wait for a server.")
@click.pass_context
def command(
    context: click.Context, target: str, family: FamilyOptions, output: str | None, form: str, **options: Any
) -> None:
    """Offer MODEL the tools of TARGET, ask each question of a file, and report the tools and arguments of its choice.
    No tool is executed without --run. TARGET is as for check; with --run, as for chat.

    Answers are stored in a file, and no answered question is asked again, so that an interrupted run continues.
    Exits with 1 below --fail-under, and with 4 while questions have no answer.
    """
    language = context.obj or "en"
    wish = _EvalOptions(target=target, family=family, language=language, **options)
    report = wish.report()
    text = _FORMS[form](report, language)
    if output is not None:
        write_whole(Path(output), text)
    else:
        tell(text, nl=False)
    sys.exit(wish.status(report))


@dataclass(frozen=True)
class _EvalOptions:
    """The options of the command."""

    target: str
    family: FamilyOptions
    language: str
    name: str
    base_url: str | None
    file: str
    against: str | None
    answers: str | None
    repeat: int
    concurrency: int
    system: str
    temperature: float | None
    fail_under: float | None
    timeout: float
    run: bool
    rules: str | None
    renames: tuple[str, ...]

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """Old name → new name."""
        parted = [one.partition("=") for one in self.renames]
        if any(not old or not new for old, _, new in parted):
            raise misuse("--renamed takes OLD=NEW.")
        return {old: new for old, _, new in parted}

    def report(self) -> EvaluationReport:
        targets = [self.target, *([] if self.against is None else [self.against])]
        tools_by_target = {target: None if self.run else self._tools(target) for target in targets}
        if not self.run:
            # A tool that only one of two versions has is not an error in the questions: for the other version they
            # count as wrong.
            every = {tool.name for tools in tools_by_target.values() for tool in tools or ()}
            check_tools(
                self._questions, every | self._names.keys() | {*self._names.values()}, " or ".join(tools_by_target)
            )
        return asyncio.run(self._evaluated(tools_by_target))

    async def _evaluated(self, tools_by_target: Mapping[str, list[ToolDefinition] | None]) -> EvaluationReport:
        answers = StoredAnswers(Path(self.answers or Path(self.file).with_suffix(".answers.jsonl")))
        # Not streamed: output is not shown, and whole answers always have token counts. Retries are made by the caller.
        model = model_of(self.name, base_url=self.base_url, stream=False, retries=0, more=self._more)
        async with model:
            return EvaluationReport(
                self.name,
                *[await self._evaluation(model, one, tools_by_target[one], answers) for one in tools_by_target],
            )

    async def _evaluation(
        self, model: Model, target: str, tools: list[ToolDefinition] | None, answers: StoredAnswers
    ) -> Evaluation:
        async with self._asks(model, target, tools) as asks:
            for one in asks.left_out:
                tell(one_line(f"{one.name}: {one.why.say(self.language)}"), fg="yellow", err=True)
            questions = self._questions_of(target, asks.schemas.keys())
            ways = QuerySettings(rounds=self.repeat, at_once=self.concurrency, on_done=_progress(target))
            return Evaluation.of(target, await ask_all(asks, questions, answers, ways), asks.schemas)

    def _questions_of(self, target: str, tools: Collection[str]) -> list[EvaluationQuestion]:
        """The questions with the names of the tools at this target; prints a note for each missing tool."""
        questions = renamed(self._questions, self._names, tools)
        for tool, count in sorted(absent(questions, tools).items()):
            note = sentence(
                EVALUATION_EXPECTED_TOOL_MISSING, self.language, {"target": target, "tool": tool, "count": count}
            )
            tell(one_line(note), fg="yellow", err=True)
        return questions

    @contextlib.asynccontextmanager
    async def _asks(
        self, model: Model, target: str, tools: list[ToolDefinition] | None
    ) -> AsyncGenerator[ToolChoice | ToolConversation]:
        if tools is not None:
            yield ToolChoice(model, tools, self.system, self._settings)
            return
        async with chat_tools(target, self.family, self.rules, self.timeout, self.language, None, asks=False) as opened:
            names = _names(opened.host.rows)
            if self.against is None:
                check_tools(self._questions, {*names.values()}, target)
            asks = ToolConversation(model, opened.provider, names, context=opened.context, system=self.system)
            yield await asks.listed(self._settings)

    @property
    def _more(self) -> dict[str, Json]:
        return {} if self.temperature is None else {"temperature": self.temperature}

    @property
    def _settings(self) -> Json:
        return {"model": self.name, "url": self.base_url, **self._more}

    @cached_property
    def _questions(self) -> list[EvaluationQuestion]:
        try:
            return questions_in(bytes_of(Path(self.file)).decode(), self.file)
        except UnicodeDecodeError:
            raise ConfigurationError.of(FILE_UNREADABLE, file=self.file, problem=Worded(REASON_NOT_UTF8, {})) from None

    def _tools(self, target: str) -> list[ToolDefinition]:
        """All tools of a target, sorted by name. A name that several servers use is prefixed with the server."""
        sources, unread = sources_of([target], self.family, self.timeout)
        if unread:
            raise unread[0].reason
        tools = {source.server: _tools_by_name(source) for source in sources}
        names = Counter(name for definitions in tools.values() for name in definitions)
        return [
            _tool(name if names[name] == 1 else f"{server}_{name}", definition)
            for server, definitions in tools.items()
            for name, definition in sorted(definitions.items())
        ]

    def status(self, report: EvaluationReport) -> int:
        """The exit code. An incomplete report counts as worse than a failed check."""
        unanswered = [
            one.why for evaluation in report.evaluations for one in evaluation.unanswered if one.why is not None
        ]
        is_bad = self.fail_under is not None and report.new.right.is_below(self.fail_under)
        return exit_code(unanswered[0]) if unanswered else int(is_bad)


def _names(rows: Sequence[CatalogueRow]) -> Mapping[str, str]:
    """Alias of a tool → its name at its server, or the alias if two servers use that name."""
    counts = Counter(row.name for row in rows)
    return {row.alias: row.name if counts[row.name] == 1 else row.alias for row in rows}


def _tools_by_name(source: ToolSource) -> Mapping[str, Definition]:
    """The tools of a source by name. ``DefinitionError`` if two have the same name, or one has no name."""
    try:
        return Contract.of(source.contract.tools.values()).tools
    except DefinitionError as error:
        error.locate(source.target)
        raise


def _tool(name: str, definition: Mapping[str, Json]) -> ToolDefinition:
    schema, description = definition.get("inputSchema"), definition.get("description")
    return ToolDefinition(
        name,
        schema if is_object(schema) else {"type": "object"},
        description=description if isinstance(description, str) else None,
    )


def _progress(target: str) -> Callable[[int, int], None]:
    """At a terminal one line that is redrawn, elsewhere a line per tenth."""
    is_seen = sys.stderr.isatty()

    def show(count_done: int, count: int) -> None:
        line = f"{one_line(target)}: {count_done}/{count}"
        if is_seen:
            redrawn(line)
            if count_done == count:
                tell(err=True)
        elif count_done * 10 // count != (count_done - 1) * 10 // count:
            tell(line, err=True)

    return show
