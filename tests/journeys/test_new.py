"""`tooltrue new`: a project that passes all of its checks at once, or an error and no project."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

import pytest

from journeys.test_cli import run
from support.serving import command, environment
from tooltrue.cli.new_verb import command as verb
from tooltrue.cli.new_verb import project_files
from tooltrue.version import PUBLISHED

pytestmark = pytest.mark.process

LIMIT = 120


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def typed(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command as it is typed in ``folder``."""
    env = environment(PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=LIMIT)


def made(name: str) -> Path:
    """A new project in the working folder."""
    done = run("new", name)
    assert (done.returncode, done.stderr) == (0, "")
    return Path(name)


def test_a_new_project_passes_its_checks_its_tests_and_pytest_at_once():
    project = made("city-weather").resolve()
    server = "city_weather.py"
    done = typed(project, *command("check", server, "--fail-on", "hint"))
    assert (done.returncode, "hints: 0" in done.stdout) == (0, True), done.stdout
    done = typed(project, *command("test", server, "--calls", "5", "--effects", "write"))
    assert (done.returncode, " 0 failed" in done.stdout.splitlines()[-1]) == (0, True), done.stdout
    done = typed(project, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout
    done = typed(project, *command("diff", "tooltrue.lock", server))
    assert (done.returncode, done.stdout) == (0, "Nothing has changed.\n")


def test_its_files_are_those_of_the_page_and_hold_its_name():
    project = made("city-weather")
    files = sorted(str(path.relative_to(project)) for path in project.rglob("*") if path.is_file())
    assert files == [
        ".github/workflows/ci.yml",
        ".gitignore",
        "README.md",
        "city_weather.py",
        "pyproject.toml",
        "tests/test_city_weather.py",
        "tooltrue.lock",
    ]
    text = "".join((project / file).read_text() for file in files)
    assert not re.search("project[-_]name", text)
    assert [path.name for path in Path().iterdir()] == ["city-weather"]
    Path("probe").mkdir()
    assert project.stat().st_mode == Path("probe").stat().st_mode


BY_NAME = re.compile(r"(?:pip|uv|pipx)[a-z ]* install (?:-\S+ )*['\"]?tooltrue")


def test_a_project_declares_tooltrue_and_no_index():
    project = made("weather")
    settings = tomllib.loads((project / "pyproject.toml").read_text())
    assert settings["project"]["dependencies"] == ["tooltrue"]
    assert settings["project"]["scripts"] == {"weather": "weather:server.run"}
    assert "uv" not in settings["tool"]
    written = {str(path.relative_to(project)): path.read_text() for path in project.rglob("*") if path.is_file()}
    lock = written.pop("tooltrue.lock")
    assert (written, "weather" in lock) == (project_files("weather", "en", PUBLISHED), True)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("published", [False, True])
def test_its_pages_install_from_an_index_once_it_is_published_and_not_before(language: str, published: bool):
    texts = project_files("weather", language, published)
    by_name = {path for path, text in texts.items() if BY_NAME.search(text)}
    assert by_name == ({"README.md", ".github/workflows/ci.yml"} if published else set())
    for text in texts.values():
        assert ("wheels/*.whl" in text and published) is False
        assert not re.search("^@@|index-url|pypi", text, re.IGNORECASE | re.MULTILINE)


def test_in_a_chinese_locale_its_page_is_chinese():
    done = run("--lang", "zh", "new", "weather")
    assert (done.returncode, "项目 weather" in done.stdout) == (0, True)
    assert "安装" in Path("weather/README.md").read_text()


def test_an_empty_folder_is_filled_and_one_in_another_folder_is_made_there():
    Path("weather").mkdir()
    Path("projects").mkdir()
    for name in ("weather", "projects/forecast"):
        assert (made(name) / "tooltrue.lock").is_file()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Weather", "TT4610"),
        ("3d", "TT4610"),
        ("a b", "TT4610"),
        ("a--b", "TT4610"),
        (".", "TT4610"),
        ("..", "TT4610"),
        ("a" * 65, "TT4610"),
        ("天气", "TT4610"),
        ("json", "TT4611"),
        ("pytest", "TT4611"),
        ("tooltrue", "TT4611"),
        ("full", "TT4612"),
        ("file", "TT4612"),
        ("nowhere/weather", "TT4613"),
        ("file/weather", "TT4613"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_with_a_reason_and_leaves_no_file(name: str, code: str):
    Path("full").mkdir()
    Path("full/a.txt").touch()
    Path("file").touch()
    before = sorted(Path().rglob("*"))
    done = run("new", name)
    assert (done.returncode, done.stdout, f"[{code}]" in done.stderr) == (2, "", True), done.stderr
    assert sorted(Path().rglob("*")) == before
    assert re.search(r"[\u4e00-\u9fff]", run("--lang", "zh", "new", name).stderr)


@pytest.mark.needs("limits")
def test_a_project_that_cannot_be_written_leaves_no_part_of_it():
    import resource  # noqa: PLC0415 - where it is

    full = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (300, 300))  # as a disk without room
    words = command("new", "weather")
    env = environment(PYTHONDONTWRITEBYTECODE="1")  # or modules would be cached in part, and break later processes
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, env=env, preexec_fn=full)
    assert (done.returncode, "[TT4613]" in done.stderr) == (2, True), done.stderr
    assert [*Path().iterdir()] == []


def test_the_verb_has_no_option_but_its_name():
    assert [param.name for param in verb.params if param.name not in ("lang",)] == ["name"]
    assert "new needs NAME. Example: tooltrue new weather" in run("new").stderr
