"""Two databases that differ in their hidden parts alone, and the answers of each to a caller.

Where the answers to one statement differ, they reveal the hidden parts: in a value, in a count, in an order, in an
error. The role has all rights, so the judge of statements stands alone where an engine has no guard of its own.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.sql.engines import PATIENT, owner_of, shop
from tooltrue.errors import ToolError
from tooltrue_toolbox.sql import Access, Database
from tooltrue_toolbox.sql.catalog import SchemaCatalog
from tooltrue_toolbox.sql.engine import Engine, EngineSession, StatementOutcome
from tooltrue_toolbox.sql.statement import Statement, change_of, query_of

__all__ = ["HIDING", "OPEN", "SECRETS", "UNSAID", "Told", "World", "asked", "worlds"]

HIDDEN = ("ledger", "vault", "users.password*", "users.zq_*", "sealed.zq_*", "zq_*")
NO_CONTEXT: Any = None  # these calls neither ask nor report
UNSAID = "zq_"
"""How the names of what is hidden begin that no statement of the tests has in it."""
HIDING = Access(writes=True, hidden=HIDDEN, mighty_roles=True)
OPEN = Access(writes=True, mighty_roles=True)
_TIMES = re.compile(r"time=\d+\.\d+\.\.\d+\.\d+|\b\d+\.\d+ ?m?s\b")  # of EXPLAIN ANALYZE

SECRETS = (("zz-hash-of-one", "918273645", "one-note"), ("yy-hash-of-two", "546372819", "two-note"))
"""A hash, an amount and a note: those of the one world, and those of the other."""

_SHOWN = (
    "CREATE TABLE audit (id integer PRIMARY KEY, entry integer, buyer integer, "
    "CONSTRAINT zq_entry FOREIGN KEY (entry) REFERENCES ledger(id), FOREIGN KEY (buyer) REFERENCES users(id))",
    "CREATE TABLE zq_child (id integer PRIMARY KEY, line integer, "
    "CONSTRAINT zq_line FOREIGN KEY (line) REFERENCES orders(id))",
    "CREATE VIEW notes AS SELECT id, note FROM ledger WHERE amount < 0",
    "CREATE VIEW zq_all AS SELECT * FROM ledger",
    "INSERT INTO audit VALUES (1, 1, 1)",
    "INSERT INTO zq_child VALUES (1, 1)",
)
_TABLES = ("orders", "users", "ledger", "vault", "audit", "zq_child")
_CREATED = re.compile(r"CREATE TABLE (\w+)")
_FINGERPRINTS = (
    "SELECT id, amount, note FROM {0}ledger ORDER BY id",
    "SELECT id, password_hash, zq_pin FROM {0}users ORDER BY id",
    "SELECT id, line FROM {0}zq_child ORDER BY id",
)


def _hidden(number: int) -> tuple[str, ...]:
    """The statements that make the hidden parts of one of the two worlds."""
    word, amount, note = SECRETS[number]
    return (
        "DELETE FROM users",
        "DELETE FROM ledger",
        "ALTER TABLE ledger ADD COLUMN note varchar(100)",
        "ALTER TABLE users ADD COLUMN zq_pin integer",
        f"INSERT INTO users VALUES (1, 'Lin', '{word}-{1 - number}', {amount}), (2, 'Ada', '{word}-{number}', 7)",
        f"INSERT INTO ledger VALUES (1, {amount}, '{note}'), (2, {number}, '{note}')",
        "CREATE TABLE vault (k integer, note varchar(100))",
        *(f"INSERT INTO vault VALUES ({amount}, '{note}')" for _ in range(number + 1)),
        *_SHOWN,
    )


@dataclass(frozen=True)
class Told:
    """``answer``: the caller's result; ``sent``: the statements for the engine; ``ran``: whether it ran them."""

    answer: str
    sent: tuple[Statement, ...] = ()
    ran: bool = False


@dataclass
class _Watched:
    """A session that records its statements and checks after each change that the hidden data is unchanged."""

    inner: EngineSession
    world: World

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def run(self, statement: Statement, values: Mapping[str, Any], most: int) -> StatementOutcome:
        self.world.sent.append(statement)
        outcome = self.inner.run(statement, values, most)
        self.world.ran = True
        if statement.kind == "change":
            seen = self.world.fingerprint(self.inner)
            assert seen == self.world.hidden, f"changed what is hidden: {statement.sql}"
        return outcome


@dataclass
class _Watching:
    """An engine whose sessions are watched."""

    inner: Engine
    world: World

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def open(self, *, writes: bool) -> Any:
        return _Watched(self.inner.open(writes=writes), self.world)


@dataclass
class World:
    engine: str
    url: str
    access: Access
    sent: list[Statement] = field(default_factory=list[Statement])
    ran: bool = False
    hidden: list[list[str]] = field(default_factory=list[list[str]])
    database: Database = field(init=False)
    dialect: Any = field(init=False)
    catalog: SchemaCatalog = field(init=False)
    _reader: EngineSession | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.database = Database(self.url, self.access, PATIENT)
        inside: Any = self.database
        engine: Any = _Watching(inside._engine, self)
        inside._engine = inside._runner._engine = engine
        self.dialect = engine.dialect
        session = engine.inner.open(writes=False)
        self.hidden = self.fingerprint(session)
        self.catalog = session.catalog()
        session.close()

    def refused(self, sql: str, *, writes: bool) -> str | None:
        """The error of the judge for a statement that does not reach an engine; ``None`` if the statement passes."""
        judge = change_of if writes else query_of
        try:
            judge(sql, self.dialect, self.catalog)
        except ToolError as error:
            return self._plain(str(error))
        return None

    def fingerprint(self, session: Any) -> list[list[str]]:
        home = "public." if self.engine == "postgresql" else ""
        return [self._raw(session, sql.format(home)) for sql in _FINGERPRINTS]

    def _raw(self, session: Any, sql: str) -> list[str]:
        """Rows past all walls."""
        db = session._db
        if self.engine == "sqlite":
            db.set_authorizer(None)
        if self.engine == "mysql":
            return [str(row) for row in session._all(sql)]
        return [str(row) for row in db.execute(sql).fetchall()]

    def query(self, sql: str, **more: Any) -> Told:
        if self.engine == "duckdb" and self._reader is None:  # so that no query has to open the file anew
            self._reader = self.database._engine.open(writes=False)  # pyright: ignore[reportPrivateUsage]
        return self._told(self.database.run_sql_query(NO_CONTEXT, sql, **more))

    def change(self, sql: str, **more: Any) -> Told:
        """The texts that a person and the caller read of a change, which is undone."""
        context: Any = None
        self.close()
        self.sent.clear()
        self.ran = False
        try:
            shown = asyncio.run(self.database.preview({"sql": sql, "dry_run": True, **more}))
        except ToolError as error:
            shown = str(error)
        told = self._told(self.database.execute_sql(context, sql, dry_run=True, **more))
        return Told(f"{shown}\n{told.answer}", told.sent, told.ran)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _told(self, call: Any) -> Told:
        self.sent.clear()
        self.ran = False
        try:
            answer = str(asyncio.run(call))
        except ToolError as error:
            answer = str(error)
        return Told(self._plain(answer), tuple(self.sent), self.ran)

    def _plain(self, answer: str) -> str:
        """Without times and the names of the databases and roles, which are by chance."""
        return _TIMES.sub("@", re.sub(r"tooltrue_[0-9a-f]*(?:\.\.\.)?", "@", answer))


def asked(pair: tuple[World, World], sql: str, *, writes: bool) -> tuple[Told, Told]:
    """The answers of both worlds. Where they differ, the statement is asked again; where one world then differs from
    itself, as by the time or chance, the answers count as the same."""
    one, other = (_ask(world, sql, writes=writes) for world in pair)
    if one.answer == other.answer:
        return one, other
    again, once_more = (_ask(world, sql, writes=writes) for world in pair)
    is_steady = one.answer == again.answer and other.answer == once_more.answer
    return (one, other) if is_steady else (one, one)


def _ask(world: World, sql: str, *, writes: bool) -> Told:
    refused = world.refused(sql, writes=writes)
    if refused is not None:
        return Told(refused)
    return world.change(sql) if writes else world.query(sql)


@contextmanager
def worlds(
    engine: str, folder: Path, access: Access = HIDING, more: tuple[str, ...] = ()
) -> Generator[tuple[World, World]]:
    """Both worlds, with more hidden in them, and more that leads to it, than the shop alone has. ``more``: statements
    that are run in both in the end."""
    with ExitStack() as stack:
        one, other = _made(stack, engine, folder, access, more)
        yield one, other


def _still(engine: str, tables: tuple[str, ...]) -> Iterator[str]:
    """The statements after which a server makes no new statistics of its tables on its own: plans are told to callers,
    and it would make those of one world before those of the other."""
    for table in tables:
        if engine == "postgresql":
            yield f"ALTER TABLE {table} SET (autovacuum_enabled = false)"
        if engine == "mysql":
            yield f"ALTER TABLE {table} STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0"
            yield f"ANALYZE TABLE {table}"


def _made(stack: ExitStack, engine: str, folder: Path, access: Access, more: tuple[str, ...]) -> Iterator[World]:
    for number in (0, 1):
        place = folder / f"{engine}-{number}"
        place.mkdir(parents=True)
        still = _still(engine, (*_TABLES, *(_CREATED.findall(" ".join(more)))))
        url = stack.enter_context(shop(engine, place, (*_hidden(number), *more, *still)))
        world = World(engine, owner_of(url), access)
        stack.callback(world.close)
        yield world
