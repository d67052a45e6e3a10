"""A model's answer to a question, and the file that stores answers so that no question is asked twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tooltrue.contract.wording import FILE_NOT_WRITABLE, FILE_UNREADABLE
from tooltrue.errors import ConfigurationError, ParseError
from tooltrue.jsonrpc.messages import Json, decode, encode, is_array, is_object
from tooltrue.protocol.types import Value

__all__ = ["ModelAnswer", "ModelCall", "StoredAnswers"]


class ModelCall(Value, frozen=True):
    """A call that the model made. ``arguments`` are text if they are not a JSON object."""

    tool: str
    arguments: dict[str, Json] | str


class ModelAnswer(Value, frozen=True):
    """An answer: its calls in order, the final text, and the tokens of all turns, 0 if the endpoint does not report
    them."""

    calls: tuple[ModelCall, ...]
    text: str = ""
    input: int = 0
    output: int = 0


class StoredAnswers:
    """Answers by key, one line each, written as soon as the answer arrives. A line cut off by a crash counts as never
    asked. Without a file, answers live as long as this object."""

    def __init__(self, file: Path | None = None) -> None:
        """``ConfigurationError`` for a file that cannot be read."""
        self._file = file
        data = b"" if file is None else _bytes(file)
        self._answers = dict(_answers(data))
        self._begins = b"" if data.endswith(b"\n") or not data else b"\n"  # the last line was cut

    def get(self, key: str) -> ModelAnswer | None:
        return self._answers.get(key)

    def add(self, key: str, answer: ModelAnswer) -> None:
        """Store an answer. ``ConfigurationError`` where it cannot be written."""
        self._answers[key] = answer
        if self._file is not None:
            _append(self._file, self._begins + encode({"key": key, "answer": answer}) + b"\n")
            self._begins = b""


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigurationError.of(FILE_UNREADABLE, file=str(file), problem=error.strerror) from None


def _append(file: Path, line: bytes) -> None:
    """Append in one write, so that concurrent writers do not mix their lines."""
    try:
        with file.open("ab", buffering=0) as opened:
            opened.write(line)
    except OSError as error:
        raise ConfigurationError.of(FILE_NOT_WRITABLE, file=str(file), problem=error.strerror) from None


def _answers(data: bytes) -> Iterator[tuple[str, ModelAnswer]]:
    for line in data.split(b"\n"):
        try:
            record = decode(line)
        except ParseError:
            continue
        if is_object(record) and isinstance(record.get("key"), str) and (answer := _answer(record.get("answer"))):
            yield record["key"], answer


def _answer(value: Json) -> ModelAnswer | None:
    if not is_object(value) or not is_array(calls := value.get("calls")) or not all(map(_is_made, calls)):
        return None
    text, input_tokens, output_tokens = value.get("text"), value.get("input"), value.get("output")
    if not isinstance(text, str) or type(input_tokens) is not int or type(output_tokens) is not int:
        return None
    return ModelAnswer(
        tuple(ModelCall(one["tool"], one["arguments"]) for one in calls), text, input_tokens, output_tokens
    )


def _is_made(call: Json) -> bool:
    return is_object(call) and isinstance(call.get("tool"), str) and isinstance(call.get("arguments"), str | dict)
