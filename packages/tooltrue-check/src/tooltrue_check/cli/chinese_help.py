"""The Chinese help of the verbs of this distribution: data for the entry points of ``tooltrue.chinese_help``.

``docs/plugins.md`` has its form. Names of positional arguments (TARGET, FILE) stay as they are: documentation and
errors use them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["COMMANDS"]

_FORMAT = "报告的格式。"
_JSON = "以 JSON 输出。"
_OUTPUT = "将报告写入此文件。"
_TIMEOUT = "等待应答的秒数。"

COMMANDS: Final[Mapping[str, Mapping[str, str]]] = {
    "check": {
        "short": "在模型使用之前找出工具的问题。",
        "help": (
            "检查每个 TARGET 的工具：自有服务器、URL、带引号的命令、宿主的服务器配置文件、tools/list 的 JSON 转储，"
            "或锁文件。\n\n"
            "如有问题达到 --fail-on 的级别，退出码为 1；如有服务器无法检查，退出码为该故障的退出码。"
        ),
        "--for": "报告这些客户端和模型服务商如何处理这些工具：以逗号分隔的名称，或 all。",
        "--level": "报告的最低级别。",
        "--select": "仅使用此规则：代码、代码前缀、名称或组。可重复。",
        "--ignore": "不使用此规则，写法同上。可重复。",
        "--fail-on": "使命令失败的最低级别。",
        "--verbose": "text：显示每条规则的依据。",
        "--summary": "text：仅显示摘要。",
        "--config": "运营者的文件，其中的 [[check.excused]] 列出可以接受的问题。",
        "--baseline": "已知问题：仅报告其余问题。",
        "--write-baseline": "将当前所有问题写入 --baseline 的文件。",
        "--fix": "在规则有把握之处，修改 tools/list 的转储和自有的 Python 文件。",
        "--dry-run": "与 --fix 同用：仅显示将作的修改。",
        "--explain": "显示某条规则的全部说明，不作检查。",
        "--timeout": "等待服务器的秒数。",
        "--format": _FORMAT,
        "--output": _OUTPUT,
        "NAMES": "名称列表",
        "RULE": "规则",
        "Missing argument 'TARGET...'.": "缺少参数 'TARGET...'。",
        "--dry-run goes with --fix, --write-baseline with --baseline FILE.": (
            "--dry-run 须与 --fix 同用，--write-baseline 须与 --baseline FILE 同用。"
        ),
        "--for goes with --fail-on, --format text|json|html, -o, -v, --summary, --timeout only.": (
            "--for 只能与 --fail-on、--format text|json|html、-o、-v、--summary、--timeout 同用。"
        ),
    },
    "diff": {
        "short": "显示服务器契约的变化。",
        "help": (
            "比较契约 OLD 与 NEW：锁文件、tools/list 的 JSON 转储，或服务器。\n\n"
            "如有变化达到或超过 --fail-on 的类别，退出码为 1。"
        ),
        "--fail-on": "使命令失败的最低类别。",
        "--json": _JSON,
        "--timeout": _TIMEOUT,
    },
    "doctor": {
        "short": "找出工具在使用中的问题。",
        "help": (
            "读取服务器的审计日志，指出其工具在使用中的问题。\n\n"
            "LOG 是当前用户的服务器名称、文件或 URL，同 audit；也可以是 `audit export` 的输出（.jsonl）。"
            "未指定时使用唯一的日志。给出 --target 时，check 的规则会指出定义中需要查看的位置，"
            "并可得知哪些工具从未被调用。"
        ),
        "--target": "服务器，写法同 check。可重复。",
        "--since": "从此时起：7d、12h、30m 之前，或 YYYY-MM-DD[THH:MM]；UTC。",
        "--patience": "调用方在失败后这么久没有再调用，即视为放弃。",
        "--output": "将报告写入此文件。",
        "--timeout": "等待服务器的秒数。",
        "--format": _FORMAT,
        "MINUTES": "分钟数",
        "TARGET": "目标",
    },
    "eval": {
        "short": "查看模型为问题选择哪个工具。",
        "help": (
            "向 MODEL 提供 TARGET 的工具，逐一提出文件中的问题，报告它选择的工具和参数。除非使用 --run，"
            "否则不执行任何工具。TARGET 的写法同 check；使用 --run 时同 chat。\n\n"
            "回答保存在文件中：已有回答的问题不再提出，因此中断后可以继续。结果低于 --fail-under 时退出码为 1；"
            "仍有问题没有回答时为 4。"
        ),
        "--questions": "问题，JSON Lines 格式。",
        "--against": "用这些工具（例如锁文件）提出相同的问题，并作比较。",
        "--renamed": "与 --against 同用：同一工具的新旧名称。可重复。",
        "--answers": "保存回答的文件。默认：--questions 的文件名加 .answers.jsonl。",
        "--repeat": "每个问题提出的次数。",
        "--concurrency": "同时提出的问题数。",
        "--system": "每个问题之前给模型的系统提示。",
        "--temperature": "随每个请求发送。默认：由端点决定。",
        "--run": "在宿主的防护之下执行模型的调用。",
        "--rules": "与 --run 同用：运营者的规则，例如 tooltrue.toml。",
        "--fail-under": "完全正确的回答低于此比例时失败。",
        "--timeout": "等待服务器的秒数。",
        "--format": _FORMAT,
        "--output": _OUTPUT,
        "--base-url": "兼容 OpenAI 的端点；其密钥在 $TOOLTRUE_MODEL_KEY 中。",
        "--model": "PROVIDER:MODEL；使用 --base-url 时为 MODEL。",
        "NUMBER": "数值",
        "OLD=NEW": "旧名称=新名称",
        "PERCENT": "百分比",
        "TARGET": "目标",
        "--renamed takes OLD=NEW.": "--renamed 的值应为 OLD=NEW。",
    },
    "find": {
        "short": "查看搜索能否找到这些工具。",
        "help": (
            "按用途搜索每个 TARGET 的每个工具，与工具众多的宿主一样按词语搜索。\n\n"
            "问题取自 --queries，未指定时取自每个工具的自述。TARGET 的写法同 check。"
            "显示先找到其他工具的问题及起决定作用的词语，以及难以区分的工具。"
        ),
        "--among": "一同参与搜索的其他工具：每行一个服务器的 JSON、转储或锁文件。可重复。",
        "--queries": '问题，每行一个：{"tool": NAME, "query": TEXT}。',
        "--query": "仅显示这些词语找到的工具。",
        "--fail-beyond": "如有工具不在前 N 个之内，则失败。",
        "--json": _JSON,
        "--timeout": _TIMEOUT,
        "WORDS": "词语",
    },
    "lock": {
        "short": "保存服务器的契约。",
        "help": (
            "将 TARGET 每个工具的每个字段写入文件，供评审时阅读。\n\n"
            "TARGET 是自有服务器（工具箱名称、FILE.py、module:NAME）、URL，或带引号的命令。"
        ),
        "--file": "要写入的文件。",
        "--timeout": _TIMEOUT,
    },
}
