"""``translate_text`` against a service on loopback that answers as LibreTranslate does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from services.calling import Waits, call
from support.website import Asked, Said, Site, running
from tooltrue.client.call_results import Result
from tooltrue.errors import ConfigurationError
from tooltrue_toolbox.language import LanguageSettings, toolset

WORDS = {("en", "zh"): {"Good morning": "早上好"}}
LANGUAGES = [{"code": "en", "name": "English", "targets": ["zh"]}, {"code": "zh", "name": "Chinese", "targets": ["en"]}]


def service(asked: Asked) -> Said:
    if asked.path == "/languages":
        return Said(200, LANGUAGES)
    wanted = asked.json
    source = "en" if wanted["source"] == "auto" else wanted["source"]
    if wanted["target"] not in ("en", "zh"):
        return Said(400, {"error": f"{wanted['target']} is not supported"})
    said: dict[str, Any] = {"translatedText": WORDS[source, wanted["target"]][wanted["q"]]}
    if wanted["source"] == "auto":
        said["detectedLanguage"] = {"confidence": 92.0, "language": "en"}
    return Said(200, said)


def translate(
    answers: Callable[[Asked], Said] = service, *, key: str | None = None, waits: Waits | None = None, **arguments: Any
) -> tuple[Result, Site]:
    with running(answers) as site:
        settings = LanguageSettings(site.url, key=key, patience=(waits or Waits()).patience)
        return call(toolset(settings), "translate_text", **{"text": "Good morning", "target": "zh", **arguments}), site


def test_a_text_is_translated_and_its_language_found_out():
    result, site = translate()
    assert result.value == {"text": "早上好", "source": "en", "target": "zh", "confidence": 92.0}
    assert site.asked[0].json == {"q": "Good morning", "source": "auto", "target": "zh", "format": "text"}


def test_a_language_that_is_said_is_not_found_out():
    assert translate(source="en")[0].value == {"text": "早上好", "source": "en", "target": "zh"}


def test_a_language_that_the_service_lacks_is_told_with_those_that_it_has():
    text = translate(target="tlh")[0].text
    assert "known languages: en, zh" in text
    assert text.endswith("[TT6461]")


@pytest.mark.parametrize("target", ["English", "../x", "", "zh_CN "])
def test_a_target_is_the_code_of_a_language(target: str):
    assert translate(target=target)[0].text.endswith("[TT2001]")


def test_a_service_that_is_busy_is_asked_again_and_then_told_of():
    waits = Waits()
    result, site = translate(lambda asked: Said(429, {"error": "Slowdown"}, (("retry-after", "2"),)), waits=waits)
    assert "in 3 s" in result.text
    assert result.text.endswith("[TT6462]")
    assert (waits.seconds, len(site.asked)) == ([2.0, 2.0], 3)


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (Said(403, {"error": "Invalid API key"}), "TT6463"),
        (Said(500, "oops"), "TT6464"),
        (Said(200, "no json"), "TT6464"),
        (Said(200, {"translatedText": 7}), "TT6464"),
        (Said(400, {"error": "text too long"}), "TT6464"),
    ],
)
def test_an_error_has_a_code_and_a_next_step(said: Said, code: str):
    result, _ = translate(lambda asked: Said(200, LANGUAGES) if asked.path == "/languages" else said)
    assert result.text.endswith(f"[{code}]"), result.text


def test_the_key_is_sent_and_never_said():
    result, site = translate(key="k-123")
    assert site.asked[0].json["api_key"] == "k-123"
    assert "k-123" not in str(result.raw)
    assert "k-123" not in repr(LanguageSettings("http://127.0.0.1", key="k-123"))


def test_a_secret_is_not_sent_to_be_translated():
    result, site = translate(text="token " + "ghp" + "_" + "8Kd" * 12)
    assert result.text.endswith("[TT6450]")
    assert site.asked == []


def test_a_service_has_to_be_named():
    with pytest.raises(ConfigurationError) as caught:
        toolset(None)
    assert caught.value.code == "TT6460"
