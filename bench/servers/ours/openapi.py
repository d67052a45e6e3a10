"""A server made of a description: the arguments are the file and the address. All tools are listed, as FastMCP lists
them, and nothing is asked of a person. The pipeline is as it is otherwise."""

import sys
from pathlib import Path

from tooltrue import Confirm, Server
from tooltrue_toolbox.openapi.openapi_tools import ApiSettings, forms_of, load_api, toolset

api = load_api(Path(sys.argv[1]))
settings = ApiSettings(sys.argv[2], dict.fromkeys(api.schemes, "user:of-the-bench"), "off")
server = Server("openapi", toolsets=[toolset(api, forms_of(api), settings)], confirm=Confirm.never(), page_size=10_000)

if __name__ == "__main__":
    server.run()
