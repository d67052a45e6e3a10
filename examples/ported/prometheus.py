"""Queries, metrics and targets of a Prometheus: in place of prometheus-mcp-server 1.6.2 (MIT).

``PROMETHEUS_URL`` names the server, ``PROMETHEUS_TOKEN`` a bearer token for it, if it needs one.
"""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

import httpx2
from pydantic import Field
from typing_extensions import TypedDict

from tooltrue import Context, Lifespan, Server, ToolError

Query = Annotated[str, "A query in PromQL, e.g. 'rate(http_requests_total[5m])'"]
Time = Annotated[str, "Unix seconds, or RFC 3339 such as '2026-08-01T12:00:00Z'"]
Limit = Annotated[int | None, Field(ge=1, description="Most entries of the answer; all if null")]
Offset = Annotated[int, Field(ge=0, description="Entries to leave out, to read on where an answer ended")]
Word = Annotated[str | None, "Only entries that contain this, in capitals or not"]


class Page(TypedDict):
    total_count: int
    returned_count: int
    offset: int
    has_more: bool


class Metrics(Page):
    metrics: list[str]


class Metadata(Page):
    metadata: dict[str, list[dict[str, str]]]


@asynccontextmanager
async def lifespan(server: Server) -> AsyncGenerator[httpx2.AsyncClient]:
    """One pool of connections, which holds the token. No tool sees it."""
    token = os.environ.get("PROMETHEUS_TOKEN")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(base_url=os.environ["PROMETHEUS_URL"], headers=headers, timeout=20) as client:
        yield client


Api = Annotated[httpx2.AsyncClient, Lifespan]
server = Server("prometheus", version="1.0", lifespan=lifespan)


async def ask(api: httpx2.AsyncClient, path: str, **asked: str | None) -> Any:
    """The data of an answer of the API. Arguments that are ``None`` are left out."""
    try:
        response = await api.get(f"/api/v1/{path}", params={key: one for key, one in asked.items() if one is not None})
        answer = response.json()
    except (httpx2.HTTPError, ValueError) as error:
        raise ToolError(f"Prometheus does not answer: {type(error).__name__}. Tell the user.") from None
    if answer.get("status") != "success":
        raise ToolError(f"Prometheus refuses this ({response.status_code}): {answer.get('error')}")
    return answer["data"]


def with_link(api: httpx2.AsyncClient, data: dict[str, Any], query: str, **shown: str | None) -> dict[str, Any]:
    """An answer with a link to the page of Prometheus that shows it."""
    inputs = {f"g0.{key}": one for key, one in {"expr": query, "tab": "0", **shown}.items() if one is not None}
    href = f"{str(api.base_url).rstrip('/')}/graph?{urlencode(inputs)}"
    return data | {"links": [{"href": href, "rel": "prometheus-ui", "title": "Show in Prometheus"}]}


def page(total: int, offset: int, limit: int | None) -> Page:
    end = total if limit is None else min(offset + limit, total)
    return {"total_count": total, "returned_count": max(end - offset, 0), "offset": offset, "has_more": end < total}


def part(of: list[Any], offset: int, limit: int | None) -> list[Any]:
    return of[offset : None if limit is None else offset + limit]


def contains(word: str | None) -> Callable[[str], bool]:
    return lambda text: word is None or word.lower() in text.lower()


@server.tool(effect="read", open_world=True)
async def health_check(api: Api) -> dict[str, Any]:
    """Tell whether Prometheus answers queries. Call it when other calls fail."""
    try:
        await ask(api, "query", query="vector(1)")
        state = "healthy"
    except ToolError:
        state = "unhealthy"
    return {
        "status": "healthy" if state == "healthy" else "degraded",
        "service": server.name,
        "version": "1.0",
        "timestamp": datetime.now().isoformat(),
        "transport": "stdio",
        "configuration": {
            "prometheus_url_configured": True,
            "authentication_configured": "authorization" in api.headers,
            "org_id_configured": False,
        },
        "prometheus_connectivity": state,
        "prometheus_url": str(api.base_url).rstrip("/"),
    }


@server.tool(effect="read", open_world=True)
async def execute_query(query: Query, api: Api, time: Time | None = None) -> dict[str, Any]:
    """Evaluate a query at one time, by default now. For a course over time use execute_range_query."""
    return with_link(api, await ask(api, "query", query=query, time=time), query, moment_input=time)


@server.tool(effect="read", open_world=True)
async def execute_range_query(
    query: Query,
    start: Time,
    end: Annotated[str, "The last time, in the form of start"],
    step: Annotated[str, "Time between two values, e.g. '15s', '1m', '1h'"],
    api: Api,
    context: Context,
) -> dict[str, Any]:
    """Evaluate a query at regular times between two. A long step keeps the answer short."""
    context.progress(0, 100)
    data = await ask(api, "query_range", query=query, start=start, end=end, step=step)
    context.progress(50, 100)
    answer = with_link(api, data, query, range_input=f"{start} to {end}", step_input=step)
    context.progress(100, 100)
    return answer


@server.tool(effect="read", open_world=True)
async def list_metrics(
    api: Api,
    context: Context,
    limit: Limit = None,
    offset: Offset = 0,
    filter_pattern: Word = None,
    refresh_cache: Annotated[bool, "Without effect: nothing is cached"] = False,
) -> Metrics:
    """List the names of metrics. Use it before a query, to find the right name."""
    context.progress(0, 100)
    names: list[str] = await ask(api, "label/__name__/values")
    context.progress(50, 100)
    found = [*filter(contains(filter_pattern), names)]
    context.progress(100, 100)
    return {"metrics": part(found, offset, limit), **page(len(found), offset, limit)}


@server.tool(effect="read", open_world=True)
async def get_metric_metadata(
    api: Api,
    metric: Annotated[str | None, "One metric, e.g. 'up'; all if null"] = None,
    filter_pattern: Word = None,
    limit: Limit = None,
    offset: Offset = 0,
) -> list[dict[str, str]] | Metadata:
    """Tell the type, the unit and the meaning of one metric, or of many, in pages."""
    data: dict[str, list[dict[str, str]]] = await ask(api, "metadata", metric=metric)
    if metric is not None:
        return data.get(metric, [])
    matches = contains(filter_pattern)
    found = [name for name, about in data.items() if any(map(matches, [name, *(one["help"] for one in about)]))]
    chosen = {name: data[name] for name in part(found, offset, limit)}
    return {"metadata": chosen, **page(len(found), offset, limit)}


@server.tool(effect="read", open_world=True)
async def get_targets(
    api: Api,
    state: Annotated[Literal["active", "dropped", "any"], "Targets that are scraped, or those that are not"] = "active",
    scrape_pool: Annotated[str | None, "Only those of one pool, e.g. 'node'"] = None,
    limit: Limit = None,
    offset: Offset = 0,
) -> dict[str, Any]:
    """List the targets that Prometheus scrapes, with their health. Use it to see why a metric has no values."""
    data = await ask(api, "targets", state=state, scrapePool=scrape_pool)
    active, dropped = data["activeTargets"], data["droppedTargets"]
    pages = page(len(active), offset, limit), page(len(dropped), offset, limit)
    return {
        "activeTargets": part(active, offset, limit),
        "droppedTargets": part(dropped, offset, limit),
        "total_active": len(active),
        "total_dropped": len(dropped),
        "returned_active": pages[0]["returned_count"],
        "returned_dropped": pages[1]["returned_count"],
        "offset": offset,
        "has_more": pages[0]["has_more"] or pages[1]["has_more"],
        "state": state,
    }


if __name__ == "__main__":
    server.run()
