"""The GitHub tools, for repositories that the operator has named.

``api`` sends the requests and translates errors, ``scope`` holds the served repositories, ``text`` converts issue
texts, ``tools`` has the functions that models call.
"""

from __future__ import annotations

from tooltrue.toolbox.github.api import API
from tooltrue.toolbox.github.tools import TOOLS, GitHub, GitHubSettings, toolset

__all__ = ["API", "TOOLS", "GitHub", "GitHubSettings", "toolset"]
