"""The toolset of the web tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tooltrue.tools.local import LocalToolset
from tooltrue.transport import fetch
from tooltrue.transport.fetch import Fetcher, Resolve
from tooltrue.version import __version__
from tooltrue_toolbox.registration import add_tools
from tooltrue_toolbox.service_client import ServicePatience, check_urls
from tooltrue_toolbox.web.document_reader import check_installed
from tooltrue_toolbox.web.pages import WebPages
from tooltrue_toolbox.web.weather import FORECASTS, PLACES, Weather

if TYPE_CHECKING:
    from tooltrue_toolbox.web.robots import Robots

__all__ = ["WebSettings", "toolset"]

_PORTS = (80, 443)


@dataclass(frozen=True, slots=True)
class WebSettings:
    """``inside``: URLs of hosts and ports on this machine or in private networks that pages may be fetched from.
    ``robots``: whether ``robots.txt`` is obeyed. ``places`` and ``forecasts``: the services of ``get_weather``.
    ``max_bytes`` of a document, compressed or not; ``seconds`` for one request; ``redirects`` that are followed.
    ``program`` is the ``User-Agent`` that sites see."""

    inside: tuple[str, ...] = ()
    robots: bool = False
    places: str = PLACES
    forecasts: str = FORECASTS
    max_bytes: int = 10 << 20
    seconds: float = 20.0
    redirects: int = 5
    program: str = f"tooltrue/{__version__}"
    patience: ServicePatience = field(default_factory=ServicePatience)
    resolve: Resolve = fetch.resolve


def toolset(settings: WebSettings | None = None) -> LocalToolset:
    """The web tools. ``ConfigurationError`` where their packages are missing, or a URL of the settings is invalid."""
    check_installed()
    options = settings or WebSettings()
    check_urls(*options.inside, options.places, options.forecasts)
    pages = Fetcher(
        options.inside,
        resolve=options.resolve,
        seconds=options.seconds,
        max_bytes=options.max_bytes,
        plain=True,
        ports=_PORTS,
        redirects=options.redirects,
    )
    services = Fetcher((options.places, options.forecasts), resolve=options.resolve, seconds=options.seconds)
    robots = _robots(pages, options.program) if options.robots else None
    tools = LocalToolset()
    web = WebPages(pages, program=options.program, robots=robots, patience=options.patience)
    weather = Weather(services, places=options.places, forecasts=options.forecasts, patience=options.patience)
    add_tools(tools, web)
    add_tools(tools, weather)
    return tools


def _robots(fetcher: Fetcher, program: str) -> Robots:
    from tooltrue_toolbox.web.robots import Robots  # noqa: PLC0415 - few servers obey robots.txt

    return Robots(fetcher, program)
