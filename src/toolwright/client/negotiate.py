"""Which era and revision to speak with a server, found out once (basic/versioning, "Client side").

``server/discover`` comes first, on every carrier: modern servers have to answer it. A modern error says which revisions
there are; anything else, silence included, means a legacy server, which gets its handshake.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from toolwright.client.eras import CLIENT, Era, Legacy, Modern, ServerFacts, server_info
from toolwright.errors import (
    ConnectionLost,
    HeaderMismatch,
    MissingCapability,
    RequestTimeout,
    RpcError,
    TransportError,
    UnsupportedVersion,
)
from toolwright.jsonrpc.messages import Json, is_array, is_object
from toolwright.protocol import versions
from toolwright.transport.http_client import HttpStatus

__all__ = ["negotiate"]

Ask: TypeAlias = Callable[[Era | None, str, dict[str, Json], float], Awaitable[Json]]
"""``(era, method, params, seconds)``; without an era nothing is added to the request."""

_PROBE_SECONDS = 5.0
_NOTHING: Mapping[str, Json] = {}


async def negotiate(
    ask: Ask,
    notify: Callable[[Era, str], None],
    seconds: float,
    capabilities: Mapping[str, Json] = _NOTHING,
    revision: str | None = None,
) -> tuple[Era, ServerFacts]:
    """Settle on an era, for a client with these ``capabilities``. Each revision is tried once at most.

    ``TransportError`` when there is none in common. A ``revision`` leaves nothing to settle: it is spoken, or it is an
    ``RpcError`` or ``TransportError``.
    """
    if revision in versions.MODERN:
        return await _discover(ask, Modern(revision, capabilities), seconds)
    if revision is not None:
        return await _handshake(ask, notify, capabilities, seconds, (revision,))
    tried: set[str] = set()
    candidates = list(versions.MODERN)
    while candidates:
        revision = candidates.pop(0)
        tried.add(revision)
        try:
            return await _discover(ask, Modern(revision, capabilities), min(seconds, _PROBE_SECONDS))
        except UnsupportedVersion as error:
            offered = _offered(error)
            candidates = [name for name in versions.MODERN if name in offered and name not in tried]
            if not candidates and not set(offered) & set(versions.LEGACY):
                raise TransportError.of("TW5008", offered=", ".join(offered) or "none") from None
        except (HeaderMismatch, MissingCapability):
            raise
        except ConnectionLost:
            raise
        except (RpcError, RequestTimeout, HttpStatus):
            break
    return await _handshake(ask, notify, capabilities, seconds, versions.LEGACY)


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
        raise TransportError.of("TW5008", offered=str(revision)[:40])
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
