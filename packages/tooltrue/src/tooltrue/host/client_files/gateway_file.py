"""The file with the servers of one client that stand behind the gateway, and the entries on their way into it.

The file belongs to this user alone and lies in the folder of the user's settings. Its form is that of the client's own
file, so that each entry keeps its keys. An entry is changed only where it would mean something else at its new place.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tooltrue._internal.platform.folders import configuration_folder_of
from tooltrue.client.config import HostConfig, ServerConfig, is_secret, refers_only
from tooltrue.host.client_files.clients import ClientProfile
from tooltrue.host.client_files.entry import is_gateway
from tooltrue.host.wording import REASON_ASKS_FOR_INPUT, REASON_NEEDS_OPEN_FOLDER, REASON_UNSUPPORTED_KEY
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.policy.audit.argument_masking import Masks

__all__ = ["Moved", "gateway_file", "keyring_names", "moved", "of_gateway", "with_keyring", "without_gateways"]

_WORKSPACE: Final = "${workspaceFolder}"
_REFERENCE: Final = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-[^{}]*)?\}")
_PLACES: Final = frozenset({"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator"})
_BARE: Final = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
"""A variable as some clients write it, beside ``${NAME}``."""
_KEYRING: Final = re.compile(r"\$\{keyring:([^{}]+)\}")
_VALUES: Final = ("env", "headers", "http_headers")


@dataclass(frozen=True, slots=True)
class Moved:
    """``entries`` as they stand in the file of the gateway, and the code of the reason for each server that stays.
    ``variables`` are the keys by which the entry of the gateway itself is handed the variables of its servers."""

    entries: Mapping[str, Mapping[str, Json]]
    staying: Mapping[str, str]
    variables: Mapping[str, Json]

    @classmethod
    def none(cls) -> Moved:
        return cls({}, {}, {})


def gateway_file(profile: ClientProfile, project: Path | None) -> Path:
    """The file for the servers of this client: those of the user, or of the project in this folder."""
    name = profile.name if project is None else f"{profile.name}-{_digest(os.path.realpath(project))}"
    return configuration_folder_of("tooltrue") / "gateway" / f"{name}.{profile.form}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def of_gateway(profile: ClientProfile) -> ClientProfile:
    """The form of the gateway's file: that of the client's, with the table that most clients have."""
    return replace(profile, table=("mcpServers",)) if profile.form == "json" else profile


def without_gateways(servers: Mapping[str, Json]) -> dict[str, Json]:
    """The servers that are no gateway themselves."""
    return {label: entry for label, entry in servers.items() if not is_gateway(entry)}


def moved(config: HostConfig, servers: Mapping[str, Json], profile: ClientProfile, *, in_project: bool) -> Moved:
    """The servers on their way behind the gateway. ``config`` is the client's file, as it is read here."""
    entries: dict[str, Mapping[str, Json]] = {}
    staying: dict[str, str] = {}
    variables: dict[str, str] = {}
    for one in config.servers:
        entry = servers.get(one.label)
        if not is_object(entry):
            continue
        if (reason := _reason_to_stay(one, entry, in_project=in_project)) is not None:
            staying[one.label] = reason
            continue
        entries[one.label] = _at_new_place(one, entry, config.folder)
        variables.update(_variables_of(entry))
    return Moved(entries, staying, _handed_on(variables, profile))


def _reason_to_stay(one: ServerConfig, entry: Json, *, in_project: bool) -> str | None:
    if one.unsupported is not None:
        return REASON_UNSUPPORTED_KEY
    texts = list(_texts(entry))
    if any("${input:" in text for text in texts):
        return REASON_ASKS_FOR_INPUT
    if not in_project and any("${workspaceFolder" in text for text in texts):
        return REASON_NEEDS_OPEN_FOLDER
    return None


def _at_new_place(one: ServerConfig, entry: Mapping[str, Json], folder: Path) -> dict[str, Json]:
    """The entry with the folder of the client's file written out, and variables in the notation of this library."""
    around = str(folder)

    def plain(text: str) -> str:
        return text.replace(_WORKSPACE, around).replace("${workspaceFolderBasename}", folder.name)

    placed: dict[str, Json] = _mapped(entry, plain)
    for key in _VALUES:
        if is_object(values := placed.get(key)):
            placed[key] = {name: _braced(value) for name, value in values.items()}
    if one.command is not None:
        placed["cwd"] = _from(around, placed.get("cwd", ""))
        if "envFile" in placed:
            placed["envFile"] = _from(around, placed["envFile"])
    return placed


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if is_array(value):
        return [_mapped(one, change) for one in value]
    return {key: _mapped(one, change) for key, one in value.items()} if is_object(value) else value


def _braced(value: Json) -> Json:
    return f"${{{value[1:]}}}" if isinstance(value, str) and _BARE.fullmatch(value) else value


def _from(folder: str, path: Json) -> Json:
    if not isinstance(path, str) or path.startswith(("~", "$")):
        return path
    return os.path.normpath(os.path.join(folder, path))


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif is_array(value):
        for one in value:
            yield from _texts(one)
    elif is_object(value):
        for one in value.values():
            yield from _texts(one)


def _variables_of(entry: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """The variables to which an entry refers, each with the reference as the client reads it."""
    for text in _texts(dict(entry)):
        yield from ((match[1], match[0]) for match in _REFERENCE.finditer(text) if match[1] not in _PLACES)
        if match := _BARE.fullmatch(text):
            yield match[1], text
    names = [*_texts(entry.get("env_vars")), *_texts(entry.get("env_http_headers"))]
    yield from ((name, name) for name in (*names, *_texts(entry.get("bearer_token_env_var"))))


def _handed_on(variables: Mapping[str, str], profile: ClientProfile) -> dict[str, Json]:
    if not variables:
        return {}
    return {"env_vars": list(variables)} if profile.form == "toml" else {"env": dict(variables)}


# --- the keyring ------------------------------------------------------------------------------------------------------


def with_keyring(
    file: Path, entries: Mapping[str, Mapping[str, Json]]
) -> tuple[dict[str, Mapping[str, Json]], dict[str, str]]:
    """The entries with a reference in the place of each secret of a variable or header, and the secrets by name."""
    secrets: dict[str, str] = {}

    def kept(label: str, variable: str, value: Json) -> Json:
        if not isinstance(value, str) or refers_only(value) or not _is_secret(variable, value):
            return value
        name = re.sub(r"[{}]", "_", f"{file.stem}/{label}/{variable}")
        secrets[name] = value
        return f"${{keyring:{name}}}"

    changed: dict[str, Mapping[str, Json]] = {}
    for label, entry in entries.items():
        tables = {key: table for key in _VALUES if is_object(table := entry.get(key))}
        stored = {key: {name: kept(label, name, one) for name, one in table.items()} for key, table in tables.items()}
        changed[label] = {**entry, **stored}
    return changed, secrets


def _is_secret(name: str, value: str) -> bool:
    return bool(value) and (is_secret(name) or Masks().text(value) != value)


def keyring_names(text: str | None) -> frozenset[str]:
    """The values of the keyring to which the text of a file refers."""
    return frozenset(_KEYRING.findall(text or ""))
