"""`python bench/search_recall.py DATA…`: how well the search of a server with many tools finds the right one.

The questions are the sets of `tests/data/search`, which has the rules that select the definitions too. A question
counts if a right tool is among the first five. Exits with 1 if fewer are found than the project promises.
"""

import argparse
import asyncio
import hashlib
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from definitions import servers, table
from tooltrue import Client, Server, ToolSearch
from tooltrue.host.aliases import alias, marks
from tooltrue.jsonrpc.messages import encode
from tooltrue.tools.search.index import SearchIndex, search_text
from tooltrue.tools.search.query import search
from tooltrue.tools.search.token_estimate import estimated

QUESTIONS = Path(__file__).parent.parent / "tests/data/search"
PROMISED = {"en": 0.80, "zh": 0.70}
COUNT, FIRST = 1_000, 5

# The definitions of each set of questions: a part of them, in the order of the SHA-256 of a prefix and the server
SETS = {
    "queries": ("", slice(COUNT)),
    "held_out": ("", slice(COUNT, 2 * COUNT)),
    "second_held_out": ("", slice(-COUNT, None)),
    "third_held_out": ("third ", slice(COUNT)),
    "fourth_held_out": ("fourth ", slice(COUNT)),
    "fifth_held_out": ("fifth ", slice(COUNT)),
    "tuning": ("", slice(COUNT, 2 * COUNT)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--set", choices=SETS, default="queries", help="the set of questions")
    parser.add_argument("--rewritten", action="store_true", help="search as a model writes, not as its user")
    parser.add_argument("--completed", action="store_true", help="count the tools that were judged right afterwards")
    parser.add_argument("--missed", action="store_true", help="show the questions whose tool is not found")
    given = parser.parse_args()
    prefix, part = SETS[given.set]
    tools = sorted(distinct(given.data), key=lambda row: digest(f"{prefix}{row[0]}"))[part]
    mark_of = marks({server: None for server, _ in tools})
    names = [alias(mark_of[server], tool["name"]) for server, tool in tools]
    began = time.perf_counter()
    index = SearchIndex(
        search_text(name, tool.get("title"), tool["description"], tool["inputSchema"])
        for name, (_, tool) in zip(names, tools, strict=True)
    )
    built = time.perf_counter() - began
    ranks, took = defaultdict[str, list[int]](list), list[float]()
    saved = list[float]()
    tokens = [estimated(json.dumps(tool, ensure_ascii=False)) for _, tool in tools]
    three = asyncio.run(tokens_of_the_three())
    for question in map(json.loads, (QUESTIONS / f"{given.set}.jsonl").read_text("utf-8").splitlines()):
        query = question["rewritten" if given.rewritten else "query"]
        began = time.perf_counter()
        hits = [place for place, _ in search(index, query)]
        took.append(time.perf_counter() - began)
        labels = {*question["tools"], *(question.get("also", ()) if given.completed else ())}
        right = {place for place, (server, tool) in enumerate(tools) if f"{server}/{tool['name']}" in labels}
        if not right:
            raise SystemExit(f"no tool of {question['tools']} is among the definitions")
        rank = next((number for number, place in enumerate(hits, 1) if place in right), len(tools))
        ranks[question["language"]].append(rank)
        saved.append(1 - (three + sum(tokens[place] for place in hits[:FIRST])) / sum(tokens))
        if given.missed and rank > FIRST:
            print(rank, query, question["tools"], [names[place] for place in hits[:FIRST]])
    rows = [
        (name, len(found), *(f"{share(found, most):.2f}" for most in (1, FIRST, 10))) for name, found in ranks.items()
    ]
    print(table(["language", "questions", "first", "among 5", "among 10"], rows))
    print(f"{len(tools)} tools, {sum(tokens)} tokens of definitions")
    print(f"the three tools of a search and five definitions in their place save {100 * mean(saved):.1f} %")
    print(f"index: {1000 * built:.0f} ms; a search: {1000 * mean(took):.1f} ms, at most {1000 * max(took):.1f} ms")
    sys.exit(any(share(ranks[language], FIRST) < least for language, least in PROMISED.items()))


def distinct(data: Iterable[Path]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Each definition with a description that was not there before; the order knows no question."""
    seen = set[tuple[str, str]]()
    for server, tools in sorted(servers(data), key=lambda row: digest(row[0])):
        for tool in tools:
            key = tool["name"], tool.get("description") or ""
            if key[1].strip() and key not in seen:
                seen.add(key)
                yield server, tool


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


async def tokens_of_the_three() -> int:
    async with Client(Server("search", search=ToolSearch(always=True), audit=False)) as client:
        return sum(estimated(encode(tool).decode()) for tool in await client.list_tools())


def share(ranks: list[int], most: int) -> float:
    return sum(rank <= most for rank in ranks) / len(ranks)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
