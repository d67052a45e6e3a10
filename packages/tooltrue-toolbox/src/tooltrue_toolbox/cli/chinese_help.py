"""The Chinese help of ``tooltrue openapi``: data for the entry point of ``tooltrue.chinese_help``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["COMMANDS"]

COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "openapi": {
        "short": "规划由 HTTP API 生成的工具。",
        "help": "处理 HTTP API 的描述：OpenAPI 3.0、3.1 或 Swagger 2.0。",
    },
    "openapi plan": {
        "short": "将描述中的工具写入文件，以供编辑。",
        "help": (
            "写入计划：FILE 中的操作，以及其工具的名称、文本和作用。\n\n"
            "serve openapi --spec FILE --api-plan PLAN 提供其中所列的工具。已存在的计划从不覆盖。"
        ),
        "--operations": "仅使用符合 `tag:…`、`path:…`、`method:…` 或 `id:…` 的操作。",
        "PATTERN": "通配符",
        "--output": "计划文件；默认为 FILE 的名称加 .plan.toml。",
    },
}
