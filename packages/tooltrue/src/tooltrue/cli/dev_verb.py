"""``tooltrue dev``: a server over HTTP that is loaded anew when its files change, with the changes of its contract."""

from __future__ import annotations

import base64
import contextlib
import signal
import socket
import tempfile
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from types import FrameType

import click

from tooltrue._internal.platform import processes
from tooltrue._internal.platform.stop_signals import HANG_UP_SIGNALS
from tooltrue._internal.target_places import divided_target
from tooltrue.cli.dev_inspector import inspector_running, is_inspector_wanted
from tooltrue.cli.dev_supervisor import Supervisor
from tooltrue.cli.dev_worker import DevJob
from tooltrue.cli.families import FamilyOptions, TargetVerb, families_of
from tooltrue.cli.language import current_language
from tooltrue.cli.output import HINTS, show_wrapped
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.targets import Spec, is_ours
from tooltrue.cli.wording import (
    DEV_LISTENS_ON_LOOPBACK,
    DEV_REQUIRES_PROGRAM,
    NOTE_DEV_CONTRACT_CHANGED,
    NOTE_DEV_CONTRACT_UNCHANGED,
    NOTE_DEV_ENDED,
    NOTE_DEV_FILES_CHANGED,
    NOTE_DEV_SERVES_STILL,
    NOTE_DEV_SERVING,
    NOTE_DEV_WAITS_FOR_CHANGE,
    TARGET_NOT_SERVABLE,
)
from tooltrue.contract.diff import diff
from tooltrue.contract.diff_phrases import class_counts
from tooltrue.contract.digests import Definition
from tooltrue.contract.lock import Lock
from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.messages import is_object
from tooltrue.server.sealed_tokens import new_key
from tooltrue.state.places import sqlite_url
from tooltrue.transport import http_runner
from tooltrue.wording import REASON_FILE_NOT_FOUND, Worded, sentence

__all__ = ["command"]

_USUAL = "127.0.0.1:8000"
_BACKLOG = 2048


@click.command(
    "dev",
    cls=TargetVerb,
    synonyms={
        "--port": "--http :PORT",
        "--host": "--http HOST:PORT",
        **dict.fromkeys(("--reload", "--watch"), "tooltrue dev FILE"),
    },
    example="tooltrue dev notes.py --inspector",
    short_help="Serve a file, and reload it when it changes.",
)
@click.argument("target")
@click.option("--http", metavar="HOST:PORT", help="Where to serve. Default: 127.0.0.1:8000, or a free port.")
@click.option("--config", metavar="FILE", help="The operator's rules and settings, such as tooltrue.toml.")
@click.option("--no-confirm", is_flag=True, help="Run destructive tools without a question, for hosts that ask.")
@click.option("--inspector", is_flag=True, help="Open the official Inspector, which npx fetches if you agree.")
@click.option("--yes", is_flag=True, help="With --inspector: do not ask before npx fetches it.")
def command(
    target: str,
    family: FamilyOptions,
    http: str | None,
    config: str | None,
    no_confirm: bool,
    inspector: bool,
    yes: bool,
) -> None:
    """Serve TARGET (FILE.py, FILE.py:NAME or package.module:NAME) over HTTP while you write it.

    When the file, or a module beside it, changes, it is loaded anew, and the changes of its contract are shown. A file
    that cannot be loaded leaves the server as it was. Ctrl-C ends it.
    """
    spec = Spec.of(target, family, config, confirm=not no_confirm)
    folder = _folder_of(target)
    listener, address = _listening(http)
    url = f"http://{address.netloc}/mcp"
    wants_inspector = inspector and is_inspector_wanted(url, yes=yes)
    interrupts = _Interrupts()
    for number in HANG_UP_SIGNALS:
        signal.signal(number, interrupts)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell ignores it for what it starts behind
        signal.signal(signal.SIGINT, interrupts)
    processes.adopt_orphans()
    with listener, _folder() as state, contextlib.ExitStack() as beside:
        job = DevJob(
            spec,
            folder,
            hosts=http_runner.hosts_of(address),
            state=sqlite_url(Path(state) / "state.db"),
            keys=(base64.b64encode(new_key()).decode(),),
            language=current_language(),
        )

        def when_served() -> None:
            if wants_inspector:
                beside.enter_context(inspector_running(url))

        with _until_ctrl_c():
            Supervisor(job, listener, _Terminal(target, url)).run(when_served, interrupts.have_come)


def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="tooltrue-", ignore_cleanup_errors=True)


class _Interrupts:
    """A handler of signals that raises KeyboardInterrupt, and remembers it: Python drops an exception that is raised
    while an object is removed from memory."""

    def __init__(self) -> None:
        self._have_come = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._have_come = True
        raise KeyboardInterrupt

    def have_come(self) -> bool:
        return self._have_come


@contextlib.contextmanager
def _until_ctrl_c() -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        processes.end_children()


def _folder_of(target: str) -> Path:
    """The folder whose modules are watched: that of the file, or the working folder for a module."""
    if families_of(target) or not is_ours(target):
        raise ConfigurationError.of(DEV_REQUIRES_PROGRAM, target=target)
    place, _, _ = divided_target(target)
    if not place.endswith(".py"):
        return Path.cwd()
    if not Path(place).is_file():
        raise ConfigurationError.of(TARGET_NOT_SERVABLE, target=place, problem=Worded(REASON_FILE_NOT_FOUND, {}))
    return Path(place).resolve().parent


def _listening(http: str | None) -> tuple[socket.socket, http_runner.Address]:
    """A socket bound to the address, by default to the usual one, or to a free port where that is taken."""
    address = http_runner.parse_address(http or _USUAL)
    if not address.is_loopback:
        raise ConfigurationError.of(DEV_LISTENS_ON_LOOPBACK, address=address.netloc)
    try:
        listener = http_runner.bind(address)
    except ConfigurationError:
        if http is not None:
            raise
        listener = http_runner.bind(replace(address, port=0))
    listener.listen(_BACKLOG)  # here, so that a client that connects while no process accepts waits instead of failing
    return listener, replace(address, port=listener.getsockname()[1])


class _Terminal:
    """Shows the course of things to the author: results on standard output, failures on standard error."""

    def __init__(self, target: str, url: str) -> None:
        self._target = target
        self._url = url
        self._language = current_language()

    def serving(self, lock: Lock, before: Lock | None) -> None:
        if before is None:
            self._say(NOTE_DEV_SERVING, server=f"{lock.name} {lock.version}", url=self._url, target=self._target)
            show_wrapped(_row(name, tool) for name, tool in sorted(lock.contract.tools.items()))
            return
        difference = diff(before.contract, lock.contract)
        if not difference:
            self._say(NOTE_DEV_CONTRACT_UNCHANGED)
            return
        self._say(NOTE_DEV_CONTRACT_CHANGED, changes=class_counts(difference, self._language))
        for one in difference.changes:
            tell(one_line(f"  {one.kind.value:<9} {one.place}  {one.say(self._language)}"))

    def changed(self, files: list[Path]) -> None:
        self._say(NOTE_DEV_FILES_CHANGED, files=", ".join(file.name for file in files))

    def failed(self, error: str | int, *, still_serves: bool) -> None:
        if isinstance(error, int):
            self._say(NOTE_DEV_ENDED, err=True, status=error)
        else:
            tell(one_line(f"tooltrue: {error}"), fg="red", err=True)
        self._say(NOTE_DEV_SERVES_STILL if still_serves else NOTE_DEV_WAITS_FOR_CHANGE, err=True)

    def _say(self, code: str, *, err: bool = False, **facts: object) -> None:
        tell(one_line(sentence(code, self._language, facts)), err=err)


def _row(name: str, tool: Definition) -> tuple[str, str, str]:
    annotations = tool.get("annotations")
    hints = [word for hint, word in HINTS.items() if is_object(annotations) and annotations.get(hint) is True]
    summary, _, _ = str(tool.get("description", "")).partition("\n")
    return f"  {name}", ", ".join(hints), summary
