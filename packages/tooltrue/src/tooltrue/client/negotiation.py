"""Negotiates the protocol revision with a server, once (basic/versioning, "Client side").

``server/discover`` comes first, on every transport: stateless servers have to answer it. An error of a stateless server
names its revisions; anything else, silence included, means a session-based server, which gets its handshake. A server
that was silent and refuses the handshake too was slow, not old. The result of an earlier connection is tried first.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from tooltrue.client.eras import CLIENT, Era, Legacy, Modern, ServerFacts, server_info
from tooltrue.client.wording import NO_COMMON_PROTOCOL_REVISION
from tooltrue.errors import (
    ConnectionLost,
    HeaderMismatch,
    InvalidAnswer,
    MissingCapability,
    RequestTimeout,
    RpcError,
    TransportError,
    UnsupportedVersion,
)
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.protocol import versions
from tooltrue.transport.http_client import HttpStatus
from tooltrue.wording import LABEL_NONE, Worded

__all__ = ["negotiate"]

Ask: TypeAlias = Callable[[Era | None, str, dict[str, Json], float], Awaitable[Json]]
"""``(era, method, params, seconds)``; without an era the request gets no additions."""

_PROBE_SECONDS = 5.0
_NOTHING: Mapping[str, Json] = {}


async def negotiate(
    ask: Ask,
    notify: Callable[[Era, str], None],
    seconds: float,
    capabilities: Mapping[str, Json] = _NOTHING,
    revision: str | None = None,
    *,
    extensions: Mapping[str, Json] = _NOTHING,
    log_level: str | None = None,
    remembered: str | None = None,
    reopen: Callable[[], Awaitable[None]] | None = None,
) -> tuple[Era, ServerFacts]:
    """Settle on a revision, for a client with these ``capabilities``, and these ``extensions``, which are declared to
    stateless servers alone. Each revision is tried twice at most, and once
    more if there was no answer in time.

    Raises ``TransportError`` if there is none in common. A given ``revision`` is not negotiated: failure is an
    ``RpcError`` or ``TransportError``. A ``remembered`` one is tried first, as a hint only. ``reopen`` restarts a
    server that ended at an unknown request.
    """
    modern = _Modern(ask, {**capabilities, "extensions": extensions} if extensions else capabilities, log_level)
    handshake = functools.partial(_handshake, ask, notify, capabilities, seconds)
    if revision in versions.MODERN:
        return await modern.settle((revision,), seconds)
    if revision is not None:
        return await handshake((revision,))
    if remembered in versions.LEGACY:
        try:
            return await handshake(versions.LEGACY)
        except ConnectionLost:
            raise
        except (RpcError, TransportError):
            remembered = None  # it has become another server
    try:
        # A server that was stateless a while ago has all the time it needs.
        return await modern.settle(versions.MODERN, seconds if remembered else min(seconds, _PROBE_SECONDS))
    except UnsupportedVersion as error:
        offered = _offered(error)
        if not set(offered) & set(versions.LEGACY):
            raise TransportError.of(
                NO_COMMON_PROTOCOL_REVISION, offered=", ".join(offered) or Worded(LABEL_NONE, {})
            ) from None
    except (HeaderMismatch, MissingCapability):
        raise
    except ConnectionLost:
        if reopen is None or remembered:
            raise
        await reopen()
    except RequestTimeout:
        with contextlib.suppress(RpcError):
            return await handshake(versions.LEGACY)
        # The first request has made the connection a stateless one, which takes no handshake.
        return await modern.settle(versions.MODERN, seconds)
    except InvalidAnswer as error:
        try:
            return await handshake(versions.LEGACY)
        except RpcError:
            raise error from None  # a stateless server with an invalid answer; its refusal says less
    except (RpcError, HttpStatus):
        pass
    return await handshake(versions.LEGACY)


@dataclass(frozen=True, slots=True)
class _Modern:
    ask: Ask
    capabilities: Mapping[str, Json]
    log_level: str | None

    async def settle(self, takes: tuple[str, ...], seconds: float) -> tuple[Era, ServerFacts]:
        """Return the first of ``takes`` that the server speaks. Raises ``UnsupportedVersion`` if it speaks none of
        them.
        """
        tried: list[str] = []
        candidates = takes
        while True:
            tried.append(candidates[0])
            try:
                return await _discover(self.ask, Modern(candidates[0], self.capabilities, self.log_level), seconds)
            except UnsupportedVersion as error:
                # A server that refuses a revision and names it as supported is asked once more: of several behind one
                # address, another may answer.
                candidates = tuple(name for name in takes if name in _offered(error) and tried.count(name) < 2)
                if not candidates:
                    raise


async def _discover(ask: Ask, era: Modern, seconds: float) -> tuple[Era, ServerFacts]:
    result = era.finished(await ask(era, "server/discover", {}, seconds), "server/discover")
    supported = result.get("supportedVersions")
    if not is_array(supported):
        raise RpcError("a discover result without supportedVersions: no modern server")
    if era.revision not in supported:
        error = UnsupportedVersion("")
        error.data = {"supported": supported}
        raise error
    name, version = server_info(result)
    facts = ServerFacts(
        era.revision,
        _capabilities(result),
        name,
        version,
        result.get("instructions"),
        tuple(map(str, supported)),
    )
    return era, facts


async def _handshake(
    ask: Ask,
    notify: Callable[[Era, str], None],
    capabilities: Mapping[str, Json],
    seconds: float,
    takes: tuple[str, ...],
) -> tuple[Era, ServerFacts]:
    params: dict[str, Json] = {"protocolVersion": takes[0], "capabilities": capabilities, "clientInfo": CLIENT}
    result = await ask(None, "initialize", params, seconds)
    revision = result.get("protocolVersion") if is_object(result) else None
    if not is_object(result) or revision not in takes:
        raise TransportError.of(NO_COMMON_PROTOCOL_REVISION, offered=str(revision)[:40])
    era = Legacy(revision)
    notify(era, "notifications/initialized")
    name, version = server_info(result)
    facts = ServerFacts(revision, _capabilities(result), name, version, result.get("instructions"), (revision,))
    return era, facts


def _offered(error: RpcError) -> list[str]:
    supported = error.data.get("supported") if is_object(error.data) else None
    return [item for item in supported if isinstance(item, str)] if is_array(supported) else []


def _capabilities(result: dict[str, Any]) -> dict[str, Json]:
    capabilities = result.get("capabilities")
    return capabilities if is_object(capabilities) else {}
