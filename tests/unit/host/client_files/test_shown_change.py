"""The change of a client's file as a person sees it: complete, and without secrets."""

from __future__ import annotations

import json
import re

import pytest

from tooltrue.host.client_files.clients import client_profiles
from tooltrue.host.client_files.file_edit import edit_text
from tooltrue.host.client_files.shown_change import diff

SECRET = "hunter2-" + "correct-horse"
NOTES = {"command": "/bin/notes", "args": ["serve", "--token", SECRET, f"--key={SECRET}"], "env": {"ANY": SECRET}}
JSON = f"""{{
  // "apiKey": "{SECRET}"
  "theme": "dark",
  "accessToken": "{SECRET}",
  "mcpServers": {{
    "web": {{
      "url": "https://x",
      "headers": {{"X-Any": "{SECRET}", "Authorization": "Bearer ${{env:TOKEN}}"}}
    }},
    "sql": {{"command": "sql", "args": ["--password", "{SECRET}"], "env": {{"A": "{SECRET}"}}}}
  }}
}}
"""
TOML = f"""model = "m"
api_key = "{SECRET}"
# token = "{SECRET}"
[mcp_servers.sql]
command = "sql"
args = ["--password", "{SECRET}"]
env = {{ "A" = "{SECRET}" }}
[mcp_servers.web.env]
B = "{SECRET}"
C = '''
{SECRET}
'''
"""


def shown(name: str, text: str, secret: str = SECRET) -> str:
    entry = json.loads(json.dumps(NOTES).replace(SECRET, secret))
    return "\n".join(
        diff(text, edit_text("f", text, client_profiles()[name], {"notes": entry}), client_profiles()[name].form)
    )


@pytest.mark.parametrize(("name", "text"), [("cursor", JSON), ("codex", TOML), ("cursor", ""), ("codex", "")])
def test_no_secret_is_shown(name: str, text: str) -> None:
    printed = shown(name, text)
    assert SECRET not in printed
    assert "[masked " in printed
    assert "/bin/notes" in printed
    for value in (text, None):
        assert SECRET not in "\n".join(diff(value, None if value else text, client_profiles()[name].form))


def test_a_reference_is_no_secret() -> None:
    text = '{"mcpServers": {"a": {"env": {"TOKEN": "${env:TOKEN}"}}}}'
    assert "${env:TOKEN}" in shown("cursor", text)


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_a_change_of_a_secret_alone_is_seen(name: str) -> None:
    profile = client_profiles()[name]
    before = edit_text("f", "", profile, {"notes": NOTES})
    lines = diff(before, before.replace(SECRET, "another-" + SECRET), profile.form)
    assert any(line.startswith("+") for line in lines)
    assert diff(before, before, profile.form) == []


def test_a_file_of_one_line_is_shown_with_line_ends() -> None:
    text = json.dumps({"filler": "x" * 5000, "mcpServers": {}, "z": [1] * 300}, separators=(",", ":"))
    lines = shown("cursor", text).splitlines()
    assert max(map(len, lines)) <= 400
    assert len(lines) < 40
    assert re.search(r'^\+ +"command": "/bin/notes"', "\n".join(lines), re.MULTILINE)


def test_a_text_that_cannot_be_read_is_shown_without_its_values() -> None:
    broken = JSON.replace("{", "{{", 1)
    printed = "\n".join(diff(broken, JSON, "json"))
    assert SECRET not in printed
    assert '-  "theme": [masked' in printed
