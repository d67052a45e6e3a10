"""A server whose tools run as tasks, in a database beside this file."""

from pathlib import Path

from typing_extensions import TypedDict

from tooltrue import Context, Form, Server, Tasks

server = Server("office", tasks=Tasks(store=f"sqlite:///{Path(__file__).with_name('tasks.db')}"))


class Choice(TypedDict):
    publish: bool


@server.tool(effect="read", task=True)
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(effect="read", task="required")
async def archive() -> str:
    """Archive everything."""
    return "archived"


@server.tool(effect="read")
async def now() -> str:
    """Never become a task."""
    return "now"


@server.tool(effect="read", task=True)
async def publish(context: Context) -> str:
    """Ask whether to publish."""
    answer = context.ask(Form("Publish it?", Choice))
    return "published" if answer.value and answer.value["publish"] else "kept"
