"""Tools for testing servers: a client without ``async``, values from schemas, checks of a whole server, transcripts,
contracts of stores, a scripted model.

The names below are loaded when they are first used: pytest imports this package wherever it is installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolwright.testing.blocking import BlockingClient as BlockingClient
    from toolwright.testing.checks import Plan as Plan
    from toolwright.testing.checks import check_server as check_server
    from toolwright.testing.checks import examine as examine
    from toolwright.testing.generate import Invalid as Invalid
    from toolwright.testing.generate import Missing as Missing
    from toolwright.testing.generate import Samples as Samples
    from toolwright.testing.generate import Valid as Valid
    from toolwright.testing.generate import samples as samples
    from toolwright.testing.generate import samples_of as samples_of
    from toolwright.testing.models import Call as Call
    from toolwright.testing.models import Fails as Fails
    from toolwright.testing.models import Says as Says
    from toolwright.testing.models import ScriptedModel as ScriptedModel
    from toolwright.testing.models import Sends as Sends
    from toolwright.testing.report import Finding as Finding
    from toolwright.testing.report import Report as Report
    from toolwright.testing.state import StoppedClock as StoppedClock
    from toolwright.testing.state import check_facts as check_facts
    from toolwright.testing.state import check_log as check_log

_EXPORTS = {
    "BlockingClient": "toolwright.testing.blocking",
    "Call": "toolwright.testing.models",
    "Fails": "toolwright.testing.models",
    "Finding": "toolwright.testing.report",
    "Invalid": "toolwright.testing.generate",
    "Missing": "toolwright.testing.generate",
    "Plan": "toolwright.testing.checks",
    "Report": "toolwright.testing.report",
    "Samples": "toolwright.testing.generate",
    "Says": "toolwright.testing.models",
    "ScriptedModel": "toolwright.testing.models",
    "Sends": "toolwright.testing.models",
    "StoppedClock": "toolwright.testing.state",
    "Valid": "toolwright.testing.generate",
    "check_facts": "toolwright.testing.state",
    "check_log": "toolwright.testing.state",
    "check_server": "toolwright.testing.checks",
    "examine": "toolwright.testing.checks",
    "samples": "toolwright.testing.generate",
    "samples_of": "toolwright.testing.generate",
}

__all__ = list(_EXPORTS)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'toolwright.testing' has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
