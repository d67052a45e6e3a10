"""Parts of open pages that renew themselves, by server-sent events: looked at and rendered once for all viewers of the
same part in the same language."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable

from tooltrue.errors import TooltrueError
from tooltrue_console.desk import Desk
from tooltrue_console.live import SharedView
from tooltrue_console.rendering import render
from tooltrue_console.visits import EventStream, Html, PageVisit

__all__ = ["live_part"]


def live_part(
    desk: Desk, visit: PageVisit, key: Hashable, look: Callable[[], Awaitable[Html]], *, every: float = 1.0
) -> EventStream:
    """Return the events of a part: ``changed`` with its HTML, or ``problem`` with a sentence, each as JSON.

    Its template may use no value of one viewer. ``look`` returns the same object while nothing has changed. Viewers
    with the same ``key`` share the ``look`` of the first of them."""
    view = desk.parts.of((key, visit.language, visit.base), _LivePart(visit, look).event, every=every)
    return EventStream(_events(view))


async def _events(view: SharedView[tuple[str, str]]) -> AsyncGenerator[tuple[str, str]]:
    async for event in view.values():
        yield ("alive", "") if event is None else event


class _LivePart:
    def __init__(self, visit: PageVisit, look: Callable[[], Awaitable[Html]]) -> None:
        self._language = visit.language
        self._base = visit.base
        self._look = look
        self._part: Html | None = None
        self._event = ("", "")

    async def event(self) -> tuple[str, str]:
        try:
            part, name = await self._look(), "changed"
        except TooltrueError as error:
            part, name = Html("_problem.html", {"sentence": error.say(self._language)}), "problem"
        if part is not self._part:
            html = render(part.template, self._language, {"base": self._base, **part.values})
            self._part, self._event = part, (name, json.dumps(html))
        return self._event
