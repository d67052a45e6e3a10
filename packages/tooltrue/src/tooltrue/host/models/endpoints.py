"""Models by name: ``anthropic:claude-…``, ``deepseek:deepseek-chat``, or any model behind a URL.

A key is sent to the endpoint that it belongs to, and to no other.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from tooltrue.errors import ConfigurationError
from tooltrue.extras import install_command
from tooltrue.host.models.model import Model
from tooltrue.host.models.model_access import ModelAccess, key_of
from tooltrue.host.wording import MODEL_PACKAGE_MISSING, MODEL_URL_INVALID, UNKNOWN_MODEL
from tooltrue.protocol.types import Value

__all__ = ["ENDPOINTS", "ModelProvider", "model_of"]


class ModelProvider(Value, frozen=True):
    """An endpoint known by name. Without ``variable`` it needs no key. ``profile`` defaults to that of its API."""

    api: str
    variable: str | None
    url: str
    profile: str = ""


ENDPOINTS: dict[str, ModelProvider] = {
    "anthropic": ModelProvider("anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com"),
    "deepseek": ModelProvider("openai", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", "deepseek"),
    "gemini": ModelProvider(
        "openai", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini"
    ),
    "glm": ModelProvider("openai", "ZAI_API_KEY", "https://open.bigmodel.cn/api/paas/v4"),
    "kimi": ModelProvider("openai", "MOONSHOT_API_KEY", "https://api.moonshot.cn/v1", "kimi"),
    "ollama": ModelProvider("openai", None, "http://127.0.0.1:11434/v1", "ollama"),
    "openai": ModelProvider("openai", "OPENAI_API_KEY", "https://api.openai.com/v1"),
    "openai-responses": ModelProvider("openai-responses", "OPENAI_API_KEY", "https://api.openai.com/v1"),
    "qwen": ModelProvider("openai", "DASHSCOPE_API_KEY", "https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen"),
    "vllm": ModelProvider("openai", None, "http://127.0.0.1:8000/v1"),
}


def _anthropic() -> Callable[..., Model]:
    from tooltrue.host.models.anthropic_messages import Anthropic  # noqa: PLC0415 - its package comes with an extra

    return Anthropic


def _openai() -> Callable[..., Model]:
    from tooltrue.host.models.openai_chat import OpenAIChat  # noqa: PLC0415 - its package comes with an extra

    return OpenAIChat


def _openai_responses() -> Callable[..., Model]:
    from tooltrue.host.models.openai_responses import OpenAIResponses  # noqa: PLC0415 - its package comes with an extra

    return OpenAIResponses


# API → its package, which is an extra of the same name, and a function that imports its class
_APIS: Mapping[str, tuple[str, Callable[[], Callable[..., Model]]]] = {
    "anthropic": ("anthropic", _anthropic),
    "openai": ("openai", _openai),
    "openai-responses": ("openai", _openai_responses),
}


def model_of(
    name: str,
    *,
    base_url: str | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = 120.0,
    retries: int = 2,
    **settings: Any,
) -> Model:
    """The model that ``PROVIDER:MODEL`` names, or ``MODEL`` of the OpenAI-compatible endpoint at ``base_url``.

    The key is that of the provider, from the environment (``OPENAI_API_KEY``, …); with a ``base_url`` of another host
    it is ``TOOLTRUE_MODEL_KEY``, if set. ``settings`` are those of the provider's class: ``stream``, ``sees``,
    ``max_tokens``, ``more``. ``ConfigurationError`` for an unknown name, an invalid URL, a missing key, or a missing
    package.
    """
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise ConfigurationError.of(MODEL_URL_INVALID, url=base_url)
    provider, colon, model = name.partition(":")
    if not colon or provider not in ENDPOINTS:
        if base_url is None:
            raise ConfigurationError.of(UNKNOWN_MODEL, model=name, known=", ".join(ENDPOINTS))
        provider, model = "openai", name
    endpoint = ENDPOINTS[provider]
    package, load = _APIS[endpoint.api]
    if importlib.util.find_spec(package) is None:
        command = install_command(package)
        raise ConfigurationError.of(MODEL_PACKAGE_MISSING, model=name, package=package, command=command)
    variable = endpoint.variable if base_url is None or _is_same(base_url, endpoint.url) else None
    access = ModelAccess(key_of(name, variable, environment), base_url or endpoint.url, seconds, retries)
    return load()(model, access, **{"profile": endpoint.profile or endpoint.api, **settings})


def _is_same(url: str, provider_url: str) -> bool:
    """Whether a URL leads to the host that a provider's key is for."""
    return urlsplit(url)[:2] == urlsplit(provider_url)[:2]
