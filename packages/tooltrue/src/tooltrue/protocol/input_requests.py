"""Questions that a server puts to a client during a request: a form, a visit to a page, a completion, the roots.

A question travels as ``{"method", "params"}``: in an ``InputRequiredResult`` in the stateless revision, as a request
from the server in session-based ones (2026-07-28, basic/patterns/mrtr and client/elicitation, sampling, roots). This
module defines valid questions, the client capability each one needs, and the form of a valid answer.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.errors import DefinitionError
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol.wording import (
    CLIENT_QUESTION_INVALID,
    ELICITATION_FORM_ASKS_SECRET,
    ELICITATION_FORM_INVALID,
    ELICITATION_URL_INVALID,
    REASON_ANSWER_ACTION,
    REASON_ANSWER_CONTENT,
    REASON_ANSWER_MODEL,
    REASON_ANSWER_ROLE,
    REASON_ANSWER_ROOTS,
    REASON_FIELD_CHOICE_NAMES,
    REASON_FIELD_CHOICES_NOT_TEXT,
    REASON_FIELD_CHOICES_UNTITLED,
    REASON_FIELD_FORMAT,
    REASON_FIELD_KEYWORD,
    REASON_FIELD_LINK,
    REASON_FIELD_NO_CHOICES,
    REASON_FIELD_NO_OBJECT,
    REASON_FIELD_TYPE,
    REASON_FORM_FIELD,
    REASON_FORM_FIELD_MISSING,
    REASON_FORM_NO_OBJECT,
    REASON_LAST_MESSAGE,
    REASON_MAX_TOKENS,
    REASON_MESSAGE_PARTS,
    REASON_QUESTION_METHOD,
    REASON_QUESTION_MODE,
    REASON_TOOL_RESULTS_ALONE,
    REASON_TOOL_USE_UNANSWERED,
    REASON_URL_ACTION,
    REASON_URL_CREDENTIALS,
    REASON_URL_INNER,
    REASON_URL_NO_PAGE,
    REASON_URL_NOT_HTTPS,
    REASON_URL_TOKEN,
    SAMPLING_MESSAGES_INVALID,
)
from tooltrue.wording import REASON_NO_OBJECT, Worded

__all__ = [
    "ELICIT",
    "LIST_ROOTS",
    "METHODS",
    "SAMPLE",
    "InputRequest",
    "check_form",
    "check_messages",
    "check_page",
    "check_request",
    "check_url",
    "check_words",
    "elicitation_form",
    "elicitation_url",
    "lacking",
    "malformed",
    "needs",
    "sayable",
]

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"
LIST_ROOTS = "roots/list"
METHODS = (ELICIT, SAMPLE, LIST_ROOTS)

InputRequest: TypeAlias = Mapping[str, Json]
"""``{"method": …, "params": {…}}``; never an ``id`` or ``jsonrpc``."""


def elicitation_form(message: str, schema: Mapping[str, Json]) -> InputRequest:
    return {"method": ELICIT, "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def elicitation_url(message: str, url: str) -> InputRequest:
    return {"method": ELICIT, "params": {"mode": "url", "message": message, "url": url}}


# --- capabilities ----------------------------------------------------------------------------------------------------


def needs(request: InputRequest) -> dict[str, Json]:
    """The client capabilities that a question requires, in the shape of ``ClientCapabilities``."""
    params = _params(request)
    match request.get("method"):
        case "elicitation/create":
            return {"elicitation": {"url" if params.get("mode") == "url" else "form": {}}}
        case "sampling/createMessage":
            extra: dict[str, Json] = {}
            if "tools" in params or "toolChoice" in params or _uses_tools(params.get("messages")):
                extra["tools"] = {}
            if params.get("includeContext", "none") != "none":
                extra["context"] = {}
            return {"sampling": extra}
        case _:
            return {"roots": {}}


def _params(request: InputRequest) -> dict[str, Json]:
    params = request.get("params")
    return params if is_object(params) else {}


def lacking(requests: Iterable[InputRequest], declared: Mapping[str, Json]) -> dict[str, Json]:
    """The capabilities that these requests require beyond ``declared``; empty if they are all declared."""
    missing: dict[str, Json] = {}
    for request in requests:
        for name, modes in needs(request).items():
            support = declared.get(name)
            absent: dict[str, Json] = {mode: {} for mode in modes if not _has(name, support, mode)}
            if absent or not is_object(support):
                missing[name] = {**missing.get(name, {}), **absent}
    return missing


def _uses_tools(messages: Json) -> bool:
    kinds = {block["type"] for message in messages for block in _blocks(message)} if is_array(messages) else set[str]()
    return not kinds.isdisjoint(("tool_use", "tool_result"))


def _has(name: str, support: Json, mode: str) -> bool:
    if not is_object(support):
        return False
    # An empty elicitation capability means forms (client/elicitation, "Capabilities").
    return mode in support or (name == "elicitation" and mode == "form" and "url" not in support)


# --- valid questions -------------------------------------------------------------------------------------------------

_KINDS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "format", "enum", "enumNames", "oneOf"}),
    "number": frozenset({"minimum", "maximum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "array": frozenset({"minItems", "maxItems", "items"}),
}
_ALWAYS = frozenset({"type", "title", "description", "default"})
_FORMATS = frozenset({"email", "uri", "date", "date-time"})


def check_form(schema: Mapping[str, Json]) -> None:
    """Raise ``DefinitionError`` unless every client can show this form: one flat object of plain fields.

    A field is text, a number, a boolean, one choice or several (client/elicitation "Requested Schema"). A form must not
    ask for secrets, and no field may link to a page: both belong to a URL visit, whose page is hidden from the client
    and its model.
    """
    properties = schema.get("properties")
    if schema.get("type") != "object" or not is_object(properties):
        raise DefinitionError.of(ELICITATION_FORM_INVALID, problem=Worded(REASON_FORM_NO_OBJECT, {}))
    unknown = [name for name in schema.get("required", ()) if name not in properties]
    if unknown:
        raise DefinitionError.of(
            ELICITATION_FORM_INVALID, problem=Worded(REASON_FORM_FIELD_MISSING, {"name": unknown[0]})
        )
    check_words("", schema)
    for name, field in properties.items():
        if problem := _field_problem(field):
            raise DefinitionError.of(
                ELICITATION_FORM_INVALID, problem=Worded(REASON_FORM_FIELD, {"name": name, "problem": problem})
            )


def check_words(message: str, schema: Mapping[str, Json]) -> None:
    """Raise ``DefinitionError`` for a form that asks for a secret in any of its texts. The texts around the fields
    count only if a field takes free text or a number: a consent form shows the arguments of a call, and takes a
    choice."""
    from tooltrue.protocol.secret_requests import asks_for_a_secret  # noqa: PLC0415 - most servers show no form

    properties = schema.get("properties")
    fields = properties if is_object(properties) else {}
    around = (message, _text(schema, "title"), _text(schema, "description"))
    for text in around if any(map(_is_free, fields.values())) else ():
        if asks_for_a_secret(text):
            raise DefinitionError.of(ELICITATION_FORM_ASKS_SECRET, name=text[:128])
    for name, field in fields.items():
        _check_field(name, field)


def _is_free(field: Json) -> bool:
    """Whether a person may enter any text or number."""
    if not is_object(field):
        return True
    return field.get("type") not in ("boolean", "array") and not {"enum", "oneOf", "const"} & field.keys()


def _check_field(name: str, field: Json) -> None:
    """Raise ``DefinitionError`` for a field that asks for a secret, in its name or in any of its texts. A boolean
    cannot hold a secret."""
    if is_object(field) and field.get("type") == "boolean":
        return
    from tooltrue.protocol.secret_requests import asks_for_a_secret  # noqa: PLC0415 - most servers show no form

    if any(map(asks_for_a_secret, (name, *_texts(field)))):
        raise DefinitionError.of(ELICITATION_FORM_ASKS_SECRET, name=name)


def _text(members: Mapping[str, Json], key: str) -> str:
    value = members.get(key)
    return value if isinstance(value, str) else ""


def _texts(field: Json) -> Iterator[str]:
    """The texts of a field that a person reads: title, description, default, choices."""
    if not is_object(field):
        return
    for key in ("title", "description", "default"):
        yield _text(field, key)
    for choices in (field, field.get("items")):
        if is_object(choices):
            for key in ("enum", "enumNames", "oneOf", "anyOf"):
                values = choices.get(key)
                yield from _choices(values if is_array(values) else [])


def _choices(values: Iterable[Json]) -> Iterator[str]:
    for one in values:
        if isinstance(one, str):
            yield one
        elif is_object(one):
            yield from (_text(one, "const"), _text(one, "title"))


def _field_problem(field: Json) -> Worded | None:
    if not is_object(field):
        return Worded(REASON_FIELD_NO_OBJECT, {})
    keywords = _KINDS.get(field.get("type", ""))
    if keywords is None:
        return Worded(REASON_FIELD_TYPE, {"type": field.get("type"), "kinds": ", ".join(_KINDS)})
    if extra := sorted(field.keys() - keywords - _ALWAYS):
        return Worded(REASON_FIELD_KEYWORD, {"keyword": extra[0], "type": field["type"]})
    if field.get("format", "email") not in _FORMATS:
        return Worded(REASON_FIELD_FORMAT, {"format": field["format"], "formats": ", ".join(sorted(_FORMATS))})
    if any("://" in str(field.get(word, "")) for word in ("title", "description")):
        return Worded(REASON_FIELD_LINK, {})
    if field["type"] == "array":
        return _choices_problem(field.get("items"), several=True)
    if "enum" in field or "oneOf" in field:
        return _choices_problem(field, several=False)
    return None


def _choices_problem(choices: Json, *, several: bool) -> Worded | None:
    if not is_object(choices):
        return Worded(REASON_FIELD_NO_CHOICES, {})
    titled = choices.get("anyOf" if several else "oneOf")
    if titled is not None:
        fits = is_array(titled) and all(is_object(one) and {"const", "title"} <= one.keys() for one in titled)
        return None if fits and titled else Worded(REASON_FIELD_CHOICES_UNTITLED, {})
    plain = choices.get("enum")
    if not is_array(plain) or not plain or not all(isinstance(one, str) for one in plain):
        return Worded(REASON_FIELD_CHOICES_NOT_TEXT, {})
    names = choices.get("enumNames", plain)
    return None if is_array(names) and len(names) == len(plain) else Worded(REASON_FIELD_CHOICE_NAMES, {})


def check_request(request: InputRequest) -> None:
    """Raise ``DefinitionError`` unless this is a valid question. Checked for every question before it is sent."""
    method, params = request.get("method"), _params(request)
    mode = params.get("mode", "form")
    if method not in METHODS:
        raise DefinitionError.of(
            CLIENT_QUESTION_INVALID,
            problem=Worded(REASON_QUESTION_METHOD, {"method": method, "methods": ", ".join(METHODS)}),
        )
    if method == ELICIT and (not isinstance(params.get("message"), str) or mode not in ("form", "url")):
        raise DefinitionError.of(CLIENT_QUESTION_INVALID, problem=Worded(REASON_QUESTION_MODE, {}))
    if method == ELICIT and mode == "form":
        schema = params.get("requestedSchema")
        check_words(params["message"], schema if is_object(schema) else {})
        check_form(schema if is_object(schema) else {})
    if method == ELICIT and mode == "url":
        check_url(str(params.get("url", "")))
    if method == SAMPLE:
        messages, limit = params.get("messages"), params.get("maxTokens")
        if not isinstance(limit, int) or isinstance(limit, bool):
            raise DefinitionError.of(CLIENT_QUESTION_INVALID, problem=Worded(REASON_MAX_TOKENS, {}))
        check_messages(messages if is_array(messages) and all(map(is_object, messages)) else [])


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_ACTIONS = frozenset((
    "actuator", "admin", "cmd", "command", "delete", "destroy", "drop", "erase", "eval", "exec", "execute", "install",
    "kill", "purge", "reboot", "remove", "reset", "restart", "rm", "run", "shell", "shutdown", "stop", "sudo",
    "truncate", "uninstall", "unlink", "update", "upgrade", "wipe",
))  # fmt: skip
_WORDS = LazyPattern(r"[A-Z]+(?![a-z])|[A-Za-z][a-z]*")


def check_url(url: str) -> None:
    """Raise ``DefinitionError`` unless a server may show ``url`` to a person: it is a page (:func:`check_page`),
    outside internal networks, without a token; on the loopback host it must not name an action."""
    parts, host = check_page(url)
    if host in _LOOPBACK and (word := _action(parts)):
        raise DefinitionError.of(ELICITATION_URL_INVALID, problem=Worded(REASON_URL_ACTION, {"word": word}))
    if host not in _LOOPBACK and _is_inner(host):
        raise DefinitionError.of(ELICITATION_URL_INVALID, problem=Worded(REASON_URL_INNER, {}))
    if any(_HOLDS.compiled.search(name) for part in (parts.query, parts.fragment) for name, _ in parse_qsl(part)):
        raise DefinitionError.of(ELICITATION_URL_INVALID, problem=Worded(REASON_URL_TOKEN, {}))


def _action(parts: SplitResult) -> str:
    """The first word in the path, query or fragment that names an action, or ``""``. Opening an address is a GET, and
    local programs that trust any user of the machine act on it."""
    words = _WORDS.compiled.findall(unquote(f"{parts.path} {parts.query} {parts.fragment}"))
    return next((word for word in words if word.lower() in _ACTIONS), "")


def check_page(url: str) -> tuple[SplitResult, str]:
    """The parts and the host of a URL that a browser may open: https (http on loopback), without credentials. Raises
    ``DefinitionError`` for any other URL."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        parts, host = None, None
    if parts is None or not host or not url.isascii() or any(sign <= " " for sign in url):
        raise DefinitionError.of(ELICITATION_URL_INVALID, problem=Worded(REASON_URL_NO_PAGE, {}))
    if parts.username is not None or parts.password is not None:
        raise DefinitionError.of(ELICITATION_URL_INVALID, problem=Worded(REASON_URL_CREDENTIALS, {}))
    if parts.scheme != "https" and not (parts.scheme == "http" and host in _LOOPBACK):
        raise DefinitionError.of(ELICITATION_URL_INVALID, problem=Worded(REASON_URL_NOT_HTTPS, {}))
    return parts, host


# "MUST NOT provide a URL which is pre-authenticated" (client/elicitation, "Safe URL Handling").
_HOLDS = LazyPattern(
    r"(?:^|[_.-])(?:token|passw(?:or)?d|secret|api_?key|apikey|jwt|credential)s?$|^(?:auth|pwd)$", re.IGNORECASE
)


def _is_inner(host: str) -> bool:
    """Whether the host is a non-global IP address in any spelling, or a ``localhost`` or ``.internal`` name."""
    plain = host.rstrip(".").partition("%")[0]
    if plain == "localhost" or plain.endswith((".localhost", ".internal")):
        return True
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        try:
            address = ipaddress.ip_address(socket.inet_aton(plain))  # also 0x7f.1, 2852039166, 0251.0376.0251.0376
        except OSError:
            return False
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address.sixtofour or address
    return not address.is_global


def check_messages(messages: Sequence[Mapping[str, Json]]) -> None:
    """Raise ``DefinitionError`` unless a model accepts these messages (client/sampling "Message content constraints").

    Each message has a role and content; a message with tool results holds no other blocks; every tool use is answered
    in the next message.
    """
    open_uses: set[str] = set()
    for message in messages:
        blocks = _blocks(message)
        results = {block.get("toolUseId", "") for block in blocks if block.get("type") == "tool_result"}
        if message.get("role") not in ("user", "assistant") or not blocks:
            raise DefinitionError.of(SAMPLING_MESSAGES_INVALID, problem=Worded(REASON_MESSAGE_PARTS, {}))
        if results and (message["role"] != "user" or len(results) != len(blocks)):
            raise DefinitionError.of(SAMPLING_MESSAGES_INVALID, problem=Worded(REASON_TOOL_RESULTS_ALONE, {}))
        if results != open_uses:
            raise DefinitionError.of(SAMPLING_MESSAGES_INVALID, problem=Worded(REASON_TOOL_USE_UNANSWERED, {}))
        open_uses = {block.get("id", "") for block in blocks if block.get("type") == "tool_use"}
    if open_uses or not messages:
        raise DefinitionError.of(SAMPLING_MESSAGES_INVALID, problem=Worded(REASON_LAST_MESSAGE, {}))


def _is_block(block: Json) -> bool:
    """Whether this is a content block; a text block must have text."""
    if not is_object(block) or not isinstance(block.get("type"), str):
        return False
    return block["type"] != "text" or isinstance(block.get("text"), str)


def _blocks(message: Mapping[str, Json]) -> list[dict[str, Json]]:
    content = message.get("content")
    blocks: list[Json] = content if is_array(content) else [content]
    return [block for block in blocks if is_object(block) and isinstance(block.get("type"), str)]


# --- answers ---------------------------------------------------------------------------------------------------------


def malformed(request: InputRequest, answer: Json) -> Worded | None:
    """The reason why ``answer`` cannot be a result of this question, or ``None``. Its content is checked elsewhere."""
    if not is_object(answer):
        return Worded(REASON_NO_OBJECT, {})
    match request.get("method"):
        case "elicitation/create":
            if answer.get("action") not in ("accept", "decline", "cancel"):
                return Worded(REASON_ANSWER_ACTION, {})
            if "content" in answer and not is_object(answer["content"]):
                return Worded(REASON_ANSWER_CONTENT, {})
        case "sampling/createMessage":
            content = answer.get("content")
            blocks = content if is_array(content) else [content]
            if answer.get("role") not in ("user", "assistant") or not blocks or not all(map(_is_block, blocks)):
                return Worded(REASON_ANSWER_ROLE, {})
            if not isinstance(answer.get("model"), str):
                return Worded(REASON_ANSWER_MODEL, {})
        case _:
            roots = answer.get("roots")
            if not is_array(roots) or not all(is_object(one) and isinstance(one.get("uri"), str) for one in roots):
                return Worded(REASON_ANSWER_ROOTS, {})
    return None


# --- older revisions -------------------------------------------------------------------------------------------------


def sayable(request: InputRequest, *, choices: bool, blocks: bool, identified: str | None) -> InputRequest | None:
    """The question in an older revision's form, or ``None`` if that revision cannot express it.

    ``choices``: the revision has lists and titled choices. ``blocks``: a message may hold several blocks.
    ``identified``: the id that a URL visit has in that revision.
    """
    params = dict(_params(request))
    if request.get("method") == SAMPLE and not blocks:
        params["messages"] = [
            {**message, "content": block} for message in params["messages"] for block in _blocks(message)
        ]
    if request.get("method") == ELICIT:
        if params.get("mode") == "url":
            params["elicitationId"] = identified
        elif not choices:
            params.pop("mode", None)
            fields = {name: _plainly(field) for name, field in params["requestedSchema"]["properties"].items()}
            if None in fields.values():
                return None
            params["requestedSchema"] = {**params["requestedSchema"], "properties": fields}
    return {"method": request["method"], "params": params}


def _plainly(field: dict[str, Json]) -> dict[str, Json] | None:
    if field["type"] == "array":
        return None
    if "oneOf" not in field:
        return field
    rest = {key: value for key, value in field.items() if key != "oneOf"}
    return {
        **rest,
        "enum": [one["const"] for one in field["oneOf"]],
        "enumNames": [one["title"] for one in field["oneOf"]],
    }
