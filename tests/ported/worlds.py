"""The surroundings of the ported servers, the originals and ours alike: a folder, a database, an HTTP API."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import psycopg
from psycopg import conninfo

from support import postgres


@dataclass(frozen=True)
class World:
    """Settings of a server, and the names that stand in a recording for what differs in each world."""

    env: Mapping[str, str] = field(default_factory=dict[str, str])
    arguments: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    url: str = ""


@contextmanager
def clock(folder: Path) -> Generator[World]:
    """A world with a time that comes soon."""
    soon = datetime.now() + timedelta(seconds=20)
    yield World(names={soon.strftime("%Y-%m-%d %H:%M:%S"): "SOON"})


@contextmanager
def sqlite(folder: Path) -> Generator[World]:
    """A folder for a SQLite database, which the server makes."""
    path = str(folder / "shop.db")
    yield World({"SQLITE_PATH": path}, ("--db-path", path))


@contextmanager
def files(folder: Path) -> Generator[World]:
    """A folder with text files, two of them not UTF-8."""
    (folder / "poem.txt").write_text("one\ntwo\nthree\nfour\nfive\n", "utf-8")
    (folder / "list.txt").write_text("milk\nbread", "utf-8")
    (folder / "paris.txt").write_bytes("café\nthé\n".encode("latin-1"))
    (folder / "tokyo.txt").write_bytes("お茶\n".encode("shift_jis"))
    (folder / "tea.txt").write_text("café\nお茶\n\nrooibos\n", "utf-8")
    yield World({"EDITOR_ROOT": str(folder)}, names={str(folder): "/FOLDER"})


@contextmanager
def database(folder: Path) -> Generator[World]:
    """A PostgreSQL database with two tables."""
    with postgres.database() as url:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("""
                CREATE TABLE authors (id integer PRIMARY KEY, name varchar(40) NOT NULL, born date);
                CREATE TABLE books (
                    id integer PRIMARY KEY, author integer REFERENCES authors, title text NOT NULL,
                    price numeric(8, 2) DEFAULT 10.00, cover bytea
                );
                INSERT INTO authors VALUES (1, 'Ada', '1815-12-10'), (2, 'Grace', NULL);
                INSERT INTO books VALUES (1, 1, 'Notes', 12.50, NULL), (2, 2, 'Compilers', 30.00, '\\x0102'),
                    (3, 2, 'Nanoseconds', 8.25, NULL);
                ANALYZE;
            """)
        parts = conninfo.conninfo_to_dict(url)
        env = {
            "DB_HOST": str(parts.get("host", "127.0.0.1")),
            "DB_PORT": str(parts.get("port", 5432)),
            "DB_NAME": str(parts["dbname"]),
            "DB_USER": str(parts.get("user", "postgres")),
            "DB_PASSWORD": str(parts.get("password", "unused")),
        }
        names = {str(parts["dbname"]): "DATABASE", str(folder): "/FOLDER"}
        yield World(env | {"HOME": str(folder)}, names=names, url=url)


TOKEN = "a-token-of-the-tests"
_METRICS = ["go_goroutines", "http_requests_total", "process_cpu_seconds_total", "up"]
_METADATA = {
    "up": [{"type": "gauge", "help": "1 if the instance is reachable.", "unit": ""}],
    "http_requests_total": [{"type": "counter", "help": "Requests by status.", "unit": ""}],
    "go_goroutines": [{"type": "gauge", "help": "Goroutines that exist.", "unit": ""}],
}
_TARGETS = [
    {"labels": {"job": job}, "scrapePool": job, "health": health, "scrapeUrl": f"http://{job}:9100/metrics"}
    for job, health in (("node", "up"), ("shop", "down"), ("proxy", "up"))
]


def _prometheus(path: str, asked: Mapping[str, str]) -> Any:
    """The data that Prometheus would answer with; ``LookupError`` for a query that it refuses."""
    sample = {"metric": {"__name__": "up", "job": "node"}}
    match path.removeprefix("/api/v1/").split("/"):
        case ["query"] if asked["query"] == "up":
            return {"resultType": "vector", "result": [sample | {"value": [float(asked.get("time", 1767225600)), "1"]}]}
        case ["query"] if asked["query"] == "vector(1)":
            return {"resultType": "vector", "result": [{"metric": {}, "value": [1767225600, "1"]}]}
        case ["query_range"] if asked["query"] == "up":
            start, end, step = float(asked["start"]), float(asked["end"]), float(asked["step"].removesuffix("s"))
            times = [start + step * at for at in range(int((end - start) / step) + 1)]
            return {"resultType": "matrix", "result": [sample | {"values": [[time, "1"] for time in times]}]}
        case ["label", "__name__", "values"]:
            return _METRICS
        case ["metadata"]:
            metric = asked.get("metric")
            return {name: about for name, about in _METADATA.items() if metric in (None, name)}
        case ["targets"]:
            pool, state = asked.get("scrapePool"), asked.get("state", "any")
            active = [one for one in _TARGETS if pool in (None, one["scrapePool"])]
            dropped = [{"discoveredLabels": {"__address__": "old:9100"}}]
            return {
                "activeTargets": active if state in ("active", "any") else [],
                "droppedTargets": dropped if state in ("dropped", "any") else [],
            }
        case _:
            raise LookupError(asked.get("query", path))


class _Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["content-length"])).decode())

    def _answer(self, query: str) -> None:
        path, asked = unquote(urlsplit(self.path).path), {key: one[0] for key, one in parse_qs(query).items()}
        status, body = 200, {}
        if self.headers["authorization"] != f"Bearer {TOKEN}":
            status, body = 401, {"status": "error", "errorType": "unauthorized", "error": "no token"}
        else:
            try:
                body = {"status": "success", "data": _prometheus(path, asked)}
            except LookupError as error:
                status, body = 400, {"status": "error", "errorType": "bad_data", "error": f"parse error: {error}"}
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def prometheus(folder: Path, token: str = TOKEN) -> Generator[World]:
    """A small stand-in for the HTTP API of Prometheus on the loopback, behind a token."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Api)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        address = f"127.0.0.1:{server.server_address[1]}"
        yield World({"PROMETHEUS_URL": f"http://{address}", "PROMETHEUS_TOKEN": token}, names={address: "PROMETHEUS"})
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


WORLDS: dict[str, Callable[[Path], Any]] = {
    "sqlite_memo": sqlite,
    "text_editor": files,
    "timer": clock,
    "prometheus": prometheus,
    "postgres": database,
}
