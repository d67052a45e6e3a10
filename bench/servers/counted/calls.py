"""`ours/calls.py` for `bench/instructions.py`: its waits end on a signal, so that counts do not depend on the clock."""

import runpy
import sys
from pathlib import Path

BENCH = Path(__file__).parents[2]
sys.path.append(str(BENCH))
import harness.signalled_waits  # noqa: E402, F401  imported once, although a command may load this file twice

server = runpy.run_path(str(BENCH / "servers" / "ours" / "calls.py"))["server"]

if __name__ == "__main__":
    server.run()
