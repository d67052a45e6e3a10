"""The operator's token endpoint, and a server whose lists depend on its caller."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

from support.issuing.server import Issuing, parts
from tooltrue import Context, OAuth, Server
from tooltrue.policy.rules.rule import Allow, Deny, Verdict

__all__ = ["CallerTokens", "InScope", "exchanging_file", "owned_at"]


class CallerTokens:
    """A token endpoint (RFC 8693): the token that it gives has the subject of the one that it gets. It refuses the
    subjects in ``refused``."""

    def __init__(self, issuer: Issuing) -> None:
        self._issuer = issuer
        self.forms: list[dict[str, str]] = []
        self.refused: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        form = dict(parse_qsl(message["body"].decode()))
        self.forms.append(form)
        subject = parts(form["subject_token"])[1]["sub"]
        token = self._issuer.signed(aud=form["resource"], sub=subject)
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": 600}
        status = 400 if subject in self.refused else 200
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode()})


def owned_at(url: str, issuer: Issuing, owners: dict[str, str]) -> Server:
    """A server at ``url`` where each caller has a tool, a resource and a prompt of its own, as ``owners`` tells: the
    names of entries, and the subjects that see them. All see what is called ``common``."""

    def decide(subject: Any, context: Any, arguments: Any) -> Verdict:
        name = subject.name.partition("_")[0]
        owner = owners.get(name)
        caller = context.principal.id.partition("#")[2]
        return Allow() if owner is None or owner == caller else Deny("", hidden=True)

    made = Server("owned", authenticate=OAuth(issuer=issuer.url, resource=url), decide=decide)

    def add(name: str) -> None:
        @made.tool(name=f"{name}_tool", effect="read")
        async def tool(context: Context) -> str:
            """A tool of one caller."""
            return context.principal.id.partition("#")[2]

        @made.resource(f"owned://{name}/text", name=f"{name}_text")
        async def text(context: Context) -> str:
            """A resource of one caller."""
            return context.principal.id.partition("#")[2]

        @made.prompt(name=f"{name}_prompt")
        async def prompt(context: Context) -> str:
            """A prompt of one caller."""
            return context.principal.id.partition("#")[2]

    for name in ("common", *owners):
        add(name)
    return made


class InScope:
    """An application whose lists are all in this ``cacheScope``."""

    def __init__(self, app: Any, scope: str) -> None:
        self._app = app
        self.serving = app.serving
        self._scope = f'"cacheScope":"{scope}"'.ljust(len('"cacheScope":"private"')).encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def replaced(message: Any) -> None:
            if "body" in message:
                message = {**message, "body": message["body"].replace(b'"cacheScope":"private"', self._scope)}
            await send(message)

        await self._app(scope, receive, replaced)


def exchanging_file(issuer: Issuing, endpoint: str, own: bool = True) -> str:
    """The operator's file of a gateway that exchanges tokens for the server ``up``, and has credentials of its own
    there unless ``own`` is false."""
    client = f"""
[servers.up.auth.client]
client_id = "agent"
issuer = "{issuer.url}"
secret_env = "OWN_SECRET"
"""
    return f"""{client if own else ""}
[servers.up.auth.exchange]
token_endpoint = "{endpoint}"
client_id = "gateway"
secret_env = "OWN_SECRET"
"""
