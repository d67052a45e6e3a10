"""Long conversations in any order, both protocol revisions interleaved, against a small model of the owed messages.

The models track the open requests, the result of the handshake, and the effect of a cancellation or of a lost
connection in each protocol revision. They share no code with the server.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from properties.judging import messages_of
from properties.speaking import META, Answer, Gates, ask, http_of, noise, server, settle, tools_of, turned_into_bytes
from tooltrue.transport.carrier import Carrier

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
BATCHES = LEGACY[:2]
VERSION = "mcp-protocol-version"

ids = st.sampled_from([1, 2, "1", "a"])
few_ids = st.sampled_from([1, "1"])
eras = st.sampled_from(["modern", "legacy"])
asked_versions = st.sampled_from([*LEGACY, "2026-07-28", "1"])


def call(id: Any, method: str, era: str, **params: Any) -> dict[str, Any]:
    if era == "modern":
        params["_meta"] = META
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def note(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def handshake(id: Any, version: str) -> dict[str, Any]:
    client = {"name": "c", "version": "1"}
    return call(id, "initialize", "legacy", protocolVersion=version, capabilities={}, clientInfo=client)


def agreed_on(version: str) -> str:
    return version if version in LEGACY else LEGACY[-1]


def in_short(frames: list[bytes]) -> Counter[Any]:
    """A summary of each message: the method, or the id and the outcome of a response."""
    said: list[Any] = []
    for message in messages_of(frames):
        if "method" in message:
            said.append(message["method"])
        else:
            id = message.get("id")
            said.append((type(id), id, message["error"]["code"] if "error" in message else "result"))
    return Counter(said)


def result(id: Any) -> Any:
    return type(id), id, "result"


def error(id: Any, code: int) -> Any:
    return type(id), id, code


TURNS = 150  # turns of the loop until the streams of a session agree which of them sends
CHANGED = "notifications/tools/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class StillLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock moves when it is told to."""

    now = 0.0

    def time(self) -> float:
        return self.now


class Machine(RuleBasedStateMachine):
    """A server whose calls of ``gate`` end when they are told to, and tools that come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = StillLoop()
        self.runner = asyncio.Runner(loop_factory=lambda: self.loop)
        self.gates = Gates()
        self.tools = tools_of(self.gates)
        self.protocol = server(self.tools)
        self.ended: list[tuple[str, str]] = []
        self.keys = 0
        self.has_extra = False

    def new_key(self) -> str:
        self.keys += 1
        return f"k{self.keys}"

    def change_tools(self) -> None:
        if self.has_extra:
            self.tools.remove("extra")
        else:
            self.tools.add_raw("extra", {"type": "object"}, lambda arguments: None)
        self.has_extra = not self.has_extra

    @invariant()
    def calls_ended_as_they_should(self) -> None:
        assert self.gates.ended == self.ended


class Channel(Machine):
    """One conversation on a channel that both ends share."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.session = self.protocol.connect(self.written.append, Carrier("memory"))
        self.agreed: str | None = None
        self.hears_changes = False
        self.open: dict[tuple[type, Any], tuple[Any, str]] = {}  # calls by their id: the id, and the gate's key
        self.listening: dict[tuple[type, Any], Any] = {}

    def say(self, message: Any, *expected: Any) -> None:
        self.feed(turned_into_bytes(message, blank=False))
        self.heard(*expected)

    def feed(self, frame: bytes) -> None:
        async def main() -> None:
            self.session.feed(frame)
            await settle()

        self.runner.run(main())

    def heard(self, *expected: Any) -> None:
        assert in_short(self.written) == Counter(expected)
        self.written.clear()

    def in_use(self, id: Any) -> bool:
        return (type(id), id) in self.open or (type(id), id) in self.listening

    def refusal(self, id: Any, era: str) -> Any:
        """The error of a request that is refused before dispatch; ``None`` for an accepted one."""
        if self.in_use(id):
            return error(id, -32600)
        return error(id, -32602) if era == "legacy" and self.agreed is None else None

    @rule(id=ids, version=asked_versions)
    def initialize(self, id: Any, version: str) -> None:
        if self.in_use(id) or self.agreed is not None:
            self.say(handshake(id, version), error(id, -32600))
        else:
            self.say(handshake(id, version), result(id))
            self.agreed = agreed_on(version)

    @rule(id=ids)
    def ping(self, id: Any) -> None:
        self.say(call(id, "ping", "legacy"), error(id, -32600) if self.in_use(id) else result(id))

    @rule(id=ids, era=eras)
    def list_tools(self, id: Any, era: str) -> None:
        self.say(call(id, "tools/list", era), self.refusal(id, era) or result(id))

    @rule(id=ids, era=eras, method=st.sampled_from(["x", "prompts/list"]))
    def ask_for_what_there_is_not(self, id: Any, era: str, method: str) -> None:
        self.say(call(id, method, era), self.refusal(id, era) or error(id, -32601))

    @rule(id=ids, era=eras, in_batch=st.booleans())
    def begin(self, id: Any, era: str, in_batch: bool) -> None:
        key = self.new_key()
        asked: Any = call(id, "tools/call", era, name="gate", arguments={"key": key})
        if in_batch and self.agreed not in BATCHES:
            self.say([asked], error(None, -32600))
        elif refusal := self.refusal(id, era):
            self.say([asked] if in_batch else asked, refusal)
        else:
            self.say([asked] if in_batch else asked)
            self.open[type(id), id] = (id, key)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        id, key = self.open.pop(data.draw(st.sampled_from(list(self.open))))
        self.gates.waiting[key].set()
        self.ended.append((key, "finished"))
        self.runner.run(settle())
        self.heard(result(id))

    @rule(id=ids)
    def cancel(self, id: Any) -> None:
        if (call := self.open.pop((type(id), id), None)) is not None:
            self.ended.append((call[1], "cancelled"))
        self.listening.pop((type(id), id), None)
        self.say(note("notifications/cancelled", requestId=id))

    @rule(id=ids)
    def listen(self, id: Any) -> None:
        asked = call(id, "subscriptions/listen", "modern", notifications={"toolsListChanged": True})
        if self.in_use(id):
            self.say(asked, error(id, -32600))
        else:
            self.say(asked, ACKNOWLEDGED)
            self.listening[type(id), id] = id

    @rule()
    def initialized(self) -> None:
        self.say(note("notifications/initialized"))
        self.hears_changes = self.agreed is not None

    @rule()
    def change(self) -> None:
        async def main() -> None:
            self.change_tools()
            await settle()

        self.runner.run(main())
        self.heard(*[CHANGED] * (len(self.listening) + self.hears_changes))

    @rule(junk=noise.filter(lambda data: b"\n" not in data))
    def talk_nonsense(self, junk: bytes) -> None:
        self.feed(junk)
        [(kind, id, code)] = in_short(self.written).elements()
        assert (kind, id) == (type(None), None)
        assert code in (-32700, -32600)
        self.written.clear()

    @rule(first=ids, second=ids)
    def batch(self, first: Any, second: Any) -> None:
        asked = [call(first, "ping", "legacy"), note("x"), 7, call(second, "tools/list", "modern")]
        if self.agreed not in BATCHES:
            self.say(asked, error(None, -32600))
        elif not self.in_use(first) and not self.in_use(second) and (type(first), first) != (type(second), second):
            self.say(asked, result(first), error(None, -32600), result(second))

    @invariant()
    def it_knows_what_runs(self) -> None:
        assert self.session.is_busy() == bool(self.open or self.listening)

    def teardown(self) -> None:
        async def main() -> None:
            await self.session.farewell()
            self.heard(
                *[result(id) for id in self.listening.values()], *["notifications/cancelled"] * len(self.listening)
            )
            await self.session.close()
            assert asyncio.all_tasks() == {asyncio.current_task()}, "a task was left behind"

        with self.runner:
            self.runner.run(main())
        self.heard()
        self.ended += [(key, "cancelled") for _, key in self.open.values()]
        assert Counter(self.gates.ended) == Counter(self.ended)


@dataclass(eq=False)
class Asking:
    """An HTTP request that has not been answered yet."""

    id: Any
    key: str | None = None
    token: str | None = None
    listens: bool = False
    modern: bool = False
    answer: Answer = field(default_factory=Answer)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    task: Any = None
    events: int = 0


class Endpoint(Machine):
    """Any number of clients at one HTTP endpoint. They call the application directly, without a network."""

    def __init__(self) -> None:
        super().__init__()
        self.app = http_of(self.protocol)
        self.serving = self.app.serving()
        self.runner.run(self.serving.__aenter__())
        self.sessions: dict[str, str] = {}  # by token: the revision
        self.dead = ["not-a-token"]
        self.asking: list[Asking] = []
        self.abandoned: list[Asking] = []  # legacy calls whose client has gone; they go on
        self.speaker: dict[str | None, Asking] = {}
        self.running: dict[tuple[str, Any], Asking] = {}  # ids in use: the requests that a cancellation ends

    def headers(self, asked: Any, token: str | None, modern: bool) -> list[tuple[bytes, bytes]]:
        given: dict[str, str] = {}
        if modern:
            given = {VERSION: "2026-07-28", "mcp-method": asked["method"]}
            if "name" in asked["params"]:
                given["mcp-name"] = asked["params"]["name"]
        elif token is not None:
            given = {"mcp-session-id": token} | ({VERSION: self.sessions[token]} if token in self.sessions else {})
        return [(name.encode(), value.encode()) for name, value in given.items()]

    def post(self, asked: Any, token: str | None = None, *, modern: bool = False, method: str = "POST") -> Answer:
        """Send a request that is answered at once."""
        body = asked if isinstance(asked, bytes) else turned_into_bytes(asked, blank=False)

        async def main() -> Answer:
            answer = Answer()
            task = asyncio.ensure_future(
                ask(self.app, body, self.headers(asked, token, modern), method=method, answer=answer)
            )
            await settle(TURNS)
            assert task.done()
            task.result()
            return answer

        return self.runner.run(main())

    def begin_to(self, asking: Asking, body: Any, method: str = "POST") -> None:
        headers = self.headers(body, asking.token, asking.modern)
        if method == "GET":
            headers.append((b"accept", b"text/event-stream"))

        async def main() -> None:
            data = b"" if method == "GET" else turned_into_bytes(body, blank=False)
            asking.task = asyncio.ensure_future(
                ask(self.app, data, headers, method=method, gone=asking.gone, answer=asking.answer)
            )
            await settle(TURNS)
            assert not asking.task.done()

        self.runner.run(main())
        self.asking.append(asking)

    def some_token(self, data: st.DataObject, *, dead: bool = True) -> str:
        return data.draw(st.sampled_from([*self.sessions, *(self.dead if dead else ())]))

    @rule(id=ids, version=asked_versions)
    def initialize(self, id: Any, version: str) -> None:
        answer = self.post(handshake(id, version))
        assert (answer.status, in_short(answer.frames)) == (200, Counter([result(id)]))
        token = answer.headers["mcp-session-id"]
        assert token not in self.sessions
        self.sessions[token] = agreed_on(version)

    @rule(id=ids)
    def list_as_modern(self, id: Any) -> None:
        answer = self.post(call(id, "tools/list", "modern"), modern=True)
        assert (answer.status, in_short(answer.frames)) == (200, Counter([result(id)]))

    @rule(id=ids, data=st.data())
    def list_as_legacy(self, id: Any, data: st.DataObject) -> None:
        token = self.some_token(data)
        answer = self.post(call(id, "tools/list", "legacy"), token)
        if token in self.sessions:
            expected = error(id, -32600) if (token, (type(id), id)) in self.running else result(id)
            assert (answer.status, in_short(answer.frames)) == (200, Counter([expected]))
        else:
            assert (answer.status, in_short(answer.frames)) == (404, Counter([error(id, -32602)]))

    @rule(id=few_ids, data=st.data(), era=eras)
    def begin(self, id: Any, data: st.DataObject, era: str) -> None:
        key = self.new_key()
        token = None
        if era == "legacy" and self.sessions:
            token = self.some_token(data, dead=False)
        asking = Asking(id, key, token, modern=era == "modern")
        asked = call(id, "tools/call", era, name="gate", arguments={"key": key})
        if token is not None and (token, (type(id), id)) in self.running:
            assert in_short(self.post(asked, token).frames) == Counter([error(id, -32600)])
            return
        self.begin_to(asking, asked)
        if token is not None:
            self.running[token, (type(id), id)] = asking

    @precondition(lambda self: any(asking.key for asking in [*self.asking, *self.abandoned]))
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        asking = data.draw(st.sampled_from([one for one in [*self.asking, *self.abandoned] if one.key]))
        assert asking.key is not None
        self.gates.waiting[asking.key].set()
        self.runner.run(settle(TURNS))
        self.over(asking, "finished")
        if asking in self.asking:
            self.asking.remove(asking)
            assert (asking.answer.status, in_short(asking.answer.frames)) == (200, Counter([result(asking.id)]))
        else:
            self.abandoned.remove(asking)
            assert asking.answer.status == 0

    def over(self, asking: Asking, how: str) -> None:
        assert asking.key is not None
        self.ended.append((asking.key, how))
        if asking.token is not None:
            del self.running[asking.token, (type(asking.id), asking.id)]

    @precondition(lambda self: self.asking)
    @rule(data=st.data())
    def go_away(self, data: st.DataObject) -> None:
        asking = data.draw(st.sampled_from(self.asking))
        self.leave(asking)
        if asking.key is None:
            return
        if asking.modern:
            self.over(asking, "cancelled")  # to close the stream is to cancel
        else:
            self.abandoned.append(asking)
        assert asking.answer.status == 0

    def leave(self, asking: Asking) -> None:
        asking.gone.set()
        self.loop.now += 0.1  # the disconnect is watched for after a moment only
        self.runner.run(settle(TURNS))
        assert asking.task.done()
        asking.task.result()
        self.asking.remove(asking)

    @rule(id=few_ids, data=st.data())
    def cancel(self, id: Any, data: st.DataObject) -> None:
        token = self.some_token(data)
        meant = self.running.get((token, (type(id), id))) if token in self.sessions else None
        answer = self.post(note("notifications/cancelled", requestId=id), token)
        assert answer.status == (202 if token in self.sessions else 404)
        if meant is None:
            return
        self.over(meant, "cancelled")
        if meant in self.asking:
            self.asking.remove(meant)
            assert (meant.answer.status, meant.answer.body) == (202, b"")
        else:
            self.abandoned.remove(meant)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        token = self.some_token(data)
        answer = self.post(b"", token, method="DELETE")
        if self.sessions.pop(token, None) is None:
            assert answer.status == 404
        else:
            assert (answer.status, answer.body) == (204, b"")
            self.dead.append(token)
            for asking in [one for one in self.asking if one.listens and one.token == token]:
                assert asking.answer.ended
                self.asking.remove(asking)

    @precondition(lambda self: self.sessions)
    @rule(data=st.data())
    def listen_as_legacy(self, data: st.DataObject) -> None:
        """A session may have several streams. The newest of them speaks; when it ends, one of the others does."""
        asking = Asking(None, token=self.some_token(data, dead=False), listens=True)
        self.begin_to(asking, None, "GET")
        self.speaker[asking.token] = asking

    @rule(id=ids)
    def listen_as_modern(self, id: Any) -> None:
        asking = Asking(id, listens=True, modern=True)
        self.begin_to(asking, call(id, "subscriptions/listen", "modern", notifications={"toolsListChanged": True}))

    @rule()
    def change(self) -> None:
        async def main() -> None:
            self.change_tools()
            await settle(TURNS)

        self.runner.run(main())
        for asking in self.asking:
            asking.events += asking.listens and asking.modern
        for token in {asking.token for asking in self.asking if asking.listens and not asking.modern}:
            self.speaker_of(token).events += 1

    def speaker_of(self, token: str | None) -> Asking:
        """The stream that speaks for a session; when it was left to them, that which did."""
        streams = [asking for asking in self.asking if asking.listens and asking.token == token and not asking.modern]
        if self.speaker.get(token) not in streams:
            [self.speaker[token]] = [one for one in streams if len(one.answer.frames) > one.events]
        return self.speaker[token]

    @rule(junk=noise)
    def talk_nonsense(self, junk: bytes) -> None:
        answer = self.post(junk)
        assert answer.status == 200 if junk == b"[[]]" else 400  # a batch of nonsense is a batch
        assert len(answer.frames) == 1

    @rule(seconds=st.sampled_from([1, 20]))
    def wait(self, seconds: float) -> None:
        self.loop.now += seconds
        self.runner.run(settle(TURNS))

    @invariant()
    def streams_have_said_what_they_should(self) -> None:
        for asking in self.asking:
            if asking.listens:
                expected = Counter({CHANGED: asking.events, ACKNOWLEDGED: int(asking.modern)})
                assert in_short(asking.answer.frames) == +expected

    def teardown(self) -> None:
        with self.runner:
            self.shut_down()

    def shut_down(self) -> None:
        async def main() -> None:
            self.app.closing()
            await settle(TURNS)
            self.loop.now += 1
            await settle(TURNS)

        self.runner.run(main())
        for asking in self.asking:
            assert asking.task.done()
            assert asking.answer.ended
            if asking.key is not None:
                assert asking.answer.status == 503
        assert self.gates.waiting == {}
        assert asyncio.all_tasks(self.loop) == set(), "a task was left behind"


TestChannel = Channel.TestCase
TestEndpoint = Endpoint.TestCase
TestChannel.settings = TestEndpoint.settings = settings(deadline=None, max_examples=settings().max_examples // 4)
