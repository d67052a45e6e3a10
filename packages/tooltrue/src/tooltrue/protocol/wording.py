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
REASON_HEADER_NOT_ASCII: Final = message(
    "TT1220",
    "it holds characters beyond printable ASCII",
    "其中有可打印 ASCII 以外的字符",
)
REASON_HEADER_NOT_BASE64: Final = message(
    "TT1221",
    "not the base64 of UTF-8 text",
    "不是 UTF-8 文本的 base64",
)
REASON_HEADER_INTEGER_TOO_LARGE: Final = message(
    "TT1222",
    "an integer may be {limit} at the most",
    "整数最大为 {limit}",
)
LABEL_NO_VALUE: Final = message(
    "TT1223",
    "no value",
    "没有值",
)
LABEL_VALUE_OF_ARGUMENT: Final = message(
    "TT1224",
    "the argument's value",
    "参数的值",
)
LABEL_THE_REQUEST: Final = message(
    "TT1225",
    "the request",
    "该请求",
)
REASON_META_NO_OBJECT: Final = message(
    "TT1226",
    '_meta["{key}"] must be an object',
    '_meta["{key}"] 必须是对象',
)
REASON_PROGRESS_TOKEN_INVALID: Final = message(
    "TT1227",
    "_meta.progressToken must be a string or integer",
    "_meta.progressToken 必须是字符串或整数",
)
LABEL_MEMBER_STRING: Final = message(
    "TT1228",
    "{name} (a string)",
    "{name}（字符串）",
)
LABEL_MEMBER_OBJECT: Final = message(
    "TT1229",
    "{name} (an object)",
    "{name}（对象）",
)
LABEL_BOTH: Final = message(
    "TT1230",
    "{one} and {other}",
    "{one} 和 {other}",
)
REASON_HEADER_NAME_TWICE: Final = message(
    "TT3260",
    "two properties have the same header name",
    "两个属性使用了同一个请求头名称",
)
REASON_HEADER_PLACE: Final = message(
    "TT3261",
    "only properties reachable through 'properties' may have it",
    "只有经由 'properties' 可到达的属性才能使用它",
)
REASON_HEADER_NAME_NO_TOKEN: Final = message(
    "TT3262",
    "the name at {path} is not an HTTP token",
    "{path} 处的名称不是 HTTP token",
)
REASON_HEADER_TYPE: Final = message(
    "TT3263",
    "{path} must be a string, integer or boolean",
    "{path} 必须是字符串、整数或布尔值",
)
LABEL_KEY_OF_TYPE: Final = message(
    "TT3264",
    "a key of type {type}",
    "类型为 {type} 的键",
)
REASON_SCHEMA_TYPE_INVALID: Final = message(
    "TT3265",
    "type is one of {names}, or a list of them",
    "type 应为 {names} 之一，或由它们组成的列表",
)
REASON_URI_VARIABLE_TWICE: Final = message(
    "TT3270",
    "a variable stands in it twice",
    "同一变量出现了两次",
)
REASON_URI_VARIABLES_ADJACENT: Final = message(
    "TT3271",
    "nothing separates two of its variables",
    "有两个变量之间没有分隔",
)
REASON_URI_DEEP_VARIABLE_NOT_LAST: Final = message(
    "TT3272",
    "only its last variable may be a {{+path}}",
    "只有最后一个变量可以是 {{+path}}",
)
REASON_URI_EXPRESSION_INVALID: Final = message(
    "TT3273",
    "{{{expression}}} is neither {{name}} nor {{+name}}",
    "{{{expression}}} 既不是 {{name}} 也不是 {{+name}}",
)
REASON_META_KEY_NOT_A_NAME: Final = message(
    "TT3274",
    "it is not a name, with labels and a slash before it or without",
    "它不是名称，也不是带有标签和斜杠前缀的名称",
)
REASON_META_PREFIX_RESERVED: Final = message(
    "TT3275",
    "its prefix belongs to the protocol",
    "其前缀由协议保留",
)
REASON_META_KEY_RESERVED: Final = message(
    "TT3276",
    "it belongs to the protocol",
    "它由协议保留",
)
REASON_FORM_NO_OBJECT: Final = message(
    "TT3210",
    'it needs "type": "object" and "properties"',
    '需要 "type": "object" 和 "properties"',
)
REASON_FORM_FIELD_MISSING: Final = message(
    "TT3211",
    "{name!r} is required, and is not there",
    "{name!r} 是必填字段，却不存在",
)
REASON_FORM_FIELD: Final = message(
    "TT3212",
    "the field {name!r} {problem}",
    "字段 {name!r} {problem}",
)
REASON_FIELD_NO_OBJECT: Final = message(
    "TT3213",
    "is not an object",
    "不是对象",
)
REASON_FIELD_TYPE: Final = message(
    "TT3214",
    "is of type {type!r}; a field is one of {kinds}",
    "的类型是 {type!r}；字段类型须为 {kinds} 之一",
)
REASON_FIELD_KEYWORD: Final = message(
    "TT3215",
    "has {keyword!r}, which a form of {type} does not have",
    "含有 {keyword!r}，而 {type} 字段没有此关键字",
)
REASON_FIELD_FORMAT: Final = message(
    "TT3216",
    "has the format {format!r}; one of {formats}",
    "的格式是 {format!r}；须为 {formats} 之一",
)
REASON_FIELD_LINK: Final = message(
    "TT3217",
    "leads to a page; ask for a visit instead",
    "指向网页；请改为请求用户打开网址",
)
REASON_FIELD_NO_CHOICES: Final = message(
    "TT3218",
    "has no choices to take several of",
    "没有可供多选的选项",
)
REASON_FIELD_CHOICES_UNTITLED: Final = message(
    "TT3219",
    "has choices without a const and a title",
    "有选项缺少 const 或 title",
)
REASON_FIELD_CHOICES_NOT_TEXT: Final = message(
    "TT3220",
    "has choices that are not text",
    "有选项不是文本",
)
REASON_FIELD_CHOICE_NAMES: Final = message(
    "TT3221",
    "has not as many names as choices",
    "的名称与选项数目不同",
)
REASON_QUESTION_METHOD: Final = message(
    "TT3222",
    '"method" is {method!r}, and not one of {methods}',
    '"method" 是 {method!r}，而不是 {methods} 之一',
)
REASON_QUESTION_MODE: Final = message(
    "TT3223",
    'it needs a message, and "mode" is form or url',
    '需要 message，且 "mode" 为 form 或 url',
)
REASON_MAX_TOKENS: Final = message(
    "TT3224",
    '"maxTokens" is not an integer',
    '"maxTokens" 不是整数',
)
REASON_URL_ACTION: Final = message(
    "TT3225",
    "it names an action on this machine, {word!r}",
    "它指明了本机上的一个操作 {word!r}",
)
REASON_URL_INNER: Final = message(
    "TT3226",
    "its host is an address of an inner network",
    "其主机是内部网络的地址",
)
REASON_URL_TOKEN: Final = message(
    "TT3227",
    "it holds a token",
    "其中含有令牌",
)
REASON_URL_NO_PAGE: Final = message(
    "TT3228",
    "it is not the URL of a page",
    "它不是网页的 URL",
)
REASON_URL_CREDENTIALS: Final = message(
    "TT3229",
    "it holds credentials",
    "其中含有凭据",
)
REASON_URL_NOT_HTTPS: Final = message(
    "TT3230",
    "it is not https",
    "它不是 https",
)
REASON_MESSAGE_PARTS: Final = message(
    "TT3231",
    'each needs a role, "user" or "assistant", and content',
    '每条消息都需要 role（"user" 或 "assistant"）和 content',
)
REASON_TOOL_RESULTS_ALONE: Final = message(
    "TT3232",
    "results of tools stand alone in a message of the user",
    "工具结果须单独放在一条用户消息中",
)
REASON_TOOL_USE_UNANSWERED: Final = message(
    "TT3233",
    "each use of a tool is answered in the message that follows",
    "每次工具使用都须在紧接着的消息中给出结果",
)
REASON_LAST_MESSAGE: Final = message(
    "TT3234",
    "the last message is one that a model can answer",
    "最后一条消息必须是模型可以回答的",
)
REASON_ANSWER_ACTION: Final = message(
    "TT3235",
    '"action" is one of accept, decline and cancel',
    '"action" 须为 accept、decline 或 cancel',
)
REASON_ANSWER_CONTENT: Final = message(
    "TT3236",
    '"content" is not an object',
    '"content" 不是对象',
)
REASON_ANSWER_ROLE: Final = message(
    "TT3237",
    "it needs a role and content",
    "需要 role 和 content",
)
REASON_ANSWER_MODEL: Final = message(
    "TT3238",
    '"model" is not a string',
    '"model" 不是字符串',
)
REASON_ANSWER_ROOTS: Final = message(
    "TT3239",
    '"roots" is not a list of objects with a "uri"',
    '"roots" 不是由带 "uri" 的对象组成的列表',
)
TASKS_NOT_DECLARED: Final = message(
    "TT5601",
    "{subject} needs the extension {extension}, which the capabilities of this request do not declare.",
    "{subject} 需要扩展 {extension}，但本次请求的 capabilities 没有声明它。",
)
