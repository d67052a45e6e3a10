"""The values that the functions of one toolset, or library, take from the lifespan of a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, get_origin

from typing_extensions import is_typeddict

from tooltrue.errors import DefinitionError
from tooltrue.protocol.types import Value
from tooltrue.tools.wording import LIFESPAN_NOT_ENTERED

__all__ = ["LifespanNeed", "LifespanOwner", "LifespanValues", "class_of", "type_name"]


class LifespanNeed(Value, frozen=True):
    """``subject`` takes a value of ``type`` from the lifespan."""

    type: Any
    subject: str


class LifespanOwner(Protocol):
    """The lifespan of a server: ``check`` raises ``DefinitionError`` for a value that it will not yield."""

    def check(self, need: LifespanNeed) -> None: ...

    def value_of(self, type_: Any) -> Any: ...


class LifespanValues:
    """The values that the functions of one toolset need, and the lifespan that they come from, once that is known."""

    def __init__(self) -> None:
        self.needs: list[LifespanNeed] = []
        self._owner: LifespanOwner | None = None

    @property
    def owner(self) -> LifespanOwner | None:
        return self._owner

    def belong_to(self, owner: LifespanOwner) -> None:
        """Take the values from ``owner``. Raises ``DefinitionError`` if it does not yield one that is needed."""
        for need in self.needs:
            owner.check(need)
        self._owner = owner

    def reader(self, type_: Any, subject: str) -> Callable[[], Any]:
        """Return the function that reads a value of this type while the lifespan is entered."""
        need = LifespanNeed(type_, subject)
        if self._owner is not None:
            self._owner.check(need)
        self.needs.append(need)

        def read() -> Any:
            if self._owner is None:
                raise DefinitionError.of(LIFESPAN_NOT_ENTERED, type=type_name(type_))
            return self._owner.value_of(type_)

        return read


def class_of(type_: Any) -> Any:
    """The class of the values of a type, as far as there is one: that of a ``TypedDict`` is ``dict``."""
    return dict if is_typeddict(type_) else get_origin(type_) or type_


def type_name(type_: Any) -> str:
    """The name of a type in a message."""
    return getattr(type_, "__name__", None) or str(type_)
