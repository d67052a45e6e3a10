"""The server that the official conformance suite is pointed at: one of everything that a server can have.

    toolwright serve tests/conformance/everything.py --http 127.0.0.1:3001

The names, and the texts that matter, are the suite's. It is written as any author would write a server.
"""

import asyncio
import base64
import io
import itertools
import wave
from typing import Annotated, Any

from pydantic import Field

from toolwright import (
    AudioContent,
    Context,
    EmbeddedResource,
    ImageContent,
    Server,
    TextContent,
    ToolError,
)
from toolwright.protocol.types import TextResource

server = Server("everything", version="1.0", instructions="One of everything, for the official conformance suite.")


def _silence() -> bytes:
    """A tenth of a second of nothing, as a WAV file."""
    with io.BytesIO() as file:
        with wave.open(file, "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(1)
            sound.setframerate(8000)
            sound.writeframes(bytes([128]) * 800)
        return file.getvalue()


RED_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
PICTURE = ImageContent(data=RED_DOT, mimeType="image/png")
SILENCE = AudioContent(data=base64.b64encode(_silence()).decode(), mimeType="audio/wav")
NOTE = EmbeddedResource(resource=TextResource(uri="test://note", mimeType="text/plain", text="a note"))


# --- results: every kind of content ----------------------------------------------------------------------------------


@server.tool(effect="read")
def about() -> str:
    """Tell what this server is for.

    Its name comes first in the sorted list: the suite calls the first tool without arguments.
    """
    return "One of everything."


@server.tool(effect="read")
def test_simple_text() -> str:
    """Return a text."""
    return "a simple text"


@server.tool(effect="read")
def test_image_content() -> ImageContent:
    """Return a picture."""
    return PICTURE


@server.tool(effect="read")
def test_audio_content() -> AudioContent:
    """Return a sound."""
    return SILENCE


@server.tool(effect="read")
def test_embedded_resource() -> EmbeddedResource:
    """Return a resource, whole."""
    return NOTE


@server.tool(effect="read")
def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
    """Return a text, a picture and a resource."""
    return [TextContent(text="three kinds of content"), PICTURE, NOTE]


@server.tool(effect="read")
def test_error_handling() -> str:
    """Fail, in words that a model can use."""
    raise ToolError("This tool always fails. Use another one.")


# --- while a call runs -----------------------------------------------------------------------------------------------


@server.tool(effect="read")
async def test_tool_with_progress(context: Context) -> str:
    """Report progress three times."""
    for percent in (0, 50, 100):
        context.progress(percent, 100, f"{percent} %")
        await asyncio.sleep(0.05)
    return "all done"


@server.tool(effect="read")
async def test_tool_with_logging(context: Context) -> str:
    """Send three log messages."""
    for step in ("started", "working", "finished"):
        context.log("info", step)
        await asyncio.sleep(0.05)
    return "three messages sent"


@server.tool(effect="read")
def test_logging_tool(context: Context) -> str:
    """Log once, which only those see who asked for it."""
    context.log("info", "somebody asked")
    return "logged for whoever asked"


# --- a list that changes ---------------------------------------------------------------------------------------------


guests = itertools.count(1)


@server.tool(effect="write")
def test_trigger_tool_change() -> str:
    """Change the list of tools: a guest joins them."""
    guest = server.add_tool(lambda: "a guest", name=f"guest_{next(guests)}", description="Say who.", effect="read")
    return f"{guest.name} has come"


# --- input schemas ---------------------------------------------------------------------------------------------------


def said_back(arguments: dict[str, Any]) -> str:
    return f"understood: {', '.join(sorted(arguments))}"


server.add_raw_tool(
    "json_schema_2020_12_tool",
    {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
    said_back,
    description="Take a schema of dialect 2020-12 as it stands.",
    effect="read",
)


@server.tool(effect="read")
def look_around(
    region: Annotated[str, "Where to look", Field(json_schema_extra={"x-mcp-header": "Region"})] = "anywhere",
) -> str:
    """Take an argument that a header repeats."""
    return f"looked in {region}"
