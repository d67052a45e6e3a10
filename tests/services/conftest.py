"""The issuer of callers, and the server of HTTP applications."""

from support.issuing.server import one_running_issuer, running_issuer
from support.wire.mounting import running_mounts

__all__ = ["one_running_issuer", "running_issuer", "running_mounts"]
