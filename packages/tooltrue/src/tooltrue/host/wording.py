"""Messages of the host, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

APPROVAL_TICKET_ISSUED_BY_HOST: Final = message(
    "TT2420",
    "{tool} was not run: a person has to agree first, and no person can be asked here. Tell the user that ticket "
    "{ticket} waits: a person approves it with `tooltrue approvals allow {ticket}`; repeat the identical call "
    "once it is approved.",
    "{tool} 未运行：须先由人同意，而此处无人可问。请告知用户工单 {ticket} 待处理：由人用 `tooltrue approvals allow"
    " {ticket}` 批准；批准后请原样重复此调用。",
)
APPROVAL_QUESTION_UNANSWERED: Final = message(
    "TT2422",
    "{tool} was not run: the user was asked, and has not answered. Do not repeat it; tell the user that it was "
    "not done.",
    "{tool} 未运行：已询问用户，但未获回答。请勿重复；请说明哪些事没有做。",
)
APPROVAL_USED_BY_IDENTICAL_CALL: Final = message(
    "TT2423",
    "{tool} was not run a second time: an identical call was made at the same time, and the user's answer was good "
    "for that one. Use its result.",
    "{tool} 未再次运行：同时发出了相同的调用，用户的回答仅对其中一个有效。请使用其结果。",
)
IDENTICAL_CALL_RECENTLY_DENIED: Final = message(
    "TT2424",
    "{tool} was not run: the user has just refused this very call ({reason}). Do not repeat it; do something "
    "else, or tell the user that it was not done.",
    "{tool} 未运行：用户刚刚拒绝了这一调用（{reason}）。请勿重复；请改做其他事，或说明哪些事没有做。",
)
TOO_MANY_HOST_QUESTIONS: Final = message(
    "TT2425",
    "{tool} was not run: {limit} questions wait for the user already. Wait for the answers before you call more.",
    "{tool} 未运行：已有 {limit} 个问题在等待用户。请先等待回答，再继续调用。",
)
ARGUMENTS_EDITED_BY_USER: Final = message(
    "TT2426",
    "The user changed the arguments of {tool} before it ran. The result below is that of: {arguments}",
    "用户在 {tool} 运行前修改了参数。以下是使用这些参数的结果：{arguments}",
)
TOO_MANY_ARGUMENT_EDITS: Final = message(
    "TT2427",
    "{tool} was not run: the user changed its arguments several times and agreed to no version. Ask them for the "
    "right arguments.",
    "{tool} 未运行：用户多次修改参数，但均未同意。请询问用户的意图。",
)
LABEL_DEFAULT_ASK_RULE: Final = message(
    "TT2428",
    "No rule lets it run without asking.",
    "没有规则允许它不经询问而运行。",
)
HOST_APPROVAL_QUESTION: Final = message(
    "TT2430",
    "{tool} of the server {server} is to run ({effect}). Each argument, in full, with the length of text:",
    "服务器 {server} 的 {tool} 将要运行（{effect}）。以下为全部参数，文本附长度：",
)
LABEL_DEFINITION_CHANGED_FIELDS: Final = message(
    "TT2431",
    "Its definition has changed since you last agreed to it: {fields}.",
    "自上次同意以来，其定义已变更：{fields}。",
)
LABEL_LAST_APPROVED_DEFINITION: Final = message(
    "TT2432",
    "When you last agreed to it, this was:",
    "上次同意时，以下参数为：",
)
CONSOLE_APPROVE_CALL: Final = message(
    "TT2433",
    "Run it? [y] once  [s] identical calls for a while  [a] always for a pattern  [e] edit  [N] no, or n and the "
    "reason: ",
    "是否运行？[y] 仅此一次  [s] 一段时间内的相同调用  [a] 对匹配的参数始终允许  [e] 修改参数  [N] 否，可写“n 理由”：",
)
CONSOLE_VARIABLE_ARGUMENTS: Final = message(
    "TT2435",
    "The arguments that may differ, separated by commas (of {names}; empty: none): ",
    "哪些参数可以不同，用逗号分隔（可选 {names}；留空表示无）：",
)
CONSOLE_EDITED_ARGUMENTS: Final = message(
    "TT2436",
    "The arguments, as one line of JSON: ",
    "请以一行 JSON 输入参数：",
)
SERVER_LABEL_INVALID: Final = message(
    "TT9210",
    "A server cannot be labelled {label}: {why}.",
    "服务器不能使用标签 {label}：{why}。",
)
SERVER_LABELS_LOOK_ALIKE: Final = message(
    "TT9211",
    "The labels {label!r} and {other!r} look alike: their tools could be taken for each other's. Rename one.",
    "标签 {label!r} 与 {other!r} 过于相似：其工具可能被混淆。请改名。",
)
HOST_TOOL_NAME_INVALID: Final = message(
    "TT9212",
    "A tool cannot be called {name!r}: it takes a letter, then letters, digits, _ and -, {limit} at the most, and "
    "no name that the host keeps for itself.",
    "工具不能命名为 {name!r}：须以字母开头，其后为字母、数字、_ 和 -，最多 {limit} 个字符，且不能是主机保留的名称。",
)
HOST_EFFECT_UNKNOWN: Final = message(
    "TT9213",
    "{path}.effects: no effect is called {names}; there are read, write, destructive and open-world.",
    "{path}.effects：没有名为 {names} 的作用；可用 read、write、destructive 和 open-world。",
)
HOST_RENAME_COLLISION: Final = message(
    "TT9214",
    "{path}.rename: two tools get the same name.",
    "{path}.rename：两个工具得到同一名称。",
)

# the host: the life of servers
HOST_SERVER_START_TIMEOUT: Final = message(
    "TT9230",
    "The server {server} was not ready within {seconds:g} s.",
    "服务器 {server} 在 {seconds:g} 秒内未就绪。",
)
RESOURCE_NOT_FOLLOWED: Final = message(
    "TT9255",
    "{uri} cannot be followed at the server {server}: {problem}",
    "无法在服务器 {server} 上订阅 {uri}：{problem}",
)
HOST_SERVER_CRASHED: Final = message(
    "TT9231",
    "The server {server} failed in an unexpected way; the log has the reason.",
    "服务器 {server} 以未预料的方式失败；详情见日志。",
)
HOST_SERVER_STARTING: Final = message(
    "TT9232",
    "The server {server} is starting.",
    "服务器 {server} 正在启动。",
)
LAUNCH_NOT_APPROVED: Final = message(
    "TT9240",
    "The server {server} was not started: its command has not been approved yet: {command}. Look at it and "
    "approve it: tooltrue trust {file}",
    "服务器 {server} 未启动：其命令尚未获批准：{command}。请查看并批准：tooltrue trust {file}",
)
LAUNCH_DENIED: Final = message(
    "TT9241",
    "The server {server} was not started: its command was refused: {command}.",
    "服务器 {server} 未启动：其命令被拒绝：{command}。",
)
LAUNCH_APPROVALS_UNREADABLE: Final = message(
    "TT9242",
    "{file} contains the approved commands, and cannot be read: {problem}. Correct or remove it; no command "
    "counts as approved until then.",
    "{file} 保存已批准的启动命令，但无法读取：{problem}。请修复或删除；在此之前一律视为未批准。",
)
CREDENTIAL_SENDING_NOT_APPROVED: Final = message(
    "TT9248",
    "The server {server} was not connected to: sending {takes} to {origin} has not been approved. Look at it and "
    "approve it: tooltrue trust {file}",
    "未连接服务器 {server}：尚无人批准向 {origin} 发送 {takes}。请查看并批准：tooltrue trust {file}",
)
CREDENTIAL_SENDING_DENIED: Final = message(
    "TT9249",
    "The server {server} was not connected to: that {origin} is sent {takes} was refused.",
    "未连接服务器 {server}：向 {origin} 发送 {takes} 被拒绝。",
)
CONTRACT_CHANGED_SINCE_REVIEW: Final = message(
    "TT9247",
    "The contract was not accepted: {server} has published another version since it was shown. Look at it again.",
    "未接受任何内容：{server} 发布的内容已与所展示的不同。请重新查看。",
)

# the host: calls, for the model
HOST_SERVER_UNAVAILABLE: Final = message(
    "TT9250",
    "The server {server} is not available now: {problem} Go on without it, or try again later.",
    "服务器 {server} 目前不可用：{problem} 请先不用它，或稍后再试。",
)
CALLER_LISTS_NOT_READ: Final = message(
    "TT9347",
    "The tools of the server {server} are not known now: {problem} Go on without it, or try again later.",
    "目前无法获知服务器 {server} 的工具：{problem} 请先不用它，或稍后再试。",
)
CALLER_CONNECT_TOOL: Final = message(
    "TT9348",
    "Connect the server {server} for this user, who consents on a page. Then its other tools are listed.",
    "为此用户连接服务器 {server}：由用户在页面上同意。之后会列出其其他工具。",
)
CALLER_CONNECTED: Final = message(
    "TT9349",
    "The server {server} is connected. List the tools again: it has {count} now.",
    "服务器 {server} 已连接。请重新列出工具：它现在有 {count} 个。",
)
REMOTE_CALL_CONNECTION_LOST: Final = message(
    "TT9251",
    "{tool} has no answer: the connection to {server} broke. Its effects may have happened: check before you call "
    "it again. ({problem})",
    "{tool} 没有应答：与 {server} 的连接中断。其作用可能已经发生：再次调用前请先检查。（{problem}）",
)
REMOTE_CALL_TIMEOUT: Final = message(
    "TT9252",
    "{tool} of {server} gave no answer in time, and was cancelled. Its effects may have happened: check "
    "before you "
    "call it again. ({problem})",
    "{server} 的 {tool} 未及时应答，已取消。其作用可能已经发生：再次调用前请先检查。（{problem}）",
)
REMOTE_TOOL_REFUSED: Final = message(
    "TT9253",
    "The server {server} refused to run {tool}. In its own words: {said}",
    "服务器 {server} 拒绝运行 {tool}。其原话：{said}",
)
REMOTE_REQUEST_REFUSED: Final = message(
    "TT9254",
    "The server {server} refused. In its own words: {said}",
    "服务器 {server} 拒绝了。其原话：{said}",
)

# the host: quarantine
SERVER_CONTRACT_TOO_LARGE: Final = message(
    "TT9260",
    "The server {server} publishes {count} tools, and {size} bytes in all ({parts}). More than {most} tools or "
    "{limit} bytes cannot be reviewed, so no tool of it is used: ask its operator to publish less.",
    "服务器 {server} 发布了 {count} 个工具，总计 {size} 字节（{parts}）。超过 {most} 个工具或 {limit} 字节则无法审"
    "阅，因此全部不予使用：请让其运营者减少发布内容。",
)
DUPLICATE_PUBLISHED_NAME: Final = message(
    "TT9262",
    "The server publishes {name!r} twice; the first counts.",
    "服务器两次发布 {name!r}；以第一个为准。",
)
HOST_NAME_TAKEN: Final = message(
    "TT9263",
    "The name {name} is taken already, by {other}.",
    "名称 {name} 已被占用：{other}。",
)
DEFINITION_POISONED: Final = message(
    "TT9270",
    "{name} looks as if it were meant for a model and hidden from a person: {findings}",
    "{name} 疑似写给模型而对人隐藏的内容：{findings}",
)
DEFINITION_DRIFTED: Final = message(
    "TT9271",
    "{name} has changed since it was accepted ({kinds}). Look at the change and accept it, or not: tooltrue pins.",
    "{name} 与被接受时不同（{kinds}）。请查看变更并决定是否接受：tooltrue pins。",
)
DEFINITION_NOT_YET_ACCEPTED: Final = message(
    "TT9272",
    "{name} was not there when the server was accepted. Look at it and accept it, or not: tooltrue pins.",
    "{name} 在接受该服务器时并不存在。请查看并决定是否接受：tooltrue pins。",
)
RESOURCE_OF_SEVERAL_SERVERS: Final = message(
    "TT9264",
    "Several servers have this ({servers}); it is that of the first, which stands earlier.",
    "多个服务器都有此项（{servers}）；它属于排在前面的第一个。",
)

# models and their requests
MODEL_MESSAGE_INVALID: Final = message(
    "TT9500",
    'Message {number} cannot be sent: write {{"role": "system", "user" or "assistant", "content": text}}, or a '
    "message that a run has returned.",
    '第 {number} 条消息无法发送：应为 {{"role": "system"、"user" 或 "assistant", "content": 文本}}，或某次运行返回'
    "的消息。",
)
UNKNOWN_PROVIDER: Final = message(
    "TT9501",
    "No shape of tools is known as {provider!r}; known: {known}.",
    "未知的工具格式 {provider!r}；已知：{known}。",
)
EXPOSED_NAME_INVALID: Final = message(
    "TT9502",
    "The name {name!r} is not accepted by every provider: 1 to 64 letters, digits, '_' and '-'. Give the tool an "
    "alias.",
    "名称 {name!r} 并非所有提供方都接受：须为 1 到 64 个字母、数字、'_' 或 '-'。请为该工具指定别名。",
)
EXPOSED_NAME_TAKEN: Final = message(
    "TT9503",
    "The name {name!r} is that of {other!r} already; give one of them an alias.",
    "名称 {name!r} 已属于 {other!r}；请为其中之一指定别名。",
)
MODEL_CALLED_MISSING_TOOL: Final = message(
    "TT9510",
    "There is no tool {name!r}. Call a tool by its exact name, for example: {near}.",
    "没有名为 {name!r} 的工具，未执行任何调用。请使用准确的工具名，例如：{near}。",
)
MODEL_ARGUMENTS_NOT_OBJECT: Final = message(
    "TT9511",
    "{name} was not called: its arguments have to be one JSON object ({problem}). Write the whole object again.",
    "未调用 {name}：参数必须是一个 JSON 对象（{problem}）。请重新写出完整的对象。",
)
RUN_WITHOUT_USER_TO_ASK: Final = message(
    "TT9512",
    "{name} has a question for the user, and no user is here to answer. Continue without it, or tell the missing "
    "information.",
    "{name} 需要向用户提问，而此处无人应答。请不使用它继续，或说明它需要什么。",
)
MODEL_ANSWER_CUT: Final = message(
    "TT9513",
    "{name} was not called: your answer was cut at its length limit, so the arguments may be incomplete. "
    "Call again with shorter arguments.",
    "未调用 {name}：你的回答因长度限制被截断，参数可能不完整。请用更短的参数重新调用。",
)
RUN_CALL_INTERRUPTED: Final = message(
    "TT9514",
    "{name} was stopped before it ended. It may have had effects all the same: look before you call it again.",
    "{name} 在结束前被停止，但仍可能已产生影响：再次调用前请先查看。",
)
RUN_TOKENS_EXHAUSTED: Final = message(
    "TT9515",
    "{name} was not called: the tokens of this run are used up.",
    "未调用 {name}：本次运行的令牌额度已用完。",
)
TOO_MANY_CALLS_IN_ANSWER: Final = message(
    "TT9516",
    "{name} was not called: one answer may hold {most} calls. Call again those that you still need.",
    "未调用 {name}：一次回答最多包含 {most} 个调用。请重新调用仍需要的工具。",
)
MODEL_ENDPOINT_REFUSED_REQUEST: Final = message(
    "TT9520",
    "The endpoint of {model} refuses the request{status}: {problem}",
    "{model} 的端点拒绝了请求{status}：{problem}",
)
MODEL_ENDPOINT_REJECTED_KEY: Final = message(
    "TT9521",
    "The endpoint of {model} does not accept the key{status}: {problem}",
    "{model} 的端点不接受该密钥{status}：{problem}",
)
MODEL_ENDPOINT_OVERLOADED: Final = message(
    "TT9522",
    "The endpoint of {model} takes no more at the moment{status}, also when asked again: {problem}",
    "{model} 的端点目前无法接受更多请求{status}，重试后亦然：{problem}",
)
MODEL_ENDPOINT_UNREACHABLE: Final = message(
    "TT9523",
    "The endpoint of {model} cannot be reached, or has gone away: {problem}",
    "无法连接 {model} 的端点，或连接已断开：{problem}",
)
MODEL_ENDPOINT_RESPONSE_INVALID: Final = message(
    "TT9524",
    "The endpoint of {model} sent an invalid answer: {problem}. No part of it was used.",
    "{model} 的端点返回的不是有效回答：{problem}。其内容未被使用。",
)
MODEL_KEY_MISSING: Final = message(
    "TT9525",
    "There is no key for {model}: put one into the environment variable {variable}.",
    "没有用于 {model} 的密钥：请将其放入环境变量 {variable}。",
)
MODEL_PACKAGE_MISSING: Final = message(
    "TT9526",
    "{model} is reached through the package of the extra {package!r}, which is not installed. Run: {command}",
    "访问 {model} 需要附加组件 {package!r}，但尚未安装。请运行：{command}",
)
MODEL_ENDPOINT_TIMEOUT: Final = message(
    "TT9527",
    "The endpoint of {model} has sent no data for {seconds:g} seconds.",
    "{model} 的端点已有 {seconds:g} 秒没有响应。",
)
UNKNOWN_MODEL: Final = message(
    "TT9528",
    "{model!r} names no model: write PROVIDER:MODEL, with one of {known}; or MODEL with a base URL.",
    "{model!r} 不是模型名称：请写 PROVIDER:MODEL，PROVIDER 为 {known} 之一；或在给出基础 URL 时写 MODEL。",
)
MODEL_ENDPOINT_NOT_RUNNING: Final = message(
    "TT9530",
    "No server answers at the endpoint of {model}: {problem}. Start it, or correct its URL.",
    "{model} 的端点处没有服务：{problem}。请启动它，或更正其 URL。",
)

# answers of servers that cannot be used
REMOTE_RESULT_UNUSABLE: Final = message(
    "TT9602",
    "{server} answered the call of {tool} with an unusable result, which was withheld. The effects of the call "
    "may have happened: check before you call it again, and tell the user. ({problem})",
    "{server} 对 {tool} 的调用给出了无法使用的应答，已被扣留。其作用可能已经发生：再次调用前请先检查，并告知用户。"
    "（{problem}）",
)
REMOTE_RESPONSE_UNUSABLE: Final = message(
    "TT9603",
    "{server} sent an unusable answer, which was withheld. Tell the user. ({problem})",
    "{server} 给出了无法使用的应答，已被扣留。请告知用户。（{problem}）",
)
REMOTE_TASK_CANCELLED: Final = message(
    "TT9541",
    "{tool} ran as a task of {server}, which was cancelled before its end. Its effects may have happened in part: "
    "check before you call it again.",
    "{tool} 作为 {server} 的任务运行，该任务在结束前已被取消。其部分作用可能已经发生：再次调用前请先检查。",
)
RUN_CALL_BECAME_TASK: Final = message(
    "TT9542",
    "{name} has become a task at its server and goes on there. Its result comes later, in a message of its own: do not "
    "wait for it, and do not repeat the call. Go on with something else, or tell the user that it runs.",
    "{name} 已成为其服务器上的任务，正在继续运行。结果将稍后以单独的消息给出：请勿等待，也请勿重复调用。"
    "请继续其他工作，或告知用户它正在运行。",
)
RUN_TASK_ENDED: Final = message(
    "TT9543",
    "Not from the user: the task of the call {name} with the arguments {arguments} has ended. Its result follows:",
    "并非来自用户：以参数 {arguments} 调用 {name} 的任务已结束。其结果如下：",
)
RUN_TASK_CANCELLED: Final = message(
    "TT9544",
    "The user cancelled the task of {name}. Its effects may have happened in part: check before you call it again.",
    "用户已取消 {name} 的任务。其部分作用可能已经发生：再次调用前请先检查。",
)
MODEL_URL_INVALID: Final = message(
    "TT9827",
    "{url} is no URL of a model: it begins with http:// or https://.",
    "{url} 不是模型的 URL：应以 http:// 或 https:// 开头。",
)
REASON_LABEL_UNREADABLE: Final = message(
    "TT9290",
    "it is empty, too long, or hides something",
    "它为空、过长，或含有隐藏内容",
)
REASON_LABEL_LOOKS_LIKE: Final = message(
    "TT9291",
    "it looks like {plain!r} and is not",
    "它看起来像 {plain!r}，其实不是",
)
REASON_LABEL_MIXES_SCRIPTS: Final = message(
    "TT9292",
    "letters of two scripts that look alike are mixed",
    "混用了两种文字中外形相似的字母",
)
REASON_APPROVALS_ALTERED: Final = message(
    "TT9293",
    "it is not what was written there",
    "内容不是当初写入的内容",
)
REASON_ANSWER_TOO_LONG: Final = message(
    "TT9540",
    "it is larger than {limit} characters",
    "它超过 {limit} 个字符",
)

# the files of clients
CLIENT_FILE_NOT_EDITED: Final = message(
    "TT4650",
    "{file} was left as it is: {problem}.",
    "{file} 保持原样：{problem}。",
)
REASON_KEY_TWICE: Final = message(
    "TT4651",
    "the key {key!r} stands twice in one object",
    "同一对象中有两个键 {key!r}",
)
REASON_NO_OBJECT_AT: Final = message(
    "TT4652",
    "{path} is not an object",
    "{path} 不是对象",
)
REASON_TABLE_WITHOUT_HEADER: Final = message(
    "TT4655",
    "{path} is not a table with a header of its own; edit it by hand",
    "{path} 不是有独立表头的表；请手动编辑",
)
REASON_EDIT_NOT_VERIFIED: Final = message(
    "TT4656",
    "the edit would have changed more than the server in question; edit it by hand",
    "编辑会改动该服务器以外的内容；请手动编辑",
)
REASON_UNSUPPORTED_KEY: Final = message(
    "TT4817",
    "its entry has a key that only the client can carry out",
    "其条目含有只有该客户端才能执行的键",
)
REASON_ASKS_FOR_INPUT: Final = message(
    "TT4818",
    "the client asks you for a value of it",
    "客户端会向您询问其中的值",
)
REASON_NEEDS_OPEN_FOLDER: Final = message(
    "TT4819",
    "it needs the folder that is open in the client",
    "它需要客户端中打开的文件夹",
)
REASON_LINK_LEADS_OUTSIDE: Final = message(
    "TT4657",
    "it is a link to {target}, which is outside of your home or of the project",
    "它是指向 {target} 的链接，位于您的主目录或项目之外",
)
REASON_NOT_A_FILE: Final = message(
    "TT4658",
    "it is not a regular file",
    "它不是普通文件",
)
CLIENT_FILE_CHANGED: Final = message(
    "TT4659",
    "{file} was changed by another program meanwhile, and was left as it is. Run the command again.",
    "{file} 在此期间被其他程序更改，因此保持原样。请重新运行该命令。",
)
HOST_LAYERS_REPLACED: Final = message(
    "TT4503",
    "Host(guarding=…) replaces all layers of the host, so Host(layers=…) would have no effect. Leave one out.",
    "Host(guarding=…) 会替换宿主的全部中间件层，因此 Host(layers=…) 不会起作用。请去掉其一。",
)
