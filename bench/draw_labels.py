"""`python bench/draw_labels.py DATA… --sheet SHEET --key KEY`: draws tools to be labelled, by the findings of rules.

For each rule that finds errors or warnings, up to 20 tools in which it does (all, where they are 30 or fewer), at most
four a server; beside them 150 of all tools, at random. Labelled tools are left out. The sheet has the definitions
server by server, without the findings, so that the labelling is blind. The key maps each tool of the sheet to the rules
that it was drawn for, and is for the evaluation. A fixed seed gives the same draw as long as rules and labels are the
same.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from definitions import servers, shelf
from tooltrue.contract.digests import digest
from tooltrue.jsonrpc.messages import is_object
from tooltrue_check.card import Level
from tooltrue_check.findings import rules
from tooltrue_check.subject import Subject

LABELS = Path(__file__).parent / "labels"
MOST, FEW, A_SERVER = 20, 30, 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--sheet", required=True, type=Path)
    parser.add_argument("--key", required=True, type=Path)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--at-random", type=int, default=150, metavar="COUNT")
    parser.add_argument("--labelled", nargs="*", type=Path, default=sorted(LABELS.glob("*.jsonl")), metavar="LABELS")
    options = parser.parse_args()
    tools = _tools(sorted(options.data), options.labelled)
    drawn = _drawn(tools, options.at_random, random.Random(options.seed))
    by_server: dict[str, list[str]] = defaultdict(list)
    for name in drawn:
        by_server[tools[name].server].append(name)
    order = sorted(by_server)
    random.Random(options.seed).shuffle(order)
    key: list[dict[str, Any]] = []
    sheet: list[str] = []
    for server in order:
        sheet += ["", f"=== {server}", *_neighbours(tools[by_server[server][0]].shelf.subjects)]
        for name in sorted(by_server[server]):
            key.append({"digest": name, "server": server, "tool": tools[name].name, "for": sorted(drawn[name])})
            sheet += ["", f"[{len(key)}] {tools[name].name}", *_shown(tools[name].definition)]
    options.sheet.write_text("\n".join(sheet), "utf-8")
    options.key.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in key), "utf-8")
    print(f"{len(key)} tools of {len(order)} servers")


def _tools(data: Iterable[Path], labelled: Iterable[Path]) -> dict[str, Subject]:
    """Those without labels, by their digests; of a definition that several servers have, the first."""
    found: dict[str, Subject] = {}
    for server, listed in servers(data):
        for tool in shelf(server, listed):
            found.setdefault(digest(dict(tool.definition)), tool)
    for path in labelled:
        for line in path.read_text("utf-8").splitlines():
            found.pop(json.loads(line)["digest"], None)
    return found


def _drawn(tools: Mapping[str, Subject], at_random: int, chance: random.Random) -> dict[str, set[str]]:
    """Digest → the rules that the tool was drawn for; the empty set for a tool drawn only at random."""
    drawn: dict[str, set[str]] = {name: set() for name in chance.sample(sorted(tools), at_random)}
    for card, problems in rules():
        found = [
            name
            for name in sorted(tools)
            if any((problem.level or card.level) is not Level.HINT for problem in problems(tools[name]))
        ]
        chance.shuffle(found)
        count: Counter[str] = Counter()
        kept: list[str] = []
        for name in found:
            count[tools[name].server] += 1
            if count[tools[name].server] <= A_SERVER:
                kept.append(name)
        for name in kept[: FEW if len(kept) <= FEW else MOST]:
            drawn.setdefault(name, set()).add(card.name)
    return drawn


def _neighbours(tools: Iterable[Subject]) -> Iterator[str]:
    for tool in tools:
        text = str(tool.definition.get("description") or "-")
        yield f"  · {tool.name}: {' '.join(text.split())[:60]}"


def _shown(definition: Mapping[str, Any]) -> Iterator[str]:
    """All of a definition, with fewer brackets than JSON has."""
    rest = {name: value for name, value in definition.items() if name not in ("name", "description", "inputSchema")}
    yield f"TEXT: {definition.get('description')}"
    if rest:
        yield f"ELSE: {_json(rest)}"
    schema: Any = definition.get("inputSchema")
    properties = schema.get("properties") if is_object(schema) else None
    if not is_object(schema) or not is_object(properties):
        yield f"INPUT: {_json(schema)}"
        return
    # The sheet omits keywords that hundreds of tools have and that no rule checks.
    plain = {"type": "object", "additionalProperties": False, "$schema": "http://json-schema.org/draft-07/schema#"}
    left = {name: value for name, value in schema.items() if name != "properties" and plain.get(name) != value}
    if left:
        yield f"INPUT: {_json(left)}"
    for name, value in properties.items():
        yield f"  - {name} {_json(value)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
