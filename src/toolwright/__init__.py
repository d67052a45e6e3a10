"""toolwright: the tool layer of the Model Context Protocol.

The names below are loaded on first use, so that a client never pays for server-only dependencies.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from toolwright.version import __version__

if TYPE_CHECKING:
    from toolwright.app import Server as Server
    from toolwright.client.client import Client as Client
    from toolwright.client.config import ServerConfig as ServerConfig
    from toolwright.client.oauth import ClientCredentials as ClientCredentials
    from toolwright.client.oauth import EnterpriseSignIn as EnterpriseSignIn
    from toolwright.client.oauth import SignIn as SignIn
    from toolwright.client.oauth import WorkloadIdentity as WorkloadIdentity
    from toolwright.client.questions import QuestionLimits as QuestionLimits
    from toolwright.errors import AuthorizationFailed as AuthorizationFailed
    from toolwright.errors import ConfigurationError as ConfigurationError
    from toolwright.errors import DefinitionError as DefinitionError
    from toolwright.errors import ModelAway as ModelAway
    from toolwright.errors import ModelBusy as ModelBusy
    from toolwright.errors import ModelError as ModelError
    from toolwright.errors import RpcError as RpcError
    from toolwright.errors import ToolError as ToolError
    from toolwright.errors import ToolwrightError as ToolwrightError
    from toolwright.errors import TransportError as TransportError
    from toolwright.errors import UnknownTool as UnknownTool
    from toolwright.host.calls import Hooks as Hooks
    from toolwright.host.host import Announcement as Announcement
    from toolwright.host.host import Host as Host
    from toolwright.host.launches import Launches as Launches
    from toolwright.host.launches import LaunchRequest as LaunchRequest
    from toolwright.host.models.endpoints import model_of as model_of
    from toolwright.host.pins import Pins as Pins
    from toolwright.host.run import Conversation as Conversation
    from toolwright.host.run import RunLimits as RunLimits
    from toolwright.host.run import run as run
    from toolwright.host.servers import Patience as Patience
    from toolwright.policy.abuse import Abuse as Abuse
    from toolwright.policy.audit_settings import Audit as Audit
    from toolwright.policy.concurrency import Concurrency as Concurrency
    from toolwright.policy.confirm import Confirm as Confirm
    from toolwright.policy.pipeline import Guard as Guard
    from toolwright.policy.pipeline import Limits as Limits
    from toolwright.policy.rate import RateLimits as RateLimits
    from toolwright.policy.rules import Allow as Allow
    from toolwright.policy.rules import Ask as Ask
    from toolwright.policy.rules import Deny as Deny
    from toolwright.protocol.types import Annotations as Annotations
    from toolwright.protocol.types import AudioContent as AudioContent
    from toolwright.protocol.types import BlobResource as BlobResource
    from toolwright.protocol.types import CallToolResult as CallToolResult
    from toolwright.protocol.types import EmbeddedResource as EmbeddedResource
    from toolwright.protocol.types import ImageContent as ImageContent
    from toolwright.protocol.types import PromptMessage as PromptMessage
    from toolwright.protocol.types import PromptResult as PromptResult
    from toolwright.protocol.types import ResourceLink as ResourceLink
    from toolwright.protocol.types import TextContent as TextContent
    from toolwright.protocol.types import TextResource as TextResource
    from toolwright.server.keys import ApiKeys as ApiKeys
    from toolwright.server.oauth import AuthorizationServer as AuthorizationServer
    from toolwright.server.oauth import Introspection as Introspection
    from toolwright.server.oauth import OAuth as OAuth
    from toolwright.server.proxies import Public as Public
    from toolwright.server.proxies import TrustedProxy as TrustedProxy
    from toolwright.tools.binding import Completes as Completes
    from toolwright.tools.binding import Depends as Depends
    from toolwright.tools.binding.forms import Form as Form
    from toolwright.tools.bounds import Rate as Rate
    from toolwright.tools.library import LocalLibrary as LocalLibrary
    from toolwright.tools.local import LocalToolset as LocalToolset
    from toolwright.tools.rounds import Answer as Answer
    from toolwright.tools.rounds import Link as Link
    from toolwright.tools.rounds import Roots as Roots  # pyright: ignore[reportDeprecated] - offered all the same
    from toolwright.tools.rounds import Sampling as Sampling  # pyright: ignore[reportDeprecated] - offered all the same
    from toolwright.tools.toolset import Context as Context
    from toolwright.tools.toolset import Principal as Principal
    from toolwright.tools.views import combined as combined
    from toolwright.tools.views import filtered as filtered
    from toolwright.tools.views import prefixed as prefixed
    from toolwright.tools.views import renamed as renamed

_EXPORTS = {
    "Abuse": "toolwright.policy.abuse",
    "Allow": "toolwright.policy.rules",
    "Annotations": "toolwright.protocol.types",
    "Announcement": "toolwright.host.host",
    "Answer": "toolwright.tools.rounds",
    "ApiKeys": "toolwright.server.keys",
    "Ask": "toolwright.policy.rules",
    "AudioContent": "toolwright.protocol.types",
    "Audit": "toolwright.policy.audit_settings",
    "AuthorizationFailed": "toolwright.errors",
    "AuthorizationServer": "toolwright.server.oauth",
    "BlobResource": "toolwright.protocol.types",
    "CallToolResult": "toolwright.protocol.types",
    "Client": "toolwright.client.client",
    "ClientCredentials": "toolwright.client.oauth",
    "Completes": "toolwright.tools.binding",
    "Concurrency": "toolwright.policy.concurrency",
    "ConfigurationError": "toolwright.errors",
    "Confirm": "toolwright.policy.confirm",
    "Context": "toolwright.tools.toolset",
    "Conversation": "toolwright.host.run",
    "DefinitionError": "toolwright.errors",
    "Deny": "toolwright.policy.rules",
    "Depends": "toolwright.tools.binding",
    "EmbeddedResource": "toolwright.protocol.types",
    "EnterpriseSignIn": "toolwright.client.oauth",
    "Form": "toolwright.tools.binding.forms",
    "Guard": "toolwright.policy.pipeline",
    "Hooks": "toolwright.host.calls",
    "Host": "toolwright.host.host",
    "ImageContent": "toolwright.protocol.types",
    "Introspection": "toolwright.server.oauth",
    "LaunchRequest": "toolwright.host.launches",
    "Launches": "toolwright.host.launches",
    "Limits": "toolwright.policy.pipeline",
    "Link": "toolwright.tools.rounds",
    "LocalLibrary": "toolwright.tools.library",
    "LocalToolset": "toolwright.tools.local",
    "ModelAway": "toolwright.errors",
    "ModelBusy": "toolwright.errors",
    "ModelError": "toolwright.errors",
    "OAuth": "toolwright.server.oauth",
    "Patience": "toolwright.host.servers",
    "Pins": "toolwright.host.pins",
    "Principal": "toolwright.tools.toolset",
    "PromptMessage": "toolwright.protocol.types",
    "PromptResult": "toolwright.protocol.types",
    "Public": "toolwright.server.proxies",
    "QuestionLimits": "toolwright.client.questions",
    "Rate": "toolwright.tools.bounds",
    "RateLimits": "toolwright.policy.rate",
    "ResourceLink": "toolwright.protocol.types",
    "Roots": "toolwright.tools.rounds",
    "RpcError": "toolwright.errors",
    "RunLimits": "toolwright.host.run",
    "Sampling": "toolwright.tools.rounds",
    "Server": "toolwright.app",
    "ServerConfig": "toolwright.client.config",
    "SignIn": "toolwright.client.oauth",
    "TextContent": "toolwright.protocol.types",
    "TextResource": "toolwright.protocol.types",
    "ToolError": "toolwright.errors",
    "ToolwrightError": "toolwright.errors",
    "TransportError": "toolwright.errors",
    "TrustedProxy": "toolwright.server.proxies",
    "UnknownTool": "toolwright.errors",
    "WorkloadIdentity": "toolwright.client.oauth",
    "combined": "toolwright.tools.views",
    "filtered": "toolwright.tools.views",
    "model_of": "toolwright.host.models.endpoints",
    "prefixed": "toolwright.tools.views",
    "renamed": "toolwright.tools.views",
    "run": "toolwright.host.run",
}

__all__ = ["__version__", *_EXPORTS]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'toolwright' has no attribute {name!r}")
    value = getattr(importlib.import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
