"""`tooltrue gateway` for `bench/instructions.py`: its waits end on a signal, so that counts do not depend on the clock.

gateway.py FILE OPTION...

The approvals of the commands in FILE are beside it.
"""

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
import harness.signalled_waits  # noqa: F401  before the gateway starts a thread
from tooltrue.cli.main import main

if __name__ == "__main__":
    os.environ["XDG_STATE_HOME"] = str(Path(sys.argv[1]).parent)
    sys.argv.insert(1, "gateway")
    main()
