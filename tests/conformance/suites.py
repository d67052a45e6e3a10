"""The two releases of the official suite: the newest one, by revision, and the stable one, whole."""

import re
from pathlib import Path

from environments import NODE_HOME, node
from processes import Failure, completed

EXTENSION = "extension"  # the newest one's scenarios of extensions, which belong to no revision
STABLE = "stable"
NEWEST_PROGRAM = NODE_HOME / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
STABLE_PROGRAM = NODE_HOME / "node_modules" / "conformance-stable" / "dist" / "index.js"
LIST_SECONDS = 60
_LISTED = re.compile(r"^  - (\S+) \[([^\]]*)\]", re.MULTILINE)


def program(part: str) -> list[str]:
    """The command that runs a part of the measurement. Raises NoNode or Failure."""
    path: Path = STABLE_PROGRAM if part == STABLE else NEWEST_PROGRAM
    return [node(), str(path)]


def wire(part: str) -> list[str]:
    """The option that picks the revision; without it, each scenario runs at its own."""
    return [] if part in (EXTENSION, STABLE) else ["--spec-version", part]


def scenarios(part: str, side: str) -> list[str]:
    """The scenarios of a part for a ``server`` or a ``client``. Raises NoNode or Failure."""
    done = completed([*program(part), "list", f"--{side}"], LIST_SECONDS)
    listed = _LISTED.findall(done.stdout)
    if not listed:
        raise Failure("the suite lists no scenarios", done.stdout + done.stderr)
    return [name for name, revisions in listed if part == STABLE or part in revisions.split(",")]
