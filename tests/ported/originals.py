"""The servers of other people that examples/ported stands in for, and the calls that are recorded of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

Step = Mapping[str, Any]


@dataclass(frozen=True)
class Original:
    """A package of the index, pinned; which of its files hold what is ported; and the calls to record."""

    package: str
    version: str
    licence: str
    kind: str
    command: str
    files: tuple[str, ...]
    steps: tuple[Step, ...]
    beside: tuple[str, ...] = ()


def call(tool: str, compared: str = "value", varying: tuple[str, ...] = (), **arguments: Any) -> Step:
    """A call whose answer is compared as ``replaying.comparable`` says."""
    step: dict[str, Any] = {"call": tool, "arguments": arguments, "compared": compared}
    return step | ({"varying": list(varying)} if varying else {})


def in_words(step: Step) -> Step:
    """A step that fails, which the original tells in the words of an answer like any other."""
    return {**step, "in_words": True}


def differs(reason: str, step: Step) -> Step:
    """A step that ours answers otherwise on purpose."""
    return {**step, "differs": reason}


def read(uri: str, compared: str = "value", varying: tuple[str, ...] = ()) -> Step:
    """A read of a resource."""
    return {"read": uri, "compared": compared} | ({"varying": list(varying)} if varying else {})


def prompt(name: str, **arguments: str) -> Step:
    """A prompt, of which the roles of the messages are compared."""
    return {"prompt": name, "arguments": arguments, "compared": "words"}


SQLITE = Original(
    "mcp-server-sqlite",
    "2025.4.25",
    "MIT",
    "resources and prompts",
    "mcp-server-sqlite",
    ("mcp_server_sqlite/*.py",),
    (
        call("list_tables"),
        call(
            "create_table", "sentence", query="CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT NOT NULL, n INT)"
        ),
        call("list_tables"),
        call("describe_table", table_name="goods"),
        call("describe_table", table_name="no_such"),
        call("write_query", query="INSERT INTO goods (name, n) VALUES ('milk', 2), ('bread', 1), ('tea', NULL)"),
        call("read_query", query="SELECT * FROM goods ORDER BY id"),
        call("read_query", query="SELECT name, n * 1.5 AS more FROM goods WHERE n > 1"),
        call("read_query", query="SELECT * FROM goods WHERE id > 99"),
        call("write_query", query="UPDATE goods SET n = 7 WHERE name = 'tea'"),
        call("write_query", query="DELETE FROM goods WHERE n = 1"),
        call("read_query", query="SELECT count(*) AS left_over FROM goods"),
        call("read_query", query="DELETE FROM goods"),
        call("read_query", query="SELECT nothing FROM goods"),
        call("write_query", query="SELECT * FROM goods"),
        call("create_table", query="DROP TABLE goods"),
        call("read_query"),
        call("no_such_tool"),
        read("memo://insights", "words"),
        call("append_insight", "sentence", insight="Tea sells best on Mondays"),
        read("memo://insights", "words"),
        prompt("mcp-demo", topic="a tea shop"),
        prompt("mcp-demo"),
        prompt("no-such-prompt"),
        read("memo://nothing"),
    ),
    ("mcp<2",),
)


def _sum(text: str) -> str:
    return sha256(text.encode()).hexdigest()


_TEA = "café\nお茶\n\nrooibos\n"
_POEM, _LIST = "one\ntwo\nthree\nfour\nfive\n", "milk\nbread"
_POEM_2 = "one\nTWO\nthree\nfour\nFIVE\n"
_POEM_3 = _POEM_2 + "six\n"
_POEM_4 = _POEM_3.replace("three\n", "two and a half\nthree\n")
_POEM_5 = _POEM_4.replace("four\n", "four\nfour and a half\n")
_POEM_6 = "one\nTWO\nthree\nfour\nfour and a half\nFIVE\nsix\n"
_P, _L, _NEW = "/FOLDER/poem.txt", "/FOLDER/list.txt", "/FOLDER/new.txt"


def _read(*files: tuple[str, list[tuple[int, int | None]]], **more: Any) -> Step:
    asked = [
        {"file_path": path, "ranges": [{"start": start, "end": end} for start, end in ranges]} for path, ranges in files
    ]
    return call("get_text_file_contents", files=asked, **more)


def _patch(start: int, end: int | None, old: str, new: str) -> dict[str, Any]:
    return {"start": start, "end": end, "range_hash": _sum(old), "contents": new}


EDITOR = Original(
    "mcp-text-editor",
    "1.2.2",
    "MIT",
    "files",
    "mcp-text-editor",
    ("mcp_text_editor/**/*.py",),
    (
        _read((_P, [(1, None)])),
        _read((_P, [(2, 3), (5, 5)]), (_L, [(1, 1), (2, None)])),
        _read((_P, [(4, 99)])),
        _read((_P, [(99, None)])),
        differs("Other encodings are read.", _read(("/FOLDER/paris.txt", [(1, None)]), encoding="latin-1")),
        _read(("/FOLDER/paris.txt", [(1, None)])),
        _read(("/FOLDER/none.txt", [(1, None)])),
        _read(("poem.txt", [(1, None)])),
        call(
            "patch_text_file_contents",
            file_path=_P,
            file_hash=_sum(_POEM),
            patches=[_patch(2, 2, "two\n", "TWO\n"), _patch(5, 5, "five\n", "FIVE\n")],
        ),
        _read((_P, [(1, None)])),
        call(
            "patch_text_file_contents",
            file_path=_P,
            file_hash=_sum(_POEM),
            patches=[_patch(2, 2, "TWO\n", "2\n")],
        ),
        call(
            "patch_text_file_contents",
            file_path=_P,
            file_hash=_sum(_POEM_2),
            patches=[_patch(2, 2, "two\n", "2\n")],
        ),
        call(
            "patch_text_file_contents",
            file_path=_P,
            file_hash=_sum(_POEM_2),
            patches=[_patch(1, 2, "one\nTWO\n", "1\n"), _patch(2, 3, "TWO\nthree\n", "2\n")],
        ),
        call("append_text_file_contents", file_path=_P, file_hash=_sum(_POEM_2), contents="six\n"),
        call("append_text_file_contents", file_path=_P, file_hash=_sum(_POEM_2), contents="seven\n"),
        call(
            "insert_text_file_contents",
            file_path=_P,
            file_hash=_sum(_POEM_3),
            contents="two and a half\n",
            before=3,
        ),
        call("insert_text_file_contents", file_path=_P, file_hash=_sum(_POEM_4), contents="four and a half\n", after=5),
        call("insert_text_file_contents", file_path=_P, file_hash=_sum(_POEM), contents="x\n", after=5),
        call(
            "insert_text_file_contents",
            file_path=_P,
            file_hash=_sum(_POEM_5),
            contents="x\n",
            before=1,
            after=5,
        ),
        call(
            "delete_text_file_contents",
            file_path=_P,
            file_hash=_sum(_POEM_5),
            ranges=[{"start": 3, "end": 3, "range_hash": _sum("two and a half\n")}],
        ),
        _read((_P, [(1, None)])),
        call(
            "delete_text_file_contents",
            file_path=_P,
            file_hash=_sum(_POEM_6),
            ranges=[{"start": 1, "end": 1, "range_hash": _sum("two\n")}],
        ),
        call("create_text_file", file_path=_NEW, contents="new\n"),
        call("create_text_file", file_path=_NEW, contents="newer\n"),
        _read((_NEW, [(1, None)])),
        call("append_text_file_contents", file_path=_L, file_hash=_sum(_LIST), contents="tea"),
        _read((_L, [(1, None)])),
        _read(("/FOLDER/tea.txt", [(1, 2), (2, 2)])),
        differs("Other encodings are read.", _read(("/FOLDER/tokyo.txt", [(1, None)]), encoding="shift_jis")),
        call(
            "patch_text_file_contents",
            file_path="/FOLDER/tea.txt",
            file_hash=_sum(_TEA),
            patches=[_patch(1, 1, "café\n", "coffee")],
        ),
        _read(("/FOLDER/tea.txt", [(1, None)])),
        call("insert_text_file_contents", file_path=_NEW, file_hash=_sum("new\n"), contents="first", before=1),
        _read((_NEW, [(1, None)])),
        call(
            "patch_text_file_contents",
            file_path=_L,
            file_hash=_sum(_LIST + "tea\n"),
            patches=[_patch(1, None, _LIST + "tea\n", "nothing\n")],
        ),
        _read((_L, [(1, None)])),
    ),
)

TIMER = Original(
    "mcp-timer",
    "0.2.2",
    "MIT",
    "long-running work with progress",
    "mcp-timer",
    ("mcp_timer/*.py",),
    (
        call("wait_until", "sentence", target_time="SOON"),
        in_words(call("wait_until", target_time="2020-01-01 00:00:00")),
        in_words(call("wait_until", target_time="five o'clock")),
        call("wait", "sentence", seconds=1),
        call("wait", "sentence", seconds=0),
        differs("A wait of less than no time is refused.", call("wait", "sentence", seconds=-1)),
        call("wait"),
        call("countdown", "sentence", seconds=3, interval=1),
        call("countdown", "sentence", seconds=3, interval=2),
        call("countdown", "sentence", seconds=1),
        in_words(call("countdown", seconds=-1)),
        differs("An interval of no time is refused.", call("countdown", "sentence", seconds=2, interval=0)),
        call("timeout_guard", "sentence", seconds=1, message="The build takes too long"),
        call("timeout_guard", "sentence", seconds=1),
        in_words(call("timeout_guard", seconds=-1)),
        call("cron_wait", "sentence", expression="* * * * *"),
        in_words(call("cron_wait", "sentence", expression="0 0 1 1 *", timeout_seconds=1)),
        in_words(call("cron_wait", expression="every day")),
        in_words(call("cron_wait", expression="61 * * * *")),
        call("timestamp", "digits"),
        call("timestamp", "digits", fmt="unix"),
        call("timestamp", "digits", fmt="date"),
        call("timestamp", "digits", fmt="time"),
        differs(
            "The answer is the time alone.", call("timestamp", "digits", fmt="%Y/%m/%d %H:%M", offset_seconds=-86400)
        ),
        call("timestamp", "digits", fmt="%d.%m.%Y"),
        call("timestamp", fmt="no directive"),
    ),
)


def _ask(tool: str, **arguments: Any) -> Step:
    return call(tool, varying=("timestamp", "service", "version"), **arguments)


PROMETHEUS = Original(
    "prometheus-mcp-server",
    "1.6.2",
    "MIT",
    "HTTP API with a token",
    "prometheus-mcp-server",
    ("prometheus_mcp_server/*.py",),
    (
        _ask("health_check"),
        call("execute_query", varying=("title",), query="up", time="1767225600"),
        call("execute_query", varying=("title",), query="up"),
        call("execute_query", query="sum(("),
        call("execute_query"),
        call("execute_range_query", varying=("title",), query="up", start="1767225600", end="1767225660", step="15s"),
        call("execute_range_query", query="up", start="1767225600", end="1767225660"),
        call("execute_range_query", query="sum((", start="1767225600", end="1767225660", step="15s"),
        call("list_metrics"),
        call("list_metrics", limit=2),
        call("list_metrics", limit=2, offset=3),
        call("list_metrics", filter_pattern="TOTAL"),
        call("list_metrics", filter_pattern="nothing"),
        call("list_metrics", offset=9),
        call("get_metric_metadata", metric="up"),
        differs("No metadata is an empty list.", call("get_metric_metadata", metric="nothing")),
        call("get_metric_metadata"),
        call("get_metric_metadata", limit=1, offset=1),
        call("get_metric_metadata", filter_pattern="requests"),
        call("get_targets"),
        call("get_targets", state="any"),
        call("get_targets", state="dropped"),
        call("get_targets", scrape_pool="shop"),
        call("get_targets", limit=1, offset=1),
        call("get_targets", state="broken"),
    ),
)


def _sql(sql: str, **arguments: Any) -> Step:
    return call("execute_sql", varying=("duration_ms",), sql=sql, **arguments)


def _natural(query: str) -> Step:
    return call("natural_language_query", varying=("duration_ms", "sql", "rows", "row_count"), query=query)


def _history(**arguments: Any) -> Step:
    varying = ("timestamp", "execution_time_ms", "row_count", "query_text", "error_message", "db_identifier")
    return call("get_query_history", varying=varying, **arguments)


def _explain(sql: str, **arguments: Any) -> Step:
    return call("explain_query", varying=("plan",), sql=sql, **arguments)


POSTGRES = Original(
    "mapeg-postgres-mcp",
    "2.0.0",
    "MIT",
    "database with a lifespan",
    "mapeg-postgres-mcp",
    ("mcp_server_postgres/*.py",),
    (
        _sql("SELECT id, name, born FROM authors ORDER BY id"),
        _sql("SELECT id, price, cover FROM books ORDER BY id", limit=2),
        _sql("SELECT count(*) AS n, avg(price) AS mean FROM books LIMIT 5"),
        _sql("SELECT title FROM books WHERE id > 99"),
        _sql("SELECT true AS yes, 1.5::float8 AS half, ARRAY[1, 2] AS list, '{\"a\": 1}'::jsonb AS object"),
        _sql("WITH cheap AS (SELECT * FROM books WHERE price < 10) SELECT title FROM cheap"),
        _sql("SELECT nothing FROM books"),
        _sql("SELEC 1"),
        _sql(""),
        _sql("SELECT 1", limit=0),
        _sql("INSERT INTO authors VALUES (3, 'Edsger', '1930-05-11')"),
        _sql("UPDATE authors SET name = 'Grace Hopper' WHERE id = 2"),
        _sql("INSERT INTO authors VALUES (4, 'Barbara', NULL) RETURNING id, name"),
        _sql("DELETE FROM authors WHERE id > 2"),
        _sql("DELETE FROM authors"),
        _sql("SELECT name FROM authors ORDER BY id"),
        _sql("CREATE TABLE shelves (id integer)"),
        _sql("DROP TABLE shelves"),
        call("describe_table", varying=("size",), table_name="books"),
        call("describe_table", varying=("size",), table_name="public.authors"),
        call("describe_table", table_name="nothing"),
        call("smart_query", question="Which books are dear?"),
        _explain("SELECT * FROM books"),
        differs(
            "The plan is JSON, not the representation of Python.",
            call("explain_query", sql="SELECT * FROM books", format="json"),
        ),
        _explain("SELECT * FROM books", format="xml"),
        _explain("SELECT * FROM books", analyze=True),
        _explain("DELETE FROM books", analyze=True),
        _explain("SELECT nothing FROM books"),
        _natural("show all tables"),
        differs("The question is answered; the original answers with the tables.", _natural("list users")),
        differs("The question is answered; the original answers with the tables.", _natural("list schemas")),
        differs("The question is answered; the original answers with the tables.", _natural("show database info")),
        call("natural_language_query", query="who is the best author?"),
        read("postgresql://tables", varying=("owner",)),
        read("postgresql://schema"),
        read("postgresql://stats", varying=("user", "version")),
        read("postgresql://table/public/books", varying=("size",)),
        read("postgresql://table/public/nothing"),
        _sql("CREATE FUNCTION forget() RETURNS integer LANGUAGE sql AS 'DELETE FROM books WHERE id = 2; SELECT 1'"),
        _sql("SELECT forget()"),
        _sql("WITH gone AS (DELETE FROM books WHERE id = 3 RETURNING title) SELECT title FROM gone"),
        prompt("analyze_table", table_name="books"),
        prompt("optimize_query", sql="SELECT * FROM books"),
        prompt("optimize_query"),
        _history(limit=3),
        differs("A plan that failed is in the history too.", _history(status="error", limit=2)),
    ),
)

ORIGINALS = {
    "sqlite_memo": SQLITE,
    "text_editor": EDITOR,
    "timer": TIMER,
    "prometheus": PROMETHEUS,
    "postgres": POSTGRES,
}
