"""Properties of every library: a template matches each URI that it expands to, and a hidden entry behaves as absent."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import Annotated, Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue import Completes
from tooltrue.errors import RpcError
from tooltrue.policy.guard import Guard
from tooltrue.policy.pipeline import standard
from tooltrue.policy.rules.rule import ALLOW, Deny, Subject, Verdict
from tooltrue.protocol.characters import cleaned
from tooltrue.protocol.uris import is_uri, read_template
from tooltrue.server.service import SILENT
from tooltrue.tools.library import LocalLibrary
from tooltrue.tools.toolset import Provider
from tooltrue.tools.views import combined
from tooltrue.tools.vocabulary import LOCAL, CompletionGet, PromptGet, RequestContext, ResourceRead

CONTEXT = RequestContext(LOCAL, SILENT)

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


def is_plain(text: str) -> bool:
    return "\\" not in text and not any(unicodedata.category(character) == "Cc" for character in text)


def is_segment(text: str) -> bool:
    return is_plain(text) and "/" not in text and text not in (".", "..")


@settings(deadline=None)
@given(texts, texts)
def test_a_template_reads_back_the_expanded_values_and_rejects_traversal(one: str, other: str):
    uri = f"a://b/{quote(one, safe='')}/c/{quote(other, safe='')}"
    assert is_uri(uri)
    expected = {"x": one, "y": other} if is_segment(one) and is_segment(other) else None
    assert read_template("a://b/{x}/c/{y}").match(uri) == expected


def stays_in_its_folder(path: str) -> bool:
    return is_plain(path) and not {"", ".", ".."} & set(path.split("/")) and not re.match("[A-Za-z]:", path)


@settings(deadline=None)
@given(st.lists(texts | st.text("%25fFeE.ac/:", min_size=1), min_size=1, max_size=4))
def test_a_path_is_read_unless_it_leads_out_of_its_folder(segments: list[str]):
    path = "/".join(segments)
    readings = [path, unquote(path), unquote(unquote(path))]  # others may decode it again
    is_path = all(map(stays_in_its_folder, readings)) and unquote(readings[-1]) == readings[-1]
    template = read_template("a:///{+path}")
    assert template.match(template.expand({"path": path})) == ({"path": path} if is_path else None)


@settings(deadline=None)
@given(st.sampled_from(["a:{x}", "a:{+x}"]), st.text("aA/.:%@~ é", max_size=6), st.randoms(use_true_random=False))
def test_of_all_spellings_of_a_value_one_is_read(template: str, value: str, random: Random):
    """Of all percent-encodings of a value, a template matches only the one that ``expand`` writes."""
    read = read_template(template)
    spelt = "".join(_spelt(byte, random) for byte in value.encode())
    assert read.match(f"a:{spelt}") in (None, {"x": value})
    assert (read.match(f"a:{spelt}") is None) or read.expand({"x": value}) == f"a:{spelt}"


def _spelt(byte: int, random: Random) -> str:
    return random.choice([chr(byte) if byte < 0x80 else f"%{byte:02X}", f"%{byte:02X}", f"%{byte:02x}"])


@settings(deadline=None)
@given(st.text(max_size=40), st.sampled_from(["a:{x}", "a://b/{x}.{y}", "a:///{+p}", "a:{x}/{+p}"]))
def test_matching_any_uri_against_a_template_gives_safe_values_or_no_match(rest: str, template: str):
    for uri in (rest, f"a:{rest}", f"a:///{quote(rest)}"):
        for name, value in (read_template(template).match(uri) or {}).items():
            assert value
            assert is_segment(value) or name == "p"
            assert ".." not in value.replace("\\", "/").split("/")


NAMES = ("one", "two", "three")


def library() -> LocalLibrary:
    made = LocalLibrary()
    for name in NAMES:
        made.add_resource(f"a:{name}", lambda: "read", name=name, blocking=False)
        made.add_resource(f"t:{name}/{{x}}", of_template, name=name)
        made.add_prompt(saying, name=name)
    return made


async def of_template(x: Annotated[str, Completes(lambda prefix: [prefix])]) -> str:
    return "read"


async def saying(x: Annotated[str, Completes(lambda prefix: [prefix])] = "") -> str:
    return "read"


async def outcome(act: Callable[[], Awaitable[Any]]) -> Any:
    """The result of an action; for an error, every field that the caller receives."""
    try:
        return await act()
    except RpcError as error:
        return (error.number, error.say(), error.data)


def attempts(provider: Provider, name: str) -> list[Callable[[], Awaitable[Any]]]:
    """Every operation on the entries with this name."""
    read, deep = ResourceRead(f"a:{name}", CONTEXT), ResourceRead(f"t:{name}/x", CONTEXT)
    get = PromptGet(name, {}, CONTEXT)
    of_prompt = CompletionGet("prompt", name, "x", "", {}, CONTEXT)
    of_template = CompletionGet("template", f"t:{name}/{{x}}", "x", "", {}, CONTEXT)
    return [
        lambda: provider.read_resource(read),
        lambda: provider.read_resource(deep),
        lambda: provider.get_prompt(get),
        lambda: provider.complete(of_prompt),
        lambda: provider.complete(of_template),
        *(lambda item=item: provider.find_entries(item) for item in (read, deep, get, of_prompt, of_template)),
    ]


@pytest.mark.requirement("ADJ-09", "CACHE-18")
@settings(deadline=None)
@given(st.sets(st.sampled_from(NAMES)))
def test_a_hidden_entry_behaves_like_an_absent_entry(hidden: set[str]):
    def decide(subject: Subject, context: RequestContext, arguments: Any) -> Verdict:
        return Deny("secret", hidden=True) if subject.name in hidden else ALLOW

    async def main() -> None:
        shown = standard(library(), Guard(decide=decide))
        bare = library()
        for name in hidden:
            bare.remove_resource(f"a:{name}")
            bare.remove_resource(f"t:{name}/{{x}}")
            bare.remove_prompt(name)
        model = standard(bare)
        for listed in ("list_resources", "list_templates", "list_prompts"):
            assert await getattr(shown, listed)(CONTEXT) == await getattr(model, listed)(CONTEXT)
            assert await getattr(shown, listed)(CONTEXT) is await getattr(shown, listed)(CONTEXT)
        for name in (*NAMES, "none"):
            for ours, models in zip(attempts(shown, name), attempts(model, name), strict=True):
                assert await outcome(ours) == await outcome(models)

    asyncio.run(main())


@pytest.mark.requirement("CACHE-18")
@settings(deadline=None)
@given(st.lists(texts, max_size=8, unique=True), st.data())
def test_a_completion_names_all_that_this_caller_may_read_and_nothing_else(values: list[str], data: st.DataObject):
    """The expected values come from read requests, for URIs that the test builds itself."""
    uris = {
        value: f"t:{quote(value, safe='')}/x" for value in values if is_segment(value) and cleaned(value, {}) == value
    }
    hidden = data.draw(st.sets(st.sampled_from(sorted(uris.values())))) if uris else set[str]()

    def decide(subject: Subject, context: RequestContext, arguments: Any) -> Verdict:
        return Deny("secret", hidden=True) if getattr(subject, "uri", "") in hidden else ALLOW

    async def page(one: str, other: str) -> str:
        return "read"

    page.__annotations__["one"] = Annotated[str, Completes(lambda prefix: list(uris))]
    made = LocalLibrary()
    made.add_resource("t:{one}/{other}", page)
    shown = standard(made, Guard(decide=decide))

    async def main() -> None:
        get = CompletionGet("template", "t:{one}/{other}", "one", "", {"other": "x"}, CONTEXT)
        reads = {value: partial(shown.read_resource, ResourceRead(uri, CONTEXT)) for value, uri in uris.items()}
        outcomes = {value: await outcome(read) for value, read in reads.items()}
        readable = [value for value, got in outcomes.items() if not isinstance(got, tuple)]
        assert (await shown.complete(get)).values == readable == [value for value in uris if uris[value] not in hidden]

    asyncio.run(main())


@settings(deadline=None)
@given(st.permutations(["a:b", "a:{x}", "a:{+x}", "a:c"]), st.integers(0, 4), st.integers(0, 4))
def test_however_libraries_are_combined_a_fixed_resource_goes_before_every_template(
    uris: list[str], one: int, two: int
):
    def holding(uris: list[str]) -> LocalLibrary:
        made = LocalLibrary()
        for uri in uris:
            made.add_resource(uri, of_deep_template if "{" in uri else partial(itself, uri), name=uri, blocking=False)
        return made

    first, last = sorted((one, two))
    parts = [holding(uris[:first]), holding(uris[first:last]), holding(uris[last:])]

    async def main() -> None:
        for provider in (combined(*parts), combined(combined(*parts[:2]), parts[2])):
            for uri in ("a:b", "a:c"):
                read = ResourceRead(uri, CONTEXT)
                [entry] = await provider.find_entries(read)
                assert entry.name == uri
                assert f"text={uri!r}" in str(await provider.read_resource(read))

    asyncio.run(main())


def itself(uri: str) -> str:
    return uri


async def of_deep_template(x: str) -> str:
    return "of a template"
