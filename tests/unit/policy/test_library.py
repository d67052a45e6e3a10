"""Resources and prompts go the same guarded way as tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from toolwright.errors import InternalError, InvalidParams
from toolwright.policy.pipeline import Limits, standard
from toolwright.policy.rules import ALLOW, Ask, Deny, Subject
from toolwright.server.served import SILENT
from toolwright.tools.library import LocalLibrary
from toolwright.tools.toolset import LOCAL, PromptGet, RequestContext, ResourceRead

CONTEXT = RequestContext(LOCAL, SILENT)


def shelf(make: Callable[[], str]) -> LocalLibrary:
    """One resource, a template, and one prompt, with the text that ``make`` gives."""
    library = LocalLibrary()
    library.add_resource("a:b", make, name="b", blocking=False)
    library.add_resource("t:{x}", partial(_of_template, make), name="t", blocking=False)
    library.add_prompt(make, name="p", blocking=False)
    return library


def _of_template(make: Callable[[], str], x: str) -> str:
    return make()


READS: list[Any] = [
    pytest.param(lambda shelf: shelf.read_resource(ResourceRead("t:1", CONTEXT)), id="template"),
    pytest.param(lambda shelf: shelf.read_resource(ResourceRead("a:b", CONTEXT)), id="resource"),
    pytest.param(lambda shelf: shelf.get_prompt(PromptGet("p", {}, CONTEXT)), id="prompt"),
]
LISTS: list[Any] = [
    pytest.param(lambda shelf: shelf.list_templates(CONTEXT), id="templates"),
    pytest.param(lambda shelf: shelf.list_resources(CONTEXT), id="resources"),
    pytest.param(lambda shelf: shelf.list_prompts(CONTEXT), id="prompts"),
]


def guarded(make: Callable[[], str], verdict: Any = ALLOW) -> Any:
    def decide(subject: Subject, context: RequestContext, arguments: Any) -> Any:
        return verdict

    return standard(shelf(make), limits=Limits(seconds=0.05, max_bytes=100), decide=decide)


def crash() -> str:
    raise KeyError("hunter2")


def must_not_run() -> str:
    raise AssertionError("it ran")


@pytest.mark.parametrize("read", READS)
def test_what_is_allowed_is_read(read: Any):
    assert "hello" in str(asyncio.run(read(guarded(lambda: "hello"))))


@pytest.mark.requirement("CACHE-18")
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(("verdict", "code"), [(Deny("not today"), "TW1029"), (Ask("sure?"), "TW1029")])
def test_what_is_denied_is_refused_before_it_is_read(read: Any, verdict: Any, code: str):
    with pytest.raises(InvalidParams) as caught:
        asyncio.run(read(guarded(must_not_run, verdict)))
    assert caught.value.code == code


@pytest.mark.requirement("CACHE-18")
@pytest.mark.parametrize("read", READS)
def test_what_is_hidden_reads_like_what_is_missing(read: Any):
    with pytest.raises(InvalidParams) as caught:
        asyncio.run(read(guarded(must_not_run, Deny("secret", hidden=True))))
    assert caught.value.code in ("TW1025", "TW1026")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("listed", LISTS)
def test_what_is_hidden_is_not_listed(listed: Any):
    assert len(asyncio.run(listed(guarded(must_not_run)))) == 1
    assert asyncio.run(listed(guarded(must_not_run, Deny("", hidden=True)))) == ()


@pytest.mark.parametrize("read", READS)
def test_j07_the_text_of_a_crash_stays_in_the_log(read: Any, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.ERROR), pytest.raises(InternalError) as caught:
        asyncio.run(read(guarded(crash)))
    assert "hunter2" not in str(caught.value)
    assert "hunter2" in caplog.text


@pytest.mark.parametrize("read", READS)
def test_what_is_too_large_does_not_leave(read: Any):
    with pytest.raises(InvalidParams) as caught:
        asyncio.run(read(guarded(lambda: "x" * 200)))
    assert caught.value.code == "TW2006"
