"""The web tools: what is on a page, and what the weather is.

``pages`` has ``fetch_url``, ``reading`` makes text of what came (in processes of ``html_reader`` and ``pdf_reader``),
``robots`` asks what sites want, ``weather`` has ``get_weather``. Where requests may go is the business of
:mod:`toolwright.transport.fetch`.
"""

from __future__ import annotations

from toolwright.toolbox.web.pages import Page, Pages
from toolwright.toolbox.web.tools import WebSettings, toolset
from toolwright.toolbox.web.weather import Weather, WeatherReport

__all__ = ["Page", "Pages", "Weather", "WeatherReport", "WebSettings", "toolset"]
