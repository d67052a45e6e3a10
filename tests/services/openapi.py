"""An API that is described: it answers what a test wants, and another library judges each request by the description.

The judge is ``openapi-core``, which shares with the family neither its reader of parameters nor its schemas' validator.
It has names of its own for path parameters of the styles ``label`` and ``matrix``, so that it judges no operation with
them: ``uritemplate`` does, in tests/unit/toolbox/test_openapi_requests.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import yaml
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from werkzeug.datastructures import Headers, ImmutableMultiDict

from services.calling import Waits
from support.website import Asked, Said, Site
from tooltrue.tools.local import LocalToolset
from tooltrue_toolbox.openapi.openapi_tools import ApiSettings, forms_of, load_api, toolset

__all__ = ["PETSTORE", "Judge", "JudgedRequest", "api_tools"]

PETSTORE = Path(__file__).parents[1] / "data" / "openapi" / "petstore.yaml"


def api_tools(site: Site, file: Path = PETSTORE, *patterns: str, **settings: Any) -> LocalToolset:
    """The tools of a description, for an API at ``site``. The schemes of the pet store have secrets."""
    api = load_api(file)
    given = {"secrets": {name: f"{name}:of-the-test" for name in api.schemes}, **settings}
    made = ApiSettings(f"{site.url}/v1", patience=Waits().patience, **given)
    return toolset(api, forms_of(api, patterns), made)


class _Body(bytes):
    """A body that is there: openapi-core takes an empty one for none, and an empty form is one."""

    def __bool__(self) -> bool:
        return True


_STRUCTURE = re.compile("%(?:2f|3f|23|25)", re.IGNORECASE)
"""Characters that would be structure, were they decoded: ``/``, ``?``, ``#`` and ``%``."""


class JudgedRequest:
    """A request as it came, in the form that openapi-core reads: it does not decode the values in a path."""

    def __init__(self, asked: Asked, host: str) -> None:
        self.host_url = host
        self.path = unquote(_STRUCTURE.sub(lambda sign: f"%25{sign[0][1:]}", asked.path))
        self.method = asked.method.lower()
        self.body = _Body(asked.body) if "content-type" in asked.headers else None
        self.content_type = asked.headers.get("content-type", "application/octet-stream")
        cookies = dict(one.strip().split("=", 1) for one in asked.headers.get("cookie", "").split(";") if "=" in one)
        self.parameters = RequestParameters(
            query=ImmutableMultiDict(parse_qsl(asked.raw_query, keep_blank_values=True)),
            header=Headers(list(asked.headers.items())),
            cookie=ImmutableMultiDict({name: unquote(value) for name, value in cookies.items()}),
        )


class Judge:
    """Answers requests. One that does not fit the description is answered with 599 and the reason, and ``faults`` has
    it."""

    def __init__(self, file: Path = PETSTORE) -> None:
        description = yaml.safe_load(file.read_text("utf-8"))
        self.host = "http://api.invalid"
        description["servers"] = [{"url": f"{self.host}/v1"}]
        pictures = {"image/png": lambda body: body.decode("latin-1")}  # which it does not read otherwise
        self._judge = OpenAPI.from_dict(description, Config(extra_media_type_deserializers=pictures))
        self.faults: list[str] = []
        self.answer: Callable[[Asked], Said] = lambda asked: Said(200, {})

    def __call__(self, asked: Asked) -> Said:
        if asked.path.startswith("/v1/places/"):
            return self.answer(asked)
        try:
            self._judge.validate_request(JudgedRequest(asked, self.host))
        except Exception as error:  # noqa: BLE001 - whatever the judge says is the verdict
            fault = f"{asked.method} {asked.path}?{asked.raw_query} {asked.body!r}: {error!r} {error.__cause__!r}"
            self.faults.append(fault)
            return Said(599, {"message": fault})
        return self.answer(asked)
