"""Replays the steps of `docker/Dockerfile` without a container, in another folder and at another port.

    python -m release.container

The build stage runs in a copy of the build context, without a C or Rust compiler; then the server of `docker/server`
is started as the image starts it, and the health check of the file has to succeed. Run by root, both run as the user of
the image, who can write to the folder of state alone; run by another user, they run as this one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TypedDict

__all__ = ["DOCKERFILE", "instructions", "replay"]

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "docker" / "Dockerfile"
SECONDS = 60.0
INSTALLED = "/opt/tooltrue"


class Rights(TypedDict, total=False):
    """The arguments that start a program as another user; none where only root may do that, and we are not root."""

    user: int
    group: int
    extra_groups: list[int]


def instructions(text: str) -> list[tuple[str, str]]:
    """The instructions of a Dockerfile, with their words on one line."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", "", lines)
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def replay(folder: Path) -> None:
    """Run the steps in `folder`."""
    steps = instructions(DOCKERFILE.read_text("utf-8"))
    context, installed = folder / "src", folder / "tooltrue"
    for path in ("pyproject.toml", "uv.lock"):
        context.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, context / path)
    shutil.copytree(ROOT / "packages", context / "packages", ignore=shutil.ignore_patterns("__pycache__"))
    health = json.loads(next(rest for word, rest in steps if word == "HEALTHCHECK").partition("CMD ")[2])
    added = next(rest for word, rest in steps if word == "RUN" and "useradd" in rest)
    user = next(rest for word, rest in steps if word == "USER")
    assert f"--uid {user} " in added, "the image runs as the user that it makes"
    rights = Rights()
    if os.geteuid() == 0:
        rights = Rights(user=int(user), group=int(user), extra_groups=[])
        folder.chmod(0o755)
    _build([rest for word, rest in steps if word == "RUN" and "uv sync" in rest], context, installed, _python(rights))
    _serve(folder, installed, health, rights)


def _python(rights: Rights) -> str:
    """An interpreter that the user of the image may run: that of root may be in a folder that only root can enter."""
    for path in (sys.executable, shutil.which("python3", path=os.defpath)):
        with contextlib.suppress(OSError):
            if path and subprocess.run([path, "-c", ""], cwd="/", **rights).returncode == 0:
                return path
    raise SystemExit("the user of the image may run no Python of this machine")


def _build(commands: list[str], context: Path, installed: Path, python: str) -> None:
    assert len(commands) == 1
    no_compiler = {"CC": "/nonexistent/cc", "CXX": "/nonexistent/c++", "RUSTC": "/nonexistent/rustc"}
    uv = Path(os.environ["UV"]).parent
    own = {"PATH": f"{uv}{os.pathsep}{os.environ['PATH']}", "UV_PYTHON": python, "UV_LINK_MODE": "copy"}
    kept = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT")}
    command = commands[0].replace(INSTALLED, shlex.quote(str(installed)))
    subprocess.run(["bash", "-ec", command], cwd=context, env={**kept, **no_compiler, **own}, check=True)


def _serve(folder: Path, installed: Path, health: list[str], rights: Rights) -> None:
    work, state = folder / "srv", folder / "state"
    work.mkdir()
    state.mkdir()
    shutil.copy(ROOT / "docker" / "server" / "server.py", work / "server.py")
    env = {
        "PATH": f"{installed / 'bin'}{os.pathsep}/usr/bin:/bin",
        "XDG_STATE_HOME": str(state),
        "PYTHONUNBUFFERED": "1",
    }
    keys = ["tooltrue", "keys", "new", "reader", "--file", "keys.toml"]
    subprocess.run([installed / "bin" / keys[0], *keys[1:]], cwd=work, env=env, check=True, stdout=subprocess.DEVNULL)
    for path in (work / "keys.toml", state):
        os.chown(path, rights.get("user", -1), rights.get("group", -1))
    command = ["serve", "server.py", "--http", "127.0.0.1:0", "--keys", "keys.toml"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(
            [installed / "bin" / "tooltrue", *command], cwd=work, env=env, stderr=log, stdout=log, **rights
        )
    try:
        port = _port(server, folder / "log")
        words = [word.replace("127.0.0.1:8000", f"127.0.0.1:{port}") for word in health]
        _healthy([str(installed / "bin" / words[0]), *words[1:]], env, rights)
    finally:
        server.terminate()
        server.wait(SECONDS)


def _healthy(command: list[str], env: dict[str, str], rights: Rights) -> None:
    """Repeat the health check, as a container does, until it succeeds."""
    end = time.monotonic() + SECONDS
    while subprocess.run(command, env=env, capture_output=True, timeout=SECONDS, **rights).returncode:
        if time.monotonic() > end:
            raise SystemExit("the server does not become healthy")
        time.sleep(0.2)


def _port(server: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and server.poll() is None:
        if found := re.search(r"127\.0\.0\.1:(\d+)", log.read_text("utf-8", "replace")):
            return found[1]
        time.sleep(0.05)
    raise SystemExit(f"the server did not start:\n{log.read_text('utf-8', 'replace')}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        replay(Path(temporary))
    print("docker/Dockerfile: its steps run, and its health check succeeds")
