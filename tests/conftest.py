"""Options of the whole suite, and the profile of ``make fuzz``."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# For hours rather than seconds.
settings.register_profile(
    "fuzz",
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "10000")),
    stateful_step_count=100,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-wire", action="store_true", help="write what came into the '<' lines of tests/wire/*.wire"
    )
