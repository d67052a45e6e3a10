"""Hidden data that the role of a database can reach nevertheless, and the statements that revoke that access.

The check of statements is one wall, the rights of the role are another: where the role cannot read hidden data, a
mistake of the check reveals none. The engine is queried for this at the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tooltrue.errors import ConfigurationError
from tooltrue.wording import LABEL_AND_MORE, Worded
from tooltrue_toolbox.sql.wording import DATABASE_ROLE_REACHES_HIDDEN_OBJECTS

__all__ = ["Exposure", "check_exposure", "walls_of"]

_MOST_LISTED = 5


@dataclass(frozen=True, slots=True)
class Exposure:
    """``reached``: descriptions of the reachable data; ``ending``: the revoking statements, in the order in which they
    run."""

    role: str
    reached: tuple[str, ...] = ()
    ending: tuple[str, ...] = ()


def check_exposure(exposure: Exposure) -> None:
    """``ConfigurationError`` with the statements to run, where the role reaches hidden data."""
    if exposure.reached:
        statements = "\n".join(f"{statement};" for statement in exposure.ending)
        raise ConfigurationError.of(
            DATABASE_ROLE_REACHES_HIDDEN_OBJECTS,
            role=exposure.role,
            reached=_listed(exposure.reached),
            statements=statements,
        )


def walls_of(own: str, exposure: Exposure, unmatched: Sequence[str] = ()) -> list[str]:
    """The walls around hidden data, as ``inspect`` shows them. ``own``: that of the engine;
    ``unmatched``: the operator's patterns without a match."""
    judge = "the judge of statements"
    missing = [f"no table or column that the role can see matches {_listed(unmatched)}"] if unmatched else []
    if exposure.reached:
        return [f"one wall: {judge}. The role reaches {_listed(exposure.reached)}", *missing]
    return [f"two walls: {judge}, {own}", *missing]


def _listed(reached: Sequence[str]) -> str | Worded:
    names, more = ", ".join(reached[:_MOST_LISTED]), len(reached) - _MOST_LISTED
    return Worded(LABEL_AND_MORE, {"names": names, "count": more}) if more > 0 else names
