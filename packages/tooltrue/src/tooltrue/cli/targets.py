"""Targets that are tooltrue servers: names of families, a Python file, or a module."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.util
import os
import sys
import traceback
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tooltrue._internal.target_places import divided_target
from tooltrue.app import Server
from tooltrue.cli.families import FamilyOptions, families_of
from tooltrue.cli.plugins import FAMILIES, names_of
from tooltrue.cli.wording import (
    OPTION_FOR_TOOLBOX_ONLY,
    REASON_MODULE_NOT_FOUND,
    REASON_NOT_PYTHON_FILE,
    REASON_SERVER_AMBIGUOUS,
    REASON_SERVER_NOT_FOUND,
    TARGET_IMPORT_FAILED,
    TARGET_NOT_SERVABLE,
    TARGET_OF_OTHER_LIBRARY,
)
from tooltrue.crashes import is_authors
from tooltrue.errors import ConfigurationError, DefinitionError, TooltrueError
from tooltrue.policy.consent.approvals import approvals_url, instance_of
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.protocol.types import replaced
from tooltrue.state.places import beside
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import Provider
from tooltrue.tools.views import renamed
from tooltrue.version import __version__
from tooltrue.wording import REASON_FILE_NOT_FOUND, Worded, names_or_none

if TYPE_CHECKING:
    from tooltrue.cli.families import Family
    from tooltrue.policy.config import OperatorConfig
    from tooltrue.tools.search.searchable import ToolSearch

__all__ = ["Spec", "files_of", "is_ours", "load_server", "unconfirmed"]


@dataclass(frozen=True, slots=True)
class Spec:
    """A tooltrue server: its target, the options of its families, and whether a person must approve destructive calls.
    Plain data, for workers.

    ``config`` is the operator's file, by name and text: it is read once, so that all workers use the same version even
    if the file changes while they run. ``withheld`` are files that no tool of a family may touch: write access to the
    keys would be access to the server.
    """

    target: str
    family: FamilyOptions = field(default_factory=FamilyOptions)
    config: tuple[str, str] | None = None
    confirm: bool = True
    withheld: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        target: str,
        family: FamilyOptions | None = None,
        config: str | None = None,
        *,
        confirm: bool = True,
        withheld: Sequence[str] = (),
    ) -> Spec:
        """Create a spec. ``config`` names a file, which is read here and nowhere else."""
        file = None if config is None else (config, _text_of(config))
        return cls(target, family or FamilyOptions(), file, confirm, tuple(withheld))

    @property
    def names(self) -> tuple[str, ...]:
        """The families of a target such as ``files,command``, in order."""
        return tuple(dict.fromkeys(self.target.split(",")))

    def protected_files(self) -> Iterator[Path]:
        """The files that no tool of a family may touch: the operator's file, the stores of approvals, audit records and
        keys outside the state folder, and the stores of the families themselves."""
        server = Server("-".join(self.names))
        if self.config is not None:
            server.configure(_read_config(*self.config))
            yield Path(self.config[0])
        stores = (store for family in families_of(self.target).values() for store in family.stores(self))
        yield from map(Path, (*self.withheld, *server.auth_settings.files, *stores))
        confirm, audit = server.settings.confirm, server.settings.audit
        if audit.seal_place not in ("", "log"):
            yield Path(audit.seal_place)
        for url in (approvals_url(confirm.store), audit.to, audit.seal):
            yield from map(Path, files_of(url) if isinstance(url, str) else ())


def _text_of(file: str) -> str:
    from tooltrue.policy.config import text_of  # noqa: PLC0415 - only an operator's file needs it

    return text_of(file)


def _read_config(file: str, text: str) -> OperatorConfig:
    from tooltrue.policy.config import read_operator_config  # noqa: PLC0415 - only an operator's file needs it

    return read_operator_config(file, text)


_ENDINGS = ("", "-wal", "-shm", "-journal", ".index", ".index-journal")


def files_of(url: str) -> tuple[str, ...]:
    """The files of a ``sqlite:`` store and of its index; empty for any other URL."""
    return tuple(filter(None, (beside(url, ending) for ending in _ENDINGS)))


def is_ours(target: str) -> bool:
    """Whether ``target`` is a tooltrue server that runs in this process, rather than one to connect to."""
    place, colon, _ = divided_target(target)
    if Path(place).is_file() and place.endswith(".py"):
        return True
    is_command = " " in target or ("/" in target and not place.endswith(".py"))
    return bool(families_of(target)) or (not is_command and (place.endswith(".py") or bool(colon)))


def load_server(spec: Spec, text: str | None = None) -> Server:
    """Load the server of a spec. ``ConfigurationError`` names the place of the search and the names that would be
    found. ``text`` replaces the content of its file."""
    server = _load(spec, text)
    if spec.config is not None:
        server.configure(_read_config(*spec.config))
    return server if spec.confirm else unconfirmed(server)


def unconfirmed(server: Server) -> Server:
    """The server with ``--no-confirm``: no effect alone is a reason for a question."""
    return server.with_guard("--no-confirm", confirm=replaced(server.settings.confirm, effects=Confirm.never().effects))


def _load(spec: Spec, text: str | None) -> Server:
    families = families_of(spec.target)
    for option in spec.family.values:
        if not any(option == one.name for family in families.values() for one in family.options):
            raise ConfigurationError.of(OPTION_FOR_TOOLBOX_ONLY, option=option, target=spec.target)
    if families:
        toolsets = {name: family.make(spec) for name, family in families.items()}
        instance = ", ".join(dict.fromkeys(place for family in families.values() for place in family.instance(spec)))
        return Server(
            "-".join(families),
            version=__version__,
            toolsets=with_distinct_names(toolsets),
            instance=instance,
            search=_search_of(families.values()),
        )
    place, _, attribute = divided_target(spec.target)
    with _arguments(place, spec.family.program):
        module = _load_file(Path(place), text) if place.endswith(".py") else _load_module(place, spec.target)
    server = _find(module, attribute, spec.target)
    server.started_as(instance_of(module.__file__ or place, attribute, *spec.family.program))
    return server


def _search_of(families: Iterable[Family]) -> ToolSearch | None:
    """The search of callers with too many tools, who are then shown its three tools alone."""
    if not any(family.searches for family in families):
        return None
    from tooltrue.tools.search.searchable import ToolSearch  # noqa: PLC0415 - few families have so many tools

    return ToolSearch(shown=())


@contextlib.contextmanager
def _arguments(program: str, words: Sequence[str]) -> Generator[None]:
    """Give the author's program its own command line while it is loaded."""
    before, sys.argv = sys.argv, [program, *words]
    try:
        yield
    finally:
        sys.argv = before


def with_distinct_names(toolsets: Mapping[str, LocalToolset]) -> list[Provider]:
    """The toolsets of several families. Names used by several families are prefixed with the family."""
    counts = Counter(name for toolset in toolsets.values() for name in toolset.names)
    return [
        renamed(toolset, {name: f"{family}_{name}" for name in toolset.names if counts[name] > 1})
        if any(counts[name] > 1 for name in toolset.names)
        else toolset
        for family, toolset in toolsets.items()
    ]


def _load_file(path: Path, text: str | None) -> ModuleType:
    if not path.is_file():
        raise ConfigurationError.of(TARGET_NOT_SERVABLE, target=str(path), problem=Worded(REASON_FILE_NOT_FOUND, {}))
    loader = None if text is None else _TextLoader(path, text)
    spec = importlib.util.spec_from_file_location(path.stem, path, loader=loader)
    if spec is None or spec.loader is None:
        raise ConfigurationError.of(TARGET_NOT_SERVABLE, target=str(path), problem=Worded(REASON_NOT_PYTHON_FILE, {}))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # type annotations are looked up there
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except DefinitionError as error:
        raise _located(error, path.parent) from None
    except TooltrueError:
        raise
    except Exception as error:
        raise _crash(error, str(path), path.parent) from error
    return module


class _TextLoader(importlib.abc.ExecutionLoader):
    """Loads a file with ``text`` in place of its content."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def get_filename(self, fullname: str) -> str:
        return str(self._path)

    def get_source(self, fullname: str) -> str:
        return self._text


_FOREIGN = ("fastmcp", "mcp")
"""Other libraries, whose servers run by themselves."""


def _crash(error: Exception, target: str, folder: Path) -> ConfigurationError:
    """The error for an exception raised while a file was loaded, with the author's line and its text."""
    if isinstance(error, ModuleNotFoundError) and (name := (error.name or "").partition(".")[0]) in _FOREIGN:
        return ConfigurationError.of(TARGET_OF_OTHER_LIBRARY, target=target, library=name)
    file, line, text = _raised_at(error, folder)
    message = error.msg if isinstance(error, SyntaxError) else error
    problem = f"{type(error).__name__}: {message}"
    return ConfigurationError.of(TARGET_IMPORT_FAILED, target=target, error=problem, file=file, line=line, text=text)


def _located(error: DefinitionError, folder: Path) -> DefinitionError:
    """The error with the author's line that raised it, unless it names the place of a function."""
    file, line, _ = _raised_at(error, folder)
    return error.locate(f"{file}:{line}") if line else error


def _raised_at(error: Exception, folder: Path) -> tuple[str, int, str]:
    """The file, the line and its text: the innermost one in the author's folder, else outside of tooltrue."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 0, (error.text or "").strip()
    frames = [
        (frame, summary)
        for (frame, _), summary in zip(
            traceback.walk_tb(error.__traceback__), traceback.extract_tb(error.__traceback__), strict=True
        )
        if is_authors(frame)
    ]
    own = [summary for _, summary in frames if Path(summary.filename).resolve().is_relative_to(folder.resolve())]
    for innermost in reversed(own or [summary for _, summary in frames]):
        return innermost.filename, innermost.lineno or 0, (innermost.line or "").strip()
    return "?", 0, ""


def _load_module(name: str, target: str) -> ModuleType:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except DefinitionError as error:
        raise _located(error, Path.cwd()) from None
    except TooltrueError:
        raise
    except Exception as error:
        if not isinstance(error, ModuleNotFoundError) or not f"{name}.".startswith(f"{error.name}."):
            raise _crash(error, target, Path.cwd()) from error
        names = ", ".join(names_of(FAMILIES))
        problem = Worded(REASON_MODULE_NOT_FOUND, {"module": error.name, "known": names})
        raise ConfigurationError.of(TARGET_NOT_SERVABLE, target=target, problem=problem) from None


def _find(module: ModuleType, attribute: str, target: str) -> Server:
    by_name = {name: value for name, value in vars(module).items() if isinstance(value, Server)}
    if attribute:
        if attribute not in by_name:
            raise ConfigurationError.of(
                TARGET_NOT_SERVABLE, target=target, problem=Worded(REASON_SERVER_NOT_FOUND, {"name": attribute})
            )
        return by_name[attribute]
    servers = list({id(value): value for value in by_name.values()}.values())
    if not servers and (library := _foreign_server(module)):
        raise ConfigurationError.of(TARGET_OF_OTHER_LIBRARY, target=target, library=library)
    if len(servers) != 1:
        which = names_or_none(sorted(by_name))
        raise ConfigurationError.of(
            TARGET_NOT_SERVABLE, target=target, problem=Worded(REASON_SERVER_AMBIGUOUS, {"found": which})
        )
    return servers[0]


def _foreign_server(module: ModuleType) -> str | None:
    """The other library whose server is in a module; None if there is no such server."""
    libraries = (type(value).__module__.partition(".")[0] for value in vars(module).values())
    return next((library for library in libraries if library in _FOREIGN), None)
