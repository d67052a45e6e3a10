"""The settings of the toolbox families on the command line: the same options for every command with a TARGET."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import click

__all__ = ["Family", "options"]

# the option, its placeholder, and its help; each is repeatable, and applies to the families named in its help
_OPTIONS: Final = (
    ("--root", "DIR", "files, command, tables: a folder that the tools may use. Repeatable."),
    (
        "--access",
        "HOW",
        "files, sql: read or write; read omits tools that write. Default: write for files, read for sql.",
    ),
    ("--commands", "FILE", "command: the allow-list, such as commands.toml."),
    ("--allow", "COMMAND", "command: allow it as it is, such as 'git status'. Repeatable."),
    ("--confinement", "HOW", "command: required, or available, which runs also where programs cannot be confined."),
    ("--store", "FILE", "settings: the file that stores settings and the log."),
    ("--catalog", "FILE", "catalog: the products, one JSON object a line; a sample otherwise."),
    ("--currency", "CODE", "catalog: the currency of prices, such as EUR."),
    ("--database", "URL", "sql: sqlite:///FILE, duckdb:///FILE, postgresql://…, mysql://…; or $TOOLTRUE_DATABASE."),
    ("--table", "PATTERN", "sql: only tables whose names match. Repeatable."),
    ("--hide", "PATTERN", "sql: hide this table, or TABLE.COLUMN. Repeatable."),
    ("--allow-function", "NAME", "sql: a further function for statements. Repeatable."),
    ("--roles", "HOW", "sql: any also accepts a role that can reach files of the server, or hidden data."),
    ("--smtp", "URL", "mail: the server, smtp://[USER@]HOST[:PORT] or smtps://…"),
    ("--mail-from", "ADDRESS", "mail: the sender."),
    ("--mail-to", "ADDRESS", "mail: an allowed recipient, or @DOMAIN. Repeatable."),
    ("--inside", "URL", "web: a host and port of a private network that may be fetched from. Repeatable."),
    ("--robots", "HOW", "web: obey asks robots.txt first; ignore, the default, does not."),
    ("--places-url", "URL", "web: the service that finds places, with the API of Open-Meteo."),
    ("--weather-url", "URL", "web: the weather service, with the API of Open-Meteo."),
    ("--repo", "OWNER/REPO", "github: a repository that may be used; OWNER/* for all of an owner. Repeatable."),
    ("--github-url", "URL", "github: the API, if it is not https://api.github.com."),
    ("--translate-url", "URL", "language: the translation service, with the API of LibreTranslate."),
)


@dataclass(frozen=True, slots=True)
class Family:
    """The options of toolbox families. Plain data, for workers."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def __getitem__(self, option: str) -> tuple[str, ...]:
        """The values of ``--option``; empty if it was not given."""
        return self.values.get(option, ())

    def one(self, option: str) -> str | None:
        """The last value of an option of which only one counts."""
        return self[option][-1] if self[option] else None

    def words(self) -> list[str]:
        """The command-line arguments for another process."""
        return [word for option, values in self.values.items() for value in values for word in (option, value)]


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all families, which the command receives together as ``family``."""

    @functools.wraps(function)
    def gathered(*args: Any, **others: Any) -> Any:
        by_option = {option: others.pop(_name(option)) for option, _, _ in _OPTIONS}
        return function(
            *args, family=Family({option: values for option, values in by_option.items() if values}), **others
        )

    command: Callable[..., Any] = gathered
    for option, placeholder, text in reversed(_OPTIONS):
        command = click.option(option, _name(option), multiple=True, metavar=placeholder, help=text)(command)
    return command


def _name(option: str) -> str:
    return "family_" + option.strip("-").replace("-", "_")
