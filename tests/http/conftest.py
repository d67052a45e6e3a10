"""The HTTP server that these tests speak to, and the authorization server that gives out tokens for it."""

from issuing.server import one_more_running_issuer, one_running_issuer, other_running_issuer, running_issuer
from wire.mounting import running_mounts

__all__ = [
    "one_more_running_issuer",
    "one_running_issuer",
    "other_running_issuer",
    "running_issuer",
    "running_mounts",
]
