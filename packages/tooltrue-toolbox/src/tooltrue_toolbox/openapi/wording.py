"""Messages of the tools made of a description of an HTTP API, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# for the operator: the description
DESCRIPTION_UNREADABLE: Final = message(
    "TT6800",
    "{file} is not read as a description of an API: {problem}.",
    "无法将 {file} 作为 API 描述读取：{problem}。",
)
DESCRIPTION_VERSION_UNKNOWN: Final = message(
    "TT6801",
    "{file} is no description of a known version ({version!r}): it begins with 'openapi: 3.0.…', '3.1.…' or '3.2.…', "
    "or with 'swagger: \"2.0\"'.",
    "{file} 不是已知版本的 API 描述（{version!r}）：应以 'openapi: 3.0.…'、'3.1.…' 或 '3.2.…'，"
    "或 'swagger: \"2.0\"' 开头。",
)
DESCRIPTION_INVALID: Final = message(
    "TT6802",
    "{file} is not valid at {place}: {problem}. Correct the description, or ask its author.",
    "{file} 在 {place} 处无效：{problem}。请更正该描述，或联系其作者。",
)
DESCRIPTION_DIALECT_UNKNOWN: Final = message(
    "TT6803",
    "{file} has schemas of the dialect {dialect!r}. JSON Schema 2020-12 alone is read: leave jsonSchemaDialect out, or "
    "convert the schemas.",
    "{file} 的架构属于方言 {dialect!r}。只支持 JSON Schema 2020-12：请去掉 jsonSchemaDialect，或转换这些架构。",
)
DESCRIPTION_OR_APP: Final = message(
    "TT6904",
    "from_openapi needs spec=, a file or an address, or app=, an ASGI application that answers GET /openapi.json.",
    "from_openapi 需要 spec=（文件或地址），或 app=（能应答 GET /openapi.json 的 ASGI 应用）。",
)
REASON_ANSWER_STATUS: Final = message("TT6906", "the answer has the status {status}", "应答的状态为 {status}")
OPERATION_LEFT_OUT: Final = message(
    "TT6804",
    "{operation} is left out: {problem}.",
    "{operation} 已被略去：{problem}。",
)
NO_OPERATION_LEFT: Final = message(
    "TT6805",
    "{file} has no operation that is selected and can be served. It has {count}; the log says why others are left out.",
    "{file} 中没有被选中且可提供的操作。共有 {count} 个；日志说明了其余操作被略去的原因。",
)
MORE_LEFT_OUT: Final = message(
    "TT6806",
    "{count} more operations are left out; tooltrue openapi plan lists all of them, with the reasons.",
    "另有 {count} 个操作被略去；tooltrue openapi plan 会列出全部及其原因。",
)

# for the operator: the settings
API_URL_REQUIRED: Final = message(
    "TT6810",
    "openapi needs --api-url URL: the address of the API is yours to set, and never taken from the description. It "
    "names {servers}.",
    "openapi 需要 --api-url URL：API 的地址由您设定，从不取自描述。描述中写的是 {servers}。",
)
API_URL_WITH_QUERY: Final = message(
    "TT6811",
    "{url} cannot be the address of an API: it has a query or a fragment. Give the part before it.",
    "{url} 不能作为 API 的地址：它含有查询或片段。请给出其之前的部分。",
)
API_SECRET_INVALID: Final = message(
    "TT6812",
    "--api-secret {text!r} is not SCHEME=VARIABLE with a security scheme of the description ({names}).",
    "--api-secret {text!r} 不是 SCHEME=VARIABLE 的形式，或不是描述中的安全方案（{names}）。",
)
API_SECRET_UNSET: Final = message(
    "TT6813",
    "The environment variable {variable}, for the security scheme {scheme}, is empty or holds characters that no "
    "header may have. Set it to the secret; basic wants USER:PASSWORD.",
    "安全方案 {scheme} 的环境变量 {variable} 为空，或含有请求头不允许的字符。请改正；basic 需要 USER:PASSWORD。",
)
API_VARIABLE_INVALID: Final = message(
    "TT6955",
    "--api-variable {text!r} is not NAME=VALUE with a variable of --api-url ({names}) and a value of letters, digits, "
    "'.', '_', '~' and '-'.",
    "--api-variable {text!r} 不是 NAME=VALUE 的形式：变量须出现在 --api-url 中（{names}），值仅限字母、数字、"
    "'.'、'_'、'~' 和 '-'。",
)
API_VARIABLE_UNSET: Final = message(
    "TT6956",
    "{url} has variables without a value: {names}. Set each with --api-variable NAME=VALUE.",
    "{url} 中的变量没有值：{names}。请用 --api-variable NAME=VALUE 逐一设置。",
)
API_VARIABLE_REFUSED: Final = message(
    "TT6957",
    "--api-variable {name}={value} is none of the values that the description lists for this server: {values}.",
    "--api-variable {name}={value} 不是描述中该服务器列出的值：{values}。",
)
AUTH_FILE_INVALID: Final = message(
    "TT6949",
    "{file}, of --api-auth, is not valid: {problem}. docs/openapi.md describes it.",
    "--api-auth 的文件 {file} 无效：{problem}。其格式见 docs/openapi.md。",
)
REASON_AUTH_SCHEME_UNKNOWN: Final = message(
    "TT6950",
    "the description has no security scheme {scheme!r}; it has {names}",
    "描述中没有安全方案 {scheme!r}；有 {names}",
)
REASON_AUTH_METHOD_MISFIT: Final = message(
    "TT6951",
    "schemes.{scheme} cannot have {method}: the scheme is of the kind {kind}",
    "schemes.{scheme} 不能有 {method}：该方案的类型为 {kind}",
)
REASON_AUTH_CERTIFICATE: Final = message(
    "TT6952",
    "the certificate of schemes.{scheme} cannot be used: {problem}",
    "schemes.{scheme} 的证书无法使用：{problem}",
)
REASON_AUTH_ENDPOINT: Final = message(
    "TT6953",
    "schemes.{scheme} needs one of token_endpoint and issuer, with https",
    "schemes.{scheme} 需要 token_endpoint 或 issuer 之一，且使用 https",
)
REASON_AUTH_VALUE: Final = message(
    "TT6954",
    "schemes.{scheme} is wrong: {problem}",
    "schemes.{scheme} 有误：{problem}",
)
OPERATIONS_PATTERN_INVALID: Final = message(
    "TT6814",
    "--operations {text!r} is none of tag:PATTERN, path:PATTERN, method:NAME and id:PATTERN.",
    "--operations {text!r} 不是 tag:PATTERN、path:PATTERN、method:NAME 或 id:PATTERN 之一。",
)

# for the operator: a plan
PLAN_INVALID: Final = message(
    "TT6820",
    "The plan {file} is not valid: {problem}.",
    "计划文件 {file} 无效：{problem}。",
)
REASON_PLAN_UNKNOWN_KEY: Final = message(
    "TT6821",
    "{place} has the unknown key {key!r}; it may have {known}",
    "{place} 含有未知的键 {key!r}；可用的键为 {known}",
)
REASON_PLAN_WRONG_TYPE: Final = message(
    "TT6822",
    "{key} of {place} has to be {wanted}",
    "{place} 的 {key} 必须是 {wanted}",
)
REASON_PLAN_UNKNOWN_OPERATION: Final = message(
    "TT6823",
    "the description has no operation {operation!r}; near it: {nearest}",
    "描述中没有操作 {operation!r}；相近的有：{nearest}",
)
REASON_PLAN_TWICE: Final = message(
    "TT6824",
    "{what!r} stands there twice",
    "{what!r} 出现了两次",
)
REASON_PLAN_EFFECT: Final = message(
    "TT6825",
    "{operation} cannot be lowered to the effect {effect}: only POST can, to read",
    "{operation} 的作用不能降为 {effect}：只有 POST 可以降为 read",
)
REASON_PLAN_PARAMETER: Final = message(
    "TT6826",
    "{operation} has no parameter {name!r}; it has {known}",
    "{operation} 没有参数 {name!r}；它有 {known}",
)
REASON_PLAN_HIDES_REQUIRED: Final = message(
    "TT6827",
    "{operation} requires the parameter {name!r}, so it cannot be hidden: fix its value instead",
    "{operation} 要求参数 {name!r}，因此不能隐藏：请改为固定其值",
)
REASON_PLAN_VALUE: Final = message(
    "TT6828",
    "the fixed value of {name!r} does not fit {operation}: {problem}",
    "{name!r} 的固定值不符合 {operation}：{problem}",
)
REASON_PLAN_NAME: Final = message(
    "TT6829",
    "{name!r} is no name of a tool: up to {limit} letters, digits, '_' and '-'",
    "{name!r} 不是工具名称：最多 {limit} 个字母、数字、'_' 和 '-'",
)
REASON_PLAN_LEFT_OUT: Final = message(
    "TT6830",
    "{operation} cannot be served: {problem}",
    "无法提供 {operation}：{problem}",
)
REASON_PLAN_NO_SUCH_NAME: Final = message(
    "TT6972",
    "{tool} has the operation {name!r}, and no [[operation]] of the file has this name; near it: {nearest}",
    "{tool} 含有操作 {name!r}，而文件中没有名为它的 [[operation]]；相近的有：{nearest}",
)
REASON_PLAN_TWO_TOOLS: Final = message(
    "TT6973",
    "the operation {name!r} is part of {first} and of {second}, and can be part of one tool only",
    "操作 {name!r} 同时属于 {first} 和 {second}，而它只能属于一个工具",
)
REASON_PLAN_ONE_OPERATION: Final = message(
    "TT6974",
    "{tool} needs two operations or more: an operation in no [[tool]] is a tool by itself",
    "{tool} 需要两个或更多操作：不在任何 [[tool]] 中的操作自成一个工具",
)
LABEL_PLAN_TEXT: Final = message("TT6831", "text", "文本")
LABEL_PLAN_NAMES: Final = message("TT6833", "a list of names", "名称列表")
LABEL_PLAN_TABLE: Final = message("TT6834", "a table", "表")
LABEL_PLAN_TABLES: Final = message("TT6835", "a list of tables", "表的列表")
LABEL_PLAN_EFFECT: Final = message("TT6836", "read, write or destructive", "read、write 或 destructive")
LABEL_PLAN_RESPONSES: Final = message("TT6977", "strict, log or off", "strict、log 或 off")
LABEL_PLAN_FILE: Final = message("TT6837", "the file", "该文件")

# why a file or an operation is not read
REASON_FILE_TOO_LARGE: Final = message("TT6840", "it has more than {limit} MiB", "它超过 {limit} MiB")
REASON_DESCRIPTION_TOO_LARGE: Final = message(
    "TT6841",
    "it has more than {limit} values, those of aliases counted each time",
    "它含有超过 {limit} 个值（别名每次使用均计入）",
)
REASON_DESCRIPTION_TOO_DEEP: Final = message(
    "TT6842", "it is nested more than {limit} levels deep", "其嵌套超过 {limit} 层"
)
REASON_DESCRIPTION_NOT_OBJECT: Final = message("TT6843", "an object is expected", "此处应为对象")
REASON_YAML_INVALID: Final = message(
    "TT6844", "line {line} is no valid YAML: {problem}", "第 {line} 行不是有效的 YAML：{problem}"
)
REASON_YAML_ALIAS_CYCLE: Final = message(
    "TT6845", "the alias {name!r} stands within its own value, or as a key", "别名 {name!r} 位于其自身的值中，或用作键"
)
REASON_YAML_DUPLICATE_KEY: Final = message(
    "TT6846", "line {line} has the key {key!r} a second time", "第 {line} 行重复了键 {key!r}"
)
REASON_YAML_KEY_NOT_TEXT: Final = message("TT6847", "line {line} has a key that is no text", "第 {line} 行的键不是文本")
REASON_YAML_TAG: Final = message("TT6848", "line {line} has the tag {tag!r}", "第 {line} 行含有标签 {tag!r}")
REASON_REFERENCE_NOT_FOUND: Final = message(
    "TT6850", "its reference {reference!r} leads nowhere", "其引用 {reference!r} 没有指向任何内容"
)
REASON_REFERENCE_CYCLE: Final = message(
    "TT6851", "its references lead back to themselves, or are too many in a row", "其引用指回自身，或连续引用过多"
)
REASON_METHOD_NOT_SERVED: Final = message("TT6852", "the method {method} is not served", "不提供方法 {method}")
REASON_SERVER_OF_ITS_OWN: Final = message(
    "TT6853",
    "it has a server of its own, and requests go to one address alone",
    "它有自己的服务器，而请求只发往一个地址",
)
REASON_PATH_PARAMETERS: Final = message(
    "TT6854", "its path and its path parameters do not agree", "其路径与路径参数不一致"
)
REASON_HEADER_OF_TRANSPORT: Final = message(
    "TT6855", "it requires the header {name}, which belongs to the transport", "它要求属于传输层的请求头 {name}"
)
REASON_STYLE_NOT_SERVED: Final = message(
    "TT6856", "the style {style!r} of {name!r} is not one of its place", "{name!r} 的样式 {style!r} 不适用于其位置"
)
REASON_BODY_MEDIA_TYPE: Final = message(
    "TT6857",
    "its body is none of JSON, a form, text and bytes ({types})",
    "其请求体不是 JSON、表单、文本或字节（{types}）",
)
REASON_FORM_NOT_OBJECT: Final = message(
    "TT6907",
    "its body is a form, and the schema of it is not that of an object",
    "其请求体是表单，但其架构不是对象的架构",
)
REASON_SCHEMA_TOO_LARGE: Final = message(
    "TT6858", "its schema has more than {limit} parts", "其架构超过 {limit} 个部分"
)
REASON_SCHEMA_TOO_DEEP: Final = message("TT6859", "its schema is nested too deeply", "其架构嵌套过深")
REASON_DYNAMIC_REFERENCE: Final = message("TT6860", "it has a dynamic reference", "它含有动态引用")
REASON_REFERENCE_UNREAD: Final = message(
    "TT6932",
    "its reference {reference!r} is not followed: {problem}",
    "其引用 {reference!r} 未被跟随：{problem}",
)
REASON_REFERENCE_LEAVES: Final = message(
    "TT6933",
    "it leads to an address, or out of the folder of the description; bundle the description into one file",
    "它指向某个地址，或位于描述所在目录之外；请将描述打包为一个文件",
)
REASON_FILE_CLOSED: Final = message("TT6934", "it is not read: {problem}", "无法读取：{problem}")
REASON_TOO_MANY_FILES: Final = message(
    "TT6935", "the description has more than {limit} files", "该描述超过 {limit} 个文件"
)
REASON_SCHEMA_RENAMED: Final = message(
    "TT6936",
    "its schema has {keyword} {value!r}, which changes to where its references lead",
    "其架构含有 {keyword} {value!r}，这会改变其引用的指向",
)
REASON_WHOLE_QUERY: Final = message(
    "TT6938",
    "its parameter {name!r} is the whole query, which is not written",
    "其参数 {name!r} 是整个查询字符串，不支持写入",
)
REASON_BODY_STREAM: Final = message(
    "TT6939",
    "its body is a stream of items ({keyword})",
    "其请求体是项目流（{keyword}）",
)
REASON_PARAMETER_NAME: Final = message(
    "TT6937",
    "it requires the parameter {name!r}, which is no name of its place",
    "它要求参数 {name!r}，该名称不适用于其位置",
)
REASON_SCHEMA_REFUSED: Final = message("TT6861", "its schema is refused: {problem}", "其架构被拒绝：{problem}")

# for the model: arguments
PATH_VALUE_LEAVES_SEGMENT: Final = message(
    "TT6900",
    "{name} cannot be {value!r}: it is one segment of the path {path}, and must not be empty, '.' or '..', lead "
    "upward, or hold control characters. No request was sent. Give the plain identifier.",
    "{name} 不能是 {value!r}：它是路径 {path} 中的一段，不得为空、'.' 或 '..'，不得指向上级，也不得含有控制字符。"
    "未发送请求。请给出纯粹的标识符。",
)
API_HEADER_VALUE_INVALID: Final = message(
    "TT6901",
    "{name} goes into a header, which holds one line of ASCII without control characters. No request was sent. Give "
    "such a value.",
    "{name} 会写入请求头，只能是一行不含控制字符的 ASCII。未发送请求。请给出这样的值。",
)
VALUE_NOT_WRITABLE: Final = message(
    "TT6902",
    "{name} cannot be written as the API wants it: the style {style} has no form for a value within a value. No "
    "request was sent. Give a plain value, or a flat list or object.",
    "{name} 无法按 API 要求的方式书写：样式 {style} 不支持嵌套的值。未发送请求。请给出简单的值，或单层的列表或对象。",
)
FILE_REFERENCE_REFUSED: Final = message(
    "TT6942",
    "{reference!r} is no file that this server may send, and no request was sent. Give the URI of a stored result "
    "(kept:…) that a tool of this server has returned to you, or a path under a folder of --root.",
    "{reference!r} 不是本服务器可以发送的文件，未发送请求。请给出本服务器工具返回的存储结果 URI（kept:…），或 --root "
    "目录下的路径。",
)
FILE_STORED_UNKNOWN: Final = message(
    "TT6943",
    "{reference!r} is no stored result of yours, or it has expired; no request was sent. Call the tool that returned "
    "it again, and use the new URI.",
    "{reference!r} 不是您的存储结果，或已过期；未发送请求。请重新调用返回它的工具，并使用新的 URI。",
)
FILES_TOO_LARGE: Final = message(
    "TT6944",
    "The files of this call have more than {limit} bytes together, which is the limit; no request was sent. Send fewer "
    "or smaller files.",
    "本次调用的文件总计超过上限 {limit} 字节；未发送请求。请发送更少或更小的文件。",
)
FILE_HOLDS_SECRET: Final = message(
    "TT6945",
    "{reference!r} holds a secret or the mask of one ({kinds}), which is not sent to other systems; no request was "
    "sent. Remove it from the file, or tell the user.",
    "{reference!r} 含有密钥或其掩码（{kinds}），不会发送给其他系统；未发送请求。请将其从文件中删除，或告知用户。",
)
NEXT_PAGE_UNKNOWN: Final = message(
    "TT6946",
    "{reference!r} is no next page of yours for {operation} with these arguments, or it has expired; no request was "
    "sent. Call again with the arguments of the first call, and without next_page to begin anew.",
    "{reference!r} 不是您以这些参数调用 {operation} 的下一页，或已过期；未发送请求。请使用首次调用的参数；"
    "不带 next_page 则从头开始。",
)
NEXT_PAGE: Final = message(
    "TT6947",
    "This is not all: the API has a next page. Call {tool} again with the same arguments and next_page {uri}.",
    "以上并非全部：API 还有下一页。请以相同的参数和 next_page {uri} 再次调用 {tool}。",
)
TOKEN_NOT_OBTAINED: Final = message(
    "TT6948",
    "{operation} needs a token for the security scheme {scheme}, and none was obtained: {problem}. No request was sent "
    "to the API. Tell the user.",
    "{operation} 需要安全方案 {scheme} 的令牌，但未能取得：{problem}。未向 API 发送请求。请告知用户。",
)
SECRET_MISSING: Final = message(
    "TT6903",
    "{operation} needs a secret for the security scheme {scheme}, and the operator of this server has set none. No "
    "request was sent. Tell the user: --api-secret {scheme}=VARIABLE sets it, or a file of --api-auth.",
    "{operation} 需要安全方案 {scheme} 的密钥，而本服务器的运营者未设置。未发送请求。"
    "请告知用户：由 --api-secret {scheme}=VARIABLE 或 --api-auth 的文件设置。",
)

# for the model: answers of the API
API_REFUSED_VALUES: Final = message(
    "TT6910",
    "{operation} answered with status {status}{said}. No change is known. Correct the arguments, and call again.",
    "{operation} 应答状态为 {status}{said}。未知有任何更改。请更正参数后重试。",
)
API_REFUSED_SECRET: Final = message(
    "TT6911",
    "{operation} answered with status {status}{said}: the secret of this server is missing a right, or is refused. "
    "Another try does not help; tell the user.",
    "{operation} 应答状态为 {status}{said}：本服务器的密钥无权限或被拒绝。重试无济于事；请告知用户。",
)
API_NOT_FOUND: Final = message(
    "TT6912",
    "{operation} answered with status {status}{said}: there is no such object, or it is gone. Check the identifiers; a "
    "tool that lists or searches has those that exist.",
    "{operation} 应答状态为 {status}{said}：对象不存在或已删除。请检查标识符；列出或搜索的工具可给出现有的标识符。",
)
API_BUSY: Final = message(
    "TT6913",
    "{operation} answered with status {status}{said}: it is busy. Call again in {seconds} s, not earlier.",
    "{operation} 应答状态为 {status}{said}：服务繁忙。请在 {seconds} 秒后再调用，不要提前。",
)
API_FAILED: Final = message(
    "TT6914",
    "{operation} answered with status {status}{said}. The fault is with the API. Try again later, or tell the user.",
    "{operation} 应答状态为 {status}{said}。问题出在 API 一侧。请稍后重试，或告知用户。",
)
API_OUTCOME_UNKNOWN: Final = message(
    "TT6915",
    "Whether {operation} took effect is not known: {problem}. Look at the state with a tool that reads before you call "
    "again.",
    "无法确定 {operation} 是否已生效：{problem}。再次调用之前，请先用读取类工具查看状态。",
)
API_UNREACHABLE: Final = message(
    "TT6916",
    "{operation} got no answer: {problem}. No change was made. Try again later, or tell the user.",
    "{operation} 没有得到应答：{problem}。未做任何更改。请稍后重试，或告知用户。",
)
API_REDIRECTED: Final = message(
    "TT6917",
    "{operation} answered with status {status}, which leads to another address. It is not followed. Tell the user: the "
    "operator may set another --api-url.",
    "{operation} 应答状态为 {status}，指向另一个地址。不会跟随。请告知用户：运营者可设置其他 --api-url。",
)
API_NOT_MODIFIED: Final = message(
    "TT6958",
    "{operation} answered with status 304: what you have is the present version.",
    "{operation} 应答状态为 304：您已有的即是当前版本。",
)
API_PRECONDITION: Final = message(
    "TT6959",
    "{operation} answered with status {status}{said}: it is bound to a version that is not the present one, or to "
    "none. No change was made. Read the object again, and call with the ETag of that answer.",
    "{operation} 应答状态为 {status}{said}：它所绑定的不是当前版本，或未绑定版本。未做任何更改。请重新读取对象，"
    "并使用该应答的 ETag 调用。",
)
NEXT_ETAG: Final = message(
    "TT6960",
    "The ETag of this version is {etag}: a call with it as {argument} changes this version, and no later one.",
    "此版本的 ETag 为 {etag}：以它作为 {argument} 的调用只会更改此版本，不会更改之后的版本。",
)
API_RESULT_UNEXPECTED: Final = message(
    "TT6918",
    "{operation} succeeded with status {status}, and its answer is not the JSON that the description promises. Do not "
    "repeat a call that changes something; tell the user.",
    "{operation} 已成功（状态 {status}），但其应答不是描述所承诺的 JSON。请勿重复会更改数据的调用；请告知用户。",
)
API_SAID: Final = message("TT6920", " and {message!r}", "，消息为 {message!r}")
API_SAID_NOTHING: Final = message("TT6921", " and no message", "，没有消息")
API_RESULT_NOT_TEXT: Final = message(
    "TT6922",
    "The answer, status {status}, is {kind} of {size} bytes, which is not text, and is not shown. It is the resource "
    "{uri}, which a call that takes a file can send.",
    "应答（状态 {status}）是 {size} 字节的 {kind}，不是文本，不予显示。它是资源 {uri}，可由接受文件的调用发送。",
)
API_RESULT_EMPTY: Final = message(
    "TT6923", "Done, with status {status} and no content.", "已完成，状态 {status}，无内容。"
)
RESPONSE_DIFFERS: Final = message(
    "TT6930",
    "The answer of {operation}, status {status}, differs from the description: {problem}.",
    "{operation} 的应答（状态 {status}）与描述不符：{problem}。",
)
RESPONSE_REFUSED: Final = message(
    "TT6975",
    "{operation} succeeded with status {status}, and its answer differs from the description: {problem}. The operator "
    "of this server has such answers refused. Do not repeat a call that changes something; tell the user.",
    "{operation} 已成功（状态 {status}），但其应答与描述不符：{problem}。本服务器的运营者要求拒绝此类应答。"
    "请勿重复会更改数据的调用；请告知用户。",
)
RESPONSE_AS_TEXT: Final = message(
    "TT6976",
    "{operation} succeeded with status {status}. Its answer has another form than the one that this tool declares, and "
    "stands above as text. Do not repeat a call that changes something.",
    "{operation} 已成功（状态 {status}）。其应答的形式与此工具声明的不同，已作为文本列在上方。"
    "请勿重复会更改数据的调用。",
)
RESPONSE_SCHEMA_UNUSABLE: Final = message(
    "TT6931",
    "The answers of {operation} are not compared with the description: {problem}.",
    "不会将 {operation} 的应答与描述比较：{problem}。",
)

ANSWER_WITHOUT_FIELDS: Final = message(
    "TT6961",
    "The answer has none of the fields that this tool returns: {fields}. Tell the user that its plan may be wrong.",
    "应答中没有此工具返回的字段：{fields}。请告知用户其计划文件可能有误。",
)
REASON_INTERNAL: Final = message(
    "TT6962",
    "the description marks it as internal",
    "描述将其标记为内部操作",
)
REASON_EFFECT_UNKNOWN: Final = message(
    "TT6963",
    "its {key} is {value!r}, and has to be read, write or destructive",
    "其 {key} 为 {value!r}，必须是 read、write 或 destructive",
)

# for the verb
PLAN_WRITTEN: Final = message(
    "TT6940",
    "{file}: {count} operations. Edit it, then: {command}",
    "{file}：{count} 个操作。编辑后运行：{command}",
)
PLAN_EXISTS: Final = message(
    "TT6941",
    "{file} is there already, and may have been edited. Remove it, or name another file with --output.",
    "{file} 已存在，可能已被编辑。请将其删除，或用 --output 指定其他文件。",
)
