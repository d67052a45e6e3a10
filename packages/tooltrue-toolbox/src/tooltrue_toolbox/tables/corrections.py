"""The argument ``read_as``: corrections by the caller, where a result shows that a file was read wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args

from pydantic import Field

from tooltrue.errors import ToolError
from tooltrue.wording import Worded
from tooltrue_toolbox.tables.layout import Corrections, Delimiter, Encoding
from tooltrue_toolbox.tables.notation import Decimal
from tooltrue_toolbox.tables.wording import (
    LABEL_HEADER_CHOICES,
    LABEL_NAME_OF_SHEET,
    LABEL_QUOTES_CHOICES,
    LABEL_THE_KEYS,
    READ_AS_SETTING_INVALID,
)

__all__ = ["NOTHING", "CorrectionsArgument", "corrections_of"]

CorrectionsArgument = Annotated[Mapping[str, str | bool], Field(max_length=8)]
NOTHING: CorrectionsArgument = {}


def corrections_of(argument: Mapping[str, str | bool]) -> Corrections:
    """The corrections in ``argument``. ``ToolError`` for an unknown key or value, with a list of the known ones."""
    corrections: dict[str, Any] = {}
    for key, value in argument.items():
        if key not in _ACCEPTED:
            raise ToolError.of(
                READ_AS_SETTING_INVALID,
                key=key[:40],
                value=str(value)[:40],
                accepted=Worded(LABEL_THE_KEYS, {"names": ", ".join(_ACCEPTED)}),
            )
        accepted, read = _ACCEPTED[key]
        correction = read(value)
        if correction is None:
            raise ToolError.of(READ_AS_SETTING_INVALID, key=key, value=str(value)[:40], accepted=accepted)
        corrections[key] = correction
    return Corrections(**corrections)


def _one_of(values: tuple[str, ...]) -> tuple[str, Callable[[str | bool], object]]:
    return ", ".join(values), lambda value: value if value in values else None


def _truth(value: str | bool) -> bool | None:
    """A boolean, also as text: ``false`` in quotes is a frequent slip."""
    return value if isinstance(value, bool) else {"true": True, "false": False}.get(value.lower())


_ACCEPTED: Mapping[str, tuple[str | Worded, Callable[[str | bool], object]]] = {
    "encoding": _one_of(get_args(Encoding)),
    "delimiter": _one_of(get_args(Delimiter)),
    "decimal": _one_of(get_args(Decimal)),
    "sheet": (Worded(LABEL_NAME_OF_SHEET, {}), lambda value: value if isinstance(value, str) else None),
    "header": (Worded(LABEL_HEADER_CHOICES, {}), _truth),
    "quotes": (Worded(LABEL_QUOTES_CHOICES, {}), _truth),
}
