"""The conversation of the page on programs without MCP, with curl."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

from docs.test_docs import ROOT, blocks, commands_of, same
from support import serving

PAGE = ROOT / "docs" / "rest.md"


@pytest.mark.process
@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_curl_gets_the_answers_that_the_page_shows() -> None:
    [block] = [block for _, block in blocks("text", PAGE) if block.comment.startswith("<!-- runs with: ")]
    port = serving.free_port()
    address = f"127.0.0.1:{port}"
    program = serving.command("serve", str(ROOT / "examples/notes.py"), "--http", address, "--rest", "--workers", "2")
    with serving.started(program, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        serving.wait_for_port(port, process)
        for command, shown in commands_of(block.text):
            words = shlex.split(command.replace("localhost:8000", address))
            printed = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
            assert same(shown, printed), f"$ {command}\nshown:\n{shown}\nprinted:\n{printed}"
