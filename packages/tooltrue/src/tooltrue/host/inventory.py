"""An inventory of configured servers: the configuration files of well-known hosts, in the home and in projects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tooltrue.client.config import HostConfig, ServerConfig, document_of, read_config
from tooltrue.client.wording import CLIENT_CONFIG_WITHOUT_SERVERS
from tooltrue.errors import ConfigurationError
from tooltrue.host.launches import unpinned
from tooltrue.jsonrpc.messages import encode, is_object
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.protocol.types import Value

__all__ = ["ConfigFile", "Configured", "inventory"]

_HOME: Final = (
    ("Claude Desktop", ".config/Claude/claude_desktop_config.json"),
    ("Claude Desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
    ("Claude Desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
    ("Claude Code", ".claude.json"),
    ("Claude Code", ".claude/settings.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("VS Code", ".config/Code/User/mcp.json"),
    ("VS Code", ".config/Code/User/settings.json"),
    ("VS Code", "Library/Application Support/Code/User/mcp.json"),
    ("VS Code", "AppData/Roaming/Code/User/mcp.json"),
    ("Windsurf", ".codeium/windsurf/mcp_config.json"),
    ("Codex", ".codex/config.toml"),
    ("Gemini", ".gemini/settings.json"),
    ("Copilot", ".copilot/mcp-config.json"),
    ("Kiro", ".kiro/settings/mcp.json"),
    ("LM Studio", ".lmstudio/mcp.json"),
    ("Amazon Q", ".aws/amazonq/mcp.json"),
)
_PROJECT: Final = (
    ("Claude Code", ".mcp.json"),
    ("Cursor", ".cursor/mcp.json"),
    ("VS Code", ".vscode/mcp.json"),
    ("Codex", ".codex/config.toml"),
    ("Gemini", ".gemini/settings.json"),
    ("Kiro", ".kiro/settings/mcp.json"),
    ("Amazon Q", ".amazonq/mcp.json"),
    ("Roo Code", ".roo/mcp.json"),
)
_SHARED: Final = frozenset({"settings.json", ".claude.json", "config.toml"})
"""Files with other purposes as well, which need not name a server."""


class Configured(Value, frozen=True):
    """A server that a file names. ``how`` is its command or its address as it is written, secrets masked; ``unpinned``
    are its packages without a fixed version."""

    label: str
    kind: str
    how: str
    enabled: bool
    unpinned: tuple[str, ...] = ()


class ConfigFile(Value, frozen=True):
    """A file, and the servers it names; ``problem`` is why it cannot be read."""

    host: str
    file: str
    servers: tuple[Configured, ...] = ()
    problem: str = ""


def inventory(places: Sequence[Path] = (), home: Path | None = None) -> list[ConfigFile]:
    """The files in the home and in ``places``: files, or folders of projects; by default the current folder."""
    candidates = dict.fromkeys(_candidates(places or (Path.cwd(),), home or Path.home()))
    return [entry for host, file in candidates for entry in _read_file(host, file)]


def _candidates(places: Sequence[Path], home: Path) -> Iterator[tuple[str, Path]]:
    yield from ((host, home / name) for host, name in _HOME)
    for place in places:
        if place.is_dir():
            yield from ((host, place / name) for host, name in _PROJECT)
        else:
            yield "", place


def _read_file(host: str, file: Path) -> Iterator[ConfigFile]:
    if host and not file.is_file():
        return
    try:
        yield _config_file(host, read_config(file))
    except ConfigurationError as error:
        if not (host and file.name in _SHARED and error.code == CLIENT_CONFIG_WITHOUT_SERVERS):
            yield ConfigFile(host, str(file), problem=str(error))
    if file.name == ".claude.json":
        yield from _of_projects(host, file)


def _of_projects(host: str, file: Path) -> Iterator[ConfigFile]:
    """The project servers of Claude Code, which it keeps in the file of the home, below each project's folder."""
    try:
        projects = document_of(file).get("projects")
    except ConfigurationError:
        return  # already reported
    for folder, project in (projects if is_object(projects) else {}).items():
        servers = project.get("mcpServers") if is_object(project) else None
        if servers:
            name = f"{file} ({folder})"
            try:
                yield _config_file(host, read_config(name, encode({"mcpServers": servers}).decode()))
            except ConfigurationError as error:
                yield ConfigFile(host, name, problem=str(error))


def _config_file(host: str, config: HostConfig) -> ConfigFile:
    return ConfigFile(host, config.name, tuple(map(_configured, config.servers)))


def _configured(one: ServerConfig) -> Configured:
    if one.url is not None:
        return Configured(one.label, "http", Masks().text(one.url), one.enabled)
    words = (one.command or "", *one.args)
    return Configured(one.label, "stdio", " ".join(_masked(words)), one.enabled, unpinned(words))


def _masked(words: Sequence[str]) -> Iterator[str]:
    """The words of a command, with secrets masked: by their looks, or by the name of the option before them."""
    option = ""
    for word in words:
        name, equals, value = word.partition("=") if word.startswith("-") else (option, "", word)
        (clean,) = (
            Masks().mask({name.lstrip("-"): value if equals or not word.startswith("-") else ""}, None)[0].values()
        )
        if not word.startswith("-"):
            yield clean
        else:
            yield f"{name}={clean}" if equals else word
        option = word if word.startswith("-") and not equals else ""
