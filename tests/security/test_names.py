"""D17 and B25: names of files that hold secrets, and of files that programs obey, as whole families."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tooltrue import Client, Server
from tooltrue.errors import ToolError
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
from tooltrue_toolbox.files import toolset
from tooltrue_toolbox.files.file_tools import Files
from tooltrue_toolbox.files.values import Edit
from tooltrue_toolbox.path_patterns import HARMLESS, NEEDS_APPROVAL, OBEYED, SECRET, PatternGroup

AGREED = RequestContext(LOCAL, SILENT, agreed=True)

PLAIN_SECRETS = [
    ".env",
    "prod.env",
    ".env_prod",
    ".env.local",
    ".envrc",
    "secrets.toml",
    "secret.yaml",
    "credentials.json",
    "terraform.tfstate",
    "prod.tfvars",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    "id_rsa",
    "id_ed25519_work",
    "server.key",
    "tls/cert.pem",
    "store.p12",
    "keys.kdbx",
    "service-account.json",
    "my-service-account.json",
    "kubeconfig",
    ".kube/config",
    ".cargo/credentials.toml",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".aws/credentials",
    ".azure/token",
    ".config/gcloud/x.db",
    ".bash_history",
    ".psql_history",
    ".python_history",
    "logins.json",
    "key4.db",
    "Default/Cookies",
    ".npmrc",
    ".pypirc",
    "wallet.dat",
    "login.keyring",
    ".gnupg/secring.gpg",
    ".m2/settings.xml",
    "wp-config.php",
    "sites/default/settings.php",
    "app/etc/env.php",
    "appsettings.Production.json",
]
SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda name: name,
    "in capital letters": str.upper,
    "in full width": lambda name: "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in name),
    "with a blank behind": lambda name: name + " ",
    "with dots behind": lambda name: name + "..",
    "invisibly divided": lambda name: name[:2] + "\u200b" + name[2:],
    "tilde": lambda name: name + "~",
    ".bak": lambda name: name + ".bak",
    ".old": lambda name: name + ".old",
    "_old": lambda name: name + "_old",
    ".orig": lambda name: name + ".orig",
    ".save": lambda name: name + ".save",
    "a draft of vim": lambda name: f".{name}.swp",
    "a draft of emacs": lambda name: f"#{name}#",
    "a number": lambda name: name + ".1",
    "a day": lambda name: name + ".2026-11-23",
    "a moment": lambda name: name + "-20261123T070000",
    "(copy)": lambda name: name + " (copy)",
    "(2)": lambda name: name + " (2)",
    "a copy of": lambda name: f"Copy of {name}",
    "a copy in Chinese": lambda name: name + " \u526f\u672c",
    "packed": lambda name: name + ".bak.gz",
    "twice": lambda name: name + ".old.bak~",
}
ORDINARY = [
    "environment.md",
    "secrets_test.py",
    "secrets.py",
    ".env.example",
    ".env.template",
    ".env.local.example",
    "keyboard.json",
    "tokenizer.json",
    "id_rsa.pub",
    "config.json",
    "docker/config.json",
    "hosts.yml",
    "src/cookies/store.py",
    "tokens.json",
    "backup-2024.txt",
    "env.py",
    "env.php",
    "settings.php",
    "wp-config-sample.php",
    "appsettings.json",
    "appsettings.Development.json",
    "credentials.md",
    "monkey.py",
    "key.py",
    "history.md",
    "package.json",
    "Makefile",
    "pyproject.toml",
    "notes/today.md",
    "src/service.py",
    "data.csv",
]
OBEYED_NAMES = [
    "CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    "docs/AGENTS.md",
    ".cursorrules",
    ".github/workflows/x.yml",
    ".github/copilot-instructions.md",
    "mcp.json",
    ".amazonq/mcp.json",
    ".trae/mcp.json",
    ".junie/mcp/mcp.json",
    ".continue/config.yaml",
    "opencode.json",
    ".vs/mcp.json",
    "mise.toml",
    "lefthook.yml",
    ".config/git/config",
    ".config/autostart/x.desktop",
    ".config/systemd/user/x.service",
    ".config/fish/conf.d/x.fish",
    ".config/nvim/init.lua",
    ".emacs.d/init.el",
    ".psqlrc",
    ".sqliterc",
    ".Rprofile",
    ".irbrc",
    ".inputrc",
    ".tmux.conf",
    "sitecustomize.py",
    "usercustomize.py",
    "conftest.py",
    "evil.pth",
    ".forward",
    ".rhosts",
    ".k5login",
    "crontab",
    ".gitlab-ci.yml",
    ".gitattributes",
    "pip.conf",
    ".local/bin/git",
    "authorized_keys",
    ".htaccess",
    "a.code-workspace",
]


@pytest.fixture(name="root")
def served(tmp_path: Path) -> Path:
    root = tmp_path / "served"
    root.mkdir()
    return root


@pytest.fixture(name="files")
def over(root: Path) -> Iterator[Files]:
    with Files([root]) as files:
        yield files


def put(root: Path, path: str, text: str = "hunter2") -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ToolError) as caught:
        call()
    return caught.value.code


@pytest.mark.attack("D17")
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_d17_secrets_and_their_backup_copies_are_not_read(files: Files, root: Path, spelling: str) -> None:
    for secret in PLAIN_SECRETS:
        folder, _, name = secret.rpartition("/")
        path = f"{folder}/{SPELLINGS[spelling](name)}".lstrip("/")
        put(root, path)
        with pytest.raises(ToolError, match="contains secrets"):
            files.read_file(path)


@pytest.mark.attack("D17")
@pytest.mark.parametrize("secret", PLAIN_SECRETS)
def test_d17_secrets_are_neither_written_nor_moved(files: Files, root: Path, secret: str) -> None:
    put(root, secret)
    put(root, "mine")
    refusals = [
        code_of(lambda: files.write_file(secret, "x", mode="overwrite", context=AGREED)),
        code_of(lambda: files.move_file(secret, "y", context=AGREED)),
        code_of(lambda: files.move_file("mine", f"{secret}.bak", context=AGREED)),
    ]
    assert set(refusals) <= {"TT6030", "TT6031"}


@pytest.mark.attack("D17")
@pytest.mark.parametrize("folder", [".docker", ".config", ".config/gh", "gh", "Default", ".m2", "a/.docker"])
def test_d17_a_folder_that_makes_its_files_secret_keeps_its_name(files: Files, root: Path, folder: str) -> None:
    for name in ("config.json", "gh/hosts.yml", "hosts.yml", "Cookies", "settings.xml", "credentials"):
        put(root, f"{folder}/{name}")
    assert code_of(lambda: files.move_file(folder, "y", context=AGREED)) == "TT6030"


@pytest.mark.attack("D17")
def test_d17_a_link_to_a_folder_shows_no_more_of_it(files: Files, root: Path) -> None:
    put(root, ".docker/config.json")
    (root / "d").symlink_to(".docker")
    assert code_of(lambda: files.read_file("d/config.json")) == "TT6030"


@pytest.mark.twin("D17")
@pytest.mark.parametrize("path", ORDINARY)
def test_d17_twin_names_that_look_alike_are_read_and_written_unasked(files: Files, root: Path, path: str) -> None:
    files.write_file(path, "fine", create_parents=True)
    assert files.read_file(path)["content"] == "fine"
    files.move_file(path, "elsewhere.txt")


@pytest.mark.attack("D17", "B25")
@pytest.mark.parametrize("path", OBEYED_NAMES)
@pytest.mark.parametrize("spelling", ["as it is", "in capital letters", "in full width", "with dots behind"])
def test_b25_no_tool_writes_a_file_that_programs_obey_without_approval(
    files: Files, root: Path, path: str, spelling: str
) -> None:
    folder, _, name = path.rpartition("/")
    path = f"{folder}/{SPELLINGS[spelling](name)}".lstrip("/")
    put(root, "mine")
    refusals = [
        code_of(lambda: files.write_file(path, "x", create_parents=True)),
        code_of(lambda: files.move_file("mine", path, create_parents=True)),
        code_of(lambda: files.create_directory(path)),
    ]
    assert set(refusals) == {"TT6086"}
    assert [entry.name for entry in root.iterdir()] == ["mine"]
    put(root, path, "old")
    assert code_of(lambda: files.edit_file(path, [Edit(old_text="old", new_text="new")])) == "TT6086"
    assert code_of(lambda: files.write_file(path, "x", mode="append")) == "TT6086"
    assert (root / path).read_text() == "old"


@pytest.mark.attack("B25")
def test_b25_a_write_through_a_link_to_a_file_that_programs_obey_needs_approval(files: Files, root: Path) -> None:
    put(root, ".github/workflows/a.yml")
    (root / "docs").symlink_to(".github")
    assert code_of(lambda: files.write_file("docs/workflows/b.yml", "x")) == "TT6086"


@pytest.mark.twin("D17", "B25")
@pytest.mark.parametrize("path", OBEYED_NAMES)
def test_b25_twin_it_is_read_and_once_a_person_has_agreed_written(files: Files, root: Path, path: str) -> None:
    files.write_file(path, "fine", create_parents=True, context=AGREED)
    assert files.read_file(path)["content"] == "fine"


@pytest.mark.attack("B25")
@pytest.mark.parametrize(("answer", "code"), [(True, None), (False, "TT6087")])
def test_b25_a_file_that_programs_obey_needs_approval_even_where_plain_writes_do_not(
    root: Path, answer: bool, code: str | None
) -> None:
    server = Server("quiet", toolsets=[toolset([root])], confirm=Confirm.never(), audit=False)
    asked: list[str] = []

    def elicit(question: object) -> bool:
        asked.append(str(getattr(question, "message", "")))
        return answer

    async def once() -> list[str]:
        async with Client(server, elicit=elicit) as client:
            names = ("notes.md", "AGENTS.md")
            return [(await client.call_tool("write_file", {"path": name, "content": "x"})).text for name in names]

    texts = asyncio.run(once())
    assert asked == ["Write 'AGENTS.md'? Agents, shells or other programs obey its content."]
    assert [f"[{code}]" in text for text in texts] == [False, code is not None]
    assert (root / "AGENTS.md").exists() is answer


def test_each_group_has_a_source_and_names_of_one_form() -> None:
    groups: list[PatternGroup] = [*SECRET, *HARMLESS, *OBEYED, *NEEDS_APPROVAL]
    assert all(group.source.startswith("https://") and group.about and group.names for group in groups)
    every = [name for group in groups for name in group.names]
    assert [
        name for name in every if name != name.lower() or name.count("/") > 2 or json.dumps(name)[1:-1] != name
    ] == []
    for one, other in itertools.combinations((SECRET, OBEYED, NEEDS_APPROVAL), 2):
        assert not {n for g in one for n in g.names} & {n for g in other for n in g.names}
