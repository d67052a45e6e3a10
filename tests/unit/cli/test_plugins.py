"""Verbs and families of other distributions: found by entry points, imported when they are named."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tooltrue.cli.main import cli
from tooltrue.cli.plugins import VERBS, load_plugin, names_of, summary_of

MODULE = """
import click
from tooltrue import LocalToolset
from tooltrue.cli.families import Family, FamilyOption
from tooltrue.cli.usage import misuse

print("imported")

@click.command("greet")
@click.option("--name", metavar="PERSON", show_default="the world", help="Their name.")
@click.option("--timeout", help="When to stop greeting.")
def command(name, timeout):
    \"\"\"Greet.\"\"\"
    if name == "nobody":
        raise misuse("Nobody is here.")
    click.echo("hello")

def tea(spec):
    tools = LocalToolset()
    def brew(minutes: int) -> str:
        \"\"\"Brew tea for some minutes.\"\"\"
        return f"{spec.family.one('--leaf')} for {minutes} minutes"
    tools.add(brew, effect="read")
    return tools

TEA = Family(tea, (FamilyOption("--leaf", "LEAF", "tea: the leaf.", "tea：茶叶。", "茶叶"),))
NOTHING = 1
"""
CHINESE = """
COMMANDS = {
    "greet": {
        "short": "问候。",
        "help": "问候某人。",
        "--name": "姓名。",
        "PERSON": "人",
        "the world": "世界",
        "Nobody is here.": "没有人。",
    },
    "list": {"short": "不应出现。"},
}
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


def distribution(folder: Path, name: str, entries: str) -> None:
    made = folder / f"{name.replace('-', '_')}-1.dist-info"
    made.mkdir(parents=True)
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (made / "entry_points.txt").write_text(entries)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the command with the distributions of the folder beside the installed ones."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from tooltrue.cli.main import main; main()", *words]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "LC_ALL": "C.UTF-8"}
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, cwd=tmp_path)

    (tmp_path / "acme_tea.py").write_text(MODULE)
    (tmp_path / "acme_chinese.py").write_text(CHINESE)
    entries = "[tooltrue.verbs]\ngreet = acme_tea:command\nlist = acme_tea:command\n"
    entries += "[tooltrue.chinese_help]\ngreet = acme_chinese:COMMANDS\nlist = acme_chinese:COMMANDS\n"
    entries += "[tooltrue.families]\ntea = acme_tea:TEA\nnothing = acme_tea:NOTHING\ngone = acme_tea:GONE\n"
    distribution(tmp_path, "acme-tea", entries)
    return run


@pytest.mark.process
def test_a_verb_of_another_distribution_is_run(run: Run):
    assert run("greet").stdout == "imported\nhello\n"


@pytest.mark.process
def test_a_listing_shows_a_plugin_and_imports_none(run: Run):
    shows = run("--help").stdout
    assert "  greet      From acme-tea.\n" in shows
    assert "imported" not in shows


@pytest.mark.process
def test_a_plugin_replaces_no_verb_of_ours(run: Run):
    assert "List the tools of TARGET" in run("list", "--help").stdout
    assert "列出 TARGET 的工具" in run("list", "--help", "--lang", "zh").stdout


@pytest.mark.process
def test_a_plugin_brings_the_chinese_help_of_its_verb(run: Run):
    listing = run("--help", "--lang", "zh").stdout
    assert "  greet      问候。\n" in listing
    assert "不应出现" not in listing
    assert "imported" not in listing
    page = run("greet", "--help", "--lang", "zh").stdout
    assert "  问候某人。\n" in page
    assert re.search(r"--name 人 +姓名。 +\[默认：\(世界\)\]", page)
    assert "When to stop greeting." in page  # not the Chinese text of an option of ours
    assert "错误：没有人。" in run("greet", "--name", "nobody", "--lang", "zh").stderr
    assert "Error: Nobody is here." in run("greet", "--name", "nobody").stderr


@pytest.mark.process
def test_chinese_help_that_cannot_be_imported_leaves_the_listing_in_english(run: Run, tmp_path: Path):
    (tmp_path / "acme_chinese.py").write_text("import nothing_of_this_name\n")
    assert "  greet      From acme-tea.\n" in run("--help", "--lang", "zh").stdout
    assert "[TT4071]" in run("greet", "--lang", "zh").stderr
    assert run("greet").stdout == "imported\nhello\n"


@pytest.mark.process
def test_a_family_of_another_distribution_has_its_options_and_its_tools(run: Run):
    called = run("call", "tea", "brew", "minutes=3", "--leaf", "sencha")
    assert called.stdout == "imported\nsencha for 3 minutes\n"
    assert "tea: the leaf." in run("serve", "tea", "--help").stdout
    assert re.search("--leaf 茶叶 +tea：茶叶。", run("serve", "tea", "--help", "--lang", "zh").stdout)
    assert "--leaf" not in run("serve", "notes.py", "--help").stdout


@pytest.mark.process
def test_an_option_of_a_family_that_is_not_named_says_whose_it_is(run: Run):
    done = run("serve", "notes.py", "--leaf", "sencha")
    assert (done.returncode, "--leaf is an option of tea," in done.stderr) == (2, True)


@pytest.mark.process
@pytest.mark.parametrize(("family", "code"), [("nothing", "TT4073"), ("gone", "TT4071")])
def test_a_plugin_that_cannot_be_used_is_an_error_with_its_distribution(run: Run, family: str, code: str):
    done = run("list", family)
    assert (done.returncode, f"[{code}]" in done.stderr) == (2, True)


@pytest.mark.process
def test_a_name_that_two_distributions_offer_is_refused(run: Run, tmp_path: Path):
    distribution(tmp_path, "other-tea", "[tooltrue.families]\ntea = other_tea:TEA\n")
    done = run("list", "tea")
    assert done.returncode == 2
    assert "Two installed distributions offer tea: acme-tea, other-tea." in done.stderr


@pytest.mark.process
def test_a_file_is_served_without_a_look_at_distributions(tmp_path: Path):
    (tmp_path / "notes.py").write_text("from tooltrue import Server\nserver = Server('notes')\n")
    program = "import importlib.metadata, sys; importlib.metadata.entry_points = None\n"
    program += "from tooltrue.cli.main import main; sys.argv[1:] = ['serve', 'notes.py']; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, cwd=tmp_path, input=""
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_summary_of_our_own_verbs_is_their_help():
    assert {"check", "diff", "doctor", "eval", "find", "lock"} <= {*names_of(VERBS)}
    for name in names_of(VERBS):
        assert load_plugin(VERBS, name).short_help == summary_of(name)
        assert name in cli.list_commands(click.Context(cli))
