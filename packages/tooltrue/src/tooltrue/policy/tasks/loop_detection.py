"""Loop detection: the same call with the same result, a few calls in turn, or the same error, again and again.

A model that repeats itself is told so, with the calls that it repeats; one that continues is stopped. A call whose
result differs each time, such as that of a job that makes progress, is not a loop. Identical calls run at once only up
to the number at which the model is told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from tooltrue.contract.digests import digest
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.rules.globs import Globs
from tooltrue.policy.tasks.budget import stop, with_note
from tooltrue.policy.tasks.labels import without_label
from tooltrue.policy.wording import (
    IDENTICAL_CALL_IN_PROGRESS,
    LABEL_LOOP_LIMITS,
    LOOP_DETECTED,
    REPEATED_TOOL_FAILURE,
    RUN_STOPPED_LOOP_DETECTED,
    RUN_STOPPED_REPEATED_FAILURE,
)
from tooltrue.protocol.types import CallToolResult, TextContent, ToolOutcome, Value, replaced
from tooltrue.tools.tasks import Task
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import ToolCall
from tooltrue.wording import SETTING_INVALID, Worded, sentence

__all__ = ["Loops", "detect_loops"]

_LONGEST = 4  # calls of one cycle: a-b-a-b is a cycle of two


class Loops(Value, frozen=True):
    """A model is told when it has repeated a cycle ``told_after`` times, and stopped at ``stopped_after``.
    ``errors_after`` counts the same error of one tool, with any arguments: the model is told then, and stopped at twice
    as many. ``patient`` are tools that are meant to be called again until something has happened."""

    told_after: int = 3
    stopped_after: int = 6
    errors_after: int = 4
    patient: Globs | None = None
    is_on: bool = True

    def __post_init__(self) -> None:
        if not (2 <= self.told_after < self.stopped_after and self.errors_after >= 2):
            requirement = Worded(LABEL_LOOP_LIMITS, {})
            raise ConfigurationError.of(SETTING_INVALID, name="Loops(…)", wanted=requirement)

    def watches(self, name: str) -> bool:
        return self.is_on and not (self.patient is not None and self.patient.match(name))


def detect_loops(settings: Loops, language: str) -> Callable[[Provider], Provider]:
    """End calls of a task that loop. A call that belongs to no task is not watched."""
    return lambda inner: _DetectLoops(inner, settings, language)


class _DetectLoops(Wrapper, frozen=True):
    settings: Loops
    language: str

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        task, settings = call.context.task, self.settings
        if task is None or not settings.watches(call.name):
            return await self.inner.call_tool(call)
        made = digest([call.name, call.arguments])
        if (times := _about_to_be(task, made)) >= settings.stopped_after:
            raise stop(task, call, ToolError.of(RUN_STOPPED_LOOP_DETECTED, tool=call.name, times=times - 1))
        # The results of calls that still run are unknown; assume that they are the same.
        running = task.running[made]
        if running and (running >= settings.told_after or times + running >= settings.stopped_after):
            raise ToolError.of(IDENTICAL_CALL_IN_PROGRESS, tool=call.name, times=running)
        task.running[made] += 1
        try:
            outcome = await self.inner.call_tool(call)
        except ToolError as error:
            if notice := self._after(task, call, made, _hash(error.say()), error.code or str(error)):
                raise _NoticedError(notice, error) from error
            raise
        finally:
            task.running[made] -= 1
        if not isinstance(outcome, CallToolResult):
            return outcome
        result = _hash_of(outcome)
        if notice := self._after(task, call, made, result, result if outcome.isError else ""):
            return replaced(outcome, content=[*outcome.content, TextContent(text=notice)])
        return outcome

    def _after(self, task: Task, call: ToolCall, made: str, result: str, error: str) -> str:
        """Return a message for the model after this result; empty if there is no news."""
        task.history.append((made, result))
        times = _rounds(tuple(task.history))
        if times == self.settings.told_after:
            with_note(call, f"loop: {times} times")
            facts = {"tool": call.name, "times": times, "last": self.settings.stopped_after}
            return sentence(LOOP_DETECTED, self.language, facts)
        return self._after_error(task, call, error)

    def _after_error(self, task: Task, call: ToolCall, error: str) -> str:
        name = f"{call.name} {error}"
        last, count = task.errors
        task.errors = ("", 0) if not error else (name, count + 1 if last == name else 1)
        count, limit = task.errors[1], self.settings.errors_after
        if count >= 2 * limit:
            raise stop(task, call, ToolError.of(RUN_STOPPED_REPEATED_FAILURE, tool=call.name, times=count))
        if count != limit:
            return ""
        with_note(call, f"the same error {count} times")
        return sentence(REPEATED_TOOL_FAILURE, self.language, {"tool": call.name, "times": count, "last": 2 * limit})


class _NoticedError(ToolError):
    """An error with a further message for the model."""

    def __init__(self, notice: str, error: ToolError) -> None:
        super().__init__(str(error), code=error.code, facts=error.facts)
        self.notice = notice

    def say(self, language: str = "en") -> str:
        return f"{super().say(language)}\n\n{self.notice}"


def _hash_of(result: CallToolResult) -> str:
    return _hash(encode([without_label(result), result.isError]).decode())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:32]


def _rounds(history: Sequence[tuple[str, str]]) -> int:
    """Return how many times the newest cycle was repeated in a row, with the same results; 1 if there is no cycle."""
    return max(_times(history, length) for length in range(1, _LONGEST + 1))


def _times(history: Sequence[tuple[str, str]], length: int) -> int:
    times, last = 1, history[-length:]
    while history[-length * (times + 1) : -length * times] == last:
        times += 1
    return times


def _about_to_be(task: Task, made: str) -> int:
    """Return how many times a cycle will have been repeated after this call, if its result is the same as before."""
    history = tuple(task.history)
    guesses = [history[-length] for length in range(1, _LONGEST + 1) if len(history) >= length]
    return max((_rounds((*history, guess)) for guess in guesses if guess[0] == made), default=1)
