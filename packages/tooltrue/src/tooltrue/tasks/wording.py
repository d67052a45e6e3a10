"""Messages about tasks, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

TOO_MANY_TASKS: Final = message(
    "TT5603",
    "{tool} was not started: {limit} tasks of this caller have not ended. Wait for one of them, or cancel one.",
    "{tool} 未启动：该调用方已有 {limit} 个任务尚未结束。请等待其中一个结束，或取消一个。",
)
TASK_STEP_INTERRUPTED: Final = message(
    "TT5604",
    "The task of {tool} ended: the server stopped within the step {step}, which may have taken effect. Check that "
    "before you call {tool} again.",
    "{tool} 的任务已结束：服务器在步骤 {step} 中停止，该步骤可能已经生效。请先核实，再重新调用 {tool}。",
)
TASK_TOOL_GONE: Final = message(
    "TT5605",
    "The task ended: the tool {tool} is not offered any more.",
    "任务已结束：工具 {tool} 已不再提供。",
)
TASK_STEP_NOT_ASYNC: Final = message(
    "TT5606",
    "In an async function of a task, once({key}, …) takes an async function: its value is stored before it returns.",
    "在任务的 async 函数中，once({key}, …) 需要 async 函数：其值会在返回前存储。",
)
TASK_WITHOUT_OUTCOME: Final = message(
    "TT5607",
    "The task ended without a result; the log of the server has the reason.",
    "任务结束但没有结果；原因见服务器日志。",
)
TASK_QUESTION_NOT_DECLARED: Final = message(
    "TT5608",
    "The task of {tool} asks its client for {missing}, which the call did not declare.",
    "{tool} 的任务需要向客户端请求 {missing}，但该调用没有声明此能力。",
)
TASKS_NOT_RUNNING: Final = message(
    "TT5609",
    "This server does not run tasks now.",
    "该服务器目前不运行任务。",
)
STATE_OF_TASK_UNREADABLE: Final = message(
    "TT5610",
    "The stored state of a task cannot be opened with the keys of this server.",
    "无法用本服务器的密钥打开任务的存储状态。",
)
TASK_DATABASE_NOT_OPENABLE: Final = message(
    "TT5611",
    "The database of tasks {url} cannot be opened: {problem}.",
    "无法打开任务数据库 {url}：{problem}。",
)
TASK_DATABASE_UNREACHABLE: Final = message(
    "TT5612",
    "The database of tasks {url} cannot be used now: {problem}. It is not known whether the last request took effect.",
    "任务数据库 {url} 目前无法使用：{problem}。上一个请求是否已生效无法得知。",
)
TASK_ENGINE_NOT_OPEN: Final = message(
    "TT5613",
    "The database of tasks {url} is not open.",
    "任务数据库 {url} 未打开。",
)
TASK_ENGINE_TWICE: Final = message(
    "TT5614",
    "A process runs the tasks of one database, and this one runs those of {other} already. Run the server with the "
    "tasks of {url} as a process of its own.",
    "一个进程只能运行一个数据库的任务，本进程已在运行 {other} 的任务。请在单独的进程中运行使用 {url} 的服务器。",
)
TASK_ROW_DAMAGED: Final = message(
    "TT5615",
    "The stored rows of a task in {url} are damaged.",
    "{url} 中存储的任务数据已损坏。",
)
TASK_PACKAGE_MISSING: Final = message(
    "TT5616",
    "Tasks need the package {package!r} of the extra 'tasks', which is not installed. Run: {command}",
    "任务需要附加组件 'tasks' 中尚未安装的软件包 {package!r}。请运行：{command}",
)
TASK_URL_NOT_SUPPORTED: Final = message(
    "TT5617",
    "{url!r} names no database of tasks; supported: sqlite:///path, postgresql://host/database.",
    "{url!r} 不是任务数据库；支持：sqlite:///path、postgresql://host/database。",
)
TASK_ENGINE_BESIDE_DBOS: Final = message(
    "TT5618",
    "Tasks run on DBOS, which this program uses itself; a process can have one of both. Run the server as a process of "
    "its own.",
    "任务运行在 DBOS 之上，而本程序自己也使用 DBOS；一个进程只能有其一。请在单独的进程中运行该服务器。",
)
TASK_DATABASE_SILENT: Final = message(
    "TT5619",
    "it did not answer in time",
    "它没有及时应答",
)
TASK_NOT_STORED: Final = message(
    "TT5633",
    "{tool} was not started: its task cannot be stored now. Try again later.",
    "{tool} 未启动：目前无法存储其任务。请稍后重试。",
)
TASK_CURSOR_STALE: Final = message(
    "TT5660",
    "The cursor is not valid, or its task has expired; list again from the start.",
    "游标无效，或其任务已过期；请从头重新列出。",
)
TASKS_OF_SEVERAL_SERVERS: Final = message(
    "TT4840",
    "Several servers have their tasks in {url}. Name one of them with --server NAME.",
    "{url} 中有多个服务器的任务。请用 --server NAME 指定其中之一。",
)
UPSTREAM_TASK_TOOL_CHANGED: Final = message(
    "TT5690",
    "The definition of {tool} has changed since the task began, so its questions are not answered any more. Cancel the "
    "task, and call {tool} again.",
    "{tool} 的定义自任务开始后已更改，因此不再回答其提问。请取消该任务，再重新调用 {tool}。",
)
TASK_CALL_INTERRUPTED: Final = message(
    "TT9385",
    "The task of {tool} ended: the gateway stopped while the call ran at the server {server}, so it may have taken "
    "effect. Check that before you call {tool} again.",
    "{tool} 的任务已结束：调用在服务器 {server} 上运行时网关停止，因此该调用可能已经生效。请先核实，"
    "再重新调用 {tool}。",
)
TASK_SERVER_AWAY: Final = message(
    "TT5691",
    "The task of {tool} ended: the server {server} is not connected, and the call was not sent. Call {tool} again "
    "later.",
    "{tool} 的任务已结束：服务器 {server} 未连接，调用没有发送。请稍后再次调用 {tool}。",
)
UPSTREAM_TASK_AWAY: Final = message(
    "TT9386",
    "The server {server}, which has this task, is not connected now. Ask again later.",
    "拥有此任务的服务器 {server} 目前未连接。请稍后再查询。",
)
TASK_DATABASE_NOT_FOUND: Final = message(
    "TT4841",
    "There is no database of tasks {what}. Servers of this user that have one: {known}. Name one with --server NAME, "
    "or a database with --store URL.",
    "没有任务数据库 {what}。此用户已有任务数据库的服务器：{known}。请用 --server NAME 或 --store URL 指定。",
)
TASK_KEYS_REQUIRED: Final = message(
    "TT4843",
    "The tasks in {store} are sealed, and there are no keys beside them. Name the keys of the server with "
    "--sealing-key-file FILE, or in TOOLTRUE_SEALING_KEY.",
    "{store} 中的任务已密封，旁边没有密钥文件。请用 --sealing-key-file FILE 或 TOOLTRUE_SEALING_KEY 提供服务器的密钥。",
)
TASK_KEYS_WRONG: Final = message(
    "TT4844",
    "The tasks in {store} are sealed with other keys than those in {place}. Name the keys of the server with "
    "--sealing-key-file FILE.",
    "{store} 中的任务并非用 {place} 中的密钥密封。请用 --sealing-key-file FILE 提供服务器的密钥。",
)
