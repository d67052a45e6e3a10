"""`python bench/check_labels.py DATA…`: precision and recall of the rules of `tooltrue check` against labelled tools.

Precision is the share of the tools with a finding for which the label holds, recall the share of the tools for which
the label holds that have a finding. Labels marked as unsure count for neither. A rule is judged by whether it has a
finding for a tool, regardless of the position, each level separately; a tool counts once, at its worst finding. The
bounds are 95 % Wilson intervals.

The other samples were drawn by the errors and warnings of the rules; therefore they give no figures for hints, and
recall only from their randomly drawn tools. The exit code is 1 if the errors, the warnings or a rule of either miss
their aim.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from definitions import servers, shelf, table
from tooltrue.contract.digests import digest
from tooltrue_check.card import Level, cards
from tooltrue_check.findings import rules

LABELS = Path(__file__).parent / "labels"
FIRST, SECOND, FRESH, DESCRIBED = SAMPLES = "tools", "enriched", "fresh", "described"

AIMS: Mapping[Level, float] = {Level.ERROR: 0.98, Level.WARNING: 0.9}

# Rule → the labels with the same claim, in the first sample and in the others. Of two labels, either one suffices: a
# tool that asks to be preferred also praises itself. `no_effects` has no label: it claims more than
# `no_side_effects_told`, namely other changes and their reversibility.
CLAIMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "name_without_verb": (("name_not_verb_first",), ()),
    "vague_name": (("name_vague",), ("name_vague",)),
    "name_style": ((), ("name_other_style",)),
    "two_actions_in_name": (("several_actions",), ("several_actions",)),
    "no_description": (("no_purpose",), ("no_description",)),
    "only_its_name": ((), ("only_the_name",)),
    "vague_description": (("no_purpose",), ("no_purpose",)),
    "no_when": (("no_when_to_use",), ()),
    "no_limits": (("no_limits_or_not_when",), ()),
    "no_result": (("no_return_told",), ()),
    "hedge": (("hedge",), ()),
    "long_description": ((), ("text_cut_by_hosts",)),
    "promotion": (("promotional",), ("promotional", "prefers_itself")),
    "unknown_tool": (("refers_to_missing_tool",), ("refers_to_missing_tool",)),
    "placeholder": (("placeholder_text",), ("placeholder_text",)),
    "arguments_in_description": ((), ("parameters_in_tool_text",)),
    "same_description": ((), ("same_text_as_another",)),
    "no_parameter_text": (("some_parameter_undescribed",), ("some_parameter_undescribed",)),
    "parameter_only_its_name": (("some_parameter_text_says_nothing",), ("some_parameter_text_says_nothing",)),
    "no_unit": (("unit_missing",), ("unit_missing",)),
    "id_from_nowhere": (("id_source_missing",), ()),
    "unreadable_parameter": ((), ("parameter_name_unreadable",)),
    "many_actions": (("several_actions",), ("several_actions",)),
    "same_parameter_text": ((), ("two_parameters_one_text",)),
    "values_in_prose": (("values_in_prose_without_enum",), ("values_in_prose_without_enum",)),
    "text_format": (("format_missing",), ()),
    "no_bounds": ((), ("limit_only_in_prose",)),
    "vague_type": ((), ("type_missing",)),
    "default_in_prose": (("default_only_in_prose",), ("default_only_in_prose",)),
    "deep_arguments": (("too_nested",), ()),
    "wrapped_arguments": (("too_nested",), ()),
    "many_arguments": ((), ("too_many_parameters",)),
    "required_in_prose": (("required_contradiction",), ("required_contradiction",)),
    "undeclared_required": (("required_contradiction",), ("required_undeclared",)),
    "values_differ": (("text_contradicts_schema",), ()),
    "default_differs": (("text_contradicts_schema",), ("default_contradicts_schema",)),
    "unknown_name": (("text_contradicts_schema",), ("text_names_missing_parameter",)),
    "bad_default": ((), ("default_does_not_fit",)),
    "required_default": ((), ("required_with_default",)),
    "false_read_only": (("read_only_lie",), ()),
    "destructive_unmarked": (("destructive_without_hint",), ("destructive_without_hint",)),
    "closed_world": ((), ("closed_world_lie",)),
    "false_harmless": ((), ("harmless_lie",)),
    "same_name": ((), ("name_taken_twice",)),
    "annotation_type": ((), ("annotation_unreadable",)),
    "invalid_schema": ((), ("schema_invalid",)),
    "repeated": ((), ("value_stands_twice",)),
    "strange_keyword": ((), ("keyword_without_meaning",)),
    "hidden_orders": (("poisoned",), ("orders_to_model",)),
    "hidden_text": (("poisoned",), ()),
    "secret_orders": (("poisoned",), ("asks_for_secrets",)),
    "self_praise": (("poisoned",), ("prefers_itself",)),
    "other_servers": ((), ("speaks_of_other_server",)),
    "confusable": ((), ("hard_to_tell_from_another",)),
}

Answer = Literal["right", "wrong", "unsure"]


@dataclass(frozen=True)
class Labelled:
    name: str
    sample: str
    is_random: bool
    true: frozenset[str]
    unsure: frozenset[str]
    found: Mapping[str, Level]
    """Rule → the worst of what it finds."""

    def holds(self, rule: str) -> Answer | None:
        """The reader's label for a finding of this rule; `None` if the reader was not asked."""
        if self.sample == DESCRIBED and rule != "no_description":
            return None
        labels = CLAIMS[rule][self.sample != FIRST]
        if not labels:
            return None
        if not self.true.isdisjoint(labels):
            return "right"
        return "wrong" if self.unsure.isdisjoint(labels) else "unsure"

    def answer(self, rule: str, level: Level) -> Answer | None:
        """The label for a finding of this rule; `None` without a finding of this level or a label in the sample."""
        if self.found.get(rule) is not level or (level is Level.HINT and self.sample != FIRST):
            return None
        return self.holds(rule)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--sample", choices=SAMPLES, help="this one alone")
    parser.add_argument("--show", metavar="RULE", help="the tools in which this rule and the reader differ")
    options = parser.parse_args()
    tools = [tool for tool in _labelled(options.data) if options.sample in (None, tool.sample)]
    if options.show:
        _show(tools, options.show)
        return
    print(f"{len(tools)} labelled tools\n")
    head = ("rule", "finding", "right", "wrong", "unsure", "precision", "recall, first sample", "recall, at random")
    print(table(head, [*_lines(tools), *_together(tools)]))
    missed = list(_missed(tools))
    for line in missed:
        print(f"\nmisses its aim: {line}")
    sys.exit(bool(missed))


def _labelled(data: Iterable[Path]) -> Iterator[Labelled]:
    labels = {
        (row["digest"], row["server"]): (sample, row)
        for sample in SAMPLES
        for row in map(json.loads, (LABELS / f"{sample}.jsonl").read_text("utf-8").splitlines())
    }
    for server, tools in servers(sorted(data)):
        for tool in shelf(server, tools):
            sample, row = labels.pop((digest(dict(tool.definition)), server), ("", None))
            if row is not None:
                found: dict[str, Level] = {}
                for card, problems in rules():
                    levels = [problem.level or card.level for problem in problems(tool)]
                    if levels:
                        found[card.name] = max(levels, key=lambda level: level.rank)
                true, unsure = frozenset(row["true"]), frozenset(row["unsure"])
                yield Labelled(f"{server}: {tool.name}", sample, row.get("at_random", False), true, unsure, found)


def _lines(tools: list[Labelled]) -> Iterator[tuple[object, ...]]:
    for rule in cards():
        if rule not in CLAIMS:
            continue
        first = _recall([tool for tool in tools if tool.sample == FIRST], rule)
        random = _recall([tool for tool in tools if tool.is_random], rule)
        for level in Level:
            right, wrong, unsure = _counts(tools, [rule], level)
            if right or wrong or unsure:
                yield (
                    f"[{rule}](rules/{rule}.md)",
                    level.value,
                    right,
                    wrong,
                    unsure,
                    share(right, right + wrong),
                    first,
                    random,
                )


def _recall(tools: list[Labelled], rule: str) -> str:
    holding = [tool for tool in tools if tool.holds(rule) == "right"]
    return share(sum(rule in tool.found for tool in holding), len(holding))


def _together(tools: list[Labelled]) -> Iterator[tuple[object, ...]]:
    """All rules of a level: each finding of a rule in a tool counts once."""
    for level in Level:
        right, wrong, unsure = _counts(tools, CLAIMS, level)
        yield "all", level.value, right, wrong, unsure, share(right, right + wrong), "", ""


def _counts(tools: Iterable[Labelled], names: Iterable[str], level: Level) -> tuple[int, int, int]:
    answers = [tool.answer(name, level) for name in names for tool in tools]
    return answers.count("right"), answers.count("wrong"), answers.count("unsure")


def _missed(tools: list[Labelled]) -> Iterator[str]:
    """The levels and rules whose precision misses the aim; a rule without findings is not listed."""
    for level, aim in AIMS.items():
        for name, names in (("all", list(CLAIMS)), *((rule, [rule]) for rule in CLAIMS)):
            right, wrong, _ = _counts(tools, names, level)
            if right < aim * (right + wrong):
                yield f"{name}, {level.value}: {share(right, right + wrong)}"


def share(part: int, whole: int) -> str:
    """In percent, with the bounds; never better than it is."""
    if not whole:
        return "-"
    low, high = bounds(part, whole)
    percent = math.floor(100 * low), math.ceil(round(100 * high, 6))
    return f"{100 * part // whole} % ({percent[0]}–{percent[1]})"


def bounds(part: int, whole: int) -> tuple[float, float]:
    """Between which the share of all is, by Wilson, nineteen times of twenty."""
    spread = 1.96 / math.sqrt(whole)
    middle, wide = part / whole + spread**2 / 2, spread * math.sqrt(part / whole * (1 - part / whole) + spread**2 / 4)
    return (middle - wide) / (1 + spread**2), (middle + wide) / (1 + spread**2)


def _show(tools: list[Labelled], rule: str) -> None:
    for tool in tools:
        level, holds = tool.found.get(rule), tool.holds(rule)
        if level is None and holds == "right":
            print(f"missed  {tool.name}")
        elif level is not None and tool.answer(rule, level) == "wrong":
            print(f"wrong   {tool.name}  {level.value}")


if __name__ == "__main__":
    main()
