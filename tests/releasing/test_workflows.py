"""The workflow files and the container files, as far as they can be judged without running them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from release.archives import DISTRIBUTIONS, ROOT
from release.container import DOCKERFILE, instructions
from release.pythons import PYTHONS

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROGRAMS = Path(sys.executable).parent


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text("utf-8"))


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in read(path)["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_make_target_of_a_workflow_exists(path: Path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {word for step in steps(path) for word in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert named
    assert named <= targets


def offered_on_the_page() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The systems and the Pythons of the table of wheels in docs/installation.md."""
    page = (ROOT / "docs" / "installation.md").read_text("utf-8")
    table = page.split("<!-- wheels: systems -->\n")[1].split("<!-- end of wheels -->")[0].strip().splitlines()
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    return tuple(dict.fromkeys(name.split()[0] for name in head[1:])), tuple(row[0] for row in rows)


def test_the_matrix_has_the_pythons_of_the_classifiers_and_of_the_page():
    matrix = read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["smoke"]["strategy"]["matrix"]
    assert tuple(matrix["python"]) == PYTHONS
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    assert offered_on_the_page() == (("Linux", "macOS", "Windows"), PYTHONS)
    for distribution in DISTRIBUTIONS:
        project = tomllib.loads((ROOT / "packages" / distribution / "pyproject.toml").read_text("utf-8"))["project"]
        classifiers = [one.split(" :: ") for one in project["classifiers"]]
        versions = {words[-1] for words in classifiers if words[:2] == ["Programming Language", "Python"]} - {
            "1 - Unstable"
        }
        systems = {words[1] for words in classifiers if words[0] == "Operating System"}
        threaded = ["Programming Language", "Python", "Free Threading", "1 - Unstable"] in classifiers
        assert versions | {"3.14t"} == set(PYTHONS)
        assert (systems, threaded) == ({"MacOS", "Microsoft", "POSIX"}, True)


def test_every_action_is_pinned_by_its_commit_with_the_version_beside_it():
    for path in WORKFLOWS:
        for line in re.findall(r"uses: (.*)", path.read_text("utf-8")):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_no_job_has_a_right_that_it_does_not_name():
    for path in WORKFLOWS:
        workflow = read(path)
        assert workflow["permissions"] == {}
        assert all("permissions" in job and "timeout-minutes" in job for job in workflow["jobs"].values())


def test_only_the_jobs_that_sign_and_publish_get_an_identity():
    jobs = read(ROOT / ".github" / "workflows" / "release.yml")["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job["permissions"]] == ["attest", "publish"]
    assert jobs["publish"]["environment"] == "pypi"
    assert not any("run" in step and "dist" not in step["run"] for step in jobs["publish"]["steps"])


@pytest.mark.process
@pytest.mark.parametrize(
    "words",
    [
        ("zizmor", "--offline", "--no-progress", "--quiet", ".github/workflows"),
        ("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *map(str, WORKFLOWS)),
        ("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker/compose.yaml"),
        ("hadolint", "docker/Dockerfile"),
    ],
    ids=lambda words: " ".join(words[:3:2]),
)
def test_the_linters_find_nothing(words: tuple[str, ...]):
    done = subprocess.run([PROGRAMS / words[0], *words[1:]], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_has_the_server_alone_and_runs_it_without_rights():
    words = instructions(DOCKERFILE.read_text("utf-8"))
    bases = [rest for word, rest in words if word == "FROM"]
    assert all(re.match(r"python:3\.\d+\.\d+-slim", base) for base in bases)
    last = words[max(number for number, (word, _) in enumerate(words) if word == "FROM") + 1 :]
    assert [rest for word, rest in last if word == "USER"] == ["10001"]
    assert not any(re.search(r"apt|pip|uv |gcc", rest) for word, rest in last if word == "RUN")
    assert [rest.split()[0] for word, rest in last if word == "COPY"] == ["--from=build"]
    assert {"HEALTHCHECK", "ENTRYPOINT"} <= {word for word, _ in last}
    build = " ".join(rest for word, rest in words if word == "RUN")
    assert "--locked" in build


def test_the_compose_file_pins_its_images_and_keeps_the_server_on_this_machine():
    services = read(ROOT / "docker" / "compose.yaml")["services"]
    images = {name: one["image"] for name, one in services.items() if "image" in one}
    assert images.keys() == {"redis", "postgres"}
    assert all(re.search(r":\d+\.\d+", image) for image in images.values())
    assert all(port.startswith("127.0.0.1:") for one in services.values() for port in one.get("ports", ()))
    assert services["server"]["read_only"] is True
