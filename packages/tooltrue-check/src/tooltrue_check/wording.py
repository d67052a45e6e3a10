"""Messages of the checks and their verbs, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

FILE_WITHOUT_DEFINITIONS: Final = message(
    "TT9007",
    "{file} holds no definitions: expected a lock file, the result of tools/list, or an array of tools.",
    "{file} 中没有定义：应为锁文件、tools/list 的结果或工具数组。",
)
DUMP_INCOMPLETE_PAGE: Final = message(
    "TT9033",
    "{file} is one page of a list: its nextCursor says that more follow its {count}. Put all pages into one array, "
    "or name the server itself.",
    "{file} 只是列表的一页：其 nextCursor 表明在这 {count} 项之后还有更多。请将所有页合并为一个数组，"
    "或直接指定服务器。",
)
LOCK_NOT_RECORDED: Final = message(
    "TT9451",
    "{file} is written, but its change could not be recorded, so that the console does not list it: {problem}",
    "{file} 已写入，但其变更无法记录，因此控制台不会列出：{problem}",
)

# input of a check
SYMPTOM_ARGUMENTS_INVALID: Final = message(
    "TT9850",
    "{tool}: {count} of {calls} calls had arguments that do not fit; most often {where}.",
    "{tool}：{calls} 次调用中有 {count} 次参数不符；最常见：{where}。",
)
SYMPTOM_CALLERS_GAVE_UP: Final = message(
    "TT9851",
    "{tool}: {count} times its caller failed and made no further call ({codes}).",
    "{tool}：调用者失败后不再调用任何工具，共 {count} 次（{codes}）。",
)
SYMPTOM_CALLS_FAILED: Final = message(
    "TT9852",
    "{tool}: {count} of {calls} calls failed ({codes}).",
    "{tool}：{calls} 次调用中有 {count} 次失败（{codes}）。",
)
SYMPTOM_CALLS_REPEATED: Final = message(
    "TT9853",
    "{tool}: {count} of {calls} calls repeated an identical one shortly before.",
    "{tool}：{calls} 次调用中有 {count} 次与不久前的调用完全相同。",
)
SYMPTOM_CALLS_REFUSED: Final = message(
    "TT9854",
    "{tool}: {count} of {calls} calls were refused ({by}).",
    "{tool}：{calls} 次调用中有 {count} 次被拒绝（{by}）。",
)
SYMPTOM_SLOW_ANSWERS: Final = message(
    "TT9855",
    "{tool}: half of its answers took up to {p50}, 95 % up to {p95}, 99 % up to {p99}; {late} ran out of time.",
    "{tool}：一半的应答不超过 {p50}，95% 不超过 {p95}，99% 不超过 {p99}；{late} 次超时。",
)
SYMPTOM_LARGE_RESULTS: Final = message(
    "TT9856",
    "{tool}: half of its results had up to {p50}, 95 % up to {p95}; {refused} were too large to leave.",
    "{tool}：一半的结果不超过 {p50}，95% 不超过 {p95}；{refused} 次因过大而未送出。",
)
SYMPTOM_OLD_NAME_USED: Final = message(
    "TT9857",
    "{tool} is still called by an old name: {names}.",
    "{tool} 仍在以旧名称被调用：{names}。",
)
SYMPTOM_TOOL_NEVER_CALLED: Final = message(
    "TT9858",
    "{tool} was never called, among {calls} calls.",
    "在 {calls} 次调用中，{tool} 从未被调用。",
)
SYMPTOM_PAUSED_CALLERS: Final = message(
    "TT9859",
    "{count} calls came from callers that were paused for earlier calls: {who}.",
    "{count} 次调用来自因先前行为而被暂停的调用者：{who}。",
)
SYMPTOM_UNKNOWN_TOOLS_CALLED: Final = message(
    "TT9860",
    "{count} calls named tools that do not exist: {who}.",
    "{count} 次调用了不存在的工具：{who}。",
)
SYMPTOM_TOOL_NOT_RECORDED: Final = message(
    "TT9861",
    "{tool} has no record among {calls} calls, but {more} refusals were only counted, and may have been of it.",
    "在 {calls} 次调用中没有 {tool} 的记录，但另有 {more} 次拒绝只计了数，其中可能有它。",
)
ADVICE_CHECK_COUNTED_REFUSALS: Final = message(
    "TT9862",
    "A log of an older release, or of very many tools, does not say which. Look at those refusals before you "
    "change its description.",
    "旧版本的日志，或涉及极多工具的日志，不会注明是哪个工具。更改其描述之前请先查看这些拒绝。",
)
ADVICE_NARROW_SCHEMA: Final = message(
    "TT9870",
    "The schema is too wide, or the parameter is not described: describe it, list its values as an enum or a "
    "pattern, and name the source of the value.",
    "架构没有限定取值，或参数没有说明：请补充说明，用 enum 或 pattern 给出取值，并写明值从何而来。",
)
ADVICE_NAME_NEXT_STEP: Final = message(
    "TT9871",
    "The error does not name the next step, so that a model continues without the tool: name the next step in it.",
    "错误没有说明下一步怎么做，模型便放弃该工具：请在其中写明下一步。",
)
ADVICE_INVESTIGATE_FAILURES: Final = message(
    "TT9872",
    "A dependency of it fails, or it fails where it should refuse with a reason: look for these codes in the "
    "server's log, and say in the description when it fails.",
    "其依赖出了故障，或本应说明原因拒绝却直接失败：请在服务器日志中查看这些代码，并在描述中写明何时会失败。",
)
ADVICE_CONFIRM_COMPLETION: Final = message(
    "TT9873",
    "The result does not tell that it is done, or the next step: say so in it, and describe the result in the "
    "description.",
    "结果没有说明已经完成或接下来做什么：请在结果中写明，并在描述中说明返回什么。",
)
ADVICE_STATE_RULE: Final = message(
    "TT9874",
    "The model does not know the rule: state the limit in the description, hide the tool from callers that may "
    "not use it, or change the rule.",
    "模型不知道该规则：请在描述中写明限制，对无权使用者隐藏该工具，或修改规则。",
)
ADVICE_REDUCE_WORK: Final = message(
    "TT9875",
    "It does too much in one call: narrow it, page it, or report progress; say in the description how long it takes.",
    "一次调用做得太多：请缩小范围、分页或报告进度，并在描述中写明所需时间。",
)
ADVICE_REDUCE_RESULT: Final = message(
    "TT9876",
    "It returns more than is asked for: page it, let the caller choose the fields, or hand it out by reference.",
    "返回的多于所需：请分页、让调用者选择字段，或以引用方式交付。",
)
ADVICE_KEEP_OLD_NAME: Final = message(
    "TT9877",
    "Keep the old name in replaces=… until no caller uses it, and tell these callers.",
    "在无人使用旧名称之前请保留 replaces=…，并通知这些调用者。",
)
ADVICE_SHARPEN_DESCRIPTION: Final = message(
    "TT9878",
    "Its description is too general, a similar tool is chosen instead, or it is not needed: say when to use it, "
    "or remove it.",
    "描述过于笼统，或有相似的工具被优先选用，或无人需要：请写明何时使用，或将其移除。",
)
ADVICE_INSPECT_CALLER: Final = message(
    "TT9879",
    "A client continues after refusals, or a caller probes for tools: look at its calls.",
    "客户端在被拒绝后仍继续，或有人在试探：请查看他们调用了什么。",
)
ADVICE_ALIAS_RENAMED_TOOLS: Final = message(
    "TT9880",
    "A model remembers tools that were renamed or removed, or somebody guesses names: give a renamed tool replaces=….",
    "模型记得已改名或移除的工具，或有人在猜测名称：请为改名的工具设置 replaces=…。",
)
CAVEAT_UNCALLED_TOOLS_UNKNOWN: Final = message(
    "TT9890",
    "Which tools were never called is not known: name the server, or its lock file, with --target.",
    "无法得知哪些工具从未被调用：请用 --target 给出服务器或其锁文件。",
)
CAVEAT_CALLERS_INDISTINCT: Final = message(
    "TT9891",
    "All callers are {who}: several clients may be behind it, so repeated or abandoned calls cannot be attributed "
    "with certainty.",
    "所有调用者都是 {who}：其后可能有多个客户端，因此无法确定是谁放弃或重复了调用。",
)
CAVEAT_ARGUMENT_PATHS_MISSING: Final = message(
    "TT9892",
    "Of {count} calls with wrong arguments the record does not say where: an older release wrote it.",
    "有 {count} 次参数错误的记录没有写明位置：由旧版本写入。",
)
CAVEAT_RECORDS_UNREADABLE: Final = message(
    "TT9893",
    "{count} records could not be read: tooltrue audit verify says which.",
    "有 {count} 条记录无法读取：tooltrue audit verify 会指出是哪些。",
)
CAVEAT_STATISTICS_INCOMPLETE: Final = message(
    "TT9894",
    "There was too much to keep apart: {tools} calls of further tools and {callers} callers were left out.",
    "数量过多，未能逐一区分：有 {tools} 次对其他工具的调用和 {callers} 个调用者未计入。",
)
CAVEAT_TRUNCATION_NOT_RECORDED: Final = message(
    "TT9895",
    "Whether a result was truncated is not recorded: sizes are those of the sent results.",
    "记录中没有结果是否被截断：大小以实际送出的为准。",
)
CAVEAT_REFUSALS_WITHOUT_TOOL: Final = message(
    "TT9897",
    "{count} refusals were counted and not recorded one by one, so of which tools they were is not known.",
    "有 {count} 次拒绝只计数而未逐条记录，因此不知道属于哪些工具。",
)
TIME_ARGUMENT_INVALID: Final = message(
    "TT9896",
    "{text!r} is no moment: say 7d, 12h, 30m, or YYYY-MM-DD[THH:MM].",
    "{text!r} 不是时间：请写 7d、12h、30m 或 YYYY-MM-DD[THH:MM]。",
)
EXCUSE_RULE_UNKNOWN: Final = message(
    "TT9801",
    "{place}: no rule has the code {rule}. There are {nearest}.",
    "{place}：没有代码为 {rule} 的规则。现有：{nearest}。",
)
EXCUSE_OBSOLETE: Final = message(
    "TT9802",
    "{place}: a note: {rule} has no findings in {tools} any more; remove the excuse.",
    "{place}：提示：{rule} 在 {tools} 中已无发现；请删除这条豁免。",
)
BASELINE_FILE_INVALID: Final = message(
    "TT9803",
    "{file} is no baseline: {problem}.",
    "{file} 不是基线文件：{problem}。",
)
REASON_REPORT_KEY_MISSING: Final = message(
    "TT9833",
    "it needs {key!r}: {format} and 'findings'",
    "需要 {key!r}：{format} 和 'findings'",
)
REASON_TEXTS_MISSING: Final = message(
    "TT9834",
    "{path} needs the texts {names}",
    "{path} 需要文本 {names}",
)
UNKNOWN_CHECK_RULE: Final = message(
    "TT9804",
    "No rule is called {word!r}: give a code or its beginning, a name or a group. Near it: {nearest}.",
    "没有名为 {word!r} 的规则：请给出代码或其开头、名称或分组。相近的有：{nearest}。",
)
TARGET_NOT_FIXABLE: Final = message(
    "TT9805",
    "{target} cannot be fixed automatically: only dumps of tools/list as JSON and Python files of ours can. For "
    "values that are certain, the report names the value and its place.",
    "{target} 无法自动修复：只支持 tools/list 的 JSON 转储和本项目的 Python 文件。对于可以确定的值，报告会给出该值"
    "及其位置。",
)
DUPLICATE_CHECK_TARGET: Final = message(
    "TT9806",
    "Two targets are called {server}; give one of them once.",
    "有两个目标都叫 {server}；请只给出一次。",
)
FIXED_FILE_NOT_LOADABLE: Final = message(
    "TT9807",
    "{file} was not changed: with the fixes it cannot be loaded. {problem}",
    "{file} 未更改：写入修复后它无法加载。{problem}",
)
FIX_CHANGES_OTHER_FIELDS: Final = message(
    "TT9808",
    "{file} was not changed: the automatic fix would also change other published fields.",
    "{file} 未更改：自动修复还会改变其他对外发布的字段。",
)

# input of an evaluation
EVALUATION_QUESTION_INVALID: Final = message(
    "TT9881",
    '{place}: no question: {problem}. A question is one line, {{"question": TEXT, "tool": NAME, "arguments": '
    '{{…}}}}; "tool" is null for none, "steps" are several calls.',
    '{place}：不是问题：{problem}。一个问题占一行，形如 {{"question": 文字, "tool": 名称, "arguments": {{…}}}}；不'
    '应调用工具时 "tool" 为 null，多次调用写在 "steps" 中。',
)
EVALUATION_TOOL_UNKNOWN: Final = message(
    "TT9882",
    "{place}: {target} has no tool called {tool}. There are: {nearest}.",
    "{place}：{target} 中没有名为 {tool} 的工具。现有：{nearest}。",
)
EVALUATION_EXPECTED_TOOL_MISSING: Final = message(
    "TT9883",
    "{target} has no tool called {tool}, which {count} questions expect: there they count as wrong. If it has "
    "another name, say --renamed OLD=NEW.",
    "{target} 中没有名为 {tool} 的工具，而 {count} 个问题需要它：在此按答错计。若它已改名，"
    "请使用 --renamed 旧名=新名。",
)

# input of a search for tools
SEARCH_QUERY_INVALID: Final = message(
    "TT9820",
    '{place}: a question is one line, {{"tool": NAME, "query": TEXT}}, with "server" for one of two such tools.',
    '{place}：一个问题占一行，形如 {{"tool": 名称, "query": 文字}}；有两个同名工具时再加 "server"。',
)
SEARCH_QUERY_TOOL_UNKNOWN: Final = message(
    "TT9821",
    "{place}: no target has a tool called {tool}. There are: {nearest}.",
    "{place}：各目标中都没有名为 {tool} 的工具。现有：{nearest}。",
)
SEARCH_SERVER_LINE_INVALID: Final = message(
    "TT9822",
    '{place}: a server is one line, {{"server": NAME, "tools": […]}}, its tools as tools/list has them.',
    '{place}：一个服务器占一行，形如 {{"server": 名称, "tools": […]}}，工具与 tools/list 中的写法相同。',
)
DOCTOR_AUDIT_LOG_REQUIRED: Final = message(
    "TT9825",
    "Which audit log? Name a server of this user that has one ({known}), a file, or a URL.",
    "要查看哪个审计日志？请给出此用户已有审计日志的服务器（{known}）、文件或 URL。",
)
FILE_NOT_AUDIT_LOG: Final = message(
    "TT9826",
    "{file} is not an audit log: it has {count} lines and no record.",
    "{file} 不是审计日志：其 {count} 行都不是记录。",
)

# treatment of tools by clients and providers
PORTABILITY_NAME_TOO_LONG: Final = message(
    "TT9830",
    "Its name {name} has {length} characters; {profile} leaves a tool out above {limit}.",
    "名称 {name} 有 {length} 个字符；{profile} 会略去名称超过 {limit} 个字符的工具。",
)
PORTABILITY_TOO_MANY_TOKENS: Final = message(
    "TT9831",
    "The definitions are about {count} tokens; from {limit} on, {profile} lets a model search for tools.",
    "定义约有 {count} 个词元；达到 {limit} 个时，{profile} 改由模型搜索工具。",
)
PORTABILITY_NAME_NOT_ACCEPTED: Final = message(
    "TT9832",
    "{profile} does not take the name {name}: it takes {limit} characters of {characters} at the most.",
    "{profile} 不接受名称 {name}：最多 {limit} 个字符，且只能取自 {characters}。",
)
REASON_NO_QUESTIONS: Final = message(
    "TT9863",
    "there is none",
    "其中没有问题",
)
REASON_KEY_NOT_TEXT: Final = message(
    "TT9864",
    '"{key}" has to be text',
    '"{key}" 必须是文本',
)
REASON_TOOL_OR_STEPS: Final = message(
    "TT9865",
    'it needs either "tool" or "steps"',
    '需要 "tool" 或 "steps" 之一',
)
REASON_STEPS_NOT_CALLS: Final = message(
    "TT9866",
    '"steps" has to be an array of calls',
    '"steps" 必须是由调用组成的数组',
)
REASON_KEY_NOT_KNOWN: Final = message(
    "TT9867",
    "the key {name!r} is unknown",
    "未知的键 {name!r}",
)
REASON_STEP_WITHOUT_TOOL: Final = message(
    "TT9868",
    'a step needs a "tool"',
    '每个步骤都需要 "tool"',
)
REASON_TOOL_NOT_NAME: Final = message(
    "TT9869",
    '"tool" has to be a name, or null for none',
    '"tool" 必须是名称，或用 null 表示没有',
)
REASON_ARGUMENTS_NOT_OBJECT: Final = message(
    "TT9884",
    '"arguments" has to be an object',
    '"arguments" 必须是对象',
)
