"""The modules and names of the standard library that one system has and another does not have.

The harness ``without_posix.py`` hides them, and the architecture test refuses them outside the folders ``platform``.
A name may be a pattern of :mod:`fnmatch`. From the conditions on ``sys.platform`` in typeshed, for Python 3.11.
"""

from __future__ import annotations


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOT_WINDOWS_MODULES = frozenset(
    words(
        "_posixsubprocess crypt curses _curses fcntl grp nis ossaudiodev posix pty pwd readline resource spwd syslog"
        " termios tty uvloop"
    )
)
WINDOWS_MODULES = frozenset(words("_winapi msvcrt nt winloop winreg winsound"))

NOT_WINDOWS: dict[str, tuple[str, ...]] = {
    "os": words(
        "CLD_* EFD_* EX_[!O]* EX_OS* F_LOCK F_TEST F_TLOCK F_ULOCK GRND_* MFD_* NGROUPS_MAX O_ACCMODE O_ASYNC"
        " O_CLOEXEC O_DIRECT O_DIRECTORY O_DSYNC O_FSYNC O_LARGEFILE O_NDELAY O_NOATIME O_NOCTTY O_NOFOLLOW"
        " O_NONBLOCK O_PATH O_RSYNC O_SYNC O_TMPFILE POSIX_* PRIO_* P_ALL P_PGID P_PID P_PIDFD RTLD_* RWF_* SCHED_*"
        " SEEK_DATA SEEK_HOLE SPLICE_* ST_* WCONTINUED WCOREDUMP WEXITED WEXITSTATUS WIF* WNOHANG WNOWAIT WSTOP*"
        " WTERMSIG WUNTRACED XATTR_* chown chroot confstr* copy_file_range ctermid environb eventfd* fchdir fchmod"
        " fchown fdatasync fork forkpty fpathconf fstatvfs fwalk get_blocking getegid getenvb geteuid getgid"
        " getgrouplist getgroups getloadavg getpgid getpgrp getpriority getrandom getresgid getresuid getsid getuid"
        " getxattr initgroups killpg lchown listxattr lockf login_tty major makedev memfd_create minor mkfifo mknod"
        " nice openpty pathconf* pidfd_open pipe2 posix_* pread preadv pwrite pwritev readv register_at_fork"
        " removexattr sched_* sendfile set_blocking setegid seteuid setgid setgroups setpgid setpgrp setpriority"
        " setregid setresgid setresuid setreuid setsid setuid setxattr spawnlp spawnlpe spawnvp spawnvpe splice"
        " statvfs* sync sysconf* tcgetpgrp tcsetpgrp ttyname uname wait wait3 wait4 waitid* writev"
    ),
    "signal": words(
        "ITIMER_* ItimerError SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGHUP SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL"
        " SIGPROF SIGPWR SIGQUIT SIGRT* SIGSTKFLT SIGSTOP SIGSYS SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR*"
        " SIGVTALRM SIGWINCH SIGX* SIG_BLOCK SIG_SETMASK SIG_UNBLOCK Sigmasks alarm getitimer pause pidfd_send_signal"
        " pthread_* setitimer siginterrupt sigpending sigtimedwait sigwait* struct_siginfo"
    ),
    "select": ("EPOLL*", "PIPE_BUF", "POLL*", "epoll", "poll"),
    "selectors": ("EpollSelector", "PollSelector"),
    "socket": words(
        "AF_ALG AF_CAN AF_NETLINK AF_PACKET AF_UNIX AF_VSOCK CMSG_* MSG_CMSG_CLOEXEC MSG_DONTWAIT MSG_EOR MSG_MORE"
        " MSG_NOSIGNAL SCM_* SOCK_CLOEXEC SOCK_NONBLOCK SO_BINDTODEVICE SO_DOMAIN SO_MARK SO_PASSCRED SO_PEERCRED"
        " SO_PEERSEC SO_PRIORITY SO_PROTOCOL SO_REUSEPORT TCP_CONGESTION TCP_CORK TCP_DEFER_ACCEPT TCP_INFO"
        " TCP_LINGER2 TCP_NOTSENT_LOWAT TCP_QUICKACK TCP_SYNCNT TCP_USER_TIMEOUT TCP_WINDOW_CLAMP recv_fds send_fds"
        " sethostname"
    ),
    "time": ("CLOCK_*", "clock_*", "pthread_getcpuclockid", "tzset"),
    "mmap": ("MADV_*", "MAP_*", "PROT_*"),
    "asyncio": ("*ChildWatcher", "get_child_watcher", "open_unix_connection", "set_child_watcher", "start_unix_server"),
}
"""What Linux has and Windows does not have."""

NOT_MACOS: dict[str, tuple[str, ...]] = {
    "os": words(
        "EFD_* GRND_* MFD_* O_DIRECT O_LARGEFILE O_NOATIME O_PATH O_RSYNC O_TMPFILE POSIX_FADV_* P_PIDFD"
        " RTLD_DEEPBIND RWF_* SCHED_BATCH SCHED_IDLE SCHED_RESET_ON_FORK SPLICE_* ST_APPEND ST_MANDLOCK ST_NO[ADE]*"
        " ST_RELATIME ST_SYNCHRONOUS ST_WRITE XATTR_* copy_file_range eventfd* fdatasync getrandom getresgid"
        " getresuid getxattr listxattr memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate removexattr"
        " sched_[!gy]* sched_getaffinity sched_getparam sched_getscheduler setresgid setresuid setxattr splice"
        " waitid*"
    ),
    "signal": words("SIGCLD SIGPOLL SIGPWR SIGRT* SIGSTKFLT pidfd_send_signal sigtimedwait sigwaitinfo"),
    "select": ("EPOLL*", "POLLMSG", "POLLRDHUP", "epoll"),
    "selectors": ("EpollSelector",),
    "socket": words(
        "AF_ALG AF_CAN AF_NETLINK AF_PACKET AF_VSOCK MSG_CMSG_CLOEXEC MSG_MORE SCM_CREDENTIALS SOCK_CLOEXEC"
        " SOCK_NONBLOCK SO_BINDTODEVICE SO_DOMAIN SO_MARK SO_PASSCRED SO_PEERCRED SO_PEERSEC SO_PRIORITY SO_PROTOCOL"
        " TCP_CORK TCP_DEFER_ACCEPT TCP_INFO TCP_KEEPIDLE TCP_LINGER2 TCP_QUICKACK TCP_SYNCNT TCP_USER_TIMEOUT"
        " TCP_WINDOW_CLAMP"
    ),
    "resource": words("RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_OFILE RLIMIT_RT* RLIMIT_SIGPENDING RUSAGE_THREAD prlimit"),
    "time": ("CLOCK_BOOTTIME", "CLOCK_TAI", "pthread_getcpuclockid"),
    "mmap": ("MADV_DO*", "MADV_HUGEPAGE", "MADV_MERGEABLE", "MADV_REMOVE", "MAP_POPULATE", "MAP_STACK"),
    "asyncio": ("PidfdChildWatcher",),
}
"""What Linux has and macOS does not have."""

NOT_LINUX: dict[str, tuple[str, ...]] = {
    "os": words(
        "O_BINARY O_NOINHERIT O_RANDOM O_SEQUENTIAL O_SHORT_LIVED O_TEMPORARY O_TEXT P_DETACH P_OVERLAY"
        " add_dll_directory get_handle_inheritable set_handle_inheritable startfile"
    ),
    "signal": ("CTRL_BREAK_EVENT", "CTRL_C_EVENT", "SIGBREAK"),
    "socket": ("SIO_*", "SO_EXCLUSIVEADDRUSE", "fromshare"),
    "select": ("kevent", "kqueue", "KQ_*"),
    "subprocess": words("*_PRIORITY_CLASS CREATE_* DETACHED_PROCESS STARTF_* STARTUPINFO STD_*_HANDLE SW_HIDE"),
    "ctypes": words(
        "FormatError GetLastError HRESULT OleDLL WINFUNCTYPE WinDLL WinError get_last_error oledll set_last_error"
        " windll"
    ),
    "asyncio": ("ProactorEventLoop", "IocpProactor", "Windows*"),
}
"""What Windows has, or macOS, and Linux does not have."""

LOOP_METHODS = (
    "add_reader",
    "add_signal_handler",
    "add_writer",
    "connect_read_pipe",
    "connect_write_pipe",
    "create_unix_connection",
    "create_unix_server",
    "remove_reader",
    "remove_signal_handler",
    "remove_writer",
)
"""What an event loop refuses on Windows."""
