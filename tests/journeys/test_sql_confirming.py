"""A served database over stdio, on each engine: the server executes exactly the change that the person approved."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from support.serving import command, environment
from support.sql.engines import ENGINES
from support.sql.fresh_shops import FreshShop
from support.variants import tried
from tooltrue import Client
from tooltrue.client.call_results import Result

pytestmark = pytest.mark.process

ESCAPES = (
    "UPDATE orders SET customer = lower(\"'pwned') --\" => 'y') WHERE id = 1",
    "UPDATE orders SET customer = lower(`'pwned') -- ` => 'y') WHERE id = 1",
    "UPDATE orders SET customer = lower(\"'pwned') --\" := 'y') WHERE id = 1",
    'UPDATE orders SET id = extract("year from now()) --" FROM current_date) WHERE id = 1',
    'UPDATE orders SET id = extract("year from now()) OR true; DELETE FROM users; SELECT extract(year" FROM now())',
    'UPDATE orders SET customer = \'x\' COLLATE "C"" --" WHERE id = 1',
    "UPDATE orders SET customer = CAST('x' AS \"text) --\") WHERE id = 1",
    'UPDATE orders SET id = 1 OPERATOR("pg_catalog.+) 1 --".+) 1 WHERE id = 1',
    "UPDATE orders SET customer = trim(\"BOTH 'a' FROM 'x') --\" 'a' FROM 'b') WHERE id = 1",
    "UPDATE orders SET customer = convert('x' USING `utf8mb4) -- `) WHERE id = 1",
    "UPDATE orders SET customer = 'x\\' -- ' WHERE id = 1",
    "UPDATE orders SET customer = 'pwned' /* WHERE */ -- WHERE id = 1",
    "UPDATE orders SET customer = 'pwned' -- ' WHERE id = 1",
    "UPDATE orders SET customer = 'pwned' # ' WHERE id = 1",
    "UPDATE orders SET customer = 'pwned' /*! OR */ WHERE id = 1",
    "UPDATE orders SET customer = 'pwned' WHERE id = 1 OR \"' OR true --\" = 1",
    "UPDATE orders SET customer = 'pwned' WHERE id = 1; UPDATE orders SET customer = 'all'",
    "UPDATE orders SET customer = $$pwned$$ WHERE id = 1",
    "UPDATE orders SET customer = E'\\' WHERE true -- ' WHERE id = 1",
    "UPDATE orders AS \"o SET customer = 'pwned' --\" SET customer = 'x' WHERE id = 1",
)
"""One row to whoever reads the condition, and all three to an engine that reads on behind a quote."""
CHANGES = (
    ("UPDATE orders SET state = 'sent' WHERE id = 1", "UPDATE of orders: 1 rows as of now.", 1),
    ("UPDATE orders SET state = 'gone' WHERE id > 0", "UPDATE of orders: 3 rows as of now.", 3),
    ("UPDATE orders SET state = 'back'", "UPDATE of orders: 3 rows as of now; no WHERE: EVERY row.", 3),
    ("UPDATE orders SET state = 'it''s; -- \"here\"' WHERE id = 2", "UPDATE of orders: 1 rows as of now.", 1),
    (
        "INSERT INTO orders (id, customer, state) SELECT id + 10, name, name FROM users",
        "INSERT of orders: 2 rows as of now.",
        2,
    ),
    ("INSERT INTO orders (id) VALUES (20), (21)", "INSERT of orders: 2 rows as of now.", 2),
    ("DELETE FROM orders WHERE id IN (1, 2)", "DELETE of orders: 2 rows as of now.", 2),
)


class Asked:
    """A person who approves every question, and the list of the questions."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def __call__(self, question: Any) -> bool:
        self.messages.append(question.message)
        return True

    def last(self) -> str:
        message = self.messages[-1]
        self.messages.clear()
        return message


async def rows(client: Client) -> dict[int, list[Any]]:
    sql = "SELECT id, customer, state FROM orders ORDER BY id"
    value: Any = (await client.call_tool("run_sql_query", {"sql": sql})).structured
    return {row[0]: row[1:] for row in value["rows"]}


def served(url: str, tmp_path: Path, asked: Asked) -> Client:
    serve = command("serve", "sql", "--database", url, "--access", "write", "--hide", "ledger", "--roles", "any")
    return Client(serve, env=environment(XDG_STATE_HOME=str(tmp_path / "state")), elicit=asked)


@pytest.mark.attack("F03", "F19")
@pytest.mark.variants(20)
@pytest.mark.parametrize("engine", ENGINES)
def test_f03_a_person_is_shown_the_rows_that_are_then_changed(
    engine: str, tmp_path: Path, fresh_shop: FreshShop
) -> None:
    asked = Asked()

    async def talk(url: str) -> None:
        async with served(url, tmp_path, asked) as client:
            for sql in ESCAPES:
                tried(sql)
                await check_escape(client, sql, asked)

    asyncio.run(talk(fresh_shop(engine)))


async def check_escape(client: Client, sql: str, asked: Asked) -> None:
    before = await rows(client)
    result = await client.call_tool("execute_sql", {"sql": sql})
    after = await rows(client)
    changed = len([id for id in before.keys() | after.keys() if before.get(id) != after.get(id)])
    if result.is_error:
        assert changed == 0, sql
        asked.messages.clear()
        return
    shown = re.search(r"(\d+) rows as of now", asked.last())
    assert shown is not None, sql
    assert changed <= int(shown[1]) == affected(result), sql


def affected(result: Result[Any]) -> int:
    value: Any = result.structured
    return value["affected"]


@pytest.mark.twin("F03", "F19")
@pytest.mark.parametrize("engine", ENGINES)
def test_f03_twin_rows_shown_are_rows_changed_and_the_statement_shown_is_the_one_that_runs(
    engine: str, tmp_path: Path, fresh_shop: FreshShop
) -> None:
    asked = Asked()

    async def talk(url: str) -> None:
        async with served(url, tmp_path, asked) as client:
            for sql, told, count in CHANGES:
                before = await rows(client)
                result = await client.call_tool("execute_sql", {"sql": sql})
                assert not result.is_error, result.text
                after = await rows(client)
                changed = [id for id in before.keys() | after.keys() if before.get(id) != after.get(id)]
                message = asked.last()
                assert message.endswith(told), message
                assert json.dumps(sql) in message
                assert (len(changed), affected(result)) == (count, count), sql

    asyncio.run(talk(fresh_shop(engine)))
