"""Limits on a server's questions to the person, and to the model, behind a client.

Elicitation and sampling count, for stateless and session-based servers. ``roots/list`` does not: its answer is fixed,
and asks no person. A request of a session-based server has to belong to a request of ours that is open
(:data:`ASKING`): a server without an open call has no reason to ask. Notifications,
``notifications/elicitation/complete`` among them, are not questions.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator
from dataclasses import dataclass, field

from tooltrue.client.wording import (
    LABEL_THE_SERVER,
    SERVER_QUESTION_TOO_LONG,
    SERVER_QUESTION_UNRELATED,
    SERVER_QUESTIONS_RATE_LIMITED,
    SERVER_QUESTIONS_REFUSED,
    TOO_MANY_PENDING_SERVER_QUESTIONS,
)
from tooltrue.errors import InvalidRequest, RpcError
from tooltrue.protocol.input_requests import ELICIT, SAMPLE
from tooltrue.protocol.types import Value
from tooltrue.wording import Worded, coded_sentence, sentence

__all__ = ["ASKING", "QuestionGate", "QuestionLimits", "TokenBucket"]

ASKING = frozenset({"tools/call", "resources/read", "prompts/get"})
"""Requests of ours during which a server may ask questions (2026-07-28, basic/patterns/mrtr)."""

_REFUSED = -32_000  # JSON-RPC 2.0, section 5.1: errors that an implementation defines
_NOTICE_SECONDS = 60.0

_log = logging.getLogger("tooltrue")


class QuestionLimits(Value, frozen=True):
    """Limits on the questions of one server. ``per_minute`` limits the questions to the person and
    ``samples_per_minute`` those to the model; ``waiting`` limits how many of both wait for an answer at the same
    time; ``characters`` limits one question to the person, with its form. A question beyond these limits is refused.
    A form that asks for a secret is declined unread, unless ``secrets`` is set.
    """

    per_minute: int = 10
    samples_per_minute: int = 30
    waiting: int = 5
    characters: int = 8_000
    secrets: bool = False
    clock: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class TokenBucket:
    """A token bucket: ``burst`` at once, and ``per_second`` after that."""

    burst: float
    per_second: float
    clock: Callable[[], float] = time.monotonic
    _used: float = 0.0
    _at: float | None = None

    def take(self, count: int = 1) -> bool:
        """Take ``count`` tokens, or none if there are fewer. Returns whether they were taken."""
        now = self.clock()
        passed = 0.0 if self._at is None else now - self._at
        self._at, self._used = now, max(0.0, self._used - passed * self.per_second)
        if self._used + count > self.burst:
            return False
        self._used += count
        return True


@dataclass(slots=True)
class QuestionGate:
    """Counts the questions of one server. Give the same gate to each client of a server that is restarted, and the
    count outlives the connection. ``server`` is its name in the log.
    """

    limits: QuestionLimits = field(default_factory=QuestionLimits)
    server: str = ""
    _buckets: dict[str, TokenBucket] = field(init=False)
    _notices: TokenBucket = field(init=False)
    _waiting: int = 0
    _refused: int = 0

    def __post_init__(self) -> None:
        limits = self.limits
        rates = {ELICIT: limits.per_minute, SAMPLE: limits.samples_per_minute}
        self._buckets = {method: TokenBucket(rate, rate / 60, limits.clock) for method, rate in rates.items()}
        self._notices = TokenBucket(1, 1 / _NOTICE_SECONDS, limits.clock)

    @contextlib.contextmanager
    def asking(self, methods: Collection[str]) -> Generator[None]:
        """Count these questions as open within the context. Raises ``RpcError``, for all of them, if they exceed a
        limit.
        """
        counted = Counter(method for method in methods if method in self._buckets)
        count = counted.total()
        self._admit(counted)
        self._waiting += count
        try:
            yield
        finally:
            self._waiting -= count

    def _admit(self, counted: Counter[str]) -> None:
        if self._waiting + counted.total() > self.limits.waiting:
            raise self._refusal(counted.total(), TOO_MANY_PENDING_SERVER_QUESTIONS, limit=self.limits.waiting)
        for method, count in counted.items():
            if not self._buckets[method].take(count):
                raise self._refusal(
                    count, SERVER_QUESTIONS_RATE_LIMITED, method=method, limit=int(self._buckets[method].burst)
                )

    def check_size(self, size: int) -> None:
        """Raise ``RpcError`` for a question that is too long to be read."""
        if size > self.limits.characters:
            raise self._refusal(1, SERVER_QUESTION_TOO_LONG, size=size, limit=self.limits.characters)

    def unasked(self, method: str) -> RpcError:
        """Return the error for a question that belongs to no open request of ours."""
        self._note(1, SERVER_QUESTION_UNRELATED, method=method)
        return InvalidRequest.of(SERVER_QUESTION_UNRELATED, method=method)

    def _refusal(self, count: int, code: str, **facts: object) -> RpcError:
        self._note(count, code, **facts)
        error = RpcError.of(code, **facts)
        error.number = _REFUSED
        return error

    def _note(self, count: int, code: str, **facts: object) -> None:
        """Log the first refusal, and then at most one a minute."""
        self._refused += count
        if self._notices.take():
            why = sentence(code, "en", facts)
            notice = coded_sentence(
                SERVER_QUESTIONS_REFUSED,
                "en",
                {"server": self.server or Worded(LABEL_THE_SERVER, {}), "count": self._refused, "why": why},
            )
            _log.warning("%s", notice)
            self._refused = 0
