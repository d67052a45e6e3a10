"""The demonstration: `tooltrue serve files` as a child over HTTP, and a client that uses it as a model would.

    python demo/demo.py            run it; exit code 0 when everything happened as it should
    python demo/demo.py --keep     and leave the server running until Ctrl-C

It works on a copy of `demo/sample`, which goes when the demonstration ends. Every step is checked; the first that
comes out otherwise ends it with one sentence and exit code 1.
"""

# ruff: noqa: T201 - a demonstration prints its output

import argparse
import asyncio
import contextlib
import csv
import json
import os
import shlex
import shutil
import signal
import socket
import sys
import tempfile
import time
import unicodedata
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tooltrue import Client, TooltrueError
from tooltrue.client.answers import Elicit, Elicitation

HERE = Path(__file__).resolve().parent
TOOLTRUE = Path(sys.executable).with_name("tooltrue")
START_SECONDS = 20.0
END_SECONDS = 10.0
WIDTH = 100


class Failed(Exception):
    """A step that did not come out as it should, in one sentence."""


def check(holds: bool, sentence: str) -> None:
    if not holds:
        raise Failed(sentence)


# --- output for the user ---------------------------------------------------------------------------------------------


@dataclass
class Page:
    """Prints. Colours only on a terminal that wants them."""

    colours: bool
    sections: int = 0

    def _say(self, text: str = "", colour: str = "") -> None:
        print(f"\x1b[{colour}m{text}\x1b[0m" if self.colours and colour and text else text, flush=True)

    def title(self, text: str) -> None:
        self._say(text, "1")

    def section(self, text: str) -> None:
        self.sections += 1
        rule = "─" * max(WIDTH - len(text) - 4, 4)
        self._say()
        self._say(f"{self.sections}  {text} {rule}", "1;36")

    def note(self, text: str) -> None:
        self._say(f"   {text}")

    def command(self, words: list[str]) -> None:
        self._say(f"   $ {shlex.join(words)}", "2")

    def done(self, text: str, seconds: float | None = None) -> None:
        timing = "" if seconds is None else f"  ({seconds * 1000:.1f} ms)"
        self._say(f"   ✓ {text}{timing}", "32")

    def call(self, tool: str, arguments: dict[str, Any]) -> None:
        said = ", ".join(f"{key}={_short(value)}" for key, value in arguments.items())
        self._say(f"   → {tool}({said})", "33")

    def quote(self, text: str, colour: str = "") -> None:
        for line in text.rstrip("\n").split("\n"):
            self._say(f"   │ {line}".rstrip(), colour)

    def failure(self, text: str) -> None:
        print(f"\x1b[1;31m{text}\x1b[0m" if sys.stderr.isatty() else text, file=sys.stderr, flush=True)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:56] + "…" + text[-1]


def padded(text: str, columns: int) -> str:
    """As wide as ``columns`` on a terminal, where a Chinese character takes two."""
    taken = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
    return text + " " * max(columns - taken, 0)


# --- the server, a child ---------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@dataclass
class Running:
    """A server that has been started; ``words`` is its command line."""

    process: asyncio.subprocess.Process
    words: list[str]
    url: str
    log: IO[bytes]

    def printed(self) -> str:
        self.log.seek(0)
        return self.log.read().decode(errors="replace").strip() or "nothing"

    async def ended_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), seconds)
        return self.process.returncode is not None

    async def end(self) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        if not await self.ended_within(END_SECONDS):
            self.process.kill()
            await self.process.wait()
            raise Failed(f"The server did not end within {END_SECONDS:g} s of SIGTERM and was killed.")


@contextlib.asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Running]:
    """The files tools over ``folder`` on a free local port. The output of the server is shown on failure."""
    port = free_port()
    words = [str(TOOLTRUE), "serve", "files", "--root", str(folder), "--http", f"127.0.0.1:{port}"]
    with tempfile.TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "TOOLTRUE_APPROVALS": "memory:"},
        )
        running = Running(process, words, f"http://127.0.0.1:{port}/mcp", log)
        try:
            yield running
        except (Failed, TooltrueError) as error:
            raise Failed(f"{error}\nThe server printed: {running.printed()}") from error
        finally:
            await running.end()


async def connected(running: Running, elicit: Elicit) -> Client:
    """A client of it, whose user is ``elicit``, as soon as it answers: connecting is tried again until it does, has
    ended, or time is up."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        client = Client(running.url, timeout=5.0, elicit=elicit)
        try:
            return await client.__aenter__()
        except TooltrueError as error:
            check(time.monotonic() < deadline, f"The server did not answer within {START_SECONDS:g} s: {error}")
        # The server may end before the next attempt; then no attempt can succeed.
        check(not await running.ended_within(0.05), f"The server ended at once, with {running.process.returncode}.")


# --- the steps -------------------------------------------------------------------------------------------------------


@dataclass
class Demonstration:
    page: Page
    folder: Path
    client: Client
    asked: list[str]  # the questions of the server to the user

    async def call(self, tool: str, **arguments: Any) -> Any:
        """The value of a call that should succeed."""
        self.page.call(tool, arguments)
        begun = time.perf_counter()
        result = await self.client.call_tool(tool, arguments)
        seconds = time.perf_counter() - begun
        check(not result.is_error, f"{tool} was refused: {result.text}")
        self.page.done("done", seconds)
        return result.value

    async def refused(self, code: str, tool: str, **arguments: Any) -> None:
        """A call that should be refused, with the very text that a model gets."""
        self.page.call(tool, arguments)
        begun = time.perf_counter()
        result = await self.client.call_tool(tool, arguments)
        seconds = time.perf_counter() - begun
        check(result.is_error, f"{tool} should have been refused and was not.")
        check(f"[{code}]" in result.text, f"{tool} was refused with other words than expected: {result.text}")
        self.page.done("refused; the model reads:", seconds)
        self.page.quote(result.text, "35")

    async def tools(self) -> None:
        self.page.section("What a host sees")
        begun = time.perf_counter()
        tools = await self.client.list_tools()
        seconds = time.perf_counter() - begun
        names = [tool.name for tool in tools]
        wanted = {"list_directory", "read_file", "write_file"}
        check(wanted <= set(names), f"The server lists other tools: {names}.")
        for tool in tools:
            hints = tool.annotations
            says = "read-only" if hints and hints.readOnlyHint else "destructive" if hints else "says nothing"
            self.page.note(f"{tool.name:<16}{says:<13}{(tool.description or '').splitlines()[0]}")
        self.page.done(f"{len(tools)} tools, each with a schema for what goes in and what comes out", seconds)

    async def listing(self) -> None:
        self.page.section("List the folder")
        listing = await self.call("list_directory", path=".", depth=2)
        for entry in listing["entries"]:
            size = f"{entry['size']:>6} bytes" if "size" in entry else ""
            self.page.note(f"{padded(entry['path'], 34)}{entry['type']:<11}{size}".rstrip())
        expected = sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*"))
        check(sorted(entry["path"] for entry in listing["entries"]) == expected, "The listing is not what is on disk.")

    async def reading(self) -> list[dict[str, str]]:
        self.page.section("Read two files")
        chinese = await self.call("read_file", path="README.zh.md", end_line=3)
        self.page.quote(chinese["content"])
        check("磨坊巷" in chinese["content"], "The Chinese text did not come back as it was written.")
        harvest = await self.call("read_file", path="data/harvest.csv")
        self.page.quote(harvest["content"])
        check(
            harvest["content"] == (self.folder / "data/harvest.csv").read_text("utf-8"),
            "The text is not what is on disk.",
        )
        return list(csv.DictReader(harvest["content"].splitlines()))

    async def writing(self, rows: list[dict[str, str]]) -> None:
        self.page.section("Write a file")
        text = summary(rows)
        written = await self.call("write_file", path="notes/2026-06-harvest.md", content=text)
        check(len(self.asked) == 1, f"The user was asked {len(self.asked)} times before a file is written, not once.")
        self.page.note("it may replace something, so the user was asked, and said yes:")
        self.page.quote(self.asked[0])
        on_disk = (self.folder / "notes/2026-06-harvest.md").read_bytes()
        check(on_disk == text.encode() and written["size"] == len(on_disk), "What is on disk is not what was written.")
        self.page.done(f"checked on disk: the same {len(on_disk)} bytes")
        again = await self.call("read_file", path="notes/2026-06-harvest.md")
        check(again["content"] == text, "What was read back is not what was written.")

    async def outside(self) -> None:
        self.page.section("A call that leads outside the folder")
        secret = self.folder.parent / "outside.txt"
        secret.write_text("not served\n")
        await self.refused("TT6014", "read_file", path=str(secret))
        await self.refused("TT6011", "read_file", path="../outside.txt")

    async def wrong(self) -> None:
        self.page.section("A call with wrong arguments")
        await self.refused("TT2001", "read_file", pth="notes/todo.txt", encoding="utf8", start_line="2")
        self.page.note("and corrected, as a model would:")
        lines = await self.call("read_file", path="notes/todo.txt", encoding="utf-8", start_line=2, end_line=3)
        self.page.quote(lines["content"])
        check(lines["content"].startswith("[ ] seal"), "These are not lines 2 and 3 of the file.")


def summary(rows: list[dict[str, str]]) -> str:
    kilograms: dict[str, float] = {}
    for row in rows:
        kilograms[row["crop"]] = kilograms.get(row["crop"], 0.0) + float(row["kg"])
    lines = [f"- {crop}: {kg:.1f} kg" for crop, kg in sorted(kilograms.items())]
    return "\n".join(
        ["# Harvest of June 2026 / 2026 年 6 月收成", "", *lines, "", f"{sum(kilograms.values()):.1f} kg", ""]
    )


def show_hosts(page: Page, running: Running, *, keep: bool) -> None:
    page.section("Point a host at it")
    page.note("A host that starts servers itself (mcpServers):")
    started = {"command": str(TOOLTRUE), "args": ["serve", "files", "--root", str(HERE / "sample")]}
    page.quote(json.dumps({"mcpServers": {"garden": started}}, ensure_ascii=False, indent=2))
    page.note(
        "Before a file is overwritten or deleted, the server asks you. A host that cannot put the question gets a"
    )
    page.note("refusal that names the command: tooltrue approvals allow t-…. If the host itself asks before each call,")
    page.note('add "--no-confirm" to args: one question instead of two, but the host alone guards those calls then.')
    page.note("A host that connects to a URL" + (":" if keep else "; this one lives as long as the demonstration:"))
    page.quote(json.dumps({"mcpServers": {"garden": {"type": "http", "url": running.url}}}, indent=2))


async def demonstrate(page: Page, *, keep: bool) -> None:
    begun = time.perf_counter()
    page.title("tooltrue: the files tools over Streamable HTTP, and a client")
    with copied_sample() as folder:
        page.section("Start a server")
        started = time.perf_counter()
        async with served(folder) as running:
            page.command(running.words)
            await use(page, folder, running, started)
            show_hosts(page, running, keep=keep)
            if keep:
                await stay(page, running, folder)
            page.section("End")
            ending = time.perf_counter()
            await running.end()
            page.done("the server has ended", time.perf_counter() - ending)
    page.done(f"everything happened as it should, in {time.perf_counter() - begun:.1f} s")


@contextlib.contextmanager
def copied_sample() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tooltrue-demo-") as place:
        yield shutil.copytree(HERE / "sample", Path(place) / "garden")


async def use(page: Page, folder: Path, running: Running, started: float) -> None:
    asked: list[str] = []

    def agree(question: Elicitation) -> bool:
        asked.append(question.message)
        return True

    client = await connected(running, agree)
    try:
        page.done(f"it answers at {running.url}", time.perf_counter() - started)
        facts = client.facts
        page.note(f"{facts.name} {facts.version}, protocol revision {facts.revision}")
        demonstration = Demonstration(page, folder, client, asked)
        await demonstration.tools()
        await demonstration.listing()
        await demonstration.writing(await demonstration.reading())
        await demonstration.outside()
        await demonstration.wrong()
    finally:
        await client.close()


async def stay(page: Page, running: Running, folder: Path) -> None:
    """Until SIGINT or SIGTERM comes, or the server ends by itself, which it should not."""
    page.section("It stays")
    page.note(f"{running.url} serves {folder}")
    interrupted = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupted.set)
    page.note("Ctrl-C ends it and removes the folder.")
    waits = {asyncio.create_task(interrupted.wait()), asyncio.create_task(running.process.wait())}
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for task in waits:
        task.cancel()
    check(interrupted.is_set(), f"The server ended by itself, with {running.process.returncode}.")


def main() -> int:
    parser = argparse.ArgumentParser(description="Serve a sample folder over HTTP and use it as a model would.")
    parser.add_argument("--keep", action="store_true", help="leave the server running until Ctrl-C")
    options = parser.parse_args()
    page = Page(colours=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    try:
        check(TOOLTRUE.is_file(), f"There is no {TOOLTRUE.name} command beside {sys.executable}: install it first.")
        asyncio.run(demonstrate(page, keep=options.keep))
    except Failed as error:
        page.failure(f"The demonstration failed: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
