"""A file that cannot be served says which line of its author's is at fault, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tooltrue.cli.targets import Spec, load_server
from tooltrue.errors import ConfigurationError, DefinitionError

FAULTS = {
    "itself": ("from tooltrue import Server\n1 / 0\n", "at_fault.py", 2, "1 / 0", "ZeroDivisionError"),
    "a helper": ("import at_fault_helper\n", "at_fault_helper.py", 2, "return {}['no']", "KeyError: 'no'"),
    "through a library": ("import json\njson.loads('?')\n", "at_fault.py", 2, "json.loads('?')", "JSONDecodeError"),
    "syntax": ("def f(:\n", "at_fault.py", 1, "def f(:", "SyntaxError"),
    "a missing package": ("\nimport no_such_thing\n", "at_fault.py", 2, "import no_such_thing", "no_such_thing"),
    "a server that runs while it is loaded": (
        "import asyncio\nfrom tooltrue import Server\nasync def main():\n    Server('a').run()\nasyncio.run(main())\n",
        "at_fault.py",
        4,
        "Server('a').run()",
        '__name__ == "__main__":`; in async code, write `await server.serve_stdio()`. [TT4645]',
    ),
    "a wrong argument": (
        "from tooltrue import Server\nServer('a', '1.0')\n",
        "at_fault.py",
        2,
        "Server('a', '1.0')",
        "[TT3045]",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "at_fault_helper.py").write_text("def f():\n    return {}['no']\nf()\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fault(target: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        load_server(Spec(target))
    return caught.value


@pytest.mark.parametrize("name", sorted(FAULTS))
@pytest.mark.parametrize("target", ["at_fault.py", "{folder}/at_fault.py", "at_fault:server"])
def test_the_line_at_fault_is_named(folder: Path, name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, file, line, code, error = FAULTS[name]
    (folder / "at_fault.py").write_text(text)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.delitem(__import__("sys").modules, "at_fault", raising=False)
    said = fault(target.format(folder=folder))
    assert said.code == "TT4012"
    assert f"{file}, line {line}, raised" in str(said)
    assert error in str(said)
    assert code in str(said)
    assert f"{file} 第 {line} 行" in said.say("zh")


@pytest.mark.parametrize("statement", ["from fastmcp import FastMCP", "from mcp.server.fastmcp import FastMCP"])
def test_a_server_of_another_library_is_run_by_its_own_command(
    folder: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("fastmcp", "mcp"):
        monkeypatch.setitem(__import__("sys").modules, package, None)  # as if it were not installed
    (folder / "theirs.py").write_text(f"{statement}\nmcp = FastMCP('x')\n")
    said = fault("theirs.py")
    assert said.code == "TT4013"
    assert "python theirs.py" in str(said)


def test_a_server_object_of_another_library_is_named(folder: Path) -> None:
    (folder / "theirs.py").write_text("class FastMCP: ...\nFastMCP.__module__ = 'fastmcp.server'\nmcp = FastMCP()\n")
    assert fault("theirs.py").code == "TT4013"


DEFINITIONS = {
    "a setting": ("@server.tool(annotations={})\ndef a() -> str: ...\n", "TT3043"),
    "a name": ("@server.tool('adder')\ndef a() -> str: ...\n", "TT3017"),
    "a template": ("@server.resource('a://{b}')\ndef a(c: str) -> str: ...\n", "TT3034"),
}


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
@pytest.mark.parametrize("target", ["misdefined.py", "misdefined:server"])
def test_a_wrong_definition_names_the_authors_line(
    folder: Path, name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, code = DEFINITIONS[name]
    (folder / "misdefined.py").write_text(f"from tooltrue import Server\nserver = Server('s')\n{text}")
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.delitem(__import__("sys").modules, "misdefined", raising=False)
    with pytest.raises(DefinitionError) as caught:
        load_server(Spec(target))
    assert caught.value.code == code
    assert "misdefined.py:3" in caught.value.say("en").partition(": ")[0]
    assert "misdefined.py:3" in caught.value.say("zh").partition(": ")[0]
