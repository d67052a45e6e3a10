"""The search: included and excluded files, completeness of its pages, and cancellation."""

from __future__ import annotations

import asyncio
import errno
import itertools
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.toolbox.refusals import refused
from tooltrue import Client, Server
from tooltrue.errors import ToolError
from tooltrue.testing.state import LIMIT
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
from tooltrue_toolbox.files import FileLimits, Files, SearchResult, file_search, toolset
from tooltrue_toolbox.files.values import CHUNK
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.rooted_paths import PathRules


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("import os\n\ndef main():\n    return os.name\n")
    (folder / "src" / "deep" / "util.py").write_text("def main_helper():\n    pass\n")
    (folder / "notes.md").write_text("# Main\nnothing here\n")
    return folder


def find(files: Files, **arguments: Any) -> SearchResult:
    return asyncio.run(files.search_files(RequestContext(LOCAL, SILENT), **arguments))


def lines(result: SearchResult) -> list[tuple[str, int, str]]:
    return [(match["path"], match.get("line", 0), match.get("text", "")) for match in result["matches"]]


def paths(result: SearchResult) -> list[str]:
    return [match["path"] for match in result["matches"]]


def test_lines_are_found_with_their_numbers(files: Files) -> None:
    assert find(files, content="main") == {
        "path": ".",
        "matches": [
            {"path": "src/deep/util.py", "line": 1, "text": "def main_helper():"},
            {"path": "src/main.py", "line": 3, "text": "def main():"},
        ],
        "looked_at": 5,
    }


def test_a_search_by_name_returns_the_type_of_each_entry(files: Files) -> None:
    assert find(files, name="*{deep,.md}")["matches"] == [
        {"path": "notes.md", "type": "file", "size": 20},
        {"path": "src/deep", "type": "directory"},
    ]


def test_a_pattern_with_a_slash_is_for_paths_from_where_the_search_begins(files: Files) -> None:
    assert paths(find(files, name="src/*.py")) == ["src/main.py"]
    assert paths(find(files, path="src", name="deep/*.py")) == ["src/deep/util.py"]
    assert paths(find(files, path="src", name="src/*.py")) == []


def test_name_and_content_have_to_fit_both(files: Files) -> None:
    assert paths(find(files, content="main", name="util.*")) == ["src/deep/util.py"]


def test_case_counts_unless_it_is_said(files: Files, root: Path) -> None:
    (root / "a").write_text("ÜBER und über\n")
    assert paths(find(files, content="Main")) == ["notes.md"]
    assert paths(find(files, content="MAIN", ignore_case=True)) == ["notes.md", "src/deep/util.py", "src/main.py"]
    assert paths(find(files, content="Über", ignore_case=True)) == ["a"]
    assert paths(find(files, content="m.in", ignore_case=True)) == []


def test_regular_expressions_are_those_of_lines(files: Files) -> None:
    assert lines(find(files, content=r"^\s+(return|pass)\b", regex=True)) == [
        ("src/deep/util.py", 2, "    pass"),
        ("src/main.py", 4, "    return os.name"),
    ]
    assert lines(find(files, content=r"os$", regex=True)) == [("src/main.py", 1, "import os")]
    assert paths(find(files, content="^# main$", regex=True, ignore_case=True)) == ["notes.md"]
    assert paths(find(files, content=r"os[^x]*def", regex=True)) == []


@pytest.mark.parametrize("pattern", ["(a", "(?=x)", r"(a)\1", "(a{1000}){1000}"])
def test_a_regex_without_linear_time_matching_is_refused(files: Files, pattern: str) -> None:
    with refused("TT6063"):
        find(files, content=pattern, regex=True)


def test_without_the_extra_regular_expressions_name_it(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tooltrue_toolbox.re2", None)  # as if it could not be imported
    with pytest.raises(ToolError, match="need the extra 'files'"):
        find(files, content="x", regex=True)
    assert paths(find(files, content="nothing here")) == ["notes.md"]


def test_d16_an_expression_that_explodes(files: Files, root: Path) -> None:
    (root / "a").write_text("a" * 100_000)
    assert find(files, content="(a+)+$x", regex=True, name="a")["matches"] == []


def test_lines_around_are_shown(files: Files, root: Path) -> None:
    (root / "a").write_text("1\n\n3\nhere\n\n6\n7\n")
    (root / "b").write_text("here")
    [one, other] = find(files, content="here", name="[ab]", context_lines=2)["matches"]
    assert (one.get("before"), one.get("after")) == (["", "3"], ["", "6"])
    assert (other.get("before"), other.get("after")) == ([], [])


def test_a_long_line_is_shown_around_the_place(root: Path) -> None:
    (root / "a").write_text("é" * 5000 + "here" + "x" * 5000 + "\nhere" + "y" * 100)
    files = Files([root], limits=FileLimits(line_chars=20))
    one, other = (match.get("text", "") for match in find(files, content="here", name="a")["matches"])
    assert one.startswith("…é")
    assert "here" in one
    assert len(one) <= 22
    assert other == "here" + "y" * 16 + "…"


def test_a_file_larger_than_a_part_is_found_in_to_its_end(files: Files, root: Path) -> None:
    (root / "a").write_text("line\n" * 300_000 + "here\n" + "x" * (3 << 20) + " here\nlast here")
    assert [match.get("line") for match in find(files, content="here", name="a")["matches"]] == [
        300_001,
        300_002,
        300_003,
    ]


def test_a_search_skips_files_that_gitignore_names(files: Files, root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n/build/\n")
    (root / "src" / ".gitignore").write_text("deep/*.py\n!*.log\n")
    (root / "build").mkdir()
    for name in ("a.log", "build/x", "src/kept.log"):
        (root / name).write_text("main")
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("main")
    result = find(files, content="main")
    assert (paths(result), result.get("ignored")) == (["src/kept.log", "src/main.py"], 4)
    assert paths(find(files, path="src/deep", content="main")) == []
    everything = find(files, content="main", include_ignored=True)
    assert len(everything["matches"]) == 6
    assert "ignored" not in everything


def test_secrets_pictures_links_and_second_names_are_not_looked_into(files: Files, root: Path) -> None:
    (root.parent / "outside").write_text("main")
    (root / ".env").write_text("main")
    (root / ".ssh").mkdir()
    (root / ".ssh" / "config").write_text("main")
    (root / "image").write_bytes(b"main\0")
    (root / "link").symlink_to("../outside")
    os.link(root.parent / "outside", root / "second")
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe")
    result = find(files, content="main", include_ignored=True)
    assert paths(result) == ["src/deep/util.py", "src/main.py"]
    assert (result.get("closed"), result.get("binary")) == (3, 1)


def failing(call: Callable[..., Any], number: int, *names: str) -> Callable[..., Any]:
    """``open_file`` that fails for ``names``, or ``read_at`` that always does."""

    def fail(place: int, what: str | int, *rest: Any, **more: Any) -> Any:
        if isinstance(what, int) or what in names:
            raise OSError(number, "injected")
        return call(place, what, *rest, **more)

    return fail


@pytest.mark.parametrize("name", ["main.py", ".gitignore"])
@pytest.mark.parametrize(
    ("call", "number"), [("open_file", errno.EMFILE), ("open_file", errno.EIO), ("read_at", errno.EIO)]
)
def test_a_file_that_the_system_fails_to_read_ends_the_search_and_is_named(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: str, number: int
) -> None:
    (root / name).write_text("main")
    monkeypatch.setattr(handles, call, failing(getattr(handles, call), number, name))
    with pytest.raises(ToolError) as caught:
        find(files, content="main", name="main.py")
    assert (caught.value.code, caught.value.facts["path"]) == ("TT6034", name)
    assert caught.value.facts["problem"] == errno.errorcode[number]


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EACCES, errno.EPERM, errno.ELOOP, errno.ESTALE])
def test_a_file_that_is_gone_or_not_for_us_is_passed_over(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (root / "src" / ".gitignore").write_text("deep")
    monkeypatch.setattr(handles, "open_file", failing(handles.open_file, number, "main.py", ".gitignore"))
    result = find(files, content="main")
    assert (paths(result), result.get("closed")) == (["src/deep/util.py"], 2)


def test_bytes_that_are_no_text_are_searched_and_shown_as_they_can(files: Files, root: Path) -> None:
    (root / "a").write_bytes(b"caf\xe9\x01 main\r\n")
    assert find(files, content="main", name="a")["matches"] == [{"path": "a", "line": 1, "text": "caf\ufffd\x01 main"}]


def test_a_line_without_end_that_is_longer_than_a_part_is_found_in_each(files: Files, root: Path) -> None:
    (root / "a").write_text("x" * CHUNK + "main" + "y" * CHUNK + "main\nmain\n")
    assert [match.get("line") for match in find(files, content="main", name="a")["matches"]] == [1, 1, 2]
    pages = [find(files, content="main", name="a", limit=1)]
    while cursor := pages[-1].get("next_cursor"):
        pages.append(find(files, content="main", name="a", limit=1, cursor=cursor))
    assert [match.get("line") for page in pages for match in page["matches"]] == [1, 1, 2]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize("arguments", [{"content": "n"}, {"name": "*"}, {"content": "main", "path": "src"}])
def test_the_pages_of_a_search_make_the_whole(files: Files, limit: int, arguments: dict[str, Any]) -> None:
    whole = find(files, **arguments)["matches"]
    assert whole
    pages = [find(files, limit=limit, **arguments)]
    while cursor := pages[-1].get("next_cursor"):
        pages.append(find(files, limit=limit, cursor=cursor, **arguments))
    assert [match for page in pages for match in page["matches"]] == whole
    assert all(len(page["matches"]) <= limit for page in pages)


def test_a_search_ends_when_its_time_is_over_and_goes_on_from_there(root: Path) -> None:
    (root / "big").write_text("n\n" * 1_500_000)
    clock = iter(range(1_000_000))
    files = Files([root], limits=FileLimits(search_seconds=2.5), clock=lambda: next(clock))
    pages = [find(files, content="name")]
    while cursor := pages[-1].get("next_cursor"):
        pages.append(find(files, content="name", cursor=cursor))
    assert [match["path"] for page in pages for match in page["matches"]] == ["src/main.py"]
    assert len(pages) > 2


def test_a_search_in_which_all_is_left_out_ends_when_its_time_is_over_too(root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n")
    for number in range(5):
        (root / f"{number}.log").touch()
    files = Files([root], limits=FileLimits(search_seconds=2), clock=itertools.count().__next__)
    ignored, pages, cursor = 0, 0, None
    while pages == 0 or cursor is not None:
        result = find(files, name="*.log", cursor=cursor)
        ignored, pages, cursor = ignored + result.get("ignored", 0), pages + 1, result.get("next_cursor")
    assert ignored == 5
    assert pages > 3


def test_a_page_also_ends_when_its_texts_are_long(root: Path) -> None:
    files = Files([root], limits=FileLimits(entry_bytes=10))
    assert len(find(files, content="main")["matches"]) == 1


@pytest.mark.parametrize(
    "cursor", ["x", "1", "-1:0:src/a", "0:0:", "0:0:other", "9999999999999999:0:src/main.py", "0:0:src"]
)
def test_a_cursor_of_another_search_is_refused(files: Files, cursor: str) -> None:
    with refused("TT6060"):
        find(files, path="src", name="*", cursor=cursor)


def test_a_search_without_criteria_is_refused(files: Files) -> None:
    with refused("TT6077"):
        find(files)
    with refused("TT6020"):
        find(files, path="none", name="*")


def test_several_folders_are_searched_by_label(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "in").mkdir(parents=True)
        (tmp_path / name / "in" / "a").write_text("here")
        (tmp_path / name / ".gitignore").write_text("b\n")
        (tmp_path / name / "b").write_text("here")
    files = Files([tmp_path / "two", tmp_path / "one"])
    assert paths(find(files, content="here")) == ["one/in/a", "two/in/a"]
    first = find(files, content="here", limit=1)
    assert paths(find(files, content="here", cursor=first.get("next_cursor"))) == ["two/in/a"]
    assert paths(find(files, path="two", content="here")) == ["two/in/a"]
    assert paths(find(files, name="one/*/a")) == ["one/in/a"]


def test_files_of_second_names_are_searched_where_the_operator_allows_them(root: Path) -> None:
    os.link(root / "notes.md", root / "second")
    files = Files([root], rules=PathRules(allow_hard_links=True))
    assert paths(find(files, content="nothing")) == ["notes.md", "second"]


def test_a_search_tells_how_far_it_is(root: Path) -> None:
    for n in range(2_100):
        (root / f"{n:05}").touch()
    seen: list[tuple[float, str | None]] = []

    async def watch() -> None:
        async with Client(Server("files", toolsets=[toolset([root])])) as client:
            await client.call_tool(
                "search_files", {"name": "*.md"}, progress=lambda done, _total, said: seen.append((done, said))
            )

    asyncio.run(watch())
    assert seen == [(1000, "1000 entries looked at, 0 matches"), (2000, "2000 entries looked at, 0 matches")]


def test_a_cancelled_search_ends(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    looked: list[int] = []
    real = file_search.Search.run

    def run(self: file_search.Search, *arguments: Any) -> None:
        real(self, *arguments)
        looked.append(self.result["looked_at"])
        ended.set()

    def opened(parent: int, name: str, *, writable: bool = False) -> int:
        if name == "notes.md":
            reached.set()
            go_on.wait(LIMIT)
        return open_file(parent, name, writable=writable)

    open_file = handles.open_file
    monkeypatch.setattr(file_search.Search, "run", run)
    monkeypatch.setattr(handles, "open_file", opened)

    async def give_up() -> None:
        files = Files([root])
        call = asyncio.create_task(files.search_files(RequestContext(LOCAL, SILENT), content="main"))
        await asyncio.to_thread(reached.wait, LIMIT)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        go_on.set()
        assert await asyncio.to_thread(ended.wait, LIMIT)

    asyncio.run(give_up())
    assert looked == [1]
