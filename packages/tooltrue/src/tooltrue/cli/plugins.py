"""Plugins of the command: verbs and tool families of other distributions, which entry points announce.

The groups are ``tooltrue.verbs`` (a name → a Click command), ``tooltrue.chinese_help`` (the name of a verb → the
Chinese texts of its commands) and ``tooltrue.families`` (a name → a :class:`tooltrue.cli.families.Family`). A listing
reads metadata only; one in Chinese also reads the Chinese texts. A plugin is imported when its name is used, and
refused then if a second distribution offers the same name.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tooltrue.cli.wording import DISTRIBUTION_NOT_INSTALLED, PLUGIN_NAME_AMBIGUOUS, PLUGIN_NOT_LOADABLE
from tooltrue.errors import ConfigurationError
from tooltrue.extras import companion_command

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["CHINESE_HELP", "CONSOLES", "FAMILIES", "VERBS", "load_plugin", "names_of", "not_installed", "summary_of"]

VERBS = "tooltrue.verbs"
CHINESE_HELP = "tooltrue.chinese_help"
FAMILIES = "tooltrue.families"
CONSOLES = "tooltrue.consoles"

_CHECK, _CONSOLE, _TOOLBOX = "tooltrue-check", "tooltrue-console", "tooltrue-toolbox"
_SUMMARIES: Mapping[str, str] = {
    "check": "Find what is wrong with tools, before a model does.",
    "console": "Watch, approve and investigate in a browser.",
    "diff": "Show changes in the contract of a server.",
    "doctor": "Find what goes wrong with tools in use.",
    "eval": "See which tool a model chooses for a question.",
    "find": "See whether a search finds these tools.",
    "lock": "Write the contract of a server to a file.",
    "openapi": "Plan the tools of an HTTP API; describe tools as one.",
}
_COMPANIONS: Mapping[str, Mapping[str, str]] = {
    VERBS: {**dict.fromkeys(_SUMMARIES, _CHECK), "console": _CONSOLE, "openapi": _TOOLBOX},
    CONSOLES: {"console": _CONSOLE},
    FAMILIES: {
        **dict.fromkeys(("catalog", "command", "files", "github", "language", "mail"), _TOOLBOX),
        **dict.fromkeys(("math", "openapi", "settings", "sql", "tables", "web"), _TOOLBOX),
    },
}
"""The plugins of this project's other distributions, so that the error for a missing one can say where it is."""


@functools.cache
def _plugins(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - a command line without plugins reads no metadata

    named: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=group):
        others = named.get(point.name, ())
        if point not in others:  # a distribution can be found in two folders of the path
            named[point.name] = (*others, point)
    return named


def names_of(group: str) -> tuple[str, ...]:
    """The names of all installed plugins of a group, sorted. No plugin is imported."""
    return tuple(sorted(_plugins(group)))


def summary_of(verb: str) -> str:
    """The line on a plugin's verb in a listing, which imports no plugin."""
    (point, *_) = _plugins(VERBS)[verb]
    return _SUMMARIES.get(verb) or f"From {_distribution(point)}."


def load_plugin(group: str, name: str) -> Any:
    """Import the plugin called ``name``; ``None`` if there is none.

    ``ConfigurationError`` if two distributions offer the name, or the plugin cannot be imported.
    """
    match _plugins(group).get(name, ()):
        case ():
            return None
        case (point,):
            return _loaded(point)
        case points:
            distributions = ", ".join(sorted(map(_distribution, points)))
            raise ConfigurationError.of(PLUGIN_NAME_AMBIGUOUS, name=name, distributions=distributions)


def _loaded(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        problem = f"{type(error).__name__}: {error}"
        raise ConfigurationError.of(
            PLUGIN_NOT_LOADABLE, name=point.name, distribution=_distribution(point), problem=problem
        ) from error


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def not_installed(group: str, name: str) -> ConfigurationError | None:
    """The error for a plugin of this project whose distribution is not installed; ``None`` for other names."""
    distribution = _COMPANIONS[group].get(name)
    if distribution is None or name in _plugins(group):
        return None
    return ConfigurationError.of(
        DISTRIBUTION_NOT_INSTALLED, name=name, distribution=distribution, command=companion_command(distribution)
    )
