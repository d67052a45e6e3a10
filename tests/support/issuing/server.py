"""A real authorization server (Authlib) on loopback: metadata, dynamic client registration, login with PKCE,
self-contained and opaque access tokens, single-use refresh tokens, introspection, revocation, and key rotation. The
login needs no password: the user is ``ada``, or another ``person``."""

# The stubs type the parameters and results of these methods as classes of authlib, which takes any object like them.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import flask
import httpx2
import pytest
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7523 import JWTBearerClientAssertion
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7591.errors import InvalidRedirectURIError
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator
from authlib.oauth2.rfc9207 import IssuerParameter
from joserfc import jwk, jwt
from werkzeug.serving import make_server

from tooltrue.testing.state import LIMIT

__all__ = ["REDIRECT", "Issuing", "other_running_issuer", "running_issuer"]

REDIRECT = "http://127.0.0.1:1/callback"
SCOPES = "read write admin console:read console:approve console:admin"
# Without the certificates of authorities, which take longer to read than an answer on loopback takes to come.
_PLAINLY: dict[str, Any] = {"trust_env": False, "verify": False, "timeout": LIMIT}


@dataclass
class Client(ClientMixin):
    id: str
    secret: str = ""
    grants: tuple[str, ...] = ("client_credentials",)
    redirects: tuple[str, ...] = (REDIRECT,)
    key: Any = None

    def get_client_id(self) -> str:
        return self.id

    def get_allowed_scope(self, scope: str) -> str:
        return " ".join(one for one in (scope or "").split() if one in SCOPES.split())

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        port = urlsplit(redirect_uri).port
        return redirect_uri in self.redirects or redirect_uri.replace(f":{port}", "", 1) in self.redirects

    def check_client_secret(self, client_secret: str) -> bool:
        return secrets.compare_digest(client_secret, self.secret)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        if self.key is not None:
            return method == "private_key_jwt"
        return method == ("client_secret_basic" if self.secret else "none")

    def check_response_type(self, response_type: str) -> bool:
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in self.grants


@dataclass
class Code(AuthorizationCodeMixin):
    code: str
    client: str
    scope: str
    code_challenge: str
    code_challenge_method: str
    redirect_uri: str = REDIRECT

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return self.scope


_FOR_PEOPLE = ("authorization_code", "refresh_token")
_KNOWN = (Client("agent", "secret"), Client("opaque", "secret"), Client("tools", "secret", ()))


@dataclass
class User:
    id: str

    def get_user_id(self) -> str:
        return self.id


@dataclass
class Token(TokenMixin):
    text: str
    claims: dict[str, Any]
    client: str = ""
    revoked: bool = False

    def check_client(self, client: Client) -> bool:
        return client.id == self.client

    def get_scope(self) -> str:
        return self.claims["scope"]

    def is_expired(self) -> bool:
        return self.claims["exp"] < time.time()

    def is_revoked(self) -> bool:
        return self.revoked


@dataclass
class Issuing:
    """The authorization server. ``key`` is the first signing key; ``up``: whether the server answers; ``asked``: the
    number of requests by path, and ``said``: the parameters of each request. ``speaks``: whether it publishes
    metadata. ``takes``: the required prefix of the redirect URIs of registered clients. ``took``: a callback, called
    on the thread of the request between the use of a refresh token and the response."""

    url: str = ""
    key: Any = field(default_factory=lambda: new_key())
    keys: list[Any] = field(default_factory=list)
    tokens: dict[str, Token] = field(default_factory=dict)
    codes: dict[str, Code] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    said: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    clients: dict[str, Client] = field(default_factory=dict)
    refresh: dict[str, Token] = field(default_factory=dict)
    takes: str = "http://127.0.0.1"
    answers: dict[str, str] = field(default_factory=dict)
    lasting: int = 864_000
    withheld: set[str] = field(default_factory=set)
    changes: dict[str, Any] = field(default_factory=dict)
    up: bool = True
    speaks: bool = True
    person: str = "ada"
    took: Callable[[], None] | None = None
    published: dict[str, Any] | None = None

    def forget(self) -> None:
        self.keys, self.up, self.published, self.took = [self.key], True, None, None
        self.takes, self.lasting, self.speaks, self.person = "http://127.0.0.1", 864_000, True, "ada"
        self.clients.clear()
        self.clients.update({client.id: client for client in (*_KNOWN, Client("app", grants=_FOR_PEOPLE))})
        for store in (self.asked, self.answers, self.refresh):
            store.clear()
        self.said.clear()
        self.withheld = set()
        self.changes.clear()

    def rotate(self) -> None:
        """Replace the signing key by a new one, and stop publishing the old one."""
        self.keys = [new_key()]

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/jwks",
            "introspection_endpoint": f"{self.url}/introspect",
            "code_challenge_methods_supported": ["S256"],
            **self.changes,
        }

    def registers(self) -> dict[str, Any]:
        """The registration fields of the server's metadata."""
        return {"registration_endpoint": f"{self.url}/register", "token_endpoint_auth_methods_supported": ["none"]}

    def jwks(self) -> dict[str, Any]:
        return self.published or {"keys": [key.as_dict(private=False) for key in self.keys]}

    def signed(self, header: dict[str, Any] | None = None, key: Any = None, **claims: Any) -> str:
        """A token with the given header, key and claims; a claim that is ``None`` is omitted."""
        key = key or self.keys[0]
        now = int(time.time())
        said = {"iss": self.url, "sub": "ada", "exp": now + 600, "iat": now, "scope": "read", **claims}
        head = {"alg": "RS256", "kid": key.kid, "typ": "at+jwt", **(header or {})}
        algorithms = [head["alg"]]
        return jwt.encode(head, {k: v for k, v in said.items() if v is not None}, key, algorithms=algorithms)

    # The actions of a client.

    def for_itself(self, resource: str, scope: str = "read", client: str = "agent") -> str:
        """A token by client credentials: of ``agent``, or of ``opaque``, whose tokens are opaque."""
        form = {"grant_type": "client_credentials", "scope": scope, "resource": resource}
        return self._token(form, auth=(client, "secret"))

    def for_ada(self, resource: str, scope: str = "read") -> str:
        """A token by authorization code and PKCE."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        sent = self.authorize(scope=scope, code_challenge=challenge, code_challenge_method="S256")
        [code] = parse_qs(urlsplit(sent.headers["location"]).query)["code"]
        form = {"grant_type": "authorization_code", "code": code, "code_verifier": verifier, "client_id": "app"}
        return self._token({**form, "redirect_uri": REDIRECT, "resource": resource})

    def agree(self, url: str) -> None:
        """Follow an authorization URL as a person's browser does."""
        answer = httpx2.get(url, follow_redirects=True, **_PLAINLY)
        if answer.status_code >= 500:
            raise RuntimeError(answer.text)

    def robot(self) -> str:
        """A private key, by which the client ``robot`` is known."""
        key = jwk.generate_key("EC", "P-256")
        self.clients["robot"] = Client("robot", key=key)
        return key.as_pem(private=True).decode()

    def desk(self) -> str:
        """The id of a client that a person uses, and that comes back at any port."""
        self.clients["desk"] = Client("desk", "", _FOR_PEOPLE, ("http://127.0.0.1/callback",))
        return "desk"

    def site(self, redirect_uri: str) -> str:
        """The id of a web client with a secret, whose users come back at one URL."""
        self.clients["site"] = Client("site", "secret", _FOR_PEOPLE, (redirect_uri,))
        return "site"

    def sent(self, path: str) -> list[dict[str, Any]]:
        """The parameters of the requests to a path."""
        return [said for asked, said in self.said if asked == path]

    def authorize(self, **params: str) -> httpx2.Response:
        said = {"response_type": "code", "client_id": "app", "redirect_uri": REDIRECT, "state": "s", **params}
        return httpx2.get(f"{self.url}/authorize", params=said, **_PLAINLY)

    def _token(self, form: dict[str, str], auth: tuple[str, str] | None = None) -> str:
        answer = httpx2.post(f"{self.url}/token", data=form, auth=auth, **_PLAINLY)
        assert answer.status_code == 200, answer.text
        return answer.json()["access_token"]


def new_key() -> Any:
    return jwk.generate_key("RSA", 2048, {"use": "sig", "alg": "RS256", "kid": secrets.token_hex(4)})


def application(issuing: Issuing) -> flask.Flask:
    app = flask.Flask(__name__)
    issuing.forget()
    server = AuthorizationServer(app, issuing.clients.get, lambda token, request: save(issuing, token, request))

    class Signed(JWTBearerTokenGenerator):
        def get_jwks(self) -> Any:
            return issuing.keys[0]

        def get_audiences(self, client: Client, user: Any, scope: str) -> str:
            return flask.request.form.get("resource", client.id)

    def fresh(*_: Any, **__: Any) -> str:
        return secrets.token_urlsafe(32)

    def lasts(*_: Any, **__: Any) -> int:
        return issuing.lasting

    signed, opaque = Signed(issuing.url, "RS256", fresh, lasts), BearerTokenGenerator(fresh)
    generate = cast("Any", lambda **said: (opaque if said["client"].id == "opaque" else signed)(**said))
    server.register_token_generator("default", generate)

    class Codes(grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("none", "client_secret_basic")

        def save_authorization_code(self, code: str, request: Any) -> None:
            data = request.payload.data
            challenge, method = data["code_challenge"], data["code_challenge_method"]
            scope = " ".join(one for one in (request.payload.scope or "").split() if one not in issuing.withheld)
            redirect_uri = data["redirect_uri"]
            issuing.codes[code] = Code(code, request.client.id, scope, challenge, method, redirect_uri)

        def query_authorization_code(self, code: str, client: Client) -> Code | None:
            return issuing.codes.get(code)

        def delete_authorization_code(self, authorization_code: Code) -> None:
            del issuing.codes[authorization_code.code]

        def authenticate_user(self, authorization_code: Code) -> User:
            return User(issuing.person)

    class Refresh(grants.RefreshTokenGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("none",)
        INCLUDE_NEW_REFRESH_TOKEN = True

        def authenticate_refresh_token(self, refresh_token: str) -> Token | None:
            found = issuing.refresh.pop(refresh_token, None)
            if issuing.took is not None:
                issuing.took()
            return found

        def authenticate_user(self, refresh_token: Token) -> User:
            return User(issuing.person)

        def revoke_old_credential(self, refresh_token: Token) -> None:
            pass  # it was taken when it was shown

    class Itself(grants.ClientCredentialsGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ("client_secret_basic", "private_key_jwt")

    class Assertions(JWTBearerClientAssertion):
        CLIENT_AUTH_METHOD = "private_key_jwt"  # pyright: ignore[reportGeneralTypeIssues] - authlib says to override it

        def get_audiences(self) -> list[str]:
            return [issuing.url]

        def validate_jti(self, claims: Any, jti: str) -> bool:
            return True

        def resolve_client_public_key(self, client: Client) -> Any:
            return client.key

    class Says(IssuerParameter):
        def get_issuer(self) -> str | None:
            return issuing.answers.get("iss")

    class Register(ClientRegistrationEndpoint):
        def get_server_metadata(self) -> dict[str, Any]:
            return issuing.metadata()

        def authenticate_token(self, request: Any) -> str:
            return "anybody"

        def generate_client_secret(self, request: Any) -> str:
            return ""

        def save_client(self, client_info: dict[str, Any], client_metadata: dict[str, Any], request: Any) -> Client:
            redirects = tuple(client_metadata["redirect_uris"])
            if not all(uri.startswith(issuing.takes) for uri in redirects):
                raise InvalidRedirectURIError
            client = Client(client_info["client_id"], "", tuple(client_metadata["grant_types"]), redirects)
            issuing.clients[client.id] = client
            return client

    class Revoke(RevocationEndpoint):
        CLIENT_AUTH_METHODS = ("none",)

        def query_token(self, token_string: str, token_type_hint: str) -> Token | None:
            return issuing.refresh.get(token_string)

        def revoke_token(self, token: Token, request: Any) -> None:
            del issuing.refresh[flask.request.form["token"]]

    class Introspect(IntrospectionEndpoint):
        CLIENT_AUTH_METHODS = ("client_secret_basic",)

        def query_token(self, token_string: str, token_type_hint: str) -> Token | None:
            return issuing.tokens.get(token_string)

        def check_permission(self, token: Token, client: Client, request: Any) -> bool:
            return client.id == "tools"

        def introspect_token(self, token: Token) -> dict[str, Any]:
            return {"active": True, **token.claims}

    server.register_grant(Itself)
    server.register_grant(Refresh)
    server.register_client_auth_method("private_key_jwt", Assertions())  # pyright: ignore[reportCallIssue] - the stubs require a deprecated form
    server.register_extension(Says())
    server.register_endpoint(Register)
    server.register_grant(Codes, [CodeChallenge(required=True)])
    server.register_endpoint(Introspect)
    server.register_endpoint(Revoke)

    @app.before_request
    def count() -> Any:
        path = flask.request.path
        issuing.asked[path] = issuing.asked.get(path, 0) + 1
        said = flask.request.get_json(silent=True) or {**flask.request.args, **flask.request.form}
        issuing.said.append((path, said))
        return None if issuing.up else ("down", 503)

    @app.get("/.well-known/oauth-authorization-server")
    def metadata() -> Any:
        return issuing.metadata() if issuing.speaks else ("nothing here", 404)

    @app.post("/mcp")
    def old() -> Any:
        """The endpoint of a 2025-03-26 server, which is its own issuer. A request with a token gets 501."""
        return "", 501 if "authorization" in flask.request.headers else 401

    app.get("/jwks")(issuing.jwks)
    app.post("/token")(cast("Any", server.create_token_response))
    app.post("/register", endpoint="register")(lambda: server.create_endpoint_response("client_registration"))
    app.post("/revoke", endpoint="revoke")(lambda: server.create_endpoint_response("revocation"))
    app.post("/introspect", endpoint="introspect")(lambda: server.create_endpoint_response("introspection"))

    @app.get("/authorize")
    def authorize() -> Any:
        try:
            grant = server.get_consent_grant(end_user=User(issuing.person))
        except OAuth2Error as error:
            return error.error, 400
        return server.create_authorization_response(grant_user=User(issuing.person), grant=grant)

    return app


def save(issuing: Issuing, token: dict[str, Any], request: Any) -> None:
    subject = request.user.get_user_id() if request.user else request.client.id
    claims = {
        "iss": issuing.url,
        "sub": subject,
        "aud": flask.request.form.get("resource", ""),
        "exp": int(time.time()) + 600,
        "scope": token.get("scope", ""),
    }
    kept = Token(token["access_token"], claims, request.client.id)
    issuing.tokens[token["access_token"]] = kept
    if "refresh_token" in token:
        issuing.refresh[token["refresh_token"]] = kept


@contextlib.contextmanager
def running() -> Iterator[Issuing]:
    issuing = Issuing()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, lambda environ, start: issuing_app(environ, start), threaded=True)
    issuing.url = f"http://127.0.0.1:{server.server_port}"
    issuing_app = application(issuing)
    thread = threading.Thread(target=server.serve_forever, name="issuer")
    thread.start()
    try:
        yield issuing
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session", name="one_issuer")
def one_running_issuer() -> Iterator[Issuing]:
    with running() as issuing:
        yield issuing


@pytest.fixture(scope="session", name="one_more_issuer")
def one_more_running_issuer() -> Iterator[Issuing]:
    with running() as issuing:
        yield issuing


@pytest.fixture(name="other")
def other_running_issuer(one_more_issuer: Issuing) -> Issuing:
    """Another authorization server, independent of the first."""
    one_more_issuer.forget()
    return one_more_issuer


@pytest.fixture(name="issuer")
def running_issuer(one_issuer: Issuing) -> Issuing:
    """The authorization server, as if it had just been started."""
    one_issuer.forget()
    return one_issuer


def parts(token: str) -> list[Any]:
    """Header and claims of a token, decoded without verification."""
    return [json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2]]
