"""``get_weather``: the weather of a place, by two services with the API of Open-Meteo: one finds places, the other has
the weather at coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired
from urllib.parse import urlencode

from pydantic import Field
from typing_extensions import TypedDict  # pydantic rejects the one of typing before Python 3.12

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue.transport.fetch import Fetcher, FetchResponse, NotFetched
from tooltrue.wording import Worded
from tooltrue_toolbox.registration import tool
from tooltrue_toolbox.service_client import ServicePatience, json_of, wait_of, with_retries
from tooltrue_toolbox.web.wording import (
    COORDINATES_OUT_OF_RANGE,
    REASON_ANSWERED_STATUS,
    REASON_NO_FORECAST,
    REASON_NO_PLACES,
    UNKNOWN_LOCATION,
    WEATHER_SERVICE_ERROR,
    WEATHER_SERVICE_RATE_LIMITED,
)

__all__ = ["FORECASTS", "PLACES", "Weather", "WeatherReport"]

PLACES = "https://geocoding-api.open-meteo.com/v1/search"
FORECASTS = "https://api.open-meteo.com/v1/forecast"

Units = Literal["metric", "imperial"]

_COORDINATES = re.compile(r"\s*(-?\d{1,2}(?:\.\d{1,10})?)\s*[,，]\s*(-?\d{1,3}(?:\.\d{1,10})?)\s*")
_UNITS: Mapping[Units, Mapping[str, str]] = {
    "metric": {"temperature_unit": "celsius", "wind_speed_unit": "kmh", "precipitation_unit": "mm"},
    "imperial": {"temperature_unit": "fahrenheit", "wind_speed_unit": "mph", "precipitation_unit": "inch"},
}
_NOW = "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,wind_speed_10m"
_DAILY = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,wind_speed_10m_max"

# WMO code table 4677, as far as the service uses it
_CONDITIONS = {
    0: "clear sky",
    1: "mainly clear",
    2: "partly cloudy",
    3: "overcast",
    45: "fog",
    48: "freezing fog",
    51: "light drizzle",
    53: "drizzle",
    55: "dense drizzle",
    56: "light freezing drizzle",
    57: "freezing drizzle",
    61: "light rain",
    63: "rain",
    65: "heavy rain",
    66: "light freezing rain",
    67: "freezing rain",
    71: "light snow",
    73: "snow",
    75: "heavy snow",
    77: "snow grains",
    80: "light showers",
    81: "showers",
    82: "violent showers",
    85: "light snow showers",
    86: "snow showers",
    95: "thunderstorm",
    96: "thunderstorm with hail",
    99: "thunderstorm with heavy hail",
}


class Place(TypedDict):
    name: str
    region: NotRequired[str]
    country: NotRequired[str]
    latitude: Annotated[float, Field(ge=-90, le=90)]
    longitude: Annotated[float, Field(ge=-180, le=180)]


class Now(TypedDict):
    """The weather at ``time``, which is local to the place."""

    time: str
    condition: str
    temperature: float | None
    feels_like: float | None
    humidity_percent: float | None
    precipitation: float | None
    wind_speed: float | None


class Day(TypedDict):
    date: str
    condition: str
    temperature_max: float | None
    temperature_min: float | None
    precipitation: float | None
    wind_speed_max: float | None


class WeatherUnits(TypedDict):
    temperature: Literal["°C", "°F"]
    wind_speed: Literal["km/h", "mph"]
    precipitation: Literal["mm", "inch"]


class WeatherReport(TypedDict):
    """The weather of the place that was found; null where the service does not know."""

    place: Place
    others: Annotated[list[str], Field(description="Further places of that name; say which is meant")]
    units: WeatherUnits
    now: Now
    days: list[Day]


class Weather:
    """The tool, over the two services."""

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        places: str = PLACES,
        forecasts: str = FORECASTS,
        patience: ServicePatience | None = None,
    ) -> None:
        self._fetcher = fetcher
        self._places = places
        self._forecasts = forecasts
        self._patience = patience or ServicePatience()

    @tool(
        effect="read",
        idempotent=True,
        open_world=True,
        sends=True,
        seconds=60.0,
        title="Get the weather",
        examples=({"location": "New York"}, {"location": "北京", "days": 3}),
    )
    async def get_weather(
        self,
        location: Annotated[
            str,
            "City or postal code (城市名称或邮政编码), with a country or region behind a comma where several are "
            "called so, e.g. 'Springfield, Illinois'; or latitude and longitude, e.g. '52.52, 13.41'",
            Field(min_length=2, max_length=100, pattern=r"\S"),
        ],
        days: Annotated[int, "Days of forecast, today included", Field(ge=1, le=16)] = 1,
        units: Annotated[Units, "metric: °C, km/h, mm; imperial: °F, mph, inch"] = "metric",
    ) -> WeatherReport:
        """Get the weather of a place (获取某地的天气信息): as it is now, and the forecast for up to 16 days.

        Use when the user asks for the weather, the temperature or whether it will rain somewhere. Not for past weather
        or climate. When others is not empty and the user may have meant one of those, call again with the country or
        region. Side effects: the weather service learns the location; nothing is changed.
        """
        place, others = await self._place(location)
        query = {
            "latitude": place["latitude"],
            "longitude": place["longitude"],
            "current": _NOW,
            "daily": _DAILY,
            "forecast_days": days,
            "timezone": "auto",
            **_UNITS[units],
        }
        forecast = await self._get_json(self._forecasts, query)
        try:
            return WeatherReport(
                place=place, others=others, units=_units(units), now=_now(forecast), days=_days(forecast)
            )
        except (KeyError, TypeError, ValueError):
            raise ToolError.of(WEATHER_SERVICE_ERROR, problem=Worded(REASON_NO_FORECAST, {})) from None

    async def _place(self, location: str) -> tuple[Place, list[str]]:
        if match := _COORDINATES.fullmatch(location):
            latitude, longitude = float(match[1]), float(match[2])
            if abs(latitude) > 90 or abs(longitude) > 180:
                raise ToolError.of(COORDINATES_OUT_OF_RANGE, location=location)
            return Place(name=location.strip(), latitude=latitude, longitude=longitude), []
        answer = await self._get_json(self._places, {"name": location.strip(), "count": 5, "format": "json"})
        results = answer.get("results") if is_object(answer) else None
        places = [_place(each) for each in results if is_object(each)] if is_array(results) else []
        if not places:
            raise ToolError.of(UNKNOWN_LOCATION, location=location)
        return places[0], [_place_name(each) for each in places[1:]]

    async def _get_json(self, url: str, query: Mapping[str, Any]) -> dict[str, Any]:
        async def ask() -> FetchResponse:
            return await self._fetcher.request("GET", f"{url}?{urlencode(query)}")

        try:
            answer = await with_retries(ask, self._patience)
        except NotFetched as error:
            raise ToolError.of(WEATHER_SERVICE_ERROR, problem=error.facts["problem"]) from None
        if answer.status == 429:
            wait = wait_of(answer.headers, self._patience.now())
            raise ToolError.of(WEATHER_SERVICE_RATE_LIMITED, seconds=60 if wait is None else min(int(wait) + 1, 86_400))
        value = json_of(answer)
        if answer.status != 200 or not is_object(value):
            raise ToolError.of(WEATHER_SERVICE_ERROR, problem=Worded(REASON_ANSWERED_STATUS, {"status": answer.status}))
        return value


def _place(result: Mapping[str, Any]) -> Place:
    try:
        place = Place(
            name=str(result["name"])[:100], latitude=float(result["latitude"]), longitude=float(result["longitude"])
        )
    except (KeyError, TypeError, ValueError):
        raise ToolError.of(WEATHER_SERVICE_ERROR, problem=Worded(REASON_NO_PLACES, {})) from None
    if region := result.get("admin1"):
        place["region"] = str(region)[:100]
    if country := result.get("country"):
        place["country"] = str(country)[:100]
    return place


def _place_name(place: Place) -> str:
    return ", ".join(filter(None, (place["name"], place.get("region"), place.get("country"))))


def _units(units: Units) -> WeatherUnits:
    if units == "metric":
        return WeatherUnits(temperature="°C", wind_speed="km/h", precipitation="mm")
    return WeatherUnits(temperature="°F", wind_speed="mph", precipitation="inch")


def _now(forecast: Mapping[str, Any]) -> Now:
    now = forecast["current"]
    return Now(
        time=str(now["time"])[:40],
        condition=_condition(now.get("weather_code")),
        temperature=_number(now.get("temperature_2m")),
        feels_like=_number(now.get("apparent_temperature")),
        humidity_percent=_number(now.get("relative_humidity_2m")),
        precipitation=_number(now.get("precipitation")),
        wind_speed=_number(now.get("wind_speed_10m")),
    )


def _days(forecast: Mapping[str, Any]) -> list[Day]:
    daily = forecast["daily"]
    columns = [daily["time"], *(daily[name] for name in _DAILY.split(","))]
    return [
        Day(
            date=str(date)[:40],
            condition=_condition(code),
            temperature_max=_number(highest),
            temperature_min=_number(lowest),
            precipitation=_number(rain),
            wind_speed_max=_number(wind),
        )
        for date, code, highest, lowest, rain, wind in zip(*columns, strict=True)
    ]


def _condition(code: object) -> str:
    return _CONDITIONS.get(code, f"WMO code {code}") if isinstance(code, int) else "unknown"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
