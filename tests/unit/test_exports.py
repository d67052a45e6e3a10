"""The exports of ``tooltrue``: each of them exists, and no module is loaded before its first use."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import subprocess
import sys

import pytest

import tooltrue

EXPORTS: dict[str, str] = tooltrue._EXPORTS  # pyright: ignore[reportPrivateUsage]


def declared() -> dict[str, str]:
    """The exports declared for type checkers: public name → ``module`` or ``module:name``."""
    tree = ast.parse(inspect.getsource(tooltrue))
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    return {
        alias.asname or alias.name: str(node.module) + ("" if alias.asname in (None, alias.name) else f":{alias.name}")
        for node in imports
        for alias in node.names
    }


def test_type_checkers_and_the_table_are_told_the_same():
    assert declared() == EXPORTS


def test_exports_are_listed_in_order():
    assert list(EXPORTS) == sorted(EXPORTS)
    assert set(tooltrue.__all__) == {"__version__", *EXPORTS}
    assert dir(tooltrue) == sorted(tooltrue.__all__)


def is_as_its_module_has_it(name: str) -> bool:
    module, _, original = EXPORTS[name].partition(":")
    home = importlib.import_module(module)
    return getattr(tooltrue, name) is getattr(home, original or name) and (original or name) in home.__all__


def test_each_export_is_the_object_of_its_module():
    assert [name for name in EXPORTS if not is_as_its_module_has_it(name)] == []


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = tooltrue.nonsense


def test_every_name_in_an_all_is_there():
    modules = [
        importlib.import_module(name)
        for name in sorted(sys.modules)
        if name.startswith("tooltrue.") and hasattr(sys.modules[name], "__all__")
    ]
    missing = [(module.__name__, name) for module in modules for name in module.__all__ if not hasattr(module, name)]
    assert missing == []


PLAIN = """
from typing import Literal
from tooltrue import Server
server = Server("s")
@server.tool(effect="read")
def note(key: str, kind: Literal["a", "b"] = "a", count: int = 1, rows: list[float] | None = None) -> dict[str, str]:
    '''Read a note.'''
    return {key: kind}
server.add_raw_tool("raw", {"type": "object"}, lambda arguments: "", effect="read")
"""

AUTHORS_TYPES = ["pydantic", "pydantic_core", "annotated_types"]
NOT_AT_START = [
    "cryptography",
    "dataclasses",
    "difflib",
    "docstring_parser",
    "html.entities",
    "httpx2",
    "shlex",
    "uvicorn",
    *(
        f"tooltrue.{name}"
        for name in (
            "contract.contract",
            "contract.names",
            "policy.config",
            "policy.consent.argument_display",
            "policy.consent.question",
            "policy.sanitize.media",
            "policy.sanitize.outgoing_secrets",
            "policy.sanitize.redactor",
            "protocol.legacy",
            "protocol.media_types",
            "protocol.secret_requests",
            "protocol.terminal",
            "protocol.schema.search",
            "server.auth_settings",
            "server.identity",
            "server.legacy",
            "server.lifespan",
            "server.oauth",
            "tools.binding.collecting",
            "tools.binding.deferred_values",
            "tools.binding.forms",
            "tools.binding.injection",
            "tools.binding.schemas",
            "tools.binding.sent_types",
            "tools.binding.sources",
            "tools.binding.text_functions",
            "tools.client_questions",
            "tools.foreign_types",
            "tools.isolated_calls",
            "tools.media",
            "tools.lifespan_values",
            "tools.settings",
            "tools.tables",
            "tools.tasks",
        )
    ),
]
NOT_BEFORE_A_CALL = [
    f"tooltrue.policy.{name}"
    for name in (
        "audit.argument_masking",
        "audit.record",
        "sanitize.fit",
        "sanitize.prescan",
        "sanitize.result_bytes",
        "sanitize.secrets",
    )
]
RAW = """
from tooltrue import Server
server = Server("s")
server.add_raw_tool("raw", {"type": "object"}, lambda arguments: "", effect="read")
"""
NOT_FOR_RAW_SCHEMAS = [f"tooltrue.tools.binding.{name}" for name in ("arguments", "plain_types", "return_values")]

HTTP = [f"tooltrue.{name}" for name in ("transport.http_server", "server.http", "server.replay", "server.sse")]


@pytest.mark.process
@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import tooltrue", ["pydantic", "msgspec", "httpx2", "asyncio", "uvicorn"]),
        ("from tooltrue import Client", ["pydantic", "uvicorn", "click", "jsonschema_rs"]),
        ("from tooltrue import Server", ["httpx2", "uvicorn", "click", "sqlite3", *HTTP]),
        ("from tooltrue import Server; Server('s').connect(print)", ["cryptography", *HTTP]),
        ("import tooltrue.cli.serve_verb", ["tooltrue.host", "tooltrue.client", "tooltrue.policy.tasks", *HTTP]),
        (RAW, [*AUTHORS_TYPES, *NOT_AT_START, *NOT_BEFORE_A_CALL, *NOT_FOR_RAW_SCHEMAS]),
        (f"{PLAIN}server.connect(print)", [*AUTHORS_TYPES, *NOT_AT_START, *NOT_BEFORE_A_CALL, *HTTP]),
    ],
)
def test_an_import_does_not_load_unused_modules(statement: str, unwanted: list[str]):
    code = f"{statement}\nimport sys; print(*(name for name in {unwanted!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []


@pytest.mark.process
@pytest.mark.parametrize(("before", "after"), [("gc.enable()", "True"), ("gc.disable()", "False")])
def test_an_import_leaves_the_garbage_collector_as_it_was(before: str, after: str):
    code = f"import gc; {before}; from tooltrue import Server; print(gc.isenabled())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == [after]


SERVED = (
    PLAIN
    + """
import gc, sys
@server.tool(effect="read")
async def state() -> list[str]:
    '''Tell what is loaded, and whether objects of the start are exempt from collections.'''
    return [str(gc.get_freeze_count() > 0), *(name for name in sys.modules if name in UNWANTED)]
server.run()
"""
)


@pytest.mark.process
def test_a_server_of_plain_tools_does_not_load_unused_modules_to_serve():
    code = f"UNWANTED = {[*AUTHORS_TYPES, *NOT_AT_START, *HTTP]!r}\n{SERVED}"

    async def ask() -> tuple[object, list[str]]:
        async with tooltrue.Client([sys.executable, "-c", code]) as client:
            result = await client.call_tool("state")
            return result.structured, [tool.name for tool in await client.list_tools()]

    assert asyncio.run(ask()) == (["True"], ["note", "raw", "state"])
