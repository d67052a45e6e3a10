"""The web tools: fetch a page, and get the weather.

``pages`` has ``fetch_url``, ``document_reader`` converts responses to text (in processes of ``html_reader`` and
``pdf_reader``), ``robots`` obeys ``robots.txt``, ``weather`` has ``get_weather``. :mod:`tooltrue.transport.fetch`
decides where requests may go.
"""

from __future__ import annotations

from tooltrue_toolbox.web.pages import WebPage, WebPages
from tooltrue_toolbox.web.weather import Weather, WeatherReport
from tooltrue_toolbox.web.web_tools import WebSettings, toolset

__all__ = ["Weather", "WeatherReport", "WebPage", "WebPages", "WebSettings", "toolset"]
