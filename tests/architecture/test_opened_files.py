"""Files have the same bytes on every system: no line end is translated, and no encoding is left to the system."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import PurePath

import pytest

from support.sources import FILES

PLATFORM = ("_internal/platform/", "tooltrue_toolbox/platform/")
# Modules of systems that translate nothing; some write to files of the kernel.
ELSEWHERE = ("posix_", "linux_", "proc_")
# These flags exist only where nothing is translated.
NOT_OF_WINDOWS = re.compile(r"\bO_(?:NONBLOCK|CLOEXEC)\b")
MODE = re.compile(r"[rwxabt+]{1,3}")
NO_FILES = {"webbrowser"}


def calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str, str]]:
    """Each call of a named function, its owner's name and its own."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                yield node, "", name
            case ast.Call(func=ast.Attribute(value=owner, attr=name)):
                yield node, ast.unparse(owner), name
            case _:
                pass


def descriptors_opened(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each call of :func:`os.open`, and each import of it under a name of its own."""
    for call, owner, name in calls(tree):
        if (owner, name) == ("os", "open"):
            yield call.lineno, ast.unparse(call)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "os" and any(one.name == "open" for one in node.names):
            yield node.lineno, ast.unparse(node)


def descriptors_that_translate(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each call of :func:`os.open` that Windows would translate the line ends of."""
    for line, text in descriptors_opened(tree):
        if "BINARY" not in text and not NOT_OF_WINDOWS.search(text):
            yield line, text


def text_files(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each text file opened without its encoding; each written without its line ends."""
    for call, owner, name in calls(tree):
        given = {keyword.arg for keyword in call.keywords}
        match name:
            case "read_text":
                encoded, ends = bool(call.args) or "encoding" in given, True
                if not owner:
                    continue
            case "write_text":
                encoded, ends = len(call.args) > 1 or "encoding" in given, len(call.args) > 3 or "newline" in given
            case "TextIOWrapper":
                encoded, ends = len(call.args) > 1 or "encoding" in given, len(call.args) > 3 or "newline" in given
            case "open" | "fdopen" | "makefile" if owner not in NO_FILES and (mode := mode_of(call, owner, name)):
                if "b" in mode:
                    continue
                encoded = "encoding" in given
                ends = mode.strip("t") == "r" or "newline" in given
            case _:
                continue
        if not encoded or not ends:
            yield call.lineno, ast.unparse(call)


def mode_of(call: ast.Call, owner: str, name: str) -> str:
    """The mode of a call that opens a file; empty for a method of that name that opens something else."""
    if owner == "os" and name == "open":
        return ""
    is_function = (owner, name) in {("", "open"), ("os", "fdopen"), ("io", "open")}
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    mode = given.get("mode") or next(iter(call.args[is_function : is_function + 1]), None)
    match mode:
        case ast.Constant(value=str(text)) if MODE.fullmatch(text):
            return text
        case None if is_function or name == "makefile" or "encoding" in given:
            return "r"
        case _:
            return ""


def seen(names: Iterator[str], search: Callable[[ast.Module], Iterator[tuple[int, str]]]) -> list[str]:
    return [
        f"{name}:{line}: {text}"
        for name in names
        for line, text in search(ast.parse(FILES[name].read_text(encoding="utf-8")))
    ]


def everywhere() -> Iterator[str]:
    return (name for name in FILES if not PurePath(name).name.startswith(ELSEWHERE))


def test_descriptors_are_opened_in_the_folders_of_the_platform():
    found = seen((name for name in FILES if not name.startswith(PLATFORM)), descriptors_opened)
    assert not found, "\n".join(["use a function of a folder platform, such as descriptors or private_files:", *found])


def test_no_descriptor_translates_line_ends():
    found = seen(everywhere(), descriptors_that_translate)
    assert not found, "\n".join(["add BINARY of tooltrue._internal.platform.descriptors:", *found])


def test_text_files_have_their_encoding_and_line_ends():
    found = seen(everywhere(), text_files)
    assert not found, "\n".join(["name encoding=, and newline= where it is written:", *found])


@pytest.mark.parametrize(
    ("code", "is_wrong"),
    [
        ("open('x')", True),
        ("open('x', encoding='utf-8')", False),
        ("open('x', 'rb')", False),
        ("open('x', 'w', encoding='utf-8')", True),
        ("open('x', mode='a', encoding='utf-8')", True),
        ("open('x', 'w', newline='')", True),
        ("open('x', 'w', encoding='utf-8', newline='')", False),
        ("io.open('x', 'r+', encoding='utf-8')", True),
        ("os.fdopen(3, 'w', encoding='utf-8')", True),
        ("os.fdopen(3, 'wb')", False),
        ("os.fdopen(3, 'w', encoding='utf-8', newline='\\n')", False),
        ("path.open('w', encoding='utf-8')", True),
        ("path.open('ab')", False),
        ("path.open(encoding='utf-8')", False),
        ("connection.makefile('w', encoding='utf-8')", True),
        ("connection.makefile('rb')", False),
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.write_text(text, 'utf-8')", True),
        ("path.write_text(text, 'utf-8', newline='')", False),
        ("TextIOWrapper(raw, 'utf-8')", True),
        ("TextIOWrapper(raw, 'utf-8', newline='')", False),
        ("stream.open(token, 'principal')", False),
        ("webbrowser.open(page)", False),
    ],
)
def test_a_text_file_that_depends_on_the_system_is_found(code: str, is_wrong: bool):
    assert bool([*text_files(ast.parse(code))]) is is_wrong


@pytest.mark.parametrize(
    ("code", "is_wrong"),
    [
        ("os.open(path, os.O_WRONLY)", True),
        ("os.open(path, os.O_WRONLY | BINARY)", False),
        ("os.open(path, os.O_RDONLY | os.O_CLOEXEC)", False),
        ("from os import open as opened", True),
        ("path.open('w')", False),
    ],
)
def test_a_descriptor_that_translates_is_found(code: str, is_wrong: bool):
    assert bool([*descriptors_that_translate(ast.parse(code))]) is is_wrong
