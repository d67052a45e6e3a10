"""What belongs to one operating system stands in the folders ``platform``, and nowhere else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

import pytest

from support.sources import FILES
from support.system_names import (
    LOOP_METHODS,
    NOT_LINUX,
    NOT_MACOS,
    NOT_WINDOWS,
    NOT_WINDOWS_MODULES,
    WINDOWS_MODULES,
    words,
)

PLATFORM = ("_internal/platform/", "tooltrue_toolbox/platform/")

MODULES = NOT_WINDOWS_MODULES | WINDOWS_MODULES | {"ctypes"}
ARGUMENTS = frozenset(
    words(
        "creationflags dir_fd dst_dir_fd pass_fds preexec_fn process_group reuse_port src_dir_fd start_new_session"
        " startupinfo"
    )
)
NAMES = {
    module: {*NOT_WINDOWS.get(module, ()), *NOT_MACOS.get(module, ()), *NOT_LINUX.get(module, ())}
    for module in NOT_WINDOWS.keys() | NOT_MACOS.keys() | NOT_LINUX.keys()
} | {"sys": {"platform", "getwindowsversion"}, "platform": {"system", "win32_ver", "mac_ver", "libc_ver"}}
NAMES["os"] |= {"name", "supports_dir_fd", "supports_fd"}
PLACES = re.compile(r"/(?:proc|sys|dev)/")


def is_of_one_system(module: str, name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in NAMES.get(module, ()))


def words_of_one_system(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and the name of each import, attribute, argument and path that not every system has."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for name in names:
                    modules[name.asname or name.name.partition(".")[0]] = name.name
                    if name.name.partition(".")[0] in MODULES:
                        yield node.lineno, f"import {name.name}"
            case ast.ImportFrom(module=str(module), level=0, names=names):
                if module.partition(".")[0] in MODULES:
                    yield node.lineno, f"import {module}"
                for name in names:
                    if is_of_one_system(module, name.name):
                        yield node.lineno, f"{module}.{name.name}"
            case _:
                pass
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if is_of_one_system(modules.get(owner, ""), name):
                yield node.lineno, f"{owner}.{name}"
            case ast.Attribute(attr=name) if name in LOOP_METHODS:
                yield node.lineno, f".{name}"
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"), args=[ast.Name(id=owner), ast.Constant(value=str(name)), *_]
            ) if is_of_one_system(modules.get(owner, ""), name):
                yield node.lineno, f"{owner}.{name}"
            case ast.keyword(arg=str(name)) if name in ARGUMENTS:
                yield node.lineno, f"{name}="
            case ast.Constant(value=str(text)) if id(node) not in docstrings and PLACES.match(text):
                yield node.lineno, text
            case _:
                pass


def found(name: str) -> list[str]:
    source = FILES[name].read_text("utf-8")
    return [f"{name}:{line}: {word}" for line, word in sorted(words_of_one_system(ast.parse(source)))]


def outside() -> list[str]:
    return [name for name in FILES if not name.startswith(PLATFORM)]


def test_what_one_system_has_stands_in_the_folders_of_the_platform():
    violations = [word for name in outside() for word in found(name)]
    assert not violations, "\n".join(["these belong to a folder platform:", *violations])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import fcntl", "import fcntl"),
        ("import msvcrt", "import msvcrt"),
        ("from ctypes import util", "import ctypes"),
        ("import os as system\nsystem.fork()", "system.fork"),
        ("from os import killpg", "os.killpg"),
        ("import os\nhasattr(os, 'pidfd_open')", "os.pidfd_open"),
        ("import signal\nsignal.SIGKILL", "signal.SIGKILL"),
        ("import sys\nsys.platform == 'win32'", "sys.platform"),
        ("loop.add_reader(1, print)", ".add_reader"),
        ("open('x', dir_fd=1)", "dir_fd="),
        ("'/proc/self/status'", None),
        ("open('/proc/self/status')", "/proc/self/status"),
        ("import os, signal\nos.open('x', os.O_RDONLY | os.O_CREAT)\nsignal.SIGTERM, signal.SIGINT", None),
    ],
)
def test_a_word_of_one_system_is_found(code: str, expected: str | None):
    assert [word for _, word in words_of_one_system(ast.parse(code))] == [word for word in (expected,) if word]
