"""Options of the whole suite, and the profile of ``make fuzz``."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from support.needs import Needs
from support.sql import fresh_shops
from support.tiers import Tiers
from support.time_limit import TimeLimit
from support.variants import Family
from tooltrue.client.remembered_revisions import REVISIONS

# The default folder for audit logs and pending approvals of servers; all processes of the suite inherit it.
os.environ["XDG_STATE_HOME"] = _state = tempfile.mkdtemp(prefix="tooltrue-tests-")
os.environ.pop("TOOLTRUE_APPROVALS", None)
atexit.register(shutil.rmtree, _state, ignore_errors=True)

# A shell starts what it runs in the background with two signals ignored, and nohup adds one; servers of tests would
# inherit that. Windows has only the first.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (getattr(signal, name) for name in ("SIGQUIT", "SIGHUP") if hasattr(signal, name)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

# Every run has the same cases, as in Hypothesis's own profile for CI: otherwise a rare counterexample would fail the
# suite after an unrelated change. `make fuzz` searches for counterexamples, with other cases in each run. Hypothesis
# sets no deadline, because a busy machine is no fault of the code.
settings.register_profile(
    "suite",
    settings.get_profile("default"),
    derandomize=True,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

# For hours rather than seconds.
settings.register_profile(
    "fuzz",
    settings.get_profile("default"),
    derandomize=False,
    deadline=None,
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "10000")),
    stateful_step_count=100,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(fresh_shops)
    config.pluginmanager.register(Family())
    config.pluginmanager.register(Needs())
    config.pluginmanager.register(TimeLimit())
    config.pluginmanager.register(Tiers())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose id contains an address: xdist workers would collect different tests and stop the run."""
    if found := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"These ids differ from process to process, give them ids=…: {', '.join(found)}")


def pytest_sessionstart() -> None:
    """Hypothesis also tries the literals of the modules that are loaded, and which are depends on the tests before."""
    if settings.default is not None and settings.default.derandomize:
        setattr(providers.HypothesisProvider, "_local_constants", Constants())  # noqa: B010


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection: fifteen thousand tests are a large, permanent heap."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def revisions_of_other_tests_are_forgotten() -> Iterator[None]:
    """A port of one test may be that of another test's server later, which speaks another revision."""
    yield
    REVISIONS.clear()


@pytest.fixture(autouse=True)
def modules_of_other_tests_are_forgotten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The next test may have another module of that name in a folder of its own."""
    temporary = str(tmp_path_factory.getbasetemp())
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(temporary):
            del sys.modules[name]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-wire", action="store_true", help="write what came into the '<' lines of tests/wire/*.wire"
    )
