"""The server that the official conformance suite is pointed at: one of everything that a server can have.

    tooltrue serve tests/conformance/everything.py --http 127.0.0.1:3001

The names, and the texts that matter, are the suite's. It is written as any author would write a server.
"""

import asyncio
import base64
import io
import itertools
import wave
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from tooltrue import (
    Answer,
    AudioContent,
    Completes,
    Context,
    EmbeddedResource,
    Form,
    ImageContent,
    PromptMessage,
    Roots,
    Sampling,
    Server,
    TextContent,
    TextResource,
    ToolError,
)
from tooltrue.errors import InvalidParams
from tooltrue.protocol.types import InputRequiredResult

server = Server("everything", version="1.0", instructions="One of everything, for the official conformance suite.")


def _silence() -> bytes:
    """A tenth of a second of silence, as a WAV file."""
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


@server.tool(effect="read")
async def test_reconnection(context: Context) -> str:
    """Let the connection go, and answer those who come back for it."""
    context.detach()
    await asyncio.sleep(0.1)
    return "you came back"


# --- questions -------------------------------------------------------------------------------------------------------


@dataclass
class Named:
    name: str


@dataclass
class Reachable:
    username: str
    email: str


@dataclass
class Confirmed:
    ok: bool


@dataclass
class Coloured:
    color: str


@dataclass
class Explained:
    context: str


@dataclass
class Profile:
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


FIRST, SECOND = {"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}
CHOICES = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2"]},
        "titledSingle": {"type": "string", "oneOf": [FIRST, SECOND]},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["First", "Second"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": [FIRST, SECOND]}},
    },
}
WHO = Form("What is your name?", Named)
CAPITAL = Sampling("What is the capital of France?", max_tokens=100)


def told(answer: Answer[Any]) -> str:
    return f"{answer.action}: {answer.value}"


@server.tool(effect="read")
def test_elicitation(message: str, context: Context) -> str:
    """Ask the user what is to be asked."""
    return told(context.ask(Form(message, Reachable)))


@server.tool(effect="read")
def test_elicitation_sep1034_defaults(context: Context) -> str:
    """Ask the user with a form that is filled in already."""
    return told(context.ask(Form("Is this still right?", Profile)))


@server.tool(effect="read")
def test_elicitation_sep1330_enums(context: Context) -> str:
    """Ask the user to choose, in each way that there is."""
    return told(context.ask(Form("Choose.", CHOICES)))


@server.tool(effect="read")
def test_sampling(prompt: str, context: Context) -> str:
    """Ask the client's model."""
    return context.ask(Sampling(prompt, max_tokens=100)).text


@server.tool(effect="read")
def test_missing_capability(context: Context) -> str:
    """Ask the client's model, which not every client lends."""
    return context.ask(CAPITAL).text


@server.tool(effect="read")
def test_streaming_elicitation(context: Context) -> str:
    """Report something, then ask the user."""
    context.log("info", "a question follows")
    return told(context.ask(WHO))


@server.tool(effect="read")
def test_input_required_result_elicitation(context: Context) -> InputRequiredResult | str:
    """Ask the user for a name, by hand: so an answer may also come with the first call, which `ask` would not take."""
    assert context.rounds is not None
    match context.rounds.responses.get("user_name"):
        case {"action": "accept", "content": {"name": str(name)}}:
            return f"Hello, {name}!"
        case {"action": "decline" | "cancel"}:
            return "Hello, whoever you are!"
        case _:
            return InputRequiredResult({"user_name": WHO.request})


@server.tool(effect="read")
def test_input_required_result_sampling(context: Context) -> str:
    """Ask the client's model for a capital."""
    return context.ask(CAPITAL, key="capital_question").text


@server.tool(effect="read")
def test_input_required_result_list_roots(context: Context) -> list[str]:
    """Ask the client for its folders."""
    return [root.uri for root in context.ask(Roots(), key="client_roots")]


@server.tool(effect="read")
def test_input_required_result_request_state(context: Context) -> str:
    """Ask the user for a yes; the client carries what this call remembers."""
    return "state-ok" if context.ask(Form("Please confirm", Confirmed), key="confirm") else "not confirmed"


@server.tool(effect="read")
def test_input_required_result_tampered_state(context: Context) -> str:
    """Ask the user for a yes; what the client carries cannot be changed by it."""
    return told(context.ask(Form("Please confirm", Confirmed), key="confirm"))


@server.tool(effect="read")
def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Ask three questions at once: the user, the model and the client."""
    answers = context.ask_all({"user_name": WHO, "greeting": Sampling("Greet somebody.", 50), "client_roots": Roots()})
    return f"{told(answers['user_name'])}; {answers['greeting'].text}; {len(answers['client_roots'])} folders"


@server.tool(effect="read")
def test_input_required_result_multi_round(context: Context) -> str:
    """Ask the user twice, the second time when the first answer is there."""
    who = context.ask(WHO, key="step1")
    colour = context.ask(Form("What is your favorite color?", Coloured), key="step2")
    return f"{told(who)}; {told(colour)}"


@server.tool(effect="read")
def test_input_required_result_capabilities(context: Context) -> str:
    """Ask only what this client can answer."""
    questions = {"user_name": WHO, "capital_question": CAPITAL, "client_roots": Roots()}
    answers = context.ask_all({key: question for key, question in questions.items() if context.can_ask(question)})
    return f"answered: {', '.join(sorted(answers))}"


# --- resources -------------------------------------------------------------------------------------------------------


@server.resource("test://static-text", name="static-text", mime_type="text/plain")
def static_text() -> str:
    """A text that stays as it is."""
    return "a static text"


@server.resource("test://static-binary", name="static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """A picture that stays as it is."""
    return base64.b64decode(RED_DOT)


@server.resource("test://watched-resource", name="watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """A text to be watched."""
    return "nothing has happened yet"


@server.resource("test://template/{id}/data", name="template", mime_type="application/json")
def template(id: str) -> dict[str, str]:
    """Data by their number."""
    return {"id": id, "data": f"what is kept under {id}"}


# --- prompts ---------------------------------------------------------------------------------------------------------

WORDS = ("harbour", "harvest", "lantern", "meadow")


def words(prefix: str) -> list[str]:
    return [word for word in WORDS if word.startswith(prefix)]


@server.prompt
def test_simple_prompt() -> str:
    """One message."""
    return "Say something simple."


@server.prompt
def test_prompt_with_arguments(arg1: Annotated[str, "A word", Completes(words)], arg2: Annotated[str, "A word"]) -> str:
    """A message made from two words."""
    return f"Write a sentence with {arg1} and {arg2}."


@server.prompt
def test_prompt_with_embedded_resource(resourceUri: Annotated[str, "What it is called"]) -> list[PromptMessage]:
    """A resource, and what to do with it."""
    resource = TextResource(uri=resourceUri, mimeType="text/plain", text="a note")
    return [
        PromptMessage(role="user", content=EmbeddedResource(resource=resource)),
        PromptMessage(role="user", content=TextContent(text="Sum this up.")),
    ]


@server.prompt
def test_prompt_with_image() -> list[PromptMessage]:
    """A picture, and what to do with it."""
    return [
        PromptMessage(role="user", content=PICTURE),
        PromptMessage(role="user", content=TextContent(text="Say what you see.")),
    ]


@server.prompt
def test_input_required_result_prompt(context: Context) -> str:
    """Ask the user what it is about, then say so."""
    answer = context.ask(Form("What context should the prompt use?", Explained), key="user_context")
    return f"Bear in mind: {answer.value.context}" if answer else "Bear nothing in mind."


# --- lists that change -----------------------------------------------------------------------------------------------


guests = itertools.count(1)


@server.tool(effect="write")
def test_trigger_tool_change() -> str:
    """Change the list of tools: a guest joins them."""
    guest = server.add_tool(lambda: "a guest", name=f"guest_{next(guests)}", description="Say who.", effect="read")
    return f"{guest.name} has come"


@server.tool(effect="write")
def test_trigger_prompt_change() -> str:
    """Change the list of prompts: a guest joins them."""
    name = f"guest_{next(guests)}"
    server.add_prompt(lambda: "Be a guest.", name=name, description="One more.")
    return f"{name} has come"


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


# --- tasks -----------------------------------------------------------------------------------------------------------


@server.tool(effect="read")
def greet(name: str) -> str:
    """Greet somebody, never as a task."""
    return f"Hello, {name}!"


@server.tool(effect="read", task=True)
async def slow_compute(seconds: float, label: str = "") -> str:
    """Take its time."""
    await asyncio.sleep(seconds)
    return f"computed {label} in {seconds} s"


@server.tool(effect="read", task="required")
async def failing_job() -> str:
    """Fail after a second."""
    await asyncio.sleep(1)
    raise ToolError("the job failed")


@server.tool(effect="read", task=True)
async def protocol_error_job() -> str:
    """Fail by an error of the protocol."""
    raise InvalidParams("the job cannot be done")


@dataclass
class Confirmation:
    confirm: bool


@server.tool(effect="read", task=True)
async def confirm_delete(filename: str, context: Context) -> str:
    """Ask before it deletes a file, which it does not have."""
    answer = context.ask(Form(f"Delete {filename}?", Confirmation), key="confirm")
    return f"deleted {filename}" if answer.value is not None and answer.value.confirm else f"kept {filename}"


@server.tool(effect="read", task=True)
async def multi_input(context: Context) -> str:
    """Ask two questions at once."""
    answers = context.ask_all({"first": Form("The first?", Confirmation), "second": Form("The second?", Confirmation)})
    return ", ".join(f"{key}: {answer.action}" for key, answer in answers.items())


@dataclass
class UserName:
    name: str


@server.tool(effect="read", task="manual")
async def test_tool_with_task(context: Context) -> str:
    """Ask for a name, and go on as a task."""
    answer: Answer[UserName] = context.ask(Form("What is your name?", UserName), key="user_name")
    context.become_task()
    return f"Hello, {answer.value.name if answer.value is not None else 'nobody'}!"
