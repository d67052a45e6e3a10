"""Prompts at the terminal: one at a time, each answered only by input typed after it appears."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import click

from tooltrue._internal.platform.terminal_input import discard_typed, is_terminal, without_echo
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import is_somebody_here, one_line, paint, tell
from tooltrue.cli.usage import usage_text
from tooltrue.cli.wording import (
    CONSOLE_AGREE_REQUEST,
    CONSOLE_ALLOW_REQUEST,
    CONSOLE_PAGE_OPENED,
    CONSOLE_SEND_DATA,
    HINT_CANCEL_QUESTION_KEY,
    LABEL_DATA_TO_SEND,
    LABEL_SERVER_QUESTION,
    WARNING_EXTERNAL_PAGE,
    WARNING_LOOKALIKE_HOST,
)
from tooltrue.client.answers import Elicit, Elicitation, Reply
from tooltrue.host.prompters import at_terminal, lines_of
from tooltrue.jsonrpc.messages import Json
from tooltrue.policy.consent.argument_display import display_arguments
from tooltrue.policy.consent.question import approval_field
from tooltrue.wording import sentence

__all__ = ["agrees", "answer_question", "confirmed", "elicit_here", "prompted"]


def confirmed(text: str) -> bool:
    """Ask for a yes or no, in a command with no other work to do meanwhile."""
    if is_terminal(sys.stdin):
        discard_typed(sys.stdin.fileno())
    while True:
        tell(f"{text} [y/N]: ", nl=False, err=True)
        if not (line := sys.stdin.readline()):
            raise click.Abort
        if (word := _word(line, _WORDS)) is not None:
            return word != "deny"


async def agrees(text: str) -> bool:
    """Ask for a yes or no while other tasks run. ``EOFError`` at the end of the input, as in the functions below."""
    return await _choose(f"{text} [y/N]: ", _WORDS) != "deny"


async def _choose(prompt: str, words: Mapping[str, str]) -> str:
    """Prompt until a person types one of these words; return its meaning."""
    while True:
        if (word := _word(await _line(prompt), words)) is not None:
            return word


def _word(line: str, words: Mapping[str, str]) -> str | None:
    word = words.get(line.strip().lower())
    if word is None:
        _say(f"Type {', '.join(filter(None, words))}; nothing means no.")
    return word


_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("y", "yes", "once", "是"), "once"),
    **dict.fromkeys(("n", "no", "deny", "否", ""), "deny"),
}
_WORDS_OF_ANSWER: Mapping[str, str] = {**_WORDS, **dict.fromkeys(("c", "cancel", "取消"), "cancel")}
_WORDS_OF_SESSION: Mapping[str, str] = {**_WORDS_OF_ANSWER, **dict.fromkeys(("s", "session"), "session")}
_WORDS_OF_FORM: Mapping[str, str] = {**_WORDS_OF_ANSWER, **dict.fromkeys(("e", "edit"), "edit")}


async def prompted(
    text: str, kind: type = str, default: Any = None, *, options: Sequence[str] = (), is_hidden: bool = False
) -> Any:
    """Prompt for a value of type ``kind``, or for one of ``options``. Empty input gives ``default``, if there is
    one."""
    choices = f" ({', '.join(options)})" if options else ""
    offered = f" [{one_line(str(default))}]" if default not in (None, "") and not is_hidden else ""
    convert = click.types.convert_type(click.Choice(options) if options else kind)
    while True:
        with _unseen() if is_hidden else contextlib.nullcontext():
            line = await _line(f"{text}{one_line(choices)}{offered}: ")
        if not line and default is not None:
            return default
        try:
            if line:
                return convert(line)
        except click.UsageError as error:
            _say(usage_text("Error: {message}").format(message=one_line(error.message)))


def elicit_here(server: str) -> Elicit | None:
    """A callback by which the person at this terminal answers questions of ``server``; ``None`` without a terminal."""
    return partial(answer_question, server=server) if is_somebody_here() else None


async def answer_question(question: Elicitation, server: str) -> Reply:
    """The person's answer to a server's question. Ctrl-D cancels the question."""
    async with at_terminal():
        try:
            return await _ask_person(question, one_line(server))
        except EOFError:
            return None


async def _ask_person(question: Elicitation, server: str) -> Reply:
    tell(f"\n{_sentence(LABEL_SERVER_QUESTION, server=server)}", bold=True, err=True)
    _say("    " + question.message.replace("\n", "\n    "))
    if question.url is not None:
        return await _visited(question.url, server)
    _say(_sentence(HINT_CANCEL_QUESTION_KEY))
    fields = (question.fields or {}).get("properties", {})
    if (name := approval_field(fields)) is not None:
        word = await _choose(_sentence(CONSOLE_ALLOW_REQUEST), _WORDS_OF_SESSION)
        return _reply(word, {name: word})
    return await _filled(question.fields or {}, server)


def _reply(word: str, accepted: Mapping[str, Json] | bool) -> Reply:
    """The reply for a word: ``accepted``, unless the person declines or cancels."""
    return {"deny": False, "cancel": None}.get(word, accepted)


async def _visited(url: str, server: str) -> Reply:
    """Show the whole URL and its host. The person opens the page: neither client nor model sees it."""
    host = urlsplit(url).hostname or ""
    _say(_sentence(WARNING_EXTERNAL_PAGE, server=server, host=paint(host, bold=True)))
    _say(f"    {one_line(url)}")
    if "xn--" in host:
        tell(_sentence(WARNING_LOOKALIKE_HOST, host=host, name=one_line(_decoded(host))), fg="yellow", err=True)
    _say(_sentence(HINT_CANCEL_QUESTION_KEY))
    return _reply(await _choose(_sentence(CONSOLE_PAGE_OPENED), _WORDS_OF_ANSWER), True)


def _decoded(host: str) -> str:
    """The Unicode form of a Punycode host; the host itself if it cannot be decoded."""
    try:
        return host.encode().decode("idna")
    except UnicodeError:
        return host


async def _filled(schema: Mapping[str, Any], server: str) -> Reply:
    """Prompt for a form, repeatedly until the person sends, declines or cancels it."""
    fields, required = schema.get("properties", {}), schema.get("required", ())
    if not fields:
        return _reply(await _choose(_sentence(CONSOLE_AGREE_REQUEST), _WORDS_OF_ANSWER), True)
    while True:
        filled = {name: await _field(name, field, name in required) for name, field in fields.items()}
        values = {name: value for name, value in filled.items() if value not in ("", [""])}
        _say(f"{_sentence(LABEL_DATA_TO_SEND, server=server)}\n{display_arguments(values)}")
        word = await _choose(_sentence(CONSOLE_SEND_DATA), _WORDS_OF_FORM)
        if word != "edit":
            return _reply(word, values)


async def _field(name: str, field: Mapping[str, Any], required: bool) -> Any:
    """Prompt for one field of a form. Empty input omits an optional field."""
    titled = {one["const"]: one["title"] for one in field.get("oneOf", ())}
    for value, title in titled.items():
        _say(f"  {one_line(str(value))}: {one_line(str(title))}")
    choices = [*titled] or field.get("enum")
    default = field.get("default", None if required else "")
    title = one_line(field.get("title", name))
    answer = await prompted(title, _KINDS.get(field["type"], str), default, options=choices or ())
    return answer.split(",") if field["type"] == "array" and isinstance(answer, str) else answer


_KINDS: Mapping[str, type] = {"integer": int, "number": float, "boolean": bool}


def _sentence(code: str, **facts: object) -> str:
    return sentence(code, current_language(), facts)


def _say(text: str) -> None:
    tell(text, err=True)


async def _line(prompt: str) -> str:
    return await lines_of(sys.stdin.fileno(), lambda text: tell(text, nl=False, err=True))(prompt)


@contextlib.contextmanager
def _unseen() -> Generator[None]:
    """Turn off the echo of typed characters."""
    try:
        with without_echo(sys.stdin.fileno()):
            yield
    finally:
        _say("")  # the end of the line was not echoed either
