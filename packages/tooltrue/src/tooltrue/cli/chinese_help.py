"""Commands with Chinese help: the texts of :mod:`tooltrue.cli.chinese_texts`, those of plugins, and Click's own, set in
terminal cells.

The English texts stand where the commands and options are declared. A command is copied before its texts are replaced,
so that the declared one stays English. Only a command line in Chinese loads this module.
"""

from __future__ import annotations

import copy
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import click

from tooltrue.cli.chinese_texts import CLICK, COMMANDS, DEFAULTS, PLACEHOLDERS, SHARED, TYPES, USAGE
from tooltrue.cli.language import current_language
from tooltrue.cli.plugins import CHINESE_HELP, load_plugin

__all__ = ["Formatter", "key_of", "texts_of", "translated", "translated_parameter", "translated_usage"]

C = TypeVar("C", bound=click.Command)

_CLICK_MODULES = ("core", "decorators", "exceptions", "formatting", "parser", "types")

# --- commands and their parameters ------------------------------------------------------------------------------------


def texts_of(path: Sequence[str]) -> Mapping[str, str]:
    """The texts of the command at ``path``: those of this distribution, or of the plugin that has the verb.

    ``ConfigurationError`` if the plugin's texts cannot be imported.
    """
    key = " ".join(path)
    if not path or path[0] in COMMANDS:
        return {**SHARED, **COMMANDS.get(key, {})}
    commands: Mapping[str, Mapping[str, str]] = load_plugin(CHINESE_HELP, path[0]) or {}
    return commands.get(key, {})


def translated(command: C, path: Sequence[str]) -> C:
    """A copy of the command at ``path`` with its texts in Chinese, and Click's own with them. English stays where there
    is no Chinese text."""
    _translate_click()
    texts = texts_of(path)
    result = copy.copy(command)
    vars(result)["_help_option"] = None  # Click makes it once, in the language of that time
    result.context_class = _Context
    result.help = texts.get("help", command.help)
    result.short_help = texts.get("short", command.short_help)
    result.epilog = texts.get("epilog", (command.epilog or "").replace("Example: ", CLICK["Example: "]))
    result.options_metavar = CLICK["[OPTIONS]"]
    if isinstance(result, click.Group):
        result.subcommand_metavar = CLICK["COMMAND [ARGS]..."]
    result.params = [translated_parameter(one, texts.get(key_of(one)), texts) for one in command.params]
    return result


def key_of(param: click.Parameter) -> str:
    """The key of a parameter in the catalogue: the longest spelling of an option, the name of an argument."""
    return max(param.opts, key=len)


def translated_parameter(param: click.Parameter, text: str | None, texts: Mapping[str, str]) -> click.Parameter:
    """A copy of a parameter with ``text`` as its help, and its placeholder in Chinese: from ``texts``, or the usual."""
    result = copy.copy(param)
    if isinstance(result, click.Option):
        result.help = text or result.help
        result.metavar = result.metavar and _chinese(result.metavar, texts, PLACEHOLDERS)
        if isinstance(result.show_default, str):
            result.show_default = _chinese(result.show_default, texts, DEFAULTS)
    result.type = copy.copy(param.type)
    result.type.name = TYPES.get(param.type.name, param.type.name)  # Click derives placeholders and errors from it
    return result


def _chinese(english: str, *tables: Mapping[str, str]) -> str:
    return next((table[english] for table in tables if english in table), english)


def translated_usage(text: str, path: Sequence[str]) -> str:
    """An error on the use of the command at ``path``, in Chinese."""
    return USAGE.get(text) or texts_of(path).get(text, text)


# --- Click's own texts ------------------------------------------------------------------------------------------------


def _translate_click() -> None:
    """Make Click's messages follow the language of the running command.

    Click passes each message through gettext. Its catalogue is a compiled file, and its language a variable of the
    environment that programs started by the command would inherit; so the two functions are replaced within Click.
    """
    for module in (sys.modules[f"click.{name}"] for name in _CLICK_MODULES):
        for name, function in (("_", _message), ("ngettext", _plural_message)):
            if hasattr(module, name):
                setattr(module, name, function)


def _message(text: str) -> str:
    return CLICK.get(text, text) if current_language() == "zh" else text


def _plural_message(singular: str, plural: str, count: int) -> str:
    return _message(singular if count == 1 else plural)


# --- layout -----------------------------------------------------------------------------------------------------------

_OPENING, _CLOSING = "（“「《", "，。；：、！？）”」》"
_PIECE = re.compile(
    rf"\s+|\[[^\[\]]+\]|[{_OPENING}]*(?:[\u2e80-\uffef]|[^\s\u2e80-\uffef{_OPENING}{_CLOSING}]+)?[{_CLOSING}]*"
)
"""Text that one line has to hold: a word, or a Chinese character, with its punctuation; or a part in brackets."""


def _cells(text: str) -> int:
    """The width of a text on a terminal, where a Chinese character takes two cells."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _lines(text: str, width: int) -> list[str]:
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1] and _cells(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
    return [line.rstrip() for line in lines]


class Formatter(click.HelpFormatter):
    """Wraps and aligns by terminal cells; a Chinese line may end after any character, and not before a comma.

    Click counts characters and ends lines at spaces only.
    """

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        super().write_usage(prog, args, CLICK["Usage:"] if prefix is None else prefix)

    def write_heading(self, heading: str) -> None:
        self.write(f"{'':>{self.current_indent}}{heading}：\n")

    def write_text(self, text: str) -> None:
        margin = " " * self.current_indent
        paragraphs = (_lines(one, self.width - self.current_indent) for one in text.split("\n\n"))
        self.write("\n\n".join("\n".join(margin + line for line in lines) for lines in paragraphs) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = list(rows)
        column = min(max(_cells(term) for term, _ in rows), col_max) + col_spacing
        margin = " " * (self.current_indent + column)
        for term, text in rows:
            first, *more = _lines(text, max(self.width - len(margin), 10))
            gap = column - _cells(term)
            between = " " * gap if gap >= col_spacing else f"\n{margin}"
            head = f"{'':>{self.current_indent}}{term}{between}{first}".rstrip()
            self.write("\n".join((head, *(margin + line for line in more))) + "\n")


class _Context(click.Context):
    formatter_class = Formatter
