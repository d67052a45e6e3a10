"""Personal data: detection, false positives, and running time."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.growth import grows_in_proportion
from support.variants import tried
from tooltrue import Client, ConfigurationError, DefinitionError, Server, ToolError
from tooltrue.policy.sanitize.prescan import prescan
from tooltrue.policy.sanitize.redactor import CLEANED, Redactor
from tooltrue.protocol.types import PromptMessage

# All of these are fictitious: the issuers' own example numbers, and an id that belongs to no person.
PERSONAL = {
    "email": ["jo.smith@mail.acme.co.uk", "o'x 王小明<wang_xm+a@126.com>", "mailto:ann@acme.org", "a@b.museum"],
    "card": ["4111 1111 1111 1111", "4242424242424242", "5500-0000-0000-0004", "378282246310005", "3782 822463 10005"],
    "resident-id": ["11010519491231002X", "身份证11010519491231002x。"],
    "phone": [
        *("+49 30 901820", "+1 (415) 555-0123", "+8613812345678", "13812345678", "138 1234 5678"),
        *("电话:010-62345678", "(415) 555-0123", "415-555-0123", "0044 20 7946 0958"),
    ],
}
HARMLESS = [
    "git@github.com:a/b.git", "user@1000.service", "icon@2x.png", "lodash@4.17.21", "@types/node", "at f@main.js:10",
    "a@example.com", "ssh://git@host/x", "postgres://u:p@db.internal/x", "x@localhost",
    "1760000000000", "20260102-150405-123456", "2026-01-02 15:04:05.123456", "192.168.100.200", "10.0.0.1:65535",
    "4111 1111 1111 1112", "0000 0000 0000 0000", "978-3-16-148410-0", "3.14159265358979323846", "1e-15",
    "110105194912310021", "b1946ac92492d2347c6235b4d2611184", "123456789012345678901234", "0x1234567890123456",
    "id=13812345678901", "/1234567890/", "v1.2.3+20130313144700", "+1 and -1", "2 + 12345678 = 12345680",
    "550e8400-e29b-41d4-a716-446655440000", "SKU-415-555-0123", "1,234,567,890", "138-12345678", "12345678901",
]  # fmt: skip
A_TELEPHONE = "+49 30 123456"  # the one that is in the corpus
BENIGN = sorted((Path(__file__).parent / "benign").iterdir())


def swept(text: str) -> tuple[str, Redactor]:
    sweep = Redactor(prescan(text.encode(), secrets=True, personal=True))
    return sweep.text(text), sweep


@pytest.mark.variants(10)
@pytest.mark.parametrize("kind", PERSONAL)
def test_c10_personal_data_is_found(kind: str):
    for text in PERSONAL[kind]:
        for form in ("{}", "see {}, please", "a\n{}\nb", '{{"k": "{}"}}', "是{}的"):
            tried((text, form))
            clean, sweep = swept(form.format(text))
            assert [mask.split()[0] for mask in sweep.personal] == [kind], (text, form, clean)
            assert clean.count("[personal data masked: ") == 1


@pytest.mark.parametrize("text", HARMLESS)
def test_c10_twin_text_that_only_resembles_personal_data_stays(text: str):
    for form in ("{}", "see {}, please", '{{"k": "{}"}}'):
        assert swept(form.format(text))[0] == form.format(text)


def test_c10_twin_the_rate_of_false_alarms_on_the_corpus(record_property: Callable[[str, object], None]):
    lines = [line for path in BENIGN for line in path.read_text(encoding="utf-8").splitlines()]
    made = random.Random(10)
    noise = [base64.b64encode(made.randbytes(made.randrange(12, 600))).decode() for _ in range(2_000)]
    noise += [made.randbytes(made.randrange(8, 65)).hex() for _ in range(2_000)]
    numbers = [str(made.randrange(10 ** made.randrange(1, 30))) for _ in range(4_000)]
    rates: list[tuple[str, int, int]] = []
    for name, texts in (("lines", lines), ("strings of noise", noise), ("numbers", numbers)):
        alarms = [text for text in texts if swept(text.replace(A_TELEPHONE, ""))[1].personal]
        rates.append((name, len(alarms), len(texts)))
    said = "; ".join(f"{alarms} false alarms in {count} {name}" for name, alarms, count in rates)
    record_property("false alarms", said)
    print(said)
    assert [alarms for _, alarms, _ in rates[:2]] == [0, 0]
    assert rates[2][1] < 60  # some numbers are one of a card or a telephone by chance


@pytest.mark.parametrize("word", ["a@", "a.a@a.", "+1 2", "4111 ", "1", "138 ", "0", "+49 (30) ", "a@a-", "%@"])
def test_c10_no_text_takes_longer_than_its_length(word: str):
    assert grows_in_proportion(swept, lambda size: word * (size // len(word)), 12_500)


def served(server: Server, **settings: Any) -> str:
    """All that a client hears of data in a result, an error, a resource, a prompt and a progress message."""

    async def find(fail: bool, context: Any = None) -> dict[str, str]:
        if fail:
            raise ToolError("ask ann@acme.org")
        return {"mail": "ann@acme.org"}

    server.add_tool(find, effect="read", **settings)
    server.add_resource("crm://ann", lambda: "ann@acme.org", name="ann")
    server.add_prompt(lambda: [PromptMessage("user", "ann@acme.org")], name="p", description="d")

    async def once() -> str:
        async with Client(server) as client:
            found = [(await client.call_tool("find", fail=fail)).raw for fail in (False, True)]
            read = await client.read_resource("crm://ann")
            return json.dumps([*found, str(read), str(await client.get_prompt("p"))])

    return asyncio.run(once())


def test_c10_it_is_masked_everywhere_where_the_server_says_so():
    said = served(Server("t", personal="mask"))
    assert "ann@acme.org" not in said
    assert said.count("[personal data masked: email ") >= 5
    assert f'"{CLEANED}": {{"personal": ["email ' in said


def test_c10_twin_personal_data_is_masked_only_if_configured():
    assert "personal data" not in served(Server("t"))


def test_a_tool_says_for_itself_whether_it_masks():
    said = served(Server("t"), personal="mask")
    assert said.count("ann@acme.org") == 2  # the resource and the prompt
    assert served(Server("t", personal="mask"), personal="keep").count("ann@acme.org") >= 3


def test_a_setting_that_is_none_is_refused():
    with pytest.raises(ConfigurationError):
        Server("t", personal="hide")  # pyright: ignore[reportArgumentType] - the fault
    with pytest.raises(DefinitionError):
        Server("t").add_tool(lambda: "", name="x", description="d", personal="hide")  # pyright: ignore[reportArgumentType] - the fault


def test_a_mask_of_personal_data_is_not_written_over_the_data_it_stands_for():
    mask, _ = swept("ann@acme.org")
    server = Server("t")

    def save(text: str) -> str:
        return "saved"

    server.add_tool(save, effect="write")

    async def once() -> Any:
        async with Client(server) as client:
            return await client.call_tool("save", text=f"to: {mask}")

    assert "[TT2301]" in asyncio.run(once()).text
