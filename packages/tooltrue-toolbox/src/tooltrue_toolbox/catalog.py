"""The catalog tool: search products by words, with filters derived from the data.

The worked example of a tool over data. The index is SQLite's FTS5, in memory, built from a file of one product a line.
The schema comes from the data too: ``category`` is an enum of the existing categories, so that a model cannot ask for a
missing one. The text of a model never becomes a query of the engine: words are extracted from it, and each is quoted.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.tools.local import LocalToolset
from tooltrue.wording import REASON_LARGER_THAN, REASON_NOT_UTF8, Worded, sentence
from tooltrue_toolbox.database import SqliteStore
from tooltrue_toolbox.registration import settings_of, tool
from tooltrue_toolbox.wording import (
    CATALOG_CATEGORY_COUNT_INVALID,
    CATALOG_CURSOR_MISMATCH,
    CATALOG_FILE_UNREADABLE,
    CATALOG_FILTERS_EXCLUDE_ALL,
    CATALOG_PRICE_RANGE_EMPTY,
    CATALOG_PRODUCT_INVALID,
    CATALOG_QUERY_WITHOUT_WORDS,
    CATALOG_SEARCH_WITHOUT_MATCHES,
    DUPLICATE_PRODUCT_ID,
    LABEL_THE_SAMPLE,
)

__all__ = ["SAMPLE", "Catalog", "Product", "read_products", "toolset"]

SAMPLE: Final = files("tooltrue_toolbox").joinpath("samples/products.jsonl")
"""A shop of forty products, to try the tool with."""

_KIND: Final = 0x7477_0002
_MOST_CATEGORIES: Final = 100
_LARGEST_FILE: Final = 64 << 20
_PAGE: Final = 50
_WORDS: Final = 20
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS products (number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, name TEXT NOT NULL, "
    "category TEXT NOT NULL, description TEXT NOT NULL, cents INTEGER NOT NULL, stock INTEGER NOT NULL) STRICT",
    "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (name, category, description, "
    "tokenize = 'porter unicode61 remove_diacritics 2')",
)

# sort → the sort key of rows, smallest first; better matches have the smaller rank
_ORDERS: Final = {
    "relevance": "found.rank",
    "price_low": "products.cents",
    "price_high": "-products.cents",
    "name": "products.name",
}


class Product(BaseModel):
    """A line of a catalog file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, Field(min_length=1, max_length=64)]
    name: Annotated[str, Field(min_length=1, max_length=200)]
    category: Annotated[str, Field(min_length=1, max_length=64)]
    description: Annotated[str, Field(max_length=2000)] = ""
    price: Annotated[Decimal, Field(ge=0, le=1_000_000_000, decimal_places=2)]
    stock: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0


def read_products(text: str, source_name: str | Worded) -> Iterator[Product]:
    """The products of a file of JSON lines. ``ConfigurationError`` names the line that is wrong."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            try:
                yield Product.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, first["loc"]))
                raise ConfigurationError.of(
                    CATALOG_PRODUCT_INVALID,
                    file=source_name,
                    line=number,
                    problem=f"{place}: {first['msg']}" if place else first["msg"],
                ) from error


@dataclass(frozen=True, slots=True)
class _ProductSearch:
    """A search: the words as a query of the engine, the filters, and the order."""

    words: str
    filters: tuple[tuple[str, Any], ...]
    sort: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:12]

    def where(self, *more: str) -> tuple[str, list[Any]]:
        """The conditions, and the values of those that have one."""
        conditions = [*(condition for condition, _ in self.filters), *more]
        return " AND ".join(conditions) or "1", [value for _, value in self.filters]


class Catalog:
    """The tool over ``products``. ``ConfigurationError`` where two have one id, or if the number of categories is not
    from 1 to 100."""

    def __init__(self, products: Iterable[Product], *, currency: str = "USD") -> None:
        self.currency = currency
        self._store = SqliteStore(None, _KIND, _TABLES)
        with self._store.writing() as store:
            for number, product in enumerate(products, 1):
                if store.execute("SELECT 1 FROM products WHERE id = ?", (product.id,)).fetchone():
                    raise ConfigurationError.of(DUPLICATE_PRODUCT_ID, id=product.id)
                cents = int(product.price * 100)
                row = (number, product.id, product.name, product.category, product.description, cents, product.stock)
                store.execute("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                store.execute(
                    "INSERT INTO words (rowid, name, category, description) VALUES (?, ?, ?, ?)",
                    (number, *map(_spaced, (product.name, product.category, product.description))),
                )
            rows = store.execute("SELECT DISTINCT category FROM products ORDER BY category").fetchall()
        self.categories: tuple[str, ...] = tuple(row[0] for row in rows)
        if not 1 <= len(self.categories) <= _MOST_CATEGORIES:
            raise ConfigurationError.of(
                CATALOG_CATEGORY_COUNT_INVALID, count=len(self.categories), limit=_MOST_CATEGORIES
            )

    def close(self) -> None:
        self._store.close()

    @tool(
        title="Search products",
        description=(
            "Search the products of the catalog by words (按名称或类别在目录中搜索产品): price and stock of each.\n\n"
            "Use when the user looks for something to buy, or asks what it costs or whether it is in stock. Not for "
            "orders: nothing is bought. A long result comes in parts: while it has next_cursor, call again with it. "
            "Side effects: none. Limits: 20 words."
        ),
        effect="read",
        idempotent=True,
        examples=(
            {"query": "wireless headphones"},
            {"query": "jacket", "max_price": 100, "sort": "price_low", "in_stock": True},
        ),
    )
    def search_products(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The products that match arguments of :attr:`input_schema`, in the form of :attr:`output_schema`."""
        filters = tuple(_filters(arguments))
        words: list[str] = _WORD.findall(_plain(arguments["query"]))
        if not words:
            raise ToolError.of(CATALOG_QUERY_WITHOUT_WORDS)
        terms = [term for word in words[:_WORDS] for term in _terms(word)]
        searches = [_ProductSearch(joint.join(terms), filters, arguments["sort"]) for joint in (" AND ", " OR ")]
        return self._page(searches, arguments["limit"], arguments.get("cursor"))

    def _page(self, searches: Sequence[_ProductSearch], limit: int, cursor: str | None) -> dict[str, Any]:
        """One page of the products that match all words, or, if there are none, of those that match some."""
        with self._store.reading() as store:
            counts = [_count(store, search) for search in searches]
            which = 0 if counts[0] or not counts[1] else 1
            search = searches[which]
            rows = _rows(store, search, limit + 1, _after(cursor, search))
            without = 0 if counts[1] else _count(store, _ProductSearch(searches[1].words, (), search.sort))
        result: dict[str, Any] = {
            "products": [self._product(row) for row in rows[:limit]],
            "total": counts[which],
            "matched": "some words" if which else "all words",
        }
        if len(rows) > limit:
            key, last = rows[limit - 1][:2]
            result["next_cursor"] = _cursor(search, key, last)
        if not counts[1]:
            result["next_step"] = sentence(
                CATALOG_FILTERS_EXCLUDE_ALL if without else CATALOG_SEARCH_WITHOUT_MATCHES, "en", {"count": without}
            )
        return result

    def _product(self, row: tuple[Any, ...]) -> dict[str, Any]:
        _, id, name, category, description, cents, stock = row
        money = {"price": cents / 100, "currency": self.currency}
        return {"id": id, "name": name, "category": category, "description": description, **money, "stock": stock}

    @property
    def input_schema(self) -> dict[str, Any]:
        price = {"type": "number", "minimum": 0, "maximum": 1_000_000_000}
        return {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "Words to look for in names, categories and descriptions, e.g. "
                    "'wireless headphones' or '无线耳机'",
                    "minLength": 1,
                    "maxLength": 200,
                },
                "category": {"type": "string", "description": "Only products of it", "enum": list(self.categories)},
                "min_price": {**price, "description": f"Lowest price in {self.currency}"},
                "max_price": {**price, "description": f"Highest price in {self.currency}"},
                "in_stock": {
                    "type": "boolean",
                    "description": "true: only products that can be had now",
                    "default": False,
                },
                "sort": {
                    "type": "string",
                    "description": "relevance: best match first; price_low: cheapest first; price_high: dearest first",
                    "enum": list(_ORDERS),
                    "default": "relevance",
                },
                "limit": {
                    "type": "integer",
                    "description": "Most products to return",
                    "minimum": 1,
                    "maximum": _PAGE,
                    "default": 10,
                },
                "cursor": {
                    "type": "string",
                    "description": "next_cursor of the last result of the same search, to go on from there",
                    "maxLength": 1000,
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any]:
        text, count = {"type": "string"}, {"type": "integer", "minimum": 0}
        product = {
            "id": text,
            "name": text,
            "category": text,
            "description": text,
            "price": {"type": "number", "minimum": 0},
            "currency": text,
            "stock": {**count, "description": "How many there are; 0: sold out"},
        }
        return {
            "type": "object",
            "properties": {
                "products": {"type": "array", "items": _closed(product, list(product))},
                "total": {**count, "description": "How many products match, on all pages"},
                "matched": {
                    "enum": ["all words", "some words"],
                    "description": "some words: nothing has all words of the query, so these have at least one",
                },
                "next_cursor": {**text, "description": "There are more: search again with this as cursor"},
                "next_step": {**text, "description": "What to try when nothing was found"},
            },
            "required": ["products", "total", "matched"],
            "additionalProperties": False,
        }


def _closed(properties: dict[str, Any], needed: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def _filters(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if (category := arguments.get("category")) is not None:
        yield "products.category = ?", category
    if (low := arguments.get("min_price")) is not None:
        yield "products.cents >= ?", int((Decimal(str(low)) * 100).to_integral_value("ROUND_CEILING"))
    if (high := arguments.get("max_price")) is not None:
        if low is not None and low > high:
            raise ToolError.of(CATALOG_PRICE_RANGE_EMPTY)
        yield "products.cents <= ?", int((Decimal(str(high)) * 100).to_integral_value("ROUND_FLOOR"))
    if arguments["in_stock"]:
        yield "products.stock >= ?", 1


# -- words -------------------------------------------------------------------------------------------------------------

_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Characters of scripts that put no space between words."""
_WORD: Final = re.compile(r"[^\W_]+")
_RUN: Final = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_ONE: Final = re.compile(f"([{_UNSPACED}])")


def _plain(text: str) -> str:
    """The text with full-width letters and other compatibility characters normalized (NFKC)."""
    return unicodedata.normalize("NFKC", text)


def _spaced(text: str) -> str:
    """The text with each character of such a script as a word of its own, so that any part of a name can be found."""
    return _ONE.sub(r" \1 ", _plain(text))


def _terms(word: str) -> Iterator[str]:
    """The search terms for a word, always quoted: a prefix, or for such a script the characters side by side."""
    for run in _RUN.findall(word):
        yield f'"{" ".join(run)}"' if _ONE.match(run) else f'"{run}"*'


# -- pages -------------------------------------------------------------------------------------------------------------

_MATCHES_SQL: Final = (
    "WITH found AS MATERIALIZED (SELECT rowid, bm25(words, 10.0, 3.0, 1.0) AS rank FROM words WHERE words MATCH ?) "
)
_JOINED: Final = "FROM found JOIN products ON products.number = found.rowid"


def _count(store: Any, search: _ProductSearch) -> int:
    where, values = search.where()
    sql = f"{_MATCHES_SQL} SELECT count(*) {_JOINED} WHERE {where}"
    return store.execute(sql, (search.words, *values)).fetchone()[0]


def _rows(store: Any, search: _ProductSearch, limit: int, after: tuple[Any, str] | None) -> list[tuple[Any, ...]]:
    order = _ORDERS[search.sort]
    where, values = search.where(*([f"({order}, products.id) > (?, ?)"] if after else []))
    sql = (
        f"{_MATCHES_SQL} SELECT {order}, products.id, name, category, description, cents, stock {_JOINED} "
        f"WHERE {where} ORDER BY {order}, products.id LIMIT ?"
    )
    try:
        return store.execute(sql, (search.words, *values, *(after or ()), limit)).fetchall()
    except (OverflowError, UnicodeEncodeError) as error:  # a cursor that was made up
        raise ToolError.of(CATALOG_CURSOR_MISMATCH) from error


def _cursor(search: _ProductSearch, key: Any, last: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([search.digest, key, last]).encode()).decode("ascii")


def _after(cursor: str | None, search: _ProductSearch) -> tuple[Any, str] | None:
    """The place of the last product of the page before. ``ToolError`` for a cursor of another search."""
    if cursor is None:
        return None
    try:
        position: Any = json.loads(base64.urlsafe_b64decode(cursor))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise ToolError.of(CATALOG_CURSOR_MISMATCH) from error
    match position:
        case [search.digest, int() | float() | str() as key, str() as last]:
            return cast("Any", key), last
        case _:
            raise ToolError.of(CATALOG_CURSOR_MISMATCH)


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise ConfigurationError.of(
                CATALOG_FILE_UNREADABLE, file=str(path), problem=Worded(REASON_LARGER_THAN, {"limit": _LARGEST_FILE})
            )
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else Worded(REASON_NOT_UTF8, {})
        raise ConfigurationError.of(CATALOG_FILE_UNREADABLE, file=str(path), problem=problem) from error


def toolset(path: Path | None = None, *, currency: str = "USD") -> LocalToolset:
    """The catalog tool over a file of JSON lines, ready to be served; over the sample without one.

    ``ConfigurationError`` where the file cannot be read, or one of its lines is not a product.
    """
    text = SAMPLE.read_text("utf-8") if path is None else _text_of(path)
    catalog = Catalog(read_products(text, str(path) if path else Worded(LABEL_THE_SAMPLE, {})), currency=currency)
    tools = LocalToolset()
    tools.add_raw(
        "search_products",
        catalog.input_schema,
        catalog.search_products,
        output_schema=catalog.output_schema,
        **settings_of(catalog.search_products),
    )
    return tools
