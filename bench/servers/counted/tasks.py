"""`ours/tasks.py` for `bench/instructions.py`: its waits end on a signal, so that counts do not depend on the clock."""

import os
import runpy
import sys
import tempfile
from pathlib import Path

BENCH = Path(__file__).parents[2]
sys.path.append(str(BENCH))
import harness.signalled_waits  # noqa: E402, F401  imported once, although a command may load this file twice

FOLDER = tempfile.TemporaryDirectory()
os.environ["TOOLTRUE_TASKS"] = f"sqlite:///{FOLDER.name}/tasks.db"
server = runpy.run_path(str(BENCH / "servers" / "ours" / "tasks.py"))["server"]

if __name__ == "__main__":
    server.run()
