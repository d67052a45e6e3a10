"""Access to a model's endpoint: URL, key, timeout and retries. Keys come from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tooltrue.errors import ConfigurationError
from tooltrue.host.wording import MODEL_KEY_MISSING
from tooltrue.protocol.types import Value

__all__ = ["KEY", "ModelAccess", "key_of"]

KEY = "TOOLTRUE_MODEL_KEY"
"""The environment variable with the key of an endpoint that is not known by name."""


class ModelAccess(Value, frozen=True):
    """``url`` is that of the API. ``seconds`` is how long the endpoint may stay silent, ``retries`` how often the SDK
    retries a failure that may be transient."""

    key: str
    url: str
    seconds: float = 120.0
    retries: int = 2

    @property
    def patience(self) -> float:
        """How long an answer may take to begin, whatever retry time the endpoint asks for."""
        return (self.retries + 1) * self.seconds

    def __repr__(self) -> str:
        return f"Access(url={self.url!r})"  # never the key


def key_of(model: str, variable: str | None, environment: Mapping[str, str] | None = None) -> str:
    """The key in ``variable``; ``ConfigurationError`` if it is not set. The key in ``KEY`` is optional."""
    key = (os.environ if environment is None else environment).get(variable or KEY, "").strip()
    if not key and variable is not None:
        raise ConfigurationError.of(MODEL_KEY_MISSING, model=model, variable=variable)
    return key or _NO_KEY


_NO_KEY = "none"  # the SDKs require a key; an endpoint that needs no key ignores it
