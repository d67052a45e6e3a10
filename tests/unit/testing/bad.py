"""A small server written on bare messages, and one like it for each thing that a server can do wrong.

``python bad.py NAME`` serves one over stdio.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from tooltrue.protocol import versions
from tooltrue.protocol.schema import compile_schema

Write = Callable[[bytes], None]
LOOK: dict[str, Any] = {
    "name": "look",
    "description": "How long a text is.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 20}, "times": {"type": "integer", "minimum": 1}},
        "required": ["text"],
        "additionalProperties": False,
        "examples": [{"text": "tea"}],
    },
    "outputSchema": {"type": "object", "properties": {"length": {"type": "integer"}}, "required": ["length"]},
    "annotations": {"readOnlyHint": True},
}
KEEP: dict[str, Any] = {
    "name": "keep",
    "description": "Keep a number.",
    "inputSchema": {
        "type": "object",
        "properties": {"number": {"type": "integer"}},
        "required": ["number"],
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True},
}
TOLD: dict[str, Any] = {
    "name": "told",
    "description": "What has been kept.",
    "inputSchema": {"type": "object", "additionalProperties": False},
    "annotations": {"readOnlyHint": True},
}


SCHEMAS = {tool["name"]: compile_schema(tool["inputSchema"]) for tool in (KEEP, LOOK, TOLD)}


class Refusal(Exception):
    """An error of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def text(words: str, *, is_error: bool = False, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "isError": is_error, **more}


def look_failed() -> dict[str, Any]:
    return text("look failed: internal error 1234 [TT2004]", is_error=True)


class Honest:
    """Does everything right. Each fault overrides one method."""

    supported = versions.ALL

    def __init__(self) -> None:
        self.kept: list[int] = []

    def connect(self, write: Write) -> End:
        return End(self, write)

    def capabilities(self) -> dict[str, Any]:
        return {"tools": {}}

    def tools(self) -> list[dict[str, Any]]:
        return [KEEP, LOOK, TOLD]

    def listed(self, params: dict[str, Any], end: End) -> dict[str, Any]:
        return {"tools": self.tools(), "ttlMs": 0, "cacheScope": "public"}

    def call(self, params: dict[str, Any], end: End) -> dict[str, Any] | None:
        """The result; ``None`` for no response."""
        name, arguments = params.get("name", ""), params.get("arguments", {})
        if name not in SCHEMAS:
            return self.unknown()
        if not isinstance(arguments, dict):
            return self.no_object()
        if not SCHEMAS[name].accepts(arguments):
            return self.invalid(name, arguments)
        return getattr(self, name)(**arguments)

    def unknown(self) -> dict[str, Any]:
        raise Refusal(-32602, "no such tool")

    def no_object(self) -> dict[str, Any]:
        raise Refusal(-32602, "arguments are an object")

    def invalid(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return text("the arguments do not fit", is_error=True)

    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        return self.length(len(text))

    def length(self, length: Any) -> dict[str, Any]:
        return text(json.dumps({"length": length}), structuredContent={"length": length})

    def keep(self, number: int) -> dict[str, Any]:
        if number not in self.kept:
            self.kept.append(number)
        return text("kept")

    def told(self) -> dict[str, Any]:
        return text(str(sum(self.kept)))

    def unreadable(self, end: End, code: int) -> None:
        end.say({"error": {"code": code, "message": "not a message"}})

    def too_deep(self, end: End) -> None:
        self.unreadable(end, -32700)

    def cancelled(self, end: End, id: Any) -> None:
        if id in end.pending:
            end.pending.pop(id).cancel()

    def at_end(self) -> None:
        """The input has ended."""


class SpeaksOldOnly(Honest):
    """Does everything right, in one era."""

    supported = versions.LEGACY


class SpeaksNewOnly(Honest):
    """The same in the other."""

    supported = versions.MODERN


class End:
    """One connection."""

    def __init__(self, server: Honest, write: Write) -> None:
        self.server = server
        self.write = write
        self.pending: dict[Any, asyncio.Handle] = {}
        self.is_deaf = False
        self.revision = versions.LATEST

    def say(self, message: dict[str, Any]) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def close(self) -> None: ...

    def feed(self, frame: bytes) -> None:
        if self.is_deaf:
            return
        if frame.count(b"[") > 50:
            self.server.too_deep(self)
            return
        try:
            message = json.loads(frame)
        except ValueError:
            self.server.unreadable(self, -32700)
            return
        is_message = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
        if not is_message or not isinstance(message.get("method"), str):
            self.server.unreadable(self, -32600)
        elif "id" in message:
            self.request(message["id"], message["method"], message.get("params", {}))
        elif message["method"] == "notifications/cancelled":
            self.server.cancelled(self, message["params"]["requestId"])

    def request(self, id: Any, method: str, params: dict[str, Any]) -> None:
        if method == "tools/call":
            self.later(id, params)
            return
        server = self.server
        handlers: dict[str, Callable[[], dict[str, Any]]] = {
            "initialize": lambda: self.handshake(params["protocolVersion"]),
            "server/discover": lambda: {
                "supportedVersions": list(server.supported),
                "capabilities": server.capabilities(),
            },
            "tools/list": lambda: server.listed(params, self),
            "ping": dict,
        }
        spoken = {"initialize": versions.LEGACY, "server/discover": versions.MODERN}.get(method, server.supported)
        if method in handlers and {*spoken} & {*server.supported}:
            self.say({"id": id, "result": handlers[method]()})
        else:
            self.say({"id": id, "error": {"code": -32601, "message": "no such method"}})

    def handshake(self, revision: str) -> dict[str, Any]:
        self.revision = revision
        info = {"name": "bad", "version": "1"}
        return {"protocolVersion": revision, "capabilities": self.server.capabilities(), "serverInfo": info}

    def later(self, id: Any, params: dict[str, Any]) -> None:
        """Answers two loop iterations later, after the messages sent directly behind the call."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.answer(id, params)
            return

        def wait() -> None:
            self.pending[id] = loop.call_soon(self.answer, id, params)

        self.pending[id] = loop.call_soon(wait)

    def answer(self, id: Any, params: dict[str, Any]) -> None:
        self.pending.pop(id, None)
        try:
            result = self.server.call(params, self)
        except Refusal as refusal:
            self.say({"id": id, "error": {"code": refusal.code, "message": str(refusal)}})
            return
        if result is not None:
            self.say({"id": id, "result": {"resultType": "complete", **result}})


FAULTS: dict[str, tuple[type[Honest], frozenset[str]]] = {}


def fault(*codes: str) -> Callable[[type[Honest]], type[Honest]]:
    """Registers a server with the exact fault codes that the kit must report for it."""

    def register(server: type[Honest]) -> type[Honest]:
        FAULTS[server.__name__] = (server, frozenset(codes))
        return server

    return register


# --- definitions and list --------------------------------------------------------------------------------------------


class Defined(Honest):
    """Publishes ``look`` with other members."""

    look_has: Mapping[str, Any] = MappingProxyType({})

    def tools(self) -> list[dict[str, Any]]:
        return [KEEP, {**LOOK, **self.look_has}, TOLD]


@fault("TT8101")
class HasNoProperName(Honest):
    def tools(self) -> list[dict[str, Any]]:
        return [*super().tools(), {**TOLD, "name": "what was told", "annotations": {}}]


@fault("TT8102")
class SaysNothing(Defined):
    look_has = MappingProxyType({"description": " "})


@fault("TT8103")
class HasNoSchema(Defined):
    look_has = MappingProxyType({"inputSchema": {"type": "object", "properties": {"text": {"type": "strnig"}}}})


@fault("TT8103")
class HasAnotherRoot(Defined):
    look_has = MappingProxyType({"inputSchema": {"properties": {"text": {"type": "string"}}}, "annotations": {}})


@fault("TT8104")
class HasTwins(Honest):
    def tools(self) -> list[dict[str, Any]]:
        return [*super().tools(), TOLD]


@fault("TT8105")
class DefinesHalf(Honest):
    def tools(self) -> list[dict[str, Any]]:
        return [*super().tools(), {"name": "half"}]


@fault("TT8111")
class NeverEndsItsPages(Honest):
    def listed(self, params: dict[str, Any], end: End) -> dict[str, Any]:
        return {**super().listed(params, end), "nextCursor": "again"}


@fault("TT8112")
class TurnsItsList(Honest):
    turn = 0

    def listed(self, params: dict[str, Any], end: End) -> dict[str, Any]:
        self.turn += 1
        return {"tools": self.tools()[:: 1 if self.turn % 2 else -1]}


@fault("TT8122")
class ShowsWhatDoesNotFit(Defined):
    look_has = MappingProxyType({"inputSchema": {**LOOK["inputSchema"], "examples": [{"text": 7}]}})


# --- calls and results -----------------------------------------------------------------------------------------------


@fault("TT8131")
class Hangs(Honest):
    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        return None


@fault("TT8132")
class BreaksTheProtocol(Honest):
    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        raise Refusal(-32603, "oops")


@fault("TT8132", "TT8340")
class RefusesWhatItLists(Honest):
    def call(self, params: dict[str, Any], end: End) -> dict[str, Any] | None:
        if params.get("name") not in ("keep", "told"):
            raise Refusal(-32602, f"no tool is called {params.get('name')}")
        return super().call(params, end)


@fault("TT8132")
class AnswersNonsense(Honest):
    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        return {"content": [{"type": "smell"}]}


@fault("TT8134")
class Fails(Honest):
    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        return look_failed()


@fault("TT8141")
class ForgetsItsStructure(Honest):
    def length(self, length: Any) -> dict[str, Any]:
        return text(str(length))


@fault("TT8142")
class BreaksItsOutputSchema(Honest):
    def length(self, length: Any) -> dict[str, Any]:
        return super().length(str(length))


@fault("TT8151")
class ContradictsItself(Honest):
    def length(self, length: Any) -> dict[str, Any]:
        return {**super().length(length), "structuredContent": {"length": length + 1}}


@fault("TT8152")
class HasNoWords(Honest):
    def length(self, length: Any) -> dict[str, Any]:
        return {**super().length(length), "content": []}


@fault("TT8161")
class CountsItsCalls(Honest):
    calls = 0

    def keep(self, number: int) -> dict[str, Any]:
        self.calls += 1
        return text(f"call {self.calls}")


@fault("TT8162")
class AddsEachTime(Honest):
    def keep(self, number: int) -> dict[str, Any]:
        self.kept.append(number or 1)
        return text("kept")


# --- read tools ------------------------------------------------------------------------------------------------------


@fault("TT8134")
class FailsOfNothing(Honest):
    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        return self.length(len(text)) if text else bad_luck()


def bad_luck() -> dict[str, Any]:
    return text("look failed: internal error 1234 [TT2004]", is_error=True)


@fault("TT8163")
class TellsAnotherEachTime(Honest):
    calls = 0

    def told(self) -> dict[str, Any]:
        self.calls += 1
        return text(f"call {self.calls}")


@fault("TT8164")
class KeepsWhatItLooksAt(Honest):
    looks = 0

    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        self.looks += 1
        return super().look(text, times)

    def told(self) -> dict[str, Any]:
        return text(str(self.looks))


LISTS: dict[str, Any] = {
    "name": "lists",
    "description": "List words.",
    "inputSchema": {
        "type": "object",
        "properties": {"max_results": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20}},
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True},
}
SCHEMAS["lists"] = compile_schema(LISTS["inputSchema"])


class ListsAsAsked(Honest):
    """Does everything right, with a limit."""

    def tools(self) -> list[dict[str, Any]]:
        return [KEEP, LISTS, LOOK, TOLD]

    def lists(self, max_results: int = 20) -> dict[str, Any]:
        return text(json.dumps([f"word {number}" for number in range(min(50, max_results))]))


@fault("TT8165")
class IgnoresItsLimit(ListsAsAsked):
    def lists(self, max_results: int = 20) -> dict[str, Any]:
        return super().lists(50)


@fault("TT8165")
class IgnoresItsLimitInLines(ListsAsAsked):
    def lists(self, max_results: int = 20) -> dict[str, Any]:
        return text("Words:\n" + "\n".join(f"word {number}" for number in range(50)))


# --- eras ------------------------------------------------------------------------------------------------------------


@fault("TT8201")
class CannotSpeakWhatItOffers(Honest):
    def connect(self, write: Write) -> End:
        server = self

        class Modern(End):
            def handshake(self, revision: str) -> dict[str, Any]:
                if revision == versions.LEGACY[-1]:
                    return super().handshake(versions.NEWEST_LEGACY)
                return super().handshake(revision)

        return Modern(server, write)


@fault("TT8202")
class HidesFromTheOld(Honest):
    def listed(self, params: dict[str, Any], end: End) -> dict[str, Any]:
        tools = self.tools()
        return {"tools": tools[1:] if end.revision == versions.LEGACY[-1] else tools}


@fault("TT8203")
class AnswersTheOldOtherwise(Honest):
    def call(self, params: dict[str, Any], end: End) -> dict[str, Any] | None:
        result = super().call(params, end)
        return text("old") if end.revision in versions.LEGACY and params["name"] == "told" else result


@fault("TT8206")
class DeniesItsTools(Honest):
    def capabilities(self) -> dict[str, Any]:
        return {}


# --- hostile input ---------------------------------------------------------------------------------------------------


@fault("TT8301", "TT8303")
class AcceptsAnything(Honest):
    def invalid(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.keep(len(self.kept) + 1) if name == "keep" else self.length(1)


@fault("TT8303")
class RefusesTooLate(Honest):
    def invalid(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.kept.append(len(self.kept) + 1)
        return super().invalid(name, arguments)


@fault("TT8304")
class TakesAnythingForArguments(Honest):
    def no_object(self) -> dict[str, Any]:
        return self.length(0)


@fault("TT8305")
class KnowsEveryTool(Honest):
    def unknown(self) -> dict[str, Any]:
        return text("fine")


class Says(Honest):
    """Refuses with these words."""

    words = ""

    def invalid(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return text(self.words.format(**os.environ), is_error=True)


@fault("TT8306")
class LeaksATrace(Says):
    words = 'Traceback (most recent call last):\n  File "server.py", line 7, in look'


@fault("TT8306")
class LeaksAJavaScriptTrace(Says):
    words = "oops\n    at look (index.js:10:5)"


@fault("TT8306")
class LeaksAClass(Says):
    words = "ValueError: invalid literal"


@fault("TT8306")
class LeaksAPath(Says):
    words = "cannot open /srv/app/settings.toml"


@fault("TT8306")
class LeaksTheEnvironment(Says):
    words = "cannot log in with {KIT_TEST_SECRET}"


@fault("TT8307")
class ReadsAnyFile(Honest):
    def invalid(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        words = "root:x:0:0:root" if "passwd" in str(arguments) else "no"
        return text(words, is_error=True)


@fault("TT8308")
class RepeatsWhatItIsTold(Honest):
    def invalid(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return text(str(arguments.get("text"))[:1_000], is_error=True)


@fault("TT8310")
class RepeatsAllOfIt(Honest):
    def invalid(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return text(str(arguments.get("text", "")).encode("ascii", "ignore").hex(), is_error=True)


@fault("TT8311")
class DiesOfDepth(Honest):
    def too_deep(self, end: End) -> None:
        end.is_deaf = True


@fault("TT8312")
class IsSilentAboutDepth(Honest):
    def too_deep(self, end: End) -> None: ...


# --- load, patience, rubbish -----------------------------------------------------------------------------------------


@fault("TT8402")
class LosesCallsUnderLoad(Honest):
    def call(self, params: dict[str, Any], end: End) -> dict[str, Any] | None:
        return super().call(params, end) if len(end.pending) < 2 else None


@fault("TT8403")
class MixesAnswersUp(Honest):
    def call(self, params: dict[str, Any], end: End) -> dict[str, Any] | None:
        result = super().call(params, end)
        return result if len(end.pending) < 2 else text("for somebody else")


@fault("TT8501", "TT8503")
class IsOffendedByCancellation(Honest):
    def cancelled(self, end: End, id: Any) -> None:
        end.is_deaf = True


@fault("TT8502")
class IgnoresCancellation(Honest):
    """Answers when everybody has heard that the call is cancelled."""

    def cancelled(self, end: End, id: Any) -> None:
        if id in end.pending:
            end.pending.pop(id).cancel()
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, end.say, {"id": id, "result": text("all the same")})


@fault("TT8504")
class IsSilentAboutRubbish(Honest):
    def unreadable(self, end: End, code: int) -> None: ...

    def too_deep(self, end: End) -> None:
        super().unreadable(end, -32700)


@fault()
class TellsOfRubbish(Honest):
    """A message sent beside the answer is no fault."""

    def unreadable(self, end: End, code: int) -> None:
        end.say({"method": "notifications/message", "params": {"level": "error", "data": "rubbish"}})
        super().unreadable(end, code)


@fault("TT8504", "TT8505")
class DiesOfRubbish(Honest):
    def unreadable(self, end: End, code: int) -> None:
        end.is_deaf = True

    def too_deep(self, end: End) -> None:
        super().unreadable(end, -32700)


@fault("TT8508")
class RemembersEveryCall(Honest):
    memory: list[Any]

    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        self.memory = [*getattr(self, "memory", []), {"text": text, "at": object()}]
        return super().look(text, times)


@fault("TT8508", "TT8509")
class StartsATaskEachTime(Honest):
    tasks: ClassVar[set[asyncio.Task[Any]]] = set()

    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        self.tasks.add(asyncio.get_running_loop().create_task(asyncio.Event().wait()))
        return super().look(text, times)


# --- in a process of its own -----------------------------------------------------------------------------------------


class Dies(Honest):
    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        os._exit(3)


class NeverEnds(Honest):
    def at_end(self) -> None:
        signal.pause()


class LeavesAChild(Honest):
    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return super().look(text, times)


class OpensFiles(Honest):
    def look(self, text: str, times: int = 1) -> dict[str, Any] | None:
        os.dup(2)
        return super().look(text, times)


def serve(server: Honest) -> None:
    def write(frame: bytes) -> None:
        os.write(1, frame + b"\n")

    end = server.connect(write)
    for line in sys.stdin.buffer:
        end.feed(line)
    server.at_end()


if __name__ == "__main__":
    serve(globals()[sys.argv[1]]())
