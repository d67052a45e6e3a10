"""The servers of the transcripts, by name. ``python servers.py NAME`` serves one over stdio."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from tooltrue import (
    Annotations,
    AudioContent,
    BlobResource,
    Completes,
    Confirm,
    Context,
    EmbeddedResource,
    Form,
    ImageContent,
    Link,
    PromptMessage,
    PromptResult,
    ResourceLink,
    Roots,
    Sampling,
    Server,
    Tasks,
    TextContent,
    TextResource,
    ToolError,
)
from tooltrue.policy.config import examine
from tooltrue.policy.rules.rule import ALLOW, Deny, Subject, Verdict
from tooltrue.protocol.types import ContentBlock, Icon, InputRequiredResult, ReadResourceResult
from tooltrue.tools.vocabulary import Entry, RequestContext, Tool


def shop() -> Server:
    """Tools with calls of every outcome, and one tool that is hidden from every caller."""
    server = Server("shop", version="1.2.3", instructions="Sells tea.", decide=_but_hidden)
    server.tool(effect="read", title="Greeting")(greet)
    server.tool(effect="read")(add)
    server.tool(effect="write", idempotent=True)(order)
    server.tool()(fail)
    server.tool()(crash)
    server.tool()(secret)
    server.tool()(nothing)
    server.tool()(broken)
    server.add_raw_tool("measure", MEASURE, measure, output_schema=MEASURED, description="How long a text is.")
    return server


def _but_hidden(tool: Subject, context: RequestContext, arguments: object) -> Verdict:
    return Deny("not for you", hidden=True) if tool.name == "secret" else ALLOW


async def greet(name: Annotated[str, Field(max_length=20)] = "world") -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def order(tea: Literal["green", "black"], grams: Annotated[int, Field(ge=1, le=1000)] = 100) -> dict[str, int]:
    """Order tea."""
    return {tea: grams}


async def fail() -> str:
    """Always out of stock."""
    raise ToolError("Out of tea. Ask again tomorrow.")


async def crash() -> str:
    """A bug."""
    raise RuntimeError("the password is hunter2")


async def secret() -> str:
    """Hidden from everyone."""
    raise AssertionError("a hidden tool was run")


async def nothing() -> None:
    """Answer with nothing."""


async def broken() -> Annotated[int, Field(le=1)]:
    """Break its own output schema."""
    return 2


MEASURE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {"text": {"type": "string"}, "unit": {"enum": ["characters", "words"], "default": "characters"}},
    "required": ["text"],
    "additionalProperties": False,
}
MEASURED = {"type": "object", "properties": {"length": {"type": "integer"}}, "required": ["length"]}


def measure(arguments: dict[str, Any]) -> dict[str, int]:
    text, unit = arguments["text"], arguments["unit"]
    return {"length": len(text) if unit == "characters" else len(text.split())}


def letters() -> Server:
    """Five tools on pages of two, added out of order."""
    server = Server("letters", version="1", page_size=2)
    for name in "dbeac":
        server.add_tool(_letter, name=name, description=name.upper())
    return server


async def _letter() -> str:
    return ""


def empty() -> Server:
    """A server without a tool."""
    return Server("empty", version="1")


def slow() -> Server:
    """Tools with long calls, and one tool that reports whether a call was cancelled."""
    server = Server("slow", version="1")
    cancelled = asyncio.Event()

    @server.tool
    async def wait(context: Context) -> str:
        """Tell that it runs, and wait for ever."""
        context.progress(1)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    @server.tool
    async def cancelled_yet() -> str:
        """Wait until the other one has been cancelled."""
        await cancelled.wait()
        return "cancelled"

    @server.tool
    async def count(context: Context) -> str:
        """Tell of progress, some of which goes backwards."""
        for progress, total in ((0.5, 4), (2, 4), (1, 4), (2, 4), (3, None)):
            context.progress(progress, total, f"at {progress:g}")
        return "counted"

    @server.tool(blocking=True)
    def count_in_a_thread(context: Context) -> str:
        """Tell of progress from a thread."""
        context.progress(1)
        context.progress(2)
        return "counted"

    @server.tool
    async def speak(context: Context) -> str:
        """Log at two levels."""
        context.log("debug", "a detail")
        context.log("warning", {"tea": "low"}, "shop")
        return "said"

    @server.tool(seconds=0.01)
    async def dawdle() -> str:
        """Take longer than it may."""
        await asyncio.Event().wait()
        raise AssertionError

    return server


def closed() -> Server:
    """A server that refuses every caller over HTTP."""
    server = Server("closed", version="1", authenticate=lambda carrier: None)
    server.add_tool(greet)
    return server


def changing() -> Server:
    """Tools that come and go."""
    server = Server("changing", version="1")

    @server.tool
    async def grow(name: str) -> str:
        """Add a tool."""
        server.add_tool(_letter, name=name)
        return "added"

    @server.tool
    async def shrink(name: str) -> str:
        """Take a tool away."""
        server.remove_tool(name)
        return "removed"

    return server


ICON = Icon("https://example.com/i.png", mimeType="image/png", sizes=["48x48"])
META = {"com.example/x": 1}


def gallery() -> Server:
    """Everything that a newer revision can say and an older one cannot."""
    server = Server("gallery", version="1", title="The Gallery")
    server.add_tool(
        show, title="Show it all", effect="destructive", idempotent=False, confirm=False, icons=[ICON], meta=META
    )
    server.add_tool(numbers, effect="read")
    server.add_tool(point, effect="read")
    return server


async def show() -> list[ContentBlock]:
    """Every kind of content."""
    return [
        TextContent(
            text="text", annotations=Annotations(audience=["user"], lastModified="2026-01-01T00:00:00Z"), meta=META
        ),
        ImageContent(data="AAAA", mimeType="image/png"),
        AudioContent(data="AAAA", mimeType="audio/wav"),
        ResourceLink(
            uri="https://example.com/a.txt", name="a.txt", title="A file", mimeType="text/plain", size=3, icons=[ICON]
        ),
        EmbeddedResource(resource=TextResource(uri="file:///b.txt", text="b", meta=META)),
    ]


async def numbers() -> list[int]:
    """Structured content that is no object."""
    return [1, 2]


async def point() -> dict[str, int]:
    """Structured content that is an object."""
    return {"x": 1}


def library() -> Server:
    """Resources and prompts, some of them hidden from every caller."""
    server = Server("library", version="1", decide=_but_secrets)
    server.add_resource("test://text", lambda: "plain", name="text", title="A text", size=5)
    server.add_resource("test://binary", lambda: b"\x00\xff", name="binary", mime_type="image/png")
    server.add_resource("test://json", lambda: {"tea": ["green", None]}, name="json")
    server.add_resource("test://parts", _parts, name="parts", annotations=Annotations(priority=0.5))
    server.add_resource("test://empty", lambda: None, name="empty")
    server.add_resource("test://crash", crash)
    server.add_resource("test://refuses", fail)
    server.add_resource("test://secret", secret)
    server.add_resource("test://items/{number}", item, description="An item.")
    server.add_resource("test://files/{+path}", file)
    server.add_resource("test://secrets/{name}", secret_of, name="secrets")
    server.prompt(title="Recommend a tea")(recommend)
    server.prompt(talk)
    server.prompt(crash)
    server.prompt(secret)
    return server


def _but_secrets(entry: Tool | Entry, context: RequestContext, arguments: object) -> Verdict:
    return Deny("not for you", hidden=True) if "secret" in entry.name else ALLOW


def _parts() -> list[TextResource | BlobResource]:
    return [
        TextResource(uri="test://parts/1", text="one", mimeType="text/plain"),
        BlobResource(uri="test://parts/2", blob="AAA="),
    ]


def _teas(prefix: str) -> list[str]:
    return [f"{prefix}{number:03}" for number in range(150)]


async def item(number: Annotated[int, Completes(lambda prefix: [prefix + "0", prefix + "1"])]) -> dict[str, int]:
    return {"number": number}


async def file(path: str, context: Context) -> str:
    return f"{path} for {context.principal.id.partition(':')[0]}"


async def secret_of(name: Annotated[str, Completes(_teas)]) -> str:
    raise AssertionError("a hidden template was read")


async def recommend(
    tea: Annotated[str, "Which one.", Completes(_teas)],
    mood: Literal["calm", "wide awake", "careful"] = "calm",
    cups: int = 1,
    *,
    iced: bool = False,
) -> str:
    """Have a tea recommended."""
    return f"Recommend {cups} x {tea}, iced: {iced}, to somebody {mood}."


async def talk() -> list[PromptMessage | TextContent | str]:
    """A conversation that has begun."""
    return ["Hello!", PromptMessage("assistant", "What can I do?"), TextContent(text="Tea.")]


def shelves() -> Server:
    """Resources and prompts that come and go, on pages of two."""
    server = Server("shelves", version="1", page_size=2)
    for name in "bca":
        server.add_resource(f"test://{name}", lambda: "", name=name, blocking=False)
        server.add_resource(f"test://{name}/{{x}}", _nothing_of, name=name)
        server.add_prompt(_letter, name=name)

    @server.tool
    async def add(name: str) -> str:
        """Add a resource and a prompt."""
        server.add_resource(f"test://{name}", lambda: "", name=name, blocking=False)
        server.add_prompt(_letter, name=name)
        return "added"

    @server.tool
    async def update(uri: str) -> str:
        """Tell of a change of a resource."""
        server.resource_updated(uri)
        return "updated"

    return server


async def _nothing_of(x: str) -> None:
    return None


def museum() -> Server:
    """Every member that resources, templates and prompts can have."""
    server = Server("museum", version="1")
    common: dict[str, Any] = {"title": "Everything", "description": "All of it.", "icons": [ICON], "meta": META}
    marked: dict[str, Any] = {"annotations": Annotations(["user"], 1.0, "2026-01-01T00:00:00Z"), "mime_type": "text/x"}
    server.add_resource("test://all", _marked, name="all", size=1, **common, **marked)
    server.add_resource("test://all/{x}", _nothing_of, name="each", **common, **marked)
    server.add_prompt(said, name="all", **common)
    return server


async def _marked() -> ReadResourceResult:
    return ReadResourceResult([TextResource(uri="test://all", text="a", meta=META)], META)


async def said(word: Annotated[str, Field(title="A word")] = "x") -> PromptResult:
    return PromptResult([PromptMessage("assistant", block) for block in await show()], "Everything.", META)


class Trip(TypedDict):
    city: str
    days: Annotated[int, Field(ge=1, le=30)]
    berth: NotRequired[Literal["upper", "lower"]]


def asking() -> Server:
    """Tools that ask. ``count`` tells how often each part of them has run."""
    server = Server("asking", version="1")
    counts = {"begun": 0, "reserved": 0, "booked": 0}

    def reserve() -> str:
        counts["reserved"] += 1
        return f"reservation {counts['reserved']}"

    @server.tool
    async def book(context: Context) -> str:
        """Book a trip; asks where to, and then for consent."""
        counts["begun"] += 1
        reservation = context.once("reservation", reserve)
        where = context.ask(Form("Where to?", Trip), key="where")
        if not where:
            return f"no trip: {where.action}"
        if not context.ask(Form(f"Book {where.value['city']} for {where.value['days']} days?"), key="sure"):
            return "no booking"
        counts["booked"] += 1
        return f"{reservation}: {where.value['city']}"

    @server.tool
    def book_in_a_thread(context: Context) -> str:
        """The same question, from a plain function."""
        return context.ask(Form("Where to?", Trip), key="where").action

    @server.tool
    async def count() -> str:
        """How often."""
        return str(counts)

    @server.tool
    async def pay(context: Context) -> str:
        """Ask for a visit to a page."""
        return context.ask(Link("Please pay.", "https://pay.example.com/7"), key="pay").action

    @server.tool
    async def think(context: Context) -> str:
        """Ask the client's model."""
        return context.ask(Sampling("How deep is the sea?", max_tokens=50), key="thought").text

    @server.tool
    async def look(context: Context) -> list[str]:
        """Ask for the client's folders."""
        return [root.uri for root in context.ask(Roots(), key="roots")]

    @server.tool
    async def everything(context: Context) -> list[str]:
        """Ask for all of it at once."""
        answers = context.ask_all(
            {"name": Form("Who?", NAME), "thought": Sampling("Hm?", max_tokens=5), "roots": Roots()}
        )
        return [answers["name"].value["name"], answers["thought"].text, answers["roots"][0].uri]

    @server.tool
    async def perhaps(context: Context) -> str:
        """Ask where that is possible."""
        question = Form("Sure?")
        return context.ask(question, key="sure").action if context.can_ask(question) else "not asked"

    @server.tool(effect="destructive", confirm=False)
    async def wipe(context: Context) -> str:
        """Ask before something is lost."""
        return "wiped" if context.ask(Form("Wipe it?"), key="sure") else "kept"

    @server.tool
    async def insist(context: Context) -> str:
        """Ask for ever."""
        for number in itertools.count():
            context.ask(Form(f"Again, {number}?"))
        raise AssertionError

    async def by_hand(arguments: dict[str, Any], context: Context) -> InputRequiredResult | str:
        if context.rounds is not None and context.rounds.own == "mine":
            return f"{context.rounds.responses['a']['action']}, {context.rounds.own}"
        return InputRequiredResult({"a": Form("By hand?").request}, "mine")

    async def ahead(arguments: dict[str, Any], context: Context) -> InputRequiredResult | str:
        match context.rounds and context.rounds.responses.get("a"):
            case {"action": "accept", "content": {"name": str(name)}}:
                return name
            case _:
                return InputRequiredResult({"a": Form("Who?", NAME).request})

    server.add_raw_tool("by_hand", {"type": "object"}, by_hand)
    server.add_raw_tool("ahead", {"type": "object"}, ahead)
    return server


def attic() -> Server:
    """Destructive tools that need a person's approval. ``lost`` records the destroyed boxes."""
    server = Server("attic", version="1", confirm=Confirm(store="memory:"))
    lost: list[str] = []

    @server.tool(effect="destructive", idempotent=True)
    async def burn(box: str) -> str:
        """Burn a box."""
        lost.append(box)
        return f"{box} is ashes"

    @server.tool(effect="destructive", preview=lambda arguments: f"{arguments['count']} boxes would go.")
    async def clear(count: int, context: Context) -> str:
        """Ask which boxes, and throw them away."""
        which = context.ask(Form("Which?", NAME), key="which")
        lost.append(f"{count} {which.value['name']}")
        return f"{count} {which.value['name']} are gone"

    @server.tool(effect="read", name="lost")
    async def gone() -> list[str]:
        """What is gone."""
        return lost

    return server


def desk() -> Server:
    """A resource, a template and a prompt that ask, and a value that is completed."""
    server = Server("desk", version="1")
    server.add_resource("desk://drawer", _drawer, name="drawer")
    server.add_resource("desk://drawers/{number}", _drawer_of, name="drawers")
    server.prompt(letter)
    return server


def archive() -> Server:
    """Hands out by reference."""
    server = Server("archive", version="1")

    @server.tool(effect="read")
    async def export(text: str, context: Context) -> ResourceLink:
        """Export all."""
        return context.keep(text, "export", mime_type="text/csv")

    @server.tool(effect="read")
    async def export_and_fail(context: Context) -> str:
        """Export, and fail."""
        raise ToolError(context.keep("half of it", "export").uri)

    return server


async def _drawer(context: Context) -> str:
    return "a key" if context.ask(Form("Open it?"), key="open") else "closed"


async def _drawer_of(number: Annotated[int, Completes(lambda prefix: [prefix + "1"])], context: Context) -> str:
    return f"{number}: {context.ask(Form('Open it?'), key='open').action}"


async def letter(to: Annotated[str, Completes(_teas)], context: Context) -> str:
    """Begin a letter."""
    return f"Dear {to}, from {context.ask(Form('Who writes?', NAME), key='from').value['name']}"


RULES = """
[[rules]]
name = "looking"
effect = "read"
then = "allow"
[[rules]]
name = "small sums"
tools = "pay"
arguments = { required = ["amount"], properties.amount.maximum = 10 }
then = "allow"
[[rules]]
name = "large sums"
tools = "pay"
arguments.properties.amount.minimum = 100
then = "deny"
reason = "Over 100 a person pays."
[[rules]]
resources = "bank://open/*"
then = "allow"
[[rules]]
prompts = "advise"
then = "deny"
reason = "The adviser is on holiday."
"""


def bank() -> Server:
    """Rules of every kind: hidden items, items refused with and without a reason, and open items."""
    config, problems = examine("tooltrue.toml", RULES)
    assert problems == []
    server = Server("bank", version="1", rules=config.rules)
    server.add_tool(_balance, name="balance", effect="read")
    server.add_tool(_pay, name="pay", effect="write")
    server.add_tool(secret, effect="write")
    server.add_resource("bank://open/terms", lambda: "terms", name="terms")
    server.add_resource("bank://open/{page}", _page, name="pages")
    server.add_resource("bank://vault", secret, name="vault")
    server.add_prompt(secret, name="advise")
    return server


async def _balance() -> str:
    return "7"


async def _pay(amount: int) -> str:
    return f"paid {amount}"


async def _page(page: str) -> str:
    return page


def moved() -> Server:
    """A tool with a new name, and one that will go."""
    server = Server("moved", version="1")
    server.add_tool(_balance, name="get_balance", replaces="balance", effect="read", description="How much there is.")
    server.add_tool(_pay, name="pay", deprecated="Use transfer.", effect="write", description="Pay.")
    return server


BY_OLD_NAMES = """
[[rules]]
tools = ["balance", "transfer"]
then = "allow"
[[rules]]
name = "no sums"
tools = "sum"
then = "deny"
reason = "Sums are of last year."
[[rules]]
tools = "get_sum"
then = "allow"
[[rules]]
then = "deny"
"""


def ledger() -> Server:
    """Rules that name tools by the names that they had, and one for all that is left."""
    config, problems = examine("tooltrue.toml", BY_OLD_NAMES)
    assert problems == []
    server = Server("ledger", version="1", rules=config.rules)
    server.add_tool(_balance, name="get_balance", replaces="balance", effect="read")
    server.add_tool(_pay, name="transfer", replaces="pay", effect="write")
    server.add_tool(secret, name="get_sum", replaces="sum", effect="read")
    server.add_tool(secret, name="get_vault", replaces="vault", effect="read")
    return server


def office() -> Server:
    """Tools that run as tasks, with a database of their own."""
    folder = tempfile.mkdtemp(prefix="office-", dir=os.environ.get("XDG_STATE_HOME"))
    server = Server("office", version="1", tasks=Tasks(store=f"sqlite:///{folder}/tasks.db"))
    server.add_tool(count_to, task=True, effect="read")
    server.add_tool(sign, task="when-slow", effect="write")
    server.add_tool(nothing, name="archive", task="required", effect="read")
    server.add_tool(fail, name="stamp")
    return server


async def count_to(number: int) -> int:
    """Count."""
    if number > 100:
        raise ToolError("That is too far.")
    return number


class Signature(TypedDict):
    name: str


async def sign(context: Context) -> str:
    """Have a letter signed."""
    answer = context.ask(Form("Sign it?", Signature))
    return answer.value["name"] if answer.value else "not signed"


NAME = {"type": "object", "properties": {"name": {"type": "string", "minLength": 2}}, "required": ["name"]}

SERVERS: dict[str, Callable[[], Server]] = {
    make.__name__: make
    for make in (
        archive,
        asking,
        attic,
        bank,
        changing,
        closed,
        desk,
        empty,
        gallery,
        ledger,
        letters,
        library,
        moved,
        museum,
        office,
        shelves,
        shop,
        slow,
    )
}


def make(name: str) -> Server:
    return SERVERS[name]()


if __name__ == "__main__":
    make(sys.argv[1]).run()
