"""The questions that a tool can ask besides forms, and the answers to them. Only a tool that asks loads this module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from typing_extensions import deprecated

from tooltrue.jsonrpc.messages import Json, is_array
from tooltrue.protocol.input_requests import (
    LIST_ROOTS,
    SAMPLE,
    InputRequest,
    check_messages,
    check_url,
    elicitation_url,
)
from tooltrue.protocol.types import Value
from tooltrue.tools.rounds import ClientQuestion

__all__ = ["Answer", "Link", "Root", "Roots", "Sampled", "Sampling"]

T = TypeVar("T")


class Answer(Value, Generic[T], frozen=True):
    """A person's answer: ``action`` is accept, decline or cancel. It is true if accepted, and only then has a
    ``value``: the filled-in form; ``None`` for a visit, for which acceptance means only that the person agreed to
    open the page.
    """

    action: str
    value: T

    def __bool__(self) -> bool:
        return self.action == "accept"


class Sampled(Value, frozen=True):
    """The answer of the client's model."""

    role: str
    content: list[Any]
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(block.get("text", "") for block in self.content if block.get("type") == "text")


class Root(Value, frozen=True):
    """A folder that the client offers; ``uri`` begins with ``file://``."""

    uri: str
    name: str | None = None


@dataclass(frozen=True)
class Link(ClientQuestion[Answer[None]]):
    """A page that the person is asked to open: for signing in, paying, and other secret matters. The answer tells only
    whether they agreed to open it; the page itself has to report the result to the server.
    """

    message: str
    url: str
    request: InputRequest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_url(self.url)
        object.__setattr__(self, "request", elicitation_url(self.message, self.url))

    def read(self, answer: Mapping[str, Json]) -> Answer[None]:
        return Answer(answer["action"], None)


@deprecated("Sampling is deprecated by the protocol: call a model provider directly.")
@dataclass(frozen=True)
class Sampling(ClientQuestion[Sampled]):
    """A completion of the client's model. Deprecated since 2026-07-28, and kept for clients that support it.

    ``messages``: text, or messages as in ``sampling/createMessage``. ``more``: its other parameters.
    """

    messages: str | Sequence[Mapping[str, Json]]
    max_tokens: int
    more: Mapping[str, Json] = field(default_factory=dict[str, Json])
    request: InputRequest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        messages: Sequence[Mapping[str, Json]] = (
            [{"role": "user", "content": {"type": "text", "text": self.messages}}]
            if isinstance(self.messages, str)
            else self.messages
        )
        check_messages(messages)
        params = {"messages": [*messages], "maxTokens": self.max_tokens, **self.more}
        object.__setattr__(self, "request", {"method": SAMPLE, "params": params})

    def read(self, answer: Mapping[str, Json]) -> Sampled:
        content = answer["content"]
        blocks = content if is_array(content) else [content]
        return Sampled(answer["role"], blocks, answer["model"], answer.get("stopReason"))


@deprecated("Roots is deprecated by the protocol: take folders as arguments, or from the configuration.")
@dataclass(frozen=True)
class Roots(ClientQuestion[list[Root]]):
    """The folders that the client offers. Deprecated since 2026-07-28, and kept for clients that support it."""

    request: InputRequest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "request", {"method": LIST_ROOTS})

    def read(self, answer: Mapping[str, Json]) -> list[Root]:
        # Only files are supported, and code that opens a root has to check it all the same.
        return [Root(one["uri"], one.get("name")) for one in answer["roots"] if one["uri"].startswith("file://")]
