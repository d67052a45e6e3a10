"""The address of an API whose servers have variables: the operator gives the template, and each value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.wording import LABEL_NONE, Worded
from tooltrue_toolbox.openapi.document import ApiDescription
from tooltrue_toolbox.openapi.wording import API_VARIABLE_INVALID, API_VARIABLE_REFUSED, API_VARIABLE_UNSET

__all__ = ["address_of"]

_NAMES: Final = re.compile(r"\{([^{}]*)\}")
_VALUE: Final = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*", re.ASCII)


def address_of(description: ApiDescription, template: str, texts: Sequence[str]) -> str:
    """``template`` with the values of ``NAME=VALUE`` for its variables. No default of the description is used: it could
    lead to another host.

    ``ConfigurationError`` for a variable that has no value, a value that is no part of an address, and one that the
    description does not list for this template.
    """
    names = _NAMES.findall(template)
    values = dict[str, str]()
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in names or _VALUE.fullmatch(value) is None:
            names_text = ", ".join(names) or Worded(LABEL_NONE, {})
            raise ConfigurationError.of(API_VARIABLE_INVALID, text=text[:100], names=names_text)
        values[name] = value
    for name, accepted in _accepted(description, template).items():
        if name in values and values[name] not in accepted:
            raise ConfigurationError.of(API_VARIABLE_REFUSED, name=name, value=values[name], values=", ".join(accepted))
    if missing := [name for name in names if name not in values]:
        raise ConfigurationError.of(API_VARIABLE_UNSET, url=template, names=", ".join(missing))
    return _NAMES.sub(lambda match: values[match[1]], template)


def _accepted(description: ApiDescription, template: str) -> Mapping[str, Sequence[str]]:
    """The values that the description lists for the variables of this server."""
    servers: Json = description.root.get("servers")
    for server in servers if is_array(servers) else ():
        if is_object(server) and str(server.get("url", "")).rstrip("/") == template.rstrip("/"):
            variables = server.get("variables")
            return {
                name: [str(one) for one in listed]
                for name, variable in (variables.items() if is_object(variables) else ())
                if is_object(variable) and is_array(listed := variable.get("enum"))
            }
    return {}
