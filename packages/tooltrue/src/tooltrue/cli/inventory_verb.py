"""``tooltrue inventory``: the servers configured on this machine, their files, and points to review."""

from __future__ import annotations

from pathlib import Path

import click

from tooltrue.cli.output import show_json, show_rows
from tooltrue.cli.printing import one_line, tell
from tooltrue.host.inventory import ConfigFile, Configured, inventory

__all__ = ["command"]


@click.command("inventory", short_help="List which servers are configured where.")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[PATH]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(paths: tuple[Path, ...], as_json: bool) -> None:
    """List the servers in the files of well-known hosts, in your home and in each PATH: a folder of a project, or a
    file. Default: the current folder. No server is started."""
    entries = inventory(paths)
    show_json(entries) if as_json else _show(entries)


def _show(entries: list[ConfigFile]) -> None:
    if not entries:
        tell("No servers are configured.")
    for number, one in enumerate(entries):
        tell(("\n" if number else "") + one_line(one.file), bold=True, nl=False)
        tell(f"  {one.host}".rstrip())
        if one.problem:
            tell(one_line(f"    {one.problem}"), fg="yellow")
        show_rows([(f"    {server.label}", server.kind, _server_text(server)) for server in one.servers])


def _server_text(server: Configured) -> str:
    marks = ["switched off"] if not server.enabled else []
    marks += [f"{package} names no release" for package in server.unpinned]
    return f"{server.how}  ({'; '.join(marks)})" if marks else server.how
