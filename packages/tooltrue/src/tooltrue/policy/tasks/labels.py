"""Delimiters that mark the output of servers as data for the model: no output can end a delimiter, or imitate it.

Delimiters are good for one result: their number is made when the result is there. Text that looks like one, or like the
words that divide the turns of a conversation, is written with other brackets (``‹``), so that a person still reads it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any, TypeVar

from tooltrue.errors import InvalidResult, RpcError, ToolError
from tooltrue.policy.sanitize.fit import CUT
from tooltrue.policy.wording import LABEL_UNTRUSTED_DATA, LABEL_UNTRUSTED_DATA_CUT
from tooltrue.protocol.types import (
    UNSET,
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ReadOutcome,
    ReadResourceResult,
    ResourceLink,
    TextContent,
    TextResource,
    ToolOutcome,
    replaced,
)
from tooltrue.tools.content import encoded_value, failed
from tooltrue.tools.stored_results import SCHEME
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import UNTRUSTED, RequestContext, ResourceRead, ToolCall
from tooltrue.wording import sentence

__all__ = ["label_output", "without_delimiters", "without_label"]

ErrorT = TypeVar("ErrorT", ToolError, RpcError, ToolError | RpcError)


def label_output(language: str) -> Callable[[Provider], Provider]:
    """Put results, errors and resources between two delimiters. Our own sentences (errors with a code) need no
    delimiters."""
    return lambda inner: _LabelOutput(inner, language)


class _LabelOutput(Wrapper, frozen=True):
    language: str

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        try:
            outcome = await self.inner.call_tool(call)
        except (ToolError, RpcError) as error:
            if error.code or isinstance(error, InvalidResult):  # the model learns of an invalid result, and no details
                raise _quoted(error, call.name) from error.__cause__
            outcome = failed(str(error))
        if not isinstance(outcome, CallToolResult):
            return outcome
        return _between(outcome, call, self.language)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        try:
            outcome = await self.inner.read_resource(request)
        except (ToolError, RpcError) as error:
            raise _quoted(error, request.uri) from error.__cause__
        if isinstance(outcome, InputRequiredResult):
            return outcome
        nonce = _nonce()
        first, last = _marks(nonce, request.uri, self.language)

        def marked(part: Any) -> Any:
            # Our pointer to the rest of a long text is not marked.
            is_ours = request.uri.startswith(SCHEME) and part.uri != request.uri
            if is_ours or not isinstance(part, TextResource):
                return part
            return replaced(part, text=f"{first}\n{without_delimiters(part.text)}\n{last}")

        contents = [marked(part) for part in outcome.contents]
        return ReadResourceResult(contents, {**(outcome.meta or {}), UNTRUSTED: nonce})


_FOREIGN = ("problem", "said")
"""Facts of our own sentences that may quote a server: its answer, or its output before it ended."""


def _quoted(error: ErrorT, source: str) -> ErrorT:
    """Put the words of a server that an error quotes between delimiters."""
    quotes = {name: str(error.facts[name]) for name in _FOREIGN if name in error.facts}
    if error.code and quotes:
        first, last = (mark.partition("\n")[0] for mark in _marks(_nonce(), source, "en"))
        error.facts = {
            **error.facts,
            **{name: f"{first}{without_delimiters(text)}{last}" for name, text in quotes.items()},
        }
        error.args = (sentence(error.code, "en", error.facts),)
    return error


def without_label(result: CallToolResult) -> list[Any]:
    """Return the blocks that came from the tool, between the delimiters; all blocks if there are no delimiters."""
    nonce = (result.meta or {}).get(UNTRUSTED)
    ends = [
        place
        for place, block in enumerate(result.content)
        if isinstance(nonce, str)
        and type(block) is TextContent
        and block.text.startswith(_OURS)
        and nonce in block.text
    ]
    return result.content[ends[0] + 1 : ends[-1]] if len(ends) > 1 else result.content


def _between(result: CallToolResult, call: ToolCall, language: str) -> CallToolResult:
    nonce = _nonce()
    first, last = _marks(nonce, call.name, language)
    content, more = _split_notice(result, call.context, language)
    if not content and result.structuredContent is not UNSET:  # so that the model need not read outside the delimiters
        content = [TextContent(text=(result.encoded or encoded_value(result.structuredContent)).decode())]
    blocks = [TextContent(text=first), *map(_defused_block, content), TextContent(text=last), *more]
    return replaced(result, content=blocks, meta={**(result.meta or {}), UNTRUSTED: nonce})


def _split_notice(result: CallToolResult, context: RequestContext, language: str) -> tuple[list[Any], list[Any]]:
    """Split a result into the blocks of the tool, and our notice on a part that was left out. The notice is known to be
    ours by its URI, which could not be known before the result was there."""
    cut = (result.meta or {}).get(CUT)
    uri = cut.get("uri") if isinstance(cut, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    link = next((thing.link for thing in context.stored if thing.link.uri == uri), None)
    if link is None or len(result.content) < 2:
        return result.content, []
    more = TextContent(text=sentence(LABEL_UNTRUSTED_DATA_CUT, language, {"size": link.size, "uri": link.uri}))
    return result.content[:-2], [more, ResourceLink(link.uri, "the whole result", size=link.size)]


def _nonce() -> str:
    return secrets.token_hex(8)


_OURS = ("<untrusted-data ", "</untrusted-data ")


def _marks(nonce: str, source: str, language: str) -> tuple[str, str]:
    begin = f'<untrusted-data id="{nonce}" from="{_name(source)}">'
    end = f'</untrusted-data id="{nonce}">'
    return f"{begin}\n{sentence(LABEL_UNTRUSTED_DATA, language, {'id': nonce})}", end


def _name(source: str) -> str:
    return re.sub(r"[^\w.:/-]", "_", source)[:128]


# --- imitations -------------------------------------------------------------------------------------------------------

_LESS, _GREATER = "<＜﹤〈《‹«⟨⟪˂ᐸ", ">＞﹥〉》›»⟩⟫˃ᐳ"
_TURNS = (
    "system|user|assistant|human|developer|tool(?:_(?:results?|response|calls?|use|output))?"
    "|function(?:_(?:calls?|results?|response))?|(?:antml:)?(?:invoke|parameter|thinking)|system[-_]reminder"
    "|instructions?|important|(?:start|end)_of_turn|bos|eos|think"
)


def _wide(word: str) -> str:
    """Return an expression for the word in letters of either width."""
    return "".join(f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in word)


# The alternative text of a picture in Markdown: escapes, one nested pair of brackets, and line breaks.
_ALT = r"\[(?:\\.|[^\[\]\\]|\[[^\[\]]{0,100}\]){0,400}\]"
# Every repetition has a limit: a hostile text may be long, and made to be slow.
_LOOKS_LIKE = re.compile(
    rf"[{_LESS}](?=[^\w<>]{{0,8}}{_wide('untrusted')}[\W_]{{0,8}}{_wide('data')})"  # one of our delimiters
    rf"|[{_LESS}](?=\s{{0,8}}[|｜¦][^<>\n]{{1,60}}[|｜¦]\s{{0,8}}[{_GREATER}])"  # <|im_start|>
    rf"|[{_LESS}](?=\s{{0,8}}/?\s{{0,8}}(?:{_TURNS})(?:\s[^<>]{{0,200}})?\s{{0,8}}/?\s{{0,8}}[{_GREATER}])"  # </user>
    rf"|[{_LESS}](?=[{_LESS}]\s{{0,8}}/?SYS\s{{0,8}}[{_GREATER}])"
    r"|[\[［](?=\s{0,8}/?\s{0,8}(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\s{0,8}[\]］])"
    # The program that shows a picture fetches it, and its address may carry data away.
    rf"|!(?={_ALT}\s{{0,4}}(?:\(\s{{0,8}}[<\"']?(?:https?:)?//|\[))"
    rf"|[{_LESS}](?=\s{{0,8}}(?:img|iframe|image|object|embed|video|audio|link|script)\b[^<>]{{0,400}}(?:https?:)?//)",
    re.IGNORECASE,
)


def without_delimiters(text: str) -> str:
    """Rewrite text that would pass for our delimiter, a turn of the conversation, or a picture from elsewhere."""
    return _LOOKS_LIKE.sub(lambda match: _INSTEAD.get(match[0], "‹"), text)


_INSTEAD = {"[": "⟦", "［": "⟦", "!": "(picture) "}


def _defused_block(block: Any) -> Any:
    match block:
        case TextContent():
            text = without_delimiters(block.text)
            return block if text == block.text else replaced(block, text=text)
        case EmbeddedResource(resource=TextResource() as resource):
            return replaced(block, resource=_defused(resource, "text", "mimeType"))
        case EmbeddedResource(resource=resource):
            return replaced(block, resource=_defused(resource, "mimeType"))
        case ResourceLink():
            return _defused(block, "name", "title", "description", "mimeType")
        case ImageContent() | AudioContent():
            return _defused(block, "mimeType")
        case _:
            return block


def _defused(thing: Any, *fields: str) -> Any:
    return replaced(thing, **{name: without_delimiters(text) for name in fields if (text := getattr(thing, name))})
