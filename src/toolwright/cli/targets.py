"""What a TARGET of our own is on the command line: a toolbox name, a Python file, or a module."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from toolwright.app import Server
from toolwright.errors import ConfigurationError, ToolwrightError
from toolwright.loading import load
from toolwright.policy.approvals import approvals_url, instance_of, place_of
from toolwright.policy.confirm import Confirm
from toolwright.state.places import beside
from toolwright.tools.toolset import Provider
from toolwright.version import __version__

__all__ = ["TOOLBOX", "Spec", "is_ours", "load_server"]


@dataclass(frozen=True, slots=True)
class Spec:
    """A server of ours: what it is called, the settings of a toolbox family, and whether a person is asked before what
    destroys. Plain data, for workers.

    ``config`` is the operator's file, by name and text: it is read once, so that all workers go by the same one,
    whatever becomes of it while they run.
    """

    target: str
    roots: tuple[str, ...] = ()
    config: tuple[str, str] | None = None
    confirm: bool = True

    @classmethod
    def of(cls, target: str, roots: Sequence[str] = (), config: str | None = None, *, confirm: bool = True) -> Spec:
        """``config`` names a file, which is read here and nowhere else."""
        said = None if config is None else (config, load("policy.config").text_of(config))
        return cls(target, tuple(roots), said, confirm)


def _files(spec: Spec) -> Provider:
    if not spec.roots:
        raise ConfigurationError.of("TW4001", name="files", option="--root DIR")
    if spec.config is not None:
        _check_out_of_reach(Path(spec.config[0]), spec.roots)
    rules = load("toolbox.confined:PathRules")()
    rules = replace(rules, places=(*rules.places, *_stores(spec)))
    return load("toolbox.files:toolset")([Path(root) for root in spec.roots], rules=rules)


def _stores(spec: Spec) -> Iterator[Path]:
    """The files in which is kept what people agree to and what is recorded, where they are not in the state folder."""
    said = Server(spec.target)
    if spec.config is not None:
        said.configure(load("policy.config").read(*spec.config))
    confirm, audit = said.settings.confirm, said.settings.audit
    if audit.seal_place not in ("", "log"):
        yield Path(audit.seal_place)
    for url in (approvals_url(confirm.store), audit.to):
        for ending in ("", "-wal", "-shm", "-journal"):
            if isinstance(url, str) and (path := beside(url, ending)):
                yield Path(path)


def _check_out_of_reach(config: Path, roots: Sequence[str]) -> None:
    """The file that says what tools may do is none that a tool may write."""
    place = config.resolve()
    for root in roots:
        if place.is_relative_to(Path(root).resolve()) and not load("toolbox.confined").is_protected(place.name):
            raise ConfigurationError.of("TW4311", file=str(config), root=root)


TOOLBOX: dict[str, Callable[[Spec], Provider]] = {"files": _files}


def is_ours(target: str) -> bool:
    """Whether ``target`` is a server of ours that runs in this process, rather than one to connect to."""
    place, colon, _ = target.partition(":")
    if Path(place).is_file() and place.endswith(".py"):
        return True
    is_command = " " in target or ("/" in target and not place.endswith(".py"))
    return target in TOOLBOX or (not is_command and (place.endswith(".py") or bool(colon)))


def load_server(spec: Spec) -> Server:
    """The server that a spec names. ``ConfigurationError`` says what was looked for where, and what would be found."""
    server = _load(spec)
    if spec.config is not None:
        server.configure(load("policy.config").read(*spec.config))
    return server if spec.confirm else server.with_guard("--no-confirm", confirm=Confirm.never())


def _load(spec: Spec) -> Server:
    if spec.target in TOOLBOX:
        toolset = TOOLBOX[spec.target](spec)
        instance = ", ".join(map(place_of, spec.roots))
        return Server(spec.target, version=__version__, toolsets=[toolset], instance=instance)
    if spec.roots:
        raise ConfigurationError.of("TW4008", option="--root", target=spec.target)
    place, _, attribute = spec.target.partition(":")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place, spec.target)
    server = _find(module, attribute, spec.target)
    server.started_as(instance_of(module.__file__ or place, attribute))
    return server


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigurationError.of("TW4002", target=str(path), problem="there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError.of("TW4002", target=str(path), problem="it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # type annotations are looked up there
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except ToolwrightError:
        raise
    except Exception as error:
        raise ConfigurationError.of("TW4002", target=str(path), problem=_crash(error, path)) from error
    return module


def _crash(error: Exception, path: Path) -> str:
    """What a file raised when it was loaded, and on which of its lines."""
    if isinstance(error, SyntaxError):
        return f"{error.msg} (line {error.lineno})"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
    place = f" (line {lines[-1]})" if lines else ""
    return f"it raised {type(error).__name__}: {error}{place}"


def _load_module(name: str, target: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        known = ", ".join(sorted(TOOLBOX))
        problem = f"no module {error.name!r}; a toolbox name ({known}), FILE.py, FILE.py:NAME or package.module:NAME"
        raise ConfigurationError.of("TW4002", target=target, problem=problem) from None


def _find(module: ModuleType, attribute: str, target: str) -> Server:
    found = {name: value for name, value in vars(module).items() if isinstance(value, Server)}
    if attribute:
        if attribute not in found:
            raise ConfigurationError.of("TW4002", target=target, problem=f"no Server is called {attribute!r} there")
        return found[attribute]
    servers = list({id(value): value for value in found.values()}.values())
    if len(servers) != 1:
        which = ", ".join(sorted(found)) or "none"
        raise ConfigurationError.of(
            "TW4002", target=target, problem=f"it needs one Server, found: {which}; say FILE.py:NAME"
        )
    return servers[0]
