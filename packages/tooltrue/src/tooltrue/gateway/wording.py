"""Messages of the gateway, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

HELD_OPERATION_GONE: Final = message(
    "TT9300",
    "The server waited for this answer no longer, and the call was cancelled. Call again to begin anew.",
    "服务器已不再等待此回答，调用已取消。请重新调用。",
)
HOLDER_LOST: Final = message(
    "TT4820",
    "The process of the gateway that ran this call has ended, so its result is lost, and the call may have taken "
    "effect. Find out before you call again.",
    "运行此调用的网关进程已结束，结果因此丢失，而调用可能已经生效。请先查明再重新调用。",
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
GATEWAY_LABEL_REFUSED: Final = message(
    "TT5665",
    "{place}: this server needs another label: {problem}.",
    "{place}：这个服务器需要另一个标签：{problem}。",
)
GATEWAY_SUPERVISOR_ADDRESS_FAILED: Final = message(
    "TT4796",
    "The supervisor cannot listen at {address}: {problem}. A shorter TMPDIR may help.",
    "监管进程无法在 {address} 监听：{problem}。较短的 TMPDIR 可能有所帮助。",
)
GATEWAY_SUPERVISOR_SERVER_UNKNOWN: Final = message(
    "TT4797",
    "the process that holds the programs of the gateway has another entry for the server {server}, or none: the file "
    "has changed",
    "运行网关各程序的进程中服务器 {server} 的条目不同或不存在：文件已更改",
)
GATEWAY_FILES_REFUSED: Final = message(
    "TT4830",
    "The gateway goes on with the servers it has, because a changed file has a mistake. {problem}",
    "由于更改后的文件有错误，网关继续使用现有的服务器。{problem}",
)
GATEWAY_SERVERS_EXCHANGED: Final = message(
    "TT4831",
    "The servers of {file} have changed. Started: {started}. Ended: {ended}.",
    "{file} 中的服务器已更改。已启动：{started}。已结束：{ended}。",
)
GATEWAY_RESTART_NEEDED: Final = message(
    "TT4832",
    "{file} has changed in {tables}, which takes effect when the gateway is started again.",
    "{file} 中的 {tables} 已更改，将在网关重新启动后生效。",
)
GATEWAY_GRANTS_AT_START: Final = message(
    "TT4833",
    "The server {server} takes the grants of callers, for which the gateway serves pages from its start on: start it "
    "again.",
    "服务器 {server} 使用调用方的授权，网关只在启动时为此开设页面：请重新启动网关。",
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
GATEWAY_SECRET_NOT_AVAILABLE: Final = message(
    "TT4800",
    "{place}: the secret for the server {server} is not there: {problem}. Name one of secret_env (a variable of the "
    "environment), secret_file and secret_keyring.",
    "{place}：找不到服务器 {server} 的密钥：{problem}。请用 secret_env（环境变量名）、secret_file 或 secret_keyring "
    "之一指明。",
)
GATEWAY_AUTH_WITHOUT_URL: Final = message(
    "TT4801",
    "{place}: the server {server} has no URL, which auth is for. A program gets its credentials by its environment.",
    "{place}：服务器 {server} 没有 URL，而 auth 仅用于有 URL 的服务器。程序通过环境变量获得凭据。",
)
GATEWAY_AUTH_INVALID: Final = message(
    "TT4802",
    "{place}: the auth of the server {server}: {problem}.",
    "{place}：服务器 {server} 的 auth：{problem}。",
)
REASON_HEADER_SET_TWICE: Final = message(
    "TT9322",
    "the file of servers sets the header {header} too",
    "服务器列表文件也设置了请求头 {header}",
)
REASON_HEADER_NOT_USABLE: Final = message(
    "TT9323",
    "{header} is no header for credentials",
    "{header} 不是可用于凭据的请求头",
)
REASON_SECRET_NOT_SENDABLE: Final = message(
    "TT9324",
    "the secret has characters that a header cannot carry",
    "密钥含有请求头不能携带的字符",
)
REASON_ONE_METHOD: Final = message(
    "TT9325",
    "give one of {methods}",
    "请在 {methods} 中给出其一",
)
REASON_NO_KEYRING: Final = message(
    "TT9326",
    "the extra {extra} is not installed: {command}",
    "未安装附加组件 {extra}：{command}",
)
GRANT_REQUIRED: Final = message(
    "TT9327",
    "{url} requires the consent of this caller, and it has not been given.",
    "{url} 需要此调用者的同意，但尚未给出。",
)
GRANT_QUESTION: Final = message(
    "TT9328",
    "The server {server} acts for you once you have connected it. Open this page of the gateway to see what it may do.",
    "连接后，服务器 {server} 才能代表您操作。请打开网关的此页面，查看其权限。",
)
GRANT_NEEDED: Final = message(
    "TT9329",
    "The server {server} acts for the user once the user has connected it. Ask the user to open {page} within ten "
    "minutes, then call again.",
    "用户连接后，服务器 {server} 才能代表其操作。请让用户在十分钟内打开 {page}，然后重新调用。",
)
GRANT_DECLINED: Final = message(
    "TT9330",
    "The user has not connected the server {server}, and the call was not sent.",
    "用户未连接服务器 {server}，调用未发送。",
)
GRANT_NOT_THERE: Final = message(
    "TT9331",
    "The user has not finished connecting the server {server} yet. Ask the user to finish it at {page}, then call "
    "again.",
    "用户尚未完成服务器 {server} 的连接。请让用户在 {page} 完成，然后重新调用。",
)
GRANT_PAGES_UNREACHABLE: Final = message(
    "TT4803",
    "{place}: callers connect the server {server} by pages of the gateway, which need {problem}.",
    "{place}：调用者通过网关的页面连接服务器 {server}，这需要{problem}。",
)
LABEL_GATEWAY_URL: Final = message(
    "TT9332",
    "url in [gateway], by which browsers reach it: https, or http on this machine",
    "[gateway] 中的 url，即浏览器访问网关的地址：https，或本机的 http",
)
LABEL_GRANT_KEY: Final = message(
    "TT9333",
    "grant_key in [gateway], which encrypts the grants: 32 random bytes as base64, from secret_env, secret_file or "
    "secret_keyring ({problem})",
    "[gateway] 中用于加密授权的 grant_key：32 个随机字节的 base64，来自 secret_env、secret_file 或 secret_keyring"
    "（{problem}）",
)
LABEL_BROWSER_IDENTITY: Final = message(
    "TT9334",
    "callers that a browser can prove: a proxy in [auth], oauth in [auth] with sign_in in [gateway], or this machine "
    "alone",
    "浏览器可证明身份的调用者：[auth] 中的 proxy，[auth] 中的 oauth 加上 [gateway] 中的 sign_in，或仅限本机",
)
REASON_NOT_SHARED: Final = message(
    "TT9335",
    "{method} is for one caller each, and shared = true for all",
    "{method} 用于单个调用者，而 shared = true 用于所有调用者",
)
REASON_KEY_LENGTH: Final = message(
    "TT9336",
    "it is not 32 bytes as base64",
    "它不是 32 字节的 base64",
)
EXCHANGE_WITHOUT_TOKEN: Final = message(
    "TT9337",
    "{url} takes a token that is made of the caller's own, and this caller is not known by a token of an issuer.",
    "{url} 接受由调用者自身令牌换得的令牌，而此调用者并非以签发者的令牌识别。",
)
REASON_ENDPOINT_NOT_HTTPS: Final = message(
    "TT9338",
    "token_endpoint is no https URL, and not on this machine",
    "token_endpoint 既不是 https URL，也不在本机",
)
CALLER_NOT_AUTHORIZED: Final = message(
    "TT9365",
    "The server {server} was not called, because it does not admit this caller: {problem}",
    "未调用服务器 {server}，因为它不接纳此调用者：{problem}",
)
CALLER_NOT_CONNECTED: Final = message(
    "TT9354",
    "The server {server} is not connected for this user yet. Its tool connect asks the user to do so; then its other "
    "tools are listed.",
    "服务器 {server} 尚未为此用户连接。其工具 connect 会请用户连接；之后会列出其他工具。",
)
OTHER_TOKEN_MEANWHILE: Final = message(
    "TT9355",
    "this caller came with another token while the tools of {server} were read",
    "读取 {server} 的工具期间，此调用者换用了另一个令牌",
)
LABEL_HEADERS_OF_FILE: Final = message("TT9357", "headers of the file: {names}", "文件中的请求头：{names}")
LABEL_HEADER_OF_GATEWAY: Final = message("TT9358", "the header {name}", "请求头 {name}")
LABEL_CLIENT_CREDENTIALS: Final = message(
    "TT9359", "client credentials as {client_id}", "客户端凭据，身份为 {client_id}"
)
LABEL_GRANT_OF_CALLER: Final = message("TT9369", "the grant of each caller", "每个调用者自己的授权")
LABEL_EXCHANGED_TOKEN: Final = message(
    "TT9373",
    "the exchanged token of each caller, as {client_id}",
    "由每个调用者的令牌换得的令牌，身份为 {client_id}",
)
LABEL_ENTERPRISE_TOKEN: Final = message(
    "TT9374",
    "the token of each caller by the enterprise extension, as {client_id}",
    "每个调用者经企业扩展取得的令牌，身份为 {client_id}",
)
GATEWAY_AUDIT_UNAVAILABLE: Final = message(
    "TT9356",
    "The calls through this gateway cannot be recorded: {problem} Name a place for the audit log in the operator's "
    'file, to = "sqlite:PATH" in [audit], or by the variable TOOLTRUE_AUDIT; or disable it there, on = false.',
    '无法记录通过此网关的调用：{problem}请在运维人员的配置文件中用 [audit] 的 to = "sqlite:PATH"，或用环境变量 '
    "TOOLTRUE_AUDIT 指定可用的位置；若不需要记录，请在该处设置 on = false。",
)
LABEL_ONE_BROWSER_IDENTITY: Final = message(
    "TT9366",
    "one way to know browsers: proxy in [auth] or sign_in in [gateway], and not both",
    "唯一一种识别浏览器的方式：[auth] 中的 proxy 或 [gateway] 中的 sign_in，不能同时使用",
)
LABEL_SIGN_IN_SECRET: Final = message(
    "TT9367",
    "the secret of sign_in in [gateway], from secret_env, secret_file or secret_keyring ({problem})",
    "[gateway] 中 sign_in 的密钥，来自 secret_env、secret_file 或 secret_keyring（{problem}）",
)
LABEL_SIGN_IN_ISSUER: Final = message(
    "TT9368",
    "the issuer of sign_in in [gateway], which is one of the callers' issuers: {issuers}",
    "[gateway] 中 sign_in 的 issuer，即调用者的签发者之一：{issuers}",
)
TASKS_NEED_EXTRA: Final = message(
    "TT9382",
    "{place}: the calls of {server} become tasks, which needs the extra 'tasks' of tooltrue. Run: {command}",
    "{place}：{server} 的调用会成为任务，这需要 tooltrue 的附加组件 'tasks'。请运行：{command}",
)
TASKS_WITHOUT_TOKEN: Final = message(
    "TT9383",
    "{place}: the calls of {server} cannot become tasks: each is made with a token of its caller, which a task does "
    "not keep. Remove the key tasks.",
    "{place}：{server} 的调用不能成为任务：每个调用都使用其调用者的令牌，而任务不保存令牌。请删除 tasks 键。",
)
GATEWAY_TASKS_AT_START: Final = message(
    "TT9384",
    "The calls of {server} become tasks, and this gateway runs none yet. Restart it.",
    "{server} 的调用会成为任务，而此网关目前不运行任务。请重启网关。",
)
