"""Pins: the accepted contract of each server, and the drift since.

The whole contract of a server is stored at first use, in the user's own state folder and never in a repository: its
tools, prompts and resource templates, and its instructions. Later, a definition that is new or has changed, beyond
white space and other cosmetic differences, is quarantined until a person has seen the change and accepts it. A poisoned
definition is quarantined from the first time on.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tooltrue._internal.platform.file_replacement import remove_file
from tooltrue._internal.platform.private_files import make_private_folder
from tooltrue.client.client import Target
from tooltrue.client.config import ServerConfig
from tooltrue.contract.contract import Contract
from tooltrue.contract.diff import Class, ContractChange, Diff, diff
from tooltrue.contract.digests import Definition, digest
from tooltrue.contract.files import write_whole
from tooltrue.contract.finding import ScanFinding, is_blocked
from tooltrue.contract.lock import Lock, find, read, write
from tooltrue.contract.neighbours import NOBODY, Neighbours
from tooltrue.contract.wording import FILE_NOT_WRITABLE
from tooltrue.errors import ConfigurationError, DefinitionError, StateError
from tooltrue.host.admission import AdmissionVerdict, Entry, scanned, suspicious
from tooltrue.host.wording import CONTRACT_CHANGED_SINCE_REVIEW, DEFINITION_DRIFTED, DEFINITION_NOT_YET_ACCEPTED
from tooltrue.jsonrpc.messages import Json, encode
from tooltrue.policy.consent.approvals import place_of
from tooltrue.protocol.types import replaced
from tooltrue.state.places import state_folder

__all__ = ["Pin", "Pins", "Review", "instance_of"]

_MAX_RECORDED = 200_000


@dataclass(frozen=True, slots=True)
class Review:
    """A pending review: the changes since the last acceptance, and the suspicious findings in them. ``digest``
    identifies all that is published, so that only the contract that was shown can be accepted. ``is_refused``: a person
    has refused this contract; it stays quarantined, and can still be accepted."""

    server: str
    digest: str
    changes: Diff
    findings: Mapping[str, tuple[ScanFinding, ...]] = field(default_factory=dict[str, tuple[ScanFinding, ...]])
    is_refused: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The tools, prompts and templates that a change or finding concerns."""
        return frozenset({one.subject for one in self.changes.changes if one.subject} | self.findings.keys())

    def data(self) -> dict[str, Json]:
        findings = {name: [one.data() for one in those] for name, those in self.findings.items()}
        return {**self.changes.data(), "findings": findings, "refused": self.is_refused}

    def shown(self) -> dict[str, Json]:
        """The data for the record of a decision; of a large change, the counts and the names."""
        data = self.data()
        if len(encode(data)) <= _MAX_RECORDED:
            return data
        return {"counts": data["counts"], "worst": data["worst"], "names": sorted(self.names)[:100], "cut": True}

    def lines(self, language: str = "en") -> Iterator[str]:
        yield from self.changes.lines(language)
        for name, findings in self.findings.items():
            yield from (f"{one.severity.value:<9} {name} {one.place}  {one.say(language)}" for one in findings)


def instance_of(file: str, server: ServerConfig) -> str:
    """An identity that tells servers of the same label apart: the file that names the server, and its command or
    address."""
    return f"{place_of(file)} #{_key(file, server)}"


def _key(file: str, server: ServerConfig) -> str:
    address: list[str] = [server.url] if server.url is not None else [server.command or "", *server.args]
    target: Target | None = server.target
    if isinstance(target, str | Sequence):  # it stands in no file
        address = [target] if isinstance(target, str) else list(target)
    return digest([os.path.abspath(file), server.label, address])[:32]


class Pins:
    """The accepted contracts. ``folder`` defaults to one in the user's state folder; tests override it."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def of(self, file: str, server: ServerConfig) -> Pin:
        """The pin of a server as this file names it. With another command or address it is another server."""
        return self._pin(_key(file, server), server.label)

    def known_keys(self) -> list[str]:
        """The keys of all pins of this user, whichever file names their servers."""
        return sorted(file.stem for file in self._place.glob("*.lock") if not file.stem.endswith(".new"))

    def of_key(self, key: str) -> Pin:
        """The pin with one of :meth:`known_keys`, and the label of its server. ``ConfigurationError`` where it cannot
        be read."""
        return self._pin(key, read(self._place / f"{key}.lock").name)

    @property
    def _place(self) -> Path:
        return self._folder or state_folder() / "pins"

    def _pin(self, key: str, label: str) -> Pin:
        return Pin(label, self._place / f"{key}.lock", self._place / f"{key}.new.lock")


@dataclass(frozen=True, slots=True)
class Pin:
    """The pin of one server: ``file`` holds the accepted contract, ``waiting`` a changed one under review. ``unseen``
    are the definitions pinned on first use by this object and not reviewed yet: one of them may turn out to be poisoned
    once other servers are connected. ``has_judged`` is set once it has judged the lists of a caller."""

    server: str
    file: Path
    waiting: Path
    unseen: set[Entry] = field(default_factory=set[Entry], compare=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    has_judged: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)

    def names(self) -> frozenset[str] | None:
        """The tools in the accepted contract, and in a changed one under review; ``None`` before the first use.
        ``ConfigurationError`` where the pin cannot be read."""
        if (accepted := find(self.file)) is None:
            return None
        waiting = find(self.waiting)
        return frozenset(accepted.contract.tools) | frozenset(() if waiting is None else waiting.contract.tools)

    def judge(self, contract: Contract, neighbours: Neighbours) -> AdmissionVerdict:
        """Decide which published definitions to quarantine. ``ConfigurationError`` where the pin cannot be read."""
        scan = scanned(contract, neighbours)
        with self.lock:
            accepted = self._accepted(contract, scan)
            quarantined = dict(self._quarantined(contract, accepted, scan))
            verdict = AdmissionVerdict(quarantined, contract.instructions != accepted.instructions, scan.findings)
            self._wait(contract if quarantined or verdict.holds_instructions else None)
        return verdict

    def judge_list(self, contract: Contract, neighbours: Neighbours) -> AdmissionVerdict:
        """As :meth:`judge`, for the lists of one of several callers, who may see others.

        The pin has one definition for each name, whoever sees it: to a caller to which the server shows another, the
        name is quarantined. Definitions that wait stay so until they are accepted, or judged by another process, as
        the lists of another caller may have them.
        """
        scan = scanned(contract, neighbours)
        with self.lock:
            accepted = self._accepted(contract, scan)
            quarantined = dict(self._quarantined(contract, accepted, scan))
            verdict = AdmissionVerdict(quarantined, contract.instructions != accepted.instructions, scan.findings)
            before = find(self.waiting) if self.has_judged.is_set() else None
            self.has_judged.set()
            waiting = accepted if before is None else _with(accepted, before.contract)
            waiting = _with(waiting, _only(contract, lambda entry: entry in quarantined))
            if verdict.holds_instructions:
                waiting = replaced(waiting, instructions=contract.instructions)
            self._wait(None if waiting == accepted else waiting)
        return verdict

    def _accepted(self, contract: Contract, scan: AdmissionVerdict) -> Contract:
        """The accepted contract, without unreviewed definitions found poisoned since; on first use, all that is not
        poisoned."""
        if not self.file.exists():
            pinned = _only(contract, lambda entry: entry not in scan.quarantined)
            pinned = replaced(pinned, instructions=None) if scan.holds_instructions else pinned
            self.unseen.update(_entries(pinned))
            self._write(self.file, pinned)
            return pinned
        accepted = read(self.file).contract
        now, before = _entries(contract), _entries(accepted)
        if taken_back := {one for one in self.unseen & scan.quarantined.keys() if now.get(one) == before.get(one)}:
            self.unseen.difference_update(taken_back)
            accepted = _only(accepted, lambda entry: entry not in taken_back)
            self._write(self.file, accepted)
        return accepted

    def _quarantined(
        self, contract: Contract, accepted: Contract, scan: AdmissionVerdict
    ) -> Iterator[tuple[Entry, DefinitionError]]:
        before = _entries(accepted)
        changes: defaultdict[Entry, list[ContractChange]] = defaultdict(list)
        for change in diff(accepted, contract).changes:
            changes[(str(change.path[0]), change.subject)].append(change)
        for entry, definition in _entries(contract).items():
            changed = Diff(tuple(changes[entry]))
            if entry in scan.quarantined and definition != before.get(entry):
                yield entry, scan.quarantined[entry]
            elif _counts(changed):
                yield entry, _changed(entry, changed, is_new=entry not in before)

    def review(self, neighbours: Neighbours = NOBODY) -> Review | None:
        """The pending review, if any."""
        waiting = find(self.waiting)
        pinned = None if waiting is None else find(self.file)
        if waiting is None or pinned is None:
            return None
        accepted, published = pinned.contract, waiting.contract
        changes = diff(accepted, published)
        findings: dict[str, tuple[ScanFinding, ...]] = {}
        for (section, name), what in suspicious(published, neighbours).items():
            if is_blocked(what) and _counts(changes.of(name, section)):
                findings[name] = (*findings.get(name, ()), *what)
        return Review(self.server, published.pin, changes, findings, self._refused() == published.pin)

    def contracts(self) -> tuple[Contract, Contract | None]:
        """The accepted contract, and the changed one under review. ``ConfigurationError`` where the pin cannot be
        read."""
        waiting = find(self.waiting)
        return read(self.file).contract, None if waiting is None else waiting.contract

    def refuse(self, review: Review) -> None:
        """Refuse what is in ``review``: its definitions stay quarantined, also when the server publishes them again.
        ``ConfigurationError`` where another contract is pending by now, or where this cannot be stored."""
        with self.lock:
            self._waiting_of(review)
            write_whole(self._mark, f"{review.digest}\n", 0o600)

    @property
    def _mark(self) -> Path:
        """The file with the digest of the contract that a person has refused last."""
        return self.file.with_suffix(".refused")

    def _refused(self) -> str:
        try:
            return self._mark.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    def _waiting_of(self, review: Review) -> Contract:
        waiting = find(self.waiting)
        if waiting is None or waiting.contract.pin != review.digest:
            raise ConfigurationError.of(CONTRACT_CHANGED_SINCE_REVIEW, server=self.server)
        return waiting.contract

    def accept(self, review: Review, names: Collection[str] | None = None) -> None:
        """Accept the definitions called ``names`` as they are in ``review``; without ``names``, all of it with the
        instructions, and definitions that are gone leave the pin. ``ConfigurationError`` where another contract is
        pending by now."""
        with self.lock:
            published = self._waiting_of(review)
            if names is None:
                self.unseen.clear()
                self._write(self.file, published)
                self._wait(None)
                return
            accepted = _only(published, lambda entry: entry[1] in names)
            self.unseen.difference_update(_entries(accepted))
            self._write(self.file, _with(read(self.file).contract, accepted))

    def _wait(self, contract: Contract | None) -> None:
        if contract is None:
            remove_file(self.waiting)
        else:
            self._write(self.waiting, contract)

    def _write(self, file: Path, contract: Contract) -> None:
        """``StateError`` where the file cannot be written. That may pass: a full disk does not make the pin invalid."""
        try:
            make_private_folder(file.parent)
            write(file, Lock(contract, self.server), mode=0o600)
        except OSError as error:
            raise StateError.of(FILE_NOT_WRITABLE, file=str(file), problem=error.strerror) from error
        except ConfigurationError as error:
            raise StateError.of(error.code, **error.facts) from error


def _entries(contract: Contract) -> dict[Entry, Definition]:
    return {(section, name): one for section, entries in contract.sections() for name, one in entries.items()}


def _only(contract: Contract, is_included: Callable[[Entry], bool]) -> Contract:
    """The contract reduced to these definitions."""
    sections = {
        section: {name: one for name, one in entries.items() if is_included((section, name))}
        for section, entries in contract.sections()
    }
    return replaced(contract, **sections)


def _with(contract: Contract, more: Contract) -> Contract:
    """The contract with these definitions added, or put in place of its own."""
    sections = {section: dict(entries) for section, entries in contract.sections()}
    for section, entries in more.sections():
        sections[section] |= entries
    return replaced(contract, **sections)


def _counts(changes: Diff) -> bool:
    """Whether a person has to review it."""
    return changes.worst not in (None, Class.COSMETIC)


def _changed(entry: Entry, changes: Diff, *, is_new: bool) -> DefinitionError:
    name = entry[1][:128]
    if is_new:
        return DefinitionError.of(DEFINITION_NOT_YET_ACCEPTED, name=name)
    return DefinitionError.of(DEFINITION_DRIFTED, name=name, kinds=", ".join(changes.counts()))
