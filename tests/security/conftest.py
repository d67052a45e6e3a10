"""The servers that attacks are made on."""

from issuing.server import one_running_issuer, running_issuer
from wire.mounting import running_mounts

__all__ = ["one_running_issuer", "running_issuer", "running_mounts"]
