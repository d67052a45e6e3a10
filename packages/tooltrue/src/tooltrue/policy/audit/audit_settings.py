"""Settings of the audit log: which operations of a server are recorded, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

from tooltrue.errors import ConfigurationError
from tooltrue.protocol.types import Value, replaced
from tooltrue.state.log import Log, MemoryLog
from tooltrue.state.places import audit_file, beside, sqlite_url, without_password
from tooltrue.wording import SETTING_INVALID, alternatives

__all__ = ["Audit", "OnFailure"]

OnFailure = Literal["refuse", "refuse writes", "go on"]

_ALSO: dict[OnFailure, str] = {
    "refuse": "nothing runs",
    "refuse writes": "only reads run",
    "go on": "nothing destructive runs",
}


class Audit(Value, frozen=True):
    """Settings of the audit log. ``to`` is a URL (``sqlite:…``, ``postgresql://…``, ``memory:``) or a ``Log``; without
    it, a file in the state folder of the user. ``seal`` is where the head of the log is kept: a file, the URL of
    another log, or ``log`` for a line of the server's own log; without it, a file beside an SQLite log. ``on_failure``
    decides which operations are refused while no record can be written: all (``refuse``), those that may change
    something (``refuse writes``), or only destructive ones (``go on``), which never run without a record. ``mask``
    replaces the secrets in a text; without it, they are masked as in results. ``is_on=False`` turns recording off."""

    to: str | Log | None = None
    seal: str = ""
    on_failure: OnFailure = "refuse writes"
    mask: Callable[[str], str] | None = None
    is_on: bool = True
    is_default: bool = False

    def __post_init__(self) -> None:
        if self.on_failure not in _ALSO:
            raise ConfigurationError.of(
                SETTING_INVALID, name="Audit(on_failure=…)", wanted=alternatives(get_args(OnFailure))
            )

    @classmethod
    def of(cls, setting: Audit | Log | str | bool) -> Audit:
        """Return the settings that ``Server(audit=…)`` stands for."""
        if isinstance(setting, Audit):
            return setting
        return Audit(is_on=setting) if isinstance(setting, bool) else Audit(setting)

    def at(self, server: str) -> Audit:
        """Return these settings for a server of this name, with a file of its own if ``to`` is not set."""
        return replaced(self, to=sqlite_url(audit_file(server)), is_default=True) if self.to is None else self

    def with_overrides(self, *, on: bool | None = None, to: str | None = None, **others: Any) -> Audit:
        """Return these settings with the operator's overrides. Setting ``to`` turns recording on, unless ``on`` is
        given."""
        if to is not None:
            others |= {"to": to, "is_default": False}
        is_on = on if on is not None else self.is_on or to is not None
        return replaced(self, is_on=is_on, **others)

    @property
    def is_kept(self) -> bool:
        """Whether records are meant to outlive the process."""
        return self.is_on and self.to not in (None, "memory:") and not isinstance(self.to, MemoryLog)

    @property
    def seal_place(self) -> str:
        """``log``, a URL or a path; empty if the database is elsewhere already, or if no records are kept."""
        return self.seal or (beside(self.to, ".seal") if isinstance(self.to, str) else "")

    # --- for `tooltrue inspect` ---

    def summary(self) -> str:
        if not self.is_on:
            return "off"
        place = without_password(self.to) if isinstance(self.to, str) else type(self.to).__name__
        return f"on: {place}; head {self._head()}"

    def _head(self) -> str:
        if not self.is_kept:
            return "not sealed"
        if self.seal == "log":
            return "in the server's own log"
        if self.seal:
            return f"sealed in {without_password(self.seal)}"
        return "sealed in the file beside it" if self.seal_place else "kept by the database"

    def write_ahead_summary(self) -> str:
        if not self.is_on:
            return "off"
        return f"on: a record on disk before a destructive call; without a log {_ALSO[self.on_failure]}"
