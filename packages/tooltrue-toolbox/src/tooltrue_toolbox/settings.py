"""The settings tools: named values that are set, read, listed and deleted, and an append-only log.

Setting a value is an upsert: it creates or replaces, and a repetition has no effect. Adding to the log is not
idempotent: each call adds an entry, unless it has an idempotency key by which a repetition is recognised. Both are one
transaction of one SQLite file that several processes may share.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic rejects the one of typing before Python 3.12

from tooltrue.errors import ToolError
from tooltrue.tools.local import LocalToolset
from tooltrue.wording import LABEL_NONE, Worded
from tooltrue_toolbox.database import Rows, SqliteStore
from tooltrue_toolbox.registration import add_tools, tool
from tooltrue_toolbox.wording import (
    EVENT_LOG_FULL,
    IDEMPOTENCY_KEY_REUSED,
    SETTING_KEY_NOT_FOUND,
    SETTING_VERSION_CONFLICT,
    TOO_MANY_STORED_SETTINGS,
)

__all__ = ["SettingLimits", "Settings", "toolset"]

_KIND = 0x7477_0001
_TABLES = (
    "CREATE TABLE IF NOT EXISTS settings (key TEXT PRIMARY KEY, value TEXT NOT NULL, version INTEGER NOT NULL, "
    "changed TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL, "
    "level TEXT NOT NULL, message TEXT NOT NULL, once TEXT UNIQUE) STRICT",
    "CREATE INDEX IF NOT EXISTS log_level ON log (level, number)",
)

Level = Literal["debug", "info", "warning", "error"]
_MOST = 2**53 - 1
"""The largest number of a version or an entry: the largest integer that every reader of JSON represents exactly."""
_KEY = r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$"

Key = Annotated[
    str,
    "Name of the setting: letters, digits and . _ : / -, e.g. 'mail.footer'. Case counts. Use list_config to find it",
    Field(pattern=_KEY),
]


@dataclass(frozen=True, slots=True)
class SettingLimits:
    """Limits of the store."""

    settings: int = 10_000
    entries: int = 1_000_000
    page_bytes: int = 128 << 10
    """Of the values in one listing, as UTF-8."""


class Setting(TypedDict):
    """A named value."""

    key: str
    value: str
    version: Annotated[int, Field(description="Grows with each change; give it to set_config as if_version", ge=1)]
    changed: Annotated[str, Field(description="When it was changed last, UTC")]


class ChangedSetting(Setting):
    """A setting as it is now."""

    created: Annotated[bool, Field(description="Whether there was no such setting before")]
    previous: NotRequired[Annotated[str, Field(description="The value before; set it again to undo the change")]]


class DeletedSetting(TypedDict):
    """What became of a setting."""

    key: str
    deleted: Annotated[bool, Field(description="Whether there was one; there is none now in either case")]
    previous: NotRequired[Annotated[str, Field(description="The value before; set it again to undo the deletion")]]


class SettingsPage(TypedDict):
    """Settings in the order of their keys."""

    settings: list[Setting]
    next_cursor: NotRequired[
        Annotated[str, Field(description="There are more settings: list again with this as cursor")]
    ]


class LogEntry(TypedDict):
    """An entry of the log."""

    number: Annotated[int, Field(description="Grows with each entry", ge=1)]
    time: Annotated[str, Field(description="When it was added, UTC")]
    level: Level
    message: str


class AddedEntry(TypedDict):
    """The entry that stands in the log now."""

    number: Annotated[int, Field(description="Number of the entry", ge=1)]
    time: Annotated[str, Field(description="When it was added, UTC")]
    added: Annotated[bool, Field(description="False: idempotency_key was used before, and this is what it added then")]


class LogPage(TypedDict):
    """Entries of the log, newest first."""

    entries: list[LogEntry]
    next_before: NotRequired[
        Annotated[int, Field(description="There are older entries: read again with this as before", ge=1)]
    ]


def _utc() -> datetime:
    return datetime.now(UTC)


class Settings:
    """The tools over the file at ``path``; in memory without one. ``now`` is the clock.

    ``ConfigurationError`` where the file was not made by these tools. Every refusal of a method is a ``ToolError``.
    """

    def __init__(
        self, path: Path | None, *, limits: SettingLimits | None = None, now: Callable[[], datetime] = _utc
    ) -> None:
        self._store = SqliteStore(path, _KIND, _TABLES)
        self._store.check()
        self._limits = limits or SettingLimits()
        self._now = now

    def close(self) -> None:
        self._store.close()

    @tool(
        # The old value is in the result, so that it can be restored.
        effect="write",
        idempotent=True,
        title="Set a setting",
        examples=(
            {"key": "theme", "value": "dark"},
            {"key": "mail.footer", "value": "Regards", "if_version": 3},
        ),
    )
    def set_config(
        self,
        key: Key,
        value: Annotated[str, "The new value: text, which replaces the whole of the old one", Field(max_length=65_536)],
        if_version: Annotated[
            int | None,
            "Set it only if it still has this version, from get_config; 0: only if there is none",
            Field(ge=0, le=_MOST),
        ] = None,
    ) -> ChangedSetting:
        """Set a setting: make it, or replace its value (设置配置项, 已存在则更新).

        Use when the user wants a value kept under a name, or changed. Not for events that add up: use add_log. Side
        effects: the old value is replaced; the result has it as previous. Repeating the call changes nothing more.
        Limits: 65536 characters a value.
        """
        with self._store.writing() as store:
            setting = _setting(store, key)
            if setting is not None and setting["value"] == value:
                return ChangedSetting(**setting, created=False, previous=value)  # also of a call that is repeated
            _check_version(key, setting, if_version)
            if setting is None:
                self._check_room(
                    store, "SELECT count(*) FROM settings", self._limits.settings, TOO_MANY_STORED_SETTINGS
                )
            version = (_last_deleted_version(store) if setting is None else setting["version"]) + 1
            changed = self._stamp()
            store.execute("INSERT OR REPLACE INTO settings VALUES (?, ?, ?, ?)", (key, value, version, changed))
        result = ChangedSetting(key=key, value=value, version=version, changed=changed, created=setting is None)
        if setting is not None:
            result["previous"] = setting["value"]
        return result

    @tool(effect="read", idempotent=True, title="Get a setting", examples=({"key": "theme"},))
    def get_config(self, key: Key) -> Setting:
        """Get the value of one setting (读取配置项).

        Use when a value is needed whose name is known. Not for finding out names: use list_config. Fails when there is
        no such setting, and says which names are near. Side effects: none.
        """
        with self._store.reading() as store:
            setting = _setting(store, key)
            if setting is not None:
                return setting
            keys = [row[0] for row in store.execute("SELECT key FROM settings ORDER BY key LIMIT 10000")]
        near = difflib.get_close_matches(key, keys, 3)
        raise ToolError.of(SETTING_KEY_NOT_FOUND, key=key, nearest=", ".join(near) or Worded(LABEL_NONE, {}))

    @tool(effect="read", idempotent=True, title="List settings", examples=({}, {"prefix": "mail."}))
    def list_config(
        self,
        prefix: Annotated[
            str, "Only keys that begin so, e.g. 'mail.'; all of them otherwise", Field(max_length=128)
        ] = "",
        limit: Annotated[int, "Most settings to return", Field(ge=1, le=1000)] = 100,
        cursor: Annotated[
            str | None, "next_cursor of the last result, to go on from there", Field(max_length=128)
        ] = None,
    ) -> SettingsPage:
        """List settings with their values, in the order of their keys (列出配置项).

        Use when you need to know which settings there are. Not for one whose key is known: use get_config. A long list
        comes in parts: while the result has next_cursor, call again with it. Side effects: none.
        """
        with self._store.reading() as store:
            rows: Rows = store.execute(
                "SELECT key, value, version, changed FROM settings WHERE key > ? AND key >= ? "
                "AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?",
                (cursor or "", prefix, len(prefix), prefix, limit + 1),
            ).fetchall()
        page, more = _page([_as_setting(row) for row in rows], limit, lambda one: one["value"], self._limits.page_bytes)
        result = SettingsPage(settings=page)
        if more:
            result["next_cursor"] = page[-1]["key"]
        return result

    @tool(effect="destructive", idempotent=True, title="Delete a setting", examples=({"key": "theme"},))
    def delete_config(self, key: Key) -> DeletedSetting:
        """Delete one setting (删除配置项).

        Use when the user wants a setting gone. Not for changing a value: use set_config. Side effects: the value is
        lost, but for previous in the result. Deleting what is not there changes nothing.
        """
        with self._store.writing() as store:
            setting = _setting(store, key)
            if setting is not None:
                store.execute("DELETE FROM settings WHERE key = ?", (key,))
                store.execute(f"PRAGMA user_version={max(setting['version'], _last_deleted_version(store))}")
        result = DeletedSetting(key=key, deleted=setting is not None)
        if setting is not None:
            result["previous"] = setting["value"]
        return result

    @tool(
        effect="write",
        idempotent=False,
        title="Add to the log",
        examples=(
            {"message": "Backup finished"},
            {"message": "Order 17 was paid", "level": "info", "idempotency_key": "order-17-paid"},
        ),
    )
    def add_log(
        self,
        message: Annotated[str, "What happened: one entry, as text", Field(min_length=1, max_length=8192)],
        level: Annotated[Level, "How grave it is"] = "info",
        idempotency_key: Annotated[
            str | None,
            "Any text that names this very event. A second call with it adds nothing and returns the first entry",
            Field(min_length=1, max_length=128),
        ] = None,
    ) -> AddedEntry:
        """Add an entry to the log (添加日志, 每次追加一条).

        Use when the user wants an event noted. Not for a value that may change: use set_config. Side effects: the log
        grows by one entry with every call, also with the same message; give idempotency_key where a call may be
        repeated. Entries cannot be changed or deleted.
        """
        with self._store.writing() as store:
            if idempotency_key is not None:
                entry = store.execute(
                    "SELECT number, time, level, message FROM log WHERE once = ?", (idempotency_key,)
                ).fetchone()
                if entry is not None:
                    if entry[2:] != (level, message):
                        raise ToolError.of(IDEMPOTENCY_KEY_REUSED, number=entry[0])
                    return AddedEntry(number=entry[0], time=entry[1], added=False)
            # Entries are never deleted, so the last number is their count.
            self._check_room(store, "SELECT coalesce(max(number), 0) FROM log", self._limits.entries, EVENT_LOG_FULL)
            time = self._stamp()
            row = (time, level, message, idempotency_key)
            number = store.execute("INSERT INTO log (time, level, message, once) VALUES (?, ?, ?, ?)", row).lastrowid
        return AddedEntry(number=number or 0, time=time, added=True)

    @tool(effect="read", idempotent=True, title="Read the log", examples=({}, {"level": "error", "limit": 10}))
    def read_log(
        self,
        level: Annotated[Level | None, "Only entries of this level"] = None,
        before: Annotated[
            int | None, "Only entries with a smaller number, to go back further", Field(ge=1, le=_MOST)
        ] = None,
        limit: Annotated[int, "Most entries to return", Field(ge=1, le=1000)] = 50,
    ) -> LogPage:
        """Read the log, newest entries first (查看日志).

        Use when the user asks what happened, or to see what add_log has kept. Not for settings: use list_config. A long
        log comes in parts: while the result has next_before, call again with it as before. Side effects: none.
        """
        where, values = ["number < ?"], list[Any]([before if before is not None else _MOST])
        if level is not None:
            where.append("level = ?")
            values.append(level)
        with self._store.reading() as store:
            rows: Rows = store.execute(
                f"SELECT number, time, level, message FROM log WHERE {' AND '.join(where)} "
                "ORDER BY number DESC LIMIT ?",
                (*values, limit + 1),
            ).fetchall()
        entries = [LogEntry(number=row[0], time=row[1], level=row[2], message=row[3]) for row in rows]
        page, more = _page(entries, limit, lambda one: one["message"], self._limits.page_bytes)
        result = LogPage(entries=page)
        if more:
            result["next_before"] = page[-1]["number"]
        return result

    def _stamp(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _check_room(self, store: Any, count: str, limit: int, code: str) -> None:
        if store.execute(count).fetchone()[0] >= limit:
            raise ToolError.of(code, limit=limit)


def _setting(store: Any, key: str) -> Setting | None:
    row = store.execute("SELECT key, value, version, changed FROM settings WHERE key = ?", (key,)).fetchone()
    return None if row is None else _as_setting(row)


def _last_deleted_version(store: Any) -> int:
    """The highest version that a deleted setting had. A new one starts above it, so that it is not taken for the old
    one."""
    return store.execute("PRAGMA user_version").fetchone()[0]


def _as_setting(row: tuple[Any, ...]) -> Setting:
    return Setting(key=row[0], value=row[1], version=row[2], changed=row[3])


def _check_version(key: str, setting: Setting | None, expected: int | None) -> None:
    version = 0 if setting is None else setting["version"]
    if expected is not None and expected != version:
        raise ToolError.of(SETTING_VERSION_CONFLICT, key=key, version=version, wanted=expected)


def _page(rows: list[Any], limit: int, text: Callable[[Any], str], room: int) -> tuple[list[Any], bool]:
    """As many of ``rows`` as fit, at least one, and whether there are more."""
    page: list[Any] = []
    for row in rows[:limit]:
        room -= len(text(row).encode())
        if page and room < 0:
            break
        page.append(row)
    return page, len(rows) > len(page)


def toolset(path: Path | None, *, limits: SettingLimits | None = None) -> LocalToolset:
    """The settings tools over the file at ``path``, ready to be served; in memory without one."""
    settings = Settings(path, limits=limits)
    tools = LocalToolset()
    add_tools(tools, settings)
    return tools
