"""The author's server as an ASGI application, for other people's HTTP servers."""

import asyncio

from journeys.server import server
from toolwright import Context


@server.tool
async def tell_and_wait(context: Context) -> str:
    """Tell of progress, and then wait for ever."""
    context.progress(1, 2)
    await asyncio.Event().wait()
    return ""


app = server.http_app()
