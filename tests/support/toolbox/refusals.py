"""How a tool of the toolbox refuses: by a code, with facts."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tooltrue.errors import ToolError
from tooltrue.wording import Worded

__all__ = ["refused"]


@contextmanager
def refused(code: str, **facts: object) -> Generator[None]:
    """The block ends with a refusal of this code, which has these facts among others."""
    with pytest.raises(ToolError) as caught:
        yield
    assert caught.value.code == code
    assert {name: _plain(caught.value.facts[name]) for name in facts} == facts


def _plain(fact: object) -> object:
    """A fact, in English if its language is still open."""
    return str(fact) if isinstance(fact, Worded) else fact
