"""The lock file: a stored contract in a form that is easy to review.

Canonical JSON, indented, keys sorted, so that one contract has exactly one file. Each definition is stored in full,
with the digest of each of its fields; invisible characters are escaped. A file whose digests do not match its content
is refused: it was edited by hand, or merged wrongly.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tooltrue._internal.platform.file_replacement import read_file
from tooltrue.contract.contract import Contract, place
from tooltrue.contract.digests import Definition, digest, fields
from tooltrue.contract.display import display_safe_json
from tooltrue.contract.files import write_whole
from tooltrue.contract.wording import (
    FILE_UNREADABLE,
    LOCK_FILE_DIGEST_MISMATCH,
    LOCK_FILE_INVALID,
    LOCK_FILE_TOO_NEW,
    REASON_KEY_MISSING,
    REASON_KEY_UNKNOWN,
    REASON_MEMBERS_MISSING,
    REASON_NAME_MISMATCH,
    REASON_NOT_AN_OBJECT,
)
from tooltrue.errors import ConfigurationError, DefinitionError, ParseError, fact_of
from tooltrue.jsonrpc.messages import Json, decode, is_object
from tooltrue.wording import REASON_LARGER_THAN, Worded

__all__ = ["FORMAT", "Lock", "find", "is_lock", "key_of", "parse", "read", "text", "write"]

FORMAT: Final = 1
"""Format version, stored under ``tooltrue.lock``. It is increased when older releases can no longer read the file."""

_MARK: Final = "tooltrue.lock"
_MAX_BYTES: Final = 50_000_000
_SECTIONS: Final = ("tools", "prompts", "resources")


@dataclass(frozen=True, slots=True)
class Lock:
    """A contract, and the name and version that the server gave itself at the time."""

    contract: Contract
    name: str = ""
    version: str = ""


def text(lock: Lock) -> str:
    """The content of the lock file; equal locks give equal text."""
    contract = lock.contract
    data: dict[str, Json] = {
        _MARK: FORMAT,
        "server": {"name": lock.name, "version": lock.version},
        "sha256": contract.pin,
    }
    if contract.instructions is not None:
        data["instructions"] = {"sha256": digest(contract.instructions), "text": contract.instructions}
    for section, entries in _sections(contract):
        if entries or section == "tools":
            data[section] = {
                name: {"definition": definition, "sha256": fields(definition)} for name, definition in entries.items()
            }
    return display_safe_json(json.dumps(data, ensure_ascii=False, indent=2, sort_keys=True)) + "\n"


def _sections(contract: Contract) -> Iterator[tuple[str, Mapping[str, Definition]]]:
    yield from zip(_SECTIONS, (contract.tools, contract.prompts, contract.resources), strict=True)


def write(file: Path, lock: Lock, mode: int = 0o666) -> None:
    """Write the file atomically. ``mode``, less the umask, applies to a new file."""
    write_whole(file, text(lock), mode)


def read(file: Path) -> Lock:
    """Read the lock from a file. ``ConfigurationError`` with the problem and its place if the file is not valid."""
    lock = find(file)
    if lock is None:
        raise ConfigurationError.of(FILE_UNREADABLE, file=str(file), problem=os.strerror(errno.ENOENT))
    return lock


def find(file: Path) -> Lock | None:
    """Read the lock as :func:`read` does; None if the file does not exist."""
    try:
        data = read_file(file, _MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError.of(FILE_UNREADABLE, file=str(file), problem=error.strerror) from None
    return parse(data, str(file))


def key_of(file: Path) -> str:
    """The key of a lock file in the log of acts, where its path is the name of its history."""
    return f"lock-{digest(str(file.absolute()))[:32]}"


def is_lock(value: Json) -> bool:
    """Whether a JSON value declares itself to be a lock file."""
    return is_object(value) and _MARK in value


def parse(data: bytes, file: str) -> Lock:
    """Parse a lock. ``file`` is its name in error messages."""
    if len(data) > _MAX_BYTES:
        raise _refused(file, Worded(REASON_LARGER_THAN, {"limit": _MAX_BYTES}))
    try:
        document = decode(data)
    except ParseError as error:
        raise _refused(file, fact_of(error)) from None
    if not is_object(document) or not is_lock(document):
        raise _refused(file, Worded(REASON_KEY_MISSING, {"key": _MARK}))
    if document[_MARK] != FORMAT or isinstance(document[_MARK], bool):
        raise ConfigurationError.of(LOCK_FILE_TOO_NEW, file=file, format=repr(document[_MARK])[:40], known=FORMAT)
    return _LockReader(file, document).lock()


def _refused(file: str, problem: str | Worded) -> ConfigurationError:
    return ConfigurationError.of(LOCK_FILE_INVALID, file=file, problem=problem)


@dataclass(frozen=True, slots=True)
class _LockReader:
    file: str
    document: Mapping[str, Json]

    def lock(self) -> Lock:
        unknown = self.document.keys() - {_MARK, "server", "sha256", "instructions", *_SECTIONS}
        if unknown:
            raise _refused(self.file, Worded(REASON_KEY_UNKNOWN, {"key": min(unknown)}))
        server = self.member("server", self.document.get("server"))
        tools, prompts, resources = (self.section(name) for name in _SECTIONS)
        contract = self.contract(tools, prompts, resources, self.instructions())
        for section, entries in _sections(contract):
            if entries.keys() != self.document.get(section, {}).keys():
                raise _refused(self.file, Worded(REASON_NAME_MISMATCH, {"section": section}))
        self.fits(("sha256",), self.document.get("sha256"), contract.pin)
        name, version = server.get("name"), server.get("version")
        if not isinstance(name, str) or not isinstance(version, str):
            raise _refused(
                self.file, Worded(REASON_MEMBERS_MISSING, {"name": "server", "members": "'name', 'version'"})
            )
        return Lock(contract, name, version)

    def contract(
        self, tools: list[Definition], prompts: list[Definition], resources: list[Definition], instructions: str | None
    ) -> Contract:
        try:
            return Contract.of(tools, instructions, prompts=prompts, resources=resources)
        except DefinitionError as error:
            raise _refused(self.file, fact_of(error)) from None

    def member(self, name: str, value: Json) -> dict[str, Json]:
        if not is_object(value):
            raise _refused(self.file, Worded(REASON_NOT_AN_OBJECT, {"name": name}))
        return value

    def instructions(self) -> str | None:
        if "instructions" not in self.document:
            return None
        entry = self.member("instructions", self.document["instructions"])
        if not isinstance(entry.get("text"), str):
            raise _refused(self.file, Worded(REASON_MEMBERS_MISSING, {"name": "instructions", "members": "'text'"}))
        self.fits(("instructions",), entry.get("sha256"), digest(entry["text"]))
        return entry["text"]

    def section(self, section: str) -> list[Definition]:
        definitions: list[Definition] = []
        for name, entry in self.member(section, self.document.get(section, {})).items():
            record = self.member(name, entry)
            definition = self.member(name, record.get("definition"))
            digests = self.member(name, record.get("sha256"))
            for field, value in fields(definition).items():
                self.fits((section, name, field), digests.get(field), value)
            if digests.keys() - definition.keys():
                raise ConfigurationError.of(LOCK_FILE_DIGEST_MISMATCH, file=self.file, path=place((section, name)))
            definitions.append(definition)
        return definitions

    def fits(self, path: tuple[str, ...], actual: Json, expected: str) -> None:
        if actual != expected:
            raise ConfigurationError.of(LOCK_FILE_DIGEST_MISMATCH, file=self.file, path=place(path))
