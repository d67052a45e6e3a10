"""The tools of a described API for ``Server.from_openapi``, which finds this module by its entry point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tooltrue.errors import ConfigurationError
from tooltrue.extras import required
from tooltrue.tools.local import LocalToolset
from tooltrue_toolbox.cli.openapi_verb import missing
from tooltrue_toolbox.distribution import DISTRIBUTION
from tooltrue_toolbox.openapi.wording import DESCRIPTION_OR_APP

__all__ = ["openapi_toolset"]


def openapi_toolset(
    spec: str | Path | None,
    app: Any,
    url: str,
    operations: Sequence[str],
    plan: str | Path | None,
    api_secrets: Mapping[str, str],
    responses: str,
) -> LocalToolset:
    """The tools of the description ``spec``, or of that of ``app``, which receives the requests then."""
    with required("openapi_spec_validator", "openapi", missing, DISTRIBUTION):
        from tooltrue_toolbox.openapi import description_source as source  # noqa: PLC0415 - they need an extra
        from tooltrue_toolbox.openapi import openapi_tools as tools  # noqa: PLC0415 - the same
        from tooltrue_toolbox.openapi.operations import read_api  # noqa: PLC0415 - the same
    if spec is None and app is None:
        raise ConfigurationError.of(DESCRIPTION_OR_APP)
    mode = tools.responses_of("responses", responses)
    api = read_api(source.description_of_app(app) if spec is None else source.description_at(str(spec)))
    forms = tools.forms_of(api, operations, None if plan is None else Path(plan))
    address = url or (source.APP_URL if app is not None else "")
    return tools.toolset(api, forms, tools.ApiSettings(address, dict(api_secrets), mode, app=app))
