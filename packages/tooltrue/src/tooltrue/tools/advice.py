"""Hints for authors who use the name that another MCP library has for a feature: its name here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tooltrue.tools.wording import HINT_EQUIVALENT_HERE
from tooltrue.wording import sentence

__all__ = ["CONTEXT", "RUN", "SERVER", "missing"]

_LIFESPAN: Final = "a parameter db: Annotated[Pool, Lifespan], for the value that lifespan= has yielded"
_HEADER: Final = "a parameter tenant: Annotated[str | None, Header('x-tenant')]"
CONTEXT: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{level: f'context.log("{level}", …)' for level in ("debug", "info", "warning", "error")},
        "report_progress": "context.progress(done, total, message)",
        "elicit": "context.ask(Form(…))",
        "sample": "context.ask(Sampling(…))",
        "list_roots": "context.ask(Roots())",
        "request_context": f"the context itself: its principal, meta and capabilities; or, for a lifespan, {_LIFESPAN}",
        "client_id": "context.principal.id",
        "lifespan_context": _LIFESPAN,
        **dict.fromkeys(("headers", "request", "get_http_headers"), _HEADER),
    }
)
_PROVIDER: Final = "server.provider; views take the server itself, as in prefixed(server, 'name')"
SERVER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "custom_route": 'server.route("/path", methods=["GET"])',
        "add_middleware": "Server(middleware=[…]) for HTTP, or decide= for who may call",
        "import_server": "server.mount(other, prefix='name')",
        "add_transform": "toolsets=[transformed(other, …)]",
        "add_tool_transformation": "toolsets=[transformed(other, …)]",
        "lifespan": "a setting, Server(…, lifespan=lifespan)",
        "streamable_http_app": "server.http_app()",
        "sse_app": "server.http_app(sse=True)",
        **dict.fromkeys(("transport", "host", "port"), 'server.run("http", host=…, port=…)'),
        **dict.fromkeys(("list_tools", "find_tool", "known_tool", "call_tool", "watch"), _PROVIDER),
    }
)

RUN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "workers": "`tooltrue serve FILE.py --http HOST:PORT --workers N`",
        **dict.fromkeys(("path", "mount_path"), "/mcp; for another path, mount server.http_app()"),
        "middleware": "Server(middleware=[…])",
        "log_level": "the levels of Python's own logging",
        **dict.fromkeys(("stateless_http", "json_response"), "the default"),
    }
)
"""Arguments of another library's ``run``."""


def missing(owner: Any, name: str, here: Mapping[str, str]) -> AttributeError:
    """Return the ``AttributeError`` for a missing attribute, with its name here, if that is known."""
    message = f"{type(owner).__name__!r} object has no attribute {name!r}"
    if name in here:
        message = f"{message}. {sentence(HINT_EQUIVALENT_HERE, 'en', {'here': here[name]})} [TT3044]"
    return AttributeError(message, name=name, obj=owner)
