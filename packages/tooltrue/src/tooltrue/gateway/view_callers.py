"""The callers of a view over HTTP: those of the gateway that have the names and scopes of the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from tooltrue.errors import ScopeNeeded
from tooltrue.gateway.views import ViewSettings
from tooltrue.gateway.wording import VIEW_FOR_OTHER_CALLERS
from tooltrue.policy.rules.rule import LocalScopes, can_obtain, lacking
from tooltrue.protocol.types import replaced
from tooltrue.server.auth_settings import AuthSettings
from tooltrue.server.identity import Authentication, Refused, principal_of, security_of
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier

__all__ = ["ViewCallers", "auth_of_view", "is_for"]


class ViewCallers(Authentication):
    """The callers that ``methods`` authenticate, if the view is for them; others get 403."""

    def __init__(
        self, view: ViewSettings, methods: Sequence[Authentication], local_scopes: Callable[[], LocalScopes]
    ) -> None:
        self._view = view
        self._methods = methods
        self._local_scopes = local_scopes
        self.shown = f"{', '.join(method.shown for method in methods)}; those of the view {view.name}"
        self.scope_prefix = next((method.scope_prefix for method in methods if method.scope_prefix), "")
        self.parameters = {name: value for method in methods for name, value in method.parameters.items()}
        self.headers = [name for method in methods for name in method.headers]
        self.security = security_of(methods)
        self.pages = {path: page for method in methods for path, page in method.pages.items()}

    async def principal(self, carrier: Carrier) -> Principal | None:
        principal, view = await principal_of(carrier, self._methods), self._view
        if view.principals is not None and not view.principals.match(principal.id):
            raise self._refused()
        if lacking(view.scopes, principal, self._local_scopes()):
            raise ScopeNeeded.needing(view.scopes) if can_obtain(principal) else self._refused()
        return principal

    def _refused(self) -> Refused:
        refused = Refused.of(VIEW_FOR_OTHER_CALLERS, view=self._view.name)
        refused.status = 403
        return refused


def is_for(view: ViewSettings, principal: Principal, local_scopes: LocalScopes) -> bool:
    """Return whether a view is for this caller, who has the name and the scopes that it asks for."""
    is_named = view.principals is None or bool(view.principals.match(principal.id))
    return is_named and not lacking(view.scopes, principal, local_scopes)


def auth_of_view(settings: AuthSettings, view: ViewSettings) -> AuthSettings:
    """The settings of the gateway with the resource of the view, its audience: the URL of the gateway's endpoint with
    the path of the view, whose scopes are published as those of the resource."""
    if "oauth" not in settings.table:
        return settings
    oauth: Mapping[str, Any] = settings.table["oauth"]
    resource: str = oauth["resource"]
    parts = urlsplit(resource)
    path = parts.path.rstrip("/").removesuffix("/mcp") + view.path
    scopes = sorted({*oauth.get("scopes", ()), *view.scopes})
    changes = {"resource": urlunsplit(parts._replace(path=path)), **({"scopes": scopes} if scopes else {})}
    return replaced(settings, table={**settings.table, "oauth": {**oauth, **changes}})
