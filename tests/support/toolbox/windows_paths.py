"""The list of Windows paths in ``windows_paths.tsv``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class PathRow(NamedTuple):
    path: str
    opens: str
    """What Windows opens for it; the current folder is ``C:\\served``."""
    ours: str
    """The names below the served folder, joined by ``/``, or the code of the refusal."""


def _decoded(text: str) -> str:
    return re.sub(r"\{([0-9A-F]{4,5})\}", lambda match: chr(int(match[1], 16)), text)


def path_rows() -> list[PathRow]:
    lines = (Path(__file__).parent / "windows_paths.tsv").read_text(encoding="utf-8").splitlines()
    return [PathRow(*map(_decoded, line.split("\t"))) for line in lines if line and not line.startswith("#")]
