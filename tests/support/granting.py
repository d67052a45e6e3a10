"""Browsers that connect a server at the pages of a gateway, and the operator's file of such a gateway."""

from __future__ import annotations

import html
import re
from typing import Any

import httpx2

from tooltrue.testing.state import LIMIT

__all__ = ["USER", "Browser", "SigningInBrowser", "operators_file"]

USER = "x-forwarded-user"
_PLAINLY: dict[str, Any] = {"trust_env": False, "verify": False, "timeout": LIMIT}


def operators_file(base: str, issuer: str, store: str, *, common_lists: bool = True) -> str:
    """The operator's file of a gateway whose callers have grants at the server ``up``. Its last table is that of the
    server. With ``common_lists``, callers see its tools before they have connected it."""
    return f"""
[gateway]
url = "{base}"
grants = "{store}"
grant_key = {{ secret_env = "GRANT_KEY" }}

[servers.up.auth.client]
client_id = "agent"
issuer = "{issuer}"
secret_env = "OWN_SECRET"

[servers.up.auth.caller]
scopes = ["read"]

[servers.up]
common_lists = {str(common_lists).lower()}
"""


class Browser:
    """A browser whose user the proxy knows as ``user``. It sends no header of the proxy to other sites."""

    def __init__(self, user: str, gateway: str) -> None:
        self.user = user
        self._gateway = gateway.removesuffix("/mcp")

    def get(self, url: str) -> httpx2.Response:
        headers = {USER: self.user} if url.startswith(self._gateway) else {}
        return httpx2.get(url, headers=headers, **_PLAINLY)

    def post(self, page: str, form: dict[str, str]) -> httpx2.Response:
        return httpx2.post(page.partition("?")[0], data=form, headers={USER: self.user}, **_PLAINLY)

    def open(self, page: str) -> httpx2.Response:
        """Open a page, after a sign-in if it needs one."""
        return self.get(page)

    def form(self, page: str, answer: str = "connect") -> dict[str, str]:
        text = self.open(page).text
        fields = dict(re.findall(r"name=(\w+) value='([^']*)'", text))
        return {name: html.unescape(value) for name, value in fields.items()} | {"answer": answer}

    def consent(self, page: str) -> str:
        """Consent, and return the URL at the issuer."""
        answer = self.post(page, self.form(page))
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def back(self, page: str) -> str:
        """Consent and sign in, and return the URL by which the browser comes back."""
        return self.get(self.consent(page)).headers["location"]

    def connect(self, page: str) -> httpx2.Response:
        return self.get(self.back(page))


class SigningInBrowser(Browser):
    """A browser with cookies, which no proxy knows. ``attributes`` are those of the last cookie."""

    def __init__(self, gateway: str) -> None:
        super().__init__("", gateway)
        self.cookies: dict[str, str] = {}
        self.attributes: list[str] = []

    def get(self, url: str) -> httpx2.Response:
        is_own = url.startswith(self._gateway)
        answer = httpx2.get(url, headers=self._cookie() if is_own else {}, **_PLAINLY)
        if is_own:
            self._keep(answer)
        return answer

    def post(self, page: str, form: dict[str, str]) -> httpx2.Response:
        answer = httpx2.post(page.partition("?")[0], data=form, headers=self._cookie(), **_PLAINLY)
        self._keep(answer)
        return answer

    def open(self, page: str) -> httpx2.Response:
        answer = self.get(page)
        while answer.is_redirect:
            answer = self.get(answer.headers["location"])
        return answer

    def signed_in(self, page: str) -> str:
        """Sign in for a page, and return the URL by which the browser comes back."""
        return self.get(self.get(page).headers["location"]).headers["location"]

    def _cookie(self) -> dict[str, str]:
        return {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}

    def _keep(self, answer: httpx2.Response) -> None:
        if "set-cookie" in answer.headers:
            pair, *self.attributes = answer.headers["set-cookie"].split("; ")
            name, _, value = pair.partition("=")
            self.cookies[name] = value
