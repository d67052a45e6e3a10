"""The wording of messages: code → one English and one Chinese sentence.

Each package has a catalogue, ``wording.py``, with a constant for each of its messages; call sites name the constant.
Messages of several packages stand here.

Codes are stable: a sentence may be improved, a code never changes its meaning and is never reused.

TT1… protocol · TT2… tool calls, for the model · TT3… definitions, for the author · TT4… settings and commands, for the
operator · TT5… client and transport · TT6… the toolbox, a hundred for each family · TT7… state · TT8… findings of the
test kit · TT90…, TT91… contracts: changes, suspicious content, client profiles · TT92…, TT93… a host, its servers and
its guard · TT94… the console · TT95… models and their requests · TT96… misbehaving servers · TT97… findings of check
rules, worded on their cards · TT98… invalid input of a check or a search, and the treatment of tools by clients and
providers.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

__all__ = [
    "LANGUAGES",
    "SENTENCES",
    "Worded",
    "alternatives",
    "coded_sentence",
    "load_catalogues",
    "message",
    "names_or_none",
    "sentence",
]

LANGUAGES = ("en", "zh")

SENTENCES: dict[str, tuple[str, str]] = {}
"""Code → its English and its Chinese sentence, of the catalogues that are loaded."""


def message(code: str, english: str, chinese: str) -> str:
    """Add a message to the catalogue. Returns its code, the value of the constant by which call sites name it.

    ``ValueError`` if the code has another message already.
    """
    if SENTENCES.setdefault(code, (english, chinese)) != (english, chinese):
        raise ValueError(f"{code} has two messages")
    return code


_DISTRIBUTIONS = ("tooltrue", "tooltrue_check", "tooltrue_console", "tooltrue_toolbox")


def load_catalogues() -> None:
    """Load the catalogues of all installed distributions of this project."""
    from importlib.util import find_spec  # noqa: PLC0415 - only some callers need every catalogue

    for name in _DISTRIBUTIONS:
        spec = find_spec(name)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for file in sorted(Path(folder).rglob("wording.py")):
                importlib.import_module(".".join((name, *file.relative_to(folder).with_suffix("").parts)))


def sentence(code: str, language: str, facts: Mapping[str, Any]) -> str:
    """The sentence of ``code`` in ``language``, filled with ``facts``; facts that are :class:`Worded` use the same
    language. An unknown code is a bug and raises ``KeyError``."""
    if code not in SENTENCES:  # the code was read from a log or a file of data, not named by a constant
        load_catalogues()
    template = SENTENCES[code][LANGUAGES.index(language)]
    return template.format_map({name: _in_language(fact, language) for name, fact in facts.items()})


def coded_sentence(code: str, language: str, facts: Mapping[str, Any]) -> str:
    """The sentence, followed by its code in brackets, as in a log line."""
    return f"{sentence(code, language, facts)} [{code}]"


def _in_language(fact: Any, language: str) -> Any:
    return fact.say(language) if isinstance(fact, Phrase) else fact


class Phrase:
    """A text whose language is chosen later: :class:`Worded`, or one that is put together of several."""

    __slots__ = ()

    def say(self, language: str) -> str:
        raise NotImplementedError


class Worded(Phrase):
    """A sentence whose language is chosen later. ``str()`` of it is English. ``is_clause``: its full stop is left out,
    because another sentence goes on after it. Sentences of the same code and facts are equal.
    """

    # Not a dataclass: every process would generate its methods at the start.
    __slots__ = ("code", "facts", "is_clause")

    def __init__(self, code: str, facts: Mapping[str, Any], is_clause: bool = False) -> None:
        self.code = code
        self.facts = facts
        self.is_clause = is_clause

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Worded):
            return NotImplemented
        return (self.code, self.facts, self.is_clause) == (other.code, other.facts, other.is_clause)

    def __repr__(self) -> str:
        return f"Worded(code={self.code!r}, facts={self.facts!r}, is_clause={self.is_clause!r})"

    def say(self, language: str) -> str:
        text = sentence(self.code, language, self.facts)
        return text.rstrip(".。") if self.is_clause else text

    def __str__(self) -> str:
        return self.say("en")


def alternatives(options: Sequence[str]) -> str | Worded:
    """``options``, of which there is at least one, joined by "or" in the language of the sentence that holds them."""
    joined: str | Worded = options[0]
    for option in options[1:]:
        joined = Worded(LABEL_ONE_OR_OTHER, {"one": joined, "other": option})
    return joined


def names_or_none(names: Iterable[str]) -> str | Worded:
    """``names``, separated by commas; if there are none, "(none)" in the language of the sentence."""
    return ", ".join(names) or Worded(LABEL_NO_NAMES, {})


# --- messages of several packages -------------------------------------------------------------------------------------

TOOL_NOT_FOUND: Final = message(
    "TT1010",
    "Unknown tool: {name!r}. Ask tools/list for the tools there are.",
    "未知工具：{name!r}。可用 tools/list 查看现有工具。",
)
UNKNOWN_METHOD: Final = message(
    "TT1011",
    "Unknown method: {method!r}.",
    "未知方法：{method!r}。",
)
INSUFFICIENT_SCOPE: Final = message(
    "TT1100",
    "This needs the scopes {scopes}. Ask the authorization server for a token that has all of them, then repeat "
    "the request.",
    "此操作需要权限范围 {scopes}。请向授权服务器申请包含全部所需权限范围的令牌，然后重试该请求。",
)
SETTING_INVALID: Final = message(
    "TT4009",
    "{name} must be {wanted}.",
    "{name} 必须是 {wanted}。",
)
HINT_CRASH_TRACEBACK_SHORTENED: Final = message(
    "TT4105",
    '(To tell the model the problem, raise ToolError("…"). {hidden} frames of tooltrue are left out; tooltrue '
    "--debug, or TOOLTRUE_DEBUG=1, shows them.)",
    '（要告诉模型出了什么问题，请 raise ToolError("…")。已省略 {hidden} 个 tooltrue 内部栈帧；用 tooltrue --debug '
    "或 TOOLTRUE_DEBUG=1 查看。）",
)
NAME_DEPRECATED: Final = message(
    "TT4760",
    "{name} is deprecated since tooltrue {since}, and a later release removes it: use {instead}.",
    "{name} 自 tooltrue {since} 起已弃用，以后的版本会将其移除：请改用 {instead}。",
)
LABEL_NUMBER_ABOVE_ZERO: Final = message(
    "TT4048",
    "a number above 0",
    "大于 0 的数值",
)
REASON_NOT_UTF8: Final = message(
    "TT4039",
    "it is not UTF-8",
    "它不是 UTF-8 文本",
)
LABEL_ONE_OR_OTHER: Final = message(
    "TT4040",
    "{one} or {other}",
    "{one} 或 {other}",
)
REASON_LARGER_THAN: Final = message(
    "TT9080",
    "it is larger than {limit} bytes",
    "它超过 {limit} 字节",
)
REASON_FILE_IN_USE: Final = message(
    "TT4710",
    "another program has it open, or this user may not change it; close that program and try again",
    "另一个程序正在使用它，或当前用户无权更改；请关闭该程序后重试",
)
REASON_FILE_NOT_FOUND: Final = message(
    "TT4030",
    "there is no such file",
    "没有这个文件",
)
REASON_NO_OBJECT: Final = message(
    "TT4054",
    "it is not an object",
    "它不是对象",
)
REASON_UNKNOWN: Final = message(
    "TT4059",
    "unknown",
    "未知",
)
REASON_EMPTY: Final = message(
    "TT4055",
    "it is empty",
    "它是空的",
)
LABEL_NONE: Final = message(
    "TT4056",
    "none",
    "无",
)
LABEL_ONE_OF: Final = message(
    "TT4057",
    "one of {names}",
    "{names} 之一",
)
REASON_NESTED_TOO_DEEPLY: Final = message(
    "TT4058",
    "it is nested too deep",
    "嵌套过深",
)
REASON_UNEXPECTED_TEXT: Final = message(
    "TT4653",
    "it is not JSON at line {line}, column {column}",
    "第 {line} 行第 {column} 列处不是 JSON",
)
REASON_UNFINISHED: Final = message(
    "TT4654",
    "it is not JSON: it ends too early",
    "不是 JSON：内容不完整",
)
REASON_NOT_UNICODE: Final = message(
    "TT4060",
    "it is not valid Unicode",
    "它不是有效的 Unicode",
)
REASON_NO_REASON_GIVEN: Final = message(
    "TT1243",
    "no reason given",
    "未说明原因",
)
LABEL_NO_NAMES: Final = message(
    "TT4061",
    "(none)",
    "（无）",
)
LABEL_AND_MORE: Final = message(
    "TT4062",
    "{names} and {count} more",
    "{names} 以及另外 {count} 项",
)
