"""A server that says one text wherever a server says anything: `terminal_server.py FILE`, a JSON string."""

import json
import sys
from pathlib import Path

SAYS = json.loads(Path(sys.argv[1]).read_text())
LOOK = {
    "type": "object",
    "properties": {"q": {"type": "string", "title": SAYS, "description": SAYS, "default": SAYS, "enum": [SAYS]}},
}


def answer(method: str, params: dict) -> dict:
    match method:
        case "initialize":
            info = {"name": f"server {SAYS}", "title": SAYS, "version": f"1 {SAYS}"}
            return {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, SAYS: {}},
                "serverInfo": info,
                "instructions": SAYS,
            }
        case "tools/list":
            named = {"name": f"bad {SAYS}", "description": SAYS, "inputSchema": LOOK}
            good = [
                {"name": name, "title": SAYS, "description": SAYS, "inputSchema": LOOK} for name in ("look", "fail")
            ]
            return {"tools": [*good, named]}
        case _:
            said = {"type": "text", "text": SAYS}
            return {"content": [said], "structuredContent": {SAYS: SAYS}, "isError": params.get("name") == "fail"}


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    params = message.get("params", {})
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        told = {"progressToken": token, "progress": 1, "message": SAYS}
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": told}), flush=True)
    sys.stderr.write(SAYS.encode("utf-8", "replace").decode() + "\n")
    sys.stderr.flush()
    if params.get("name") == "die":
        sys.exit(1)
    if message["method"] in ("server/discover",) or params.get("name") == "refuse":
        body = {"error": {"code": -32601, "message": SAYS}}
    else:
        body = {"result": answer(message["method"], params)}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)
