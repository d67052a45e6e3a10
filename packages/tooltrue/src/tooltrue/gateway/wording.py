"""Messages of the gateway, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

HELD_OPERATION_GONE: Final = message(
    "TT9300",
    "The server waited for this answer no longer, and the call was cancelled. Call again to begin anew.",
    "服务器已不再等待此回答，调用已取消。请重新调用。",
)
TOO_MANY_HELD_OPERATIONS: Final = message(
    "TT9301",
    "{limit} calls wait for an answer already. Answer or cancel some of them, then call again.",
    "已有 {limit} 个调用在等待回答。请先回答或取消其中一些，然后重新调用。",
)
TOO_MANY_CALLER_CONNECTIONS: Final = message(
    "TT9302",
    "All {limit} connections to the server {server} are in use. Try again when a call has ended.",
    "与服务器 {server} 的 {limit} 个连接均在使用中。请在有调用结束后重试。",
)
LABEL_NO_CALL: Final = message(
    "TT9303",
    "no call is open to which the question could belong",
    "没有可归属该问题的进行中的调用",
)
GATEWAY_SERVER_UNKNOWN: Final = message(
    "TT4770",
    "{place}: {file} has no server {name}; the nearest is {nearest}.",
    "{place}：{file} 中没有服务器 {name}；最接近的是 {nearest}。",
)
GATEWAY_SERVER_UNTRUSTED: Final = message(
    "TT9304",
    "The server {server} is not started, because no person has approved its command. A person can see and approve it: "
    "tooltrue trust {file} {server}",
    "服务器 {server} 未启动，因为没有人批准过它的命令。可由人查看并批准：tooltrue trust {file} {server}",
)
GATEWAY_RULE_NAMES_NOTHING: Final = message(
    "TT4771",
    "A rule refers to a name that no server has now: {problem}",
    "某条规则引用了目前任何服务器都没有的名称：{problem}",
)
