"""Values of the newest protocol revision, made from bytes."""

from __future__ import annotations

import base64
from typing import Any

import pytest

import official
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.protocol.types import Annotations, AudioContent, BlobResource, EmbeddedResource, ImageContent

BYTES = bytes(range(256))


@pytest.mark.parametrize(("kind", "mime_type"), [(ImageContent, "image/png"), (AudioContent, "audio/wav")])
def test_a_block_is_made_of_bytes_as_they_are(kind: Any, mime_type: str):
    block = kind.of(BYTES, mime_type, annotations=Annotations(priority=1.0), meta={"com.example/x": 1})
    assert block == kind(
        data=base64.b64encode(BYTES).decode(),
        mimeType=mime_type,
        annotations=Annotations(priority=1.0),
        meta={"com.example/x": 1},
    )
    official.check("2026-07-28", kind.__name__, decode(encode(block)))


@pytest.mark.parametrize("data", [b"", b"\x00", b"\xfb\xff\xfe"])
def test_a_resource_is_made_of_bytes_as_they_are(data: bytes):
    part = BlobResource.of("test://a", data, "image/png", meta={"com.example/x": 1})
    assert base64.b64decode(part.blob, validate=True) == data
    assert (part.uri, part.mimeType, part.meta) == ("test://a", "image/png", {"com.example/x": 1})
    official.check("2026-07-28", "EmbeddedResource", decode(encode(EmbeddedResource(resource=part))))


def test_the_type_of_a_resource_may_be_left_open():
    assert BlobResource.of("test://a", b"\x00") == BlobResource("test://a", "AA==")
