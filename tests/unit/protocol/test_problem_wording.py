"""The problems of values that do not fit, in English and Chinese."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from tooltrue import Client, Server
from tooltrue.errors import InvalidArguments
from tooltrue.protocol.schema import ProblemClauses, ProblemLines, SchemaProblem, compile_schema, explain
from tooltrue.protocol.schema import wording as catalogue
from tooltrue.tools.wording import TOOL_ARGUMENTS_INVALID
from tooltrue.wording import SENTENCES

FORMS = [{"type": "object", "required": [name], "additionalProperties": False} for name in ("one", "two")]

# schema, value, the problem in both languages
CASES: list[tuple[dict[str, Any], Any, str, str]] = [
    ({}, b"", "$ must be JSON", "$ 必须是 JSON 值"),
    ({"unevaluatedItems": False}, [1], "$ does not fit the schema, not an array", "$ 不符合架构，实际为：数组"),
    ({"properties": {"a": False}}, {"a": 1}, "$.a is not allowed here", "$.a 此处不允许出现"),
    (
        {"type": "integer"},
        "5",
        "$ must be an integer, not a string; send the number without quotes",
        "$ 必须是整数，实际为：字符串；请发送不带引号的数值",
    ),
    (
        {"type": ["boolean", "null"]},
        "true",
        "$ must be a boolean or null, not a string; send true or false without quotes",
        "$ 必须是布尔值 或 空值 null，实际为：字符串；请发送不带引号的 true 或 false",
    ),
    (
        {"type": "null"},
        "null",
        "$ must be null, not a string; send null without quotes",
        "$ 必须是空值 null，实际为：字符串；请发送不带引号的 null",
    ),
    (
        {"type": "array"},
        "[]",
        "$ must be an array, not a string; send the array itself, not a string that holds JSON",
        "$ 必须是数组，实际为：字符串；请直接发送数组，而不是包含 JSON 的字符串",
    ),
    (
        {"type": "object"},
        "{}",
        "$ must be an object, not a string; send the object itself, not a string that holds JSON",
        "$ 必须是对象，实际为：字符串；请直接发送对象，而不是包含 JSON 的字符串",
    ),
    (
        {"type": "array"},
        1,
        "$ must be an array, not an integer; put a single value into an array: [value]",
        "$ 必须是数组，实际为：整数；请把单个值放进数组：[value]",
    ),
    (
        {"type": "string"},
        1.5,
        "$ must be a string, not a number; put it in quotes",
        "$ 必须是字符串，实际为：数值；请给它加上引号",
    ),
    ({"const": "a"}, 1, '$ must be "a"', '$ 必须是 "a"'),
    (
        {"enum": ["red", "blue"]},
        "blu",
        '$ must be one of "red", "blue"; nearest: "blue"',
        '$ 必须是以下值之一："red", "blue"；最接近的是："blue"',
    ),
    (
        {"enum": [*range(22)]},
        "x",
        f"$ must be one of {', '.join(map(str, range(20)))} and 2 more",
        f"$ 必须是以下值之一：{', '.join(map(str, range(20)))} 以及另外 2 项",
    ),
    ({"minimum": 5}, 3, "$ must be at least 5, not 3; nearest: 5", "$ 不得小于 5，实际为：3；最接近的是：5"),
    (
        {"maximum": 5},
        10**30,
        "$ must be at most 5, not a huge number; nearest: 5",
        "$ 不得大于 5，实际为：极大的数值；最接近的是：5",
    ),
    ({"exclusiveMinimum": 5}, 3, "$ must be more than 5, not 3", "$ 必须大于 5，实际为：3"),
    ({"exclusiveMaximum": 5}, 7, "$ must be less than 5, not 7", "$ 必须小于 5，实际为：7"),
    (
        {"multipleOf": 5},
        7,
        "$ must be a multiple of 5, not 7; nearest: 5",
        "$ 必须是 5 的倍数，实际为：7；最接近的是：5",
    ),
    ({"minLength": 1}, "", "$ must have at least 1 character, not 0", "$ 必须至少有 1 个字符，实际为：0"),
    ({"maxLength": 2}, "abc", "$ must have at most 2 characters, not 3", "$ 最多只能有 2 个字符，实际为：3"),
    ({"minItems": 1}, [], "$ must have at least 1 item, not 0", "$ 必须至少有 1 项，实际为：0"),
    ({"maxItems": 2}, [1, 2, 3], "$ must have at most 2 items, not 3", "$ 最多只能有 2 项，实际为：3"),
    ({"minProperties": 1}, {}, "$ must have at least 1 property, not 0", "$ 必须至少有 1 个属性，实际为：0"),
    ({"maxProperties": 0}, {"a": 1}, "$ must have at most 0 properties, not 1", "$ 最多只能有 0 个属性，实际为：1"),
    ({"pattern": "^[0-9]$"}, "a", "$ must match the pattern ^[0-9]$", "$ 必须匹配正则模式 ^[0-9]$"),
    (
        {"format": "ipv4"},
        "a",
        "$ must be in the format ipv4; for example 192.0.2.1",
        "$ 必须符合格式 ipv4；例如 192.0.2.1",
    ),
    ({"uniqueItems": True}, [1, 1], "$ must not hold the same item twice", "$ 不得重复包含同一项"),
    ({"required": ["a"]}, {}, "$.a is required", "$.a 是必需的"),
    (
        {"required": ["a"], "properties": {"a": {"type": "string", "description": "年份"}}},
        {},
        "$.a is required: a string; it means: 年份",
        "$.a 是必需的，应为：字符串；含义：年份",
    ),
    (
        {"dependentRequired": {"a": ["b"]}},
        {"a": 1},
        "$.b is required because a is given",
        "$.b 是必需的，因为提供了 a",
    ),
    ({"additionalProperties": False}, {"a": 1}, "$.a is an unknown property", "$.a 是未知属性"),
    (
        {"properties": {"year": {}}, "additionalProperties": False},
        {"yaer": 1},
        "$.yaer is an unknown property; known: year; nearest: year",
        "$.yaer 是未知属性；已知的属性：year；最接近的是：year",
    ),
    (
        {"contains": {"type": "string"}},
        [1],
        "$ must hold at least 1 item of this kind: a string, not 0",
        "$ 必须至少包含 1 项，且须为以下类型：字符串，实际为：0",
    ),
    (
        {"contains": {"minimum": 0}, "maxContains": 2},
        [1, 2, 3],
        "$ must hold at most 2 items of the required form, not 3",
        "$ 最多只能包含 2 项，即规定的形式，实际为：3",
    ),
    (
        {"oneOf": [{"minimum": 1}, {"minimum": 2}]},
        3,
        "$ must fit exactly one of 2 forms, not 2 at the same time",
        "$ 必须恰好符合 2 种形式之一，实际为：同时符合 2 种",
    ),
    ({"not": {"enum": [1, 2]}}, 1, "$ must not be one of 1, 2", "$ 不得是：1, 2 之一"),
    ({"not": {"minimum": 0}}, 1, "$ must not be of the excluded form", "$ 不得是被排除的形式"),
    (
        {"propertyNames": {"maxLength": 2}},
        {"abc": 1},
        "$.abc has a name that must have at most 2 characters, not 3",
        "$.abc 的属性名最多只能有 2 个字符，实际为：3",
    ),
    (
        {"anyOf": [{"minimum": 10}, {"minimum": 20}]},
        1,
        "$ must be at least 10, not 1; nearest: 10; closest of 2 forms",
        "$ 不得小于 10，实际为：1；最接近的是：10；这是 2 种形式中最接近的一种",
    ),
]
TECHNICAL = re.compile(r"\$[\w.]*|\"\w+\"|JSON|true|false|null|ipv4|\^\[0-9\]\$|\[value\]|year|因为提供了 a$")


def problem_of(schema: dict[str, Any], value: Any) -> SchemaProblem:
    return compile_schema(schema).problems(value)[0]


@pytest.mark.parametrize(("schema", "value", "english", "chinese"), CASES, ids=[case[2][:60] for case in CASES])
def test_a_problem_is_worded_in_both_languages(schema: dict[str, Any], value: Any, english: str, chinese: str):
    problem = problem_of(schema, value)
    assert (problem.say("en"), problem.say("zh"), str(problem)) == (english, chinese, english)
    assert re.findall(r"[A-Za-z]+", TECHNICAL.sub("", problem.say("zh"))) == []


def test_each_message_of_the_catalogue_is_in_a_case():
    """The values of the placeholders are cut out of the templates."""
    said = "\n".join([*(english for _, _, english, _ in CASES), "and 1 more"])
    templates = [value for name, value in vars(catalogue).items() if name.isupper()]
    parts = {code: re.split(r"\{\w+\}", SENTENCES[code][0]) for code in templates}
    assert [code for code, texts in parts.items() if not all(text in said for text in texts)] == []


def test_arguments_that_do_not_fit_are_explained_in_the_language_of_the_sentence():
    schema = {"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    problems = compile_schema(schema).problems({"a": None, "b": None})
    assert explain(problems) == "- $.a must be an integer, not null\n- $.b must be a string, not null"
    error = InvalidArguments.of(TOOL_ARGUMENTS_INVALID, tool="t", problems=ProblemLines(problems), next="")
    assert "- $.b 必须是字符串，实际为：空值 null" in error.say("zh")
    assert "- $.b must be a string, not null" in error.say()
    assert explain(problems, 45, "zh") == "- $.a 必须是整数，实际为：空值 null\n- 以及另外 1 个问题"
    assert ProblemClauses(problems).say("zh").count("；") == 1
    assert str(ProblemClauses(problems)) == "$.a must be an integer, not null; $.b must be a string, not null"
    assert problems[0].without_path.say("zh") == "必须是整数，实际为：空值 null"


def test_a_chinese_server_refuses_arguments_in_chinese():
    server = Server("counter", language="zh")

    @server.tool
    def count(number: int) -> int:
        """Count."""
        raise AssertionError

    async def main() -> str:
        async with Client(server) as client:
            return (await client.call_tool("count", number="five")).text

    text = asyncio.run(main())
    assert "- $.number 必须是整数，实际为：字符串" in text
    assert "must be" not in text
