"""The enterprise extension of a gateway: the token of a caller goes to the company's identity provider alone, its word
to the issuer of the server, and the token of that issuer to the server."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.issuing.calling import RESOURCE, oauth
from support.issuing.enterprise import ID_JAG, IdentityProvider, VouchedTokens
from support.issuing.server import Issuing, parts
from support.issuing.visiting import guarded_at
from support.wire.mounting import Mounts
from support.wire.recording import RecordedApp
from tooltrue import ApiKeys, Client, ConfigurationError
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.server.keys import Key, new_key
from tooltrue.testing.state import LIMIT

KEY, DIGEST = new_key("ci")
PATIENCE = {"patience": Patience(ready=LIMIT)}
TABLE = """
[servers.up.auth.client]
client_id = "agent"
issuer = "{issuer}"
secret_env = "OWN_SECRET"

[servers.up.auth.enterprise]
token_endpoint = "{provider}"
client_id = "gateway"
secret_env = "OWN_SECRET"
scopes = ["read"]

[servers.up.auth.enterprise.client]
client_id = "at-up"
issuer = "{named}"
secret_env = "OWN_SECRET"
"""


@pytest.fixture(autouse=True)
def secrets_of_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OWN_SECRET", "secret")


@dataclass
class Enterprise:
    """A gateway at ``url``, whose callers have tokens of ``company``, before a server whose issuer is ``issuer``."""

    url: str
    company: Issuing
    issuer: Issuing
    provider: IdentityProvider
    tokens: VouchedTokens
    upstream: RecordedApp

    def results(self, *tokens: str, tool: str = "up_who") -> list[Any]:
        """The results of a call with each of these tokens."""

        async def run() -> list[Any]:
            results: list[Any] = []
            for token in tokens:
                async with Client(self.url, headers={"Authorization": f"Bearer {token}"}) as client:
                    results.append(await client.call_tool(tool))
            return results

        return asyncio.run(run())

    def token(self, **claims: Any) -> str:
        return self.company.signed(aud=RESOURCE, **claims)

    def forwarded(self) -> list[str]:
        """All that the issuer of the server and the server itself have been sent."""
        return [*self.upstream.sent, *map(str, self.issuer.said), *map(str, self.tokens.forms)]


@pytest.fixture
def enterprise(mounts: Mounts, issuer: Issuing, other: Issuing, request: pytest.FixtureRequest) -> Iterator[Enterprise]:
    provider, tokens = IdentityProvider(other, {issuer.url: "at-up"}), VouchedTokens(issuer, other)
    made: list[RecordedApp] = []

    def upstream_at(url: str) -> Any:
        made.append(RecordedApp(guarded_at(url, issuer).http_app()))
        return made[0]

    with (
        mounts.mounted(provider, lives=False) as idp,
        mounts.mounted(tokens, lives=False) as endpoint,
        mounts.mounted_at(upstream_at) as upstream,
    ):
        place = f"http://127.0.0.1:{mounts.port}"
        text = TABLE.format(issuer=issuer.url, provider=place + idp, named=issuer.url)
        old, new = getattr(request, "param", ("", ""))
        gateway = Gateway(
            HostConfig("", Path(), (ServerConfig("up", "up", url=upstream),)),
            operator=read_operator_config("tooltrue.toml", text.replace(old, new)),
            confirm=Confirm.never(),
            host_settings=PATIENCE,
            authenticate=[ApiKeys({"ci": Key(DIGEST, frozenset())}), oauth(other)],
        )
        with mounts.mounted(gateway.http_app()) as served:
            assert listed_by_key(place + served) == []  # a key gives nobody the lists of the gateway
            assert "up_who" in [row.alias for row in gateway.host.rows]
            issuer.changes["token_endpoint"] = place + endpoint
            yield Enterprise(place + served, other, issuer, provider, tokens, made[0])


def listed_by_key(url: str) -> list[str]:
    """The tools of a caller with a key; meanwhile the gateway reads the definitions, with its own token of the issuer's
    first token endpoint."""

    async def run() -> list[str]:
        async with Client(url, headers={"Authorization": f"Bearer {KEY}"}) as client:
            return [tool.name for tool in await client.list_tools()]

    return asyncio.run(run())


def test_a_company_vouches_for_a_caller_to_the_issuer_of_the_server(enterprise: Enterprise) -> None:
    token = enterprise.token()
    [result] = enterprise.results(token)
    assert result.value == [f"{enterprise.issuer.url}#ada", "read"]
    [exchanged], [redeemed] = enterprise.provider.forms, enterprise.tokens.forms
    assert (exchanged["subject_token"], exchanged["requested_token_type"]) == (token, ID_JAG)
    assert exchanged["subject_token_type"] == "urn:ietf:params:oauth:token-type:access_token"
    assert (exchanged["audience"], exchanged["scope"]) == (enterprise.issuer.url, "read")
    assert exchanged["resource"] == redeemed["resource"]
    header, claims = parts(redeemed["assertion"])
    assert (header["typ"], claims["client_id"]) == ("oauth-id-jag+jwt", "at-up")
    assert (enterprise.provider.logins, enterprise.tokens.logins) == (["gateway:secret"], ["at-up:secret"])


ID_TOKENS = ("scopes =", 'subject_token = "id_token"\nscopes =')


@pytest.mark.parametrize("enterprise", [ID_TOKENS], indirect=True, ids=["ID tokens"])
def test_callers_that_are_known_by_id_tokens_are_vouched_for_by_these(enterprise: Enterprise) -> None:
    [result] = enterprise.results(enterprise.token())
    assert not result.is_error
    assert enterprise.provider.forms[0]["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token"


def test_a_token_is_used_until_the_caller_has_another(enterprise: Enterprise) -> None:
    first, second = enterprise.token(jti="1"), enterprise.token(jti="2")
    results = enterprise.results(first, first, second, second)
    assert not any(result.is_error for result in results)
    assert [form["subject_token"] for form in enterprise.provider.forms] == [first, second]


def test_callers_have_a_token_each(enterprise: Enterprise) -> None:
    tokens = [enterprise.token(sub=name) for name in ("ada", "bob")]
    results = enterprise.results(tokens[0], tokens[1], tokens[0])
    assert [result.value[0].rpartition("#")[2] for result in results] == ["ada", "bob", "ada"]
    assert len(enterprise.provider.forms) == 2


def test_a_token_that_has_expired_is_obtained_again(enterprise: Enterprise) -> None:
    now, issuer = int(time.time()), enterprise.issuer
    ends = iter([now - 300, now + 600])
    enterprise.tokens.made = lambda claims: issuer.signed(**claims, exp=next(ends))
    [result] = enterprise.results(enterprise.token())
    assert result.value == [f"{issuer.url}#ada", "read"]
    assert len(enterprise.provider.forms) == len(enterprise.tokens.forms) == 2


def test_a_tool_that_needs_more_scopes_is_vouched_for_with_these(enterprise: Enterprise) -> None:
    [result] = enterprise.results(enterprise.token(), tool="up_save")
    assert result.text == "saved"
    assert [form.get("scope") for form in enterprise.provider.forms] == ["read", "read write"]


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.attack("B38")
@pytest.mark.parametrize("tool", ["up_who", "up_save", "up_wipe"])
def test_b38_the_token_of_a_caller_goes_to_its_company_alone(
    enterprise: Enterprise, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    token = enterprise.token()
    enterprise.results(token, tool=tool)
    assert enterprise.provider.forms[0]["subject_token"] == token
    texts = [*enterprise.forwarded(), *(record.getMessage() for record in caplog.records)]
    assert not any(token.rpartition(".")[2] in text for text in texts)


@pytest.mark.twin("B38")
def test_b38_twin_the_token_of_the_issuer_arrives(enterprise: Enterprise) -> None:
    made: list[str] = []

    def make(claims: dict[str, Any]) -> str:
        made.append(enterprise.issuer.signed(**claims))
        return made[-1]

    enterprise.tokens.made = make
    enterprise.results(enterprise.token())
    assert any(made[0] in text for text in enterprise.upstream.sent)


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "https://other.example"},
        {"aud": None},
        {"resource": "https://other.example/mcp"},
        {"client_id": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"sub": None},
    ],
    ids=lambda changes: " ".join(changes),
)
def test_a_word_for_another_audience_or_client_makes_no_token(enterprise: Enterprise, changes: dict[str, Any]) -> None:
    enterprise.provider.changes = changes
    [result] = enterprise.results(enterprise.token())
    assert result.is_error
    assert len(enterprise.tokens.problems) == len(enterprise.tokens.forms) == 1


@pytest.mark.parametrize(
    "answers",
    [
        {"issued_token_type": "urn:ietf:params:oauth:token-type:access_token"},
        {"issued_token_type": None},
        {"access_token": None},
        {"error": "access_denied"},
    ],
    ids=["another type", "no type", "no word", "refused"],
)
def test_an_answer_of_the_company_without_its_word_goes_no_further(
    enterprise: Enterprise, answers: dict[str, Any]
) -> None:
    enterprise.provider.answers = answers
    [result] = enterprise.results(enterprise.token())
    assert "[TT9365]" in result.text
    assert enterprise.tokens.forms == []


ANOTHER = ('client_id = "at-up"\nissuer = "', 'client_id = "at-up"\nissuer = "https://login.example/')


@pytest.mark.parametrize("enterprise", [ANOTHER], indirect=True, ids=["another issuer"])
def test_a_server_that_names_another_issuer_has_no_caller_vouched_for(enterprise: Enterprise) -> None:
    [result] = enterprise.results(enterprise.token())
    assert result.is_error
    assert enterprise.provider.forms == enterprise.tokens.forms == []


def test_a_key_of_the_gateway_is_exchanged_for_nothing(enterprise: Enterprise) -> None:
    [result] = enterprise.results(KEY)
    assert result.is_error
    assert enterprise.provider.forms == []


WHOLE = TABLE.format(
    issuer="https://login.example", provider="https://idp.example/token", named="https://login.example"
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (WHOLE.replace("https://idp", "http://idp"), "TT4802"),
        (WHOLE + "[servers.up]\nshared = true\n", "TT4802"),
        (WHOLE + "[servers.up.auth.caller]\n", "TT4802"),
        (WHOLE.replace('secret_env = "OWN_SECRET"\nscopes', "scopes"), "TT4800"),
        (WHOLE.rpartition("secret_env")[0] + 'secret_env = "ABSENT_SECRET"\n', "TT4800"),
    ],
    ids=["no TLS", "one session for all", "two methods", "no secret", "a secret that is not there"],
)
def test_a_mistake_is_found_before_anything_starts(text: str, code: str) -> None:
    one = ServerConfig("up", "up", url="https://up.example/mcp")
    with pytest.raises(ConfigurationError) as found:
        Gateway(HostConfig("", Path(), (one,)), operator=read_operator_config("tooltrue.toml", text))
    assert found.value.code == code
