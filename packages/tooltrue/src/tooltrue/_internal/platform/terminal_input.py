"""Lines that a person types at the terminal: read without blocking, with or without echo, and not before they are asked
for."""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue._internal.platform.posix_terminal_input import discard_typed, is_terminal, typed_text, without_echo
else:
    from tooltrue._internal.platform.windows_terminal_input import discard_typed, is_terminal, typed_text, without_echo

__all__ = ["discard_typed", "is_terminal", "typed_text", "without_echo"]
