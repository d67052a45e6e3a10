"""Secrets in other spellings, by kind, and harmless text of similar appearance."""

from __future__ import annotations

import asyncio
import base64
import textwrap
from collections.abc import Callable

import pytest
from msgspec.json import encode

from security.recall import measure
from security.spellings import SPELLINGS, benign, family, is_masked, more_fakes, swept
from security.test_output import TOKEN, result_of
from tooltrue import BlobResource, Client, EmbeddedResource, Server
from tooltrue.policy.sanitize.prescan import prescan
from tooltrue.policy.sanitize.redactor import Redactor

KINDS = sorted({kind for kind, _ in more_fakes()})


@pytest.mark.attack("C09")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_c09_most_kinds_of_secrets_are_masked_in_each_spelling(spelling: str):
    rows = [(kind, is_masked(secret, way)) for kind, secret, way in family() if way == spelling]
    missed = [kind for kind, masked in rows if not masked]
    assert len(missed) <= 0.15 * len(rows), missed


IN_LINES = ["base64", "base64, no padding", "base64 of gzip", "hex", "HEX", "hex, 0x once", "hex in short lines"]
SURROUNDINGS = [
    "Found:\n{}",
    "{}\nand that is all.",
    "Found:\n{}\nand that is all.",
    "Found:\r\n    {}\r\nsize: 12",
    "{}\n{}",
    "'{}'\n'{}'",
    "internationalization\n{}",
    "/usr/local/lib/python3/site\n{}",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709\n{}\nda39a3ee5e6b4b0d3255bfef95601890afd80709",
]


# Two secrets that are wrapped, one behind the other, are one text of digits: they are not told apart.
AROUND = [(around, way) for around in SURROUNDINGS for way in IN_LINES if around.count("{}") == 1 or "lines" not in way]


@pytest.mark.attack("C09")
@pytest.mark.parametrize(("around", "spelling"), AROUND)
@pytest.mark.parametrize("read", [str.encode, encode], ids=["text", "JSON"])
def test_c09_a_secret_that_is_encoded_is_masked_between_other_lines(
    around: str, spelling: str, read: Callable[[str], bytes]
):
    write = SPELLINGS.get(spelling, _in_short_lines)
    rows = [(kind, write(secret)) for kind, secret in more_fakes()]
    left = [kind for kind, text in rows if _first_line(text) in _swept(around.replace("{}", text), read)]
    assert len(left) <= 0.05 * len(rows), left


def _in_short_lines(secret: str) -> str:
    """As `xxd -p` writes it."""
    return "\n".join(textwrap.wrap(secret.encode().hex(), 60))


def _swept(text: str, read: Callable[[str], bytes]) -> str:
    suspicion = prescan(read(text), True)
    return Redactor(suspicion).text(text) if suspicion else text


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


@pytest.mark.attack("C08")
@pytest.mark.parametrize("kind", KINDS)
def test_c08_secrets_of_further_issuers_are_masked(kind: str):
    for secret in (secret for known, secret in more_fakes() if known == kind):
        assert is_masked(secret, "plain"), secret
        assert is_masked(secret, "base64"), secret


@pytest.mark.attack("C09")
def test_c09_of_all_secrets_in_all_spellings_few_are_missed():
    measured = measure("secrets")
    assert measured.found >= 0.95 * measured.attacks
    assert measured.flagged == 0


@pytest.mark.twin("C08", "C09")
def test_c09_twin_hashes_pictures_and_noise_stay():
    assert [text for text in benign() if swept(text) != text] == []


PLAIN = [
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "export API_KEY=your-api-key-goes-in-this-place-2026",
    "PASSWORD=changeme\nDB_PASSWORD=${DB_PASSWORD}\nSECRET_KEY=<generate one>",
    "password=in the clear is a bad idea",
    "The password: at least 8 characters, one of them a digit.",
    'password = get_password2(user, "prompt")',
    "password: str = Field(min_length=8, max_length=128)",
    "passwordField.value = form.password2",
    "this.password = request.body.newPassword1;",
    "const apiKey = process.env.OPENAI_API_KEY_FOR_TESTS_V2;",
    'api_key = os.environ["OPENAI_API_KEY_2"]',
    "Authorization: Bearer <token>",
    "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE",
    "curl -H 'Authorization: Bearer $TOKEN' https://api.example.com",
    "Set-Cookie: lang=en-US; Path=/",
    "task-proj-2024-rewrite-the-whole-frontend-of-the-shop-again",
    "the cookie: a short history of the biscuit, with sessions of tea",
    '"integrity": "sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA=="',
    "var a=function(e,t){return e.token=t,e.apiKey=n(12),e.password=r[3]};!function(){}();",
    "next_page_token: eyJvZmZzZXQiOjEwMH0",
    "tcp 0 0 10.0.0.1:5432 10.0.0.2:51234 ESTABLISHED\n1:2:3:4\n12:34:56 78:90:12",
    "postgres://user:password@localhost:5432/app",
    "mac 67:68:70:5f:41:31, colours 67 68 70 and #ff00aa",
]


@pytest.mark.twin("C08", "C09")
@pytest.mark.parametrize("text", PLAIN)
def test_c08_twin_placeholders_and_programs_that_name_secrets_stay(text: str):
    assert swept(text) == text


@pytest.mark.attack("C11")
@pytest.mark.parametrize("name", ["password", "db_password", "api_key", "client_secret", "Authorization", "Set-Cookie"])
def test_c11_a_value_is_masked_for_the_name_of_its_member(name: str):
    value = {"Authorization": "Bearer 7Q2xO7p2ilGnuBG1Ui4nht2v", "Set-Cookie": "sid=7Q2xO7p2ilGnuBG1Ui4nht2v; Path=/"}
    text = value.get(name, "7Q2xO7p2ilGnuBG1Ui4nht2vTXPy")
    result = result_of(lambda: {"rows": [{name: text}]})
    assert "7Q2xO7p2ilGnuBG1Ui4nht2v" not in str(result.raw)


@pytest.mark.twin("C11")
def test_c11_twin_other_members_stay():
    value = {
        "password": "too short",
        "api_key": "see the docs",
        "token_type": "bearer",
        "next_token": "7Q2xO7p2ilGnuBG1Ui",
    }
    assert result_of(lambda: value).structured == value


BLOBS = ["text/plain", "text/csv; charset=utf-8", "application/json", "application/xml", "application/yaml", "", "x/y"]


@pytest.mark.attack("C12")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("mime_type", BLOBS)
def test_c12_a_blob_of_text_is_looked_into(mime_type: str, encoding: str):
    blob = BlobResource.of("a:b", f"key é {TOKEN}\n".encode(encoding), mime_type or None)
    result = result_of(lambda: EmbeddedResource(resource=blob))
    data = base64.b64decode(result.content[0].resource["blob"])
    assert "[secret masked: github-token" in data.decode(encoding)
    assert TOKEN not in data.decode(encoding)


@pytest.mark.attack("C12")
def test_c12_a_blob_that_is_read_is_looked_into():
    server = Server("t")
    server.add_resource("a://b", lambda: f"key {TOKEN}".encode(), name="b", mime_type="application/octet-stream")

    async def read() -> bytes:
        async with Client(server) as client:
            (content,) = await client.read_resource("a://b")
            assert isinstance(content, BlobResource)
            return base64.b64decode(content.blob)

    assert TOKEN.encode() not in asyncio.run(read())


@pytest.mark.twin("C12")
@pytest.mark.parametrize(
    "data", [b"%PDF-1.7\x00\xff", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), b"plain text \xc3\xa9"]
)
def test_c12_twin_other_blobs_stay(data: bytes):
    result = result_of(lambda: EmbeddedResource(resource=BlobResource.of("a:b", data, "application/octet-stream")))
    assert base64.b64decode(result.content[0].resource["blob"]) == data
