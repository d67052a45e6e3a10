"""The GitHub tools, for repositories that the operator has named.

``api`` sends the requests and translates errors, ``scope`` holds the served repositories, ``issue_text`` converts issue
texts, ``github_tools`` has the functions that models call.
"""

from __future__ import annotations

from tooltrue_toolbox.github.api import API
from tooltrue_toolbox.github.github_tools import GitHub, GitHubSettings, toolset

__all__ = ["API", "GitHub", "GitHubSettings", "toolset"]
