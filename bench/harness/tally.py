"""The outcome of a timed run: number of calls, duration, and the answers, to be verified after the clock stopped."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.wire import Message, WrongAnswer, checked, verified


@dataclass(frozen=True, slots=True)
class Tally:
    """``took`` is how long each of the calls took, in seconds, where that was measured."""

    calls: int
    seconds: float
    took: Sequence[float] = ()

    @property
    def rate(self) -> float:
        return self.calls / self.seconds

    @property
    def slow(self) -> float:
        """Milliseconds that 99 of 100 calls stay under."""
        return sorted(self.took)[len(self.took) * 99 // 100] * 1_000


class Answers:
    """Answers by request. One that repeats the last answer to the same request byte for byte is not kept twice."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages
        self._last = [b""] * len(messages)
        self._kept: list[tuple[int, bytes]] = []

    def add(self, index: int, answer: bytes) -> None:
        if answer != self._last[index]:
            self._last[index] = answer
            self._kept.append((index, answer))

    def verify(self) -> None:
        """Raises WrongAnswer if any of them is wrong. Each is verified once."""
        for index, answer in self._kept:
            verified(self._messages[index], answer)
        self._kept.clear()


def verify_any_order(messages: Sequence[Message], sent: int, lines: Iterable[bytes]) -> None:
    """Raises WrongAnswer unless `lines` answer the first `sent` requests of the cycle over `messages`, once each."""
    by_id = {message.id: message for message in messages}
    owed = Counter(messages[number % len(messages)].id for number in range(sent))
    owed.subtract(_answered(by_id, line) for line in lines)
    if any(owed.values()):
        raise WrongAnswer(f"{len(+owed)} ids without their answer, {len(-owed)} answered too often")


def _answered(by_id: dict[int, Message], line: bytes) -> int:
    response = json.loads(line)
    message = by_id.get(response.get("id"))
    if message is None:
        raise WrongAnswer(f"nobody asked for {line[:200]!r}")
    checked(message, response)
    return message.id
