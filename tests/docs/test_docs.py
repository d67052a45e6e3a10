"""Checks of the documentation pages: code runs, commands print the shown output, tables match the source.

A page is executed top to bottom in one namespace. A Python block is skipped only where an HTML comment before it gives
the reason: ``<!-- not executed: reason -->``, or the library that runs it: ``<!-- runs with: fastmcp -->``
(`tests/migrating/run.py`). ``<!-- file: examples/notes.py -->`` marks a block as that whole file.
"""

import asyncio
import functools
import importlib.util
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from support.warm_command import warm_command
from tooltrue import Client
from tooltrue.cli.main import cli
from tooltrue.client.config import read_config
from tooltrue.policy.config import examine
from tooltrue.policy.guard import Guard
from tooltrue.policy.pipeline import described
from tooltrue.protocol import versions
from tooltrue.protocol.schema import SchemaError, compile_schema
from tooltrue.transport.http_protocol import HEAD_BYTES
from tooltrue_toolbox.command import read_text
from tooltrue_toolbox.openapi.auth_file import read_auth
from tooltrue_toolbox.openapi.openapi_tools import forms_of, load_api
from tooltrue_toolbox.openapi.operation import Scheme

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "README.zh.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
TOOLTRUE = Path(sys.executable).with_name("tooltrue")
SECONDS = 120.0
NOT_HERE = ("<!-- not executed: ", "<!-- runs with: ")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the number of the line before its first, and the comment above it."""

    language: str
    text: str
    line: int
    comment: str


def blocks_of(page: Path) -> Iterator[Block]:
    lines = page.read_text("utf-8").split("\n")
    comment, number = "", 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("```"):
            end = next((n for n in range(number + 1, len(lines)) if lines[n] == "```"), None)
            assert end is not None, f"{page.name}:{number + 1}: the block does not end"
            yield Block(line[3:].strip(), "\n".join(lines[number + 1 : end]) + "\n", number + 1, comment)
            comment, number = "", end
        elif line.strip():
            comment = line.strip() if line.startswith("<!--") else ""
        number += 1


def blocks(language: str, *pages: Path) -> list[tuple[Path, Block]]:
    return [(page, block) for page in pages or PAGES for block in blocks_of(page) if block.language == language]


def pages_with(language: str) -> list[Path]:
    return sorted({page for page, _ in blocks(language)})


def named(path: Path) -> str:
    return path.name


def environment() -> dict[str, str]:
    path = os.pathsep.join((str(TOOLTRUE.parent), os.environ["PATH"]))  # as where the package is installed
    plain = {"LC_ALL": "C.UTF-8", "COLUMNS": "80", "PYTHONWARNINGS": "error", "NO_COLOR": "1"}
    return {**os.environ, **plain, "PATH": path}


# --- executed blocks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages_with("python"), ids=named)
def test_the_python_of_a_page_runs(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    module = types.ModuleType(f"page_{page.stem.lower()}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where dataclasses and pydantic look types up
    for block in blocks_of(page):
        if block.language == "python" and not block.comment.startswith(NOT_HERE):
            # The empty lines are there so that a failure names its line. Annotations are evaluated as a reader's are.
            code = compile("\n" * block.line + block.text, str(page), "exec", dont_inherit=True)
            exec(code, vars(module))  # noqa: S102 - the purpose of this test is to run the code of a page


@pytest.mark.process
@pytest.mark.parametrize("page", pages_with("console"), ids=named)
def test_the_commands_of_a_page_print_the_shown_output(page: Path, tmp_path: Path) -> None:
    for folder in ("examples", "demo/sample"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    folders = {"XDG_STATE_HOME": str(tmp_path / "state"), "XDG_CONFIG_HOME": str(tmp_path / "settings")}
    for _, block in blocks("console", page):
        status = 0
        for command, shown in commands_of(block.text):
            if command == "echo $?":
                printed = f"{status}\n"
            else:
                settings, words = words_of(command)
                assert words[0] == "tooltrue", f"{page.name}:{block.line}: only tooltrue is run, not {words[0]}"
                done = subprocess.run(
                    warm_command(*words[1:]),
                    cwd=tmp_path,
                    env={**environment(), **folders, **settings},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=SECONDS,
                    text=True,
                )
                status, printed = done.returncode, done.stdout
            assert same(shown, printed), f"{page.name}:{block.line}: $ {command}\nshown:\n{shown}\nprinted:\n{printed}"


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def words_of(command: str) -> tuple[dict[str, str], list[str]]:
    """The variables that ``NAME=value`` before a command sets, and the command."""
    words = shlex.split(command)
    settings = [*takewhile(lambda word: re.match(r"[A-Z_]+=", word) is not None, words)]
    return dict(word.split("=", 1) for word in settings), words[len(settings) :]


def same(shown: str, printed: str) -> bool:
    """Whether it is the same but for the ends of lines. ``[…]`` on a page stands for anything."""
    tidy = re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE).strip()
    pattern = ".*?".join(map(re.escape, shown.strip().split("[…]")))
    return re.fullmatch(pattern, tidy, re.DOTALL) is not None


@pytest.mark.process
def test_the_client_of_the_readme_reads_back_the_stored_note() -> None:
    done = subprocess.run(
        [sys.executable, "examples/client.py"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        timeout=SECONDS,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *asked, last = done.stdout.splitlines()
    assert (first, last) == ("['get_notes', 'set_note']", "{'shopping': 'milk, bread'}")
    assert '"text" (11): "milk, bread"' in asked


@pytest.mark.parametrize(("page", "block"), blocks("toml"), ids=lambda value: getattr(value, "name", ""))
def test_the_operators_files_that_pages_show_can_be_used(
    page: Path, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    first = block.text.splitlines()[0]
    if first.startswith("[servers."):  # of a host
        assert read_config("servers.toml", block.text).servers
    elif first.startswith("[commands."):  # of the command tools
        assert read_text(block.text).commands
    elif first.startswith("[schemes."):  # credentials of an HTTP API
        for name in re.findall(r'secret_env = "(\w+)"', block.text):
            monkeypatch.setenv(name, "of-the-page")
        file = tmp_path / "auth.toml"
        file.write_text(block.text, "utf-8")
        assert read_auth(
            file, dict.fromkeys(tomllib.loads(block.text)["schemes"], Scheme("bearer")), "https://x.example"
        )
    elif first == "[[operation]]":  # a plan of the tools of an HTTP API
        plan = tmp_path / "plan.toml"
        plan.write_text(block.text, "utf-8")
        assert forms_of(load_api(ROOT / "examples" / "pets.yaml"), plan=plan)
    elif first != "[ci]" and not first.startswith("[project."):  # a file of keys, and metadata of a distribution
        assert examine(f"{page.name}:{block.line}", block.text)[1] == []


# --- the demonstration -----------------------------------------------------------------------------------------------


@pytest.mark.process
def test_the_demonstration_succeeds_and_prints_no_escape_sequences_without_a_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "demo/demo.py"], cwd=ROOT, env=environment(), capture_output=True, timeout=SECONDS, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "[TT6014]" in done.stdout
    assert "[TT2001]" in done.stdout


@pytest.mark.process
def test_the_demonstration_stays_until_it_is_interrupted() -> None:
    demo = subprocess.Popen(
        [sys.executable, "demo/demo.py", "--keep"],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        said = read_until(demo, b"Ctrl-C")
        url = re.findall(rb"http://127\.0\.0\.1:\d+/mcp", said)[-1].decode()
        assert {"list_directory", "read_file", "write_file"} <= set(asyncio.run(tools_at(url)))
        demo.send_signal(signal.SIGINT)
        rest, _ = demo.communicate(timeout=SECONDS)
        assert demo.returncode == 0, (said + rest).decode()
    finally:
        demo.kill()
        demo.communicate(timeout=SECONDS)


def read_until(process: subprocess.Popen[bytes], mark: bytes) -> bytes:
    assert process.stdout is not None
    said = b""
    while mark not in said:
        assert select.select([process.stdout], [], [], SECONDS)[0], f"nothing more within {SECONDS} s:\n{said.decode()}"
        more = os.read(process.stdout.fileno(), 4096)
        assert more, f"it ended:\n{said.decode()}"
        said += more
    return said


async def tools_at(url: str) -> list[str]:
    async with Client(url) as client:
        return [tool.name for tool in await client.list_tools()]


# --- compared blocks -------------------------------------------------------------------------------------------------


def files_shown() -> list[tuple[Block, Path]]:
    marks = [(block, re.fullmatch(r"<!-- file: (\S+) -->", block.comment)) for _, block in blocks("python")]
    return [(block, ROOT / mark[1]) for block, mark in marks if mark]


def test_a_block_that_is_a_file_equals_it() -> None:
    shown = files_shown()
    assert {path.name for _, path in shown} == {"notes.py", "client.py", "stopwatch.py", "first.py", "library.py"}
    for block, path in shown:
        assert block.text == path.read_text("utf-8"), path.name


@pytest.mark.parametrize(("name", "most"), [("notes.py", 15), ("client.py", 10), ("stopwatch.py", 17)])
def test_the_examples_keep_to_their_lines(name: str, most: int) -> None:
    lines = (ROOT / "examples" / name).read_text("utf-8").splitlines()
    assert sum(1 for line in lines if line.strip()) <= most


def test_json_is_json() -> None:
    assert [f"{page.name}:{block.line}" for page, block in blocks("json") if not is_json(block.text)] == []


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def test_links_lead_somewhere() -> None:
    links = [(page, target) for page in PAGES for target in LINK.findall(without_blocks(page))]
    local = [(page, target) for page, target in links if not target.startswith(("https://", "http://"))]
    assert len(local) > 100
    assert [f"{page.name}: {target}" for page, target in local if not leads_somewhere(page, target)] == []


def leads_somewhere(page: Path, target: str) -> bool:
    place, _, anchor = target.partition("#")
    path = (page.parent / place).resolve() if place else page
    return path.exists() and (not anchor or anchor in anchors(path))


@functools.cache
def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", without_blocks(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def without_blocks(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def generator() -> Any:
    """The module `docs/generate.py`."""
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    return generate


def test_the_pages_that_are_made_are_up_to_date() -> None:
    generate = generator()
    pages = generate.pages()
    for folder in generate.MADE:
        assert {f"{folder}/{page.name}" for page in (ROOT / "docs" / folder).iterdir()} <= pages.keys()
    for name, text in pages.items():
        assert (ROOT / "docs" / name).read_text("utf-8") == text, f"{name}: run python docs/generate.py"


INSTALLS = re.compile(r"\b(?:pip|uv tool|pipx) install ['\"]?(?:\./packages/)?tooltrue")


def test_one_switch_turns_every_command_that_installs_from_the_repository_to_the_index_and_back() -> None:
    module = generator()
    by_hand = [page for page in PAGES if page.name not in ("CHANGELOG.md", "CONTRIBUTING.md")]
    texts = {page: page.read_text("utf-8") for page in by_hand}
    turned = 0
    for page, text in texts.items():
        before, after = (module.with_install(text, published) for published in (False, True))
        commands = INSTALLS.findall(before)
        assert all("./packages/" in command for command in commands), page
        assert [command for command in INSTALLS.findall(after) if "./packages/" in command] == [], page
        assert len(INSTALLS.findall(after)) >= len(commands)
        assert module.with_install(after, False) == before
        turned += before != after
    assert turned > 15


def first_column(page: Path, heading: str) -> list[str]:
    """The first cells of the first table below a heading, without its head."""
    below = re.split(rf"^#+ {re.escape(heading)}$", page.read_text("utf-8"), maxsplit=1, flags=re.MULTILINE)[1]
    rows = re.search(r"(?:^\|.*\n)+", below, re.MULTILINE)
    assert rows is not None, heading
    return [row.split("|")[1].strip().strip("`") for row in rows[0].splitlines()[2:]]


def test_the_readme_names_every_layer_in_order() -> None:
    assert first_column(ROOT / "README.md", "What is on by default") == [row[0] for row in described(Guard())]


def test_the_readme_names_every_revision_newest_first() -> None:
    assert first_column(ROOT / "README.md", "Protocol revisions") == list(versions.ALL)


@pytest.mark.requirement("SCH-02")
def test_the_page_of_schemas_names_every_dialect_that_there_is() -> None:
    named = set(first_column(ROOT / "docs" / "schema.md", "Dialects")) - {"absent"}
    with pytest.raises(SchemaError) as caught:
        compile_schema({"$schema": "another"})
    assert named == set(caught.value.facts["supported"].split(", "))
    for dialect in named:
        assert compile_schema({"$schema": dialect}).accepts({})


@pytest.mark.requirement("XHDR-09", "XHDR-10", "XHDR-34")
def test_the_page_of_http_states_the_exposure_and_the_size_limit_of_an_argument_in_a_header() -> None:
    page = (ROOT / "docs" / "http.md").read_text("utf-8")
    section = page.split("\n## Arguments in headers\n")[1].split("\n## ")[0]
    assert "part of the published schema" in section
    assert "Name no argument so that is secret" in section
    assert f"{HEAD_BYTES // 1024} KiB" in section


def test_every_verb_has_its_section() -> None:
    verbs = sorted(cli.list_commands(None))  # pyright: ignore[reportArgumentType]
    sections = re.findall(r"^## `tooltrue (\w+)`$", (ROOT / "docs" / "cli.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(sections) == verbs


@pytest.mark.parametrize("page", ["README.md", "README.zh.md"])
def test_the_readme_has_a_row_for_every_verb(page: str) -> None:
    rows = re.findall(r"^\| [^|]+ \| \[`tooltrue (\w+)`\]", (ROOT / page).read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(cli.list_commands(None))  # pyright: ignore[reportArgumentType]


def test_no_page_names_a_machine() -> None:
    for page in [*PAGES, *(ROOT / "demo").rglob("*.py"), *(ROOT / "examples").glob("*.py")]:
        assert not re.search(r"/(?:home|root|work|Users)/", page.read_text("utf-8")), page.name
