"""The wording of this package's messages: code → English and Chinese sentence, as :mod:`tooltrue.wording` describes."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

DESCRIPTION_WRITTEN: Final = message(
    "TT6970",
    "{file}: the description of {count} tools.",
    "{file}：{count} 个工具的描述。",
)
DESCRIPTION_EXISTS: Final = message(
    "TT6971",
    "{file} is there already. Remove it, or name another file with --output.",
    "{file} 已存在。请将其删除，或用 --output 指定其他文件。",
)
