"""``get_weather`` against services on loopback that answer as Open-Meteo does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from services.calling import Waits, call
from support.website import Asked, Said, Site, running
from tooltrue.client.call_results import Result
from tooltrue_toolbox.web import WebSettings, toolset

PLACES = [
    {"name": "New York", "latitude": 40.71, "longitude": -74.01, "country": "United States", "admin1": "New York"},
    {"name": "New York", "latitude": 53.08, "longitude": -0.14, "country": "United Kingdom", "admin1": "England"},
]


def service(asked: Asked) -> Said:
    if asked.path == "/places":
        return Said(
            200, {"results": PLACES} if asked.query["name"].startswith("New York") else {"generationtime_ms": 1}
        )
    days = int(asked.query["forecast_days"])
    fahrenheit = asked.query["temperature_unit"] == "fahrenheit"
    current = {
        "time": "2026-11-22T07:00",
        "interval": 900,
        "temperature_2m": 72.0 if fahrenheit else 22,
        "apparent_temperature": 71.0 if fahrenheit else 21.5,
        "relative_humidity_2m": 60,
        "precipitation": None,
        "weather_code": 2,
        "wind_speed_10m": 8.1,
    }
    daily = {
        "time": [f"2026-11-{22 + day}" for day in range(days)],
        "weather_code": [61] * days,
        "temperature_2m_max": [24.0] * days,
        "temperature_2m_min": [15.5] * days,
        "precipitation_sum": [1.2] * days,
        "wind_speed_10m_max": [20.0] * days,
    }
    return Said(200, {"latitude": 40.7, "longitude": -74.0, "current": current, "daily": daily})


def weather(answers: Callable[[Asked], Said] = service, **arguments: Any) -> tuple[Result, Site]:
    with running(answers) as site:
        settings = WebSettings(places=f"{site.url}/places", forecasts=f"{site.url}/now", patience=Waits().patience)
        return call(toolset(settings), "get_weather", **{"location": "New York", **arguments}), site


def test_the_weather_of_a_place_is_that_of_the_first_of_its_name():
    found = weather(days=2, units="imperial")[0].value
    assert found["place"]["region"] == "New York"
    assert found["others"] == ["New York, England, United Kingdom"]
    assert found["units"] == {"temperature": "°F", "wind_speed": "mph", "precipitation": "inch"}
    assert (found["now"]["temperature"], found["now"]["condition"]) == (72.0, "partly cloudy")
    assert found["now"]["precipitation"] is None
    assert [(each["date"], each["condition"]) for each in found["days"]] == [
        ("2026-11-22", "light rain"),
        ("2026-11-23", "light rain"),
    ]


def test_coordinates_are_not_looked_up():
    result, site = weather(location="52.52，13.41")
    assert (result.value["place"]["latitude"], result.value["place"]["longitude"]) == (52.52, 13.41)
    assert site.paths == ["/now"]


@pytest.mark.parametrize(
    ("location", "code"), [("Atlantis", "TT6421"), ("95, 10", "TT6420"), ("  ", "TT2001"), ("x" * 101, "TT2001")]
)
def test_a_place_that_is_none_is_told(location: str, code: str):
    assert weather(location=location)[0].text.endswith(f"[{code}]")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (Said(429, {"error": True}, (("retry-after", "60"),)), "TT6423"),
        (Said(400, {"error": True, "reason": "x"}), "TT6422"),
        (Said(200, "no json"), "TT6422"),
        (Said(200, {"current": {}, "daily": {}}), "TT6422"),
        (Said(200, {"current": {"time": "x"}, "daily": {"time": ["a"]}}), "TT6422"),
        (Said(drop=True), "TT6422"),
    ],
)
def test_a_service_that_fails_is_told_of(said: Said, code: str):
    result, _ = weather(lambda asked: service(asked) if asked.path == "/places" else said)
    assert result.text.endswith(f"[{code}]"), result.text
