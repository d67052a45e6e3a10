"""Command lines for Windows: where a program is, and what a batch file may be given.

Windows runs a batch file (npx.cmd) by cmd.exe, which reads its arguments as text of a shell: a quotation mark in an
argument would end a word, and what follows could be another command (CVE-2024-1874 and its like, "BatBadBut"). There is
no quoting that all batch files respect, so an argument with such a character is refused.

The module works on every system, for its tests.
"""

from __future__ import annotations

import errno
import ntpath
import os
from collections.abc import Iterator, Mapping, Sequence

__all__ = ["UnsafeArgument", "command_line"]

_INTERPRETED = frozenset('"%!^&|<>\r\n\0')
"""The characters to which cmd.exe gives a meaning, in some place or other, even within quotation marks."""
_BATCH = (".bat", ".cmd")
_PATHEXT = ".COM;.EXE;.BAT;.CMD"


class UnsafeArgument(ValueError):
    """A batch file would be given an argument that cmd.exe interprets."""

    def __init__(self, program: str, argument: str, character: str) -> None:
        super().__init__(program, argument, character)
        self.program = program
        self.argument = argument
        self.character = character


def command_line(command: Sequence[str], env: Mapping[str, str]) -> Sequence[str] | str:
    """The command with the path of its program, which is searched for in the ``PATH`` of ``env``, with the endings of
    its ``PATHEXT``, and not in the working folder. A batch file becomes a command line for cmd.exe.

    ``FileNotFoundError`` if there is no such program, ``UnsafeArgument`` if a batch file would be given an argument
    that cmd.exe interprets.
    """
    name, *arguments = command
    variables = {key.upper(): value for key, value in env.items()}
    program = _found(name, variables)
    if not program.lower().rstrip(". ").endswith(_BATCH):
        return [program, *arguments]
    for argument in (program, *arguments):
        for character in argument:
            if character in _INTERPRETED:
                raise UnsafeArgument(name, argument, character)
    words = " ".join(map(_quoted, (program, *arguments)))
    # /d: without commands of the registry; /s: only the outer quotation marks are removed; /v:off: ! means nothing.
    return f'{_quoted(_interpreter(variables))} /d /s /v:off /c "{words}"'


def _interpreter(variables: Mapping[str, str]) -> str:
    root = variables.get("SYSTEMROOT", "")
    return ntpath.join(root, "System32", "cmd.exe") if root else "cmd.exe"


def _quoted(word: str) -> str:
    """The word in quotation marks. It contains none; a backslash before one would escape it."""
    last = len(word) - len(word.rstrip("\\"))
    return '"' + word + "\\" * last + '"'


def _found(name: str, variables: Mapping[str, str]) -> str:
    for path in _candidates(name, variables):
        if os.path.isfile(path):
            return path
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def _candidates(name: str, variables: Mapping[str, str]) -> Iterator[str]:
    endings = [ending for ending in variables.get("PATHEXT", _PATHEXT).split(";") if ending]
    if os.path.dirname(name):
        folders = [""]
    else:
        folders = [folder.strip('"') for folder in variables.get("PATH", "").split(os.pathsep) if folder]
    if name.lower().endswith(tuple(ending.lower() for ending in endings)):
        yield from (os.path.join(folder, name) for folder in folders)
    yield from (os.path.join(folder, name + ending) for folder in folders for ending in endings)
    # Last, since npx is a script for other systems beside npx.cmd.
    yield from (os.path.join(folder, name) for folder in folders)
