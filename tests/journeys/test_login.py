"""`tooltrue login`, `logout`, and their effect on other verbs: real processes, a real server, a real issuer."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from support.issuing.server import Issuing, one_running_issuer, running_issuer
from support.issuing.visiting import registering, serving
from support.serving import environment
from support.warm_command import warm_command
from support.wire.mounting import Mounts, running_mounts
from tooltrue import Server

__all__ = ["one_running_issuer", "running_issuer", "running_mounts"]

BROWSER = """\
#!{python}
import json, sys, urllib.request
json.dump(sys.argv[1:], open({seen!r}, "w"))
urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(sys.argv[-1])
"""


class Person:
    """A person at a terminal, with a home folder and a browser of their own. Their keyring cannot store secrets."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.seen = home / "seen.json"
        self.browser = home / "browser"
        self.browser.write_text(BROWSER.format(python=sys.executable, seen=str(self.seen)))
        self.browser.chmod(0o700)

    def runs(self, *arguments: str) -> tuple[int, str, str]:
        env = environment(
            HOME=str(self.home),
            XDG_STATE_HOME=str(self.home / "state"),
            BROWSER=str(self.browser),
            PYTHON_KEYRING_BACKEND="keyring.backends.fail.Keyring",
        )
        done = subprocess.run(
            warm_command(*arguments), env=env, capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, done.stdout, done.stderr

    @property
    def kept(self) -> list[Path]:
        return sorted((self.home / "state" / "tooltrue" / "credentials").glob("*.json"))


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.mark.process
@pytest.mark.requirement("AUTHC-47")
def test_a_login_authenticates_the_other_verbs_until_logout(mounts: Mounts, issuer: Issuing, person: Person) -> None:
    issuer.changes["revocation_endpoint"] = f"{issuer.url}/revoke"
    with serving(mounts, registering(issuer)) as url:
        code, out, err = person.runs("call", url, "who")
        assert (code, out) == (4, "")
        assert f"tooltrue login {url}" in err
        assert person.runs("login", url)[:2] == (0, f"Signed in to {url}.\n")
        assert {stat.S_IMODE(path.stat().st_mode) for path in person.kept} == {0o600}
        assert stat.S_IMODE(person.kept[0].parent.stat().st_mode) == 0o700
        code, out, err = person.runs("call", url, "who", "--json")
        assert (code, json.loads(out)["structuredContent"]) == (0, [f"{issuer.url}#ada"]), err
        assert person.runs("logout", url) == (0, f"Signed out of {url}.\n", "")
        assert issuer.refresh == {}
        assert person.runs("logout", url)[1] == f"Nobody is signed in to {url}.\n"
        assert person.runs("list", url)[0] == 4


@pytest.mark.process
@pytest.mark.requirement("SEC-27", "SEC-28")
def test_b43_a_browser_is_started_without_a_shell(mounts: Mounts, issuer: Issuing, person: Person) -> None:
    trap = person.home / "trapped"
    issuer.changes["authorization_endpoint"] = f"{issuer.url}/authorize?a=$(touch${{IFS}}{trap})`touch${{IFS}}{trap}`"
    with serving(mounts, registering(issuer)) as url:
        assert person.runs("login", url)[0] == 0
    [page] = json.loads(person.seen.read_text())
    assert page.startswith(f"{issuer.url}/authorize?a=$(touch")
    assert not trap.exists()


@pytest.mark.process
def test_a_server_that_lets_everybody_in_needs_no_login(person: Person, mounts: Mounts) -> None:

    with mounts.mounted_at(lambda url: Server("open").http_app()) as url:
        assert person.runs("login", url)[:2] == (0, f"{url} lets everybody in.\n")
    assert person.kept == []
