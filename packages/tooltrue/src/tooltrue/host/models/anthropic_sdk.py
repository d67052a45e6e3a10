"""Owns the ``anthropic`` package: sends a body to the Messages API, returns the answer as plain JSON, and translates
its failures. The SDK itself retries transient failures, when the endpoint says (``Retry-After``)."""

from __future__ import annotations

import contextlib
from collections.abc import Generator

import httpx2
from anthropic import (
    AnthropicError,
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AsyncAnthropic,
    AsyncStream,
)

from tooltrue.host.models.exchange import ModelExchange, Stream
from tooltrue.host.models.failures import refused, silent, unreachable
from tooltrue.host.models.model_access import ModelAccess
from tooltrue.jsonrpc.messages import Json

__all__ = ["endpoint"]


def endpoint(model: str, access: ModelAccess) -> ModelExchange:
    """An endpoint of the Messages API, for one model."""
    return ModelExchange(model, access, _Anthropic(model, access))


class _Anthropic:
    def __init__(self, model: str, access: ModelAccess) -> None:
        self._model = model
        self._seconds = access.seconds
        # Others count the version as part of the base URL, this SDK as part of the path.
        base = access.url.rstrip("/").removesuffix("/v1")
        self._client = AsyncAnthropic(
            api_key=access.key, base_url=base, timeout=access.seconds, max_retries=access.retries
        )

    async def whole(self, path: str, body: dict[str, Json]) -> object:
        return await self._client.post(path, cast_to=object, body=body)

    async def stream(self, path: str, body: dict[str, Json]) -> Stream:
        return await self._client.post(path, cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object])

    @contextlib.contextmanager
    def translated(self) -> Generator[None]:
        try:
            yield
        except (APITimeoutError, httpx2.TimeoutException):  # the SDK does not translate errors within a stream
            raise silent(self._model, self._seconds) from None
        except (APIConnectionError, httpx2.HTTPError) as error:
            raise unreachable(self._model, error) from None
        except APIStatusError as error:
            raise refused(self._model, error.status_code, error.message, error.response.headers) from None
        except (APIError, AnthropicError) as error:
            raise refused(self._model, None, str(error)) from None

    async def close(self) -> None:
        await self._client.close()
