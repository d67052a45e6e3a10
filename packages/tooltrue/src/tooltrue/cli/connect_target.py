"""The words of ``tooltrue serve`` for a target, as they hold in any folder: paths are absolute."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from tooltrue._internal.computed_imports import load
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue._internal.target_places import divided_target
from tooltrue.cli.families import families_of
from tooltrue.cli.wording import TARGET_NOT_CONNECTABLE, TARGET_NOT_SERVABLE
from tooltrue.errors import ConfigurationError
from tooltrue.wording import REASON_FILE_NOT_FOUND, Worded

__all__ = ["gateway_words", "served_words"]

_PATHS: Final = frozenset({"DIR", "FILE"})
"""The placeholders of options that take a path."""
_RELATIVE_URL: Final = re.compile(r"((?:sqlite|duckdb)://)/([^/].*)")
"""The URL of a database file in the current folder; that of an absolute path has a fourth slash."""


def served_words(target: str, options: Sequence[str]) -> tuple[str, ...]:
    """The words of the command line that serves ``target`` with these options of ``tooltrue serve``.

    Options that ``serve`` does not have are those of the author's program, and stand behind a ``--`` of their own.
    ``ConfigurationError`` if the target cannot be served from any folder.
    """
    families = families_of(target)
    place, colon, attribute = divided_target(target)
    if families:
        served = target
    elif place.endswith(".py"):
        if not Path(place).is_file():
            problem = Worded(REASON_FILE_NOT_FOUND, {})
            raise ConfigurationError.of(TARGET_NOT_SERVABLE, target=place, problem=problem)
        served = os.path.abspath(place) + colon + attribute
    elif attribute and "/" not in target and _is_installed(place):
        served = target
    else:
        raise ConfigurationError.of(TARGET_NOT_CONNECTABLE, target=target)
    takes = {option.name: option.placeholder for family in families.values() for option in family.options}
    takes |= _options_of("serve")
    words = tuple(_absolute(options, takes))
    first = words[0].partition("=")[0] if words else ""
    is_own = place.endswith(".py") and first.startswith("-") and first != "--" and first not in takes
    return ("serve", served, *(("--",) if is_own else ()), *words)


def gateway_words(file: str, options: Sequence[str]) -> tuple[str, ...]:
    """The words of the command line that puts a gateway before the servers of ``file``, with these options of
    ``tooltrue gateway``."""
    return ("gateway", file, *_absolute(options, _options_of("gateway")))


def _is_installed(module: str) -> bool:
    """Whether the module is found without the current folder: the client starts the server in another one.

    Modules that this process has loaded already are looked for too: they may come from the current folder.
    """
    here = os.path.realpath("")
    places: Sequence[str] | None = [place for place in sys.path if os.path.realpath(place) != here]
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        if places is None:  # the part before is a module without parts
            return False
        specs = (finder.find_spec(name, places) for finder in sys.meta_path)
        spec = next((each for each in specs if each is not None), None)
        if spec is None:
            return False
        places = spec.submodule_search_locations
    return True


def _options_of(verb: str) -> dict[str, str]:
    command: click.Command = load(f"tooltrue.cli.{verb}_verb:command")
    options = [param for param in command.params if isinstance(param, click.Option)]
    return {name: option.metavar or "" for option in options for name in option.opts}


def _absolute(words: Sequence[str], takes: dict[str, str]) -> Iterator[str]:
    """The words, with the paths absolute that options take, and those that are written as relative ones."""
    option = ""
    for word in words:
        name, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        if (url := _RELATIVE_URL.fullmatch(value)) is not None:
            yield f"{name}{equals}{url[1]}/{os.path.abspath(url[2])}"
        elif equals and takes.get(name) in _PATHS:
            yield f"{name}={os.path.abspath(os.path.expanduser(value))}"
        elif not word.startswith("-") and (takes.get(option) in _PATHS or _is_relative(word)):
            yield os.path.abspath(os.path.expanduser(word))
        else:
            yield word
        option = word if word.startswith("-") and not equals else ""


def _is_relative(word: str) -> bool:
    return word in (".", "..") or word.startswith(("./", "../", *(() if HAS_POSIX else (".\\", "..\\"))))
