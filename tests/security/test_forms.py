"""Forms that ask for a secret, in any of their texts, and visits that lead into an inner network."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from security.recall import PLACES, forms, is_refused
from support.variants import tried
from tooltrue.errors import DefinitionError
from tooltrue.protocol.input_requests import check_url, check_words
from tooltrue.protocol.secret_requests import asks_for_a_secret

SAID = tomllib.loads((Path(__file__).parent / "forms.toml").read_text("utf-8"))


@pytest.mark.parametrize("text", SAID["asks"])
def test_b50_a_secret_is_asked_for_in_no_text_of_a_form(text: str):
    assert [where for where, place in PLACES.items() if not is_refused(place(text))] == []


@pytest.mark.parametrize("text", SAID["benign"])
def test_b50_twin_a_form_that_only_mentions_a_secret_is_allowed(text: str):
    assert [where for where, place in PLACES.items() if is_refused(place(text))] == []


@pytest.mark.attack("B50")
@pytest.mark.parametrize(
    "text",
    ["PIN of the card", "The PIN for your card", "Your card's PIN", "4-digit PIN", "The six digits your phone shows"],
)
def test_b50_a_number_that_is_a_secret_is_asked_for_in_no_other_words(text: str):
    assert asks_for_a_secret(text)


@pytest.mark.twin("B50")
@pytest.mark.parametrize(
    "text", ["GPIO pin of the board", "Pin of the map", "Six digits of the order", "Pin this note"]
)
def test_b50_twin_other_pins_and_digits_may_be_asked_for(text: str):
    assert not asks_for_a_secret(text)


def test_b50_nearly_all_forms_that_ask_are_refused_and_few_others():
    figures = forms()
    assert figures.found >= 0.95 * figures.attacks
    assert figures.flagged <= 0.05 * figures.twins


INNER = (
    *("169.254.169.254", "10.0.0.1", "172.16.3.4", "192.168.1.1", "0.0.0.0", "100.64.0.1", "[fe80::1]", "[fd00::1]"),
    *("[::ffff:10.0.0.1]", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "10.1", "0x0a.0.0.1", "[::]", "127.1"),
    *("metadata.google.internal", "app.localhost", "192.168.1.1.", "[::ffff:a9fe:a9fe]"),
)


@pytest.mark.parametrize("host", INNER)
def test_b51_a_visit_leads_to_no_address_of_an_inner_network(host: str):
    with pytest.raises(DefinitionError) as refused:
        check_url(f"https://{host}/page")
    assert refused.value.code == "TT3203"


@pytest.mark.parametrize("query", ["token=abc", "access_token=x", "api_key=1", "next=/&password=p", "id_token=a.b.c"])
def test_b51_a_visit_brings_no_token_along(query: str):
    for url in (f"https://example.com/page?{query}", f"https://example.com/page#{query}"):
        with pytest.raises(DefinitionError) as refused:
            check_url(url)
        assert refused.value.code == "TT3203"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/connect?state=abc",
        "http://127.0.0.1:8000/consent",
        "http://localhost:3000/confirm-payment?session=a1&elicitation=b2&cartId=c3",
        "https://8.8.8.8/",
        "https://a.b/?count=5",
    ],
)
def test_b51_twin_a_page_may_be_visited(url: str):
    check_url(url)


SPEAKS = "Enter your password to go on"


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "enum": ["once", "deny"]},
        {"type": "string", "oneOf": [{"const": "y", "title": "Yes"}]},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    ],
)
def test_b50_twin_a_consent_may_show_any_argument_of_a_call(field: dict[str, Any]):
    check_words(SPEAKS, {"type": "object", "properties": {"answer": field}})


@pytest.mark.parametrize("field", [{"type": "string"}, {"type": "integer"}, {"type": "number"}, {}, None])
def test_b50_a_message_that_asks_counts_where_something_can_be_typed(field: Any):
    choice = {"type": "string", "enum": ["once", "deny"]}
    with pytest.raises(DefinitionError):
        check_words(SPEAKS, {"type": "object", "properties": {"answer": choice, "note": field}})


ACTIONS = (
    *("admin?delete=1", "?action=delete", "api/run?job=7", "shutdown", "actuator/env", "items/7/remove", "cmd?q=ls"),
    *("a?next=/admin", "db/dropTable?name=x", "DELETE/a", "#/admin/wipe", "exec", "v1/containers/a/kill", "%64elete/1"),
    *("api/v0/eval?code=1", "reset?all=1", "plugins/install?url=x", "jobs/9/stop", "users/truncate", "rm?path=/"),
    *("system/reboot", "upgrade.cgi", "a/b?x=purge"),
)


@pytest.mark.attack("B51")
@pytest.mark.variants(20)
def test_b51_a_visit_on_this_machine_names_no_action():
    for path in ACTIONS:
        for host in ("127.0.0.1:8000", "localhost", "[::1]:9"):
            with pytest.raises(DefinitionError) as refused:
                check_url(f"http://{host}/{path}")
            assert refused.value.code == "TT3203"
            tried(path)


@pytest.mark.twin("B51")
@pytest.mark.parametrize("path", ["", "consent", "oauth/start?state=a1", "address/7", "runtime?id=1", "administer"])
def test_b51_twin_a_page_on_this_machine_may_be_visited(path: str):
    check_url(f"http://localhost:8000/{path}")


def test_b51_twin_a_page_elsewhere_may_name_an_action():
    check_url("https://example.com/account/delete?reset=1")
