"""The author's server as an ASGI application, for other people's HTTP servers."""

import asyncio

from journeys.server import server
from tooltrue import Context
from tooltrue.state.facts import MemoryFacts

# Of several workers, each has to open the sessions of the others.
server.share(keys=[bytes(32)], facts=MemoryFacts())


@server.tool
async def tell_and_wait(context: Context) -> str:
    """Tell of progress, and then wait for ever."""
    context.progress(1, 2)
    await asyncio.Event().wait()
    return ""


app = server.http_app()
