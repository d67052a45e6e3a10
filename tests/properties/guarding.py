"""Random servers with random rules, every request that a caller can try on them, and a model of the expected result.

The model is independent: it reads the rules as the file states them, by the wording of ``docs/policy.md``, and shares
no code with the implementation under test.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Annotated, Any

from hypothesis import strategies as st

from properties.speaking import Answer, ask, events_of, settle
from tooltrue import Completes, Context, Form, LocalLibrary, LocalToolset, combined, filtered, prefixed, renamed
from tooltrue.errors import RpcError
from tooltrue.policy import guard, pipeline
from tooltrue.policy.config import examine
from tooltrue.policy.layers.abuse import Abuse
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.layers.rate import RateLimits
from tooltrue.protocol import modern, versions
from tooltrue.protocol.types import Implementation, InputRequiredResult
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.server import ProtocolServer
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.bounds import Rate
from tooltrue.tools.library import shelved
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import LOCAL, Principal, ToolCall
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.http_server import AllowedHosts, HttpApp

__all__ = ["META_TOOL", "PATHS", "Attempts", "Item", "Told", "World", "worlds"]

ANN, ABE = Principal("ann"), Principal("abe", frozenset({"s1"}))
PATHS = ("x", "y")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"enum": [*PATHS], "default": "x"}},
    "additionalProperties": False,
}
META_SCHEMA = {**SCHEMA, "properties": {**SCHEMA["properties"], "name": {"type": "string"}}}
OFTEN = Rate(1e6, 1_000_000)
TIRELESS = guard.Guard(
    guard.Limits(seconds=1e6),
    rate=RateLimits.of(OFTEN),
    abuse=Abuse(OFTEN, OFTEN, OFTEN),
    confirm=Confirm(frozenset(), questions=1_000_000),
)
"""Nothing but the decision refuses, and only rules ask: whoever tries everything is no reason for a pause."""
META_TOOL = "meta"
"""A tool that calls the one that it is told to, through the same guard."""
_ABOUT = re.compile(r"asks before (?P<tool>\S+) runs .*\"path\" \(1\): \"(?P<path>.)\"", re.DOTALL)
RESOURCES, VALUES, PROMPTS = ("docs:a", "docs:b"), ("x", "y"), ("pa", "pb")


async def suggest(prefix: str) -> list[str]:
    return list(VALUES)


Suggested = Annotated[str, Completes(suggest)]

# -- worlds ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Item:
    """A tool, resource or prompt, by the name under which callers know it."""

    kind: str
    name: str
    effect: str = ""
    requires: frozenset[str] = frozenset()
    asks: bool = False

    @property
    def secret(self) -> str:
        """The marker text that an answer contains only if the caller has reached the item."""
        return f"<{self.kind} {self.name}>"


@dataclass
class World:
    """A server under test. ``views`` holds how each part presents its tools, ``says`` the person's answer to an
    approval question. ``ran`` records the items reached and their callers, ``story`` the events of the tools in order:
    ``yes`` for an approval, ``ran``, and ``done`` for a run that did more than ask a question.
    """

    tools: tuple[tuple[Item, ...], ...]
    views: tuple[str, ...]
    rules: list[dict[str, Any]]
    says: str = "once"
    ran: list[tuple[str, str, str, str]] = field(default_factory=list)
    story: list[tuple[str, str, str]] = field(default_factory=list)
    guarded: Provider | None = None

    def items(self) -> Iterator[Item]:
        """All that there is, under the names outside."""
        yield Item("tools", META_TOOL, "open-world")
        for number, (part, view) in enumerate(zip(self.tools, self.views, strict=True)):
            for item in part:
                if view != "filtered" or item is not part[0]:
                    yield Item("tools", _outside(item, part, view, number), item.effect, item.requires, item.asks)
        yield from (Item("resources", uri) for uri in (*RESOURCES, *(f"docs:t/{value}" for value in VALUES)))
        yield from (Item("prompts", name) for name in PROMPTS)

    def provider(self) -> Provider:
        shown = [self._part(number) for number in range(len(self.tools))]
        return combined(*shown, shelved(self._meta(), self._library()))

    def _meta(self) -> LocalToolset:
        async def meta(arguments: dict[str, Any], context: Context) -> Any:
            path = arguments["path"]
            self._reached(META_TOOL, path, context)
            if "name" not in arguments:
                return self._done(Item("tools", META_TOOL), path)
            assert self.guarded is not None
            call = ToolCall(arguments["name"], {"path": path}, context)
            outcome: Any = RpcError("nothing")
            with contextlib.suppress(RpcError):
                outcome = await self.guarded.call_tool(call)
            if not isinstance(outcome, InputRequiredResult):
                self.story.append(("done", META_TOOL, path))
            return "nothing" if isinstance(outcome, RpcError) else outcome

        tools = LocalToolset()
        tools.add_raw(META_TOOL, META_SCHEMA, meta, effect="open-world")
        return tools

    def _reached(self, name: str, path: str, context: Context) -> None:
        self.ran.append(("tools", name, path, context.principal.id))
        self.story.append(("ran", name, path))

    def _done(self, item: Item, path: str) -> str:
        self.story.append(("done", item.name, path))
        return item.secret

    def _part(self, number: int) -> Provider:
        part, view, tools = self.tools[number], self.views[number], LocalToolset()
        for item in part:
            name = _outside(item, part, view, number)
            settings: Any = {"effect": item.effect, "requires": item.requires}
            tools.add_raw(item.name, SCHEMA, self._body(Item("tools", name, asks=item.asks)), **settings)
        match view:
            case "prefixed":
                return prefixed(tools, f"v{number}")
            case "renamed":
                return renamed(tools, {part[0].name: f"new{number}"})
            case "filtered":
                return filtered(tools, lambda tool, context: tool.name != part[0].name)
            case _:
                return tools

    def _body(self, item: Item) -> Any:
        async def run(arguments: dict[str, Any], context: Context) -> str:
            self._reached(item.name, arguments["path"], context)
            if item.asks:
                context.ask(Form("Sure?"), key="sure")
            return self._done(item, arguments["path"])

        return run

    def _library(self) -> LocalLibrary:
        library = LocalLibrary()

        def reached(kind: str, name: str, context: Context) -> str:
            self.ran.append((kind, name, "", context.principal.id))
            return Item(kind, name).secret

        for uri in RESOURCES:
            library.add_resource(uri, _resource(uri, reached), name=uri)

        async def of_template(x: Suggested, context: Context) -> str:
            return reached("resources", f"docs:t/{x}", context)

        library.add_resource("docs:t/{x}", of_template, name="t")
        for name in PROMPTS:
            library.add_prompt(_prompt(name, reached), name=name)
        return library

    def toml(self) -> str:
        lines = [["[[rules]]", *(f"{key} = {_toml(value)}" for key, value in rule.items())] for rule in self.rules]
        return "\n".join(line for rule in lines for line in rule) + "\n"

    def protocol(self) -> ProtocolServer:
        config, problems = examine("f.toml", self.toml())
        assert {problem.code for problem in problems} <= {"TT4303"}, problems  # a dead rule has no effect
        guard = config.over(TIRELESS, "s")
        facts = MemoryFacts()
        provider = pipeline.standard(self.provider(), guard, facts)
        self.guarded = provider
        return ProtocolServer(
            ServedProvider(Implementation("s", "1"), provider, Sealer([new_key()]), facts, page_size=3)
        )

    # -- the person

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The person's answer. An approval question, recognized by its text, gets ``says``; any other an empty form."""
        about = _ABOUT.search(request["params"]["message"])
        if about is None:
            return {"action": "accept", "content": {}}
        if self.says == "once":
            self.story.append(("yes", about["tool"], about["path"]))
        return {"action": "accept", "content": {"answer": self.says}}

    # -- the model

    def decides(self, item: Item, path: str, by: Principal) -> str:
        """The decision of the first rule that matches these arguments, or ``deny``."""
        for rule in self.rules:
            if _fits(rule, item, by) and (item.kind != "tools" or _takes(rule, path)):
                return rule["then"]
        return "deny"

    def allows(self, item: Item, path: str, by: Principal) -> bool:
        return self.decides(item, path, by) == "allow" and _holds(by, item.requires)

    def asks(self, item: Item, path: str, by: Principal) -> bool:
        """Whether a person decides. A call to a tool can be approved; resources and prompts are refused instead."""
        return item.kind == "tools" and self.decides(item, path, by) == "ask" and _holds(by, item.requires)

    def is_there(self, item: Item, by: Principal) -> bool:
        """Some arguments are allowed, or asked about, as far as the rules go."""
        paths = PATHS if item.kind == "tools" else ("",)
        return any(self.decides(item, path, by) in ("allow", "ask") for path in paths)

    def is_hidden(self, item: Item, by: Principal) -> bool:
        """Whether the item is hidden: no rule could allow it or ask for it, and no rule gives a reason to deny it."""
        could_get = False
        for rule in self.rules:
            if _fits(rule, item, by):
                if rule["then"] in ("allow", "ask") or "reason" in rule:
                    return False
                if "arguments" not in rule:
                    return True
            elif rule["then"] in ("allow", "ask") and by is not LOCAL and _fits({**rule, "scopes": []}, item, by):
                could_get = True
        return not could_get


def _outside(item: Item, part: tuple[Item, ...], view: str, number: int) -> str:
    if view == "prefixed":
        return f"v{number}_{item.name}"
    return f"new{number}" if view == "renamed" and item is part[0] else item.name


def _resource(uri: str, reached: Any) -> Any:
    async def read(context: Context) -> str:
        return reached("resources", uri, context)

    return read


def _prompt(name: str, reached: Any) -> Any:
    async def get(context: Context, a: Suggested = "x") -> str:
        return reached("prompts", name, context)

    return get


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return "[" + ", ".join(map(_toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _holds(by: Principal, scopes: Any) -> bool:
    return by is LOCAL or set(scopes) <= by.scopes


def _fits(rule: Mapping[str, Any], item: Item, by: Principal) -> bool:
    """Whether all conditions hold but that about arguments."""
    kinds = [kind for kind in ("tools", "resources", "prompts") if kind in rule]
    if kinds and not any(
        fnmatchcase(item.name, one) for kind in kinds if kind == item.kind for one in _list(rule[kind])
    ):
        return False
    if item.kind != "tools" and ("effect" in rule or "arguments" in rule):
        return False
    return (
        ("effect" not in rule or item.effect in _list(rule["effect"]))
        and ("server" not in rule or fnmatchcase("s", rule["server"]))
        and ("principal" not in rule or any(fnmatchcase(by.id, one) for one in _list(rule["principal"])))
        and _holds(by, _list(rule.get("scopes", [])))
    )


def _takes(rule: Mapping[str, Any], path: str) -> bool:
    return "arguments" not in rule or rule["arguments"]["properties"]["path"]["const"] == path


# -- strategies --------------------------------------------------------------------------------------------------------

effects = st.sampled_from(["read", "write", "open-world"])
some_scopes = st.sampled_from([frozenset[str](), frozenset[str](), frozenset({"s1"}), frozenset({"s2"})])


def _tools(names: tuple[str, ...]) -> st.SearchStrategy[tuple[Item, ...]]:
    each = [st.builds(Item, st.just("tools"), st.just(name), effects, some_scopes, st.booleans()) for name in names]
    return st.tuples(*each)


_patterns = {
    "tools": st.sampled_from(["*", "get", "v*", "*t", "new0", "v1_put", "rm", "s*", "new*", META_TOOL]),
    "resources": st.sampled_from(["*", "docs:*", "docs:a", "docs:t/*", "docs:t/x", "docs:*x"]),
    "prompts": st.sampled_from(["*", "pa", "p*"]),
}
_shared: dict[str, st.SearchStrategy[Any]] = {
    "principal": st.sampled_from(["local", "ann", "a*", ["abe", "local"]]),
    "server": st.sampled_from(["s", "*", "other"]),
    "scopes": st.sampled_from(["s1", ["s1", "s2"]]),
}
_of_tools: dict[str, st.SearchStrategy[Any]] = {
    "effect": st.sampled_from(["read", ["write", "open-world"]]),
    "arguments": st.sampled_from([{"properties": {"path": {"const": path}}} for path in PATHS]),
}


@st.composite
def _rules(draw: st.DrawFn) -> dict[str, Any]:
    then = draw(st.sampled_from(["allow", "allow", "allow", "ask", "ask", "deny", "hide"]))
    kinds = draw(st.sampled_from([[], ["tools"], ["tools"], ["resources"], ["prompts"], ["resources", "prompts"]]))
    rule: dict[str, Any] = {kind: draw(st.lists(_patterns[kind], min_size=1, max_size=2)) for kind in kinds}
    conditions = {**_shared, **(_of_tools if kinds in ([], ["tools"]) else {})}
    for key, values in conditions.items():
        if draw(st.integers(0, 3)) == 0 and (key, then) != ("arguments", "hide"):
            rule[key] = draw(values)
    if then in ("deny", "ask") and draw(st.booleans()):
        rule["reason"] = "Because."
    return {**rule, "then": then}


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, Principal]:
    tools = (draw(_tools(("get", "set"))), draw(_tools(("put", "rm"))))
    views = tuple(draw(st.sampled_from(["plain", "prefixed", "renamed", "filtered"])) for _ in tools)
    rest: list[dict[str, Any]] = draw(st.sampled_from([[], [], [{"then": "allow"}], [{"then": "ask"}]]))
    rules = [*draw(st.lists(_rules(), min_size=0 if rest else 1, max_size=5)), *rest]
    says = draw(st.sampled_from(["once", "deny"]))
    return World(tools, views, rules, says), draw(st.sampled_from([LOCAL, ANN, ABE]))


# -- everything that can be tried --------------------------------------------------------------------------------------


@dataclass
class Told:
    """The full text of each answer that a caller received, by the kind of request."""

    lists: dict[str, set[str]] = field(default_factory=dict)
    completed: set[str] = field(default_factory=set)
    answers: list[tuple[Item, str, str, str]] = field(default_factory=list)  # item, path, way, text

    def hear(self, item: Item, path: str, way: str, answer: Any) -> None:
        self.answers.append((item, path, way, json.dumps(answer)))


CAPABLE = {"elicitation": {}}
META = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: CAPABLE}


class _Line:
    """A connection to the server, with a person who answers questions."""

    def __init__(self, protocol: ProtocolServer, world: World, by: Principal) -> None:
        self._world = world
        self._written: list[bytes] = []
        self._session = protocol.connect(self._written.append, Carrier("memory"), by)
        self._number = 0

    async def request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        [answer] = await self.send([(method, params)])
        return answer

    async def send(
        self, requests: Sequence[tuple[str, Mapping[str, Any]]], *, batch: bool = False
    ) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        for method, params in requests:
            self._number += 1
            messages.append({"jsonrpc": "2.0", "id": f"c{self._number}", "method": method, "params": params})
        self._feed(messages if batch else messages[0])
        answers: dict[str, dict[str, Any]] = {}
        for _ in range(50):
            await settle(10)
            for message in self._heard():
                if "method" in message and "id" in message:
                    self._feed({"jsonrpc": "2.0", "id": message["id"], "result": self._world.answer(message)})
                elif "id" in message:
                    answers[message["id"]] = message
            if len(answers) == len(messages):
                return [answers[message["id"]] for message in messages]
        raise AssertionError(f"no answer to {messages}: {answers}")

    def _heard(self) -> Iterator[dict[str, Any]]:
        frames = [json.loads(frame) for frame in self._written]
        self._written.clear()
        for frame in frames:
            yield from frame if isinstance(frame, list) else [frame]

    def notify(self, method: str) -> None:
        self._feed({"jsonrpc": "2.0", "method": method})

    def _feed(self, message: Any) -> None:
        self._session.feed(json.dumps(message).encode())

    async def close(self) -> None:
        await self._session.close()


def _use(item: Item, path: str) -> tuple[str, dict[str, Any]]:
    match item.kind:
        case "tools":
            # The default is one of the ways to say x.
            return "tools/call", {"name": item.name, "arguments": {} if path == "" else {"path": path}}
        case "resources":
            return "resources/read", {"uri": item.name}
        case _:
            return "prompts/get", {"name": item.name}


def _through(item: Item, path: str) -> dict[str, Any]:
    return {"name": META_TOOL, "arguments": {"name": item.name, **({"path": path} if path else {})}}


def _ways(item: Item) -> tuple[str, ...]:
    return ("", *PATHS) if item.kind == "tools" else ("",)


_LISTS = {"tools/list": ("tools", "name"), "resources/list": ("resources", "uri"), "prompts/list": ("prompts", "name")}


class Attempts:
    """Everything that a caller can try on a world."""

    def __init__(self, world: World, by: Principal) -> None:
        self.world, self.by, self.told = world, by, Told()
        self.items = [*world.items(), Item("tools", "none"), Item("resources", "docs:none"), Item("prompts", "none")]
        self._protocol = world.protocol()

    async def all(self) -> Told:
        await self.modern()
        await self.legacy("2025-11-25", batch=False)
        await self.legacy("2025-03-26", batch=True)
        await self.over_http()
        return self.told

    async def modern(self) -> None:
        line = _Line(self._protocol, self.world, self.by)
        await self._list(line, "modern", {"_meta": META})
        for item in self.items:
            for path in _ways(item):
                method, params = _use(item, path)
                answer = await line.request(method, {**params, "_meta": META})
                self.told.hear(item, path, "modern", answer)
                await self._again(line, item, path, answer)
                if item.kind == "tools" and item.name != META_TOOL:
                    through = {**_through(item, path), "_meta": META}
                    last = await self._again(line, item, path, await line.request(method, through), through)
                    self.told.hear(item, path, "meta", last)
        await self._complete(line, {"_meta": META})
        await line.close()

    async def _again(
        self, line: _Line, item: Item, path: str, answer: dict[str, Any], same: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Rounds to their end. Each state is tried with other arguments, and once more when it has been used: that is
        no way around."""
        method, own = _use(item, path)
        while state := answer.get("result", {}).get("requestState"):
            said = {key: self.world.answer(asked) for key, asked in answer["result"]["inputRequests"].items()}
            more = {"requestState": state, "inputResponses": said, "_meta": META}
            for other in _ways(item):
                if other != path and same is None:
                    params = {**_use(item, other)[1], **more}
                    self.told.hear(item, other, "retry", await line.request(method, params))
            params = {**(same or own), **more}
            answer = await line.request(method, params)
            if same is not None and "requestState" in answer.get("result", {}):
                continue  # again would use up the yes to the tool that calls: its own tool is being asked about
            again = await line.request(method, params)
            if same is None:
                self.told.hear(item, path, "retry", answer)
                self.told.hear(item, path, "retry", again)
        return answer

    async def legacy(self, revision: str, *, batch: bool) -> None:
        line = _Line(self._protocol, self.world, self.by)
        await line.request("initialize", _hello(revision, CAPABLE))
        line.notify("notifications/initialized")
        await self._list(line, revision, {})
        tried = [(item, path) for item in self.items for path in _ways(item)]
        requests = [_use(item, path) for item, path in tried]
        if batch:
            answers = await line.send(requests, batch=True)
        else:
            answers = [await line.request(*request) for request in requests]
        for (item, path), answer in zip(tried, answers, strict=True):
            self.told.hear(item, path, revision, answer)
        for item, path in tried:
            if item.kind == "tools" and item.name != META_TOOL and not batch:
                self.told.hear(item, path, "legacy meta", await line.request("tools/call", _through(item, path)))
        await self._complete(line, {})
        await line.close()

    async def over_http(self) -> None:
        """A stream that is left, and resumed by its session."""
        app = HttpApp(self._protocol.http(lambda carrier: self.by), AllowedHosts())
        async with app.serving():
            await self._over(app)

    async def _over(self, app: HttpApp) -> None:
        hello = await _post(app, {"id": 0, "method": "initialize", "params": _hello("2025-11-25", CAPABLE)})
        session = [(b"mcp-session-id", hello.headers["mcp-session-id"].encode())]
        await _post(app, {"method": "notifications/initialized"}, session)
        for item in self.items:
            if item.kind == "tools":
                _, params = _use(item, "")
                call = {"id": 1, "method": "tools/call", "params": {**params, "_meta": {"progressToken": 1}}}
                answer = await self._posted(app, call, session)
                self.told.hear(item, "", "http", answer.body.decode())
                for event in [line[4:] for line in answer.body.decode().splitlines() if line.startswith("id: ")]:
                    headers = [*session, (b"last-event-id", event.encode()), (b"accept", b"text/event-stream")]
                    gone = asyncio.Event()
                    gone.set()
                    resumed = await ask(app, b"", headers, method="GET", gone=gone)
                    self.told.hear(item, "", "resumed", [text for _, text in events_of(resumed.body.decode())])

    async def _posted(self, app: HttpApp, call: Mapping[str, Any], session: list[tuple[bytes, bytes]]) -> Answer:
        """A call whose questions, in its stream, are answered by posts of their own."""
        answer, seen = Answer(), 0
        posting = asyncio.create_task(_post(app, call, session, answer))
        while not posting.done():
            await settle(10)
            asked = [json.loads(frame) for frame in (answer.frames if answer.status else ())]
            for message in asked[seen:]:
                if "method" in message and "id" in message:
                    await _post(app, {"id": message["id"], "result": self.world.answer(message)}, session)
            seen = len(asked)
        return await posting

    async def _list(self, line: _Line, way: str, more: Mapping[str, Any]) -> None:
        for method, (member, key) in _LISTS.items():
            seen: set[str] = set()
            cursor: dict[str, Any] = {}
            while True:
                result = (await line.request(method, {**more, **cursor}))["result"]
                seen |= {item[key] for item in result[member]}
                if "nextCursor" not in result:
                    break
                cursor = {"cursor": result["nextCursor"]}
            self.told.lists[f"{way} {member}"] = seen

    async def _complete(self, line: _Line, more: Mapping[str, Any]) -> None:
        for name in (*PROMPTS, "none"):
            params = {"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "a", "value": ""}, **more}
            answer = await line.request("completion/complete", params)
            self.told.hear(Item("prompts", name), "", "complete", answer)
        params = {"ref": {"type": "ref/resource", "uri": "docs:t/{x}"}, "argument": {"name": "x", "value": ""}, **more}
        answer = await line.request("completion/complete", params)
        self.told.completed |= set(answer.get("result", {}).get("completion", {}).get("values", []))


def _hello(revision: str, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    return {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}}


async def _post(
    app: HttpApp,
    message: Mapping[str, Any],
    headers: list[tuple[bytes, bytes]] | None = None,
    answer: Answer | None = None,
) -> Answer:
    accept = (b"accept", b"application/json, text/event-stream")
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return await ask(app, body, [accept, *(headers or [])], answer=answer)
