"""One exchange with an endpoint, independent of the SDK: a body goes out, and plain JSON comes back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from json import JSONDecodeError
from typing import Protocol, TypeAlias

from tooltrue.host.models.failures import measured, no_answer, silent
from tooltrue.host.models.model_access import ModelAccess
from tooltrue.jsonrpc.messages import Json, is_object

__all__ = ["ModelExchange", "Sdk", "Stream"]

Stream: TypeAlias = AbstractAsyncContextManager[AsyncIterator[object]]


class Sdk(Protocol):
    """The interface to an SDK."""

    async def whole(self, path: str, body: dict[str, Json]) -> object: ...

    async def stream(self, path: str, body: dict[str, Json]) -> Stream: ...

    def translated(self) -> AbstractContextManager[None]:
        """Translate the failures of the SDK to ours."""
        ...

    async def close(self) -> None: ...


class ModelExchange:
    """Exchanges with the endpoint of one model."""

    def __init__(self, model: str, access: ModelAccess, sdk: Sdk) -> None:
        self._model = model
        self._patience = access.patience
        self._sdk = sdk

    async def pieces(self, path: str, body: dict[str, Json]) -> AsyncGenerator[dict[str, Json]]:
        """The events of a stream, or the one response. Raises ``ModelError``. The caller must close the generator."""
        with self._translated():
            if not body.get("stream"):
                async with asyncio.timeout(self._patience):
                    response = await self._sdk.whole(path, body)
                yield self._object(response)
                return
            async with asyncio.timeout(self._patience):
                stream = await self._sdk.stream(path, body)
            size = 0
            async with stream as pieces:
                async for piece in pieces:
                    size = measured(self._model, size, piece)
                    yield self._object(piece)

    async def close(self) -> None:
        await self._sdk.close()

    def _object(self, piece: object) -> dict[str, Json]:
        if not is_object(piece):
            raise no_answer(self._model, "it is no JSON object")
        return piece

    @contextlib.contextmanager
    def _translated(self) -> Generator[None]:
        try:
            with self._sdk.translated():
                yield
        except TimeoutError:
            raise silent(self._model, self._patience) from None
        except JSONDecodeError as error:
            raise no_answer(self._model, f"not JSON: {error}") from None
