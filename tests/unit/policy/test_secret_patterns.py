"""Secret patterns: each takes linear time over adversarial text, and matches within other text."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from functools import partial

import pytest

from support.fake_secrets import FAKES
from support.growth import grows_in_proportion
from tooltrue.policy.sanitize.prescan import prescan
from tooltrue.policy.sanitize.redactor import Redactor
from tooltrue.policy.sanitize.secret_patterns import SECRET_PATTERNS, SecretPattern

TOKEN = dict(FAKES)["github-token"]
JWT = dict(FAKES)["jwt"]
AWS = dict(FAKES)["aws-access-key"]

_WORDS = (
    "user=;", "server=a;b=c;", "password=a;", "-----BEGIN A ", "-----BEGIN PRIVATE KEY-----\n", "a-a-a.a://b:c",
    "eyJaaaaaaaaaaaa.", "a_eyJaaaaaaaaaa", "\\neyJ", "secret_access_key=", "sk-ant-a", "1:AA",
)  # fmt: skip


def masked(text: str) -> str:
    suspicion = prescan(text.encode(), True)
    return Redactor(suspicion).text(text) if suspicion else text


def _hard(shape: SecretPattern) -> Iterator[str]:
    """Words to repeat so that the pattern starts to match again and again without completing."""
    for word in (*shape.prefixes, *shape.words):
        yield from (word + tail for tail in ("", "-", "_", "a", "A", " ", ".", ":", "=", "://a:"))
    yield from _WORDS


@pytest.mark.attack("C08")
@pytest.mark.parametrize("shape", SECRET_PATTERNS, ids=lambda shape: shape.kind)
def test_a_pattern_takes_time_in_proportion_to_the_text(shape: SecretPattern):
    pattern = re.compile(shape.pattern)
    for word, end in itertools.product(_hard(shape), ("", " ", "a")):

        def made(size: int, word: str = word, end: str = end) -> str:
            return word * (size // len(word)) + end * size

        assert grows_in_proportion(partial(pattern.sub, ""), made, 1_000), (word, end)


@pytest.mark.attack("C08")
@pytest.mark.parametrize("before", ["prod-", "x_", "Bearer_", "a-long_name-of-", "密钥", "é", "\\n", "(", "k=", "/"])
@pytest.mark.parametrize("secret", [TOKEN, JWT, AWS], ids=["github", "jwt", "aws"])
def test_a_secret_is_masked_behind_any_prefix(before: str, secret: str):
    text = f"see {before}{secret}, then"
    assert secret not in masked(text)
    assert masked(text).startswith(f"see {before}[")


@pytest.mark.attack("C08")
def test_an_encrypted_private_key_is_masked_together_with_its_headers():
    lines = "\n".join(["QUJD" * 16] * 8)
    head = "Comment: a note that is longer than forty characters - and goes on\nDEK-Info: AES-128-CBC,AB"
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{head}\n\n{lines}\n-----END RSA PRIVATE KEY-----\nnext"
    assert "QUJD" not in masked(text)
    assert masked(text).endswith("]\nnext")
    assert "QUJD" not in masked(text.partition("-----END")[0])


@pytest.mark.twin("C08")
@pytest.mark.parametrize(
    "text", ["thread-xoxb-and-nothing-more-behind-it", "a_ghp_b_ghp_c_ghp_d_ghp_e", "re-AKIAEXAMPLE"]
)
def test_text_that_only_begins_like_a_secret_is_unchanged(text: str):
    assert masked(text) == text


@pytest.mark.parametrize(
    "before", ["", " ", "\n", r"a\n", "a\\", "100% of ", "%41 ", '"', "<a href='https://example.org/?t="]
)
@pytest.mark.parametrize("behind", ["", " ", "\n", "'>", " %42", " and more"])
def test_a_percent_encoded_secret_is_masked_in_any_context(before: str, behind: str):
    quoted = TOKEN.replace("_", "%5F")
    assert quoted not in masked(f"{before}{quoted}{behind}")


def test_json_in_a_text_stays_valid_json_after_its_percent_encoded_secret_is_masked():
    said = json.dumps({"log": f"one\n{TOKEN.replace('_', '%5F')}\nend"})
    assert json.loads(masked(said))["log"].startswith("one\n[secret masked: ")


def test_a_secret_is_not_suspected_to_be_quoted_where_something_else_is():
    kinds = {shape.kind for shape in prescan(f"{TOKEN} on https://example.org/a%20page".encode(), True).patterns}
    assert "github-token" in kinds
    assert "respelled-secret" not in kinds
    quoted = TOKEN.replace("_", "%5F")
    assert "respelled-secret" in {shape.kind for shape in prescan(f"x {quoted}".encode(), True).patterns}
