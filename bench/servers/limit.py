"""The least Python that answers `echo` over stdio: no checks, no protocol, nothing but JSON. Not a server to use."""

import json
import os


def answer(line: bytes) -> bytes:
    request = json.loads(line)
    content = [{"type": "text", "text": request["params"]["arguments"]["text"]}]
    result = {"content": content, "isError": False, "resultType": "complete"}
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}, separators=(",", ":")).encode() + b"\n"


def main() -> None:
    rest = b""
    while chunk := os.read(0, 65_536):
        *lines, rest = (rest + chunk).split(b"\n")
        os.write(1, b"".join(map(answer, lines)))


if __name__ == "__main__":
    main()
