"""The phrases of the pages, in English and Chinese: titles, labels and buttons. Sentences on failures have codes, and
stand in ``wording.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["PHRASES", "phrase"]

PHRASES: Final[Mapping[str, tuple[str, str]]] = {
    # the frame of every page
    "console": ("tooltrue console", "tooltrue 控制台"),
    "skip": ("Skip to the content", "跳到内容"),
    "sections": ("Sections", "栏目"),
    "sign_out": ("Sign out", "退出登录"),
    "other_language": ("中文", "English"),
    "needs_script": (
        "The console sends every decision by its script, which this browser has turned off. The pages can be read.",
        "控制台通过其脚本发送各项决定，而此浏览器已停用脚本。页面仍可阅读。",
    ),
    "error": ("This did not work", "未能完成"),
    "back": ("Back to the start", "返回首页"),
    # signing in
    "sign_in": ("Sign in", "登录"),
    "sign_in_link": (
        "Open the link that the command has printed in its terminal. It works once. `tooltrue console --link` prints "
        "another one.",
        "请打开命令在终端中显示的链接。该链接仅可使用一次。`tooltrue console --link` 会显示新的链接。",
    ),
    "opening": ("Opening the console …", "正在打开控制台……"),
    "sign_in_key": ("A key with the scope console:read", "具有 console:read 权限范围的密钥"),
    # approvals
    "approvals": ("Approvals", "审批"),
    "pending": ("Pending, the oldest first", "待处理（最早的在前）"),
    "nothing_pending": ("No call waits for a person.", "没有调用在等待人工处理。"),
    "granted": ("Approved, and still valid", "已批准且仍有效"),
    "recent": ("Recent decisions", "最近的决定"),
    "nothing_recent": ("No decision has been made in the console yet.", "尚未在控制台中作出任何决定。"),
    "ticket": ("Ticket", "工单"),
    "caller": ("Caller", "调用方"),
    "server": ("Server", "服务器"),
    "tool": ("Tool", "工具"),
    "effect": ("Effect", "影响"),
    "asked": ("Asked", "提出时间"),
    "expires": ("Expires", "失效时间"),
    "reason": ("Reason of the rule", "规则给出的原因"),
    "stake": ("At stake", "风险"),
    "arguments": ("Arguments, in full", "全部参数"),
    "preview": ("What it would do", "将执行的操作"),
    "digests": ("Bound to", "绑定于"),
    "pin": ("definition", "定义"),
    "arguments_digest": ("arguments", "参数"),
    "once": ("Approve once", "批准一次"),
    "once_hint": ("One identical call, within an hour.", "一小时内一次完全相同的调用。"),
    "session": ("Approve for this session", "在此会话内批准"),
    "session_hint": ("Every identical call, for a day.", "一天内所有完全相同的调用。"),
    "pattern": ("Approve this pattern …", "按模式批准……"),
    "pattern_hint": (
        "For a day, every call of this tool by this caller whose arguments fit this JSON Schema.",
        "一天内，该调用方对此工具的、参数符合此 JSON Schema 的所有调用。",
    ),
    "pattern_label": ("JSON Schema of the arguments", "参数的 JSON Schema"),
    "approve_pattern": ("Approve the pattern", "批准此模式"),
    "deny": ("Deny", "拒绝"),
    "revoke": ("Revoke", "撤销"),
    "why": ("Reason, which the model reads", "原因（模型会读到）"),
    "cannot_approve": (
        "Your session may look, and not decide: it lacks the scope console:approve.",
        "您的会话只能查看，不能决定：缺少 console:approve 权限范围。",
    ),
    "state_open": ("pending", "待处理"),
    "state_once": ("approved once", "已批准一次"),
    "state_session": ("approved for this session", "已在会话内批准"),
    "state_pattern": ("approved by pattern", "已按模式批准"),
    "state_running": ("running", "执行中"),
    "state_used": ("used", "已使用"),
    "state_denied": ("denied", "已拒绝"),
    "state_gone": ("settled or expired", "已处理或已过期"),
    "gone_hint": (
        "This ticket does not wait any more: a person has settled it, the call has run, or the time is over.",
        "此工单不再等待：已由他人处理、调用已执行，或已超时。",
    ),
    "settled_by": ("{act} by {who}, {at}", "{act}，{who}，{at}"),
    "notify": ("Notify me of new ones", "有新工单时通知我"),
    "new_approval": ("A call waits for a decision", "有调用等待决定"),
    "decided": ("Done: {act}.", "已完成：{act}。"),
    "act": ("Decision", "决定"),
    "who": ("Who", "操作者"),
    "when": ("When", "时间"),
    "from_where": ("From", "来源"),
    "outcome": ("Outcome", "结果"),
    # calls and the log
    "calls": ("Calls", "调用"),
    "log": ("Log", "日志"),
    "call": ("Record {position} of {log}", "{log} 的记录 {position}"),
    "which_log": ("Log", "日志"),
    "rule": ("Rule", "规则"),
    "code": ("Code", "代码"),
    "kind": ("Kind", "类型"),
    "since": ("Since (UTC)", "起始（UTC）"),
    "until": ("Until (UTC)", "截止（UTC）"),
    "any": ("any", "任意"),
    "search": ("Search", "搜索"),
    "globs": ("* stands for anything, ? for one character.", "* 代表任意内容，? 代表一个字符。"),
    "took": ("Time", "耗时"),
    "short_arguments": ("Arguments", "参数"),
    "older": ("Older", "更早"),
    "to_newest": ("To the newest", "回到最新"),
    "no_logs": (
        "No server of this user has an audit log yet. `tooltrue serve` writes one.",
        "当前用户的服务器还没有审计日志。`tooltrue serve` 会写入日志。",
    ),
    "no_records": ("No record matches in the part that was read.", "在已读取的部分中没有匹配的记录。"),
    "indexing": (
        "The index of this log is being built: {percent} %. Until then, a search reads a part of the log at a time.",
        "正在建立此日志的索引：{percent}%。在此之前，每次搜索只读取日志的一部分。",
    ),
    "live": ("New records appear by themselves.", "新记录会自动出现。"),
    "masked_note": ("Secrets are masked, as in the record.", "机密内容按记录中的方式遮盖。"),
    "chain": ("In the chain", "在链中"),
    "hash": ("hash", "哈希"),
    "writer": ("writer", "写入者"),
    "verify": ("Verify the chain", "验证链"),
    "verify_hint": ("Reads all records. It may take a while.", "将读取全部记录，可能需要一些时间。"),
    "export": ("Export", "导出"),
    "sound": ("Sound", "完好"),
    "unsound": ("Not proven", "未能证明"),
    # rules
    "rules": ("Rules", "规则"),
    "rules_in_order": ("{file}, in the order in which the rules are tried", "{file}，按规则的尝试顺序"),
    "rules_changed": (
        "The file has changed since the server read it. The server goes by the rules in this table; the text below is "
        "that of the file.",
        "服务器读取之后，该文件已被修改。服务器仍按此表中的规则运行；下方为文件的当前内容。",
    ),
    "place": ("Place", "位置"),
    "then": ("Then", "结果"),
    "conditions": ("Conditions", "条件"),
    "always": ("every use", "任何使用"),
    "decides": ("Which rule decides", "由哪条规则决定"),
    "decides_hint": (
        "No tool is called. Without arguments the decision is the one that lists use.",
        "不会调用任何工具。不填参数时，显示用于列表的判定。",
    ),
    "scopes": ("Scopes of the caller", "调用方的权限范围"),
    "json_arguments": ("Arguments as JSON", "JSON 格式的参数"),
    "explain": ("Explain", "解释"),
    "verdict": ("Decision", "判定"),
    "told": ("The caller is told: {reason}", "告知调用方：{reason}"),
    "by_no_rule": (
        "No rule says so: none of them matches, or the tool or its server asks for more.",
        "这并非由规则决定：没有规则匹配，或工具或其服务器另有要求。",
    ),
    "steps": ("Rules that were tried", "已尝试的规则"),
    "why_not": ("Why", "原因"),
    "try_rules": ("What a changed file would have decided", "修改后的文件会如何判定"),
    "try_hint": (
        "Change the text and replay the last calls against it. No file is written, and no tool is called. Passwords in "
        "URLs are left out.",
        "修改文本，并用它重新判定最近的调用。不会写入文件，也不会调用工具。URL 中的密码不显示。",
    ),
    "rules_text": ("Text of the file", "文件内容"),
    "last_calls": ("Of the last records", "最近的记录数"),
    "simulate": ("Simulate", "模拟"),
    "simulated": (
        "{total} records: {changed} would be decided otherwise, {undecidable} undecidable.",
        "{total} 条记录：{changed} 条的判定会不同，{undecidable} 条无法判定。",
    ),
    "was": ("Was", "原判定"),
    "would": ("Would be", "新判定"),
    "times": ("Times", "次数"),
    "records": ("Records", "记录"),
    "no_rule": ("no rule", "无规则"),
    "today": ("Simulate with today's rules", "用当前规则模拟"),
    "undecidable_hint": (
        "Undecidable: a rule reads arguments that are masked or cut in the record.",
        "无法判定：规则需要读取的参数在记录中已被遮盖或截断。",
    ),
    "verdict_allow": ("allowed", "允许"),
    "verdict_ask": ("a person is asked", "询问人工"),
    "verdict_deny": ("refused", "拒绝"),
    "verdict_undecidable": ("undecidable", "无法判定"),
}


def phrase(name: str, language: str, **facts: object) -> str:
    """The phrase in ``language``, filled with ``facts``. ``KeyError`` for an unknown name."""
    return PHRASES[name][language == "zh"].format(**facts)
