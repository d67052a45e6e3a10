"""The generated attacks that the statement judge allows, run on all four engines by a role with all rights.

The statement judge is the only barrier of PostgreSQL and MySQL here. No result and no error contains a secret, and a
change affects only the table that it names.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from support.sql.engines import ENGINES, PATIENT, held_open
from support.sql.fresh_shops import FreshShop
from support.sql.slots import SLOTS, attacks
from tooltrue.errors import ToolError
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.catalog import SchemaCatalog
from tooltrue_toolbox.sql.engine import EngineSession, engine_of
from tooltrue_toolbox.sql.statement import change_of, query_of

SECRETS = ("zz-hidden-hash", "918273645")
MORE = (
    "UPDATE users SET password_hash = 'zz-hidden-hash'",
    "UPDATE ledger SET amount = 918273645",
)
HIDING = Access(writes=True, hidden=("ledger", "users.password*"), mighty_roles=True)
OPEN = Access(writes=True, mighty_roles=True)
ROWS = ("F01", "F02", "F03", "F12", "F13", "F14", "F17", "F18", "F19")


class Caller:
    """Asks one statement after the other, in a new session where the last one may have left something behind."""

    def __init__(self, url: str, *, writes: bool) -> None:
        self._engine = engine_of(url, HIDING, PATIENT)
        self._writes = writes
        self._session: EngineSession | None = None
        self._catalog: SchemaCatalog | None = None

    def told(self, sql: str) -> str:
        """All that a caller gets to read of ``sql``."""
        session, catalog = self._open()
        try:
            statement = (change_of if self._writes else query_of)(sql, self._engine.dialect, catalog)
        except ToolError as error:
            return str(error)
        try:
            found = str(list(session.run(statement, dict.fromkeys(statement.names, "x"), 100).rows))
        except Exception as error:  # noqa: BLE001 - each engine has its own family
            self.close()
            worded = error if isinstance(error, ToolError) else self._engine.tool_error(error)
            assert worded is not None, sql
            return str(worded)
        if self._writes:
            self.close()
        return found

    def _open(self) -> tuple[EngineSession, SchemaCatalog]:
        if self._session is None or self._catalog is None:
            self._session = self._engine.open(writes=self._writes)
            self._catalog = self._session.catalog()
        return self._session, self._catalog

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._session = self._catalog = None


def run_all(url: str, *, writes: bool) -> None:
    caller = Caller(url, writes=writes)
    part = 1 if url.startswith("sqlite:") else 8
    with closing(caller):
        for number, slot in list(enumerate(SLOTS))[::part]:
            for sql in attacks(slot, number, 1):
                text = caller.told(sql)
                assert not any(secret in text for secret in SECRETS), sql


@pytest.mark.attack(*ROWS)
@pytest.mark.parametrize("engine", ENGINES)
def test_f18_no_query_shows_hidden_data(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine, MORE)
    with held_open(url, HIDING):
        run_all(url, writes=False)


@pytest.mark.attack(*ROWS)
@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgresql"])
def test_f18_no_change_touches_hidden_data(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine, MORE)
    with held_open(url, HIDING, writes=True):
        run_all(url, writes=True)
    for table, secret in (("ledger", SECRETS[1]), ("users", SECRETS[0])):
        session = engine_of(url, OPEN, PATIENT).open(writes=False)
        statement = query_of(f"SELECT * FROM {table}", _dialect(engine), session.catalog())
        assert secret in str(list(session.run(statement, {}, 10).rows))
        session.close()


def _dialect(engine: str) -> Any:
    return {"postgresql": "postgres"}.get(engine, engine)
