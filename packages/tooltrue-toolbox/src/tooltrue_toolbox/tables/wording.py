"""Messages of the tables tools, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# tables
TABLES_EXTRA_MISSING: Final = message(
    "TT6301",
    "The tables tools need the extra 'data', which is not installed. Run: {command}",
    "表格工具需要尚未安装的附加组件 data。请运行：{command}",
)
TABLE_FORMAT_EXTRA_MISSING: Final = message(
    "TT6302",
    "{what} needs the extra {extra!r}, which is not installed on this server. Ask the operator of the server to "
    "install that extra.",
    "{what} 需要此服务器上尚未安装的附加组件 {extra!r}。请服务器的运营方安装该附加组件。",
)
TABLE_FORMAT_NOT_SUPPORTED: Final = message(
    "TT6310",
    "{path} is no table in text, JSON, Parquet or Excel (.xlsx): it is binary, or an archive. Ask the user for a "
    "CSV export, or name another file.",
    "{path} 不是文本、JSON、Parquet 或 Excel (.xlsx) 表格：它是二进制文件或压缩包。请让用户导出为 CSV，或换一个文件。",
)
TABLE_ENCODING_MISMATCH: Final = message(
    "TT6311",
    "{path} is not {encoding} throughout. Call again with another read_as.encoding, such as gb18030, "
    "windows-1252 or utf-16.",
    "{path} 并非全部为 {encoding} 编码。请以其他 read_as.encoding 重试，例如 gb18030、windows-1252 或 utf-16。",
)
TABLE_DECOMPRESSION_BOMB: Final = message(
    "TT6312",
    "{path} unpacks to {size} bytes and more, out of {packed}: more than is allowed. It may be made to exhaust "
    "memory. Tell the user; unpacked by hand it can be read.",
    "{path} 从 {packed} 字节解压出 {size} 字节以上，超出限制，可能是为耗尽内存而制作的。请告知用户；手动解压后"
    "即可读取。",
)
TABLE_COMPRESSED_DATA_DAMAGED: Final = message(
    "TT6313",
    "{path} is damaged or cut off: its {packing} data ends or breaks too early. Ask the user for a whole copy.",
    "{path} 已损坏或被截断：其 {packing} 数据提前结束或中断。请向用户索取完整的副本。",
)
TABLE_FILE_EMPTY: Final = message(
    "TT6314",
    "{path} is empty: there is no row in it. Name another file.",
    "{path} 为空：其中没有任何行。请换一个文件。",
)
TABLE_CELL_TOO_LONG: Final = message(
    "TT6315",
    'A cell of {path} is too long, or a quote is never closed. If " is an ordinary character there, call again '
    "with read_as.quotes: false; otherwise tell the user.",
    '{path} 的某个单元格过长，或引号没有闭合。如果 " 在其中是普通字符，请以 read_as.quotes: false 重试；否则请告'
    "知用户。",
)
TABLE_TOO_MANY_COLUMNS: Final = message(
    "TT6316",
    "{path} has {columns} columns in its first row, or that row does not end; up to {limit} are read, and rows "
    "of up to 1 MiB. Check read_as.delimiter, or tell the user.",
    "{path} 的首行有 {columns} 列，或该行没有结束；最多读取 {limit} 列，每行最多 1 MiB。请检查 read_as.delimiter"
    "，或告知用户。",
)
JSON_LINE_NOT_OBJECT: Final = message(
    "TT6317",
    "Line {line} of {path} is no JSON object. JSON Lines has one object on each line; otherwise the file is one "
    "array of objects. Tell the user, or name another file.",
    "{path} 的第 {line} 行不是 JSON 对象。JSON Lines 每行一个对象；否则整个文件应为一个对象数组。请告知用户，或换"
    "一个文件。",
)
TABLE_QUOTE_COUNT_ODD: Final = message(
    "TT6318",
    '{path} has an odd number of quotes, so one of them is never closed and rows would be lost. If " is an '
    "ordinary character there, call again with read_as.quotes: false; otherwise tell the user.",
    '{path} 中引号的数量为奇数，说明有引号没有闭合，会丢失行。如果 " 在其中是普通字符，请以 read_as.quotes: false'
    " 重试；否则请告知用户。",
)
TABLE_UNREADABLE: Final = message(
    "TT6319",
    "{path} cannot be read as a table: its content breaks its own format. Check read_as by describe_csv, or "
    "tell the user.",
    "无法将 {path} 读作表格：其内容不符合自身格式。请用 describe_csv 检查 read_as，或告知用户。",
)
FILTER_TOO_LONG: Final = message(
    "TT6320",
    "$.filter has {length} characters; up to {limit} are accepted. Say less, or filter in two calls.",
    "$.filter 有 {length} 个字符；最多接受 {limit} 个。请缩短，或分两次筛选。",
)
FILTER_SYNTAX_ERROR: Final = message(
    "TT6321",
    "$.filter is not understood at character {place}: found {found}; expected {wanted}. For example: amount >= "
    "10 and city in ('Oslo', 'Lima'). Names that are no plain words go between backticks.",
    "$.filter 在第 {place} 个字符处无法理解：遇到 {found}；此处应为 {wanted}。例如：amount >= 10 and city in ("
    "'Oslo', 'Lima')。非普通单词的列名请放在反引号之间。",
)
FILTER_NESTED_TOO_DEEPLY: Final = message(
    "TT6322",
    "$.filter is nested deeper than {limit} levels. Write it with fewer brackets.",
    "$.filter 的嵌套超过 {limit} 层。请减少括号。",
)
FILTER_PATTERN_TOO_LONG: Final = message(
    "TT6323",
    "The pattern in $.filter has more than {limit} characters. Use a shorter one, or contains.",
    "$.filter 中的正则模式超过 {limit} 个字符。请使用更短的正则模式，或使用 contains。",
)
FILTER_TOO_MANY_VALUES: Final = message(
    "TT6324",
    "$.filter has more than {limit} values. Split it over several calls.",
    "$.filter 中的值超过 {limit} 个。请分几次调用。",
)
FILTER_PATTERN_INVALID: Final = message(
    "TT6325",
    "A pattern in $.filter cannot be used. Use plain RE2 syntax: no look-around, no back references, repetitions "
    "of up to 1000; or use contains.",
    "$.filter 中的正则模式无法使用。请使用普通 RE2 语法：不支持环视和反向引用，重复最多 1000 次；或使用 contains。",
)
TABLE_QUOTE_MISPLACED: Final = message(
    "TT6326",
    'Line {line} of {path} has a quote that does not end where a cell ends, so the rest is uncertain. If " is an '
    "ordinary character there, call again with read_as.quotes: false; otherwise tell the user.",
    '{path} 第 {line} 行有一个引号未在单元格末尾结束，其后的内容无法确定。如果 " 在其中是普通字符，请以 read_as.qu'
    "otes: false 重试；否则请告知用户。",
)
TABLE_ROW_TOO_LONG: Final = message(
    "TT6327",
    'The row at line {line} of {path} is longer than {limit} bytes, or has a quote that is never closed. If " is '
    "an ordinary character there, call again with read_as.quotes: false; otherwise tell the user.",
    '{path} 第 {line} 行处的行超过 {limit} 字节，或有引号没有闭合。如果 " 在其中是普通字符，请以 read_as.quotes: '
    "false 重试；否则请告知用户。",
)
TABLE_LINE_NOT_UTF8: Final = message(
    "TT6328",
    "Line {line} of {path} is not UTF-8. Call again with read_as.encoding, such as gb18030, windows-1252 or utf-16.",
    "{path} 第 {line} 行不是 UTF-8。请指定 read_as.encoding 重试，例如 gb18030、windows-1252 或 utf-16。",
)
TABLE_KEYS_INVALID: Final = message(
    "TT6329",
    "{path} has keys that are empty, or that differ only in capital letters, so they cannot be columns. Tell the "
    "user, or name another file.",
    "{path} 中有空的键，或仅大小写不同的键，不能作为列。请告知用户，或换一个文件。",
)
UNKNOWN_TABLE_COLUMN: Final = message(
    "TT6330",
    "{where} names {name}, and there is no such column. The columns are: {known}. Names are compared letter by letter.",
    "{where} 中的 {name} 不是已有的列。现有列：{known}。列名按字符逐一比较。",
)
COLUMN_NOT_NUMERIC: Final = message(
    "TT6331",
    "The column {name} holds no numbers. Use count or distinct for it, or compare it with text in quotes.",
    "列 {name} 不含数字。请对其使用 count 或 distinct，或与引号中的文本比较。",
)
START_COLUMN_BEYOND_END: Final = message(
    "TT6332",
    "$.start_column is {start}, and there are {columns} columns. Use next_start_column of the last result.",
    "$.start_column 为 {start}，而总共只有 {columns} 列。请使用上次结果中的 next_start_column。",
)
AGGREGATE_COLUMN_REQUIRED: Final = message(
    "TT6333",
    "$.column is missing: {operation} is computed of a column. Name one with numbers.",
    "缺少 $.column：{operation} 需要针对某一列计算。请指定一个含数字的列。",
)
TABLE_CURSOR_MISMATCH: Final = message(
    "TT6334",
    "$.cursor belongs to another file, or the file has changed since. Begin again without a cursor.",
    "$.cursor 属于另一个文件，或文件此后已更改。请不带 cursor 重新开始。",
)
TABLE_WITHOUT_NUMERIC_COLUMN: Final = message(
    "TT6335",
    "No column holds numbers alone. Name the columns to compute of in $.columns; there are: {known}.",
    "没有任何列全部为数字。请在 $.columns 中指定要计算的列；现有列：{known}。",
)
START_GROUP_BEYOND_END: Final = message(
    "TT6336",
    "$.start_group is {start}, and there are not as many groups. Use next_start_group of the last result.",
    "$.start_group 为 {start}，而没有这么多分组。请使用上次结果中的 next_start_group。",
)
READ_AS_SETTING_INVALID: Final = message(
    "TT6337",
    "$.read_as.{key} is {value}; accepted: {accepted}. An example of read_as: {{'delimiter': ';', 'header': false}}.",
    "$.read_as.{key} 为 {value}；可接受：{accepted}。read_as 示例：{{'delimiter': ';', 'header': false}}。",
)
JSON_ARRAY_ELEMENT_INVALID: Final = message(
    "TT6338",
    "Element {number} of the array in {path} is no JSON object, is larger than {limit} bytes, or the array does "
    "not end there as JSON does. Each element is a row. Tell the user, or name another file.",
    "{path} 中数组的第 {number} 个元素不是 JSON 对象、超过 {limit} 字节，或数组在此处未按 JSON 结束。每个元素是一"
    "行。请告知用户，或换一个文件。",
)
JSON_MULTIPLE_ARRAYS: Final = message(
    "TT6339",
    "{path} holds several arrays of objects ({keys}), so it is no single table. Ask the user for a file with one "
    "of them.",
    "{path} 含有多个对象数组（{keys}），因此不是单个表格。请向用户索取只含其中一个的文件。",
)
TABLE_MEMORY_LIMIT_EXCEEDED: Final = message(
    "TT6340",
    "This needs more than the {limit} MiB of memory that one call has: too many different groups, or too much "
    "to sort. Filter more, group by a column with fewer values, or ask for fewer columns.",
    "所需内存超过单次调用的 {limit} MiB：分组过多，或排序量过大。请加强筛选、按取值较少的列分组，或减少列数。",
)
UNKNOWN_SHEET: Final = message(
    "TT6341",
    "{path} has no sheet {sheet} that can be read; there are: {sheets}. Name one in read_as.sheet, letter by letter.",
    "{path} 中没有可读取的工作表 {sheet}；现有：{sheets}。请在 read_as.sheet 中按字符写出其中一个。",
)
WORKBOOK_FORMAT_NOT_SUPPORTED: Final = message(
    "TT6342",
    "{path} is an Excel workbook of the old format (.xls), or one with a password. Ask the user to save it as "
    ".xlsx or CSV, without a password.",
    "{path} 是旧格式 (.xls) 或带密码的 Excel 工作簿。请让用户去掉密码并另存为 .xlsx 或 CSV。",
)
WORKBOOK_UNREADABLE: Final = message(
    "TT6343",
    "{path} cannot be read as an Excel workbook: {problem}. Ask the user for a CSV export.",
    "无法将 {path} 读作 Excel 工作簿：{problem}。请让用户导出为 CSV。",
)
SHEET_EMPTY: Final = message(
    "TT6344",
    "The sheet {sheet} of {path} is empty; there are: {sheets}. Name another one in read_as.sheet.",
    "{path} 的工作表 {sheet} 为空；现有：{sheets}。请在 read_as.sheet 中指定另一个。",
)
JSON_LINE_TOO_LONG: Final = message(
    "TT6345",
    "The object on line {line} of {path} is longer than {limit} bytes. Tell the user; no row was read.",
    "{path} 第 {line} 行的对象超过 {limit} 字节。请告知用户；未读取任何内容。",
)
LABEL_THE_KEYS: Final = message(
    "TT6346",
    "the keys {names}",
    "键 {names}",
)
LABEL_NAME_OF_SHEET: Final = message(
    "TT6347",
    "the name of a sheet",
    "工作表的名称",
)
LABEL_HEADER_CHOICES: Final = message(
    "TT6348",
    "true, false (columns are then column_1, column_2, …)",
    "true、false（此时各列名为 column_1、column_2 …）",
)
LABEL_QUOTES_CHOICES: Final = message(
    "TT6349",
    'true, false (" is then an ordinary character)',
    'true、false（此时 " 是普通字符）',
)
LABEL_FILTER_TOKEN: Final = message(
    "TT6350",
    "a name, value or sign",
    "名称、值或符号",
)
LABEL_AND_OR_END: Final = message(
    "TT6351",
    '"and", "or" or the end',
    '"and"、"or" 或结尾',
)
LABEL_FILTER_START: Final = message(
    "TT6352",
    'a column, "not" or "("',
    '列名、"not" 或 "("',
)
LABEL_FILTER_COMPARISON: Final = message(
    "TT6353",
    'a comparison: = != < <= > >= in contains "starts with" "ends with" matches "is empty"',
    '比较：= != < <= > >= in contains "starts with" "ends with" matches "is empty"',
)
LABEL_TEXT_IN_QUOTES: Final = message(
    "TT6354",
    "text in quotes",
    "引号内的文本",
)
LABEL_FILTER_VALUE: Final = message(
    "TT6355",
    "a value: text in quotes, a number, true or false",
    "值：引号内的文本、数字、true 或 false",
)
LABEL_THE_END: Final = message(
    "TT6356",
    "the end",
    "结尾",
)
LABEL_NO_SHEETS: Final = message(
    "TT6357",
    "none, it is no workbook",
    "无，它不是工作簿",
)
REASON_WORKBOOK_BEYOND_LIMITS: Final = message(
    "TT6358",
    "it is damaged, or needs more memory or time than a file may",
    "它已损坏，或所需的内存或时间超过限额",
)
