"""The archives of a release: the same from every build, with the tracked files and no other, and with true metadata."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from readme_renderer import markdown
from release.archives import DISTRIBUTIONS, build, built_elsewhere, digests, faults
from release.contents import OWN_LICENCES

pytestmark = pytest.mark.process


FOREIGN_LICENCES = {"tooltrue-console": ["src/tooltrue_console/static/htmx.LICENSE"]}


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archives")
    build(folder)
    return folder


def test_another_build_elsewhere_gives_the_same_bytes(archives: Path, tmp_path: Path):
    built_elsewhere(tmp_path)
    assert len(digests(archives)) == 2 * len(DISTRIBUTIONS)
    assert digests(tmp_path) == digests(archives)


def test_the_archives_hold_the_tracked_files_and_no_other(archives: Path):
    assert list(faults(archives)) == []


def test_a_foreign_file_in_a_wheel_is_reported(archives: Path, tmp_path: Path):
    for archive in archives.iterdir():
        (tmp_path / archive.name).write_bytes(archive.read_bytes())
    (wheel,) = tmp_path.glob("tooltrue-*.whl")
    with zipfile.ZipFile(wheel, "a") as opened:
        opened.writestr("tooltrue/__pycache__/app.pyc", b"")
    (source,) = tmp_path.glob("tooltrue_check-*.tar.gz")
    _without(source, "README.md")
    assert sorted(faults(tmp_path)) == [
        f"{wheel.name}: tooltrue/__pycache__/app.pyc does not belong into an archive",
        f"{wheel.name}: tooltrue/__pycache__/app.pyc is not tracked",
        f"{source.name}: README.md is missing",
    ]


def _without(archive: Path, name: str) -> None:
    content = io.BytesIO()
    with tarfile.open(archive) as opened, tarfile.open(fileobj=content, mode="w:gz") as made:
        for member in opened.getmembers():
            if not member.name.endswith(f"/{name}"):
                made.addfile(member, opened.extractfile(member))
    archive.write_bytes(content.getvalue())


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_metadata_are_valid_and_the_long_description_renders(archives: Path, distribution: str):
    (wheel,) = archives.glob(f"{distribution.replace('-', '_')}-[0-9]*.whl")
    with zipfile.ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(opened.read(name), validate=True)
    assert (metadata.name, metadata.license_expression) == (distribution, OWN_LICENCES[distribution])
    files = ["LICENSE", *FOREIGN_LICENCES.get(distribution, [])]
    assert (metadata.license_files, metadata.description_content_type) == (files, "text/markdown")
    page = markdown.render(metadata.description or "")
    assert page is not None
    assert "<h1" in page
    # The index has no repository beside the page: a relative link leads nowhere.
    assert re.findall(r'(?:href|src)="(?!https://|#)([^"]*)"', page) == []
