"""A smoke test of wheels, in an empty environment for each Python of this machine: `make smoke`.

    python -m release.smoke [--core] [--index | --index-url URL] dist/wheelhouse [VERSION…]

pip installs the core from the folder, and no package from elsewhere; then the steps below run. They run again with all
extras, and further ones, unless `--core` is given. With an index, pip takes the wheels of others from there, and ours
from the folder all the same. The first step that fails ends the test with exit code 1.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from release.pythons import find

__all__ = ["Environment", "environment", "smoke"]

SECONDS = 120.0
PYPI = "https://pypi.org/simple"
CORE_IMPORTS = """
import tooltrue
from tooltrue import Client, Host, Server
from tooltrue.testing import check_server
print(tooltrue.__version__)
"""
ALL_IMPORTS = """
import anthropic, duckdb, hyperscan, keyring, langchain_core, matplotlib, openai, opentelemetry, orjson, psycopg
import pydantic_ai, pypdf, re2, redis, selectolax, sqlglot
import tooltrue_check, tooltrue_console.application, tooltrue_toolbox.files, tooltrue_toolbox.sql
"""


@dataclass(frozen=True)
class Environment:
    """An environment of its own, with a folder to work in."""

    folder: Path
    work: Path

    @property
    def programs(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    def run(self, program: str, *words: str, status: int = 0) -> str:
        """Run a program of the environment. Return all that it prints; exit if its status is another one."""
        command = [str(self.programs / program), *words]
        done = subprocess.run(
            command,
            cwd=self.work,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=SECONDS * 5,
        )
        if done.returncode != status:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}, not {status}\n{done.stdout}")
        return done.stdout

    def variables(self) -> dict[str, str]:
        """The variables of its programs: none leads to another installation, to an index or to files of the user."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "PIP_", "UV_", "VIRTUAL_ENV"))
        }
        home = str(self.work / "home")
        own = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1", "NO_COLOR": "1", "PYTHONUTF8": "1"}
        return {**kept, **own, "HOME": home, "USERPROFILE": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}

    def install(self, wheels: Path, with_extras: bool, index: str | None = None) -> None:
        """Install our wheels by their paths: an index may have other distributions of these names."""
        names = ("tooltrue", "tooltrue_check", "tooltrue_console", "tooltrue_toolbox") if with_extras else ("tooltrue",)
        core, *others = (_wheel(wheels, name) for name in names)
        source = ("--no-index",) if index is None else ("--index-url", index)
        words = ("install", "--quiet", "--disable-pip-version-check", *source, "--find-links", str(wheels.resolve()))
        self.run("python", "-m", "pip", *words, f"{core}[all]" if with_extras else core, *others)


def _wheel(wheels: Path, name: str) -> str:
    found = [str(path.resolve()) for path in wheels.glob(f"{name}-*.whl")]
    if len(found) != 1:
        raise SystemExit(f"{wheels}: {len(found)} wheels of {name}, not 1")
    return found[0]


@contextlib.contextmanager
def environment(python: Path) -> Generator[Environment]:
    """An empty environment of an interpreter, until the end of the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder, work = Path(temporary) / "environment", Path(temporary) / "work"
        (work / "home").mkdir(parents=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
        yield Environment(folder, work)


# --- the steps --------------------------------------------------------------------------------------------------------


def imports(here: Environment) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", here.run("python", "-W", "error", "-c", CORE_IMPORTS))


def shows_its_help(here: Environment) -> None:
    assert "Usage: tooltrue" in here.run("tooltrue", "--help")
    assert here.run("tooltrue", "--version").startswith("tooltrue, version ")


def makes_a_project(here: Environment) -> None:
    here.run("tooltrue", "new", "weather")
    assert (here.work / "weather" / "tooltrue.lock").is_file()


def serves_over_stdio(here: Environment) -> None:
    assert "add_note" in here.run("tooltrue", "list", "weather/weather.py")
    command = f"{here.programs / 'tooltrue'} serve weather/weather.py"
    assert "1" in here.run("tooltrue", "call", command, "add_note", "title=milk", "text=two litres")


def serves_over_http(here: Environment) -> None:
    with served(here, "weather/weather.py") as url:
        here.run("tooltrue", "call", url, "add_note", "title=milk", "text=two litres")
        assert "two litres" in here.run("tooltrue", "call", url, "get_notes")


def tests_a_server(here: Environment) -> None:
    assert " 0 failed" in here.run("tooltrue", "test", "weather/weather.py", "--calls", "3", "--effects", "write")


def names_what_is_missing(here: Environment) -> None:
    """The core alone has no check: the command says so, and how to install it."""
    assert "tooltrue-check" in here.run("tooltrue", "check", "weather/weather.py", status=2)


def imports_all(here: Environment) -> None:
    here.run("python", "-c", ALL_IMPORTS)


def checks_definitions(here: Environment) -> None:
    assert "errors: 0" in here.run("tooltrue", "check", "weather/weather.py")
    assert "Nothing has changed." in here.run("tooltrue", "diff", "weather/tooltrue.lock", "weather/weather.py")


def serves_the_toolbox(here: Environment) -> None:
    (here.work / "files").mkdir(exist_ok=True)
    (here.work / "files" / "note.txt").write_text("milk\n", "utf-8")
    command = f"{here.programs / 'tooltrue'} serve files --root {here.work / 'files'} --access read"
    assert "milk" in here.run("tooltrue", "call", command, "read_file", "path=note.txt")


@contextlib.contextmanager
def served(here: Environment, target: str) -> Generator[str]:
    """Serve over HTTP at a port of the system's choice, and yield the URL that the command prints."""
    log = here.work / "served.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            [here.programs / "tooltrue", "serve", target, "--http", "127.0.0.1:0"],
            cwd=here.work,
            env=here.variables(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield _url(server, log)
    finally:
        server.terminate()
        server.wait(SECONDS)


def _url(server: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        printed = log.read_text("utf-8", "replace")
        if found := re.search(r"http://127\.0\.0\.1:\d+/\S*", printed):
            return found[0]
        if server.poll() is not None:
            raise SystemExit(f"the server ended:\n{printed}")
        time.sleep(0.05)  # a file of another process has no event on every system
    raise SystemExit(f"the server printed no URL:\n{log.read_text('utf-8', 'replace')}")


Step = Callable[[Environment], None]
CORE: tuple[Step, ...] = (imports, shows_its_help, makes_a_project, serves_over_stdio, serves_over_http, tests_a_server)
EVERYTHING: tuple[Step, ...] = (*CORE, imports_all, checks_definitions, serves_the_toolbox)


def smoke(python: Path, wheels: Path, with_extras: bool = True, index: str | None = None) -> None:
    """Run all steps with one interpreter, and print the seconds of each installation with its steps."""
    with environment(python) as here:
        rounds = [("tooltrue", (*CORE, names_what_is_missing)), ("tooltrue[all]", EVERYTHING)]
        for requirement, steps in rounds if with_extras else rounds[:1]:
            begun = time.perf_counter()
            here.install(wheels, steps is EVERYTHING, index)
            installed = time.perf_counter()
            for step in steps:
                if step is not makes_a_project or not (here.work / "weather").exists():
                    step(here)
            ended = time.perf_counter()
            took = f"installed in {installed - begun:5.1f} s, {len(steps)} steps in {ended - installed:5.1f} s"
            print(f"{requirement:14} {took}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="Install from a folder of wheels into empty environments, and use it.")
    parser.add_argument("--core", action="store_true", help="leave the extras out")
    parser.add_argument("--all", action="store_true", help="with all extras, the default")
    parser.add_argument("--index", action="store_const", const=PYPI, help=f"take the wheels of others from {PYPI}")
    parser.add_argument("--index-url", dest="index", metavar="URL", help="take them from this index")
    parser.add_argument("wheels", type=Path)
    parser.add_argument("versions", nargs="*")
    given = parser.parse_args()
    found = find(given.versions) if given.versions else find()
    if missing := set(given.versions) - found.keys():
        raise SystemExit(f"no Python {', '.join(sorted(missing))} here")
    for version, python in found.items():
        print(f"Python {version}: {python}")
        smoke(python, given.wheels, not given.core, given.index)
    return 0


if __name__ == "__main__":
    sys.exit(main())
