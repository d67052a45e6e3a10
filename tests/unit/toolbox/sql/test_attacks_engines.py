"""What the judge lets through of the generated attacks, run on all four engines by a role that has all rights.

The judge of statements is the only wall of PostgreSQL and MySQL here. No answer and no error has a secret in it, and
no table changes but the one that a change names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolwright.errors import ToolError
from toolwright.toolbox.sql.access import Access
from toolwright.toolbox.sql.engine import Session, engine_of
from toolwright.toolbox.sql.statement import change_of, query_of
from toolwright.toolbox.sql.values import SqlLimits
from unit.toolbox.sql.engines import ENGINES, shop
from unit.toolbox.sql.slots import SLOTS, attacks

SECRETS = ("zz-hidden-hash", "918273645")
MORE = (
    "UPDATE users SET password_hash = 'zz-hidden-hash'",
    "UPDATE ledger SET amount = 918273645",
)
HIDING = Access(writes=True, hidden=("ledger", "users.password*"), mighty_roles=True)
OPEN = Access(writes=True, mighty_roles=True)
ROWS = ("F01", "F02", "F03", "F12", "F13", "F14", "F17", "F18", "F19")


def told(session: Session, sql: str, dialect: Any, *, writes: bool) -> Iterator[str]:
    """All that a caller gets to read of ``sql``."""
    try:
        judge = change_of if writes else query_of
        statement = judge(sql, dialect, session.catalog())
        yield str(list(session.run(statement, dict.fromkeys(statement.names, "x"), 100).rows))
    except ToolError:
        return


def run_all(url: str, *, writes: bool) -> None:
    engine = engine_of(url, HIDING, SqlLimits(seconds=2.0))
    part = 1 if url.startswith("sqlite:") else 8
    for number, slot in list(enumerate(SLOTS))[::part]:
        for sql in attacks(slot, number, 1):
            session = engine.open(writes=writes)
            try:
                for text in told(session, sql, engine.dialect, writes=writes):
                    assert not any(secret in text for secret in SECRETS), sql
            except Exception as error:  # noqa: BLE001 - each engine has its own family
                worded = engine.worded(error)
                assert worded is not None, sql
                assert not any(secret in str(worded) for secret in SECRETS), sql
            finally:
                session.close()


@pytest.mark.attack(*ROWS)
@pytest.mark.parametrize("engine", ENGINES)
def test_f18_no_query_shows_what_is_hidden(engine: str, tmp_path: Path):
    with shop(engine, tmp_path, MORE) as url:
        run_all(url, writes=False)


@pytest.mark.attack(*ROWS)
@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgresql"])
def test_f18_no_change_touches_what_is_hidden(engine: str, tmp_path: Path):
    with shop(engine, tmp_path, MORE) as url:
        run_all(url, writes=True)
        for table, secret in (("ledger", SECRETS[1]), ("users", SECRETS[0])):
            session = engine_of(url, OPEN, SqlLimits()).open(writes=False)
            statement = query_of(f"SELECT * FROM {table}", _dialect(engine), session.catalog())
            assert secret in str(list(session.run(statement, {}, 10).rows))
            session.close()


def _dialect(engine: str) -> Any:
    return {"postgresql": "postgres"}.get(engine, engine)
