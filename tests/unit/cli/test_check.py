"""``tooltrue check``: its targets, its reports, and its exit codes."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tooltrue.cli.main import cli
from tooltrue_check.card import cards
from tooltrue_check.findings import rules
from tooltrue_check.subject import Subject

SERVER = """
from tooltrue import Server

server = Server("sums")


@server.tool(excused={"TT9710": "Everybody knows it."})
def add(a: int, b: int) -> int:
    return a + b


@server.tool
def subtract(a: int, b: int) -> int:
    return a - b
"""

DUMP = """\
{"tools": [
  {"name": "good", "description": "Read one note.", "inputSchema": {"type": "object"}},
  {"name": "bare", "inputSchema": {"type": "object"}}
]}
"""

ONLY = ("--select", "TT9710")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.py").write_text(SERVER)
    (tmp_path / "dump.json").write_text(DUMP)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, [*words])


def told(*words: str) -> Any:
    """The JSON report of TT9710, parsed."""
    return json.loads(run("check", *words, *ONLY, "--format", "json").stdout)


def findings(*words: str) -> list[tuple[str, str, str]]:
    return [(one["server"], one["tool"], one["code"]) for one in told(*words)["findings"]]


# -- targets -----------------------------------------------------------------------------------------------------------


def test_a_file_with_a_blank_in_its_path_is_no_command(folder: Path):
    (folder / "my tools").mkdir()
    (folder / "my tools" / "dump.json").write_text(DUMP)
    assert findings("my tools/dump.json") == [("dump", "bare", "TT9710")]


def test_a_dump_is_judged_and_each_finding_has_its_line(folder: Path):
    [one] = told("dump.json")["findings"]
    assert (one["tool"], one["level"], one["path"], one["file"], one["line"]) == (
        "bare",
        "error",
        "$.description",
        "dump.json",
        3,
    )


@pytest.mark.parametrize("around", ['{"jsonrpc": "2.0", "id": 1, "result": %s}', "%s"])
def test_an_answer_is_judged_as_the_tools_in_it_are(folder: Path, around: str):
    (folder / "answer.json").write_text(around % DUMP)
    assert [one["line"] for one in told("answer.json")["findings"]] == [3]


def test_a_server_of_ours_is_judged_and_each_finding_has_its_function(folder: Path):
    [one] = told("sums.py")["findings"]
    assert (one["server"], one["tool"], one["file"], one["line"]) == ("sums", "subtract", "sums.py", 12)


def test_a_lock_file_is_judged(folder: Path):
    run("lock", "sums.py")
    assert findings("tooltrue.lock") == [("sums", "add", "TT9710"), ("sums", "subtract", "TT9710")]


def test_toolboxes_are_one_server_with_the_options_of_all(folder: Path):
    assert [one["server"] for one in told("files", "math", "--root", ".")["servers"]] == ["files-math"]


def test_two_servers_of_one_name_keep_apart(folder: Path):
    (folder / "other").mkdir()
    (folder / "other" / "dump.json").write_text(DUMP)
    servers = told("dump.json", "other/dump.json")["servers"]
    assert [one["server"] for one in servers] == ["dump.json", "other/dump.json"]


def test_each_server_of_a_file_is_judged_and_an_unreachable_one_is_reported(folder: Path):
    servers = {"gone": {"url": "http://127.0.0.1:9/mcp"}, "off": {"command": "x", "disabled": True}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    done = run("check", "mcp.json", "dump.json", *ONLY, "--format", "json")
    said = json.loads(done.stdout)
    assert [one["server"] for one in said["servers"]] == ["dump"]
    assert [(one["target"], one["code"]) for one in said["unjudged"]] == [("mcp.json#gone", "TT5006")]
    assert done.exit_code == 4


@pytest.mark.parametrize("target", ["nowhere.json", "nowhere.lock", "nowhere.py", "files"])
def test_an_unavailable_target_does_not_keep_the_others_from_being_judged(folder: Path, target: str):
    done = run("check", target, "dump.json", *ONLY)
    assert "bare" in done.stdout
    assert "not judged: " in done.stdout
    assert done.exit_code == 2


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "a", "uri": "x"},
        {"name": 5, "uri": "x"},
        {"name": "a", "description": 1, "inputSchema": [], "annotations": "x"},
        {"name": "a\u202e\x1b[31m", "inputSchema": {"properties": {"": None}}},
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "sarif", "github", "html"])
def test_any_definition_gets_a_report(folder: Path, tool: dict[str, Any], form: str):
    (folder / "odd.json").write_text(json.dumps([tool]))
    done = run("check", "odd.json", "--format", form, "--fail-on", "never")
    assert (done.exit_code, done.exception) == (0, None)
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout


# -- reports -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 1),
        (("--fail-on", "warning"), 1),
        (("--fail-on", "never"), 0),
        (("--ignore", "no_description"), 0),
        (("--ignore", "description"), 0),
        (("--level", "error"), 1),
    ],
)
def test_the_exit_code_depends_on_the_reported_findings(folder: Path, words: tuple[str, ...], code: int):
    assert run("check", "dump.json", *ONLY, *words).exit_code == code


def test_a_rule_that_there_is_not_is_an_error_that_names_the_nearest(folder: Path):
    done = run("check", "dump.json", "--ignore", "no_descriptoin")
    assert done.exit_code == 2
    assert "no_description" in done.stderr


def test_a_reason_beside_the_tool_excuses_it_and_is_told(folder: Path):
    [one] = told("sums.py")["excused"]
    assert (one["tool"], one["reason"], one["by"]) == ("add", "Everybody knows it.", "sums.py:7")


def excused(folder: Path, row: str) -> None:
    (folder / "tooltrue.toml").write_text(f"[[check.excused]]\n{row}\n")


def test_an_exception_with_a_reason_in_the_operators_file_excuses_the_named_findings(folder: Path):
    excused(folder, 'code = "TT9710"\ntools = "ba*"\nreason = "Somebody else\'s."')
    done = run("check", "dump.json", *ONLY, "--config", "tooltrue.toml")
    assert done.exit_code == 0
    assert "excused, with a reason: 1" in done.stdout


def test_a_reason_that_excuses_nothing_is_told_with_its_line(folder: Path):
    excused(folder, 'code = "TT9710"\ntools = "none"\nreason = "Once."')
    done = run("check", "dump.json", *ONLY, "--config", "tooltrue.toml")
    assert "tooltrue.toml:1: a note:" in done.stderr
    assert done.exit_code == 1


@pytest.mark.parametrize(
    "row",
    [
        'code = "TT9999"\ntools = "*"\nreason = "x"',
        'code = "TT9710"\ntools = "*"',
        'code = "TT9710"\ntools = "*"\nreason = ""',
        'code = "TT9710"\ntools = "*"\nreason = "x"\nuntil = "then"',
    ],
)
def test_an_excuse_that_cannot_be_meant_is_an_error_with_its_line(folder: Path, row: str):
    excused(folder, row)
    done = run("check", "dump.json", "--config", "tooltrue.toml")
    assert done.exit_code == 2
    assert re.search(r"tooltrue\.toml:\d", done.stderr)


def test_an_excuse_beside_a_tool_for_a_rule_that_there_is_not_is_an_error(folder: Path):
    (folder / "sums.py").write_text(SERVER.replace("TT9710", "TT9999"))
    done = run("check", "sums.py")
    assert done.exit_code == 2
    assert "sums.py:7: no rule has the code TT9999" in done.stderr


# -- the baseline ------------------------------------------------------------------------------------------------------


def test_a_finding_in_the_baseline_is_not_reported_and_a_vanished_one_is(folder: Path):
    assert run("check", "dump.json", "--baseline", "known.json", "--write-baseline").exit_code == 0
    done = run("check", "dump.json", "--baseline", "known.json")
    assert done.exit_code == 0
    assert told("dump.json", "--baseline", "known.json")["findings"] == []

    (folder / "dump.json").write_text(DUMP.replace('"bare"', '"new"'))
    said = told("dump.json", "--baseline", "known.json")
    assert [one["tool"] for one in said["findings"]] == ["new"]
    assert ("bare", "TT9710") in {(one["tool"], one["code"]) for one in said["gone"]}


def test_a_value_that_was_changed_is_judged_anew(folder: Path):
    (folder / "dump.json").write_text(DUMP.replace('"bare",', '"bare", "description": "",'))
    run("check", "dump.json", "--baseline", "known.json", "--write-baseline")
    assert findings("dump.json", "--baseline", "known.json") == []
    (folder / "dump.json").write_text(DUMP.replace('"bare",', '"bare", "description": " ",'))
    assert findings("dump.json", "--baseline", "known.json") == [("dump", "bare", "TT9710")]


def test_a_baseline_keeps_the_findings_of_absent_servers(folder: Path):
    run("check", "dump.json", "sums.py", "--baseline", "known.json", "--write-baseline")
    (folder / "sums.py").unlink()
    done = run("check", "dump.json", "sums.py", "--baseline", "known.json", "--write-baseline")
    assert done.exit_code == 2
    kept = json.loads((folder / "known.json").read_text())["findings"]
    assert {one["server"] for one in kept} == {"dump", "sums"}


@pytest.mark.parametrize("text", ["", "[]", '{"tooltrue.baseline": 2, "findings": []}', '{"findings": [{}]}'])
def test_a_file_that_is_no_baseline_is_refused(folder: Path, text: str):
    (folder / "known.json").write_text(text)
    done = run("check", "dump.json", "--baseline", "known.json")
    assert done.exit_code == 2
    assert "[TT9803]" in done.stderr


# -- formats -----------------------------------------------------------------------------------------------------------


def test_sarif_has_the_members_the_standard_requires(folder: Path):
    said = json.loads(run("check", "dump.json", "sums.py", *ONLY, "--format", "sarif").stdout)
    [one] = said["runs"]
    [rule] = one["tool"]["driver"]["rules"]
    assert (said["version"], rule["id"], rule["defaultConfiguration"]) == ("2.1.0", "TT9710", {"level": "error"})
    assert cards()["no_description"].words["en"].why in rule["help"]["text"]
    bare, subtract, add = one["results"]
    assert [result["ruleIndex"] for result in one["results"]] == [0, 0, 0]
    assert bare["locations"] == [
        {
            "physicalLocation": {"artifactLocation": {"uri": "dump.json"}, "region": {"startLine": 3}},
            "logicalLocations": [{"fullyQualifiedName": "$.servers.dump.tools.bare.description", "kind": "member"}],
        }
    ]
    assert subtract["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "sums.py"}
    assert add["suppressions"] == [{"kind": "inSource", "justification": "Everybody knows it."}]
    assert len({result["partialFingerprints"]["tooltrue/v1"] for result in one["results"]}) == 3


def test_annotations_break_out_of_nothing(folder: Path):
    tool = {"name": "a,b::c\n::error::x%", "inputSchema": {"type": "object"}}
    (folder / "odd.json").write_text(json.dumps([tool]))
    [line] = run("check", "odd.json", *ONLY, "--format", "github").stdout.splitlines()
    command, title, rest = line.split(",line=1,title=")[0], *line.split("title=")[1].split("::", 1)
    assert (command, title) == ("::error file=odd.json", "TT9710 a%2Cb%3A%3Ac%0A%3A%3Aerror%3A%3Ax%25")
    assert rest.startswith("$.description: ")


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "action")]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_page_needs_nothing_beside_it_and_quotes_nothing_as_markup(folder: Path, language: str):
    (folder / "odd.json").write_text(json.dumps([{"name": "<script src=x>", "inputSchema": {}}]))
    done = run("--lang", language, "check", "odd.json", *ONLY, "--format", "html", "-o", "page.html")
    assert (done.exit_code, done.stdout) == (1, "")
    text = (folder / "page.html").read_text("utf-8")
    page = Page()
    page.feed(text)
    assert f'<html lang="{language}">' in text
    assert "svg" in page.tags
    assert (page.tags & {"script", "link", "img", "iframe"}, page.links) == (set(), [])
    assert cards()["no_description"].words[language].title in text


def test_a_report_speaks_chinese(folder: Path):
    done = run("--lang", "zh", "check", "dump.json", *ONLY, "-v")
    assert "错误 TT9710" in done.stdout
    assert "依据：" in done.stdout
    assert not re.search(r"\b(error|hint|why|tools|evidence)\b", done.stdout)


def test_why_a_rule_is_one_is_told_once(folder: Path):
    (folder / "dump.json").write_text(DUMP.replace(', "description": "Read one note."', ""))
    done = run("check", "dump.json", *ONLY)
    assert (done.stdout.count("TT9710 $"), done.stdout.count("why: ")) == (2, 1)


def test_the_summary_is_a_screen_of_a_large_set(folder: Path):
    tools = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(200)]
    (folder / "many.json").write_text(json.dumps(tools))
    lines = run("check", "many.json", "--summary").stdout.splitlines()
    assert len(lines) <= 10 + len(cards())
    assert "servers: 1, tools: 200" in lines


@pytest.mark.parametrize("card", cards().values(), ids=lambda card: card.name)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_rule_can_be_explained(card: Any, language: str):
    done = run("--lang", language, "check", "--explain", card.code)
    assert done.exit_code == 0
    for said in (card.words[language].title, card.words[language].why, card.evidence[0].source):
        assert said in done.stdout


# -- fixes -------------------------------------------------------------------------------------------------------------


def with_fixes() -> list[tuple[str, list[Any]]]:
    """The examples of cards that a rule is sure how to mend."""
    found: list[tuple[str, list[Any]]] = []
    for card, rule in rules():
        for example in card.examples:
            subjects = [Subject("server", tool) for tool in example.tools]
            if any(problem.fix for problem in rule(subjects[0])):
                found.append((card.code, list(example.tools)))
    return found


def test_a_certain_fix_is_written_once_and_the_rest_stays_unchanged(folder: Path):
    for code, tools in with_fixes():
        (folder / "dump.json").write_text(json.dumps({"tools": tools}, indent=2, ensure_ascii=False))
        before = (folder / "dump.json").read_text()
        words = ("check", "dump.json", "--select", code, "--fix", "--fail-on", "never")

        shown = run(*words, "--dry-run")
        assert (shown.exit_code, (folder / "dump.json").read_text()) == (1, before), code
        assert shown.stdout.startswith("--- dump.json\n"), code

        assert run(*words).exit_code == 0
        after = (folder / "dump.json").read_text()
        assert after != before, code
        assert (run(*words, "--dry-run").exit_code, (folder / "dump.json").read_text()) == (0, after), code
        assert not any("fix" in one for one in json.loads(run(*words, "--format", "json").stdout)["findings"]), code


@pytest.mark.parametrize("target", ["math", "tooltrue.lock"])
def test_a_generated_target_is_not_fixed(folder: Path, target: str):
    run("lock", "sums.py")
    before = (folder / "tooltrue.lock").read_text()
    done = run("check", target, "--fix")
    assert done.exit_code == 2
    assert "[TT9805]" in done.stderr
    assert (folder / "tooltrue.lock").read_text() == before


OURS = """\
from typing import Annotated

from pydantic import BaseModel, Field
from tooltrue import Server

server = Server("ours")
HALF = 5.0


class Page(BaseModel):
    size: Annotated[int, Field(ge=1.0, description="每页")] = 20.0  # 5.0 is too few


@server.tool(effect="read")
def pages(page: Page, first: int = 5.0, *, 步: Annotated[int, Field(ge=-1.0, le=1e2)] = 3, half: int = HALF) -> str:
    '''Read pages, from 5.0 on.'''
    return f"{first / 5.0}"


server.add_raw_tool(
    "raw",
    {"type": "object", "properties": {"unit": {"type": "string", "enum": ["m", "m", "ft", "m"], "default": "m"}}},
    lambda arguments: "",
    effect="read",
)


@server.tool
def delete_page(name: str) -> str:
    '''Delete a page.'''
    return name
"""

MENDED = {
    "Field(ge=1.0,": "Field(ge=1,",
    "= 20.0 ": "= 20 ",
    "first: int = 5.0": "first: int = 5",
    "ge=-1.0, le=1e2": "ge=-1, le=100",
    '["m", "m", "ft", "m"]': '["m", "ft"]',
}


def mended(text: str) -> str:
    for old, new in MENDED.items():
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_literals_of_a_python_file_of_ours_are_fixed_and_not_a_character_beside_them(folder: Path, end: str):
    ours, before = folder / "ours.py", OURS.replace("\n", end)
    ours.write_bytes(before.encode())
    words = ("check", "ours.py", "--fix", "--fail-on", "never")

    shown = run(*words, "--dry-run")
    assert (shown.exit_code, ours.read_bytes().decode()) == (1, before)
    assert [line for line in shown.stdout.splitlines() if line.startswith("+")] == [
        "+++ ours.py",
        *(f"+{line}" for old, line in zip(OURS.splitlines(), mended(OURS).splitlines(), strict=True) if old != line),
    ]

    done = run(*words, "--format", "json")
    assert ours.read_bytes().decode() == mended(OURS).replace("\n", end)
    sure = [(one["tool"], one["path"]) for one in json.loads(done.stdout)["findings"] if "fix" in one]
    # No fix changes a name, which other code uses, or an effect, which decides about approval: the author decides.
    assert sorted(sure) == [
        ("delete_page", "$.annotations.destructiveHint"),
        ("pages", "$.inputSchema.properties.half.default"),
    ]
    assert run(*words, "--dry-run").exit_code == 0


def test_a_file_that_cannot_be_loaded_is_said_to_be_so_and_stays_as_it_is(folder: Path):
    (folder / "broken.py").write_text("def pages(:\n")
    done, plain = run("check", "broken.py", "--fix"), run("check", "broken.py")
    assert (done.exit_code, done.output) == (plain.exit_code, plain.output)
    assert "line 1, raised SyntaxError: invalid syntax" in done.output
    assert (folder / "broken.py").read_text() == "def pages(:\n"


def test_a_fix_of_one_server_of_a_file_is_a_fix_of_the_file(folder: Path):
    (folder / "ours.py").write_text(OURS + 'other = Server("other")\n')
    assert run("check", "ours.py:server", "--fix", "--fail-on", "never").exit_code == 0
    assert (folder / "ours.py").read_text() == mended(OURS) + 'other = Server("other")\n'


def test_of_two_servers_in_a_file_one_is_fixed_after_the_other_and_no_fix_is_lost(folder: Path):
    two = "from tooltrue import Server\none, two = Server('one'), Server('two')\n"
    two += "@one.tool\ndef a(n: int = 5.0) -> str: ...\n@two.tool\ndef b(n: int = 5.0) -> str: ...\n"
    (folder / "two.py").write_text(two)
    for fixed in (two.replace("5.0", "5", 1), two.replace("5.0", "5")):
        run("check", "two.py:one", "two.py:two", "--fix", "--fail-on", "never")
        assert (folder / "two.py").read_text() == fixed


def test_two_servers_of_a_file_that_is_said_in_two_ways_are_fixed_one_after_the_other(folder: Path):
    two = "from tooltrue import Server\none, two = Server('one'), Server('two')\n"
    two += "@one.tool\ndef a(n: int = 5.0) -> str: ...\n@two.tool\ndef b(n: int = 5.0) -> str: ...\n"
    (folder / "two.py").write_text(two)
    run("check", "two.py:one", "./two.py:two", "--fix", "--fail-on", "never")
    assert (folder / "two.py").read_text() == two.replace("5.0", "5", 1)


def test_a_model_of_the_same_name_that_nothing_is_published_of_is_left_as_it_is(folder: Path):
    model = "from pydantic import BaseModel\nclass Page(BaseModel):\n    size: int = 5.0\n"
    (folder / "paging.py").write_text(model)
    here = model + "import paging\nfrom tooltrue import Server\nserver = Server('here')\n"
    here += "@server.tool\ndef pages(page: paging.Page, first: int = 5.0) -> str:\n    return ''\n"
    (folder / "here.py").write_text(here)
    assert run("check", "here.py", "--fix", "--fail-on", "never").exit_code == 0
    assert (folder / "here.py").read_text() == here.replace("first: int = 5.0", "first: int = 5")


def test_a_tool_that_is_written_elsewhere_is_not_fixed_here(folder: Path):
    (folder / "elsewhere.py").write_text("def pages(first: int = 5.0) -> str:\n    return ''\n")
    here = "from elsewhere import pages\nfrom tooltrue import Server\nserver = Server('here')\nserver.tool(pages)\n"
    here += "def other(first: int = 5.0) -> str:\n    return ''\n"
    (folder / "here.py").write_text(here)
    assert run("check", "here.py", "--fix", "--fail-on", "never").exit_code == 0
    assert (folder / "here.py").read_text() == here


ONCE = """
import os
if os.environ.pop("TO_BE_LOADED", "") != "once":
    raise RuntimeError("it was loaded twice")
"""

OTHERWISE = """
server.add_raw_tool(
    "later", {"type": "object"}, lambda arguments: "", effect="read", description=f"From {pages.__defaults__[0]} on."
)
"""


@pytest.mark.parametrize(("more", "code"), [(ONCE, "TT9807"), (OTHERWISE, "TT9808")])
def test_a_python_file_that_would_not_be_the_same_otherwise_is_left_as_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, more: str, code: str
):
    monkeypatch.setenv("TO_BE_LOADED", "once")
    (folder / "ours.py").write_text(OURS + more)
    (folder / "dump.json").write_text(NAMELESS)  # which could be fixed
    done = run("check", "ours.py", "dump.json", "--fix")
    assert (done.exit_code, f"[{code}]" in done.stderr) == (2, True), done.output
    assert ((folder / "ours.py").read_text(), (folder / "dump.json").read_text()) == (OURS + more, NAMELESS)


def test_a_file_without_anything_to_fix_is_not_touched(folder: Path):
    before = (folder / "dump.json").stat()
    assert run("check", "dump.json", *ONLY, "--fix").exit_code == 1
    after = (folder / "dump.json").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


TWINS = """\
{"tools": [
  {"name": "find", "description": "Find notes by a word.", "inputSchema": {"type": "object", "required": []}},
  {"name": "find", "description": "Find people.",
   "inputSchema": {"type": "object", "required": ["a", "a"], "properties": {"a": {"type": "string"}}}},
  {"name": "find#2", "description": "Find people.", "inputSchema": {"type": "object"}}
]}
"""


def test_two_tools_of_one_name_are_judged_each_on_its_own(folder: Path):
    (folder / "twins.json").write_text(TWINS)
    done = run("check", "twins.json", "--select", "TT9771", "--format", "json")
    assert done.exit_code == 1
    assert [(one["tool"], one["line"]) for one in json.loads(done.stdout)["findings"]] == [("find", 2), ("find#2", 3)]
    matrix = json.loads(run("check", "twins.json", "--for", "openai", "--format", "json").stdout)
    assert matrix["servers"][0]["tools"] == 3


NAMELESS = """\
{"tools": [
  {"name": "find", "description": "Find notes by a word.", "inputSchema": {"type": "object"}},
  {"description": "Find people.", "inputSchema": {"type": "object", "required": ["a", "a"]}},
  {"name": 5, "description": "Find places.", "inputSchema": {"type": "object"}}
]}
"""


def test_a_tool_without_a_name_is_a_finding_by_its_place_and_the_others_are_judged(folder: Path):
    (folder / "nameless.json").write_text(NAMELESS)
    done = run("check", "nameless.json", "--select", "TT9770", "--format", "json")
    assert done.exit_code == 1
    assert [(one["tool"], one["line"]) for one in json.loads(done.stdout)["findings"]] == [("#2", 3), ("#3", 4)]
    assert json.loads(done.stdout)["unjudged"] == []
    for form in ("text", "sarif", "github", "html"):
        assert "#2" in run("check", "nameless.json", "--format", form).stdout
    matrix = json.loads(run("check", "nameless.json", "--for", "all", "--format", "json").stdout)
    assert matrix["servers"][0]["tools"] == 3
    run("check", "nameless.json", "--fix", "--select", "TT9784")
    assert (folder / "nameless.json").read_text() == NAMELESS.replace('["a", "a"]', '["a"]')


def test_a_fix_goes_to_the_tool_that_it_is_for_and_not_to_another_of_its_name(folder: Path):
    (folder / "twins.json").write_text(TWINS)
    run("check", "twins.json", "--fix", "--select", "TT9784")
    assert (folder / "twins.json").read_text() == TWINS.replace('["a", "a"]', '["a"]')


def test_the_language_may_be_said_behind_the_verb_too(folder: Path):
    said = run("check", "dump.json", "--summary", "--lang", "zh").stdout
    assert "工具：2" in said
    assert "；没有问题：0" in said
    assert "tools: 2" in run("--lang", "zh", "check", "dump.json", "--summary", "--lang", "en").stdout
    assert "无法读取" in run("lock", "nowhere.json", "--lang", "zh").stderr


def test_options_of_the_toolbox_are_those_of_the_toolbox_among_other_targets(folder: Path):
    said = json.loads(run("check", "sums.py", "files", "--root", ".", "--format", "json", "--fail-on", "never").stdout)
    assert (len(said["servers"]), said["unjudged"]) == (2, [])
    done = run("check", "sums.py", "--root", ".", "--format", "json")
    assert (done.exit_code, "[TT4074]" in done.output) == (2, True)
