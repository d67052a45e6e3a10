"""Wheels and source archives of the distributions, built from the files that git tracks, and rules for their contents.

    python -m release.archives build dist      writes them; SOURCE_DATE_EPOCH is the time of the last commit
    python -m release.archives check dist      builds them twice more, elsewhere and otherwise, and compares the digests

The builder is hatchling without isolation, so that the lock file decides its version. A folder that git does not know
does not change an archive, since the build sees copies of the tracked files and no other.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

__all__ = ["DISTRIBUTIONS", "ROOT", "build", "built_elsewhere", "digests", "faults", "tracked"]

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = ("tooltrue", "tooltrue-check", "tooltrue-console", "tooltrue-toolbox")

KINDS = {".py", ".typed", ".toml", ".template", ".jsonl", ".html", ".css", ".js", ".svg", ".LICENSE"}
"""The kinds of files of a package: code, its mark of types, data, the templates of `tooltrue new`, and pages,
styles and scripts of the console, with the licence of one."""
UNWANTED = ("test", "tests", "conftest.py", "__pycache__", ".git", ".venv", "node_modules", ".DS_Store")
"""Names that no path of an archive has. `testing` is a package of users; a template of a test ends in `.template`."""


# --- building ---------------------------------------------------------------------------------------------------------


def tracked(distribution: str) -> dict[str, bytes]:
    """Path below the folder of a distribution → content, for each file that git tracks."""
    folder = ROOT / "packages" / distribution
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return {path: (folder / path).read_bytes() for path in listed.split("\0") if path and (folder / path).is_file()}


def commit_time() -> str:
    """The time of the last commit, in seconds, or that of the environment."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return given
    return subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def build(target: Path, *kinds: str, folder: Path | None = None, environment: Mapping[str, str] | None = None) -> None:
    """Write the archives of all distributions to `target`, from copies of their files in `folder`."""
    with tempfile.TemporaryDirectory() as temporary:
        for distribution in DISTRIBUTIONS:
            copy = (folder or Path(temporary)) / distribution
            for path, content in tracked(distribution).items():
                place = copy / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            _hatchling(copy, target, kinds or ("sdist", "wheel"), environment or {})


def _hatchling(folder: Path, target: Path, kinds: tuple[str, ...], environment: Mapping[str, str]) -> None:
    kinds_of_target = [word for kind in kinds for word in ("-t", kind)]
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target.resolve()), *kinds_of_target],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": commit_time(), **environment},
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)


def built_elsewhere(target: Path) -> None:
    """Build once more: in a folder of another name, at another time of day, under another mask and locale, in another
    order of hashes; and each wheel from its source archive."""
    other = {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "7", "HOME": str(target)}
    with tempfile.TemporaryDirectory(prefix="another place ") as temporary:
        mask = os.umask(0o077)
        try:
            build(target, "sdist", folder=Path(temporary) / "a" / "b", environment=other)
            for archive in sorted(target.glob("*.tar.gz")):
                with tarfile.open(archive) as opened:
                    opened.extractall(temporary, filter="data")
                unpacked = Path(temporary) / archive.name.removesuffix(".tar.gz")
                for path in unpacked.rglob("*"):
                    os.utime(path, (1_000_000_000, 1_000_000_000))
                _hatchling(unpacked, target, ("wheel",), other)
        finally:
            os.umask(mask)


def digests(folder: Path) -> dict[str, str]:
    """Name of an archive → SHA-256."""
    archives = sorted((*folder.glob("*.whl"), *folder.glob("*.tar.gz")))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in archives}


# --- contents ---------------------------------------------------------------------------------------------------------


def faults(folder: Path) -> Iterator[str]:
    """The faults in the contents of the archives in a folder."""
    for distribution in DISTRIBUTIONS:
        stem, source = distribution.replace("-", "_"), tracked(distribution)
        wheels, archives = list(folder.glob(f"{stem}-[0-9]*.whl")), list(folder.glob(f"{stem}-[0-9]*.tar.gz"))
        if (len(wheels), len(archives)) != (1, 1):
            yield f"{distribution}: {len(wheels)} wheels and {len(archives)} source archives instead of one each"
            continue
        yield from (f"{wheels[0].name}: {fault}" for fault in _wheel_faults(stem, wheels[0], source))
        yield from (f"{archives[0].name}: {fault}" for fault in _archive_faults(archives[0], source))


def _wheel_faults(package: str, wheel: Path, source: Mapping[str, bytes]) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as opened:
        found = {name: opened.read(name) for name in opened.namelist()}
    metadata = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/"
    expected = {path.removeprefix("src/"): content for path, content in source.items() if path.startswith("src/")}
    yield from _differences(expected, {path: found[path] for path in found if not path.startswith(metadata)})
    yield from _unwanted(found)
    for path in expected:
        if PurePosixPath(path).suffix not in KINDS:
            yield f"{path} is of no kind that a package has"
        if not path.startswith(f"{package}/"):
            yield f"{path} is not in the package"
    for path in (f"{package}/py.typed", f"{metadata}METADATA", f"{metadata}entry_points.txt", f"{metadata}RECORD"):
        if path not in found:
            yield f"{path} is missing"
    if found.get(f"{metadata}licenses/LICENSE") != source["LICENSE"]:
        yield "the licence is missing, or another one"
    if b"Root-Is-Purelib: true\nTag: py3-none-any\n" not in found.get(f"{metadata}WHEEL", b""):
        yield "it is not for every Python 3 and every system"


def _archive_faults(archive: Path, source: Mapping[str, bytes]) -> Iterator[str]:
    with tarfile.open(archive) as opened:
        found: dict[str, bytes] = {}
        for member in opened.getmembers():
            content = opened.extractfile(member)
            if content is None or (member.uid, member.gid, member.uname, member.gname) != (0, 0, "", ""):
                yield f"{member.name} is no plain file, or has an owner"
                continue
            top, _, path = member.name.partition("/")
            if top != archive.name.removesuffix(".tar.gz"):
                yield f"{member.name} is outside the folder of the archive"
            found[path] = content.read()
    if not found.pop("PKG-INFO", b"").startswith(b"Metadata-Version: 2."):
        yield "PKG-INFO is missing"
    yield from _differences(source, found)
    yield from _unwanted(found)


def _differences(expected: Mapping[str, bytes], found: Mapping[str, bytes]) -> Iterator[str]:
    yield from (f"{path} is missing" for path in sorted(expected.keys() - found.keys()))
    yield from (f"{path} is not tracked" for path in sorted(found.keys() - expected.keys()))
    yield from (f"{path} differs" for path in sorted(expected.keys() & found.keys()) if expected[path] != found[path])


def _unwanted(paths: Mapping[str, bytes]) -> Iterator[str]:
    for path in paths:
        if any(part in UNWANTED or part.endswith((".pyc", ".pyo", ".so", "~")) for part in PurePosixPath(path).parts):
            yield f"{path} does not belong into an archive"


# --- the command ------------------------------------------------------------------------------------------------------


def check(folder: Path) -> int:
    """Print a table of digests, and what is wrong. Return the exit status."""
    with tempfile.TemporaryDirectory() as temporary:
        built_elsewhere(Path(temporary))
        first, second = digests(folder), digests(Path(temporary))
    wrong = list(faults(folder))
    for name in sorted(first.keys() | second.keys()):
        same = first.get(name) == second.get(name)
        print(f"{'same' if same else 'DIFFERS':8} {first.get(name, 'missing'):64}  {name}")
        if not same:
            wrong.append(f"{name}: another build has the digest {second.get(name, 'missing')}")
    for one in wrong:
        print(one, file=sys.stderr)
    return int(bool(wrong))


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the archives of a release, or check them.")
    parser.add_argument("verb", choices=["build", "check"])
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    if given.verb == "check":
        return check(given.folder)
    given.folder.mkdir(parents=True, exist_ok=True)
    for old in digests(given.folder):
        (given.folder / old).unlink()
    build(given.folder)
    for name, digest in digests(given.folder).items():
        print(f"{digest}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
