"""Messages of JSON-RPC, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# protocol
MESSAGE_NOT_JSON: Final = message(
    "TT1001",
    "The message is not JSON: {problem}.",
    "消息不是合法的 JSON：{problem}。",
)
MESSAGE_NOT_JSONRPC: Final = message(
    "TT1002",
    "Not a JSON-RPC 2.0 message: {problem}.",
    "不是 JSON-RPC 2.0 消息：{problem}。",
)
DUPLICATE_JSON_KEY: Final = message(
    "TT1003",
    "The key {key} stands twice in one JSON object.",
    "同一个 JSON 对象中键 {key} 出现了两次。",
)
MESSAGE_NESTED_TOO_DEEPLY: Final = message(
    "TT1004",
    "The message is nested deeper than {limit} levels.",
    "消息嵌套超过 {limit} 层。",
)
BATCH_NOT_SUPPORTED: Final = message(
    "TT1006",
    "Batches are not part of this protocol revision; send one message at a time.",
    "该协议版本不支持批量消息；请逐条发送。",
)
BATCH_EMPTY: Final = message(
    "TT1007",
    "A batch must be a non-empty array.",
    "批量消息必须是非空数组。",
)
BATCH_TOO_LARGE: Final = message(
    "TT1008",
    "A batch may hold {limit} messages at the most.",
    "批量消息最多包含 {limit} 条。",
)
REQUEST_ID_IN_USE: Final = message(
    "TT1009",
    "The id {id} is in use by a request that is still running.",
    "编号 {id} 正被另一个尚未完成的请求使用。",
)
INTERNAL_SERVER_ERROR: Final = message(
    "TT1020",
    "Internal error {id}. The server's log explains it under this id.",
    "内部错误 {id}。服务器日志以此编号记录了原因。",
)
TOO_MANY_CONCURRENT_REQUESTS: Final = message(
    "TT1021",
    "{limit} requests are running already; wait for some of their answers.",
    "已有 {limit} 个请求在运行；请等待其中一些应答。",
)
MESSAGE_TOO_MANY_CONTAINERS: Final = message(
    "TT1060",
    "The message holds more than {limit} arrays and objects.",
    "消息包含的数组和对象超过 {limit} 个。",
)

# client and transport
CONNECTION_CLOSED: Final = message(
    "TT5001",
    "The connection is closed. Requests in flight have no answer; they may have taken effect.",
    "连接已关闭。尚未完成的请求没有应答；其作用可能已经发生。",
)
SERVER_RESPONSE_INVALID: Final = message(
    "TT5009",
    "The server's answer to {method} is not valid: {problem}.",
    "服务器对 {method} 的应答无效：{problem}。",
)
REQUEST_TIMEOUT: Final = message(
    "TT5002",
    "No answer to {method} within {seconds:g} s.",
    "{method} 在 {seconds:g} 秒内没有应答。",
)
REQUEST_TOTAL_TIMEOUT: Final = message(
    "TT5022",
    "No answer to {method} within {seconds:g} s in all.",
    "{method} 在总共 {seconds:g} 秒内没有应答。",
)
TIMEOUT_WITH_DROPPED_MESSAGES: Final = message(
    "TT5029",
    "{problem} Meanwhile {count} messages came that are no answer to it and were dropped; the last: {last}.",
    "{problem} 其间收到 {count} 条并非其应答的消息，均已丢弃；最后一条：{last}。",
)
REASON_NO_CALL_OR_ANSWER: Final = message(
    "TT1200",
    'it needs "method", or exactly one of "result" and "error"',
    '需要 "method"，或 "result" 与 "error" 中的恰好一个',
)
REASON_NO_JSONRPC_VERSION: Final = message(
    "TT1201",
    '"jsonrpc" must be "2.0"',
    '"jsonrpc" 必须是 "2.0"',
)
REASON_RESULT_AND_ERROR: Final = message(
    "TT1202",
    'it has both "result" and "error", where exactly one belongs',
    '同时含有 "result" 和 "error"，而只能有其中一个',
)
REASON_ID_INVALID: Final = message(
    "TT1203",
    '"id" must be a string or an integer',
    '"id" 必须是字符串或整数',
)
REASON_METHOD_NOT_TEXT: Final = message(
    "TT1204",
    '"method" must be a string',
    '"method" 必须是字符串',
)
REASON_PARAMS_NO_OBJECT: Final = message(
    "TT1205",
    '"params" must be an object',
    '"params" 必须是对象',
)
REASON_ERROR_INVALID: Final = message(
    "TT1206",
    '"error" must be an object with an integer "code" and a string "message"',
    '"error" 必须是对象，含整数 "code" 和字符串 "message"',
)
REASON_ID_TYPE_DIFFERS: Final = message(
    "TT1207",
    "its id is the string {id!r}, and that of the request a number",
    "其 id 是字符串 {id!r}，而请求的 id 是数字",
)
