"""Schema of ``[servers.NAME.auth]`` in the operator's file: the credentials of a gateway at one of its servers.

Only its keys, as JSON Schemas. ``gateway/server_auth.py`` gives them their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["SECRET", "SERVER_AUTH", "SIGN_IN"]


def _closed(keys: Mapping[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": dict(keys), "additionalProperties": False, "required": list(required)}


_TEXT: Final = {"type": "string", "minLength": 1}
_TEXTS: Final = {"type": "array", "items": _TEXT, "minItems": 1}
_SECRET: Final[Mapping[str, Any]] = dict.fromkeys(("secret_env", "secret_file", "secret_keyring"), _TEXT)
SECRET: Final = _closed(_SECRET)
"""Where a secret is: a variable of the environment, a file, or an entry of the keyring. This file holds none."""

SIGN_IN: Final = _closed({"client_id": _TEXT, "issuer": _TEXT, "trusted": _TEXTS, **_SECRET}, "client_id")
"""The gateway as the web client by which the browsers of callers sign in at their issuer."""

SERVER_AUTH: Final = _closed(
    {
        "header": _closed({"name": _TEXT, "scheme": _TEXT, **_SECRET}, "name"),
        "client": _closed(
            {"client_id": _TEXT, "issuer": _TEXT, "scopes": _TEXTS, "trusted": _TEXTS, **_SECRET}, "client_id", "issuer"
        ),
        "caller": _closed(
            {
                **dict.fromkeys(("client_id", "issuer", "metadata_url"), _TEXT),
                **dict.fromkeys(("scopes", "trusted"), _TEXTS),
                **_SECRET,
            }
        ),
        "exchange": _closed(
            {
                **dict.fromkeys(("token_endpoint", "client_id", "audience"), _TEXT),
                "scopes": _TEXTS,
                **_SECRET,
            },
            "token_endpoint",
            "client_id",
        ),
        "enterprise": _closed(
            {
                **dict.fromkeys(("token_endpoint", "client_id"), _TEXT),
                **dict.fromkeys(("scopes", "trusted"), _TEXTS),
                "subject_token": {"enum": ["access_token", "id_token"]},
                "client": _closed({"client_id": _TEXT, "issuer": _TEXT, **_SECRET}, "client_id", "issuer"),
                **_SECRET,
            },
            "token_endpoint",
            "client_id",
            "client",
        ),
    }
)
