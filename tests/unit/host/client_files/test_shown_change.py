"""The change of a client's file as a person sees it: complete, and without secrets."""

from __future__ import annotations

import json
import re
import time

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


ENV = "[mcp_servers.a.env]"
HIDING_TOML = [
    f'{ENV}\nK = """\nabc={SECRET}\n"""',
    f'{ENV}\nK = """\n#{SECRET}\n"""',
    f'{ENV}\nK = """\n[x]\n{SECRET}\n"""\nL = "{SECRET}"',
    f'api_key = """\n{SECRET}\n"""',
    f'[mcp_servers."a]b".env]\nK = "{SECRET}"',
    f'[mcp_servers.a."\\u0065nv"]\nK = "{SECRET}"',
    f'[mcp_servers.a.env.sub]\nK = "{SECRET}"',
    f'[a]\n"env"."A" = "{SECRET}"',
    f'mcp_servers = {{ a = {{ env = {{ A = "{SECRET}" }} }} }}',
    f'[a]\nargs = [\n  "--token", # of the shop\n  "{SECRET}",\n]',
    f'{ENV}\nK = "{SECRET}"\nbroken',
]
HIDING_JSON: list[object] = [
    {"mcpServers": {"a": {"env": [f"A={SECRET}"]}}},
    {"apiKey": {"value": SECRET}},
    {"apiKeys": [SECRET]},
    {"mcpServers": {"a": {"args": ["run", "-e", f"TOKEN={SECRET}"]}}},
    {"mcpServers": {"a": {"args": ["run", f"--env=TOKEN={SECRET}"]}}},
    {"mcpServers": {"a": {"command": f"notes --token {SECRET} --all"}}},
    {"mcpServers": {"a": {"command": f"TOKEN={SECRET} notes"}}},
]


@pytest.mark.parametrize("text", HIDING_TOML)
def test_no_spelling_of_toml_shows_a_secret(text: str) -> None:
    assert SECRET not in "\n".join(diff(f"{text}\n", None, "toml"))


@pytest.mark.parametrize("value", HIDING_JSON)
def test_no_place_in_json_shows_a_secret(value: object) -> None:
    assert SECRET not in "\n".join(diff(json.dumps(value), None, "json"))


def test_twin_a_server_is_shown_whatever_its_name_is() -> None:
    """A person has to see the command that is installed."""
    args = ["--root", "/srv/notes", "--limit=5", "a key is a word", "-v"]
    for name in ("keycloak", "session-notes", "author"):
        printed = "\n".join(diff(None, json.dumps({"mcpServers": {name: {"command": "notes", "args": args}}}), "json"))
        assert "[masked " not in printed
        toml = f"[mcp_servers.{name}]\ncommand = 'notes'\nargs = {json.dumps(args)}\n# see x\n"
        assert diff(None, toml, "toml")[1:] == [f"+{line}" for line in toml.splitlines()]


def test_a_secret_at_the_end_of_a_line_that_is_cut_off_is_masked() -> None:
    printed = "\n".join(diff(f'# token = "{SECRET * 500}"\n', None, "toml"))
    assert SECRET not in printed


@pytest.mark.parametrize("start", ["#", "# a=", "'"])
def test_a_long_line_is_shown_in_time_in_proportion(start: str) -> None:
    """Some seconds with a pattern that looks again from each character, thousandths without."""
    began = time.process_time()
    diff(f"{start}{'a' * 200_000}\n", None, "toml")
    assert time.process_time() - began < 2
