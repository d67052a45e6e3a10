"""The decorator by which the families of the toolbox register their tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tooltrue.tools.local import LocalToolset
from tooltrue_toolbox.registration import add_tools, preview_of, settings_of, tool


class Notes:
    """A family with one tool that reads and one that writes."""

    def __init__(self, label: str) -> None:
        self.label = label

    @tool(effect="read", idempotent=True)
    def read_note(self) -> str:
        """Read the note."""
        return self.label

    @tool({"effect": "write", "title": "Shared"}, title="Write the note")
    def write_note(self, text: str) -> str:
        """Write the note."""
        self.label = text
        return text

    @preview_of(write_note)
    def preview_write_note(self, arguments: dict[str, Any]) -> str:
        return f"{self.label} becomes {arguments['text']}"

    def helper(self) -> None: ...


def settings(method: Callable[..., Any], **changes: Any) -> dict[str, Any]:
    return dict(settings_of(method, **changes))


def test_marked_methods_become_tools_and_others_do_not() -> None:
    tools = LocalToolset()
    add_tools(tools, Notes("a"))
    assert tools.names == ("read_note", "write_note")


def test_read_only_leaves_out_a_tool_that_writes() -> None:
    tools = LocalToolset()
    add_tools(tools, Notes("a"), read_only=True)
    assert tools.names == ("read_note",)


def test_settings_override_shared_ones_and_run_time_changes_override_both() -> None:
    method = Notes("a").write_note
    assert settings(method)["title"] == "Write the note"
    changed = settings(method, title="At run time", meta={"x": 1})
    assert (changed["title"], changed["effect"], changed["meta"]) == ("At run time", "write", {"x": 1})
    assert settings(method)["title"] == "Write the note"


def test_a_preview_is_bound_to_the_object_of_its_tool() -> None:
    one, other = Notes("one"), Notes("other")
    assert settings(one.write_note)["preview"]({"text": "new"}) == "one becomes new"
    assert settings(other.write_note)["preview"]({"text": "new"}) == "other becomes new"
    assert "preview" not in settings(one.read_note)
