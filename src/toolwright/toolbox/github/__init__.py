"""The GitHub tools, for repositories that the operator has named.

``api`` asks the service and words what goes wrong, ``scope`` knows which repositories are served, ``text`` is what
comes from and goes to people, ``tools`` is what models call.
"""

from __future__ import annotations

from toolwright.toolbox.github.api import API
from toolwright.toolbox.github.tools import TOOLS, GitHub, GitHubSettings, toolset

__all__ = ["API", "TOOLS", "GitHub", "GitHubSettings", "toolset"]
