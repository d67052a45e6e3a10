"""The catalog, mail, math and settings tools as a command serves them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tooltrue import Client, ConfigurationError
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.targets import Spec, load_server

MAIL = {"--smtp": ("smtp://localhost",), "--mail-from": ("bot@acme.example",), "--mail-to": ("@acme.example",)}


def spec(target: str, **said: tuple[str, ...]) -> Spec:
    return Spec.of(target, FamilyOptions({f"--{name.replace('_', '-')}": values for name, values in said.items()}))


def test_several_are_one_server(tmp_path: Path) -> None:
    target = "catalog,mail,math,settings"
    server = load_server(Spec.of(target, FamilyOptions({**MAIL, "--store": (str(tmp_path / "store"),)})))

    async def names() -> list[str]:
        async with Client(server) as client:
            return [tool.name for tool in await client.list_tools()]

    assert asyncio.run(names()) == [
        "add_log",
        "calculate",
        "calculate_sum",
        "delete_config",
        "get_config",
        "list_config",
        "preview_email",
        "read_log",
        "search_products",
        "send_email",
        "set_config",
    ]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (spec("settings"), "TT4001"),
        (spec("settings", store=("/dev/null/store",)), "TT6605"),
        (spec("mail", smtp=("smtp://localhost",)), "TT4001"),
        (spec("mail", smtp=("smtp://localhost",), mail_from=("bot@acme.example",)), "TT6705"),
        (spec("catalog", catalog=("/nowhere",)), "TT6613"),
        (spec("math", store=("store",)), "TT4008"),
    ],
)
def test_a_missing_or_unknown_setting_of_a_family_is_reported_at_the_start(wrong: Spec, code: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_server(wrong)
    assert caught.value.code == code


def test_the_files_tools_do_not_reach_the_store_beside_them(tmp_path: Path) -> None:
    store = tmp_path / "store"
    server = load_server(spec("files,settings", root=(str(tmp_path),), store=(str(store),)))

    async def read() -> str:
        async with Client(server) as client:
            await client.call_tool("set_config", key="a", value="1")
            return (await client.call_tool("read_file", path="store")).text

    assert "[TT60" in asyncio.run(read())
