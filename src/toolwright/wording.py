"""The words of every error: code → one English and one Chinese sentence.

Codes are stable: a sentence may be improved, a code never changes its meaning and is never used again.

TW1… protocol · TW2… tool calls, for the model · TW3… definitions, for the author · TW4… settings and commands, for the
operator · TW5… client and carrier · TW6… the files tools · TW7… state · TW8… what the kit finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["LANGUAGES", "SENTENCES", "sentence"]

LANGUAGES = ("en", "zh")

SENTENCES: dict[str, tuple[str, str]] = {
    # protocol
    "TW1001": ("The message is not JSON: {problem}.", "消息不是合法的 JSON：{problem}。"),
    "TW1002": ("Not a JSON-RPC 2.0 message: {problem}.", "不是 JSON-RPC 2.0 消息：{problem}。"),
    "TW1003": ("The key {key} stands twice in one JSON object.", "同一个 JSON 对象中键 {key} 出现了两次。"),
    "TW1004": ("The message is nested deeper than {limit} levels.", "消息嵌套超过 {limit} 层。"),
    "TW1005": ("The message is larger than {limit} bytes.", "消息超过 {limit} 字节。"),
    "TW1006": (
        "Batches are not part of this protocol revision; send one message at a time.",
        "该协议版本不支持批量消息；请逐条发送。",
    ),
    "TW1007": ("A batch must be a non-empty array.", "批量消息必须是非空数组。"),
    "TW1008": ("A batch may hold {limit} messages at the most.", "批量消息最多包含 {limit} 条。"),
    "TW1009": ("The id {id} is in use by a request that is still running.", "编号 {id} 正被另一个尚未完成的请求使用。"),
    "TW1010": (
        "Unknown tool: {name!r}. Ask tools/list for the tools there are.",
        "未知工具：{name!r}。可用 tools/list 查看现有工具。",
    ),
    "TW1011": ("Unknown method: {method!r}.", "未知方法：{method!r}。"),
    "TW1012": ("Invalid params of {method}: {problem}.", "{method} 的参数无效：{problem}。"),
    "TW1013": (
        "This request needs params._meta with {missing}. This server speaks {supported}; "
        "revisions before 2026-07-28 begin with initialize.",
        "该请求的 params._meta 缺少 {missing}。本服务器支持 {supported}；2026-07-28 之前的版本须先发送 initialize。",
    ),
    "TW1014": (
        "Protocol version {requested!r} is not supported; supported: {supported}.",
        "不支持协议版本 {requested!r}；支持：{supported}。",
    ),
    "TW1015": (
        "The cursor is not valid any more; list again from the start.",
        "游标已失效；请从头重新列出。",
    ),
    "TW1016": ("The header {header} is missing.", "缺少请求头 {header}。"),
    "TW1017": (
        "The header {header} is {got!r} but the body says {expected!r}.",
        "请求头 {header} 为 {got!r}，与消息体中的 {expected!r} 不一致。",
    ),
    "TW1018": ("The header {header} cannot be decoded: {problem}.", "请求头 {header} 无法解码：{problem}。"),
    "TW1019": (
        "The session is unknown or has ended; begin again with initialize.",
        "会话不存在或已结束；请重新发送 initialize。",
    ),
    "TW1020": (
        "Internal error {id}. The server's log explains it under this id.",
        "内部错误 {id}。服务器日志以此编号记录了原因。",
    ),
    "TW1021": (
        "{limit} requests are running already; wait for some of their answers.",
        "已有 {limit} 个请求在运行；请等待其中一些应答。",
    ),
    "TW1024": ("Unknown log level: {level!r}; one of {allowed}.", "未知日志级别：{level!r}；可用：{allowed}。"),
    "TW1025": ("Resource not found: {uri}.", "找不到资源：{uri}。"),
    "TW1026": ("Unknown prompt: {name!r}.", "未知提示：{name!r}。"),
    "TW1030": (
        "The requestState is not valid: changed, expired, or of another request. Send the request again without it.",
        "requestState 无效：已被更改、已过期或属于另一个请求。请去掉它并重新发送请求。",
    ),
    "TW1031": (
        "The requestState has been used already. Send the request again without it if it is to run once more.",
        "requestState 已被使用过。若确需再次执行，请去掉它并重新发送请求。",
    ),
    "TW1032": (
        "inputResponses.{key} is not an answer to what was asked: {problem}.",
        "inputResponses.{key} 不是对所提问题的回答：{problem}。",
    ),
    "TW1033": (
        "{subject} has to ask the user, and the request does not declare the client capability for it: {missing}.",
        "{subject} 需要询问用户，但该请求未声明所需的客户端能力：{missing}。",
    ),
    "TW1040": ("Unknown resource template: {uri}.", "未知资源模板：{uri}。"),
    "TW1041": ("Invalid arguments of {subject}: {problems}.", "{subject} 的参数无效：{problems}。"),
    "TW1042": ("There is no argument {name!r} of {subject}.", "{subject} 没有参数 {name!r}。"),
    "TW1043": (
        "The uri is not an absolute URI (RFC 3986) of at most {limit} characters.",
        "uri 不是长度不超过 {limit} 个字符的绝对 URI（RFC 3986）。",
    ),
    "TW1044": (
        "This session follows {limit} resources already; unsubscribe from some.",
        "该会话已订阅 {limit} 个资源；请先取消一些订阅。",
    ),
    "TW1050": (
        "Nothing goes on after the event {id!r}: it is unknown here, or no longer kept. Listen anew, or ask again.",
        "无法从事件 {id!r} 之后继续：该事件未知或已不再保留。请重新监听，或重新请求。",
    ),
    "TW1051": (
        "Not all that came after the event {id!r} is kept any more; nothing is sent rather than a part of it.",
        "事件 {id!r} 之后的内容已不完整；为免遗漏，不再补发其中一部分。",
    ),
    "TW1052": (
        "No more than {limit} sessions may be open at once; try again later.",
        "同时打开的会话最多 {limit} 个；请稍后再试。",
    ),
    "TW1053": ("The server is about to end; ask again later.", "服务器即将停止；请稍后再试。"),
    "TW1054": (
        "{limit} streams are open for you already; close some of them.",
        "您已打开 {limit} 个流；请先关闭其中一些。",
    ),
    "TW1055": (
        "{limit} questions wait for your answers already; answer some of them.",
        "已有 {limit} 个问题在等待您的回答；请先回答其中一些。",
    ),
    "TW1056": (
        "The server has not been started, so nothing guards it yet. Whoever mounts it: run its lifespan (uvicorn: "
        'lifespan="on"), or enter `async with app.serving()` around all requests.',
        '服务器尚未启动，其防护还未生效。挂载它的人请运行其 lifespan（uvicorn：lifespan="on"），'
        "或在所有请求之外进入 `async with app.serving()`。",
    ),
    "TW1100": (
        "This needs the scopes {scopes}. Ask the authorization server for a token that has all of them, then repeat "
        "the request.",
        "此操作需要权限范围 {scopes}。请向授权服务器申请包含全部所需权限范围的令牌，然后重试该请求。",
    ),
    "TW1101": (
        "This server has to know who calls. Send Authorization: Bearer with a token or key that is for this server.",
        "本服务器必须知道调用者的身份。请在 Authorization: Bearer 中发送用于本服务器的令牌或密钥。",
    ),
    "TW1102": (
        "The token is not accepted: {problem}. Get a new one for this server, and send it once, in Authorization.",
        "令牌未被接受：{problem}。请获取一个用于本服务器的新令牌，并仅在 Authorization 中发送一次。",
    ),
    "TW1103": (
        "A token stands in the URL, where logs keep it; it counts as given away. Send a new one in Authorization.",
        "URL 中含有令牌，会被日志保存，应视为已泄露。请换用新令牌并在 Authorization 中发送。",
    ),
    "TW1104": (
        "It cannot be checked now who calls; try again in a minute. The token may well be good.",
        "目前无法核验调用者的身份；请一分钟后重试。令牌本身可能是有效的。",
    ),
    "TW1105": (
        "Nobody authenticates here, so only this machine may call, and this comes from {address}. Whoever runs the "
        "server can change that: Server(…, authenticate=…).",
        "此处没有身份验证，因此只有本机可以调用，而该请求来自 {address}。服务器的运行者可以更改："
        "Server(…, authenticate=…)。",
    ),
    # tool calls, for the model
    "TW2001": ("Invalid arguments for {tool}:\n{problems}\n{next}", "工具 {tool} 的参数无效：\n{problems}\n{next}"),
    "TW2002": (
        "{tool} gave no answer within {seconds:g} s and was stopped. Try a smaller request, or tell the user.",
        "{tool} 在 {seconds:g} 秒内没有应答，已停止。请缩小请求范围，或告知用户。",
    ),
    "TW2003": (
        "{tool} gave no answer within {seconds:g} s. It cannot be stopped and its effects may still happen: "
        "check before you call it again.",
        "{tool} 在 {seconds:g} 秒内没有应答。它无法被中止，其作用仍可能发生：再次调用前请先检查。",
    ),
    "TW2004": (
        "{tool} failed: internal error {id}. This is a fault of the tool, not of the arguments; tell the user.",
        "{tool} 失败：内部错误 {id}。这是工具的故障，与参数无关；请告知用户。",
    ),
    "TW2005": (
        "{tool} returned a value that breaks its own output schema (error {id}), so it was withheld. "
        "This is a fault of the tool; tell the user.",
        "{tool} 返回的值不符合其输出模式（错误 {id}），已被扣留。这是工具的故障；请告知用户。",
    ),
    "TW2006": (
        "The result of {tool} has {size} bytes, more than the limit of {limit}. Ask for less: a smaller range, "
        "fewer rows or a narrower filter.",
        "{tool} 的结果有 {size} 字节，超过上限 {limit}。请缩小范围、减少行数或收窄筛选条件。",
    ),
    "TW2009": (
        "This has to ask the user, which is not possible here. Tell the user.",
        "此操作需要询问用户，但当前无法询问。请告知用户。",
    ),
    "TW2010": (
        "This has asked {limit} times without coming to an end, and was stopped. Tell the user.",
        "该操作已询问 {limit} 次仍未结束，已停止。请告知用户。",
    ),
    "TW2011": (
        "{subject} has to ask the user, and this client cannot be asked so ({missing}). Tell the user.",
        "{subject} 需要询问用户，而此客户端不支持这种询问（{missing}）。请告知用户。",
    ),
    "TW2012": (
        "{subject} asked the client and got no answer: {problem}. Nothing more was done; tell the user.",
        "{subject} 向客户端提问但没有得到回答：{problem}。后续操作均未执行；请告知用户。",
    ),
    "TW2013": (
        "The question {key!r} was answered {count} times, and no answer fits: {problem}. Nothing more was done; tell "
        "the user.",
        "问题 {key!r} 已回答 {count} 次，均不符合要求：{problem}。后续操作均未执行；请告知用户。",
    ),
    "TW2014": (
        "{name} is {value}, and a number that also travels in a header lies between -{limit} and {limit}. Use one in "
        "that range.",
        "{name} 为 {value}，而同时放入请求头的数值必须在 -{limit} 与 {limit} 之间。请改用该范围内的值。",
    ),
    "TW2015": ("More than {limit} messages a second: some are left out.", "每秒消息超过 {limit} 条：部分已省略。"),
    "TW2400": (
        "{server} asks before {tool} runs ({effect}). Each argument, in full, with the length of text:",
        "{server} 在运行 {tool}（{effect}）前征求同意。以下为全部参数，文本附长度：",
    ),
    "TW2401": (
        "{tool} was not run: the user said no. Do not call it so again unless they ask for it; say what was not done.",
        "{tool} 未运行：用户拒绝了。除非用户要求，请勿再次这样调用；请说明哪些事没有做。",
    ),
    "TW2402": (
        "{tool} was not run: the user put the question away and has not agreed. Say what was not done.",
        "{tool} 未运行：用户关闭了询问，没有同意。请说明哪些事没有做。",
    ),
    "TW2403": (
        "{tool} was not run: a person has to agree first, and this client cannot ask them. Tell the user that ticket "
        "{ticket} waits: a person settles it with `toolwright approvals`; repeat the identical call once it is "
        "approved.",
        "{tool} 未运行：须先由人同意，而此客户端无法询问。请告知用户工单 {ticket} 待处理："
        "由人用 `toolwright approvals` 处理；批准后请原样重复此调用。",
    ),
    "TW2404": (
        "{tool} was not run again: its approval has been used, and the call has run. If it has to run once more, tell "
        "the user that ticket {ticket} waits: a person settles it with `toolwright approvals`; repeat the identical "
        "call once it is approved.",
        "{tool} 未再次运行：批准已使用，调用已执行过。如需再执行一次，请告知用户工单 {ticket} 待处理："
        "由人用 `toolwright approvals` 处理；批准后请原样重复此调用。",
    ),
    "TW2405": (
        "{tool} was not run again: this very call is in progress, on an approval that is good for one run. Wait for "
        "its result.",
        "{tool} 未再次运行：同一调用正在执行，其批准仅限一次。请等待其结果。",
    ),
    "TW2406": (
        "{tool} was not run: a person has to agree first, and its arguments are too long for a question. Shorten them, "
        "or tell the user that ticket {ticket} waits: a person settles it with `toolwright approvals`; repeat the "
        "identical call once it is approved.",
        "{tool} 未运行：须先由人同意，而参数太长，无法在询问中显示。请缩短参数，或告知用户工单 {ticket} 待处理："
        "由人用 `toolwright approvals` 处理；批准后请原样重复此调用。",
    ),
    "TW2407": (
        "{tool} was not run: the user is being asked about this very call already. Wait for that answer.",
        "{tool} 未运行：已就同一调用询问用户。请等待该回答。",
    ),
    "TW2408": (
        "{tool} was not run: the user has been asked too often, and is not asked again for now. Do what needs no "
        "consent, or try again in {seconds:.0f} s.",
        "{tool} 未运行：询问用户过于频繁，暂不再询问。请先做无需同意的事，或在 {seconds:.0f} 秒后重试。",
    ),
    "TW2409": (
        "{tool} was not run: a person has to agree first, and {limit} calls wait for one already. Tell the user.",
        "{tool} 未运行：须先由人同意，而已有 {limit} 个调用在等待。请告知用户。",
    ),
    "TW2410": (
        "{tool} was not run: whether a person has agreed cannot be found out now. Tell the user; the log of the server "
        "says why.",
        "{tool} 未运行：目前无法确认是否已有人同意。请告知用户；原因见服务器日志。",
    ),
    "TW2411": (
        "{tool} was not run: it has changed since the user was asked. Call it again, so that they are asked anew.",
        "{tool} 未运行：询问用户之后它已变更。请重新调用，以便再次询问。",
    ),
    "TW2412": ("Yes, this once", "同意，仅此一次"),
    "TW2413": ("Yes, and each identical call of this session", "同意，本次会话中完全相同的调用均可"),
    "TW2414": ("No", "不同意"),
    "TW2415": (
        "{tool} was not run: a person has said no to this very call. Do not repeat it; tell the user.",
        "{tool} 未运行：已有人拒绝这一调用。请勿重复；请告知用户。",
    ),
    "TW2416": (
        "{tool} was not run again: the user's answer was good for one run, and has been used. Call it anew, so that "
        "they are asked.",
        "{tool} 未再次运行：用户的回答仅限一次，且已使用。请重新调用，以便再次询问。",
    ),
    "TW2016": (
        "The answers to what {subject} asked are too large to go on with: {size} bytes, more than {limit}. "
        "Tell the user.",
        "对 {subject} 所提问题的回答过大，无法继续：{size} 字节，超过 {limit}。请告知用户。",
    ),
    "TW2017": (
        "The result is too large to be kept: {size} bytes, more than {limit}. "
        "Ask for less: a smaller range, fewer rows or a narrower filter.",
        "结果过大，无法保留：{size} 字节，超过 {limit}。请缩小请求：更小的范围、更少的行或更窄的筛选。",
    ),
    "TW2018": (
        "Too much is kept for this caller already. Ask for less, or try again in {seconds} s.",
        "已为此调用者保留过多内容。请缩小请求，或在 {seconds} 秒后重试。",
    ),
    "TW2019": (
        "This was part {number} of {count}, of {size} bytes in all. The next part is the resource {uri}.",
        "以上为第 {number} 部分，共 {count} 部分，总计 {size} 字节。下一部分是资源 {uri}。",
    ),
    # what leaves
    "TW2300": (
        "The result of {tool} was withheld: it held {what}, and without that it does not fit its output schema. "
        "Tell the user.",
        "{tool} 的结果已被扣留：其中含有{what}，去除后不符合其输出模式。请告知用户。",
    ),
    "TW2301": (
        "{tool} changes things, and was called with {mask}, which stands for a secret that this server masked: the "
        "mask would be written in its place. Leave that part as it is, or let the user enter the value.",
        "{tool} 会做出更改，而参数中含有 {mask}。它代表本服务器已遮盖的机密：写入后会覆盖原值。"
        "请保持该部分不变，或由用户输入该值。",
    ),
    "TW2302": (
        "{what} holds characters that nobody sees ({kinds}), in {shown}. Remove them.",
        "{what} 含有不可见字符（{kinds}），位于 {shown}。请将其删除。",
    ),
    "TW2303": ("[{what} was left out: {why}]", "[{what} 已省略：{why}]"),
    "TW2310": (
        "This is not all: {shown}. The whole, {size} bytes, is the resource {uri}: read it, or ask for less.",
        "以上并非全部：{shown}。完整内容共 {size} 字节，即资源 {uri}：可读取该资源，或缩小请求。",
    ),
    "TW2311": (
        "{tool} has done its work, but the result has {size} bytes, more than the limit of {limit}, and cannot be cut. "
        "The whole is the resource {uri}: read that, and do not call again for it.",
        "{tool} 已执行完毕，但结果有 {size} 字节，超过上限 {limit}，且无法截断。"
        "完整内容是资源 {uri}：请读取该资源，不必为此再次调用。",
    ),
    "TW2007": ("{tool} may not be called so: {reason}", "不允许这样调用 {tool}：{reason}"),
    "TW2200": (
        "{subject} may not be used like this: {reason} (The operator's rule {rule!r} decides this; the same request "
        "will be refused again.)",
        "不允许这样使用 {subject}：{reason}（由运营者的规则 {rule!r} 决定；同样的请求仍会被拒绝。）",
    ),
    "TW2201": (
        "{subject} may not be used like this: the operator's rule {rule!r} refuses it. The same request will be "
        "refused again; change what it asks for, or tell the user.",
        "不允许这样使用 {subject}：运营者的规则 {rule!r} 拒绝了它。同样的请求仍会被拒绝；请更改请求内容，或告知用户。",
    ),
    "TW2202": (
        "{subject} may not be used like this: no rule of the operator allows it. The same request will be refused "
        "again; change what it asks for, or tell the user.",
        "不允许这样使用 {subject}：运营者没有任何规则允许它。同样的请求仍会被拒绝；请更改请求内容，或告知用户。",
    ),
    "TW2203": (
        "Whether {subject} may be used cannot be decided now, so it is refused. Tell the user; the server's log "
        "explains it under {id}.",
        "目前无法判定是否可以使用 {subject}，因此拒绝。请告知用户；服务器日志以编号 {id} 说明原因。",
    ),
    # limits, for the model
    "TW2100": (
        "{tool} was called too often. Wait {seconds} s, then go on more slowly; what was asked has not been done.",
        "调用 {tool} 过于频繁。请等待 {seconds} 秒后放慢速度继续；本次请求未执行。",
    ),
    "TW2101": (
        "This cannot be done now: the server cannot check its limits. Try again in a minute, or tell the user.",
        "暂时无法执行：服务器无法核对限额。请一分钟后重试，或告知用户。",
    ),
    "TW2102": (
        "{tool} is busy: {running} calls of it are running, and no more can wait. Try again in {seconds} s, or ask for "
        "less at once.",
        "{tool} 正忙：已有 {running} 个调用在运行，无法再排队。请 {seconds} 秒后重试，或减少同时发出的请求。",
    ),
    "TW2103": (
        "Too many of your calls were refused. Nothing you ask is done for {seconds} s. Then list the tools again, read "
        "their schemas, and do not repeat what was refused.",
        "您的调用被拒绝次数过多，{seconds} 秒内不再处理任何请求。之后请重新列出工具并阅读其模式，"
        "不要重复被拒绝的调用。",
    ),
    "TW2104": (
        "The arguments of {tool} have {size} bytes, more than the limit of {limit}. Send less at once: in several "
        "calls, or the place of the data instead of the data.",
        "{tool} 的参数有 {size} 字节，超过上限 {limit}。请减少单次发送的内容：分多次调用，"
        "或传递数据的位置而非数据本身。",
    ),
    # definitions, for the author
    "TW3101": ("A schema is a JSON object, not {kind}.", "模式必须是 JSON 对象，而不是 {kind}。"),
    "TW3102": (
        "The schema holds {kind} at {path}, which JSON does not have.",
        "模式在 {path} 处含有 JSON 中没有的值：{kind}。",
    ),
    "TW3103": (
        "The schema declares the dialect {dialect}, which is not supported. Supported: {supported}.",
        "模式声明的方言 {dialect} 不受支持。支持：{supported}。",
    ),
    "TW3104": (
        "The schema is not valid {dialect} at {path}: {problem}.",
        "模式在 {path} 处不符合 {dialect}：{problem}。",
    ),
    "TW3105": (
        "The schema refers to {ref} at {path}, outside of itself. Nothing is fetched: copy what it names into $defs.",
        "模式在 {path} 处引用了文档之外的 {ref}。不会抓取任何外部内容：请把所引用的内容放入 $defs。",
    ),
    "TW3106": (
        "The reference {ref} at {path} names no schema in this document.",
        "{path} 处的引用 {ref} 在本文档中没有对应的模式。",
    ),
    "TW3107": (
        "The reference {ref} at {path} leads back to itself without going into the value, so judging would never end.",
        "{path} 处的引用 {ref} 在没有深入值的情况下指回自身，校验将永无止境。",
    ),
    "TW3108": ("The schema is nested deeper than {limit} levels.", "模式嵌套超过 {limit} 层。"),
    "TW3109": ("The schema holds more than {limit} values.", "模式包含的值超过 {limit} 个。"),
    "TW3110": ("The schema holds more than {limit} references.", "模式包含的引用超过 {limit} 个。"),
    "TW3111": (
        "The references of the schema lead through more than {limit} subschemas in a row.",
        "模式的引用连续经过的子模式超过 {limit} 个。",
    ),
    "TW3112": ("The schema holds more than {limit} patterns.", "模式包含的正则表达式超过 {limit} 个。"),
    "TW3113": (
        "The pattern at {path} is longer than {limit} characters.",
        "{path} 处的正则表达式超过 {limit} 个字符。",
    ),
    "TW3114": (
        "One value could be judged by more than {limit} subschemas: references multiply each other.",
        "一个值可能要经过超过 {limit} 个子模式的校验：引用成倍展开。",
    ),
    "TW3115": (
        "The schema declares the dialect {dialect} at {path}, inside of {outer}; one schema has one dialect.",
        "模式在 {path} 处于 {outer} 之中又声明了方言 {dialect}；一个模式只能使用一种方言。",
    ),
    "TW3116": ("The schema cannot be compiled: {problem}.", "模式无法编译：{problem}。"),
    "TW3117": (
        "The pattern at {path} is not a regular expression that can be run safely: "
        "it is broken, too large, or uses lookaround or backreferences.",
        "{path} 处的正则表达式无法安全执行：它有语法错误、过大，或使用了环视或反向引用。",
    ),
    "TW3201": ("a form cannot be asked so: {problem}.", "不能这样提出表单：{problem}。"),
    "TW3202": (
        "the field {name!r} asks for a secret, which a form must not do. Ask for it on a page of yours, with a Link.",
        "字段 {name!r} 索要机密信息，表单不得这样做。请用 Link 让用户在您自己的页面上填写。",
    ),
    "TW3203": ("the user cannot be sent to this URL: {problem}.", "不能让用户打开此网址：{problem}。"),
    "TW3204": ("these messages cannot be sampled: {problem}.", "这些消息不能用于采样：{problem}。"),
    "TW3205": (
        "what once({key!r}, …) made is not JSON, so that it cannot be kept for the next round. Return plain values.",
        "once({key!r}, …) 的结果不是 JSON，无法保留到下一轮。请返回普通值。",
    ),
    "TW3206": (
        "what a call keeps between its rounds has {size} bytes, more than {limit}. Keep less in once().",
        "一次调用在各轮之间保留的数据有 {size} 字节，超过上限 {limit}。请减少 once() 中保留的内容。",
    ),
    "TW3207": ("a client cannot be asked so: {problem}.", "不能这样询问客户端：{problem}。"),
    "TW3001": (
        "a generator cannot be a tool; return one value, and report progress with context.progress(…).",
        "生成器函数不能作为工具；请返回一个值，并用 context.progress(…) 报告进度。",
    ),
    "TW3002": (
        "the parameter {name} cannot be described to a model; name each parameter, or take one list or dict.",
        "参数 {name} 无法向模型描述；请逐个命名参数，或改用一个列表或字典参数。",
    ),
    "TW3003": (
        "a type annotation cannot be read ({problem}); define or import the type at module level.",
        "无法读取类型标注（{problem}）；请在模块级定义或导入该类型。",
    ),
    "TW3004": ("only one parameter may be a Context, not {names}.", "只能有一个 Context 参数，而不是 {names}。"),
    "TW3005": (
        "the parameter {name!r} has no type, so it has no schema; write one, for example {name}: str.",
        "参数 {name!r} 没有类型标注，无法生成模式；请补上，例如 {name}: str。",
    ),
    "TW3006": (
        "a type has no JSON form ({problem}); use JSON types, Pydantic models, dataclasses or TypedDicts, "
        "or hide the parameter with Depends.",
        "某个类型没有 JSON 形式（{problem}）；请使用 JSON 类型、Pydantic 模型、dataclass 或 TypedDict，"
        "或用 Depends 隐藏该参数。",
    ),
    "TW3007": (
        "{name!r} is not a tool name; use 1 to 128 of A-Z a-z 0-9 _ - . as in read_file. Pass name=… for functions "
        "without one.",
        "{name!r} 不是合法的工具名；请使用 1 到 128 个 A-Z a-z 0-9 _ - . 字符，例如 read_file。"
        "没有名字的函数请传 name=…。",
    ),
    "TW3008": ("{effect!r} is not an effect; use one of {allowed}.", "{effect!r} 不是有效的 effect；可用：{allowed}。"),
    "TW3009": (
        'the input schema must have "type": "object" at its root, since arguments are an object.',
        '输入模式的根必须是 "type": "object"，因为参数是一个对象。',
    ),
    "TW3010": (
        "an example does not fit the tool's own schema: {problem}. Correct one of them.",
        "示例不符合工具自身的模式：{problem}。请修正示例或模式。",
    ),
    "TW3011": (
        "the default of {name!r} does not fit its own schema; change the default or the type.",
        "{name!r} 的默认值不符合其自身的模式；请修改默认值或类型。",
    ),
    "TW3012": (
        "the dependency {name} takes more than one parameter; it may take the context or nothing.",
        "依赖 {name} 的参数超过一个；它只能接受 context 或不带参数。",
    ),
    "TW3013": (
        "there is a tool called {name!r} already; give one of them another name.",
        "已存在名为 {name!r} 的工具；请为其中之一改名。",
    ),
    "TW3014": ("there is no setting {name!r}; there are {known}.", "没有名为 {name!r} 的设置；可用：{known}。"),
    "TW3015": (
        "a handler of raw JSON takes the arguments, and the context if it wants that: handler(arguments, context).",
        "原始 JSON 工具的处理函数接收参数，需要时再接收 context：handler(arguments, context)。",
    ),
    "TW3016": ("the setting {name} must be {wanted}.", "设置 {name} 必须是 {wanted}。"),
    "TW3022": (
        "{uri!r} is not an absolute URI (RFC 3986), as in docs://guide or docs://{{name}}; percent-encode what a URI "
        "cannot hold.",
        "{uri!r} 不是绝对 URI（RFC 3986），例如 docs://guide 或 docs://{{name}}；URI 中不允许的字符请用百分号编码。",
    ),
    "TW3023": (
        "the template {uri!r} cannot be read from a URI: {problem}.",
        "无法从 URI 反向解析模板 {uri!r}：{problem}。",
    ),
    "TW3030": (
        "the parameter {name!r} cannot be made of text; use str, int, float, bool, an enum, a Literal of strings, a "
        "date or the like.",
        "参数 {name!r} 无法由文本转换而来；请使用 str、int、float、bool、枚举、字符串 Literal、日期等类型。",
    ),
    "TW3031": (
        "what completes values takes the prefix, and the arguments and the context if it wants them: "
        "{name}(prefix, arguments, context).",
        "补全函数接收前缀，需要时再接收其余参数和上下文：{name}(prefix, arguments, context)。",
    ),
    "TW3032": (
        "{name!r} is not a prompt's name; use 1 to 128 printable characters. Pass name=… for functions without one.",
        "{name!r} 不是合法的提示名；请使用 1 到 128 个可打印字符。没有名字的函数请传 name=…。",
    ),
    "TW3033": ("there is a {name!r} already; remove it first.", "{name!r} 已存在；请先移除。"),
    "TW3034": (
        "the variables of {uri!r} and the parameters of its function differ: {names}.",
        "{uri!r} 的变量与其函数的参数不一致：{names}。",
    ),
    "TW3036": (
        "it does not say which parameters it takes ({problem}); wrap it in a function that does.",
        "它没有说明自己接收哪些参数（{problem}）；请用一个写明参数的函数包装它。",
    ),
    "TW3020": ("x-mcp-header cannot be used so: {problem}.", "x-mcp-header 用法有误：{problem}。"),
    "TW3021": (
        "two tools would have the name {names}; give one a prefix or another name.",
        "两个工具会同名：{names}；请加前缀或改名。",
    ),
    "TW3024": (
        "{name!r} would not be a tool name (1 to 128 of A-Z a-z 0-9 _ - .); use a shorter or plainer prefix or name.",
        "{name!r} 不是合法的工具名（1 到 128 个 A-Z a-z 0-9 _ - . 字符）；请换用更短或更简单的前缀或名称。",
    ),
    "TW3035": (
        "the key {key!r} cannot be used in meta: {problem}. Write a name, or a domain of yours backwards before it: "
        "com.example/name.",
        "meta 中不能使用键 {key!r}：{problem}。请使用名称，或在其前加上反写的自有域名：com.example/name。",
    ),
    "TW1027": ("The header {header} is sent more than once.", "请求头 {header} 出现了多次。"),
    "TW1029": ("{subject} may not be used: {reason}.", "不允许使用 {subject}：{reason}。"),
    "TW1060": ("The message holds more than {limit} arrays and objects.", "消息包含的数组和对象超过 {limit} 个。"),
    "TW1028": ("Refused: {reason}.", "已拒绝：{reason}。"),
    # settings and commands, for the operator
    "TW4001": ("{name} needs {option}.", "{name} 需要 {option}。"),
    "TW4002": ("Cannot serve {target}: {problem}.", "无法提供 {target}：{problem}。"),
    "TW4003": (
        "{address!r} is not an address; write HOST:PORT, [IPV6]:PORT or :PORT.",
        "{address!r} 不是地址；请写 HOST:PORT、[IPV6]:PORT 或 :PORT。",
    ),
    "TW4004": (
        "--workers, --allow-host, --state, --key-file, --metrics, --drain, --sse and what says who may call go with "
        "--http.",
        "--workers、--allow-host、--state、--key-file、--metrics、--drain、--sse "
        "以及说明谁可以调用的选项须与 --http 同用。",
    ),
    "TW4005": (
        "Refusing to listen on {address}: it is reached from other machines and nobody authenticates. Listen on "
        "127.0.0.1, or say who may call: --keys FILE, --oauth ISSUER --resource URL, Server(…, authenticate=…), or "
        "--public for whoever comes.",
        "拒绝监听 {address}：其他机器可以访问，却没有身份验证。请监听 127.0.0.1，"
        "或说明谁可以调用：--keys FILE、--oauth ISSUER --resource URL、Server(…, authenticate=…)，"
        "或用 --public 允许任何人。",
    ),
    "TW4007": ("Cannot listen on {address}: {problem}.", "无法监听 {address}：{problem}。"),
    "TW4008": ("{option} goes with the toolbox, not with {target}.", "{option} 用于工具箱，不适用于 {target}。"),
    "TW4009": ("{name} must be {wanted}.", "{name} 必须是 {wanted}。"),
    "TW4400": (
        "There is no ticket {ticket}, or not any more; `toolwright approvals list` shows those there are.",
        "没有工单 {ticket}，或已失效；可用 `toolwright approvals list` 查看现有工单。",
    ),
    "TW4401": (
        "Allowing needs a person: run this at a terminal, or name the file of a credential with --credential.",
        "批准须由人进行：请在终端中运行，或用 --credential 指定凭据文件。",
    ),
    "TW4402": (
        "The credential in {path} is not the one of this store: {problem}.",
        "{path} 中的凭据不属于此存储：{problem}。",
    ),
    "TW4403": (
        "The pattern does not fit the call of ticket {ticket} itself; write a schema that its arguments fit.",
        "该模式与工单 {ticket} 的调用本身不符；请写一个其参数符合的模式。",
    ),
    "TW4010": (
        "--sse goes with one worker: the session of an HTTP+SSE client lives in the process that has its stream. "
        "Serve such clients from a process of their own, or without --workers.",
        "--sse 只能用于单个工作进程：HTTP+SSE 客户端的会话存在于持有其流的进程中。请用单独的进程服务此类客户端，"
        "或不使用 --workers。",
    ),
    "TW4201": (
        "OAuth needs a package that is not installed. Install toolwright with it: pip install 'toolwright[auth]'.",
        "OAuth 需要一个尚未安装的软件包。请连同它一起安装 toolwright：pip install 'toolwright[auth]'。",
    ),
    "TW4202": (
        "The keys in {path} cannot be used: {problem}. Mend the file, or make it anew with 'toolwright keys new'.",
        "无法使用 {path} 中的密钥：{problem}。请修正该文件，或用 'toolwright keys new' 重新创建。",
    ),
    "TW4203": ("A key is not as it should be: {problem}.", "密钥格式有误：{problem}。"),
    "TW4204": (
        "{path} has a key called {name} already. Choose another name, or take the old one out of the file first.",
        "{path} 中已有名为 {name} 的密钥。请换一个名称，或先从文件中删除旧密钥。",
    ),
    "TW4205": (
        "{option} goes with {other}. Say both, or neither.",
        "{option} 须与 {other} 一起使用。请同时给出，或都不给出。",
    ),
    "TW4206": (
        "{target} has an authentication of its own, in its code; {option} would be a second one. Leave the option out.",
        "{target} 的代码中已有身份验证；{option} 将成为第二种。请去掉该选项。",
    ),
    "TW4210": (
        "{url} is not fetched: {problem}.",
        "不会获取 {url}：{problem}。",
    ),
    "TW4211": ("{url} cannot be fetched: {problem}.", "无法获取 {url}：{problem}。"),
    # limits, in the operator's log
    "TW4100": (
        "Calls are refused, for limits cannot be checked: {problem} Make the store of facts reachable again.",
        "无法核对限额，因此拒绝调用：{problem} 请恢复共享状态存储的访问。",
    ),
    "TW4101": (
        "A call of {tool} was given up, and its thread goes on: {count} threads run for nobody. Let the tool end by "
        "itself, make it async, or give it isolation='process'.",
        "已放弃对 {tool} 的一次调用，但其线程仍在运行：共有 {count} 个线程无人等待。请让该工具自行结束、改为异步，"
        "或设置 isolation='process'。",
    ),
    "TW4102": (
        "A thread of {tool} whose call was given up has ended after {seconds:.1f} s.",
        "{tool} 中调用已被放弃的一个线程在 {seconds:.1f} 秒后结束。",
    ),
    "TW4103": (
        "{who!r} is paused for {seconds:g} s: {sign}. See what this caller asks for; Server(abuse=…) sets the limits.",
        "已暂停 {who!r} {seconds:g} 秒：{sign}。请检查该调用方的请求；可用 Server(abuse=…) 调整限额。",
    ),
    "TW4104": (
        "{what} has held up the event loop for more than {seconds:g} s, and with it every other call: {place}. Make "
        "the function a plain def, which runs on a thread, or await something that does not block.",
        "{what} 阻塞事件循环已超过 {seconds:g} 秒，所有其他调用均被拖延：{place}。请将该函数改为普通 def"
        "（在线程中运行），或改用不阻塞的 await。",
    ),
    "TW4006": ("Cannot read the argument {what}: {problem}.", "无法读取参数 {what}：{problem}。"),
    "TW4300": ("Cannot read {file}: {problem}.", "无法读取 {file}：{problem}。"),
    "TW4301": ("{place}: this is not TOML: {problem}.", "{place}：不是合法的 TOML：{problem}。"),
    "TW4302": ("{place}: {key} {problem}.", "{place}：{key} 不符合要求：{problem}。"),
    "TW4303": (
        "{place}: the rule {name!r} can never match: {earlier!r} ({before}) stands before it and takes all that it "
        "would. Move it up, narrow that one, or take one of them out.",
        "{place}：规则 {name!r} 永远不会匹配：排在它前面的 {earlier!r}（{before}）已覆盖它的全部范围。"
        "请将其上移、收窄前者，或删除其中之一。",
    ),
    "TW4304": (
        "{place}: {key} names {pattern!r}, and this server has nothing that it matches. Near: {nearest}.",
        "{place}：{key} 中的 {pattern!r} 在本服务器上没有任何匹配项。相近的有：{nearest}。",
    ),
    "TW4305": (
        "{place}: none of the tools that this rule names has the effect {effect}; they have: {has}.",
        "{place}：该规则所列工具均不具有效果 {effect}；它们的效果为：{has}。",
    ),
    "TW4306": (
        "{place}: none of the tools that this rule is for has an argument {argument!r}. Near: {nearest}.",
        "{place}：该规则适用的工具均没有参数 {argument!r}。相近的有：{nearest}。",
    ),
    "TW4307": (
        "{place}: arguments is no JSON Schema that every value can be judged by: {problem}.",
        "{place}：arguments 不是可用于判定所有值的 JSON Schema：{problem}。",
    ),
    "TW4308": ("{place}: {key} does not go with {other}: {why}.", "{place}：{key} 不能与 {other} 同用：{why}。"),
    "TW4309": (
        "{place}: {word!r} is no keyword of JSON Schema, so nothing would be checked by it. Near: {nearest}.",
        "{place}：{word!r} 不是 JSON Schema 关键字，因此不会起任何检查作用。相近的有：{nearest}。",
    ),
    "TW4310": (
        "{place}: a rule is called {name!r} already ({first}). Records go by the name: give each one of its own.",
        "{place}：已有规则名为 {name!r}（{first}）。记录按名称区分：请为每条规则取不同的名称。",
    ),
    "TW4311": (
        "{file} says what tools may do, and lies in {root}, where tools may write. Move it out of there, or call it "
        "toolwright.toml, which the files tools do not write.",
        "{file} 规定了工具的权限，却位于工具可写的 {root} 之内。"
        "请将其移出，或命名为文件工具不会写入的 toolwright.toml。",
    ),
    "TW4312": (
        "--config goes with a server of ours that runs here (toolbox name, FILE.py, module:NAME), not with {target}.",
        "--config 用于在本进程中运行的自有服务器（工具箱名称、FILE.py、module:NAME），不适用于 {target}。",
    ),
    "TW4313": (
        "This server has nothing that is called {name!r}. Near: {nearest}.",
        "本服务器没有名为 {name!r} 的项。相近的有：{nearest}。",
    ),
    "TW4314": ("{file} has no rules: add [[rules]].", "{file} 中没有规则：请添加 [[rules]]。"),
    "TW4315": (
        "{place}: this is no record of an audit log; each line is one JSON object.",
        "{place}：不是审计日志记录；每行应为一个 JSON 对象。",
    ),
    "TW4330": (
        "{place}: the arguments of a rule are judged by JSON Schema 2020-12 alone; an older dialect would pass over "
        "some of its words. Leave out $schema.",
        "{place}：规则的 arguments 只按 JSON Schema 2020-12 判断；旧版方言会忽略其中一些关键字。请去掉 $schema。",
    ),
    # client and carrier
    "TW5001": (
        "The connection is closed. Requests in flight have no answer; what they asked may have happened.",
        "连接已关闭。尚未完成的请求没有应答；其作用可能已经发生。",
    ),
    "TW5003": ("{command} cannot be started: {problem}.", "无法启动 {command}：{problem}。"),
    "TW5004": (
        "{command} has ended. The last that it printed to standard error: {stderr}",
        "{command} 已退出。其标准错误的最后输出：{stderr}",
    ),
    "TW5005": (
        "The server sent a line that is too long; the connection is given up.",
        "服务器发送的行过长；连接已放弃。",
    ),
    "TW5006": ("{url} cannot be reached: {problem}.", "无法访问 {url}：{problem}。"),
    "TW5007": ("{url} answered with HTTP status {status}{said}.", "{url} 返回了 HTTP 状态 {status}{said}。"),
    "TW5008": (
        "The server speaks no protocol revision that we do; it offers {offered}.",
        "服务器与我们没有共同的协议版本；它提供 {offered}。",
    ),
    "TW5009": ("The server's answer to {method} is not valid: {problem}.", "服务器对 {method} 的应答无效：{problem}。"),
    "TW5011": (
        "The server printed more than {count} lines that are no messages; is it an MCP server?",
        "服务器输出了超过 {count} 行非消息内容；它是 MCP 服务器吗？",
    ),
    "TW5010": (
        "The server asks for something of the user, and this client has nobody to ask.",
        "服务器需要用户输入，而此客户端无人可问。",
    ),
    "TW5012": (
        "The server has asked for input {limit} times without coming to an end.",
        "服务器已要求输入 {limit} 次仍未结束。",
    ),
    "TW5002": ("No answer to {method} within {seconds:g} s.", "{method} 在 {seconds:g} 秒内没有应答。"),
    # the files tools
    "TW6001": (
        "The folder {folder} cannot be served: {problem}. Give a directory that exists.",
        "无法提供文件夹 {folder}：{problem}。请给出一个已存在的目录。",
    ),
    "TW6002": ("The files tools need at least one folder.", "文件工具至少需要一个文件夹。"),
    "TW6010": ("The path is empty. Use '.' for the folder itself.", "路径为空。文件夹本身请用 '.' 表示。"),
    "TW6011": (
        "{path!r} contains '..', which is not followed. Give the path from the served folder down, like 'src/main.py'.",
        "{path!r} 含有 '..'，不予解析。请给出从所提供文件夹开始向下的路径，例如 'src/main.py'。",
    ),
    "TW6012": (
        "{path!r} contains a control character, a line break or invalid Unicode. Give the name as it is listed.",
        "{path!r} 含有控制字符、换行符或无效的 Unicode。请使用目录列表中的名称。",
    ),
    "TW6013": (
        "{path!r} contains a backslash, a colon or a Windows device name, which is refused on every system. "
        "Separate names with '/' and give no drive.",
        "{path!r} 含有反斜杠、冒号或 Windows 设备名，在任何系统上都会被拒绝。请用 '/' 分隔名称，且不要带盘符。",
    ),
    "TW6014": (
        "This absolute path lies outside what is served. Use a relative path, like 'src/main.py'; "
        "list_directory with '.' shows what there is.",
        "该绝对路径不在所提供的范围内。请使用相对路径，例如 'src/main.py'；用 list_directory 列出 '.' 可查看现有内容。",
    ),
    "TW6015": (
        "There is no folder {name!r}. A path begins with one of: {labels}.",
        "没有文件夹 {name!r}。路径须以下列之一开头：{labels}。",
    ),
    "TW6016": (
        "{path!r} is too long or too deep. Use fewer or shorter names.",
        "{path!r} 过长或层级过深。请减少层级或缩短名称。",
    ),
    "TW6020": (
        "{path!r} does not exist. list_directory on {parent!r} shows what there is.",
        "{path!r} 不存在。用 list_directory 列出 {parent!r} 可查看现有内容。",
    ),
    "TW6021": (
        "{path!r} does not exist. Names are taken literally: '~', '$' and '%' are not expanded. "
        "list_directory on '.' shows what there is.",
        "{path!r} 不存在。名称按字面处理，不展开 '~'、'$' 和 '%'。用 list_directory 列出 '.' 可查看现有内容。",
    ),
    "TW6022": (
        "A part of {path!r} is not a directory. list_directory on '.' shows what there is.",
        "{path!r} 中有一部分不是目录。用 list_directory 列出 '.' 可查看现有内容。",
    ),
    "TW6023": (
        "{path!r} is a directory, and a file is needed. list_directory shows the files in it.",
        "{path!r} 是目录，而此处需要文件。用 list_directory 可查看其中的文件。",
    ),
    "TW6024": (
        "{path!r} is not a regular file but a pipe, socket or device. Choose an entry of type 'file'.",
        "{path!r} 不是普通文件，而是管道、套接字或设备。请选择类型为 'file' 的条目。",
    ),
    "TW6025": (
        "{path!r} is a hard link: the same file has another name, perhaps outside what is served. "
        "Ask the user for a copy of it.",
        "{path!r} 是硬链接：同一文件另有名称，可能位于所提供的范围之外。请让用户提供一份副本。",
    ),
    "TW6026": (
        "{path!r} leads through a link out of the served folder. Choose a path that stays inside.",
        "{path!r} 经由链接指向所提供的文件夹之外。请选择位于文件夹之内的路径。",
    ),
    "TW6027": (
        "{path!r} leads through too many links, perhaps in a circle. Name the file itself.",
        "{path!r} 经过的链接过多，可能形成循环。请直接指明文件本身。",
    ),
    "TW6028": (
        "{path!r} lies on another file system, which is not served. Choose a path outside of it.",
        "{path!r} 位于另一文件系统，不在提供范围内。请选择其外的路径。",
    ),
    "TW6029": (
        "{path!r} was exchanged for something else during the call, so nothing was done. Try again.",
        "{path!r} 在调用期间被替换，未执行任何操作。请重试。",
    ),
    "TW6030": (
        "{path!r} holds secrets and is neither read nor written. Go on without it, or ask the user for what you need.",
        "{path!r} 含有机密信息，不可读取或写入。请不依赖它继续，或向用户询问所需内容。",
    ),
    "TW6031": (
        "{path!r} is protected: others run what is in it, so it may be read but not written. "
        "Tell the user what to change there.",
        "{path!r} 受保护：其内容会被其他程序执行，只可读取、不可写入。请告知用户需要在其中做哪些修改。",
    ),
    "TW6032": (
        "{path!r} is a link, which is not followed here. Name the file that it stands for.",
        "{path!r} 是链接，此处不跟随。请指明它所指向的文件。",
    ),
    "TW6033": (
        "The system does not permit this on {path!r}. Choose another file, or ask the user for access.",
        "系统不允许对 {path!r} 执行此操作。请选择其他文件，或请用户授权。",
    ),
    "TW6034": (
        "The system refused {path!r} ({problem}). Try again; if it stays so, tell the user.",
        "系统拒绝了对 {path!r} 的操作（{problem}）。请重试；若仍失败，请告知用户。",
    ),
    "TW6035": (
        "There is no room to write {path!r} (disk, quota or size limit); what was there is unchanged. Tell the user.",
        "没有空间写入 {path!r}（磁盘、配额或大小限制）；原有内容未变。请告知用户。",
    ),
    "TW6040": (
        "{path!r} is not {encoding} text. Read it with encoding 'base64'.",
        "{path!r} 不是 {encoding} 文本。请用编码 'base64' 读取。",
    ),
    "TW6041": (
        "{path!r} has {lines} lines; start_line must not be greater than that.",
        "{path!r} 共有 {lines} 行；start_line 不能大于该值。",
    ),
    "TW6042": (
        "end_line {end} comes before start_line {start}. Give an end_line of at least {start}.",
        "end_line {end} 小于 start_line {start}。end_line 至少应为 {start}。",
    ),
    "TW6043": (
        "offset counts bytes and cannot be combined with start_line or end_line; base64 takes only offset. "
        "Give one of the two.",
        "offset 按字节计，不能与 start_line 或 end_line 同时使用；base64 只接受 offset。请只给出其中一种。",
    ),
    "TW6044": (
        "{path!r} has {size} bytes; offset must not be greater than that.",
        "{path!r} 共有 {size} 字节；offset 不能大于该值。",
    ),
    "TW6045": (
        "Line {start} of {path!r} lies behind the first {limit} bytes, in which lines are counted. "
        "Read with offset instead, a number of bytes.",
        "{path!r} 的第 {start} 行位于可按行计数的前 {limit} 字节之后。请改用 offset（字节数）读取。",
    ),
    "TW6050": (
        "{path!r} exists already and was not changed. Use mode 'overwrite' to replace it, or another name.",
        "{path!r} 已存在，未作更改。请用模式 'overwrite' 替换，或换一个名称。",
    ),
    "TW6051": (
        "The content has {size} bytes, more than the limit of {limit} per call. "
        "Write the first part, then the rest with mode 'append'.",
        "内容有 {size} 字节，超过每次调用的上限 {limit}。请先写入第一部分，再用模式 'append' 写入其余部分。",
    ),
    "TW6052": (
        "The content is not valid base64. Use A-Z, a-z, 0-9, '+', '/' and '=' at the end, no line breaks.",
        "内容不是有效的 base64。请使用 A-Z、a-z、0-9、'+'、'/' 以及末尾的 '='，不含换行。",
    ),
    "TW6053": (
        "The content cannot be written as {encoding}: character {position} has no place in it. "
        "Use encoding {other!r} or change the character.",
        "内容无法以 {encoding} 写入：第 {position} 个字符不在其中。请改用编码 {other!r} 或修改该字符。",
    ),
    "TW6054": (
        "{path!r} would grow to {size} bytes, more than the limit of {limit}. Begin a new file.",
        "{path!r} 将增至 {size} 字节，超过上限 {limit}。请新建文件。",
    ),
    "TW6055": (
        "{path!r} is not the version you read: it was changed since. Read it again, then write.",
        "{path!r} 已不是您读取时的版本：其间有过更改。请重新读取后再写入。",
    ),
    "TW6056": (
        "The directory for {path!r} does not exist. Set create_parents to true to make it, or choose another.",
        "{path!r} 所在的目录不存在。请将 create_parents 设为 true 以创建，或另选目录。",
    ),
    "TW6060": (
        "The cursor belongs to another listing. Use next_cursor of the last result for the same path, or none.",
        "该游标属于另一次列表。请使用同一路径上次结果中的 next_cursor，或不带游标。",
    ),
    # state
    "TW7001": (
        "{url!r} names no store that is supported; supported: {supported}.",
        "{url!r} 不是受支持的存储；支持：{supported}。",
    ),
    "TW7002": ("The state file {path} cannot be opened: {problem}.", "无法打开状态文件 {path}：{problem}。"),
    "TW7003": (
        "The state file {path} cannot be used now: {problem}. Nothing was changed.",
        "状态文件 {path} 目前无法使用：{problem}。未作任何更改。",
    ),
    "TW7004": (
        "{limit} jobs wait for the store {path} already; this one was refused.",
        "已有 {limit} 项任务在等待存储 {path}；本次请求被拒绝。",
    ),
    "TW7005": ("The store {path} is not open.", "存储 {path} 未打开。"),
    "TW7006": (
        "The state file {path} was written by a newer toolwright (layout {found}, this one knows {known}).",
        "状态文件 {path} 由更新版本的 toolwright 写入（布局 {found}，当前仅支持 {known}）。",
    ),
    "TW7050": (
        "The state store {url} failed: {problem}. Whether it did what was asked last is not known; what depends on it "
        "is refused. Check that the store runs and can be reached from here.",
        "状态存储 {url} 出错：{problem}。上一个请求是否已生效无法得知；依赖它的操作均被拒绝。"
        "请检查该存储是否在运行且可从此处访问。",
    ),
    "TW7051": ("The state store {url} is not open.", "状态存储 {url} 未打开。"),
    "TW7052": (
        "{url!r} is no address of a Redis or Valkey; write redis://user:password@host:port/db, with rediss:// for TLS; "
        "?prefix=… and, with TLS, ?ssl_ca_certs=FILE may follow.",
        "{url!r} 不是 Redis 或 Valkey 的地址；请写成 redis://用户:密码@主机:端口/库号，TLS 用 rediss://；"
        "其后可加 ?prefix=…，使用 TLS 时还可加 ?ssl_ca_certs=文件。",
    ),
    "TW7053": (
        "State at {scheme}:// needs the package {package!r}, which is not installed: "
        "pip install 'toolwright[{extra}]'.",
        "使用 {scheme}:// 的状态存储需要未安装的软件包 {package!r}：pip install 'toolwright[{extra}]'。",
    ),
    "TW7054": (
        "No key can be read from {place}: {problem}. A key is base64 of 16 bytes or more on a line of its own, made "
        "with `openssl rand -base64 32`; the first seals, the others still open.",
        "无法从 {place} 读取密钥：{problem}。每行一个密钥，为至少 16 字节的 base64，"
        "可用 `openssl rand -base64 32` 生成；第一个用于封装，其余仍可用于解封。",
    ),
    "TW7055": (
        "Servers that share {url} need the same key, and this one has none: what one hands to a client, the others "
        "could not open. Write a key into a file with `openssl rand -base64 32`, give that file to each, and start "
        "with --key-file FILE or with TOOLWRIGHT_KEY.",
        "共享 {url} 的各服务器需要相同的密钥，而此服务器没有：其中一台交给客户端的内容，其他服务器将无法打开。"
        "请用 `openssl rand -base64 32` 把密钥写入文件，发给每台服务器，并用 --key-file 文件 或 TOOLWRIGHT_KEY 启动。",
    ),
    # the audit log
    "TW7010": (
        'What this server does cannot be recorded: {problem} Say where it can, Server(…, audit="sqlite:PATH") or '
        "the variable TOOLWRIGHT_AUDIT, or that nothing shall be recorded, audit=False.",
        '无法记录此服务器的操作：{problem}请用 Server(…, audit="sqlite:PATH") 或环境变量 TOOLWRIGHT_AUDIT '
        "指定可用的位置；若不需要记录，请设置 audit=False。",
    ),
    "TW7011": (
        "{subject} was not started, and nothing was changed: it must be recorded first, and the audit log cannot be "
        "written now. Tell the user that the operator of this server has to look at its log; repeating the call helps "
        "only once that is done.",
        "{subject} 未启动，也没有任何更改：它必须先被记录，而审计日志目前无法写入。请告知用户：需要由此服务器的运维人员"
        "查看其日志；在此之前重复调用没有作用。",
    ),
    "TW7012": ("The seal file {path} cannot be written now: {problem}.", "封存文件 {path} 目前无法写入：{problem}。"),
    "TW7013": ("{path} is no seal file: {problem}.", "{path} 不是封存文件：{problem}。"),
    "TW7014": ("The key file {path} cannot be used: {problem}.", "密钥文件 {path} 无法使用：{problem}。"),
    "TW7015": (
        "There is no audit log {what}. Servers of this user that have one: {known}. Say --server NAME, or --log URL.",
        "没有审计日志 {what}。此用户已有审计日志的服务器：{known}。请用 --server NAME 或 --log URL 指定。",
    ),
    "TW7016": (
        "Which audit log? Say --server NAME, or --log URL. Servers of this user that have one: {known}.",
        "要查看哪个审计日志？请用 --server NAME 或 --log URL 指定。此用户已有审计日志的服务器：{known}。",
    ),
    "TW7020": ("The database {url} cannot be opened: {problem}.", "无法打开数据库 {url}：{problem}。"),
    "TW7021": (
        "The database {url} cannot be used now: {problem}. If the connection was lost, the last records may be there "
        "or not.",
        "数据库 {url} 目前无法使用：{problem}。若连接已断开，最后的记录可能已写入，也可能没有。",
    ),
    # the kit: what its checks find
    "TW8001": ("The check ended early: {problem}", "该检查提前结束：{problem}"),
    "TW8101": (
        "Not a tool name that every host takes: 1 to 128 of A-Z a-z 0-9 _ - .",
        "并非所有宿主都接受的工具名：应为 1 到 128 个 A-Z a-z 0-9 _ - . 字符",
    ),
    "TW8102": ("It has no description, which a model chooses by.", "缺少供模型选用的描述。"),
    "TW8103": ("Its schema cannot be used: {problem}", "其模式无法使用：{problem}"),
    "TW8104": ("{count} tools have this name.", "有 {count} 个工具同名。"),
    "TW8105": ("Its definition is not valid, so clients leave it out.", "其定义无效，客户端会将其略去。"),
    "TW8111": ("The tools cannot be listed: {problem}", "无法列出工具：{problem}"),
    "TW8112": ("The list is not the same twice in a row.", "连续两次列出的结果不同。"),
    "TW8122": ("An example of its schema does not fit it: {example}", "其模式中的示例不符合模式：{example}"),
    "TW8131": ("No answer within {seconds:g} s to {arguments}", "{seconds:g} 秒内没有应答：{arguments}"),
    "TW8132": (
        "{arguments} is answered with an error of the protocol: {problem}",
        "{arguments} 得到协议错误：{problem}",
    ),
    "TW8133": ("{arguments} ended the connection: {problem}", "{arguments} 使连接中断：{problem}"),
    "TW8134": ("It failed at {arguments}: {words}", "它在处理 {arguments} 时出错：{words}"),
    "TW8141": (
        "It publishes an output schema and returned no structured content.",
        "它公布了输出模式，却没有返回结构化内容。",
    ),
    "TW8142": ("Its result breaks its output schema: {problem}", "其结果不符合输出模式：{problem}"),
    "TW8151": (
        "Text and structured content differ: {text} and {structured}",
        "文本与结构化内容不一致：{text} 与 {structured}",
    ),
    "TW8152": (
        "Its structured content has no copy as text, which older clients need.",
        "其结构化内容没有旧客户端所需的文本副本。",
    ),
    "TW8161": (
        "Said to be idempotent, it answers the same call twice with {first} and {second}",
        "声明为幂等，但同一调用两次分别得到 {first} 和 {second}",
    ),
    "TW8162": (
        "Said to be idempotent, its second call changed what {readers} tells.",
        "声明为幂等，但第二次调用改变了 {readers} 的结果。",
    ),
    "TW8201": ("{revision} is offered and cannot be spoken: {problem}", "声称支持 {revision}，却无法使用：{problem}"),
    "TW8202": ("{revision} lists other tools; in one only: {names}", "{revision} 列出的工具不同；仅其一拥有：{names}"),
    "TW8203": (
        "It answers otherwise in {other} than in {revision}.",
        "使用 {other} 时的应答与 {revision} 不同。",
    ),
    "TW8204": ("The server cannot be reached over {carrier}: {problem}", "无法经由 {carrier} 访问服务器：{problem}"),
    "TW8205": ("The tools over {carrier} are not the same.", "经由 {carrier} 得到的工具不同。"),
    "TW8206": ("Tools are listed, and the capability is not declared.", "列出了工具，却没有声明该能力。"),
    "TW8301": (
        "Arguments that break {rule} at {path} were accepted: {arguments}",
        "接受了在 {path} 处违反 {rule} 的参数：{arguments}",
    ),
    "TW8303": (
        "After calls that should have been refused, {readers} tells something else.",
        "在本应被拒绝的调用之后，{readers} 的结果变了。",
    ),
    "TW8304": (
        "Arguments that are no object were not refused: {arguments} is answered {answer}",
        "没有拒绝不是对象的参数：{arguments} 得到 {answer}",
    ),
    "TW8305": (
        "A tool that is not there should be error -32602, and is answered {answer}",
        "不存在的工具应得到错误 -32602，实际得到 {answer}",
    ),
    "TW8306": ("An error gives away {what}: {excerpt}", "错误信息泄露了内部细节（{what}）：{excerpt}"),
    "TW8307": ("A hostile text ({what}) was obeyed: {found}", "恶意文本（{what}）被执行：{found}"),
    "TW8308": (
        "A hostile text ({what}) stands raw in an error, where a terminal would obey it.",
        "恶意文本（{what}）原样出现在错误信息中，终端会执行它。",
    ),
    "TW8310": (
        "An error repeats a text of {size} characters ({what}).",
        "错误信息重复了 {size} 个字符的文本（{what}）。",
    ),
    "TW8311": (
        "After a message nested {depth} levels deep the server does not answer any more.",
        "收到嵌套 {depth} 层的消息后，服务器不再应答。",
    ),
    "TW8312": ("A message nested {depth} levels deep has no answer.", "嵌套 {depth} 层的消息没有应答。"),
    "TW8401": (
        "p95 is {p95:.3g} s, more than the limit of {limit:g} s.",
        "p95 为 {p95:.3g} 秒，超过上限 {limit:g} 秒。",
    ),
    "TW8402": ("{count} of {total} calls had no result.", "{total} 次调用中有 {count} 次没有结果。"),
    "TW8403": (
        "{count} of {total} calls had another answer than the same call alone.",
        "{total} 次调用中有 {count} 次的应答与单独调用时不同。",
    ),
    "TW8501": (
        "After calls that the client gave up it answers no more: {problem}",
        "客户端放弃调用之后不再应答：{problem}",
    ),
    "TW8502": ("A call that was cancelled was answered all the same.", "已取消的调用仍得到应答。"),
    "TW8503": ("After a cancellation the server does not answer any more.", "取消之后服务器不再应答。"),
    "TW8504": (
        "{what}: answered with {answer}, not with error {number}.",
        "{what}：应得到错误 {number}，实际为 {answer}。",
    ),
    "TW8505": ("After messages that are none the server does not answer any more.", "收到非法消息之后服务器不再应答。"),
    "TW8506": ("It does not end when its input does.", "输入结束后它没有退出。"),
    "TW8507": ("It left {count} processes behind.", "它遗留了 {count} 个进程。"),
    "TW8508": ("{count} more {what} after {calls} calls.", "{calls} 次调用之后多出 {count} 个 {what}。"),
    "TW8509": ("{count} tasks are left after the connection was closed.", "连接关闭后遗留 {count} 个任务。"),
    # the kit: why a check was not run
    "TW8901": (
        "Not called: it changes things. Allow it with effects 'write'.",
        "未调用：它会产生更改。可用 effects 'write' 允许。",
    ),
    "TW8902": (
        "Not called: it may destroy something, or does not say what it does. Allow it by name: destructive {name}.",
        "未调用：它可能造成破坏，或未说明其作用。可按名称允许：destructive {name}。",
    ),
    "TW8903": ("Not called: it was not selected.", "未调用：未被选中。"),
    "TW8904": ("No value was made for these rules of its schema: {rules}.", "未能为其模式的这些规则生成值：{rules}。"),
    "TW8905": (
        "All {count} calls were answered with errors, so nothing is known of its results; give its schema examples. "
        "The first: {words}",
        "{count} 次调用全部得到错误，其结果无从得知；请在模式中给出示例。第一个错误：{words}",
    ),
    "TW8906": ("No tool that may be called says that it is idempotent.", "可调用的工具均未声明幂等。"),
    "TW8907": ("The server speaks one era only.", "服务器只支持一个时代的协议。"),
    "TW8908": ("No other way to the server was named.", "没有指定访问服务器的其他途径。"),
    "TW8909": ("There is no tool that can be called for this.", "没有可用于此项检查的工具。"),
    "TW8910": ("Its schema allows everything.", "其模式允许一切参数。"),
    "TW8911": ("It takes no text.", "它不接受文本。"),
    "TW8912": ("Over HTTP a cancelled call has nowhere to be answered.", "在 HTTP 上，已取消的调用无处应答。"),
    "TW8913": ("Its answer came before the cancellation.", "它在取消之前已应答。"),
    "TW8914": ("The server was not started as a process.", "服务器不是作为进程启动的。"),
    "TW8915": ("The inside of this server cannot be seen from here.", "无法从此处观察该服务器的内部。"),
    "TW8919": (
        "Not called any more: it asks the user, and nobody is here.",
        "不再调用：它要询问用户，而此处无人应答。",
    ),
    "TW8918": ("The tools cannot be listed.", "无法列出工具。"),
    "TW8917": (
        "An example of its schema did not work here, perhaps for want of what it names: {example} is answered {words}",
        "其模式中的示例在此未能成功，可能缺少其所指的内容：{example} 得到 {words}",
    ),
    "TW8916": ("Its tools are too slow for hundreds of calls.", "其工具太慢，无法调用数百次。"),
}


def sentence(code: str, language: str, facts: Mapping[str, Any]) -> str:
    """The sentence of ``code`` in ``language``, filled with ``facts``. Unknown codes are a bug: ``KeyError``."""
    template = SENTENCES[code][LANGUAGES.index(language)]
    return template.format_map(facts)
