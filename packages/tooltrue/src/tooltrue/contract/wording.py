"""Messages of contracts, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# contracts
DEFINITION_WITHOUT_NAME: Final = message(
    "TT9001",
    "Definition {number} of the list has no name, so it cannot be referred to. Give it one.",
    "列表中第 {number} 个定义没有名称，无从调用。请为其命名。",
)
DUPLICATE_DEFINITION_NAME: Final = message(
    "TT9002",
    "Definitions {first} and {second} of the list are both called {name!r}, and a call reaches one of them. "
    "Give the other another name; `tooltrue check` judges both as they are.",
    "列表中第 {first} 个和第 {second} 个定义同名：{name!r}，而调用只能到达其中一个。请为另一个改名；"
    "`tooltrue check` 可按现状检查两者。",
)
LOCK_FILE_INVALID: Final = message(
    "TT9003",
    "{file} is no lock file: {problem}.",
    "{file} 不是锁文件：{problem}。",
)
LOCK_FILE_TOO_NEW: Final = message(
    "TT9004",
    "{file} was written by a newer release: its format is {format}, this one reads {known}.",
    "{file} 由更新的版本写成：其格式为 {format}，当前版本能读取 {known}。",
)
LOCK_FILE_DIGEST_MISMATCH: Final = message(
    "TT9005",
    "{file} was changed by hand: {path} does not match its digest. Write it again with `tooltrue lock`.",
    "{file} 被手工改动过：{path} 与其摘要不符。请用 `tooltrue lock` 重新写入。",
)
FILE_UNREADABLE: Final = message(
    "TT9006",
    "{file} cannot be read: {problem}.",
    "无法读取 {file}：{problem}。",
)
UNKNOWN_CLIENT_PROFILE: Final = message(
    "TT9008",
    "There is no profile {name!r}; there are {known}.",
    "没有名为 {name!r} 的配置；现有：{known}。",
)
FILE_NOT_WRITABLE: Final = message(
    "TT9009",
    "{file} cannot be written: {problem}.",
    "无法写入 {file}：{problem}。",
)
CHANGE_ENTRY_ADDED: Final = message(
    "TT9010",
    "{name} is new.",
    "新增 {name}。",
)
CHANGE_ENTRY_REMOVED: Final = message(
    "TT9011",
    "{name} is gone.",
    "{name} 已不存在。",
)
CHANGE_TEXT_FIELD: Final = message(
    "TT9012",
    "The {field} reads otherwise.",
    "{field} 的文字有变。",
)
CHANGE_ICONS: Final = message(
    "TT9013",
    "The icons have changed.",
    "图标有变。",
)
CHANGE_HINT_REWORDED: Final = message(
    "TT9014",
    "{hint} says the same in other words.",
    "{hint} 写法不同而含义相同。",
)
CHANGE_OUTPUT_SCHEMA_ADDED: Final = message(
    "TT9015",
    "The schema of its results is promised now.",
    "现在承诺了结果的形式。",
)
CHANGE_OUTPUT_SCHEMA_REMOVED: Final = message(
    "TT9016",
    "The schema of its results is promised no longer.",
    "不再承诺结果的形式。",
)
CHANGE_EFFECT_UNKNOWN: Final = message(
    "TT9017",
    "{field} has changed, and the effect is not known.",
    "{field} 有变，其含义无从判断。",
)
CHANGE_HINT_LOOSENED: Final = message(
    "TT9018",
    "{hint} is {now} now: it says that it needs less care than before.",
    "{hint} 现为 {now}：声称所需的谨慎比以前少。",
)
CHANGE_HINT_PROMISE_WITHDRAWN: Final = message(
    "TT9019",
    "{hint} was {was}: a promise is taken back.",
    "{hint} 原为 {was}：收回了一项承诺。",
)
CHANGE_PROPERTY_ADDED: Final = message(
    "TT9020",
    "The property {name} is new.",
    "新增属性 {name}。",
)
CHANGE_PROPERTY_REMOVED: Final = message(
    "TT9021",
    "The property {name} is gone.",
    "属性 {name} 已不存在。",
)
CHANGE_PROPERTY_NOW_REQUIRED: Final = message(
    "TT9022",
    "{name} is required now.",
    "{name} 现为必需。",
)
CHANGE_PROPERTY_NOW_OPTIONAL: Final = message(
    "TT9023",
    "{name} is required no longer.",
    "{name} 不再必需。",
)
CHANGE_VALUES_REMOVED: Final = message(
    "TT9024",
    "These values are allowed no longer: {values}.",
    "不再允许这些值：{values}。",
)
CHANGE_VALUES_ADDED: Final = message(
    "TT9025",
    "These values are allowed now: {values}.",
    "现在允许这些值：{values}。",
)
CHANGE_TYPES_REMOVED: Final = message(
    "TT9026",
    "These types are allowed no longer: {kinds}.",
    "不再允许这些类型：{kinds}。",
)
CHANGE_TYPES_ADDED: Final = message(
    "TT9027",
    "These types are allowed now: {kinds}.",
    "现在允许这些类型：{kinds}。",
)
CHANGE_KEYWORD_WIDENED: Final = message(
    "TT9028",
    "{keyword}: all that fitted fits, and more.",
    "{keyword}：原来符合的仍符合，且范围更宽。",
)
CHANGE_KEYWORD_NARROWED: Final = message(
    "TT9029",
    "{keyword}: less fits than before.",
    "{keyword}：符合的范围比以前窄。",
)
CHANGE_KEYWORD_UNCLEAR: Final = message(
    "TT9030",
    "{keyword} has changed, and values that fitted may not fit any more.",
    "{keyword} 有变，原来符合的可能不再符合。",
)
CHANGE_KEYWORD_TEXT: Final = message(
    "TT9031",
    "{keyword} reads otherwise.",
    "{keyword} 的文字有变。",
)
CHANGE_KEYWORD_EQUIVALENT: Final = message(
    "TT9032",
    "{keyword} says the same in other words.",
    "{keyword} 写法不同而含义相同。",
)
CHANGE_TOOL_RENAMED: Final = message(
    "TT9040",
    "{was} is called {now} now, and still answers to its old name.",
    "{was} 现名 {now}，仍可用旧名称调用。",
)
CHANGE_ALIASES_ADDED: Final = message(
    "TT9041",
    "It answers to these old names now: {names}.",
    "现可用这些旧名称调用：{names}。",
)
CHANGE_ALIASES_REMOVED: Final = message(
    "TT9042",
    "It answers to these old names no longer: {names}.",
    "不再可用这些旧名称调用：{names}。",
)
CHANGE_DEPRECATION_ADDED: Final = message(
    "TT9043",
    "It is deprecated now.",
    "现已弃用。",
)
CHANGE_DEPRECATION_REMOVED: Final = message(
    "TT9044",
    "It is deprecated no longer.",
    "不再弃用。",
)
CHANGE_NEWLY_SUSPICIOUS: Final = message(
    "TT9045",
    "Its text looks like an order to the model now, and did not before ({code}).",
    "其文字如今像是对模型的指令，此前并非如此（{code}）。",
)
PORTABILITY_NAME_ALIASED: Final = message(
    "TT9060",
    "The name {name} is not accepted; it is called {alias} here.",
    "名称 {name} 不被接受；此处改用 {alias}。",
)
PORTABILITY_DESCRIPTION_CUT: Final = message(
    "TT9061",
    "The description has {length} characters and is cut at {limit}.",
    "描述有 {length} 个字符，截断为 {limit} 个。",
)
PORTABILITY_KEYWORD_WEAKENED: Final = message(
    "TT9062",
    "{keyword} is not accepted, so it is left out or said more weakly; arguments are judged by the whole schema.",
    "{keyword} 不被接受，已省略或放宽；调用时仍按完整架构检查参数。",
)
PORTABILITY_KEYWORD_REWRITTEN: Final = message(
    "TT9063",
    "{keyword} is said otherwise, and means the same.",
    "{keyword} 已改写，含义不变。",
)
PORTABILITY_REFERENCE_NOT_EXPANDABLE: Final = message(
    "TT9064",
    "The reference {ref} contains itself or leads nowhere, and cannot be written out.",
    "引用 {ref} 包含自身或无所指，无法展开。",
)
PORTABILITY_TOP_LEVEL_ALTERNATIVES: Final = message(
    "TT9065",
    "The parameters are in alternatives at the top ({keywords}), which are not accepted there.",
    "参数写在顶层的选择结构（{keywords}）中，而顶层不接受这种结构。",
)
PORTABILITY_TYPE_MISSING: Final = message(
    "TT9066",
    "A type is needed here, and none follows from the rest of the schema.",
    "此处必须有类型，而无法从已有内容推出。",
)
PORTABILITY_SCHEMA_TOO_LARGE: Final = message(
    "TT9067",
    "Written out, the schema has more than {limit} parts.",
    "展开后架构超过 {limit} 个部分。",
)
PORTABILITY_INPUT_NOT_OBJECT: Final = message(
    "TT9068",
    "The input schema is not an object.",
    "输入架构不是对象。",
)
PORTABILITY_TOO_MANY_TOOLS: Final = message(
    "TT9069",
    "{count} tools, of which {profile} takes {limit} at once.",
    "共 {count} 个工具，而 {profile} 一次最多接受 {limit} 个。",
)
TOOL_NOT_OFFERED_TO_CLIENT: Final = message(
    "TT9070",
    "{name} cannot be offered to {profile}. {reasons}",
    "无法向 {profile} 提供 {name}。{reasons}",
)
REASON_KEY_MISSING: Final = message(
    "TT9081",
    "it has no {key!r}",
    "缺少 {key!r}",
)
REASON_KEY_UNKNOWN: Final = message(
    "TT9082",
    "the key {key!r} is unknown",
    "键 {key!r} 未知",
)
REASON_NAME_MISMATCH: Final = message(
    "TT9083",
    "{section!r} holds a definition under another name",
    "{section!r} 中有定义的键与其名称不符",
)
REASON_MEMBERS_MISSING: Final = message(
    "TT9084",
    "{name!r} needs {members}",
    "{name!r} 需要 {members}",
)
REASON_NOT_AN_OBJECT: Final = message(
    "TT9085",
    "{name!r} is not an object",
    "{name!r} 不是对象",
)
SUSPICIOUS_PROMPT_MARKERS: Final = message(
    "TT9101",
    "It has the marks of a prompt, which a model takes for orders and a person does not see as such.",
    "其中含有提示词专用的标记，模型会当作指令，而人不会注意到。",
)
SUSPICIOUS_INSTRUCTION_OVERRIDE: Final = message(
    "TT9102",
    "It tells the model to disregard its instructions.",
    "它要求模型无视已有的指令。",
)
SUSPICIOUS_CONCEALMENT_FROM_USER: Final = message(
    "TT9103",
    "It tells the model to keep something from the user.",
    "它要求模型对用户隐瞒。",
)
SUSPICIOUS_SECRET_REQUEST: Final = message(
    "TT9104",
    "It tells the model to read or hand over secrets.",
    "它要求模型读取或交出机密内容。",
)
SUSPICIOUS_CONVERSATION_REQUEST: Final = message(
    "TT9105",
    "It asks for more of the conversation than a tool needs.",
    "它索取的对话内容超出工具所需。",
)
SUSPICIOUS_SECRET_LOCATION: Final = message(
    "TT9106",
    "It names a place where secrets are kept.",
    "它提到了存放机密的位置。",
)
SUSPICIOUS_EXFILTRATION_ADDRESS: Final = message(
    "TT9107",
    "It tells the model to send something to an address.",
    "它要求模型把内容发往某个地址。",
)
SUSPICIOUS_SYSTEM_IMPERSONATION: Final = message(
    "TT9108",
    "It speaks in the voice of the system or of the host.",
    "它冒用系统或宿主的口吻。",
)
SUSPICIOUS_DANGEROUS_COMMAND: Final = message(
    "TT9109",
    "It holds a command that loads and runs code, or deletes.",
    "它含有下载并执行代码或删除文件的命令。",
)
SUSPICIOUS_FOREIGN_TOOL_INSTRUCTIONS: Final = message(
    "TT9110",
    "It gives orders about tools that are not its own.",
    "它对其他工具的使用下达指令。",
)
SUSPICIOUS_SELF_PROMOTION: Final = message(
    "TT9111",
    "It praises itself, so as to be chosen before others.",
    "它自我吹捧，以求优先被选用。",
)
SUSPICIOUS_CROSS_SERVER_MENTION: Final = message(
    "TT9112",
    "It speaks of {other}, a tool of the server {server}.",
    "它提到了服务器 {server} 的工具 {other}。",
)
SUSPICIOUS_FALSE_CONSENT: Final = message(
    "TT9113",
    "It claims a consent that was not given, or that limits do not hold.",
    "它声称已获同意，或声称限制不适用。",
)
SUSPICIOUS_CONTROL_CHARACTERS: Final = message(
    "TT9121",
    "It holds {count} control characters or terminal sequences.",
    "其中含有 {count} 个控制字符或终端序列。",
)
SUSPICIOUS_BIDIRECTIONAL_CHARACTERS: Final = message(
    "TT9122",
    "It holds {count} characters that turn the direction of writing.",
    "其中含有 {count} 个改变书写方向的字符。",
)
SUSPICIOUS_TAG_CHARACTERS: Final = message(
    "TT9123",
    "It contains {count} invisible characters: tags.",
    "其中含有 {count} 个不可见的标签字符。",
)
SUSPICIOUS_INVISIBLE_CHARACTERS: Final = message(
    "TT9124",
    "It contains {count} invisible characters.",
    "其中含有 {count} 个不可见字符。",
)
SUSPICIOUS_VARIATION_SELECTORS: Final = message(
    "TT9125",
    "It contains {count} misplaced variation selectors, enough to carry a message.",
    "其中含有 {count} 个多余的变体选择符，可用于夹带信息。",
)
SUSPICIOUS_SMUGGLED_TEXT: Final = message(
    "TT9126",
    "It contains a text smuggled in invisible characters.",
    "其中用不可见字符夹带了文字。",
)
SUSPICIOUS_HIDDEN_TEXT: Final = message(
    "TT9127",
    "A part of it stands where a person does not look: in a comment, or behind many blanks.",
    "其中一部分位于人不会看到之处：注释内或大量空白之后。",
)
SUSPICIOUS_ENCODED_INSTRUCTIONS: Final = message(
    "TT9128",
    "Orders are encoded in it, so that a person does not read them.",
    "其中夹带了经过编码、人不易读出的指令。",
)
SUSPICIOUS_NAME_NOT_PORTABLE: Final = message(
    "TT9129",
    "The name is not one that every client can use: letters, digits, _, - and . only.",
    "该名称并非所有客户端都能使用：只可含字母、数字、_、- 和 .。",
)
SUSPICIOUS_NAME_INVISIBLE_CHARACTERS: Final = message(
    "TT9130",
    "The name begins or ends with a blank, or contains invisible characters.",
    "名称首尾有空白，或含有不可见字符。",
)
SUSPICIOUS_NAME_MIXED_SCRIPTS: Final = message(
    "TT9131",
    "The name mixes letters of several alphabets; it reads like {plain}.",
    "名称混用多种字母；看上去像 {plain}。",
)
SUSPICIOUS_NAME_LOOKALIKE: Final = message(
    "TT9132",
    "The name looks like {other} of the server {server}.",
    "名称看上去与服务器 {server} 的 {other} 相同。",
)
SUSPICIOUS_NAME_SAME_LETTERS: Final = message(
    "TT9133",
    "The name differs from {other} of the server {server} in case or separators only.",
    "名称与服务器 {server} 的 {other} 仅大小写或分隔符不同。",
)
SUSPICIOUS_NAME_TYPO: Final = message(
    "TT9134",
    "The name is one slip away from {other} of the server {server}.",
    "名称与服务器 {server} 的 {other} 仅差一两个字符。",
)
SUSPICIOUS_HEADERS_INVALID: Final = message(
    "TT9141",
    "Its headers cannot be used: {problem}.",
    "其请求头声明无法使用：{problem}。",
)
SUSPICIOUS_ICON_SOURCE: Final = message(
    "TT9142",
    "An icon is neither a picture nor at an https address.",
    "图标既不是图片，也不在 https 地址上。",
)
SUSPICIOUS_ICON_SVG: Final = message(
    "TT9143",
    "An icon is SVG, which may hold scripts.",
    "图标为 SVG，可能含有脚本。",
)
SUSPICIOUS_TEXT_TOO_LONG: Final = message(
    "TT9150",
    "It holds {size} characters or more, of which {limit} are read at the most.",
    "其长度达到 {size} 个字符以上，最多只读取 {limit} 个。",
)
REASON_FOLDER_LOCKED: Final = message(
    "TT9086",
    "another process has locked its folder for {seconds:g} s",
    "另一个进程已锁定其所在目录 {seconds:g} 秒",
)
