"""Detection of packages, images and scripts that a command fetches without a fixed version: tomorrow they may differ.

Each way to fetch and run a package is a row of a table. A command that no row matches is taken to fetch no packages;
that is no promise.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tooltrue._internal.platform.command_lines import windows_words

__all__ = ["unpinned"]


def unpinned(argv: Sequence[str]) -> tuple[str, ...]:
    """The packages that the command fetches without a fixed version, as it spells them."""
    words = _unwrapped(tuple(argv))
    for verb, runner in _RUNNERS.items():
        rest = _after(words, verb)
        if rest is not None:
            return tuple(package for package in runner.fetches(rest) if not runner.is_pinned(package))
    return ()


# -- the command that runs in the end ----------------------------------------------------------------------------------

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash"})
_NESTED: Final = 4


def _unwrapped(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The words behind ``env A=b``, ``cmd /c`` and ``sh -c``, and the program by its plain name."""
    for _ in range(_NESTED):
        if not argv:
            break
        program = _program(argv[0])
        if program == "env":
            argv = argv[next((at for at, word in enumerate(argv) if at and not _is_setting(word)), len(argv)) :]
        elif program == "cmd" and argv[1:2] and argv[1].lower() == "/c":
            argv = _words_of_cmd(argv[2:])
        elif program in _SHELLS and argv[1:2] and re.fullmatch(r"-[a-z]*c", argv[1]) and len(argv) > 2:
            argv = _words(argv[2])
        else:
            return (program, *argv[1:])
    return argv


def _is_setting(word: str) -> bool:
    return word.startswith("-") or re.match(r"[A-Za-z_]\w*=", word) is not None


def _words(line: str) -> tuple[str, ...]:
    """The words of the first command of a shell line, without a leading ``exec``. These shells divide a line in the
    same way on every system."""
    try:
        words = shlex.split(re.split(r"&&|\|\||[;|&\n]", line, maxsplit=1)[0])
    except ValueError:
        return ()
    return tuple(words[1:] if words[:1] == ["exec"] else words)


def _words_of_cmd(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of the first command of ``cmd /c``, which may be one word with all of them."""
    return tuple(windows_words(re.split(r"[&|]", words[0], maxsplit=1)[0])) if len(words) == 1 else words


def _program(word: str) -> str:
    return re.sub(r"\.(?:exe|cmd|ps1|bat)$", "", re.split(r"[/\\]", word)[-1].lower())


_TAKES_WORD: Final = frozenset({"-C", "--context", "--cwd", "--dir", "--directory", "--host", "--prefix", "--project"})


def _after(words: Sequence[str], verb: tuple[str, ...]) -> list[str] | None:
    """The words behind those of ``verb``, between which there may be options; ``None`` if they do not match."""
    if tuple(words[:1]) != verb[:1]:
        return None
    missing, rest = list(verb[1:]), iter(words[1:])
    while missing:
        word = next(rest, None)
        if word is None or (not word.startswith("-") and word != missing[0]):
            return None
        if word in _TAKES_WORD:
            next(rest, None)
        elif word == missing[0]:
            missing.pop(0)
    return list(rest)


# -- the packages it fetches -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Runner:
    """A program that fetches and runs a package. Options in ``names`` give the package in place of the first word that
    is not an option, those in ``adds`` give additional packages, and those in ``takes_word`` are followed by an
    unrelated word. ``is_fetched``: whether that first word is a package to fetch at all."""

    is_pinned: Callable[[str], bool]
    names: frozenset[str] = frozenset()
    adds: frozenset[str] = frozenset()
    takes_word: frozenset[str] = frozenset()
    is_fetched: Callable[[str], bool] = lambda word: True

    def fetches(self, words: Sequence[str]) -> list[str]:
        packages: list[str] = []
        is_named = False
        rest = iter(words)
        for word in rest:
            option, equals, value = word.partition("=")
            if word.startswith("-") and option in self.names | self.adds:
                packages += _listed(value if equals else next(rest, ""))
                is_named = is_named or option in self.names
            elif word in self.takes_word:
                next(rest, None)
            elif not word.startswith("-"):
                return [*packages, word] if not is_named and self.is_fetched(word) else packages
        return packages


def _listed(value: str) -> list[str]:
    """The packages of an option; commas separate several."""
    return [one.strip() for one in value.split(",") if one.strip()]


_EXACT: Final = re.compile(r"v?\d+\.\d+(?:\.\d+)?[\w.+-]*")
_WITHIN: Final = re.compile(r"@v?\d+\.\d+\.\d+[\w.+-]*(?:/|$)|/[0-9a-f]{40}/")
_ADDRESSES: Final = ("http://", "https://")


def _npm(package: str) -> bool:
    return _is_release(package, package[1:].partition("@")[2])  # a scope begins with the same sign


def _pypi(package: str) -> bool:
    return _is_release(package, package.partition("==")[2] or package.partition("@")[2])


def _is_release(package: str, version: str) -> bool:
    if package.startswith((".", "/", "~", "file:")):
        return True  # a local path is not fetched
    if "git+" in package or package.startswith((*_ADDRESSES, "github:")):
        return re.search(r"[@#][0-9a-f]{40}$", package) is not None
    return _EXACT.fullmatch(version) is not None


def _is_address(word: str) -> bool:
    return word.startswith(_ADDRESSES)


def _script(word: str) -> bool:
    """Whether a script is pinned: a file, an address, or a registry package with the path of a file."""
    if word.startswith(("npm:", "jsr:")):
        return _npm(re.sub(r"(?<=.)(@[^/@]+)/.*$", r"\1", word.partition(":")[2]))
    return not _is_address(word) or _WITHIN.search(word) is not None


def _requirement_or_script(word: str) -> bool:
    return _script(word) if _is_address(word) else _pypi(word)


def _go(package: str) -> bool:
    version = package.partition("@")[2]
    return not version or _EXACT.fullmatch(version) is not None  # without one, go.mod gives the version


def _image(image: str) -> bool:
    return "@sha256:" in image


_NPM: Final = _Runner(_npm, names=frozenset({"--package", "-p"}), takes_word=frozenset({"--registry", "--call", "-c"}))
_UVX: Final = _Runner(
    _pypi,
    names=frozenset({"--from", "--spec"}),
    adds=frozenset({"--with"}),
    takes_word=frozenset(
        {"--python", "-p", "--index-url", "--index", "--default-index", "--extra-index-url", "--env-file"}
        | {"--with-editable", "--with-requirements", "--directory", "--project", "--cache-dir"}
    ),
)
_UV_RUN: Final = replace(
    _UVX,
    is_pinned=_requirement_or_script,
    names=frozenset(),
    takes_word=_UVX.takes_word | {"--extra", "--group", "--package", "-m", "--module"},
    is_fetched=_is_address,
)
_DENO: Final = _Runner(_script, takes_word=frozenset({"-c", "--config", "--import-map", "--lock", "--env-file"}))
_DOCKER: Final = _Runner(
    _image,
    takes_word=frozenset(
        {"-e", "--env", "-v", "--volume", "--mount", "--name", "-p", "--publish", "--network", "-w", "--workdir", "-u"}
        | {"--user", "--env-file", "--entrypoint", "--platform", "-l", "--label", "--add-host", "--cap-drop", "-m"}
        | {"--memory", "--cap-add", "--cpus", "--device", "--dns", "--gpus", "-h", "--hostname", "--ipc", "--pid"}
        | {"--pull", "--restart", "--runtime", "--security-opt", "--shm-size", "--tmpfs", "--ulimit", "--volumes-from"}
    ),
)

_RUNNERS: Final[Mapping[tuple[str, ...], _Runner]] = {
    **dict.fromkeys((("npx",), ("npm", "exec"), ("npm", "x"), ("pnpx",), ("pnpm", "dlx"), ("yarn", "dlx")), _NPM),
    **dict.fromkeys((("bunx",), ("bun", "x")), _NPM),
    **dict.fromkeys((("uvx",), ("uv", "tool", "run"), ("pipx", "run")), _UVX),
    ("uv", "run"): _UV_RUN,
    **dict.fromkeys((("deno", "run"), ("deno", "serve"), ("deno",)), _DENO),
    ("go", "run"): _Runner(_go),
    **dict.fromkeys(
        ((program, *verb) for program in ("docker", "podman", "nerdctl") for verb in (("run",), ("container", "run"))),
        _DOCKER,
    ),
}
