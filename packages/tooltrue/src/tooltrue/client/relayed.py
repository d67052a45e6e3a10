"""Requests that a client makes for another client, as a gateway does: a question of the server is passed on, and not
answered here.
"""

from __future__ import annotations

from collections.abc import Mapping

from tooltrue.client.wording import REASON_INPUT_REQUESTS_INVALID, REASON_NOTHING_ASKED
from tooltrue.errors import InvalidAnswer
from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue.jsonrpc.wording import SERVER_RESPONSE_INVALID
from tooltrue.protocol.input_requests import InputRequest
from tooltrue.protocol.modern import declares_tasks
from tooltrue.protocol.types import Value, field
from tooltrue.wording import Worded

__all__ = ["InputRequested", "RelayedRequest", "input_requested"]


class RelayedRequest(Value, frozen=True):
    """The client for which a request is made. A stateless server learns its ``capabilities``, and gets ``responses``
    and ``state``, its answers to the questions of the round before (2026-07-28, basic/patterns/mrtr), and over HTTP the
    ``headers`` of that client, ``Mcp-Param-*``, that mirror no argument this client knows of (2026-07-28,
    basic/transports/streamable-http). A session-based server has learned of capabilities when the session began.
    ``trace`` is the trace context of that client, for ``_meta``. ``tasks``: a task of the server is passed on to that
    client, if it declares the extension.
    """

    capabilities: Mapping[str, Json] = field(default_factory=dict[str, Json])
    responses: Mapping[str, Json] | None = None
    state: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    trace: Mapping[str, str] = field(default_factory=dict[str, str])
    tasks: bool = False

    @property
    def takes_tasks(self) -> bool:
        """Whether the server may answer with a task."""
        return self.tasks and declares_tasks(self.capabilities)

    @property
    def members(self) -> dict[str, Json]:
        """The members that this adds to the parameters of a request."""
        members: dict[str, Json] = {} if self.responses is None else {"inputResponses": self.responses}
        return members if self.state is None else {**members, "requestState": self.state}


class InputRequested(Exception):
    """A stateless server answers a relayed request with ``requests``, its questions, and ``state``, which comes back
    with the answers. At least one of them is set."""

    def __init__(self, requests: Mapping[str, InputRequest] | None, state: str | None) -> None:
        super().__init__("the server asks, and another client has to answer")
        self.requests = requests
        self.state = state


def input_requested(result: Mapping[str, Json], method: str) -> InputRequested:
    """Read a result that asks for input. Raises ``InvalidAnswer`` for one that the protocol does not allow."""
    requests, state = result.get("inputRequests"), result.get("requestState")
    if requests is not None and not (is_object(requests) and all(map(is_object, requests.values()))):
        raise InvalidAnswer.of(
            SERVER_RESPONSE_INVALID, method=method, problem=Worded(REASON_INPUT_REQUESTS_INVALID, {})
        )
    if not isinstance(state, str | None) or (requests is None and state is None):
        raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=Worded(REASON_NOTHING_ASKED, {}))
    return InputRequested(requests, state)
