"""The supervisor: one process that holds the servers of a gateway which are programs, for all of its workers.

A worker has a connection for each server and caller. Its first line names the two, with the digest of the entry that
the worker has read, and the answer has the state of the server; the lines after it are MCP of the newest stateless
revision, so that every worker can answer the questions of a session-based program::

      worker                                                         supervisor
        |--- {"server": "git", "entry": "9f86d0…", "caller": "ada"} --->|
        |<-- {"state": "ready"} -----------------------------------------|   or an error, with its code and facts
        |<== MCP ========================================================>|
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Final
from weakref import WeakKeyDictionary

from tooltrue._internal.platform import processes
from tooltrue._internal.platform.event_loop import run as run_loop
from tooltrue._internal.platform.families import join_family
from tooltrue._internal.platform.parents import stop_with_parent
from tooltrue._internal.platform.private_sockets import PrivateConnection, PrivateListener, accept_private
from tooltrue._internal.platform.stop_signals import leave_console_to_parent
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.client.question_limits import QuestionLimits
from tooltrue.contract.contract import Contract
from tooltrue.contract.neighbours import Neighbours
from tooltrue.errors import ConnectionLost, ToolError, TooltrueError
from tooltrue.gateway.callers import ConnectionBounds
from tooltrue.gateway.error_members import as_rpc_error, members_of
from tooltrue.gateway.gateway_files import GatewayFiles
from tooltrue.gateway.held_operations import HELD_SECONDS, HeldOperations
from tooltrue.gateway.relay import CallerRelay
from tooltrue.gateway.settings import is_program, with_settings
from tooltrue.gateway.supervised import entry_of
from tooltrue.gateway.upstream_traffic import UpstreamLimits, UpstreamTraffic
from tooltrue.gateway.wording import GATEWAY_SUPERVISOR_SERVER_UNKNOWN
from tooltrue.host.admission import AdmissionVerdict
from tooltrue.host.host import Host
from tooltrue.host.host_guard import unguarded
from tooltrue.host.hosted_server import HostedServer
from tooltrue.host.remote import Remote
from tooltrue.host.upstream_calls import OpenConnection
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.policy.config import OperatorConfig
from tooltrue.protocol.types import (
    Completion,
    Implementation,
    PromptOutcome,
    ReadOutcome,
    ReadResourceResult,
    ToolOutcome,
)
from tooltrue.server.sealed_tokens import Sealer
from tooltrue.server.server import ProtocolServer, ServerSession
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.toolset import Wrapper, unknown
from tooltrue.tools.vocabulary import (
    LOCAL,
    CompletionGet,
    Principal,
    PromptGet,
    RemoteTask,
    ResourceRead,
    TaskRequest,
    ToolCall,
)
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.line_channel import LineChannel

__all__ = ["ProgramSupervisor", "SupervisorSettings", "programs_of", "run"]

_LAST_SECONDS = 1.2
_BY_THEMSELVES_SECONDS = 0.4
_NOT_ACCEPTED_SECONDS = 1.0
_ENTRY_SECONDS: Final = 3.0
"""How long a worker waits that has read the changed files before this process has."""
_LOOK_SECONDS: Final = 0.1

_NO_LIMITS: Final = UpstreamLimits(at_once=sys.maxsize, failures=sys.maxsize)
"""The workers limit the operations, and have the circuit breakers, as the operator sets them."""

_log = logging.getLogger("tooltrue")


@dataclass(frozen=True, slots=True)
class SupervisorSettings:
    """The settings of a supervisor, pickled. ``key`` seals the state of questions, and ``family`` is the name that the
    programs bear; both outlive the process, as the next one has them too."""

    files: GatewayFiles
    bounds: ConnectionBounds
    questions: QuestionLimits
    key: bytes
    family: str
    begin_log: Callable[[], None]


def run(settings: SupervisorSettings, listener: PrivateListener) -> None:
    """Serve in a process of its own, until SIGTERM or the end of the parent; then no program is left."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, whose workers end first
    leave_console_to_parent()
    stop_with_parent()
    settings.begin_log()
    join_family(settings.family)
    processes.adopt_orphans()
    run_loop(_until_stopped(settings, listener))
    processes.end_children()


async def _until_stopped(settings: SupervisorSettings, listener: PrivateListener) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        processes.exit_within(_LAST_SECONDS)
        loop.call_soon_threadsafe(stopped.set)

    signal.signal(signal.SIGTERM, stop)

    def made(config: HostConfig, operator: OperatorConfig | None) -> ProgramSupervisor:
        programs = programs_of(config, operator)
        return ProgramSupervisor(programs, settings.bounds, settings.questions, settings.key, settings.files)

    supervisor = settings.files.begin(made)
    async with supervisor.serving(listener):
        await stopped.wait()


def programs_of(config: HostConfig, operator: OperatorConfig | None) -> HostConfig:
    """The servers that a supervisor holds. Raises ``ConfigurationError``."""
    return replace(config, servers=tuple(filter(is_program, with_settings(config, operator).servers)))


class ProgramSupervisor:
    """The programs of a file, and the connections of workers to them. Definitions pass as they are, and there are no
    layers: the guard is in the workers. With ``files``, changes of those are followed."""

    def __init__(
        self,
        config: HostConfig,
        bounds: ConnectionBounds,
        questions: QuestionLimits,
        key: bytes,
        files: GatewayFiles | None = None,
        **host_settings: Any,
    ) -> None:
        self._files = files
        self._bounds = bounds
        self._questions = questions
        self._sealer = Sealer((key,))
        self._facts = MemoryFacts()
        self._operations = HeldOperations(HELD_SECONDS)
        self._servers: WeakKeyDictionary[HostedServer, ProtocolServer] = WeakKeyDictionary()
        self._connections: set[asyncio.Task[None]] = set()
        self._one_exchange = asyncio.Lock()
        self._host = Host(
            config, relay=self._relay, pins=False, judge=_admit, guarding=unguarded, audit=False, **host_settings
        )

    def _relay(self, one: ServerConfig, open_connection: OpenConnection) -> CallerRelay:
        traffic = UpstreamTraffic(one.label, _NO_LIMITS)
        return CallerRelay(
            one,
            open_connection,
            self._operations,
            self._bounds,
            self._questions,
            traffic,
            is_shared=one.shared,
            is_patient=True,
        )

    @contextlib.asynccontextmanager
    async def serving(self, listener: PrivateListener) -> AsyncGenerator[None]:
        """Within the context, the programs run, and connections at ``listener`` are served."""
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(self._run_programs()), loop.create_task(self._accept(listener))]
        try:
            yield
        finally:
            tasks += self._connections
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run_programs(self) -> None:
        async with self._host:
            try:
                if self._files is not None:
                    await self._files.follow(self.use)
                await asyncio.get_running_loop().create_future()
            finally:
                self._operations.close()
                await self._host.close(_BY_THEMSELVES_SECONDS)

    async def use(self, config: HostConfig, operator: OperatorConfig | None) -> None:
        """Exchange the programs for those of changed files. One that has gone stays for as long as a worker needs it,
        within limits. Raises ``ConfigurationError``."""
        await self._exchange(programs_of(config, operator))

    async def _exchange(self, config: HostConfig) -> None:
        async with self._one_exchange:
            await self._host.exchange(self._host.plan(config))

    async def _accept(self, listener: PrivateListener) -> None:
        while True:
            try:
                connection = await accept_private(listener)
            except OSError as error:
                _log.warning("the supervisor cannot accept a connection: %s", error.strerror)
                await asyncio.sleep(_NOT_ACCEPTED_SECONDS)
                continue
            task = asyncio.get_running_loop().create_task(self._serve(connection))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    async def _serve(self, connection: PrivateConnection) -> None:
        """Serve one connection until it ends."""
        loop = asyncio.get_running_loop()
        hello: asyncio.Future[bytes] = loop.create_future()
        ending = asyncio.Event()

        def begin(line: bytes) -> None:
            if not hello.done():
                hello.set_result(line)

        def end() -> None:
            ending.set()
            hello.cancel()

        channel = await LineChannel.over(connection, begin, end)
        try:
            match decode(await hello):
                case {"server": str(label), "entry": str(entry), "caller": str() | None as caller}:
                    await self._serve_program(channel, label, entry, caller, ending)
                case _:
                    pass
        finally:
            await channel.close()

    async def _serve_program(
        self, channel: LineChannel, label: str, entry: str, caller: str | None, ending: asyncio.Event
    ) -> None:
        """Answer a worker with the state of a server, and if the server is ready, run a session until ``ending``."""
        try:
            one = await self._program(label, entry)
            if one.life.state == "refused":  # the worker may know of an approval that this process has not seen yet
                await self._exchange(self._host.config)
                one = await self._program(label, entry)
            with one.in_use():
                session = self._begun(channel, await self._server(one), caller)
                try:
                    await ending.wait()
                finally:
                    await session.close()
        except TooltrueError as error:
            channel.write(encode({"error": members_of(error)}))

    def _begun(self, channel: LineChannel, server: ProtocolServer, caller: str | None) -> ServerSession:
        session = server.connect(channel.write, Carrier("stdio"), LOCAL if caller is None else Principal(caller))
        channel.on_line = session.feed

        def crowded(is_crowded: bool) -> None:
            channel.pause(is_crowded)
            session.hold(is_crowded)

        channel.crowded = crowded
        channel.write(encode({"state": "ready"}))
        return session

    async def _program(self, label: str, entry: str) -> HostedServer:
        """The program that the files describe so. Raises ``ConnectionLost`` if there is none within a while."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENTRY_SECONDS):
                while True:
                    for one in self._host.servers_of(label):
                        if entry_of(one.config) == entry:
                            return one
                    await asyncio.sleep(_LOOK_SECONDS)
        raise ConnectionLost.of(GATEWAY_SUPERVISOR_SERVER_UNKNOWN, server=label)

    async def _server(self, one: HostedServer) -> ProtocolServer:
        """The served form of a program, once it has started. Raises the reason why it is not ready."""
        life = one.life
        await life.settled.wait()
        if life.client is None:
            raise life.reason or ConnectionLost.of(CONNECTION_CLOSED)
        if one not in self._servers:
            facts, remote = life.client.facts, life.remote
            self._servers[one] = ProtocolServer(
                ServedProvider(
                    info=Implementation(name=facts.name or life.name, version=facts.version),
                    provider=_ForWorkers(remote, remote),
                    sealer=self._sealer,
                    facts=self._facts,
                    instructions=lambda: remote.instructions,
                )
            )
        return self._servers[one]


class _ForWorkers(Wrapper, frozen=True):
    """Raises a ``ToolError`` as the RPC error that carries it: the worker counts it, and says it to the caller. Tasks
    pass under the ids of the program; a worker seals them."""

    remote: Remote

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        with _carried():
            return await self.inner.call_tool(call)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        with _carried():
            if isinstance(request, TaskRequest):
                await self._ask_task(request)
                return ReadResourceResult([])
            return await self.inner.read_resource(request)

    async def _ask_task(self, request: TaskRequest) -> None:
        if request.verb == "list":
            raise unknown(request)
        task = RemoteTask(request.uri, request.verb, request.responses, follow=request.follow)
        if request.follow is not None:
            request.follow.task = request.uri
        if (answer := await self.remote.ask_task(ToolCall("", {}, request.context), task)) is not None:
            members = answer.status.raw
            request.reply.update({name: members[name] for name in members if name not in ("resultType", "_meta")})

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        with _carried():
            return await self.inner.get_prompt(get)

    async def complete(self, get: CompletionGet) -> Completion:
        with _carried():
            return await self.inner.complete(get)


@contextlib.contextmanager
def _carried() -> Generator[None]:
    try:
        yield
    except ToolError as error:
        raise as_rpc_error(error) from None


def _admit(contract: Contract, neighbours: Neighbours) -> AdmissionVerdict:
    """Every definition: the workers inspect them."""
    return AdmissionVerdict()
