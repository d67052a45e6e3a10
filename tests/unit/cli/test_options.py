"""Properties of an option at every place that accepts it."""

from __future__ import annotations

import locale
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from tooltrue.cli.callers import callers_of
from tooltrue.cli.language import language_of
from tooltrue.cli.main import cli
from tooltrue.cli.usage import Verb


def commands(group: click.Group, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name in group.list_commands(click.Context(group)):
        verb = group.get_command(click.Context(group), name)
        assert verb is not None
        yield (*words, name), verb
        if isinstance(verb, click.Group):
            yield from commands(verb, *words, name)


EVERY = dict(commands(cli))
WAITING = sorted(words for words, verb in EVERY.items() if any("--timeout" in one.opts for one in verb.params))


@pytest.mark.parametrize("words", WAITING)
@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "inf", "soon"])
def test_an_impossible_timeout_is_refused_in_a_sentence(words: tuple[str, ...], seconds: str):
    needed = [one for one in EVERY[words].params if isinstance(one, click.Option) and one.required]
    given = [word for one in needed for word in (one.opts[0], "x")]
    done = CliRunner().invoke(cli, [*words, "x", "x", *given, "--timeout", seconds])
    assert done.exit_code == 2
    last = done.output.splitlines()[-1]
    assert last.startswith("Error: Invalid value for '--timeout': ")
    assert seconds.lstrip("-") in last


@pytest.mark.parametrize("words", sorted(EVERY))
def test_the_language_is_taken_behind_every_verb(words: tuple[str, ...]):
    done = CliRunner().invoke(cli, [*words, "--lang", "zh", "--help"])
    assert done.exit_code == 0, done.output


def test_the_language_behind_a_verb_of_a_verb_is_that_of_its_errors():
    done = CliRunner().invoke(cli, ["audit", "verify", "--log", "none:there", "--lang", "zh"])
    assert done.exit_code == 2
    assert any("\u4e00" <= letter <= "\u9fff" for letter in done.output)


@pytest.mark.parametrize(
    ("words", "language"),
    [
        ("--lang zh list x", "zh"),
        ("list x --help --lang zh", "zh"),
        ("list x --lang=zh", "zh"),
        ("--lang zh list x --lang en", "en"),
        ("--lang=zh list x --lang en", "en"),
        ("--lang zh list x --lang=en", "en"),
        ("call x say -- --lang zh", "en"),
        ("list x --lang fr", "en"),
        ("list x --lang", "en"),
        ("list x", "en"),
    ],
)
def test_the_last_language_on_the_command_line_counts(words: str, language: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert language_of(words.split()) == language


def test_the_locale_decides_where_no_language_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert language_of(["list", "x"]) == "zh"
    assert language_of(["list", "x", "--lang", "en"]) == "en"


@pytest.mark.parametrize(
    ("name", "language"), [("Chinese (Simplified)_China", "zh"), ("zh_CN", "zh"), ("English_United States", "en")]
)
def test_a_locale_of_windows_has_a_name_in_words(name: str, language: str, monkeypatch: pytest.MonkeyPatch):
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(locale, "getlocale", lambda: (name, "936"))
    assert language_of(["list"]) == language


NEEDY = sorted(
    words for words, verb in EVERY.items() if isinstance(verb, Verb) and any(one.required for one in verb.params)
)


@pytest.mark.parametrize("words", NEEDY)
def test_a_missing_argument_is_answered_with_the_whole_command_and_an_example(words: tuple[str, ...]):
    done = CliRunner().invoke(cli, words)
    command = " ".join(words)
    assert done.output.startswith(f"tooltrue: {command} needs "), done.output
    assert f" Example: tooltrue {command} " in done.output


HTTP_ALONE = sorted(
    (words, next(opt for opt in one.opts if opt.startswith("--")), one.is_flag)
    for words in (("serve",), ("gateway",))
    for one in EVERY[words].params
    if isinstance(one, click.Option) and (one.help or "").startswith("HTTP: ") and one.opts != ["--trust-proxy"]
)
"""The options that say so. ``--trust-proxy`` goes with another of them."""
VALUES = {"--workers": "2", "--drain": "1", "--connections": "10", "--connections-per-address": "10"}


@pytest.mark.parametrize(("words", "option", "is_flag"), HTTP_ALONE)
def test_an_option_for_http_is_refused_on_stdio_by_its_name(words: tuple[str, ...], option: str, is_flag: bool):
    given = [option] if is_flag else [option, VALUES.get(option, "x")]
    if option == "--oauth":
        given += ["--resource", "https://tools.example/mcp"]
    done = CliRunner().invoke(cli, [*words, "no-such-target", *given, "--lang", "en"])
    assert done.exit_code == 2
    assert f"{option} requires --http HOST:PORT" in done.output
    assert "[TT4004]" in done.output


def test_callers_that_are_set_twice_are_told_by_the_option_that_sets_them():
    options = {"http": ":0", "workers": 2, "log_format": "text", "keys": "keys.toml"}
    assert callers_of(options).origin == "--keys"
