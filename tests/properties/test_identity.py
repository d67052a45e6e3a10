"""Any credentials give the intended principal or a refusal: never a crash, never another principal."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tooltrue import ApiKeys, OAuth, Principal, Public, TrustedProxy
from tooltrue.errors import RpcError
from tooltrue.server.identity import challenge, methods_of, principal_of
from tooltrue.server.keys import Key, new_key
from tooltrue.transport.carrier import Carrier

KEY, DIGEST = new_key("ada")
ADA = Principal("key:ada")
# No issuer listens on this port, so no signature can be verified.
WAYS = methods_of(
    [
        ApiKeys({"ada": Key(DIGEST)}),
        OAuth(issuer="http://127.0.0.1:1", resource="https://tools.example/mcp", scopes=["read"]),
        TrustedProxy(["192.0.2.0/24"]),
    ]
)

latin = st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=200)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["alg", "kid", "typ", "x"]), inner),
    max_leaves=8,
)


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


headers = st.fixed_dictionaries({"alg": st.sampled_from(["RS256", "none", "HS256", "ES256"]) | json_values}).flatmap(
    lambda said: st.dictionaries(st.sampled_from(["kid", "typ", "crit", "jwk", "b64", "zip"]), json_values).map(
        lambda more: {**more, **said}
    )
)
signed = st.tuples(headers | json_values, json_values, latin).map(lambda t: f"{part(t[0])}.{part(t[1])}.{t[2]}")
bearers = (latin | signed | latin.map(lambda junk: f"tt_ada_{junk}")).map(lambda token: f"Bearer {token}")


def asked(headers: dict[str, str], peer: str | None = "198.51.100.1") -> Principal | RpcError:
    try:
        return asyncio.run(principal_of(Carrier("http", headers, peer), WAYS))
    except RpcError as error:
        return error


@given(authorization=bearers | latin, key=latin | st.none(), user=latin | st.none())
def test_invented_credentials_never_authenticate(authorization: str, key: str | None, user: str | None) -> None:
    said = {"authorization": authorization, "x-api-key": key, "x-forwarded-user": user}
    found = asked({name: value for name, value in said.items() if value is not None})
    assert isinstance(found, RpcError) or KEY in (authorization, key)
    if isinstance(found, RpcError):
        header = challenge(WAYS, found)
        assert header.isascii()
        assert header.isprintable()
        assert header.count('"') % 2 == 0


@given(position=st.integers(0, len(KEY) - 1), letter=st.sampled_from("ABCabc019-_."))
def test_a_key_with_another_letter_is_another_key(position: int, letter: str) -> None:
    changed = KEY[:position] + letter + KEY[position + 1 :]
    found = asked({"x-api-key": changed})
    assert found == ADA if changed == KEY else isinstance(found, RpcError)


@given(st.ip_addresses(), st.lists(st.ip_addresses().map(str) | latin, max_size=4).map(", ".join))
def test_only_the_part_of_the_header_a_trusted_proxy_wrote_decides_the_client_address(
    peer: object, forwarded: str
) -> None:
    way = Public(proxies=["192.0.2.0/24"])

    def caller(said: str) -> Principal | None:
        return asyncio.run(way.principal(Carrier("http", {"x-forwarded-for": said}, str(peer))))

    assert caller(f"{forwarded}, 198.51.100.7") == caller("198.51.100.7")
