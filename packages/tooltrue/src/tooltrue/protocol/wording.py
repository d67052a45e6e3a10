"""Messages of the protocol, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

INVALID_METHOD_PARAMS: Final = message(
    "TT1012",
    "Invalid params of {method}: {problem}.",
    "{method} 的参数无效：{problem}。",
)
REQUEST_META_MISSING: Final = message(
    "TT1013",
    "This request needs params._meta with {missing}. This server speaks {supported}; "
    "revisions before 2026-07-28 begin with initialize.",
    "该请求的 params._meta 缺少 {missing}。本服务器支持 {supported}；2026-07-28 之前的版本须先发送 initialize。",
)
MISSING_HEADER: Final = message(
    "TT1016",
    "The header {header} is missing.",
    "缺少请求头 {header}。",
)
HEADER_BODY_MISMATCH: Final = message(
    "TT1017",
    "The header {header} is {got!r} but the body says {expected!r}.",
    "请求头 {header} 为 {got!r}，与消息体中的 {expected!r} 不一致。",
)
HEADER_NOT_DECODABLE: Final = message(
    "TT1018",
    "The header {header} cannot be decoded: {problem}.",
    "请求头 {header} 无法解码：{problem}。",
)
UNKNOWN_LOG_LEVEL: Final = message(
    "TT1024",
    "Unknown log level: {level!r}; one of {allowed}.",
    "未知日志级别：{level!r}；可用：{allowed}。",
)
HEADER_NUMBER_OUT_OF_RANGE: Final = message(
    "TT2014",
    "{name} is {value}, and a number that also travels in a header lies between -{limit} and {limit}. Use one in "
    "that range.",
    "{name} 为 {value}，而同时放入请求头的数值必须在 -{limit} 与 {limit} 之间。请改用该范围内的值。",
)
INVISIBLE_CHARACTERS_IN_DEFINITION: Final = message(
    "TT2302",
    "{what} contains invisible characters ({kinds}), in {shown}. Remove them.",
    "{what} 含有不可见字符（{kinds}），位于 {shown}。请将其删除。",
)

# definitions, for the author
SCHEMA_NOT_OBJECT: Final = message(
    "TT3101",
    "A schema is a JSON object, not {kind}.",
    "架构必须是 JSON 对象，而不是 {kind}。",
)
SCHEMA_VALUE_NOT_JSON: Final = message(
    "TT3102",
    "The schema holds {kind} at {path}, which JSON does not have.",
    "架构在 {path} 处含有 JSON 中没有的值：{kind}。",
)
SCHEMA_DIALECT_NOT_SUPPORTED: Final = message(
    "TT3103",
    "The schema declares the dialect {dialect}, which is not supported. Supported: {supported}.",
    "架构声明的方言 {dialect} 不受支持。支持：{supported}。",
)
SCHEMA_INVALID: Final = message(
    "TT3104",
    "The schema is not valid {dialect} at {path}: {problem}.",
    "架构在 {path} 处不符合 {dialect}：{problem}。",
)
SCHEMA_EXTERNAL_REFERENCE: Final = message(
    "TT3105",
    "The schema refers to {ref} at {path}, outside of itself. References are not fetched: copy the target into $defs.",
    "架构在 {path} 处引用了文档之外的 {ref}。不会抓取任何外部内容：请把所引用的内容放入 $defs。",
)
SCHEMA_REFERENCE_UNRESOLVED: Final = message(
    "TT3106",
    "The reference {ref} at {path} names no schema in this document.",
    "{path} 处的引用 {ref} 在本文档中没有对应的架构。",
)
SCHEMA_REFERENCE_CYCLE: Final = message(
    "TT3107",
    "The reference {ref} at {path} leads back to itself without going into the value, so judging would never end.",
    "{path} 处的引用 {ref} 在没有深入值的情况下指回自身，校验将永无止境。",
)
SCHEMA_NESTED_TOO_DEEPLY: Final = message(
    "TT3108",
    "The schema is nested deeper than {limit} levels.",
    "架构嵌套超过 {limit} 层。",
)
SCHEMA_TOO_MANY_VALUES: Final = message(
    "TT3109",
    "The schema holds more than {limit} values.",
    "架构包含的值超过 {limit} 个。",
)
SCHEMA_TOO_MANY_REFERENCES: Final = message(
    "TT3110",
    "The schema holds more than {limit} references.",
    "架构包含的引用超过 {limit} 个。",
)
SCHEMA_REFERENCE_CHAIN_TOO_LONG: Final = message(
    "TT3111",
    "The references of the schema lead through more than {limit} subschemas in a row.",
    "架构的引用连续经过的子架构超过 {limit} 个。",
)
SCHEMA_TOO_MANY_PATTERNS: Final = message(
    "TT3112",
    "The schema holds more than {limit} patterns.",
    "架构包含的正则模式超过 {limit} 个。",
)
SCHEMA_PATTERN_TOO_LONG: Final = message(
    "TT3113",
    "The pattern at {path} is longer than {limit} characters.",
    "{path} 处的正则模式超过 {limit} 个字符。",
)
SCHEMA_VALIDATION_TOO_COSTLY: Final = message(
    "TT3114",
    "One value could be judged by more than {limit} subschemas: references multiply each other.",
    "一个值可能要经过超过 {limit} 个子架构的校验：引用成倍展开。",
)
SCHEMA_MIXED_DIALECTS: Final = message(
    "TT3115",
    "The schema declares the dialect {dialect} at {path}, inside of {outer}; one schema has one dialect.",
    "架构在 {path} 处于 {outer} 之中又声明了方言 {dialect}；一个架构只能使用一种方言。",
)
SCHEMA_NOT_COMPILABLE: Final = message(
    "TT3116",
    "The schema cannot be compiled: {problem}.",
    "架构无法编译：{problem}。",
)
SCHEMA_PATTERN_UNSAFE: Final = message(
    "TT3117",
    "The pattern at {path} is not a regular expression that can be run safely: it is broken, too large, or uses "
    "lookaround or backreferences.",
    "{path} 处的正则模式无法安全执行：它有语法错误、过大，或使用了环视或反向引用。",
)
ELICITATION_FORM_INVALID: Final = message(
    "TT3201",
    "a form cannot be asked so: {problem}.",
    "不能这样提出表单：{problem}。",
)
ELICITATION_FORM_ASKS_SECRET: Final = message(
    "TT3202",
    "the field {name!r} asks for a secret, which a form must not do. Ask for it on a page of yours, with a Link.",
    "字段 {name!r} 索要机密信息，表单不得这样做。请用 Link 让用户在您自己的页面上填写。",
)
ELICITATION_URL_INVALID: Final = message(
    "TT3203",
    "the user cannot be sent to this URL: {problem}.",
    "不能让用户打开此网址：{problem}。",
)
SAMPLING_MESSAGES_INVALID: Final = message(
    "TT3204",
    "these messages cannot be sampled: {problem}.",
    "这些消息不能用于采样：{problem}。",
)
CLIENT_QUESTION_INVALID: Final = message(
    "TT3207",
    "a client cannot be asked so: {problem}.",
    "不能这样询问客户端：{problem}。",
)
URI_NOT_ABSOLUTE: Final = message(
    "TT3022",
    "{uri!r} is not an absolute URI (RFC 3986), as in docs://guide or docs://{{name}}; percent-encode characters "
    "that a URI cannot contain.",
    "{uri!r} 不是绝对 URI（RFC 3986），例如 docs://guide 或 docs://{{name}}；URI 中不允许的字符请用百分号编码。",
)
URI_TEMPLATE_AMBIGUOUS: Final = message(
    "TT3023",
    "the template {uri!r} cannot be read from a URI: {problem}.",
    "无法从 URI 反向解析模板 {uri!r}：{problem}。",
)
MCP_HEADER_SETTING_INVALID: Final = message(
    "TT3020",
    "x-mcp-header cannot be used so: {problem}.",
    "x-mcp-header 用法有误：{problem}。",
)
META_KEY_INVALID: Final = message(
    "TT3035",
    "the key {key!r} cannot be used in meta: {problem}. Write a name, or a domain of yours backwards before it: "
    "com.example/name.",
    "meta 中不能使用键 {key!r}：{problem}。请使用名称，或在其前加上反写的自有域名：com.example/name。",
)
