"""A part of shared state: its keys and channels have a prefix, so that it has none in common with other parts."""

from __future__ import annotations

from collections.abc import Callable

from tooltrue.state.facts import Callback, Facts

__all__ = ["PrefixedFacts"]


class PrefixedFacts:
    """The facts of ``inner`` whose keys and channels begin with ``prefix``."""

    def __init__(self, inner: Facts, prefix: str) -> None:
        self._inner = inner
        self._prefix = prefix

    async def get(self, key: str) -> bytes | None:
        return await self._inner.get(self._prefix + key)

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        await self._inner.put(self._prefix + key, value, seconds)

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        return await self._inner.put_if_absent(self._prefix + key, value, seconds)

    async def replace(self, key: str, old: bytes, value: bytes, seconds: float) -> bool:
        return await self._inner.replace(self._prefix + key, old, value, seconds)

    async def remove(self, key: str) -> bytes | None:
        return await self._inner.remove(self._prefix + key)

    async def take(self, key: str, *, per_second: float, burst: int, cost: int = 1) -> float:
        return await self._inner.take(self._prefix + key, per_second=per_second, burst=burst, cost=cost)

    async def publish(self, channel: str, payload: bytes) -> None:
        await self._inner.publish(self._prefix + channel, payload)

    async def subscribe(self, channel: str, callback: Callback) -> Callable[[], None]:
        return await self._inner.subscribe(self._prefix + channel, callback)
