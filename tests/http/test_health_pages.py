"""The pages beside the endpoint: /healthz, /readyz and /metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint
from tooltrue import Server, ToolError
from tooltrue.errors import StateError
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


@pytest.mark.attack("J11")
def test_j11_names_that_a_caller_makes_up_are_no_labels(mounts: Mounts) -> None:
    async def scenario(at: At, _: Any) -> Any:
        for number in range(100):
            await at.call(f"made-up-{number}")  # refused as unknown, and then because there were so many
        return await at.figures()

    figures = served(mounts, server(), scenario)
    assert [key for key in figures if "made-up" in str(key)] == []
    assert figures["tooltrue_operations_total", "tools/call", "", "refused"] == 100


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
