"""A server with eight seeded bugs, one for each tool, and the code that the test kit must report for each."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from typing_extensions import TypedDict

from tooltrue import Server, ToolError

BUGS = {
    "find_file": "TT8306",  # its error gives away a path
    "save_note": "TT8161",  # it says that it is idempotent, and adds each time
    "search": "TT8165",  # it ignores its limit
    "price": "TT8134",  # its result breaks its own schema
    "report": "TT8401",  # it is slow
    "mean": "TT8134",  # it fails at an empty list
    "draw": "TT8163",  # it answers the same call in two ways
    "view_page": "TT8164",  # it declares the effect read, and changes the result of another tool
}


class Price(TypedDict):
    cents: int


@dataclass
class Clock:
    """The kit's clock. It moves when a slow tool runs, and not otherwise."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Shop:
    clock: Clock
    notes: list[str] = field(default_factory=list[str])
    views: int = 0
    turns: itertools.count[int] = field(default_factory=itertools.count)

    def find_file(self, name: str) -> str:
        """Find a file."""
        raise ToolError(f"There is no {name} in /srv/app/data/secrets.")

    def save_note(self, text: str) -> int:
        """Save a note, and say how many there are."""
        self.notes.append(text)
        return len(self.notes)

    def search(self, words: str, limit: int = 10) -> list[str]:
        """Search for words."""
        return [f"hit {number}" for number in range(50)]

    def price(self, tea: str) -> Price:
        """Tell the price of a tea."""
        return {"cents": "3.50"}  # pyright: ignore[reportReturnType] - the bug

    def report(self, days: int = 7) -> str:
        """Write a report."""
        self.clock.now += 2.0
        return f"{days} days"

    def mean(self, values: list[float]) -> float:
        """Tell the mean of numbers."""
        return sum(values) / len(values)

    def draw(self, count: int = 3) -> list[int]:
        """Draw numbers."""
        return [next(self.turns)]

    def view_page(self, page: str) -> str:
        """View a page."""
        self.views += 1
        return page

    def statistics(self) -> int:
        """Tell how many pages have been viewed."""
        return self.views


def seeded(clock: Clock) -> Server:
    server, shop = Server("seeded"), Shop(clock)
    for tool in (shop.find_file, shop.search, shop.price, shop.report, shop.mean, shop.draw, shop.view_page):
        server.add_tool(tool, effect="read")
    server.add_tool(shop.statistics, effect="read")
    server.add_tool(shop.save_note, effect="write", idempotent=True)
    return server
