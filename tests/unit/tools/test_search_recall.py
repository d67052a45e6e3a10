"""The recall of the search, over definitions of this repository's own.

``bench/search_recall.py`` measures it over definitions of public servers, which are not part of the repository. Here
the right tools are stand-ins with texts written for this test, among tools that a grammar makes. They are found more
easily, so that more is demanded: this test notices a search that has become worse.
"""

from __future__ import annotations

import json
import re
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from tooltrue.tools.search.index import SearchIndex, SearchText
from tooltrue.tools.search.query import search

DATA = Path(__file__).parents[2] / "data/search"
COUNT = 1_000
VERBS = re.findall(r"\w+", "list get create update delete search export archive assign clone import validate")
NOUNS = re.findall(
    r"\w+",
    "account address agreement asset audit backup badge batch branch budget campaign carrier claim cluster "
    "comment contract coupon crew deal delivery device discount donation driver employee expense facility feature "
    "feed fleet forecast form gateway grant holiday incident inventory invoice key label lead ledger license loan "
    "locker machine meeting member membership metric milestone node offer order parcel partner patient payment "
    "permit pipeline plan policy portfolio position product project proposal quote receipt refund region release "
    "report reservation role room sample schedule segment sensor session shift shipment site sponsor stock survey "
    "task template ticket vehicle ",
)


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def tools() -> dict[str, SearchText]:
    own = {
        row["tool"]: SearchText(row["tool"].replace("/", "_"), description=row["description"])
        for row in rows("stand_ins.jsonl")
    }
    others = (
        SearchText(f"office_{verb}_{noun}", description=f"{verb.title()} a {noun} of the company.")
        for noun, verb in product(NOUNS, VERBS)
    )
    return own | {text.name: text for text in islice(others, COUNT - len(own))}


@pytest.mark.parametrize(("language", "least"), [("en", 0.95), ("zh", 0.97)])
def test_the_right_tool_is_among_the_first_five(tools: dict[str, SearchText], language: str, least: float):
    index, names = SearchIndex(tools.values()), list(tools)
    questions = [row for row in rows("queries.jsonl") if row["language"] == language]
    assert (len(names), len(questions) >= 40) == (COUNT, True)
    missed = [
        row["query"]
        for row in questions
        if {names[place] for place, _ in search(index, row["query"])[:5]}.isdisjoint(row["tools"])
    ]
    recall = 1 - len(missed) / len(questions)
    print(f"{language}: {recall:.2f} among the first five; missed: {missed}")
    assert recall >= least, missed
