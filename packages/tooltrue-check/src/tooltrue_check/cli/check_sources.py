"""Sources of a check: every server that the targets of a command line name. A server that cannot be obtained does not
keep the others from being judged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tooltrue.cli.families import FamilyOptions
from tooltrue.contract.contract import Contract
from tooltrue.contract.contract import Path as At
from tooltrue.contract.lock import is_lock
from tooltrue.errors import ConfigurationError, ParseError, TooltrueError
from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object
from tooltrue_check import json_fixes
from tooltrue_check.cli.dumps import bytes_of, lock_in, lock_of_json, tools_in
from tooltrue_check.report import Unjudged
from tooltrue_check.source import ToolSource
from tooltrue_check.wording import DUPLICATE_CHECK_TARGET

__all__ = ["sources_of"]

_SourcesAndFailures = tuple[list[ToolSource], list[Unjudged]]


def sources_of(targets: Sequence[str], family: FamilyOptions, timeout: float) -> _SourcesAndFailures:
    """The servers of all targets under unique names, and the targets that could not be obtained. Toolbox names are
    combined into one server, as for ``serve``; if there are some, the options of ``family`` apply to them only."""
    has_boxes, others = any(map(_is_box, targets)), FamilyOptions()
    every: list[ToolSource | Unjudged] = []
    for one in _together(targets):
        every += _of(one, family if _is_box(one) or not has_boxes else others, timeout)
    sources = [one for one in every if isinstance(one, ToolSource)]
    return [*_apart(sources)], [one for one in every if isinstance(one, Unjudged)]


def _together(targets: Sequence[str]) -> list[str]:
    boxes = [*filter(_is_box, targets)]
    return [*([",".join(boxes)] if boxes else []), *(one for one in targets if one not in boxes)]


def _is_box(target: str) -> bool:
    if _is_file(target):
        return False
    from tooltrue.cli.families import families_of  # noqa: PLC0415 - a check of files needs no family

    return bool(families_of(target))


def _is_file(target: str) -> bool:
    path = Path(target)
    has_suffix = path.suffix in (".json", ".jsonc", ".lock", ".toml")
    return has_suffix and (os.path.isfile(path) or (" " not in target and "://" not in target))


def _apart(sources: Sequence[ToolSource]) -> Iterator[ToolSource]:
    """Name servers that share a name by their targets instead."""
    names = [one.server for one in sources]
    used_names: set[str] = set()
    for one in sources:
        name = one.server if names.count(one.server) == 1 else one.target
        if name in used_names:
            raise ConfigurationError.of(DUPLICATE_CHECK_TARGET, server=name)
        used_names.add(name)
        yield replace(one, server=name)


def _of(target: str, family: FamilyOptions, timeout: float) -> list[ToolSource | Unjudged]:
    try:
        if _is_file(target):
            return _of_file(target, Path(target), timeout)
        from tooltrue_check.cli.check_servers import of_server  # noqa: PLC0415 - each command loads what it needs

        return [of_server(target, family, timeout)]
    except TooltrueError as error:
        return [Unjudged(target, error)]


# -- files -------------------------------------------------------------------------------------------------------------


def _of_file(target: str, path: Path, timeout: float) -> list[ToolSource | Unjudged]:
    data = b"" if path.suffix == ".toml" else bytes_of(path)
    document = _decoded(data)
    if (
        path.suffix == ".lock"
        or is_array(document)
        or (is_object(document) and (is_lock(document) or document.keys() & _OF_A_DUMP))
    ):
        return [_file_source(target, path, data, document)]
    from tooltrue_check.cli.check_servers import of_host_file  # noqa: PLC0415 - each command loads what it needs

    return of_host_file(target, path, timeout)


_OF_A_DUMP = {"tools", "result"}


def _decoded(data: bytes) -> Json:
    try:
        return decode(data)
    except ParseError:
        return None  # the reader of the actual format reports the problem


def _file_source(target: str, path: Path, data: bytes, document: Json) -> ToolSource:
    """The tools of a lock file or of a dump. Only a dump can be changed."""
    gather = Contract.as_listed
    lock = lock_in(data, path, gather) if document is None else lock_of_json(document, data, path, gather)
    roots = _in_lock(lock.contract) if is_lock(document) else _in_dump(document, lock.contract)
    return ToolSource(
        target,
        lock.name or path.stem,
        lock.contract,
        target,
        data.decode(),
        roots,
        rewrite=None if is_lock(document) else _dumped_with,
    )


def _dumped_with(source: ToolSource, values: Sequence[tuple[str, At, Json]]) -> ToolSource:
    text, _ = json_fixes.put(source.text, [((*source.roots[tool], *path), value) for tool, path, value in values])
    if text == source.text:
        return source
    return replace(source, text=text, contract=lock_in(text.encode(), Path(source.file), Contract.as_listed).contract)


def _in_lock(contract: Contract) -> Mapping[str, At]:
    return {name: ("tools", name, "definition") for name in contract.tools}


def _in_dump(document: Json, contract: Contract) -> Mapping[str, At]:
    at, _ = tools_in(document)
    return {name: (*at, number) for number, name in enumerate(contract.tools)}
