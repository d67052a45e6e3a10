"""The library of the tutorial, as it stands at the end."""

import re
from typing import Annotated, Literal

from pydantic import Field

from tooltrue import Server, ToolError

server = Server("library", version="1.0")
books = {"978-0": "The tea road", "978-1": "Bread at home", "978-2": "A history of tea"}
loans: dict[str, str] = {}

Number = Annotated[str, "Number of the book, from find_books, e.g. '978-0'", Field(pattern=r"^978-[0-9]$")]


@server.tool(effect="read", examples=[{"words": "tea"}, {"words": "tea", "sort": "title", "limit": 1}])
def find_books(
    words: Annotated[str, "Words of the title, e.g. 'tea'", Field(min_length=1, max_length=100)],
    sort: Literal["number", "title"] = "number",
    limit: Annotated[int, "Most books to return", Field(ge=1, le=50)] = 10,
) -> dict[str, str]:
    """Find books by words of their titles (按书名查找图书).

    Use when the user looks for a book, or to find the number that other tools need. Not for who has a book: use
    get_loan. Side effects: none.
    """
    wanted = set(re.findall(r"\w+", words.lower()))
    found = {number: title for number, title in books.items() if wanted <= set(title.lower().split())}
    if not found:
        raise ToolError(f"No title has all of these words. Try fewer; there are {len(books)} books in all.")
    order = sorted(found, key=lambda number: found[number] if sort == "title" else number)
    return {number: found[number] for number in order[:limit]}


@server.tool(effect="read", examples=[{"number": "978-0"}])
def get_loan(number: Number) -> dict[str, str | None]:
    """Get who has borrowed a book (查询借阅).

    Use when the user asks whether a book is there. Side effects: none.
    """
    _check(number)
    return {"title": books[number], "reader": loans.get(number)}


@server.tool(effect="write", idempotent=True, examples=[{"number": "978-0", "reader": "Lin"}])
def lend_book(number: Number, reader: Annotated[str, "Who gets it", Field(min_length=1, max_length=80)]) -> str:
    """Lend a book to a reader (借出图书).

    Use when the user wants to borrow a book. Side effects: the book is noted as lent, until it is given back. Lending
    it to the same reader again changes nothing.
    """
    _check(number)
    if loans.setdefault(number, reader) != reader:
        raise ToolError(f"{books[number]!r} is lent to somebody else. Offer the user another book from find_books.")
    return f"{books[number]!r} is lent to {reader}. To give it back, use return_book."


@server.tool(
    effect="destructive", idempotent=True, preview=lambda arguments: books.get(arguments["number"], "No book.")
)
def remove_book(number: Number) -> str:
    """Remove a book from the library (下架图书).

    Use when the user says that a book is lost. Not for one that is given back. Side effects: the book is gone from the
    catalog for good; the user is asked first. Fails for a book that is lent.
    """
    _check(number)
    if number in loans:
        raise ToolError(f"{books[number]!r} is lent. Wait until it is given back, or tell the user.")
    return f"{books.pop(number)!r} is removed."


def _check(number: str) -> None:
    if number not in books:
        raise ToolError(f"There is no book {number}. find_books has the numbers; do not guess them.")


if __name__ == "__main__":
    server.run()
