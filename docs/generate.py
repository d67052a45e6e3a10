"""Writes the pages that are tables: `errors.md`, from the catalogues `wording.py`; `protocol.md`, from the
revisions, the methods and the duties in `tests/requirements`; `security.md`, from the attacks in `tests/security`;
`contracts.md`, from the profiles in `packages/tooltrue/src/tooltrue/contract/profiles`; `rules/`, from the cards in
`packages/tooltrue-check/src/tooltrue_check/rules`; and `reference/`, from docstrings (`api_reference.py`). The tables
of `platforms.md` are made from `tests/support/platforms.py`, those of `installation.md` from `uv.lock`; the tables of
layers, in README.md and three pages, from `tooltrue.policy.pipeline`, and so is the picture `pipeline.svg`. Commands
that install tooltrue name the repository, or the index, by `tooltrue.version.PUBLISHED` (`installing.py`).

    python docs/generate.py

A test compares; run this after a sentence, a revision or a duty has changed.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from string import Formatter

import msgspec
from click.testing import CliRunner

from tooltrue.cli.main import cli
from tooltrue.contract.display import display_safe_json
from tooltrue.contract.profile import Fact, profile, profile_names
from tooltrue.host import host_guard
from tooltrue.policy import pipeline, placing
from tooltrue.protocol import legacy, modern, versions
from tooltrue.version import PUBLISHED
from tooltrue.wording import SENTENCES, load_catalogues
from tooltrue_check.card import Card, cards
from tooltrue_check.reports.report_phrases import CONFIDENCE, LEVELS, phrase, unfilled

DOCS = Path(__file__).parent
sys.path += [
    str(DOCS),
    str(DOCS.parent),
    str(DOCS.parent / "tests"),
]  # modules of the repository that are not installed

from api_reference import reference_pages  # noqa: E402 - found by the line above
from gateway_picture import gateway_picture  # noqa: E402
from installing import installation_page, with_install  # noqa: E402
from pipeline_picture import picture  # noqa: E402

from requirements.coverage import REVISIONS, Requirement, load, titles  # noqa: E402 - found by the line above
from security import table as attacks  # noqa: E402
from support import platforms  # noqa: E402

load_catalogues()

MADE = ("rules", "reference")
"""The folders in which every page is made."""


def pages(published: bool = PUBLISHED) -> dict[str, str]:
    """The text of each page, by the name of its file. ``published``: commands install from an index by name."""
    texts = _by_hand() | _made()
    return {name: with_install(text, published) for name, text in texts.items()}


def _by_hand() -> dict[str, str]:
    """The pages that name a place to install from."""
    texts = {path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))}
    return {name: text for name, text in texts.items() if with_install(text, True) != with_install(text, False)}


def _made() -> dict[str, str]:
    return {
        "errors.md": errors_page(),
        "protocol.md": protocol_page(),
        "security.md": security_page(),
        "contracts.md": contracts_page(),
        "../README.md": with_verbs(with_layers(DOCS.parent / "README.md")),
        "../README.zh.md": with_verbs((DOCS.parent / "README.zh.md").read_text("utf-8")),
        "contributing/tour.md": with_layers(DOCS / "contributing" / "tour.md"),
        "host-guard.md": with_layers(DOCS / "host-guard.md"),
        "installation.md": installation_page((DOCS / "installation.md").read_text("utf-8")),
        "layers.md": with_layers(DOCS / "layers.md"),
        "platforms.md": platforms_page(),
        **rule_pages(),
        **reference_pages(),
        "gateway.svg": gateway_picture(),
        "pipeline.svg": picture(),
        "zh/pipeline.svg": picture("zh"),
    }


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def head(*cells: str) -> str:
    return row(*cells) + "|---" * len(cells) + "|\n"


def safe(text: str) -> str:
    """Text that means nothing in a cell of a table."""
    for plain, escaped in (("<", "&lt;"), ("|", "\\|"), ("*", "\\*"), ("\n", "<br>")):
        text = text.replace(plain, escaped)
    return text


# --- errors.md --------------------------------------------------------------------------------------------------------

GROUPS = {
    "1": ("Protocol", "The caller broke the protocol. JSON-RPC errors, with a JSON-RPC error number."),
    "2": ("Tool calls", "For the model: the text of a result with `isError: true`."),
    "3": ("Definitions", "For the author: raised when a tool is registered or a schema compiled."),
    "33": (
        "Values that do not fit a schema",
        "The parts of the problems in TT2001, TT4302, TT6102 and others: they stand in another message.",
    ),
    "4": ("Settings and commands", "For the operator: raised at start, printed by the command."),
    "5": ("Client and carrier", "For users of `Client`: raised, never sent."),
    "6": ("The files tools", "For the model, except TT6001 and TT6002, which end the command."),
    "61": (
        "The command tools",
        "Up to TT6119 for the operator: they end the command. The others are for the model; TT6142 to TT6145 stand in "
        "the note of a result.",
    ),
    "66": (
        "The catalog and settings tools",
        "TT6605 and TT6610 to TT6613 for the operator: they end the command. The others are for the model.",
    ),
    "67": (
        "The mail and math tools",
        "Up to TT6705 for the operator: they end the command. The others are for the model.",
    ),
    "68": (
        "The tools of an HTTP API: descriptions and plans",
        "For the operator: up to TT6840 they end the command or stand in the log; the others are the reasons in them.",
    ),
    "69": (
        "The tools of an HTTP API: calls",
        "For the model; TT6930 and TT6931 are for the log, TT6940 and TT6941 for the command.",
    ),
    "7": ("State", "For the operator: the store that workers share."),
    "8": (
        "The kit",
        "For the author: the findings of `tooltrue test`, and from TT8901 on the reasons for checks not run.",
    ),
    "9": (
        "Contracts",
        "For reviewers of contracts: changes, suspicious text, and clients that would not accept a definition. "
        "TT9001 to TT9009 end the command.",
    ),
    "92": (
        "The servers of a host",
        "For the operator of a host: mistakes in its file, servers that were not started, definitions that are "
        "quarantined; TT9250 to TT9255 are for the model.",
    ),
    "93": ("Approvals in a host", "For the operator of a host, and for the model that it runs."),
    "98": (
        "Checks, searches, evaluations and logs",
        "For users of `tooltrue check`, `find`, `eval` or `doctor`; TT9802 is a note, TT9830 to TT9832 tell how "
        "clients and providers treat a tool ([portability.md](portability.md)), the others up to TT9849, and TT9881, "
        "TT9882 and TT9896, end the command; TT9883 is a note. "
        "TT97…, TT9800 and TT9829 are rules: [rules](rules/README.md). The rest "
        "from TT9850 on are symptoms in a log, their likely causes, and the limits of the log.",
    ),
    "94": ("The console", "For the people who use the console, and for the operator who starts it."),
    "95": (
        "Models",
        "Up to TT9503 for the author who gives a model its tools; TT9510 to TT9519 for the model, in the place of a "
        "result; the others for the operator.",
    ),
}

ERRORS_HEAD = """\
# Errors

<!-- Made by docs/generate.py from the catalogues, packages/**/wording.py. Change it there. -->

Every error of tooltrue has a code and a sentence in English and Chinese. A code never changes its meaning and is
never reused; sentences may be improved. A message that is sent or printed ends in the code in brackets. In a program,
`error.code` holds the code, `error.facts` the values in the sentence, and `error.say("zh")` is the sentence in Chinese.
An error that came from a server has the server's own words and no `code`.

Names in braces stand for values.
"""


def errors_page() -> str:
    return ERRORS_HEAD + "".join(_sections())


def _sections() -> Iterator[str]:
    for group, codes in groupby(sorted(SENTENCES), key=_group):
        title, text = GROUPS[group]
        rows = "".join(row(code, *map(_cell, SENTENCES[code])) for code in codes)
        yield f"\n## {title}\n\n{text}\n\n{head('code', 'English', '中文')}{rows}"


def _group(code: str) -> str:
    """What a code begins with, as far as there is a group of it."""
    return code[2:4] if code[2:4] in GROUPS else code[2]


def _cell(template: str) -> str:
    """A template without its conversions, fit for a cell of a table."""
    parts = (text + (f"{{{name}}}" if name else "") for text, name, _, _ in Formatter().parse(template))
    return safe("".join(parts))


# --- security.md ------------------------------------------------------------------------------------------------------

ATTACKS = re.compile(r"(?<=<!-- attacks -->\n).*", re.DOTALL)


def security_page() -> str:
    """The page is written by hand; what follows its mark is made."""
    rows = "\n".join(map(_attacks, attacks.load()))
    return ATTACKS.sub(lambda _: "\n" + rows, with_layers(DOCS / "security.md"))


def _attacks(group: attacks.Group) -> str:
    tried = attacks.recorded()
    rows = "".join(row(one.id, one.attack, attacks.state(one, tried.get(one.id, 0))) for one in group.rows)
    return f"### {group.title}\n\n{head('row', 'attack', 'state')}{rows}"


# --- platforms.md -----------------------------------------------------------------------------------------------------

PLATFORMS = re.compile(r"(<!-- platforms: (\w+) -->\n).*?(<!-- end of platforms -->)", re.DOTALL)


def platforms_page() -> str:
    """The page is written by hand, but for the tables between their marks."""
    tables = {"parts": _platform_parts, "features": _platform_features}
    page = (DOCS / "platforms.md").read_text("utf-8")
    return PLATFORMS.sub(lambda found: found[1] + tables[found[2]]() + found[3], page)


def _platform_parts() -> str:
    rows = [
        row(
            part.title,
            " ".join(f"`{word}`" for word in (*part.verbs, *part.families)),
            *(part.on(system) for system in platforms.SYSTEMS[1:]),
            "<br>".join(f"`{test}`" for test in part.tests),
        )
        for part in platforms.PARTS
    ]
    return "\n" + head("part", "verbs and families", *platforms.SYSTEMS[1:], "tests") + "".join(rows) + "\n"


def _platform_features() -> str:
    rows = [
        row(
            feature.title,
            *("yes" if system in feature.systems else "no" for system in platforms.SYSTEMS),
            feature.instead,
        )
        for feature in platforms.FEATURES.values()
    ]
    return "\n" + head("feature", *platforms.SYSTEMS, "instead") + "".join(rows) + "\n"


# --- layers, in several pages -----------------------------------------------------------------------------------------

LAYERS = re.compile(r"(<!-- layers: (\w+) -->\n).*?(<!-- end of layers -->)", re.DOTALL)


def with_layers(page: Path) -> str:
    """The page is written by hand, but for the tables of layers between their marks."""
    tables = {"effects": _effects, "guarantees": _guarantees, "order": _order, "host": _host, "places": _places}
    return LAYERS.sub(lambda found: found[1] + tables[found[2]]() + found[3], page.read_text("utf-8"))


def _effects() -> str:
    rows = (row(one.name, one.does) for stage in pipeline.STAGES for one in stage.rows)
    return head("layer", "what it does") + "".join(rows)


def _guarantees() -> str:
    rows = (row(one.name, one.does, _link(stage.page)) for stage in pipeline.STAGES for one in stage.rows)
    return head("layer", "what it does by default", "more") + "".join(rows)


def _order() -> str:
    rows = (row(f"`{stage.name}`", f"`{_file(stage.name)}`", stage.why) for stage in pipeline.STAGES)
    return head("layer", "file", "why it stands here") + "".join(rows)


def _host() -> str:
    shared = {stage.name for stage in pipeline.STAGES}
    rows = (row(one.name, one.rows[0].does, one.why) for one in host_guard.STAGES if one.name not in shared)
    return head("layer", "what it does", "why it stands where it does") + "".join(rows)


def _places() -> str:
    rows = (row(f'`after="{stage.name}"`', placing.GUARANTEES[stage.name]) for stage in pipeline.STAGES)
    return head("place", "what holds for a layer here, and further in") + "".join(rows)


def _link(page: str) -> str:
    return f"[{page.partition('#')[0]}]({page})"


def _file(layer: str) -> str:
    """The file of the function of this name."""
    return getattr(pipeline, layer).__module__.removeprefix("tooltrue.").replace(".", "/") + ".py"


# --- the verbs of the command, in README.md and README.zh.md ----------------------------------------------------------

VERBS = re.compile(r"(<!-- verbs: (\w+) -->\n).*?(<!-- end of verbs -->)", re.DOTALL)
TASKS = {
    ("write a server", "编写服务器"): ("new", "dev", "test", "check", "lock", "diff"),
    ("serve it", "启动服务"): ("serve", "keys", "approvals", "console", "grants", "tasks", "audit", "policy"),
    ("use a server", "使用服务器"): ("list", "call", "inspect", "chat", "login", "logout"),
    ("set up clients and hosts", "设置客户端和宿主"): ("connect", "inventory", "trust", "pins", "gateway", "wrap"),
    ("improve tools", "改进工具"): ("find", "eval", "doctor"),
    ("more", "其他"): (),
}
"""Task, in both languages → the verbs for it, in order. A verb that stands nowhere is among the last."""
HEADS = {"en": ("for", "command", "does"), "zh": ("用途", "命令", "作用")}


def with_verbs(text: str) -> str:
    """The page is written by hand, but for the table of verbs between its marks."""
    return VERBS.sub(lambda found: found[1] + _verbs(found[2]) + found[3], text)


def _verbs(language: str) -> str:
    help_of, chinese = _help_of_verbs(language), language == "zh"
    placed = {verb for verbs in TASKS.values() for verb in verbs}
    others = tuple(verb for verb in help_of if verb not in placed)
    rows = (
        row(task[chinese], f"[`tooltrue {verb}`](docs/cli.md#tooltrue-{verb})", help_of[verb])
        for task, verbs in TASKS.items()
        for verb in verbs or others
        if verb in help_of
    )
    return head(*HEADS[language]) + "".join(rows)


def _help_of_verbs(language: str) -> dict[str, str]:
    """Verb → its line in `tooltrue --help`."""
    listed = CliRunner().invoke(cli, ["--lang", language, "--help"], terminal_width=999, max_content_width=999).output
    lines = re.findall(
        r"^  ([a-z]+) +(\S.*)$", re.split(r"^(?:Commands|命令)\W$", listed, flags=re.MULTILINE)[1], re.MULTILINE
    )
    return dict(lines)


# --- contracts.md -----------------------------------------------------------------------------------------------------

PROFILES = re.compile(r"(?<=<!-- profiles -->\n).*", re.DOTALL)


def contracts_page() -> str:
    """The page is written by hand; what follows its mark is made."""
    rows = "".join(_profile(name) for name in profile_names())
    return PROFILES.sub(lambda _: "\n" + rows, (DOCS / "contracts.md").read_text())


def _profile(name: str) -> str:
    said = profile(name)
    facts = "".join(f"- {_fact(one)}\n" for one in said.facts)
    return f"### `{name}`\n\n{said.title}, a {said.kind}.\n\n{facts}\n"


def _fact(fact: Fact) -> str:
    believed = "" if fact.verified else "Not verified: "
    return f"{believed}{safe(fact.says)} [{fact.source.split('/')[2]}]({fact.source}), {fact.date}"


# --- rules/ -----------------------------------------------------------------------------------------------------------

RULES_HEAD = """\
# The rules of a check

<!-- Made by docs/generate.py from the cards in packages/tooltrue-check/src/tooltrue_check/rules. Change it there. -->

The rules of `tooltrue check` ([check.md](../check.md)). An *error* is wrong for certain, a *warning* nearly always;
a *hint* may be worth a thought. Each page has the evidence, and when the rule does not apply.

每页均有中文部分。

"""

RULES_FOLDER = "packages/tooltrue-check/src/tooltrue_check/rules"
RULE_HEAD = f"<!-- Made by docs/generate.py from {RULES_FOLDER}/{{name}}.toml. Change it there. -->"


def rule_pages() -> dict[str, str]:
    """A page for each rule, and one that lists them."""
    every = cards().values()
    return {"rules/README.md": rules_page(every)} | {f"rules/{card.name}.md": rule_page(card) for card in every}


def rules_page(every: Iterable[Card]) -> str:
    sections: list[str] = []
    for group in dict.fromkeys(card.group for card in every):
        rows = "".join(_listed(card) for card in every if card.group == group)
        sections.append(f"## {group.capitalize()}\n\n{head('code', 'level', 'rule', '规则')}{rows}")
    return RULES_HEAD + "\n".join(sections)


def _listed(card: Card) -> str:
    titles = (safe(card.words[language].title) for language in ("en", "zh"))
    return row(f"[{card.code}]({card.name}.md)", card.level.value, *titles)


def rule_page(card: Card) -> str:
    made = RULE_HEAD.format(name=card.name)
    body = "\n\n".join("\n\n".join(_of_card(card, language)) for language in ("en", "zh"))
    return f"# {card.code}: {card.name}\n\n{made}\n\n{body}\n"


def _of_card(card: Card, language: str) -> Iterator[str]:
    words = card.words[language]
    yield f"## {words.title}"
    yield f"{LEVELS[card.level][language == 'zh']} · {card.group}"
    for name, said in (("why", words.why), ("instead", unfilled(words.instead)), ("not_when", words.not_when)):
        yield f"**{phrase(name, language).strip()}** {safe(said)}"
    for one in card.evidence:
        known = CONFIDENCE[one.confidence][language == "zh"]
        yield f"**{phrase('evidence', language).strip()}** {safe(one.effect[language])} ({safe(one.source)}; {known})"
    for bad in (True, False):
        yield phrase("bad" if bad else "good", language)
        for example in card.examples:
            if (example.language, example.bad) == (language, bad):
                tools = example.tools[0] if len(example.tools) == 1 else list(example.tools)
                yield f"```json\n{display_safe_json(json.dumps(tools, ensure_ascii=False, indent=2))}\n```"


# --- protocol.md ------------------------------------------------------------------------------------------------------

PROTOCOL = """\
# The protocol

<!-- Made by docs/generate.py from packages/tooltrue/src/tooltrue/protocol and tests/requirements. Change it there. -->

The features of the Model Context Protocol that a server made with tooltrue supports, by revision. Tools, layers and
handlers see the newest revision only; a message to an older client is translated on its way out, or left out where the
older revision has no form for it.

Each requirement of the specification on a server or a client is a row of data in `tests/requirements`, called a duty.
A duty is held by tests that fail when it is broken; or it is a gap, with a reason; or it is not owed, because it binds
a feature that tooltrue does not offer. The suite fails when a row has neither tests nor a reason, and when a row with
a reason has a test. This page is made from those rows, and `make requirements` prints them with the tests counted.

## Features

{features}
Revisions before 2026-07-28 open a session with `initialize`; 2026-07-28 has no session. All revisions are served over
stdio and Streamable HTTP, and over HTTP+SSE where it is switched on ([http.md](http.md)).

## Methods

{methods}
The methods of prompts and completion exist once a server has a prompt or a completion; until then they are unknown,
and their capability is not declared. The methods of resources always exist, since the result of a call may be published
as a resource ([results.md](results.md)).

## Duties

The number of owed duties that are held by tests. A duty that the specification states without a keyword counts as a
MUST.

{must}
{should}
## Known gaps
{gaps}
## Not offered

tooltrue does not offer the features that these duties bind.
{not_offered}"""

# a column of `Revision` → what it is called here, in the order of the page
FEATURES = {
    "batches": "arrays of messages",
    "version_header": "the header `MCP-Protocol-Version`",
    "tasks": "the capability `tasks`, which is an extension later",
    "polling": "streams that the server may close before the answer, to be resumed",
    "title": "`title`",
    "icons": "icons",
    "annotations": "annotations of tools",
    "meta": "`_meta` of definitions and content",
    "structured": "`outputSchema` and `structuredContent`",
    "audio": "audio content",
    "resource_link": "links to resources in results",
    "last_modified": "`lastModified` of content",
    "completions": "the capability `completions`",
    "progress_message": "messages of progress",
    "elicitation": "questions to the user: forms",
    "elicitation_url": "questions to the user: pages to visit",
    "choices": "forms with lists and titled choices",
    "sampling_tools": "sampling with tools, and with several blocks in a message",
}


def protocol_page() -> str:
    rows = load()
    return PROTOCOL.format(
        features=_by_revision("feature", _features()),
        methods=_by_revision("method", _methods()),
        must=_counts("MUST", [one for one in rows if one.is_must]),
        should=_counts("SHOULD", [one for one in rows if not one.is_must]),
        gaps="".join(_reasons(rows, lambda one: one.gap)),
        not_offered="".join(_reasons(rows, lambda one: one.not_offered)),
    )


def _by_revision(what: str, lines: Iterable[tuple[str, Callable[[versions.Revision], bool]]]) -> str:
    revisions = [versions.BY_NAME[name] for name in REVISIONS]
    table = (row(said, *("yes" if has(revision) else "" for revision in revisions)) for said, has in lines)
    return head(what, *REVISIONS) + "".join(table)


def _features() -> Iterator[tuple[str, Callable[[versions.Revision], bool]]]:
    columns = {field.name for field in msgspec.structs.fields(versions.Revision)} - {"name", "modern"}
    assert columns == FEATURES.keys(), "FEATURES has a line for each column"
    for column, said in FEATURES.items():
        yield said, lambda revision, column=column: getattr(revision, column)


def _methods() -> Iterator[tuple[str, Callable[[versions.Revision], bool]]]:
    for method in sorted(modern.METHODS.keys() | legacy.METHODS.keys()):
        yield f"`{method}`", lambda revision, method=method: _has_method(revision, method)


def _has_method(revision: versions.Revision, method: str) -> bool:
    if revision.modern:
        return method in modern.METHODS
    return method in legacy.METHODS and (revision.tasks or not method.startswith("tasks/"))


def _counts(level: str, rows: list[Requirement]) -> str:
    named = titles()
    lines = [(named[group], list(part)) for group, part in groupby(rows, lambda one: one.group)]
    owed = [(title, part) for title, part in lines if any(one.not_offered is None for one in part)]
    table = "".join(row(title, *_held(part)) for title, part in [*owed, ("all", rows)])
    return head(level, *REVISIONS) + table


def _held(rows: list[Requirement]) -> Iterator[str]:
    for revision in REVISIONS:
        owed = [one for one in rows if one.applies(revision) and one.not_offered is None]
        yield f"{sum(one.gap is None for one in owed)} of {len(owed)}" if owed else ""


def _reasons(rows: Iterable[Requirement], why: Callable[[Requirement], str | None]) -> Iterator[str]:
    """The duties that have a reason, under the one that they share."""
    reasons: dict[str, list[Requirement]] = {}
    for one in rows:
        if reason := why(one):
            reasons.setdefault(reason, []).append(one)
    for reason, ones in reasons.items():
        yield f"\n{reason[0].upper()}{reason[1:]}:\n\n"
        yield from (f"- {one.id}, {one.level}: {safe(one.text)}\n" for one in ones)


if __name__ == "__main__":
    for folder in (*MADE, "zh"):
        (DOCS / folder).mkdir(exist_ok=True)
    for name, text in pages().items():
        (DOCS / name).write_text(text, "utf-8")
    made = (page for folder in MADE for page in (DOCS / folder).iterdir())
    for page in set(made) - {DOCS / name for name in pages()}:
        page.unlink()
