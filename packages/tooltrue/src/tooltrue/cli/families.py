"""Tool families on the command line: ``tooltrue serve files --root DIR``, and the same for every command with a TARGET.

A family is a plugin (:mod:`tooltrue.cli.plugins`) that makes tools from options. A command has its options only if a
word of the command line names it; a command line without such a word, such as ``serve notes.py``, reads no metadata.
The words after ``--`` are the options of the author's program, such as ``serve notes.py -- --own-option``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tooltrue._internal.target_places import divided_target
from tooltrue.cli.language import current_language
from tooltrue.cli.plugins import FAMILIES, load_plugin, names_of, not_installed
from tooltrue.cli.usage import Verb
from tooltrue.cli.wording import OPTION_OF_ANOTHER_FAMILY, PLUGIN_NOT_A_FAMILY, PROGRAM_OPTIONS_WITHOUT_PROGRAM
from tooltrue.errors import ConfigurationError

if TYPE_CHECKING:
    from tooltrue.cli.targets import Spec
    from tooltrue.tools.local import LocalToolset

__all__ = ["Family", "FamilyOption", "FamilyOptions", "TargetVerb", "families_of"]


@dataclass(frozen=True, slots=True)
class FamilyOption:
    """An option of a family. It is repeatable; a family that wants one value takes the last.

    ``help`` and ``chinese`` are its help. A usual placeholder, such as FILE, needs no ``chinese_placeholder``. An
    option of several families is the same object for all of them.
    """

    name: str
    placeholder: str
    help: str
    chinese: str = ""
    chinese_placeholder: str = ""


def _no_values(spec: Spec) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Family:
    """A family of tools. ``make`` builds them from a spec, with the values of ``options``.

    ``instance`` names the objects that the tools work on, such as a folder or a database: an approval for one instance
    is not valid for another. ``stores`` are the family's own files, which no tool of another family may touch.
    ``searches``: callers search for its tools where their definitions take too many tokens to be listed.
    """

    make: Callable[[Spec], LocalToolset]
    options: tuple[FamilyOption, ...] = ()
    instance: Callable[[Spec], Sequence[str]] = _no_values
    stores: Callable[[Spec], Sequence[str]] = _no_values
    searches: bool = False


@dataclass(frozen=True, slots=True)
class FamilyOptions:
    """The options of families on a command line, and those of the author's ``program``. Plain data, for workers."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    program: tuple[str, ...] = ()

    def __getitem__(self, option: str) -> tuple[str, ...]:
        """The values of ``--option``; empty if it was not given."""
        return self.values.get(option, ())

    def one(self, option: str) -> str | None:
        """The last value of an option of which only one counts."""
        return self[option][-1] if self[option] else None

    def words(self) -> list[str]:
        """The last command-line arguments for another process."""
        options = [word for option, values in self.values.items() for value in values for word in (option, value)]
        return [*options, "--", *self.program] if self.program else options


# --- names ------------------------------------------------------------------------------------------------------------

_NAMES: Final = re.compile(r"[a-z][a-z0-9_-]*(?:,[a-z][a-z0-9_-]*)*")
"""A word that may name families, such as ``files,command``. A path, a URL or a command in quotes never does."""


def families_of(target: str) -> dict[str, Family]:
    """The families that a target names, in order; empty for another kind of target.

    ``ConfigurationError`` if a family cannot be loaded, or comes with a distribution that is not installed.
    """
    names = _names(target)
    installed = set(names_of(FAMILIES)) if names else set[str]()
    if not installed.issuperset(names):
        absent = {name: not_installed(FAMILIES, name) for name in names if name not in installed}
        error = next(iter(absent.values()))
        if error is not None and all(absent.values()):
            raise error
        return {}
    return {name: _family(name) for name in names}


def _names(word: str) -> list[str]:
    return list(dict.fromkeys(word.split(","))) if _NAMES.fullmatch(word) else []


def _family(name: str) -> Family:
    family = load_plugin(FAMILIES, name)
    if not isinstance(family, Family):
        raise ConfigurationError.of(PLUGIN_NOT_A_FAMILY, name=name, kind=type(family).__name__)
    return family


# --- options ----------------------------------------------------------------------------------------------------------

_OFFERED = "tooltrue.family_options"


class TargetVerb(Verb):
    """A command with a TARGET. It takes the options of the families that are named, and the words after ``--`` for the
    author's program, and receives them as ``family``, a :class:`FamilyOptions`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        args, program = _divided(args)
        takes_program = any(map(_is_program, args))
        named = [family for word in args for family in _installed(word)]
        offered = list(dict.fromkeys(option for family in named for option in family.options))
        ctx.meta[_OFFERED] = [_click_option(option) for option in offered]
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _missing(args) or _misplaced(error.option_name) or error from None
        values = {option.name: tuple(ctx.params.pop(_key(option), ())) for option in offered}
        if program and not takes_program:
            raise ConfigurationError.of(PROGRAM_OPTIONS_WITHOUT_PROGRAM, options=" ".join(program))
        ctx.params["family"] = FamilyOptions({name: given for name, given in values.items() if given}, tuple(program))
        return rest

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        place = sum(isinstance(param, click.Argument) for param in self.params)
        return [*params[:place], *ctx.meta.get(_OFFERED, ()), *params[place:]]


def _divided(args: list[str]) -> tuple[list[str], list[str]]:
    """The words before and after the first ``--``."""
    place = args.index("--") if "--" in args else len(args)
    return args[:place], args[place + 1 :]


def _is_program(word: str) -> bool:
    """Whether a word of the command line may be FILE.py, FILE.py:NAME or package.module:NAME."""
    is_command = " " in word and not Path(divided_target(word)[0]).is_file()
    return not is_command and _PROGRAM.fullmatch(word) is not None


_PROGRAM: Final = re.compile(r".+\.py(?::\w+)?|\w+(?:\.\w+)*:\w+", re.DOTALL)


def _installed(word: str) -> Iterator[Family]:
    """The families that a word of the command line names. Words may be anything, so missing families are no error."""
    names = _names(word)
    if names and set(names_of(FAMILIES)).issuperset(names):
        yield from map(_family, names)


def _click_option(option: FamilyOption) -> click.Parameter:
    made = click.Option([option.name, _key(option)], multiple=True, metavar=option.placeholder, help=option.help)
    if current_language() != "zh":
        return made
    from tooltrue.cli.chinese_help import translated_parameter  # noqa: PLC0415 - an English command loads no Chinese texts

    placeholders = {option.placeholder: option.chinese_placeholder} if option.chinese_placeholder else {}
    return translated_parameter(made, option.chinese, placeholders)


def _key(option: FamilyOption) -> str:
    return "family_" + option.name.strip("-").replace("-", "_")


def _missing(args: Sequence[str]) -> ConfigurationError | None:
    """The error for the first word that names a family of a distribution that is not installed."""
    errors = (not_installed(FAMILIES, name) for word in args for name in _names(word))
    return next(filter(None, errors), None)


def _misplaced(option: str) -> ConfigurationError | None:
    """The error for an option of families that the command line does not name."""
    owners = [name for name in names_of(FAMILIES) if _takes(name, option)]
    return (
        ConfigurationError.of(OPTION_OF_ANOTHER_FAMILY, option=option, families=", ".join(owners)) if owners else None
    )


def _takes(name: str, option: str) -> bool:
    try:
        return any(one.name == option for one in _family(name).options)
    except ConfigurationError:  # its own error is for a command line that names it
        return False
