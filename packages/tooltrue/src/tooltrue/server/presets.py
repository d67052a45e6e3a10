"""Sign-in presets: the settings of :class:`OAuth` for well-known authorization servers.

A preset has no code of its own for tokens: it fills in the issuer, the algorithms, the names of audiences and claims,
and how opaque tokens are checked. No preset accepts a token that was made for another application.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, TypedDict, cast

from tooltrue.errors import ConfigurationError
from tooltrue.protocol.types import Value
from tooltrue.server.wording import (
    LABEL_GUID,
    LABEL_HOST_NAME,
    LABEL_HTTPS_URL,
    LABEL_PATH_SEGMENT,
    PRESET_AUDIENCE_OF_ALL,
    PRESET_SETTING_INVALID,
    PRESET_SETTING_MISSING,
    PRESET_SETTING_UNKNOWN,
    PRESET_UNKNOWN,
)
from tooltrue.wording import Worded, alternatives

__all__ = ["PRESETS", "PresetName", "PresetSettings", "settings_of_preset"]

PresetName: TypeAlias = Literal["auth0", "authing", "entra", "github", "google", "keycloak", "logto", "okta"]


class PresetSettings(TypedDict, total=False):
    """The settings of a preset, and those of :class:`OAuth` that go with each; docs/authentication.md has the table."""

    domain: str
    url: str
    realm: str
    server: str
    tenant: str
    client_id: str
    client_ids: Sequence[str]
    client_secret: str
    api: str
    tokeninfo: str
    scopes: Iterable[str]
    optional_scopes: Iterable[str]
    includes: Mapping[str, Iterable[str]]
    audiences: Iterable[str]
    jwks_uri: str
    leeway: int
    clock: Callable[[], float]


class Preset(Value, frozen=True):
    """``needs`` are required settings, ``takes`` further ones; ``make`` makes settings of :class:`OAuth` of them."""

    make: Callable[..., dict[str, Any]]
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()
    audiences_of_all: tuple[str, ...] = ()
    """Audiences that tokens of every client have; tokens for them could be those of another application. ``{issuer}``
    stands for the issuer."""


_OF_ALL = ("scopes", "optional_scopes", "includes", "audiences", "jwks_uri", "leeway", "clock")
_RSA = ("RS256", "PS256")
_NO_SIGNED_TOKENS: tuple[str, ...] = ()


def _auth0(domain: str) -> dict[str, Any]:
    return {"issuer": f"https://{domain}/", "algorithms": _RSA}


def _authing(domain: str, client_id: str) -> dict[str, Any]:
    # Its ID tokens have the same audience, and no scope.
    return {
        "issuer": f"https://{domain}/oidc",
        "audiences": (client_id,),
        "algorithms": _RSA,
        "scope_claims": ("scope",),
    }


def _entra(tenant: str, client_id: str, domain: str = "login.microsoftonline.com") -> dict[str, Any]:
    # Its ID tokens have roles too, but no `azp`: the client that was given an access token. Clients ask for scopes by
    # the full name, and tokens have the short one.
    return {
        "issuer": f"https://{domain}/{tenant.lower()}/v2.0",
        "audiences": (client_id, f"api://{client_id}"),
        "algorithms": ("RS256",),
        "scope_claims": ("scp", "roles"),
        "required_claims": ("azp",),
        "scope_prefix": f"api://{client_id}/",
    }


def _github(client_id: str, client_secret: str, domain: str = "github.com", api: str | None = None) -> dict[str, Any]:
    base = api or ("https://api.github.com" if domain == "github.com" else f"https://{domain}/api/v3")
    return {
        "issuer": f"https://{domain}/login/oauth",
        "algorithms": _NO_SIGNED_TOKENS,
        "introspection": {
            "client_id": client_id,
            "client_secret": client_secret,
            "endpoint": f"{base.rstrip('/')}/applications/{client_id}/token",
            "kind": "github",
            "audiences": (client_id,),
        },
    }


def _google(client_ids: Sequence[str], tokeninfo: str = "https://oauth2.googleapis.com/tokeninfo") -> dict[str, Any]:
    return {
        "issuer": "https://accounts.google.com",
        "algorithms": _NO_SIGNED_TOKENS,
        "introspection": {
            "client_id": client_ids[0],
            "client_secret": "",
            "endpoint": tokeninfo,
            "kind": "google",
            "audiences": tuple(client_ids),
        },
    }


def _keycloak(url: str, realm: str) -> dict[str, Any]:
    return {"issuer": f"{url.rstrip('/')}/realms/{realm}"}


def _logto(domain: str) -> dict[str, Any]:
    return {"issuer": f"https://{domain}/oidc", "algorithms": ("ES384", "RS256")}


def _okta(domain: str, server: str = "default") -> dict[str, Any]:
    return {"issuer": f"https://{domain}/oauth2/{server}", "algorithms": ("RS256",)}


_GRAPH: Final = ("00000003-0000-0000-c000-000000000000", "https://graph.microsoft.com", "https://graph.microsoft.com/")

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "auth0": Preset(_auth0, ("domain",), (), ("{issuer}userinfo", "{issuer}api/v2/")),
        "authing": Preset(_authing, ("domain", "client_id")),
        "entra": Preset(_entra, ("tenant", "client_id"), ("domain",), _GRAPH),
        "github": Preset(_github, ("client_id", "client_secret"), ("domain", "api")),
        "google": Preset(_google, ("client_ids",), ("tokeninfo",)),
        "keycloak": Preset(_keycloak, ("url", "realm"), (), ("account", "realm-management", "broker")),
        "logto": Preset(_logto, ("domain",)),
        "okta": Preset(_okta, ("domain",), ("server",)),
    }
)

_HOST: Final = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?")
_GUID: Final = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_URL: Final = re.compile(r"https?://[!-~]+")
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*")
_FORMS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "domain": (_HOST, LABEL_HOST_NAME),
    "tenant": (_GUID, LABEL_GUID),
    "realm": (_SEGMENT, LABEL_PATH_SEGMENT),
    "server": (_SEGMENT, LABEL_PATH_SEGMENT),
    "client_id": (_SEGMENT, LABEL_PATH_SEGMENT),
    "client_secret": (_SEGMENT, LABEL_PATH_SEGMENT),
    **dict.fromkeys(("url", "api", "tokeninfo"), (_URL, LABEL_HTTPS_URL)),  # OAuth checks them in full
}


def settings_of_preset(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of :class:`OAuth` for a preset, without the resource. Raises ``ConfigurationError``."""
    if name not in PRESETS:
        raise ConfigurationError.of(PRESET_UNKNOWN, preset=name, known=alternatives(tuple(PRESETS)))
    preset = PRESETS[name]
    missing = [key for key in preset.needs if key not in settings]
    if missing:
        raise ConfigurationError.of(PRESET_SETTING_MISSING, preset=name, names=", ".join(missing))
    own = {*preset.needs, *preset.takes}
    for key in settings:
        if key not in own and key not in _OF_ALL:
            known = ", ".join([*preset.needs, *preset.takes, *_OF_ALL])
            raise ConfigurationError.of(PRESET_SETTING_UNKNOWN, preset=name, name=key, known=known)
    made = preset.make(**{key: _checked(name, key, settings[key]) for key in settings if key in own})
    others = {key: value for key, value in settings.items() if key not in own}
    audiences = _audiences(preset, name, made["issuer"], others.pop("audiences", ()))
    return {**made, **others, "audiences": (*made.get("audiences", ()), *audiences)}


def _audiences(preset: Preset, name: str, issuer: str, audiences: Iterable[str]) -> Sequence[str]:
    further = [audiences] if isinstance(audiences, str) else list(audiences)
    of_all = {audience.replace("{issuer}", issuer).lower() for audience in preset.audiences_of_all}
    for audience in further:
        if audience.lower() in of_all:
            raise ConfigurationError.of(PRESET_AUDIENCE_OF_ALL, preset=name, audience=audience)
    return further


def _checked(preset: str, key: str, value: Any) -> Any:
    if key == "client_ids":
        ids = [value] if isinstance(value, str) else cast("Sequence[Any]", value)
        is_list = isinstance(ids, list | tuple) and bool(ids)
        if not is_list or not all(isinstance(one, str) and _SEGMENT.fullmatch(one) for one in ids):
            raise _invalid(preset, key, LABEL_PATH_SEGMENT)
        return ids
    form, label = (_GUID, LABEL_GUID) if (preset, key) == ("entra", "client_id") else _FORMS[key]
    if not isinstance(value, str) or not form.fullmatch(value):
        raise _invalid(preset, key, label)
    return value


def _invalid(preset: str, key: str, label: str) -> ConfigurationError:
    return ConfigurationError.of(PRESET_SETTING_INVALID, preset=preset, name=key, wanted=Worded(label, {}))
