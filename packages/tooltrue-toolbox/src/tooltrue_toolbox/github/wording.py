"""Messages of the github tools, in English and Chinese."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

# the github tools
GITHUB_REPOSITORIES_NOT_CONFIGURED: Final = message(
    "TT6500",
    "The GitHub tools need the repositories that they may use: --repo OWNER/REPO, or OWNER/* for all of an owner.",
    "GitHub 工具需要可使用的仓库：--repo OWNER/REPO，或用 OWNER/* 表示某所有者的全部仓库。",
)
GITHUB_REPOSITORY_SETTING_INVALID: Final = message(
    "TT6501",
    "{repository!r} is no repository; write OWNER/REPO, or OWNER/* for all of an owner.",
    "{repository!r} 不是仓库；请写 OWNER/REPO，或用 OWNER/* 表示某所有者的全部仓库。",
)
GITHUB_REPOSITORY_NOT_ALLOWED: Final = message(
    "TT6510",
    "{repository} is not served here; served: {served}. Use one of these, or tell the user that the operator "
    "has to add it.",
    "此处不提供 {repository}；可用：{served}。请使用其中之一，或告知用户需由运营者添加。",
)
GITHUB_NOT_FOUND: Final = message(
    "TT6511",
    "There is no {what}, or the token may not see it ({problem}). Check the spelling and the number; "
    "github_list_repos lists repositories.",
    "没有 {what}，或令牌无权查看（{problem}）。请检查拼写与编号；github_list_repos 可列出仓库。",
)
GITHUB_TOKEN_REJECTED: Final = message(
    "TT6512",
    "GitHub does not accept the token of this server for {what} ({problem}). No change was made. Tell the user: "
    "the operator of this server sets GITHUB_TOKEN.",
    "GitHub 不接受本服务器用于 {what} 的令牌（{problem}）。未做任何更改。请告知用户：由运营者设置 GITHUB_TOKEN。",
)
GITHUB_PERMISSION_MISSING: Final = message(
    "TT6513",
    "The token of this server lacks a permission for {what} ({problem}). No change was made. Reading needs the "
    "permission Issues: read, writing Issues: write; tell the user.",
    "本服务器的令牌无权对 {what} 执行此操作（{problem}）。未做任何更改。读取需要权限 Issues: read，写入需要 Issues"
    ": write；请告知用户。",
)
GITHUB_VALUES_REJECTED: Final = message(
    "TT6514",
    "GitHub rejects the values given for {what} ({problem}). No change was made. Change the arguments and call again.",
    "GitHub 认为关于 {what} 的内容有误（{problem}）。未做任何更改。请修改参数后重试。",
)
GITHUB_RATE_LIMIT_EXCEEDED: Final = message(
    "TT6515",
    "The rate limit of GitHub is reached, and the call had no effect. Call again in {seconds} s, at {time}, not "
    "earlier.",
    "对 GitHub 的请求过多，未执行任何操作。请在 {seconds} 秒后（{time}）再调用，不要提前。",
)
GITHUB_RESPONSE_UNEXPECTED: Final = message(
    "TT6516",
    "GitHub does not answer as expected: {problem}. No change was made. Try again later, or tell the user.",
    "GitHub 未正常应答：{problem}。未做任何更改。请稍后重试，或告知用户。",
)
GITHUB_QUALIFIER_IN_QUERY: Final = message(
    "TT6530",
    "{word!r} would be read as a qualifier, which query must not hold. Use the parameters for that (owner, repo, "
    "state, …), and plain words in query.",
    "{word!r} 会被视为限定符，query 中不允许。请使用相应参数（owner、repo、state 等），query 只写普通词语。",
)
GITHUB_TOO_MANY_MENTIONS: Final = message(
    "TT6531",
    "The text mentions {count} people or teams, and {limit} may be at the most. Leave some out, or write names "
    "without @.",
    "文本提及了 {count} 个人或团队，最多 {limit} 个。请减少一些，或去掉名称前的 @。",
)
GITHUB_UNKNOWN_LABEL: Final = message(
    "TT6532",
    "{repository} has no label {labels}; it has: {known}. Use one of these, or no label: labels are not made here.",
    "{repository} 没有标签 {labels}；现有：{known}。请使用其中之一或不用：此处不新建标签。",
)
GITHUB_SEARCH_TOO_BROAD: Final = message(
    "TT6533",
    "{count} repositories and owners are too many for one search. Say the owner, or owner and repo; "
    "github_list_repos lists them.",
    "一次搜索 {count} 个仓库和所有者过多。请指定 owner，或同时指定 owner 和 repo；github_list_repos 可列出它们。",
)
GITHUB_WRITE_OUTCOME_UNKNOWN: Final = message(
    "TT6540",
    "GitHub did not answer in time, and whether {what} was written is not known. Call again with the same "
    "arguments: it is found if it is there, and not written twice.",
    "GitHub 未及时应答，无法确定 {what} 是否已写入。请用相同参数再次调用：若已存在会被找到，不会重复写入。",
)
REASON_OTHER_ANSWER: Final = message(
    "TT6541",
    "the answer is not what was asked for",
    "应答不是所请求的内容",
)
LABEL_WHAT_WAS_SENT: Final = message(
    "TT6542",
    "what was sent",
    "所发送的内容",
)
REASON_NO_ISSUE: Final = message(
    "TT6543",
    "the answer is no issue",
    "应答不是 issue",
)
LABEL_ISSUE_IN: Final = message(
    "TT6544",
    "the issue in {repository}",
    "{repository} 中的 issue",
)
LABEL_COMMENT_ON: Final = message(
    "TT6545",
    "the comment on issue #{number} in {repository}",
    "对 {repository} 中 issue #{number} 的评论",
)
LABEL_ISSUE_NUMBER: Final = message(
    "TT6546",
    "issue #{number} in {repository}",
    "{repository} 中的 issue #{number}",
)
LABEL_REPOSITORY: Final = message(
    "TT6547",
    "repository {repository}",
    "仓库 {repository}",
)
LABEL_SUCH_REPOSITORY: Final = message(
    "TT6548",
    "such repository",
    "这样的仓库",
)
LABEL_SUCH_CODE: Final = message(
    "TT6549",
    "such repository or code",
    "这样的仓库或代码",
)
LABEL_SUCH_ISSUE: Final = message(
    "TT6550",
    "such issue",
    "这样的 issue",
)
REASON_GITHUB_STATUS: Final = message(
    "TT6551",
    "status {status}",
    "状态 {status}",
)
REASON_GITHUB_STATUS_WITH_MESSAGE: Final = message(
    "TT6552",
    "status {status}, {message!r}",
    "状态 {status}，{message!r}",
)
