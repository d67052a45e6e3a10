"""The wait that a service requests with ``Retry-After``."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue_toolbox.service_client import wait_of

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("7", 7.0),
        ("Fri, 01 May 2026 12:00:03 GMT", 3.0),
        ("Fri, 01 May 2026 11:00:00 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("Mon, 31 Feb 2026 00:00:00 GMT", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2027 00:00:00 +9999999999", None),
    ],
)
def test_a_wait_is_the_retry_after_of_the_service_or_none(said: str, seconds: float | None) -> None:
    assert wait_of({"retry-after": said}, NOON) == seconds


@given(st.integers(), st.integers(0, 99), st.integers())
def test_no_date_breaks_a_call(year: int, hour: int, zone: int) -> None:
    assert (wait_of({"retry-after": f"Mon, 01 Jan {year} {hour}:00:00 {zone:+}"}, NOON) or 0) >= 0
