"""Messages of the problems of values that do not fit a schema. A problem is a path, and clauses of these."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

PROBLEM_NOT_JSON: Final = message(
    "TT3301",
    "must be JSON",
    "必须是 JSON 值",
)
PROBLEM_NOT_ALLOWED: Final = message(
    "TT3302",
    "is not allowed here",
    "此处不允许出现",
)
PROBLEM_MISFIT: Final = message(
    "TT3303",
    "does not fit the schema",
    "不符合架构",
)
PROBLEM_TYPE: Final = message(
    "TT3304",
    "must be {kinds}",
    "必须是{kinds}",
)
PROBLEM_CONST: Final = message(
    "TT3305",
    "must be",
    "必须是",
)
PROBLEM_ENUM: Final = message(
    "TT3306",
    "must be one of",
    "必须是以下值之一：",
)
PROBLEM_MINIMUM: Final = message(
    "TT3307",
    "must be at least {limit}",
    "不得小于 {limit}",
)
PROBLEM_MAXIMUM: Final = message(
    "TT3308",
    "must be at most {limit}",
    "不得大于 {limit}",
)
PROBLEM_EXCLUSIVE_MINIMUM: Final = message(
    "TT3309",
    "must be more than {limit}",
    "必须大于 {limit}",
)
PROBLEM_EXCLUSIVE_MAXIMUM: Final = message(
    "TT3310",
    "must be less than {limit}",
    "必须小于 {limit}",
)
PROBLEM_MULTIPLE_OF: Final = message(
    "TT3311",
    "must be a multiple of {factor}",
    "必须是 {factor} 的倍数",
)
PROBLEM_TOO_FEW: Final = message(
    "TT3312",
    "must have at least {count}",
    "必须至少有 {count}",
)
PROBLEM_TOO_MANY: Final = message(
    "TT3313",
    "must have at most {count}",
    "最多只能有 {count}",
)
COUNT_ONE_CHARACTER: Final = message(
    "TT3314",
    "{number} character",
    "{number} 个字符",
)
COUNT_CHARACTERS: Final = message(
    "TT3315",
    "{number} characters",
    "{number} 个字符",
)
COUNT_ONE_ITEM: Final = message(
    "TT3316",
    "{number} item",
    "{number} 项",
)
COUNT_ITEMS: Final = message(
    "TT3317",
    "{number} items",
    "{number} 项",
)
COUNT_ONE_PROPERTY: Final = message(
    "TT3318",
    "{number} property",
    "{number} 个属性",
)
COUNT_PROPERTIES: Final = message(
    "TT3319",
    "{number} properties",
    "{number} 个属性",
)
PROBLEM_PATTERN: Final = message(
    "TT3320",
    "must match the pattern {pattern}",
    "必须匹配正则模式 {pattern}",
)
PROBLEM_FORMAT: Final = message(
    "TT3321",
    "must be in the format {name}",
    "必须符合格式 {name}",
)
PROBLEM_UNIQUE_ITEMS: Final = message(
    "TT3322",
    "must not hold the same item twice",
    "不得重复包含同一项",
)
PROBLEM_REQUIRED: Final = message(
    "TT3323",
    "is required",
    "是必需的",
)
PROBLEM_REQUIRED_BECAUSE: Final = message(
    "TT3324",
    "is required because {name} is given",
    "是必需的，因为提供了 {name}",
)
PROBLEM_REQUIRED_KIND: Final = message(
    "TT3325",
    "{problem}: {kind}",
    "{problem}，应为：{kind}",
)
PROBLEM_UNKNOWN_PROPERTY: Final = message(
    "TT3326",
    "is an unknown property",
    "是未知属性",
)
PROBLEM_UNKNOWN_OF_PROPERTIES: Final = message(
    "TT3327",
    "is an unknown property; known:",
    "是未知属性；已知的属性：",
)
PROBLEM_CONTAINS_FEW: Final = message(
    "TT3328",
    "must hold at least {items} of {form}",
    "必须至少包含 {items}，且须为{form}",
)
PROBLEM_CONTAINS_MANY: Final = message(
    "TT3329",
    "must hold at most {items} of {form}",
    "最多只能包含 {items}，即{form}",
)
LABEL_THIS_KIND: Final = message(
    "TT3330",
    "this kind: {kind}",
    "以下类型：{kind}",
)
LABEL_REQUIRED_FORM: Final = message(
    "TT3331",
    "the required form",
    "规定的形式",
)
PROBLEM_ONE_OF: Final = message(
    "TT3332",
    "must fit exactly one of {count} forms",
    "必须恰好符合 {count} 种形式之一",
)
COUNT_FORMS_THAT_FIT: Final = message(
    "TT3333",
    "{count} at the same time",
    "同时符合 {count} 种",
)
PROBLEM_NOT: Final = message(
    "TT3334",
    "must not be {kind}",
    "不得是：{kind}",
)
PROBLEM_NOT_FORM: Final = message(
    "TT3335",
    "must not be of the excluded form",
    "不得是被排除的形式",
)
PROBLEM_PROPERTY_NAME: Final = message(
    "TT3336",
    "has a name that {problem}",
    "的属性名{problem}",
)
LABEL_GOT: Final = message(
    "TT3337",
    ", not {got}",
    "，实际为：{got}",
)
LABEL_NEAREST: Final = message(
    "TT3338",
    "; nearest: {nearest}",
    "；最接近的是：{nearest}",
)
HINT_EXAMPLE: Final = message(
    "TT3339",
    "for example {example}",
    "例如 {example}",
)
HINT_MEANING: Final = message(
    "TT3340",
    "it means: {purpose}",
    "含义：{purpose}",
)
HINT_CLOSEST_FORM: Final = message(
    "TT3341",
    "closest of {count} forms",
    "这是 {count} 种形式中最接近的一种",
)
HINT_SINGLE_INTO_ARRAY: Final = message(
    "TT3342",
    "put a single value into an array: [value]",
    "请把单个值放进数组：[value]",
)
HINT_QUOTE: Final = message(
    "TT3343",
    "put it in quotes",
    "请给它加上引号",
)
HINT_UNQUOTE_NUMBER: Final = message(
    "TT3344",
    "send the number without quotes",
    "请发送不带引号的数值",
)
HINT_UNQUOTE_BOOLEAN: Final = message(
    "TT3345",
    "send true or false without quotes",
    "请发送不带引号的 true 或 false",
)
HINT_UNQUOTE_NULL: Final = message(
    "TT3346",
    "send null without quotes",
    "请发送不带引号的 null",
)
HINT_SEND_ARRAY: Final = message(
    "TT3347",
    "send the array itself, not a string that holds JSON",
    "请直接发送数组，而不是包含 JSON 的字符串",
)
HINT_SEND_OBJECT: Final = message(
    "TT3348",
    "send the object itself, not a string that holds JSON",
    "请直接发送对象，而不是包含 JSON 的字符串",
)
KIND_ARRAY: Final = message(
    "TT3349",
    "an array",
    "数组",
)
KIND_BOOLEAN: Final = message(
    "TT3350",
    "a boolean",
    "布尔值",
)
KIND_INTEGER: Final = message(
    "TT3351",
    "an integer",
    "整数",
)
KIND_NULL: Final = message(
    "TT3352",
    "null",
    "空值 null",
)
KIND_NUMBER: Final = message(
    "TT3353",
    "a number",
    "数值",
)
KIND_OBJECT: Final = message(
    "TT3354",
    "an object",
    "对象",
)
KIND_STRING: Final = message(
    "TT3355",
    "a string",
    "字符串",
)
LABEL_HUGE_NUMBER: Final = message(
    "TT3356",
    "a huge number",
    "极大的数值",
)
LABEL_MORE_PROBLEMS: Final = message(
    "TT3357",
    "and {count} more",
    "以及另外 {count} 个问题",
)
