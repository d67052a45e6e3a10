"""What of a server is recorded, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

from toolwright.errors import ConfigurationError
from toolwright.protocol.types import Value, replaced
from toolwright.state.log import Log, MemoryLog
from toolwright.state.places import audit_file, beside, without_password

__all__ = ["Audit", "OnFailure"]

OnFailure = Literal["refuse", "refuse writes", "go on"]

_ALSO: dict[OnFailure, str] = {
    "refuse": "nothing runs",
    "refuse writes": "only reads run",
    "go on": "nothing destructive runs",
}


class Audit(Value, frozen=True):
    """``to`` is a URL (``sqlite:…``, ``postgresql://…``, ``memory:``) or a ``Log``; without it, a file in the state
    folder of the user. ``seal`` is where the head of the log is kept: a file, the URL of another log, or ``log`` for a
    line of the server's own log; without it, a file beside an SQLite log. ``on_failure`` says what is refused while
    nothing can be recorded: everything (``refuse``), what may change something (``refuse writes``), or only what is
    destructive (``go on``), which never runs without a record. ``mask`` replaces the secrets in a text; without it,
    they are masked as in results. ``is_on=False`` records nothing.
    """

    to: str | Log | None = None
    seal: str = ""
    on_failure: OnFailure = "refuse writes"
    mask: Callable[[str], str] | None = None
    is_on: bool = True
    is_default: bool = False

    def __post_init__(self) -> None:
        if self.on_failure not in _ALSO:
            wanted = " or ".join(get_args(OnFailure))
            raise ConfigurationError.of("TW4009", name="Audit(on_failure=…)", wanted=wanted)

    @classmethod
    def of(cls, said: Audit | Log | str | bool) -> Audit:
        """The settings that ``Server(audit=…)`` stands for."""
        if isinstance(said, Audit):
            return said
        return Audit(is_on=said) if isinstance(said, bool) else Audit(said)

    def at(self, server: str) -> Audit:
        """These settings for a server of this name, whose file it is where nothing else was said."""
        return replaced(self, to=f"sqlite://{audit_file(server)}", is_default=True) if self.to is None else self

    def said_instead(self, *, on: bool | None = None, to: str | None = None, **others: Any) -> Audit:
        """These settings, with what the operator says instead: whoever says where records go wants some."""
        if to is not None:
            others |= {"to": to, "is_default": False}
        is_on = on if on is not None else self.is_on or to is not None
        return replaced(self, is_on=is_on, **others)

    @property
    def is_kept(self) -> bool:
        """Whether records are to outlive the process."""
        return self.is_on and self.to not in (None, "memory:") and not isinstance(self.to, MemoryLog)

    @property
    def seal_place(self) -> str:
        """``log``, a URL, a path, or nothing: the database is elsewhere already, or nothing is kept."""
        return self.seal or (beside(self.to, ".seal") if isinstance(self.to, str) else "")

    # --- for `toolwright inspect` ---

    def said(self) -> str:
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

    def said_of_intents(self) -> str:
        if not self.is_on:
            return "off"
        return f"on: durable before anything destructive; without a log {_ALSO[self.on_failure]}"
