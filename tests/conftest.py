"""Options of the whole suite."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-wire", action="store_true", help="write what came into the '<' lines of tests/wire/*.wire"
    )
