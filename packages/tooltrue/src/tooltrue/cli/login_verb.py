"""``tooltrue login``: a person signs in to a server, once, for all programs of this user."""

from __future__ import annotations

import asyncio
import os
import webbrowser

import click

from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.wording import LABEL_NAME_OF_SET_VARIABLE
from tooltrue.client.client import Client
from tooltrue.client.oauth import SignIn
from tooltrue.errors import ConfigurationError
from tooltrue.wording import SETTING_INVALID, Worded

__all__ = ["command"]


@click.command("login", short_help="Sign in to a server.")
@click.argument("url")
@click.option("--client-id", metavar="ID", help="The id that this client has at the server's authorization server.")
@click.option("--client-secret-env", metavar="NAME", help="The environment variable that holds its secret.")
@click.option("--issuer", metavar="URL", help="The authorization server that knows this id; no other is shown it.")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help="A further scope to ask for. Repeatable.")
@click.option("--trust", "trusted", multiple=True, metavar="URL", help="An issuer in a private network. Repeatable.")
@click.option("--port", type=int, help="The port to which the browser returns. Default: any free port.")
@click.option("--no-browser", is_flag=True, help="Only print the address of the page.")
@click.option("--timeout", type=SECONDS, default=300.0, show_default=True, help="Seconds to wait for the user.")
def command(
    url: str,
    client_id: str | None,
    client_secret_env: str | None,
    issuer: str | None,
    scopes: tuple[str, ...],
    trusted: tuple[str, ...],
    port: int | None,
    no_browser: bool,
    timeout: float,
) -> None:
    """Sign in to the server at URL, in a browser. Other verbs then use it as you, until `tooltrue logout`.

    The tokens are stored in the keyring of the system, or in files that only you can read.
    """

    def show(page: str) -> None:
        tell(f"Sign in here:\n{one_line(page)}", err=True)
        if not no_browser:
            webbrowser.open(page)

    auth = SignIn(
        show,
        client_id=client_id,
        client_secret=_secret(client_secret_env),
        issuer=issuer,
        redirect_uri=f"http://127.0.0.1:{port}/callback" if port else "http://127.0.0.1/callback",
        scopes=scopes,
        trusted=trusted,
        timeout=timeout,
    )
    is_known = asyncio.run(_sign_in(url, auth))
    tell(f"Signed in to {one_line(url)}." if is_known else f"{one_line(url)} lets everybody in.")


def _secret(name: str | None) -> str | None:
    if name is None:
        return None
    secret = os.environ.get(name)
    if not secret:
        raise ConfigurationError.of(
            SETTING_INVALID, name="--client-secret-env", wanted=Worded(LABEL_NAME_OF_SET_VARIABLE, {})
        )
    return secret


async def _sign_in(url: str, auth: SignIn) -> bool:
    """Sign in again; return whether the server required authentication."""
    await auth.forget(url)
    async with Client(url, auth=auth) as client:
        await client.list_tools()
    return await auth.is_known(url)
