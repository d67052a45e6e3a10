"""Values of other libraries, files, iterators and bytes as results: on the wire of both generations, with real ones."""

from __future__ import annotations

import asyncio
import base64
import collections
import datetime
import decimal
import fractions
import io
import itertools
import os
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, cast

import jsonschema
import jsonschema_rs
import numpy
import pandas
import PIL.Image
import polars
import pyarrow
import pydantic
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray

import tooltrue
from support.exchanges import REVISIONS, exchange
from tooltrue import (
    Annotations,
    Audio,
    Client,
    Context,
    DefinitionError,
    Depends,
    EmbeddedResource,
    File,
    Form,
    Image,
    ImageContent,
    ResourceLink,
    Server,
    Table,
    TextContent,
)
from tooltrue.errors import InvalidResult
from tooltrue.testing.state import LIMIT
from tooltrue.tools.binding.collecting import MAX_ITEMS
from unit.tools import workshop

UNANNOTATED = object()
PNG = b"\x89PNG\r\n\x1a\n"
JPEG = b"\xff\xd8\xff\xe0"
WAV = b"RIFF....WAVE"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"


class Row(pydantic.BaseModel):
    count: int


class Asked(pydantic.BaseModel):
    name: str


class Encoded(pydantic.BaseModel):
    data: pydantic.Base64Bytes


def picture() -> PIL.Image.Image:
    return PIL.Image.new("RGB", (3, 2))


def figure() -> Figure:
    made = Figure((1, 1))
    cast(Any, made).subplots().plot([1, 2])
    return made


def frame() -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "city": ["Oslo", None, "Ærø"],
            "degrees": [1.5, float("nan"), -2.0],
            "on": [datetime.datetime(2026, 8, 1), None, datetime.datetime(2026, 8, 2, 10, 30)],
        }
    )


TABLE = {
    "columns": ["city", "degrees", "on"],
    "rows": [
        ["Oslo", 1.5, "2026-08-01T00:00:00"],
        [None, None, None],
        ["Ærø", -2.0, "2026-08-02T10:30:00"],
    ],
    "total_rows": 3,
    "truncated": False,
}
CSV = "city,degrees,on\nOslo,1.5,2026-08-01T00:00:00\n,,\nÆrø,-2.0,2026-08-02T10:30:00\n"


def rows(count: int = 2) -> Iterator[Row]:
    return (Row(count=number) for number in range(count))


async def later(count: int = 3) -> AsyncIterator[int]:
    for number in range(count):
        yield number


def serving(function: Callable[..., Any], returns: Any = UNANNOTATED, **settings: Any) -> Server:
    if returns is not UNANNOTATED:
        function.__annotations__["return"] = returns
    server = Server("t")
    server.add_tool(function, name="tool", **settings)
    return server


def called(server: Server, revision: str = REVISIONS[0], **arguments: Any) -> Any:
    return asyncio.run(exchange(server, revision, "tools/call", {"name": "tool", "arguments": arguments}))


def published(server: Server, revision: str = REVISIONS[0]) -> Any:
    [tool] = asyncio.run(exchange(server, revision, "tools/list", {}))["tools"]
    return tool


def returned(value: Callable[[], Any], returns: Any = UNANNOTATED) -> Any:
    return called(serving(lambda: value(), returns))


# --- values with a schema ---------------------------------------------------------------------------------------------

NUMBERS: list[Any] = [
    (lambda: numpy.float64(1.5), float, 1.5),
    (lambda: numpy.float64(1.5), numpy.float64, 1.5),
    (lambda: numpy.int32(2), numpy.int32, 2),
    (lambda: numpy.bool_(True), numpy.bool_, True),
    (lambda: numpy.array([[1.0, 2.0]]), numpy.ndarray, [[1.0, 2.0]]),
    (lambda: numpy.array([1.0, 2.0]), NDArray[numpy.float64], [1.0, 2.0]),
    (lambda: numpy.array([1, 2]), list[int], [1, 2]),
    (lambda: {"a": numpy.array([1.0])}, dict[str, list[float]], {"a": [1.0]}),
    (lambda: decimal.Decimal("1.50"), decimal.Decimal, "1.50"),
    (lambda: fractions.Fraction(1, 3), fractions.Fraction, "1/3"),
    (lambda: datetime.date(2026, 8, 1), datetime.date, "2026-08-01"),
]
BYTES: list[Any] = [
    (lambda: b"\xff\xfe", bytes, "//4="),
    (lambda: b"text", bytes, "dGV4dA=="),
    (lambda: None, bytes | None, None),
    (lambda: [b"a"], list[bytes], ["YQ=="]),
    (lambda: {"a": b"a"}, dict[str, bytes], {"a": "YQ=="}),
    (lambda: (b"a", 1), tuple[bytes, int], ["YQ==", 1]),
    (lambda: b"\xff", Annotated[bytes, "a hash"], "/w=="),
    (lambda: Encoded.model_construct(data=b"\xff"), Encoded, {"data": "/w=="}),
]
ITERATORS: list[Any] = [
    (lambda: iter([1, 2]), Iterator[int], [1, 2]),
    (lambda: map(str, [1]), Iterator[str], ["1"]),
    (lambda: (1, 2), Iterable[int], [1, 2]),
    (lambda: rows(), Iterator[Row], [{"count": 0}, {"count": 1}]),
    (lambda: rows(), list[Row], [{"count": 0}, {"count": 1}]),
    (lambda: rows(), Iterator[Row] | None, [{"count": 0}, {"count": 1}]),
    (lambda: (n for n in (1, 2)), list[int], [1, 2]),
    (lambda: range(3), list[int], [0, 1, 2]),
    (lambda: collections.deque([1]), collections.deque[int], [1]),
    (lambda: later(), AsyncIterator[int], [0, 1, 2]),
    (lambda: later(), list[int], [0, 1, 2]),
    (lambda: {"a": 1}.keys(), list[str], ["a"]),
]
TABLES: list[Any] = [
    (frame, pandas.DataFrame, TABLE),
    (frame, Annotated[pandas.DataFrame, "weather"], TABLE),
    (lambda: polars.from_pandas(frame()), polars.DataFrame, TABLE),
    (lambda: polars.from_pandas(frame()).lazy(), polars.LazyFrame, TABLE),
    (lambda: pyarrow.Table.from_pandas(frame(), preserve_index=False), pyarrow.Table, TABLE),
    (lambda: Table(frame()), Table, TABLE),
    (frame, pandas.DataFrame | None, TABLE),
    (lambda: None, pandas.DataFrame | None, None),
    (lambda: frame()["degrees"], pandas.Series, [1.5, None, -2.0]),
    (lambda: polars.Series([1, None]), polars.Series, [1, None]),
]
VALUES = [*NUMBERS, *BYTES, *ITERATORS, *TABLES]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("make", "returns", "plain"), VALUES)
def test_a_value_has_the_form_that_its_published_schema_describes(
    make: Callable[[], Any], returns: Any, plain: Any, revision: str
) -> None:
    server = serving(lambda: make(), returns)
    schema, result = published(server, revision)["outputSchema"], called(server, revision)
    assert not result.get("isError"), result
    structured = result["structuredContent"]
    wrapped = revision != REVISIONS[0] and schema.get("properties", {}).keys() == {"result"}
    assert (structured["result"] if wrapped else structured) == plain
    jsonschema_rs.Draft202012Validator(schema).validate(structured)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(structured)
    assert '"format": "binary"' not in str(schema).replace("'", '"')


UNTYPED: list[Any] = [
    (lambda: iter([1]), [1]),
    (lambda: map(str, [1]), ["1"]),
    (lambda: range(2), [0, 1]),
    (lambda: collections.deque([1]), [1]),
    (lambda: {"a": 1}.values(), [1]),
    (lambda: later(), [0, 1, 2]),
    (lambda: numpy.array([1, 2]), [1, 2]),
    (lambda: b"a", "YQ=="),
    (lambda: bytearray(b"a"), "YQ=="),
    (frame, TABLE),
    (lambda: frame()["degrees"], [1.5, None, -2.0]),
]


@pytest.mark.parametrize(("make", "plain"), UNTYPED)
def test_a_value_without_an_annotation_has_the_same_form(make: Callable[[], Any], plain: Any) -> None:
    assert returned(make)["structuredContent"] == plain


# --- content ----------------------------------------------------------------------------------------------------------

PICTURES: list[Any] = [
    (lambda: Image(picture()), Image),
    (picture, PIL.Image.Image),
    (picture, UNANNOTATED),
    (figure, Figure),
    (figure, UNANNOTATED),
    (lambda: Image(figure()), Image | None),
    (lambda: Image(data=PNG), Image),
    (lambda: Image(PNG), UNANNOTATED),
    (lambda: (picture(),), tuple[PIL.Image.Image]),
    (lambda: iter([picture()]), Iterator[PIL.Image.Image]),
]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("make", "returns"), PICTURES)
def test_a_picture_is_an_image_block(make: Callable[[], Any], returns: Any, revision: str) -> None:
    server = serving(lambda: make(), returns)
    assert "outputSchema" not in published(server, revision)
    result = called(server, revision)
    [block] = result["content"]
    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(block["data"]).startswith(PNG)
    assert "structuredContent" not in result


MIXED = [
    UNANNOTATED,
    list[str | Image],
    list[str | Image | Row],
    list[str | ImageContent | Image | Row | dict[str, int]],
    tuple[str, Image, Row],
    Iterator[str | Image | Row],
]


@pytest.mark.parametrize("returns", MIXED)
def test_a_list_that_mixes_content_and_values_is_blocks_in_its_order(returns: Any) -> None:
    result = returned(lambda: ["before", Image(data=PNG), Row(count=1), ImageContent.of(JPEG, "image/jpeg")], returns)
    assert [block.get("text") or block["mimeType"] for block in result["content"]] == [
        "before",
        "image/png",
        '{"count":1}',
        "image/jpeg",
    ]
    assert "structuredContent" not in result


def test_a_data_frame_among_content_is_its_csv() -> None:
    result = returned(lambda: ["Weather:", frame()])
    assert [block["text"] for block in result["content"]] == ["Weather:", CSV]
    assert "structuredContent" not in result


@pytest.mark.parametrize("make", [lambda: Row(count=1), lambda: Image(data=PNG)])
def test_a_union_of_a_value_and_content_is_sent_by_the_value(make: Callable[[], Any]) -> None:
    result = returned(make, Row | Image)
    assert result.get("structuredContent", None) == ({"count": 1} if isinstance(make(), Row) else None)


@pytest.mark.parametrize("returns", [dict[str, Image], list[list[Image]], dict[str, File | None]])
def test_content_within_an_object_is_refused_at_registration(returns: Any) -> None:
    with pytest.raises(DefinitionError, match="the return type has no JSON form"):
        serving(lambda: None, returns)


def test_content_within_an_object_that_nobody_declared_is_explained(caplog: pytest.LogCaptureFixture) -> None:
    assert returned(lambda: {"a": Image(data=PNG)})["isError"]
    assert "tooltrue.tools.media.Image in a dict" in caplog.text
    assert "in a list with text and other content" in caplog.text


@pytest.mark.parametrize("format", ["png", "jpeg", "jpg", "webp", "gif", "image/png"])
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "F", "HSV"])
def test_a_picture_of_any_mode_is_saved_in_any_format(mode: str, format: str) -> None:
    block = Image(PIL.Image.new(mode, (2, 2)), format=format).to_image_content()
    assert block.mimeType == "image/" + format.rpartition("/")[2].replace("jpg", "jpeg")
    assert PIL.Image.open(io.BytesIO(base64.b64decode(block.data))).size == (2, 2)


def test_a_picture_that_cannot_be_saved_is_explained(caplog: pytest.LogCaptureFixture) -> None:
    assert returned(lambda: Image(picture(), format="nonsense"))["isError"]
    assert "a PIL.Image.Image could not be saved as nonsense" in caplog.text


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (inner / "chart.png").write_bytes(PNG)
    (inner / "named.png").write_bytes(JPEG)
    (inner / "voice.wav").write_bytes(WAV)
    (inner / "notes.md").write_text("# Ærø")
    (inner / "data.json").write_text('{"a": 1}')
    (inner / "latin.txt").write_bytes("Ærø".encode("latin-1"))
    (inner / "drawing.svg").write_bytes(SVG)
    (inner / "drawing.png").write_bytes(SVG)
    (inner / "odd.bin").write_bytes(b"\x00\x01")
    (inner / "link.txt").symlink_to(tmp_path / "secret.txt")
    (inner / "up").symlink_to(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(inner / "pipe")
    return inner


def test_a_path_is_read_when_the_result_is_sent(folder: Path) -> None:
    image = Image(folder / "late.png")
    (folder / "late.png").write_bytes(PNG)
    assert image.to_image_content() == ImageContent.of(PNG, "image/png")


@pytest.mark.parametrize(
    ("make", "type"),
    [
        (lambda at: Image(at / "chart.png"), "image/png"),
        (lambda at: Image(str(at / "named.png")), "image/jpeg"),
        (lambda at: Image(path=at / "chart.png", format="jpeg"), "image/png"),
        (lambda at: Image(data=b"unknown", format="avif"), "image/avif"),
        (lambda at: Image(data=b"unknown", format="png"), "image/png"),
        (lambda at: Audio(at / "voice.wav"), "audio/wav"),
        (lambda at: Audio(data=b"unknown", format="mp3"), "audio/mpeg"),
    ],
)
def test_the_bytes_decide_the_type_and_then_the_format_or_the_suffix(make: Any, type: str, folder: Path) -> None:
    assert make(folder).block(None).mimeType == type


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda at: Image(at / "missing.png"), "No such file"),
        pytest.param(lambda at: Image(at), "no regular file", marks=pytest.mark.needs("descriptors")),
        pytest.param(lambda at: File(at / "pipe"), "no regular file", marks=pytest.mark.needs("fifos")),
        (lambda at: File("/dev/zero"), "no regular file"),
        (lambda at: File("a\0b"), "cannot be read"),
        (lambda at: Image(at / "drawing.svg"), "of type image/svg+xml; return File"),
        (lambda at: Image(at / "drawing.png"), "of type text/html; return File"),
        (lambda at: Image(data=SVG, format="png"), "of type text/html; return File"),
        (lambda at: Image(data=b"x", format="svg"), "of type image/svg"),
        (lambda at: Image(at / "voice.wav"), "of type audio/wav; return File"),
        (lambda at: Audio(at / "chart.png"), "of type image/png; return File"),
        (lambda at: Image(at / "odd.bin"), "of type application/octet-stream; return File"),
        (lambda at: Image(data=b"unknown"), "pass format="),
        (lambda at: File(at / "notes.md", max_bytes=3), "has 7 bytes, and at most 3 are read"),
        (lambda at: Image(), "takes one source"),
        (lambda at: Image(at / "chart.png", data=PNG), "takes one source"),
        (lambda at: Image(5), "takes one source"),
        (lambda at: Audio(picture()), "takes one source"),
        (lambda at: File(data="a", root=at), "takes one source"),
        (lambda at: Table([1]), "Table takes a data frame"),
    ],
)
def test_the_log_says_why_a_file_is_not_sent(
    make: Any, problem: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = returned(lambda: make(folder))
    assert result["isError"]
    assert str(folder) not in str(result)
    [record] = [record for record in caplog.records if record.name == "tooltrue"]
    assert problem in record.getMessage()
    assert record.exc_info is None


@pytest.mark.parametrize(
    ("name", "type", "text"),
    [
        ("notes.md", "text/markdown", "# Ærø"),
        ("data.json", "application/json", '{"a": 1}'),
        ("drawing.svg", "image/svg+xml", SVG.decode()),
        ("latin.txt", "text/plain", None),
        ("odd.bin", "application/octet-stream", None),
        ("chart.png", "image/png", None),
    ],
)
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_file_is_embedded_as_text_or_as_base64(
    name: str, type: str, text: str | None, folder: Path, revision: str
) -> None:
    [block] = called(serving(lambda: File(folder / name), File), revision)["content"]
    if type == "image/svg+xml":
        assert block["type"] == "resource"
    else:
        assert block["resource"]["mimeType"] == type
    assert block["resource"].get("text") == text
    assert block["resource"]["uri"] == f"attachment:{name}"
    if text is None:
        assert base64.b64decode(block["resource"]["blob"]) == (folder / name).read_bytes()


def test_a_file_has_the_name_and_format_that_it_is_given() -> None:
    block = File(data="a,b", name="table.csv").to_resource_content()
    assert (block.resource.uri, block.resource.mimeType, block.resource.text) == (
        "attachment:table.csv",
        "text/csv",
        "a,b",
    )
    block = File(data=b"%PDF-1.7", format="pdf", name="a b/ü").to_resource_content()
    assert (block.resource.uri, block.resource.mimeType) == ("attachment:a%20b%2F%C3%BC", "application/pdf")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("content", ["é" * 100_000, b"\xff" * 200_000])
def test_a_large_file_is_stored_and_linked(content: str | bytes, is_async: bool) -> None:
    async def tool() -> Any:
        return File(data=content, name="large.txt" if isinstance(content, str) else "large.bin")

    server = serving(tool if is_async else lambda: asyncio.run(tool()))

    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            [link] = (await client.call_tool("tool")).content
            assert isinstance(link, ResourceLink)
            [part] = await client.read_resource(link.uri)
            return link, part

    link, part = asyncio.run(main())
    assert (link.size, link.name[:6]) == (200_000, "large.")
    assert (part.text if isinstance(content, str) else base64.b64decode(part.blob)) == content


def test_annotations_and_meta_are_sent(folder: Path) -> None:
    hints, meta = Annotations(["user"], 1.0), {"com.example/x": 1}
    for made in (
        Image(data=PNG, annotations=hints, meta=meta).to_image_content(),
        Audio(data=WAV, annotations={"audience": ["user"], "priority": 1.0}, meta=meta).to_audio_content(),
        File(data="a", annotations=hints, meta=meta).to_resource_content(),
    ):
        assert (made.annotations, made.meta) == (hints, meta)


@pytest.mark.parametrize("path", ["notes.md", "./notes.md"])
def test_a_path_within_root_is_read(path: str, folder: Path) -> None:
    assert File(path, root=folder).to_resource_content().resource.text == "# Ærø"
    assert File(f"inner/{path}", root=folder.parent).to_resource_content().resource.text == "# Ærø"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "/etc/hostname",
        "link.txt",
        "up/secret.txt",
        "",
        ".",
        "inner/../../secret.txt",
        "missing",
        pytest.param("pipe", marks=pytest.mark.needs("fifos")),
    ],
)
def test_a_path_does_not_leave_root(path: str, folder: Path) -> None:
    with pytest.raises(InvalidResult) as caught:
        File(path, root=folder).to_resource_content()
    assert "secret" not in str(caught.value) or path in str(caught.value)


# --- tables -----------------------------------------------------------------------------------------------------------


def large() -> pandas.DataFrame:
    return pandas.DataFrame({"number": range(1000), "word": [f"word {number}" for number in range(1000)]})


@pytest.mark.parametrize(
    "make", [large, lambda: polars.from_pandas(large()), lambda: pyarrow.Table.from_pandas(large())]
)
def test_a_table_beyond_its_budget_links_to_the_whole_as_csv(make: Callable[[], Any]) -> None:
    server = serving(lambda: Table(make(), max_rows=5, name="words.csv"), Table)

    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            result = await client.call_tool("tool")
            [part] = await client.read_resource(result.content[-1].uri)
            return result, part

    result, part = asyncio.run(main())
    assert len(result.structured["rows"]) == 5
    assert (result.structured["total_rows"], result.structured["truncated"]) == (1000, True)
    text, note, link = result.content
    assert text.text == "number,word\n" + "".join(f"{number},word {number}\n" for number in range(5))
    assert note.text.startswith(f"These are 5 of 1000 rows. The whole table as CSV, {link.size} bytes, is the resource")
    assert (link.name, link.mimeType) == ("words.csv", "text/csv")
    assert part.text == "number,word\n" + "".join(f"{number},word {number}\n" for number in range(1000))


def test_a_table_has_a_budget_of_bytes() -> None:
    result = returned(lambda: Table(large(), max_bytes=100))
    assert len(result["content"][0]["text"]) <= 100
    assert 0 < len(result["structuredContent"]["rows"]) < 10


def test_a_table_of_one_row_that_is_too_large_shows_none() -> None:
    result = returned(lambda: Table(pandas.DataFrame({"a": ["x" * 1000]}), max_bytes=100))
    assert result["structuredContent"] == {"columns": ["a"], "rows": [], "total_rows": 1, "truncated": True}
    assert result["content"][-1]["type"] == "resource_link"


def test_an_index_is_sent_if_it_has_a_name() -> None:
    grouped: Any = pandas.DataFrame({"a": ["x", "x", "y"], "b": [1, 2, 3]}).groupby("a").sum()
    assert returned(lambda: grouped)["structuredContent"]["rows"] == [["x", 3], ["y", 3]]
    assert returned(lambda: grouped.rename_axis(None))["structuredContent"]["columns"] == ["b"]


@pytest.mark.parametrize("infinite", [float("inf"), -float("inf"), numpy.inf])
def test_an_infinite_cell_is_refused_with_its_place(infinite: float, caplog: pytest.LogCaptureFixture) -> None:
    assert returned(lambda: pandas.DataFrame({"a": [1.0, infinite]}), pandas.DataFrame)["isError"]
    assert "the column 'a' of a table holds an infinite number in row 1" in caplog.text


def test_cells_of_other_types_are_text() -> None:
    odd = pandas.DataFrame(
        {
            "a": [datetime.timedelta(hours=1)],
            "b": [decimal.Decimal("1.50")],
            "c": [b"\xff"],
            "d": [[1, None]],
            "e": [datetime.time(10, 30)],
            "f": [pandas.NA],
            "g": [numpy.datetime64("2026-08-01")],
            "h": [{"x": 1}],
            "i": [numpy.array([1])],
            "j": pandas.Categorical(["x"]),
            "k": pandas.array([1], dtype="Int64"),
            "l": [True],
            ("m", "n"): ['a "b",\nc'],
        }
    )
    result = returned(lambda: odd)
    structured = result["structuredContent"]
    assert structured["columns"][-1] == "m n"
    assert structured["rows"] == [
        [
            *[
                "PT1H",
                "1.50",
                "/w==",
                "[1,null]",
                "10:30:00",
                None,
                "2026-08-01T00:00:00",
                '{"x":1}',
                "[1]",
                "x",
                1,
                True,
            ],
            'a "b",\nc',
        ]
    ]
    assert result["content"][0]["text"].endswith('true,"a ""b"",\nc"\n')


def test_columns_of_the_same_name_are_all_sent() -> None:
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    assert returned(lambda: twice)["structuredContent"]["rows"] == [[1, 2]]


# --- iterators --------------------------------------------------------------------------------------------------------


def test_a_generator_function_is_a_tool_if_its_return_type_says_so() -> None:
    server = Server("t")

    @server.tool(effect="read")
    def tool(count: int) -> Iterator[int]:
        """Count."""
        yield from range(count)

    assert called(server, count=3)["structuredContent"] == [0, 1, 2]
    assert published(server)["outputSchema"] == {"type": "array", "items": {"type": "integer"}}


def test_so_is_an_asynchronous_one() -> None:
    server = Server("t")

    @server.tool(effect="read")
    async def tool(count: int, context: Context) -> AsyncIterator[Row]:
        """Count."""
        for number in range(count):
            await asyncio.sleep(0)
            yield Row(count=number)

    assert called(server, count=2)["structuredContent"] == [{"count": 0}, {"count": 1}]


def test_a_generator_runs_on_the_thread_of_its_function() -> None:
    threads: list[threading.Thread] = []

    def tool() -> Iterator[int]:
        threads.append(threading.current_thread())
        yield 1
        threads.append(threading.current_thread())

    called(serving(tool))
    assert len({*threads}) == 1
    assert threads[0] is not threading.main_thread()


def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as opened:  # refuses any other thread
        yield opened


def test_rows_of_a_database_are_read_where_they_were_asked_for() -> None:
    def tool(rows: Annotated[sqlite3.Connection, Depends(database)]) -> Iterable[tuple[int, str]]:
        return rows.execute("SELECT 1, 'a' UNION SELECT 2, 'b'")

    assert called(serving(tool))["structuredContent"] == [[1, "a"], [2, "b"]]


class Endless:
    """An iterator that knows whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    def plain(self) -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            self.closed = True

    async def later(self) -> AsyncIterator[int]:
        try:
            for number in itertools.count():
                yield number
        finally:
            self.closed = True


@pytest.mark.parametrize("returns", [UNANNOTATED, Iterator[int], list[int], list[float | None], Iterator[Row]])
@pytest.mark.parametrize("kind", ["plain", "later"])
def test_an_endless_iterator_ends_at_the_limit_and_is_closed(kind: str, returns: Any) -> None:
    endless = Endless()
    result = called(serving(lambda: getattr(endless, kind)(), returns))
    assert result["isError"]
    assert result["content"][0]["text"].startswith(f"The result has more than {MAX_ITEMS} items")
    assert endless.closed


def test_an_iterator_ends_at_the_limit_of_bytes() -> None:
    result = returned(lambda: itertools.repeat("x" * 1_000_000), Iterator[str])
    assert result["content"][0]["text"].startswith("The result has more than")


def test_a_failure_within_a_generator_is_that_of_the_tool() -> None:
    def tool() -> Iterator[int]:
        yield 1
        raise tooltrue.ToolError("No more.")

    assert called(serving(tool))["content"] == [{"type": "text", "text": "No more."}]


def test_a_generator_may_ask() -> None:
    server = Server("t")

    @server.tool(effect="read")
    def tool(context: Context) -> Iterator[str]:
        """Greet."""
        yield "Hello"
        yield context.ask(Form("Who are you?", Asked)).value.name

    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server, elicit=lambda form: {"name": "Ada"}) as client:
            return (await client.call_tool("tool")).value

    assert asyncio.run(main()) == ["Hello", "Ada"]


def test_an_array_beyond_the_limit_is_refused() -> None:
    result = returned(lambda: numpy.zeros(MAX_ITEMS + 1))
    assert result["content"][0]["text"].startswith(f"The result has {MAX_ITEMS + 1} numbers, and at most")


@pytest.mark.parametrize("returns", [UNANNOTATED, list[float], numpy.ndarray])
def test_a_number_that_json_does_not_have_is_named(returns: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert returned(lambda: numpy.array([1.0, numpy.nan]), returns)["isError"]
    assert "NaN or infinity; return None in its place" in caplog.text


# --- bytes as arguments -----------------------------------------------------------------------------------------------


def taking_bytes() -> Server:
    def tool(data: bytes, more: dict[str, bytes] | None = None, tail: bytes = b"\xff") -> list[int]:
        return [*data, *(more or {}).get("a", b""), *tail]

    return serving(tool)


def test_an_argument_of_bytes_is_decoded_from_base64() -> None:
    server = taking_bytes()
    properties = published(server)["inputSchema"]["properties"]
    assert properties["data"] == {"type": "string", "contentEncoding": "base64"}
    assert properties["tail"] == {"type": "string", "contentEncoding": "base64", "default": "/w=="}
    assert called(server, data="AQI=", more={"a": "Aw=="})["structuredContent"] == [1, 2, 3, 255]


@pytest.mark.parametrize("wrong", ["a", "AQI", "AQ==AQ==", "A\nQ=", "AQJ=", "-_8=", "é", "====", " AQI="])
def test_an_argument_that_is_no_base64_is_refused_with_its_path(wrong: str) -> None:
    server = taking_bytes()
    text = called(server, data=wrong)["content"][0]["text"]
    assert "- $.data: must be base64" in text
    assert "- $.more" in called(server, data="", more={"a": wrong})["content"][0]["text"]


# --- elsewhere --------------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_a_process_of_its_own_sends_the_same() -> None:
    server = Server("t")
    server.add_tool(workshop.large_file, isolation="process", effect="read")
    server.add_tool(workshop.numbers, isolation="process", effect="read")

    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            [link] = (await client.call_tool("large_file")).content
            [part] = await client.read_resource(link.uri)
            return len(cast(Any, part).text), (await client.call_tool("numbers")).value

    assert asyncio.run(main()) == (200_000, [0, 1, 2])


RAW: list[Any] = [
    (lambda: Image(data=PNG), "image"),
    (picture, "image"),
    (lambda: File(data="a"), "resource"),
    (lambda: ["a", Image(data=PNG)], "text"),
    (frame, "text"),
]


@pytest.mark.parametrize(("make", "kind"), RAW)
def test_a_raw_handler_may_return_them_too(make: Callable[[], Any], kind: str) -> None:
    server = Server("t")
    server.add_raw_tool("tool", {"type": "object"}, lambda arguments: make(), effect="read")
    result = called(server)
    assert not result.get("isError"), result
    assert result["content"][0]["type"] == kind


def test_conversion_runs_off_the_event_loop() -> None:
    threads: list[threading.Thread] = []

    class Watched(Figure):
        def savefig(self, *args: Any, **named: Any) -> None:
            threads.append(threading.current_thread())
            super().savefig(*args, **named)

    async def tool() -> Any:
        return Watched((1, 1))

    assert called(serving(tool))["content"][0]["type"] == "image"
    assert threads[0] is not threading.main_thread()


def test_blocks_of_both_kinds_have_the_same_wire_form() -> None:
    by_helper = called(serving(lambda: [Image(data=PNG), File(data="a", name="b")]))
    by_blocks = called(
        serving(lambda: [ImageContent.of(PNG, "image/png"), File(data="a", name="b").to_resource_content()])
    )
    assert by_helper["content"] == by_blocks["content"]
    assert isinstance(File(data="a").block(None), EmbeddedResource)
    assert TextContent(text="a").type == "text"


@pytest.mark.parametrize(
    "type_", [pandas.DataFrame, numpy.ndarray, numpy.float64, list[numpy.float64], pandas.DataFrame | None, Image]
)
def test_a_type_that_can_only_be_sent_is_refused_as_a_parameter(type_: Any) -> None:
    def tool(rows: Any) -> str:
        return ""

    tool.__annotations__ = {"rows": type_, "return": str}
    with pytest.raises(DefinitionError, match="'rows' has no JSON form"):
        Server("t").add_tool(tool)
