"""Messages of the test kit, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# the test kit: findings of its checks
FINDING_CHECK_ABORTED: Final = message(
    "TT8001",
    "The check ended early: {problem}",
    "该检查提前结束：{problem}",
)
LABEL_MORE_FINDINGS: Final = message(
    "TT8002",
    "({count} more of this kind.)",
    "（同类另有 {count} 项。）",
)
FINDING_TOOL_NAME_NOT_PORTABLE: Final = message(
    "TT8101",
    "Not a tool name that every host takes: 1 to 128 of A-Z a-z 0-9 _ - .",
    "并非所有宿主都接受的工具名：应为 1 到 128 个 A-Z a-z 0-9 _ - . 字符",
)
FINDING_DESCRIPTION_MISSING: Final = message(
    "TT8102",
    "It has no description, which a model chooses by.",
    "缺少供模型选用的描述。",
)
FINDING_SCHEMA_UNUSABLE: Final = message(
    "TT8103",
    "Its schema cannot be used: {problem}",
    "其架构无法使用：{problem}",
)
FINDING_DUPLICATE_TOOL_NAME: Final = message(
    "TT8104",
    "{count} tools have this name.",
    "有 {count} 个工具同名。",
)
FINDING_DEFINITION_INVALID: Final = message(
    "TT8105",
    "Its definition is not valid, so clients leave it out.",
    "其定义无效，客户端会将其略去。",
)
FINDING_TOOL_LISTING_FAILED: Final = message(
    "TT8111",
    "The tools cannot be listed: {problem}",
    "无法列出工具：{problem}",
)
FINDING_TOOL_LIST_UNSTABLE: Final = message(
    "TT8112",
    "The list is not the same twice in a row.",
    "连续两次列出的结果不同。",
)
FINDING_EXAMPLE_VIOLATES_SCHEMA: Final = message(
    "TT8122",
    "An example of its schema does not fit it: {example}",
    "其架构中的示例不符合架构：{example}",
)
FINDING_CALL_TIMEOUT: Final = message(
    "TT8131",
    "No answer within {seconds:g} s to {arguments}",
    "{seconds:g} 秒内没有应答：{arguments}",
)
FINDING_CALL_PROTOCOL_ERROR: Final = message(
    "TT8132",
    "{arguments} is answered with an error of the protocol: {problem}",
    "{arguments} 得到协议错误：{problem}",
)
FINDING_CALL_CLOSED_CONNECTION: Final = message(
    "TT8133",
    "{arguments} ended the connection: {problem}",
    "{arguments} 使连接中断：{problem}",
)
FINDING_TOOL_FAILED: Final = message(
    "TT8134",
    "It failed at {arguments}: {words}",
    "它在处理 {arguments} 时出错：{words}",
)
FINDING_STRUCTURED_CONTENT_MISSING: Final = message(
    "TT8141",
    "It publishes an output schema and returned no structured content.",
    "它公布了输出架构，却没有返回结构化内容。",
)
FINDING_RESULT_VIOLATES_SCHEMA: Final = message(
    "TT8142",
    "Its result breaks its output schema: {problem}",
    "其结果不符合输出架构：{problem}",
)
FINDING_TEXT_STRUCTURE_MISMATCH: Final = message(
    "TT8151",
    "Text and structured content differ: {text} and {structured}",
    "文本与结构化内容不一致：{text} 与 {structured}",
)
FINDING_STRUCTURED_CONTENT_WITHOUT_TEXT: Final = message(
    "TT8152",
    "Its structured content has no copy as text, which older clients need.",
    "其结构化内容没有旧客户端所需的文本副本。",
)
FINDING_IDEMPOTENT_RESULTS_DIFFER: Final = message(
    "TT8161",
    "Said to be idempotent, it answers the same call twice with {first} and {second}",
    "声明为幂等，但同一调用两次分别得到 {first} 和 {second}",
)
FINDING_IDEMPOTENT_CALL_CHANGED_STATE: Final = message(
    "TT8162",
    "Declared idempotent, but its second call changed the result of {readers}.",
    "声明为幂等，但第二次调用改变了 {readers} 的结果。",
)
FINDING_READ_RESULTS_DIFFER: Final = message(
    "TT8163",
    "It says that it reads, and answers {arguments} with {first} and then with {second}. If that is its purpose, "
    "as of a clock, name it: --varies {name}",
    "它声明为只读，但对 {arguments} 先后得到 {first} 与 {second}。若本应如此（例如时钟），请指明：--varies {name}",
)
FINDING_READ_CALL_CHANGED_STATE: Final = message(
    "TT8164",
    "It says that it reads, and a call of it changes the answers of {readers}.",
    "它声明为只读，但调用它会改变 {readers} 的结果。",
)
FINDING_LIMIT_IGNORED: Final = message(
    "TT8165",
    "It ignores {argument}: with {limit} and with a large value it returns the same {count} items.",
    "它忽略了 {argument}：取 {limit} 与取较大的值时，都返回同样的 {count} 项。",
)
FINDING_REVISION_UNUSABLE: Final = message(
    "TT8201",
    "{revision} is offered and cannot be spoken: {problem}",
    "声称支持 {revision}，却无法使用：{problem}",
)
FINDING_REVISIONS_LIST_DIFFERENT_TOOLS: Final = message(
    "TT8202",
    "{revision} lists other tools; in one only: {names}",
    "{revision} 列出的工具不同；仅其一拥有：{names}",
)
FINDING_REVISION_RESULTS_DIFFER: Final = message(
    "TT8203",
    "It answers otherwise in {other} than in {revision}.",
    "使用 {other} 时的应答与 {revision} 不同。",
)
FINDING_TRANSPORT_UNREACHABLE: Final = message(
    "TT8204",
    "The server cannot be reached over {carrier}: {problem}",
    "无法经由 {carrier} 访问服务器：{problem}",
)
FINDING_TRANSPORT_TOOLS_DIFFER: Final = message(
    "TT8205",
    "The tools over {carrier} are not the same.",
    "经由 {carrier} 得到的工具不同。",
)
FINDING_TOOLS_CAPABILITY_UNDECLARED: Final = message(
    "TT8206",
    "Tools are listed, and the capability is not declared.",
    "列出了工具，却没有声明该能力。",
)
FINDING_INVALID_ARGUMENTS_ACCEPTED: Final = message(
    "TT8301",
    "Arguments that break {rule} at {path} were accepted: {arguments}",
    "接受了在 {path} 处违反 {rule} 的参数：{arguments}",
)
FINDING_REFUSED_CALLS_CHANGED_STATE: Final = message(
    "TT8303",
    "After calls that should have been refused, {readers} tells something else.",
    "在本应被拒绝的调用之后，{readers} 的结果变了。",
)
FINDING_NON_OBJECT_ARGUMENTS_ACCEPTED: Final = message(
    "TT8304",
    "Arguments that are no object were not refused: {arguments} is answered {answer}",
    "没有拒绝不是对象的参数：{arguments} 得到 {answer}",
)
FINDING_UNKNOWN_TOOL_WRONG_ERROR: Final = message(
    "TT8305",
    "A tool that is not there should be error -32602, and is answered {answer}",
    "不存在的工具应得到错误 -32602，实际得到 {answer}",
)
FINDING_ERROR_DISCLOSES_INTERNALS: Final = message(
    "TT8306",
    "An error gives away {what}: {excerpt}",
    "错误信息泄露了内部细节（{what}）：{excerpt}",
)
FINDING_HOSTILE_TEXT_EXECUTED: Final = message(
    "TT8307",
    "A hostile text ({what}) was obeyed: {found}",
    "恶意文本（{what}）被执行：{found}",
)
FINDING_HOSTILE_TEXT_UNESCAPED: Final = message(
    "TT8308",
    "A hostile text ({what}) stands raw in an error, where a terminal would obey it.",
    "恶意文本（{what}）原样出现在错误信息中，终端会执行它。",
)
FINDING_ERROR_ECHOES_LONG_TEXT: Final = message(
    "TT8310",
    "An error repeats a text of {size} characters ({what}).",
    "错误信息重复了 {size} 个字符的文本（{what}）。",
)
FINDING_UNRESPONSIVE_AFTER_DEEP_NESTING: Final = message(
    "TT8311",
    "After a message nested {depth} levels deep the server does not answer any more.",
    "收到嵌套 {depth} 层的消息后，服务器不再应答。",
)
FINDING_DEEP_NESTING_UNANSWERED: Final = message(
    "TT8312",
    "A message nested {depth} levels deep has no answer.",
    "嵌套 {depth} 层的消息没有应答。",
)
FINDING_LATENCY_LIMIT_EXCEEDED: Final = message(
    "TT8401",
    "p95 is {p95:.3g} s, more than the limit of {limit:g} s.",
    "p95 为 {p95:.3g} 秒，超过上限 {limit:g} 秒。",
)
FINDING_CONCURRENT_CALLS_FAILED: Final = message(
    "TT8402",
    "{count} of {total} calls had no result.",
    "{total} 次调用中有 {count} 次没有结果。",
)
FINDING_CONCURRENT_RESULTS_DIFFER: Final = message(
    "TT8403",
    "{count} of {total} calls had another answer than the same call alone.",
    "{total} 次调用中有 {count} 次的应答与单独调用时不同。",
)
FINDING_UNRESPONSIVE_AFTER_TIMEOUTS: Final = message(
    "TT8501",
    "After calls that the client gave up it answers no more: {problem}",
    "客户端放弃调用之后不再应答：{problem}",
)
FINDING_CANCELLED_CALL_ANSWERED: Final = message(
    "TT8502",
    "A call that was cancelled was answered all the same.",
    "已取消的调用仍得到应答。",
)
FINDING_UNRESPONSIVE_AFTER_CANCELLATION: Final = message(
    "TT8503",
    "After a cancellation the server does not answer any more.",
    "取消之后服务器不再应答。",
)
FINDING_WRONG_ERROR_CODE: Final = message(
    "TT8504",
    "{what}: answered with {answer}, not with error {number}.",
    "{what}：应得到错误 {number}，实际为 {answer}。",
)
FINDING_UNRESPONSIVE_AFTER_INVALID_INPUT: Final = message(
    "TT8505",
    "After invalid messages the server does not answer any more.",
    "收到非法消息之后服务器不再应答。",
)
FINDING_RUNS_AFTER_INPUT_END: Final = message(
    "TT8506",
    "It does not end when its input does.",
    "输入结束后它没有退出。",
)
FINDING_LEFTOVER_PROCESSES: Final = message(
    "TT8507",
    "It left {count} processes behind.",
    "它遗留了 {count} 个进程。",
)
FINDING_RESOURCE_LEAK: Final = message(
    "TT8508",
    "{count} more {what} after {calls} calls.",
    "{calls} 次调用之后多出 {count} 个 {what}。",
)
FINDING_LEFTOVER_TASKS: Final = message(
    "TT8509",
    "{count} tasks are left after the connection was closed.",
    "连接关闭后遗留 {count} 个任务。",
)

# the test kit: reasons for skipping a check
SKIPPED_WRITING_TOOL: Final = message(
    "TT8901",
    "Not called: it changes things. Allow it with --effects write (effects='write' in Python).",
    "未调用：它会产生更改。可用 --effects write 允许（Python 中为 effects='write'）。",
)
SKIPPED_DESTRUCTIVE_TOOL: Final = message(
    "TT8902",
    "Not called: it may destroy data, or does not declare its effect. Allow it by name: --destructive {name} "
    "(destructive={{'{name}'}} in Python).",
    "未调用：它可能造成破坏，或未说明其作用。可按名称允许：--destructive {name}（Python 中为 destructive={{'{name}"
    "'}}）。",
)
SKIPPED_UNSELECTED_TOOL: Final = message(
    "TT8903",
    "Not called: it was not selected.",
    "未调用：未被选中。",
)
SKIPPED_NO_VALUE_FOR_SCHEMA: Final = message(
    "TT8904",
    "No value was made for these rules of its schema: {rules}.",
    "未能为其架构的这些规则生成值：{rules}。",
)
SKIPPED_ALL_CALLS_FAILED: Final = message(
    "TT8905",
    "All {count} calls were answered with errors, so its results are not known; give its schema examples. The "
    "first: {words}",
    "{count} 次调用全部得到错误，其结果无从得知；请在架构中给出示例。第一个错误：{words}",
)
SKIPPED_NO_IDEMPOTENT_TOOL: Final = message(
    "TT8906",
    "No tool that may be called says that it is idempotent.",
    "可调用的工具均未声明幂等。",
)
SKIPPED_SINGLE_REVISION: Final = message(
    "TT8907",
    "The server speaks one era only.",
    "服务器只支持一个时代的协议。",
)
SKIPPED_SINGLE_TRANSPORT: Final = message(
    "TT8908",
    "No other way to the server was named.",
    "没有指定访问服务器的其他途径。",
)
SKIPPED_NO_CALLABLE_TOOL: Final = message(
    "TT8909",
    "There is no tool that can be called for this.",
    "没有可用于此项检查的工具。",
)
SKIPPED_SCHEMA_ALLOWS_EVERYTHING: Final = message(
    "TT8910",
    "Its schema allows everything.",
    "其架构允许一切参数。",
)
SKIPPED_NO_TEXT_ARGUMENT: Final = message(
    "TT8911",
    "It takes no text.",
    "它不接受文本。",
)
SKIPPED_CANCELLATION_OVER_HTTP: Final = message(
    "TT8912",
    "Over HTTP a cancelled call has nowhere to be answered.",
    "在 HTTP 上，已取消的调用无处应答。",
)
SKIPPED_ANSWER_BEFORE_CANCELLATION: Final = message(
    "TT8913",
    "Its answer came before the cancellation.",
    "它在取消之前已应答。",
)
SKIPPED_SERVER_NOT_PROCESS: Final = message(
    "TT8914",
    "The server was not started as a process.",
    "服务器不是作为进程启动的。",
)
SKIPPED_SERVER_NOT_IN_PROCESS: Final = message(
    "TT8915",
    "The inside of this server cannot be seen from here.",
    "无法从此处观察该服务器的内部。",
)
SKIPPED_OPEN_WORLD_TOOL: Final = message(
    "TT8920",
    "Not called: it reaches services beyond this server, which would get hundreds of calls. Allow it with "
    "open_world, best where those services are your own.",
    "未调用：它会访问本服务器之外的服务，后者将收到数百次调用。可用 open_world 允许，最好指向您自己的服务。",
)
SKIPPED_TOOL_ASKS_USER: Final = message(
    "TT8919",
    "Not called any more: it asks the user, and no user is here.",
    "不再调用：它要询问用户，而此处无人应答。",
)
SKIPPED_NO_STABLE_READER: Final = message(
    "TT8921",
    "No other reading tool answers alike twice, so an effect of this one would not be seen.",
    "没有其他只读工具两次应答一致，因此无法观察此工具是否产生影响。",
)
SKIPPED_NO_LIMIT_ARGUMENT: Final = message(
    "TT8922",
    "No reading tool has an argument that limits its answer, such as limit or max_results.",
    "没有只读工具带有限制返回数量的参数，例如 limit 或 max_results。",
)
SKIPPED_ARGUMENT_WITHOUT_EFFECT: Final = message(
    "TT8923",
    "No value that was tried for {names} changed the answer. See whether the tool uses it.",
    "对 {names} 尝试的各个值都没有改变结果。请确认该工具是否用到它。",
)
SKIPPED_TOOL_LISTING_FAILED: Final = message(
    "TT8918",
    "The tools cannot be listed.",
    "无法列出工具。",
)
SKIPPED_EXAMPLE_FAILED: Final = message(
    "TT8917",
    "An example of its schema did not work here, perhaps because an object that it names is missing: {example} is "
    "answered {words}",
    "其架构中的示例在此未能成功，可能缺少其所指的内容：{example} 得到 {words}",
)
SKIPPED_TOOLS_TOO_SLOW: Final = message(
    "TT8916",
    "Its tools are too slow for hundreds of calls.",
    "其工具太慢，无法调用数百次。",
)

# the hostile server
UNKNOWN_MISBEHAVIOUR: Final = message(
    "TT9600",
    "There is no misbehaviour called {names}. There are: {known}.",
    "没有名为 {names} 的恶意行为。可用的有：{known}。",
)
MISBEHAVIOUR_REQUIRES_OWN_PROCESS: Final = message(
    "TT9601",
    "{names} would harm the process that it runs in: start it with python -m tooltrue.testing.hostile.",
    "{names} 会损害其所在的进程：请用 python -m tooltrue.testing.hostile 启动。",
)
REASON_TYPE_NOT_OBJECT: Final = message(
    "TT8320",
    'it has no "type": "object"',
    '缺少 "type": "object"',
)
LABEL_UNKNOWN_METHOD: Final = message(
    "TT8321",
    "an unknown method",
    "未知方法",
)
LABEL_TEXT_NO_JSON: Final = message(
    "TT8322",
    "text that is no JSON",
    "不是 JSON 的文本",
)
LABEL_JSON_NO_OBJECT: Final = message(
    "TT8323",
    "JSON that is no object",
    "不是对象的 JSON",
)
LABEL_MESSAGE_WITHOUT_VERSION: Final = message(
    "TT8324",
    "a message without a version",
    "没有版本的消息",
)
LABEL_MESSAGE_WITHOUT_METHOD: Final = message(
    "TT8325",
    "a message without a method",
    "没有方法的消息",
)
LABEL_METHOD_IS_NUMBER: Final = message(
    "TT8326",
    "a method that is a number",
    "方法为数字的消息",
)

# layers, and the server as a whole
FINDING_LISTED_TOOL_UNKNOWN: Final = message(
    "TT8340",
    "It is listed, and its calls are refused as if there were no such tool: {words}",
    "它出现在列表中，但调用时却被当作不存在的工具而拒绝：{words}",
)
FINDING_LAYER_REFUSES_LISTED: Final = message(
    "TT8341",
    "The layer {layer} lists it, and refuses it as unknown.",
    "中间件层 {layer} 将其列出，却又当作未知工具拒绝。",
)
FINDING_LAYER_FINDS_UNLISTED: Final = message(
    "TT8342",
    "The layer {layer} does not list it, and still finds it. A layer that hides a tool also overrides find_tool.",
    "中间件层 {layer} 没有列出它，却仍能找到它。隐藏工具的中间件层还要重写 find_tool。",
)
FINDING_LAYER_CALLS_UNLISTED: Final = message(
    "TT8343",
    "The layer {layer} does not list it, and still passes its calls on. A layer that hides a tool also refuses its "
    "calls.",
    "中间件层 {layer} 没有列出它，却仍放行对它的调用。隐藏工具的中间件层也要拒绝对它的调用。",
)
FINDING_LAYER_DEFINITIONS_DIFFER: Final = message(
    "TT8344",
    "The layer {layer} finds another definition of it than it lists. A layer that changes a tool changes it in both.",
    "中间件层 {layer} 找到的定义与列出的不同。更改工具的中间件层要在两处作同样的更改。",
)
FINDING_LAYER_SWALLOWS_CANCELLATION: Final = message(
    "TT8346",
    "The layer {layer} swallows the cancellation of its calls, which then cannot be stopped or timed out. Let "
    "asyncio.CancelledError through.",
    "中间件层 {layer} 吞掉了调用的取消，因此调用无法中止，也无法超时。请让 asyncio.CancelledError 通过。",
)
FINDING_LAYER_RETURNED_NO_OUTCOME: Final = message(
    "TT8347",
    "The layer {layer} returns {returned} from its calls, instead of an outcome.",
    "中间件层 {layer} 的调用返回 {returned}，而不是结果。",
)
FINDING_LAYER_LIST_UNSORTED: Final = message(
    "TT8348",
    "The layer {layer} lists the tools in another order than by name.",
    "中间件层 {layer} 没有按名称顺序列出工具。",
)
