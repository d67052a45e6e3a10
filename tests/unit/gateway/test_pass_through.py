"""Messages that pass a gateway beside calls, reads and forms, for clients and servers of each revision."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest

from tooltrue import Client, Context, Link, QuestionLimits, Roots, Sampling, Server, TooltrueError
from tooltrue.client.answers import Elicitation
from tooltrue.client.config import ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.testing.state import LIMIT

T = TypeVar("T")

REVISIONS = ("2026-07-28", "2025-11-25", "2024-11-05")
every_pair = pytest.mark.parametrize(
    ("revision", "of_server"), [(client, server) for client in REVISIONS for server in REVISIONS]
)
pairs_with_questions = pytest.mark.parametrize(
    ("revision", "of_server"), [(client, server) for client in REVISIONS[:2] for server in REVISIONS[:2]]
)


class Upstream:
    """A server, and what has become of the call that it does not end."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()
        self.server = server = Server("upstream", confirm=Confirm.never())

        @server.tool(effect="read")
        async def wait() -> str:
            """Wait for ever."""
            self.begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.set()
            return ""

        @server.tool(effect="read")
        def pay(context: Context) -> str:
            """Ask for a visit to a page."""
            return context.ask(Link("Please pay.", "https://pay.example.com/7"), key="pay").action

        @server.tool(effect="read")
        def think(context: Context) -> str:
            """Ask the client's model."""
            return context.ask(Sampling("How deep is the sea?", max_tokens=50), key="thought").text

        @server.tool(effect="read")
        def look(context: Context) -> list[str]:
            """Ask for the client's folders."""
            return [root.uri for root in context.ask(Roots(), key="roots")]

        @server.resource("notes://{name}")
        def note(name: Literal["apple", "pear"]) -> str:
            return name

        @server.prompt
        def travel(country: Literal["de", "dk", "it"]) -> str:
            return country


def through(
    upstream: Upstream,
    use: Callable[[Client], Awaitable[T]],
    revision: str,
    of_server: str,
    operator: str = "",
    **settings: Any,
) -> T:
    async def run() -> T:
        one = ServerConfig("up", "up", target=upstream.server, revision=of_server, hints=True)
        read = read_operator_config("tooltrue.toml", operator)
        limits = QuestionLimits(per_minute=100)
        gateway = Gateway({"up": one}, operator=read, confirm=Confirm.never(), audit=False)
        async with asyncio.timeout(LIMIT), Client(gateway, revision=revision, questions=limits, **settings) as client:
            return await use(client)

    return asyncio.run(run())


@every_pair
def test_templates_and_completions_pass(revision: str, of_server: str) -> None:
    async def use(client: Client) -> list[Any]:
        (template,), (prompt,) = await client.list_templates(), await client.list_prompts()
        of_template = await client.complete(template, "name", "p")
        of_prompt = await client.complete(prompt, "country", "d")
        return [template.uriTemplate, of_template.values, of_prompt.values]

    assert through(Upstream(), use, revision, of_server) == ["notes://{name}", ["pear"], ["de", "dk"]]


def test_a_server_of_the_first_revision_without_completions_completes_nothing() -> None:
    upstream = Upstream()
    upstream.server = Server("upstream", confirm=Confirm.never())

    @upstream.server.prompt
    def travel(country: str) -> str:
        return country

    async def use(client: Client) -> list[str]:
        (prompt,) = await client.list_prompts()
        return list((await client.complete(prompt, "country", "d")).values)

    assert through(upstream, use, REVISIONS[0], REVISIONS[2]) == []


@every_pair
def test_a_call_that_its_client_cancels_ends_at_the_server(revision: str, of_server: str) -> None:
    upstream = Upstream()

    async def use(client: Client) -> None:
        call = asyncio.create_task(client.call_tool("up_wait"))
        await upstream.begun.wait()
        call.cancel()
        await upstream.ended.wait()

    through(upstream, use, revision, of_server)


@every_pair
def test_a_call_that_takes_too_long_for_its_client_ends_at_the_server(revision: str, of_server: str) -> None:
    upstream = Upstream()

    async def use(client: Client) -> None:
        with pytest.raises(TooltrueError):
            await client.call_tool("up_wait", timeout=0.05)
        await upstream.ended.wait()

    through(upstream, use, revision, of_server)


@pytest.mark.parametrize("of_server", REVISIONS)
def test_a_call_that_takes_too_long_for_the_gateway_ends_at_the_server(of_server: str) -> None:
    upstream = Upstream()

    async def use(client: Client) -> bool:
        result = await client.call_tool("up_wait")
        await upstream.ended.wait()
        return result.is_error

    assert through(upstream, use, REVISIONS[0], of_server, "[servers.up]\nseconds = 0.05\n")


@pairs_with_questions
@pytest.mark.parametrize("kind", ["tools", "resources", "prompts"])
def test_a_list_that_changes_is_told_to_the_client(kind: str, revision: str, of_server: str) -> None:
    upstream = Upstream()
    changes: Mapping[str, Callable[[], object]] = {
        "tools": lambda: upstream.server.tool(lambda: "", name="late", effect="read"),
        "resources": lambda: upstream.server.resource("late://it")(lambda: ""),
        "prompts": lambda: upstream.server.prompt(lambda: "", name="late"),
    }
    changed = asyncio.Event()

    async def use(client: Client) -> list[str]:
        lists: Mapping[str, Callable[[], Awaitable[list[Any]]]] = {
            "tools": client.list_tools,
            "resources": client.list_resources,
            "prompts": client.list_prompts,
        }
        await lists[kind]()
        changes[kind]()
        await changed.wait()
        return [getattr(one, "uri" if kind == "resources" else "name") for one in await lists[kind]()]

    told: dict[str, Any] = {f"on_{kind}_changed": changed.set}
    late = {"tools": "up_late", "resources": "late://it", "prompts": "up_late"}[kind]
    assert late in through(upstream, use, revision, of_server, **told)


@pairs_with_questions
def test_a_page_a_model_and_folders_are_asked_for_at_the_client(revision: str, of_server: str, tmp_path: Path) -> None:
    pages: list[str] = []

    def elicit(question: Elicitation) -> bool:
        pages.append(question.url or "")
        return True

    def sample(params: Mapping[str, Any]) -> dict[str, Any]:
        text = f"{params['maxTokens']} fathoms"
        return {"role": "assistant", "model": "small", "content": {"type": "text", "text": text}}

    async def use(client: Client) -> list[str]:
        return [(await client.call_tool(f"up_{name}")).text for name in ("pay", "think", "look")]

    answers = through(Upstream(), use, revision, of_server, elicit=elicit, sample=sample, roots=[tmp_path])
    assert answers[:2] == ["accept", "50 fathoms"]
    assert tmp_path.as_uri() in answers[2]
    assert pages == ["https://pay.example.com/7"]
