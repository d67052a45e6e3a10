"""Tool names."""

from __future__ import annotations

import pytest

from tooltrue.errors import DefinitionError
from tooltrue.protocol.name_rules import check_meta, is_name


@pytest.mark.parametrize("name", ["a", "read_file", "read-file", "files.read", "A9", "_", ".", "-", "a" * 128])
def test_a_name_that_the_specification_allows_is_accepted(name: str):
    assert is_name(name)


@pytest.mark.parametrize(
    "name", ["", "a" * 129, "a b", "a/b", "a:b", "wéather", "а", "a\n", "\na", "a\x00", "<lambda>", "天气"]
)
def test_anything_else_is_none(name: str):
    assert not is_name(name)


# -- keys of _meta -----------------------------------------------------------------------------------------------------

KEYS = ["x", "a.b-c_d", "9", "com.example/x", "a/1", "io.example.mcp/", "mcp/x", "a1.b-2/x", "modelcontextprotocol/x"]


@pytest.mark.requirement("META-02", "META-03", "META-05")
@pytest.mark.parametrize("key", KEYS)
def test_a_meta_key_that_the_specification_allows_is_accepted(key: str):
    check_meta([key])


NO_PREFIXES = ["/x", "a./x", ".a/x", "a..b/x", "a/b/x", "a b/x", "com.example//x", "a:b/x"]
NO_LABELS = ["1a/x", "-a/x", "a-/x", "a.2b/x", "a_b/x", "ä/x", "a.-/x"]
NO_NAMES = ["", "-x", "x-", ".x", "a/_x", "a/x.", "a/x y", "x\n", "ü", "a/ä", "日"]


@pytest.mark.parametrize(
    "key",
    [
        *(pytest.param(key, marks=pytest.mark.requirement("META-02")) for key in NO_PREFIXES),
        *(pytest.param(key, marks=pytest.mark.requirement("META-03")) for key in NO_LABELS),
        *(pytest.param(key, marks=pytest.mark.requirement("META-05")) for key in NO_NAMES),
        7,
        None,
    ],
)
def test_any_other_key_is_refused(key: object):
    with pytest.raises(DefinitionError, match="cannot be used in meta"):
        check_meta(["com.example/fine", key])


@pytest.mark.parametrize(
    "key",
    [
        "io.modelcontextprotocol/serverInfo",
        "dev.mcp/x",
        "org.modelcontextprotocol.api/x",
        "com.mcp.tools/x",
        "com.MCP/x",
        "progressToken",
        "traceparent",
    ],
)
def test_a_meta_key_reserved_by_the_protocol_is_refused_to_authors(key: str):
    with pytest.raises(DefinitionError, match="belongs to the protocol"):
        check_meta([key])
