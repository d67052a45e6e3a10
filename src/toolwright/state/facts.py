"""Facts: small values, rates and events that the workers of a server share.

Three small protocols, so that a layer can say how little it needs, and one name for all of them: what a URL opens.
``MemoryFacts`` serves one process. Nothing here is a database: every value ends by itself, and an event that nobody
listened to is gone.

Keys and channels are text that UTF-8 can encode. All times inside are whole nanoseconds: sums of floats would let a
limit of ten grant nine or eleven.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

__all__ = ["Bucket", "Callback", "Events", "Facts", "MemoryFacts", "Rates", "Values"]

logger = logging.getLogger("toolwright.state")

Callback = Callable[[bytes], object]
V = TypeVar("V")

NANOSECONDS = 1_000_000_000


class Values(Protocol):
    """Values with an end. Each method is one atomic step, for all workers together."""

    async def get(self, key: str) -> bytes | None:
        """What ``key`` holds, or None: never put, removed and expired read the same."""
        ...

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        """Let ``key`` hold ``value`` for ``seconds``, whatever it held before."""
        ...

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        """As ``put`` if ``key`` holds nothing. True for one caller only, however many ask at once."""
        ...

    async def replace(self, key: str, old: bytes, value: bytes, seconds: float) -> bool:
        """As ``put`` if ``key`` holds ``old``, and nothing otherwise: who has read something else looks again."""
        ...

    async def remove(self, key: str) -> bytes | None:
        """Empty ``key``. What it held goes to one caller only, so that a thing of one use is used once."""
        ...


class Rates(Protocol):
    """Limits that hold for all workers together. Their keys are apart from those of ``Values``."""

    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        """Take ``cost`` from ``key``, which holds ``burst`` at the most and regains ``per_second``.

        0.0 when granted; otherwise nothing was taken, and after the returned seconds it would be granted if nobody else
        took. ValueError unless ``0 < cost <= burst`` and ``per_second > 0``: waiting would not help.
        """
        ...


class Events(Protocol):
    """Hints that something changed, from any worker to all of them, the publisher's own included.

    Whoever listens looks at the thing itself: an event may be lost when a worker or its store stalls.
    """

    async def publish(self, channel: str, payload: bytes) -> None:
        """Tell everyone who listens on ``channel``; what one worker publishes arrives in that order."""
        ...

    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        """Call ``callback`` on the event loop with each payload published from now on, until the returned function
        is called. An exception of ``callback`` is logged and stops nobody else.
        """
        ...


class Facts(Values, Rates, Events, Protocol):
    """All that workers share."""


def nanoseconds(seconds: float) -> int:
    return int(seconds * NANOSECONDS)


def admit(arrival: int, now: int, *, per_second: float, burst: int, cost: int) -> tuple[int, int]:
    """One step of the generic cell rate algorithm: the next theoretical arrival time, and how long to wait.

    ``arrival`` is what the last granted step returned, or anything not after ``now`` when there was none. When the
    wait is not 0 the step is refused and the arrival time stays. From ``arrival`` on, a key is as good as new.
    """
    if not (0 < cost <= burst and per_second > 0):
        raise ValueError(f"cannot take {cost} of {burst} at {per_second} a second")
    interval = _interval(per_second)
    span = burst * interval
    # No honest arrival time is more than a span ahead. One that is comes from a clock that was set back or from a
    # limit that was wider then, and must not lock the key for longer than the limit of now.
    arrival = min(max(arrival, now), now + span)
    ahead = arrival + cost * interval - now
    if ahead <= span:
        return now + ahead, 0
    return arrival, ahead - span


@dataclass(frozen=True, slots=True)
class Bucket:
    """A key and its limit, worked out once for many calls: ``room`` is how far ahead an arrival may be."""

    key: str
    per_second: float
    burst: int
    interval: int = field(init=False)
    room: int = field(init=False)

    def __post_init__(self) -> None:
        interval = _interval(self.per_second)
        object.__setattr__(self, "interval", interval)
        object.__setattr__(self, "room", (self.burst - 1) * interval)


def _interval(per_second: float) -> int:
    return int(NANOSECONDS / per_second) or 1


def waiting(wait: int) -> float:
    """``wait`` in seconds, a microsecond more when there is any: clocks are floats and round, sleeping must suffice."""
    return (wait + 1000) / NANOSECONDS if wait else 0.0


class Listeners:
    """Who listens in this process, by channel. A listener hears only what is numbered above ``after``."""

    def __init__(self) -> None:
        self._channels: dict[str, list[_Listener]] = {}

    def __bool__(self) -> bool:
        return bool(self._channels)

    def __iter__(self) -> Iterator[str]:
        """The channels that somebody listens on."""
        return iter(tuple(self._channels))

    def __contains__(self, channel: object) -> bool:
        return channel in self._channels

    def add(self, channel: str, callback: Callback, after: int) -> Callable[[], None]:
        """Returns what ends it; ending twice is harmless, and once ended it is not called again."""
        listener = _Listener(callback, after)
        self._channels.setdefault(channel, []).append(listener)
        return partial(self._end, channel, listener)

    def deliver(self, channel: str, payload: bytes, number: int) -> None:
        for listener in tuple(self._channels.get(channel, ())):
            if listener.callback is not None and listener.after < number:
                _call(listener.callback, payload)

    def _end(self, channel: str, listener: _Listener) -> None:
        listener.callback = None
        remaining = [other for other in self._channels.get(channel, ()) if other is not listener]
        if remaining:
            self._channels[channel] = remaining
        else:
            self._channels.pop(channel, None)


class _Listener:
    __slots__ = ("after", "callback")

    def __init__(self, callback: Callback, after: int) -> None:
        self.callback: Callback | None = callback
        self.after = after


def _call(callback: Callback, payload: bytes) -> None:
    try:
        callback(payload)
    except Exception:
        logger.exception("A listener failed")


class _Expiring(Generic[V]):
    """Entries that die at a time. Each new key pays for a look at the two oldest, so the dead cannot pile up and
    no call ever sweeps the whole.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        # Not a plain dict: finding the first key of one whose first keys were deleted walks over all of the holes.
        self.entries: OrderedDict[str, tuple[int, V]] = OrderedDict()

    def __len__(self) -> int:
        return len(self.entries)

    def get(self, key: str, now: int) -> V | None:
        entry = self.entries.get(key)
        return entry[1] if entry is not None and entry[0] > now else None

    def put(self, key: str, value: V, dies: int, now: int) -> None:
        if key not in self.entries:
            self._bury(now)
            self._bury(now)
        self.entries[key] = (dies, value)

    def pop(self, key: str, now: int) -> V | None:
        value = self.get(key, now)
        self.entries.pop(key, None)
        return value

    def _bury(self, now: int) -> None:
        """Drop the oldest entry if it is dead; otherwise it becomes the youngest and is looked at again later."""
        if not self.entries:
            return
        oldest = next(iter(self.entries))
        if self.entries[oldest][0] <= now:
            del self.entries[oldest]
        else:
            self.entries.move_to_end(oldest)


class MemoryFacts:
    """Facts of one process and one event loop. ``clock`` gives seconds; only differences matter."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._values: _Expiring[bytes] = _Expiring()
        self._arrivals: _Expiring[int] = _Expiring()
        self._listeners = Listeners()
        self._published = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held that would need closing."""

    def __len__(self) -> int:
        """How many keys take up memory, the dead that are not buried yet included."""
        return len(self._values) + len(self._arrivals)

    async def get(self, key: str) -> bytes | None:
        return self._values.get(key, nanoseconds(self._clock()))

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        now = nanoseconds(self._clock())
        self._values.put(key, value, now + nanoseconds(seconds), now)

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        now = nanoseconds(self._clock())
        if self._values.get(key, now) is not None:
            return False
        self._values.put(key, value, now + nanoseconds(seconds), now)
        return True

    async def replace(self, key: str, old: bytes, value: bytes, seconds: float) -> bool:
        now = nanoseconds(self._clock())
        if self._values.get(key, now) != old:
            return False
        self._values.put(key, value, now + nanoseconds(seconds), now)
        return True

    async def remove(self, key: str) -> bytes | None:
        return self._values.pop(key, nanoseconds(self._clock()))

    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        now = nanoseconds(self._clock())
        arrival = self._arrivals.get(key, now) or now
        arrival, wait = admit(arrival, now, per_second=per_second, burst=burst, cost=cost)
        if wait:
            return waiting(wait)
        self._arrivals.put(key, arrival, arrival, now)
        return 0.0

    def take_now(self, buckets: Sequence[Bucket]) -> float:
        """Take one from each bucket, or nothing from any; returns what ``take`` would. Several times quicker."""
        now = int(self._clock() * NANOSECONDS)
        entries = self._arrivals.entries
        for bucket in buckets:
            entry = entries.get(bucket.key)
            if entry is not None and entry[0] - now > bucket.room:
                return self._wait(bucket, entry[0], now)
        for bucket in buckets:
            key, entry = bucket.key, entries.get(bucket.key)
            if entry is None:
                self._arrivals.put(key, now + bucket.interval, now + bucket.interval, now)
            else:
                arrival = (now if entry[0] < now else entry[0]) + bucket.interval
                entries[key] = (arrival, arrival)
        return 0.0

    def _wait(self, bucket: Bucket, arrival: int, now: int) -> float:
        return waiting(admit(arrival, now, per_second=bucket.per_second, burst=bucket.burst, cost=1)[1])

    async def publish(self, channel: str, payload: bytes) -> None:
        # Not called at once: a listener that publishes would run inside of its own event.
        self._published += 1
        asyncio.get_running_loop().call_soon(self._listeners.deliver, channel, payload, self._published)

    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        return self._listeners.add(channel, callback, self._published)
