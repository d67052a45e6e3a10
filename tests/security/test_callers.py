"""Things of one caller that another one tries: lists, handles, ids, addresses. And things that are for no caller: the
output of a tool, the text of its crash, and the environment of a server.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from security.test_doors import by, by_name
from security.test_identity import by_address
from support.variants import tried
from support.wire.mounting import Mounts
from support.wire.raw_http import Endpoint, in_session
from tooltrue import Client, Context, Principal, RpcError, Server
from tooltrue.policy.rules.rule import ALLOW, Deny
from tooltrue.protocol.versions import ALL
from unit.server.test_dual_era import ADD, META, Channel, made

# -- B26: addresses of one network -------------------------------------------------------------------------------------

HOPS = [
    "2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:DB8:1:2:0:0:0:1",
    "2001:0db8:0001:0002::", "2001:db8:1:2::ffff:0",
    "2001:db8:1:2:0:5efe:192.0.2.1", "2001:db8:1:2:8000::", "2001:db8:1:2:1::", "2001:db8:1:2:a:b:c:d",
    "2001:db8:0001:2::1", "2001:db8:1:2::127.0.0.1",
    "2001:db8:1:2:dead:beef::1", "2001:db8:1:2:1:1:1:1", "2001:db8:1:2::%eth0",
]  # fmt: skip
SPELLED = [
    "198.51.100.7", "::ffff:198.51.100.7", "::FFFF:198.51.100.7", "::ffff:c633:6407", "0:0:0:0:0:ffff:198.51.100.7",
    "203.0.113.1, 198.51.100.7",
    "127.0.0.9, 198.51.100.7", "x, 198.51.100.7", ", 198.51.100.7", "198.51.100.8,198.51.100.7",
]  # fmt: skip


@pytest.mark.attack("B26")
@pytest.mark.variants(22)
def test_b26_no_spelling_of_an_address_is_another_caller(mounts: Mounts) -> None:
    for address in (*HOPS, *SPELLED):
        tried(address)
    assert {*by_address(mounts, *(hop for hop in HOPS if "%" not in hop))} == {"address:2001:db8:1:2::/64"}
    assert {*by_address(mounts, *SPELLED)} == {"address:198.51.100.7"}


# -- B31: lists --------------------------------------------------------------------------------------------------------

LISTS = ("tools/list", "resources/list", "prompts/list", "resources/templates/list")


def private() -> Server:
    def decide(subject: Any, context: Any, arguments: Any) -> Any:
        name = getattr(subject, "name", "")
        return Deny(hidden=True) if "hers" in name and context.principal.id != "ann" else ALLOW

    async def none() -> str:
        return ""

    async def one(name: str) -> str:
        return name

    server = Server("private", authenticate=by_name, decide=decide)
    for name in ("hers", "common"):
        server.add_tool(none, name=name)
        server.add_prompt(none, name=name)
        server.add_resource(f"docs:{name}", none, name=name)
        server.add_resource(f"docs:{name}/{{name}}", one, name=name)
    return server


@pytest.mark.attack("B31")
@pytest.mark.variants(40)
def test_b31_no_list_of_one_caller_is_told_to_another_in_any_order(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[tuple[str, str, bool]]:
        told: list[tuple[str, str, bool]] = []
        sessions = {name: await endpoint.initialize(headers=by(name)) for name in ("ann", "bob", "Ann")}
        for method, order in itertools.product(LISTS, (("ann", "bob"), ("bob", "ann", "bob"), ("ann", "Ann", "ann"))):
            for door, name in itertools.product(("stateless", "a session"), order):
                if door == "stateless":
                    answer = (await endpoint.modern(method, authorization=name)).json["result"]
                    assert answer["cacheScope"] == "private"
                else:
                    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
                    answer = (await endpoint.post(message, (*in_session(sessions[name]), *by(name)))).json["result"]
                tried((method, order, door, name))
                told.append((method, name, "hers" in json.dumps(answer)))
                assert "common" in json.dumps(answer)
        return told

    with mounts.mounted(private().http_app()) as path:
        told = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert [one for one in told if one[2] != (one[1] == "ann")] == []


# -- B32, B34: the same ids --------------------------------------------------------------------------------------------

IDS: list[Any] = [
    1,
    0,
    -1,
    2,
    7,
    2**31,
    2**53,
    "1",
    "0",
    "",
    "a",
    "A",
    "\u0430",
    "01",
    "1.0",
    " 1",
    "null",
    "true",
    "x" * 200,
    "\u00e9",
    "e\u0301",
    "__proto__",
]


@pytest.mark.attack("B32")
@pytest.mark.variants(len(IDS))
def test_b32_no_id_of_one_connection_is_that_of_another() -> None:
    async def main() -> None:
        server, cancelled = made()
        one, two = Channel(server), Channel(server)
        for id in IDS:
            tried(id)
            one.say("tools/call", {"name": "forever", "_meta": META}, id)
            two.say("tools/call", {**ADD, "_meta": META}, id)
            answer = await two.hear()
            assert (answer["id"], answer["result"]["structuredContent"]) == (id, 3)
            two.say("notifications/cancelled", {"requestId": id})
            await asyncio.sleep(0)
            assert one.silent
            assert cancelled == []
        # Each is still its own on the connection that it came from.
        for number, id in enumerate(IDS, 1):
            one.say("notifications/cancelled", {"requestId": id})
            while len(cancelled) < number:  # noqa: ASYNC110 - the server's own task needs a turn
                await asyncio.sleep(0)
        await one.close()
        await two.close()

    asyncio.run(main())


# -- B47: the environment of a child -----------------------------------------------------------------------------------

SECRETS = [
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
    "DATABASE_URL", "PGPASSWORD",
    "MYSQL_PWD", "REDIS_URL", "NPM_TOKEN", "SSH_AUTH_SOCK", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_SECRET",
    "VAULT_TOKEN", "TOOLTRUE_KEYS",
    "TOOLTRUE_APPROVALS", "LD_PRELOAD", "PYTHONSTARTUP", "NODE_OPTIONS", "HTTP_PROXY", "KUBECONFIG", "MY_PASSWORD",
    "SECRET",
]  # fmt: skip
TELLS = """
import os
from tooltrue import Server
server = Server("tells")
@server.tool(effect="read")
async def variables() -> list[str]:
    return sorted(os.environ)
server.run()
"""


@pytest.mark.process
@pytest.mark.attack("B47")
@pytest.mark.variants(len(SECRETS))
def test_b47_no_secret_of_our_environment_reaches_a_server_that_we_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tells.py").write_text(TELLS)
    for name in SECRETS:
        tried(name)
        monkeypatch.setenv(name, "hunter2-of-the-environment")

    async def main() -> list[str]:
        async with Client([sys.executable, "-I", str(tmp_path / "tells.py")], env={"GIVEN": "1"}) as client:
            return (await client.call_tool("variables")).value

    seen = asyncio.run(main())
    assert {*seen} & {*SECRETS} == set()
    assert "GIVEN" in seen


# -- B49: output of tools ----------------------------------------------------------------------------------------------

PRINTS = {
    "print": "print('x')",
    "without an end": "print('x', end='', flush=True)",
    "a message": """print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)""",
    "a broken message": """print('{"jsonrpc":', flush=True)""",
    "a request": """print('{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}', flush=True)""",
    "the stream": "sys.stdout.write('x\\n'); sys.stdout.flush()",
    "the first stream": "sys.__stdout__.write('x\\n'); sys.__stdout__.flush()",
    "its bytes": "sys.stdout.buffer.write(b'\\xff\\x00\\n'); sys.stdout.buffer.flush()",
    "the descriptor": "os.write(1, b'x\\n')",
    "a copy of it": "fd = os.dup(1); os.write(fd, b'x\\n'); os.close(fd)",
    "the device": "f = open('/dev/stdout', 'w'); f.write('x\\n'); f.close()",
    "a file of it": "f = os.fdopen(1, 'w', closefd=False); f.write('x\\n'); f.flush()",
    "much": "print('x' * 100_000, flush=True)",
    "many lines": "print('x\\n' * 10_000, flush=True)",
    "another encoding": "sys.stdout.buffer.write('x\\n'.encode('utf-16')); sys.stdout.flush()",
    "a thread": "t = threading.Thread(target=print, args=('x',)); t.start(); t.join()",
    "a child": "subprocess.run(['/bin/echo', 'x'])",
    "a shell": "os.system('echo x')",
    "a child of a child": "subprocess.run(['/bin/sh', '-c', '(echo x &) ; wait'])",
    "a log": "logging.basicConfig(stream=sys.stdout, force=True); logging.warning('x')",
    "a warning": "warnings.showwarning('x', UserWarning, 'f', 1, sys.stdout)",
    "a traceback": "traceback.print_stack(file=sys.stdout)",
    "the C library": "ctypes.CDLL(None).puts(b'x'); ctypes.CDLL(None).fflush(None)",
}
PRINTING = """
import ctypes, logging, os, subprocess, sys, threading, traceback, warnings
from tooltrue import Server
server = Server("prints")
print("at the beginning", flush=True)
PRINTS = {prints!r}
@server.tool(effect="read")
def show(way: str) -> str:
    exec(PRINTS[way])
    return way
server.run()
"""


@pytest.mark.process
@pytest.mark.attack("B49")
@pytest.mark.variants(len(PRINTS))
def test_b49_no_output_of_a_tool_gets_into_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text(PRINTING.replace("{prints!r}", repr(PRINTS)))

    async def main() -> list[str]:
        async with Client([sys.executable, "-I", str(tmp_path / "prints.py")]) as client:
            return [(await client.call_tool("show", way=way)).text for way in PRINTS]

    for way in PRINTS:
        tried(way)
    assert asyncio.run(main()) == [*PRINTS]


# -- J07: the text of a crash ------------------------------------------------------------------------------------------

HIDDEN = "postgres://ann:hunter2@db.internal/shop /home/ann/app.py"
ERRORS: dict[str, Callable[[], BaseException]] = {
    "an error of its own": lambda: RuntimeError(HIDDEN),
    "a key": lambda: KeyError(HIDDEN),
    "a system error": lambda: OSError(2, "No such file", HIDDEN),
    "text that cannot be decoded": lambda: UnicodeDecodeError("utf-8", HIDDEN.encode(), 0, 1, HIDDEN),
    "a time limit": lambda: TimeoutError(HIDDEN),
    "a failed assertion": lambda: AssertionError(HIDDEN),
    "an end": lambda: StopAsyncIteration(HIDDEN),
    "the end of the program": lambda: SystemExit(HIDDEN),
    "several": lambda: ExceptionGroup(HIDDEN, [ValueError(HIDDEN)]),
    "with notes": lambda: _noted(ValueError(HIDDEN)),
    "with a cause": lambda: _caused(ValueError("x")),
    "one that cannot be shown": lambda: Unshowable(HIDDEN),
}


class Unshowable(Exception):
    def __str__(self) -> str:
        raise ValueError(HIDDEN)

    __repr__ = __str__


def _noted(error: BaseException) -> BaseException:
    error.add_note(HIDDEN)
    return error


def _caused(error: BaseException) -> BaseException:
    error.__cause__ = RuntimeError(HIDDEN)
    return error


@pytest.mark.attack("J07")
@pytest.mark.variants(3 * len(ERRORS))
@pytest.mark.parametrize("revision", [ALL[0], ALL[-1]])
def test_j07_no_text_of_a_crash_leaves_by_any_answer(revision: str) -> None:
    def crashes(make: Callable[[], BaseException]) -> Any:
        async def function() -> str:
            raise make()

        return function

    server = Server("crashes")
    for number, make in enumerate(ERRORS.values()):
        server.add_tool(crashes(make), name=f"t{number}")
        server.add_prompt(crashes(make), name=f"p{number}")
        server.add_resource(f"docs:{number}", crashes(make), name=f"r{number}")

    async def main() -> dict[tuple[str, str], str]:
        said: dict[tuple[str, str], str] = {}
        async with Client(server, revision=revision) as client:
            for number, error in enumerate(ERRORS):
                asks: dict[str, Callable[[], Any]] = {
                    "a tool": lambda number=number: client.call_tool(f"t{number}"),
                    "a prompt": lambda number=number: client.get_prompt(f"p{number}"),
                    "a resource": lambda number=number: client.read_resource(f"docs:{number}"),
                }
                for place, ask in asks.items():
                    try:
                        said[place, error] = str(await ask())
                    except RpcError as failed:
                        said[place, error] = f"{failed} {failed.data}"
        return said

    said = asyncio.run(main())
    for each in said:
        tried(each)
    assert {each: text for each, text in said.items() if "hunter2" in text or "app.py" in text} == {}


# -- B29: handles that were guessed ------------------------------------------------------------------------------------


@pytest.mark.attack("B29")
@pytest.mark.variants(45)
def test_b29_no_handle_that_was_made_of_another_is_one(mounts: Mounts) -> None:
    server = Server("keeps", authenticate=lambda carrier: Principal((carrier.headers or {}).get("authorization", "")))

    @server.tool(effect="read")
    async def export(context: Context) -> Any:
        """Export."""
        return context.keep("hers alone", "value")

    def guesses(uri: str) -> list[str]:
        scheme, _, rest = uri.partition(":")
        changed = [f"{scheme}:{rest[:at]}{'A' if rest[at] != 'A' else 'B'}{rest[at + 1 :]}" for at in range(len(rest))]
        cut = [uri[:-size] for size in (1, 2, 5, 9)]
        longer = [uri + more for more in ("A", "=", "/", "/1", "/2", "/0", "/-1", "?x", "#x", "%00", "/..", " ")]
        other = [
            uri.upper(),
            f"{scheme.upper()}:{rest}",
            f"{scheme}://{rest}",
            f"{scheme}:{rest[::-1]}",
            f"{scheme}:",
            f"{scheme}:1",
            f"{scheme}:*",
        ]
        return [*changed, *cut, *longer, *other]

    async def scenario(endpoint: Endpoint) -> list[str]:
        result = (await endpoint.modern("tools/call", {"name": "export"}, authorization="ann")).json["result"]
        uri = result["content"][0]["uri"]
        assert "hers alone" in str((await read(endpoint, uri, "ann")).json)
        taken: list[str] = []
        tries = [(uri, "bob"), (uri, "Ann"), (uri, "ann "), *((guess, "bob") for guess in guesses(uri))]
        for guess, name in tries:
            tried((guess, name))
            if "hers alone" in str(
                (await read(endpoint, guess, f"{name}#{len(taken)}" if name == "bob" else name)).json
            ):
                taken.append(guess)
        return taken

    async def read(endpoint: Endpoint, uri: str, name: str) -> Any:
        return await endpoint.modern("resources/read", {"uri": uri}, mcp_name=uri, authorization=name)

    with mounts.mounted(server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == []
