"""tooltrue: the tool layer of the Model Context Protocol.

The names below are loaded on first use, so that a client never pays for server-only dependencies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tooltrue._internal.computed_imports import load
from tooltrue.version import __version__

if TYPE_CHECKING:
    from tooltrue.app import Server as Server
    from tooltrue.client.client import Client as Client
    from tooltrue.client.config import ServerConfig as ServerConfig
    from tooltrue.client.oauth import ClientCredentials as ClientCredentials
    from tooltrue.client.oauth import EnterpriseSignIn as EnterpriseSignIn
    from tooltrue.client.oauth import SignIn as SignIn
    from tooltrue.client.oauth import WorkloadIdentity as WorkloadIdentity
    from tooltrue.client.question_limits import QuestionLimits as QuestionLimits
    from tooltrue.client.task_status import TaskStatus as TaskStatus
    from tooltrue.client.tasks import TaskHandle as TaskHandle
    from tooltrue.errors import AuthorizationFailed as AuthorizationFailed
    from tooltrue.errors import ConfigurationError as ConfigurationError
    from tooltrue.errors import DefinitionError as DefinitionError
    from tooltrue.errors import ModelError as ModelError
    from tooltrue.errors import ModelRateLimited as ModelRateLimited
    from tooltrue.errors import ModelUnavailable as ModelUnavailable
    from tooltrue.errors import RpcError as RpcError
    from tooltrue.errors import TaskCancelled as TaskCancelled
    from tooltrue.errors import ToolError as ToolError
    from tooltrue.errors import TooltrueError as TooltrueError
    from tooltrue.errors import TransportError as TransportError
    from tooltrue.errors import UnknownEntry as UnknownEntry
    from tooltrue.errors import UnknownTool as UnknownTool
    from tooltrue.host.calls import Hooks as Hooks
    from tooltrue.host.host import Announcement as Announcement
    from tooltrue.host.host import Host as Host
    from tooltrue.host.launches import Launches as Launches
    from tooltrue.host.launches import LaunchRequest as LaunchRequest
    from tooltrue.host.models.endpoints import model_of as model_of
    from tooltrue.host.pins import Pins as Pins
    from tooltrue.host.run import Conversation as Conversation
    from tooltrue.host.run import RunLimits as RunLimits
    from tooltrue.host.run import run as run
    from tooltrue.host.servers import Patience as Patience
    from tooltrue.policy.audit.audit_settings import Audit as Audit
    from tooltrue.policy.guard import Guard as Guard
    from tooltrue.policy.guard import Limits as Limits
    from tooltrue.policy.layers.abuse import Abuse as Abuse
    from tooltrue.policy.layers.concurrency import Concurrency as Concurrency
    from tooltrue.policy.layers.confirm import Confirm as Confirm
    from tooltrue.policy.layers.rate import RateLimits as RateLimits
    from tooltrue.policy.placing import Placed as Placed
    from tooltrue.policy.placing import placed as placed
    from tooltrue.policy.plan import Step as Step
    from tooltrue.policy.plan import StepLayer as StepLayer
    from tooltrue.policy.rules.rule import Allow as Allow
    from tooltrue.policy.rules.rule import Ask as Ask
    from tooltrue.policy.rules.rule import Deny as Deny
    from tooltrue.protocol.types import Annotations as Annotations
    from tooltrue.protocol.types import AudioContent as AudioContent
    from tooltrue.protocol.types import BlobResource as BlobResource
    from tooltrue.protocol.types import CallToolResult as CallToolResult
    from tooltrue.protocol.types import Completion as Completion
    from tooltrue.protocol.types import EmbeddedResource as EmbeddedResource
    from tooltrue.protocol.types import ImageContent as ImageContent
    from tooltrue.protocol.types import InputRequiredResult as InputRequiredResult
    from tooltrue.protocol.types import PromptMessage as PromptMessage
    from tooltrue.protocol.types import PromptResult as PromptResult
    from tooltrue.protocol.types import ReadResourceResult as ReadResourceResult
    from tooltrue.protocol.types import ResourceLink as ResourceLink
    from tooltrue.protocol.types import TextContent as TextContent
    from tooltrue.protocol.types import TextResource as TextResource
    from tooltrue.protocol.types import ToolDefinition as ToolDefinition
    from tooltrue.protocol.types import ToolOutcome as ToolOutcome
    from tooltrue.server.keys import ApiKeys as ApiKeys
    from tooltrue.server.oauth import AuthorizationServer as AuthorizationServer
    from tooltrue.server.oauth import Introspection as Introspection
    from tooltrue.server.oauth import OAuth as OAuth
    from tooltrue.server.proxies import Public as Public
    from tooltrue.server.proxies import TrustedProxy as TrustedProxy
    from tooltrue.server.route_requests import RouteRequest as RouteRequest
    from tooltrue.server.route_requests import RouteResponse as RouteResponse
    from tooltrue.server.routes import Route as Route
    from tooltrue.tasks.service import Tasks as Tasks
    from tooltrue.tools.binding import Completes as Completes
    from tooltrue.tools.binding import Depends as Depends
    from tooltrue.tools.binding import Header as Header
    from tooltrue.tools.binding import Lifespan as Lifespan
    from tooltrue.tools.binding.forms import Form as Form
    from tooltrue.tools.bounds import Rate as Rate
    from tooltrue.tools.client_questions import Answer as Answer
    from tooltrue.tools.client_questions import Link as Link
    from tooltrue.tools.client_questions import Roots as Roots  # pyright: ignore[reportDeprecated] - offered all the same
    from tooltrue.tools.client_questions import Sampling as Sampling  # pyright: ignore[reportDeprecated] - offered all the same
    from tooltrue.tools.library import LocalLibrary as LocalLibrary
    from tooltrue.tools.local import LocalToolset as LocalToolset
    from tooltrue.tools.media import Audio as Audio
    from tooltrue.tools.media import File as File
    from tooltrue.tools.media import Image as Image
    from tooltrue.tools.search.searchable import ToolSearch as ToolSearch
    from tooltrue.tools.tables import Table as Table
    from tooltrue.tools.toolset import Layer as Layer
    from tooltrue.tools.toolset import Provider as Provider
    from tooltrue.tools.toolset import Toolset as Toolset
    from tooltrue.tools.toolset import guarded as guarded
    from tooltrue.tools.transforms import Argument as Argument
    from tooltrue.tools.transforms import Transform as Transform
    from tooltrue.tools.transforms import transformed as transformed
    from tooltrue.tools.views import combined as combined
    from tooltrue.tools.views import filtered as filtered
    from tooltrue.tools.views import prefixed as prefixed
    from tooltrue.tools.views import renamed as renamed
    from tooltrue.tools.vocabulary import CompletionGet as CompletionGet
    from tooltrue.tools.vocabulary import Context as Context
    from tooltrue.tools.vocabulary import Operation as Operation
    from tooltrue.tools.vocabulary import Principal as Principal
    from tooltrue.tools.vocabulary import PromptGet as PromptGet
    from tooltrue.tools.vocabulary import ResourceRead as ResourceRead
    from tooltrue.tools.vocabulary import Tool as Tool
    from tooltrue.tools.vocabulary import ToolCall as ToolCall
    from tooltrue.transport.client_link import ClientLink as ClientLink
    from tooltrue.transport.client_link import LinkReceiver as LinkReceiver

_EXPORTS = {
    "Abuse": "tooltrue.policy.layers.abuse",
    "Allow": "tooltrue.policy.rules.rule",
    "Annotations": "tooltrue.protocol.types",
    "Announcement": "tooltrue.host.host",
    "Answer": "tooltrue.tools.client_questions",
    "ApiKeys": "tooltrue.server.keys",
    "Argument": "tooltrue.tools.transforms",
    "Ask": "tooltrue.policy.rules.rule",
    "Audio": "tooltrue.tools.media",
    "AudioContent": "tooltrue.protocol.types",
    "Audit": "tooltrue.policy.audit.audit_settings",
    "AuthorizationFailed": "tooltrue.errors",
    "AuthorizationServer": "tooltrue.server.oauth",
    "BlobResource": "tooltrue.protocol.types",
    "CallToolResult": "tooltrue.protocol.types",
    "Client": "tooltrue.client.client",
    "ClientCredentials": "tooltrue.client.oauth",
    "ClientLink": "tooltrue.transport.client_link",
    "Completes": "tooltrue.tools.binding",
    "Completion": "tooltrue.protocol.types",
    "CompletionGet": "tooltrue.tools.vocabulary",
    "Concurrency": "tooltrue.policy.layers.concurrency",
    "ConfigurationError": "tooltrue.errors",
    "Confirm": "tooltrue.policy.layers.confirm",
    "Context": "tooltrue.tools.vocabulary",
    "Conversation": "tooltrue.host.run",
    "DefinitionError": "tooltrue.errors",
    "Deny": "tooltrue.policy.rules.rule",
    "Depends": "tooltrue.tools.binding",
    "EmbeddedResource": "tooltrue.protocol.types",
    "EnterpriseSignIn": "tooltrue.client.oauth",
    "File": "tooltrue.tools.media",
    "Form": "tooltrue.tools.binding.forms",
    "Guard": "tooltrue.policy.guard",
    "Header": "tooltrue.tools.binding",
    "Hooks": "tooltrue.host.calls",
    "Host": "tooltrue.host.host",
    "Image": "tooltrue.tools.media",
    "ImageContent": "tooltrue.protocol.types",
    "InputRequiredResult": "tooltrue.protocol.types",
    "Introspection": "tooltrue.server.oauth",
    "LaunchRequest": "tooltrue.host.launches",
    "Launches": "tooltrue.host.launches",
    "Layer": "tooltrue.tools.toolset",
    "Lifespan": "tooltrue.tools.binding",
    "Limits": "tooltrue.policy.guard",
    "Link": "tooltrue.tools.client_questions",
    "LinkReceiver": "tooltrue.transport.client_link",
    "LocalLibrary": "tooltrue.tools.library",
    "LocalToolset": "tooltrue.tools.local",
    "ModelError": "tooltrue.errors",
    "ModelRateLimited": "tooltrue.errors",
    "ModelUnavailable": "tooltrue.errors",
    "OAuth": "tooltrue.server.oauth",
    "Operation": "tooltrue.tools.vocabulary",
    "Patience": "tooltrue.host.servers",
    "Pins": "tooltrue.host.pins",
    "Placed": "tooltrue.policy.placing",
    "Principal": "tooltrue.tools.vocabulary",
    "PromptGet": "tooltrue.tools.vocabulary",
    "PromptMessage": "tooltrue.protocol.types",
    "PromptResult": "tooltrue.protocol.types",
    "Provider": "tooltrue.tools.toolset",
    "Public": "tooltrue.server.proxies",
    "QuestionLimits": "tooltrue.client.question_limits",
    "Rate": "tooltrue.tools.bounds",
    "RateLimits": "tooltrue.policy.layers.rate",
    "ReadResourceResult": "tooltrue.protocol.types",
    "ResourceLink": "tooltrue.protocol.types",
    "ResourceRead": "tooltrue.tools.vocabulary",
    "Roots": "tooltrue.tools.client_questions",
    "Route": "tooltrue.server.routes",
    "RouteRequest": "tooltrue.server.route_requests",
    "RouteResponse": "tooltrue.server.route_requests",
    "RpcError": "tooltrue.errors",
    "RunLimits": "tooltrue.host.run",
    "Sampling": "tooltrue.tools.client_questions",
    "Server": "tooltrue.app",
    "ServerConfig": "tooltrue.client.config",
    "SignIn": "tooltrue.client.oauth",
    "Step": "tooltrue.policy.plan",
    "StepLayer": "tooltrue.policy.plan",
    "Table": "tooltrue.tools.tables",
    "TaskCancelled": "tooltrue.errors",
    "TaskHandle": "tooltrue.client.tasks",
    "TaskStatus": "tooltrue.client.task_status",
    "Tasks": "tooltrue.tasks.service",
    "TextContent": "tooltrue.protocol.types",
    "TextResource": "tooltrue.protocol.types",
    "Tool": "tooltrue.tools.vocabulary",
    "ToolCall": "tooltrue.tools.vocabulary",
    "ToolDefinition": "tooltrue.protocol.types",
    "ToolError": "tooltrue.errors",
    "ToolOutcome": "tooltrue.protocol.types",
    "ToolSearch": "tooltrue.tools.search.searchable",
    "Toolset": "tooltrue.tools.toolset",
    "TooltrueError": "tooltrue.errors",
    "Transform": "tooltrue.tools.transforms",
    "TransportError": "tooltrue.errors",
    "TrustedProxy": "tooltrue.server.proxies",
    "UnknownEntry": "tooltrue.errors",
    "UnknownTool": "tooltrue.errors",
    "WorkloadIdentity": "tooltrue.client.oauth",
    "combined": "tooltrue.tools.views",
    "filtered": "tooltrue.tools.views",
    "guarded": "tooltrue.tools.toolset",
    "model_of": "tooltrue.host.models.endpoints",
    "placed": "tooltrue.policy.placing",
    "prefixed": "tooltrue.tools.views",
    "renamed": "tooltrue.tools.views",
    "run": "tooltrue.host.run",
    "transformed": "tooltrue.tools.transforms",
}

_DEPRECATED: dict[str, tuple[str, str]] = {}
"""Name → the release that deprecated it, and the name to use instead."""

__all__ = ["__version__", *_EXPORTS]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'tooltrue' has no attribute {name!r}")
    value = load(f"{_EXPORTS[name]}:{name}")
    if name in _DEPRECATED:
        from tooltrue._internal.deprecated_names import warn_of  # noqa: PLC0415 - only a deprecated name needs it

        warn_of(name, *_DEPRECATED[name])
        return value  # not stored: each use warns
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
