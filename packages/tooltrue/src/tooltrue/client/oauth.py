"""The values for ``auth`` of a ``Client``: identities, and how they are proved to servers.

One object serves any number of servers. Credentials for one are sent to no other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tooltrue.client.auth.authorization import Authorization, tokens_key
from tooltrue.client.auth.credentials import Credentials, InMemory
from tooltrue.client.auth.grant_flows import (
    Assertion,
    ByBrowser,
    ByExchange,
    ByItself,
    ByVoucher,
    GrantFlow,
    IdentityKind,
    OpenBrowser,
)
from tooltrue.client.auth.metadata import IssuerMetadata, is_loopback_url
from tooltrue.client.auth.registration import ClientIdentity, Registry, registration
from tooltrue.client.auth.token_endpoint import TokenEndpoint
from tooltrue.client.auth.tokens import Registered
from tooltrue.client.auth.user_store import user_store
from tooltrue.client.wording import (
    LABEL_HTTPS_URL_WITH_PATH,
    LABEL_ON_LOOPBACK,
    LABEL_ONE_OF_THE_TWO,
    LABEL_URL_OF_DOCUMENT,
    SIGNING_EXTRA_MISSING,
    TOKEN_OVER_PLAIN_HTTP,
)
from tooltrue.errors import ConfigurationError
from tooltrue.extras import install_command
from tooltrue.transport.carrier import Authorizer
from tooltrue.transport.fetch import Fetcher
from tooltrue.wording import SETTING_INVALID, Worded

if TYPE_CHECKING:
    from tooltrue.client.auth.signing_keys import SigningKey

__all__ = ["ClientCredentials", "EnterpriseSignIn", "SignIn", "WorkloadIdentity", "signed_in"]

_SECONDS = 300.0
_REDIRECT = "http://127.0.0.1/callback"


class SignIn:
    """A person signs in, in a browser; ``open_browser`` shows a page there (``webbrowser.open`` will do).

    Without ``open_browser`` no person is asked: only an earlier sign-in counts, by ``tooltrue login`` or by another
    program with the same ``credentials`` (by default the keyring of the system, or else files that only this user can
    read). ``client_id`` and ``client_secret`` are pre-registered with ``issuer``; ``metadata_url`` is the URL of a
    document about this client; without both the client registers itself, as ``name``. ``redirect_uri`` is the target of
    the browser's redirect: on loopback, at any free port unless it names one. ``scopes`` are requested in addition to
    those that the server needs, ``trusted`` are URLs of issuers that may be in a private network, and ``timeout`` is
    the time the person has, in seconds.
    """

    def __init__(
        self,
        open_browser: OpenBrowser | None = None,
        *,
        client_id: str | None = None,
        client_secret: str | None = None,
        issuer: str | None = None,
        metadata_url: str | None = None,
        name: str = "tooltrue",
        redirect_uri: str = _REDIRECT,
        scopes: Iterable[str] = (),
        trusted: Iterable[str] = (),
        credentials: Credentials | None = None,
        timeout: float = _SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        _check_redirect(redirect_uri)
        if metadata_url is not None:
            _check_metadata_url(metadata_url)
        self._identity = ClientIdentity(name, client_id, client_secret, issuer, metadata_url)
        self._open_browser = open_browser
        self._redirect_uri = redirect_uri
        self._scopes = tuple(scopes)
        self._trusted = tuple(trusted)
        self._credentials = credentials
        self._timeout = timeout
        self._clock = clock

    def for_server(self, url: str) -> Authorization:
        credentials = self._credentials or user_store()
        registry = Registry(self._identity, credentials, self._clock)
        flow = ByBrowser(registry, self._open_browser, self._redirect_uri, self._timeout)
        return _authorization(url, flow, credentials, self._clock, self._trusted, self._scopes)

    def document(self) -> dict[str, Any]:
        """Return the document to publish at ``metadata_url``. Raises ``ConfigurationError`` without such a URL."""
        if self._identity.metadata_url is None:
            raise ConfigurationError.of(
                SETTING_INVALID, name="metadata_url=…", wanted=Worded(LABEL_URL_OF_DOCUMENT, {})
            )
        return {
            "client_id": self._identity.metadata_url,
            **registration(self._identity.name, [self._redirect_uri], "none"),
        }

    async def forget(self, url: str) -> None:
        """Drop the tokens for the server at ``url``: the next request to it starts a new sign-in."""
        await (self._credentials or user_store()).write(tokens_key(url), None)

    async def is_known(self, url: str) -> bool:
        """Whether there are stored tokens for the server at ``url``."""
        return await (self._credentials or user_store()).read(tokens_key(url)) is not None

    async def sign_out(self, url: str) -> bool:
        """Delete the tokens for the server at ``url``, and revoke them at its issuer. Returns whether there were any.

        Raises ``AuthorizationFailed`` if the issuer could not be told; they are deleted here even then.
        """
        return await self.for_server(url).sign_out()


class ClientCredentials:
    """The program authenticates itself to the issuer: by ``client_secret``, or by ``private_key`` (PEM), which never
    leaves it. ``issuer`` is the one that registered it; another issuer gets no credentials.
    """

    def __init__(
        self,
        client_id: str,
        client_secret: str | None = None,
        *,
        private_key: str | None = None,
        algorithm: str | None = None,
        issuer: str | None = None,
        scopes: Iterable[str] = (),
        trusted: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        if (client_secret is None) == (private_key is None):
            raise ConfigurationError.of(
                SETTING_INVALID, name="client_secret=…, private_key=…", wanted=Worded(LABEL_ONE_OF_THE_TWO, {})
            )
        if private_key is not None and find_spec("joserfc") is None:
            raise ConfigurationError.of(SIGNING_EXTRA_MISSING, command=install_command("auth"))
        self._signing = None if private_key is None else _signing_key(private_key, algorithm)
        self._identity = ClientIdentity(client_id=client_id, client_secret=client_secret, issuer=issuer)
        self._scopes = tuple(scopes)
        self._trusted = tuple(trusted)
        self._clock = clock

    def for_server(self, url: str) -> Authorizer:
        credentials = InMemory()
        flow = ByItself(Registry(self._identity, credentials, self._clock), self._signing)
        return _authorization(url, flow, credentials, self._clock, self._trusted, self._scopes)


class WorkloadIdentity:
    """The platform that runs this program asserts its identity: ``assertion`` returns a signed token for the given
    issuer, a new one each time.
    """

    def __init__(
        self,
        client_id: str,
        assertion: Assertion,
        *,
        issuer: str | None = None,
        scopes: Iterable[str] = (),
        trusted: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._identity = ClientIdentity(client_id=client_id, issuer=issuer)
        self._assertion = assertion
        self._scopes = tuple(scopes)
        self._trusted = tuple(trusted)
        self._clock = clock

    def for_server(self, url: str) -> Authorizer:
        credentials = InMemory()
        flow = ByVoucher(Registry(self._identity, credentials, self._clock), self._assertion)
        return _authorization(url, flow, credentials, self._clock, self._trusted, self._scopes)


class EnterpriseSignIn:
    """The person is signed in at the enterprise's identity provider, which vouches to the issuers of servers: no person
    is asked. ``identity`` returns the ID token of the person, or a token of another ``identity_kind``; ``provider`` and
    ``provider_token_endpoint`` are the identity provider, which knows this client as ``provider_client_id``; the
    issuers of servers know it as ``client_id``.
    """

    def __init__(
        self,
        identity: Assertion,
        *,
        provider: str,
        provider_token_endpoint: str,
        provider_client_id: str,
        client_id: str,
        identity_kind: IdentityKind = "id_token",
        provider_client_secret: str | None = None,
        client_secret: str | None = None,
        issuer: str | None = None,
        scopes: Iterable[str] = (),
        trusted: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        fetcher = Fetcher([provider_token_endpoint])
        client = Registered(issuer=provider, client_id=provider_client_id, client_secret=provider_client_secret)
        described = IssuerMetadata(issuer=provider, token_endpoint=provider_token_endpoint)
        self._provider = TokenEndpoint(described, client, fetcher, clock)
        self._client = ClientIdentity(client_id=client_id, client_secret=client_secret, issuer=issuer)
        self._identity = identity
        self._kind: IdentityKind = identity_kind
        self._scopes = tuple(scopes)
        self._trusted = tuple(trusted)
        self._clock = clock

    def for_server(self, url: str) -> Authorizer:
        credentials = InMemory()
        registry = Registry(self._client, credentials, self._clock)
        flow = ByExchange(registry, self._provider, self._identity, self._kind)
        return _authorization(url, flow, credentials, self._clock, self._trusted, self._scopes)


def signed_in(url: str) -> SignIn | None:
    """Return the sign-in of ``tooltrue login`` for ``url``, or ``None`` if tokens could be intercepted on the way
    there.
    """
    return SignIn() if url.lower().startswith("https://") or is_loopback_url(url) else None


def _authorization(
    url: str,
    flow: GrantFlow,
    credentials: Credentials,
    clock: Callable[[], float],
    trusted: Iterable[str],
    scopes: Iterable[str],
) -> Authorization:
    if urlsplit(url).scheme.lower() != "https" and not is_loopback_url(url):
        raise ConfigurationError.of(TOKEN_OVER_PLAIN_HTTP, url=url)
    return Authorization(url, flow, credentials, clock=clock, trusted=trusted, scopes=scopes)


def _check_redirect(uri: str) -> None:
    parts = urlsplit(uri)
    if parts.scheme != "http" or parts.hostname not in ("127.0.0.1", "localhost") or parts.query or parts.fragment:
        raise ConfigurationError.of(
            SETTING_INVALID, name="redirect_uri=…", wanted=Worded(LABEL_ON_LOOPBACK, {"example": _REDIRECT})
        )


def _check_metadata_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or parts.path in ("", "/") or parts.fragment:
        raise ConfigurationError.of(
            SETTING_INVALID, name="metadata_url=…", wanted=Worded(LABEL_HTTPS_URL_WITH_PATH, {})
        )


def _signing_key(private_key: str, algorithm: str | None) -> SigningKey:
    from tooltrue.client.auth.signing_keys import SigningKey  # noqa: PLC0415 - cryptography is slow to load

    return SigningKey(private_key, algorithm)
