"""Targets that are tooltrue servers: a toolbox name, a Python file, or a module."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from tooltrue.app import Server
from tooltrue.cli.families import Family
from tooltrue.crashes import is_authors
from tooltrue.errors import ConfigurationError, TooltrueError
from tooltrue.extras import required
from tooltrue.policy.consent.approvals import approvals_url, instance_of, place_of
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.protocol.types import replaced
from tooltrue.state.places import beside, without_password
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import Provider
from tooltrue.tools.views import renamed
from tooltrue.version import __version__
from tooltrue.wording import Worded

if TYPE_CHECKING:
    from tooltrue.policy.config import OperatorConfig
    from tooltrue.toolbox.rooted_paths import PathRules

__all__ = ["TOOLBOX", "Spec", "files_of", "is_ours", "is_toolbox", "load_server"]


@dataclass(frozen=True, slots=True)
class Spec:
    """A tooltrue server: its target, the settings of toolbox families, and whether a person must approve destructive
    calls. Plain data, for workers.

    ``config`` is the operator's file, by name and text: it is read once, so that all workers use the same version even
    if the file changes while they run. ``withheld`` are files that no toolbox tool may touch: write access to the keys
    would be access to the server.
    """

    target: str
    family: Family = field(default_factory=Family)
    config: tuple[str, str] | None = None
    confirm: bool = True
    withheld: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        target: str,
        family: Family | None = None,
        config: str | None = None,
        *,
        confirm: bool = True,
        withheld: Sequence[str] = (),
    ) -> Spec:
        """Create a spec. ``config`` names a file, which is read here and nowhere else."""
        file = None if config is None else (config, _text_of(config))
        return cls(target, family or Family(), file, confirm, tuple(withheld))

    @property
    def names(self) -> tuple[str, ...]:
        """The families of a target such as ``files,command``, in order."""
        return tuple(dict.fromkeys(self.target.split(",")))

    @property
    def roots(self) -> tuple[str, ...]:
        return self.family["--root"]


def _text_of(file: str) -> str:
    from tooltrue.policy.config import text_of  # noqa: PLC0415 - only an operator's file needs it

    return text_of(file)


def _read_config(file: str, text: str) -> OperatorConfig:
    from tooltrue.policy.config import read_operator_config  # noqa: PLC0415 - only an operator's file needs it

    return read_operator_config(file, text)


def _files(spec: Spec) -> LocalToolset:
    roots, rules = _folders(spec, "files")
    from tooltrue.toolbox.files import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset(roots, rules=rules, read_only=_is_read_only(spec))


def _tables(spec: Spec) -> LocalToolset:
    roots, rules = _folders(spec, "tables")
    from tooltrue.toolbox.tables import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset(roots, rules=rules)


def _folders(spec: Spec, name: str) -> tuple[list[Path], PathRules]:
    """The folders of a family, and the rules on its paths."""
    if not spec.roots:
        raise ConfigurationError.of("TT4001", name=name, option="--root DIR")
    if spec.config is not None:
        _check_out_of_reach(Path(spec.config[0]), spec.roots)
    from tooltrue.toolbox.rooted_paths import PathRules  # noqa: PLC0415 - each family is loaded when it is named

    rules: PathRules = PathRules()
    return [Path(root) for root in spec.roots], replace(rules, places=(*rules.places, *_stores(spec)))


def _is_read_only(spec: Spec, otherwise: str = "write") -> bool:
    access = spec.family.one("--access") or otherwise
    if access not in ("read", "write"):
        raise ConfigurationError.of(
            "TT4009", name="--access", wanted=Worded("TT4040", {"one": "read", "other": "write"})
        )
    return access == "read"


def _command(spec: Spec) -> LocalToolset:
    from tooltrue.toolbox import command  # noqa: PLC0415 - each family is loaded when it is named

    family, allow = command, spec.family["--allow"]
    file = spec.family.one("--commands")
    if not spec.roots:
        raise ConfigurationError.of("TT4001", name="command", option="--root DIR")
    if (file is None) == (not allow):
        raise ConfigurationError.of(
            "TT4001", name="command", option=Worded("TT4041", {"one": "--commands FILE", "other": "--allow COMMAND"})
        )
    allowed = family.read(file) if file is not None else family.simple(allow)
    if (confinement := spec.family.one("--confinement")) is not None:
        allowed = family.confined(allowed, confinement)
    from tooltrue.toolbox.rooted_paths import PathRules  # noqa: PLC0415 - each family is loaded when it is named

    rules = PathRules()
    own = [Path(spec.config[0])] if spec.config is not None else []
    rules = replace(rules, places=(*rules.places, *own, *_stores(spec)))
    return family.toolset(allowed, [Path(root) for root in spec.roots], rules=rules)


def _catalog(spec: Spec) -> LocalToolset:
    file = spec.family.one("--catalog")
    settings = {} if (currency := spec.family.one("--currency")) is None else {"currency": currency}
    from tooltrue.toolbox.catalog import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset(None if file is None else Path(file), **settings)


def _mail(spec: Spec) -> LocalToolset:
    from tooltrue.toolbox import mail as family  # noqa: PLC0415 - each family is loaded when it is named

    url, sender = spec.family.one("--smtp"), spec.family.one("--mail-from")
    if url is None or sender is None:
        option = "--smtp URL" if url is None else "--mail-from ADDRESS"
        raise ConfigurationError.of("TT4001", name="mail", option=option)
    return family.toolset(family.MailServer.at(url), sender, spec.family["--mail-to"])


def _math(spec: Spec) -> LocalToolset:
    from tooltrue.toolbox.math import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset()


def _settings(spec: Spec) -> LocalToolset:
    file = spec.family.one("--store")
    if file is None:
        raise ConfigurationError.of("TT4001", name="settings", option="--store FILE")
    from tooltrue.toolbox.settings import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset(Path(file))


def _web(spec: Spec) -> LocalToolset:
    from tooltrue.toolbox import web  # noqa: PLC0415 - each family is loaded when it is named

    family, options = web, spec.family
    robots = options.one("--robots") or "ignore"
    if robots not in ("obey", "ignore"):
        raise ConfigurationError.of(
            "TT4009", name="--robots", wanted=Worded("TT4040", {"one": "obey", "other": "ignore"})
        )
    services = {"places": options.one("--places-url"), "forecasts": options.one("--weather-url")}
    urls = {name: url for name, url in services.items() if url is not None}
    return family.toolset(family.WebSettings(inside=options["--inside"], robots=robots == "obey", **urls))


def _github(spec: Spec) -> LocalToolset:
    from tooltrue.toolbox import github  # noqa: PLC0415 - each family is loaded when it is named

    family, url = github, spec.family.one("--github-url")
    settings = {} if url is None else {"url": url}
    return family.toolset(family.GitHubSettings(spec.family["--repo"], **settings))


def _language(spec: Spec) -> LocalToolset:
    from tooltrue.toolbox import language  # noqa: PLC0415 - each family is loaded when it is named

    family, url = language, spec.family.one("--translate-url")
    return family.toolset(None if url is None else family.LanguageSettings(url))


def _sql(spec: Spec) -> LocalToolset:
    url = spec.family.one("--database") or os.environ.get("TOOLTRUE_DATABASE")
    if not url:
        raise ConfigurationError.of("TT4001", name="sql", option="--database URL")
    with required("sqlglot", "sql", _sql_missing):
        from tooltrue.toolbox import sql  # noqa: PLC0415 - its parser comes with an extra
    access = sql.Access(
        writes=not _is_read_only(spec, "read"),
        tables=spec.family["--table"],
        hidden=spec.family["--hide"],
        functions=spec.family["--allow-function"],
        mighty_roles=spec.family.one("--roles") == "any",
    )
    return sql.toolset(url, access)


def _sql_missing(command: str) -> ConfigurationError:
    return ConfigurationError.of("TT6204", family="sql", package="sqlglot", extra="sql", command=command)


def _stores(spec: Spec) -> Iterator[Path]:
    """Paths of approval, audit and key stores that lie outside the state folder."""
    server = Server("-".join(spec.names))
    if spec.config is not None:
        server.configure(_read_config(*spec.config))
    yield from map(Path, (*spec.withheld, *server.auth_settings.files))
    yield from (Path(store + ending) for store in spec.family["--store"] for ending in ("", "-journal"))
    confirm, audit = server.settings.confirm, server.settings.audit
    if audit.seal_place not in ("", "log"):
        yield Path(audit.seal_place)
    for url in (approvals_url(confirm.store), audit.to, audit.seal):
        yield from map(Path, files_of(url) if isinstance(url, str) else ())


def files_of(url: str) -> tuple[str, ...]:
    """The files of a ``sqlite:`` store; empty for any other URL."""
    return tuple(filter(None, (beside(url, ending) for ending in ("", "-wal", "-shm", "-journal"))))


def _check_out_of_reach(config: Path, roots: Sequence[str]) -> None:
    """Check that tools cannot write the file that decides on their permissions."""
    place = config.resolve()
    for root in roots:
        from tooltrue.toolbox import rooted_paths  # noqa: PLC0415 - each family is loaded when it is named

        if place.is_relative_to(Path(root).resolve()) and not rooted_paths.is_protected(place.name):
            raise ConfigurationError.of("TT4311", file=str(config), root=root)


@dataclass(frozen=True, slots=True)
class _Family:
    """The constructor of a family's tools, and its options."""

    make: Callable[[Spec], LocalToolset]
    options: tuple[str, ...]


TOOLBOX: dict[str, _Family] = {
    "catalog": _Family(_catalog, ("--catalog", "--currency")),
    "command": _Family(_command, ("--root", "--commands", "--allow", "--confinement")),
    "files": _Family(_files, ("--root", "--access")),
    "github": _Family(_github, ("--repo", "--github-url")),
    "language": _Family(_language, ("--translate-url",)),
    "mail": _Family(_mail, ("--smtp", "--mail-from", "--mail-to")),
    "math": _Family(_math, ()),
    "settings": _Family(_settings, ("--store",)),
    "web": _Family(_web, ("--inside", "--robots", "--places-url", "--weather-url")),
    "tables": _Family(_tables, ("--root",)),
    "sql": _Family(_sql, ("--database", "--access", "--table", "--hide", "--allow-function", "--roles")),
}


def is_ours(target: str) -> bool:
    """Whether ``target`` is a tooltrue server that runs in this process, rather than one to connect to."""
    place, colon, _ = target.partition(":")
    if Path(place).is_file() and place.endswith(".py"):
        return True
    is_command = " " in target or ("/" in target and not place.endswith(".py"))
    return is_toolbox(target) or (not is_command and (place.endswith(".py") or bool(colon)))


def is_toolbox(target: str) -> bool:
    """Whether ``target`` consists only of names of toolbox families."""
    return all(name in TOOLBOX for name in target.split(","))


def load_server(spec: Spec, text: str | None = None) -> Server:
    """Load the server of a spec. ``ConfigurationError`` names the place of the search and the names that would be
    found. ``text`` replaces the content of its file."""
    server = _load(spec, text)
    if spec.config is not None:
        server.configure(_read_config(*spec.config))
    if spec.confirm:
        return server
    return server.with_guard("--no-confirm", confirm=replaced(server.settings.confirm, effects=Confirm.never().effects))


def _load(spec: Spec, text: str | None) -> Server:
    families = {name: TOOLBOX[name] for name in spec.names} if is_toolbox(spec.target) else {}
    for option in spec.family.values:
        if not any(option in family.options for family in families.values()):
            raise ConfigurationError.of("TT4008", option=option, target=spec.target)
    if families:
        toolsets = {name: family.make(spec) for name, family in families.items()}
        instance = ", ".join(
            [*map(place_of, (*spec.roots, *spec.family["--store"])), *spec.family["--smtp"], *_databases(spec)]
        )
        return Server("-".join(families), version=__version__, toolsets=apart(toolsets), instance=instance)
    place, _, attribute = spec.target.partition(":")
    module = _load_file(Path(place), text) if place.endswith(".py") else _load_module(place, spec.target)
    server = _find(module, attribute, spec.target)
    server.started_as(instance_of(module.__file__ or place, attribute))
    return server


def _databases(spec: Spec) -> Iterator[str]:
    yield from map(without_password, spec.family["--database"])


def apart(toolsets: Mapping[str, LocalToolset]) -> list[Provider]:
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
        raise ConfigurationError.of("TT4002", target=str(path), problem=Worded("TT4030", {}))
    loader = None if text is None else _TextLoader(path, text)
    spec = importlib.util.spec_from_file_location(path.stem, path, loader=loader)
    if spec is None or spec.loader is None:
        raise ConfigurationError.of("TT4002", target=str(path), problem=Worded("TT4031", {}))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # type annotations are looked up there
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        spec.loader.exec_module(module)
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
        return ConfigurationError.of("TT4013", target=target, library=name)
    file, line, text = _raised_at(error, folder)
    message = error.msg if isinstance(error, SyntaxError) else error
    problem = f"{type(error).__name__}: {message}"
    return ConfigurationError.of("TT4012", target=target, error=problem, file=file, line=line, text=text)


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
    except TooltrueError:
        raise
    except Exception as error:
        if not isinstance(error, ModuleNotFoundError) or not f"{name}.".startswith(f"{error.name}."):
            raise _crash(error, target, Path.cwd()) from error
        names = ", ".join(sorted(TOOLBOX))
        problem = Worded("TT4032", {"module": error.name, "known": names})
        raise ConfigurationError.of("TT4002", target=target, problem=problem) from None


def _find(module: ModuleType, attribute: str, target: str) -> Server:
    by_name = {name: value for name, value in vars(module).items() if isinstance(value, Server)}
    if attribute:
        if attribute not in by_name:
            raise ConfigurationError.of("TT4002", target=target, problem=Worded("TT4033", {"name": attribute}))
        return by_name[attribute]
    servers = list({id(value): value for value in by_name.values()}.values())
    if not servers and (library := _foreign_server(module)):
        raise ConfigurationError.of("TT4013", target=target, library=library)
    if len(servers) != 1:
        which = ", ".join(sorted(by_name)) or "none"
        raise ConfigurationError.of("TT4002", target=target, problem=Worded("TT4034", {"found": which}))
    return servers[0]


def _foreign_server(module: ModuleType) -> str | None:
    """The other library whose server is in a module; None if there is no such server."""
    libraries = (type(value).__module__.partition(".")[0] for value in vars(module).values())
    return next((library for library in libraries if library in _FOREIGN), None)
