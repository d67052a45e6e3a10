"""The rules of a job object, as the system gets them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tooltrue.testing.state import LIMIT

TESTS = Path(__file__).parents[2]

PROGRAM = """
import support.without_posix
from support.windows.jobs import rules_of_jobs
{code}
(rules,) = rules_of_jobs()
basic = rules.BasicLimitInformation
print(hex(basic.LimitFlags), basic.PerProcessUserTimeLimit, basic.ActiveProcessLimit, rules.ProcessMemoryLimit)
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="the calls of Windows are replaced by those of Linux")
@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("from tooltrue._internal.platform.windows_jobs import Job; Job()", "0x2000 0 0 0"),
        (
            "from tooltrue._internal.platform.child_limits import limit_memory; limit_memory(1 << 20)",
            "0x500 0 0 1048576",
        ),
        ("from tooltrue._internal.platform.child_limits import limit_cpu; limit_cpu(3)", "0x2 30000000 0 0"),
        (
            "from tooltrue_toolbox.platform.sandbox.enclosure import Enclosure; Enclosure({'CPU': 2, 'AS': 4096}, 5)",
            "0x250a 20000000 6 4096",
        ),
    ],
    ids=["a job", "memory of a process", "computing time of a process", "an enclosure"],
)
def test_a_job_has_the_rules_of_its_use(code: str, printed: str):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(code=code)],
        env={**os.environ, "TOOLTRUE_TESTS_SYSTEM": "windows", "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == (printed, "")
