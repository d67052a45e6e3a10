"""Properties of the state of a question: it is valid only for its own request, and only until its expiry."""

from __future__ import annotations

import asyncio
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue import Form
from tooltrue.errors import InvalidParams
from tooltrue.jsonrpc.messages import canonical
from tooltrue.protocol.types import Implementation, InputRequiredResult
from tooltrue.server.request_state import RequestStates, RequestSubject, Round
from tooltrue.server.sealed_tokens import Sealer
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.rounds import InputRequired, Rounds
from tooltrue.tools.vocabulary import Principal

KEY = bytes(range(32))
LETTERS = string.ascii_letters + string.digits + "-_"

names = st.sampled_from(["a", "b", "ab", "", "tools/call"])
values = st.recursive(st.none() | st.booleans() | st.integers(-2, 2) | names, lambda inner: st.lists(inner, max_size=2))
subjects = st.builds(
    RequestSubject,
    st.sampled_from(["tools/call", "prompts/get", "resources/read"]),
    names,
    st.dictionaries(names, values, max_size=2),
    st.builds(Principal, names),
)
ADA = RequestSubject("tools/call", "book", {"to": "Rome"}, Principal("ada"))


def asking(now: float = 1_000.0) -> RequestStates:
    sealer = Sealer((KEY,), clock=lambda: now)
    return RequestStates(ServedProvider(Implementation("t", "1"), LocalToolset(), sealer, MemoryFacts()))


def state_of(subject: RequestSubject, message: str = "Sure?") -> str:
    rounds = Rounds()
    with pytest.raises(InputRequired) as asked:
        rounds.ask(Form(message), "sure")
    assert isinstance(asked.value.outcome, InputRequiredResult)
    put = asking().put(asked.value.outcome, rounds, subject, {"elicitation": {}})
    assert put.requestState is not None
    return put.requestState


def resumed(subject: RequestSubject, state: str, now: float = 1_000.0) -> Round:
    return asyncio.run(asking(now).resume(subject, state, None))


def same(one: RequestSubject, other: RequestSubject) -> bool:
    return all(canonical(a) == canonical(b) for a, b in zip(said(one), said(other), strict=True))


def said(subject: RequestSubject) -> tuple[Any, ...]:
    return subject.method, subject.name, subject.arguments, subject.principal.id


@pytest.mark.attack("B28")
@pytest.mark.requirement("ELIC-16", "ELIC-25", "MRTR-08", "MRTR-10", "MRTR-12")
@settings(deadline=None)
@given(subjects, subjects)
def test_a_state_is_good_for_its_own_method_name_arguments_and_principal(one: RequestSubject, other: RequestSubject):
    state = state_of(one)
    assert resumed(one, state).rounds.number == 1
    if not same(one, other):
        with pytest.raises(InvalidParams, match="requestState"):
            resumed(other, state)


STATE = state_of(ADA)


@pytest.mark.attack("B28")
@pytest.mark.requirement("MRTR-07", "MRTR-08")
@settings(deadline=None)
@given(st.integers(0, len(STATE) - 1), st.sampled_from(LETTERS + "+/=é\n \x00"))
def test_a_state_with_any_letter_changed_is_refused(index: int, letter: str):
    changed = STATE[:index] + letter + STATE[index + 1 :]
    if changed != STATE:
        with pytest.raises(InvalidParams, match="requestState"):
            resumed(ADA, changed)


@pytest.mark.requirement("MRTR-07", "MRTR-08")
@settings(deadline=None)
@given(st.text(max_size=200) | st.text(LETTERS, max_size=400))
def test_any_text_is_refused_as_a_state(text: str):
    with pytest.raises(InvalidParams, match="requestState"):
        resumed(ADA, text)


@pytest.mark.attack("B28")
@pytest.mark.requirement("MRTR-11")
@settings(deadline=None)
@given(st.integers(0, 2_000))
def test_a_state_is_good_for_a_quarter_of_an_hour(later: int):
    if later <= 900:
        assert resumed(ADA, STATE, 1_000.0 + later).rounds.number == 1
    else:
        with pytest.raises(InvalidParams, match="requestState"):
            resumed(ADA, STATE, 1_000.0 + later)
