"""An inventory of configured servers: the configuration files of well-known hosts, in the home and in projects."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.client.config import HostConfig, ServerConfig, document_of, read_config
from tooltrue.client.wording import CLIENT_CONFIG_WITHOUT_SERVERS
from tooltrue.errors import ConfigurationError
from tooltrue.host.client_files.clients import System, client_profiles, location
from tooltrue.host.launches import unpinned
from tooltrue.jsonrpc.messages import encode, is_object
from tooltrue.policy.audit.argument_masking import Masks
from tooltrue.protocol.types import Value

__all__ = ["ConfigFile", "Configured", "configured", "inventory"]

_NO_VARIABLES: Final[Mapping[str, str]] = {}
_PATHS: Final[System] = "linux" if HAS_POSIX else "windows"
"""The form of paths in variables; macOS has that of Linux."""
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
    environ: Mapping[str, str] = os.environ if home is None else _NO_VARIABLES
    candidates = dict.fromkeys(_candidates(places or (Path.cwd(),), home or Path.home(), environ))
    return [entry for host, file in candidates for entry in _read_file(host, file)]


def _candidates(places: Sequence[Path], home: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """The files of every system, since a home may have come from another one, and where the environment puts them."""
    clients = client_profiles().values()
    for client in clients:
        for template in (*client.files.values(), *client.also):
            for variables in (_NO_VARIABLES, environ):
                yield client.title, Path(location(template, _PATHS, variables, str(home)).as_posix())
    for place in places:
        if place.is_dir():
            yield from ((client.title, place / client.project) for client in clients if client.project is not None)
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
    return ConfigFile(host, config.name, tuple(map(configured, config.servers)))


def configured(one: ServerConfig) -> Configured:
    """A server as it is written, secrets masked."""
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
