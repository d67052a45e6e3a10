"""Functions whose annotations name what only a type checker imports."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tooltrue import DefinitionError, Server
from tooltrue._internal.signatures import signature_of

SOURCE = """
from contextlib import asynccontextmanager

async def page(request: Request) -> Response: ...

@asynccontextmanager
async def lifespan(server: Application):
    yield

def tool(request: Request) -> str: ...
"""

names: dict[str, Any] = {}
if sys.version_info >= (3, 14):
    exec(compile(SOURCE, "<author>", "exec", dont_inherit=True), names)  # noqa: S102 - it has no __future__ import

only_later = pytest.mark.skipif(not names, reason="before Python 3.14, an unknown annotation fails at the definition")


def test_parameters_are_read_without_annotations_that_are_text() -> None:
    def page(request: Any, *, size: int = 1) -> str: ...

    page.__annotations__["request"] = "Request"

    assert list(signature_of(page).parameters) == ["request", "size"]


@only_later
def test_parameters_are_read_where_annotations_cannot_be() -> None:
    assert list(signature_of(names["page"]).parameters) == ["request"]


@only_later
def test_a_route_and_a_lifespan_need_no_annotations_that_can_be_read() -> None:
    Server("t", lifespan=names["lifespan"]).route("/page")(names["page"])


@only_later
def test_a_tool_says_which_annotation_cannot_be_read() -> None:
    with pytest.raises(DefinitionError, match="Request") as caught:
        Server("t").add_tool(names["tool"])
    assert caught.value.code == "TT3003"
