"""Messages of the command, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

INTROSPECTION_ISSUER_AMBIGUOUS: Final = message(
    "TT1065",
    "--introspection is about one issuer, and --oauth names several. Say which one in a file: "
    "[auth.oauth.issuers.introspection].",
    "--introspection 只针对一个签发者，而 --oauth 给出了多个。请在文件的 [auth.oauth.issuers.introspection] 中说明。",
)
LABEL_SERVER_QUESTION: Final = message(
    "TT2440",
    "The server {server} asks:",
    "服务器 {server} 提问：",
)
HINT_CANCEL_QUESTION_KEY: Final = message(
    "TT2441",
    "Ctrl-D cancels the question at any time.",
    "随时可按 Ctrl-D 取消该问题。",
)
CONSOLE_ALLOW_REQUEST: Final = message(
    "TT2442",
    "Allow it? [y] once  [s] for this session  [N] no  [c] cancel: ",
    "是否允许？[y] 仅此一次  [s] 本次会话  [N] 否  [c] 取消：",
)
WARNING_EXTERNAL_PAGE: Final = message(
    "TT2443",
    "{server} wants you to visit a page of {host}. This program does not open the page and does not see it. If you "
    "trust {host}, open this address in your browser:",
    "{server} 希望您访问 {host} 的页面。本程序不会打开该页面，也看不到其内容。"
    "如果信任 {host}，请在浏览器中打开此地址：",
)
WARNING_LOOKALIKE_HOST: Final = message(
    "TT2444",
    "Take care: the host {host} stands for {name}. Such a name may imitate another one.",
    "请注意：主机 {host} 代表 {name}。此类名称可能仿冒其他名称。",
)
CONSOLE_PAGE_OPENED: Final = message(
    "TT2445",
    "Have you opened the page? [y] yes  [N] decline  [c] cancel: ",
    "是否已打开该页面？[y] 是  [N] 拒绝  [c] 取消：",
)
CONSOLE_AGREE_REQUEST: Final = message(
    "TT2446",
    "Do you agree? [y] yes  [N] decline  [c] cancel: ",
    "是否同意？[y] 是  [N] 拒绝  [c] 取消：",
)
LABEL_DATA_TO_SEND: Final = message(
    "TT2447",
    "This is to be sent to {server}:",
    "将向 {server} 发送以下内容：",
)
CONSOLE_SEND_DATA: Final = message(
    "TT2448",
    "Send this? [y] send  [e] change it  [N] decline  [c] cancel: ",
    "是否发送？[y] 发送  [e] 修改  [N] 拒绝  [c] 取消：",
)
WARNING_DANGEROUS_COMMAND: Final = message(
    "TT2449",
    "Dangerous: this command runs as you. The command can read, change and send all that you can. Start it only if "
    "you trust its source.",
    "危险：此命令以您的身份运行，可读取、更改和发送您能访问的一切内容。仅在信任其来源时启动。",
)
TARGET_NOT_SERVABLE: Final = message(
    "TT4002",
    "Cannot serve {target}: {problem}.",
    "无法启动 {target}：{problem}。",
)
OPTION_REQUIRES_HTTP: Final = message(
    "TT4004",
    "{option} requires --http HOST:PORT: over stdio it has no effect.",
    "{option} 须与 --http HOST:PORT 同用：通过 stdio 时它不起作用。",
)
OPTION_FOR_TOOLBOX_ONLY: Final = message(
    "TT4008",
    "{option} goes with other families, not with {target}.",
    "{option} 用于其他工具族，不适用于 {target}。",
)
TERMINAL_OR_CREDENTIAL_REQUIRED: Final = message(
    "TT4401",
    "Allowing needs a person: run this at a terminal, or name the file of a credential with --credential.",
    "批准须由人进行：请在终端中运行，或用 --credential 指定凭据文件。",
)
APPROVAL_CREDENTIAL_MISMATCH: Final = message(
    "TT4402",
    "The credential in {path} is not the one of this store: {problem}.",
    "{path} 中的凭据不属于此存储：{problem}。",
)
TARGET_IMPORT_FAILED: Final = message(
    "TT4012",
    "Cannot serve {target}: {file}, line {line}, raised {error}: {text}",
    "无法启动 {target}：{file} 第 {line} 行引发了 {error}：{text}",
)
TARGET_OF_OTHER_LIBRARY: Final = message(
    "TT4013",
    "Cannot serve {target}: its server is made with {library}, another library. Run it by its own command, "
    'python {target}; every verb takes that command as a target, as in tooltrue list "python {target}".',
    "无法启动 {target}：其中的服务器由另一个库 {library} 创建。请用它自己的命令 python {target} 运行；"
    '各子命令都可将该命令作为目标，例如 tooltrue list "python {target}"。',
)
TARGET_HAS_NO_SUCH_TOOL: Final = message(
    "TT4014",
    "{target} has no tool {name!r}. Near: {near}. `tooltrue list` shows all that it has.",
    "{target} 没有工具 {name!r}。相近的有：{near}。可用 `tooltrue list` 查看全部工具。",
)
TARGET_HAS_NO_TOOLS: Final = message(
    "TT4015",
    "{target} has no tools.",
    "{target} 没有工具。",
)
TARGET_HAS_NO_RESOURCES: Final = message(
    "TT4016",
    "{target} has no resources, and no templates.",
    "{target} 没有资源，也没有资源模板。",
)
TARGET_HAS_NO_PROMPTS: Final = message(
    "TT4017",
    "{target} has no prompts.",
    "{target} 没有提示。",
)
CONFIGURED_SERVERS_UNUSABLE: Final = message(
    "TT4018",
    "No server of {file} can be used: {servers}.",
    "{file} 中没有可用的服务器：{servers}。",
)
COMMAND_ARGUMENT_MISSING: Final = message(
    "TT4019",
    "{verb} needs {missing}. Example: {example}",
    "{verb} 需要 {missing}。示例：{example}",
)
UNKNOWN_COMMAND_OPTION: Final = message(
    "TT4020",
    "{verb} has no option {option}. Did you mean {meant}?",
    "{verb} 没有选项 {option}。您是否想用 {meant}？",
)
UNKNOWN_COMMAND_WITH_SUGGESTION: Final = message(
    "TT4021",
    "There is no command {name!r}. Did you mean: {near}?",
    "没有命令 {name!r}。您是否想用：{near}？",
)
UNKNOWN_COMMAND: Final = message(
    "TT4022",
    "There is no command {name!r}. There are: {verbs}.",
    "没有命令 {name!r}。现有命令：{verbs}。",
)
REASON_NOT_PYTHON_FILE: Final = message(
    "TT4031",
    "it is not a Python file",
    "它不是 Python 文件",
)
REASON_MODULE_NOT_FOUND: Final = message(
    "TT4032",
    "there is no module {module!r}. Name a toolbox ({known}), FILE.py, FILE.py:NAME or package.module:NAME",
    "没有模块 {module!r}。请给出工具箱名称（{known}）、FILE.py、FILE.py:NAME 或 package.module:NAME",
)
REASON_SERVER_NOT_FOUND: Final = message(
    "TT4033",
    "no Server is called {name!r} there",
    "其中没有名为 {name!r} 的 Server",
)
REASON_SERVER_AMBIGUOUS: Final = message(
    "TT4034",
    "it needs one Server, found: {found}; say FILE.py:NAME",
    "需要恰好一个 Server，找到：{found}；请写 FILE.py:NAME",
)
REASON_NOT_JSON_OBJECT: Final = message(
    "TT4035",
    "it must be an object",
    "必须是对象",
)
REASON_NOT_KEY_VALUE: Final = message(
    "TT4036",
    "write KEY=VALUE, or all arguments as JSON with --args",
    "请写 KEY=VALUE，或用 --args 以 JSON 给出全部参数",
)
REASON_NOT_JSON: Final = message(
    "TT4037",
    "it is not JSON: {error}",
    "不是 JSON：{error}",
)
LABEL_NAME_OF_SET_VARIABLE: Final = message(
    "TT4042",
    "the name of a variable that is set",
    "已设置的环境变量的名称",
)
REASON_UNKNOWN_OR_REPLACED: Final = message(
    "TT4043",
    "unknown, or replaced",
    "未知，或已被替换",
)
PLUGIN_NAME_AMBIGUOUS: Final = message(
    "TT4070",
    "Two installed distributions offer {name}: {distributions}. Uninstall one of them.",
    "有两个已安装的发行包都提供 {name}：{distributions}。请卸载其中一个。",
)
PLUGIN_NOT_LOADABLE: Final = message(
    "TT4071",
    "The plugin {name} of {distribution} cannot be loaded: {problem}. Install that distribution again, or remove it.",
    "无法加载 {distribution} 的插件 {name}：{problem}。请重新安装或移除该发行包。",
)
DISTRIBUTION_NOT_INSTALLED: Final = message(
    "TT4072",
    "{name} comes with the distribution {distribution}, which is not installed. Run: {command}",
    "{name} 属于发行包 {distribution}，该发行包尚未安装。请运行：{command}",
)
PLUGIN_NOT_A_FAMILY: Final = message(
    "TT4073",
    "The entry point {name} of the group tooltrue.families must name a Family of tooltrue.cli.families, not a "
    "value of the type {kind}.",
    "组 tooltrue.families 中的入口点 {name} 必须指向 tooltrue.cli.families 的 Family，而不是 {kind} 类型的值。",
)
OPTION_OF_ANOTHER_FAMILY: Final = message(
    "TT4074",
    "{option} is an option of {families}, which the command line does not name.",
    "{option} 是 {families} 的选项，而命令行中没有给出该名称。",
)
PROGRAM_OPTIONS_WITHOUT_PROGRAM: Final = message(
    "TT4600",
    "The words after -- ({options}) are options of a program: they go with FILE.py, FILE.py:NAME or "
    "package.module:NAME as the target.",
    "-- 之后的内容（{options}）是程序自己的选项：目标须为 FILE.py、FILE.py:NAME 或 package.module:NAME。",
)
NOTE_TOOLS_WITHOUT_DESCRIPTION: Final = message(
    "TT4601",
    "Tools without a description: {names}.",
    "没有描述的工具：{names}。",
)
NOTE_TOOLS_WITHOUT_EFFECT: Final = message(
    "TT4602",
    "Tools without a declared effect: {names}.",
    "未声明影响的工具：{names}。",
)
HINT_CHECK_EXPLAINS: Final = message(
    "TT4603",
    "`tooltrue check {target}` explains how to mend that.",
    "`tooltrue check {target}` 会说明如何补上。",
)
PROJECT_NAME_INVALID: Final = message(
    "TT4610",
    "{name!r} cannot name a project: use at most 64 lower-case letters and digits, with single hyphens or underscores "
    "between them and a letter first, such as weather or city-weather.",
    "{name!r} 不能作为项目名称：最多 64 个小写字母和数字，以字母开头，可用单个连字符或下划线分隔，"
    "例如 weather 或 city-weather。",
)
PROJECT_NAME_OF_MODULE: Final = message(
    "TT4611",
    "The project cannot be called {name}: its file {module}.py would take the place of the module {module} that is "
    "installed here. Choose another name.",
    "项目不能命名为 {name}：其文件 {module}.py 会取代此处已安装的模块 {module}。请换一个名称。",
)
PROJECT_FOLDER_NOT_EMPTY: Final = message(
    "TT4612",
    "{folder} exists, and is not an empty folder. Choose another name, or move it away first.",
    "{folder} 已存在，且不是空目录。请换一个名称，或先将其移走。",
)
PROJECT_FOLDER_NOT_WRITABLE: Final = message(
    "TT4613",
    "The folder {folder} cannot be made: {problem}.",
    "无法创建目录 {folder}：{problem}。",
)
HINT_NEXT_STEPS: Final = message(
    "TT4614",
    "The project {name} is in {folder}. Next: cd {folder}, then `tooltrue dev {file}` serves it while you write it, "
    "and `pytest` tests it. README.md has more.",
    "项目 {name} 位于 {folder}。接下来：cd {folder}，然后用 `tooltrue dev {file}` 边写边运行，用 `pytest` 测试。"
    "详见 README.md。",
)
DEV_REQUIRES_PROGRAM: Final = message(
    "TT4620",
    "{target} cannot be loaded anew: dev takes FILE.py, FILE.py:NAME or package.module:NAME. `tooltrue serve` serves "
    "other targets.",
    "{target} 无法重新加载：dev 的目标须为 FILE.py、FILE.py:NAME 或 package.module:NAME。"
    "其他目标请用 `tooltrue serve`。",
)
DEV_LISTENS_ON_LOOPBACK: Final = message(
    "TT4621",
    "dev does not listen on {address}, which other machines reach. Give a loopback address, such as --http :8000, or "
    "serve others with `tooltrue serve`.",
    "dev 不会在其他机器可访问的 {address} 上监听。请给出回环地址，例如 --http :8000，"
    "或用 `tooltrue serve` 向他人提供服务。",
)
NOTE_DEV_SERVING: Final = message(
    "TT4622",
    "{server} serves at {url}. When {target} or a module beside it changes, it is loaded anew. Ctrl-C ends it.",
    "{server} 正在 {url} 提供服务。{target} 或其旁边的模块变化时将重新加载。按 Ctrl-C 结束。",
)
NOTE_DEV_FILES_CHANGED: Final = message(
    "TT4623",
    "Changed: {files}. Loading anew …",
    "已变化：{files}。正在重新加载……",
)
NOTE_DEV_CONTRACT_CHANGED: Final = message(
    "TT4631",
    "Loaded anew; the contract has changed: {changes}.",
    "已重新加载；契约有变化：{changes}。",
)
NOTE_DEV_CONTRACT_UNCHANGED: Final = message(
    "TT4632",
    "Loaded anew; the contract is the same.",
    "已重新加载；契约没有变化。",
)
NOTE_DEV_SERVES_STILL: Final = message(
    "TT4624",
    "The server from before this change keeps running.",
    "此次变化之前的服务器继续运行。",
)
NOTE_DEV_WAITS_FOR_CHANGE: Final = message(
    "TT4625",
    "No server runs. It starts when a file changes.",
    "当前没有服务器在运行。文件变化后将启动。",
)
NOTE_DEV_ENDED: Final = message(
    "TT4626",
    "The program has ended by itself, with the exit code {status}.",
    "程序已自行结束，退出码为 {status}。",
)
CONSOLE_FETCH_INSPECTOR: Final = message(
    "TT4627",
    "`{command}` fetches the official Inspector from the npm registry, and runs it as you. Start it?",
    "`{command}` 将从 npm 软件包索引获取官方 Inspector，并以您的身份运行。是否启动？",
)
HINT_INSPECTOR_STARTS: Final = message(
    "TT4628",
    "The Inspector starts: {command}",
    "正在启动 Inspector：{command}",
)
NOTE_INSPECTOR_WITHOUT_NODE: Final = message(
    "TT4629",
    "The Inspector needs Node.js, and there is no npx here. Where there is, start it with: {command}",
    "Inspector 需要 Node.js，而此处没有 npx。在装有 npx 的机器上可这样启动：{command}",
)
INSPECTOR_REQUIRES_PERSON: Final = message(
    "TT4630",
    "--inspector asks before npx fetches the Inspector, and there is no terminal to ask at. In a script, add --yes.",
    "--inspector 在 npx 获取 Inspector 之前会询问，而此处没有可供询问的终端。在脚本中请加上 --yes。",
)
SSE_REQUIRES_SINGLE_WORKER: Final = message(
    "TT4010",
    "--sse goes with one worker: the session of an HTTP+SSE client lives in the process that has its stream. "
    "Serve such clients from a process of their own, or without --workers.",
    "--sse 只能用于单个工作进程：HTTP+SSE 客户端的会话存在于持有其流的进程中。请用单独的进程服务此类客户端，"
    "或不使用 --workers。",
)
DUPLICATE_API_KEY_NAME: Final = message(
    "TT4204",
    "{path} has a key called {name} already. Choose another name, or take the old one out of the file first.",
    "{path} 中已有名为 {name} 的密钥。请换一个名称，或先从文件中删除旧密钥。",
)
OPTION_REQUIRES_OTHER_OPTION: Final = message(
    "TT4205",
    "{option} goes with {other}. Say both, or neither.",
    "{option} 须与 {other} 一起使用。请同时给出，或都不给出。",
)
COMMAND_ARGUMENT_UNREADABLE: Final = message(
    "TT4006",
    "Cannot read the argument {what}: {problem}.",
    "无法读取参数 {what}：{problem}。",
)
CONFIG_FOR_LOCAL_SERVER_ONLY: Final = message(
    "TT4312",
    "--config goes with a server of ours that runs here (toolbox name, FILE.py, module:NAME), not with {target}.",
    "--config 用于在本进程中运行的自有服务器（工具箱名称、FILE.py、module:NAME），不适用于 {target}。",
)
GATEWAY_MAP_TITLE: Final = message(
    "TT4821",
    "The gateway of {file}, with the operator's file {config}",
    "{file} 的网关，运维配置文件：{config}",
)
GATEWAY_RULES_COUNTED: Final = message(
    "TT4822",
    "{count} rules decide; a call that none matches is denied.",
    "由 {count} 条规则决定；不匹配任何规则的调用会被拒绝。",
)
GATEWAY_RULES_ABSENT: Final = message(
    "TT4823",
    "There are no rules: every caller may use every tool.",
    "没有规则：每个调用方都可以使用每个工具。",
)
GATEWAY_MAP_WAYS: Final = message(
    "TT4824",
    "Ways in for callers",
    "调用方的入口",
)
GATEWAY_MAP_SERVERS: Final = message(
    "TT4825",
    "Servers",
    "服务器",
)
GATEWAY_MAP_WORKINGS: Final = message(
    "TT4826",
    "Connections, credentials and limits",
    "连接、凭据与限制",
)
PLAN_FOR_LOCAL_SERVER_ONLY: Final = message(
    "TT4075",
    "--plan goes with a server of ours that runs here (toolbox name, FILE.py, module:NAME), not with {target}.",
    "--plan 用于在本进程中运行的自有服务器（工具箱名称、FILE.py、module:NAME），不适用于 {target}。",
)
POLICY_ENTRY_NOT_FOUND: Final = message(
    "TT4313",
    "This server has no entry called {name!r}. Near: {nearest}.",
    "本服务器没有名为 {name!r} 的项。相近的有：{nearest}。",
)
CONFIG_WITHOUT_RULES: Final = message(
    "TT4314",
    "{file} has no rules: add [[rules]].",
    "{file} 中没有规则：请添加 [[rules]]。",
)
AUDIT_LINE_NOT_RECORD: Final = message(
    "TT4315",
    "{place}: this is no record of an audit log; each line is one JSON object.",
    "{place}：不是审计日志记录；每行应为一个 JSON 对象。",
)
AUDIT_LOG_NOT_FOUND: Final = message(
    "TT7015",
    "There is no audit log {what}. Servers of this user that have one: {known}. Name one with --server NAME, or a "
    "log with --log URL.",
    "没有审计日志 {what}。此用户已有审计日志的服务器：{known}。请用 --server NAME 或 --log URL 指定。",
)
AUDIT_LOG_REQUIRED: Final = message(
    "TT7016",
    "Which audit log? Say --server NAME, or --log URL. Servers of this user that have one: {known}.",
    "要查看哪个审计日志？请用 --server NAME 或 --log URL 指定。此用户已有审计日志的服务器：{known}。",
)
AUDIT_LOG_NAMED_TWICE: Final = message(
    "TT7017",
    "Name the audit log once: by TARGET, --server NAME or --log URL.",
    "审计日志只需指定一次：用 TARGET、--server NAME 或 --log URL。",
)
HINT_OTHER_AUDIT_LOGS: Final = message(
    "TT7018",
    "This is the log of {log}, which was written last. TARGET or --server NAME shows another: {others}.",
    "以下是最近写入的 {log} 的日志。可用 TARGET 或 --server NAME 查看其他日志：{others}。",
)
TARGET_WITHOUT_AUDIT_LOG: Final = message(
    "TT7019",
    "{target} keeps no audit log that can be read here. Servers of this user that have one: {known}. Say --server "
    "NAME, or --log URL.",
    "{target} 没有可在此读取的审计日志。此用户已有审计日志的服务器：{known}。请用 --server NAME 或 --log URL 指定。",
)

# audit verify: findings
LABEL_SERVER_CRASH: Final = message(
    "TT8003",
    "Crash: {crash}",
    "崩溃：{crash}",
)
LAUNCH_APPROVAL_REQUIRES_PERSON: Final = message(
    "TT9243",
    "To approve a command takes a person at a terminal, or --yes after a person has looked at it.",
    "批准命令须由人在终端操作，或由看过它的人使用 --yes。",
)
UNKNOWN_LAUNCH_APPROVAL: Final = message(
    "TT9244",
    "No approval begins with {digest}.",
    "没有以 {digest} 开头的批准。",
)
UNKNOWN_CONFIGURED_SERVER: Final = message(
    "TT9245",
    "{file} has no server {server}; it has {known}.",
    "{file} 中没有服务器 {server}；有 {known}。",
)
UNKNOWN_PENDING_ENTRY: Final = message(
    "TT9246",
    "No entry of {server} called {names} waits for acceptance.",
    "{server} 没有名为 {names} 的待接受条目。",
)
CHAT_TOOLS_REQUIRED: Final = message(
    "TT9529",
    "Say which tools there are, once: TARGET, or --config FILE.",
    "请指定工具来源，且只指定一次：TARGET 或 --config FILE。",
)

# connect
UNKNOWN_CLIENT: Final = message(
    "TT4660",
    "There is no client {name!r}. There are: {known}. For any other client, `tooltrue connect other TARGET` prints "
    "what to add to its configuration.",
    "没有客户端 {name!r}。现有：{known}。对于其他客户端，`tooltrue connect other TARGET` 会输出需要添加的配置。",
)
CLIENT_WITHOUT_PROJECT_FILE: Final = message(
    "TT4661",
    "{client} reads no file in the folder of a project. Leave out --project.",
    "{client} 不读取项目目录中的文件。请去掉 --project。",
)
CLIENT_FILE_NOT_MANAGED: Final = message(
    "TT4662",
    "No file of {client} is edited here, so there is nothing to remove or to undo.",
    "此处不编辑 {client} 的文件，因此没有可移除或撤销的内容。",
)
TARGET_NOT_CONNECTABLE: Final = message(
    "TT4663",
    "{target} cannot be installed into a client: give a toolbox, FILE.py, FILE.py:NAME, or package.module:NAME of an "
    "installed package.",
    "{target} 无法安装到客户端：请给出工具箱名称、FILE.py、FILE.py:NAME，或已安装软件包的 package.module:NAME。",
)
CLIENT_SERVER_NAME_INVALID: Final = message(
    "TT4665",
    "A server cannot be called {name!r} in the file of a client: use letters, digits, _ and -, {limit} at the most.",
    "客户端文件中的服务器不能命名为 {name!r}：请使用字母、数字、_ 和 -，最多 {limit} 个字符。",
)
CLIENT_ENTRY_OF_ANOTHER_PROGRAM: Final = message(
    "TT4666",
    "{file} has a server {name!r} already, which starts another program. Give another --name, or replace it with "
    "--force.",
    "{file} 中已有启动其他程序的服务器 {name!r}。请用 --name 换一个名称，或用 --force 替换它。",
)
CLIENT_ENTRY_NOT_FOUND: Final = message(
    "TT4667",
    "{file} has no server {name!r}. It has: {known}.",
    "{file} 中没有服务器 {name!r}。其中有：{known}。",
)
CLIENT_CHANGE_REQUIRES_PERSON: Final = message(
    "TT4668",
    "No file was written: the change needs a person at a terminal, or --yes.",
    "未写入任何内容：此更改须由人在终端确认，或使用 --yes。",
)
CLIENT_FILE_WITHOUT_BACKUP: Final = message(
    "TT4669",
    "There is no backup of {file} to restore.",
    "没有可恢复的 {file} 备份。",
)
CLIENT_FILE_CHANGED_SINCE: Final = message(
    "TT4670",
    "{file} has changed since connect wrote it. The lines above are what a restored backup would change. No file was "
    "written; --force restores it all the same.",
    "{file} 在 connect 写入之后又有更改。以上是恢复备份会带来的改动。未写入任何内容；--force 可强制恢复。",
)
REPORT_NO_DESTRUCTIVE_TOOL: Final = message(
    "TT4671",
    "No tool of {server} is destructive, so the server asks no questions before a call.",
    "{server} 没有破坏性工具，因此服务器在调用前不会询问。",
)
LABEL_DESTRUCTIVE_TOOLS: Final = message(
    "TT4672",
    "Destructive tools of {server}: {tools}.",
    "{server} 的破坏性工具：{tools}。",
)
LABEL_DESTRUCTIVE_TOOLS_UNKNOWN: Final = message(
    "TT4673",
    "If {server} has destructive tools:",
    "如果 {server} 有破坏性工具：",
)
HINT_CLIENT_SHOWS_QUESTIONS: Final = message(
    "TT4674",
    "Before such a call the server asks you, and {client} shows its question.",
    "执行此类调用之前，服务器会询问您，{client} 会显示该问题。",
)
HINT_CLIENT_GUARDS_ALONE: Final = message(
    "TT4675",
    "{client} asks you before each call, and a server cannot ask you through it. So --no-confirm is written: {client}"
    " alone guards such calls, and whatever you always allow there runs without a question. --confirm leaves it out; "
    "each such call is then refused until you run `tooltrue approvals allow TICKET`.",
    "{client} 在每次调用前都会询问您，而服务器无法通过它提问。因此写入 --no-confirm：此类调用仅由 {client} 把关，您在"
    "其中设为始终允许的工具将不经询问而运行。--confirm 会去掉该选项；此后每次此类调用都会被拒绝，直到您运行 "
    "`tooltrue approvals allow TICKET`。",
)
HINT_CLIENT_BEHAVIOUR_UNKNOWN: Final = message(
    "TT4676",
    "It is not known whether {client} asks you before each call and shows the question of a server. The safe default "
    "stays: where the question cannot be shown, such a call is refused until you run "
    "`tooltrue approvals allow TICKET`, as its answer says. If {client} asks you before each call, use --no-confirm.",
    "尚不清楚 {client} 是否在每次调用前询问您，以及能否显示服务器的问题。保留安全的默认设置：无法显示问题时，此类调用"
    "会被拒绝，直到您按应答所述运行 `tooltrue approvals allow TICKET`。如果 {client} 在每次调用前都会询问您，请使用 "
    "--no-confirm。",
)
HINT_NO_CONFIRM_CHOSEN: Final = message(
    "TT4677",
    "--no-confirm is written: the server asks no questions, and {client} alone guards such calls.",
    "写入 --no-confirm：服务器不作询问，此类调用仅由 {client} 把关。",
)
HINT_CONFIRM_CHOSEN: Final = message(
    "TT4678",
    "Where {client} cannot show the question of the server, such a call is refused until you run "
    "`tooltrue approvals allow TICKET`, as its answer says.",
    "如果 {client} 无法显示服务器的问题，此类调用会被拒绝，直到您按应答所述运行 `tooltrue approvals allow TICKET`。",
)
WARNING_SERVER_NOT_STARTED: Final = message(
    "TT4679",
    "The server did not start with this command line, so its tools are not known: {problem}",
    "服务器未能用此命令行启动，因此无法得知其工具：{problem}",
)
WARNING_TEMPORARY_ENVIRONMENT: Final = message(
    "TT4680",
    "This command runs in a temporary environment, {folder}. The command line below stops working once that is "
    "removed: install tooltrue in an environment that stays, and run the command from there.",
    "此命令在临时环境 {folder} 中运行。该环境被删除后，下面的命令行将无法使用：请先把 tooltrue 安装到"
    "长期保留的环境中，再从那里运行此命令。",
)
HINT_LINK_FOLLOWED: Final = message(
    "TT4681",
    "{link} is a link: its target {file} is edited.",
    "{link} 是链接：将编辑其目标 {file}。",
)
HINT_CLIENT_WRITES_ITSELF: Final = message(
    "TT4682",
    "{client} writes this file while it runs. Close it before you answer, so that it does not write over the change.",
    "{client} 运行时会写入此文件。请在回答之前关闭它，以免更改被覆盖。",
)
WARNING_SECRETS_IN_PROJECT: Final = message(
    "TT4683",
    "{file} belongs to a project and is usually shared: the values of --env are shared with it.",
    "{file} 属于项目，通常会被共享：--env 的值也会随之共享。",
)
CONSOLE_WRITE_CHANGE: Final = message(
    "TT4684",
    "Write this change?",
    "是否写入此更改？",
)
REPORT_CLIENT_FILE_WRITTEN: Final = message(
    "TT4685",
    "Written: {file}. The backup is {backup}; `{command}` restores it. Restart {client}, or reload its servers.",
    "已写入：{file}。备份为 {backup}；`{command}` 可恢复。请重新启动 {client}，或重新加载其服务器。",
)
HINT_CLIENT_FOLDER_NEW: Final = message(
    "TT4686",
    "There is no folder {folder} yet: is {client} installed? The folder will be made.",
    "目录 {folder} 尚不存在：是否已安装 {client}？将创建该目录。",
)
REPORT_CLIENT_FILE_UNCHANGED: Final = message(
    "TT4687",
    "{file} needs no change; nothing was written.",
    "{file} 无需更改；未写入任何内容。",
)
REPORT_NOTHING_WRITTEN: Final = message(
    "TT4688",
    "No file was written.",
    "未写入任何内容。",
)
REPORT_CLIENT_FILE_RESTORED: Final = message(
    "TT4689",
    "Restored: {file}. Restart {client}, or reload its servers.",
    "已恢复：{file}。请重新启动 {client}，或重新加载其服务器。",
)
HINT_BLOCK_FOR_FILE: Final = message(
    "TT4690",
    "Add this to {file}, beside the servers that stand there. Values in angle brackets are yours to fill in:",
    "请将以下内容添加到 {file}，与其中已有的服务器并列。尖括号中的值请自行填写：",
)
HINT_BLOCK_FOR_ANY_CLIENT: Final = message(
    "TT4691",
    "Add this to the configuration of your client; some use another key than mcpServers. Values in angle brackets "
    "are yours to fill in:",
    "请将以下内容添加到您的客户端配置中；有些客户端使用 mcpServers 以外的键。尖括号中的值请自行填写：",
)
HINT_IMPORT_BLOCK: Final = message(
    "TT4692",
    "{client} stores its servers itself. Open its settings, the MCP servers, and add a server by importing JSON. "
    "Paste this; values in angle brackets are yours to fill in:",
    "{client} 自行保存服务器设置。请打开其设置中的 MCP 服务器，选择添加并从 JSON 导入，然后粘贴以下内容；尖括号中的值"
    "请自行填写：",
)
SERVER_OPTION_MISPLACED: Final = message(
    "TT4693",
    "connect has no option {option}. Options of the server follow after --, as in: tooltrue connect cursor files -- "
    "--root /path",
    "connect 没有选项 {option}。服务器的选项写在 -- 之后，例如：tooltrue connect cursor files -- --root /path",
)
LABEL_ANY_CLIENT: Final = message(
    "TT4694",
    "your client",
    "您的客户端",
)
VERB_WRAP_REPLACED: Final = message(
    "TT4695",
    "`tooltrue wrap` is no longer there; the gateway puts the servers of a file behind one: tooltrue gateway {file}",
    "`tooltrue wrap` 已不再提供；由网关将文件中的服务器置于一个服务器之后：tooltrue gateway {file}",
)
# connect --gateway
HINT_CLIENT_ASKS_FOR_GATEWAY: Final = message(
    "TT4696",
    "{client} asks you before each call. So --no-confirm is written, and the gateway does not ask a second time: "
    "whatever you always allow in {client} runs without a question. --confirm leaves it out.",
    "{client} 在每次调用前都会询问您。因此写入 --no-confirm，网关不再重复询问：您在 {client} 中设为始终允许的工具"
    "将不经询问而运行。--confirm 会去掉该选项。",
)
CONSOLE_MOVE_SERVERS: Final = message(
    "TT4697",
    "Write these changes, and approve the commands above?",
    "是否写入这些更改，并批准以上命令？",
)
REPORT_SERVERS_BEHIND_GATEWAY: Final = message(
    "TT4698",
    "Behind the gateway now: {servers}. Their definitions are in {file}. Approved commands: {count}.",
    "现已置于网关之后：{servers}。其定义在 {file} 中。已批准的命令：{count} 条。",
)
CLIENT_WITHOUT_SERVERS_TO_MOVE: Final = message(
    "TT4699",
    "{file} has no server that can stand behind a gateway.",
    "{file} 中没有可置于网关之后的服务器。",
)
HINT_SERVER_STAYS: Final = message(
    "TT4813",
    "{server} stays with the client: {problem}.",
    "{server} 保留在客户端中：{problem}。",
)
WARNING_GATEWAY_FILE_STAYS: Final = message(
    "TT4814",
    "{file} has changed since connect wrote it, and stays. --force restores it too.",
    "{file} 在 connect 写入之后又有更改，将予保留。--force 会一并恢复。",
)
GATEWAY_NEEDS_CLIENT_FILE: Final = message(
    "TT4815",
    "No file of {client} is edited here. Put its servers into a file of yours, and give {client} the command "
    "`tooltrue gateway FILE` in their place.",
    "此处不编辑 {client} 的文件。请将其服务器放入您自己的文件，并为 {client} 配置命令 "
    "`tooltrue gateway FILE` 以取代它们。",
)
HINT_BACKUP_HOLDS_SECRETS: Final = message(
    "TT4816",
    "The backup still has the secrets that moved to the keyring: --undo needs them. Delete the backup once you are "
    "content.",
    "备份中仍有已移入密钥环的机密：--undo 需要它们。确认无误后请删除备份。",
)
COMMAND_GRANT_UNKNOWN: Final = message(
    "TT4804",
    "{caller} has granted nothing for {server}. `tooltrue grants list` shows the grants there are.",
    "{caller} 未对 {server} 授权。`tooltrue grants list` 会列出现有的授权。",
)
COMMAND_WITHOUT_GRANTS: Final = message(
    "TT4805",
    "{file} has no server whose callers have grants: no [servers.NAME.auth.caller].",
    "{file} 中没有调用者需授权的服务器：没有 [servers.NAME.auth.caller]。",
)
# tasks
TASK_DATABASE_REQUIRED: Final = message(
    "TT4842",
    "Which tasks? Say --server NAME, or --store URL. Servers of this user that have tasks: {known}.",
    "要查看哪些任务？请用 --server NAME 或 --store URL 指定。此用户已有任务的服务器：{known}。",
)
TASK_ID_UNKNOWN: Final = message(
    "TT4845",
    "No task begins with {task}. `tooltrue tasks list` shows the tasks there are.",
    "没有以 {task} 开头的任务。`tooltrue tasks list` 会列出现有的任务。",
)
TASK_ID_AMBIGUOUS: Final = message(
    "TT4846",
    "Several tasks begin with {task}. Give more of the id.",
    "有多个任务以 {task} 开头。请给出更长的编号。",
)
TASK_STATE_MISFIT: Final = message(
    "TT4847",
    "The task {task} is {state}: there is nothing to {verb}.",
    "任务 {task} 的状态为 {state}：无法执行 {verb}。",
)
TASK_QUESTION_CHOICE: Final = message(
    "TT4848",
    "Which question of the task {task}? Say --question KEY. It asks: {keys}.",
    "要回答任务 {task} 的哪个问题？请用 --question KEY 指定。它的问题：{keys}。",
)
TASK_QUESTION_NOT_ANSWERABLE: Final = message(
    "TT4849",
    "The question {key} cannot be answered here: a form takes KEY=VALUE, or a person at a terminal; a page and an "
    "approval take a person at a terminal; any other question is for its client.",
    "无法在此回答问题 {key}：表单可用 KEY=VALUE 或由终端前的人回答；网页和批准须由终端前的人"
    "处理；其他问题只能由其客户端回答。",
)
