"""Audit records of each kind of event, and calls that are refused because they cannot be recorded."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from support.clock import skip
from tooltrue import Abuse, Client, Completes, Concurrency, Context, Form, Rate, RpcError, Server, ToolError
from tooltrue.errors import StateError
from tooltrue.policy.audit.argument_masking import MASKED
from tooltrue.policy.audit.audit_settings import Audit, OnFailure
from tooltrue.policy.audit.log_queries import matching
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.guard import Guard, Limits
from tooltrue.policy.layers.rate import RateLimits
from tooltrue.policy.pipeline import standard
from tooltrue.policy.rules.rule import ALLOW, Allow, Deny
from tooltrue.protocol.types import ResourceTemplate
from tooltrue.server.service import SILENT
from tooltrue.state.log import MemoryLog
from tooltrue.state.sqlite import SqliteLog
from tooltrue.state.verify import verify
from tooltrue.tools.library import LocalLibrary, shelved
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.rounds import Rounds
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall

Record = dict[str, Any]
Does = Callable[[Client], Awaitable[Any]]


def recorded(server: Server, does: Does, **settings: Any) -> list[Record]:
    """The records of a client's requests to ``server``; a protocol error ends the requests without an exception."""

    async def use() -> list[Record]:
        async with Client(server, **settings) as client:
            with contextlib.suppress(RpcError):
                await does(client)
        return [entry.record for entry in await server.audit_log.read(0, 10_000)]

    return asyncio.run(use())


def of(record: Record, *names: str) -> tuple[Any, ...]:
    return tuple(record.get(name) for name in names)


def server_with(function: Callable[..., Any], /, *, limits: Limits | None = None, **settings: Any) -> Server:
    server = Server("t", limits=limits)
    server.add_tool(function, name="tool", **settings)
    return server


def echo(text: str = "a") -> str:
    return text


# --- one record an operation ------------------------------------------------------------------------------------------


def test_one_call_makes_one_record_with_principal_tool_and_outcome():
    server = server_with(echo, effect="read")
    [record] = recorded(server, lambda client: client.call_tool("tool", {"text": "hello"}))
    assert record.pop("ms") >= 0
    assert record.pop("at").startswith("20")
    assert record == {
        "arguments": {"text": "hello"},
        "bytes_in": len('{"text":"hello"}'),
        "bytes_out": len("hello"),
        "decision": "allow",
        "effect": "read",
        "kind": "call",
        "outcome": "ok",
        "subject": "tool",
        "who": "local",
    }


def test_a_call_that_has_waited_for_a_slot_records_for_how_long():
    server, running, may_end = Server("t", concurrency=Concurrency(tool=1)), asyncio.Event(), asyncio.Event()

    @server.tool(effect="read")
    async def slow() -> str:
        running.set()
        await may_end.wait()
        return "done"

    async def does(client: Client) -> None:
        first = asyncio.ensure_future(client.call_tool("slow"))
        await running.wait()
        second = asyncio.ensure_future(client.call_tool("slow"))
        for _ in range(100):
            await asyncio.sleep(0)
        skip(2)
        may_end.set()
        await asyncio.gather(first, second)

    first, second = recorded(server, does)
    assert "queue_ms" not in first
    assert second["queue_ms"] >= 2000


def test_the_size_of_an_answer_is_counted_in_bytes():
    server = server_with(echo, effect="read")
    [record] = recorded(server, lambda client: client.call_tool("tool", {"text": "茶é"}))
    assert (record["bytes_in"], record["bytes_out"]) == (len('{"text":"茶é"}'.encode()), len("茶é".encode()))


def test_reading_getting_and_completing_are_recorded_as_calling_is():
    server = Server("t")

    @server.resource("docs://{name}")
    def page(name: str) -> str:
        return "text"

    @server.prompt
    def greet(name: Annotated[str, Completes(lambda prefix: ["Ann"])]) -> str:
        return f"Greet {name}"

    async def all_of_them(client: Client) -> None:
        await client.read_resource("docs://a")
        await client.get_prompt("greet", {"name": "Ann"})
        [prompt] = await client.list_prompts()
        await client.complete(prompt, "name", "A")

    records = recorded(server, all_of_them)
    assert [of(record, "kind", "subject", "arguments", "outcome") for record in records] == [
        ("read", "docs://a", {}, "ok"),
        ("get", "greet", {"name": "Ann"}, "ok"),
        ("complete", "greet", {"name": "A"}, "ok"),
    ]


def refuses() -> str:
    raise ToolError("no")


def crashes() -> str:
    raise RuntimeError("the password is hunter2")


def breaks_its_contract() -> int:
    return "no number"  # pyright: ignore[reportReturnType] - the fault


@pytest.mark.parametrize(
    ("function", "arguments", "outcome", "code"),
    [
        (echo, {}, "ok", None),
        (echo, {"text": 1}, "refused", "TT2001"),
        (refuses, {}, "error", None),
        (crashes, {}, "error", "TT2004"),
        (breaks_its_contract, {}, "error", "TT2005"),
    ],
)
def test_a_record_says_how_a_call_ended(
    function: Callable[..., Any], arguments: dict[str, Any], outcome: str, code: str | None
):
    [record] = recorded(server_with(function, effect="read"), lambda client: client.call_tool("tool", arguments))
    assert of(record, "outcome", "code") == (outcome, code)
    assert "hunter2" not in str(record)


def test_a_call_of_an_unknown_tool_is_recorded_as_a_refusal():
    [record] = recorded(Server("t"), lambda client: client.call_tool("nowhere", {"a": 1}))
    assert of(record, "subject", "outcome", "code", "decision", "effect") == (
        "nowhere",
        "refused",
        "TT1010",
        "deny",
        None,
    )


def test_a_read_of_an_unknown_resource_or_prompt_is_recorded_as_a_refusal():
    server = Server("t")
    server.resource("docs://{text}")(echo)
    server.prompt(echo)

    async def probe(client: Client) -> None:
        with contextlib.suppress(RpcError):
            await client.read_resource("nowhere://a")
        await client.get_prompt("nothing")

    records = recorded(server, probe)
    assert [of(record, "outcome", "code") for record in records] == [("refused", "TT1025"), ("refused", "TT1026")]


def test_a_plain_function_that_goes_on_after_its_time_is_recorded_as_abandoned():
    go_on = threading.Event()
    server = server_with(lambda: go_on.wait(10), seconds=0.01, effect="read")
    try:
        [record] = recorded(server, lambda client: client.call_tool("tool"))
    finally:
        go_on.set()
    assert of(record, "outcome", "code") == ("abandoned", "TT2003")


def test_a_call_that_its_client_gave_up_is_recorded_as_cancelled():
    async def scenario() -> list[Record]:
        begun = asyncio.Event()

        async def forever() -> None:
            begun.set()
            await asyncio.Event().wait()

        server = server_with(forever, effect="read")
        async with Client(server) as client:
            call = asyncio.create_task(client.call_tool("tool"))
            await begun.wait()
            call.cancel()
            await asyncio.wait((call,))
        return [entry.record for entry in await server.audit_log.read()]

    [record] = asyncio.run(scenario())
    assert of(record, "outcome", "decision") == ("cancelled", "allow")


@pytest.mark.parametrize("verdict", [Allow(rule="staff"), Deny("not you", rule="no-guests")])
def test_a_record_says_which_rule_decided(verdict: Allow | Deny):
    def decide(subject: Any, context: Any, arguments: Any) -> Any:
        return ALLOW if arguments is None else verdict

    server = Server("t", decide=decide)
    server.add_tool(echo, name="tool", effect="read")
    [record] = recorded(server, lambda client: client.call_tool("tool"))
    assert of(record, "decision", "rule") == (type(verdict).__name__.lower(), verdict.rule)


def test_a_record_has_the_trace_that_the_request_belongs_to():
    trace = "0af7651916cd43dd8448eb211c80319c"
    provider, log = provider_of(echo)
    meta = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    asyncio.run(provider.call_tool(ToolCall("tool", {}, RequestContext(LOCAL, SILENT, meta=meta))))
    [record] = records_of(log)
    assert record["trace"] == trace
    steps = [name for name, _ in record["steps"]]
    assert (steps[0], steps[-1]) == ("audit", "tool")
    assert 0 < sum(milliseconds for _, milliseconds in record["steps"]) <= record["ms"]


@pytest.mark.parametrize("meta", [{}, {"traceparent": "no trace"}])
def test_the_times_of_steps_are_those_of_traced_calls_alone(meta: dict[str, str]):
    provider, log = provider_of(echo)
    asyncio.run(provider.call_tool(ToolCall("tool", {}, RequestContext(LOCAL, SILENT, meta=meta))))
    [record] = records_of(log)
    assert "steps" not in record


def provider_of(function: Callable[..., Any], **settings: Any) -> tuple[Any, MemoryLog]:
    tools, log = LocalToolset(), MemoryLog()
    settings = {"effect": "read", **settings}
    tools.add(function, name="tool", **settings)
    audit = Audit(log)
    return standard(shelved(tools, LocalLibrary()), Guard(audit=audit), None, Recorder(audit)), log


def records_of(log: MemoryLog) -> list[Record]:
    return [entry.record for entry in asyncio.run(log.read(0, 100_000))]


# --- rounds -----------------------------------------------------------------------------------------------------------


@dataclass
class Named:
    name: str


def asks_twice(context: Context) -> str:
    mine = context.ask(Form("Your name?", Named)).value
    city = context.ask(Form("Your city's name?", Named)).value
    return f"{mine.name} of {city.name}"


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_a_call_that_asks_is_one_record_in_all(revision: str):
    server = server_with(asks_twice, effect="read")
    records = recorded(
        server, lambda client: client.call_tool("tool"), revision=revision, elicit=lambda question: {"name": "x"}
    )
    assert [of(record, "outcome", "rounds") for record in records] == [("ok", 3)]


def test_a_call_with_an_unanswered_question_is_recorded_once_after_its_deadline():
    now = 1_000_000.0
    audit = Audit(log := MemoryLog())
    recorder = Recorder(audit, clock=lambda: now)
    tools = LocalToolset()
    tools.add(asks_twice, name="tool", effect="read")
    provider = standard(shelved(tools, LocalLibrary()), Guard(audit=audit), None, recorder)

    async def scenario() -> None:
        nonlocal now
        context = RequestContext(LOCAL, SILENT, {"elicitation": {}}, rounds=Rounds())
        await provider.call_tool(ToolCall("tool", {}, context))
        assert await log.read() == ()
        now += 3600
        with pytest.raises(RpcError):
            await provider.call_tool(ToolCall("nowhere", {}, context))

    asyncio.run(scenario())
    assert [of(record, "subject", "outcome") for record in records_of(log)] == [
        ("tool", "asked"),
        ("nowhere", "refused"),
    ]


# --- arguments --------------------------------------------------------------------------------------------------------


def test_arguments_are_recorded_as_received_even_if_the_tool_mutates_them():
    tools, log = LocalToolset(), MemoryLog()

    def handler(arguments: dict[str, Any]) -> str:
        arguments["path"] = "elsewhere"
        arguments["list"].append(3)
        return "done"

    tools.add_raw("tool", {"type": "object"}, handler, effect="read")
    audit = Audit(log)
    provider = standard(shelved(tools, LocalLibrary()), Guard(audit=audit), None, Recorder(audit))
    call = ToolCall("tool", {"path": "here", "list": [1, 2]}, RequestContext(LOCAL, SILENT))
    asyncio.run(provider.call_tool(call))
    assert records_of(log)[0]["arguments"] == {"path": "here", "list": [1, 2]}


def test_of_long_arguments_there_is_the_size_and_a_digest():
    provider, log = provider_of(echo)
    asyncio.run(provider.call_tool(ToolCall("tool", {"text": "x" * 100_000}, RequestContext(LOCAL, SILENT))))
    [record] = records_of(log)
    assert record["arguments"]["[cut]"]["bytes"] == record["bytes_in"] == 100_011
    assert len(str(record)) < 1_000


def sign_in(
    user: str,
    password: str = "",
    pin: Annotated[str, Field(json_schema_extra={"format": "password"})] = "",
    notes: Annotated[list[str], Field(json_schema_extra={"writeOnly": True})] = [],  # noqa: B006
    max_tokens: int = 0,
    author: str = "",
) -> str:
    return "in"


def test_only_arguments_that_are_secret_by_schema_or_name_are_masked():
    said = {"user": "ann", "password": "s1", "pin": "s2", "notes": ["s3"], "max_tokens": 5, "author": "bob"}
    provider, log = provider_of(sign_in)
    asyncio.run(provider.call_tool(ToolCall("tool", said, RequestContext(LOCAL, SILENT))))
    [record] = records_of(log)
    hidden = dict.fromkeys(("password", "pin", "notes"), MASKED)
    assert record["arguments"] == {"user": "ann", "max_tokens": 5, "author": "bob", **hidden}
    assert sorted(record["masked"]) == ["/notes", "/password", "/pin"]


NAMES = ["password", "apiKey", "X-Auth-Token", "client_secret", "privateKey", "db.password", "Authorization"]
values = st.recursive(
    st.integers() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(st.dictionaries(st.text(), values), st.sampled_from(NAMES), st.lists(st.text(max_size=5), max_size=4))
def test_no_secret_is_recorded_wherever_it_stands(others: dict[str, Any], name: str, path: list[str]):
    inner: Any = {**others, name: "hunter2-hunter2"}
    for step in path:
        inner = {step: [inner]}
    log = MemoryLog()
    tools = LocalToolset()
    tools.add_raw("tool", {"type": "object"}, lambda arguments: "done", effect="read")
    audit = Audit(log)
    provider = standard(shelved(tools, LocalLibrary()), Guard(audit=audit), None, Recorder(audit))
    asyncio.run(provider.call_tool(ToolCall("tool", inner, RequestContext(LOCAL, SILENT))))
    assert "hunter2" not in str(records_of(log))


def test_a_secret_in_free_text_and_in_a_uri_is_masked():
    server = server_with(echo, effect="read")

    @server.resource("https://{+rest}")
    def anything(rest: str) -> str:
        return ""

    async def both(client: Client) -> None:
        await client.call_tool("tool", {"text": "use postgresql://ann:Zx9kQw77@db.example/shop"})
        await client.read_resource("https://host.example/a?page=2&access_token=Zx9kQw77")

    records = recorded(server, both)
    assert "Zx9kQw77" not in str(records)
    assert records[0]["masked"] == ["/text"]
    assert "page=2" in records[1]["subject"]


SECRET = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    "does",
    [
        lambda client: client.call_tool(SECRET),
        lambda client: client.call_tool("tool", {SECRET: 1}),
        lambda client: client.call_tool("tool", {"text": {"a": [{f"x {SECRET}": None}]}}),
        lambda client: client.call_tool("tool", {"text": SECRET[:2] + "\u200b" + SECRET[2:]}),
        lambda client: client.call_tool("tool", {"text": 1, "pass\u200bword": SECRET[4:]}),
        lambda client: client.get_prompt(SECRET, {}),
        lambda client: client.get_prompt("x" * 480 + f" {SECRET}", {}),
        lambda client: client.read_resource(f"https://a.example/?page=1&token={SECRET[4:]}"),
        lambda client: client.complete(ResourceTemplate(f"https://a.example/?token={SECRET[4:]}", "t"), "a", "b"),
    ],
    ids=range(9),
)
def test_j02_a_secret_in_any_recorded_field_is_masked(does: Does):
    server = server_with(echo, effect="read")
    server.resource("docs://{text}")(echo)

    @server.prompt
    def greet(name: Annotated[str, Completes(lambda prefix: ["Ann"])]) -> str:
        return f"Greet {name}"

    [record] = recorded(server, does)
    shown = str(record).replace("\\u200b", "").replace("\u200b", "")
    assert "a1B2" not in shown
    assert "masked" in shown


def test_j02_twin_arguments_without_a_secret_are_recorded_unchanged():
    said = {"text": "na\u200bïve", "k\u200bey": 1}
    [record] = recorded(server_with(echo, effect="read"), lambda client: client.call_tool("tool", said))
    assert of(record, "arguments", "masked") == (said, None)


def test_a_trace_that_is_none_is_not_recorded():
    provider, log = provider_of(echo)
    meta = {"traceparent": f"00-{SECRET[:32]}-0123456789abcdef-01"}
    asyncio.run(provider.call_tool(ToolCall("tool", {}, RequestContext(LOCAL, SILENT, meta=meta))))
    [record] = records_of(log)
    assert "trace" not in record


def test_a_detector_of_ones_own_takes_the_place_of_ours():
    log = MemoryLog()
    tools = LocalToolset()
    tools.add(echo, name="tool", effect="read")
    audit = Audit(log, mask=lambda text: text.replace("Ann", "…"))
    provider = standard(shelved(tools, LocalLibrary()), Guard(audit=audit), None, Recorder(audit))
    asyncio.run(provider.call_tool(ToolCall("tool", {"text": "Ann was here"}, RequestContext(LOCAL, SILENT))))
    [record] = records_of(log)
    assert of(record, "arguments", "masked") == ({"text": "… was here"}, ["/text"])


def test_a_failing_detector_hides_the_arguments_of_one_record_only(tmp_path: Path):
    def mask(text: str) -> str:
        if "bad" in text:
            raise RuntimeError(text)
        return text

    async def scenario() -> list[Record]:
        server = Server("t", audit=Audit(f"sqlite:{tmp_path / 'log.db'}", mask=mask))
        server.add_tool(echo, name="tool", effect="destructive", confirm=False)
        async with server.serving(), Client(server) as client:
            for text in ("good", "bad", "good"):
                assert (await client.call_tool("tool", {"text": text})).text == text
            return [entry.record for entry in await server.audit_log.read() if entry.record["kind"] == "call"]

    records = asyncio.run(scenario())
    good, bad = {"text": "good"}, {"[mask failed]": "RuntimeError"}
    assert [record["arguments"] for record in records] == [good, bad, good]
    assert of(records[1], "outcome", "effect", "who") == ("ok", "destructive", "local")


@pytest.mark.parametrize("text", ["naïve 名 \u2028", "\ud800", 'a\n{"decision":"allow"}', "\x7f\x00\x1b[2J"])
def test_a_record_of_any_text_is_one_line_of_ascii(text: str):
    provider, log = provider_of(echo)
    with_any = ToolCall("tool", {"text": text}, RequestContext(LOCAL, SILENT))
    asyncio.run(provider.call_tool(with_any))
    [entry] = asyncio.run(log.read())
    assert entry.text.isascii()
    assert "\n" not in entry.text
    assert entry.record["arguments"] in ({"text": text}, {"[unreadable]": True})


# --- refusals are counted ---------------------------------------------------------------------------------------------


async def probe(provider: Provider, times: int) -> None:
    """Call tools that are not there: n0, n1, …"""
    for number in range(times):
        with contextlib.suppress(RpcError):
            await provider.call_tool(ToolCall(f"n{number}", {}, RequestContext(LOCAL, SILENT)))


def test_beyond_the_first_five_refusals_of_a_caller_in_a_minute_there_is_one_record_for_all():
    now = 1_000_000.0
    audit = Audit(log := MemoryLog())
    recorder = Recorder(audit, clock=lambda: now)
    patient = Abuse(unknown=Rate(1_000, 1_000))
    provider = standard(shelved(LocalToolset(), LocalLibrary()), Guard(audit=audit, abuse=patient), None, recorder)

    asyncio.run(probe(provider, 100))
    assert [record["subject"] for record in records_of(log)] == ["n0", "n1", "n2", "n3", "n4"]
    now += 61
    asyncio.run(probe(provider, 1))
    [*_, summary, last] = records_of(log)
    assert of(summary, "kind", "who", "count") == ("refusals", "local", 95)
    assert sum(summary["codes"].values()) == 95
    assert last["subject"] == "n0"


def test_refusals_that_are_counted_say_of_which_tools_they_were():
    tools, now = LocalToolset(), 1_000_000.0

    @tools.tool(effect="read")
    def price(tea: str) -> str:
        """Tell a price."""
        raise AssertionError("the arguments are wrong")

    audit = Audit(log := MemoryLog())
    recorder = Recorder(audit, clock=lambda: now)
    provider = standard(shelved(tools, LocalLibrary()), Guard(audit=audit), None, recorder)

    async def call(name: str) -> None:
        with contextlib.suppress(RpcError):
            await provider.call_tool(ToolCall(name, {"tea": 7}, RequestContext(LOCAL, SILENT)))

    async def all_of_them() -> None:
        for name in ["price"] * 8 + ["guess", "guess"]:
            await call(name)

    asyncio.run(all_of_them())
    now += 61
    asyncio.run(call("guess"))
    [*_, summary, _] = records_of(log)
    assert summary["tools"] == {"price": {"TT2001": 3}}
    assert summary["codes"] == {"TT2001": 3, "TT1010": 2}


def test_that_a_caller_is_paused_is_recorded_however_many_refusals_are_counted():
    audit = Audit(log := MemoryLog())
    strict = Abuse(unknown=Rate(0.001, 20), pause=7)
    provider = standard(
        shelved(LocalToolset(), LocalLibrary()), Guard(audit=audit, abuse=strict), None, Recorder(audit)
    )

    asyncio.run(probe(provider, 40))
    *_, last = records_of(log)
    assert of(last, "subject", "who", "rule", "paused") == ("n20", "local", "abuse: unknown", 7)
    assert len(records_of(log)) == 6


# --- without a log ----------------------------------------------------------------------------------------------------


class Broken(MemoryLog):
    """A log whose disk is full."""

    failing = True

    async def append(self, record: Any) -> int:
        raise StateError.of("TT7003", path="/full", problem="no space left")


EFFECTS = ("read", "write", "open-world", "destructive")


@pytest.mark.parametrize(
    ("on_failure", "runs"),
    [("refuse", ()), ("refuse writes", ("read",)), ("go on", ("read", "write", "open-world"))],
)
def test_on_failure_decides_which_effects_run_while_the_audit_log_is_broken(
    on_failure: OnFailure, runs: tuple[str, ...]
):
    ran: list[str] = []
    server = Server("t", audit=Audit(Broken(), on_failure=on_failure))
    for effect in EFFECTS:
        server.add_tool(partial(ran.append, effect), name=effect, effect=effect, confirm=False)

    async def all_of_them(client: Client) -> None:
        for effect in EFFECTS:
            result = await client.call_tool(effect)
            assert result.is_error == (effect not in runs)
            assert not result.is_error or "[TT7011]" in str(result.content)

    recorded(server, all_of_them)
    assert tuple(ran) == runs


def test_a_destructive_call_runs_only_after_its_write_ahead_audit_record():
    log = MemoryLog()
    server = Server("t", audit=log)
    seen: list[Record] = []

    async def wipe(path: str) -> str:
        seen.extend(entry.record for entry in await log.read())
        return "gone"

    server.add_tool(wipe, effect="destructive", confirm=False)
    records = recorded(server, lambda client: client.call_tool("wipe", {"path": "a"}))
    assert [of(record, "kind", "outcome") for record in records] == [("intent", None), ("call", "ok")]
    assert seen == records[:1]
    assert records[0]["id"] == records[1]["id"]
    assert records[0]["arguments"] == {"path": "a"}


def test_of_a_refused_destructive_call_no_intent_is_recorded():
    server = server_with(echo, effect="destructive", confirm=False)
    records = recorded(server, lambda client: client.call_tool("tool", {"text": 1}))
    assert [of(record, "kind", "outcome") for record in records] == [("call", "refused")]


# --- where ------------------------------------------------------------------------------------------------------------


def test_a_server_in_memory_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert len(recorded(server_with(echo, effect="read"), lambda client: client.call_tool("tool"))) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_serves_writes_to_a_file_of_its_name_for_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    async def scenario(name: str) -> list[str]:
        server = Server(name)
        server.add_tool(echo, name="tool", effect="read")
        async with server.serving(), Client(server) as client:
            await client.call_tool("tool")
            assert (await verify(server.audit_log)).entries == 1
        return sorted(path.name for path in (tmp_path / "tooltrue" / "audit").iterdir())

    assert asyncio.run(scenario("shop")) == ["shop.db", "shop.db.seal"]
    assert (tmp_path / "tooltrue" / "audit").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "tooltrue" / "audit" / "shop.db").stat().st_mode & 0o777 == 0o600
    names = asyncio.run(scenario("../../a shop"))
    assert len(names) == 4
    assert not any("/" in name or name.startswith(".") for name in names)


def test_records_are_kept_until_the_last_of_those_that_serve_has_ended(tmp_path: Path):
    async def scenario() -> list[str]:
        server = Server("t", audit=f"sqlite:{tmp_path / 'log.db'}")
        server.add_tool(echo, name="tool", effect="read")
        first, second = server.serving(), server.serving()
        await asyncio.gather(first.__aenter__(), second.__aenter__())
        for one in (first, second):
            async with Client(server) as client:
                await client.call_tool("tool", {"text": "here"})
            await one.__aexit__(None, None, None)
        assert await server.audit_log.read() == ()
        async with server.serving():
            return [entry.record["outcome"] for entry in await server.audit_log.read()]

    assert asyncio.run(scenario()) == ["ok", "ok"]


def test_a_server_with_audit_false_records_no_calls():
    server = Server("t", audit=False)
    server.add_tool(echo, name="tool", effect="read")
    assert recorded(server, lambda client: client.call_tool("tool")) == []
    assert ("audit", "off", "Server(audit=…)") in server.guard()


def test_the_operator_says_where_by_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOOLTRUE_AUDIT", "postgresql://ann:hunter2@db/audit")
    [row] = [row for row in Server("t").guard() if row[0] == "audit"]
    assert row == ("audit", "on: postgresql://…@db/audit; head kept by the database", "TOOLTRUE_AUDIT")


# --- a log that is slower than the calls ------------------------------------------------------------------------------


def test_calls_that_are_quicker_than_the_log_wait_for_it_and_none_is_left_out(tmp_path: Path):
    tools = LocalToolset()
    tools.add(quick, name="tool", effect="read")

    async def flood() -> tuple[int, int]:
        log = SqliteLog(tmp_path / "log.db", capacity=20)
        audit = Audit(log)
        guard, recorder = Guard(audit=audit, rate=RateLimits.of(Rate(1e6, 10**6))), Recorder(audit)
        provider = standard(shelved(tools, LocalLibrary()), guard, None, recorder)
        async with recorder.open():
            for _ in range(1_000):
                await provider.call_tool(ToolCall("tool", {}, RequestContext(LOCAL, SILENT)))
            return (await log.head()).position, log.lost

    assert asyncio.run(flood()) == (1_000, 0)


async def quick() -> str:
    """Be quick."""
    return ""


def test_two_servers_of_one_name_are_told_apart_in_the_log_that_they_share():
    log = MemoryLog()

    async def once() -> None:
        for instance in ("orders", "invoices", ""):
            server = Server("shop", audit=log, instance=instance)

            def look() -> str:
                return "seen"

            server.add_tool(look, effect="read")
            async with Client(server) as client:
                await client.call_tool("look")

    asyncio.run(once())
    records = [entry.record for entry in asyncio.run(log.read(0, 10))]
    assert [record.get("instance") for record in records] == ["shop (orders)", "shop (invoices)", None]
    assert [matching({"instance": "shop (ord*"})(record) for record in records] == [True, False, False]
