"""A server with a task that ends in the second process that runs it."""

SLOW_TASK = """
import asyncio, os, pathlib, sys

from tooltrue import Server, Tasks

folder = pathlib.Path(__file__).parent
server = Server("slow", tasks=Tasks(store=f"sqlite:///{folder}/tasks.db", poll_seconds=0.05), audit=False)


@server.tool(effect="read", task=True)
async def slow() -> str:
    '''Wait until the second process.'''
    with (folder / "begun").open("a") as begun:
        begun.write(f"{os.getpid()}\\n")
    print("the tool has begun", file=sys.stderr, flush=True)
    if len((folder / "begun").read_text().splitlines()) < 2:
        await asyncio.Event().wait()
    return "done"


@server.tool(effect="read")
def end() -> str:
    '''End the process.'''
    os._exit(1)


if __name__ == "__main__":
    server.run()
"""
