"""The wording of this package's messages: code → English and Chinese sentence, as :mod:`tooltrue.wording` describes."""

from __future__ import annotations

from typing import Final

from tooltrue.wording import message

REST_BODY_NOT_OBJECT: Final = message(
    "TT5640",
    "The body of a call of {tool} has to be a JSON object with its arguments; {{}} if there are none.",
    "调用 {tool} 的请求体须为 JSON 对象，内含其参数；没有参数时为 {{}}。",
)
REST_QUESTION_REFUSED: Final = message(
    "TT5641",
    "{tool} asks a question before it goes on, and a call by REST has no way to answer it. Call it by MCP.",
    "{tool} 在继续之前会提问，而经 REST 的调用无法回答。请改用 MCP 调用。",
)
REST_TASK_REFUSED: Final = message(
    "TT5642",
    "{tool} runs as a task only, and a call by REST has no way to follow one. Call it by MCP.",
    "{tool} 只能作为任务运行，而经 REST 的调用无法跟踪任务。请改用 MCP 调用。",
)
