"""The wheels that dependencies offer, by the file names in `uv.lock`: a table of docs/installation.md."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

from release.pythons import PYTHONS

__all__ = ["PYTHONS", "SYSTEMS", "Package", "compiled", "extras", "lacking", "locked", "needed"]

ROOT = Path(__file__).parents[1]
SYSTEMS: Mapping[str, Mapping[str, str]] = {
    "Linux x86_64": {
        "sys_platform": "linux",
        "platform_machine": "x86_64",
        "os_name": "posix",
        "platform_system": "Linux",
    },
    "Linux aarch64": {
        "sys_platform": "linux",
        "platform_machine": "aarch64",
        "os_name": "posix",
        "platform_system": "Linux",
    },
    "macOS arm64": {
        "sys_platform": "darwin",
        "platform_machine": "arm64",
        "os_name": "posix",
        "platform_system": "Darwin",
    },
    "macOS x86_64": {
        "sys_platform": "darwin",
        "platform_machine": "x86_64",
        "os_name": "posix",
        "platform_system": "Darwin",
    },
    "Windows amd64": {
        "sys_platform": "win32",
        "platform_machine": "AMD64",
        "os_name": "nt",
        "platform_system": "Windows",
    },
}
"""System → the values that markers see there."""

_LINUX = {
    "x86_64": [
        *(f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)),
        "manylinux2014_x86_64",
        "manylinux2010_x86_64",
        "manylinux1_x86_64",
        "linux_x86_64",
    ],
    "aarch64": [
        *(f"manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)),
        "manylinux2014_aarch64",
        "linux_aarch64",
    ],
}

Package = Mapping[str, Any]
"""A package of `uv.lock`."""


@functools.cache
def locked() -> Mapping[str, list[Package]]:
    """Name → the packages of this name in the lock file; a name may have several versions, each for other markers."""
    found: dict[str, list[Package]] = {}
    for package in tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]:
        found.setdefault(package["name"], []).append(package)
    return found


def extras(distribution: str = "tooltrue") -> tuple[str, ...]:
    """The extras of a distribution, in alphabetical order."""
    return tuple(sorted(locked()[distribution][0].get("optional-dependencies", ())))


def needed(system: str, python: str, asked: Sequence[str] = (), distribution: str = "tooltrue") -> list[Package]:
    """The packages that a distribution with extras needs on a system, itself and our other distributions included."""
    facts = environment(system, python)
    waiting: list[tuple[str, str | None, tuple[str, ...]]] = [(distribution, None, tuple(asked))]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    found: dict[str, Package] = {}
    while waiting:
        name, version, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        package = next(one for one in locked()[name] if version in (None, one.get("version")))
        found[name] = package
        for one in _requirements(package, wanted):
            if "marker" not in one or Marker(one["marker"]).evaluate(facts):
                waiting.append((one["name"], one.get("version"), tuple(one.get("extra", ()))))
    return [found[name] for name in sorted(found)]


def _requirements(package: Package, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    yield from package.get("dependencies", ())
    for extra in wanted:
        yield from package["optional-dependencies"].get(extra, ())


def environment(system: str, python: str) -> dict[str, str]:
    """The values that the markers of a requirement see under CPython on a system."""
    version = python.rstrip("t")
    return {
        **SYSTEMS[system],
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "python_version": version,
        "python_full_version": f"{version}.0",
        "implementation_version": f"{version}.0",
        "platform_release": "",
        "platform_version": "",
        "extra": "",
    }


def lacking(system: str, python: str, packages: Sequence[Package]) -> list[str]:
    """The names of those that have no wheel there: an installer has to build them from their sources."""
    tags = supported(system, python)
    return [one["name"] for one in packages if "registry" in one["source"] and tags.isdisjoint(_tags(one))]


def compiled(package: Package) -> bool:
    """Whether the package comes from an index, and no wheel of it fits every system."""
    return "registry" in package["source"] and all(tag.platform != "any" for tag in _tags(package))


@functools.cache
def supported(system: str, python: str) -> frozenset[Tag]:
    """The tags of wheels that CPython accepts on a system."""
    version = tuple(map(int, python.rstrip("t").split(".")))
    platforms = _platforms(system)
    abi = f"cp{version[0]}{version[1]}{'t' if python.endswith('t') else ''}"
    own = cpython_tags(version, abis=[abi], platforms=platforms)
    return frozenset((*own, *compatible_tags(version, f"cp{version[0]}{version[1]}", platforms)))


def _platforms(system: str) -> list[str]:
    name, machine = system.split()
    match name:
        case "Linux":
            return _LINUX[machine]
        case "macOS":
            return list(mac_platforms((15, 0), machine))
        case _:
            return ["win_amd64"]


def _tags(package: Package) -> frozenset[Tag]:
    names = (one["url"].rpartition("/")[2] for one in package.get("wheels", ()))
    return frozenset(tag for name in names for tag in parse_wheel_filename(name)[3])
