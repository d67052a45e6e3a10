"""Parts of files: a secret in the requested part is masked, even if only a piece of the secret lies in the part."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from support.fake_secrets import FAKES
from support.website import Said, running
from tooltrue import Client, Context, ResourceLink, Server
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.protocol.types import TextResource
from tooltrue.tools.stored_results import CHUNK_BYTES
from tooltrue.tools.vocabulary import Slice
from tooltrue_toolbox.command import read_text
from tooltrue_toolbox.command import toolset as commands
from tooltrue_toolbox.command.command_tools import SHOWN_CHARACTERS
from tooltrue_toolbox.files import toolset
from tooltrue_toolbox.tables.table_tools import toolset as tables
from tooltrue_toolbox.web.web_tools import WebSettings
from tooltrue_toolbox.web.web_tools import toolset as web

TOKEN = next(text for kind, text in FAKES if kind == "github-token" and "pat" not in text)
PEM = next(text for kind, text in FAKES if kind == "private-key")


def read(folder: Path, **arguments: Any) -> str:
    async def once() -> str:
        async with Client(Server("files", toolsets=[toolset([folder])])) as client:
            return (await client.call_tool("read_file", arguments)).structured["content"]

    return asyncio.run(once())


@pytest.mark.attack("C08")
@pytest.mark.parametrize("offset", [5, 6, 7, 9, 12, 16, 20, 25, 30, 34])
@pytest.mark.parametrize("encoding", ["utf-8", "base64"])
def test_c08_a_part_of_a_token_is_masked(tmp_path: Path, offset: int, encoding: str):
    (tmp_path / "a.txt").write_text(f"key {TOKEN}\nmore é\n")
    content = read(tmp_path, path="a.txt", offset=offset, encoding=encoding)
    text = base64.b64decode(content).decode() if encoding == "base64" else content
    assert TOKEN[-6:] not in text
    assert "[secret masked: github-token" in text
    assert text.endswith("more é\n")


@pytest.mark.attack("C08", "C09")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "latin-1"])
@pytest.mark.parametrize("offset", [0, 8, 12, 15, 22])
def test_c09_bytes_of_text_are_looked_into(tmp_path: Path, encoding: str, offset: int):
    (tmp_path / "a.txt").write_bytes(f"é {TOKEN} and more".encode(encoding))
    data = base64.b64decode(read(tmp_path, path="a.txt", offset=offset, encoding="base64"))
    assert TOKEN[-6:].encode("utf-16-le" if encoding == "utf-16" else encoding) not in data


@pytest.mark.attack("C09")
@pytest.mark.parametrize("head", [b"\xff\xfe", b"\xfe\xff", b"\x7fELF\0\0\xff", b"\0\1" * 200, b"\1\0" * 200])
@pytest.mark.parametrize("offset", [4, 9, 15, 20])
def test_c09_bytes_of_something_else_are_looked_into(tmp_path: Path, head: bytes, offset: int):
    (tmp_path / "a.bin").write_bytes(head + f" {TOKEN} and more".encode())
    data = base64.b64decode(read(tmp_path, path="a.bin", offset=len(head) + offset, encoding="base64"))
    assert TOKEN[-6:].encode() not in data


CODECS = ["gbk", "gb18030", "utf-16", "utf-16-le", "utf-16-be", "latin-1"]
WORDS = {"gbk": "密钥在此，请勿外传。", "gb18030": "密钥在此，请勿外传。", "utf-16": "密钥在此，请勿外传。"}


@pytest.mark.attack("C08", "C09")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("start", [2, 3, 4, 6])
def test_c08_lines_of_a_private_key_in_another_encoding_are_masked(tmp_path: Path, codec: str, start: int):
    words = WORDS.get(codec, "Schlüssel, für später ")
    (tmp_path / "a.txt").write_bytes(f"{words}\n{PEM}\n{words}\n".encode(codec))
    content = read(tmp_path, path="a.txt", start_line=start, end_line=start + 1)
    assert PEM.splitlines()[start - 1][:10] not in content
    assert "[secret masked: private-key" in content


@pytest.mark.attack("C08", "C09")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("cut", [3, 6, 12, 20, 34])
def test_c08_a_part_of_a_token_in_another_encoding_is_masked(tmp_path: Path, codec: str, cut: int):
    # More words than the scan reads before a part, so that the scanned text begins within a word.
    words = (WORDS.get(codec, "Schlüssel für später ") * 1_001)[:-1]
    before = f"{words}{TOKEN[:cut]}".encode(codec)
    data = f"{words}{TOKEN} {words}".encode(codec)
    (tmp_path / "a.txt").write_bytes(data)
    content = read(tmp_path, path="a.txt", offset=len(before), limit=400)
    assert TOKEN[-3:] not in content
    assert content.startswith("[secret masked: github-token")
    assert words[:20] in content


@pytest.mark.twin("C08", "C09")
@pytest.mark.parametrize("codec", CODECS)
def test_c08_twin_words_in_another_encoding_are_read(tmp_path: Path, codec: str):
    words = WORDS.get(codec, "Schlüssel, für später ")
    (tmp_path / "a.txt").write_bytes(f"{words}\n{words} 2\n{words} 3\n".encode(codec))
    assert read(tmp_path, path="a.txt", start_line=2, end_line=2) == f"{words} 2\n"


@pytest.mark.attack("C08")
@pytest.mark.parametrize("start", range(2, 10))
def test_c08_lines_within_a_private_key_are_masked(tmp_path: Path, start: int):
    (tmp_path / "a.txt").write_text(f"{PEM}\nnext\n")
    content = read(tmp_path, path="a.txt", start_line=start, end_line=start + 1)
    assert PEM.splitlines()[start - 1][:10] not in content
    assert "[secret masked: private-key" in content


@pytest.mark.twin("C08")
@pytest.mark.parametrize("offset", [0, 3, 44, 46])
def test_c08_twin_the_text_beside_a_secret_is_readable(tmp_path: Path, offset: int):
    (tmp_path / "a.txt").write_text("x" * 50 + "\nall of it is plain\n")
    assert read(tmp_path, path="a.txt", offset=offset) == ("x" * 50 + "\nall of it is plain\n")[offset:]


@pytest.mark.twin("C08")
def test_c08_twin_lines_behind_a_private_key_are_read(tmp_path: Path):
    (tmp_path / "a.txt").write_text(f"{PEM}\nnext\n")
    assert read(tmp_path, path="a.txt", start_line=len(PEM.splitlines()) + 1) == "next\n"


# -- other tools that show parts ---------------------------------------------------------------------------------------


SHOW = """
[commands.show]
run = ["/bin/cat"]
description = "Shows a file"
effect = "read"
arguments = [{ name = "file", type = "path" }]
"""


def called(tools: Any, tool: str, **arguments: Any) -> Any:
    async def once() -> Any:
        async with Client(Server("t", toolsets=[tools], confirm=Confirm.never())) as client:
            return (await client.call_tool(tool, arguments)).structured

    return asyncio.run(once())


@pytest.mark.attack("C08")
@pytest.mark.parametrize("context_lines", [0, 1, 3])
@pytest.mark.parametrize("line", range(1, 6))
def test_c08_lines_that_a_search_finds_within_a_private_key_are_masked(tmp_path: Path, line: int, context_lines: int):
    (tmp_path / "a.txt").write_text(f"name\n{PEM}\nnext\n")
    wanted = PEM.splitlines()[line][:6]
    found = called(toolset([tmp_path]), "search_files", content=wanted, context_lines=context_lines)
    for shown in PEM.splitlines()[1:-1]:
        assert shown[:20] not in str(found)
    assert "[secret masked: private-key" in str(found)


@pytest.mark.attack("C08")
@pytest.mark.parametrize("at", [3, 12, 20, 38])
@pytest.mark.parametrize("before", [0, 1_995, 2_985])
def test_c08_a_line_that_a_search_cuts_is_masked(tmp_path: Path, before: int, at: int):
    line = "- " * (before // 2) + TOKEN + " -" * 3_000
    (tmp_path / "a.txt").write_text(f"{line}\n")
    found = called(toolset([tmp_path]), "search_files", content=TOKEN[at:])
    assert TOKEN[at : at + 12] not in str(found)


@pytest.mark.twin("C08")
def test_c08_twin_a_search_shows_the_lines_beside_a_private_key(tmp_path: Path):
    (tmp_path / "a.txt").write_text(f"a first line\na second line\n{PEM}\nnext\nand more\n")
    found = called(toolset([tmp_path]), "search_files", content="second", context_lines=1)
    [match] = found["matches"]
    assert (match["before"], match["text"]) == (["a first line"], "a second line")
    [match] = called(toolset([tmp_path]), "search_files", content="next", context_lines=1)["matches"]
    assert (match["text"], match["after"]) == ("next", ["and more"])


@pytest.mark.attack("C08")
@pytest.mark.parametrize("cut", range(1, 40, 6))
def test_c08_a_cell_of_a_table_that_is_cut_is_masked(tmp_path: Path, cut: int):
    cell = "x " * ((2_000 - cut) // 2) + "y" * (cut % 2) + TOKEN
    short = "x " * ((200 - cut) // 2) + "y " * (cut % 2) + TOKEN
    (tmp_path / "a.csv").write_text(f"a,b\n{cell},{short}\n{cell},{short}\n")
    rows, described = (
        called(tables([tmp_path]), "query_csv", path="a.csv"),
        called(tables([tmp_path]), "describe_csv", path="a.csv"),
    )
    for shown in (rows, described):
        assert TOKEN[: max(8, cut - 2)] not in str(shown)


@pytest.mark.twin("C08")
def test_c08_twin_a_cell_that_is_cut_shows_its_beginning(tmp_path: Path):
    (tmp_path / "a.csv").write_text(f"a,b\n{'a word ' * 400},1\n{'a word ' * 400},2\n")
    assert called(tables([tmp_path]), "query_csv", path="a.csv")["rows"][0][0] == ("a word " * 400)[:2_000]


@pytest.mark.attack("C08")
@pytest.mark.parametrize("cut", range(4, 40, 6))
@pytest.mark.parametrize("is_end", [False, True])
def test_c08_output_of_a_command_that_is_cut_is_masked(tmp_path: Path, cut: int, is_end: bool):
    before, behind = (8_192 - cut, 20_000) if not is_end else (20_000, 8_192 - cut)
    (tmp_path / "out.txt").write_text(f"{'- ' * (before // 2)}{TOKEN}{' -' * (behind // 2)}")
    shown = called(commands(read_text(SHOW), [tmp_path]), "execute_command", command="show", args=["out.txt"])
    left = TOKEN[-cut:] if is_end else TOKEN[:cut]
    assert len(shown["stdout"]) > 16_000
    assert left not in shown["stdout"]
    assert "[secret masked: github-token" in shown["stdout"]


@pytest.mark.twin("C08")
def test_c08_twin_output_of_a_command_that_is_cut_shows_both_ends(tmp_path: Path):
    (tmp_path / "out.txt").write_text("begin " + "a word " * 5_000 + "end")
    shown = called(commands(read_text(SHOW), [tmp_path]), "execute_command", command="show", args=["out.txt"])
    assert shown["stdout"].startswith("begin a word")
    assert shown["stdout"].endswith("a word end")


@pytest.mark.attack("C08")
@pytest.mark.parametrize("start", range(3, 43, 8))
def test_c08_a_part_of_a_page_of_the_web_is_masked(start: int):
    with running(lambda asked: Said(200, f"key {TOKEN} and more", (("content-type", "text/plain"),))) as site:
        tools = web(WebSettings(inside=(site.url,)))
        behind = called(tools, "fetch_url", url=f"{site.url}/a", start=start)["text"]
        before = called(tools, "fetch_url", url=f"{site.url}/a", max_chars=start + 4)["text"]
    assert behind.endswith(" and more")
    assert TOKEN[-6:] not in behind
    assert before.startswith("key [secret masked: github-token")


@pytest.mark.twin("C08")
def test_c08_twin_a_part_of_a_page_is_read_as_it_is():
    with running(lambda asked: Said(200, f"key {TOKEN} and more", (("content-type", "text/plain"),))) as site:
        tools = web(WebSettings(inside=(site.url,)))
        assert called(tools, "fetch_url", url=f"{site.url}/a", start=5 + len(TOKEN))["text"] == "and more"


@pytest.mark.attack("C08")
@pytest.mark.parametrize("cut", range(0, 40, 5))
def test_c08_a_kept_result_is_masked_before_it_is_divided(cut: int):
    server = Server("t")
    text = "- " * ((CHUNK_BYTES - cut) // 2) + TOKEN + " -" * CHUNK_BYTES

    @server.tool(effect="read")
    def report(context: Context) -> list[ResourceLink]:
        return [context.keep(text, "report.txt")]

    async def read() -> str:
        async with Client(server) as client:
            [link] = (await client.call_tool("report", {})).content
            uri, whole = link.uri, ""
            while uri:
                first, *behind = await client.read_resource(uri)
                assert isinstance(first, TextResource)
                whole += first.text
                uri = behind[0].uri if behind else ""
            return whole

    shown = asyncio.run(read())
    assert len(shown) > 2 * CHUNK_BYTES
    assert TOKEN[:12] not in shown
    assert TOKEN[-12:] not in shown
    assert "[secret masked: github-token" in shown


# -- texts that a result holds more than once --------------------------------------------------------------------------


def sliced(text: str, *slices: Slice) -> str:
    server = Server("t")

    @server.tool(effect="read")
    def show(context: Context) -> str:
        context.slices.extend(slices)
        return text

    async def once() -> str:
        async with Client(server) as client:
            return (await client.call_tool("show", {})).text

    return asyncio.run(once())


HALF, REST = TOKEN[:20], TOKEN[20:]


@pytest.mark.attack("C08")
@pytest.mark.parametrize("first", [0, 1])
def test_c08_each_of_two_pieces_with_one_text_is_masked(first: int):
    """Only one of the two pieces belongs to a token; the result does not show which one."""
    whole = f"{HALF}, {TOKEN}"
    shown = f"{HALF} | {HALF}"
    pieces = [Slice.of(whole, at, at + len(HALF), shown) for at in (0, len(HALF) + 2)]
    said = sliced(shown, pieces[first], pieces[1 - first])
    assert HALF not in said
    assert said.count("[secret masked: github-token") == 2


@pytest.mark.attack("C08")
def test_c08_two_pieces_with_one_text_are_masked_where_either_holds_a_part():
    """The text is the end of one token, and the beginning of another one."""
    text = f"{REST} {HALF}"
    ends, begins = Slice.of(f"{HALF}{text} more", 20, 20 + len(text)), Slice.of(f"a {text}{REST}", 2, 2 + len(text))
    for pieces in ((ends, begins), (begins, ends)):
        said = sliced(text, *pieces)
        assert HALF not in said
        assert REST not in said


@pytest.mark.attack("C08")
def test_c08_an_output_of_which_both_ends_are_the_same_is_masked_at_both(tmp_path: Path):
    """The text of both ends is the rest of a token before the second one, and the beginning of one behind the first."""
    fill = "- " * SHOWN_CHARACTERS
    end = f"{REST} {fill[: SHOWN_CHARACTERS // 2 - len(TOKEN) - 2]} {HALF}"
    (tmp_path / "out.txt").write_text(f"{end}{REST} {'a word ' * 5_000}{HALF}{end}")
    shown = called(commands(read_text(SHOW), [tmp_path]), "execute_command", command="show", args=["out.txt"])
    first, second = shown["stdout"].split("left out")
    assert HALF not in first
    assert REST not in second


@pytest.mark.twin("C08")
def test_c08_twin_an_empty_piece_changes_nothing():
    assert sliced("a b", Slice.of(f"key {TOKEN}", 10, 10, "a b")) == "a b"
    assert sliced("", Slice.of(f"key {TOKEN}", 10, 10)) == ""


@pytest.mark.twin("C08")
def test_c08_twin_pieces_without_a_secret_stay():
    whole = "a word, a word"
    assert sliced("a word | a word", *(Slice.of(whole, at, at + 6, "a word | a word") for at in (0, 8))) == (
        "a word | a word"
    )
