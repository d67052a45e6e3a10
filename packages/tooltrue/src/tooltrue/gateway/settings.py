"""The settings of a gateway in the operator's file: ``[gateway]``, and ``[servers.NAME]`` for each of its servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from tooltrue.client.config import HostConfig, ServerConfig, read_config
from tooltrue.client.question_limits import QuestionLimits
from tooltrue.errors import ConfigurationError
from tooltrue.gateway.callers import ConnectionBounds
from tooltrue.gateway.held_operations import MOST_HELD
from tooltrue.gateway.upstream_traffic import UpstreamLimits
from tooltrue.gateway.wording import GATEWAY_KEY_TWICE, GATEWAY_SERVER_UNKNOWN
from tooltrue.host.client_files.json_edit import EditRefused, parse
from tooltrue.policy.config import OperatorConfig
from tooltrue.spelling import closest
from tooltrue.tools.search.searchable import ToolSearch

__all__ = [
    "bounds_of",
    "has_pins",
    "is_program",
    "question_limits_of",
    "read_servers",
    "tool_search_of",
    "upstream_limits_of",
    "with_settings",
]


def read_servers(file: str) -> HostConfig:
    """Read the file of the servers. Raises ``ConfigurationError``, for two servers of one label with the line of the
    second."""
    try:
        return read_config(file)
    except ConfigurationError as error:
        raise _key_twice(file) or error from None


def _key_twice(file: str) -> ConfigurationError | None:
    """The error for a key that stands twice in one object of a JSON file."""
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    try:
        parse(text)
    except EditRefused as refused:
        if refused.at is not None:
            place = f"{file}:{text.count(chr(10), 0, refused.at) + 1}"
            return ConfigurationError.of(GATEWAY_KEY_TWICE, place=place, problem=refused.problem)
    return None


def bounds_of(operator: OperatorConfig | None) -> ConnectionBounds:
    names = ConnectionBounds.__struct_fields__
    return ConnectionBounds(**{name: value for name, value in _gateway(operator).items() if name in names})


def question_limits_of(operator: OperatorConfig | None) -> QuestionLimits:
    settings = _gateway(operator)
    minute = {"per_minute": settings["questions"]} if "questions" in settings else {}
    return QuestionLimits(waiting=MOST_HELD, **minute)  # an operation is held while its question waits


def has_pins(operator: OperatorConfig | None) -> bool:
    return _gateway(operator).get("pins", True)


def tool_search_of(operator: OperatorConfig | None) -> ToolSearch:
    """The settings of the search for tools, which begins where definitions take more than the budget."""
    return ToolSearch(**({} if operator is None else operator.tables.get("search", {})))


def _gateway(operator: OperatorConfig | None) -> Mapping[str, Any]:
    return {} if operator is None else operator.tables.get("gateway", {})


def upstream_limits_of(operator: OperatorConfig | None, label: str) -> UpstreamLimits:
    names, settings = UpstreamLimits.__struct_fields__, _servers(operator).get(label, {})
    return UpstreamLimits(**{name: value for name, value in settings.items() if name in names})


def _servers(operator: OperatorConfig | None) -> Mapping[str, Mapping[str, Any]]:
    return {} if operator is None else operator.tables.get("servers", {})


def with_settings(config: HostConfig, operator: OperatorConfig | None) -> HostConfig:
    """Apply ``[servers.NAME]``. Raises ``ConfigurationError`` for a name that is no server of ``config``."""
    tables = _servers(operator)
    labels = [one.label for one in config.servers]
    for name in tables:
        if operator is not None and name not in labels:
            raise ConfigurationError.of(
                GATEWAY_SERVER_UNKNOWN,
                place=operator.place(("servers", name)),
                name=name,
                file=config.name,
                nearest=closest(name, labels) or ", ".join(labels),
            )
    return replace(config, servers=tuple(_with(one, tables.get(one.label, {})) for one in config.servers))


def _with(one: ServerConfig, settings: Mapping[str, Any]) -> ServerConfig:
    return replace(one, **{name: settings[name] for name in _OF_A_SERVER & settings.keys()})


_OF_A_SERVER = frozenset(field.name for field in fields(ServerConfig))


def is_program(one: ServerConfig) -> bool:
    """Whether the gateway starts this server as a program."""
    return one.command is not None and one.enabled
