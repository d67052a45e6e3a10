"""HTTP routes and middleware under `tooltrue serve`, with one worker and with several."""

from __future__ import annotations

from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.serving import http
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

SERVER = '''
from tooltrue import Server

started = []


def counting(app):
    """Count the lifespans that have passed, and tell each response of it."""
    async def call(scope, receive, send):
        async def add(message):
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"x-started", str(len(started)).encode())]}
            await send(message)
        if scope["type"] == "lifespan":
            started.append(True)
        await app(scope, receive, add)
    return call


server = Server("routed", middleware=[counting])


@server.route("/hooks", methods=["POST"])
async def hooks(request):
    return {"caller": request.principal.id, "body": (await request.body()).decode()}


@server.route("/fails", public=True)
async def fails(request):
    raise ValueError("password hunter2")


if __name__ == "__main__":
    server.run("http", port=0)
'''


@pytest.mark.parametrize("workers", ["1", "2"])
def test_each_worker_serves_the_routes(workers: str, tmp_path: Path):
    file = tmp_path / "routed.py"
    file.write_text(SERVER)
    with http("--workers", workers, target=str(file)) as (url, process):
        for _ in range(4):  # on a connection of its own, which either worker takes
            connection = HTTPConnection(urlsplit(url).netloc, timeout=LIMIT)
            connection.request("POST", "/hooks", b"x")
            response = connection.getresponse()
            assert (response.status, response.headers["x-started"]) == (200, "1")
            assert response.read() == b'{"caller":"local:http","body":"x"}'
            connection.request("GET", "/fails")
            response = connection.getresponse()
            assert response.status == 500
            assert b"hunter2" not in response.read()
            connection.close()
        process.wait_for("password hunter2")
