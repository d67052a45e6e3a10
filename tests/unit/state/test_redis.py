"""The contract of ``Facts`` on a real Redis, and the guarantees that only Redis gives."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis
from redis.asyncio import Connection
from redis.asyncio import Redis as AsyncRedis

from support.redis_server import age, own_redis, redis_url
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.state.facts import Facts
from tooltrue.state.redis import RedisFacts
from tooltrue.state.redis_events import RedisEvents
from tooltrue.state.urls import open_facts
from tooltrue.testing.state import LIMIT, check_facts

pytestmark = pytest.mark.process


def test_redis_keeps_the_contract() -> None:
    with ExitStack() as stack:
        urls: list[str] = []

        @contextlib.asynccontextmanager
        async def make() -> AsyncGenerator[Facts]:
            urls.append(stack.enter_context(redis_url()))
            async with RedisFacts(urls[-1], patience=LIMIT) as facts:
                yield facts

        asyncio.run(check_facts(make, lambda seconds: age(urls[-1], seconds)))


def test_a_limit_holds_exactly_over_stores() -> None:
    async def scenario(url: str) -> int:
        async with (
            RedisFacts(url, patience=LIMIT) as first,
            RedisFacts(url, patience=LIMIT) as second,
            RedisFacts(url, patience=LIMIT, connections=2) as third,
        ):
            stores = [first, second, third]
            takes = (stores[n % 3].take("a", per_second=0.0001, burst=40) for n in range(90))
            return [*await asyncio.gather(*takes)].count(0.0)

    with redis_url() as url:
        assert asyncio.run(scenario(url)) == 40


@pytest.mark.parametrize("per_second", [0.001, 0.3, 7, 1_000, 99_999.9])
def test_a_burst_is_granted_to_the_last_one_and_the_wait_is_that_of_the_rate(per_second: float) -> None:
    async def scenario(url: str) -> float:
        async with RedisFacts(url, patience=LIMIT) as facts:
            assert await facts.take("a", per_second=per_second, burst=500, cost=500) == 0.0
            return await facts.take("a", per_second=per_second, burst=500, cost=500)

    with redis_url() as url:
        assert asyncio.run(scenario(url)) <= 500 * (1 / per_second + 1e-6) + 1e-5


def test_a_key_that_regained_all_takes_no_room() -> None:
    async def scenario(url: str) -> list[int]:
        async with RedisFacts(url, patience=LIMIT) as facts:
            await facts.take("a", per_second=0.01, burst=5)
            await facts.put("b", b"", 100)
            with Redis.from_url(url.partition("?")[0]) as client:
                prefix = url.partition("=")[2]
                return [client.pttl(key) for key in client.scan_iter(match=f"{prefix}*")]

    with redis_url() as url:
        left = asyncio.run(scenario(url))
    assert len(left) == 2
    assert all(0 < milliseconds <= 100_000 for milliseconds in left)


def test_events_go_from_store_to_store_and_listeners_that_ended_hear_nothing() -> None:
    async def scenario(url: str) -> None:
        async with RedisFacts(url, patience=LIMIT) as here, RedisFacts(url, patience=LIMIT) as there:
            heard: asyncio.Queue[bytes] = asyncio.Queue()
            ends = [await here.subscribe("a", heard.put_nowait) for _ in range(2)]
            await there.publish("a", b"1")
            async with asyncio.timeout(LIMIT):
                assert [await heard.get() for _ in range(2)] == [b"1", b"1"]
            ends[0]()
            await there.publish("a", b"2")
            ends[1]()
            again = await here.subscribe("a", heard.put_nowait)
            await there.publish("a", b"3")
            async with asyncio.timeout(LIMIT):
                while await heard.get() != b"3":
                    pass
            again()

    with redis_url() as url:
        asyncio.run(scenario(url))


def test_channels_without_listeners_are_unsubscribed() -> None:
    async def scenario(url: str) -> list[int]:
        counts: list[int] = []
        with Redis.from_url(url) as client:
            async with RedisFacts(url, patience=LIMIT) as facts:
                ends = [await facts.subscribe(f"c{n}", print) for n in range(20)]
                counts.append(len(client.pubsub_channels("*")))
                for end in ends:
                    end()
                await facts.subscribe("last", print)  # meanwhile the ends have been said
                await facts.subscribe("very last", print)  # and the store has read all that was said before this
                counts.append(len(client.pubsub_channels("*")))
            assert len(asyncio.all_tasks()) == 1
        return counts

    with own_redis() as server:
        assert asyncio.run(scenario(server.url)) == [20, 2]


def test_a_subscription_after_a_quiet_time_without_listeners_receives_messages() -> None:
    async def scenario(url: str, port: int) -> None:
        events = RedisEvents(lambda: Connection(port=port, protocol=2), b"", url, LIMIT, quiet=0.05)
        heard: asyncio.Queue[bytes] = asyncio.Queue()
        (await events.subscribe("a", print))()
        async with asyncio.timeout(LIMIT), AsyncRedis.from_url(url) as client:
            async with client.monitor() as monitor:
                for _ in range(2):  # the first was answered, or there would be no second
                    while (await monitor.next_command())["command"] != "PING":
                        pass
            await events.subscribe("b", heard.put_nowait)
            while heard.empty():  # a store that is slow to answer may be connected to anew meanwhile
                await client.publish("b", b"1")
        await events.close()

    with own_redis() as server:
        asyncio.run(scenario(server.url, server.port))


def test_a_fault_of_the_library_ends_no_events(caplog: pytest.LogCaptureFixture) -> None:
    """As CPython 3.12 has one: a write to a connection that was reset raises ``AttributeError``."""

    class FaultyConnection(Connection):
        async def connect(self) -> None:
            raise AttributeError("'NoneType' object has no attribute 'send'")

    async def scenario(url: str, port: int) -> bytes:
        kinds = iter((FaultyConnection, FaultyConnection))
        events = RedisEvents(lambda: next(kinds, Connection)(port=port, protocol=2), b"", url, LIMIT)
        heard: asyncio.Queue[bytes] = asyncio.Queue()
        await events.subscribe("a", heard.put_nowait)
        async with asyncio.timeout(LIMIT), AsyncRedis.from_url(url) as client:
            await client.publish("a", b"1")
            first = await heard.get()
        await events.close()
        return first

    with own_redis() as server:
        assert asyncio.run(scenario(server.url, server.port)) == b"1"
    assert [record.exc_info is not None for record in caplog.records] == [True, True]


def test_a_cancelled_caller_leaves_the_store_usable() -> None:
    async def scenario(url: str) -> None:
        async with RedisFacts(url, patience=LIMIT, connections=1) as facts:
            for _ in range(20):
                caller = asyncio.ensure_future(facts.put("a", b"1", 60))
                await asyncio.sleep(0)
                caller.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await caller
                listener = asyncio.ensure_future(facts.subscribe("a", print))
                await asyncio.sleep(0)
                listener.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await listener
                await facts.put("b", b"2", 60)
                assert await facts.get("b") == b"2"

    with redis_url() as url:
        asyncio.run(scenario(url))


def test_one_bad_key_fails_alone() -> None:
    async def scenario(url: str) -> None:
        async with RedisFacts(url, patience=LIMIT) as facts:
            with pytest.raises(UnicodeEncodeError):
                await facts.take("\ud800", per_second=1, burst=1)
            assert await facts.take("good", per_second=1, burst=1) == 0.0

    with redis_url() as url:
        asyncio.run(scenario(url))


def test_b57_a_store_that_is_gone_is_said_and_one_that_is_back_is_used(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        with own_redis() as server:
            async with RedisFacts(server.url, patience=LIMIT) as facts:
                heard: asyncio.Queue[bytes] = asyncio.Queue()
                await facts.subscribe("a", heard.put_nowait)
                await facts.put("a", b"1", 60)
                server.stop()
                for ask in (facts.get("a"), facts.take("a", per_second=1, burst=1), facts.publish("a", b"")):
                    with pytest.raises(StateError) as caught:
                        await ask
                    assert caught.value.code == "TT7050"
                server.start()
                assert await facts.get("a") is None
                assert await facts.put_if_absent("a", b"2", 60)
                async with asyncio.timeout(LIMIT):
                    while heard.empty():  # once it listens again
                        await facts.publish("a", b"3")
                        await asyncio.sleep(0)
                assert await heard.get() == b"3"

    caplog.set_level(logging.CRITICAL, "tooltrue.state")
    asyncio.run(scenario())


class ResettableStore:
    """As much of a store as the protocol needs, in the loop of the test: it can reset all its connections at once."""

    def __init__(self) -> None:
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                command, *words = await self._command(reader)
                if command == b"SUBSCRIBE":
                    for name in words:
                        writer.write(b"*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n" % (len(name), name))
                else:
                    writer.write(b"+OK\r\n")
        writer.close()

    async def _command(self, reader: asyncio.StreamReader) -> list[bytes]:
        words: list[bytes] = []
        for _ in range(int((await reader.readuntil(b"\r\n"))[1:])):
            size = int((await reader.readuntil(b"\r\n"))[1:])
            words.append((await reader.readexactly(size + 2))[:-2])
        return words

    def reset(self) -> None:
        for writer in self._writers:
            at_once = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            writer.transport.abort()
        self._writers.clear()


@contextlib.asynccontextmanager
async def resettable() -> AsyncGenerator[tuple[ResettableStore, RedisFacts]]:
    store = ResettableStore()
    async with await asyncio.start_server(store.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with RedisFacts(f"redis://127.0.0.1:{port}", patience=LIMIT, connections=1) as facts:
            yield store, facts
            store.reset()


TURNS = range(10)
"""Turns of the loop between the reset of a connection and a write to it: all that the loop needs to see the reset."""


def test_a_command_on_a_connection_that_was_reset_fails_alone() -> None:
    async def scenario() -> list[str]:
        codes: list[str] = []
        async with resettable() as (store, facts):
            for turns in TURNS:
                store.reset()
                for _ in range(turns):
                    await asyncio.sleep(0)
                with pytest.raises(StateError) as caught:
                    await facts.get("a")
                codes.append(caught.value.code)
                assert await facts.get("a") == b"OK"
        return codes

    assert asyncio.run(scenario()) == ["TT7050"] * len(TURNS)


def test_subscriptions_are_confirmed_although_the_connection_is_reset(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with resettable() as (store, facts):
            await facts.subscribe("first", print)
            for turns in TURNS:
                store.reset()
                for _ in range(turns):
                    await asyncio.sleep(0)
                await asyncio.gather(*(facts.subscribe(f"c{turns}-{n}", print) for n in range(2)))

    caplog.set_level(logging.CRITICAL, "tooltrue.state")
    asyncio.run(scenario())


def test_a_connection_to_an_unresponsive_store_times_out() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            with pytest.raises(StateError):
                async with asyncio.timeout(LIMIT), RedisFacts(f"redis://127.0.0.1:{port}", patience=0.05):
                    pass

    asyncio.run(scenario())


def test_a_closed_store_says_so() -> None:
    async def scenario(url: str) -> list[str]:
        async with RedisFacts(url, patience=LIMIT) as facts:
            pass
        codes: list[str] = []
        for ask in (facts.get("a"), facts.subscribe("a", print), facts.take("a", per_second=1, burst=1)):
            with pytest.raises(StateError) as caught:
                await ask
            codes.append(caught.value.code)
        return codes

    with redis_url() as url:
        assert asyncio.run(scenario(url)) == ["TT7051"] * 3


PASSWORD = "hunter2-and%40more"


def test_a_password_is_used_and_never_shown(caplog: pytest.LogCaptureFixture) -> None:
    async def opened(url: str) -> None:
        async with open_facts(url) as facts:
            await facts.put("a", b"1", 60)
            end = await facts.subscribe("a", print)
            end()

    with own_redis("--requirepass", "hunter2-and@more") as server:
        asyncio.run(opened(server.url.replace("//", f"//default:{PASSWORD}@")))
        asyncio.run(opened(server.url.replace("//", f"//:{PASSWORD}@").replace("redis:", "valkey:")))
        for wrong in (server.url, server.url.replace("//", "//default:hunter3@")):
            with pytest.raises(StateError) as caught:
                asyncio.run(opened(wrong))
            said = caught.value.say() + caught.value.say("zh") + caplog.text
            assert "hunter" not in said
            assert str(server.port) in said


def test_an_invalid_redis_url_is_reported_without_its_password() -> None:
    with pytest.raises(ConfigurationError) as caught:
        RedisFacts("redis://me:hunter2@host/name")
    assert caught.value.code == "TT7052"
    assert "hunter2" not in caught.value.say()


def test_tls_is_checked_against_the_authority_that_was_named(tmp_path: Path) -> None:
    key, cert, other = _certificate(tmp_path, "one"), tmp_path / "one.crt", tmp_path / "two.crt"
    _certificate(tmp_path, "two")

    async def opened(url: str) -> None:
        async with RedisFacts(url, patience=LIMIT) as facts:
            await facts.put("a", b"1", 60)
            (await facts.subscribe("a", print))()

    options = ["--tls-cert-file", str(cert), "--tls-key-file", str(key), "--tls-auth-clients", "no"]
    try:
        with own_redis(*options, tls=True) as server:
            address = f"rediss://127.0.0.1:{server.port}"
            asyncio.run(opened(f"{address}/0?ssl_ca_certs={cert}"))
            for url in (address, f"{address}?ssl_ca_certs={other}"):
                with pytest.raises(StateError):
                    asyncio.run(opened(url))
    except AssertionError as error:
        if "ended at once" in str(error):
            pytest.skip("this server was built without TLS")
        raise


def _certificate(folder: Path, name: str) -> Path:
    key = folder / f"{name}.key"
    request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    names = f"-addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {folder / name}.crt"
    subprocess.run(["openssl", *request.split(), *names.split()], check=True, capture_output=True)
    return key


def test_a_missing_package_is_reported_with_its_install_command() -> None:
    program = (
        "import sys; sys.modules['redis'] = None\n"
        "from tooltrue.state.urls import open_facts\n"
        "from tooltrue.errors import ConfigurationError\n"
        "try:\n    open_facts('redis://localhost')\n"
        "except ConfigurationError as error:\n    print(error.say())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, timeout=LIMIT, capture_output=True, text=True)
    assert "extra 'redis'" in done.stdout
    assert "[TT7053]" in done.stdout


def test_memory_and_files_do_not_pay_for_redis() -> None:
    program = (
        "import sys; from tooltrue.state.urls import open_facts; open_facts('memory:'); open_facts('sqlite:/x')\n"
        "sys.exit('redis' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=LIMIT)
