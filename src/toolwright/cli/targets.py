"""What a TARGET on the command line is: a toolbox name, a Python file or module, a URL, or a command."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from toolwright.app import Server
from toolwright.client.client import Target
from toolwright.errors import ConfigurationError
from toolwright.toolbox import files
from toolwright.tools.toolset import Provider

__all__ = ["TOOLBOX", "Spec", "is_ours", "load_server", "target_of"]


@dataclass(frozen=True, slots=True)
class Spec:
    """A server of ours: what it is called, and the settings of a toolbox family. Plain data, so that workers can get it."""

    target: str
    roots: tuple[str, ...] = ()


def _files(spec: Spec) -> Provider:
    if not spec.roots:
        raise ConfigurationError.of("TW4001", name="files", option="--root DIR")
    return files.toolset([Path(root) for root in spec.roots])


TOOLBOX: dict[str, Callable[[Spec], Provider]] = {"files": _files}


def is_ours(target: str) -> bool:
    """Whether ``target`` is a server of ours that runs in this process, rather than one to connect to."""
    place = target.partition(":")[0]
    return (
        target in TOOLBOX
        or (place.endswith(".py") and " " not in target)
        or (":" in target and "/" not in target and " " not in target)
    )


def target_of(target: str, roots: Sequence[str] = ()) -> Target:
    """What a client connects to: a URL, a command, or a server of ours."""
    if target.startswith(("http://", "https://")):
        return target
    return load_server(Spec(target, tuple(roots))) if is_ours(target) else shlex.split(target)


def load_server(spec: Spec, **settings: object) -> Server:
    """The server that a spec names. ``ConfigurationError`` says what was looked for where, and what would be found."""
    if spec.target in TOOLBOX:
        toolset = TOOLBOX[spec.target](spec)
        return Server(spec.target, version=_version(), toolsets=[toolset], **settings)  # pyright: ignore[reportArgumentType]
    place, _, attribute = spec.target.partition(":")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place, spec.target)
    return _find(module, attribute, spec.target)


def _version() -> str:
    return importlib.import_module("toolwright").__version__


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigurationError.of("TW4002", target=str(path), problem="there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError.of("TW4002", target=str(path), problem="it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # type annotations are looked up there
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return module


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
