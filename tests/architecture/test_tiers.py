"""The list of slow tests: each name is that of a test function."""

from __future__ import annotations

import ast
from pathlib import Path

from support.tiers import SLOW, slow_tests

ROOT = SLOW.parent.parent


def functions(file: str) -> set[str]:
    """The functions of a file; a class of unittest has the test ``runTest`` without a definition."""
    path = ROOT / file
    nodes = ast.walk(ast.parse(path.read_text("utf-8"))) if path.is_file() else ()
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)} | {"runTest"}


def test_each_slow_test_exists():
    named: dict[str, set[str]] = {}
    for name in slow_tests():
        file, _, function = name.partition("::")
        named.setdefault(file, set()).add(function.rpartition("::")[2])
    unknown = {file: sorted(names - functions(file)) for file, names in named.items() if names - functions(file)}
    assert unknown == {}, "run make slow-tests"


def test_the_list_of_slow_tests_is_not_empty():
    assert len(slow_tests()) > 100, Path(SLOW)
