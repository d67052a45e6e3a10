"""Messages of several tool families, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# settings and commands, for the operator
OPTION_REQUIRED: Final = message(
    "TT4001",
    "{name} needs {option}.",
    "{name} 需要 {option}。",
)
LABEL_EITHER_OR: Final = message(
    "TT4041",
    "either {one} or {other}",
    "{one} 或 {other} 之一",
)
CONFIG_WRITABLE_BY_TOOLS: Final = message(
    "TT4311",
    "{file} sets the permissions of tools, and lies in {root}, where tools may write. Move it out of there, or "
    "call it tooltrue.toml, which the files tools do not write.",
    "{file} 规定了工具的权限，却位于工具可写的 {root} 之内。请将其移出，或命名为文件工具不会写入的 tooltrue.toml。",
)

# the files tools
ROOT_FOLDER_NOT_SERVABLE: Final = message(
    "TT6001",
    "The folder {folder} cannot be served: {problem}. Give a directory that exists.",
    "无法提供文件夹 {folder}：{problem}。请给出一个已存在的目录。",
)
ROOT_FOLDER_REQUIRED: Final = message(
    "TT6002",
    "The files tools need at least one folder. Name one that they may use.",
    "文件工具至少需要一个文件夹。请指定一个可供使用的文件夹。",
)
PATH_EMPTY: Final = message(
    "TT6010",
    "The path is empty. Use '.' for the folder itself.",
    "路径为空。文件夹本身请用 '.' 表示。",
)
PATH_TRAVERSAL: Final = message(
    "TT6011",
    "{path!r} contains '..', which is not followed. Give the path from the served folder down, like 'src/main.py'.",
    "{path!r} 含有 '..'，不予解析。请给出从所提供文件夹开始向下的路径，例如 'src/main.py'。",
)
PATH_CHARACTER_INVALID: Final = message(
    "TT6012",
    "{path!r} contains a control character, a line break or invalid Unicode. Give the name as it is listed.",
    "{path!r} 含有控制字符、换行符或无效的 Unicode。请使用目录列表中的名称。",
)
PATH_NOT_PORTABLE: Final = message(
    "TT6013",
    "{path!r} contains a backslash, a colon or a Windows device name, which is refused on every system. "
    "Separate names with '/' and give no drive.",
    "{path!r} 含有反斜杠、冒号或 Windows 设备名，在任何系统上都会被拒绝。请用 '/' 分隔名称，且不要带盘符。",
)
PATH_NAME_CHANGED_BY_WINDOWS: Final = message(
    "TT4730",
    "{path!r} contains a name that Windows reads as another one, or cannot hold: a device such as CON, a stream after "
    "':', a dot or space at the end, or one of < > | ? * and the double quote. Give the name as it is listed.",
    "{path!r} 中含有 Windows 会读作别的名称或无法保存的名称：CON 等设备名、':' 之后的数据流、末尾的点或空格，"
    "或 < > | ? * 与双引号之一。请使用目录列表中的名称。",
)
PATH_OUTSIDE_ROOTS: Final = message(
    "TT6014",
    "This absolute path lies outside the served folders. Use a relative path, like 'src/main.py'. Nearest: {near}.",
    "该绝对路径不在所提供的范围内。请使用相对路径，例如 'src/main.py'。最接近的有：{near}。",
)
UNKNOWN_ROOT_LABEL: Final = message(
    "TT6015",
    "There is no folder {name!r}. A path begins with one of: {labels}.",
    "没有文件夹 {name!r}。路径须以下列之一开头：{labels}。",
)
PATH_TOO_LONG: Final = message(
    "TT6016",
    "{path!r} is too long or too deep. Use fewer or shorter names.",
    "{path!r} 过长或层级过深。请减少层级或缩短名称。",
)
PATH_NOT_FOUND: Final = message(
    "TT6020",
    "{path!r} does not exist. In {parent!r}, nearest first: {near}.",
    "{path!r} 不存在。{parent!r} 中有（最接近的在前）：{near}。",
)
PATH_NOT_EXPANDED: Final = message(
    "TT6021",
    "{path!r} does not exist. Names are taken literally: '~', '$' and '%' are not expanded. "
    "In {parent!r}, nearest first: {near}.",
    "{path!r} 不存在。名称按字面处理，不展开 '~'、'$' 和 '%'。{parent!r} 中有（最接近的在前）：{near}。",
)
PATH_PARENT_NOT_DIRECTORY: Final = message(
    "TT6022",
    "A part of {path!r} is not a directory. Name the file itself, or a path beside it.",
    "{path!r} 中有一部分不是目录。请直接指明该部分本身，或其旁的路径。",
)
PATH_IS_DIRECTORY: Final = message(
    "TT6023",
    "{path!r} is a directory, and a file is needed. In it: {near}.",
    "{path!r} 是目录，而此处需要文件。其中有：{near}。",
)
PATH_NOT_REGULAR_FILE: Final = message(
    "TT6024",
    "{path!r} is not a regular file but a pipe, socket or device. Choose an entry of type 'file'.",
    "{path!r} 不是普通文件，而是管道、套接字或设备。请选择类型为 'file' 的条目。",
)
PATH_IS_HARD_LINK: Final = message(
    "TT6025",
    "{path!r} is a hard link: the same file has another name, perhaps outside the served folders. Ask the user "
    "for a copy of it.",
    "{path!r} 是硬链接：同一文件另有名称，可能位于所提供的范围之外。请让用户提供一份副本。",
)
SYMLINK_LEAVES_ROOT: Final = message(
    "TT6026",
    "{path!r} leads through a link out of the served folder. Choose a path that stays inside.",
    "{path!r} 经由链接指向所提供的文件夹之外。请选择位于文件夹之内的路径。",
)
TOO_MANY_SYMLINKS: Final = message(
    "TT6027",
    "{path!r} leads through too many links, perhaps in a circle. Name the file itself.",
    "{path!r} 经过的链接过多，可能形成循环。请直接指明文件本身。",
)
PATH_ON_OTHER_FILE_SYSTEM: Final = message(
    "TT6028",
    "{path!r} lies on another file system, which is not served. Choose a path outside of it.",
    "{path!r} 位于另一文件系统，不在提供范围内。请选择其外的路径。",
)
PATH_REPLACED_DURING_CALL: Final = message(
    "TT6029",
    "{path!r} was replaced during the call, so the call had no effect. Try again.",
    "{path!r} 在调用期间被替换，未执行任何操作。请重试。",
)
PATH_CONTAINS_SECRETS: Final = message(
    "TT6030",
    "{path!r} contains secrets and is neither read nor written. Continue without it, or ask the user for the "
    "parts you need.",
    "{path!r} 含有机密信息，不可读取或写入。请不依赖它继续，或向用户询问所需内容。",
)
PATH_WRITE_PROTECTED: Final = message(
    "TT6031",
    "{path!r} is protected: other programs run its content, so it may be read but not written. Tell the user the "
    "change to make there.",
    "{path!r} 受保护：其内容会被其他程序执行，只可读取、不可写入。请告知用户需要在其中做哪些修改。",
)
PATH_IS_SYMLINK: Final = message(
    "TT6032",
    "{path!r} is a link, which is not followed here. Name the file that it stands for.",
    "{path!r} 是链接，此处不跟随。请指明它所指向的文件。",
)
PATH_PERMISSION_DENIED: Final = message(
    "TT6033",
    "The system does not permit this on {path!r}. Choose another file, or ask the user for access.",
    "系统不允许对 {path!r} 执行此操作。请选择其他文件，或请用户授权。",
)
PATH_SYSTEM_ERROR: Final = message(
    "TT6034",
    "The system refused {path!r} ({problem}). Try again; if it stays so, tell the user.",
    "系统拒绝了对 {path!r} 的操作（{problem}）。请重试；若仍失败，请告知用户。",
)
STORAGE_FULL: Final = message(
    "TT6035",
    "There is no room to write {path!r} (disk, quota or size limit); the former content is unchanged. Tell the user.",
    "没有空间写入 {path!r}（磁盘、配额或大小限制）；原有内容未变。请告知用户。",
)
REGULAR_EXPRESSION_INVALID: Final = message(
    "TT6063",
    "{pattern!r} is no regular expression that is supported: {problem}. Lookaround and backreferences do not exist "
    "here; leave regex out to search for the text itself.",
    "{pattern!r} 不是受支持的正则表达式：{problem}。此处不支持环视和反向引用；若要按字面搜索，请不要设置 regex。",
)
TOOLBOX_PACKAGE_MISSING: Final = message(
    "TT6204",
    "The {family} tools need the package {package!r} of the extra {extra!r}, which is not installed. Run: {command}",
    "{family} 工具需要附加组件 {extra!r} 中尚未安装的软件包 {package!r}。请运行：{command}",
)
CATALOG_QUERY_WITHOUT_WORDS: Final = message(
    "TT6601",
    "$.query has no word to look for. Give words of a name or a description, such as 'wireless headphones'.",
    "$.query 中没有可查找的词。请给出名称或描述中的词，例如“无线耳机”。",
)
CATALOG_CURSOR_MISMATCH: Final = message(
    "TT6602",
    "$.cursor belongs to another search. Use next_cursor of the last result with the same query, filters and "
    "sort, or leave the cursor out.",
    "$.cursor 属于另一次搜索。请在相同的查询、筛选和排序下使用上次结果的 next_cursor，或不带游标。",
)
CATALOG_PRICE_RANGE_EMPTY: Final = message(
    "TT6603",
    "$.min_price is above $.max_price, so no product could match. Exchange them, or leave one out.",
    "$.min_price 高于 $.max_price，不可能有匹配项。请交换两者，或去掉其中一个。",
)
TOOL_STORE_UNUSABLE: Final = message(
    "TT6604",
    "The store of this tool cannot be used now: {problem}. The call had no effect; tell the user if it stays so.",
    "该工具的存储目前无法使用：{problem}。未做任何更改；若持续如此，请告知用户。",
)
TOOL_STORE_PATH_INVALID: Final = message(
    "TT6605",
    "{place} cannot be used as the store of these tools: {problem}. Name a file of theirs, or one that does not "
    "exist yet.",
    "{place} 无法用作这些工具的存储：{problem}。请指定属于它们的文件，或尚不存在的文件。",
)
TOOL_STORE_LOCK_TIMEOUT: Final = message(
    "TT6606",
    "Other processes have been writing to the store for {seconds:g} seconds, so the call had no effect. Call "
    "again in a moment.",
    "其他进程已持续写入存储 {seconds:g} 秒，因此未做任何更改。请稍后再次调用。",
)
TOOL_STORE_QUERY_TIMEOUT: Final = message(
    "TT6607",
    "This took longer than {seconds:g} seconds and was stopped; it had no effect. Ask for less: fewer words, a "
    "narrower filter or a smaller page.",
    "耗时超过 {seconds:g} 秒，已停止；未做任何更改。请缩小请求：更少的词、更窄的筛选或更小的页。",
)
CATALOG_SEARCH_WITHOUT_MATCHES: Final = message(
    "TT6608",
    "No product of the catalog has these words. Try fewer or more general ones, or the name in another language.",
    "目录中没有包含这些词的产品。请尝试更少或更宽泛的词，或换一种语言的名称。",
)
CATALOG_FILTERS_EXCLUDE_ALL: Final = message(
    "TT6609",
    "{count} products have such words, and the filters leave out all of them. Search without category, with "
    "another price, or with in_stock false.",
    "有 {count} 个产品包含这些词，但都被筛选条件排除。请去掉类别、更改价格，或将 in_stock 设为 false。",
)
CATALOG_PRODUCT_INVALID: Final = message(
    "TT6610",
    "{file}, line {line}: not a product: {problem}.",
    "{file} 第 {line} 行不是产品：{problem}。",
)
DUPLICATE_PRODUCT_ID: Final = message(
    "TT6611",
    "Two products of the catalog have the id {id!r}. Give each one of its own.",
    "目录中有两个产品的编号都是 {id!r}。请为每个产品设置各自的编号。",
)
CATALOG_CATEGORY_COUNT_INVALID: Final = message(
    "TT6612",
    "The catalog has {count} categories; it needs 1 to {limit}, since each is shown to the model.",
    "目录有 {count} 个类别；须为 1 至 {limit} 个，因为每个类别都会展示给模型。",
)
CATALOG_FILE_UNREADABLE: Final = message(
    "TT6613",
    "The catalog {file} cannot be read: {problem}. Name a file that this server may read.",
    "无法读取目录 {file}：{problem}。请指定此服务器可读取的文件。",
)

# the settings tools
SETTING_KEY_NOT_FOUND: Final = message(
    "TT6630",
    "There is no setting {key!r}; nearest: {nearest}. list_config shows all of them, set_config makes one.",
    "没有配置项 {key!r}；最接近：{nearest}。list_config 可列出全部，set_config 可新建。",
)
SETTING_VERSION_CONFLICT: Final = message(
    "TT6631",
    "The setting {key!r} has version {version}, not {wanted}: it has been changed since. It was not set; look at "
    "it with get_config, and decide again.",
    "配置项 {key!r} 的版本是 {version}，而不是 {wanted}：已被他人更改。未做设置；请用 get_config 查看后再决定。",
)
TOO_MANY_STORED_SETTINGS: Final = message(
    "TT6632",
    "There are {limit} settings, which is the most. Delete one that is not needed any more with delete_config.",
    "已有 {limit} 个配置项，达到上限。请用 delete_config 删除不再需要的配置项。",
)
IDEMPOTENCY_KEY_REUSED: Final = message(
    "TT6633",
    "$.idempotency_key was used for another message or level: entry {number}. No entry was added. Use a separate "
    "key for each event, or leave it out.",
    "$.idempotency_key 已用于另一条消息或级别：第 {number} 条。未添加任何内容。请为每个事件使用各自的键，或不带键。",
)
EVENT_LOG_FULL: Final = message(
    "TT6634",
    "The log has {limit} entries, which is the most. Tell the user that its operator has to begin another one.",
    "日志已有 {limit} 条，达到上限。请告知用户：需要由运维人员另建日志。",
)

# the mail tools
MAIL_EXTRA_MISSING: Final = message(
    "TT6700",
    "The mail tools need the extra 'mail', which is not installed. Run: {command}",
    "邮件工具需要尚未安装的附加组件 mail。请运行：{command}",
)
MAIL_SERVER_SETTING_INVALID: Final = message(
    "TT6701",
    "The mail server cannot be used: {problem}. Give smtp://USER@HOST:PORT, or smtps:// for TLS from the start.",
    "无法使用该邮件服务器：{problem}。请给出 smtp://用户@主机:端口，或以 smtps:// 表示始终使用 TLS。",
)
MAIL_PASSWORD_IN_URL: Final = message(
    "TT6702",
    "A password in the URL of the mail server can be read by every user of this machine. Leave it out, and put it "
    "into the variable {variable}.",
    "写在邮件服务器 URL 中的密码会被本机所有用户看到。请去掉它，改用环境变量 {variable}。",
)
MAIL_PASSWORD_MISSING: Final = message(
    "TT6703",
    "The mail server has a user and no password: put it into the variable {variable}.",
    "邮件服务器指定了用户，但没有密码：请放入环境变量 {variable}。",
)
MAIL_ADDRESS_SETTING_INVALID: Final = message(
    "TT6704",
    "{what!r} is not an address of the form name@example.com, nor, in a list of recipients, of the form "
    "@example.com. Write it like that.",
    "{what!r} 不是 name@example.com 形式的地址（允许的收件人还可以是 @example.com）。请按此形式书写。",
)
MAIL_RECIPIENTS_NOT_CONFIGURED: Final = message(
    "TT6705",
    "No recipient is allowed: name recipients with --mail-to, such as --mail-to @example.com.",
    "没有允许任何收件人，因此无事可做：请用 --mail-to 指定，例如 --mail-to @example.com。",
)
MAIL_RECIPIENT_NOT_ALLOWED: Final = message(
    "TT6710",
    "{where}: {address} is not an allowed recipient. Allowed: {allowed}. The mail was not sent. Ask the user for "
    "another address, or tell them that the operator has to allow this one.",
    "{where}：不允许从这里向 {address} 发送邮件。允许：{allowed}。未发送任何内容。请向用户询问其他地址，或告知用户"
    "需要由运维人员允许该地址。",
)
DUPLICATE_MAIL_RECIPIENT: Final = message(
    "TT6711",
    "An address stands twice in $.to and $.cc. The mail was not sent; give each once.",
    "$.to 和 $.cc 中有地址重复。未发送任何内容；每个地址只给一次。",
)
MAIL_SUBJECT_CONTROL_CHARACTER: Final = message(
    "TT6712",
    "$.subject has a line break or a control character. The mail was not sent; give one line, and put the rest "
    "into $.body.",
    "$.subject 含有换行或控制字符。未发送任何内容；主题只用一行，其余写入 $.body。",
)
MAIL_BODY_CONTROL_CHARACTER: Final = message(
    "TT6713",
    "$.body has control characters, which no mail needs. The mail was not sent; give plain text.",
    "$.body 含有邮件不需要的控制字符。未发送任何内容；请给出纯文本。",
)
MAIL_ADDRESS_INVALID: Final = message(
    "TT6714",
    "{where} is not an address of the form name@example.com. The mail was not sent; ask the user for it.",
    "{where} 不是 name@example.com 形式的地址。未发送任何内容；请向用户询问。",
)
MAIL_SUBJECT_ENCODED_WORD: Final = message(
    "TT6715",
    "$.subject has an encoded word, '=?…?=', which mail programs show as another text. The mail was not sent; "
    "write that text itself.",
    "$.subject 含有编码字（'=?…?='），邮件程序会将其显示为另一段文字。未发送任何内容；请直接写出该文字。",
)
MAIL_APPROVAL_IMPOSSIBLE: Final = message(
    "TT6716",
    "A person has to agree to each mail, and cannot be asked here. The mail was not sent; give the user the text, "
    "to send it themselves.",
    "每封邮件都须由人确认，而此处无法询问。未发送任何内容；请将内容交给用户自行发送。",
)
MAIL_DENIED_BY_USER: Final = message(
    "TT6717",
    "The user did not agree to this mail. The mail was not sent; do not try again without being asked to.",
    "用户不同意发送这封邮件。未发送任何内容；未经用户要求，请勿再次尝试。",
)

# the question before a mail is sent
LABEL_MAIL_BODY_ELIDED: Final = message(
    "TT6718",
    "{headers}\n({count} characters, as above)",
    "{headers}\n（{count} 个字符，同上）",
)
QUESTION_SEND_MAIL: Final = message(
    "TT6719",
    "Send this mail? It cannot be taken back.\n\n{mail}",
    "是否发送这封邮件？发送后无法撤回。\n\n{mail}",
)
MAIL_SERVER_UNREACHABLE: Final = message(
    "TT6720",
    "The mail server cannot be reached, or the connection is not safe ({problem}). The mail was not sent; try "
    "again later, and tell the user if it stays so.",
    "无法连接邮件服务器，或连接不安全（{problem}）。未发送任何内容；请稍后再试，若持续如此请告知用户。",
)
MAIL_RECIPIENT_REJECTED: Final = message(
    "TT6721",
    "The mail server does not take mail for {address} (answer {number}). The mail was sent to no recipient. Do "
    "not try again as it is; ask the user for another address.",
    "邮件服务器不接受发往 {address} 的邮件（应答 {number}）。未向任何人发送。请勿原样重试；请向用户询问其他地址。",
)
MAIL_REJECTED: Final = message(
    "TT6722",
    "The mail server has refused the mail (answer {number}). The mail was not sent. Do not try again as it is; "
    "tell the user.",
    "邮件服务器拒绝了该邮件（应答 {number}）。未发送任何内容。请勿原样重试，并告知用户。",
)
MAIL_DELIVERY_UNKNOWN: Final = message(
    "TT6723",
    "It is not known whether the mail server has taken the mail ({problem}): it may have been sent. Do not repeat "
    "the call; tell the user, who can ask the recipients.",
    "无法得知邮件服务器是否已接收该邮件（{problem}）：邮件可能已经发出。请勿重复调用；请告知用户，由其向收件人确认。",
)
MAIL_RECIPIENT_DEFERRED: Final = message(
    "TT6724",
    "The mail server takes no mail for {address} at the moment (answer {number}). The mail was sent to no "
    "recipient; try again in some minutes.",
    "邮件服务器目前不接受发往 {address} 的邮件（应答 {number}）。未向任何人发送；请过几分钟再试。",
)
MAIL_DEFERRED: Final = message(
    "TT6725",
    "The mail server does not take the mail at the moment (answer {number}). The mail was not sent; try again in "
    "some minutes.",
    "邮件服务器目前不接收该邮件（应答 {number}）。未发送任何内容；请过几分钟再试。",
)

# the math tools
EXPRESSION_UNEXPECTED_TOKEN: Final = message(
    "TT6730",
    "$.expression, column {column}: {found} stands where {wanted} is needed. Correct it and call again.",
    "$.expression 第 {column} 列：此处是 {found}，而需要 {wanted}。请更正后再次调用。",
)
EXPRESSION_INCOMPLETE: Final = message(
    "TT6731",
    "$.expression ends at column {column}, where {wanted} is needed. Complete it and call again.",
    "$.expression 在第 {column} 列结束，而此处需要 {wanted}。请补全后再次调用。",
)
EXPRESSION_UNKNOWN_CHARACTER: Final = message(
    "TT6732",
    "$.expression, column {column}: {found} has no meaning here. Use digits, names, + - * / // ^ % ( ) and the "
    "comma; write 1000 for 1'000, 3^2 for a power, and leave out units.",
    "$.expression 第 {column} 列：{found} 在此没有意义。请只用数字、名称、+ - * / // ^ % ( ) 和逗号；"
    "千位不加分隔符，乘方写作 3^2，也不写单位。",
)
EXPRESSION_UNKNOWN_NAME: Final = message(
    "TT6733",
    "$.expression, column {column}: there is no function or constant of this name; there are: {known}; nearest: "
    "{nearest}. Put numbers in place of variables.",
    "$.expression 第 {column} 列：没有该名称的函数或常量；可用：{known}；最接近：{nearest}。请用数值代替变量。",
)
EXPRESSION_PERCENT_AMBIGUOUS: Final = message(
    "TT6734",
    "$.expression, column {column}: '%' means a hundredth of the number before it, and another value follows. "
    "Write mod(7, 3) for a remainder, or 15% * 80 for a share.",
    "$.expression 第 {column} 列：'%' 表示其前数字的百分之一，但后面又跟了一个值。取余请写 mod(7, 3)，求百分比请写"
    " 15% * 80。",
)
EXPRESSION_ARGUMENT_COUNT_WRONG: Final = message(
    "TT6735",
    "$.expression, column {column}: {name} takes {wanted} values, not {got}. A comma separates values, and never "
    "thousands.",
    "$.expression 第 {column} 列：{name} 需要 {wanted} 个值，而不是 {got} 个。逗号用于分隔参数，不用于千位。",
)
EXPRESSION_DIVISION_BY_ZERO: Final = message(
    "TT6736",
    "$.expression, column {column}: this divides by zero. Check the divisor; tell the user if it is meant so.",
    "$.expression 第 {column} 列：除数为零。请检查除数；若确实如此，请告知用户。",
)
EXPRESSION_NUMBER_OUT_OF_BOUNDS: Final = message(
    "TT6737",
    "$.expression, column {column}: this number is beyond the bounds, about 6000 digits. Make exponents smaller, "
    "or use logarithms: ln and log10.",
    "$.expression 第 {column} 列：该数超出约 6000 位的范围。请减小指数，或使用对数 ln、log10。",
)
EXPRESSION_TOO_LONG: Final = message(
    "TT6738",
    "$.expression is longer than {limit} characters. Work it out in parts; to add up a list, use calculate_sum.",
    "$.expression 超过 {limit} 个字符。请分步计算；对一列数求和请用 calculate_sum。",
)
EXPRESSION_NESTED_TOO_DEEPLY: Final = message(
    "TT6739",
    "$.expression, column {column}: brackets and signs are nested deeper than {limit} levels. Work it out in parts.",
    "$.expression 第 {column} 列：括号和符号嵌套超过 {limit} 层。请分步计算。",
)
EXPRESSION_VALUE_INVALID: Final = message(
    "TT6740",
    "$.expression, column {column}: {problem}. Correct the value, or tell the user that there is no result.",
    "$.expression 第 {column} 列：{problem}。请更正该值，或告知用户没有结果。",
)
NUMBER_TOO_MANY_DIGITS: Final = message(
    "TT6741",
    "$.numbers[{place}] has more than {limit} digits. Leave it out, or work it out with calculate, such as 10^500.",
    "$.numbers[{place}] 超过 {limit} 位数字。请去掉它，或用 calculate 计算，例如 10^500。",
)
SERVICE_URL_INVALID: Final = message(
    "TT6430",
    "{url!r} cannot be the address of a service: {problem}. Write it like https://host:port/path.",
    "{url!r} 不能作为服务地址：{problem}。请写成 https://主机:端口/路径。",
)

# the language tools
TRANSLATION_URL_REQUIRED: Final = message(
    "TT6460",
    "The language tools need the address of a LibreTranslate service: --translate-url URL.",
    "语言工具需要 LibreTranslate 服务的地址：--translate-url URL。",
)
TRANSLATION_LANGUAGES_NOT_SUPPORTED: Final = message(
    "TT6461",
    "The translation service does not translate from {source} to {target}; known languages: {known}.",
    "翻译服务不支持从 {source} 翻译到 {target}；支持的语言：{known}。",
)
TRANSLATION_SERVICE_RATE_LIMITED: Final = message(
    "TT6462",
    "The translation service is asked too often. Call again in {seconds} s, not earlier.",
    "对翻译服务的请求过于频繁。请在 {seconds} 秒之后再调用，不要提前。",
)
TRANSLATION_KEY_REJECTED: Final = message(
    "TT6463",
    "The translation service refuses this server's key ({problem}). Tell the user: the operator of this server "
    "sets TRANSLATE_API_KEY.",
    "翻译服务拒绝本服务器的密钥（{problem}）。请告知用户：由运营者设置 TRANSLATE_API_KEY。",
)
TRANSLATION_SERVICE_ERROR: Final = message(
    "TT6464",
    "The translation service does not answer as it should: {problem}. Try again later, with a shorter text, or "
    "translate by yourself and say so.",
    "翻译服务未正常应答：{problem}。请稍后重试、缩短文本，或自行翻译并加以说明。",
)
LABEL_OPERATOR_OR_END: Final = message(
    "TT6742",
    "an operator or the end",
    "运算符或结尾",
)
LABEL_OPERAND: Final = message(
    "TT6743",
    "a number, a name or '('",
    "数字、名称或 '('",
)
LABEL_OPERATOR_OR_CLOSING: Final = message(
    "TT6744",
    "an operator, ',' or ')'",
    "运算符、',' 或 ')'",
)
LABEL_PARENTHESIS_AFTER: Final = message(
    "TT6745",
    "'(' after {name}",
    "{name} 之后的 '('",
)
LABEL_A_NUMBER: Final = message(
    "TT6746",
    "a number",
    "数字",
)
LABEL_A_NAME: Final = message(
    "TT6747",
    "a name",
    "名称",
)
LABEL_THE_SAMPLE: Final = message(
    "TT6614",
    "the sample",
    "示例",
)
REASON_MAIL_URL_INVALID: Final = message(
    "TT6726",
    "it is not smtp://[user@]host[:port] or smtps://…",
    "它不是 smtp://[user@]host[:port] 或 smtps://…",
)
REASON_MAIL_WITHOUT_TLS: Final = message(
    "TT6727",
    "without TLS only a server on this machine is used",
    "没有 TLS 时只使用本机的服务器",
)
REASON_MAIL_ANSWER_INVALID: Final = message(
    "TT6728",
    "its answer cannot be understood",
    "无法理解其应答",
)
REASON_STATUS: Final = message(
    "TT6465",
    "status {status}{detail}",
    "状态码 {status}{detail}",
)
REASON_ROOT_DOMAIN: Final = message(
    "TT6748",
    "sqrt needs a number from 0 up",
    "sqrt 需要不小于 0 的数",
)
REASON_LOGARITHM_DOMAIN: Final = message(
    "TT6749",
    "a logarithm needs a number above 0",
    "对数需要大于 0 的数",
)
REASON_ROUND_DOMAIN: Final = message(
    "TT6750",
    "the places of round are a whole number from -{limit} to {limit}",
    "round 的位数必须是 -{limit} 到 {limit} 之间的整数",
)
REASON_FACTORIAL_DOMAIN: Final = message(
    "TT6751",
    "factorial needs a whole number from 0 to 1000",
    "factorial 需要 0 到 1000 之间的整数",
)
REASON_POWER_DOMAIN: Final = message(
    "TT6752",
    "a power with a fraction in its exponent needs a base above 0",
    "指数为分数的幂需要大于 0 的底数",
)
LABEL_LINE_IS: Final = message(
    "TT6753",
    "line {line} is {text!r}",
    "第 {line} 行为 {text!r}",
)
LABEL_LINE_IS_TOO: Final = message(
    "TT6754",
    "{first}; line {line} is {text!r}",
    "{first}；第 {line} 行为 {text!r}",
)
