"""Messages of the command tools, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# the command tools
COMMAND_ALLOWLIST_UNREADABLE: Final = message(
    "TT6101",
    "The allow-list {file} cannot be read: {problem}.",
    "无法读取允许列表 {file}：{problem}。",
)
COMMAND_ALLOWLIST_INVALID: Final = message(
    "TT6102",
    "The allow-list {file} is wrong at {problem}.",
    "允许列表 {file} 有误：{problem}。",
)
COMMAND_PROGRAM_NOT_FOUND: Final = message(
    "TT6103",
    "The command {command!r} runs {program!r}, which is no program in {path}. Install it, or give its absolute path.",
    "命令 {command!r} 要运行 {program!r}，但 {path} 中没有该程序。请安装它，或给出绝对路径。",
)
ALLOWLIST_WRITABLE_BY_COMMANDS: Final = message(
    "TT6104",
    "{place} lies in {root}, where commands may write: a change of it changes the commands that may be run, or "
    "the answers of a person. Move it out of there, or serve a folder without it.",
    "{place} 位于命令可写的 {root} 之内：能修改它，就能改变可运行或已获准的内容。请将其移出，或改用不含它的文件夹。",
)
COMMAND_INTERPRETER_NOT_ALLOWED: Final = message(
    "TT6105",
    "The command {command!r} runs {program}, which executes its arguments as code, and takes arguments from the "
    "model. Let it run a script that the list names by its absolute path, or say interpreter = true.",
    "命令 {command!r} 运行 {program}，而它会执行参数中的任何内容，且参数来自模型。请让它运行列表中以绝对路径写明的"
    "脚本，或写明 interpreter = true。",
)
COMMAND_OPTION_DANGEROUS: Final = message(
    "TT6106",
    "The command {command!r} has the option {option}, by which the program runs others or writes anywhere. "
    "Leave it "
    "out, give an enum of its values or a path of ours, or say interpreter = true.",
    "命令 {command!r} 含有选项 {option}，程序可借此运行其他程序或写入任意位置。"
    "请去掉它，为其值给出 enum 或使用 path 类型，"
    "或写明 interpreter = true。",
)
COMMAND_BATCH_FILE: Final = message(
    "TT6107",
    "The command {command!r} runs {program!r}: batch files read their arguments as a shell does, and are not run.",
    "命令 {command!r} 要运行 {program!r}：批处理文件会像 shell 一样解析参数，因此不予运行。",
)
COMMAND_ALLOWLIST_EMPTY: Final = message(
    "TT6108",
    "The allow-list is empty, so no command can run: name some in it, or with --allow.",
    "没有允许任何命令，因此无可运行：请在允许列表中列出命令，或使用 --allow。",
)
COMMAND_ENTRY_INVALID: Final = message(
    "TT6109",
    "The command {command!r} cannot be meant so: {problem}.",
    "命令 {command!r} 的定义不成立：{problem}。",
)
CONFINEMENT_NOT_AVAILABLE: Final = message(
    "TT6110",
    "This machine cannot hold programs with {missing}, and the allow-list requires it. Run where the kernel "
    "has it, "
    'or say confinement = "available".',
    '本机无法用 {missing} 约束程序，而允许列表要求如此。请在具备该能力的内核上运行，或写明 confinement = "available"。',
)
CONFINEMENT_NOT_SUPPORTED: Final = message(
    "TT6111",
    "This system cannot confine programs. Serve commands on Linux, or accept that they reach every file and host that "
    'the server can reach: --confinement available, or confinement = "available" in the allow-list.',
    "本系统无法约束程序。请在 Linux 上提供命令；若接受程序可访问服务器所能访问的一切文件和主机，请使用 "
    '--confinement available，或在允许列表中写明 confinement = "available"。',
)
COMMAND_FIRST_ARGUMENT_NOT_FIXED: Final = message(
    "TT6112",
    "The command {command!r} runs {program} without a fixed first argument, so that the model chooses it, also "
    'one that runs other programs. Put the first argument into run, like ["git", "log"], or say interpreter = '
    "true.",
    "命令 {command!r} 运行 {program} 而未写明子命令，因此由模型选择，其中包括会运行其他程序的子命令。请把第一个词"
    '写入 run，例如 ["git", "log"]，或写明 interpreter = true。',
)
UNKNOWN_ALLOWED_COMMAND: Final = message(
    "TT6120",
    "There is no such command at $.command; there are: {known}.",
    "$.command 处的命令不存在；可用：{known}。",
)
ALLOWED_COMMAND_OPTION_UNKNOWN: Final = message(
    "TT6121",
    "{where}: {command} takes no such option; it takes: {known}. Options are written in full, each as an item of "
    "its own. Usage: {usage}",
    "{where}：{command} 不接受该选项；可用：{known}。选项须完整书写，每个单独成项。用法：{usage}",
)
COMMAND_OPTION_VALUE_MISSING: Final = message(
    "TT6122",
    "The option {option} of {command} needs a value: put it into the next item. Usage: {usage}",
    "{command} 的选项 {option} 需要一个值：请放在下一项。用法：{usage}",
)
COMMAND_OPTION_TAKES_NO_VALUE: Final = message(
    "TT6123",
    "The option {option} of {command} takes no value: leave out '=' and the value.",
    "{command} 的选项 {option} 不带值：请去掉 '=' 及其后的内容。",
)
DUPLICATE_COMMAND_OPTION: Final = message(
    "TT6124",
    "The option {option} of {command} is given twice; give it once.",
    "{command} 的选项 {option} 出现了两次；请只给一次。",
)
COMMAND_VALUE_INVALID: Final = message(
    "TT6125",
    "{where}: the value {problem}. Correct it and call again.",
    "{where}：该值 {problem}。请更正后再次调用。",
)
COMMAND_VALUE_BEGINS_WITH_DASH: Final = message(
    "TT6126",
    "{where} begins with a dash, and a value may not: the program could take it for an option. For a file, write "
    "'./' before it.",
    "{where} 以短横线开头，而值不允许如此：程序可能将其当作选项。若为文件，请在前面加 './'。",
)
COMMAND_ARGUMENT_COUNT_WRONG: Final = message(
    "TT6127",
    "{command} does not take this number of arguments. Usage: {usage}",
    "{command} 的参数个数不符。用法：{usage}",
)
COMMAND_PATH_OUTSIDE_DIRECTORY: Final = message(
    "TT6128",
    "{where} is no path below the working directory. Give it from there, without a leading '/', like 'src/main.py'.",
    "{where} 不是工作目录之下的路径。请从工作目录开始书写，不以 '/' 开头，例如 'src/main.py'。",
)
WORKING_DIRECTORY_REQUIRED: Final = message(
    "TT6129",
    "Say in which folder to run: working_directory begins with one of {labels}.",
    "请指明在哪个文件夹中运行：working_directory 须以 {labels} 之一开头。",
)
COMMAND_ARGUMENT_UNPRINTABLE: Final = message(
    "TT6130",
    "An item of $.args is empty or has control characters, such as a line break; give words that can be seen.",
    "$.args 中有一项为空或含有换行等控制字符；请给出可见的文字。",
)
COMMAND_CONFINEMENT_FAILED: Final = message(
    "TT6140",
    "{command} was not run: it could not be held with {missing}, which its operator requires. Do not try again; "
    "tell the user.",
    "{command} 未运行：无法用 {missing} 约束它，而运营方要求如此。请勿重试，并告知用户。",
)
COMMAND_START_FAILED: Final = message(
    "TT6141",
    "{command} could not be started: {problem}. Tell the user if it stays so.",
    "无法启动 {command}：{problem}。未做任何操作；若持续如此，请告知用户。",
)
COMMAND_KILLED_EXTERNALLY: Final = message(
    "TT6146",
    "{command} was ended from outside, with all processes that it had started, and its progress is not known. "
    "Check its effects before you try again.",
    "{command} 连同其启动的一切被外部终止，无法得知进行到何处。重试之前，请先检查它所改动的内容。",
)

# the question before a command runs
LABEL_COMMAND_WITH_NETWORK: Final = message(
    "TT6147",
    "{program} {words} in {folder}, with network",
    "{program} {words}，在 {folder} 中，可访问网络",
)
LABEL_COMMAND_WITHOUT_NETWORK: Final = message(
    "TT6148",
    "{program} {words} in {folder}, without network",
    "{program} {words}，在 {folder} 中，不能访问网络",
)
COMMAND_TIMEOUT: Final = message(
    "TT6142",
    "It was ended after {seconds:g} seconds, with all processes that it had started; its output until then is "
    "above. Ask for less, or for a part.",
    "已运行 {seconds:g} 秒，连同其启动的一切均被终止；此前的输出见上。请缩小范围，或分部分执行。",
)
COMMAND_OUTPUT_LIMIT_EXCEEDED: Final = message(
    "TT6143",
    "It was ended because it wrote more than {bytes} bytes. Ask for less, such as fewer lines or one folder.",
    "因输出超过 {bytes} 字节而被终止。请减少请求内容，例如更少的行或单个文件夹。",
)
COMMAND_PROCESS_LIMIT_EXCEEDED: Final = message(
    "TT6144",
    "It was ended because it started more than {processes} processes. Do not try again as it is; tell the user.",
    "因启动的进程超过 {processes} 个而被终止。请勿原样重试，并告知用户。",
)
COMMAND_ENDED_BY_SIGNAL: Final = message(
    "TT6145",
    "A signal ended it ({signal}): it crashed, or took more time, memory or space for a file than it may. Ask for "
    "less, or tell the user.",
    "它被信号（{signal}）终止：可能崩溃，或超出了允许的时间、内存或文件大小。请减少请求内容，或告知用户。",
)
LABEL_THE_ALLOWLIST: Final = message(
    "TT6149",
    "the allow-list",
    "允许列表",
)
REASON_ARGUMENT_NOT_LAST: Final = message(
    "TT6150",
    "only the last argument may be many or optional, and {name} is not the last",
    "只有最后一个参数可以有多个值或可省略，而 {name} 不是最后一个",
)

# where no mechanism confines programs
COMMANDS_ARE_NOT_CONFINED: Final = message(
    "TT4740",
    "The commands run without confinement: this system has none, so each program reaches every file and host that the "
    "server can reach, whatever its entry says. {limits}",
    "命令在不受约束的情况下运行：本系统没有约束机制，因此无论条目如何写明，每个程序都能访问服务器所能访问的一切文件和主机。{limits}",
)
PROGRAMS_ENDED_BY_PROCESS_GROUP: Final = message(
    "TT4741",
    "A process group ends a program with what it has started, unless that leaves the group; CPU time, memory, size of "
    "files and open files of each process are limited as far as the system enforces it.",
    "进程组会终止程序及其启动的进程，除非后者离开该组；每个进程的 CPU 时间、内存、文件大小和打开文件数"
    "仅在系统执行的范围内受限。",
)
PROGRAMS_ENDED_BY_JOB_OBJECT: Final = message(
    "TT4742",
    "A job object ends a program with all that it has started, and limits their number, and CPU time and memory of "
    "each; size of files and open files are not limited.",
    "作业对象会终止程序及其启动的一切，并限制进程数量以及每个进程的 CPU 时间和内存；文件大小和打开文件数不受限。",
)
LABEL_COMMAND_NOT_CONFINED: Final = message(
    "TT4743",
    "{program} {words} in {folder}, not confined: it can reach all files and the network",
    "{program} {words}，在 {folder} 中，不受约束：可访问一切文件和网络",
)
COMMAND_VALUE_BEGINS_WITH_SLASH: Final = message(
    "TT4744",
    "{where} begins with a slash, and on Windows a value may not: the program could take it for an option. For a file, "
    "write its path from the working directory.",
    "{where} 以斜杠开头，而在 Windows 上值不允许如此：程序可能将其当作选项。若为文件，请从工作目录开始书写路径。",
)
COMMAND_VALUE_HAS_QUOTE: Final = message(
    "TT4745",
    "{where} has a double quotation mark, and on Windows a value may not: the program could split it into several "
    "words. Leave it out.",
    "{where} 含有双引号，而在 Windows 上值不允许如此：程序可能将其拆成多个词。请去掉它。",
)
COMMAND_TIMEOUT_IN_GROUP: Final = message(
    "TT4746",
    "It was ended after {seconds:g} seconds, with the processes of its group; one that had left the group may still "
    "run. Its output until then is above. Ask for less, or for a part.",
    "已运行 {seconds:g} 秒，连同其进程组中的进程被终止；已离开该组的进程可能仍在运行。"
    "此前的输出见上。请缩小范围，或分部分执行。",
)
COMMAND_KILLED_EXTERNALLY_IN_GROUP: Final = message(
    "TT4747",
    "{command} was ended from outside, and its progress is not known. Processes that it had started may still run. "
    "Check its effects before you try again.",
    "{command} 被外部终止，无法得知进行到何处。由其启动的进程可能仍在运行。重试之前，请先检查它所改动的内容。",
)
