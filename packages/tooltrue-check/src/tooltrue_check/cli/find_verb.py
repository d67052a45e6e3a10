"""``tooltrue find``: whether a search among many tools finds the given ones."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import click

from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.main import exit_code
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.output import show_json
from tooltrue.cli.printing import one_line, tell, with_own_output
from tooltrue.contract.wording import FILE_UNREADABLE
from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.messages import Json
from tooltrue.wording import REASON_NOT_UTF8, Worded
from tooltrue_check.cli.check_sources import sources_of
from tooltrue_check.findability import Findability, find, findability
from tooltrue_check.findability_text import hit_lines, lines
from tooltrue_check.question_files import corpus_in, questions_in
from tooltrue_check.report import Unjudged
from tooltrue_check.search import SearchHit
from tooltrue_check.subject import Subject, subjects

__all__ = ["command"]

_HITS = 10


@with_own_output
@click.command(
    "find",
    cls=TargetVerb,
    example="tooltrue find notes.py --among tooltrue.lock",
    short_help="See whether a search finds these tools.",
)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option(
    "--among",
    multiple=True,
    metavar="FILE",
    help="Further tools to search: a server a line, as JSON; a dump, a lock file. Repeatable.",
)
@click.option("--queries", metavar="FILE", help='Questions: {"tool": NAME, "query": TEXT} a line.')
@click.option("--query", metavar="WORDS", help="Only show the tools that these words find.")
@click.option("--fail-beyond", type=click.IntRange(1), metavar="N", help="Fail if a tool is not among the first N.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds to wait for an answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(
    context: click.Context,
    targets: tuple[str, ...],
    family: FamilyOptions,
    among: tuple[str, ...],
    queries: str | None,
    query: str | None,
    fail_beyond: int | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Search for each tool of every TARGET by its purpose and in words, as hosts with many tools do.

    The questions are those of --queries, by default each tool's own description. TARGET is as for check. The report
    shows questions that find another tool first, with the words that decide, and tools that are hard to tell apart.
    """
    language = context.obj or "en"
    ours, unread = _tools_of(targets, family, timeout)
    others = list(chain.from_iterable(_others(file, timeout) for file in among))
    for one in unread:
        tell(one_line(f"{one.target}: {one.reason.say(language)}"), fg="yellow", err=True)
    if query is not None:
        _show_hits(query, ours, others, language, as_json=as_json)
        is_enough = True
    else:
        questions = None if queries is None else questions_in(_text(queries), queries, ours)
        report = findability(ours, questions, others)
        _show(report, language, as_json=as_json)
        is_enough = fail_beyond is None or report.within(fail_beyond) == len(report.answers)
    sys.exit(exit_code(unread[0].reason) if unread else int(not is_enough))


def _tools_of(targets: Sequence[str], family: FamilyOptions, timeout: float) -> tuple[list[Subject], list[Unjudged]]:
    sources, unread = sources_of(targets, family, timeout)
    return subjects((one.server, one.contract) for one in sources), unread


def _others(file: str, timeout: float) -> list[Subject]:
    """The tools of a file to search among. A file that cannot be read ends the command."""
    if file.endswith(".jsonl"):
        return corpus_in(_text(file), file)
    tools, unread = _tools_of([file], FamilyOptions(), timeout)
    if unread:
        raise unread[0].reason
    return tools


def _text(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except OSError as error:
        raise ConfigurationError.of(FILE_UNREADABLE, file=file, problem=error.strerror) from None
    except UnicodeDecodeError:
        raise ConfigurationError.of(FILE_UNREADABLE, file=file, problem=Worded(REASON_NOT_UTF8, {})) from None


def _show(report: Findability, language: str, *, as_json: bool) -> None:
    if as_json:
        show_json(report.data())
        return
    for line in lines(report, language):
        tell(line)


def _show_hits(query: str, ours: list[Subject], others: list[Subject], language: str, *, as_json: bool) -> None:
    hits = find(query, ours, others)[:_HITS]
    if as_json:
        show_json([_hit(one) for one in hits])
        return
    for line in hit_lines(hits, language):
        tell(line)


def _hit(one: SearchHit) -> dict[str, Json]:
    words = {word: round(share, 3) for word, share in one.words.items()}
    return {"server": one.tool.server, "tool": one.tool.name, "score": round(one.score, 3), "words": words}
