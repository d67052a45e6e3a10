"""Bodies with files, on the wire: each file is named by a reference, and another library judges and reads each body."""

from __future__ import annotations

import asyncio
import base64
import email.message
import email.parser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.calling import call, calls
from services.openapi import Judge, api_tools
from support.website import Asked, Said, running
from tooltrue import Client, Server, ToolSearch
from tooltrue.client.call_results import Result
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.tools.local import LocalToolset
from tooltrue_toolbox.openapi.file_references import FileReferences, SentFile
from tooltrue_toolbox.openapi.multipart import content_type_of, multipart_content
from tooltrue_toolbox.openapi.operation import Body, BodyPart

UPLOADS = Path(__file__).parents[1] / "data" / "openapi" / "uploads.yaml"
PNG = b"\x89PNG\r\n\x1a\n\x00\x01"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "sent"
    (root / "in").mkdir(parents=True)
    (root / "in" / "report.pdf").write_bytes(b"%PDF\x00\r\n--boundary\r\n")
    (root / "photo.png").write_bytes(PNG)
    (root / "notes.txt").write_text("plain words")
    (tmp_path / "outside.txt").write_text("of the operator")
    (root / "out.txt").symlink_to(tmp_path / "outside.txt")
    return root


def ask(tool: str, root: Path | None, /, **arguments: Any) -> tuple[Result, list[Asked], list[str]]:
    judge = Judge(UPLOADS)
    judge.answer = lambda asked: Said(204)
    with running(judge) as site:
        files = FileReferences([root] if root else [])
        result = call(api_tools(site, UPLOADS, files=files), tool, **arguments)
    return result, site.asked, judge.faults


def parts_of(asked: Asked) -> list[tuple[str, str | None, str, bytes]]:
    """The name, the file name, the media type and the bytes of each part, as the standard library reads them."""
    head = f"Content-Type: {asked.headers['content-type']}\r\n\r\n".encode()
    message = email.parser.BytesParser(email.message.EmailMessage).parsebytes(head + asked.body)
    return [
        (
            str(part.get_param("name", header="content-disposition")),
            part.get_filename(),
            part.get_content_type() if "content-type" in part else "",
            part.get_payload(decode=True),
        )
        for part in message.walk()
        if not part.is_multipart()
    ]  # pyright: ignore[reportReturnType]


def test_a_multipart_body_has_files_by_path_and_values_in_the_forms_of_the_description(root: Path):
    body = {
        "title": "Report",
        "file": "in/report.pdf",
        "picture": "photo.png",
        "attachments": ["notes.txt", "photo.png"],
        "labels": [{"of": "a"}, {"of": "b"}],
        "tags": ["x", "y z"],
        "origin": {"place": "Köln"},
    }
    result, (asked,), faults = ask("add_document", root, body=body)
    assert (faults, result.is_error) == ([], False)
    assert parts_of(asked) == [
        ("title", None, "", b"Report"),
        ("file", "report.pdf", "application/pdf", b"%PDF\x00\r\n--boundary\r\n"),
        ("picture", "photo.png", "image/png", PNG),
        ("attachments", "notes.txt", "text/plain", b"plain words"),
        ("attachments", "photo.png", "image/png", PNG),
        ("labels", None, "application/json", b'{"of":"a"}'),
        ("labels", None, "application/json", b'{"of":"b"}'),
        ("tags", None, "", b"x"),
        ("tags", None, "", b"y z"),
        ("origin", None, "application/json", '{"place":"Köln"}'.encode()),
    ]


@pytest.mark.parametrize(
    ("tool", "reference", "media_type", "data"),
    [
        ("set_content", "in/report.pdf", "application/octet-stream", b"%PDF\x00\r\n--boundary\r\n"),
        ("set_preview", "photo.png", "image/png", PNG),
        ("set_thumbnail", "photo.png", "image/png", base64.b64encode(PNG)),
    ],
)
def test_a_body_of_bytes_is_a_file(root: Path, tool: str, reference: str, media_type: str, data: bytes):
    result, (asked,), faults = ask(tool, root, id="7", body=reference)
    assert (faults, result.is_error) == ([], False)
    assert (asked.headers["content-type"], asked.body) == (media_type, data)


def test_a_body_of_xml_is_text(root: Path):
    _, (asked,), faults = ask("set_outline", root, id="7", body="<o>é</o>")
    assert (faults, asked.headers["content-type"], asked.body) == ([], "application/xml", "<o>é</o>".encode())


def test_a_stored_result_is_sent_by_its_uri_and_only_by_the_caller_that_has_it():
    table = "".join(f"{number},{number * number}\n" for number in range(200_000))
    judge = Judge(UPLOADS)
    judge.answer = lambda asked: (
        Said(200, table, (("content-type", "text/csv"),)) if asked.method == "GET" else Said(204)
    )

    async def use(client: Client) -> Result:
        exported = await client.call_tool("export_documents", {})
        uri = exported.content[-1].uri
        return await client.call_tool("set_content", {"id": "7", "body": uri})

    with running(judge) as site:
        tools = api_tools(site, UPLOADS)
        sent = calls(tools, use)
        assert site.asked[-1].body == table.encode()
        other = call(tools, "set_content", id="7", body="kept:AAAAAAAAAAAAAAAAAAAAAA")
    assert (judge.faults, sent.is_error) == ([], False)
    assert other.text.endswith("[TT6943]")
    assert len(site.asked) == 2


def test_bytes_that_an_api_returns_are_sent_on_by_reference():
    judge = Judge(UPLOADS)
    picture = Said(200, PNG, (("content-type", "image/png; name=x"),))
    judge.answer = lambda asked: picture if asked.method == "GET" else Said(204)

    async def use(client: Client) -> tuple[Result, Any, Result]:
        exported = await client.call_tool("export_documents", {})
        uri = exported.content[-1].uri
        (whole,) = await client.read_resource(uri)
        return exported, whole, await client.call_tool("set_preview", {"id": "7", "body": uri})

    with running(judge) as site:
        exported, whole, sent = calls(api_tools(site, UPLOADS), use)
    assert (judge.faults, sent.is_error) == ([], False)
    assert "image/png of 10 bytes" in exported.text
    assert (whole.mimeType, base64.b64decode(whole.blob)) == ("image/png", PNG)
    assert (site.asked[-1].headers["content-type"], site.asked[-1].body) == ("image/png", PNG)


def test_files_that_are_too_large_together_are_not_sent(root: Path):
    judge = Judge(UPLOADS)
    with running(judge) as site:
        tools = api_tools(site, UPLOADS, files=FileReferences([root], max_bytes=20))
        body = {"title": "x", "file": "photo.png", "picture": "notes.txt"}
        assert call(tools, "add_document", body=body).text.endswith("[TT6944]")
        body = {"title": "x", "file": "photo.png", "picture": "photo.png"}
        assert not call(tools, "add_document", body=body).is_error
    assert len(site.asked) == 1


@given(
    name=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    data=st.binary(max_size=200),
    value=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
def test_no_name_and_no_value_ends_its_part(name: str, data: bytes, value: str):
    body = Body("multipart/form-data", "multipart", {}, True, parts={name: BodyPart("", is_file=True)})
    files = {"reference": SentFile(name, "text/plain", data)}
    value_name = f"{name}-value"
    marks = iter(["", "m" * 32])
    media_type, content = multipart_content(
        body, {name: "reference", value_name: value}, files, lambda: next(marks, "x" * 32)
    )
    boundary = b"--" + media_type.partition("boundary=")[2].encode()
    before, first, second, after = content.split(boundary)
    assert (before, after) == (b"", b"--\r\n")
    head, _, rest = first.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    assert rest == data + b"\r\n"
    assert head.count(b"\r\n") == 1  # the disposition, and the media type
    assert second.partition(b"\r\n\r\n")[2] == value.encode() + b"\r\n"


@pytest.mark.parametrize(
    ("declared", "own", "sent"),
    [
        ("", "text/plain", "text/plain"),
        ("image/png, image/jpeg", "image/jpeg", "image/jpeg"),
        ("image/png, image/jpeg", "text/plain", "image/png"),
        ("image/*", "image/gif", "image/gif"),
        ("image/*", "text/plain", "application/octet-stream"),
    ],
)
def test_a_file_has_its_own_media_type_if_the_description_accepts_it(declared: str, own: str, sent: str):
    assert content_type_of(declared, SentFile("x", own, b"")) == sent


def test_a_call_through_the_meta_tools_sends_files_too():
    judge = Judge(UPLOADS)
    picture = Said(200, PNG, (("content-type", "image/png"),))
    judge.answer = lambda asked: picture if asked.method == "GET" else Said(204)

    async def use(tools: LocalToolset) -> Result:
        server = Server("archive", toolsets=[tools], confirm=Confirm.never(), search=ToolSearch(shown=()))
        async with Client(server) as client:
            exported = await client.call_tool("call_tool", {"name": "export_documents", "arguments": {}})
            arguments = {"id": "7", "body": exported.content[-1].uri}
            return await client.call_tool("call_tool", {"name": "set_content", "arguments": arguments})

    with running(judge) as site:
        sent = asyncio.run(use(api_tools(site, UPLOADS)))
    assert (judge.faults, sent.is_error, site.asked[-1].body) == ([], False, PNG)
