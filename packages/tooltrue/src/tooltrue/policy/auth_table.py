"""Schema of ``[auth]`` in the operator's file: which callers HTTP admits, and how they are authenticated.

Only its keys, as JSON Schemas. ``server/auth_settings.py`` gives them their meaning: the policy is the same for every
caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["AUTH"]


def _closed(keys: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": keys, "additionalProperties": False, "required": list(required)}


def _list(items: Mapping[str, Any], least: int = 1) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


_TEXT: Final = {"type": "string", "minLength": 1}
_SCOPES: Final = _list(_TEXT)

_SECRET: Final = {
    "client_secret_env": _TEXT,  # the name of a variable; this file holds no secret
    "client_secret_file": _TEXT,
}
_INTROSPECTION: Final = _closed(
    {
        "client_id": _TEXT,
        **_SECRET,
        "endpoint": _TEXT,
        "always": {"type": "boolean"},
    },
    "client_id",
)
_ISSUER: Final = _closed({"url": _TEXT, "jwks_uri": _TEXT, "introspection": _INTROSPECTION}, "url")
_OAUTH: Final = {
    **_closed(
        {
            "resource": _TEXT,
            "issuers": _list(_ISSUER),
            "preset": _TEXT,  # in place of issuers, with its own settings
            **dict.fromkeys(
                ("domain", "url", "realm", "server", "tenant", "client_id", "api", "tokeninfo", "jwks_uri"), _TEXT
            ),
            "client_ids": _list(_TEXT),
            **_SECRET,
            "scopes": _SCOPES,
            "optional_scopes": _SCOPES,
            "includes": {"type": "object", "additionalProperties": _SCOPES},
            "audiences": _list(_TEXT),
            "algorithms": _list(_TEXT),
            "leeway": {"type": "integer", "minimum": 0, "maximum": 60},
        },
        "resource",
    ),
    "anyOf": [{"required": ["issuers"]}, {"required": ["preset"]}],
}
_PROXY: Final = _closed(
    {
        "addresses": _list(_TEXT),
        "user_header": _TEXT,
        "scopes_header": _TEXT,
        "demand": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "addresses",
    "user_header",
)

AUTH: Final[Mapping[str, Any]] = {
    "keys": _TEXT,
    "oauth": _OAUTH,
    "proxy": _PROXY,
    "public": _closed({"proxies": _list(_TEXT, least=0)}),
}
