"""Owns the ``openai`` package: sends a body to an endpoint, returns the answer as plain JSON, and translates its
failures.

Responses are not validated here: compatible endpoints differ, and the readers accept what there is. The SDK itself
retries transient failures, when the endpoint says (``Retry-After``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncOpenAI, AsyncStream

from tooltrue.host.models.exchange import ModelExchange, Stream
from tooltrue.host.models.failures import refused, silent, unreachable
from tooltrue.host.models.model_access import ModelAccess
from tooltrue.jsonrpc.messages import Json

__all__ = ["endpoint"]


def endpoint(model: str, access: ModelAccess) -> ModelExchange:
    """An OpenAI-compatible endpoint, for one model."""
    return ModelExchange(model, access, _OpenAI(model, access))


class _OpenAI:
    def __init__(self, model: str, access: ModelAccess) -> None:
        self._model = model
        self._seconds = access.seconds
        self._client = AsyncOpenAI(
            api_key=access.key, base_url=access.url, timeout=access.seconds, max_retries=access.retries
        )

    async def whole(self, path: str, body: dict[str, Json]) -> object:
        return await self._client.post(path, cast_to=object, body=body)

    async def stream(self, path: str, body: dict[str, Json]) -> Stream:
        return await self._client.post(path, cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object])

    @contextlib.contextmanager
    def translated(self) -> Generator[None]:
        try:
            yield
        except APITimeoutError:
            raise silent(self._model, self._seconds) from None
        except APIConnectionError as error:
            raise unreachable(self._model, error) from None
        except APIStatusError as error:
            raise refused(self._model, error.status_code, error.message, error.response.headers) from None
        except APIError as error:
            raise refused(self._model, None, error.message) from None

    async def close(self) -> None:
        await self._client.close()
