"""Takes from a Python process on Linux what Windows or macOS does not have, so that their ways run here.

It is no mock of our parts: the modules and calls of Linux are gone for everything but the standard library, psutil and
the tools that run the tests, and the few calls of Windows and macOS that we use are replaced by those of ``windows/``
and ``macos_calls.py``. The names come from ``system_names.py``.

``make without-posix`` makes an environment for each system, whose every process begins with :func:`install`; the name
of the system stands in that environment, because a server that a test starts does not inherit every variable::

    python tests/support/without_posix.py ENVIRONMENT windows

A process of another environment hides the same with ``TOOLTRUE_TESTS_SYSTEM=windows`` and
``import support.without_posix`` as its first import.

How it hides: ``import os`` gives the standard library the module, and every other file a view of it. What Windows says
when it is asked for something that it cannot do, such as a signal or a new session, is said here as well.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

VARIABLE = "TOOLTRUE_TESTS_SYSTEM"
SYSTEMS = ("windows", "macos")

HERE = os.path.dirname(os.path.abspath(__file__))


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


EXEMPT = frozenset(
    words(
        # They run the tests, and are no part of them.
        "_pytest pytest pluggy xdist execnet pytest_timeout pytest_randomly hypothesis _hypothesis_pytestplugin"
        " coverage"
        # They take the way of Linux because of the name of the system, and not because of what is there.
        " numpy pandas polars psutil"
    )
)
"""Packages that see everything, beside the standard library."""

STANDARD, EXEMPTED, FOREIGN, OURS = "standard", "exempt", "foreign", "ours"

_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_kinds: dict[tuple[Any, Any], str] = {}

_real_import = builtins.__import__
_frame = sys._getframe  # pyright: ignore[reportPrivateUsage] - the module of the caller decides


def kind_of(module: Mapping[str, Any]) -> str:
    """Whether the globals of a module are those of the standard library, an exempt package, another one, or ours."""
    key = module.get("__name__"), module.get("__file__")
    found = _kinds.get(key)
    if found is None:
        found = _kinds[key] = _kind(*key)
    return found


def _kind(name: Any, file: Any) -> str:
    top = str(name).partition(".")[0]
    if top in EXEMPT:
        return EXEMPTED
    if not isinstance(file, str):
        return STANDARD if top in sys.stdlib_module_names else OURS
    file = os.path.abspath(file)
    if file == os.path.abspath(__file__):
        return STANDARD  # it stands between the standard library and a caller
    if file.startswith((os.path.join(HERE, "windows") + os.sep, os.path.join(HERE, "macos_calls.py"))):
        return EXEMPTED
    if "site-packages" in file:
        return FOREIGN
    return STANDARD if file.startswith(_STANDARD_LIBRARY) else OURS


def _caller(frame: types.FrameType) -> str:
    """The kind of the first caller outside the standard library, if there is one."""
    at: types.FrameType | None = frame
    while at is not None:
        kind = kind_of(at.f_globals)
        if kind != STANDARD:
            return kind
        at = at.f_back
    return STANDARD


def _sees_all(frame: types.FrameType) -> bool:
    return _caller(frame) in (STANDARD, EXEMPTED)


_MISSING = object()


class View(types.ModuleType):
    """A module of the standard library without the names of another system, and with those of its own."""

    def __init__(self, real: types.ModuleType, hidden: Iterable[str], own: Mapping[str, Any]) -> None:
        super().__init__(real.__name__, real.__doc__)
        kept = {name: value for name, value in vars(real).items() if name in ("__file__", "__path__", "__spec__")}
        vars(self).update(kept, _real=real, _hidden=tuple(hidden), _own=frozenset(own), _before={}, **own)
        if hasattr(real, "__all__"):
            vars(self)["__all__"] = [name for name in real.__all__ if not self._hides(name)]

    def _hides(self, name: str) -> bool:
        return name not in self._own and any(fnmatchcase(name, pattern) for pattern in self._hidden)

    def __getattr__(self, name: str) -> Any:
        if self._hides(name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(self._real, name)
        return seen(value) if isinstance(value, types.ModuleType) else value

    def __setattr__(self, name: str, value: Any) -> None:
        """A change is one of the module, which the standard library uses as well; unless the name is of the view."""
        if name in self._own or name in vars(self) or self._hides(name):
            vars(self)[name] = value
        else:
            self._before.setdefault(name, []).append(getattr(self._real, name, _MISSING))
            setattr(self._real, name, value)

    def __delattr__(self, name: str) -> None:
        """Bring back what a change has replaced: pytest's monkeypatch undoes so what ``vars`` of the view lacks."""
        if name in vars(self):
            del vars(self)[name]
        elif self._before.get(name) and (before := self._before[name].pop()) is not _MISSING:
            setattr(self._real, name, before)
        else:
            delattr(self._real, name)

    def __dir__(self) -> list[str]:
        return sorted({name for name in dir(self._real) if not self._hides(name)} | self._own)


_hidden_modules: frozenset[str] = frozenset()
_windows_modules: frozenset[str] = frozenset()
_hidden_names: Mapping[str, tuple[str, ...]] = {}
_own_names: dict[str, Callable[[types.ModuleType], Mapping[str, Any]]] = {}
_views: dict[str, View] = {}
_pending: dict[str, Callable[[types.ModuleType], None]] = {}
"""What is to be changed in a module as soon as it has been imported, by the name of the module."""


_FOR_OURS = frozenset(("sys",))
"""Modules of which other packages have no view: the name of the system tells them which compiled files they have."""


def seen(module: types.ModuleType, kind: str = OURS) -> types.ModuleType:
    """The view that a module of this kind has of ``module``, if there is one."""
    name = module.__name__
    if name in _FOR_OURS and kind != OURS:
        return module
    if name in _views:
        return _views[name]
    if name not in _hidden_names and name not in _own_names:
        return module
    own = _own_names.get(name, lambda _: {})(module)
    _views[name] = View(module, _hidden_names.get(name, ()), own)
    return _views[name]


def _refuse_or_fake(kind: str, name: str) -> types.ModuleType | None:
    top = name.partition(".")[0]
    if top in _windows_modules and kind == OURS:
        return _fakes(top)
    if top in _hidden_modules or name in _hidden_modules:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return None


def _fakes(name: str = "") -> types.ModuleType:
    """The package ``windows``, or one of its modules, under the names that tests import them by."""
    if "support.windows" not in sys.modules:
        place = os.path.join(HERE, "windows")
        spec = importlib.util.spec_from_file_location(
            "support.windows", os.path.join(place, "__init__.py"), submodule_search_locations=[place]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules["support.windows"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return _real_import_module(f"support.windows.{name}") if name else sys.modules["support.windows"]


def _import(
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: tuple[str, ...] = (),
    level: int = 0,
) -> types.ModuleType:
    kind = STANDARD if globals is None else kind_of(globals)
    hides = kind in (FOREIGN, OURS) and level == 0
    if hides and (fake := _refuse_or_fake(kind, name)) is not None:
        return fake
    module = _real_import(name, globals, locals, fromlist, level)
    _apply_pending()
    return seen(module, kind) if hides else module


_real_import_module = importlib.import_module
_real_find_spec = importlib.util.find_spec


def _import_module(name: str, package: str | None = None) -> types.ModuleType:
    kind = kind_of(_frame(1).f_globals)
    hides = kind in (FOREIGN, OURS) and not name.startswith(".")
    if hides and (fake := _refuse_or_fake(kind, name)) is not None:
        return fake
    module = _real_import_module(name, package)
    _apply_pending()
    return seen(module, kind) if hides else module


def _find_spec(name: str, package: str | None = None) -> Any:
    hides = kind_of(_frame(1).f_globals) in (FOREIGN, OURS)
    return None if hides and name in _hidden_modules else _real_find_spec(name, package)


def _apply_pending() -> None:
    for name in [name for name in _pending if name in sys.modules]:
        module = sys.modules[name]
        if not getattr(getattr(module, "__spec__", None), "_initializing", False):
            _pending.pop(name)(module)


# -- Files of the system ---------------------------------------------------------------------------------------------

_PLACES = {
    "windows": words("/proc /dev/fd /dev/std /dev/tty /dev/shm /dev/pts /dev/ptmx"),
    "macos": ("/proc",),
}


def _hide_places(places: tuple[str, ...]) -> None:
    """Refuse to open, list and look at files below ``places``, as if they were not there."""

    def is_hidden(path: object) -> bool:
        return isinstance(path, str | bytes) and os.fsdecode(path).startswith(places)

    def missing(path: object) -> FileNotFoundError:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("open", "os.listdir", "os.scandir") and is_hidden(arguments[0]) and not _sees_all(_frame(1)):
            raise missing(arguments[0])

    sys.addaudithook(hook)

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def look(path: Any, *arguments: Any, **options: Any) -> Any:
            name = os.fspath(path) if hasattr(path, "__fspath__") else path
            if is_hidden(name) and not _sees_all(_frame(1)):
                raise missing(name)
            return real(path, *arguments, **options)

        look.__name__ = look.__qualname__ = real.__name__
        return look

    for name in ("stat", "lstat", "readlink"):  # these raise no event
        real = getattr(os, name)
        look = guarded(real)
        setattr(os, name, look)
        for supporting in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
            if real in supporting:
                supporting.add(look)

    real_access = os.access

    def access(path: Any, mode: int, **options: Any) -> bool:
        name = os.fspath(path) if hasattr(path, "__fspath__") else path
        return not (is_hidden(name) and not _sees_all(_frame(1))) and real_access(path, mode, **options)

    os.access = access
    for supporting in (os.supports_dir_fd, os.supports_effective_ids):
        if real_access in supporting:
            supporting.add(access)


# -- Open files -------------------------------------------------------------------------------------------------------

_SHARING_VIOLATION = 32
_MOST_DESCRIPTORS = 256
"""Looked at one by one: a list of them is not to be had where ``/proc`` is hidden."""


def _protect_open_files() -> None:
    """Refuse to rename, replace or remove a file that this process has open, unless it was opened for that.

    Windows asks the other way round, whether each handle allows it: those of Python do not.
    """
    fcntl, stat, threading = _real_import("fcntl"), _real_import("stat"), _real_import("threading")
    looking = threading.local()

    def is_open(path: Any) -> bool:
        wanted = os.lstat(path)
        if not stat.S_ISREG(wanted.st_mode):
            return False
        return any(_same(fd, wanted) for fd in range(_MOST_DESCRIPTORS))

    def _same(fd: int, wanted: os.stat_result) -> bool:
        try:
            found, flags = os.fstat(fd), fcntl.fcntl(fd, fcntl.F_GETFL)
        except OSError:  # not open
            return False
        key = (found.st_dev, found.st_ino)
        if key != (wanted.st_dev, wanted.st_ino) or flags & os.O_PATH:
            return False
        windows = sys.modules.get("support.windows")
        return windows is None or windows.deletable.get(fd) != key

    def check(path: Any) -> None:
        try:
            refused = is_open(path)
        except OSError:
            return
        if refused:
            raise _fakes().windows_error(_SHARING_VIOLATION, "The file is open: another process could use it.", path)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("os.rename", "os.remove") or getattr(looking, "now", False):
            return
        if any(isinstance(one, int) and one >= 0 for one in arguments) or _caller(_frame(1)) != OURS:
            return
        looking.now = True
        try:
            for path in arguments[: 2 if event == "os.rename" else 1]:
                check(path)
        finally:
            looking.now = False

    sys.addaudithook(hook)


# -- os ---------------------------------------------------------------------------------------------------------------

# Flags of Windows that Linux does not know: bits that Linux does not use, taken away before the call.
_OPEN_FLAGS = {
    name: 1 << (25 + number)
    for number, name in enumerate(words("O_BINARY O_TEXT O_NOINHERIT O_TEMPORARY O_RANDOM O_SEQUENTIAL"))
} | {"O_SHORT_LIVED": 0}
_OF_WINDOWS = ~sum(_OPEN_FLAGS.values())

_WITH_DIR_FD = words(
    "access chmod link lstat mkdir open readlink remove rename replace rmdir stat symlink unlink utime"
)
_WITH_FD = ("chdir", "chmod", "listdir", "scandir", "utime")

_BREAK = 1
"""SIGHUP: what ends a process that does not handle it, as SIGBREAK does."""


def _windows_os(real: types.ModuleType) -> dict[str, Any]:
    def without_descriptors(name: str) -> Callable[..., Any]:
        call = getattr(real, name)
        function = name in _WITH_FD

        def refusing(*arguments: Any, **options: Any) -> Any:
            if any(options.pop(option, None) is not None for option in ("dir_fd", "src_dir_fd", "dst_dir_fd")):
                raise NotImplementedError("dir_fd unavailable on this platform")
            if function and arguments and isinstance(arguments[0], int):
                raise TypeError(f"{name}: path should be string, bytes or os.PathLike, not int")
            return call(*arguments, **options)

        refusing.__name__ = refusing.__qualname__ = name
        return refusing

    own = {name: without_descriptors(name) for name in {*_WITH_DIR_FD, *_WITH_FD}}
    plain_open, plain_rename = own["open"], own["rename"]

    def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if real.path.isdir(path):
            raise PermissionError(errno.EACCES, real.strerror(errno.EACCES), path)
        return plain_open(path, flags & _OF_WINDOWS, mode, dir_fd=dir_fd)

    def rename(source: Any, target: Any, **options: Any) -> None:
        if real.path.lexists(target):
            raise FileExistsError(errno.EEXIST, real.strerror(errno.EEXIST), source, None, target)
        plain_rename(source, target, **options)

    def kill(pid: int, number: int) -> None:
        """Ends the process at once, or sends an event of the console to a group: Windows has no other signal."""
        try:
            if number not in (0, _BREAK):
                real.kill(pid, 9)
            elif pid <= 0 or real.getpgid(pid) != pid:
                raise ProcessLookupError
            elif number == _BREAK:  # a group of its own does not get Ctrl-C
                real.killpg(pid, _BREAK)
        except ProcessLookupError:
            raise _fakes().windows_error(87) from None

    return {
        **own,
        **_OPEN_FLAGS,
        "open": open_,
        "rename": rename,
        "kill": kill,
        "supports_dir_fd": set(),
        "supports_effective_ids": set(),
        "supports_fd": {own["stat"], real.truncate},
        "supports_follow_symlinks": {own["stat"]},
        "supports_bytes_environ": False,
        "P_DETACH": 4,
        "P_OVERLAY": 2,
        "get_handle_inheritable": real.get_inheritable,
        "set_handle_inheritable": real.set_inheritable,
    }


# -- signal, select, socket, time -------------------------------------------------------------------------------------


def _windows_signal(real: types.ModuleType) -> dict[str, Any]:
    known = {real.SIGABRT, real.SIGFPE, real.SIGILL, real.SIGINT, real.SIGSEGV, real.SIGTERM, real.Signals(_BREAK)}

    def handle(number: int, handler: Any) -> Any:
        if number not in known:
            raise ValueError("invalid signal value")
        return real.signal(number, handler)

    return {
        "signal": handle,
        "valid_signals": lambda: set(known),
        "SIGBREAK": real.Signals(_BREAK),
        "CTRL_BREAK_EVENT": _BREAK,
        "CTRL_C_EVENT": 0,
    }


def _windows_select(real: types.ModuleType) -> dict[str, Any]:
    stat = _real_import("stat")

    def select(reading: Any, writing: Any, exceptional: Any, timeout: float | None = None) -> Any:
        for one in (*reading, *writing, *exceptional):
            number = one if isinstance(one, int) else one.fileno()
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                raise OSError(errno.ENOTSOCK, "An operation was attempted on something that is not a socket")
        return real.select(reading, writing, exceptional, timeout)

    return {"select": select}


def _windows_socket(real: types.ModuleType) -> dict[str, Any]:
    ctypes, struct = _real_import("ctypes"), _real_import("struct")

    def share(self: Any, process: int) -> bytes:
        # The socket stays open for the other process, whatever becomes of this object.
        return struct.pack("iiiii", os.getpid(), os.dup(self.fileno()), self.family, self.type, self.proto)

    def fromshare(info: bytes) -> Any:
        pid, number, family, kind, proto = struct.unpack("iiiii", info)
        if pid == os.getpid():
            return real.socket(family, kind, proto, os.dup(number))
        process = os.pidfd_open(pid)
        try:
            fd = ctypes.CDLL(None, use_errno=True).syscall(438, process, number, 0)  # pidfd_getfd
        finally:
            os.close(process)
        if fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        os.set_inheritable(fd, False)
        return real.socket(family, kind, proto, fd)

    real.socket.share = share
    # An option without an effect here: Linux lets no second socket have an address that listens.
    return {"fromshare": fromshare, "SO_EXCLUSIVEADDRUSE": real.SO_OOBINLINE}


def _windows_ctypes(real: types.ModuleType) -> dict[str, Any]:
    class CDLL(real.CDLL):
        def __init__(self, name: Any, *arguments: Any, **options: Any) -> None:
            if name is None or "/" not in os.fspath(name):
                raise FileNotFoundError(f"Could not find module {name!r} (or one of its dependencies).")
            super().__init__(name, *arguments, **options)

    return {"CDLL": CDLL, **_fakes().CTYPES}


# -- Processes --------------------------------------------------------------------------------------------------------

_CREATION = {
    "CREATE_NEW_CONSOLE": 0x10,
    "CREATE_NEW_PROCESS_GROUP": 0x200,
    "CREATE_NO_WINDOW": 0x08000000,
    "CREATE_DEFAULT_ERROR_MODE": 0x04000000,
    "CREATE_BREAKAWAY_FROM_JOB": 0x01000000,
    "DETACHED_PROCESS": 0x8,
    "NORMAL_PRIORITY_CLASS": 0x20,
    "IDLE_PRIORITY_CLASS": 0x40,
    "HIGH_PRIORITY_CLASS": 0x80,
    "REALTIME_PRIORITY_CLASS": 0x100,
    "BELOW_NORMAL_PRIORITY_CLASS": 0x4000,
    "ABOVE_NORMAL_PRIORITY_CLASS": 0x8000,
    "STARTF_USESHOWWINDOW": 1,
    "STARTF_USESTDHANDLES": 0x100,
    "STD_INPUT_HANDLE": -10,
    "STD_OUTPUT_HANDLE": -11,
    "STD_ERROR_HANDLE": -12,
    "SW_HIDE": 0,
}


class STARTUPINFO:
    """The start of a process on Windows; only the handles that it inherits have an effect."""

    def __init__(self, **given: Any) -> None:
        for name in ("dwFlags", "wShowWindow"):
            setattr(self, name, given.get(name, 0))
        for name in ("hStdInput", "hStdOutput", "hStdError"):
            setattr(self, name, given.get(name))
        self.lpAttributeList = given.get("lpAttributeList") or {"handle_list": []}


def exit_code(number: int) -> int:
    """The exit code that Windows has where Linux says which signal has ended a process."""
    ended = {-1: 0xC000013A, -2: 0xC000013A, -6: 3, -9: 1, -11: 0xC0000005, -15: 1}
    return ended.get(number, number)


def _windows_popen(subprocess: Any) -> None:
    start, handle_status = subprocess.Popen.__init__, subprocess.Popen._handle_exitstatus
    send = subprocess.Popen.send_signal

    def __init__(self: Any, args: Any, bufsize: int = -1, *more: Any, **options: Any) -> None:
        if options.get("preexec_fn") is not None:
            raise ValueError("preexec_fn is not supported on Windows platforms")
        if options.get("pass_fds"):
            raise ValueError("pass_fds not supported on Windows.")
        for name in ("user", "group", "extra_groups"):
            if options.get(name) is not None:
                raise ValueError(f"The {name!r} parameter is not supported on the current platform")
        for name in ("start_new_session", "process_group", "umask", "restore_signals"):
            options.pop(name, None)
        flags, startup = options.pop("creationflags", 0), options.pop("startupinfo", None)
        if flags & (_CREATION["CREATE_NEW_CONSOLE"] | _CREATION["DETACHED_PROCESS"]):
            options["start_new_session"] = True
        elif flags & _CREATION["CREATE_NEW_PROCESS_GROUP"]:
            options["process_group"] = 0
        if startup is not None and (handles := startup.lpAttributeList.get("handle_list")):
            options["pass_fds"] = tuple(handles)
        jobs = sys.modules.get("support.windows.jobs")
        if jobs is not None and jobs.ends_its_children():
            options["preexec_fn"] = jobs.end_with_parent
        start(self, args, bufsize, *more, **options)

    def send_signal(self: Any, number: int) -> None:
        if self.poll() is not None:
            return
        if number == 15:
            send(self, 9)
        elif number in (0, _BREAK):
            seen(os).kill(self.pid, number)
        else:
            raise ValueError(f"Unsupported signal: {number}")

    def terminate(self: Any) -> None:
        send(self, 9)

    def _handle_exitstatus(self: Any, *arguments: Any, **options: Any) -> None:
        handle_status(self, *arguments, **options)
        self.returncode = exit_code(self.returncode)

    for function in (__init__, send_signal, terminate, _handle_exitstatus):
        setattr(subprocess.Popen, function.__name__, function)
    subprocess.Popen.kill = terminate


def _windows_psutil(psutil: Any) -> None:
    psutil.Process.terminate = psutil.Process.kill


def _macos_multiprocessing(context: Any) -> None:
    context._default_context = context.DefaultContext(context._concrete_contexts["spawn"])


def _windows_multiprocessing(context: Any) -> None:
    for method in ("fork", "forkserver"):
        context._concrete_contexts.pop(method, None)
    context._default_context = context.DefaultContext(context._concrete_contexts["spawn"])
    context.DefaultContext.get_all_start_methods = lambda self: ["spawn"]


# -- Event loops ------------------------------------------------------------------------------------------------------


def _windows_loops(unix_events: Any) -> None:
    """The public methods that Windows's loop lacks are refused; the standard library goes on using them. For named
    pipes there are stand-ins."""
    loop = unix_events._UnixSelectorEventLoop

    def refused(name: str) -> None:
        call = getattr(loop, name)

        def method(self: Any, *arguments: Any, **options: Any) -> Any:
            if kind_of(_frame(1).f_globals) not in (STANDARD, EXEMPTED):
                raise NotImplementedError
            return call(self, *arguments, **options)

        method.__name__ = name
        setattr(loop, name, method)

    for name in _names().LOOP_METHODS:
        refused(name)

    create_server, to_code = loop.create_server, unix_events.waitstatus_to_exitcode

    def server(self: Any, *arguments: Any, **options: Any) -> Any:
        if options.get("reuse_port"):
            raise ValueError("reuse_port not supported by socket module")
        return create_server(self, *arguments, **options)

    # The stand-ins import asyncio themselves.
    loop._proactor = property(lambda self: _fakes("pipes").Proactor(self))
    loop._make_duplex_pipe_transport = lambda self, *arguments: _fakes("pipes").duplex_transport(self, *arguments)
    utilities = sys.modules["asyncio.windows_utils"] = types.ModuleType("asyncio.windows_utils")
    vars(utilities)["__getattr__"] = lambda name: getattr(_fakes("pipes"), name)
    loop.create_server = server
    unix_events.waitstatus_to_exitcode = lambda status: exit_code(to_code(status))


# -- Installation -----------------------------------------------------------------------------------------------------


def _names() -> Any:
    return _beside("system_names")


def _beside(module_name: str) -> Any:
    """A module of this folder, also where the folder ``tests`` is not on the path."""
    name = f"support.{module_name}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, f"{module_name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


installed: list[str] = []
"""The system whose lack this process has, if any."""


def install(system: str) -> None:
    """Hide from this process what ``system`` does not have."""
    global _hidden_modules, _hidden_names, _windows_modules
    if system not in SYSTEMS:
        raise ValueError(f"{VARIABLE} is one of {', '.join(SYSTEMS)}, not {system!r}")
    if installed:
        return
    installed.append(system)
    names = _names()
    if system == "windows":
        _hidden_modules, _hidden_names = names.NOT_WINDOWS_MODULES, names.NOT_WINDOWS
        _windows_modules = frozenset(
            file.removesuffix(".py")
            for file in os.listdir(os.path.join(HERE, "windows"))
            if file.removesuffix(".py") in names.WINDOWS_MODULES
        )
        _own_names.update(
            os=_windows_os,
            signal=_windows_signal,
            select=_windows_select,
            socket=_windows_socket,
            ctypes=_windows_ctypes,
            subprocess=lambda _: {**_CREATION, "STARTUPINFO": STARTUPINFO},
        )
        _pending.update(
            {
                "subprocess": _windows_popen,
                "asyncio.unix_events": _windows_loops,
                "multiprocessing.context": _windows_multiprocessing,
                "psutil": _windows_psutil,
            }
        )
    else:
        _hidden_names = names.NOT_MACOS
        _own_names.update(_beside("macos_calls").OWN)
        _pending["multiprocessing.context"] = _macos_multiprocessing
    _hide_places(_PLACES[system])
    if system == "windows":
        _protect_open_files()
        if os.path.exists(program := f"{sys.executable}{_PROGRAM}"):
            sys.executable = program
    builtins.__import__ = _import
    importlib.import_module = _import_module
    importlib.util.find_spec = _find_spec
    _apply_pending()


_PROGRAM = ".exe"
"""The ending of a program on Windows, which the interpreter of its environment has as a second name."""


def prepare(environment: str, system: str) -> None:
    """Make every process of ``environment`` begin with :func:`install`."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    place = os.path.join(environment, "lib", version, "site-packages")
    code = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('support.without_posix', {os.path.abspath(__file__)!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "sys.modules[spec.name] = module\n"
        "spec.loader.exec_module(module)\n"
        f"module.install({system!r})\n"
    )
    with open(os.path.join(place, "_tooltrue_without_posix.py"), "w", encoding="utf-8") as file:
        file.write(code)
    program = os.path.join(environment, "bin", f"python{_PROGRAM}")
    if system == "windows" and not os.path.lexists(program):
        os.symlink("python", program)
    # Before the other files of this kind, which are read in the order of their names.
    with open(os.path.join(place, "00_tooltrue_without_posix.pth"), "w", encoding="utf-8") as file:
        file.write("import _tooltrue_without_posix\n")


if __name__ == "__main__":
    prepare(*sys.argv[1:])
elif os.environ.get(VARIABLE):
    install(os.environ[VARIABLE])
