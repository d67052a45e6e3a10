"""Facts: small values, rates and events that the workers of a server share.

Three small protocols, so that a layer can declare how little it needs, and one name for all of them: the type that a
URL opens. ``MemoryFacts`` serves one process. This is not a database: values expire, events without listeners are lost.

Keys and channels are text that UTF-8 can encode. All times inside are whole nanoseconds: with sums of floats a limit of
ten would grant nine or eleven.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

__all__ = ["Bucket", "Callback", "Events", "Facts", "MemoryFacts", "Rates", "Values"]

logger = logging.getLogger("tooltrue.state")

Callback = Callable[[bytes], object]
V = TypeVar("V")

NANOSECONDS = 1_000_000_000


class Values(Protocol):
    """Values with a TTL. Each method is one atomic step, for all workers together."""

    async def get(self, key: str) -> bytes | None:
        """The value of ``key``, or None: absent, removed and expired keys look the same."""
        ...

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        """Store ``value`` under ``key`` for ``seconds``, replacing any other value."""
        ...

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        """Store ``value`` only if ``key`` has no value. Returns True for exactly one of several concurrent callers."""
        ...

    async def replace(self, key: str, old: bytes, value: bytes, seconds: float) -> bool:
        """Compare-and-set: store ``value`` only if the current one is ``old``. Returns whether it did."""
        ...

    async def remove(self, key: str) -> bytes | None:
        """Remove ``key`` and return its value, to one caller only: a single-use value is used once."""
        ...


class Rates(Protocol):
    """Rate limits shared by all workers. Their keys are separate from those of ``Values``."""

    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        """Take ``cost`` tokens from the bucket ``key``, which holds up to ``burst`` and regains ``per_second``.

        Returns 0.0 if granted. Otherwise takes no tokens and returns the seconds after which the request would be
        granted, provided that there are no other takers. Raises ValueError unless ``0 < cost <= burst`` and
        ``per_second > 0``: waiting would not help.
        """
        ...


class Events(Protocol):
    """Hints that something changed, from any worker to all workers, the publisher included.

    Listeners must check the actual state: an event may be lost when a worker or its store stalls.
    """

    async def publish(self, channel: str, payload: bytes) -> None:
        """Notify all listeners on ``channel``. The events of one worker arrive in the order of publication."""
        ...

    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        """Call ``callback`` on the event loop with each payload published from now on, until the returned function is
        called. An exception in ``callback`` is logged and does not affect other listeners.
        """
        ...


class Facts(Values, Rates, Events, Protocol):
    """All state that workers share."""


def nanoseconds(seconds: float) -> int:
    return int(seconds * NANOSECONDS)


def admit(arrival: int, now: int, *, per_second: float, burst: int, cost: int) -> tuple[int, int]:
    """One step of the generic cell rate algorithm: the next theoretical arrival time, and the wait.

    ``arrival`` is the result of the last granted step; without one, any time not after ``now``. If the wait is not 0,
    the step is refused and the arrival time stays unchanged. A key whose ``arrival`` has passed is as good as new.
    """
    if not (0 < cost <= burst and per_second > 0):
        raise ValueError(f"cannot take {cost} of {burst} at {per_second} a second")
    interval = _interval(per_second)
    span = burst * interval
    # A valid arrival time is at most one span ahead. A later one results from a clock that was set back or from a wider
    # limit in the past, and must not lock the key for longer than the current limit does.
    arrival = min(max(arrival, now), now + span)
    ahead = arrival + cost * interval - now
    if ahead <= span:
        return now + ahead, 0
    return arrival, ahead - span


class Bucket:
    """A key and its limit, precomputed for many calls: ``room`` is how far ahead an arrival may be."""

    __slots__ = ("burst", "interval", "key", "per_second", "room")

    def __init__(self, key: str, per_second: float, burst: int) -> None:
        self.key = key
        self.per_second = per_second
        self.burst = burst
        self.interval = _interval(per_second)
        self.room = (burst - 1) * self.interval


def _interval(per_second: float) -> int:
    return int(NANOSECONDS / per_second) or 1


def waiting(wait: int) -> float:
    """``wait`` in seconds, plus a microsecond unless it is 0: clocks round to floats, and the sleep must suffice."""
    return (wait + 1000) / NANOSECONDS if wait else 0.0


class Listeners:
    """The listeners of this process, by channel. A listener receives only events numbered above ``after``."""

    def __init__(self) -> None:
        self._channels: dict[str, list[_Listener]] = {}

    def __bool__(self) -> bool:
        return bool(self._channels)

    def __iter__(self) -> Iterator[str]:
        """The channels that have listeners."""
        return iter(tuple(self._channels))

    def __contains__(self, channel: object) -> bool:
        return channel in self._channels

    def add(self, channel: str, callback: Callback, after: int) -> Callable[[], None]:
        """Add a listener; return a function that removes it, which may be called twice. It gets no event after that."""
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
    """Entries with an expiry time. Each new key checks the two oldest entries, so that expired ones cannot pile up and
    no call ever scans all of them.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        # Not a plain dict: finding the first key after the deletion of earlier ones walks over all of the gaps.
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
        """Drop the oldest entry if it has expired; otherwise move it to the end, to be checked again later."""
        if not self.entries:
            return
        oldest = next(iter(self.entries))
        if self.entries[oldest][0] <= now:
            del self.entries[oldest]
        else:
            self.entries.move_to_end(oldest)


class _Arrival:
    """The theoretical arrival time of a key. Once it is dropped, another one may stand for the key, and it admits no
    call: it is :data:`_DROPPED`."""

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        self.at = at


_DROPPED = 2**80
"""Later than every clock."""


_FEW = 64


class _Arrivals:
    """Arrival times by key. One that has passed is as good as none; of more than a few, each new key checks the two
    oldest."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: OrderedDict[str, _Arrival] = OrderedDict()  # as in `_Expiring`

    def __len__(self) -> int:
        return len(self._entries)

    def at(self, key: str, now: int) -> int:
        """Return the arrival time of a key; ``now`` if it has none."""
        arrival = self._entries.get(key)
        return now if arrival is None else arrival.at

    def find(self, key: str, now: int) -> _Arrival:
        """Return the arrival of a key, which is not dropped at this time."""
        arrival = self._entries.get(key)
        if arrival is None:
            if len(self._entries) > _FEW:
                self._bury(now)
                self._bury(now)
            arrival = self._entries[key] = _Arrival(now)
        elif arrival.at < now:
            arrival.at = now
        return arrival

    def _bury(self, now: int) -> None:
        oldest = next(iter(self._entries))
        if self._entries[oldest].at < now:
            self._entries.pop(oldest).at = _DROPPED
        else:
            self._entries.move_to_end(oldest)


class MemoryFacts:
    """Facts of one process and one event loop. ``clock`` returns seconds; only differences matter."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._values: _Expiring[bytes] = _Expiring()
        self._arrivals = _Arrivals()
        self._listeners = Listeners()
        self._published = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """No-op: there are no resources to release."""

    def __len__(self) -> int:
        """The number of keys in memory, including expired ones that are not removed yet."""
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
        at, wait = admit(self._arrivals.at(key, now), now, per_second=per_second, burst=burst, cost=cost)
        if wait:
            return waiting(wait)
        self._arrivals.find(key, now).at = at
        return 0.0

    def taker(self, buckets: Sequence[Bucket]) -> Callable[[], float]:
        """Return a function that takes one token from each of these buckets, or from none, and returns the same as
        ``take``. Several times faster."""
        clock, find = self._clock, self._arrivals.find
        rows: list[tuple[_Arrival, int, int]] = []

        def take() -> float:
            now = int(clock() * NANOSECONDS)
            for arrival, room, _ in rows:
                if arrival.at - now > room:
                    return first(now)
            for arrival, _, interval in rows:
                at = arrival.at
                arrival.at = (at if at > now else now) + interval
            return 0.0 if rows else first(now)

        def first(now: int) -> float:
            """Take with arrivals that are looked up, and kept for the next call."""
            rows[:] = [(find(bucket.key, now), bucket.room, bucket.interval) for bucket in buckets]
            for (arrival, room, _), bucket in zip(rows, buckets, strict=True):
                if arrival.at - now > room:
                    return self._wait(bucket, arrival.at, now)
            for arrival, _, interval in rows:
                arrival.at = max(arrival.at, now) + interval
            return 0.0

        return take

    def _wait(self, bucket: Bucket, arrival: int, now: int) -> float:
        return waiting(admit(arrival, now, per_second=bucket.per_second, burst=bucket.burst, cost=1)[1])

    async def publish(self, channel: str, payload: bytes) -> None:
        # Not called directly: a listener that publishes would run within its own event.
        self._published += 1
        asyncio.get_running_loop().call_soon(self._listeners.deliver, channel, payload, self._published)

    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        return self._listeners.add(channel, callback, self._published)
