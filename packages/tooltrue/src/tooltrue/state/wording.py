"""Messages of stores, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# state
STATE_URL_NOT_SUPPORTED: Final = message(
    "TT7001",
    "{url!r} names no store that is supported; supported: {supported}.",
    "{url!r} 不是受支持的存储；支持：{supported}。",
)
STATE_FILE_NOT_OPENABLE: Final = message(
    "TT7002",
    "The state file {path} cannot be opened: {problem}.",
    "无法打开状态文件 {path}：{problem}。",
)
STATE_FILE_UNUSABLE: Final = message(
    "TT7003",
    "The state file {path} cannot be used now: {problem}. It is unchanged.",
    "状态文件 {path} 目前无法使用：{problem}。未作任何更改。",
)
STORE_QUEUE_FULL: Final = message(
    "TT7004",
    "{limit} jobs wait for the store {path} already; this one was refused.",
    "已有 {limit} 项任务在等待存储 {path}；本次请求被拒绝。",
)
STORE_NOT_OPEN: Final = message(
    "TT7005",
    "The store {path} is not open.",
    "存储 {path} 未打开。",
)
STATE_FILE_TOO_NEW: Final = message(
    "TT7006",
    "The state file {path} was written by a newer tooltrue (layout {found}, this one knows {known}).",
    "状态文件 {path} 由更新版本的 tooltrue 写入（布局 {found}，当前仅支持 {known}）。",
)
STATE_STORE_FAILED: Final = message(
    "TT7050",
    "The state store {url} failed: {problem}. It is not known whether the last request took effect; requests that "
    "depend on it are refused. Check that the store runs and can be reached from here.",
    "状态存储 {url} 出错：{problem}。上一个请求是否已生效无法得知；依赖它的操作均被拒绝。请检查该存储是否在运行且"
    "可从此处访问。",
)
STATE_STORE_NOT_OPEN: Final = message(
    "TT7051",
    "The state store {url} is not open.",
    "状态存储 {url} 未打开。",
)
REDIS_URL_INVALID: Final = message(
    "TT7052",
    "{url!r} is no address of a Redis or Valkey; write redis://user:password@host:port/db, with rediss:// "
    "for TLS; "
    "?prefix=… and, with TLS, ?ssl_ca_certs=FILE may follow.",
    "{url!r} 不是 Redis 或 Valkey 的地址；请写成 redis://用户:密码@主机:端口/库号，TLS 用 rediss://；"
    "其后可加 ?prefix=…，使用 TLS 时还可加 ?ssl_ca_certs=文件。",
)
STATE_PACKAGE_MISSING: Final = message(
    "TT7053",
    "State at {scheme}:// needs the package {package!r} of the extra {extra!r}, which is not installed. Run: {command}",
    "使用 {scheme}:// 的状态存储需要附加组件 {extra!r} 中尚未安装的软件包 {package!r}。请运行：{command}",
)
SEAL_FILE_NOT_WRITABLE: Final = message(
    "TT7012",
    "The seal file {path} cannot be written now: {problem}.",
    "封存文件 {path} 目前无法写入：{problem}。",
)
SEAL_FILE_INVALID: Final = message(
    "TT7013",
    "{path} is no seal file: {problem}.",
    "{path} 不是封存文件：{problem}。",
)
RETENTION_KEY_FILE_UNUSABLE: Final = message(
    "TT7014",
    "The key file {path} cannot be used: {problem}.",
    "密钥文件 {path} 无法使用：{problem}。",
)
AUDIT_DATABASE_NOT_OPENABLE: Final = message(
    "TT7020",
    "The database {url} cannot be opened: {problem}.",
    "无法打开数据库 {url}：{problem}。",
)
AUDIT_DATABASE_UNUSABLE: Final = message(
    "TT7021",
    "The database {url} cannot be used now: {problem}. If the connection was lost, the last records may be there "
    "or not.",
    "数据库 {url} 目前无法使用：{problem}。若连接已断开，最后的记录可能已写入，也可能没有。",
)
REASON_SUBSCRIPTION_UNCONFIRMED: Final = message(
    "TT7070",
    "it did not confirm a subscription",
    "它没有确认订阅",
)
REASON_NO_SEAL_LINES: Final = message(
    "TT7071",
    "it holds no lines of 'position hash'",
    "其中没有形如 'position hash' 的行",
)
