"""Access to hidden data through visible data, each attempt on two databases that differ in the hidden data only.

Rows as values, joins without column names, errors with values, ordering and grouping, catalogues, plans, types, views,
keys, generated columns and triggers. The database role has all privileges.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from support.sql.engines import ENGINES
from support.sql.worlds import SECRETS, UNSAID, World, asked, worlds
from support.variants import tried

Pair = tuple[World, World]
KEYS = (
    "CREATE TABLE sealed (id integer PRIMARY KEY, zq_raw varchar(100), made varchar(100) {generated}, "
    "twice varchar(100) {again}, plain varchar(100))",
    "INSERT INTO sealed (id, zq_raw, plain) SELECT id, password_hash, name FROM users",
)
"""A table with columns that are made of a hidden one, themselves or by another."""
_STORED = ("GENERATED ALWAYS AS (upper(zq_raw)) STORED", "GENERATED ALWAYS AS (lower(zq_raw)) STORED")
_TELLS = (
    "CREATE FUNCTION zq_tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN CASE NEW.buyer "
    "WHEN 2 THEN RAISE EXCEPTION 'the note is %', (SELECT max(note) FROM public.ledger); "
    "WHEN 1 THEN PERFORM CAST((SELECT max(note) FROM public.ledger) AS integer); "
    "ELSE RAISE EXCEPTION USING ERRCODE = '23514', MESSAGE = (SELECT max(note) FROM public.ledger); END CASE; END $$",
    "CREATE TRIGGER zq_t BEFORE UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION zq_tell()",
)
_SIGNALS = (
    "CREATE TRIGGER zq_t BEFORE UPDATE ON audit FOR EACH ROW BEGIN DECLARE m varchar(100); "
    "SELECT max(note) INTO m FROM ledger; IF NEW.buyer = 2 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = m; "
    "ELSE SET NEW.entry = m; END IF; END",
)
MORE = {
    "sqlite": (
        *(text.format(generated=_STORED[0], again="GENERATED ALWAYS AS (made || '!') VIRTUAL") for text in KEYS),
        "CREATE TRIGGER zq_t BEFORE UPDATE ON audit BEGIN SELECT CASE WHEN EXISTS (SELECT 1 FROM ledger WHERE id = 1) "
        "THEN RAISE(ABORT, 'there is one') END; END",
    ),
    "duckdb": tuple(
        text.format(generated="GENERATED ALWAYS AS (upper(zq_raw))", again="GENERATED ALWAYS AS (lower(zq_raw))")
        for text in KEYS
    ),
    "postgresql": (
        *(text.format(generated=_STORED[0], again=_STORED[1]) for text in KEYS),
        *_TELLS,
        "CREATE DOMAIN zq_told AS integer CHECK (value < 0)",
    ),
    "mysql": (*(text.format(generated=_STORED[0], again="DEFAULT (lower(zq_raw))") for text in KEYS), *_SIGNALS),
}

EVERYWHERE = (
    "SELECT * FROM users",
    "SELECT u.* FROM users AS u",
    "SELECT users.* FROM users, orders",
    "SELECT * FROM users AS a JOIN users AS b ON a.id = b.id",
    "SELECT * FROM users NATURAL JOIN ledger",
    "SELECT a.id FROM users AS a NATURAL JOIN users AS b",
    "SELECT a.id FROM users AS a JOIN users AS b USING (password_hash)",
    "SELECT a.id FROM users AS a JOIN users AS b USING (zq_pin)",
    "SELECT o.id FROM orders AS o JOIN users AS u ON u.password_hash LIKE 'z%'",
    "SELECT id FROM users ORDER BY password_hash",
    "SELECT id FROM users ORDER BY 3",
    "SELECT id FROM users ORDER BY 4 DESC",
    "SELECT id FROM users GROUP BY id, password_hash",
    "SELECT count(*) FROM users GROUP BY password_hash HAVING max(password_hash) > 'z'",
    "SELECT CASE WHEN password_hash > 'z' THEN 1 ELSE 2 END FROM users",
    "SELECT max(password_hash) FROM users",
    "SELECT count(DISTINCT password_hash) FROM users",
    "SELECT row_number() OVER (ORDER BY password_hash), id FROM users",
    "SELECT CAST(password_hash AS integer) FROM users",
    "SELECT id FROM users WHERE password_hash IS NULL",
    "SELECT id FROM users WHERE EXISTS (SELECT 1 FROM ledger WHERE ledger.amount > users.id)",
    "SELECT id FROM users WHERE id IN (SELECT id FROM vault)",
    "SELECT (SELECT password_hash FROM users AS v WHERE v.id = u.id) FROM users AS u",
    "SELECT * FROM (SELECT * FROM users) AS x (a, b, c)",
    "SELECT x.c FROM (SELECT * FROM users) AS x (a, b, c)",
    "WITH x AS (SELECT * FROM users) SELECT password_hash FROM x",
    "WITH x (a, b, c) AS (SELECT * FROM users) SELECT c FROM x",
    "WITH ledger AS (SELECT * FROM ledger) SELECT * FROM ledger",
    "SELECT * FROM users UNION SELECT id, password_hash FROM users",
    "SELECT id, name FROM users UNION ALL SELECT id, note FROM ledger",
    "SELECT * FROM users EXCEPT SELECT * FROM zq_all",
    "SELECT * FROM zq_all",
    "SELECT * FROM notes",
    "SELECT count(*) FROM notes",
    "SELECT amount FROM notes",
    "SELECT notes.amount FROM notes",
    "SELECT CAST(note AS integer) FROM notes",
    "SELECT * FROM notes WHERE CAST(note AS integer) > 0",
    "SELECT max(note) FROM notes",
    "SELECT id FROM notes ORDER BY note",
    "EXPLAIN SELECT * FROM notes",
    "EXPLAIN SELECT * FROM orders WHERE id IN (SELECT id FROM notes)",
    "EXPLAIN WITH x AS (SELECT * FROM notes) SELECT * FROM x",
    "EXPLAIN ANALYZE SELECT * FROM notes",
    "EXPLAIN SELECT * FROM users WHERE name = 'Lin'",
    "EXPLAIN SELECT * FROM users AS a JOIN audit AS b ON b.buyer = a.id",
    "DESCRIBE users",
    "DESC users",
    "SHOW COLUMNS FROM users",
    "SHOW CREATE TABLE users",
    "PRAGMA table_info(users)",
    "SELECT * FROM pragma_table_info('users')",
    "SELECT * FROM information_schema.columns",
    "SELECT * FROM information_schema.tables",
    "SELECT column_name FROM information_schema.columns WHERE table_name = 'users'",
    "SELECT made FROM sealed",
    "SELECT twice FROM sealed",
    "SELECT * FROM sealed",
    "SELECT id FROM sealed WHERE made > 'Z'",
    "SELECT id FROM sealed ORDER BY twice",
)
QUERIES = {
    "sqlite": (
        "SELECT rowid, * FROM users",
        "SELECT json_group_array(json_object('a', u.id, 'b', u.name)) FROM users AS u",
        "SELECT json_group_array(u) FROM users AS u",
        'SELECT "password_hash" FROM users',
        "SELECT [password_hash] FROM users",
        "SELECT `password_hash` FROM users",
        "SELECT quote(users) FROM users",
        "SELECT * FROM users INDEXED BY sqlite_autoindex_users_1",
        "SELECT sql FROM sqlite_master",
        "SELECT * FROM sqlite_schema",
        "SELECT * FROM sqlite_stat1",
        "SELECT * FROM dbstat",
        "SELECT * FROM pragma_index_list('users')",
        "SELECT * FROM pragma_foreign_key_list('audit')",
        "EXPLAIN QUERY PLAN SELECT * FROM notes",
        "SELECT * FROM (notes, users)",
    ),
    "duckdb": (
        "SELECT users FROM users",
        "SELECT u FROM users AS u",
        "SELECT to_json(u) FROM users AS u",
        "SELECT u.password_hash FROM (SELECT users AS u FROM users)",
        "SELECT struct_extract(u, 'password_hash') FROM users AS u",
        "SELECT struct_extract(u, 3) FROM users AS u",
        "SELECT unnest(u) FROM users AS u",
        "SELECT row(u.*) FROM users AS u",
        "SELECT COLUMNS('pass.*') FROM users",
        "SELECT COLUMNS('.*') FROM users",
        "SELECT COLUMNS(*) FROM users",
        "SELECT COLUMNS(c -> c LIKE '%hash') FROM users",
        "SELECT max(COLUMNS(*)) FROM users",
        "SELECT * LIKE '%hash' FROM users",
        "SELECT * EXCLUDE (id) FROM users",
        "SELECT * EXCLUDE (password_hash) FROM users",
        "SELECT * REPLACE (password_hash AS name) FROM users",
        "SELECT * RENAME (password_hash AS h) FROM users",
        "SELECT users.* EXCLUDE (name) FROM users",
        "SUMMARIZE users",
        "SUMMARIZE SELECT * FROM users",
        "FROM users",
        "FROM users SELECT password_hash",
        "TABLE users",
        "PIVOT users ON password_hash",
        "UNPIVOT users ON password_hash, name",
        "SELECT * FROM users PIVOT (count(*) FOR password_hash IN ('zz-hash-of-one-1'))",
        "SELECT * FROM users UNPIVOT (v FOR k IN (name, password_hash))",
        "SELECT * FROM users POSITIONAL JOIN users",
        "SELECT * FROM users ASOF JOIN ledger ON users.id >= ledger.id",
        "SELECT histogram(password_hash) FROM users",
        "SELECT list(u) FROM users AS u",
        "SELECT hash(u) FROM users AS u",
        "SELECT arg_max(id, password_hash) FROM users",
        "SELECT arg_max(u, id) FROM users AS u",
        "SELECT approx_top_k(password_hash, 2) FROM users",
        "SELECT error(password_hash) FROM users",
        "SELECT * FROM query('FROM ledger')",
        "SELECT * FROM query_table('ledger')",
        "SELECT * FROM duckdb_columns()",
        "SELECT * FROM duckdb_tables()",
        "SELECT * FROM duckdb_constraints()",
        "SELECT * FROM pragma_storage_info('users')",
        "SELECT stats(password_hash) FROM users",
        "SHOW ALL TABLES",
        "SELECT id FROM users QUALIFY rank() OVER (ORDER BY password_hash) = 1",
        "SELECT id FROM users ORDER BY ALL",
        "SELECT DISTINCT ON (password_hash) id FROM users",
        "SELECT id FROM users USING SAMPLE 1",
        "SELECT getvariable('x'), current_setting('memory_limit')",
    ),
    "postgresql": (
        "SELECT users FROM users",
        "SELECT u FROM users AS u",
        "SELECT u::text FROM users AS u",
        "SELECT (u).password_hash FROM users AS u",
        "SELECT (u).* FROM users AS u",
        "SELECT u.password_hash::integer FROM users AS u",
        "SELECT row_to_json(u) FROM users AS u",
        "SELECT row_to_json(users) FROM users",
        "SELECT to_jsonb(u) FROM users AS u",
        "SELECT to_jsonb(u) ->> 'password_hash' FROM users AS u",
        "SELECT jsonb_object_keys(to_jsonb(u)) FROM users AS u",
        "SELECT k, v FROM users AS u, jsonb_each_text(to_jsonb(u)) AS t (k, v)",
        "SELECT json_agg(u) FROM users AS u",
        "SELECT array_agg(u) FROM users AS u",
        "SELECT md5(u::text) FROM users AS u",
        "SELECT hashtext(u::text) FROM users AS u",
        "SELECT num_nulls(u.*) FROM users AS u",
        "SELECT max(u) FROM users AS u",
        "SELECT id FROM users AS u ORDER BY u",
        "SELECT a.id FROM users AS a JOIN users AS b ON a = b",
        "SELECT ctid, xmin, tableoid FROM users",
        "SELECT id FROM users TABLESAMPLE system (50)",
        "SELECT DISTINCT ON (password_hash) id FROM users",
        "TABLE users",
        "TABLE ledger",
        "SELECT * FROM ONLY users",
        "SELECT query_to_xml('SELECT * FROM public.ledger', true, true, '')",
        "SELECT table_to_xml('public.ledger', true, true, '')",
        "SELECT table_to_xml_and_xmlschema('public.ledger', true, true, '')",
        "SELECT schema_to_xml('public', true, true, '')",
        "SELECT database_to_xml(true, true, '')",
        "SELECT cursor_to_xml('c', 1, true, true, '')",
        "SELECT xmlforest(u) FROM users AS u",
        "SELECT xmlelement(NAME a, u) FROM users AS u",
        "SELECT ts_stat('SELECT to_tsvector(note) FROM public.ledger')",
        "SELECT * FROM ts_stat('SELECT to_tsvector(note) FROM public.ledger')",
        "SELECT pg_catalog.pg_get_viewdef(16400)",
        "SELECT format('%s', u) FROM users AS u",
        "SELECT row_to_json(NULL::public.ledger)",
        "SELECT (NULL::public.ledger).*",
        "SELECT (NULL::public.users).*",
        "SELECT NULL::public._ledger",
        "SELECT CAST(NULL AS public.zq_child)",
        "SELECT (public.ledger 'x').amount",
        "SELECT json_populate_record(NULL::public.users, '{}')",
        "SELECT * FROM json_to_record('{}') AS t (a public.ledger)",
        "SELECT 1::public.zq_told",
        "SELECT i::regclass FROM generate_series(16384, 16500) AS t (i)",
        "SELECT i::pg_catalog.regclass FROM generate_series(16384, 16500) AS t (i)",
        "SELECT CAST('{16384,16385,16386,16390,16395,16400}' AS _regclass)",
        "SELECT CAST('{16384,16385,16386}' AS pg_catalog._regclass)",
        'SELECT 1259::"regclass"',
        "SELECT 'public.ledger'::regclass::oid",
        "SELECT 'public.ledger'::regtype",
        "SELECT 10::regrole, 2200::regnamespace",
        "SELECT has_table_privilege('public.ledger', 'SELECT')",
        "SELECT pg_relation_size('public.ledger')",
        "SELECT to_regclass('public.ledger')",
        "SELECT col_description(16384, 1)",
        "SELECT * FROM pg_catalog.pg_stats",
        "SELECT * FROM pg_stat_user_tables",
        "SELECT attname FROM pg_catalog.pg_attribute",
        "EXPLAIN (VERBOSE) SELECT * FROM notes",
        "EXPLAIN VERBOSE SELECT * FROM notes",
    ),
    "mysql": (
        "SELECT DEFAULT(password_hash) FROM users",
        "SELECT BINARY u.password_hash FROM users AS u",
        "SELECT GROUP_CONCAT(password_hash) FROM users",
        "SELECT JSON_ARRAYAGG(password_hash) FROM users",
        "SELECT JSON_OBJECTAGG(id, password_hash) FROM users",
        "SELECT EXTRACTVALUE(1, CONCAT('/', (SELECT password_hash FROM users LIMIT 1)))",
        "SELECT UPDATEXML(1, CONCAT('/', (SELECT max(note) FROM ledger)), 1)",
        "SELECT EXTRACTVALUE(1, CONCAT('/', (SELECT max(note) FROM notes)))",
        "SELECT * FROM users PROCEDURE ANALYSE()",
        "SELECT name INTO @x FROM users",
        "SELECT @x",
        "SELECT * FROM users USE INDEX (password_hash)",
        "SELECT * FROM users FORCE INDEX (password_hash)",
        "SELECT * FROM users FOR SYSTEM_TIME ALL",
        "SELECT id FROM users GROUP BY id WITH ROLLUP",
        "SELECT * FROM mysql.user",
        "SELECT * FROM mysql.innodb_table_stats",
        "SELECT * FROM performance_schema.events_statements_history",
        "SELECT ROW_COUNT(), FOUND_ROWS(), LAST_INSERT_ID()",
        "EXPLAIN EXTENDED SELECT * FROM notes",
        "EXPLAIN FORMAT=JSON SELECT * FROM notes",
        "ANALYZE FORMAT=JSON SELECT * FROM notes",
        "SHOW TABLE STATUS",
        "SHOW INDEX FROM users",
        "SHOW WARNINGS",
        "HANDLER users OPEN",
        "TABLE users",
        "SELECT exp(id * 1000) FROM notes",
        "SELECT note + 9223372036854775807 + 9223372036854775807 FROM notes",
    ),
}
CHANGES = (
    "INSERT INTO users (id, name) VALUES (1, 'x')",
    "INSERT INTO users (id, name, password_hash) VALUES (9, 'x', 'zz-hash-of-one-1')",
    "UPDATE users SET name = password_hash",
    "UPDATE users SET name = 'x' WHERE password_hash > 'z'",
    "DELETE FROM users WHERE password_hash > 'z'",
    "UPDATE orders SET state = (SELECT max(password_hash) FROM users)",
    "UPDATE orders SET state = (SELECT max(note) FROM ledger)",
    "UPDATE orders SET state = u.password_hash FROM users AS u WHERE u.id = orders.id",
    "UPDATE orders AS o JOIN users AS u ON u.id = o.id SET o.state = u.password_hash",
    "DELETE FROM orders USING users WHERE users.password_hash > 'z'",
    "DELETE FROM orders WHERE id IN (SELECT id FROM ledger)",
    "INSERT INTO orders (id, customer) SELECT id + 10, password_hash FROM users",
    "INSERT INTO orders (id, customer) SELECT id + 10, note FROM ledger",
    "INSERT INTO orders (id, customer) SELECT * FROM users",
    "INSERT INTO orders (id, customer) SELECT id + 10, note FROM notes",
    "INSERT INTO orders (id) SELECT CAST(note AS integer) FROM notes",
    "INSERT INTO orders (id, total) SELECT id + 10, count(*) FROM notes GROUP BY id",
    "INSERT INTO audit VALUES (5, 9, 1)",
    "UPDATE audit SET entry = 9",
    "UPDATE audit SET buyer = 2",
    "UPDATE audit SET buyer = 1",
    "UPDATE audit SET buyer = 3",
    "DELETE FROM orders WHERE id = 1",
    "DELETE FROM orders",
    "UPDATE orders SET id = 77 WHERE id = 1",
    "DELETE FROM orders RETURNING *",
    "UPDATE audit SET id = 8 RETURNING *",
    "INSERT INTO notes VALUES (1, 'x')",
    "INSERT INTO notes VALUES (9, 'x')",
    "UPDATE notes SET note = 'x' RETURNING *",
    "DELETE FROM notes",
    "DELETE FROM notes RETURNING *",
    "UPDATE orders AS o JOIN notes AS n ON n.id = o.id SET n.note = 'x'",
    "MERGE INTO orders AS o USING users AS u ON u.id = o.id WHEN MATCHED THEN UPDATE SET state = u.password_hash",
    "MERGE INTO orders AS o USING ledger AS l ON l.id = o.id WHEN MATCHED THEN DELETE",
    "MERGE INTO notes AS n USING orders AS o ON n.id = o.id WHEN NOT MATCHED THEN INSERT (id, note) VALUES (9, 'x')",
    "WITH d AS (DELETE FROM ledger RETURNING *) INSERT INTO orders (id) SELECT amount FROM d",
    "WITH d AS (DELETE FROM audit RETURNING *) INSERT INTO orders (id) VALUES (50)",
    "INSERT INTO orders (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET state = (SELECT max(note) FROM ledger)",
    "INSERT INTO sealed (id) VALUES (7) RETURNING made",
    "UPDATE sealed SET plain = made",
    "UPDATE orders SET state = (SELECT max(twice) FROM sealed)",
    "TRUNCATE orders",
    "TRUNCATE orders CASCADE",
    "DROP TABLE orders",
    "DROP TABLE orders CASCADE",
    "DROP TABLE audit, ledger",
    "DROP VIEW notes CASCADE",
    "ALTER TABLE orders DROP COLUMN id CASCADE",
    "ALTER TABLE users ADD COLUMN h varchar(100) GENERATED ALWAYS AS (password_hash) STORED",
    "ALTER TABLE users RENAME TO people",
    "ALTER TABLE users RENAME COLUMN password_hash TO h",
    "ALTER TABLE orders ADD CONSTRAINT c FOREIGN KEY (id) REFERENCES ledger (id)",
    "ALTER TABLE orders ADD CONSTRAINT c CHECK (id < (SELECT max(amount) FROM ledger))",
    "CREATE TABLE t AS SELECT * FROM ledger",
    "CREATE TABLE t AS SELECT password_hash FROM users",
    "CREATE TABLE t (a varchar(100) REFERENCES users (password_hash))",
    "CREATE TABLE t (a integer REFERENCES ledger (id))",
    "CREATE TABLE t (LIKE users INCLUDING ALL)",
    "CREATE TABLE t LIKE users",
    "CREATE TABLE t (a public.ledger)",
    "CREATE VIEW v AS SELECT * FROM ledger",
    "CREATE VIEW v AS SELECT password_hash FROM users",
    "CREATE INDEX i ON users (password_hash)",
    "CREATE UNIQUE INDEX i ON users (name) WHERE password_hash > 'z'",
)


@pytest.fixture(scope="module", params=ENGINES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Pair]:
    engine = request.param
    with worlds(engine, tmp_path_factory.mktemp(engine), more=MORE[engine]) as both:
        yield both


def check(pair: Pair, sql: str, *, writes: bool) -> None:
    one, other = asked(pair, sql, writes=writes)
    tried(sql)
    for told in (one, other):
        assert not any(secret.lower() in told.answer.lower() for said in SECRETS for secret in said), (sql, told.answer)
        assert UNSAID in sql or UNSAID not in told.answer, (sql, told.answer)
        assert "ledger" in sql or "ledger" not in told.answer, (sql, told.answer)
    assert one.answer == other.answer, sql


@pytest.mark.attack("F18")
@pytest.mark.variants(75)
def test_f18_no_query_bypasses_the_hiding_of_data(pair: Pair):
    for sql in EVERYWHERE + QUERIES[pair[0].engine]:
        check(pair, sql, writes=False)


@pytest.mark.attack("F18")
@pytest.mark.variants(60)
def test_f18_no_change_bypasses_the_hiding_of_data(pair: Pair):
    for sql in CHANGES:
        check(pair, sql, writes=True)


@pytest.mark.twin("F18")
def test_f18_twin_visible_data_is_readable_beside_hidden_data(pair: Pair):
    world = pair[0]
    for sql in (
        "SELECT id, name FROM users WHERE name = 'Lin' ORDER BY name",
        "SELECT plain FROM sealed ORDER BY plain",
        "SELECT a.name FROM users AS a JOIN audit AS b ON b.buyer = a.id",
        "SELECT count(*) FROM notes",
        "SELECT count(*) FROM paid",
        "EXPLAIN SELECT * FROM users",
    ):
        assert world.query(sql).ran, sql
    for sql in ("INSERT INTO orders (id, customer) VALUES (50, 'x')", "UPDATE orders SET state = 'x' WHERE id = 2"):
        assert world.change(sql).ran, sql
    duplicate = world.change("INSERT INTO orders (id) VALUES (2)").answer
    assert "constraint" in duplicate.lower()
