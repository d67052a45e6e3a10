"""The servers that transcripts are replayed against."""

from support.wire.mounting import running_mounts
from wire.warm import running_warm

__all__ = ["running_mounts", "running_warm"]
