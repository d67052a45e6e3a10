"""The contracts that the console knows: those that hosts and gateways of this user have pinned, that of the server
beside, and lock files that the operator names.

A pin is known by its key, which is the name of its file. One that cannot be read is a problem of its own, and the
others are shown all the same.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tooltrue.app import Server
from tooltrue.contract.contract import Contract
from tooltrue.contract.lock import key_of, read
from tooltrue.errors import ConfigurationError, TooltrueError
from tooltrue.host.pins import Pin, Pins, Review
from tooltrue_check.excuses import Excuse, excuses_of
from tooltrue_check.findings import RuleFinding, check_contracts
from tooltrue_check.source import FileLine, ToolSource
from tooltrue_console.wording import CONSOLE_CONTRACT_UNKNOWN

__all__ = ["BESIDE", "MAX_CHECKED", "ContractSource", "Contracts"]

BESIDE: Final = "beside"
"""The key of the contract of the server beside."""
MAX_CHECKED: Final = 400
"""Tools of a contract that are checked here; of more tools, a check would need processes of its own."""
_REMEMBERED: Final = 50


@dataclass(frozen=True, slots=True)
class ContractSource:
    """One contract: the accepted one of a ``pin``, with the ``review`` of a changed one that is pending and its
    contract ``published``; or, without a pin, that of the server beside, with the ``excuses`` of its author, or that in
    the lock ``file``. ``problem`` tells why it cannot be read, and ``note`` why its excuses do not hold."""

    key: str
    server: str
    contract: Contract
    pin: Pin | None = None
    review: Review | None = None
    published: Contract | None = None
    file: Path | None = None
    excuses: Sequence[Excuse] = ()
    note: TooltrueError | None = None
    problem: TooltrueError | None = None


class Contracts:
    """``server`` is the server that the console stands beside, ``locks`` are lock files, as of ``tooltrue lock``."""

    def __init__(self, server: Server | None, pins: Pins | None = None, locks: Sequence[str] = ()) -> None:
        self._server = server
        self._locks = {key_of(Path(file)): Path(file) for file in locks}
        self._pins = pins or Pins()
        self._findings: OrderedDict[str, tuple[RuleFinding, ...]] = OrderedDict()

    async def all(self) -> list[ContractSource]:
        """Every contract, by the name of its server; that of the server beside first."""
        pinned = await asyncio.to_thread(lambda: [_pinned(self._pins, key) for key in self._pins.known_keys()])
        beside = [] if self._server is None else [await _beside(self._server)]
        locked = await asyncio.to_thread(lambda: [_locked(key, file) for key, file in self._locks.items()])
        return [*beside, *locked, *sorted(pinned, key=lambda one: (one.server, one.key))]

    async def one(self, key: str) -> ContractSource:
        """The contract with this key. ``ConfigurationError`` if there is none."""
        if key == BESIDE and self._server is not None:
            return await _beside(self._server)
        if key in self._locks:
            return await asyncio.to_thread(_locked, key, self._locks[key])
        if key not in await asyncio.to_thread(self._pins.known_keys):
            raise ConfigurationError.of(CONSOLE_CONTRACT_UNKNOWN, key=key[:40])
        return await asyncio.to_thread(_pinned, self._pins, key)

    async def findings(self, source: ContractSource) -> tuple[RuleFinding, ...] | None:
        """The findings of check in the tools; ``None`` for more tools than :data:`MAX_CHECKED`."""
        if len(source.contract.tools) > MAX_CHECKED:
            return None
        key = f"{source.server} {source.contract.pin}"
        if key not in self._findings:
            self._findings[key] = await asyncio.to_thread(_checked, source)
            while len(self._findings) > _REMEMBERED:
                self._findings.popitem(last=False)
        return self._findings[key]


def _checked(source: ContractSource) -> tuple[RuleFinding, ...]:
    return tuple(check_contracts([(source.server, source.contract)]))


async def _beside(server: Server) -> ContractSource:
    tools = (await server.inventory()).tools
    contract = Contract.of(tool.definition for tool in tools)
    excused = {tool.name: tool.excused for tool in tools if tool.excused}
    places = {tool.name: FileLine(*tool.source) for tool in tools if tool.source}
    source = ToolSource(server.name, server.name, contract, places=places, excused=excused)
    try:
        return ContractSource(BESIDE, server.name, contract, excuses=tuple(excuses_of(source)))
    except ConfigurationError as error:
        return ContractSource(BESIDE, server.name, contract, note=error)


def _locked(key: str, file: Path) -> ContractSource:
    try:
        lock = read(file)
    except TooltrueError as error:
        return ContractSource(key, file.name, Contract(), file=file, problem=error)
    return ContractSource(key, lock.name or file.name, lock.contract, file=file)


def _pinned(pins: Pins, key: str) -> ContractSource:
    try:
        pin = pins.of_key(key)
        accepted, published = pin.contracts()
        return ContractSource(key, pin.server, accepted, pin, pin.review(), published)
    except TooltrueError as error:
        return ContractSource(key, key[:8], Contract(), problem=error)
