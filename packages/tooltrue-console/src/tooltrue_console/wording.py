"""Messages of the console, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

CONSOLE_ADDRESS_UNKNOWN: Final = message(
    "TT9400",
    "The console has no page at this address.",
    "控制台在此地址没有页面。",
)
CONSOLE_SIGN_IN_REQUIRED: Final = message(
    "TT9401",
    "You are not signed in, or the session is over. Open a new link, or sign in again.",
    "您尚未登录，或会话已结束。请打开新的链接，或重新登录。",
)
CONSOLE_SCOPE_REQUIRED: Final = message(
    "TT9402",
    "This needs the scope {scope}, which your session does not have.",
    "此操作需要权限范围 {scope}，而您的会话没有该权限范围。",
)
CONSOLE_LINK_INVALID: Final = message(
    "TT9403",
    "The link has been used already, or it is older than ten minutes. Print another one with "
    "`tooltrue console --link`.",
    "该链接已被使用，或已超过十分钟。请用 `tooltrue console --link` 显示新的链接。",
)
CONSOLE_ORIGIN_REFUSED: Final = message(
    "TT9404",
    "The request was not sent by a page of this console, so nothing was done.",
    "该请求并非由此控制台的页面发出，因此未作任何处理。",
)
CONSOLE_FORM_EXPIRED: Final = message(
    "TT9405",
    "The form belongs to another session, so nothing was done. Reload the page.",
    "该表单属于另一个会话，因此未作任何处理。请重新加载页面。",
)
CONSOLE_FORM_INVALID: Final = message(
    "TT9406",
    "The form could not be read, so nothing was done.",
    "无法读取该表单，因此未作任何处理。",
)
CONSOLE_OWN_CALL: Final = message(
    "TT9407",
    "{who} has made this call, and cannot approve it too. Another person decides, or the operator starts the console "
    "with --approve-own.",
    "此调用由 {who} 发出，不能由其自行批准。请由他人决定，或由运营者以 --approve-own 启动控制台。",
)
CONSOLE_TICKET_CHANGED: Final = message(
    "TT9408",
    "Ticket {ticket} has changed since the page was shown, so nothing was done. Reload the page and decide again.",
    "工单 {ticket} 在页面显示之后发生了变化，因此未作任何处理。请重新加载页面后再决定。",
)
CONSOLE_TICKET_GONE: Final = message(
    "TT9409",
    "Ticket {ticket} does not wait any more: it was settled, it has expired, or there never was one.",
    "工单 {ticket} 不再等待：已处理、已过期，或从未存在。",
)
CONSOLE_WITHOUT_SIGN_IN: Final = message(
    "TT9411",
    "The console listens beyond this machine at {address}, and its pages would be open to every caller there. "
    "Give it keys with --keys FILE, an issuer in [console.sign_in] of --config FILE, or a loopback address.",
    "控制台将在本机以外可访问的 {address} 上监听，其页面将向所有人开放。请用 --keys FILE 提供密钥，在 --config FILE 的 "
    "[console.sign_in] 中指定签发者，或改用回环地址。",
)
CONSOLE_TOO_MANY_ATTEMPTS: Final = message(
    "TT9412",
    "Too many attempts to sign in. Try again in {seconds} seconds.",
    "登录尝试次数过多。请在 {seconds} 秒后重试。",
)
CONSOLE_KEY_REFUSED: Final = message(
    "TT9413",
    "The key is not accepted, or it lacks the scope console:read.",
    "该密钥未被接受，或缺少 console:read 权限范围。",
)
CONSOLE_LINK_NEEDS_TERMINAL: Final = message(
    "TT9414",
    "The link is printed to a terminal only, and this output is none. Run `tooltrue console --link` in a terminal of "
    "the same user.",
    "链接只显示在终端中，而此输出不是终端。请在同一用户的终端中运行 `tooltrue console --link`。",
)
CONSOLE_CRASHED: Final = message(
    "TT9415",
    "The page failed for an unexpected reason, which the log of the console has under {id}.",
    "页面因意外原因失败，详情见控制台日志中的 {id}。",
)
CONSOLE_LOG_UNKNOWN: Final = message(
    "TT9418",
    "There is no audit log {name}; there are: {known}.",
    "没有审计日志 {name}；现有：{known}。",
)
CONSOLE_RECORD_UNKNOWN: Final = message(
    "TT9419",
    "The log {name} has no record at position {position}: it was deleted, or never written.",
    "日志 {name} 在位置 {position} 没有记录：已被删除，或从未写入。",
)
CONSOLE_NOTHING_TO_TRY: Final = message(
    "TT9460",
    "This console has no tools to try. Start it with the servers, as in `tooltrue console servers.json` or `tooltrue "
    "console server.py`, or beside a server with `tooltrue serve … --console`.",
    "此控制台没有可试用的工具。请在启动时给出服务器，例如 `tooltrue console servers.json` 或 "
    "`tooltrue console server.py`，或以 `tooltrue serve … --console` 与服务器一同启动。",
)
CONSOLE_TOOL_UNKNOWN: Final = message(
    "TT9461",
    "The server {server} lists no tool {tool} for you.",
    "服务器 {server} 没有向您列出工具 {tool}。",
)
CONSOLE_TOOL_CHANGED: Final = message(
    "TT9462",
    "The definition of {tool} has changed since the page was shown, so nothing was run. Reload the page.",
    "{tool} 的定义在页面显示之后发生了变化，因此未运行。请重新加载页面。",
)
CONSOLE_JSON_INVALID: Final = message(
    "TT9463",
    "This is not JSON.",
    "此内容不是 JSON。",
)
CONSOLE_SERVER_UNKNOWN: Final = message(
    "TT9464",
    "The console has no server {server} to try; there are: {known}.",
    "控制台没有可供试用的服务器 {server}；现有：{known}。",
)
CONSOLE_QUESTION_UNREADABLE: Final = message(
    "TT9465",
    "The tool asks for something that this page cannot answer, so the call ends here.",
    "该工具提出了此页面无法回答的问题，因此调用到此结束。",
)
CONSOLE_SERVER_TWICE: Final = message(
    "TT9466",
    "Two of the servers to try have the name {server}. Give one of them another name, or start a console for each.",
    "要试用的服务器中有两个名为 {server}。请为其中一个换一个名称，或分别启动控制台。",
)
NOTE_CONSOLE_SERVES: Final = message(
    "TT9416",
    "The console is at {url}",
    "控制台位于 {url}",
)
NOTE_CONSOLE_LINK: Final = message(
    "TT9417",
    "Open it by this link, which works once, within ten minutes: {link}",
    "请用此链接打开，十分钟内仅可使用一次：{link}",
)

# rules, contracts, doctor
CONSOLE_RULES_UNKNOWN: Final = message(
    "TT9440",
    "The console knows no file of rules. Start it with `tooltrue console --config FILE`, or beside a server with "
    "`tooltrue serve --config FILE --console`.",
    "控制台没有规则文件。请用 `tooltrue console --config FILE` 启动控制台，或用 `tooltrue serve --config FILE "
    "--console` 与服务器一同启动。",
)
CONSOLE_ARGUMENTS_INVALID: Final = message(
    "TT9441",
    'The arguments are no JSON object: {problem}. Write them as {{"NAME": VALUE}}.',
    '参数不是 JSON 对象：{problem}。请写成 {{"名称": 值}}。',
)
CONSOLE_FILE_WITHOUT_RULES: Final = message(
    "TT9442",
    "The file has no [[rules]], so every call is decided by the server itself.",
    "该文件没有 [[rules]]，因此每次调用均由服务器自身决定。",
)
CONSOLE_RECORD_NOT_DECIDED: Final = message(
    "TT9443",
    "Record {position} of {name} is not about the use of a tool, a resource or a prompt, so no rule decides about it.",
    "{name} 的记录 {position} 不涉及工具、资源或提示的使用，因此没有规则对其作出判定。",
)
CONSOLE_CONTRACT_UNKNOWN: Final = message(
    "TT9444",
    "There is no contract {key}: its pin was removed, or there never was one.",
    "没有契约 {key}：其固定记录已被删除，或从未存在。",
)
CONSOLE_CONTRACT_CHANGED: Final = message(
    "TT9445",
    "The definitions of {server} have changed since the page was shown, so nothing was done. Reload the page and "
    "decide again.",
    "{server} 的定义在页面显示之后发生了变化，因此未作任何处理。请重新加载页面后再决定。",
)
NOTE_CONSOLE_TOO_MANY_TOOLS: Final = message(
    "TT9446",
    "{server} has {count} tools. The console checks at most {limit}; `tooltrue check` checks all of them.",
    "{server} 有 {count} 个工具。控制台最多检查 {limit} 个；`tooltrue check` 可检查全部工具。",
)
CONSOLE_SIGN_IN_INVALID: Final = message(
    "TT9480",
    "{place}: to sign in at an issuer, the console needs {problem}.",
    "{place}：要通过签发者登录，控制台需要{problem}。",
)
LABEL_CONSOLE_URL: Final = message(
    "TT9484",
    "url in [console], its address as browsers know it: https://…, or http://… on this machine",
    "[console] 中的 url，即浏览器所用的地址：https://…，或本机上的 http://…",
)
LABEL_CONSOLE_SECRET: Final = message(
    "TT9485",
    "the secret of sign_in in [console], from secret_env, secret_file or secret_keyring ({problem})",
    "[console] 中 sign_in 的密钥，来自 secret_env、secret_file 或 secret_keyring（{problem}）",
)
LABEL_CONSOLE_ISSUER: Final = message(
    "TT9486",
    "oauth in [auth], and the issuer of sign_in among its issuers: {issuers}",
    "[auth] 中的 oauth，且 sign_in 的 issuer 是其签发者之一：{issuers}",
)
CONSOLE_ISSUER_FAILED: Final = message(
    "TT9481",
    "The sign-in at {issuer} failed ({problem}). Try again, or ask the operator.",
    "在 {issuer} 的登录失败（{problem}）。请重试，或询问运营者。",
)
CONSOLE_RETURN_UNKNOWN: Final = message(
    "TT9482",
    "This browser has not begun this sign-in, or it is over: it lasts ten minutes and counts once. Sign in again.",
    "此登录并非由该浏览器发起，或已结束：登录须在十分钟内完成，且仅有效一次。请重新登录。",
)
CONSOLE_ISSUER_SCOPE: Final = message(
    "TT9483",
    "{who} has signed in without the scope {scope}. The administrator of the issuer grants it.",
    "{who} 已登录，但没有权限范围 {scope}。该权限由签发者的管理员授予。",
)
CONSOLE_CONTRACT_TOO_LARGE: Final = message(
    "TT9447",
    "The changed definitions of {server} are too large to be shown here in full ({size} characters; the limit is "
    "{limit}). Review them with `tooltrue pins FILE {server}`.",
    "{server} 的变更定义过大，无法在此完整显示（{size} 个字符；上限为 {limit}）。请用 `tooltrue pins FILE {server}` "
    "审阅。",
)
CONSOLE_TASK_UNKNOWN: Final = message(
    "TT9487",
    "The server {server} has no task {task}, or it has removed it.",
    "服务器 {server} 没有任务 {task}，或已将其移除。",
)
CONSOLE_TASK_CHANGED: Final = message(
    "TT9488",
    "Task {task} is {state} by now, so it was not cancelled. Reload the page.",
    "任务 {task} 现在的状态为 {state}，因此未取消。请重新加载页面。",
)
CONSOLE_TOO_MANY_READS: Final = message(
    "TT9448",
    "{limit} replays, diagnoses or verifications of logs run already, so this one was not begun. Try again when one of "
    "them has ended.",
    "已有 {limit} 个日志重放、诊断或验证正在运行，因此未开始此操作。请在其中之一结束后重试。",
)
CONSOLE_QUESTION_CHANGED: Final = message(
    "TT9449",
    "Task {task} asks something else by now, or nothing, so the answer was not sent. Reload the page.",
    "任务 {task} 的提问已改变或已结束，因此未发送回答。请重新加载页面。",
)
