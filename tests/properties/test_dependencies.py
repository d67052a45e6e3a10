"""No client can see or set a dependency, in any notation; an unresolvable dependency is refused."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sqlite3
import threading
import typing
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from dataclasses import dataclass, field, make_dataclass
from types import GenericAlias
from typing import Annotated, Any, NamedTuple, cast

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import TypeAliasType, TypedDict

from tooltrue import Client, Completes, Context, Form, Server
from tooltrue.errors import DefinitionError, RpcError
from tooltrue.testing.state import LIMIT
from tooltrue.tools.binding.signature import MISSING
from tooltrue.tools.binding.text_functions import TextFunction
from tooltrue.tools.binding.tool_options import Depends, Header, Lifespan
from tooltrue.tools.threads import ThreadPool


async def later() -> str:
    return "alice"


async def of_context(context: Context) -> str:
    return {"local": "alice"}[context.principal.id]


def by_keyword(*, context: Context) -> str:
    return {"local": "alice"}[context.principal.id]


def maybe_context(context: Context | None = None) -> str:
    return "nobody" if context is None else "alice"


def annotated_context(context: Annotated[Context, "who asks"], limit: int = 3) -> str:
    return {"local": "alice"}[context.principal.id]


class Directory:
    def user(self) -> str:
        return "alice"

    async def __call__(self, context: Context) -> str:
        return "alice"


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def generator() -> Generator[str]:
    yield "alice"


async def async_generator() -> AsyncGenerator[str]:
    yield "alice"


class Yields:
    def __call__(self) -> Generator[str]:
        yield "alice"


class Entered:
    def __enter__(self) -> str:
        return "alice"

    def __exit__(self, *_: object) -> None: ...


class EnteredLater:
    async def __aenter__(self) -> str:
        return "alice"

    async def __aexit__(self, *_: object) -> None: ...


def nested(user: Annotated[str, Depends(later)]) -> str:
    return user


def nested_default(user: str = Depends(later)) -> str:  # pyright: ignore[reportArgumentType] - the class
    return user


async def nested_async(user: Annotated[str, Depends(nested)], context: Context) -> str:
    return {"local": user}[context.principal.id]


def nested_generator(user: Annotated[str, Depends(generator)], again: Annotated[str, Depends(generator)]) -> Any:
    yield user if user is again else "nobody"


async def across(user: Annotated[str, Depends(nested_generator)]) -> AsyncGenerator[str]:
    yield user


def of_header(user: Annotated[str | None, Header("x-user")]) -> str:
    return "alice" if user is None else "root"


class Uncached:
    def __call__(self, user: Annotated[str, Depends(later, use_cache=False)]) -> str:
        return user


MAKERS: dict[str, Callable[..., Any]] = {
    "constant": lambda: "alice",
    "untyped context": lambda context: "alice",
    "async": later,
    "async with context": of_context,
    "keyword-only context": by_keyword,
    "optional context": maybe_context,
    "annotated context": annotated_context,
    "method": Directory().user,
    "callable object": Directory(),
    "partial": functools.partial(lambda name: name, "alice"),
    "wrapped async": traced(later),
    "wrapped with context": traced(of_context),
    "generator": generator,
    "async generator": async_generator,
    "generator object": Yields(),
    "partial generator": functools.partial(generator),
    "wrapped generator": traced(generator),
    "context manager": contextlib.contextmanager(generator),
    "async context manager": contextlib.asynccontextmanager(async_generator),
    "class of context managers": Entered,
    "class of async context managers": EnteredLater,
    "nested": nested,
    "nested, as default": nested_default,
    "nested async": nested_async,
    "nested generator": nested_generator,
    "nested across threads": across,
    "header": of_header,
    "not cached": Uncached(),
}

Written = tuple[Any, Any]
"""A type, and a default."""

ALIAS = "login"
FORGED = ("user", ALIAS, "User", "x-user", "context", "again", "limit", "name", "first")
"""Names that a model might try: that of the parameter, its alias, and those of parameters of its dependencies."""

# What the statement `type User = …` makes, from Python 3.12 on.
NewestAlias: Any = getattr(typing, "TypeAliasType", TypeAliasType)

PROVIDED: dict[str, Callable[[Depends], Written]] = {
    "annotated": lambda d: (Annotated[str, d], MISSING),
    "annotated, with words": lambda d: (Annotated[str, "the user", d], MISSING),
    "annotated twice": lambda d: (Annotated[Annotated[str, d], "the user"], MISSING),
    "annotated, with a default": lambda d: (Annotated[str, d], "root"),
    "annotated optional": lambda d: (Annotated[str, d] | None, None),  # pyright: ignore[reportOperatorIssue] - at runtime
    "optional annotated": lambda d: (Annotated[str | None, d], None),
    "annotated, no JSON": lambda d: (Annotated[sqlite3.Connection, d], MISSING),
    "annotated, with an alias": lambda d: (Annotated[str, pydantic.Field(alias=ALIAS), d], MISSING),
    "aliased default": lambda d: (Annotated[str, pydantic.Field(alias=ALIAS)], d),
    "alias": lambda d: (TypeAliasType("User", Annotated[str, d]), MISSING),  # pyright: ignore[reportGeneralTypeIssues]
    "alias of the statement": lambda d: (NewestAlias("User", Annotated[str, d]), MISSING),
    "default": lambda d: (str, d),
    "optional default": lambda d: (str | None, d),
    "default without a type": lambda d: (MISSING, d),
    "default in a field": lambda d: (str, pydantic.Field(default=d)),
    "default in an annotated field": lambda d: (Annotated[str, pydantic.Field(default=d)], MISSING),
    "factory of a field": lambda d: (str, pydantic.Field(default_factory=d)),  # pyright: ignore[reportArgumentType]
}


def dataclass_default(d: Depends) -> type:
    @dataclass
    class Query:
        user: str = field(default=d)  # pyright: ignore[reportAssignmentType]

    return Query


def dataclass_annotated(d: Depends) -> type:
    return make_dataclass("Query", [("user", Annotated[str, d])])


def model_default(d: Depends) -> type:
    return pydantic.create_model("Query", user=(str, d))


def model_annotated(d: Depends) -> type:
    return pydantic.create_model("Query", user=(Annotated[str, d], ...))


def model_within(d: Depends) -> type:
    inner = cast("Any", GenericAlias(list, (model_default(d),)))
    return pydantic.create_model("Outer", inner=(inner, ...))


def typed_dict(d: Depends) -> Any:
    return TypedDict("Query", {"user": Annotated[str, d]})


def named_tuple(d: Depends) -> type:
    class Query(NamedTuple):
        user: str = d  # pyright: ignore[reportAssignmentType]

    return Query


class Foreign:
    """A marker class of another library with the same name."""


Foreign.__name__ = "Depends"
UNCALLED: Any = Depends

REFUSED: dict[str, Callable[[Depends], Written]] = {
    "list": lambda d: (list[Annotated[str, d]], MISSING),
    "optional list": lambda d: (list[Annotated[str, d]] | None, None),
    "dict": lambda d: (dict[str, Annotated[str, d]], MISSING),
    "dataclass default": lambda d: (dataclass_default(d), MISSING),
    "dataclass annotated": lambda d: (dataclass_annotated(d), MISSING),
    "model default": lambda d: (model_default(d), MISSING),
    "model annotated": lambda d: (model_annotated(d), MISSING),
    "model within": lambda d: (model_within(d), MISSING),
    "typed dict": lambda d: (typed_dict(d), MISSING),
    "named tuple": lambda d: (named_tuple(d), MISSING),
    "two": lambda d: (Annotated[str, d, Depends(later)], MISSING),
    "annotated and default": lambda d: (Annotated[str, d], d),
    "default not called": lambda d: (str, UNCALLED),
    "annotated not called": lambda d: (Annotated[str, UNCALLED], MISSING),
    "foreign default": lambda d: (str, Foreign()),
    "foreign annotated": lambda d: (Annotated[str, Foreign()], MISSING),
    "header and dependency": lambda d: (Annotated[str, Header("x-user"), d], MISSING),
    "lifespan and dependency": lambda d: (Annotated[str, d, Lifespan], MISSING),
}


def annotate(function: Any, written: Written) -> Any:
    annotation, default = written
    function.__annotations__ = {"item": str, "context": Context, "return": str}
    if annotation is not MISSING:
        function.__annotations__["user"] = annotation
    if default is not MISSING and function.__kwdefaults__ is None:
        function.__defaults__ = (default,)
    elif default is not MISSING:
        function.__kwdefaults__ = {"user": default}
    return function


def plain(written: Written) -> Any:
    def tool(item: Any, user: Any) -> str:
        return f"{item} {user}"

    return annotate(tool, written)


def in_async(written: Written) -> Any:
    async def tool(item: Any, user: Any) -> str:
        return f"{item} {user}"

    return annotate(tool, written)


def keyword_only(written: Written) -> Any:
    def tool(item: Any, *, user: Any = MISSING) -> str:
        return f"{item} {user}"

    if written[1] is MISSING:
        tool.__kwdefaults__ = {}
    return annotate(tool, written)


def positional_only(written: Written) -> Any:
    def tool(item: Any, user: Any, /) -> str:
        return f"{item} {user}"

    return annotate(tool, written)


def with_context(written: Written) -> Any:
    def tool(context: Any, item: Any, user: Any) -> str:
        return f"{item} {user}"

    return annotate(tool, written)


def method(written: Written) -> Any:
    class Tools:
        def tool(self, item: Any, user: Any) -> str:
            return f"{item} {user}"

    annotate(Tools.tool, written)
    return Tools().tool


def callable_object(written: Written) -> Any:
    class Tools:
        def __call__(self, item: Any, user: Any) -> str:
            return f"{item} {user}"

    annotate(Tools.__call__, written)
    return Tools()


def wrapped(written: Written) -> Any:
    return traced(in_async(written))


def partially(written: Written) -> Any:
    def tool(more: str, item: Any, user: Any) -> str:
        return f"{item} {user}"

    return functools.partial(annotate(tool, written), "more")


FUNCTIONS = (
    plain,
    in_async,
    keyword_only,
    positional_only,
    with_context,
    method,
    callable_object,
    wrapped,
    partially,
)
functions = st.sampled_from(FUNCTIONS)
makers = st.sampled_from(sorted(MAKERS)).map(lambda name: Depends(MAKERS[name]))
blocking = st.booleans()
few = settings(max_examples=25)


def answers(server: Server, *questions: Callable[[Client], Awaitable[Any]]) -> list[Any]:
    async def main() -> list[Any]:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            return [await question(client) for question in questions]

    return asyncio.run(main())


@pytest.mark.parametrize("spelling", sorted(PROVIDED))
@few
@given(functions, makers, blocking)
def test_a_dependency_is_hidden_and_cannot_be_set_by_a_caller(
    spelling: str, function: Callable[[Written], Any], dependency: Depends, blocking: bool
) -> None:
    server = Server("t")
    server.add_tool(function(PROVIDED[spelling](dependency)), name="tool", blocking=blocking)
    [tool], given, *forged = answers(
        server,
        lambda client: client.list_tools(),
        lambda client: client.call_tool("tool", item="milk"),
        *map(forging, FORGED),
    )
    assert list(tool.inputSchema["properties"]) == ["item"]
    assert given.text == "milk alice"
    assert all(map(is_refused, forged))


def forging(name: str) -> Callable[[Client], Awaitable[Any]]:
    return lambda client: client.call_tool("tool", {"item": "milk", name: "root"})


def is_refused(result: Any) -> bool:
    return result.is_error and "is an unknown property" in result.text and "root" not in result.text


OTHERS: list[Any] = [Header, Header(), Header("x-user"), Lifespan, Lifespan()]


@contextlib.asynccontextmanager
async def alice(server: Server) -> AsyncGenerator[str]:
    yield "alice"


@pytest.mark.parametrize("spelling", sorted(PROVIDED.keys() - {"annotated, no JSON", "default without a type"}))
@pytest.mark.parametrize("provider", OTHERS, ids=str)
@few
@given(functions, blocking)
def test_a_header_and_a_value_of_the_lifespan_are_hidden_and_cannot_be_set(
    provider: Any, spelling: str, function: Callable[[Written], Any], blocking: bool
) -> None:
    server = Server("t", lifespan=alice)
    server.add_tool(function(PROVIDED[spelling](provider)), name="tool", blocking=blocking)
    [tool], given, *forged = answers(
        server,
        lambda client: client.list_tools(),
        lambda client: client.call_tool("tool", item="milk"),
        *map(forging, FORGED),
    )
    assert list(tool.inputSchema["properties"]) == ["item"]
    assert "milk alice" in given.text or provider not in (Lifespan, Lifespan())
    assert all(map(is_refused, forged))


WITHIN = (
    *("list", "optional list", "dict", "dataclass default", "dataclass annotated", "model default", "model annotated"),
    *("model within", "typed dict", "named tuple"),
)


@pytest.mark.parametrize("spelling", WITHIN)
@pytest.mark.parametrize("provider", OTHERS, ids=str)
def test_a_header_and_a_value_of_the_lifespan_are_refused_within_a_type(provider: Any, spelling: str) -> None:
    for function in FUNCTIONS:
        with pytest.raises(DefinitionError) as caught:
            Server("t").add_tool(function(REFUSED[spelling](provider)), name="tool")
        assert caught.value.code == "TT3420"


@pytest.mark.parametrize("spelling", sorted(REFUSED))
@few
@given(functions, makers)
def test_an_invalid_dependency_is_refused(
    spelling: str, function: Callable[[Written], Any], dependency: Depends
) -> None:
    with pytest.raises(DefinitionError, match="Depends"):
        Server("t").add_tool(function(REFUSED[spelling](dependency)), name="tool")


@pytest.mark.parametrize("spelling", sorted(PROVIDED))
@few
@given(functions, makers, blocking)
def test_prompts_and_resources_hide_their_dependencies(
    spelling: str, function: Callable[[Written], Any], dependency: Depends, blocking: bool
) -> None:
    server = Server("t")
    written = PROVIDED[spelling](dependency)
    server.add_prompt(function(written), name="prompt", blocking=blocking)
    server.add_resource("shop://{item}", function(written), blocking=blocking)
    [prompt], said, [part] = answers(
        server,
        lambda client: client.list_prompts(),
        lambda client: client.get_prompt("prompt", {"item": "milk"}),
        lambda client: client.read_resource("shop://milk"),
    )
    assert [argument.name for argument in prompt.arguments] == ["item"]
    assert (said.messages[0].content.text, part.text) == ("milk alice", "milk alice")
    with pytest.raises(RpcError):
        answers(server, lambda client: client.get_prompt("prompt", {"item": "milk", "user": "root"}))
    with pytest.raises(DefinitionError):
        server.add_resource("shop://{item}/{user}", function(written))


@pytest.mark.parametrize("spelling", sorted(REFUSED))
@few
@given(functions, makers)
def test_prompts_and_resources_refuse_an_invalid_dependency(
    spelling: str, function: Callable[[Written], Any], dependency: Depends
) -> None:
    with pytest.raises(DefinitionError):
        Server("t").add_prompt(function(REFUSED[spelling](dependency)), name="prompt")
    with pytest.raises(DefinitionError):
        Server("t").add_resource("shop://{item}", function(REFUSED[spelling](dependency)))


@given(makers, st.sampled_from([dataclass_default, dataclass_annotated, model_default, model_annotated, typed_dict]))
def test_a_form_has_no_dependency(dependency: Depends, fields: Callable[[Depends], Any]) -> None:
    with pytest.raises(DefinitionError, match="Depends"):
        Form("Who are you?", fields(dependency))


@given(makers, st.sampled_from(["annotated", "default", "default in a field"]))
def test_functions_that_get_no_dependency_refuse_one(dependency: Depends, spelling: str) -> None:
    function = plain(PROVIDED[spelling](dependency))
    server = Server("t")
    with pytest.raises(DefinitionError, match="gets none"):
        server.add_raw_tool("raw", {"type": "object"}, function)
    with pytest.raises(DefinitionError, match="gets none"):
        server.add_tool(lambda: "", name="previewed", preview=function)

    def prompt(item: str) -> str:
        return item

    prompt.__annotations__["item"] = Annotated[str, Completes(function)]
    with pytest.raises(DefinitionError, match="gets none"):
        TextFunction(prompt, "prompt", ThreadPool(1), blocking=True)


def own_parameter(limit: int) -> str:
    return str(limit)


def needs_a_circle(user: Annotated[str, Depends(lambda: "")], other: CIRCLE) -> str:
    return user


def closes_the_circle(other: Annotated[str, Depends(needs_a_circle)]) -> str:
    return other


CIRCLE = Annotated[str, Depends(closes_the_circle)]


def needs_itself(other: ITSELF) -> str:
    return other


ITSELF = Annotated[str, Depends(needs_itself)]


def untyped_and_provided(one, user: Annotated[str, Depends(later)]) -> str:
    return user


def takes_the_token(token: Annotated[str, Header("authorization")]) -> str:
    return token


def takes_a_number(number: Annotated[int, Header("x-number")]) -> str:
    return str(number)


def context_and_more(context: Context, limit: int) -> str:
    return str(limit)


NOT_MADE: list[tuple[Any, str]] = [
    (own_parameter, "TT3027"),
    (functools.partial(context_and_more), "TT3027"),
    (context_and_more, "TT3027"),
    (lambda one, two: "", "TT3012"),
    (untyped_and_provided, "TT3012"),
    (needs_a_circle, "TT3421"),
    (needs_itself, "TT3421"),
    (takes_the_token, "TT3424"),
    (takes_a_number, "TT3422"),
    ("alice", "TT3025"),
    (Depends(later), "TT3025"),
]


@pytest.mark.parametrize(("make", "code"), NOT_MADE)
def test_a_dependency_that_nothing_can_make_is_refused_with_the_way_out(make: Any, code: str) -> None:
    for function in FUNCTIONS:
        for written in (PROVIDED["default"], PROVIDED["annotated"]):
            with pytest.raises(DefinitionError) as caught:
                Server("t").add_tool(function(written(Depends(make))), name="tool")
            assert caught.value.code == code
            assert "test_dependencies.py" in str(caught.value)


HANDED_OVER: list[tuple[Callable[[], Any], str]] = [
    (lambda: generator(), "TT3026"),
    (lambda: async_generator(), "TT3026"),
    (lambda: contextlib.contextmanager(generator)(), "TT3026"),
    (lambda: contextlib.asynccontextmanager(async_generator)(), "TT3026"),
    (lambda: later(), "TT3029"),
]


@pytest.mark.parametrize(("make", "code"), HANDED_OVER)
@pytest.mark.parametrize("function", [plain, in_async])
def test_an_invalid_dependency_value_is_never_passed_to_the_function(
    make: Callable[[], Any], code: str, function: Callable[[Written], Any], caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("t")
    server.add_tool(function(PROVIDED["annotated"](Depends(make))), name="tool")
    [result] = answers(server, lambda client: client.call_tool("tool", item="milk"))
    assert result.is_error
    [error] = [record.exc_info[1] for record in caplog.records if record.exc_info]
    assert isinstance(error, DefinitionError)
    assert error.code == code


def test_a_plain_dependency_runs_on_the_thread_of_a_plain_tool() -> None:
    server = Server("t")

    @server.tool
    def rows(database: Annotated[sqlite3.Connection, Depends(lambda: sqlite3.connect(":memory:"))]) -> int:
        with contextlib.closing(database):
            return int(database.execute("select 7").fetchone()[0])  # sqlite3 refuses any other thread

    [result] = answers(server, lambda client: client.call_tool("rows"))
    assert result.value == 7


def test_a_plain_dependency_of_an_async_tool_does_not_hold_up_the_loop() -> None:
    server, may_end = Server("t"), threading.Event()

    async def waits(ended: Any) -> bool:
        return bool(ended)

    waits.__annotations__["ended"] = Annotated[bool, Depends(lambda: may_end.wait(LIMIT))]
    server.add_tool(waits)

    @server.tool
    async def frees() -> None:
        may_end.set()

    async def both(client: Client) -> Any:
        waiting = asyncio.ensure_future(client.call_tool("waits"))
        await asyncio.sleep(0)
        await client.call_tool("frees")
        return (await waiting).value

    assert answers(server, both) == [True]
