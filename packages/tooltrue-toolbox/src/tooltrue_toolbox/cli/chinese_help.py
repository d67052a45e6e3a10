"""The Chinese help of ``tooltrue openapi``: data for the entry point of ``tooltrue.chinese_help``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["COMMANDS"]

COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "openapi": {
        "short": "规划由 HTTP API 生成的工具；将工具描述为 HTTP API。",
        "help": "处理 HTTP API 的描述：OpenAPI 3.0 至 3.2，或 Swagger 2.0。",
    },
    "openapi plan": {
        "short": "将描述中的工具写入文件，以供编辑。",
        "help": (
            "写入计划：FILE 中的操作，以及其工具的名称、文本和作用。\n\n"
            "serve openapi --spec FILE --api-plan PLAN 提供其中所列的工具。已存在的计划从不覆盖。"
        ),
        "--operations": "仅使用符合 `tag:…`、`path:…`、`method:…` 或 `id:…` 的操作。",
        "PATTERN": "通配符",
        "--budget": "仅取最先的、定义合计（按估算）不超出此词元数的工具。",
        "TOKENS": "词元数",
        "--output": "计划文件；默认为 FILE 的名称加 .plan.toml。",
    },
    "openapi export": {
        "short": "写出服务器工具的 OpenAPI 描述。",
        "help": (
            "写出 TARGET 的 OpenAPI 3.1 描述：每个工具一个 POST /tools/NAME，由 `tooltrue serve --rest` 应答。\n\n"
            "TARGET 是我们的服务器（工具箱名称、FILE.py、module:NAME）、URL 或引号内的命令。已存在的文件从不覆盖。"
        ),
        "--config": "运营者的规则与设置，如 tooltrue.toml。",
        "--url": "程序访问服务器的地址，即 /tools 之前的部分。",
        "--output": "描述文件；默认为标准输出。",
        "--timeout": "等待应答的秒数。",
    },
}
