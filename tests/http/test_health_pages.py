"""The pages beside the endpoint: /healthz, /readyz and /metrics."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint
from tooltrue import Server, ToolError
from tooltrue.errors import StateError
from tooltrue.observe import meter
from tooltrue.server import health_pages
from tooltrue.state.facts import MemoryFacts
from tooltrue.testing.state import LIMIT
from tooltrue.tools.bounds import Rate
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier


class Failing(MemoryFacts):
    """A store that can be made to fail, and counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.works = True
        self.asked = 0

    async def get(self, key: str) -> bytes | None:
        self.asked += key == "ready"
        if not self.works:
            raise StateError.of("TT7051", url="here")
        return await super().get(key)


def server(**settings: Any) -> Server:
    made = Server("seen", version="1", metrics=True, **settings)

    @made.tool
    def work(how: str) -> str:
        """Work, or not."""
        if how == "refuse":
            raise ToolError("Not so.")
        if how == "crash":
            raise ValueError("hunter2")
        return how

    return made


class At:
    """A server while it is served; ``get`` reads a page."""

    def __init__(self, endpoint: Endpoint, root: str) -> None:
        self.endpoint = endpoint
        self._root = root

    async def get(self, path: str, **headers: str) -> Answer:
        named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
        return await Endpoint(self.endpoint.port, self._root + path).ask("GET", headers=named)

    async def call(self, tool: str, how: str = "well", **headers: str) -> Answer:
        return await self.endpoint.modern("tools/call", {"name": tool, "arguments": {"how": how}}, **headers)

    async def figures(self, **headers: str) -> dict[tuple[str, ...], float]:
        """The Prometheus samples, by name and labels except `worker`."""
        answer = await self.get("/metrics", **headers)
        assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (200, "text/plain")
        return {
            (sample.name, *(value for name, value in sorted(sample.labels.items()) if name != "worker")): sample.value
            for family in text_string_to_metric_families(answer.body.decode())
            for sample in family.samples
        }


def served(mounts: Mounts, made: Server, scenario: Callable[[At, Any], Any]) -> Any:
    app = made.http_app()
    with mounts.mounted(app) as path:
        root = path.removesuffix("/mcp")

        return asyncio.run(scenario(At(Endpoint(mounts.port, path), root), app))


def test_a_server_is_ready_while_it_serves_and_its_store_answers(mounts: Mounts) -> None:
    facts = Failing()
    made = Server("seen", facts=facts)
    app = made.http_app()

    async def scenario(at: At) -> list[tuple[int, Any]]:
        told = [await at.get("/readyz")]
        async with app.serving():
            told.append(await at.get("/readyz"))
            app.ready = False
            told.append(await at.get("/readyz"))
        told.append(await at.get("/healthz"))
        return [(answer.status, answer.json) for answer in told]

    with mounts.mounted(app, lives=False) as path:
        told = asyncio.run(scenario(At(Endpoint(mounts.port, path), path.removesuffix("/mcp"))))
    waiting = (503, {"ready": False, "because": "not serving"})
    assert told == [waiting, (200, {"ready": True}), waiting, (200, {"alive": True})]


def test_b57_a_server_whose_store_is_gone_is_not_ready(mounts: Mounts) -> None:
    async def scenario(at: At, _: Any) -> tuple[int, Any]:
        answer = await at.get("/readyz")
        return answer.status, answer.json["because"]

    facts = Failing()
    facts.works = False
    assert served(mounts, server(facts=facts), scenario) == (503, "the state store does not answer")


def test_a_caller_in_a_loop_does_not_reach_the_store_each_time(mounts: Mounts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health_pages, "_FRESH_SECONDS", LIMIT)

    async def scenario(at: At, _: Any) -> set[int]:
        return {answer.status for answer in await asyncio.gather(*(at.get("/readyz") for _ in range(20)))}

    facts = Failing()
    assert served(mounts, server(facts=facts), scenario) == {200}
    assert facts.asked == 1


def test_the_figures_count_calls_by_tool_and_outcome(mounts: Mounts) -> None:
    async def scenario(at: At, _: Any) -> Any:
        for how in ("well", "well", "refuse", "crash"):
            await at.call("work", how)
        await at.endpoint.modern("tools/call", {"name": "work", "arguments": {"what": 1}})
        return await at.figures()

    figures = served(mounts, server(), scenario)
    counts = {key[3]: value for key, value in figures.items() if key[0] == "tooltrue_operations_total"}
    assert counts == {"ok": 2, "error": 1, "crashed": 1, "refused": 1}
    assert {key[1]: value for key, value in figures.items() if key[0] == "tooltrue_refused_total"} == {"TT2001": 1}
    assert figures["tooltrue_operation_seconds_count", "tools/call", "work"] == 5
    assert figures["tooltrue_operation_seconds_bucket", "+Inf", "tools/call", "work"] == 5
    assert figures["tooltrue_running",] == 0


def test_sanitized_and_masked_results_and_rate_limited_calls_are_counted(mounts: Mounts) -> None:
    async def scenario(at: At, _: Any) -> Any:
        await at.endpoint.modern("tools/call", {"name": "dirty", "arguments": {}})
        for _ in range(3):
            await at.endpoint.modern("tools/call", {"name": "often", "arguments": {}})
        return await at.figures()

    made = server()
    made.add_tool(lambda: "red \x1b[31m and AKIAIOSFODNN7EXAMPLA", name="dirty")
    made.add_tool(lambda: "", name="often", rate=Rate(0.001, 1))
    figures = served(mounts, made, scenario)
    signs = {key[1]: value for key, value in figures.items() if key[0] == "tooltrue_signs_total"}
    assert signs["cleaned"] >= 1
    assert signs["rate"] == 2
    assert figures["tooltrue_threads_abandoned",] == 0
    for name in ("lost_total", "failing", "behind"):
        assert figures[f"tooltrue_audit_{name}",] == 0


WORD = "zq7"
"""A word that a caller makes up; in each request with other numbers behind it."""

Ask = Callable[[At, str], Awaitable[Answer]]


def calls(name: str) -> Ask:
    return lambda at, word: at.call(name.replace("<>", word))


def calls_in_a_session(name: str) -> Ask:
    """A name that need not be repeated in a header, which could not have all its signs."""

    async def ask(at: At, word: str) -> Answer:
        session = await at.endpoint.initialize()
        params = {"name": name.replace("<>", word), "arguments": {}}
        return await at.endpoint.legacy(session, "tools/call", params)

    return ask


def modern(method: str, **params: Any) -> Ask:
    """A stateless request, in which ``<>`` stands for the word."""
    return lambda at, word: at.endpoint.modern(method.replace("<>", word), _with(params, word))


def _with(value: Any, word: str) -> Any:
    return json.loads(json.dumps(value).replace("<>", word))


def headed(name: str, value: str = "<>") -> Ask:
    return lambda at, word: at.endpoint.modern(
        "tools/call", {"name": "work", "arguments": {"how": "well"}}, **{name: value.replace("<>", word)}
    )


async def in_a_session(at: At, word: str) -> Answer:
    session = await at.endpoint.initialize()
    await at.endpoint.legacy(session, f"{word}/made")
    await at.endpoint.legacy(session, f"notifications/{word}")
    await at.endpoint.legacy(session, "logging/setLevel", {"level": word})
    return await at.endpoint.legacy(session, "tools/call", {"name": word, "arguments": {}})


async def a_session_of(at: At, word: str) -> Answer:
    params = {"protocolVersion": word, "capabilities": {word: {}}, "clientInfo": {"name": word, "version": word}}
    return await at.endpoint.post({"jsonrpc": "2.0", "id": word, "method": "initialize", "params": params})


async def a_subscription(at: At, word: str) -> Answer:
    session = await at.endpoint.initialize()
    return await at.endpoint.legacy(session, "resources/subscribe", {"uri": f"note://{word}"})


MADE_UP: dict[str, Ask] = {
    "a tool": calls("<>"),
    "a tool with a real name before it": calls("work <>"),
    "a tool of a namespace": calls("<>.work"),
    "a tool named like a line of figures": calls_in_a_session('<>"} 1\ntooltrue_running{a="<>'),
    "a tool named as a label may not be": calls_in_a_session('\\"<>\n{}=,'),
    "a tool in another script": calls_in_a_session("<>\u0430\u202e"),
    "a tool with a long name": calls_in_a_session("<>" * 2_000),
    "a tool for a bad argument": modern("tools/call", name="work", arguments={"how": 1, "<>": 2}),
    "an argument": modern("tools/call", name="work", arguments={"how": "<>"}),
    "the words of an error": modern("tools/call", name="work", arguments={"<>": "<>"}),
    "a prompt": modern("prompts/get", name="<>"),
    "an argument of a prompt": modern("prompts/get", name="greet", arguments={"<>": "<>"}),
    "a resource": modern("resources/read", uri="note://<>"),
    "a resource of a template": modern("resources/read", uri="page://<>"),
    "a scheme": modern("resources/read", uri="<>://x"),
    "a subscription": a_subscription,
    "a completion": modern(
        "completion/complete", ref={"type": "ref/prompt", "name": "<>"}, argument={"name": "<>", "value": "<>"}),
    "a method": modern("<>/made"),
    "a method with a real one before it": modern("tools/call/<>"),
    "a cursor": modern("tools/list", cursor="<>"),
    "a state": modern("tools/call", name="work", arguments={"how": "well"}, requestState="<>"),
    "a revision": headed("mcp_protocol_version"),
    "a method in its header": headed("mcp_method"),
    "a tool in its header": headed("mcp_name"),
    "an agent": headed("user_agent"),
    "an address": headed("x_forwarded_for", "203.0.113.7, <>"),
    "a key": headed("x_api_key"),
    "a token": headed("authorization", "Bearer <>"),
    "a session": headed("mcp_session_id"),
    "a trace": headed("traceparent"),
    "names in a session": in_a_session,
    "a client": a_session_of,
    "a path": lambda at, word: at.get(f"/{word}"),
    "a question behind a path": lambda at, word: at.get(f"/metrics?name={word}"),
    "a verb": lambda at, word: at.endpoint.ask(word.upper()),
    "a host": lambda at, word: at.endpoint.ask("POST", b"{}", (("Host", word),)),
    "bytes that are no message": lambda at, word: at.endpoint.ask("POST", word.encode()),
}  # fmt: skip


def known() -> Server:
    """A server with one of everything, which counts."""
    made = server()
    made.add_resource("note://one", lambda: "")

    @made.resource("page://{number}")
    def page(number: str) -> str:
        return number

    @made.prompt
    def greet(who: str) -> str:
        """Greet."""
        return who

    return made


@pytest.mark.attack("J11")
@pytest.mark.parametrize("place", MADE_UP)
def test_j11_names_that_a_caller_makes_up_are_no_labels(mounts: Mounts, place: str) -> None:
    async def scenario(at: At, _: Any) -> tuple[set[Any], set[Any], str]:
        await MADE_UP[place](at, f"{WORD}n")
        before = await at.figures()
        for number in range(20):
            await MADE_UP[place](at, f"{WORD}n{number}")
        return {*before}, {*await at.figures()}, (await at.get("/metrics")).body.decode()

    before, after, page = served(mounts, known(), scenario)
    assert WORD not in page.lower()
    # Reasons for a refusal and signs of abuse may be new, of which there are few; series of names may not.
    assert {key for key in after - before if key[0] not in ("tooltrue_refused_total", "tooltrue_signs_total")} == set()
    assert len(after - before) <= 3


@pytest.mark.attack("J11")
def test_j11_a_server_that_makes_up_tools_without_end_has_a_bounded_page(mounts: Mounts) -> None:
    async def scenario(at: At, _: Any) -> dict[tuple[str, ...], float]:
        for number in range(20):
            assert (await at.endpoint.modern("tools/call", {"name": f"made{number}", "arguments": {}})).status == 200
        return await at.figures()

    made = server()
    for number in range(20):
        made.add_tool(lambda: "", name=f"made{number}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meter, "_MAX_NAMES", 5)
        figures = served(mounts, made, scenario)
    totals = {key[2]: value for key, value in figures.items() if key[0] == "tooltrue_operations_total"}
    assert (len(totals), totals["(other)"], sum(totals.values())) == (6, 15, 20)


@pytest.mark.twin("J11")
def test_j11_an_existing_tool_has_a_label_regardless_of_its_name(mounts: Mounts) -> None:
    async def scenario(at: At, _: Any) -> Any:
        await at.endpoint.modern("tools/call", {"name": "made-up-1", "arguments": {}})
        return await at.figures()

    made = server()
    made.add_tool(lambda: "", name="made-up-1")
    assert served(mounts, made, scenario)["tooltrue_operations_total", "tools/call", "made-up-1", "ok"] == 1


def test_metrics_are_not_served_unless_they_are_enabled(mounts: Mounts) -> None:
    async def scenario(at: At, _: Any) -> int:
        return (await at.get("/metrics")).status

    assert served(mounts, Server("seen"), scenario) == 404


def by_token(carrier: Carrier) -> Principal | None:
    token = (carrier.headers or {}).get("authorization")
    return None if token is None else Principal(token, frozenset(token.split()))


def test_metrics_require_the_scope_where_callers_are_authenticated(mounts: Mounts) -> None:
    async def scenario(at: At, _: Any) -> list[int]:
        answers = [await at.get("/metrics"), await at.get("/metrics", authorization="tools")]
        answers.append(await at.get("/metrics", authorization="tools metrics"))
        return [answer.status for answer in answers]

    assert served(mounts, server(authenticate=by_token), scenario) == [401, 403, 200]


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_no_page_of_another_site_reads_them(mounts: Mounts, path: str) -> None:
    async def scenario(at: At, _: Any) -> list[int]:
        headers = ({"Host": "evil.example"}, {"Origin": "http://evil.example"})
        return [(await at.get(path, **header)).status for header in headers]

    assert served(mounts, server(), scenario) == [403, 403]
