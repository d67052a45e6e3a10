"""A server with options of its own: `tooltrue serve examples/greeter.py -- --greeting Moin`."""

import argparse
from typing import Annotated

from tooltrue import Server

parser = argparse.ArgumentParser()
parser.add_argument("--greeting", default="Hello")
options = parser.parse_args()

server = Server("greeter", version="1.0")


@server.tool(effect="read")
def greet(name: Annotated[str, "The person to greet, e.g. 'Lin'"]) -> str:
    """Greet a person by name.

    Use when the user wants to welcome somebody. Not for groups: call it for each. Returns one sentence.
    """
    return f"{options.greeting}, {name}!"


if __name__ == "__main__":
    server.run()
