"""The settings of a server in a file that reach its client."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tooltrue import Host
from tooltrue.host.launches import Launches
from tooltrue.host.pins import Pins
from tooltrue.host.servers import Patience
from tooltrue.testing.state import LIMIT

SERVER = "from tooltrue import Server\nserver = Server('any')\n"


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_the_revision_of_a_server_in_a_file_is_the_one_that_is_spoken(tmp_path: Path, revision: str):
    (tmp_path / "any.py").write_text(SERVER)
    program, served = Path(sys.executable).with_name("tooltrue"), tmp_path / "any.py"
    file = tmp_path / "servers.toml"
    file.write_text(f'[servers.any]\ncommand = "{program}"\nargs = ["serve", "{served}"]\nrevision = "{revision}"\n')

    async def main() -> str:
        host = Host.from_config(
            file,
            approve_launch=lambda request: True,
            launches=Launches(tmp_path / "state"),
            pins=Pins(tmp_path / "state" / "pins"),
            audit=False,
            patience=Patience(ready=LIMIT),
        )
        async with host:
            [server] = host.servers
            assert server.state == "ready", server.reason
            return server.revision

    assert asyncio.run(main()) == revision
