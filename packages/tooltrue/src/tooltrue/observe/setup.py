"""The tracing of this process: that of OpenTelemetry, if the application has loaded it."""

from __future__ import annotations

import sys

from tooltrue.observe.tracing import Tracing

__all__ = ["tracing"]


def tracing() -> Tracing | None:
    """Look up the tracing, when a connection or an application opens."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from tooltrue.observe import telemetry  # noqa: PLC0415 - OpenTelemetry comes with an extra

    return telemetry.tracing()
