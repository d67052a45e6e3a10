"""Tools for testing servers: a client without ``async``, values from schemas, checks of a whole server, transcripts,
contracts of stores, a scripted model.

The names below are loaded when they are first used: pytest imports this package wherever it is installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tooltrue.testing.blocking_client import BlockingClient as BlockingClient
    from tooltrue.testing.checks import Plan as Plan
    from tooltrue.testing.checks import check_server as check_server
    from tooltrue.testing.checks import examine as examine
    from tooltrue.testing.generate import Invalid as Invalid
    from tooltrue.testing.generate import Missing as Missing
    from tooltrue.testing.generate import Samples as Samples
    from tooltrue.testing.generate import Valid as Valid
    from tooltrue.testing.generate import samples as samples
    from tooltrue.testing.generate import samples_of as samples_of
    from tooltrue.testing.layers import check_layer as check_layer
    from tooltrue.testing.models import Call as Call
    from tooltrue.testing.models import Fails as Fails
    from tooltrue.testing.models import Says as Says
    from tooltrue.testing.models import ScriptedModel as ScriptedModel
    from tooltrue.testing.models import Sends as Sends
    from tooltrue.testing.report import Finding as Finding
    from tooltrue.testing.report import Report as Report
    from tooltrue.testing.state import StoppedClock as StoppedClock
    from tooltrue.testing.state import check_facts as check_facts
    from tooltrue.testing.state import check_log as check_log

_EXPORTS = {
    "BlockingClient": "tooltrue.testing.blocking_client",
    "Call": "tooltrue.testing.models",
    "Fails": "tooltrue.testing.models",
    "Finding": "tooltrue.testing.report",
    "Invalid": "tooltrue.testing.generate",
    "Missing": "tooltrue.testing.generate",
    "Plan": "tooltrue.testing.checks",
    "Report": "tooltrue.testing.report",
    "Samples": "tooltrue.testing.generate",
    "Says": "tooltrue.testing.models",
    "ScriptedModel": "tooltrue.testing.models",
    "Sends": "tooltrue.testing.models",
    "StoppedClock": "tooltrue.testing.state",
    "Valid": "tooltrue.testing.generate",
    "check_facts": "tooltrue.testing.state",
    "check_layer": "tooltrue.testing.layers",
    "check_log": "tooltrue.testing.state",
    "check_server": "tooltrue.testing.checks",
    "examine": "tooltrue.testing.checks",
    "samples": "tooltrue.testing.generate",
    "samples_of": "tooltrue.testing.generate",
}

_DEPRECATED: dict[str, tuple[str, str]] = {}
"""Name → the release that deprecated it, and the name to use instead."""

__all__ = list(_EXPORTS)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'tooltrue.testing' has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    if name in _DEPRECATED:
        from tooltrue._internal.deprecated_names import warn_of  # noqa: PLC0415 - only a deprecated name needs it

        warn_of(name, *_DEPRECATED[name])
        return value  # not stored: each use warns
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
