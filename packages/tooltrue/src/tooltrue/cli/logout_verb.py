"""``tooltrue logout``: deletion of the login made with ``tooltrue login``."""

from __future__ import annotations

import asyncio

import click

from tooltrue.cli.printing import one_line, tell
from tooltrue.client.oauth import SignIn

__all__ = ["command"]


@click.command("logout", short_help="Sign out of a server.")
@click.argument("url")
def command(url: str) -> None:
    """Sign out of the server at URL: delete its tokens, and revoke them at their issuer."""
    was_known = asyncio.run(SignIn().sign_out(url))
    tell(f"Signed out of {one_line(url)}." if was_known else f"Nobody is signed in to {one_line(url)}.")
