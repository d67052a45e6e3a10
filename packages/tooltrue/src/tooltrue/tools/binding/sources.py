"""Where the provided values of a function come from: headers of the request, values of the lifespan."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, get_args

from tooltrue.errors import DefinitionError, ToolError
from tooltrue.tools.binding.injection import Source
from tooltrue.tools.binding.signature import MISSING, Provided
from tooltrue.tools.binding.tool_options import Header
from tooltrue.tools.lifespan_values import LifespanValues
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.tools.wording import (
    CREDENTIALS_FOR_TOOLS_ONLY,
    HEADER_HOLDS_CREDENTIALS,
    HEADER_MISSING,
    HEADER_NAME_INVALID,
    HEADER_TYPE_NOT_TEXT,
    HEADER_VALUE_INVALID,
)

__all__ = ["MAX_HEADER", "source_of"]

MAX_HEADER: Final = 4096
"""How many characters of a header a function may get."""

_CREDENTIALS = ("authorization", "proxy-authorization", "cookie", "x-api-key")
_NAME = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]{1,128}")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")


def source_of(values: LifespanValues, subject: str, credentials: list[str] | None = None) -> Source:
    """Return the source of what ``subject`` is provided. The names of headers with credentials are added to
    ``credentials``; without that list there may be none.
    """
    return Source(lambda type_: values.reader(type_, subject), partial(_header_reader, credentials))


def _header_reader(
    credentials: list[str] | None, parameter: str, provided: Provided
) -> Callable[[RequestContext], str | None]:
    """Return the function that reads a header of a request. It raises ``ToolError`` for one that is missing or that no
    function should see.
    """
    header = provided.provider
    assert isinstance(header, Header)
    name = (header.name or parameter.replace("_", "-")).lower()
    if not _NAME.fullmatch(name):
        raise DefinitionError.of(HEADER_NAME_INVALID, header=header.name)
    options = get_args(provided.type) or (provided.type,)
    if not set(options) <= {str, type(None), Any, MISSING} or options == (type(None),):
        raise DefinitionError.of(HEADER_TYPE_NOT_TEXT, name=parameter)
    if header.credentials or name in _CREDENTIALS:
        _declare(name, header, credentials)
    absent = None if provided.default is MISSING and type(None) in options else provided.default
    return partial(_read, name, absent)


def _declare(name: str, header: Header, credentials: list[str] | None) -> None:
    if not header.credentials:
        raise DefinitionError.of(HEADER_HOLDS_CREDENTIALS, header=name)
    if credentials is None:
        raise DefinitionError.of(CREDENTIALS_FOR_TOOLS_ONLY)
    if name not in credentials:
        credentials.append(name)


def _read(name: str, absent: Any, context: RequestContext) -> Any:
    value = None if context.carried is None else context.carried.get(name)
    if value is None:
        if absent is MISSING:
            raise ToolError.of(HEADER_MISSING, header=name)
        return absent
    if len(value) > MAX_HEADER or _CONTROLS.search(value):
        raise ToolError.of(HEADER_VALUE_INVALID, header=name, limit=MAX_HEADER)
    return value
