"""The client that the official conformance suite tests: ordinary user code on `tooltrue.Client`.

    python tests/conformance/client.py URL

The suite passes the scenario, the protocol revision and further context in the environment
(`MCP_CONFORMANCE_SCENARIO`, `_PROTOCOL_VERSION`, `_CONTEXT`). The stable suite names no revision: then the client
negotiates one, as it does by default. `ACTS` maps a scenario to its actions, `SETTINGS` to the settings of its client.
Other scenarios are refused, except those of `auth/`, in which the client signs in. The program exits with 0 on success.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx2

from tooltrue import Client, ClientCredentials, EnterpriseSignIn, RpcError, SignIn, WorkloadIdentity
from tooltrue.client.auth.credentials import InMemory

Context = Mapping[str, Any]


# --- actions ----------------------------------------------------------------------------------------------------------


async def look(client: Client, context: Context) -> None:
    await client.list_tools()


async def add(client: Client, context: Context) -> None:
    await client.list_tools()
    await client.call_tool("add_numbers", a=5, b=3)


async def call_every_tool(client: Client, context: Context) -> None:
    for tool in await client.list_tools():
        await client.call_tool(tool.name)


async def call_what_is_said(client: Client, context: Context) -> None:
    await client.list_tools()
    for call in context["toolCalls"]:
        await client.call_tool(call["name"], call["arguments"])


async def use_everything(client: Client, context: Context) -> None:
    await call_every_tool(client, context)
    for resource in await client.list_resources():
        await client.read_resource(resource.uri)
    for prompt in await client.list_prompts():
        await client.get_prompt(prompt.name)


async def echo_a_schema(client: Client, context: Context) -> None:
    tools = {tool.name: tool for tool in await client.list_tools()}
    await client.call_tool("json_schema_echo", schema=tools["json_schema_2020_12_tool"].inputSchema)


ACTS: dict[str, Callable[[Client, Context], Awaitable[None]]] = {
    "initialize": look,
    "tools_call": add,
    "elicitation-sep1034-client-defaults": call_every_tool,
    "sse-retry": call_every_tool,
    "request-metadata": look,
    "http-standard-headers": use_everything,
    "http-custom-headers": call_what_is_said,
    "http-invalid-tool-headers": call_every_tool,
    "sep-2322-client-request-state": call_every_tool,
    "json-schema-ref-no-deref": look,
    "json-schema-2020-12-preservation": echo_a_schema,
}
AUTH = "auth/"  # scenarios of authorization are told apart by their settings alone: with each, every tool is called


# --- settings ---------------------------------------------------------------------------------------------------------


def everything_that_can_be_asked(context: Context) -> dict[str, Any]:
    """A client that answers every question, forms with their defaults."""

    def sample(params: Mapping[str, Any]) -> Mapping[str, Any]:
        raise RpcError("there is no model here")

    return {"elicit": lambda question: True, "sample": sample, "roots": ["."]}


SETTINGS: dict[str, Callable[[Context], dict[str, Any]]] = {
    "elicitation-sep1034-client-defaults": everything_that_can_be_asked,
    "request-metadata": everything_that_can_be_asked,
    "sep-2322-client-request-state": everything_that_can_be_asked,
}


async def agree(url: str) -> None:
    """Play the user in a browser: the pages of the suite redirect the visitor back at once."""
    async with httpx2.AsyncClient(trust_env=False, follow_redirects=True) as browser:
        await browser.get(url)


def signing_in(context: Context) -> dict[str, Any]:
    known = {name: context[name] for name in ("client_id", "client_secret", "issuer") if name in context}
    return {"auth": SignIn(agree, credentials=InMemory(), **known)}


def described_by_a_document(context: Context) -> dict[str, Any]:
    about = "https://conformance-test.local/client-metadata.json"
    return {"auth": SignIn(agree, metadata_url=about, credentials=InMemory())}


def known_by_secret(context: Context) -> dict[str, Any]:
    return {"auth": ClientCredentials(context["client_id"], context["client_secret"])}


def known_by_key(context: Context) -> dict[str, Any]:
    key, algorithm = context["private_key_pem"], context["signing_algorithm"]
    return {"auth": ClientCredentials(context["client_id"], private_key=key, algorithm=algorithm)}


def vouched_for_by_the_platform(context: Context) -> dict[str, Any]:
    return {"auth": WorkloadIdentity(context["client_id"], lambda issuer: context["valid_jwt"])}


def vouched_for_by_the_enterprise(context: Context) -> dict[str, Any]:
    signed_in = EnterpriseSignIn(
        lambda provider: context["idp_id_token"],
        provider=context["idp_issuer"],
        provider_token_endpoint=context["idp_token_endpoint"],
        provider_client_id=context["idp_client_id"],
        client_id=context["client_id"],
        client_secret=context["client_secret"],
    )
    return {"auth": signed_in}


SETTINGS |= {
    "auth/basic-cimd": described_by_a_document,
    "auth/client-credentials-basic": known_by_secret,
    "auth/client-credentials-jwt": known_by_key,
    "auth/wif-jwt-bearer": vouched_for_by_the_platform,
    "auth/enterprise-managed-authorization": vouched_for_by_the_enterprise,
    "auth/cross-app-access-complete-flow": vouched_for_by_the_enterprise,  # its name in the stable suite
}


async def main(url: str) -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    revision = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION")
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    is_auth = scenario.startswith(AUTH)
    settings = SETTINGS.get(scenario, signing_in if is_auth else lambda context: {})(context)
    act = call_every_tool if is_auth else ACTS[scenario]
    async with asyncio.timeout(25), Client(url, revision=revision, **settings) as client:
        await act(client, context)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
