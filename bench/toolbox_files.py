"""The files tools beside other programs: a search of 100,000 files, reads and listings.

    python bench/toolbox_files.py [--files N] [--rg PATH] [--npm DIR]

``--rg`` is a ripgrep, where it is not on the path; ``--npm`` a folder in which
``npm install @modelcontextprotocol/server-filesystem`` was run. Missing programs are skipped. Figures are the best of
three, over a tree of its own that is in the cache.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tooltrue import Client

TIMES = 3
CALLS = 300


def tree(root: Path, files: int) -> None:
    """Directories of 100 files of about 1 kB; every thousandth file holds the word."""
    filler = "".join(f"line {n} of a file that is like many others\n" for n in range(22))
    for n in range(files):
        folder = root / f"d{n // 10_000:02}" / f"e{n // 100 % 100:02}"
        if n % 100 == 0:
            folder.mkdir(parents=True)
        (folder / f"f{n % 100:02}.txt").write_text(filler + ("the needle is here\n" if n % 1000 == 0 else ""))


def best(run: Callable[[], object]) -> float:
    took: list[float] = []
    for _ in range(TIMES):
        began = time.perf_counter()
        run()
        took.append(time.perf_counter() - began)
    return min(took)


def command(*words: str) -> Callable[[], object]:
    return lambda: subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def say(what: str, seconds: float, unit: str = "s") -> None:
    print(f"  {what:<44} {seconds * (1000 if unit == 'ms' else 1):8.2f} {unit}", flush=True)


def ours(root: Path) -> list[str]:
    program = Path(sys.executable).with_name("tooltrue")
    return [str(program), "serve", "files", "--root", str(root), "--access", "read"]


async def searches(root: Path) -> None:
    """Through the protocol, with every layer on."""
    async with Client(ours(root), timeout=120) as client:
        for what, arguments in (
            ("search_files, text", {"content": "needle"}),
            ("search_files, regular expression", {"content": r"needle\s+is", "regex": True}),
            ("search_files, names", {"name": "f99.*", "limit": 1000}),
        ):
            took: list[float] = []
            for _ in range(TIMES):
                began = time.perf_counter()
                result = await client.call_tool("search_files", arguments)
                assert not result.is_error, result.text
                took.append(time.perf_counter() - began)
            say(what, min(took))


async def calls(what: str, target: list[str], tool: str, arguments: dict[str, Any]) -> None:
    async with Client(target, timeout=60) as client:

        async def once() -> None:
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.text

        say(what, await each(once), "ms")


async def each(call: Callable[[], Awaitable[None]]) -> float:
    for _ in range(20):
        await call()
    began = time.perf_counter()
    for _ in range(CALLS):
        await call()
    return (time.perf_counter() - began) / CALLS


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--rg", default=shutil.which("rg"))
    parser.add_argument("--npm")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve()
        tree(root, said.files)
        print(f"a search of {said.files} files, {os.cpu_count()} cores")
        asyncio.run(searches(root))
        say("grep -rF", best(command("grep", "-rF", "needle", place)))
        if said.rg:
            say("ripgrep, a process each time", best(command(said.rg, "-F", "needle", place)))
            say("ripgrep, one thread, sorted", best(command(said.rg, "-j1", "--sort", "path", "-F", "needle", place)))
        print("a call over stdio")
        file, folder = "d00/e00/f00.txt", "d00/e00"
        asyncio.run(calls("tooltrue read_file, 1 kB", ours(root), "read_file", {"path": file}))
        asyncio.run(calls("tooltrue list_directory, 100 entries", ours(root), "list_directory", {"path": folder}))
        if said.npm:
            script = Path(said.npm, "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
            theirs = ["node", str(script), place]
            reading, listing = {"path": f"{place}/{file}"}, {"path": f"{place}/{folder}"}
            asyncio.run(calls("official server read_text_file, 1 kB", theirs, "read_text_file", reading))
            asyncio.run(calls("official server list_directory", theirs, "list_directory", listing))
            sizes = "list_directory_with_sizes"
            asyncio.run(calls(f"official server {sizes}", theirs, sizes, listing))


if __name__ == "__main__":
    main()
