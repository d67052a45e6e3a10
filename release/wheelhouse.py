"""A folder of wheels from which `tooltrue[all]` installs without a network: ours, and those of all dependencies.

    python -m release.wheelhouse dist/wheelhouse [VERSION…]

The dependencies have the versions and the digests of the lock file, for this machine and each Python version that it
has. pip loads them, and refuses a file with another digest.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from release.archives import build
from release.pythons import find
from release.wheels_offered import SYSTEMS, Package, needed

__all__ = ["collect", "system_here"]


def collect(target: Path, versions: Sequence[str]) -> None:
    """Write the wheels to `target`. A wheel that is there is not loaded again."""
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("tooltrue*.whl"):
        old.unlink()
    build(target, "wheel")
    for version in versions:
        packages = [one for one in needed(system_here(), version, ("all",)) if "registry" in one["source"]]
        with tempfile.TemporaryDirectory() as temporary:
            asked = Path(temporary) / "requirements.txt"
            asked.write_text("".join(map(_requirement, packages)), "utf-8")
            _download(asked, version, target)


def _requirement(package: Package) -> str:
    digests = "".join(f" --hash={one['hash']}" for one in package.get("wheels", ()))
    return f"{package['name']}=={package['version']}{digests}\n"


def _download(asked: Path, version: str, target: Path) -> None:
    python = [f"--python-version={version.rstrip('t')}", "--implementation=cp"]
    if version.endswith("t"):
        python += [f"--abi=cp{version.replace('.', '')}", "--abi=none"]
    places = [f"--dest={target}", f"--find-links={target}", f"--requirement={asked}"]
    rules = ["-qq", "--no-deps", "--only-binary=:all:", "--require-hashes"]
    subprocess.run([sys.executable, "-m", "pip", "download", *rules, *python, *places], check=True)


def system_here() -> str:
    """The name of this system in `SYSTEMS`."""
    own = (sys.platform, platform.machine())
    return next(name for name, facts in SYSTEMS.items() if (facts["sys_platform"], facts["platform_machine"]) == own)


def main() -> int:
    target, *versions = sys.argv[1:]
    found = versions or list(find())
    collect(Path(target), found)
    wheels = list(Path(target).glob("*.whl"))
    size = sum(path.stat().st_size for path in wheels)
    print(f"{target}: {len(wheels)} wheels, {size / 1e6:.0f} MB, for Python {', '.join(found)} on {system_here()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
