"""`python bench/check_labels.py DATA…`: what the rules of `toolwright check` say of tools that a reader has labelled.

Precision is the share of the labelled tools in which a rule finds something where the label holds, recall the share of
those where it holds in which a rule finds something. What the reader was unsure of counts for neither. A rule is judged
by whether it finds something in a tool, not by where. The bounds are Wilson's, of 95 %.
"""

import argparse
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from definitions import servers, shelf, table
from toolwright.check.card import Level, cards
from toolwright.check.checking import rules
from toolwright.contract.contract import digest

LABELS = Path(__file__).parent / "labels" / "tools.jsonl"

# Label → the rules that claim the same. `no_effects` asks for more than `no_side_effects_told` does: what else is
# changed, and whether that can be undone.
CLAIMS: Mapping[str, tuple[str, ...]] = {
    "name_not_verb_first": ("name_without_verb",),
    "name_vague": ("vague_name",),
    "several_actions": ("many_actions", "two_actions_in_name"),
    "no_purpose": ("no_description", "vague_description"),
    "no_when_to_use": ("no_when",),
    "no_limits_or_not_when": ("no_limits",),
    "no_return_told": ("no_result",),
    "hedge": ("hedge",),
    "promotional": ("promotion",),
    "refers_to_missing_tool": ("unknown_tool",),
    "placeholder_text": ("placeholder",),
    "some_parameter_undescribed": ("no_parameter_text",),
    "some_parameter_text_says_nothing": ("parameter_only_its_name",),
    "unit_missing": ("no_unit",),
    "id_source_missing": ("id_from_nowhere",),
    "values_in_prose_without_enum": ("values_in_prose",),
    "format_missing": ("text_format",),
    "default_only_in_prose": ("default_in_prose",),
    "text_contradicts_schema": ("default_differs", "values_differ", "unknown_name"),
    "required_contradiction": ("required_in_prose", "undeclared_required"),
    "too_nested": ("deep_arguments", "wrapped_arguments"),
    "destructive_without_hint": ("destructive_unmarked",),
    "read_only_lie": ("false_read_only",),
    "poisoned": ("hidden_orders", "hidden_text", "secret_orders", "self_praise"),
}


@dataclass(frozen=True)
class Labelled:
    name: str
    true: frozenset[str]
    unsure: frozenset[str]
    found: Mapping[str, Level]
    """Rule → the worst of what it finds."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--show", metavar="LABEL", help="the tools in which rules and reader differ on it")
    options = parser.parse_args()
    tools = list(_labelled(options.data))
    if options.show:
        _show(tools, options.show)
        return
    print(f"{len(tools)} labelled tools\n")
    head = ("rule", "level", "label", "finds", "right", "wrong", "unsure", "precision", "of it", "recall")
    print(table(head, [*_lines(tools), *_together(tools)]))


def _labelled(data: Iterable[Path]) -> Iterator[Labelled]:
    labels = {row["digest"]: row for row in map(json.loads, LABELS.read_text("utf-8").splitlines())}
    for server, tools in servers(data):
        for tool in shelf(server, tools):
            row = labels.pop(digest(dict(tool.definition)), None)
            if row is not None:
                found: dict[str, Level] = {}
                for card, problems in rules():
                    levels = [problem.level or card.level for problem in problems(tool)]
                    if levels:
                        found[card.name] = max(levels, key=lambda level: level.rank)
                name = f"{server}: {tool.name}"
                yield Labelled(name, frozenset(row["true"]), frozenset(row["unsure"]), found)


def _lines(tools: list[Labelled]) -> Iterator[tuple[object, ...]]:
    for label, names in CLAIMS.items():
        for name in names:
            if name in cards():
                yield from _line(tools, label, [name], cards()[name].level.value, name)
        if len(names) > 1:
            yield from _line(tools, label, names, "", "any of these")


def _line(
    tools: list[Labelled], label: str, names: Iterable[str], level: str, title: str
) -> Iterator[tuple[object, ...]]:
    found = [tool for tool in tools if not tool.found.keys().isdisjoint(names)]
    right = sum(label in tool.true for tool in found)
    unsure = sum(label in tool.unsure for tool in found)
    wrong, every = len(found) - right - unsure, sum(label in tool.true for tool in tools)
    precision, recall = _share(right, right + wrong), _share(right, every)
    yield title, level, label, len(found), right, wrong, unsure, precision, every, recall


def _together(tools: list[Labelled]) -> Iterator[tuple[object, ...]]:
    """All rules of a level: each finding of a rule in a tool counts once."""
    for level in Level:
        claims = [(label, name) for label, names in CLAIMS.items() for name in names if cards()[name].level is level]
        found = [(tool, label) for label, name in claims for tool in tools if name in tool.found]
        right = sum(label in tool.true for tool, label in found)
        unsure = sum(label in tool.unsure for tool, label in found)
        wrong = len(found) - right - unsure
        yield "all", level.value, "", len(found), right, wrong, unsure, _share(right, right + wrong), "", ""


def _share(part: int, whole: int) -> str:
    if not whole:
        return "-"
    share, spread = part / whole, 1.96 / math.sqrt(whole)
    middle, wide = share + spread**2 / 2, spread * math.sqrt(share * (1 - share) + spread**2 / 4)
    low, high = ((middle + sign * wide) / (1 + spread**2) for sign in (-1, 1))
    return f"{100 * share:.0f} % ({100 * low:.0f}–{100 * high:.0f})"


def _show(tools: list[Labelled], label: str) -> None:
    names = CLAIMS[label]
    for tool in tools:
        found = sorted(tool.found.keys() & names)
        holds = label in tool.true
        if label not in tool.unsure and holds != bool(found):
            print(f"{'missed' if holds else 'wrong '}  {tool.name}  {', '.join(found)}")


if __name__ == "__main__":
    main()
