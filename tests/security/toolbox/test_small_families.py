"""Rows K as families: mails, expressions, values and searches, against the tools as a client calls them."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.variants import tried
from tooltrue import Client, RpcError, Server
from tooltrue.errors import ToolError
from tooltrue_toolbox.math import toolset as math_toolset
from tooltrue_toolbox.settings import Settings
from unit.toolbox.test_catalog import ids, search
from unit.toolbox.test_mail import MAIL, SENDER, Post, drafted, read, sent

# -- K01 to K04: mails -------------------------------------------------------------------------------------------------

BREAKS = [
    "\n",
    "\r",
    "\r\n",
    "\n\r",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\x85",
    "\u2028",
    "\u2029",
    "\0",
    "\r\n ",
    "\n\t",
]
HEADERS = [
    "Bcc: eve@evil.example",
    "To: eve@evil.example",
    "Content-Type: text/html",
    "\r\nbody",
    "From: ann@example.com",
]


@pytest.mark.attack("K01")
@pytest.mark.variants(len(BREAKS) * len(HEADERS))
def test_k01_no_line_break_in_a_subject_makes_a_header() -> None:
    for line_break, header in itertools.product(BREAKS, HEADERS):
        tried((line_break, header))
        with pytest.raises(ToolError):
            drafted(subject=f"a{line_break}{header}")


ALLOWED_NOT = [
    "eve@evil.example", "ann@example.com.evil.example", "ann@example.com@evil.example", "ann@examp1e.com",
    "ann@example.co",
    "ann@xample.com", "anne@example.com", "an@example.com", "ann@example.com.", "ann@.example.com", "ann@example..com",
    "ann@EXAMPLE.com.evil.example", "ann.@example.com", "ann..x@example.com", "ann@exa\u006dple.com\u200b",
    "\u0430nn@example.com",
    "ann@ex\u0430mple.com", "ann@\uff45xample.com", "ann@example\u3002com", "ann@xn--exmple-4nf.com",
    "ann(x)@example.com", "ann@example.com(x)",
    "ann@[127.0.0.1]", "ann@[IPv6:::1]", "ann@127.0.0.1", '"ann"@example.com', "ann\\@evil.example@example.com",
    "ann@example.com;eve@evil.example",
    "ann@example.com,eve@evil.example", "ann@example.com eve@evil.example", "ann@example.com\teve",
    "eve@evil.example?cc=ann@example.com",
    "mailto:ann@example.com", "<ann@example.com>", "ann@example.com>", "Ann <ann@example.com>",
    "=?utf-8?q?ann?=@example.com",
    "eve%evil.example@acme.example", "eve!x@acme.example", "evil.example!eve@acme.example",
    "eve@evil.example:ann@acme.example",
    "eve@sub.acme.example", "eve@acme.example.", "eve@acme.example.evil", "eve@notacme.example", "@acme.example", "@",
    "ann", "", " ann@example.com",
    "ann@example.com ", "ann @example.com", "-oQ/tmp@acme.example", "|sh@acme.example", "/dev/null@acme.example",
]  # fmt: skip


@pytest.mark.attack("K02")
@pytest.mark.variants(2 * len(ALLOWED_NOT))
def test_k02_no_spelling_of_an_address_gets_around_the_allow_list() -> None:
    passed: list[str] = []
    for address, field in itertools.product(ALLOWED_NOT, ("to", "cc")):
        tried((address, field))
        try:
            message = drafted(**{field: [address]})
        except ToolError:
            continue
        if f"{address}" not in (
            "-oQ/tmp@acme.example",
            "|sh@acme.example",
            "/dev/null@acme.example",
            "eve!x@acme.example",
        ):
            passed.append(f"{field}: {message[field]}")
        # Odd names of the allowed domain are its own; the server of mails gets them as they are.
    assert passed == []


ENDS = [
    "\r\n.\r\n",
    "\n.\n",
    "\r.\r",
    "\n.\r\n",
    "\r\n.\r",
    "\r\n.\n",
    "\r.\r\n",
    "\n\n.\n\n",
    "\x0b.\x0b",
    "\u2028.\u2028",
    "\x85.\x85",
]


@pytest.mark.attack("K03")
@pytest.mark.variants(22)
def test_k03_no_body_ends_its_mail_early() -> None:
    commands = [
        f"MAIL FROM:<{SENDER}>\r\nRCPT TO:<eve@evil.example>\r\nDATA\r\nSubject: two\r\n\r\nhello\r\n.\r\nQUIT",
        f"RSET\nMAIL FROM:<{SENDER}>\nRCPT TO:<eve@evil.example>\nDATA\nSubject: two\n\nhello\n.\n",
    ]
    for end, smuggled in itertools.product(ENDS, commands):
        tried((end, smuggled))
        post = Post()
        result, _ = sent(post, {**MAIL, "body": f"one{end}{smuggled}"})
        if result.is_error:  # refused as it stands
            assert post.taken == []
            continue
        [arrived] = post.mails()
        assert "RCPT TO:<eve@evil.example>" in arrived.get_content()
        assert post.taken[0].rcpt_tos == ["ann@example.com"]


NOT_A_YES: list[Any] = [
    None, False, {"answer": ""}, {"answer": "no"}, {"answer": "NO"}, {"answer": "yes"}, {"answer": "Once"},
    {"answer": "once "}, {"answer": None},
    {"answer": True}, {"answer": ["once"]}, {"Answer": "once"}, {"answers": "once"}, {"approved": True},
    {"answer": "always"}, {"answer": "allow"},
    {"answer": 1}, {"answer": {"answer": "once"}}, {"action": "accept"},
]  # fmt: skip


@pytest.mark.attack("K04")
@pytest.mark.variants(len(NOT_A_YES))
def test_k04_no_answer_but_a_yes_sends_a_mail() -> None:
    for answer in NOT_A_YES:
        tried(answer)
        post = Post()
        try:
            result, _ = sent(post, MAIL, says=lambda question, answer=answer: answer)
        except RpcError:
            pass  # an answer that does not fit the form is a fault of the client
        else:
            assert result.is_error, answer
        assert post.taken == [], answer


# -- K05, K06: expressions ---------------------------------------------------------------------------------------------

CODE = [
    "__import__('os').mkdir('PLACE')", "open('PLACE', 'w')", "().__class__.__bases__", "[1][0]", "1;2", "exec('1')",
    "eval('1')", "compile('1','','eval')",
    "globals()", "locals()", "vars()", "dir()", "getattr(1, 'real')", "(1).real", "1 .real", "abs.__self__",
    "abs.__call__(1)", "lambda: 1", "lambda x: x",
    "x := 1", "x = 1", "1 if 1 else 2", "[x for x in [1]]", "{1: 2}", "{1, 2}", "'a' * 9", '"a"', "f'{1}'", "b'a'",
    "...", "None", "True", "not 1", "1 and 2",
    "1 or 2", "1 == 1", "1 < 2", "1 in [1]", "*[1]", "**{}", "print(1)", "import os", "from os import *",
    "def f(): pass", "class A: pass", "@abs", "yield 1",
    "await 1", "raise 1", "assert 1", "del x", "while 1: 1", "`id`", "$(id)", "1 | 2", "1 & 2", "~1", "1 << 2",
    "1 >> 2", "0x10", "0b1", "0o7", "1_000", "1j",
    "math.sqrt(4)", "os.getcwd()", "abs(x=1)", "abs(*[1])", "max(key=abs)", "\\u0031", "1\\\n+1", "#", "1 # 2",
    "1\n2", "\x00", "abs\u200b(1)",
]  # fmt: skip


def calculated(expressions: list[str]) -> list[tuple[bool, str]]:
    async def conversation() -> list[tuple[bool, str]]:
        async with Client(Server("math", toolsets=[math_toolset()])) as client:
            results = [await client.call_tool("calculate", expression=one) for one in expressions]
            return [(one.is_error, one.text) for one in results]

    return asyncio.run(conversation())


@pytest.mark.attack("K05")
@pytest.mark.variants(len(CODE))
def test_k05_no_code_is_accepted_as_an_expression(tmp_path: Path) -> None:
    place = tmp_path / "ran"
    said = calculated([code.replace("PLACE", str(place)) for code in CODE])
    for code in CODE:
        tried(code)
    assert [code for code, (refused, _) in zip(CODE, said, strict=True) if not refused] == []
    assert not place.exists()


LARGE = [
    "9^9^9", "9^9^9^9", "10^10^10", "2^(2^64)", "(10^400)^400", "factorial(100000)", "factorial(10^9)",
    "factorial(factorial(20))", "1/3^99999", "exp(10^6)",
    "exp(exp(exp(10)))", "2^-(10^9)", "(1/3)^(10^7)", "10^400 * 10^400 * 10^4000", "((((9^9)^9)^9)^9)^9",
    "1e999999999", "1e-999999999", "9" * 5_000,
    "2^1000000000", "0.1^1000000000", "sqrt(10^100000)", "log(10^1000000)", "(2^100000)^(1/3)",
]  # fmt: skip


@pytest.mark.attack("K06")
@pytest.mark.variants(len(LARGE))
def test_k06_no_expression_fills_the_memory() -> None:
    """Each is an answer of some digits or a refusal; written out they would have up to 10^369693099 of them."""
    for expression, (_, text) in zip(LARGE, calculated(LARGE), strict=True):
        tried(expression[:80])
        assert len(text) < 20_000, expression[:80]


# -- K07: SQL in values and keys ---------------------------------------------------------------------------------------

SQL = [
    "'; DROP TABLE settings; --", "' OR '1'='1", "' OR 1=1 --", '" OR ""="', "1; DELETE FROM settings",
    "'); DELETE FROM settings; --", "%", "_", "%%", "a%' --",
    "' UNION SELECT 1, 2, 3 --", "\\'; DROP TABLE settings; --", "''", "'",
    '"', "`", "a'||'b", "?", "?1", ":key", "@key", "$key", "/* */", "--", "*", "a*", "[a-z]*",
    "\uff07 OR 1=1 --", "NULL", "x'00'", "' || (SELECT value FROM settings) || '", "a\0b", "ATTACH DATABASE 'x' AS y",
    "PRAGMA writable_schema=1", "!%", "\\%",
]  # fmt: skip


@pytest.fixture
def settings(tmp_path: Path) -> Generator[Settings]:
    with closing(Settings(tmp_path / "settings.db")) as opened:
        yield opened


@pytest.mark.attack("K07")
@pytest.mark.variants(4 * len(SQL))
def test_k07_no_value_key_or_prefix_is_sql(settings: Settings) -> None:
    settings.set_config("kept", "value")
    for number, text in enumerate(SQL):
        for place in ("value", "log", "prefix", "key"):
            tried((place, text))
        settings.set_config("a", text)
        assert settings.get_config("a")["value"] == text
        settings.add_log(text, idempotency_key=f"k{number}")
        assert settings.list_config(prefix=text)["settings"] == []
        try:
            settings.set_config(text, "mine")
        except ToolError as error:
            assert error.code  # noqa: PT017 - some are no keys
        else:
            assert settings.get_config(text)["value"] == "mine"
            settings.delete_config(text)
    assert settings.get_config("kept")["value"] == "value"
    assert [one["key"] for one in settings.list_config()["settings"]] == ["a", "kept"]


# -- K08: a search that is a query of the engine -----------------------------------------------------------------------

OPERATORS = [
    '"',
    '""',
    '"jacket',
    'jacket"',
    "jacket OR 1",
    "jacket AND down",
    "NOT jacket",
    "name:jacket",
    "name : jacket",
    "{name category}: jacket",
    "-name: jacket",
    "jacket*",
    "*",
    "jac*",
    "^jacket",
    "NEAR(jacket down)",
    "NEAR(jacket down, 5)",
    "jacket + down",
    "(jacket)",
    "((jacket",
    "jacket))",
    "a\x00b",
    "jacket;",
    "'; DROP TABLE x; --",
    "jacket NOT",
    "OR",
    "AND",
    "NOT",
    "NEAR",
    "category:C",
    "rowid:1",
    "rank",
    "jacket -down",
    "bm25(x)",
    "x MATCH y",
    "\\",
    "%",
    "_",
    "?",
]


@pytest.mark.attack("K08")
@pytest.mark.variants(len(OPERATORS))
def test_k08_no_operator_of_the_engine_is_more_than_a_word() -> None:
    for query in OPERATORS:
        tried(query)
        try:
            found = search(query)
        except ToolError as error:
            assert error.code == "TT6601", query  # noqa: PT017 - the one that is meant
            continue
        assert found["matched"] in ("all words", "some words"), query
    assert ids("NOT jacket") != []


def test_the_helpers_read_mails() -> None:
    """Not a row of the attack list: a draft parses as a mail."""
    assert read(drafted().as_bytes())["Subject"] == MAIL["subject"]
