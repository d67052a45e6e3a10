"""The parts that are compared of an answer recorded from another server, and of the answer of ours.

Values are compared, and whether a call failed; the words of sentences and of errors are not. ``examples/ported`` has
the table of what differs on purpose.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tooltrue import Client, QuestionLimits, RpcError
from tooltrue.protocol.types import UNSET, TextResource

_WORDS = ("reason", "suggestion", "hint", "guidance")
MANY = QuestionLimits(per_minute=1000)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Person:
    """Agrees to each question, and counts them."""

    def __init__(self, answer: Any = True) -> None:
        self.answer = answer
        self.asked = 0

    def __call__(self, question: Any) -> Any:
        self.asked += 1
        return self.answer


async def perform(client: Client, person: Person, step: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of one server to one step: a call, a read or a prompt, as values that JSON can hold."""
    arguments = step.get("arguments", {})
    reports: list[list[float | None]] = []
    asked = person.asked
    try:
        match step:
            case {"call": name}:
                result = await client.call_tool(name, arguments, progress=lambda n, of, _: reports.append([n, of]))
                answer = {"failed": result.is_error, "value": _value(result)}
            case {"read": uri}:
                parts = await client.read_resource(uri)
                texts = [part.text for part in parts if isinstance(part, TextResource)]
                answer = {"failed": False, "value": [_parsed(text) for text in texts]}
            case {"prompt": name}:
                said = await client.get_prompt(name, arguments)
                answer = {"failed": False, "value": [[one.role, one.content.type] for one in said.messages]}
            case _:
                raise AssertionError(f"no step: {step}")
    except RpcError as error:
        answer = {"failed": True, "value": str(error)}
    if person.asked > asked:
        answer["asked"] = person.asked - asked
    if reports:
        answer["progress"] = reports
    return answer


def _value(result: Any) -> Any:
    """The structured value, out of the wrapper that older clients get; else what the text says, as a value."""
    structured = result.structured
    if result.is_error or structured is UNSET:
        return _parsed(result.text)
    if isinstance(structured, dict) and structured.keys() == {"result"}:
        structured = structured["result"]
    match structured:
        case str() | [{"type": "text"}]:
            return _parsed(result.text)
        case _:
            return structured


def _parsed(text: str) -> Any:
    """JSON, or the Python literal that some servers send in its place, or the text itself."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text


def comparable(step: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an answer: its failure, or else the part of its value that the step's ``compared`` selects.

    - ``value``: the value, without members that hold words for a model, and without what varies between two runs.
    - ``sentence``: the numbers of a sentence, save for times.
    - ``digits``: a text, whose digits vary.
    - ``words``: the shape of the value, such as the roles of messages.

    Progress is compared too, and how often the person was asked where the original asked.
    """
    if answer["failed"]:
        return {"failed": True}
    kept = {"progress"} | ({"asked"} & step["answer"].keys())
    seen = {key: value for key, value in answer.items() if key in kept}
    value = answer["value"]
    match step.get("compared", "value"):
        case "value":
            return seen | {"value": plain(value, step.get("varying", ()))}
        case "sentence":
            return seen | {"numbers": _NUMBER.findall(_TIME.sub("", json.dumps(value)))}
        case "digits":
            return seen | {"value": re.sub(r"\d", "9", str(value))}
        case "words":
            return seen | {"shape": shape(value)}
        case other:
            raise AssertionError(f"nothing is compared by {other}")


def without_flag(answer: Mapping[str, Any]) -> bool:
    """Whether an answer tells of a failure in words or in a member, and not by the flag of the protocol."""
    match answer["value"]:
        case str() as text:
            return not answer["failed"] and text.startswith(("Error: ", "Database error: "))
        case {"result": "error"}:
            return True
        case dict() as members:
            return any(_refuses(one) for one in members.values())
        case _:
            return False


def _refuses(member: Any) -> bool:
    return isinstance(member, dict) and member.get("result") == "error"


def plain(value: Any, varying: Sequence[str]) -> Any:
    """A value without words for a model, and without the contents of its ``varying`` members, such as a duration."""
    match value:
        case dict():
            return {
                key: "…" if key in varying else plain(one, varying) for key, one in value.items() if key not in _WORDS
            }
        case list() | tuple():
            return [plain(one, varying) for one in value]
        case _:
            return value


def shape(value: Any) -> Any:
    """A value without its words: the roles of messages, the keys of objects."""
    match value:
        case dict():
            return {key: shape(one) for key, one in value.items()}
        case list() | tuple():
            return [shape(one) for one in value]
        case _:
            return type(value).__name__


def substitute(value: Any, names: Mapping[str, str]) -> Any:
    """A copy of a value of JSON in which each key of ``names`` that occurs in a text is its value."""
    match value:
        case str():
            for old, new in names.items():
                value = value.replace(old, new)
            return value
        case dict():
            return {substitute(key, names): substitute(one, names) for key, one in value.items()}
        case list() | tuple():
            return [substitute(one, names) for one in value]
        case _:
            return value


def lines(*files: Path) -> int:
    """How many lines hold code or a docstring: neither blank nor only a comment."""
    counted = 0
    for file in files:
        held: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(file.read_text("utf-8")).readline):
            if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                continue
            texts = token.string.split("\n")
            held |= {token.start[0] + at for at, text in enumerate(texts) if text.strip()}
        counted += len(held)
    return counted
