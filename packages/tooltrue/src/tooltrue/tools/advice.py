"""Hints for authors who use the name that another MCP library has for a feature: its name here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from tooltrue.tools.wording import HINT_EQUIVALENT_HERE
from tooltrue.wording import sentence

__all__ = ["CONTEXT", "CONTEXT_NAMES", "HOOKS", "MOUNT", "RESULT", "RUN", "SERVER", "SETTINGS", "TOOL", "missing"]

_LIFESPAN: Final = "a parameter db: Annotated[Pool, Lifespan], for the value that lifespan= has yielded"
_HEADER: Final = "a parameter tenant: Annotated[str | None, Header('x-tenant')]"
_STATE: Final = "a store of yours by context.principal.id; within one call, a parameter Annotated[T, Depends(make)]"
_OWN: Final = "a call of the function itself"
_ANNOUNCED: Final = "nothing: a changed list is announced by itself"
CONTEXT: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{level: f'context.log("{level}", …), without await' for level in ("debug", "info", "warning", "error")},
        "report_progress": "context.progress(done, total, message), without await",
        "elicit": "context.ask(Form(…))",
        "elicit_url": "context.ask(Link(message, url))",
        **dict.fromkeys(("input_responses", "request_state"), "context.ask(…), which returns the answer"),
        **dict.fromkeys(("sample", "sample_step"), "context.ask(Sampling(…))"),
        "list_roots": "context.ask(Roots())",
        "request_context": f"the context itself: its principal, meta and capabilities; or, for a lifespan, {_LIFESPAN}",
        "client_id": "context.principal.id",
        **dict.fromkeys(("session", "session_id"), "context.principal for the caller; calls have no session in common"),
        "request_id": "a value of yours, such as uuid4(): the context has no id of the request",
        "lifespan_context": _LIFESPAN,
        **dict.fromkeys(("headers", "request", "get_http_headers"), _HEADER),
        **dict.fromkeys(("get_state", "set_state", "delete_state"), _STATE),
        **dict.fromkeys(("read_resource", "get_prompt"), _OWN),
        **dict.fromkeys(("send_notification", "notify_tools_changed", "notify_resources_changed"), _ANNOUNCED),
        "notify_prompts_changed": _ANNOUNCED,
        "notify_resource_updated": "server.resource_updated(uri)",
        **dict.fromkeys(
            ("enable_components", "disable_components", "reset_visibility"),
            "visible=, which is asked for each caller; or server.disable(…), for all of them",
        ),
        **dict.fromkeys(("fastmcp", "mcp_server"), "the server itself, a variable of its module"),
        "access_token": "context.principal: its id and scopes",
        "close_sse_stream": "context.detach()",
    }
)
CONTEXT_NAMES: Final = ("ctx", "context")
"""Usual names of a parameter that gets the context, in any library."""
_PROVIDER: Final = "server.provider; views take the server itself, as in prefixed(server, 'name')"
SERVER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "custom_route": 'server.route("/path", methods=["GET"])',
        "add_middleware": "Server(layers=[…]); for ASGI middleware, Server(middleware=[…])",
        "add_provider": "Server(toolsets=[…])",
        "add_template": "server.add_resource(template, function)",
        "completion": "a parameter city: Annotated[str, Completes(function)]",
        **dict.fromkeys(("run_async", "run_stdio_async"), "await server.serve_stdio(); or server.run()"),
        **dict.fromkeys(
            ("run_http_async", "run_streamable_http_async", "run_sse_async"),
            'server.run("http"); or server.http_app() in an ASGI server',
        ),
        "session_manager": "server.http_app().lifespan",
        "import_server": "server.mount(other, prefix='name')",
        "add_transform": "toolsets=[transformed(other, …)]",
        "add_tool_transformation": "toolsets=[transformed(other, …)]",
        "lifespan": "a setting, Server(…, lifespan=lifespan)",
        "streamable_http_app": "server.http_app()",
        "sse_app": "server.http_app(sse=True)",
        **dict.fromkeys(("transport", "host", "port"), 'server.run("http", host=…, port=…)'),
        **dict.fromkeys(("list_tools", "find_tool", "known_tool", "call_tool", "watch"), _PROVIDER),
        **dict.fromkeys(
            ("get_tools", "get_tool", "list_resources", "read_resource", "list_prompts", "get_prompt", "render_prompt"),
            "a client in memory, async with Client(server) as client",
        ),
    }
)

_SIGN_IN: Final = "authenticate=OAuth(…), or OAuth.preset(…)"
_DEFAULT: Final = "the default"
_REFUSED: Final = "always an error"
SETTINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **SERVER,
        **dict.fromkeys(("auth", "token_verifier", "auth_server_provider"), _SIGN_IN),
        "mask_error_details": f"{_DEFAULT}: only the text of a ToolError reaches the model",
        **dict.fromkeys(("strict_input_validation", "stateless_http", "json_response"), _DEFAULT),
        **dict.fromkeys(("on_duplicate", "on_duplicate_tools", "warn_on_duplicate_tools"), _REFUSED),
        "tools": "server.add_tool(function)",
        "providers": "toolsets=[…]",
        "transforms": "toolsets=[transformed(other, …)]",
        "include_tags": "toolsets=[filtered(other, tags={…})], or server.disable(tags={…})",
        "exclude_tags": "toolsets=[filtered(other, without_tags={…})], or server.disable(tags={…})",
        "list_page_size": "page_size=",
        **dict.fromkeys(("log_level", "debug"), "the levels of Python's own logging"),
    }
)
"""Settings of another library's server."""

TOOL: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            ("annotations", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint", "read_only_hint"),
            'effect="read", "write", "destructive" or "open-world", which clients get as annotations',
        ),
        "timeout": "seconds=",
        "run_in_thread": "blocking=False, for a quick function that runs on the event loop",
        "output_schema": "the return type of the function; or server.add_raw_tool(…, output_schema=…)",
        "structured_output": "the return type of the function: str is text, and other types are structured",
        "serializer": "a function that returns str",
        "exclude_args": "a parameter x: Annotated[T, Depends(make)], which no client can see or set",
        "auth": 'requires=["scope"], or visible= for who sees the tool',
        "enabled": "server.disable('name'), at any time",
        "version": "replaces= for an old name, deprecated= for the end of a tool",
    }
)
"""Settings of another library's tool."""

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

MOUNT: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("namespace", "name"), 'prefix="…"'),
        "server": "the first argument, server.mount(other, prefix='name')",
        "tool_names": "server.mount(renamed(other, {'old': 'new'}))",
        **dict.fromkeys(
            ("as_proxy", "tool_separator", "resource_separator", "prompt_separator"), "no setting of its own"
        ),
    }
)
"""Arguments of another library's ``mount``."""


_AROUND: Final = "around(self, operation, proceed)"
HOOKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("on_message", "on_request", "on_notification"), _AROUND),
        "on_call_tool": "call_tool(self, call)",
        "on_read_resource": "read_resource(self, read)",
        "on_get_prompt": "get_prompt(self, get)",
        "on_list_tools": "list_tools(self, context)",
        "on_list_resources": "list_resources(self, context)",
        "on_list_resource_templates": "list_templates(self, context)",
        "on_list_prompts": "list_prompts(self, context)",
        **dict.fromkeys(("on_initialize", "on_discover"), "Server(authenticate=…)"),
    }
)
"""Methods of another library's middleware. A layer that has one would silently do nothing."""


RESULT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "data": "result.value, or result.structured",
        **dict.fromkeys(("structured_content", "structuredContent"), "result.structured"),
        "isError": "result.is_error",
        "meta": 'result.raw.get("_meta")',
    }
)
"""Attributes of a result in another library's client."""


def missing(owner: Any, name: str, here: Mapping[str, str]) -> AttributeError:
    """Return the ``AttributeError`` for a missing attribute, with its name here, if that is known."""
    message = f"{type(owner).__name__.removeprefix('Author')!r} object has no attribute {name!r}"
    if name in here:
        message = f"{message}. {sentence(HINT_EQUIVALENT_HERE, 'en', {'here': here[name]})} [TT3044]"
    return AttributeError(message, name=name, obj=owner)
