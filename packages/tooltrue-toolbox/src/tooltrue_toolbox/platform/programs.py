"""How a system names its programs, finds them, and reads the words of a command line.

The rules depend on their arguments alone, so those of every system hold on every system. :data:`PROGRAMS` has the
rules of this one.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import PureWindowsPath
from typing import Literal, Protocol

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["PROGRAMS", "Misreading", "PosixPrograms", "ProgramRules", "WindowsPrograms"]

Misreading = Literal["option", "quote"]


class ProgramRules(Protocol):
    """The rules of a system."""

    def folders(self) -> tuple[str, ...]:
        """The folders that are searched for a program by default."""
        ...

    def is_batch(self, file: str) -> bool:
        """Whether a shell runs the file, and parses the arguments."""
        ...

    def files(self, word: str) -> tuple[str, ...]:
        """The names of the file that the program ``word`` may have; none if a program cannot have that name."""
        ...

    def name(self, file: str) -> str:
        """The name by which tables know the program in a file."""
        ...

    def runs_arguments(self, name: str) -> bool:
        """Whether a program of that name, which only this system has, executes its arguments or files named there."""
        ...

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The variables, each by one spelling of its name."""
        ...

    def misreads(self, word: str) -> Misreading | None:
        """How a program may misread the word, besides as an option that begins with a dash; ``None`` if it does not."""
        ...

    def path_word(self, names: Sequence[str]) -> str:
        """A path below the working directory, as a word that no program takes for an option."""
        ...


class PosixPrograms:
    """The rules of Linux and macOS; ``is_mac`` for those of macOS, whose file names have no case."""

    def __init__(self, *, is_mac: bool = False) -> None:
        self._is_mac = is_mac

    def folders(self) -> tuple[str, ...]:
        return ("/usr/local/bin", "/usr/bin", "/bin")

    def is_batch(self, file: str) -> bool:
        return file.lower().endswith(_BATCH)

    def files(self, word: str) -> tuple[str, ...]:
        return (word,)

    def name(self, file: str) -> str:
        name = posixpath.basename(file)
        return name.casefold() if self._is_mac else name

    def runs_arguments(self, name: str) -> bool:
        return self._is_mac and _OF_MAC.fullmatch(name) is not None

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        return dict(environment)

    def misreads(self, word: str) -> Misreading | None:
        return None

    def path_word(self, names: Sequence[str]) -> str:
        return "/".join((".", *names))


class WindowsPrograms:
    """The rules of Windows.

    A program is an .exe or .com file, found without its ending too. CreateProcess hands a batch file to cmd.exe, which
    no quoting of arguments makes safe (CVE-2024-24576), whatever dots and spaces follow the name (CVE-2024-43402).
    """

    def folders(self) -> tuple[str, ...]:
        return (os.environ.get("SYSTEMROOT", "C:\\Windows") + "\\System32",)

    def is_batch(self, file: str) -> bool:
        return _file_name(file).endswith(_BATCH)

    def files(self, word: str) -> tuple[str, ...]:
        path = PureWindowsPath(word)
        rest = word[len(path.drive) :]
        if ":" in rest or rest != rest.rstrip(". ") or not path.name:  # a stream, or a name that is read as another
            return ()
        return (word,) if _file_name(word).endswith(_PROGRAM_ENDINGS) else tuple(word + end for end in _PROGRAM_ENDINGS)

    def name(self, file: str) -> str:
        name = _file_name(file)
        return name[:-4] if name.endswith(_PROGRAM_ENDINGS) else name

    def runs_arguments(self, name: str) -> bool:
        return _OF_WINDOWS.fullmatch(name) is not None

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        return {name.upper(): value for name, value in environment.items()}

    def misreads(self, word: str) -> Misreading | None:
        if word.startswith("/"):
            return "option"
        # The program splits the line by itself, and not every one reads \" as the quotation mark that it stands for.
        return "quote" if '"' in word else None

    def path_word(self, names: Sequence[str]) -> str:
        return "\\".join((".", *names))  # in a/b, a program may take /b for an option


_BATCH = (".bat", ".cmd")
_PROGRAM_ENDINGS = (".com", ".exe")
"""In the order of PATHEXT."""

_OF_MAC = re.compile(r"open|xcrun|automator|swift|launchctl|shortcuts")
_OF_WINDOWS = re.compile(
    r"[cw]script|mshta|rundll32|regsvr32|msiexec|msbuild|installutil|regasm|regsvcs|wmic|forfiles|pcalua|conhost"
    r"|explorer|wsl|bash|pyw?|pythonw[0-9.]*|schtasks|sc|reg|cmstp|odbcconf|hh|control|mmc|winrs|psexec(64)?|csi|fsi"
    r"|certutil|bitsadmin|start|runas|wt|powershell_ise|winget|choco|scoop|scriptrunner|syncappvpublishingserver"
)


def _file_name(file: str) -> str:
    """The name of a file as Windows reads it: without case, its stream, and the dots and spaces at its end."""
    return PureWindowsPath(file).name.split(":")[0].rstrip(". ").casefold()


_IS_MAC = sys.platform == "darwin"

PROGRAMS: ProgramRules = PosixPrograms(is_mac=_IS_MAC) if HAS_POSIX else WindowsPrograms()
"""The rules of this system."""
