"""A client that is told which revision to speak."""

from __future__ import annotations

import asyncio

import pytest

from tooltrue import Client, ConfigurationError, Server
from tooltrue.protocol import versions


@pytest.mark.parametrize("revision", versions.ALL)
def test_the_revision_that_is_named_is_spoken(revision: str):
    async def main() -> str:
        async with Client(Server("any"), revision=revision) as client:
            return client.facts.revision

    assert asyncio.run(main()) == revision


def test_an_unknown_revision_is_refused_before_the_client_sends_a_message():
    with pytest.raises(ConfigurationError) as caught:
        Client(Server("any"), revision="1999-01-01")
    assert caught.value.code == "TT4009"
