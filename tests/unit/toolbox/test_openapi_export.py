"""``tooltrue openapi export``: the description of a server's tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from openapi_spec_validator import OpenAPIV31SpecValidator

from support.wire.mounting import Mounts, running_mounts
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.main import cli
from tooltrue.cli.targets import Spec, load_server
from tooltrue.server.keys import new_key

__all__ = ["running_mounts"]

SHOP = '''
from tooltrue import Server
server = Server("shop", version="2.0", instructions="Ask for prices.", audit=False)

@server.tool(effect="read", requires=["buyer"])
def price(article: str) -> dict[str, float]:
    """Look up a price."""
    return {}

@server.tool(effect="read")
def stock(article: str) -> int:
    """Count articles."""
    return 1
'''


@pytest.fixture(name="shop")
def shop_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "shop.py"
    file.write_text(SHOP)
    return file


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def test_it_describes_each_tool_of_a_file(shop: Path):
    result = run("openapi", "export", str(shop), "--url", "https://shop.example/")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    OpenAPIV31SpecValidator(document).validate()
    assert document["info"] == {"title": "shop", "version": "2.0", "description": "Ask for prices."}
    assert document["servers"] == [{"url": "https://shop.example"}]
    assert list(document["paths"]) == ["/tools/price", "/tools/stock"]
    assert document["components"]["schemas"]["price.output"]["additionalProperties"] == {"type": "number"}
    assert "securitySchemes" not in document["components"]


def test_the_authentication_of_the_operators_file_and_the_scopes_of_tools_stand_in_it(shop: Path, tmp_path: Path):
    _, digest = new_key("ci")
    (tmp_path / "keys.toml").write_text(f'[ci]\nsha256 = "{digest}"\nscopes = ["buyer"]\n')
    config = tmp_path / "tooltrue.toml"
    config.write_text('[auth]\nkeys = "keys.toml"\n')
    result = run("openapi", "export", str(shop), "--config", str(config))
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    OpenAPIV31SpecValidator(document).validate()
    assert document["components"]["securitySchemes"]["apiKey"]["name"] == "X-API-Key"
    assert document["paths"]["/tools/price"]["post"]["security"] == [{"apiKey": ["buyer"]}, {"bearerKey": ["buyer"]}]
    assert document["paths"]["/tools/stock"]["post"]["security"] == [{"apiKey": []}, {"bearerKey": []}]


def test_a_file_that_is_there_is_not_overwritten(shop: Path, tmp_path: Path):
    written = run("openapi", "export", str(shop), "-o", "shop.json")
    assert (written.exit_code, "the description of 2 tools" in written.output) == (0, True)
    first = (tmp_path / "shop.json").read_bytes()
    again = run("openapi", "export", str(shop), "-o", "shop.json")
    assert again.exit_code != 0
    assert "TT6971" in f"{again.output}{again.exception}"
    assert (tmp_path / "shop.json").read_bytes() == first


def test_it_describes_a_server_at_a_url_with_its_address(shop: Path, mounts: Mounts):
    server = load_server(Spec.of(str(shop), FamilyOptions(), None))
    with mounts.mounted(server.http_app()) as path:
        url = f"http://127.0.0.1:{mounts.port}{path}"
        result = run("openapi", "export", url)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["servers"] == [{"url": url.removesuffix("/mcp")}]
    assert list(document["paths"]) == ["/tools/price", "/tools/stock"]
