"""`python bench/prevalence.py DATA…`: in how many real tools each rule of `tooltrue check` finds something.

Each server is checked by itself, or with `--together` beside all others, as by a host that has them all. A tool counts
once for a rule and once for each level of its findings; the last column counts all findings. The table is that of
docs/measured.md. The cards of the rules quote it, and tests/unit/check/test_labels.py compares them.
"""

import argparse
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from definitions import servers, shelf, table
from tooltrue_check.card import Card, Level
from tooltrue_check.findings import rules
from tooltrue_check.subject import Shelf, Subject


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path, help="JSON Lines, one server a line; gzipped or not")
    parser.add_argument("--together", action="store_true", help="all servers at one host")
    options = parser.parse_args()
    listed = list(servers(sorted(options.data)))
    subjects = [subject for server, tools in listed for subject in shelf(server, tools)]
    if options.together:
        host = Shelf()
        host.subjects.extend(Subject(one.server, one.definition, host) for one in subjects)
        subjects = host.subjects
    rows = sorted((_row(card, found, len(subjects)) for card, found in _found(subjects)), key=lambda row: -row[3])
    print(f"{len(subjects):,} tools of {len(listed)} servers\n")
    print(table(("rule", "code", "level", "tools", "%", *(level.value for level in Level), "findings"), rows))


def _found(subjects: Iterable[Subject]) -> list[tuple[Card, list[list[Level]]]]:
    """For each rule, the levels of its findings in each tool that has some."""
    found: dict[str, list[list[Level]]] = {card.name: [] for card, _ in rules()}
    for subject in subjects:
        for card, problems in rules():
            if levels := [problem.level or card.level for problem in problems(subject)]:
                found[card.name].append(levels)
    return [(card, found[card.name]) for card, _ in rules()]


def _row(card: Card, found: list[list[Level]], tools: int) -> tuple[str, str, str, int, str, *tuple[int, ...]]:
    levels = Counter(level for one in found for level in set(one))
    share = f"{100 * len(found) / tools:.2f}"
    findings = sum(map(len, found))
    link = f"[{card.name}](rules/{card.name}.md)"
    return (link, card.code, card.level.value, len(found), share, *(levels[level] for level in Level), findings)


if __name__ == "__main__":
    main()
