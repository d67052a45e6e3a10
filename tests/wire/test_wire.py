"""Every transcript, over every carrier that it names."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from official import Judge
from support.wire import servers
from support.wire.mounting import Mounts
from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.peer import Dropped
from tooltrue.testing.transcripts import CARRIERS, Section, Transcript, read, replay, rewrite, rewritten
from tooltrue.transport.carrier import Receiver, TransportLink
from tooltrue.transport.http_client import HttpLink
from tooltrue.transport.memory import MemoryLink
from tooltrue.transport.stdio_client import StdioLink
from wire.warm import Warm

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*.wire"))


def cases() -> Iterator[object]:
    for path in FILES:
        transcript = read(path.read_text())
        for section in transcript.sections:
            for carrier in section.over:
                marks = [pytest.mark.requirement(*transcript.requirements)]
                marks += [pytest.mark.process] if carrier == "stdio" else []
                name = f"{path.stem}:{section.title}@{carrier}"
                yield pytest.param(path, transcript, section, carrier, id=name, marks=marks)


@pytest.mark.parametrize(("path", "transcript", "section", "carrier"), list(cases()))
def test_a_conversation_goes_as_written(
    path: Path,
    transcript: Transcript,
    section: Section,
    carrier: str,
    mounts: Mounts,
    warm: Warm,
    request: pytest.FixtureRequest,
) -> None:
    with ExitStack() as stack:
        link = link_of(transcript.server, carrier, mounts, warm, stack)
        if not request.config.getoption("--rewrite-wire"):
            asyncio.run(replay(section, Judged(link, Judge(section.revision))))
        elif carrier == section.over[0]:
            changed = asyncio.run(rewrite(section, link))
            path.write_text(rewritten(path.read_text(), changed))


class Judged:
    """A link whose server is held to the official schemas, too."""

    def __init__(self, link: TransportLink, judge: Judge) -> None:
        self._link = link
        self._judge = judge
        self.shared = link.shared
        self.key, self.renew, self.flush, self.last_words = link.key, link.renew, link.flush, link.last_words
        self.abandon, self.listen, self.close, self.opened = link.abandon, link.listen, link.close, link.opened

    async def open(self, receiver: Receiver) -> None:
        await self._link.open(Overheard(receiver, self._judge))

    def send(self, frame: bytes, id: Id | None, headers: Mapping[str, str], *, resumable: bool = False) -> None:
        self._judge.sent(frame)
        self._link.send(frame, id, headers, resumable=resumable)


class Overheard:
    def __init__(self, receiver: Receiver, judge: Judge) -> None:
        self._receiver = receiver
        self._judge = judge
        self.awaits, self.fail, self.lose = receiver.awaits, receiver.fail, receiver.lose

    @property
    def dropped(self) -> Dropped:
        return self._receiver.dropped

    def feed(self, frame: bytes) -> None:
        try:
            self._judge.came(frame)
        except AssertionError as error:
            self._receiver.lose(error)
            return
        self._receiver.feed(frame)


def link_of(server: str, carrier: str, mounts: Mounts, warm: Warm, stack: ExitStack) -> TransportLink:
    """A client's end of a link to a new server, without earlier messages."""
    match carrier:
        case "memory":
            return MemoryLink(servers.make(server))
        case "stdio":
            # The server of one transcript is a command that loads everything itself, as a command of a user does.
            is_cold = server == "closed"
            return StdioLink([sys.executable, servers.__file__, server] if is_cold else warm.command(server))
        case _:
            path = stack.enter_context(mounts.mounted(servers.make(server).http_app()))
            return HttpLink(f"http://127.0.0.1:{mounts.port}{path}")


def test_every_era_and_carrier_has_its_transcripts() -> None:
    sections = [section for path in FILES for section in read(path.read_text()).sections]
    assert {section.era for section in sections} == {"modern", "legacy"}
    assert {carrier for section in sections for carrier in section.over} == set(CARRIERS)
