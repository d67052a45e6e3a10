"""Resources and prompts go the same guarded way as tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any

import pydantic
import pytest

from tooltrue import Completes
from tooltrue.errors import InternalError, InvalidParams, UnknownEntry
from tooltrue.policy.guard import Guard, Limits
from tooltrue.policy.pipeline import standard
from tooltrue.policy.rules.rule import ALLOW, Ask, Deny, Subject
from tooltrue.protocol.types import Completion
from tooltrue.server.service import SILENT
from tooltrue.tools.library import LocalLibrary
from tooltrue.tools.vocabulary import LOCAL, CompletionGet, PromptGet, RequestContext, ResourceRead

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

    return standard(shelf(make), Guard(Limits(seconds=30.0, max_bytes=100), decide))


def crash() -> str:
    raise KeyError("hunter2")


def must_not_run() -> str:
    raise AssertionError("it ran")


@pytest.mark.parametrize("read", READS)
def test_an_allowed_resource_is_read(read: Any):
    assert "hello" in str(asyncio.run(read(guarded(lambda: "hello"))))


@pytest.mark.requirement("CACHE-18")
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize(("verdict", "code"), [(Deny("not today"), "TT1029"), (Ask("sure?"), "TT1029")])
def test_a_denied_resource_is_refused_before_it_is_read(read: Any, verdict: Any, code: str):
    with pytest.raises(InvalidParams) as caught:
        asyncio.run(read(guarded(must_not_run, verdict)))
    assert caught.value.code == code


@pytest.mark.requirement("CACHE-18")
@pytest.mark.parametrize("read", READS)
def test_the_error_of_a_hidden_resource_equals_that_of_a_missing_one(read: Any):
    with pytest.raises(InvalidParams) as caught:
        asyncio.run(read(guarded(must_not_run, Deny("secret", hidden=True))))
    assert caught.value.code in ("TT1025", "TT1026")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("listed", LISTS)
def test_a_hidden_resource_is_not_listed(listed: Any):
    assert len(asyncio.run(listed(guarded(must_not_run)))) == 1
    assert asyncio.run(listed(guarded(must_not_run, Deny("", hidden=True)))) == ()


@pytest.mark.parametrize("read", READS)
def test_j07_the_text_of_a_crash_stays_in_the_log(read: Any, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.ERROR), pytest.raises(InternalError) as caught:
        asyncio.run(read(guarded(crash)))
    assert "hunter2" not in str(caught.value)
    assert "hunter2" in caplog.text


@pytest.mark.parametrize("read", READS)
def test_a_resource_over_the_size_limit_is_not_returned(read: Any):
    with pytest.raises(InvalidParams) as caught:
        asyncio.run(read(guarded(lambda: "x" * 200)))
    assert caught.value.code == "TT2006"


def docs(decide: Any) -> Any:
    """Documents with names that complete; ``docs:secret`` and ``docs:fixed`` are resources of their own."""
    library = LocalLibrary()
    library.add_resource("docs:{name}", document, name="document")
    library.add_resource("docs:{name}/{page}", document, name="page")
    library.add_resource("docs:fixed", must_not_run, name="internal")
    return standard(library, Guard(decide=decide))


def names(prefix: str, arguments: Mapping[str, str]) -> list[str]:
    return [name for name in ("public", "secret", "fixed", "a b") if name.startswith(prefix)]


def pages(prefix: str) -> list[str]:
    return [str(number) for number in range(200)]


async def document(name: Annotated[str, Completes(names)], page: Annotated[int, Completes(pages)] = 1) -> str:
    return name


def completed(library: Any, template: str, argument: str, prefix: str = "", **settled: str) -> Completion:
    return asyncio.run(library.complete(CompletionGet("template", template, argument, prefix, settled, CONTEXT)))


def no_secrets(subject: Subject, context: RequestContext, arguments: Any) -> Any:
    if subject.name == "internal":
        return Ask("really?")
    return Deny("", hidden=True) if getattr(subject, "uri", "").startswith(("docs:secret", "docs:public/9")) else ALLOW


@pytest.mark.requirement("CACHE-18")
def test_a_completion_omits_values_that_the_caller_may_not_read():
    library = docs(no_secrets)
    assert completed(library, "docs:{name}", "name") == Completion(["public", "a b"], 2, False)
    assert completed(library, "docs:{name}", "name", "s") == Completion([], 0, False)


def test_a_long_completion_does_not_reveal_the_count_of_hidden_values():
    got = completed(docs(no_secrets), "docs:{name}/{page}", "page", name="public")
    assert [value for value in got.values if value.startswith("9")] == []
    assert (len(got.values), got.total, got.hasMore) == (89, None, True)


def test_a_completion_without_the_other_arguments_returns_all_values_of_the_completer():
    assert completed(docs(no_secrets), "docs:{name}/{page}", "name").values == ["public", "secret", "fixed", "a b"]


@pytest.mark.parametrize("uri", ["docs:%73ecret", "docs:%20secret", "docs:SECRET", "docs:secret%20", "docs:./secret"])
def test_a_resource_denied_under_its_uri_is_not_readable_under_an_equivalent_uri(uri: str):
    trimmed = Annotated[str, pydantic.StringConstraints(strip_whitespace=True, to_lower=True)]

    async def document(name):
        return name

    document.__annotations__["name"] = trimmed
    library = LocalLibrary()
    library.add_resource("docs:{name}", document, name="document")
    guarded = standard(library, Guard(decide=no_secrets))
    for asked in (uri, "docs:secret"):
        with pytest.raises(UnknownEntry):
            asyncio.run(guarded.read_resource(ResourceRead(asked, CONTEXT)))
        with pytest.raises(UnknownEntry):
            asyncio.run(guarded.find_entries(ResourceRead(asked, CONTEXT)))
