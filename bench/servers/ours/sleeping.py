"""A server that sleeps before it starts, as one does that waits for something else: sleeping.py SECONDS."""

import sys
import time

time.sleep(float(sys.argv[1]))

from tooltrue import Server  # noqa: E402

server = Server("sleeping", version="1.0")


@server.tool(effect="read")
def look() -> str:
    """Look."""
    return "seen"


if __name__ == "__main__":
    server.run()
