"""FastMCP's proxy, with the SDK's quickest settings: proxy.py PORT (URL | COMMAND ARGUMENT...)."""

import sys

import uvicorn
from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

port, *target = sys.argv[1:]
proxy = create_proxy(target[0] if target[0].startswith("http") else StdioTransport(target[0], target[1:]))

if __name__ == "__main__":
    app = proxy.http_app(path="/mcp", json_response=True, stateless_http=True)
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning", access_log=False)
