"""Authorization: attacks on the decision, each with a benign twin that has to work."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from support.variants import tried
from tooltrue import (
    Allow,
    Client,
    ConfigurationError,
    Context,
    Deny,
    LocalToolset,
    Principal,
    RpcError,
    Server,
    prefixed,
    renamed,
)
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.targets import Spec, load_server
from tooltrue.errors import ScopeNeeded
from tooltrue.policy.rules.rule import Decide
from tooltrue.protocol import versions
from tooltrue.protocol.types import TextResource
from tooltrue.server.service import SILENT
from tooltrue.tools.vocabulary import RequestContext, ToolCall

ONLY_GET = '[[rules]]\ntools = ["get", "call_tool"]\nthen = "allow"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tooltrue.toml"


class Shop:
    """A server with rules, and the log of the tools that have run on it."""

    def __init__(self, file: Path, rules: str, **settings: Any) -> None:
        file.write_text(rules)
        self.ran: list[str] = []
        self.server = Server("shop", rules=file, **settings)
        for name in ("get", "delete"):
            self.server.add_tool(self._tool(name), name=name, effect="write")

    def _tool(self, name: str) -> Any:
        async def run(what: str = "one") -> str:
            self.ran.append(f"{name} {what}")
            return name

        return run


async def called(target: Any, name: str, /, **arguments: Any) -> str:
    """The outcome of a call: the text of its result, or the code of its error."""
    async with Client(target) as client:
        try:
            result = await client.call_tool(name, arguments)
        except RpcError as error:
            return f"{error.number}: {error}".replace(name, "NAME")
        return f"error: {result.text}" if result.is_error else result.text


def outcome(target: Any, name: str, /, **arguments: Any) -> str:
    return asyncio.run(called(target, name, **arguments))


# -- B01: call a hidden tool -------------------------------------------------------------------------------------------


@pytest.mark.attack("B01")
def test_b01_a_hidden_tool_is_not_called_and_reads_like_none(file: Path):
    shop = Shop(file, ONLY_GET)
    assert outcome(shop.server, "delete") == outcome(shop.server, "nothing")
    assert outcome(shop.server, "delete").startswith("-32602")
    assert shop.ran == []


@pytest.mark.twin("B01")
def test_b01_twin_a_listed_tool_is_called(file: Path):
    shop = Shop(file, ONLY_GET)
    assert outcome(shop.server, "get") == "get"


# -- B02, B03: by way of another tool ----------------------------------------------------------------------------------


def with_a_tool_that_calls(shop: Shop) -> Server:
    async def call_tool(name: str, context: Context) -> str:
        outcome: Any = await shop.server.provider.call_tool(ToolCall(name, {}, context))
        return outcome.content[0].text

    shop.server.add_tool(call_tool)
    return shop.server


@pytest.mark.attack("B02", "B03")
def test_b02_a_tool_that_calls_tools_reaches_none_that_its_caller_may_not(file: Path):
    shop = Shop(file, ONLY_GET)
    assert "Unknown tool" in outcome(with_a_tool_that_calls(shop), "call_tool", name="delete")
    assert shop.ran == []


@pytest.mark.twin("B02", "B03")
def test_b02_twin_a_tool_that_calls_tools_reaches_those_that_its_caller_may(file: Path):
    shop = Shop(file, ONLY_GET)
    assert outcome(with_a_tool_that_calls(shop), "call_tool", name="get") == "get"


# -- B04: in a batch ---------------------------------------------------------------------------------------------------


async def batch(server: Server, *names: str) -> list[Any]:
    """The answers to calls that are sent in one array, in 2025-03-26."""
    answers: asyncio.Queue[Any] = asyncio.Queue()
    session = server.connect(lambda frame: answers.put_nowait(json.loads(frame)))
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    session.feed(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).encode())
    await answers.get()
    session.feed(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    calls = [
        {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}} for id, name in enumerate(names)
    ]
    session.feed(json.dumps(calls).encode())
    answered = await answers.get()
    await session.close()
    return [answer.get("error", {}).get("code") for answer in sorted(answered, key=lambda answer: answer["id"])]


@pytest.mark.attack("B04")
def test_b04_each_call_of_a_batch_is_decided_by_itself(file: Path):
    shop = Shop(file, ONLY_GET)
    assert asyncio.run(batch(shop.server, "get", "delete", "get")) == [None, -32602, None]
    assert shop.ran == ["get one", "get one"]


@pytest.mark.twin("B04")
def test_b04_twin_a_batch_of_allowed_calls_runs(file: Path):
    shop = Shop(file, ONLY_GET)
    assert asyncio.run(batch(shop.server, "get", "get")) == [None, None]


# -- B05: another name, other arguments, after the check ---------------------------------------------------------------

NOT_TIDY = '[[rules]]\ntools = ["TIDY"]\nthen = "deny"\n[[rules]]\nthen = "allow"\n'


@pytest.mark.attack("B05")
@pytest.mark.parametrize("outside", ["tidy", "all_delete"])
def test_b05_the_name_that_is_called_is_the_name_that_is_decided(file: Path, outside: str):
    ran: list[str] = []
    tools = LocalToolset()

    @tools.tool(name="delete", blocking=False)
    def delete() -> str:
        ran.append("delete")
        return "deleted"

    view = renamed(tools, {"delete": "tidy"}) if outside == "tidy" else prefixed(tools, "all")
    file.write_text(NOT_TIDY.replace("TIDY", outside))
    server = Server("shop", rules=file, toolsets=[view])
    for name in (outside, "delete"):
        assert outcome(server, name).startswith("-32602")
    assert ran == []


@pytest.mark.attack("B05")
def test_b05_rules_judge_the_arguments_that_run_with_defaults_in_place(file: Path):
    rule = '[[rules]]\narguments.properties.what.const = "one"\nthen = "deny"\n[[rules]]\nthen = "allow"\n'
    shop = Shop(file, rule)
    assert "TT2201" in outcome(shop.server, "delete")
    assert "TT2201" in outcome(shop.server, "delete", what="one")
    assert shop.ran == []


@pytest.mark.twin("B05")
def test_b05_twin_other_names_and_arguments_work(file: Path):
    rule = '[[rules]]\narguments.properties.what.const = "one"\nthen = "deny"\n[[rules]]\nthen = "allow"\n'
    shop = Shop(file, rule)
    assert outcome(shop.server, "delete", what="two") == "delete"
    tools = LocalToolset()

    async def get(what: str) -> str:
        return f"got {what}"

    tools.add(get)
    server = Server("shop", rules=file, toolsets=[renamed(tools, {"get": "fetch"})])
    assert outcome(server, "fetch", what="three") == "got three"


# -- B24: a rule without effect ----------------------------------------------------------------------------------------

DEAD = [
    '[[rules]]\ntools = "mcp__*"\nthen = "allow"\n',
    '[[rules]]\ntools = "delet"\nthen = "deny"\n[[rules]]\nthen = "allow"\n',
    '[[rules]]\ntool = "delete"\nthen = "deny"\n[[rules]]\nthen = "allow"\n',
    '[[rules]]\nthen = "allow"\n[[rules]]\ntools = "delete"\nthen = "deny"\n',
    '[[rules]]\ntools = "delete"\narguments.properties.wat.const = 1\nthen = "deny"\n[[rules]]\nthen = "allow"\n',
    '[[rules]]\ntools = "delete"\narguments.propertys.what.const = 1\nthen = "deny"\n[[rules]]\nthen = "allow"\n',
    '[[rules]]\ntools = "delete"\neffect = "read"\nthen = "deny"\n[[rules]]\nthen = "allow"\n',
    '[[rules]]\nprompts = "p"\nthen = "allow"\n',
    '[[rules]]\nresources = "docs:*"\nthen = "allow"\n',
    *(
        f'[[rules]]\ntools = "{name}"\nthen = "deny"\n[[rules]]\nthen = "allow"\n'
        for name in (
            "Delete",
            "DELETE",
            "delete ",
            " delete",
            "delete()",
            "delet?",
            "dele[t]e",
            "shop.delete",
            "shop__delete",
            "d\u0435lete",
            "delete\u200b",
            "",
        )
    ),
    *(
        f'[[rules]]\n{key} = "delete"\nthen = "deny"\n[[rules]]\nthen = "allow"\n'
        for key in ("Tools", "toolz", "name_of_tool", "prompts", "resource")
    ),
    *(
        f'[[rules]]\ntools = "delete"\nthen = "{verdict}"\n[[rules]]\nthen = "allow"\n'
        for verdict in ("Deny", "denied", "no", "", "forbid", "deny ")
    ),
    *(
        f'[[rules]]\ntools = "delete"\n{more}\nthen = "deny"\n[[rules]]\nthen = "allow"\n'
        for more in (
            'effect = "Destructive"',
            'effect = "destructive"',
            'efect = "write"',
            'principals = "local"',
            "argument.properties.what.const = 1",
            'arguments.properties.What.const = "one"',
            'arguments.properties.what.type = "strin"',
        )
    ),
]


async def served(shop: Shop) -> None:
    async with shop.server.serving():
        pass


@pytest.mark.attack("B24")
@pytest.mark.parametrize("rules", DEAD)
def test_b24_a_rule_that_does_nothing_ends_the_start(file: Path, rules: str):
    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(served(Shop(file, rules)))
    assert str(file) in str(caught.value)


@pytest.mark.twin("B24")
@pytest.mark.parametrize(
    "rules",
    [
        '[[rules]]\ntools = "del*"\nthen = "deny"\n[[rules]]\ntools = ["get", "*"]\nthen = "allow"\n',
        '[[rules]]\neffect = "destructive"\nthen = "ask"\n[[rules]]\nthen = "allow"\n',
        '[[rules]]\nresources = "*"\nthen = "hide"\n[[rules]]\nthen = "allow"\n',
        '[[rules]]\nserver = "mail"\ntools = "send"\nthen = "deny"\n[[rules]]\nthen = "allow"\n',
    ],
)
def test_b24_twin_rules_that_do_something_or_are_for_others_are_served(file: Path, rules: str):
    asyncio.run(served(Shop(file, rules)))


# -- B25: a tool that writes the rules ---------------------------------------------------------------------------------


def files_with(root: Path, config: Path) -> Server:
    return load_server(Spec.of("files", FamilyOptions({"--root": (str(root),)}), str(config), confirm=False))


ALL = '[[rules]]\nthen = "allow"\n'


@pytest.mark.attack("B25")
@pytest.mark.parametrize("name", ["tooltrue.toml", "Tooltrue.TOML", "tooltrue.lock", ".mcp.json"])
def test_b25_the_files_tools_do_not_write_the_rules_file(tmp_path: Path, file: Path, name: str):
    file.write_text(ALL)
    server = files_with(tmp_path, file)
    for mode in ("overwrite", "create", "append"):
        assert "[TT6031]" in outcome(server, "write_file", path=name, content=ALL, mode=mode)
    assert file.read_text() == ALL


@pytest.mark.attack("B25")
def test_b25_rules_within_reach_of_tools_end_the_start(tmp_path: Path):
    config = tmp_path / "root" / "policy.toml"
    config.parent.mkdir()
    config.write_text(ALL)
    (tmp_path / "link").symlink_to(config.parent)
    for root in (tmp_path, tmp_path / "root", tmp_path / "link"):
        with pytest.raises(ConfigurationError) as caught:
            files_with(root, config)
        assert caught.value.code == "TT4311"


@pytest.mark.attack("B25")
@pytest.mark.parametrize("where", ["[auth]", "an option"])
@pytest.mark.parametrize("relative", [False, True])
def test_b25_the_files_tools_do_not_write_keys_by_which_somebody_may_call(
    tmp_path: Path, file: Path, where: str, relative: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    keys = "callers.toml" if relative else str(tmp_path / "callers.toml")
    Path(keys).touch()
    file.write_text(f"[auth]\nkeys = {keys!r}" if where == "[auth]" else ALL)
    withheld = [keys] if where == "an option" else []
    server = load_server(
        Spec.of("files", FamilyOptions({"--root": (str(tmp_path),)}), str(file), confirm=False, withheld=withheld)
    )
    for mode in ("overwrite", "append"):
        said = outcome(server, "write_file", path="callers.toml", content="[mallory]", mode=mode)
        assert "[TT60" in said, said
    assert Path(keys).read_text() == ""
    assert not outcome(server, "write_file", path="caller.toml", content="[mallory]").startswith("[TT")
    assert (tmp_path / "caller.toml").exists()


@pytest.mark.attack("B25")
def test_b25_rules_that_are_edited_while_they_are_served_change_nothing(file: Path):
    shop = Shop(file, ONLY_GET)
    file.write_text(ALL)
    assert outcome(shop.server, "delete").startswith("-32602")
    file.unlink()
    assert outcome(shop.server, "get") == "get"


@pytest.mark.twin("B25")
def test_b25_twin_other_files_are_written(tmp_path: Path, file: Path):
    file.write_text(ALL)
    server = files_with(tmp_path, file)
    outcome(server, "write_file", path="settings.toml", content="a = 1\n")
    assert (tmp_path / "settings.toml").read_text() == "a = 1\n"
    assert "tooltrue.toml" in outcome(server, "list_directory", path=".")


# -- B27: stdio is trusted ---------------------------------------------------------------------------------------------

SOURCE = """
from tooltrue import Server
server = Server("shop")
@server.tool(effect="read")
async def get() -> str: return "got"
@server.tool(effect="write")
async def delete() -> str: return "deleted"
"""


def over_stdio(tmp_path: Path, rules: str) -> list[str]:
    (tmp_path / "shop.py").write_text(SOURCE)
    (tmp_path / "tooltrue.toml").write_text(rules)
    main = "from tooltrue.cli.main import main; main()"
    config = str(tmp_path / "tooltrue.toml")
    return [sys.executable, "-c", main, "serve", str(tmp_path / "shop.py"), "--config", config]


LOCAL_ONLY_GETS = '[[rules]]\nprincipal = "local"\ntools = "get"\nthen = "allow"\n'


@pytest.mark.process
@pytest.mark.attack("B27")
def test_b27_rules_hold_on_stdio_too(tmp_path: Path):
    assert outcome(over_stdio(tmp_path, LOCAL_ONLY_GETS), "delete").startswith("-32602")


@pytest.mark.process
@pytest.mark.twin("B27")
def test_b27_twin_an_allowed_tool_works_on_stdio(tmp_path: Path):
    assert outcome(over_stdio(tmp_path, LOCAL_ONLY_GETS), "get") == "got"


@pytest.mark.attack("B27")
def test_b27_local_callers_hold_only_the_scopes_that_the_file_gives_them(file: Path):
    shop = Shop(file, '[scopes]\nlocal = ["shop:read"]\n')
    shop.server.add_tool(lambda: "x", name="close", requires=["shop:close"], blocking=False)
    shop.server.add_tool(lambda: "y", name="look", requires=["shop:read"], blocking=False)
    assert outcome(shop.server, "close") == outcome(shop.server, "nothing")
    assert outcome(shop.server, "look") == "y"


# -- B57: the decision fails -------------------------------------------------------------------------------------------


def breaks(subject: Any, context: Any, arguments: Any) -> Any:
    raise RuntimeError("the directory of users is down")


def breaks_later(subject: Any, context: Any, arguments: Any) -> Any:
    return Allow() if arguments is None else 1 / 0


def says_nothing(subject: Any, context: Any, arguments: Any) -> Any:
    return None


def says_true(subject: Any, context: Any, arguments: Any) -> Any:
    return True


def raises(error: BaseException) -> Decide:
    def decide(subject: Any, context: Any, arguments: Any) -> Any:
        raise error

    return decide


def says(value: Any) -> Decide:
    return lambda subject, context, arguments: value


NO_DECISIONS: dict[str, Any] = {
    **{
        type(error).__name__: raises(error)
        for error in (
            KeyError("directory"),
            TimeoutError("directory"),
            RecursionError("directory"),
            MemoryError("directory"),
            StopIteration("directory"),
            GeneratorExit("directory"),
            OSError(28, "directory"),
            AssertionError("directory"),
            UnicodeDecodeError("utf-8", b"x", 0, 1, "directory"),
            ExceptionGroup("directory", [ValueError("directory")]),
        )
    },
    **{
        f"says {value!r}": says(value)
        for value in (
            False,
            0,
            1,
            "allow",
            "Allow()",
            "",
            [],
            [Allow()],
            {},
            {"verdict": "allow"},
            (),
            object,
            Allow,
            ALL,
        )
    },
    "a generator": lambda subject, context, arguments: (Allow() for _ in "x"),
    "SystemExit": raises(SystemExit("directory")),
    "KeyboardInterrupt": raises(KeyboardInterrupt("directory")),
    "CancelledError": raises(asyncio.CancelledError("directory")),
}


@pytest.mark.attack("B57")
@pytest.mark.parametrize(
    "decide",
    [breaks, breaks_later, says_nothing, says_true, *NO_DECISIONS.values()],
    ids=[*("breaks", "later", "nothing", "true"), *NO_DECISIONS],
)
def test_b57_a_decision_that_fails_is_a_no(file: Path, decide: Decide, caplog: pytest.LogCaptureFixture):
    shop = Shop(file, ALL, decide=decide)
    with caplog.at_level(logging.ERROR, "tooltrue"):
        said = outcome(shop.server, "delete")
    assert shop.ran == []
    assert said.startswith("-32602") or "[TT2203]" in said
    assert "directory" not in said
    assert "the decision about delete failed" in caplog.text


@pytest.mark.attack("B57")
@pytest.mark.parametrize("decide", [breaks, *NO_DECISIONS.values()], ids=["breaks", *NO_DECISIONS])
def test_b57_a_tool_is_not_listed_when_the_decision_fails(file: Path, decide: Decide):
    async def names() -> list[str]:
        async with Client(Shop(file, ALL, decide=decide).server) as client:
            return [tool.name for tool in await client.list_tools()]

    assert asyncio.run(names()) == []


@pytest.mark.twin("B57")
def test_b57_twin_a_decision_that_works_decides(file: Path):
    def decide(subject: Any, context: Any, arguments: Any) -> Any:
        return Deny("not now") if arguments == {"what": "two"} else Allow()

    shop = Shop(file, ALL, decide=decide)
    assert outcome(shop.server, "delete") == "delete"
    assert "not now" in outcome(shop.server, "delete", what="two")


# -- a scope that could be had -----------------------------------------------------------------------------------------


@pytest.mark.attack("B01")
def test_b01_a_tool_that_requires_a_scope_is_listed_and_called_with_it_only():
    server = Server("shop")

    @server.tool(requires=["shop:write"], blocking=False)
    def sell() -> str:
        return "sold"

    async def main() -> None:
        for scopes in ((), ("shop:write", "x")):
            context = RequestContext(Principal("ann", frozenset(scopes)), SILENT)
            assert [tool.name for tool in await server.provider.list_tools(context)] == ["sell"]
            if scopes:
                await server.provider.call_tool(ToolCall("sell", {}, context))
            else:
                with pytest.raises(ScopeNeeded, match="shop:write"):
                    await server.provider.call_tool(ToolCall("sell", {}, context))

    asyncio.run(main())


def test_the_stored_result_of_an_allowed_call_is_readable_under_rules_that_do_not_name_it(tmp_path: Path):
    file = tmp_path / "rules.toml"
    file.write_text('[[rules]]\ntools = "big"\nthen = "allow"\n[[rules]]\nresources = "kept:none"\nthen = "deny"\n')
    server = Server("large", rules=file)

    @server.tool(effect="read", max_bytes=2_000, blocking=False)
    def big() -> str:
        """Return more than may leave at once."""
        return "x" * 5_000

    async def whole() -> Any:
        async with server.serving(), Client(server) as client:
            result = await client.call_tool("big")
            [part] = await client.read_resource(result.content[-1].uri)
            assert isinstance(part, TextResource)
            return part.text

    assert asyncio.run(whole()) == "x" * 5_000


# -- families: a denied tool, by every way to reach it -----------------------------------------------------------------

CLOSED = {
    "no rule": "",
    "denied": '[[rules]]\ntools = "delete"\nthen = "deny"\n',
    "hidden": '[[rules]]\ntools = "delete"\nthen = "hide"\n',
    "denied by its effect": '[[rules]]\neffect = "destructive"\nthen = "deny"\n',
    "denied to the caller": '[[rules]]\ntools = "delete"\nprincipal = ["local", "local:http"]\nthen = "deny"\n',
    "denied by its arguments": '[[rules]]\ntools = "delete"\narguments = { }\nthen = "deny"\n',
}
OPEN_REST = "".join(
    f'[[rules]]\n{kind}\nthen = "allow"\n' for kind in ('tools = ["get", "reach*"]', 'prompts = "*"', 'resources = "*"')
)


async def awaited(shop: Shop, context: Context) -> Any:
    return await shop.server.provider.call_tool(ToolCall("delete", {}, context))


async def as_a_task(shop: Shop, context: Context) -> Any:
    return await asyncio.create_task(awaited(shop, context))


async def again_and_again(shop: Shop, context: Context) -> Any:
    for _ in range(2):
        with contextlib.suppress(RpcError):
            return await awaited(shop, context)
    return await awaited(shop, context)


async def all_at_once(shop: Shop, context: Context) -> Any:
    return (await asyncio.gather(*(awaited(shop, context) for _ in range(3))))[0]


async def from_a_thread(shop: Shop, context: Context) -> Any:
    loop = asyncio.get_running_loop()
    return await asyncio.to_thread(
        lambda: asyncio.run_coroutine_threadsafe(awaited(shop, context), loop).result(timeout=30)
    )


async def found_first(shop: Shop, context: Context) -> Any:
    tool = await shop.server.provider.find_tool("delete", context)
    return await shop.server.provider.call_tool(ToolCall(tool.name, {}, context))


WAYS = [awaited, as_a_task, again_and_again, all_at_once, from_a_thread, found_first]


@pytest.mark.attack("B02", "B03")
@pytest.mark.parametrize("place", ["a tool", "a tool of a tool", "a prompt", "a resource"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("closed", CLOSED)
def test_b02_no_function_of_a_server_reaches_a_tool_denied_to_its_caller(
    file: Path, closed: str, way: Any, place: str
) -> None:
    shop = Shop(file, CLOSED[closed] + OPEN_REST)
    shop.server.remove_tool("delete")
    shop.server.add_tool(shop._tool("delete"), name="delete", effect="destructive")  # pyright: ignore[reportPrivateUsage]
    reached: list[bool] = []

    async def reach(context: Context) -> str:
        reached.append(True)
        return str(await way(shop, context))

    async def reach_further(context: Context) -> str:
        return str(await shop.server.provider.call_tool(ToolCall("reach", {}, context)))

    shop.server.add_tool(reach, effect="read")
    shop.server.add_tool(reach_further, effect="read")
    shop.server.add_prompt(reach, name="reach")
    shop.server.add_resource("docs:reach", reach, name="reach")

    async def main() -> str:
        async with Client(shop.server) as client:
            try:
                match place:
                    case "a prompt":
                        return str(await client.get_prompt("reach"))
                    case "a resource":
                        return str(await client.read_resource("docs:reach"))
                    case _:
                        name = "reach" if place == "a tool" else "reach_further"
                        return (await client.call_tool(name)).text
            except RpcError as error:
                return str(error)

    said = asyncio.run(main())
    assert (shop.ran, reached) == ([], [True]), said


@pytest.mark.twin("B02", "B03")
@pytest.mark.parametrize("way", WAYS)
def test_b02_twin_each_of_these_functions_reaches_an_allowed_tool(file: Path, way: Any) -> None:
    shop = Shop(file, ALL)

    async def reach(context: Context) -> str:
        return str(await way(shop, context))

    shop.server.add_tool(reach, effect="read")
    assert "delete" in outcome(shop.server, "reach")
    assert set(shop.ran) == {"delete one"}


@pytest.mark.variants(24)
@pytest.mark.attack("B01")
@pytest.mark.parametrize("closed", ["no rule", "hidden"])
@pytest.mark.parametrize("revision", [versions.LATEST, *versions.LEGACY])
def test_b01_a_hidden_name_is_hidden_from_each_request_in_each_revision(file: Path, revision: str, closed: str) -> None:
    shop = Shop(file, CLOSED[closed] + '[[rules]]\ntools = "get"\nthen = "allow"\n')
    shop.server.add_prompt(must_not_run, name="delete")
    shop.server.add_resource("docs:delete", must_not_run, name="delete")
    shop.server.add_resource("docs:{name}/delete", must_not_run_of, name="deletes")
    spelled = ["NAME", "Name", "NAME ", " NAME", "NAME\u200b", "./NAME", "shop.NAME", "shop__NAME"]

    async def told(ask: Any, name: str) -> str:
        try:
            return str(await ask())
        except RpcError as error:
            return f"{error.number}: {error}".replace(name, "NAME").replace(name.title(), "Name")

    async def main() -> dict[str, tuple[str, str]]:
        seen: dict[str, tuple[str, str]] = {}
        async with Client(shop.server, revision=revision) as client:
            for form in spelled:
                both: dict[str, list[str]] = {}
                for name in ("delete", "nowhat"):
                    said = form.replace("NAME", name).replace("Name", name.title())
                    asks: dict[str, Any] = {
                        "call": lambda said=said: client.call_tool(said, {"what": "one"}),
                        "prompt": lambda said=said: client.get_prompt(said),
                        "read": lambda said=said: client.read_resource(f"docs:{said}"),
                    }
                    for kind, ask in asks.items():
                        both.setdefault(kind, []).append(await told(ask, name))
                seen |= {f"{kind} {form!r}": (one, other) for kind, (one, other) in both.items()}
            listed = [tool.name for tool in await client.list_tools()]
            assert listed == ["get"]
            assert "delete" not in str(await client.list_prompts()) + str(await client.list_resources())
        return seen

    seen = asyncio.run(main())
    for name in seen:
        tried(name)
    assert {name: both for name, both in seen.items() if both[0] != both[1]} == {}
    assert shop.ran == []


async def must_not_run() -> str:
    raise AssertionError("nobody may reach this")


async def must_not_run_of(name: str) -> str:
    raise AssertionError(f"nobody may reach this: {name}")


@pytest.mark.attack("B04")
@pytest.mark.parametrize("names", [names for size in range(1, 5) for names in itertools.product(("get", "delete"), repeat=size) if "delete" in names], ids=" ".join)  # fmt: skip  # noqa: E501
def test_b04_each_call_is_decided_by_itself_wherever_it_stands_in_a_batch(file: Path, names: tuple[str, ...]) -> None:
    shop = Shop(file, ONLY_GET)
    assert asyncio.run(batch(shop.server, *names)) == [None if name == "get" else -32602 for name in names]
    assert shop.ran == ["get one"] * names.count("get")


async def shows_later(principal: Principal) -> bool:
    return True


def shows_what(value: Any) -> Any:
    return lambda principal: value


def fails_with(error: BaseException) -> Any:
    def visible(principal: Principal) -> bool:
        raise error

    return visible


UNDECIDED: dict[str, Any] = {
    **{
        repr(error): fails_with(error)
        for error in (
            *(SystemExit("x"), RuntimeError("x"), TimeoutError("x"), KeyError("x")),
            *(asyncio.CancelledError("x"), GeneratorExit("x"), KeyboardInterrupt("x")),
        )
    },
    **{
        f"says {value!r}": shows_what(value)
        for value in (1, "yes", "no", [True], {"visible": False}, None, Allow(), 1.0)
    },
}


@pytest.mark.attack("B57")
@pytest.mark.parametrize("visible", UNDECIDED)
def test_b57_a_tool_is_hidden_when_its_visibility_cannot_be_decided(visible: str) -> None:
    server = Server("shop")
    server.add_tool(must_not_run, name="hers", visible=UNDECIDED[visible])
    server.add_tool(returns_one, name="common")

    async def main() -> list[str]:
        async with Client(server) as client:
            return [tool.name for tool in await client.list_tools()]

    assert asyncio.run(main()) == ["common"]
    assert outcome(server, "hers") == outcome(server, "nothing")
    assert outcome(server, "common") == "one"


@pytest.mark.attack("B57")
@pytest.mark.filterwarnings("ignore:coroutine 'shows_later' was never awaited")
def test_b57_a_coroutine_is_no_valid_visibility_decision() -> None:
    server = Server("shop")
    server.add_tool(must_not_run, name="hers", visible=shows_later)  # pyright: ignore[reportArgumentType] - the fault
    assert outcome(server, "hers") == outcome(server, "nothing")
    gc.collect()


async def returns_one() -> str:
    return "one"


@pytest.mark.twin("B57")
def test_b57_twin_a_tool_is_there_for_those_that_may_know_of_it() -> None:
    server = Server("shop")
    server.add_tool(returns_one, name="hers", visible=lambda principal: principal.id == "local")
    server.add_tool(returns_one, name="his", visible=lambda principal: principal.id == "bob")
    assert outcome(server, "hers") == "one"
    assert outcome(server, "his") == outcome(server, "nothing").replace("nothing", "his")


KINDS_OF_RULES = {
    "by its name": 'tools = "NAME"',
    "by a pattern": 'tools = "*NAME"',
    "by its effect": 'tools = "NAME"\neffect = "write"',
    "to local callers": 'tools = "NAME"\nprincipal = "local"',
    "by its arguments": 'tools = "NAME"\narguments.properties.box.type = "string"',
    "at this server": 'tools = "NAME"\nserver = "shop"',
}
VERDICTS = ("deny", "hide", "ask")


@pytest.mark.process
@pytest.mark.attack("B27")
@pytest.mark.variants(22)
def test_b27_each_kind_of_rule_and_limit_holds_on_stdio(tmp_path: Path):
    kinds = [each for each in itertools.product(KINDS_OF_RULES, VERDICTS) if each != ("by its arguments", "hide")]
    names = {each: f"t{number}" for number, each in enumerate(kinds)}
    tools = "\n".join(
        f"@server.tool(effect='write')\nasync def {name}(box: str = 'a') -> str: return 'ran'"
        for name in [*names.values(), "last"]
    )
    limited = "@server.tool(requires=['shop:close'])\nasync def close() -> str: return 'ran'"
    (tmp_path / "shop.py").write_text(f"from tooltrue import Server\nserver = Server('shop')\n{tools}\n{limited}\n")
    rules = [
        f'[[rules]]\n{KINDS_OF_RULES[kind].replace("NAME", name)}\nthen = "{verdict}"\n'
        for (kind, verdict), name in names.items()
    ]
    rest = '[scopes]\nlocal = ["shop:read"]\n[[rules]]\ntools = ["t*", "close", "last"]\nthen = "allow"\n'
    (tmp_path / "tooltrue.toml").write_text(rest.replace("[[rules]]", "".join(rules) + "[[rules]]", 1))
    config = str(tmp_path / "tooltrue.toml")
    command = [sys.executable, "-c", "from tooltrue.cli.main import main; main()", "serve", str(tmp_path / "shop.py")]
    calls: list[tuple[Any, str, dict[str, Any]]] = [(each, name, {"box": "a"}) for each, name in names.items()]
    calls += [("a scope that is not there", "close", {}), ("no such tool", "nothing", {})]
    calls += [
        ("an unknown argument", "last", {"x": 1}),
        ("another type", "last", {"box": 1}),
        ("too much", "last", {"box": "x" * 9_000_000}),
    ]

    async def main() -> list[str]:
        said: list[str] = []
        async with Client([*command, "--config", config]) as client:
            for _, name, arguments in calls:
                try:
                    result = await client.call_tool(name, arguments)
                    said.append(f"{result.is_error} {result.text}")
                except RpcError as error:
                    said.append(f"True {error}")
            assert (await client.call_tool("last")).text == "ran"
        return said

    said = asyncio.run(main())
    for each, _, _ in calls:
        tried(each)
    assert [(each, text) for (each, _, _), text in zip(calls, said, strict=True) if not text.startswith("True")] == []
