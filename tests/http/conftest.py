"""The HTTP server that these tests speak to."""

from wire.mounting import running_mounts

__all__ = ["running_mounts"]
