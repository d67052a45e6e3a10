"""The shop for tests that change it: one database for each engine and module, filled anew for each test."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from support.sql.engines import Database

__all__ = ["FreshShop", "fresh_shop", "shop_databases"]


class FreshShop(Protocol):
    def __call__(self, engine: str, more: tuple[str, ...] = ()) -> str:
        """The URL of the shop in ``engine``. ``more``: statements that are run in it first."""
        ...


@pytest.fixture(scope="module")
def shop_databases(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[[str], Database]]:
    """The databases of a module, one for each engine. Each is made when a test needs it."""
    from support.sql.engines import database_of  # noqa: PLC0415 - most tests load no driver of a database

    opened: dict[str, Database] = {}
    with ExitStack() as stack:

        def database(engine: str) -> Database:
            if engine not in opened:
                opened[engine] = stack.enter_context(database_of(engine, tmp_path_factory.mktemp(engine)))
            return opened[engine]

        yield database


@pytest.fixture
def fresh_shop(shop_databases: Callable[[str], Database], tmp_path: Path) -> Generator[FreshShop]:
    """The shop of an engine, once in a test, as no other test has changed it.

    A transaction that is rolled back cannot do this: the tools commit, in connections of their own, and the rights of
    their role are part of what is tested. So the tables are made anew and the role is a new one. The server and its
    database stay. A file is a copy of the module's.
    """
    with ExitStack() as stack:

        def filled(engine: str, more: tuple[str, ...] = ()) -> str:
            return stack.enter_context(shop_databases(engine)(tmp_path, more))

        yield filled
