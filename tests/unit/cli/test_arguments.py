"""Arguments of a command line, and the values and targets parsed from them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tooltrue.cli.call_verb import read_arguments
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.targets import Spec, is_ours, load_server, with_distinct_names
from tooltrue.errors import ConfigurationError
from tooltrue.protocol.terminal import printable
from tooltrue.protocol.types import ToolDefinition
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.views import combined
from tooltrue.tools.vocabulary import LOCAL, RequestContext

TOOL = ToolDefinition(
    "t",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "choice": {"enum": ["1", "2"]},
            "number": {"type": "integer"},
            "flag": {"type": "boolean"},
            "list": {"type": "array"},
            "any": {},
        },
    },
)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("text=5", "5"),
        ("text=a=b", "a=b"),
        ("text=", ""),
        ("text=null", "null"),
        ("maybe=7", "7"),
        ("choice=1", "1"),
        ("number=5", 5),
        ("number=five", "five"),
        ("flag=true", True),
        ('list=[1,"a"]', [1, "a"]),
        ("any=1", 1),
        ("any=x", "x"),
        ("unknown=1", "1"),
        ("text:=5", 5),
        ("maybe:=null", None),
        ('unknown:={"a":[]}', {"a": []}),
    ],
)
def test_a_value_is_text_where_the_schema_wants_text_and_json_otherwise(pair: str, expected: Any):
    assert list(read_arguments((pair,), TOOL).values()) == [expected]


@pytest.mark.parametrize("pair", ["text", "=5", "", "text:={", "number:=five"])
def test_a_pair_that_cannot_be_read_is_refused(pair: str):
    with pytest.raises(ConfigurationError) as caught:
        read_arguments((pair,), TOOL)
    assert caught.value.code == "TT4006"


def test_without_the_tools_schema_a_value_is_text():
    assert read_arguments(("a=5", "b:=5"), None) == {"a": "5", "b": 5}


@pytest.mark.parametrize(
    "target", ["files", "notes.py", "dir/notes.py", "notes.py:server", "package.module:server", "./a.py:b"]
)
def test_a_server_of_ours_is_recognised(target: str):
    assert is_ours(target)


@pytest.mark.parametrize("target", ["python notes.py", "./server", "/usr/bin/server:x", "server", "npx -y a:b"])
def test_a_command_is_recognised(target: str):
    assert not is_ours(target)


@pytest.mark.parametrize(
    ("spec", "code", "told"),
    [
        (Spec("files"), "TT4001", "--root"),
        (Spec("files", FamilyOptions({"--root": ("/no/such/folder",)})), "TT6001", "directory"),
        (Spec("nowhere.py"), "TT4002", "no such file"),
        (Spec("nowhere.py", FamilyOptions({"--access": ("read",)})), "TT4008", "--access"),
        (Spec("no_such_module_of_ours:server"), "TT4002", "no module"),
        (Spec("json:server"), "TT4002", "no Server is called"),
        (Spec("json:"), "TT4002", "found: (none)"),
    ],
)
def test_an_invalid_target_is_refused_with_a_valid_example(spec: Spec, code: str, told: str):
    with pytest.raises(ConfigurationError) as caught:
        load_server(spec)
    assert caught.value.code == code
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 世\n\t", "plain é 世\n\t"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\rb", "a\\x0db"),
        ("\u202edrow", "\\u202edrow"),
        ("\x00\x9b", "\\x00\\x9b"),
        ("a \u2068\u05d0\x1b\u2069 1", "a \u2068\u05d0\\x1b\u2069 1"),
        ("\u2068\u05d0 \u2068x", "\\u2068\u05d0 \\u2068x"),
    ],
)
def test_text_of_others_cannot_command_our_terminal(text: str, shown: str):
    assert printable(text) == shown


def _nothing() -> None:
    """Do nothing."""


def test_families_whose_tools_have_one_name_are_told_with_distinct_names() -> None:
    def family(*names: str) -> LocalToolset:
        tools = LocalToolset()
        for name in names:
            tools.add(_nothing, name=name)
        return tools

    async def main() -> list[str]:
        context = RequestContext(LOCAL, SILENT)
        parts = with_distinct_names({"one": family("find", "list"), "other": family("find", "make")})
        return [tool.name for tool in await combined(*parts).list_tools(context)]

    assert asyncio.run(main()) == ["list", "make", "one_find", "other_find"]


@pytest.mark.needs("confinement")
def test_several_families_are_one_server(tmp_path: Path) -> None:
    server = load_server(Spec.of("files,command", FamilyOptions({"--root": (str(tmp_path),), "--allow": ("pwd",)})))

    async def main() -> list[str]:
        return [tool.name for tool in await server.provider.list_tools(RequestContext(LOCAL, SILENT))]

    names = asyncio.run(main())
    assert server.name == "files-command"
    assert {"execute_command", "list_commands", "read_file"} <= {*names}


@pytest.mark.parametrize(
    ("target", "said", "code"),
    [
        ("command", {"--root": (".",)}, "TT4001"),
        ("command", {"--allow": ("pwd",)}, "TT4001"),
        ("command", {"--root": (".",), "--allow": ("pwd",), "--commands": ("x",)}, "TT4001"),
        ("files", {"--root": (".",), "--allow": ("pwd",)}, "TT4008"),
        ("nowhere.py", {"--root": (".",)}, "TT4008"),
    ],
)
def test_an_option_that_no_family_of_the_target_has_is_refused(
    target: str, said: dict[str, tuple[str, ...]], code: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_server(Spec.of(target, FamilyOptions(said)))
    assert caught.value.code == code


def test_an_unknown_level_of_confinement_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "program.exe"  # by the rules of every system
    program.touch(0o755)
    options = {"--root": (str(tmp_path),), "--allow": (str(program),), "--confinement": ("never",)}
    with pytest.raises(ConfigurationError) as caught:
        load_server(Spec.of("command", FamilyOptions(options)))
    assert caught.value.code == "TT4009"
