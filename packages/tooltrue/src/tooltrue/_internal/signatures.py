"""Signatures of functions whose annotations may name what only a type checker imports."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["signature_of"]

if sys.version_info >= (3, 14):
    # Annotations are evaluated when they are read, and not where the function is defined.
    from annotationlib import Format

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """Return the signature. Its annotations are for display: some may be unresolved. Raises ``TypeError`` or
        ``ValueError`` for a callable without one, such as some builtins.
        """
        return inspect.signature(function, annotation_format=Format.FORWARDREF)

else:

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """Return the signature. Its annotations are for display: some may be unresolved. Raises ``TypeError`` or
        ``ValueError`` for a callable without one, such as some builtins.
        """
        return inspect.signature(function)
