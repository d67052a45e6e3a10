"""A Python function → a tool: its contract is derived here, once, at registration. Owns pydantic.

JSON Schema alone accepts or refuses arguments; pydantic writes the schema and then only *converts* (strict JSON mode).
What cannot be described is a ``DefinitionError`` that names the fix.

In reading order: ``settings`` (what an author declares), ``signature`` (what the function says), ``schemas`` (what is
published of it), ``results`` (what is returned), ``bind`` (all of it together, and the call), and ``forms``, which does
the same for what a person is asked.
"""

from __future__ import annotations

from toolwright.tools.binding.bind import Bound, bind, bind_raw
from toolwright.tools.binding.forms import Form
from toolwright.tools.binding.settings import Depends, Settings

__all__ = ["Bound", "Depends", "Form", "Settings", "bind", "bind_raw"]
