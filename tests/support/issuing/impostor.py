"""A server and an authorization server in one, with arbitrary answers that a test sets."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx2

from tooltrue.testing.state import LIMIT

__all__ = ["Impostor"]


@dataclass
class Impostor:
    """A server that is its own issuer and sends arbitrary answers. ``asked`` records the requests and their values;
    paths that contain an entry of ``lacks`` are answered with 404."""

    url: str = ""
    challenge: str = ""
    resource: dict[str, Any] = field(default_factory=dict)
    issuer: dict[str, Any] = field(default_factory=dict)
    token: dict[str, Any] = field(default_factory=dict)
    moves_to: str | None = None
    lacks: tuple[str, ...] = ()
    asked: list[tuple[str, dict[str, str], dict[str, str]]] = field(default_factory=list)

    def __call__(self, path: str) -> tuple[int, dict[str, str], dict[str, Any]]:
        root = self.url.removesuffix("/mcp")
        if any(name in path for name in self.lacks):
            return 404, {}, {}
        match path.rpartition("/")[2]:
            case name if name == "resource" or "oauth-protected-resource" in path:
                return 200, {}, {"resource": self.url, "authorization_servers": [root], **self.resource}
            case "token":
                return 200, {}, {"access_token": "a-token", "token_type": "Bearer", "expires_in": 60, **self.token}
            case "register":
                return 201, {}, {"client_id": "ours"}
            case "mcp" if self.moves_to:
                return 307, {"location": self.moves_to}, {}
            case "mcp":
                return 401, {"www-authenticate": self.challenge or f'Bearer resource_metadata="{root}/resource"'}, {}
            case _ if "oauth-authorization-server" in path or "openid-configuration" in path:
                return 200, {}, {**self.metadata(root), **self.issuer}
            case _:
                return 404, {}, {}

    def metadata(self, root: str) -> dict[str, Any]:
        return {
            "issuer": root,
            "authorization_endpoint": f"{root}/authorize",
            "token_endpoint": f"{root}/token",
            "registration_endpoint": f"{root}/register",
            "code_challenge_methods_supported": ["S256"],
        }

    def paths(self) -> list[str]:
        return [path.rpartition("/")[2] for path, _, _ in self.asked]

    def places(self) -> list[str]:
        return [path for path, _, _ in self.asked]

    async def agree(self, page: str) -> None:
        """Play the user in a browser: redirect the client back at once."""
        self.asked.append((urlsplit(page).path, {}, {}))
        said = {key: one for key, [one] in parse_qs(urlsplit(page).query).items()}
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=LIMIT) as client:
            await client.get(f"{said['redirect_uri']}?{urlencode({'code': 'a-code', 'state': said['state']})}")

    def forms(self, name: str) -> list[dict[str, str]]:
        return [form for path, _, form in self.asked if path.endswith(f"/{name}")]

    def application(self, url: str) -> Any:
        self.url = url

        async def answer(scope: Any, receive: Any, send: Any) -> None:
            body = b""
            while (message := await receive())["type"] == "http.request":
                body += message["body"]
                if not message.get("more_body"):
                    break
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            form = dict(parse_qsl(body.decode())) if "form" in headers.get("content-type", "") else {}
            self.asked.append((scope["path"], headers, form))
            status, extra, value = self(scope["path"])
            head = [(b"content-type", b"application/json"), *((k.encode(), v.encode()) for k, v in extra.items())]
            await send({"type": "http.response.start", "status": status, "headers": head})
            await send({"type": "http.response.body", "body": json.dumps(value).encode()})

        return answer
