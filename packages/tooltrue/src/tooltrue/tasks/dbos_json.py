"""The serializer of DBOS: JSON, and no pickle."""

from __future__ import annotations

import json
from typing import Any

from dbos import Serializer

__all__ = ["JsonSerializer", "NoPickle"]


class JsonSerializer(Serializer):
    """JSON instead of pickle. An exception is stored by the name of its type."""

    def name(self) -> str:
        return "tooltrue_json"

    def serialize(self, data: Any) -> str:
        return json.dumps(data, default=_named)

    def deserialize(self, serialized_data: str) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        value: Any = json.loads(serialized_data)
        match value:
            case {"error of tooltrue": str(name)}:
                return RuntimeError(name)
            case _:
                return value


def _named(value: object) -> dict[str, str]:
    if isinstance(value, BaseException):
        return {"error of tooltrue": type(value).__name__}
    raise TypeError(f"{type(value).__name__} is not stored")


class NoPickle(JsonSerializer):
    """Stands for the pickle of DBOS, which it would load for any row that names it: such a row is damaged."""

    def name(self) -> str:
        return "py_pickle"

    def deserialize(self, serialized_data: str) -> Any:
        raise ValueError("pickle is not loaded")
