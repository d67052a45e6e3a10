"""Options of the whole suite, and the profile of ``make fuzz``."""

from __future__ import annotations

import os
from collections.abc import Iterator

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


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing that runs here, processes included, finds or leaves anything among the files of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.delenv("TOOLWRIGHT_APPROVALS", raising=False)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-wire", action="store_true", help="write what came into the '<' lines of tests/wire/*.wire"
    )
