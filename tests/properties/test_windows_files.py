"""Whatever a path and the links in a folder are, the files tools on Windows open nothing outside of it."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.toolbox import modules_of_systems
from support.windows.handles import FILES
from tooltrue.errors import ToolError
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext

AGREED = RequestContext(LOCAL, SILENT, agreed=True)

NAMES = st.sampled_from(
    ["a", "A", "src", "SRC", "main.py", "link", "out", "up", "LONGNA~1.TXT", ".env", "ENV~1", "new"]
)
FORMS = st.sampled_from(
    [
        "..",
        ".",
        "",
        "a:b",
        "main.py::$DATA",
        "NUL",
        "con.txt",
        "a.",
        "a ",
        "...",
        "~",
        "*",
        "\ud800",
        "C:",
        "\\\\?",
        "?",
    ]
)
SEPARATORS = st.sampled_from(["\\", "/", "\\\\", "/\\"])
PREFIXES = st.sampled_from(
    ["", "", "", "\\", "/", "C:", "C:\\", "\\\\server\\share\\", "\\\\?\\", "\\\\.\\", "\\??\\", "ROOT"]
)
PATHS = st.builds(
    lambda prefix, separator, parts: (prefix, separator.join(parts)),
    PREFIXES,
    SEPARATORS,
    st.lists(NAMES | NAMES | FORMS, min_size=1, max_size=5),
)
TARGETS = st.sampled_from(
    [
        "src",
        "src/main.py",
        "..",
        "../outside",
        "../outside/main.py",
        "/etc",
        "/",
        "src/../..",
        "link",
        "a\\..\\..",
        "OUT",
    ]
)
LINKS = st.dictionaries(st.sampled_from(["link", "out", "up", "src/up", "a/link"]), TARGETS, max_size=4)
CALLS: list[Callable[[Any, str], object]] = [
    lambda files, path: files.read_file(path),
    lambda files, path: files.file_info(path),
    lambda files, path: files.list_directory(path, depth=4),
    lambda files, path: files.write_file(path, "new", create_parents=True),
    lambda files, path: files.write_file(path, "new", mode="overwrite"),
    lambda files, path: files.create_directory(path),
    lambda files, path: files.move_file(path, "moved"),
    lambda files, path: files.move_file("src/main.py", path, create_parents=True),
    lambda files, path: files.delete_file(path, AGREED, recursive=True),
]


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield modules_of_systems.namespace()


def built(place: Path, links: dict[str, str]) -> Path:
    root = place / "served"
    for folder in ("served/src", "served/a", "outside"):
        (place / folder).mkdir(parents=True)
    for name in ("served/src/main.py", "served/long name.txt", "served/.env", "outside/main.py"):
        (place / name).write_text("outside" if name.startswith("outside") else "inside")
    for link, target in links.items():
        (root / link).symlink_to(target)
    return root


@given(PATHS, LINKS, st.sampled_from(CALLS))
def test_no_path_opens_anything_outside_of_the_folder(
    windows: SimpleNamespace, path: tuple[str, str], links: dict[str, str], call: Callable[[Any, str], object]
) -> None:
    place = Path(os.path.realpath(tempfile.mkdtemp()))
    try:
        root = built(place, links)
        prefix, rest = path
        with windows.files.Files([root]) as files:
            FILES.opened.clear()
            with contextlib.suppress(ToolError):
                call(files, f"{root}\\{rest}".replace("/", "\\") if prefix == "ROOT" else prefix + rest)
            opened = [Path(each) for each in FILES.opened]
        assert [each for each in opened if not each.is_relative_to(root)] == []
        assert (place / "outside" / "main.py").read_text() == "outside"
        assert (root / ".env").read_text() == "inside"
        assert os.listdir(place / "outside") == ["main.py"]
    finally:
        shutil.rmtree(place)
