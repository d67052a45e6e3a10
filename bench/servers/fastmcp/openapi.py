"""A server made of a description by FastMCP, as its documentation shows it: the arguments are the file and the address.

The answers of the server that judges do not fit the description, so that its check of answers is off, as ours is.
"""

import json
import sys
from pathlib import Path

import httpx2
from fastmcp import FastMCP

description = json.loads(Path(sys.argv[1]).read_text())
server = FastMCP.from_openapi(
    openapi_spec=description,
    client=httpx2.AsyncClient(base_url=sys.argv[2], headers={"authorization": "Bearer of-the-bench"}),
    name="openapi",
    validate_output=False,
)

if __name__ == "__main__":
    server.run(show_banner=False)
