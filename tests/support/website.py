"""A web server on loopback that returns the responses of a test and records the requests."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["Asked", "Said", "Site", "running"]


@dataclass(frozen=True)
class Asked:
    """A request. ``certificate`` is the common name in the certificate of the client."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes
    raw_query: str = ""
    certificate: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Said:
    """``drop``: the connection is closed instead. ``endless``: the body goes on until the other end has had enough."""

    status: int = 200
    body: bytes | str | dict[str, Any] | list[Any] = b""
    headers: tuple[tuple[str, str], ...] = ()
    drop: bool = False
    endless: bool = False

    @property
    def bytes(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


Answers = Callable[[Asked], Said]


@dataclass
class Site:
    url: str
    asked: list[Asked] = field(default_factory=list[Asked])

    @property
    def paths(self) -> list[str]:
        return [each.path for each in self.asked]


@contextlib.contextmanager
def running(answers: Answers, tls: ssl.SSLContext | None = None) -> Generator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", "0")))
            asked = Asked(self.command, parts.path, query, headers, body, parts.query, _common_name(self.connection))
            site.asked.append(asked)
            said = answers(asked)
            if said.drop:
                self.close_connection = True
                return
            with contextlib.suppress(OSError):
                self._say(said)

        def _say(self, said: Said) -> None:
            names = {name.lower() for name, _ in said.headers}
            self.send_response(said.status)
            if "content-type" not in names:
                is_text = isinstance(said.body, str | bytes)
                self.send_header("content-type", "text/html; charset=utf-8" if is_text else "application/json")
            for name, value in said.headers:
                self.send_header(name, value)
            if not said.endless:
                self.send_header("content-length", str(len(said.bytes)))
            self.end_headers()
            self.wfile.write(said.bytes)
            while said.endless:
                self.wfile.write(said.bytes)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_QUERY = _answer

        def log_message(self, format: str, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    site = Site(f"http{'' if tls is None else 's'}://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _common_name(connection: Any) -> str:
    certificate: Any = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    names = {name: value for names in (certificate or {}).get("subject", ()) for name, value in names}
    return str(names.get("commonName", ""))
