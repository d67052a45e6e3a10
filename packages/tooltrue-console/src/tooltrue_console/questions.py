"""The questions of a tool, as forms of a page, and the answers that a person gives in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue.protocol.input_requests import ELICIT, InputRequest
from tooltrue.protocol.schema import compile_schema
from tooltrue_console.forms import entries_of, form_entries, initial_value, read_form, validated
from tooltrue_console.wording import CONSOLE_FORM_INVALID, CONSOLE_QUESTION_UNREADABLE

__all__ = ["answer_of", "question_values"]


def question_values(
    fields: Mapping[str, str], language: str, key: str, request: InputRequest, place: int
) -> dict[str, Any]:
    """A question, with its form if it has one, filled in by the ``fields`` of the page that begin with its place.
    ``ConfigurationError`` for one that a person cannot answer here."""
    params = request.get("params")
    if request.get("method") != ELICIT or not is_object(params):
        raise ConfigurationError.of(CONSOLE_QUESTION_UNREADABLE)
    schema = params.get("requestedSchema")
    prefix, form = f"q{place}.", None
    if is_object(schema):
        entries = form_entries(fields, prefix) or entries_of(schema, initial_value(schema))
        form = read_form(schema, entries, language)
    return {
        "key": key,
        "place": place,
        "prefix": prefix,
        "message": str(params.get("message", ""))[:5000],
        "url": str(params.get("url", ""))[:2000] if params.get("mode") == "url" else "",
        "schema": schema,
        "form": form,
        "action": fields.get(f"a{place}", "accept"),
    }


def answer_of(fields: Mapping[str, str], language: str, question: Mapping[str, Any]) -> dict[str, Json] | None:
    """The answer to a question, as a client sends it; ``None`` if its form has problems, which it shows then."""
    action = fields.get(f"a{question['place']}", "")
    if action not in ("accept", "decline", "cancel"):
        raise ConfigurationError.of(CONSOLE_FORM_INVALID)
    form = question["form"]
    if action != "accept" or form is None:
        return {"action": action}
    if not validated(form, compile_schema(question["schema"]), language):
        return None
    return {"action": action, "content": form.value}
