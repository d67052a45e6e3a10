"""Display of the events of a chat: to a person, or as lines of JSON for a program."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from textwrap import indent
from typing import Any, Protocol

from tooltrue.cli.printing import one_line, tell, tell_json
from tooltrue.host.calls import EndedCall
from tooltrue.host.chat import ChatTool, Event
from tooltrue.policy.consent.argument_display import display_arguments

__all__ = ["JsonScreen", "Screen", "TerminalScreen", "size", "why"]


class Screen(Protocol):
    def on_event(self, event: Event) -> None: ...

    def tools(self, tools: Iterable[ChatTool]) -> None: ...

    def note(self, text: str) -> None: ...

    def prompting(self) -> AbstractContextManager[Callable[[], None]]:
        """A context in which a person may type a line; gives the function that shows the prompt. What is shown in the
        context stands above the prompt."""
        ...


class JsonScreen:
    """One JSON object per event on standard output, with its kind in ``event``."""

    def on_event(self, event: Event) -> None:
        tell_json(event, indent=None)

    def tools(self, tools: Iterable[ChatTool]) -> None:
        fields = ChatTool.__struct_fields__
        self.on_event({"event": "tools", "tools": [{name: getattr(one, name) for name in fields} for one in tools]})

    def note(self, text: str) -> None:
        tell(text, err=True)

    def prompting(self) -> AbstractContextManager[Callable[[], None]]:
        return nullcontext(_nothing)


def _nothing() -> None: ...


class TerminalScreen:
    """The model's answer on standard output, as it arrives; all other events on standard error."""

    def __init__(self) -> None:
        self._is_midway = False
        self._thinks = False
        self._prompts = False

    def on_event(self, event: Event) -> None:
        show: Callable[[Event], None] | None = getattr(self, f"_{event['event']}", None)
        if show is None:
            return
        if self._prompts:
            tell(err=True)
        show(event)
        if self._prompts:
            self._prompt()

    @contextmanager
    def prompting(self) -> Generator[Callable[[], None]]:
        self._prompts = True
        try:
            yield self._prompt
        finally:
            self._prompts = False

    def _prompt(self) -> None:
        tell("\n> ", bold=True, nl=False, err=True)

    def tools(self, tools: Iterable[ChatTool]) -> None:
        by_server: dict[str, list[ChatTool]] = {}
        for one in tools:
            by_server.setdefault(one.server, []).append(one)
        for server, offered in by_server.items():
            self._mark(one_line(f"{server or 'tools'}:"), bold=True)
            for one in offered:
                first = one.description.strip().partition("\n")[0]
                self._mark(
                    one_line(f"  {one.name}  [{one.effect}]  {first}" if not one.why else f"  {one.name}  ✘ {one.why}")
                )
        if not by_server:
            self._mark("No tools.")

    def note(self, text: str) -> None:
        self._mark(text)

    # --- events -------------------------------------------------------------------------------------------------------

    def _text(self, event: Event) -> None:
        if self._thinks:
            self._break()
        self._thinks = False
        self._say(event["text"], err=False)

    def _thinking(self, event: Event) -> None:
        if not self._thinks:
            self._break()
        self._thinks = True
        self._say(event["text"], err=True, fg="bright_black")

    def _call(self, event: Event) -> None:
        whose = ", ".join(filter(None, (event["server"], event["effect"])))
        self._mark(one_line(f"▶ {event['tool']} ({whose})"), fg="yellow")
        self._mark(indent(display_arguments(event["arguments"]), "    "))

    def _progress(self, event: Event) -> None:
        total = "" if event["total"] is None else f" of {event['total']:g}"
        line = f"  … {event['tool']} {event['progress']:g}{total} {event['message'] or ''}"
        self._mark(one_line(line.rstrip()), fg="cyan")

    def _task(self, event: Event) -> None:
        line = f"⧗ {event['tool']} goes on as task {event['number']} ({event['task'][:8]})"
        self._mark(one_line(line), fg="yellow")

    def _result(self, event: Event) -> None:
        took = f"{event['tool']}  {event['seconds']:.2f} s, {size(event['bytes'])}"
        if event["is_error"]:
            self._mark(one_line(f"✘ {took}"), fg="red")
            self._mark(indent(_cut(event["text"]), "    "))
        else:
            self._mark(one_line(f"✔ {took}"), fg="green")

    def _log(self, event: Event) -> None:
        whose = " ".join(filter(None, (event["server"], event["logger"])))
        before = f"(and {event['left_out']} before it) " if event["left_out"] else ""
        self._mark(one_line(f"  {whose}, {event['level']}: {before}{event['text']}"), fg="bright_black")

    def _ended(self, event: Event) -> None:
        usage = event["usage"]
        self._break()
        if event["stop"] != "end":
            self._mark(f"stopped: {event['reason'] or event['stop']}", fg="red")
        self._mark(f"({usage['input']} + {usage['output']} tokens, {event['steps']} steps)", fg="bright_black")

    # --- on the terminal ----------------------------------------------------------------------------------------------

    def _say(self, text: str, *, err: bool, **style: Any) -> None:
        tell(text, nl=False, err=err, **style)
        self._is_midway = not text.endswith("\n")

    def _mark(self, text: str, **style: Any) -> None:
        self._break()
        tell(text, err=True, **style)

    def _break(self) -> None:
        if self._is_midway:
            tell()
        self._is_midway = False


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]} […]"


_MAX_SHOWN = 2000


def size(count: int) -> str:
    """``812 B``, ``1.2 kB``, ``3.4 MB``"""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def why(end: EndedCall) -> str:
    """The outcome of a call, and the decision on it."""
    use, trail, step = end.reply.use, end.trail, end.step
    facts = {
        "call": use.name if step is None else step.tool,
        "arguments": str(use.arguments) if step is None else "\n" + indent(display_arguments(step.arguments), "    "),
        "decided": " ".join(filter(None, (trail.decision, trail.rule))) or "by no rule",
        "ran": "yes" if trail.ran else "no",
        "code": trail.code,
        "answered": end.reply.text if end.reply.is_error else f"{size(end.size)} in {end.seconds:.2f} s",
    }
    return "\n".join(f"{name:<10}{text}" for name, text in facts.items() if text)
