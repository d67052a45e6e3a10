"""Where files of ours lie that outlive a process, for one user of a machine (XDG Base Directory Specification)."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["state_folder"]


def state_folder() -> Path:
    """``$XDG_STATE_HOME/toolwright``, or the same in ``~/.local/state``. It need not exist yet."""
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".local/state") / "toolwright"
