"""The code of other libraries on the migration pages, run with these libraries.

    python tests/migrating/run.py

`<!-- runs with: NAME -->` above a block of `docs/migrating/` names the library. The blocks of a page for one library
are one program. This program runs each with the pinned release, and prints one line for it; it ends with 1 if one
failed.
Environments are made under `.interop/` and kept (`../interop/environments.py`).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "interop"))

from environments import python_for

ROOT = Path(__file__).resolve().parents[2]
RELEASES = {"fastmcp": "fastmcp==4.1.2", "mcp1": "mcp==1.30.0", "mcp2": "mcp==2.3.0"}
BLOCK = re.compile(r"^<!-- runs with: (\w+) -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 60


def programs() -> Iterator[tuple[Path, str, str]]:
    """The page, the library and the text of each program. A line of the text has the number that it has on the page."""
    for page in sorted((ROOT / "docs" / "migrating").glob("*.md")):
        text = page.read_text("utf-8")
        found = [*BLOCK.finditer(text)]
        for library in dict.fromkeys(block[1] for block in found):
            lines = [""] * (text.count("\n") + 1)
            for block in found:
                if block[1] == library:
                    first = text.count("\n", 0, block.start(2))
                    own = block[2].splitlines()
                    lines[first : first + len(own)] = own
            yield page, library, "\n".join(lines)


def main() -> int:
    failed = 0
    for page, library, text in programs():
        interpreter = python_for(f"migrating-{library}", RELEASES[library])
        done = subprocess.run(
            [interpreter, "-"], input=text, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        failed += done.returncode != 0
        print(f"{page.name}  {RELEASES[library]}  {'FAILED' if done.returncode else 'ok'}")
        if done.returncode:
            print(done.stderr, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
