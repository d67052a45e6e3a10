"""``tooltrue keys``: API keys for HTTP callers. A key is shown once; only its digest is stored."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from tooltrue.cli.printing import tell
from tooltrue.cli.usage import Verbs
from tooltrue.cli.wording import DUPLICATE_API_KEY_NAME
from tooltrue.contract.files import alone, write_whole
from tooltrue.errors import ConfigurationError
from tooltrue.server.keys import check_scope, new_key, read_keys
from tooltrue.server.wording import KEYS_FILE_INVALID

__all__ = ["command"]


@click.group("keys", cls=Verbs, short_help="Make keys for callers over HTTP.")
def command() -> None:
    """Make keys for callers over HTTP: tooltrue serve … --http … --keys FILE."""


_FILE = click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path),
    default=Path("keys.toml"),
    show_default=True,
    help="The file of keys.",
)


@command.command("new", short_help="Make a key and show it, once.")
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help="A scope of the key. Repeatable.")
@click.option("--days", type=click.IntRange(1, 36_500), help="Days until the key expires. Default: it does not expire.")
@_FILE
def new(name: str, scopes: tuple[str, ...], days: int | None, path: Path) -> None:
    """Make a key called NAME, add its digest to the file, and print it. The key itself is not stored."""
    key, digest = new_key(name)
    lines = [f"[{json.dumps(name)}]", f'sha256 = "{digest}"']
    if scopes:
        lines.append(f"scopes = {json.dumps(sorted(map(check_scope, set(scopes))))}")
    if days is not None:
        lines.append(f"expires = {datetime.now(UTC) + timedelta(days=days):%Y-%m-%dT%H:%M:%SZ}")
    with alone(path):
        if path.exists() and name in read_keys(path):
            raise ConfigurationError.of(DUPLICATE_API_KEY_NAME, path=str(path), name=name)
        write_whole(path, _before(path) + "\n".join(lines) + "\n\n", 0o600)
    tell(key)
    tell(f"The key of {name}. It is shown this once; {path} has its digest only.", err=True)


def _before(path: Path) -> str:
    """The exact content of the file, with a final newline so that text can be appended."""
    try:
        text = path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigurationError.of(KEYS_FILE_INVALID, path=str(path), problem=error.strerror or str(error)) from None
    return f"{text}\n" if text and not text.endswith("\n") else text


@command.command("list", short_help="Show the keys of a file.")
@_FILE
def show(path: Path) -> None:
    """Show the keys with their names, scopes and expiry."""
    for name, key in read_keys(path).items():
        ends = "" if key.expires is None else f"  until {datetime.fromtimestamp(key.expires, UTC):%Y-%m-%d %H:%M} UTC"
        tell(f"{name}  {' '.join(sorted(key.scopes)) or 'no scopes'}{ends}")
