"""The web tools: fetch a page, and get the weather.

``pages`` has ``fetch_url``, ``reading`` converts responses to text (in processes of ``html_reader`` and
``pdf_reader``), ``robots`` obeys ``robots.txt``, ``weather`` has ``get_weather``. :mod:`tooltrue.transport.fetch`
decides where requests may go.
"""

from __future__ import annotations

from tooltrue.toolbox.web.pages import Page, Pages
from tooltrue.toolbox.web.tools import WebSettings, toolset
from tooltrue.toolbox.web.weather import Weather, WeatherReport

__all__ = ["Page", "Pages", "Weather", "WeatherReport", "WebSettings", "toolset"]
