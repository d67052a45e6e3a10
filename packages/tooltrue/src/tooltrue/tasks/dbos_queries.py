"""Queries of the tables of DBOS that its API does not have, on a pool of connections that fail at once."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import event
from sqlalchemy.exc import SQLAlchemyError

from tooltrue.tasks.dbos_checkpoints import REPORT
from tooltrue.tools.rounds import MAX_ROUNDS

__all__ = ["ASKS", "Queries"]

ASKS = '{"asks"'
"""How the stored end of a round begins that asks."""


class Queries:
    """The tables of one application of DBOS. ``path`` is the file of an SQLite database, and ``None`` for PostgreSQL.

    ``patience``: seconds to wait for the server and for locks. ``round`` is the name of the workflow of a round, and
    ``queue`` has the rows beside the rounds.
    """

    def __init__(
        self, url: str, path: Path | None, patience: float, *, application: str, round: str, queue: str
    ) -> None:
        self._names = {"application": application, "round": round, "queue": queue}
        self._schema = "dbos." if path is None else ""
        self.pool = _sqlite(url, patience) if path is not None else _postgresql(url, patience)

    def prepare(self) -> None:
        """Add the index of the open rounds of an owner to the tables of DBOS."""
        # Another process may create it at the same time, or be the only one that is permitted to.
        with contextlib.suppress(SQLAlchemyError), self.pool.begin() as db:
            db.execute(self._text(_INDEX))

    def open_rounds(self, owner: str, limit: int) -> int:
        """The number of rounds of an owner that are unfinished or have asked, counted up to ``limit``: at least as many
        as its open tasks. The index has these rounds and no others."""
        return self._rows(_OPEN_ROUNDS, owner=owner, limit=limit)[0][0]

    def open_tasks(self, owner: str, limit: int) -> int:
        """The number of tasks of an owner that have not ended, counted up to ``limit``."""
        return self._rows(_OPEN_TASKS, owner=owner, limit=limit)[0][0]

    def report(self, round: str) -> str:
        """The newest report of a round, as DBOS has serialized it; empty if there is none."""
        return next((value for (value,) in self._rows(_REPORT, id=round, key=REPORT)), "")

    def claim(self, id: str, executor: str, others: Collection[str]) -> bool:
        """Claim a row for an executor, unless one of the ``others`` has; return whether this succeeded."""
        query = self._text(_CLAIM).bindparams(sqlalchemy.bindparam("others", expanding=True))
        with self.pool.begin() as db:
            return db.execute(query, {"id": id, "executor": executor, "others": list(others)}).rowcount > 0

    def hand_back(self, id: str, executor: str, queue: str) -> None:
        """Put a round of this executor into a queue. That it had it does not count as an attempt to recover it."""
        with self.pool.begin() as db:
            db.execute(self._text(_HAND_BACK), {"id": id, "executor": executor, "queue": queue})

    def expired(self, milliseconds: int) -> list[str]:
        """The tasks with a round whose deadline has passed."""
        rows = self._rows(_EXPIRED, now=milliseconds)
        return sorted({id.rpartition("/")[0] for (id,) in rows})

    def newest(self, owner: str) -> list[str]:
        """All tasks, or those of one owner, the newest first."""
        return [id.rpartition("/")[0] for (id,) in self._rows(_NEWEST, owner=owner)]

    def starting(self, prefix: str) -> list[str]:
        """Up to two tasks whose ids begin with ``prefix``, which is hexadecimal."""
        return [id.rpartition("/")[0] for (id,) in self._rows(_STARTING, first=f"{prefix}%/0")]

    def applications(self) -> list[str]:
        """The applications that have tasks in this database, whatever application this is."""
        return [name for (name,) in self._rows(_APPLICATIONS)]

    def beside(self, tasks: Sequence[str]) -> list[str]:
        """The ids of the rows beside the rounds of these tasks."""
        return [id for (id,) in self._rows(_BESIDE, tasks=tasks)]

    def _rows(self, text: str, **values: Any) -> list[Any]:
        query = self._text(text)
        if "tasks" in values:
            query = query.bindparams(sqlalchemy.bindparam("tasks", expanding=True))
        names = {name: value for name, value in self._names.items() if f":{name}" in text}
        with self.pool.connect() as db:
            return list(db.execute(query, {**names, **values}))

    def _text(self, text: str) -> sqlalchemy.TextClause:
        return sqlalchemy.text(text.replace("{schema}", self._schema))


_UNFINISHED = "status IN ('PENDING', 'ENQUEUED', 'DELAYED')"
# SQLite has attributes that were never set as the JSON null, PostgreSQL as NULL.
_MAY_BE_OPEN = f"({_UNFINISHED} OR attributes <> 'null')"
_INDEX = f"""\
CREATE INDEX IF NOT EXISTS tooltrue_open ON {{schema}}workflow_status (authenticated_user, application_name)
WHERE {_MAY_BE_OPEN}"""
_OF_OWNER = f"""\
SELECT count(*) FROM (SELECT 1 FROM {{schema}}workflow_status s
WHERE authenticated_user = :owner AND application_name = :application AND {_MAY_BE_OPEN}"""
_OPEN_ROUNDS = f"{_OF_OWNER} LIMIT :limit) AS counted"
_STEM = "rtrim(s.workflow_uuid, '0123456789')"
_NEXT = f"{_STEM} || (CAST(substr(s.workflow_uuid, length({_STEM}) + 1) AS INTEGER) + 1)"
"""The id of the next round."""
_OPEN_TASKS = f"""\
{_OF_OWNER} AND name = :round AND ({_UNFINISHED} OR (
    status = 'SUCCESS' AND workflow_uuid NOT LIKE '%/{MAX_ROUNDS}'
    AND EXISTS (SELECT 1 FROM {{schema}}workflow_output o
                WHERE o.workflow_uuid = s.workflow_uuid AND substr(o.output, 1, {len(ASKS)}) = '{ASKS}')
    AND NOT EXISTS (SELECT 1 FROM {{schema}}workflow_status n WHERE n.workflow_uuid = {_NEXT})))
LIMIT :limit) AS counted"""
_REPORT = "SELECT value FROM {schema}workflow_events WHERE workflow_uuid = :id AND key = :key"
_CLAIM = """\
UPDATE {schema}workflow_status SET executor_id = :executor
WHERE workflow_uuid = :id AND coalesce(executor_id, '') NOT IN :others"""
_HAND_BACK = """\
UPDATE {schema}workflow_status
SET status = 'ENQUEUED', queue_name = :queue, executor_id = NULL, owner_xid = NULL, started_at_epoch_ms = NULL,
    recovery_attempts = CASE WHEN recovery_attempts > 0 THEN recovery_attempts - 1 ELSE 0 END
WHERE workflow_uuid = :id AND status = 'PENDING' AND executor_id = :executor"""
_EXPIRED = """\
SELECT workflow_uuid FROM {schema}workflow_status
WHERE workflow_deadline_epoch_ms <= :now AND application_name = :application AND name = :round"""
_NEWEST = """\
SELECT workflow_uuid FROM {schema}workflow_status
WHERE application_name = :application AND name = :round AND workflow_uuid LIKE '%/0'
AND (:owner = '' OR authenticated_user = :owner) ORDER BY created_at DESC, workflow_uuid"""
_STARTING = """\
SELECT workflow_uuid FROM {schema}workflow_status
WHERE application_name = :application AND name = :round AND workflow_uuid LIKE :first LIMIT 2"""
_APPLICATIONS = "SELECT DISTINCT application_name FROM {schema}workflow_status WHERE name = :round ORDER BY 1"
_BESIDE = """\
SELECT workflow_uuid FROM {schema}workflow_status
WHERE queue_name = :queue AND status = 'ENQUEUED' AND queue_partition_key IN :tasks"""


def _sqlite(url: str, patience: float) -> sqlalchemy.Engine:
    pool = sqlalchemy.create_engine(url, pool_size=4, connect_args={"timeout": patience})
    event.listen(pool, "connect", _as_dbos)
    with pool.connect() as db:
        db.execute(sqlalchemy.text("PRAGMA journal_mode=WAL"))  # stored in the file
    return pool


def _as_dbos(connection: Any, _: object) -> None:
    """Prepare a connection as DBOS prepares its own."""
    connection.isolation_level = "IMMEDIATE"
    connection.execute("PRAGMA foreign_keys=ON")


def _postgresql(url: str, patience: float) -> sqlalchemy.Engine:
    place = sqlalchemy.make_url(url).set(drivername="postgresql+psycopg")
    milliseconds = int(patience * 1000)
    limits: dict[str, Any] = {
        "connect_timeout": max(2, round(patience)),
        "tcp_user_timeout": milliseconds,
        "options": f"-c lock_timeout={milliseconds} -c statement_timeout={4 * milliseconds}",
    }
    own = {name: value for name, value in limits.items() if name not in place.query}
    return sqlalchemy.create_engine(place, pool_size=4, pool_pre_ping=True, connect_args=own)
