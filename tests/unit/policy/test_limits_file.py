"""The limits of an operator's file take effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from tooltrue import Concurrency, ConfigurationError, Rate, Server

FILE = """
[limits]
seconds = 20
max_argument_bytes = 1000

[rate]
tool = { per_second = 10, burst = 100 }

[concurrency]
tool = 20

[abuse]
pause = 10
"""


def test_each_table_sets_its_part_and_leaves_the_rest(tmp_path: Path):
    file = tmp_path / "tooltrue.toml"
    file.write_text(FILE)
    guard = Server("t", rules=file, concurrency=Concurrency(caller=3)).settings
    assert (guard.limits.seconds, guard.limits.max_argument_bytes) == (20, 1000)
    assert guard.rate.tool == Rate(10, 100)
    assert guard.rate.caller == Server("t").settings.rate.caller
    assert guard.concurrency == Concurrency(tool=20, caller=3)
    assert (guard.abuse.pause, guard.abuse.longest) == (10, 300)


@pytest.mark.parametrize(
    "text",
    [
        "[rate]\ntool = { per_second = 0, burst = 1 }",
        "[rate]\ntool = { per_second = 1 }",
        "[rate]\neverybody = { per_second = 1, burst = 1 }",
        "[concurrency]\ntool = 0",
        "[abuse]\npause = -1",
        "[limits]\nmax_argument_bytes = 0.5",
    ],
)
def test_an_invalid_limit_is_refused_with_its_line(tmp_path: Path, text: str):
    file = tmp_path / "tooltrue.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"tooltrue\.toml:2"):
        Server("t", rules=file)
