"""Messages of toolsets, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

RESOURCE_NOT_FOUND: Final = message(
    "TT1025",
    "Resource not found: {uri}.",
    "找不到资源：{uri}。",
)
PROMPT_NOT_FOUND: Final = message(
    "TT1026",
    "Unknown prompt: {name!r}.",
    "未知提示：{name!r}。",
)
INVALID_INPUT_RESPONSE: Final = message(
    "TT1032",
    "inputResponses.{key} does not answer the question: {problem}.",
    "inputResponses.{key} 不是对所提问题的回答：{problem}。",
)
RESOURCE_TEMPLATE_NOT_FOUND: Final = message(
    "TT1040",
    "Unknown resource template: {uri}.",
    "未知资源模板：{uri}。",
)
TEXT_ARGUMENTS_INVALID: Final = message(
    "TT1041",
    "Invalid arguments of {subject}: {problems}.",
    "{subject} 的参数无效：{problems}。",
)
UNKNOWN_ARGUMENT: Final = message(
    "TT1042",
    "There is no argument {name!r} of {subject}.",
    "{subject} 没有参数 {name!r}。",
)

# tool calls, for the model
TOOL_ARGUMENTS_INVALID: Final = message(
    "TT2001",
    "Invalid arguments for {tool}:\n{problems}\n{next}",
    "工具 {tool} 的参数无效：\n{problems}\n{next}",
)
USER_QUESTION_IMPOSSIBLE: Final = message(
    "TT2009",
    "This has to ask the user, which is not possible here. Tell the user.",
    "此操作需要询问用户，但当前无法询问。请告知用户。",
)
TOO_MANY_QUESTION_ROUNDS: Final = message(
    "TT2010",
    "This has asked {limit} times without coming to an end, and was stopped. Tell the user.",
    "该操作已询问 {limit} 次仍未结束，已停止。请告知用户。",
)
QUESTION_ANSWERS_INVALID: Final = message(
    "TT2013",
    "The question {key!r} was answered {count} times, and no answer fits: {problem}. The request was not "
    "continued; tell the user.",
    "问题 {key!r} 已回答 {count} 次，均不符合要求：{problem}。后续操作均未执行；请告知用户。",
)
ONCE_VALUE_NOT_JSON: Final = message(
    "TT3205",
    "the value of once({key!r}, …) is not JSON, so that it cannot be stored for the next round. Return plain values.",
    "once({key!r}, …) 的结果不是 JSON，无法保留到下一轮。请返回普通值。",
)
GENERATOR_AS_TOOL: Final = message(
    "TT3001",
    "a generator without the return type of one cannot be a tool; write -> Iterator[T] or -> AsyncIterator[T] for "
    "its items as a list, or return one value, and report progress with context.progress(…).",
    "没有相应返回类型的生成器函数不能作为工具；请写 -> Iterator[T] 或 -> AsyncIterator[T]，以列表形式返回其各项；或返"
    "回一个值，并用 context.progress(…) 报告进度。",
)
PARAMETER_KIND_NOT_SUPPORTED: Final = message(
    "TT3002",
    "the parameter {name} cannot be described to a model; name each parameter, or take one list or dict.",
    "参数 {name} 无法向模型描述；请逐个命名参数，或改用一个列表或字典参数。",
)
TYPE_ANNOTATION_UNREADABLE: Final = message(
    "TT3003",
    "a type annotation cannot be read ({problem}); define or import the type at module level.",
    "无法读取类型标注（{problem}）；请在模块级定义或导入该类型。",
)
MULTIPLE_CONTEXT_PARAMETERS: Final = message(
    "TT3004",
    "only one parameter may be a Context, not {names}.",
    "只能有一个 Context 参数，而不是 {names}。",
)
PARAMETER_WITHOUT_TYPE: Final = message(
    "TT3005",
    "the parameter {name!r} has no type, so it has no schema; write one, for example {name}: str.",
    "参数 {name!r} 没有类型标注，无法生成架构；请补上，例如 {name}: str。",
)
CONTEXT_WITHOUT_TYPE: Final = message(
    "TT4641",
    "the parameter {name!r} has no type, so it is an argument of the model. For the context of the call write {name}: "
    "Context, and from tooltrue import Context; for an argument, write its type, for example {name}: str.",
    "参数 {name!r} 没有类型标注，因此会被当作模型的参数。若要得到调用的上下文，请写 {name}: Context，并写 "
    "from tooltrue import Context；若是参数，请写明类型，例如 {name}: str。",
)
UNBOUND_METHOD_AS_TOOL: Final = message(
    "TT3042",
    "it is a method, and stands in the body of its class, where there is no object to call it on; register "
    "that of an object: server.add_tool({kind}().{name}).",
    "它是方法，写在类的定义体内，没有可供调用的对象；请用对象注册：server.add_tool({kind}().{name})。",
)
SETTING_EQUIVALENT_HERE: Final = message(
    "TT3043",
    "there is no setting {name!r}; here it is {here}.",
    "没有名为 {name!r} 的设置；在此应写作 {here}。",
)
TYPE_WITHOUT_JSON_FORM: Final = message(
    "TT3006",
    "a type has no JSON form ({problem}); use JSON types, Pydantic models, dataclasses or TypedDicts, "
    "or hide the parameter with Depends.",
    "某个类型没有 JSON 形式（{problem}）；请使用 JSON 类型、Pydantic 模型、dataclass 或 TypedDict，"
    "或用 Depends 隐藏该参数。",
)
TOOL_NAME_INVALID: Final = message(
    "TT3007",
    "{name!r} is not a tool name; use 1 to 128 of A-Z a-z 0-9 _ - . as in read_file. Pass name=… for functions "
    "without one.",
    "{name!r} 不是合法的工具名；请使用 1 到 128 个 A-Z a-z 0-9 _ - . 字符，例如 read_file。没有名字的函数请传 name=…。",
)
UNKNOWN_TOOL_EFFECT: Final = message(
    "TT3008",
    "{effect!r} is not an effect; use one of {allowed}.",
    "{effect!r} 不是 effect 的有效值；可用：{allowed}。",
)
INPUT_SCHEMA_ROOT_NOT_OBJECT: Final = message(
    "TT3009",
    'the input schema must have "type": "object" at its root, since arguments are an object.',
    '输入架构的根必须是 "type": "object"，因为参数是一个对象。',
)
EXAMPLE_VIOLATES_SCHEMA: Final = message(
    "TT3010",
    "an example does not fit the tool's own schema: {problem}. Correct one of them.",
    "示例不符合工具自身的架构：{problem}。请修正示例或架构。",
)
DEFAULT_VIOLATES_SCHEMA: Final = message(
    "TT3011",
    "the default of {name!r} does not fit its own schema; change the default or the type.",
    "{name!r} 的默认值不符合其自身的架构；请修改默认值或类型。",
)
DEFAULT_NONE_NOT_IN_TYPE: Final = message(
    "TT4642",
    "the default of {name!r} is None, which its type does not include; add it to the type, {name}: T | None = None, or "
    "leave out the default.",
    "{name!r} 的默认值是 None，而其类型不包含 None；请把它加入类型：{name}: T | None = None，或去掉默认值。",
)
DEPENDENCY_TOO_MANY_PARAMETERS: Final = message(
    "TT3012",
    "the dependency {name} has several parameters without a type, and only one of them could be the context; give each "
    "a type: Context, or Annotated[T, …] with Depends, Lifespan or Header.",
    "依赖 {name} 有多个没有类型的参数，其中只有一个可以是上下文；请为每个参数写明类型：Context，或带 Depends、"
    "Lifespan、Header 的 Annotated[T, …]。",
)
DUPLICATE_TOOL_NAME: Final = message(
    "TT3013",
    "there is a tool called {name!r} already; give one of them another name.",
    "已存在名为 {name!r} 的工具；请为其中之一改名。",
)
HINT_EQUIVALENT_HERE: Final = message(
    "TT3044",
    "Here it is {here}.",
    "在此应写作 {here}。",
)
READ_WHEN_UNKNOWN_ARGUMENT: Final = message(
    "TT3060",
    "read_when names {name!r}, which is no argument of the tool; name one that it takes.",
    "read_when 中的 {name!r} 不是该工具的参数；请指定它接受的参数。",
)
UNKNOWN_DEFINITION_SETTING: Final = message(
    "TT3014",
    "there is no setting {name!r}; there are {known}.",
    "没有名为 {name!r} 的设置；可用：{known}。",
)
RAW_HANDLER_SIGNATURE_INVALID: Final = message(
    "TT3015",
    "a handler of raw JSON takes the arguments, and the context if it wants that: handler(arguments, context).",
    "原始 JSON 工具的处理函数接收参数，需要时再接收 context：handler(arguments, context)。",
)
DEFINITION_SETTING_INVALID: Final = message(
    "TT3016",
    "the setting {name} must be {wanted}.",
    "设置 {name} 必须是 {wanted}。",
)
REGISTERED_VALUE_NOT_FUNCTION: Final = message(
    "TT3017",
    "{value!r} is not a function; to name a {kind}, write @server.{kind}(name={value!r}).",
    "{value!r} 不是函数；要为其命名，请写 @server.{kind}(name={value!r})。",
)
PARAMETER_PROVIDER_NOT_DEPENDS: Final = message(
    "TT3018",
    "the parameter {name!r} has a provider that is not one Depends of tooltrue; write {name}: Annotated[T, "
    "Depends(make)] with one function make, and from tooltrue import Depends.",
    "参数 {name!r} 的提供者不是 tooltrue 的单个 Depends；请写 {name}: Annotated[T, Depends(make)]，其中 make 是一"
    "个函数，并写 from tooltrue import Depends。",
)
RESOURCE_WITHOUT_URI: Final = message(
    "TT3019",
    'a resource needs its URI first: write @server.resource("docs://guide") above {name}.',
    '资源须先写明 URI：请在 {name} 上方写 @server.resource("docs://guide")。',
)
DEPENDENCY_NOT_FUNCTION: Final = message(
    "TT3025",
    "Depends({value!r}) is no dependency; give it a function that returns the value, and do not call it: "
    "Depends(make), not Depends(make()).",
    "Depends({value!r}) 不是有效的依赖；请传入一个返回该值的函数，不要调用它：写 Depends(make)，而不是 "
    "Depends(make())。",
)
GENERATOR_AS_DEPENDENCY: Final = message(
    "TT3026",
    "the dependency {name} returned a generator or a context manager instead of a value; pass the function that makes "
    "it, so that it is opened before the call and closed after it: Depends(function).",
    "依赖 {name} 返回了生成器或上下文管理器，而不是值；请直接传入创建它的函数：Depends(function)，"
    "它会在调用前打开、调用后关闭。",
)
DEPENDENCY_PARAMETER_UNRESOLVED: Final = message(
    "TT3027",
    "the dependency {name} has the parameter {parameter!r}, which has no provider; a parameter of a dependency is a "
    "Context, has a default, or is Annotated[T, …] with Depends, Lifespan or Header. The arguments of the tool are not "
    "given to dependencies.",
    "依赖 {name} 的参数 {parameter!r} 无人提供；依赖的参数只能是 Context、带默认值，或是带 Depends、Lifespan、"
    "Header 的 Annotated[T, …]。工具的参数不会传给依赖。",
)
DEPENDENCY_NOT_SUPPORTED_HERE: Final = message(
    "TT3028",
    "the parameter {name!r} is a dependency, and this function gets none; call its provider within the function.",
    "参数 {name!r} 是依赖，而该函数不接受依赖注入；请在函数内部调用生成它的函数。",
)
DEPENDENCY_RETURNED_COROUTINE: Final = message(
    "TT3029",
    "the dependency {name} returned a coroutine; make it an async def.",
    "依赖 {name} 返回了协程；请将其写成 async def。",
)
DEPENDS_WITHIN_TYPE: Final = message(
    "TT3037",
    "Depends stands within a type, where a client could set the value; a dependency is a parameter of the function "
    "itself: name: Annotated[T, Depends(make)].",
    "Depends 出现在类型内部，客户端可以设置其值；依赖必须是函数自身的参数：name: Annotated[T, Depends(make)]。",
)
PARAMETER_TYPE_WITHOUT_JSON_FORM: Final = message(
    "TT3038",
    "the type of the parameter {what!r} has no JSON form ({problem}); use JSON types, Pydantic models, dataclasses "
    "or TypedDicts (of typing_extensions before Python 3.12), or hide the parameter with Depends.",
    "参数 {what!r} 的类型没有 JSON 形式（{problem}）；请使用 JSON 类型、Pydantic 模型、dataclass 或 TypedDict"
    "（Python 3.12 之前取自 typing_extensions），或用 Depends 隐藏该参数。",
)
RETURNED_TYPE_NOT_ACCEPTED: Final = message(
    "TT3039",
    "the function returned {type}, which has no JSON form; return {instead}",
    "该函数返回了 {type}，它没有 JSON 形式；请改为返回 {instead}",
)
PARAMETER_TYPE_BYTES: Final = message(
    "TT3047",
    "the parameter {what!r} holds a model with a field of bytes, whose form in JSON the model decides; declare that "
    "field as pydantic.Base64Bytes, which is decoded for you, or as text (str).",
    "参数 {what!r} 的模型含有 bytes 字段，其 JSON 形式由模型决定；请将该字段声明为自动解码的 pydantic.Base64Bytes，"
    "或文本（str）。",
)
PROMPT_RETURN_NOT_ACCEPTED: Final = message(
    "TT3048",
    "the prompt returned {type}; return text, content blocks, messages of a user or an assistant, or a list of these",
    "该提示返回了 {type}；请返回文本、内容块、用户或助手的消息，或由它们组成的列表",
)
RESULT_VIOLATES_DECLARED_TYPE: Final = message(
    "TT3049",
    "the result is not of the declared type: {problem}",
    "结果与声明的类型不符：{problem}",
)
RETURNED_VALUE_NOT_JSON: Final = message(
    "TT3040",
    "the function returned {type}, which is not JSON ({problem}); return JSON types, a dataclass, a Pydantic "
    "model, content blocks, or str(…) of it",
    "该函数返回了 {type}，它不是 JSON（{problem}）；请返回 JSON 类型、dataclass、Pydantic 模型、内容块，或其 str(…)",
)
RETURN_TYPE_WITHOUT_JSON_FORM: Final = message(
    "TT3041",
    "the return type has no JSON form ({problem}); return JSON types, Pydantic models, dataclasses or TypedDicts "
    "(of typing_extensions before Python 3.12), or content blocks such as ImageContent.",
    "返回类型没有 JSON 形式（{problem}）；请返回 JSON 类型、Pydantic 模型、dataclass 或 TypedDict"
    "（Python 3.12 之前取自 typing_extensions），或 ImageContent 等内容块。",
)
PARAMETER_NOT_TEXT_CONVERTIBLE: Final = message(
    "TT3030",
    "the parameter {name!r} cannot be made of text; use str, int, float, bool, an enum, a Literal of strings, a "
    "date or the like.",
    "参数 {name!r} 无法由文本转换而来；请使用 str、int、float、bool、枚举、字符串 Literal、日期等类型。",
)
COMPLETION_SIGNATURE_INVALID: Final = message(
    "TT3031",
    "a completion function takes the prefix, and optionally the arguments and the context: {name}(prefix, "
    "arguments, context).",
    "补全函数接收前缀，需要时再接收其余参数和上下文：{name}(prefix, arguments, context)。",
)
PROMPT_NAME_INVALID: Final = message(
    "TT3032",
    "{name!r} is not a prompt's name; use 1 to 128 printable characters. Pass name=… for functions without one.",
    "{name!r} 不是合法的提示名；请使用 1 到 128 个可打印字符。没有名字的函数请传 name=…。",
)
DUPLICATE_RESOURCE_OR_PROMPT: Final = message(
    "TT3033",
    "there is a {name!r} already; remove it first.",
    "{name!r} 已存在；请先移除。",
)
TEMPLATE_PARAMETERS_MISMATCH: Final = message(
    "TT3034",
    "the variables of {uri!r} and the parameters of its function differ: {names}.",
    "{uri!r} 的变量与其函数的参数不一致：{names}。",
)
SIGNATURE_UNREADABLE: Final = message(
    "TT3036",
    "it does not say which parameters it takes ({problem}); wrap it in a function that does.",
    "它没有说明自己接收哪些参数（{problem}）；请用一个写明参数的函数包装它。",
)
TOOL_NAME_COLLISION: Final = message(
    "TT3021",
    "two tools would have the name {names}; give one a prefix or another name.",
    "两个工具会同名：{names}；请加前缀或改名。",
)
DERIVED_TOOL_NAME_INVALID: Final = message(
    "TT3024",
    "{name!r} would not be a tool name (1 to 128 of A-Z a-z 0-9 _ - .); use a shorter or plainer prefix or name.",
    "{name!r} 不是合法的工具名（1 到 128 个 A-Z a-z 0-9 _ - . 字符）；请换用更短或更简单的前缀或名称。",
)
TOOL_ALIAS_IS_OWN_NAME: Final = message(
    "TT3900",
    "it is called {name!r} and cannot replace itself; leave its own name out of replaces=….",
    "它就叫 {name!r}，不能替代自己；请从 replaces=… 中去掉它自己的名称。",
)
ALIAS_ALREADY_TAKEN: Final = message(
    "TT3901",
    "{tool!r} would answer to {name!r}, which stands for the tool {other!r} already; remove that one first, or "
    "take the name out of replaces=….",
    "{tool!r} 会占用名称 {name!r}，而该名称已代表工具 {other!r}；请先移除后者，或从 replaces=… 中去掉该名称。",
)
PROVIDER_WITHIN_TYPE: Final = message(
    "TT3420",
    "{provider} stands within a type, where a client could set the value; it belongs to a parameter of the function "
    "itself: name: Annotated[T, {provider}].",
    "{provider} 出现在类型内部，客户端可以设置其值；它必须属于函数自身的参数：name: Annotated[T, {provider}]。",
)
DEPENDENCY_CIRCLE: Final = message(
    "TT3421",
    "the dependencies form a circle: {names}; let one of them do without the other.",
    "依赖形成了循环：{names}；请让其中一个不再依赖另一个。",
)
HEADER_TYPE_NOT_TEXT: Final = message(
    "TT3422",
    "the parameter {name!r} is a header, and a header is text; give it the type str or str | None.",
    "参数 {name!r} 是一个请求头，而请求头是文本；请使用类型 str 或 str | None。",
)
HEADER_NAME_INVALID: Final = message(
    "TT3423",
    "{header!r} is not the name of a header; use letters, digits and hyphens, as in x-tenant.",
    "{header!r} 不是请求头的名称；请使用字母、数字和连字符，例如 x-tenant。",
)
HEADER_HOLDS_CREDENTIALS: Final = message(
    "TT3424",
    "the header {header} holds the credentials of the caller, and the protocol forbids a server to pass them on; use "
    "context.principal for the caller, or declare Header({header!r}, credentials=True), which tooltrue inspect shows.",
    "请求头 {header} 含有调用方的凭据，协议禁止服务器转发它；请用 context.principal 识别调用方，或声明 "
    "Header({header!r}, credentials=True)，tooltrue inspect 会显示该声明。",
)
CREDENTIALS_FOR_TOOLS_ONLY: Final = message(
    "TT3425",
    "only a tool may take a header with credentials=True, because tooltrue inspect shows that of tools alone.",
    "只有工具可以使用 credentials=True 的请求头，因为 tooltrue inspect 只显示工具的这一声明。",
)
LIFESPAN_TYPE_NOT_YIELDED: Final = message(
    "TT3426",
    "{subject} takes a {type} from the lifespan, which yields {yielded}; change one of the types.",
    "{subject} 需要 lifespan 提供 {type}，而 lifespan 产生的是 {yielded}；请修改其中一个类型。",
)
LIFESPAN_TYPE_AMBIGUOUS: Final = message(
    "TT3427",
    "{subject} takes a {type} from the lifespan, and {count} of its values are one; yield one value of that type, or "
    "name a narrower type.",
    "{subject} 需要 lifespan 提供 {type}，而其中有 {count} 个值属于该类型；请只产生一个该类型的值，或写明更窄的类型。",
)
LIFESPAN_NOT_ENTERED: Final = message(
    "TT3428",
    "a {type} was to come from a lifespan, which is not entered; call the tool of a server with lifespan=…, through "
    "`async with Client(server)`, or within `async with server.serving()`.",
    "{type} 应来自 lifespan，但它尚未进入；请在带 lifespan=… 的服务器上，通过 `async with Client(server)` 或在 "
    "`async with server.serving()` 之内调用该工具。",
)
HEADER_MISSING: Final = message(
    "TT2500",
    "This needs the HTTP header {header}, which the request does not have; over stdio there are no headers. Only the "
    "client's configuration can add it: tell the user.",
    "此操作需要 HTTP 请求头 {header}，而该请求没有；通过 stdio 时没有请求头。只有客户端的配置才能添加它：请告知用户。",
)
HEADER_VALUE_INVALID: Final = message(
    "TT2501",
    "The HTTP header {header} of this request has control characters, or more than {limit} characters. Only the "
    "client's configuration can correct it: tell the user.",
    "该请求的 HTTP 请求头 {header} 含有控制字符，或超过 {limit} 个字符。只有客户端的配置才能更正它：请告知用户。",
)
DEPENDENCY_CLOSING_FAILED: Final = message(
    "TT4520",
    "The dependency {name} failed while it was closed. The result of the call stands.",
    "依赖 {name} 在关闭时出错。该次调用的结果不受影响。",
)
DEPENDENCY_CLOSING_HANGS: Final = message(
    "TT4521",
    "The dependency {name} was not closed within {seconds:g} s after its call had been cancelled, and was given up.",
    "依赖 {name} 在调用取消后 {seconds:g} 秒内未能关闭，已放弃。",
)
THREAD_ABANDONED: Final = message(
    "TT4101",
    "A call of {tool} was abandoned, and its thread still runs: {count} threads run without a caller. Let the "
    "tool end by itself, make it async, or give it isolation='process'.",
    "已放弃对 {tool} 的一次调用，但其线程仍在运行：共有 {count} 个线程无人等待。请让该工具自行结束、改为异步，或设"
    "置 isolation='process'。",
)
ABANDONED_THREAD_ENDED: Final = message(
    "TT4102",
    "A thread of {tool} whose call was given up has ended after {seconds:.1f} s.",
    "{tool} 中调用已被放弃的一个线程在 {seconds:.1f} 秒后结束。",
)
LABEL_LEFT_OUT_ISOLATED: Final = message(
    "TT3061",
    "left out: nothing can be handed to a process",
    "省略：无法将任何对象传给进程",
)
LABEL_LEFT_OUT_NO_FUNCTION: Final = message(
    "TT3062",
    "left out: this is no function of a module",
    "省略：它不是模块级函数",
)
LABEL_LEFT_OUT_TEMPLATE: Final = message(
    "TT3063",
    "left out: the resources of a template differ",
    "省略：模板的各个资源大小不同",
)
LABEL_LEFT_OUT_NAMED: Final = message(
    "TT3064",
    "left out: the first argument is the name",
    "省略：第一个参数就是名称",
)
LABEL_CORRECT_AND_REPEAT: Final = message(
    "TT2020",
    "Correct these and call the tool again.",
    "请修正这些参数后重新调用该工具。",
)
LABEL_TYPE_WITHIN: Final = message(
    "TT3065",
    "{type} in a {container}",
    "{container} 中的 {type}",
)
LABEL_IMAGE_OF_FIGURE: Final = message(
    "TT3066",
    "ImageContent.of(data, 'image/png') with the bytes that figure.savefig(buffer) has written",
    "ImageContent.of(data, 'image/png')，其中 data 为 figure.savefig(buffer) 写出的字节",
)
LABEL_IMAGE_OF_PICTURE: Final = message(
    "TT3067",
    "ImageContent.of(data, 'image/png') with the bytes that image.save(buffer, 'PNG') has written",
    "ImageContent.of(data, 'image/png')，其中 data 为 image.save(buffer, 'PNG') 写出的字节",
)
LABEL_AWAITED_VALUE: Final = message(
    "TT3068",
    "the value that it gives when it is awaited: await x",
    "等待它之后得到的值：await x",
)
RESULT_FIELD_OF_BYTES: Final = message(
    "TT3460",
    "the return type holds a model with a field of bytes, whose form in JSON the model decides; declare that field as "
    "pydantic.Base64Bytes, or as text (str).",
    "返回类型的模型含有 bytes 字段，其 JSON 形式由模型决定；请将该字段声明为 pydantic.Base64Bytes，或文本（str）。",
)
MEDIA_SOURCE_INVALID: Final = message(
    "TT3461",
    "{kind} takes one source: a path, or data= with bytes; an Image also a picture of Pillow or a figure of "
    "matplotlib, a File also text; and root= only with a path",
    "{kind} 只接受一个来源：路径，或 data= 字节；Image 还可接受 Pillow 图片或 matplotlib 图形，File 还可接受文本；"
    "root= 只能与路径一起使用",
)
MEDIA_FILE_UNREADABLE: Final = message(
    "TT3462",
    "{kind}({path!r}) cannot be read: {problem}; give the path of a file, absolute or below the working directory of "
    "the server",
    "无法读取 {kind}({path!r})：{problem}；请给出文件的路径：绝对路径，或相对于服务器工作目录的路径",
)
CONTENT_FILE_TOO_LARGE: Final = message(
    "TT3463",
    "{kind} of {name!r} has {size} bytes, and at most {limit} are read; pass max_bytes=…, or return a link to a "
    "resource that is read in parts",
    "{kind} 的 {name!r} 有 {size} 字节，最多读取 {limit} 字节；请传 max_bytes=…，或返回一个可分块读取的资源链接",
)
MEDIA_OF_ANOTHER_TYPE: Final = message(
    "TT3464",
    "{kind} was given bytes of type {actual}; return File(…) for them",
    "传给 {kind} 的字节类型是 {actual}；请改为返回 File(…)",
)
MEDIA_TYPE_UNKNOWN: Final = message(
    "TT3465",
    "{kind} was given bytes of a type that is not known by their beginning or by the suffix of the path; pass "
    'format=…, for example "png" or "wav"',
    '传给 {kind} 的字节无法由其开头或路径后缀判断类型；请传 format=…，例如 "png" 或 "wav"',
)
MEDIA_NOT_SAVED: Final = message(
    "TT3466",
    "a {type} could not be saved as {format} ({problem}); pass another format=… to Image, or save it yourself: "
    "Image(data=…)",
    "无法将 {type} 保存为 {format}（{problem}）；请给 Image 传另一个 format=…，或自行保存：Image(data=…)",
)
PICTURE_TOO_LARGE: Final = message(
    "TT3480",
    "a {type} has {width} by {height} pixels, and at most {limit} are saved; make it smaller first",
    "{type} 有 {width} × {height} 像素，最多保存 {limit} 像素；请先缩小",
)
LABEL_MEDIA_NEITHER_FILE: Final = message(
    "TT3467",
    "it is no regular file",
    "它不是普通文件",
)
LABEL_MEDIA_OUTSIDE_ROOT: Final = message(
    "TT3468",
    "it is no path within root",
    "它不是 root 之内的路径",
)
TABLE_OF_NO_FRAME: Final = message(
    "TT3470",
    "Table takes a data frame of pandas, polars or pyarrow, not {type}",
    "Table 接受 pandas、polars 或 pyarrow 的数据框，而不是 {type}",
)
TABLE_CELL_INFINITE: Final = message(
    "TT3471",
    "the column {column!r} of a table holds an infinite number in row {row}, which JSON does not have; replace it "
    "first, for example by None",
    "表格的列 {column!r} 在第 {row} 行含有无穷大，而 JSON 没有它；请先将其替换，例如替换为 None",
)
ITERATOR_TOO_LONG: Final = message(
    "TT2520",
    "The result has more than {items} items, or {size} bytes, and was stopped there. Ask for less; if the tool has no "
    "argument for that, tell the user.",
    "结果超过 {items} 项或 {size} 字节，已在此停止。请缩小请求范围；如果该工具没有相应的参数，请告知用户。",
)
ARRAY_TOO_LARGE: Final = message(
    "TT2521",
    "The result has {count} numbers, and at most {limit} are sent. Ask for less; if the tool has no argument for that, "
    "tell the user.",
    "结果有 {count} 个数，最多发送 {limit} 个。请缩小请求范围；如果该工具没有相应的参数，请告知用户。",
)
TABLE_TRUNCATED: Final = message(
    "TT2522",
    "These are {shown} of {total} rows. The whole table as CSV, {size} bytes, is the resource {uri}.",
    "以上是 {total} 行中的 {shown} 行。完整的 CSV 表格共 {size} 字节，位于资源 {uri}。",
)
TABLE_TRUNCATED_TWICE: Final = message(
    "TT2523",
    "These are {shown} of {total} rows. The first {stored} rows as CSV, {size} bytes, are the resource {uri}.",
    "以上是 {total} 行中的 {shown} 行。前 {stored} 行的 CSV 共 {size} 字节，位于资源 {uri}。",
)
RESULT_NUMBER_NOT_FINITE: Final = message(
    "TT3472",
    "the result is not JSON: a number that JSON does not have, NaN or infinity; return None in its place, and let the "
    "type allow it: float | None",
    "结果不是 JSON：含有 JSON 没有的数（NaN 或无穷大）；请改为返回 None，并让类型允许它：float | None",
)
LABEL_NESTED_ITERATOR: Final = message(
    "TT3474",
    "an iterator in an iterator",
    "迭代器中的迭代器",
)
LABEL_CONTENT_IN_LIST: Final = message(
    "TT3473",
    "it by itself, or in a list with text and other content: [text, Image(…)]",
    "它本身，或与文本及其他内容组成的列表：[text, Image(…)]",
)
LABEL_IMAGE_OR_BASE64: Final = message(
    "TT3069",
    "ImageContent.of(data, 'image/png') for a picture, or base64.b64encode(data).decode()",
    "图片用 ImageContent.of(data, 'image/png')，否则用 base64.b64encode(data).decode()",
)
PROVIDER_EXPECTED: Final = message(
    "TT3440",
    "a {type} is neither a Server nor a provider; pass a Server, a LocalToolset, or the result of a view such as "
    "prefixed.",
    "{type} 既不是 Server，也不是工具提供者；请传入 Server、LocalToolset，或 prefixed 等视图的结果。",
)
TRANSFORM_UNKNOWN_TOOL: Final = message(
    "TT3441",
    "there is no tool {name!r} to transform; register it before, or correct the name.",
    "没有名为 {name!r} 的工具可供变换；请先注册该工具，或改正名称。",
)
TRANSFORM_UNKNOWN_ARGUMENT: Final = message(
    "TT3442",
    "the tool {tool!r} has no argument {name!r}; its arguments are: {known}.",
    "工具 {tool!r} 没有参数 {name!r}；它的参数有：{known}。",
)
HIDDEN_ARGUMENT_WITHOUT_VALUE: Final = message(
    "TT3443",
    "the argument {name!r} of {tool!r} is required, so that it cannot be hidden without a value; give it value=… or "
    "factory=….",
    "{tool!r} 的参数 {name!r} 是必填项，隐藏它须同时给出值；请设置 value=… 或 factory=…。",
)
ARGUMENT_SETTINGS_CONFLICT: Final = message(
    "TT3444",
    "Argument({names}) contradicts itself: a hidden argument has either value=… or factory=… or its own default, and "
    "no name, title, description or default.",
    "Argument({names}) 自相矛盾：隐藏的参数只能有 value=…、factory=… 或自身的默认值之一，不能有 name、title、"
    "description 或 default。",
)
TRANSFORMED_ARGUMENT_TWICE: Final = message(
    "TT3445",
    "two arguments of {tool!r} would be called {name!r}; give one of them another name.",
    "{tool!r} 会有两个名为 {name!r} 的参数；请为其中之一改名。",
)
FIXED_VALUE_VIOLATES_SCHEMA: Final = message(
    "TT3446",
    "the value of the argument {name!r} of {tool!r} does not fit its schema: {problem}.",
    "{tool!r} 的参数 {name!r} 的值不符合其架构：{problem}。",
)
TRANSFORM_KEYWORD_UNSUPPORTED: Final = message(
    "TT3447",
    "the input schema of {tool!r} has {keyword}, which may depend on the names of its arguments, so that none can be "
    "hidden or renamed; write a tool of your own that calls this one.",
    "{tool!r} 的输入架构含有 {keyword}，它可能依赖参数名，因此不能隐藏或重命名参数；请另写一个调用它的工具。",
)
TRANSFORM_LOOSENS: Final = message(
    "TT3448",
    "{setting} of {tool!r} may only become stricter: {before} does not become {after}.",
    "{tool!r} 的 {setting} 只能变得更严格：不能由 {before} 变为 {after}。",
)
TRANSFORM_OF_PREVIEW: Final = message(
    "TT3449",
    "the preview of {tool!r} reads the argument {name!r}, for which factory=… makes another value at each call; use "
    "value=….",
    "{tool!r} 的预览会读取参数 {name!r}，而 factory=… 每次调用都会生成新值；请改用 value=…。",
)
HIDDEN_VALUE_INVALID: Final = message(
    "TT3450",
    "the hidden arguments of {tool} do not fit: {problem}",
    "{tool} 的隐藏参数不符合要求：{problem}",
)
TRANSFORM_MISFIT: Final = message(
    "TT3451",
    "The tool {tool} is withheld, since its transformation does not fit its definition any more: {problem}",
    "工具 {tool} 已暂停提供，因为对它的变换不再符合其定义：{problem}",
)
TRANSFORM_WITHOUT_TOOL: Final = message(
    "TT3452",
    "There is no tool {name} to transform. The transformation holds once there is one.",
    "没有名为 {name} 的工具可供变换；待该工具出现后，变换即生效。",
)
WRAPPED_CALL_INVALID: Final = message(
    "TT3453",
    "the wrap function of {tool} has changed the arguments so that they do not fit its schema: {problem}",
    "{tool} 的 wrap 函数修改后的参数不符合其架构：{problem}",
)
SERVER_MOUNTED_IN_ITSELF: Final = message(
    "TT3454",
    "the server {name!r} would be mounted in itself; of two servers, mount one in the other.",
    "服务器 {name!r} 会被挂载到自身；两个服务器之间只能单向挂载。",
)
MOUNT_WHILE_SERVING: Final = message(
    "TT3455",
    "the server {name!r} serves already; mount before it is first used, as for its settings.",
    "服务器 {name!r} 已在运行；请在首次使用之前挂载，与其他设置一样。",
)
NOTHING_TO_SWITCH: Final = message(
    "TT3456",
    "there is nothing to enable or disable; name tools, or tags=…, resources=… or prompts=….",
    "没有指定要启用或停用的对象；请给出工具名，或 tags=…、resources=…、prompts=…。",
)
FULL_TEXT_SEARCH_MISSING: Final = message(
    "TT3429",
    "The SQLite of this Python cannot search text ({problem}); use a Python whose sqlite3 has FTS5, which the usual "
    "builds have.",
    "此 Python 的 SQLite 不支持全文搜索（{problem}）；请使用 sqlite3 带有 FTS5 的 Python，常见的构建都带有它。",
)
RESERVED_NAME_LEFT_OUT: Final = message(
    "TT3430",
    "The tool {name!r} is left out: its name is reserved for the search among tools; rename it by renamed(…) or "
    "prefixed(…), or give the search other names by ToolSearch(…).",
    "工具 {name!r} 已被略去：该名称保留给工具搜索；请用 renamed(…) 或 prefixed(…) 重命名它，或用 ToolSearch(…) 为搜索"
    "另取名称。",
)
LABEL_TOKENS: Final = message(
    "TT3431",
    "a number of tokens, 0 or more",
    "不小于 0 的 token 数",
)
LABEL_THREE_NAMES: Final = message(
    "TT3432",
    "three different names of 1 to 128 letters, digits, '_', '-' or '.'",
    "三个互不相同的名称，各由 1 至 128 个字母、数字、'_'、'-' 或 '.' 组成",
)
TOOL_TO_CALL_UNKNOWN: Final = message(
    "TT2021",
    "There is no tool {name!r}; {search} finds the tools that there are.",
    "没有名为 {name!r} 的工具；请用 {search} 查找现有的工具。",
)
TASK_UNKNOWN: Final = message(
    "TT5602",
    "There is no task of this id. It may have ended and expired; call the tool again.",
    "没有此 id 的任务。它可能已结束并过期；请重新调用该工具。",
)
LABEL_LEFT_OUT_WITH_CREDENTIALS: Final = message(
    "TT5634",
    "left out: the tool takes credentials of its caller, which are not stored with a task",
    "省略：该工具使用调用方的凭据，而凭据不会随任务存储",
)
