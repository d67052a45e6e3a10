"""The Chinese help of the commands of this distribution, and the Chinese of Click's own texts.

Data for :mod:`tooltrue.cli.chinese_help`. The verbs of a plugin have their Chinese help in the plugin.

The keys of ``COMMANDS`` are paths such as ``"audit tail"``. Below each are ``help`` (the docstring), ``short`` (the
line in the list of commands), ``epilog``, and the help of each option by its longest spelling. An option that has the
same English help in several commands stands in ``SHARED``. Names of positional arguments (TARGET, FILE) stay as they
are: documentation and errors use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["CLICK", "COMMANDS", "DEFAULTS", "PLACEHOLDERS", "SHARED", "TYPES", "USAGE"]

_TARGET_OF_LIST = (
    "TARGET 是自有服务器（工具箱名称、FILE.py、module:NAME）、URL、带引号的命令，或服务器配置文件"
    "（mcpServers JSON、TOML）。"
)

COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "": {
        "help": "启动、列出、调用、检查和测试模型上下文协议（MCP）的工具，并决定谁可以使用它们。",
        "epilog": (
            "退出码：0 完成 · 1 工具以错误应答，或检查未通过 · 2 用法或设置有误 · 3 对端违反或拒绝协议 · "
            "4 无连接：无法启动、无法连接，或未及时得到应答"
        ),
        "--version": "显示版本并退出。",
        "--lang": "帮助和错误的语言。默认：取自区域设置。",
        "--debug": "记录工具崩溃时的所有栈帧，而不只是作者代码的栈帧。",
    },
    "approvals": {
        "short": "处理等待人工审批的调用。",
        "help": "列出、查看、批准和拒绝等待人工同意的调用。",
        "--store": "工单的存储。默认：$TOOLTRUE_APPROVALS，否则为您自己的文件。",
    },
    "approvals allow": {
        "short": "批准工单所述的调用。",
        "help": "显示 TICKET 并允许其调用执行；之后由调用方重新发起该调用。",
        "--once": "一小时内允许一次完全相同的调用。此为默认。",
        "--session": "一天内允许所有完全相同的调用。",
        "--pattern": "一天内允许参数符合此 JSON Schema 的所有调用。",
        "--credential": "用凭据文件代替终端确认。默认：$TOOLTRUE_CREDENTIAL。",
    },
    "approvals credential": {
        "short": "创建凭据，用于没有终端的场合。",
        "help": "将新凭据写入 FILE，只有您本人可读。请存放在任何工具都读不到的地方。",
    },
    "approvals deny": {
        "short": "拒绝工单所述的调用，或撤回已给的批准。",
        "help": "拒绝 TICKET 的调用；此前由它给出的批准随之失效。",
        "--reason": "拒绝的原因，供模型阅读。",
    },
    "approvals list": {
        "short": "列出等待审批和已获批准的调用。",
        "help": "列出尚未处理或仍允许调用的工单，最早的在前。",
    },
    "approvals show": {
        "short": "显示完整的工单。",
        "help": "显示 TICKET：完整列出每个参数，不可见字符以转义形式写出。",
    },
    "audit": {
        "short": "查看并验证服务器的审计日志。",
        "help": "查看并验证当前用户的服务器所写的审计日志。",
    },
    "audit export": {
        "short": "以 JSON Lines 格式导出全部记录。",
        "help": "以 JSON Lines 格式输出全部记录及其哈希值。",
        "--after": "仅输出此位置之后的记录。",
    },
    "audit prune": {
        "short": "删除某日期之前的记录。",
        "help": "删除 DATE 之前的记录。会留下一条签名记录，使其余记录仍可验证。",
        "--before": "日期，UTC。",
        "--key": "签名所用的密钥；不存在时自动创建。默认：当前用户的密钥。",
    },
    "audit search": {
        "short": "查找符合条件的记录。",
        "help": (
            "显示符合所有选项的记录；查找 TARGET 的日志，未指定时为最近写入的日志。\n\n"
            "通配符：* 代表任意文本，? 代表一个字符。"
        ),
        "--who": "调用方：主体的标识。",
        "--subject": "被调用的工具、提示或 URI。",
        "--called": "通过工具的这个旧名称发起的调用；'?*' 代表任意旧名称。",
        "--kind": "记录的类型：call、read、follow、get、complete、intent、refusals、pruned、seal。",
        "--effect": "调用的影响：read、write、destructive、open-world。",
        "--outcome": "调用的结果：ok、error、refused、asked、cancelled、abandoned。",
        "--code": "错误代码：TT…。",
        "--rule": "作出决定的规则。",
        "--trace": "所属的追踪。",
        "--instance": "所属的服务器：'NAME (INSTANCE)'。",
        "--since": "从此时起：YYYY-MM-DD，其后可加 THH:MM；UTC。",
        "--until": "到此时为止，含当天或当分钟。",
        "--unfinished": "仅显示已开始但没有结果的调用。",
        "-n": "最多显示的记录数。",
        "--json": "以 JSON Lines 格式输出记录。",
    },
    "audit stats": {
        "short": "统计调用。",
        "help": "按结果、工具、调用方和错误统计 TARGET 的日志；未指定时为最近写入的日志。",
        "--since": "从此时起，写法同 search。",
    },
    "audit tail": {
        "short": "显示最后的记录。",
        "help": "显示自有服务器 TARGET 的最后几条记录；未指定时为最近写入的日志。",
        "-n": "显示的记录数。",
        "--follow": "继续显示此后写入的记录。",
        "--json": "以 JSON Lines 格式输出记录。",
    },
    "audit verify": {
        "short": "验证日志是否完整。",
        "help": (
            "检查 TARGET 的日志是否被更改、删除、移动或截断；未指定时为最近写入的日志。\n\n"
            "如有，或找不到封存标记，退出码为 1。输出以结论开头。"
        ),
        "--seal": "存放在别处的封存标记。默认：SQLite 日志旁的文件。",
        "--key": "清理日志时签名所用的密钥。默认：当前用户的密钥。",
        "--unsealed": "接受没有封存标记的日志：其末尾可能已被截断。",
    },
    "call": {
        "short": "调用工具。",
        "help": (
            "用 KEY=VALUE 形式的参数调用 TARGET 的 TOOL。\n\n"
            "如果架构要求文本，值即为文本，否则按 JSON 解析；KEY:=VALUE 总是按 JSON 解析。"
        ),
        "--args": "以一个 JSON 对象给出全部参数；'-' 表示从标准输入读取。",
        "--timeout": "等待的秒数。",
        "--yes": "对所有询问回答“是”，并采用其默认值。",
        "--json": "以 JSON 输出完整结果。",
    },
    "chat": {
        "short": "与使用工具的模型对话。",
        "help": (
            "与 MODEL 对话，模型可以调用 TARGET 的工具：服务器配置文件中的所有服务器，或单个服务器。\n\n"
            "在终端中为连续对话，/help 列出可用命令。不在终端中，或使用 --json 时：标准输入即为唯一的问题，"
            "模型未能完成回答时退出码为 1。"
        ),
        "--config": "服务器配置文件：mcpServers JSON 或 TOML。等同于 TARGET。",
        "--timeout": "等待服务器启动的秒数。",
        "--system": "给模型的系统提示。",
        "--steps": "每个问题最多允许的模型应答次数。",
        "--no-stream": "等待完整的应答：用于不能流式传输调用的端点。",
        "--json": "从标准输入读取问题；每行输出一个事件。",
        "--rules": "运营者的规则和设置，例如 tooltrue.toml。",
    },
    "connect": {
        "short": "将服务器安装到客户端。",
        "help": (
            "将服务器 TARGET 安装到 CLIENT：工具箱名称、FILE.py、FILE.py:NAME 或 package.module:NAME。\n\n"
            "CLIENT 为 'claude-desktop'、'claude-code'、'cursor'、'vscode'、'windsurf'、'codex'、'gemini-cli' 或 "
            "'cherry-studio'；'other' 输出需要添加到其他客户端配置中的内容。会先显示对客户端文件的更改，"
            "文件的其余部分保持不变，并在其旁保留备份。OPTIONS 是该服务器的 'tooltrue serve' 选项；与 --gateway 同用时"
            "则为 'tooltrue gateway' 的选项。"
        ),
        "--name": "服务器在客户端中的名称。默认：取自 TARGET。",
        "--env": "服务器的环境变量；只写名称时取其当前值。",
        "--project": "使用客户端在当前目录中的文件，而不是用户的文件。",
        "--confirm": "服务器是否在破坏性调用前询问。默认：按客户端而定。",
        "--print": "输出需要添加到文件中的内容，不写入任何文件。",
        "--remove": "从客户端移除名为 NAME 的服务器。",
        "--gateway": "将该客户端的服务器置于一个网关之后。",
        "--keyring": "与 --gateway 同用：将服务器的机密移入密钥环。",
        "--undo": "将文件恢复到本命令上次更改之前的状态。",
        "--force": "替换其他程序的条目，或恢复之后又有更改的文件。",
        "--dry-run": "显示更改，不写入任何文件。",
        "--yes": "不经询问直接写入，用于脚本。",
    },
    "dev": {
        "short": "启动文件的服务，并在其变化时重新加载。",
        "help": (
            "在编写 TARGET（FILE.py、FILE.py:NAME 或 package.module:NAME）的同时，通过 HTTP 提供服务。\n\n"
            "该文件或其旁边的模块变化时，将重新加载，并显示契约的变化。无法加载的文件不会影响正在运行的服务器。"
            "按 Ctrl-C 结束。"
        ),
        "--http": "提供服务的地址。默认：127.0.0.1:8000，或空闲端口。",
        "--no-confirm": "执行破坏性工具之前不询问任何人：用于由宿主询问用户的情形。",
        "--inspector": "打开官方 Inspector；经您同意后由 npx 获取。",
        "--yes": "与 --inspector 同用：npx 获取之前不询问。",
    },
    "gateway": {
        "short": "在服务器与客户端之间设置防护。",
        "help": (
            "将 FILE 中所有服务器的工具、资源和提示作为一个服务器提供，并经过防护的各层。\n\n"
            "FILE 是任意客户端的服务器列表，例如 mcp.json。命令未经人批准的服务器不会启动：参见 'tooltrue trust'。"
        ),
        "--view": "在标准输入输出上提供运维方文件中的哪个视图。",
    },
    "grants": {
        "short": "撤销调用者给网关的授权。",
        "help": "列出并撤销网关代表其调用者操作所凭的授权。",
        "--config": "网关的运营方文件。",
    },
    "grants list": {
        "short": "列出授权。",
        "help": "列出谁在何时连接了哪个服务器。",
        "--json": "输出 JSON。",
    },
    "grants revoke": {
        "short": "撤销一项授权。",
        "help": "撤销 CALLER 对 SERVER 的授权：删除其令牌，并在其签发者处撤销。",
        "--client": "只撤销对该客户端的同意。",
    },
    "inspect": {
        "short": "显示服务器的信息及其防护。",
        "help": (
            f"检查 TARGET。\n\n{_TARGET_OF_LIST}TARGET 为启动网关的命令时，输出该网关的概览；命令未经人工批准的服务器"
            "不会启动。"
        ),
        "--plan": "只输出该工具的一次调用所经过的各个步骤。",
    },
    "inventory": {
        "short": "列出各处配置的服务器。",
        "help": (
            "列出已知宿主的配置文件中的服务器：您的主目录和每个 PATH（项目目录或文件）。未指定时为当前目录。"
            "不启动任何服务器。"
        ),
    },
    "keys": {
        "short": "创建 HTTP 调用方的密钥。",
        "help": "创建 HTTP 调用方的密钥，用于：tooltrue serve … --http … --keys FILE。",
    },
    "keys list": {
        "short": "显示文件中的密钥。",
        "help": "显示每个密钥的名称、权限范围和有效期。",
    },
    "keys new": {
        "short": "创建密钥，并且仅显示一次。",
        "help": "创建名为 NAME 的密钥，将其摘要写入文件，并显示密钥。密钥本身不保存。",
        "--scope": "密钥的权限范围。可重复。",
        "--days": "有效天数。默认：直到从文件中删除。",
    },
    "list": {
        "short": "列出服务器的工具。",
        "help": f"列出 TARGET 的工具、资源或提示。\n\n{_TARGET_OF_LIST}",
        "--resources": "改为列出资源和资源模板。",
        "--prompts": "改为列出提示。",
    },
    "login": {
        "short": "登录服务器。",
        "help": (
            "在浏览器中登录 URL 的服务器。此后其他命令以您的身份使用它，直到 `tooltrue logout`。\n\n"
            "服务器签发的令牌保存在系统密钥环中，或只有您本人可读的文件中。"
        ),
        "--client-id": "本客户端在该服务器的授权服务器处的标识。",
        "--client-secret-env": "存放客户端密钥的环境变量。",
        "--issuer": "登记此标识的授权服务器；不会向其他授权服务器出示。",
        "--scope": "额外申请的权限范围。可重复。",
        "--trust": "位于专用网络的签发者。可重复。",
        "--port": "浏览器返回的端口。默认：任意空闲端口。",
        "--no-browser": "仅显示登录页面的地址。",
        "--timeout": "等待用户完成登录的秒数。",
    },
    "logout": {
        "short": "退出服务器的登录。",
        "help": "退出 URL 的服务器：删除已保存的令牌，并在其签发者处撤销。",
    },
    "new": {
        "short": "为服务器创建项目。",
        "help": (
            "在新目录 NAME 中创建项目：服务器及其测试、pyproject.toml、CI 文件和契约文件。\n\n"
            "NAME 是路径，其最后一部分即服务器的名称。目录要么完整创建，要么完全不创建。"
        ),
    },
    "pins": {
        "short": "审阅服务器的变更。",
        "help": (
            "显示 FILE 中的服务器最近一次启动时所发布、尚未被接受的内容：每项变更及其类别，以及其中疑似投毒之处。"
            "未经接受的内容不会提供给任何人。如有待接受的内容，退出码为 1。"
        ),
        "--accept": "接受 SERVER 当前发布的内容：给出的每个 TOOL，未给出时为全部。",
        "--refuse": "拒绝 SERVER 当前发布的内容：它仍不会提供给任何人。",
        "--yes": "与 --accept 同用：不作询问，用于脚本。",
    },
    "policy": {
        "short": "检查、解释和试用规则。",
        "help": "检查、解释和试用 tooltrue.toml 等文件中的规则。",
    },
    "policy check": {
        "short": "找出规则文件中的问题。",
        "help": (
            "检查 FILE：未知的键、无效的架构、永远不会匹配的规则。\n\n"
            "给出自有服务器 TARGET 时，还检查其中不存在的工具、资源、提示和参数名称。"
            "对疑似不合本意的规则的提示不算错误。"
        ),
    },
    "policy explain": {
        "short": "说明由哪条规则决定某次调用，以及原因。",
        "help": (
            "说明 FILE 中的规则如何决定以 KEY=VALUE 参数对服务器 TARGET 的 TOOL 的调用。\n\n"
            "不执行任何调用。调用会被允许时退出码为 0，否则为 1。"
        ),
        "--principal": "调用方。",
        "--scope": "调用方拥有的权限范围。可重复。",
        "--resource": "TOOL 是资源的 URI。",
        "--prompt": "TOOL 是提示的名称。",
        "--config": "规则文件。",
    },
    "policy simulate": {
        "short": "用规则文件重放审计日志。",
        "help": (
            "用 FILE 中的规则重放审计日志的记录，并统计各种决定的数量。\n\n"
            "如果规则需要读取的参数在记录中已被遮盖或截断，则该记录无法判定。不执行任何调用，也不作任何更改。"
        ),
        "--log": "审计日志，或其 JSON Lines 格式的记录。",
        "--server": "这些记录所属的服务器，用于含有 `server` 的规则。",
        "--changes": "仅显示决定会有变化的记录。",
        "--config": "规则文件。",
    },
    "serve": {
        "short": "通过标准输入输出或 HTTP 启动工具服务。",
        "help": (
            "启动 TARGET 的服务：工具箱名称（files、command），或 FILE.py、FILE.py:NAME、package.module:NAME。\n\n"
            "-- 之后的内容是 FILE.py 自己的选项。"
        ),
    },
    "tasks": {
        "short": "查看并处理服务器的任务。",
        "help": "列出、查看、取消和回答服务器的任务，无论该服务器是否在运行。",
        "--server": "此名称的服务器。默认：唯一有任务的服务器。",
        "--store": "任务的数据库。默认：$TOOLTRUE_TASKS，否则为该服务器的文件。",
        "--sealing-key-file": "服务器的密钥。默认：$TOOLTRUE_SEALING_KEY，否则为数据库旁边的文件。",
    },
    "tasks answer": {
        "short": "回答任务的问题。",
        "help": (
            "回答 TASK（编号的开头部分）所问的问题：通过其表单的字段，或在此终端。\n\n"
            "表单需要文本时值为文本，否则为 JSON；KEY:=VALUE 始终为 JSON。"
        ),
        "--question": "只回答此问题。",
        "--decline": "拒绝回答。",
    },
    "tasks cancel": {
        "short": "取消任务。",
        "help": "取消 TASK（编号的开头部分）。运行它的进程会在几秒内结束它。",
    },
    "tasks list": {
        "short": "列出任务。",
        "help": "列出服务器尚未删除的任务，最新的在前。",
        "--state": "只列出处于此状态的任务。",
        "--caller": "只列出此调用方的任务。",
        "--tool": "只列出此工具的任务。",
        "--limit": "最多列出多少个。",
        "--json": "输出 JSON。",
    },
    "tasks show": {
        "short": "查看任务。",
        "help": "查看 TASK（编号的开头部分）：其调用（密钥已遮盖）、所问的问题及其结果。",
        "--json": "输出 JSON。",
    },
    "test": {
        "short": "测试服务器是否符合其契约。",
        "help": (
            "用生成的参数调用每个 TARGET 的工具，报告不符合契约之处。\n\n"
            "仅调用声明为只读的工具，且不调用声明会访问服务器以外服务的工具，除非用 --effects、--destructive "
            "或 --open-world 放宽。"
        ),
        "--tool": "仅调用名称匹配的工具。可重复。",
        "--effects": "调用哪类工具。",
        "--destructive": "即使此工具可能造成破坏，也调用它。可重复。",
        "--varies": "允许此只读工具对相同的调用给出不同的结果。可重复。",
        "--open-world": "也调用会访问服务器以外服务的工具，且调用多次。",
        "--seed": "决定所生成的参数。",
        "--calls": "每个工具的有效调用次数。",
        "--seconds": "每次调用的时限（秒）。",
        "--in-flight": "同时进行的调用数。",
        "--p95": "如果某工具的每二十次调用中有一次超过此时间，则失败。",
    },
    "trust": {
        "short": "批准服务器配置文件中的命令。",
        "help": (
            "显示 FILE 中每个 SERVER 的命令（未指定时为全部），并请求批准。\n\n"
            "批准的正是所显示的内容：任何单词、目录或变量的变化都需要重新批准。"
        ),
        "--yes": "批准所显示的全部内容，用于脚本。",
        "--list": "列出已批准的命令。",
        "--revoke": "撤回一项批准，以其摘要的开头指定。",
        "--json": "与 --list 同用：以 JSON 输出。",
    },
    "wrap": {
        "short": "已由 'tooltrue gateway' 取代。",
        "help": "指出取代本命令的命令：'tooltrue gateway FILE'。",
        "--observe": "可以给出，但会被忽略。",
    },
}

SHARED: Final[Mapping[str, str]] = {
    "--http": "在此地址提供 Streamable HTTP，代替标准输入输出；':8000' 表示回环地址。",
    "--workers": "HTTP：进程数。",
    "--allow-host": "HTTP：另行接受的主机名。可重复。",
    "--sse": "HTTP：在 /sse 同时提供已弃用的 HTTP+SSE 传输。",
    "--no-confirm": "执行破坏性工具之前不询问任何人：用于由宿主询问用户的情形。",
    "--state": "HTTP：各工作进程共享状态的存储；多台机器用 redis://…。默认：私有的 SQLite 文件。",
    "--sealing-key-file": "HTTP：封装客户端所持状态的密钥；多台机器须使用相同的密钥。",
    "--connections": "HTTP：每个工作进程同时打开的连接数。默认：2000。",
    "--connections-per-address": "HTTP：每个地址的连接数。默认：总数的一半。",
    "--rest": "HTTP：同时应答 POST /tools/NAME，供不使用 MCP 的程序调用。",
    "--metrics": "HTTP：在 /metrics 提供 Prometheus 指标。",
    "--console": "HTTP：在 /console 提供 tooltrue-console 的控制台。",
    "--drain": "HTTP：从 SIGTERM 到停止的秒数。",
    "--log-format": "json：每次操作记录一行。",
    "--keys": "HTTP：接受持有此文件中密钥的调用方；参见 'tooltrue keys'。",
    "--oauth": "HTTP：接受持有此签发者令牌的调用方。可重复。",
    "--resource": "OAuth：客户端所知的本服务器端点。",
    "--scope": "OAuth：每个请求都需要的权限范围。可重复。",
    "--introspection": "OAuth：以此客户端的身份向签发者查询不透明令牌；其密钥在 $TOOLTRUE_CLIENT_SECRET 中。",
    "--introspection-endpoint": "OAuth：在此查询令牌，代替签发者元数据中的端点。",
    "--trust-proxy": (
        "HTTP：受信任的代理，或代理所在的网络：信任其 --user-header，或与 --public 同用时信任其给出的客户端地址。"
    ),
    "--user-header": "代理：给出调用方名称的请求头。",
    "--scopes-header": "代理：给出调用方权限范围的请求头。",
    "--demand-header": "代理：必须具有此值的请求头（mTLS）。可重复。",
    "--public": "HTTP：接受所有调用方，仅以地址区分。",
    # several commands
    "--base-url": "兼容 OpenAI 的端点；其密钥在 $TOOLTRUE_MODEL_KEY 中。",
    "--config": "运营者的规则和设置，例如 tooltrue.toml。",
    "--file": "保存密钥的文件。",
    "--format": "报告的格式。",
    "--json": "以 JSON 输出。",
    "--log": "日志本身：sqlite:PATH 或 postgresql://…",
    "--model": "PROVIDER:MODEL；使用 --base-url 时为 MODEL。",
    "--revision": "仅使用此协议版本。默认：双方都支持的最新版本。",
    "--server": "此名称的服务器的日志。",
    "--timeout": "等待应答的秒数。",
}

PLACEHOLDERS: Final[Mapping[str, str]] = {
    "ADDRESS": "地址",
    "CLIENT": "客户端",
    "DATE": "日期",
    "DIGEST": "摘要",
    "FILE": "文件",
    "FILE|URL": "文件|URL",
    "GLOB": "通配符",
    "HOST:PORT": "主机:端口",
    "ID": "标识",
    "ISSUER": "签发者",
    "KEY": "键",
    "MODEL": "模型",
    "NAME": "名称",
    "NAME=VALUE": "名称=值",
    "POSITION": "位置",
    "SCHEMA": "架构",
    "SCOPE": "权限范围",
    "SECONDS": "秒数",
    "TEXT": "文本",
    "TIME": "时间",
    "TOOL": "工具",
    "URL|FILE": "URL|文件",
}
"""Placeholders of the values of options. Those of plugins are among their own texts."""

DEFAULTS: Final[Mapping[str, str]] = {"60, or that of the file": "60，或文件中的值"}
"""Defaults of options that are described in words."""

TYPES: Final[Mapping[str, str]] = {
    "float range": "数值",
    "integer": "整数",
    "integer range": "整数",
    "path": "路径",
    "text": "文本",
}
"""Click's names of types: placeholders of options that declare none, and words in errors."""

USAGE: Final[Mapping[str, str]] = {
    " or ": " 或 ",
    "--accept needs a SERVER.": "--accept 需要 SERVER。",
    "--decline takes no KEY=VALUE.": "--decline 不能与 KEY=VALUE 同用。",
    "Error: {message}": "错误：{message}",
    "TARGET, --gateway, --remove NAME or --undo is needed.": "需要 TARGET、--gateway、--remove NAME 或 --undo。",
    "--keyring goes with --gateway.": "--keyring 须与 --gateway 同用。",
    "FILE, --list or --revoke DIGEST is needed.": "需要 FILE、--list 或 --revoke DIGEST。",
    "{value!r} is no number that can be counted with.": "{value!r} 不是可以计算的数值。",
}
"""Errors of this distribution on the use of a command, by their English text."""

CLICK: Final[Mapping[str, str]] = {
    # help
    "COMMAND [ARGS]...": "命令 [参数]...",
    "Commands": "命令",
    "Example: ": "示例：",
    "Options": "选项",
    "Positional arguments": "参数",
    "Show this message and exit.": "显示此帮助并退出。",
    "Usage:": "用法：",
    "[OPTIONS]": "[选项]",
    "default: {default}": "默认：{default}",
    "env var: {var}": "环境变量：{var}",
    "required": "必需",
    # errors
    "(Did you mean one of: {possibilities}?)": "您是否想用以下之一：{possibilities}？",
    "(Possible options: {possibilities})": "您是否想用以下之一：{possibilities}？",
    "Argument {name!r} takes {nargs} values.": "参数 {name!r} 需要 {nargs} 个值。",
    "Did you mean {possibility}?": "您是否想用 {possibility}？",
    "Error: {message}": "错误：{message}",
    "Got unexpected extra argument ({args})": "多余的参数（{args}）。",
    "Got unexpected extra arguments ({args})": "多余的参数（{args}）。",
    "Invalid value for {param_hint}: {message}": "{param_hint} 的值无效：{message}",
    "Invalid value: {message}": "值无效：{message}",
    "Missing argument": "缺少参数",
    "Missing command.": "缺少命令。",
    "Missing option": "缺少选项",
    "Missing parameter": "缺少参数",
    "No such command {name!r}.": "没有命令 {name!r}。",
    "No such option {name!r}.": "没有选项 {name!r}。",
    "No such option: {name}": "没有选项 {name}。",
    "Option {name!r} does not take a value.": "选项 {name!r} 不接受值。",
    "Option {name!r} requires an argument.": "选项 {name!r} 需要一个值。",
    "Option {name!r} requires {nargs} arguments.": "选项 {name!r} 需要 {nargs} 个值。",
    "Try '{command} {option}' for help.": "用 '{command} {option}' 查看帮助。",
    "{name} {filename!r} does not exist.": "{name} {filename!r} 不存在。",
    "{name} {filename!r} is a directory.": "{name} {filename!r} 是目录。",
    "{name} {filename!r} is a file.": "{name} {filename!r} 是文件。",
    "{name} {filename!r} is not readable.": "{name} {filename!r} 不可读。",
    "{name} {filename!r} is not writable.": "{name} {filename!r} 不可写。",
    "{value!r} does not match the format {format}.": "{value!r} 不符合格式 {format}。",
    "{value!r} does not match the formats {formats}.": "{value!r} 不符合以下任一格式：{formats}。",
    "{value!r} is not a valid {number_type}.": "{value!r} 不是有效的{number_type}。",
    "{value!r} is not one of {choices}.": "{value!r} 不是以下之一：{choices}。",
    "{value!r} is not {choice}.": "{value!r} 不是 {choice}。",
    "{value} is not in the range {range}.": "{value} 不在范围 {range} 之内。",
}
"""Click's messages, by their English text, which differs between its versions."""
