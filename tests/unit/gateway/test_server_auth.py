"""The credentials at a server in words, in both languages, without the secret."""

from __future__ import annotations

import pytest

from tooltrue.client.config import ServerConfig
from tooltrue.gateway.server_auth import described_auth
from tooltrue.policy.config import read_operator_config

SECRET = 'client_id = "agent"\nsecret_env = "UP_SECRET"\n'
TABLES = {
    "header": (
        'name = "X-Key"\nsecret_env = "UP_SECRET"\n',
        "the header X-Key (secret_env UP_SECRET)",
        "请求头 X-Key (secret_env UP_SECRET)",
    ),
    "client": (
        SECRET + 'issuer = "https://login.example"\n',
        "client credentials as agent (secret_env UP_SECRET)",
        "客户端凭据，身份为 agent (secret_env UP_SECRET)",
    ),
    "caller": ('scopes = ["read"]\n', "the grant of each caller", "每个调用者自己的授权"),
    "exchange": (
        SECRET + 'token_endpoint = "https://login.example/token"\n',
        "the exchanged token of each caller, as agent (secret_env UP_SECRET)",
        "由每个调用者的令牌换得的令牌，身份为 agent (secret_env UP_SECRET)",
    ),
    "enterprise": (
        SECRET
        + 'token_endpoint = "https://sso.example/token"\n'
        + 'client = { client_id = "at-up", issuer = "https://login.example" }\n',
        "the token of each caller by the enterprise extension, as agent (secret_env UP_SECRET)",
        "每个调用者经企业扩展取得的令牌，身份为 agent (secret_env UP_SECRET)",
    ),
}


@pytest.mark.parametrize("method", TABLES)
def test_the_method_of_credentials_is_told_in_both_languages(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UP_SECRET", "s3cret")
    table, *words = TABLES[method]
    operator = read_operator_config("tooltrue.toml", f"[servers.up.auth.{method}]\n{table}")
    one = ServerConfig("up", "up", url="https://up.example/mcp")
    assert [described_auth(one, operator, language) for language in ("en", "zh")] == [[word] for word in words]


def test_headers_of_the_file_are_told_by_their_names_alone() -> None:
    one = ServerConfig("up", "up", url="https://up.example/mcp", headers={"X-Own": "s3cret"})
    assert described_auth(one, None) == ["headers of the file: X-Own"]
    assert described_auth(one, None, "zh") == ["文件中的请求头：X-Own"]
