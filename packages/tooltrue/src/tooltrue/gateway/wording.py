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
UPSTREAM_PAUSED: Final = message(
    "TT9320",
    "The server {server} did not answer the last calls, so none is sent to it now. Try again in {seconds} s.",
    "服务器 {server} 未回应最近的调用，因此目前不再向其发送调用。请在 {seconds} 秒后重试。",
)
UPSTREAM_BUSY: Final = message(
    "TT9321",
    "The server {server} has {running} calls to answer already. Try again in {seconds} s.",
    "服务器 {server} 已有 {running} 个调用待回应。请在 {seconds} 秒后重试。",
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
VIEW_NAME_INVALID: Final = message(
    "TT4780",
    "{place}: a view cannot be called {name}: its name is part of a path, of letters, digits, - and _.",
    "{place}：视图不能命名为 {name}：其名称是路径的一部分，只能含字母、数字、- 和 _。",
)
VIEW_NAME_RESERVED: Final = message(
    "TT4781",
    "{place}: a view cannot be called {name}, because the gateway serves that path itself.",
    "{place}：视图不能命名为 {name}，因为该路径由网关自身使用。",
)
VIEW_SERVER_UNKNOWN: Final = message(
    "TT4782",
    "{place}: the view {view} has the server {server}, but {file} has none of that name; the nearest is {nearest}.",
    "{place}：视图 {view} 包含服务器 {server}，但 {file} 中没有该名称的服务器；最接近的是 {nearest}。",
)
VIEW_SHOWS_NOTHING: Final = message(
    "TT4783",
    "{place}: the view {view} shows no tool: its servers have none that fits its patterns.",
    "{place}：视图 {view} 不显示任何工具：其服务器没有符合其模式的工具。",
)
VIEW_TOOL_UNKNOWN: Final = message(
    "TT4784",
    "{place}: the view {view} refers to the tool {name}, which its servers do not have; the nearest is {nearest}.",
    "{place}：视图 {view} 引用了其服务器没有的工具 {name}；最接近的是 {nearest}。",
)
VIEW_TOOL_NAME_INVALID: Final = message(
    "TT4785",
    "{place}: the view {view} calls a tool {name}, which is no valid name of a tool.",
    "{place}：视图 {view} 将某个工具命名为 {name}，这不是有效的工具名称。",
)
VIEW_NAME_OF_TWO_TOOLS: Final = message(
    "TT4786",
    "{place}: the view {view} has two tools called {name}.",
    "{place}：视图 {view} 中有两个名为 {name} 的工具。",
)
VIEWS_WITH_SEVERAL_DEFAULTS: Final = message(
    "TT4787",
    "{place}: the view {name} cannot be the default, because {other} is.",
    "{place}：视图 {name} 不能作为默认视图，因为 {other} 已是默认视图。",
)
RULE_OF_UNKNOWN_VIEW: Final = message(
    "TT4788",
    "{place}: the rule is for the view {name}, which the file does not have; the nearest is {nearest}.",
    "{place}：该规则针对视图 {name}，但文件中没有该视图；最接近的是 {nearest}。",
)
VIEW_NOT_CHOSEN: Final = message(
    "TT4789",
    "{file} has the views {names}, and none is the default: choose one with --view NAME.",
    "{file} 有视图 {names}，且没有默认视图：请用 --view NAME 选择一个。",
)
VIEW_UNKNOWN: Final = message(
    "TT4790",
    "There is no view {name}; the nearest is {nearest}.",
    "没有视图 {name}；最接近的是 {nearest}。",
)
VIEWS_WITHOUT_SSE: Final = message(
    "TT4791",
    "Views are not served over HTTP+SSE, which has one pair of paths. Leave out --sse.",
    "视图不能通过 HTTP+SSE 提供，因为它只有一对路径。请去掉 --sse。",
)
VIEW_FOR_OTHER_CALLERS: Final = message(
    "TT9340",
    "The view {view} is not for this caller.",
    "视图 {view} 不对此调用方开放。",
)
VIEW_OPTION_FOR_STDIO: Final = message(
    "TT4792",
    "Over HTTP every view has its own path, so --view is for stdio alone.",
    "通过 HTTP 时每个视图都有自己的路径，因此 --view 仅用于 stdio。",
)
GATEWAY_KEY_TWICE: Final = message(
    "TT4793",
    "{place}: {problem}; keep one of the two.",
    "{place}：{problem}；请只保留其中一个。",
)
GATEWAY_SUPERVISOR_IMPOSSIBLE: Final = message(
    "TT4795",
    "Several workers need one process that holds {servers}, and this system has no sockets for it. Use one worker.",
    "多个工作进程需要由一个进程来运行 {servers}，而此系统没有所需的套接字。请只使用一个工作进程。",
)
GATEWAY_SUPERVISOR_ADDRESS_FAILED: Final = message(
    "TT4796",
    "The supervisor cannot listen at {address}: {problem}. A shorter TMPDIR may help.",
    "监管进程无法在 {address} 监听：{problem}。较短的 TMPDIR 可能有所帮助。",
)
GATEWAY_SUPERVISOR_SERVER_UNKNOWN: Final = message(
    "TT4797",
    "The supervisor knows no server {server}: the file has changed since the gateway was started. Start it again.",
    "监管进程不认识服务器 {server}：网关启动后文件已更改。请重新启动网关。",
)
GATEWAY_SUPERVISOR_LOST: Final = message(
    "TT9345",
    "the process that holds the server {server} has ended, and another one is started",
    "运行服务器 {server} 的进程已结束，正在启动另一个进程",
)
GATEWAY_SUPERVISOR_ENDED: Final = message(
    "TT9346",
    "The process that holds the programs of the gateway has ended with code {code}. Another one is started.",
    "运行网关各程序的进程已结束，退出码为 {code}。正在启动另一个进程。",
)
