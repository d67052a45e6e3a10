"""The attacks of ``rows.toml``, and the tests that see each of them blocked, and its benign twin pass.

``make security`` runs these tests and prints the table; it fails when one falls, is skipped, or names no row.

A row counts as blocked when at least ``ENOUGH`` variants of its attack are tried: each case of a parametrized test is
one, and a test marked ``variants(n)`` tries n (see ``support/variants.py``). How many there are is counted into
``tried.toml`` by ``make security-count``, for the page that states it; a test falls where there are fewer by now. A row
whose detection is heuristic states figures that ``recall.py`` measures instead, and one that is a single fixed
condition says which.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from security.recall import measure
from support.collected import Named, named_by, whole_suite

__all__ = ["ENOUGH", "Group", "Row", "Seen", "counted", "load", "recorded", "report", "rows_of", "state"]

FOLDER = Path(__file__).parent
ENOUGH = 20
"""So many variants make a family. Of fewer it is said that they were tried."""
TRIED = FOLDER / "tried.toml"
_NAMED = re.compile(r"test_(?P<id>[a-m][0-9]{2})_(?P<twin>twin_)?")


@dataclass(frozen=True, slots=True)
class Row:
    """An attack. ``later`` names the prerequisite of a missing test; ``heuristic`` names the measurement that gives its
    detection rate; ``single`` gives the reason why the attack is one fixed condition without a family."""

    id: str
    attack: str
    later: str | None = None
    heuristic: str | None = None
    single: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    rows: tuple[Row, ...]


def load() -> tuple[Group, ...]:
    said = tomllib.loads((FOLDER / "rows.toml").read_text())
    return tuple(
        Group(group["title"], tuple(Row(id, **row) for id, row in group["rows"].items())) for group in said.values()
    )


def rows_of(test: Named) -> tuple[frozenset[str], frozenset[str]]:
    """The attacks that a test sees blocked, and those whose twin it sees pass: by its name, and by its markers."""
    attacks, twins = set(test.markers["attack"]), set(test.markers["twin"])
    if named := _NAMED.match(test.name):
        id = named["id"].upper()
        if named["twin"] or id in twins:
            twins.add(id)
        else:
            attacks.add(id)
    return frozenset(attacks), frozenset(twins)


def counted(tests: Iterable[Named]) -> dict[str, int]:
    """How many variants of each attack these tests try."""
    counts: Counter[str] = Counter()
    for test in tests:
        if test.runs:
            counts.update(dict.fromkeys(rows_of(test)[0], test.variants))
    return dict(sorted(counts.items()))


def recorded() -> dict[str, int]:
    """The same, as it was when somebody counted last."""
    return tomllib.loads(TRIED.read_text())


def state(row: Row, count: int) -> str:
    """The claim for a row with this number of tried variants, provided that all of them fail."""
    if row.later is not None:
        return f"later: {row.later}"
    if row.heuristic is not None:
        return measure(row.heuristic).state()
    if row.single is not None:
        return f"single: {row.single}"
    return f"blocked ({count} variants)" if count >= ENOUGH else f"tried ({count})"


@dataclass(slots=True, eq=False)
class Seen:
    """A plugin: which tests belong to which rows, keeps only those, and how they ended."""

    attacks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    twins: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    passed: set[str] = field(default_factory=set[str])

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept: list[pytest.Item] = []
        self.counts = counted(map(named_by, items))
        for item in items:
            attacks, twins = rows_of(named_by(item))
            for ids, ties in ((attacks, self.attacks), (twins, self.twins)):
                for id in ids:
                    ties.setdefault(id, []).append(item.nodeid)
            if attacks or twins:
                kept.append(item)
        items[:] = kept

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)

    def held(self, ties: Mapping[str, list[str]], id: str) -> bool:
        return id in ties and all(test in self.passed for test in ties[id])


def report(groups: tuple[Group, ...], seen: Seen) -> Iterator[str]:
    for group in groups:
        yield group.title
        for row in group.rows:
            yield f"  {row.id}  {row.attack}: {_state(row, seen)}"
        yield ""
    blocked = sum(seen.held(seen.attacks, id) for id in seen.attacks)
    passed = sum(seen.held(seen.twins, id) for id in seen.twins)
    families = sum(count >= ENOUGH for count in seen.counts.values())
    yield f"held {blocked} of {len(seen.attacks)}, {families} by at least {ENOUGH} variants; " + (
        f"twins passed {passed} of {len(seen.twins)}"
    )


def _state(row: Row, seen: Seen) -> str:
    if row.id not in seen.attacks:
        return f"later: {row.later}" if row.later else "NOT TESTED"
    attack = state(row, seen.counts.get(row.id, 0)) if seen.held(seen.attacks, row.id) else "NOT BLOCKED"
    twin = "" if row.id not in seen.twins else ", twin passed" if seen.held(seen.twins, row.id) else ", TWIN REFUSED"
    return attack + twin


def count() -> int:
    """Writes how many variants the tests try."""
    head = "# How many variants of each attack the tests try. Made by `make security-count`; do not edit.\n\n"
    TRIED.write_text(head + "".join(f"{id} = {count}\n" for id, count in counted(whole_suite()).items()))
    return 0


def main() -> int:
    if sys.argv[1:] == ["--count"]:
        return count()
    groups, seen = load(), Seen()
    pytest.main(["-p", "no:cacheprovider", "-p", "no:randomly", str(FOLDER.parent), *sys.argv[1:]], plugins=[seen])
    print("\n".join(report(groups, seen)))
    fallen = [id for ties in (seen.attacks, seen.twins) for id in ties if not seen.held(ties, id)]
    open_rows = [row.id for group in groups for row in group.rows if row.id not in seen.attacks and not row.later]
    return 1 if fallen or open_rows else 0


if __name__ == "__main__":
    sys.exit(main())
