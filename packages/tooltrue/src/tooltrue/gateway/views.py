"""The views of a gateway in the operator's file: ``[views.NAME]``.

A view is a part of the catalogue, under names and descriptions of its own, for some callers, behind rules of its own.
All that can be known before the servers run is checked then: the names of tools come from the pins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from tooltrue.errors import ConfigurationError
from tooltrue.gateway.caller_grants import PAGE
from tooltrue.gateway.wording import (
    RULE_OF_UNKNOWN_VIEW,
    VIEW_NAME_INVALID,
    VIEW_NAME_OF_TWO_TOOLS,
    VIEW_NAME_RESERVED,
    VIEW_SERVER_UNKNOWN,
    VIEW_SHOWS_NOTHING,
    VIEW_TOOL_NAME_INVALID,
    VIEW_TOOL_UNKNOWN,
    VIEWS_WITH_SEVERAL_DEFAULTS,
)
from tooltrue.host.catalogue import Selection
from tooltrue.policy.config import OperatorConfig
from tooltrue.policy.rules.globs import Globs, globs
from tooltrue.policy.rules.lint import unmatched
from tooltrue.protocol.name_rules import is_name
from tooltrue.protocol.types import Value, replaced
from tooltrue.spelling import closest
from tooltrue.tools.search.searchable import ToolSearch
from tooltrue.transport.http_server import RESERVED

__all__ = ["ViewSettings", "check_known_names", "view_problems", "views_of"]

_RESERVED: Final = (*RESERVED, "tools", "console", PAGE.strip("/"))
"""The first segments of paths of the gateway, also of those that it serves by an option alone."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

KnownTools = Mapping[str, Collection[str] | None]
"""The names of the tools of each server on the host; ``None`` for a server whose tools are not known yet."""


class ViewSettings(Value, frozen=True):
    """One view. ``instructions`` replace those of its servers. ``principals`` and ``scopes`` are those of its callers
    over HTTP; a caller needs all of the scopes. With ``searches``, callers search for tools. ``is_default``: it is
    served at ``/mcp``, and on stdio without a name."""

    name: str
    selection: Selection
    instructions: str | None = None
    principals: Globs | None = None
    scopes: frozenset[str] = frozenset()
    searches: bool = False
    is_default: bool = False

    def search_in(self, search: ToolSearch) -> ToolSearch:
        """The search of this view, where the gateway has ``search``."""
        return replaced(search, always=True) if self.searches else search

    @property
    def path(self) -> str:
        return "/mcp" if self.is_default else f"/{self.name}/mcp"

    def tools_of(self, tools_by_server: KnownTools) -> Iterator[str]:
        """The names on the host of the known tools that the view shows."""
        for label, names in tools_by_server.items():
            if self.selection.has_server(label):
                yield from filter(self.selection.has_tool, names or ())

    def is_known(self, tools_by_server: KnownTools) -> bool:
        """Whether the tools of all its servers are known."""
        return all(names is not None for label, names in tools_by_server.items() if self.selection.has_server(label))


def views_of(operator: OperatorConfig | None, labels: Sequence[str], file: str) -> tuple[ViewSettings, ...]:
    """Read the views of a gateway before the servers ``labels`` of ``file``. Raises ``ConfigurationError``."""
    if operator is None:
        return ()
    tables: Mapping[str, Mapping[str, Any]] = operator.tables.get("views", {})
    views = tuple(_view(operator, name, table, labels, file) for name, table in tables.items())
    if len(defaults := [view.name for view in views if view.is_default]) > 1:
        place = operator.place(("views", defaults[1], "default"))
        raise ConfigurationError.of(VIEWS_WITH_SEVERAL_DEFAULTS, place=place, name=defaults[1], other=defaults[0])
    _check_rules(operator, [view.name for view in views])
    return views


def _view(
    operator: OperatorConfig, name: str, table: Mapping[str, Any], labels: Sequence[str], file: str
) -> ViewSettings:
    place = operator.place(("views", name))
    if name.casefold() in _RESERVED:
        raise ConfigurationError.of(VIEW_NAME_RESERVED, place=place, name=name)
    if not _NAME.fullmatch(name):
        raise ConfigurationError.of(VIEW_NAME_INVALID, place=place, name=ascii(name))
    selection = Selection(
        _globs(table, "servers"), _globs(table, "tools"), table.get("names", {}), table.get("descriptions", {})
    )
    for pattern in selection.servers.patterns if selection.servers is not None else ():
        if not any(map(globs(pattern).match, labels)):
            nearest = closest(pattern, labels) or ", ".join(labels)
            at = operator.place(("views", name, "servers"))
            facts = {"place": at, "view": name, "server": pattern, "file": file, "nearest": nearest}
            raise ConfigurationError.of(VIEW_SERVER_UNKNOWN, **facts)
    for new_name, times in Counter(selection.names.values()).items():
        at = operator.place(("views", name, "names"))
        if not is_name(new_name):
            raise ConfigurationError.of(VIEW_TOOL_NAME_INVALID, place=at, view=name, name=ascii(new_name))
        if times > 1:
            raise ConfigurationError.of(VIEW_NAME_OF_TWO_TOOLS, place=at, view=name, name=new_name)
    scopes = table.get("scopes", ())
    return ViewSettings(
        name,
        selection,
        table.get("instructions"),
        _globs(table, "principals"),
        frozenset([scopes] if isinstance(scopes, str) else scopes),
        table.get("search", False),
        table.get("default", False),
    )


def _globs(table: Mapping[str, Any], key: str) -> Globs | None:
    return globs(table[key]) if key in table else None


def _check_rules(operator: OperatorConfig, names: Sequence[str]) -> None:
    for rule in operator.rules.rules if operator.rules is not None else ():
        for pattern in rule.view.patterns if rule.view is not None else ():
            if not any(map(globs(pattern).match, names)):
                place = operator.place(("rules", rule.number, "view"))
                nearest = closest(pattern, names) or ", ".join(names) or "-"
                raise ConfigurationError.of(RULE_OF_UNKNOWN_VIEW, place=place, name=pattern, nearest=nearest)


# --- as far as the tools are known ------------------------------------------------------------------------------------


def check_known_names(
    operator: OperatorConfig, views: Sequence[ViewSettings], tools_by_server: KnownTools, own: Collection[str]
) -> None:
    """Raise ``ConfigurationError`` for the first view or rule that refers to no tool, of those whose servers are all
    known. ``own`` are the names of the gateway's own tools."""
    for view in views:
        for problem in view_problems(operator, view, tools_by_server):
            raise problem
    for rule in operator.rules.rules if operator.rules is not None else ():
        concerned = [view for view in views if rule.is_for_view(view.name)] if views else [_EVERYTHING]
        if all(view.is_known(tools_by_server) for view in concerned):
            names = [view.selection.called(name) for view in concerned for name in view.tools_of(tools_by_server)]
            for problem in unmatched(rule, {"tools": [*names, *own]}, operator.place):
                raise problem


_EVERYTHING: Final = ViewSettings("", Selection())


def view_problems(
    operator: OperatorConfig, view: ViewSettings, tools_by_server: KnownTools
) -> Iterator[ConfigurationError]:
    """Yield an error for each reference of a view to no tool; none while one of its servers is not known."""
    selection, view_names = view.selection, [*view.tools_of(tools_by_server)]
    if not view.is_known(tools_by_server):
        return
    if not view_names:
        yield ConfigurationError.of(VIEW_SHOWS_NOTHING, place=operator.place(("views", view.name)), view=view.name)
    for key, names in (("names", selection.names), ("descriptions", selection.descriptions)):
        for name in names:
            if name not in view_names:
                place = operator.place(("views", view.name, key, name))
                yield _unknown_tool(place, view, name, view_names)
    for pattern in selection.tools.patterns if selection.tools is not None else ():
        if not any(map(globs(pattern).match, view_names)):
            every = [
                name for label, names in tools_by_server.items() if selection.has_server(label) for name in names or ()
            ]
            yield _unknown_tool(operator.place(("views", view.name, "tools")), view, pattern, every)
    for new_name, times in Counter(map(selection.called, view_names)).items():
        if times > 1:
            place = operator.place(("views", view.name, "names"))
            yield ConfigurationError.of(VIEW_NAME_OF_TWO_TOOLS, place=place, view=view.name, name=new_name)


def _unknown_tool(place: str, view: ViewSettings, name: str, view_names: Collection[str]) -> ConfigurationError:
    nearest = closest(name, view_names) or ", ".join(sorted(view_names)[:5])
    return ConfigurationError.of(VIEW_TOOL_UNKNOWN, place=place, view=view.name, name=name, nearest=nearest)
