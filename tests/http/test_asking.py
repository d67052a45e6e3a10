"""Questions over HTTP: their status, their stream, and the principals that may answer them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from support.wire import servers
from support.wire.mounting import Mounts
from support.wire.raw_http import ENVELOPE, JSON, Answer, Endpoint, in_session, modern
from tooltrue import Context, Form, Server
from tooltrue.protocol.types import Implementation
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.server import ProtocolServer
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.http_server import AllowedHosts, HttpApp

CAN_BE_ASKED = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


def by_token(carrier: Carrier) -> Principal | None:
    """Whose token it is; the token itself goes no further."""
    token = (carrier.headers or {}).get("authorization")
    return None if token is None else Principal(token.removeprefix("token of "))


async def ask(context: Context) -> str:
    """Tell who asks, and ask."""
    context.progress(1)
    return f"{context.principal.id}: {context.ask(Form('Sure?'), key='sure').action}"


def server() -> Server:
    made = Server("asks", version="1", authenticate=by_token)
    made.add_tool(ask)
    return made


def said(answer: Answer) -> Any:
    return answer.json["result"]["content"][0]["text"]


def called(id: int = 1, **meta: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "ask", "_meta": meta}}


def accepted(question: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}}


@pytest.mark.requirement("META-14")
@pytest.mark.parametrize("name", ["book", "pay", "think", "look", "everything"])
def test_a_capability_that_a_request_does_not_declare_is_status_400(mounts: Mounts, name: str) -> None:
    with mounts.mounted(servers.make("asking").http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).modern("tools/call", {"name": name}))
    assert (answer.status, answer.json["error"]["code"]) == (400, -32021)


@pytest.mark.requirement("BASE-19", "HTTP-16", "MRTR-19")
def test_a_question_is_the_last_thing_on_its_stream_and_no_request(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        message, headers = modern("tools/call", {"name": "ask", "_meta": {**CAN_BE_ASKED, "progressToken": "p"}})
        signed = (*JSON, *headers, ("Authorization", "token of ada"))
        async with endpoint.open("POST", json.dumps(message).encode(), signed) as stream:
            told: list[Any] = []
            while event := await stream.event():
                told.append(json.loads(event["data"]))
            return told

    with mounts.mounted(server().http_app()) as path:
        progress, last = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert progress["method"] == "notifications/progress"
    assert (last["id"], last["result"]["resultType"], "method" in last) == (1, "input_required", False)


@pytest.mark.requirement("ELIC-16", "ELIC-17", "ELIC-25", "ELIC-40", "MRTR-10")
def test_only_the_principal_that_was_asked_answers_a_question_regardless_of_client_names(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[Any, str]:
        asked = await endpoint.modern(
            "tools/call", {"name": "ask", "_meta": CAN_BE_ASKED}, authorization="token of ada"
        )
        info = {"io.modelcontextprotocol/clientInfo": {"name": "ada", "version": "1"}}
        answers = {"sure": {"action": "accept", "content": {"user": "ada"}}}
        again = {"name": "ask", "requestState": asked.json["result"]["requestState"], "inputResponses": answers}
        again["_meta"] = {**CAN_BE_ASKED, **info}
        bob = await endpoint.modern("tools/call", again, authorization="token of bob")
        return bob.json["error"]["code"], said(await endpoint.modern("tools/call", again, authorization="token of ada"))

    with mounts.mounted(server().http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == (-32602, "ada: accept")


@pytest.mark.requirement("ELIC-18")
def test_an_unauthenticated_caller_is_refused_and_not_asked(mounts: Mounts) -> None:
    with mounts.mounted(server().http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).modern("tools/call", {"name": "ask", "_meta": CAN_BE_ASKED}))
    assert (answer.status, answer.json.keys()) == (401, {"jsonrpc", "error"})


@pytest.mark.requirement("ELIC-20")
def test_a_tool_does_not_receive_the_credentials_of_the_client(mounts: Mounts) -> None:
    made = Server("shows", version="1", authenticate=by_token)

    @made.tool
    async def show(context: Context) -> str:
        """All that a tool is given of its caller."""
        return repr((context.principal, context.capabilities, context.meta))

    with mounts.mounted(made.http_app()) as path:
        endpoint = Endpoint(mounts.port, path)
        shown = said(asyncio.run(endpoint.modern("tools/call", {"name": "show"}, authorization="token of ada")))
    assert "ada" in shown
    assert "token of" not in shown


@pytest.mark.requirement("ELIC-25", "LCLI-12")
def test_the_id_of_a_session_alone_answers_none_of_its_questions(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[list[int], str]:
        ada, bob = ("Authorization", "token of ada"), ("Authorization", "token of bob")
        session = await endpoint.initialize(headers=[ada], capabilities={"elicitation": {}})
        others = await endpoint.initialize(headers=[bob], capabilities={"elicitation": {}})
        body = json.dumps(called()).encode()
        async with endpoint.open("POST", body, (*JSON, *in_session(session), ada)) as stream:
            answer = accepted(await stream.message())
            answers = [
                await endpoint.post({**answer, "result": {"action": "decline"}}, (*in_session(id), *who))
                for id, who in ((session, [bob]), (session, []), (others, [bob]))
            ]
            answers.append(await endpoint.post(answer, (*in_session(session), ada)))
            return [answer.status for answer in answers], (await stream.message())["result"]["content"][0]["text"]

    with mounts.mounted(server().http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == ([404, 401, 202, 202], "ada: accept")


@pytest.mark.requirement("LHTTP-41")
def test_a_question_comes_on_the_stream_of_its_call_and_never_on_one_that_belongs_to_no_request(mounts: Mounts) -> None:
    made = Server("asks", version="1")
    made.add_tool(ask)

    async def scenario(endpoint: Endpoint) -> tuple[list[str], list[str]]:
        session = await endpoint.initialize(capabilities={"elicitation": {}})
        standing = (*in_session(session), ("Accept", "text/event-stream"))
        body = json.dumps(called()).encode()
        async with endpoint.open("GET", headers=standing) as silent:
            async with endpoint.open("POST", body, (*JSON, *in_session(session))) as stream:
                question = await stream.message()
                await endpoint.post(accepted(question), in_session(session))
                own = [question["method"], said_of(await stream.message())]
            made.remove_tool("ask")
            return own, [(await silent.message())["method"]]  # the first that comes there

    with mounts.mounted(made.http_app()) as path:
        own, others = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert own == ["elicitation/create", "local:http: accept"]
    assert others == ["notifications/tools/list_changed"]


def said_of(message: Any) -> str:
    return message["result"]["content"][0]["text"]


@pytest.mark.requirement("CANC-11", "CANC-12")
def test_a_question_without_an_answer_in_time_is_cancelled_on_its_stream(mounts: Mounts) -> None:
    tools = LocalToolset()
    tools.add(ask)
    served = ServedProvider(Implementation("t", "1"), tools, Sealer((new_key(),)), MemoryFacts(), question_seconds=0.0)
    app = HttpApp(ProtocolServer(served).http(), AllowedHosts())

    async def scenario(endpoint: Endpoint) -> list[Any]:
        session = await endpoint.initialize(capabilities={"elicitation": {}})
        async with endpoint.open("POST", json.dumps(called()).encode(), (*JSON, *in_session(session))) as stream:
            return [await stream.message() for _ in range(3)]

    with mounts.mounted(app) as path:
        question, taken_back, answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert question["method"] == "elicitation/create"
    assert (taken_back["method"], taken_back["params"]) == ("notifications/cancelled", {"requestId": question["id"]})
    assert answer["result"]["isError"] is True
    assert "TT2012" in said_of(answer)
