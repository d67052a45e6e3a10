"""The Chinese help: complete, without leftovers, without English, and set to the width of the terminal."""

from __future__ import annotations

import ast
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from support.sources import FILES
from tooltrue.cli.chinese_help import key_of, texts_of, translated
from tooltrue.cli.chinese_texts import CLICK, COMMANDS, DEFAULTS, PLACEHOLDERS, SHARED, TYPES, USAGE
from tooltrue.cli.families import FamilyOption, families_of
from tooltrue.cli.main import cli
from tooltrue.cli.plugins import CHINESE_HELP, FAMILIES, VERBS, load_plugin, names_of


def commands(group: click.Group, *words: str) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(words), group
    for name in group.list_commands(click.Context(group)):
        verb = group.get_command(click.Context(group), name)
        assert verb is not None
        if isinstance(verb, click.Group):
            yield from commands(verb, *words, name)
        else:
            yield " ".join((*words, name)), verb


EVERY = dict(commands(cli))
PATHS = pytest.mark.parametrize("path", EVERY, ids=lambda path: path or "tooltrue")


def shown(command: click.Command) -> dict[str, click.Option]:
    """The options of the help page of a command, by their keys."""
    options = (one for one in command.params if isinstance(one, click.Option) and not one.hidden)
    return {key_of(one): one for one in options}


def keys(path: str) -> set[str]:
    """The keys of a command's help texts that need a Chinese translation."""
    command = EVERY[path]
    texts = {"help": command.help, "short": path, "epilog": not path}
    return {key for key, text in texts.items() if text} | {key for key, one in shown(command).items() if one.help}


def of_plugins() -> dict[str, Mapping[str, str]]:
    """The Chinese texts of the plugins' commands, by their paths."""
    return {path: texts for verb in names_of(CHINESE_HELP) for path, texts in load_plugin(CHINESE_HELP, verb).items()}


def unused(path: str) -> set[str]:
    """The keys of a command's Chinese texts that it has no use for, besides errors on its use."""
    options = shown(EVERY[path]).values()
    used = keys(path) | {one.metavar for one in options} | {str(one.show_default) for one in options}
    return {**COMMANDS, **of_plugins()}[path].keys() - used


def family_options() -> list[FamilyOption]:
    """The options of all installed families."""
    every = families_of(",".join(names_of(FAMILIES))).values()
    return list(dict.fromkeys(option for family in every for option in family.options))


# -- the catalogue -----------------------------------------------------------------------------------------------------


def test_every_text_of_a_command_has_a_chinese_one():
    arguments = [one for path in EVERY for one in EVERY[path].params if isinstance(one, click.Argument)]
    assert not any(getattr(one, "help", None) for one in arguments)  # the catalogue has no place for their help
    missing = {path: keys(path) - texts_of(path.split()).keys() for path in EVERY}
    assert {path: left for path, left in missing.items() if left} == {}


def test_no_chinese_text_is_left_over():
    ours = {path: keys(path) for path in EVERY if path.split(" ")[0] not in names_of(VERBS)}
    assert COMMANDS.keys() <= ours.keys()
    assert {path: left for path in COMMANDS if (left := unused(path))} == {}
    assert SHARED.keys() <= {key for path, names in ours.items() for key in names - COMMANDS[path].keys()}
    options = [one for path in ours for one in shown(EVERY[path]).values()]
    of_families = {option.placeholder for option in family_options() if not option.chinese_placeholder}
    assert PLACEHOLDERS.keys() <= {one.metavar for one in options} | of_families
    assert DEFAULTS.keys() == {one.show_default for one in options if isinstance(one.show_default, str)}
    assert TYPES.keys() <= {one.type.name for command in EVERY.values() for one in command.params}


def test_the_chinese_texts_of_our_plugins_are_used():
    errors = {*misuses("tooltrue_check/cli/"), *misuses("tooltrue_console/cli/")}
    assert {path.split(" ")[0] for path in of_plugins()} == {*names_of(VERBS)} == {*names_of(CHINESE_HELP)}
    assert {path: left for path in of_plugins() if (left := unused(path) - errors)} == {}


def test_a_shared_text_stands_for_one_english_text():
    served: dict[str, set[str | None]] = defaultdict(set)
    for path, texts in COMMANDS.items():
        for key, one in shown(EVERY[path]).items():
            if key not in texts:
                served[key].add(one.help)
    assert {key: texts for key, texts in served.items() if len(texts) > 1} == {}


def source_in(folder: str) -> str:
    modules = [path for name, path in FILES.items() if name.startswith(folder) and "chinese" not in path.name]
    return "".join(path.read_text() for path in modules)


def misuses(folder: str) -> list[str]:
    """The errors on usage in the modules of a folder."""
    return re.findall(r'\b(?:misuse|usage_text)\(\s*"([^"]+)"', source_in(folder))


def test_every_error_on_usage_has_a_chinese_text_and_none_is_left_over():
    assert {*misuses("cli/")} == {*USAGE}
    texts = {key for texts in of_plugins().values() for key in texts}
    assert {*misuses("tooltrue_check/cli/")} - USAGE.keys() - texts == set()
    source = source_in("cli/") + source_in("tooltrue_check/cli/")
    assert "click.UsageError(" not in source.replace("return click.UsageError(usage_text(text))", "")


CLICK_MODULES = ("core", "decorators", "exceptions", "formatting", "parser", "types")
OF_OTHER_VERSIONS = {"(Possible options: {possibilities})", "No such option: {name}"}
UNSEEN = {
    # for a programmer
    "Arguments take exactly one parameter declaration, got {length}: {decls}.",
    "Boolean option {decl!r} cannot use the same flag for true/false.",
    "Choice({choices})",
    "Could not determine name for option with declarations {decls!r}",
    "Invalid start character for option ({option})",
    "Missing parameter: {param_name}",
    "Name '{name}' defined twice",
    "No options defined but a name was passed ({name}). Did you mean to declare an argument instead? Did you mean to "
    "pass '--{name}'?",
    # of features that no command uses
    "%(prog)s, version %(version)s",
    "(dynamic)",
    "Aborted!",
    "Choose from:\n\t{choices}",
    "Confirm the action without prompting.",
    "Could not open file {filename!r}: {message}",
    "DeprecationWarning: The command {name!r} is deprecated.{extra_message}",
    "DeprecationWarning: The {param_type} {name!r} is deprecated.{extra_message}",
    "Do you want to continue?",
    "Missing {param_type}",
    "Takes {nargs} values but 1 was given.",
    "Takes {nargs} values but {len} were given.",
    "Value must be an iterable.",
    "deprecated",
    "unknown error",
    "{len_type} values are required, but {len_value} was given.",
    "{len_type} values are required, but {len_value} were given.",
    "{name} {filename!r} is not executable.",
    "{value!r} is not a valid UUID.",
    "{value!r} is not a valid boolean. Recognized values: {states}",
    # translated elsewhere: in COMMANDS, and in TYPES
    "Show the version and exit.",
    "directory",
    "file",
    "path",
}


def test_every_message_of_click_that_is_seen_has_a_chinese_text():
    trees = [ast.parse(Path(sys.modules[f"click.{name}"].__file__ or "").read_text()) for name in CLICK_MODULES]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    messages = {
        text.value
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_", "ngettext")
        for text in node.args
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    }
    assert messages - CLICK.keys() - UNSEEN - OF_OTHER_VERSIONS == set()
    assert CLICK.keys() - texts == OF_OTHER_VERSIONS | {"Example: "}


# -- its language ------------------------------------------------------------------------------------------------------

CODE = re.compile(
    r"""'[^']*' | `[^`]*` | \{"tool.*?\} | \[\[.*?\]\] | \{\w+(?:!r)?\}  # text in quotes, and facts
    | \w+://[^\s，。；、）]* | /[a-z]+  # addresses
    | (?<!\w)--?[a-z][\w-]*(?:\ [a-z]+(?:\|[a-z]+)+)? | \$\w+  # options with the names of their values, and variables
    | [\w.-]*\.(?:py|json|jsonl|toml|txt)\b | tools/list | \d+[dhm]\b
    | (?<![A-Za-z])[A-Z][A-Z0-9|*/:=@.\[\]]*(?![A-Za-z])  # names of arguments
    """,
    re.VERBOSE,
)
TERMS = (
    *(
        "Ctrl-C",
        "Inspector",
        "npx",
        "Model Context Protocol",
        "Streamable HTTP",
        "HTTP+SSE",
        "tooltrue serve",
        "JSON Lines",
        "JSON Schema",
        "mcpServers JSON",
        "OpenAPI",
        "Swagger",
        "YAML",
        "serve openapi",
    ),
    *("tooltrue", "OAuth", "mTLS", "Prometheus", "Python", "SQLite", "OpenAI", "Open-Meteo", "LibreTranslate"),
    *("FILE.py:NAME", "package.module:NAME", "module:NAME", "sqlite:PATH"),
    *("console:read", "console:approve", "console:admin"),  # scopes
)
VALUES = {
    *("files", "tables", "command", "settings", "catalog", "sql", "mail", "web", "github", "language"),
    *("openapi", "strict", "log", "off"),  # families, and values of options of one
    *("read", "write", "required", "available", "any", "obey", "ignore", "all", "text", "json"),
    *("audit", "chat", "check", "search"),  # commands
    *("call", "follow", "get", "complete", "intent", "refusals", "pruned", "seal", "destructive", "open-world"),
    *("ok", "error", "refused", "asked", "cancelled", "abandoned"),  # of audit records
}
"""Words that stand alone in a text: values of options and the like."""


def english(text: str) -> list[str]:
    """The English left in a Chinese text, without code, terms, and values that stand alone."""
    for term in TERMS:
        text = text.replace(term, "、")
    fragments = re.findall(r"[A-Za-z][A-Za-z -]*[A-Za-z]", CODE.sub("、", text))
    return [fragment for fragment in fragments if fragment not in VALUES]


def all_texts() -> Iterator[str]:
    tables: tuple[Mapping[str, str], ...] = (*COMMANDS.values(), *of_plugins().values(), SHARED, USAGE)
    for table in tables:
        yield from table.values()
    yield from (option.chinese for option in family_options())


def test_no_chinese_text_holds_english():
    assert {text: found for text in all_texts() if (found := english(text))} == {}
    chinese = re.compile("[\u4e00-\u9fff]")
    assert [text for text in all_texts() if not chinese.search(text)] == []


def test_english_in_a_chinese_text_is_found():
    assert english("列出 the tools 的描述") == ["the tools"]
    assert english("写入此文件。Where to write.") == ["Where to write"]
    assert english("--access：read or write") == ["read or write"]
    assert english("写入 FILE，如 `audit export` 与 files、read 或 --json。") == []


def is_chinese(command: click.Command, option: click.Option) -> bool:
    words = re.findall("[A-Za-z]+", option.make_metavar(click.Context(command)))
    return isinstance(option.type, click.Choice) or option.is_flag or {*words} <= {"JSON", "N", "URL"}


def test_a_placeholder_is_chinese_or_a_name_of_the_field():
    english = [
        (path, option.opts)
        for path, command in EVERY.items()
        for option in shown(translated(command, path.split())).values()
        if not is_chinese(command, option)
    ]
    assert english == []


# -- the pages ---------------------------------------------------------------------------------------------------------


def page(path: str, language: str = "zh") -> str:
    done = CliRunner().invoke(cli, ["--lang", language, *path.split(), "--help"], prog_name="tooltrue")
    assert done.exit_code == 0, done.output
    return done.output


def joined(text: str) -> str:
    """A text without the ends of lines."""
    return "".join(text.split())


@PATHS
def test_a_page_is_chinese_and_holds_every_text(path: str):
    shows = page(path)
    lines = shows.splitlines()
    assert lines[0].startswith(f"用法：{' '.join(('tooltrue', *path.split()))} [选项]")
    assert "选项：" in lines
    texts = texts_of(path.split())
    for text in (*(texts[key] for key in keys(path) - {"short"}), "显示此帮助并退出。"):
        assert joined(text) in joined(shows)
    for word in ("Usage", "Options", "Commands", "Example", "default:", "[required", "Show this"):
        assert word not in shows


def test_a_group_lists_its_commands_in_chinese():
    for path in EVERY:
        group, _, name = path.rpartition(" ")
        if path:
            assert re.search(rf"^  {name} +{re.escape(texts_of(path.split())['short'])}$", page(group), re.MULTILINE), (
                path
            )


@PATHS
def test_a_page_fits_its_width(path: str):
    for line in page(path).splitlines():
        cells = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in line)
        assert cells <= 80 or len(line.split()) == 1, line
        assert line.lstrip()[:1] not in ("，", "。", "、", "）", "；"), line


@PATHS
def test_an_english_page_stays_english(path: str):
    before = page(path, "en")
    page(path)
    assert page(path, "en") == before
    assert not re.search("[\u4e00-\u9fff]", before)
