"""Messages of the sql tools, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# stores of the toolbox, and the catalog tools
DATABASE_PACKAGE_MISSING: Final = message(
    "TT6200",
    "A database at {scheme}:// needs the package {package!r} of the extra {extra!r}, which is not installed. "
    "Run: {command}",
    "使用 {scheme}:// 的数据库需要附加组件 {extra!r} 中尚未安装的软件包 {package!r}。请运行：{command}",
)
DATABASE_URL_NOT_SUPPORTED: Final = message(
    "TT6201",
    "{url!r} names no database that is supported; known: {known}.",
    "{url!r} 不是受支持的数据库地址；支持：{known}。",
)
DATABASE_NOT_SERVABLE: Final = message(
    "TT6202",
    "The database {url} cannot be served: {problem}",
    "无法提供数据库 {url}：{problem}",
)
DATABASE_ROLE_TOO_POWERFUL: Final = message(
    "TT6203",
    "The role {role!r} is {why}: it could read files or run programs on the database's machine. Give a role "
    "without such rights, or allow it with --roles any.",
    "角色 {role!r} 属于 {why}：它可以读取数据库所在机器上的文件或运行程序。"
    "请使用没有此类权限的角色，或以 --roles any 明确允许。",
)
DATABASE_ROLE_REACHES_HIDDEN_OBJECTS: Final = message(
    "TT6205",
    "The role {role!r} can reach objects that the tools hide: {reached}. Run these statements as the owner of the "
    "database, or give the tools a role of their own, or accept this role with --roles any:\n{statements}",
    "角色 {role!r} 可以访问工具所隐藏的内容：{reached}。请以数据库所有者身份执行以下语句，或为工具提供专用角色，或"
    "以 --roles any 仍使用该角色：\n{statements}",
)
HIDE_PATTERNS_MATCH_NO_TABLE: Final = message(
    "TT6206",
    "No table and no column of the database matches {patterns}: check the spelling of --hide and --table.",
    "数据库中没有任何表或列匹配 {patterns}：请检查 --hide 与 --table 的拼写。",
)
SQL_MULTIPLE_STATEMENTS: Final = message(
    "TT6210",
    "sql holds {count} statements, and one is run. Send one statement for each call.",
    "sql 中有 {count} 条语句，而每次只执行一条。请每次调用只发送一条语句。",
)
SQL_SYNTAX_ERROR: Final = message(
    "TT6211",
    "sql is not valid at line {line}, column {column}: {problem}. Correct it; list_tables names the dialect.",
    "sql 在第 {line} 行第 {column} 列无效：{problem}。请更正；list_tables 会说明所用的 SQL 方言。",
)
SQL_NOT_A_QUERY: Final = message(
    "TT6212",
    "{verb} is not a query: run_sql_query reads, by SELECT, WITH … SELECT, VALUES or EXPLAIN SELECT. If the user "
    "wants a change, use a tool that makes changes, or tell the user that there is none.",
    "{verb} 不是查询：run_sql_query 只读，接受 SELECT、WITH … SELECT、VALUES 或 EXPLAIN SELECT，不作任何更改。若用"
    "户需要更改，请使用可更改数据的工具；若没有，请告知用户。",
)
SQL_CONSTRUCT_NOT_ALLOWED: Final = message(
    "TT6213",
    "sql contains {what}, which is not accepted. Write it without; plain SELECT with joins, groups, windows, WITH "
    "is accepted.",
    "sql 含有不被接受的内容：{what}。请改写；普通 SELECT（含连接、分组、窗口和 WITH）可以使用。",
)
SQL_FUNCTION_NOT_ALLOWED: Final = message(
    "TT6214",
    "The function {name!r} is not accepted. Near it are: {near}. The operator can allow more.",
    "不接受函数 {name!r}。相近的有：{near}。运维者可以允许更多函数。",
)
UNKNOWN_TABLE: Final = message(
    "TT6215",
    "There is no table {name!r}. Near it are: {near}. list_tables shows all.",
    "没有表 {name!r}。相近的有：{near}。用 list_tables 可查看全部。",
)
SQL_LENGTH_NOT_LITERAL: Final = message(
    "TT6216",
    "{name} needs its length as a number, of at most {limit}. Write the number into sql.",
    "{name} 的长度必须直接写成数字，且不超过 {limit}。请在 sql 中写出该数字。",
)
SQL_EXECUTABLE_COMMENT: Final = message(
    "TT6217",
    "sql has a comment that some databases run (/*! … */). Write it without.",
    "sql 含有某些数据库会执行的注释（/*! … */）。请去掉它。",
)
SQL_TOO_COMPLEX: Final = message(
    "TT6218",
    "sql is too large or nested too deeply; at most {limit} parts. Split it, or put values into parameters.",
    "sql 过大或嵌套过深；最多 {limit} 个组成部分。请拆分，或将值放入 parameters。",
)
SQL_CONTROL_CHARACTER: Final = message(
    "TT6219",
    "sql contains a control character. Put such values into parameters.",
    "sql 含有控制字符。请将此类值放入 parameters。",
)
SQL_TIMEOUT: Final = message(
    "TT6220",
    "The database worked longer than {seconds} seconds and was stopped; no row was changed. Ask for less: a "
    "condition on an indexed column, fewer joins, an aggregate. EXPLAIN shows the slow part.",
    "数据库处理超过 {seconds} 秒，已停止；未作任何更改。请缩小范围：在有索引的列上加条件、减少连接或使用聚合。EXPL"
    "AIN 可显示何处较慢。",
)
SQL_PARAMETERS_MISMATCH: Final = message(
    "TT6221",
    "parameters have to be those that sql names with a colon: {wanted}; given: {given}. Write ':name' in sql, and "
    "\"name\" in parameters; '?' and '%s' have no names.",
    "parameters 必须与 sql 中以冒号标出的名称一致：{wanted}；收到：{given}。"
    "请在 sql 中写 ':name'，在 parameters 中写 \"name\"；'?' 和 '%s' 没有名称。",
)
SQL_VALUE_TOO_LARGE: Final = message(
    "TT6222",
    "A value or the work of the query is too large: {problem}. Take less of it, such as substr(column, 1, 1000), "
    "or aggregate.",
    "查询中的某个值或其所需内存过大：{problem}。请减少，例如 substr(列, 1, 1000)，或使用聚合。",
)
SQL_CURSOR_MISMATCH: Final = message(
    "TT6223",
    "The cursor belongs to another call. Use next_cursor of the last result with the same arguments, or leave the "
    "cursor out.",
    "该游标属于另一次调用。请以相同参数使用上次结果中的 next_cursor，或不带游标。",
)
SQL_TABLES_CHANGED: Final = message(
    "TT6224",
    "The tables are not as the query says, or were altered meanwhile: {problem}. Look with describe_table, then "
    "try again.",
    "表与查询所写不符，或其间已被更改：{problem}。请先用 describe_table 查看，再重试。",
)
SQL_REJECTED_BY_DATABASE: Final = message(
    "TT6225",
    "The database refused: {problem}. Correct sql; describe_table shows columns and types.",
    "数据库拒绝执行：{problem}。请更正 sql；describe_table 会显示列及其类型。",
)
DATABASE_LOCKED: Final = message(
    "TT6226",
    "Another connection holds the database, or its locks: {problem}. No row was changed. Try again in a moment.",
    "数据库或其锁正被他人占用：{problem}。未作任何更改。请稍后再试。",
)
DATABASE_UNREACHABLE: Final = message(
    "TT6227",
    "The database cannot be reached: {problem}. Try again in a moment; if it stays so, tell the user.",
    "无法连接数据库：{problem}。请稍后再试；若仍如此，请告知用户。",
)
SQL_CURSOR_LIMIT_REACHED: Final = message(
    "TT6228",
    "A cursor leads past {limit} rows at most. Go on from the last key instead: WHERE id > :last ORDER BY id.",
    "游标最多可跳过 {limit} 行。请改为从最后的键继续：WHERE id > :last ORDER BY id。",
)
SQL_AT_MOST_EXCEEDED: Final = message(
    "TT6229",
    "{count} rows would be changed, and at_most is {at_most}: everything was undone. Narrow the condition, or ask "
    "the user whether so many are meant.",
    "将会更改 {count} 行，而 at_most 为 {at_most}：已全部撤销。请收窄条件，或询问用户是否确实要更改这么多行。",
)
SQL_VERB_NOT_ALLOWED: Final = message(
    "TT6230",
    "{verb} is not run by execute_sql, which takes INSERT, UPDATE, DELETE, MERGE, TRUNCATE, ALTER TABLE, CREATE of "
    "a table, view or index, and DROP of a table or view. To read, use run_sql_query.",
    "execute_sql 不执行 {verb}；它接受 INSERT、UPDATE、DELETE、MERGE、TRUNCATE、ALTER TABLE，"
    "对表、视图或索引的 CREATE，以及对表或视图的 DROP。读取请用 run_sql_query。",
)
NEW_TABLE_NAME_NOT_ALLOWED: Final = message(
    "TT6231",
    "The name {name!r} cannot be used for a new table. Choose an unused name of the schema {schema!r}.",
    "不能以名称 {name!r} 创建。请在架构 {schema!r} 中选择未被占用的名称。",
)
TABLE_HAS_HIDDEN_COLUMNS: Final = message(
    "TT6232",
    "{table!r} has columns that are hidden here, and cannot be changed. Ask the user to change it elsewhere.",
    "{table!r} 含有此处隐藏的列，不能更改。请让用户在别处更改。",
)
CONSTRAINT_VIOLATION: Final = message(
    "TT6233",
    "A constraint of the tables does not allow it: {problem}. No row was changed. describe_table shows the keys.",
    "表的约束不允许此操作：{problem}。未作任何更改。describe_table 会显示各键。",
)
DATABASE_PERMISSION_DENIED: Final = message(
    "TT6234",
    "The database does not allow it: {problem}. Another statement will not get further; ask the user or the "
    "operator for the right.",
    "数据库不允许此操作：{problem}。换一种写法也无济于事；请向用户或运维者申请权限。",
)
SQL_ROLLBACK_NOT_SUPPORTED: Final = message(
    "TT6235",
    "This database cannot undo {verb}, so dry_run and at_most are not to be had with it. Leave them out.",
    "该数据库无法撤销 {verb}，因此不能与 dry_run 或 at_most 一起使用。请不要带上它们。",
)
SQL_CHANGED_ROWS_UNKNOWN: Final = message(
    "TT6236",
    "The number of rows that {verb} changes is not known here, so at_most cannot be kept: everything was undone. "
    "Leave at_most out, after a look at the rows that would be changed.",
    "此处无法得知 {verb} 会更改多少行，因此无法遵守 at_most：已全部撤销。请先查看将被更改的内容，再去掉该参数。",
)
SQL_COMMIT_OUTCOME_UNKNOWN: Final = message(
    "TT6237",
    "The database was told to commit the change, and its answer did not come ({problem}): the change may have been "
    "made, or be made yet. Do not repeat the call; look with run_sql_query after a while, and tell the user.",
    "已要求数据库提交更改，但未收到答复（{problem}）：更改可能已经完成，也可能稍后完成。请勿重复调用；请过一会儿用 "
    "run_sql_query 查看，并告知用户。",
)
SQL_NOT_REPRODUCIBLE: Final = message(
    "TT6238",
    "sql could not be written for the database so that it reads the same there. Write it more simply: names "
    "without odd signs, values in parameters.",
    "无法将 sql 写成在数据库中含义不变的形式。请写得更简单：名称不含特殊符号，值放入 parameters。",
)
DUCKDB_PLAN_REACHES_HIDDEN_TABLES: Final = message(
    "TT6239",
    "DuckDB's plan of the change reads or writes hidden tables, itself or by a view, or is not known. Change "
    "tables that list_tables shows, from values or from such tables; views that read more cannot be used.",
    "DuckDB 对该更改的执行计划会（直接或经由视图）读取或写入此处隐藏的内容，或无法判断。请只更改 list_tables 列出"
    "的表，数据取自给定的值或这些表；不能使用读取更多内容的视图。",
)
SQL_CHANGE_THROUGH_VIEW: Final = message(
    "TT6240",
    "{view!r} is a view, and something is hidden here: a change through it may reach that. Change a table that "
    "list_tables shows, or ask the user to change it elsewhere.",
    "{view!r} 是视图，而此处有隐藏的内容：通过它更改可能触及这些内容。"
    "请更改 list_tables 列出的表，或让用户在别处更改。",
)
UNKNOWN_COLUMN: Final = message(
    "TT6241",
    "There is no column {name!r} in the tables of sql. Near it are: {near}. describe_table shows all.",
    "sql 所涉及的表中没有列 {name!r}。相近的有：{near}。用 describe_table 可查看全部。",
)

# the question before a statement changes data
LABEL_SQL_CHANGE: Final = message(
    "TT6250",
    "{verb} of {tables}: {rows}{everything}{undone}.",
    "对 {tables} 执行 {verb}：{rows}{everything}{undone}。",
)
LABEL_ROW_COUNT: Final = message(
    "TT6251",
    "{count} rows as of now",
    "目前涉及 {count} 行",
)
LABEL_ROW_COUNT_MAXIMUM: Final = message(
    "TT6252",
    "at most {count} rows as of now",
    "目前最多涉及 {count} 行",
)
LABEL_ROW_COUNT_UNKNOWN: Final = message(
    "TT6253",
    "how many rows is not known before",
    "事先无法得知涉及多少行",
)
LABEL_EVERY_ROW: Final = message(
    "TT6254",
    "; no WHERE: EVERY row",
    "；没有 WHERE：涉及每一行",
)
LABEL_DRY_RUN: Final = message(
    "TT6255",
    "; a dry run: it is undone",
    "；试运行：之后会撤销",
)
REASON_FILE_OPEN_ELSEWHERE: Final = message(
    "TT6256",
    "another call or process has the file open",
    "另一个调用或进程已打开该文件",
)
REASON_TIME_IS_OVER: Final = message(
    "TT6257",
    "its time is over",
    "已超过时限",
)
LABEL_VERB_WITH_CASCADE: Final = message(
    "TT6258",
    "{verb} with CASCADE, which goes on to what nobody has named,",
    "带 CASCADE 的 {verb}（会波及未指明的对象）",
)
LABEL_VERB_WITH_CHANGE: Final = message(
    "TT6259",
    "{verb} with another change in it",
    "其中含有另一项更改的 {verb}",
)
LABEL_EXPLAIN_OF_VIEW: Final = message(
    "TT6260",
    "EXPLAIN of {view}, a view,",
    "对视图 {view} 的 EXPLAIN",
)
LABEL_THE_TYPE: Final = message(
    "TT6261",
    "the type {type}",
    "类型 {type}",
)
LABEL_REPLACE_TABLE: Final = message(
    "TT6262",
    "CREATE OR REPLACE TABLE, which drops one,",
    "会删除原表的 CREATE OR REPLACE TABLE",
)
REASON_SQL_UNREADABLE: Final = message(
    "TT6263",
    "it cannot be read, write it more simply",
    "无法读取，请写得更简单",
)
LABEL_NO_PLAIN_WORD: Final = message(
    "TT6264",
    "{text!r} in the place of a plain word",
    "普通单词的位置上出现的 {text!r}",
)
LABEL_CUSTOM_OPERATOR: Final = message(
    "TT6265",
    "an operator of somebody's own",
    "自定义运算符",
)
LABEL_CLAUSE_OF_HIDING_TABLE: Final = message(
    "TT6266",
    "{clause} of {table}, which has hidden columns,",
    "对含隐藏列的 {table} 使用的 {clause}",
)
LABEL_VERB_AS_IT_STANDS: Final = message(
    "TT6267",
    "{verb} as it stands here",
    "此处写法的 {verb}",
)
REASON_QUOTE_WITHOUT_END: Final = message(
    "TT6268",
    "text in quotes, or a comment, has no end",
    "引号内的文本或注释没有结束",
)
REASON_SQL_INCOMPLETE: Final = message(
    "TT6269",
    "something is missing",
    "缺少内容",
)
REASON_SQL_MISPLACED: Final = message(
    "TT6270",
    "a word or sign that cannot stand here",
    "有不能出现在此处的词或符号",
)
REASON_SQL_NEAR: Final = message(
    "TT6271",
    "{problem}, near {token!r}",
    "{token!r} 附近{problem}",
)
REASON_SQL_AT_END: Final = message(
    "TT6272",
    "{problem}, at the end",
    "末尾{problem}",
)
REASON_WITHHELD: Final = message(
    "TT6273",
    "the reason names or quotes what may be hidden here",
    "其原因中提到了此处可能隐藏的内容",
)
