"""Edits of a client's file: servers are added, replaced or removed, and everything else stays as it is.

``edit_text`` is pure: text to text. Its result is parsed by the readers of :mod:`tooltrue.client.config`, which share
no code with the editors, and refused if anything but the servers in question has changed its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrue.client.config import document_of
from tooltrue.errors import ConfigurationError, fact_of
from tooltrue.host.client_files import json_edit, toml_edit
from tooltrue.host.client_files.clients import ClientProfile
from tooltrue.host.client_files.json_edit import EditRefused, same
from tooltrue.host.wording import (
    CLIENT_FILE_NOT_EDITED,
    REASON_EDIT_NOT_VERIFIED,
    REASON_NO_OBJECT_AT,
)
from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue.wording import Worded

__all__ = ["Changes", "edit_text", "servers_in"]

Changes = Mapping[str, Mapping[str, Json] | None]
"""Servers by name: the entry that is to stand in the file, or None if none is."""


def servers_in(file: str, text: str, profile: ClientProfile) -> dict[str, Json]:
    """The servers that stand in the table of this client. ``ConfigurationError`` if the text cannot be read."""
    return _table(file, _parsed(file, text, profile), profile)


def edit_text(file: str, text: str, profile: ClientProfile, changes: Changes) -> str:
    """The text with these servers changed. ``file`` is its name in errors.

    ``ConfigurationError`` if the text cannot be read, holds a key twice, or cannot be edited so that everything else
    stays.
    """
    before = _parsed(file, text, profile)
    _table(file, before, profile)
    try:
        after_text = _edited(text, profile, changes)
    except EditRefused as refused:
        raise ConfigurationError.of(CLIENT_FILE_NOT_EDITED, file=file, problem=refused.problem) from None
    expected = _with_changes(before, profile.table, changes)
    after = _parsed(file, after_text, profile)
    if not same(_without_empty(after, profile.table), _without_empty(expected, profile.table)):
        raise ConfigurationError.of(CLIENT_FILE_NOT_EDITED, file=file, problem=Worded(REASON_EDIT_NOT_VERIFIED, {}))
    return after_text


def _edited(text: str, profile: ClientProfile, changes: Changes) -> str:
    for name, entry in changes.items():
        path = (*profile.table, name)
        if profile.form == "toml":
            text = toml_edit.without_table(text, path) if entry is None else toml_edit.with_table(text, path, entry)
        else:
            text = (
                json_edit.without_member(text, path)
                if entry is None
                else json_edit.with_member(text, path, dict(entry))
            )
    return text


def _parsed(file: str, text: str, profile: ClientProfile) -> dict[str, Any]:
    plain = text.removeprefix("\ufeff")
    if profile.form == "json" and not plain.strip():
        return {}
    try:
        return document_of(file, plain, is_toml=profile.form == "toml")
    except ConfigurationError as error:
        problem = (_json_problem(text) if profile.form == "json" else None) or fact_of(error)
        raise ConfigurationError.of(CLIENT_FILE_NOT_EDITED, file=file, problem=problem) from None


def _json_problem(text: str) -> Worded | None:
    """Return the fault of JSON, with its place; None if the editor can read it."""
    try:
        json_edit.parse(text)
    except EditRefused as refused:
        return refused.problem
    return None


def _table(file: str, document: dict[str, Any], profile: ClientProfile) -> dict[str, Json]:
    table: Any = document
    for depth, key in enumerate(profile.table, start=1):
        if key not in table:
            return {}
        table = table[key]
        if not is_object(table):
            problem = Worded(REASON_NO_OBJECT_AT, {"path": ".".join(("$", *profile.table[:depth]))})
            raise ConfigurationError.of(CLIENT_FILE_NOT_EDITED, file=file, problem=problem)
    return table


def _with_changes(document: dict[str, Any], path: tuple[str, ...], changes: Changes) -> dict[str, Any]:
    if not path:
        kept = {name: entry for name, entry in document.items() if name not in changes}
        return {**kept, **{name: dict(entry) for name, entry in changes.items() if entry is not None}}
    return {**document, path[0]: _with_changes(document.get(path[0], {}), path[1:], changes)}


def _without_empty(document: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The document without the table at ``path`` if that is empty: in TOML a table without entries need not exist."""
    if not path or path[0] not in document:
        return document
    inner = _without_empty(document[path[0]], path[1:])
    rest = {key: value for key, value in document.items() if key != path[0]}
    return {**rest, path[0]: inner} if inner else rest
