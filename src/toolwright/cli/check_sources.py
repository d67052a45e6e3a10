"""What is checked: every server that the targets of a command line stand for, each on its own, so that one that cannot
be had keeps nobody from judging the rest."""

from __future__ import annotations

import ast
import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from toolwright.check import fixing, literals
from toolwright.check.report import Unjudged
from toolwright.check.source import Place, Source
from toolwright.cli.connecting import auth_of, target_of
from toolwright.cli.contracts import bytes_of, listed, lock_in, tools_in
from toolwright.cli.families import Family
from toolwright.cli.hosting import approve_here, inputs_here
from toolwright.cli.targets import TOOLBOX, Spec, is_ours, load_server
from toolwright.client.config import Config, ServerConfig, read_config
from toolwright.contract.contract import Contract
from toolwright.contract.contract import Path as At
from toolwright.contract.lock import is_lock
from toolwright.errors import ConfigurationError, ParseError, ToolwrightError
from toolwright.host.launches import Launches
from toolwright.host.reaching import reached
from toolwright.jsonrpc.messages import Json, decode, is_array, is_object

__all__ = ["sources_of"]

_Found = tuple[list[Source], list[Unjudged]]


def sources_of(targets: Sequence[str], family: Family, timeout: float) -> _Found:
    """The servers of all targets, by names that are their own, and what could not be had. Names of toolboxes are one
    server, as for ``serve``, and where there are some, the options of ``family`` are theirs alone."""
    has_boxes, others = any(map(_is_box, targets)), Family()
    every: list[Source | Unjudged] = []
    for one in _together(targets):
        every += _of(one, family if _is_box(one) or not has_boxes else others, timeout)
    sources = [one for one in every if isinstance(one, Source)]
    return [*_apart(sources)], [one for one in every if isinstance(one, Unjudged)]


def _together(targets: Sequence[str]) -> list[str]:
    boxes = [*filter(_is_box, targets)]
    return [*([",".join(boxes)] if boxes else []), *(one for one in targets if one not in boxes)]


def _is_box(target: str) -> bool:
    return all(name in TOOLBOX for name in target.split(","))


def _apart(sources: Sequence[Source]) -> Iterator[Source]:
    """Servers that call themselves the same are called by what was asked for."""
    names = [one.server for one in sources]
    taken: set[str] = set()
    for one in sources:
        name = one.server if names.count(one.server) == 1 else one.target
        if name in taken:
            raise ConfigurationError.of("TW9806", server=name)
        taken.add(name)
        yield replace(one, server=name)


def _of(target: str, family: Family, timeout: float) -> list[Source | Unjudged]:
    try:
        path = Path(target)
        named = path.suffix in (".json", ".jsonc", ".lock", ".toml")
        if named and (os.path.isfile(path) or (" " not in target and "://" not in target)):
            return _of_file(target, path, timeout)
        return [_ours(target, family) if is_ours(target) else _theirs(target, family, timeout)]
    except ToolwrightError as error:
        return [Unjudged(target, error)]


# -- servers -----------------------------------------------------------------------------------------------------------


def _ours(target: str, family: Family, text: str | None = None) -> Source:
    """A server of ours is not called: what it has for whomever is judged, and each tool says where it is written.
    ``text`` is what is to stand in its file."""
    file = target.partition(":")[0]
    said = _python(file) if text is None else text
    server = load_server(Spec.of(target, family), text)
    tools = asyncio.run(server.inventory()).tools
    return Source(
        target,
        server.name,
        Contract.of(tool.definition for tool in tools),
        "" if said is None else file,
        said or "",
        rewrite=None if said is None else partial(_rewritten, family),
        written={tool.name: Place(_shown(tool.written[0]), tool.written[1]) for tool in tools if tool.written},
        excused={tool.name: tool.excused for tool in tools if tool.excused},
    )


def _python(file: str) -> str | None:
    """The text of a Python file that can be put back as it was; what else there may be is left alone."""
    try:
        text = Path(file).read_bytes().decode() if file.endswith(".py") else None
        if text is not None:
            ast.parse(text)
        return text
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError):
        return None


def _rewritten(family: Family, source: Source, values: Sequence[tuple[str, At, Json]]) -> Source:
    """With these values in the file of a server of ours. It is loaded again, and has to publish what it did, but for
    them: ``ConfigurationError`` where it does not."""
    text = _with(source, values)
    if text == source.text:
        return source
    try:
        after = _ours(source.target, family, text)
    except ToolwrightError as error:
        raise ConfigurationError.of("TW9807", file=source.file, problem=error) from None
    kept = fixing.arrived(values, after.contract)
    if _with(source, kept) != text:  # a literal that is like what is published, and is not that
        return _rewritten(family, source, kept)
    if not fixing.is_only(kept, source.contract, after.contract):
        raise ConfigurationError.of("TW9808", file=source.file)
    return replace(after, server=source.server)


def _with(source: Source, values: Sequence[tuple[str, At, Json]]) -> str:
    here = Path(source.file).resolve()
    lines = {tool: place.line for tool, place in source.written.items() if Path(place.file).resolve() == here}
    return literals.put(source.text, [literals.Wanted(tool, lines.get(tool, 0), *one) for tool, *one in values])


def _shown(file: str) -> str:
    """As seen from the current folder, where it is in there."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def _theirs(target: str, family: Family, timeout: float) -> Source:
    where = target_of(target, family)
    lock = asyncio.run(listed(where, timeout, Contract.as_listed, auth=auth_of(where)))
    return Source(target, lock.name or target, lock.contract)


# -- files -------------------------------------------------------------------------------------------------------------


def _of_file(target: str, path: Path, timeout: float) -> list[Source | Unjudged]:
    data = b"" if path.suffix == ".toml" else bytes_of(path)
    said = _decoded(data)
    if path.suffix == ".lock" or is_array(said) or (is_object(said) and (is_lock(said) or said.keys() & _OF_A_DUMP)):
        return [_written(target, path, data, said)]
    return asyncio.run(_all_of(target, read_config(path), timeout))


_OF_A_DUMP = {"tools", "result"}


def _decoded(data: bytes) -> Json:
    try:
        return decode(data)
    except ParseError:
        return None  # whoever reads it for what it is says what is wrong


def _written(target: str, path: Path, data: bytes, said: Json) -> Source:
    """The tools of a lock file, or of a dump, which alone can be changed."""
    lock = lock_in(data, path, Contract.as_listed)
    roots = _in_lock(lock.contract) if is_lock(said) else _in_dump(said, lock.contract)
    return Source(
        target,
        lock.name or path.stem,
        lock.contract,
        target,
        data.decode(),
        roots,
        rewrite=None if is_lock(said) else _dumped_with,
    )


def _dumped_with(source: Source, values: Sequence[tuple[str, At, Json]]) -> Source:
    text, _ = fixing.put(source.text, [((*source.roots[tool], *path), value) for tool, path, value in values])
    if text == source.text:
        return source
    return replace(source, text=text, contract=lock_in(text.encode(), Path(source.file), Contract.as_listed).contract)


def _in_lock(contract: Contract) -> Mapping[str, At]:
    return {name: ("tools", name, "definition") for name in contract.tools}


def _in_dump(said: Json, contract: Contract) -> Mapping[str, At]:
    at, _ = tools_in(said)
    return {name: (*at, number) for number, name in enumerate(contract.tools)}


async def _all_of(target: str, config: Config, timeout: float) -> list[Source | Unjudged]:
    """Every server that a file of a host names and does not switch off, at once. What is to be asked about starting
    them is asked one after the other."""
    turn, launches, known = asyncio.Lock(), Launches(), dict[str, str]()

    async def one(server: ServerConfig) -> Source | Unjudged:
        called = f"{target}#{server.label}"
        try:
            async with turn:
                where, settings = await reached(server, config, launches, approve_here(), inputs_here(), known)
            lock = await listed(where, timeout, Contract.as_listed, **settings)
            return Source(called, server.label, lock.contract)
        except ToolwrightError as error:
            return Unjudged(called, error)

    return [*await asyncio.gather(*(one(server) for server in config.servers if server.enabled))]
