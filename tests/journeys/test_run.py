"""`server.run("http")`: the same serving as `tooltrue serve --http`, and its refusals in a sentence."""

from __future__ import annotations

import socket
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.serving import Process, ask_to_end, environment, started, wait_for_port
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

SERVER = """
import sys
from tooltrue import Server

server = Server("script"{settings})


@server.tool(effect="read")
def add(a: int, b: int) -> int:
    '''Add two numbers.'''
    return a + b


server.run({arguments})
"""


def script(folder: Path, arguments: str, settings: str = "") -> list[str]:
    file = folder / "script.py"
    file.write_text(SERVER.format(arguments=arguments, settings=settings))
    return [sys.executable, "-W", "error", "-W", "ignore::ResourceWarning", str(file)]


def url_of(process: Process) -> str:
    line = process.errors()
    assert line.startswith("tooltrue serves script at http://"), line
    url = line.split(" at ")[1].split(" ")[0]
    wait_for_port(urlsplit(url).port or 0, process)
    return url


def status(url: str, path: str = "/healthz", **headers: str) -> int:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=LIMIT)
    connection.request("GET", path, headers=headers)
    found = connection.getresponse().status
    connection.close()
    return found


@pytest.mark.parametrize(
    "arguments", ['"http", port=0', 'transport="http", host="127.0.0.1", port=0', 'transport="streamable-http", port=0']
)
def test_run_serves_http_until_a_signal(arguments: str, tmp_path: Path):
    with started(script(tmp_path, arguments)) as process:
        url = url_of(process)
        assert url.endswith("/mcp")
        assert [status(url), status(url, "/sse"), status(url, Host="evil.example")] == [200, 404, 403]
        ask_to_end(process.popen)
        assert process.ended() == 0
        assert process.popen.stderr is not None
        assert b"Traceback" not in process.popen.stderr.read()


def test_run_serves_the_old_transport_where_its_name_is_given(tmp_path: Path):
    with started(script(tmp_path, 'transport="sse", port=0')) as process:
        assert status(url_of(process), "/sse") == 200


def test_further_hosts_are_served_where_they_are_named(tmp_path: Path):
    with started(script(tmp_path, '"http", port=0, allow_hosts=["tools.example"]')) as process:
        assert status(url_of(process), Host="tools.example") == 200


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ('"http", host="0.0.0.0", port=0', "TT4005", "Server(…, authenticate=…)"),
        ('"http", host="::", port=0', "TT4005", "[::]:0"),
        ('"http", host="no such host", port=0', "TT4005", ""),
        ('"http", port=70000', "TT4003", ""),
        ('"http", port="http"', "TT4003", ""),
        ('"streamable_http"', "TT4537", "streamable-http"),
        ('"websocket"', "TT4537", "stdio"),
        ("port=8000", "TT4538", 'run("http", port=…)'),
    ],
)
def test_a_wrong_setting_is_one_sentence(arguments: str, code: str, words: str, tmp_path: Path):
    with started(script(tmp_path, arguments)) as process:
        assert process.ended() == 2
        assert process.popen.stderr is not None
        said = process.popen.stderr.read().decode()
        assert f"[{code}]" in said
        assert words in said
        assert said.count("\n") == 1


@pytest.mark.parametrize("host", ["localhost", "no-such-host.invalid"])
def test_an_address_that_cannot_be_had_is_one_sentence(host: str, tmp_path: Path):
    keys = tmp_path / "keys.toml"
    keys.write_text("")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = f", authenticate=__import__('tooltrue').ApiKeys({str(keys)!r})"
        with started(script(tmp_path, f'"http", host={host!r}, port={port}', settings)) as process:
            assert process.ended() == 2
            assert process.popen.stderr is not None
            said = process.popen.stderr.read().decode()
            assert "[TT4007]" in said
            assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [('"http", workers=2', "--workers N"), ('"http", path="/x"', "http_app()"), ('"http", reload=True', "'reload'")],
)
def test_a_setting_that_run_has_not_is_named(arguments: str, advice: str, tmp_path: Path):
    with started(script(tmp_path, arguments)) as process:
        assert process.ended() == 1
        assert process.popen.stderr is not None
        said = process.popen.stderr.read().decode()
        assert "TT3046" in said
        assert advice in said


def test_a_variable_names_the_shared_state_and_no_tool_inherits_it(tmp_path: Path):
    store = f"sqlite://{tmp_path / 'state.db'}"
    with started(script(tmp_path, '"http", port=0'), env=environment(TOOLTRUE_STATE=store)) as process:
        assert status(url_of(process), "/readyz") == 200
        assert (tmp_path / "state.db").exists()
