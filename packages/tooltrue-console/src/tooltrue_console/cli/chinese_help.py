"""The Chinese help of the verb of this distribution: data for the entry point of ``tooltrue.chinese_help``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["COMMANDS"]

COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "console": {
        "short": "在浏览器中查看、审批和调查。",
        "help": (
            "在浏览器中显示待处理的审批、调用、日志和规则，并由人作出决定。\n\n"
            "在本机上用仅可使用一次的链接打开。在其他机器上，用密钥或在运维配置文件所指的签发者处登录，"
            "须具有 console:read、console:approve 和 console:admin 权限范围。\n\n"
            "每个 SERVER 的工具都可在其中试用：tooltrue 服务器、任意客户端的服务器列表、带引号的命令或 URL。"
        ),
        "--http": "在此提供服务；:0 表示任意端口。",
        "--keys": "允许持有此文件中密钥的人登录；参见 'tooltrue keys'。",
        "--allow-host": "另外接受的主机名。可重复。",
        "--store": "工单和会话的存储。默认：审批的存储。",
        "--log": "另一个审计日志：sqlite:PATH 或 postgresql://…",
        "--config": "运维配置文件：规则、设置与登录方式。",
        "--lock": "一个锁定文件，显示于契约页面。",
        "--acts": "记录此处各项操作的日志。默认：当前用户的一个文件。",
        "--approve-own": "允许工具的调用方批准该调用。",
        "--link": "显示新的链接，然后结束。",
        "NAME=URL": "名称=URL",
        "--log takes NAME=URL.": "--log 的值应为 NAME=URL。",
    },
}
