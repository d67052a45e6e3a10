"""Messages of the files tools, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

FILE_ENCODING_UNKNOWN: Final = message(
    "TT6036",
    "{path!r} is binary, or text in an encoding that cannot be found. Name the encoding if you know it, such as "
    "'shift_jis' or 'big5', or read with encoding 'base64'.",
    "{path!r} 是二进制文件，或其文本编码无法识别。若知道编码请指明，例如 'shift_jis' 或 'big5'；否则用编码 "
    "'base64' 读取。",
)
OFFSET_WITHIN_CHARACTER: Final = message(
    "TT6037",
    "Offset {offset} of {path!r} lies within a character of {encoding}. Use {near}.",
    "{path!r} 的偏移 {offset} 位于 {encoding} 的一个字符之内。请改用 {near}。",
)
EDIT_NOT_ENCODABLE: Final = message(
    "TT6038",
    "{path!r} is {encoding}, which does not have {character!r}, and new_text of edit {number} does; the file was "
    "not changed. Write it another way, or tell the user.",
    "{path!r} 的编码为 {encoding}，其中没有第 {number} 处修改的 new_text 所含的字符 {character!r}；未作任何更改。"
    "请换一种写法，或告知用户。",
)
APPEND_ENCODING_CONFLICT: Final = message(
    "TT6039",
    "{path!r} is {encoding}, and text in another encoding cannot be added at its end; the file was not changed. "
    "Add the text with edit_file, which keeps the encoding, or the bytes with encoding 'base64'.",
    "{path!r} 的编码为 {encoding}，末尾不能追加其他编码的内容；未作任何更改。请用 edit_file 添加文本（会保留编码）"
    "，或用编码 'base64' 追加字节。",
)
FILE_ENCODING_MISMATCH: Final = message(
    "TT6040",
    "{path!r} is not {encoding} throughout. Leave encoding out, so that it is found, name another one, or read "
    "with 'base64'.",
    "{path!r} 并非全部为 {encoding}。请省略 encoding 以便自动识别，或指定其他编码，或用 'base64' 读取。",
)
START_LINE_BEYOND_END: Final = message(
    "TT6041",
    "{path!r} has {lines} lines; start_line must not be greater than that.",
    "{path!r} 共有 {lines} 行；start_line 不能大于该值。",
)
END_LINE_BEFORE_START: Final = message(
    "TT6042",
    "end_line {end} comes before start_line {start}. Give an end_line of at least {start}.",
    "end_line {end} 小于 start_line {start}。end_line 至少应为 {start}。",
)
OFFSET_AND_LINES_COMBINED: Final = message(
    "TT6043",
    "offset counts bytes and cannot be combined with start_line or end_line; base64 takes only offset. "
    "Give one of the two.",
    "offset 按字节计，不能与 start_line 或 end_line 同时使用；base64 只接受 offset。请只给出其中一种。",
)
OFFSET_BEYOND_END: Final = message(
    "TT6044",
    "{path!r} has {size} bytes; offset must not be greater than that.",
    "{path!r} 共有 {size} 字节；offset 不能大于该值。",
)
START_LINE_BEYOND_COUNTED_BYTES: Final = message(
    "TT6045",
    "Line {start} of {path!r} lies behind the first {limit} bytes, in which lines are counted. "
    "Read with offset instead, a number of bytes.",
    "{path!r} 的第 {start} 行位于可按行计数的前 {limit} 字节之后。请改用 offset（字节数）读取。",
)
EDIT_OF_BINARY_FILE: Final = message(
    "TT6046",
    "{path!r} is not text, so it cannot be edited by its text. Replace it with write_file and encoding 'base64'.",
    "{path!r} 不是文本，无法按文本编辑。请用 write_file 和编码 'base64' 替换。",
)
EDIT_ONLY_ASCII_POSSIBLE: Final = message(
    "TT6047",
    "{path!r} is in no encoding that is known, so only ASCII characters can be put into it, and new_text of edit "
    "{number} has others. Use ASCII there, or tell the user.",
    "{path!r} 的编码无法识别，只能写入 ASCII 字符，而第 {number} 处修改的 new_text 含有其他字符。"
    "请在该处使用 ASCII，或告知用户。",
)
EDIT_TEXT_NOT_FOUND: Final = message(
    "TT6048",
    "old_text of edit {number} is not in {path!r}, nor a similar text; the file was not changed. Read the file, "
    "or find the text with search_files.",
    "{path!r} 中没有第 {number} 处修改的 old_text，也没有相近的内容；未作任何更改。请先读取文件，或用 search_files"
    " 查找。",
)
EDIT_TEXT_SIMILAR_ONLY: Final = message(
    "TT6049",
    "old_text of edit {number} is not in {path!r}; the file was not changed. Most alike: {alike}. Copy the text "
    "as it is there, spaces included.",
    "{path!r} 中没有第 {number} 处修改的 old_text；未作任何更改。最相近的是：{alike}。请按原样复制该文本，包括空格。",
)
FILE_ALREADY_EXISTS: Final = message(
    "TT6050",
    "{path!r} exists already and was not changed. Use mode 'overwrite' to replace it, or another name.",
    "{path!r} 已存在，未作更改。请用方式 'overwrite' 替换，或换一个名称。",
)
CONTENT_TOO_LARGE: Final = message(
    "TT6051",
    "The content has {size} bytes, more than the limit of {limit} per call. Write the first part, then the rest "
    "with mode 'append'.",
    "内容有 {size} 字节，超过每次调用的上限 {limit}。请先写入第一部分，再用方式 'append' 写入其余部分。",
)
CONTENT_NOT_BASE64: Final = message(
    "TT6052",
    "The content is not valid base64. Use A-Z, a-z, 0-9, '+', '/' and '=' at the end, no line breaks.",
    "内容不是有效的 base64。请使用 A-Z、a-z、0-9、'+'、'/' 以及末尾的 '='，不含换行。",
)
CONTENT_NOT_ENCODABLE: Final = message(
    "TT6053",
    "The content cannot be written as {encoding}: character {position} has no place in it. "
    "Use encoding {other!r} or change the character.",
    "内容无法以 {encoding} 写入：第 {position} 个字符不在其中。请改用编码 {other!r} 或修改该字符。",
)
FILE_WOULD_GROW_TOO_LARGE: Final = message(
    "TT6054",
    "{path!r} would grow to {size} bytes, more than the limit of {limit}. Begin a new file.",
    "{path!r} 将增至 {size} 字节，超过上限 {limit}。请新建文件。",
)
FILE_VERSION_CONFLICT: Final = message(
    "TT6055",
    "{path!r} is not the version you read: it was changed since. Read it again, then write.",
    "{path!r} 已不是您读取时的版本：其间有过更改。请重新读取后再写入。",
)
PARENT_DIRECTORY_MISSING: Final = message(
    "TT6056",
    "The directory for {path!r} does not exist. Set create_parents to true to make it, or choose another.",
    "{path!r} 所在的目录不存在。请将 create_parents 设为 true 以创建，或另选目录。",
)
EDIT_WITHOUT_EFFECT: Final = message(
    "TT6057",
    "Edit {number} has no effect: old_text and new_text are the same. Leave it out, or give another new_text.",
    "第 {number} 处修改没有变化：old_text 与 new_text 相同。请去掉它，或给出要写入的内容。",
)
EDIT_COUNT_MISMATCH: Final = message(
    "TT6058",
    "old_text of edit {number} is {found} times in {path!r}, on line {lines}, and count is {expected}; the file "
    "was not changed. Take in more of the text around it, or set count to {found} to replace all.",
    "第 {number} 处修改的 old_text 在 {path!r} 中出现 {found} 次，位于第 {lines} 行，而 count 为 {expected}；未作"
    "任何更改。请包含更多上下文，或将 count 设为 {found} 以全部替换。",
)
EDITS_OVERLAP: Final = message(
    "TT6059",
    "Two edits overlap on line {line} of {path!r}; the file was not changed. Combine them into one.",
    "两处修改在 {path!r} 的第 {line} 行重叠；未作任何更改。请将其合并为一处。",
)
LISTING_CURSOR_MISMATCH: Final = message(
    "TT6060",
    "The cursor belongs to another listing. Use next_cursor of the last result for the same path, or leave the "
    "cursor out.",
    "该游标属于另一次列表。请使用同一路径上次结果中的 next_cursor，或不带游标。",
)
GLOB_INVALID: Final = message(
    "TT6061",
    "{pattern!r} is no pattern for names. Use '*', '?', '**', '[a-z]' and '{{a,b}}', like 'src/**/*.py'.",
    "{pattern!r} 不是有效的名称通配符。请使用 '*'、'?'、'**'、'[a-z]' 和 '{{a,b}}'，例如 'src/**/*.py'。",
)
GLOB_TOO_MANY_ALTERNATIVES: Final = message(
    "TT6062",
    "{pattern!r} stands for more than {limit} patterns. Use fewer alternatives in braces.",
    "{pattern!r} 展开后超过 {limit} 个通配符。请减少花括号中的选项。",
)
FILES_EXTRA_MISSING: Final = message(
    "TT6064",
    "Regular expressions need the extra 'files', which is not installed on this server. Search for text without "
    "regex, or ask the operator of the server to install that extra.",
    "正则表达式需要此服务器上尚未安装的附加组件 files。请不用 regex 搜索文本，或请服务器的运营方安装该附加组件。",
)
WRITE_BYTES_QUOTA_EXCEEDED: Final = message(
    "TT6065",
    "Writing {path!r} would exceed the total that these tools may add: {left} of {limit} bytes are left. Delete "
    "unneeded files, or tell the user.",
    "写入 {path!r} 将超出这些工具可新增的总量：{limit} 字节中还剩 {left} 字节。请删除不需要的内容，或告知用户。",
)
CREATE_ENTRIES_QUOTA_EXCEEDED: Final = message(
    "TT6066",
    "Making {path!r} would exceed the {limit} files and directories that these tools may add in all. Delete "
    "unneeded files, or tell the user.",
    "创建 {path!r} 将超出这些工具可新增的 {limit} 个文件和目录。请删除不需要的内容，或告知用户。",
)
DESTINATION_ALREADY_EXISTS: Final = message(
    "TT6067",
    "Something is at {path!r} already, and it was left as it is. Use another name, or delete or move that first.",
    "{path!r} 已被占用，未作更改。请换一个名称，或先删除、移走原有的内容。",
)
MOVE_INTO_OWN_SUBTREE: Final = message(
    "TT6068",
    "{path!r} cannot be moved into itself. Choose a destination outside of it.",
    "无法将 {path!r} 移动到其自身之内。请选择其外的目标。",
)
MOVE_ACROSS_DISKS: Final = message(
    "TT6069",
    "{path!r} and the destination are on different disks, and a move between them is not one step. "
    "Read the file and write it there, then delete it here.",
    "{path!r} 与目标位于不同的磁盘，无法一步移动。请读取文件并写到目标处，再删除原文件。",
)
ROOT_FOLDER_NOT_CHANGEABLE: Final = message(
    "TT6070",
    "{path!r} is a served folder itself, which stays where it is. Name something in it.",
    "{path!r} 本身就是所提供的文件夹，不可更改。请指明其中的内容。",
)
DIRECTORY_NOT_EMPTY: Final = message(
    "TT6071",
    "{path!r} is a directory that is not empty; it was not deleted. Set recursive to true to delete it with its "
    "content, if the user wants that.",
    "{path!r} 是非空目录；未删除任何内容。若用户确实要删除其中所有内容，请将 recursive 设为 true。",
)
DELETE_CONTAINS_PROTECTED_PATH: Final = message(
    "TT6072",
    "{path!r} is protected, so the directory above it was not deleted. Delete its other entries one by one, or "
    "tell the user.",
    "{path!r} 受保护，因此其上级目录不会被删除；未删除任何内容。请逐一删除其中的其他内容，或告知用户。",
)
DELETE_TOO_MANY_ENTRIES: Final = message(
    "TT6073",
    "{path!r} has more than {limit} entries, or is too deep, so it was not deleted. Delete the directories in it "
    "first.",
    "{path!r} 中的条目超过 {limit} 个或层级过深，不能一次删除；未删除任何内容。请先删除其中的子目录。",
)
ROOT_LABEL_REQUIRED: Final = message(
    "TT6074",
    "Several folders are served, and this is the place above them. Name one of: {labels}.",
    "此处提供多个文件夹，而这是它们的上一级。请指明其中之一：{labels}。",
)
MEDIA_TYPE_NOT_KNOWN: Final = message(
    "TT6075",
    "{path!r} is no picture, sound or PDF of a known kind. Use read_file for text, or with encoding 'base64' for "
    "its bytes.",
    "{path!r} 不是已知类型的图片、音频或 PDF。文本请用 read_file，其字节请用编码 'base64' 读取。",
)
MEDIA_FILE_TOO_LARGE: Final = message(
    "TT6076",
    "{path!r} has {size} bytes, more than the {limit} that are handed out at once. Read parts of it with "
    "read_file, encoding 'base64' and offset.",
    "{path!r} 有 {size} 字节，超过一次可提供的 {limit} 字节。请用 read_file、编码 'base64' 和 offset 分段读取。",
)
SEARCH_WITHOUT_CONDITION: Final = message(
    "TT6077",
    "The search has no condition. Give name, a pattern for names, or content, a text to find in lines.",
    "没有给出要搜索的内容。请给出 name（名称通配符）或 content（行中的文本）。",
)
EDIT_FILE_TOO_LARGE: Final = message(
    "TT6078",
    "{path!r} has {size} bytes, more than the {limit} that can be edited. Write the changed parts to a new file.",
    "{path!r} 有 {size} 字节，超过可编辑的上限 {limit}。请将修改后的部分写入新文件。",
)
DELETE_APPROVAL_IMPOSSIBLE: Final = message(
    "TT6079",
    "{path!r} (entries: {entries}, bytes: {bytes}) is not deleted before a person agrees, and no person can be "
    "asked here. Ask the user to delete it, or delete less.",
    "{path!r}（条目数：{entries}，字节数：{bytes}）删除前须由人确认，而此处无法询问。请让用户自行删除，或减少删除的内容。",
)
DELETE_DENIED_BY_USER: Final = message(
    "TT6080",
    "The user did not agree to delete {path!r}; it was not deleted. Do not try again without being asked to.",
    "用户不同意删除 {path!r}；未删除任何内容。未经用户要求，请勿再次尝试。",
)
FILES_READ_ONLY: Final = message(
    "TT6081",
    "The files are served read-only. Tell the user the change to make.",
    "文件以只读方式提供，无法更改。请告知用户需要做哪些修改。",
)
EDIT_MATCHES_OVERLAP: Final = message(
    "TT6082",
    "old_text of edit {number} fits {path!r} at places that overlap, from line {line} on; the file was not "
    "changed. Take in more of the text around it, so that one place fits.",
    "第 {number} 处修改的 old_text 在 {path!r} 中从第 {line} 行起有相互重叠的匹配；未作任何更改。请包含更多上下文"
    "，使其只有一处匹配。",
)
EDIT_SPLITS_CHARACTER: Final = message(
    "TT6083",
    "{path!r} is not UTF-8, and old_text of edit {number} begins or ends beside a byte that may be the half of a "
    "character, on line {line}. The file was not changed. Begin and end at a space, or with whole lines.",
    "{path!r} 不是 UTF-8，第 {number} 处修改的 old_text 在第 {line} 行的起点或终点紧邻一个可能只是半个字符的字节。"
    "未作任何更改。请在空格处起止，或包含整行。",
)
DIRECTORY_LOCK_TIMEOUT: Final = message(
    "TT6084",
    "Other processes have been changing the directory of {path!r} for {seconds:g} seconds, so the call had no "
    "effect. Call again in a moment.",
    "{path!r} 所在的目录已被他人占用更改达 {seconds:g} 秒，因此未作任何更改。请稍后再次调用。",
)
WRITE_APPROVAL_IMPOSSIBLE: Final = message(
    "TT6086",
    "Agents, shells or other programs obey the content of {path!r}: a person has to agree before it is written, "
    "and cannot be asked here. Tell the user the text to write there.",
    "代理、shell 或其他程序会遵从 {path!r} 的内容：写入前须由人确认，而此处无法询问。请告知用户应写入的内容。",
)
WRITE_DENIED_BY_USER: Final = message(
    "TT6087",
    "The user did not agree to write {path!r}; it was not changed. Do not try again without being asked to.",
    "用户不同意写入 {path!r}；未作任何更改。未经用户要求，请勿再次尝试。",
)
QUESTION_WRITE_OBEYED_FILE: Final = message(
    "TT6088",
    "Write {path!r}? Agents, shells or other programs obey its content.",
    "是否写入 {path!r}？代理、shell 或其他程序会遵从其内容。",
)
QUESTION_DELETE_FILE: Final = message(
    "TT6089",
    "Delete a {kind} of {bytes} bytes at {path!r}? This cannot be undone.",
    "是否删除 {path!r}（{kind}，{bytes} 字节）？此操作无法撤销。",
)
QUESTION_DELETE_DIRECTORY: Final = message(
    "TT6090",
    "Delete a {kind} with {inner} entries, {bytes} bytes in all, at {path!r}? This cannot be undone.",
    "是否删除 {path!r}（{kind}，含 {inner} 个条目，共 {bytes} 字节）？此操作无法撤销。",
)
EFFECT_DELETE_FILE: Final = message(
    "TT6091",
    "Deletes a {kind} of {bytes} bytes. This cannot be undone.",
    "删除一个 {kind}，{bytes} 字节。此操作无法撤销。",
)
EFFECT_DELETE_DIRECTORY: Final = message(
    "TT6092",
    "Deletes a {kind} with {inner} entries, {bytes} bytes in all. This cannot be undone.",
    "删除一个 {kind}，含 {inner} 个条目，共 {bytes} 字节。此操作无法撤销。",
)
EFFECT_CREATE_FILE: Final = message(
    "TT6093",
    "Makes a new file of {length} bytes.",
    "新建一个 {length} 字节的文件。",
)
EFFECT_REPLACE_FILE: Final = message(
    "TT6094",
    "Replaces a file of {size} bytes by {length} bytes.",
    "将一个 {size} 字节的文件替换为 {length} 字节的内容。",
)
EFFECT_APPEND_FILE: Final = message(
    "TT6095",
    "Adds {length} bytes to a file of {size} bytes.",
    "向一个 {size} 字节的文件追加 {length} 字节。",
)
EFFECT_EDIT_FILE: Final = message(
    "TT6096",
    "Replaces text at {places} places of a file of {size} bytes, which then has {length} bytes.",
    "在一个 {size} 字节的文件中替换 {places} 处文本，替换后为 {length} 字节。",
)
EFFECT_MOVE_PATH: Final = message(
    "TT6097",
    "Moves a {kind}; no file is replaced.",
    "移动一个 {kind}；不会替换任何内容。",
)
EFFECT_PREVIEW_EDIT: Final = message(
    "TT6098",
    "Shows the effect of {places} replacements; the file stays as it is.",
    "只说明 {places} 处替换会带来的更改；文件保持不变。",
)
DELETE_INCOMPLETE: Final = message(
    "TT6085",
    "{path!r} is not deleted whole: {removed} entries in it are gone, then the system refused ({problem}). The "
    "rest is at {left!r}. List it, then delete it again, or ask the user for access.",
    "{path!r} 未能全部删除：其中 {removed} 个条目已删除，随后系统拒绝继续（{problem}）。剩余内容位于 {left!r}。请"
    "列出其内容后再次删除，或请用户授权。",
)
