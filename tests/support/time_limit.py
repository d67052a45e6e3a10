"""The end of a test that exceeds its time limit.

pytest-timeout defines the limit of a test, and starts and stops the timer. Its own methods to end a test do not fit:
"signal" raises in the running code, and the task of an event loop swallows that; "thread" needs the interpreter's lock,
which a regular expression never releases, and a process of xdist drops its output. The watchdog of faulthandler
is a thread in C: it prints the stacks of all threads and ends the process. The other processes of xdist go on, and the
test counts as failed.
"""

from __future__ import annotations

import faulthandler
import os

import pytest
import pytest_timeout

__all__ = ["TimeLimit"]


class TimeLimit:
    """A plugin of pytest, registered before the output of tests is captured."""

    def __init__(self) -> None:
        self._standard_error = os.dup(2)

    def pytest_unconfigure(self) -> None:
        os.close(self._standard_error)

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, settings: pytest_timeout.Settings) -> bool:
        if settings.timeout:
            faulthandler.dump_traceback_later(settings.timeout, exit=True, file=self._standard_error)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_cancel_timer(self) -> bool:
        faulthandler.cancel_dump_traceback_later()
        return True
