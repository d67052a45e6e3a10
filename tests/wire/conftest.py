"""The HTTP server that transcripts are replayed against."""

from wire.mounting import running_mounts

__all__ = ["running_mounts"]
