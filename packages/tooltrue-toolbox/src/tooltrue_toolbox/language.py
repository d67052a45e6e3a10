"""The language tools: translation by a service with the API of LibreTranslate."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict  # pydantic rejects the one of typing before Python 3.12

from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue.tools.local import LocalToolset
from tooltrue.transport import fetch
from tooltrue.transport.fetch import Fetcher, FetchResponse, NotFetched, Resolve
from tooltrue.wording import Worded
from tooltrue_toolbox.registration import add_tools, tool
from tooltrue_toolbox.service_client import ServicePatience, check_urls, json_of, wait_of, with_retries
from tooltrue_toolbox.wording import (
    REASON_STATUS,
    TRANSLATION_KEY_REJECTED,
    TRANSLATION_LANGUAGES_NOT_SUPPORTED,
    TRANSLATION_SERVICE_ERROR,
    TRANSLATION_SERVICE_RATE_LIMITED,
    TRANSLATION_URL_REQUIRED,
)

__all__ = ["Language", "LanguageSettings", "Translation", "toolset"]

_KEY = "TRANSLATE_API_KEY"
_CODE = "^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})?$"


class Translation(TypedDict):
    text: str
    source: Annotated[str, Field(description="Language that the text was translated from")]
    target: str
    confidence: NotRequired[Annotated[float, Field(description="Of the language that was found, in percent", ge=0)]]


@dataclass(frozen=True, slots=True)
class LanguageSettings:
    """``url``: the service, such as ``http://127.0.0.1:5000``. ``key`` is for services that require one; over HTTP
    without TLS it is only sent on this machine."""

    url: str
    key: str | None = field(default_factory=lambda: os.environ.get(_KEY), repr=False)
    seconds: float = 45.0
    patience: ServicePatience = field(default_factory=ServicePatience)
    resolve: Resolve = fetch.resolve


class Language:
    """The tool, over the service."""

    def __init__(self, fetcher: Fetcher, settings: LanguageSettings) -> None:
        self._fetcher = fetcher
        self._url = settings.url.rstrip("/")
        self._key = settings.key
        self._patience = settings.patience

    @tool(
        effect="read",
        idempotent=True,
        open_world=True,
        sends=True,
        seconds=60.0,
        title="Translate a text",
        examples=({"text": "Good morning", "target": "zh"}, {"text": "你好", "source": "zh", "target": "en"}),
    )
    async def translate_text(
        self,
        text: Annotated[str, "Text to translate (要翻译的文本), no markup", Field(min_length=1, max_length=10_000)],
        target: Annotated[str, "Language to translate to (目标语言), a code: en, zh, de, pt-BR", Field(pattern=_CODE)],
        source: Annotated[
            str, "Language of the text as a code; auto finds it out", Field(pattern=f"^auto$|{_CODE}")
        ] = "auto",
    ) -> Translation:
        """Translate a text (翻译文本) from one language to another by a translation service.

        Use when the user wants a text in another language, word for word as a service has it. Not for summaries, for
        documents longer than 10,000 characters (translate them in parts), or for texts that must stay here. Side
        effects: the text is sent to the translation service; nothing is changed.
        """
        request: dict[str, Json] = {"q": text, "source": source, "target": target, "format": "text"}
        if self._key:
            request["api_key"] = self._key
        answer = await self._send(lambda: self._post("/translate", request))
        value = json_of(answer)
        if answer.status == 400:
            raise await self._unsupported(source, target, _problem(value))
        translated = value.get("translatedText") if is_object(value) else None
        if answer.status != 200 or not is_object(value) or not isinstance(translated, str):
            raise ToolError.of(
                TRANSLATION_SERVICE_ERROR,
                problem=Worded(REASON_STATUS, {"status": answer.status, "detail": _problem(value)}),
            )
        return _translation(translated, source, target, value.get("detectedLanguage"))

    async def _post(self, path: str, value: Json) -> FetchResponse:
        headers = {"content-type": "application/json", "accept": "application/json"}
        return await self._fetcher.request("POST", f"{self._url}{path}", headers=headers, content=encode(value))

    async def _send(self, ask: Callable[[], Any]) -> FetchResponse:
        """Send a request with retries: to translate twice changes nothing, so this POST may be repeated."""
        try:
            answer = await with_retries(ask, self._patience)
        except NotFetched as error:
            raise ToolError.of(TRANSLATION_SERVICE_ERROR, problem=error.facts["problem"]) from None
        if answer.status == 429:
            wait = wait_of(answer.headers, self._patience.now())
            raise ToolError.of(
                TRANSLATION_SERVICE_RATE_LIMITED, seconds=60 if wait is None else min(int(wait) + 1, 86_400)
            )
        if answer.status in (401, 403):
            raise ToolError.of(
                TRANSLATION_KEY_REJECTED, problem=Worded(REASON_STATUS, {"status": answer.status, "detail": ""})
            )
        return answer

    async def _unsupported(self, source: str, target: str, problem: str) -> ToolError:
        """The error for a 400: a language that the service does not support, or another problem."""
        answer = await self._send(lambda: self._fetcher.request("GET", f"{self._url}/languages"))
        value = json_of(answer)
        codes = sorted(str(each.get("code")) for each in value if is_object(each)) if is_array(value) else []
        if codes and not ({source, target} - {"auto"} <= set(codes)):
            return ToolError.of(
                TRANSLATION_LANGUAGES_NOT_SUPPORTED, source=source, target=target, known=", ".join(codes[:150])
            )
        return ToolError.of(
            TRANSLATION_SERVICE_ERROR, problem=Worded(REASON_STATUS, {"status": 400, "detail": problem})
        )


def _problem(value: Json) -> str:
    message = value.get("error") if is_object(value) else None
    return f", {message[:200]!r}" if isinstance(message, str) else ""


def _translation(text: str, source: str, target: str, detected: Json) -> Translation:
    made = Translation(text=text, source=source, target=target)
    if is_object(detected) and isinstance(language := detected.get("language"), str):
        made["source"] = language[:20]
        confidence = detected.get("confidence")
        if isinstance(confidence, int | float) and confidence >= 0:
            made["confidence"] = float(confidence)
    return made


def toolset(settings: LanguageSettings | None) -> LocalToolset:
    """The language tools. ``ConfigurationError`` without the address of a service."""
    if settings is None or not settings.url:
        raise ConfigurationError.of(TRANSLATION_URL_REQUIRED)
    check_urls(settings.url)
    fetcher = Fetcher((settings.url,), resolve=settings.resolve, seconds=settings.seconds, plain=not settings.key)
    tools = LocalToolset()
    add_tools(tools, Language(fetcher, settings))
    return tools
