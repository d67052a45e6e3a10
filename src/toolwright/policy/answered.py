"""Every failure of a call becomes an answer for the model; the text of a crash never leaves (design: two error planes).

Broken protocol stays an ``RpcError``, for the caller.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass

from toolwright.errors import InvalidResult, RpcError, ToolError
from toolwright.protocol.types import CallToolResult, ToolOutcome
from toolwright.tools.content import failed
from toolwright.tools.toolset import Provider, ToolCall, Wrapper

__all__ = ["answered"]

_log = logging.getLogger("toolwright")


def answered(language: str) -> Callable[[Provider], Provider]:
    return lambda inner: _Answered(inner, language)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@dataclass(frozen=True)
class _Answered(Wrapper):
    language: str

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        try:
            return await self.inner.call_tool(call)
        except RpcError:
            raise
        except asyncio.CancelledError as error:
            if _is_being_cancelled():
                raise
            return self._masked("TW2004", call, error)  # a cancellation of the tool's own making
        except InvalidResult as error:
            return self._masked("TW2005", call, error)
        except ToolError as error:
            return failed(error.say(self.language))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a tool raises, the model gets an answer
            return self._masked("TW2004", call, error)

    def _masked(self, code: str, call: ToolCall, error: BaseException) -> CallToolResult:
        id = secrets.token_hex(4)
        _log.error("tool %s failed, error %s", call.name, id, exc_info=error)
        return failed(ToolError.of(code, tool=call.name, id=id).say(self.language))
