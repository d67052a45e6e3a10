"""Pings an endpoint every 10 ms until standard input ends; then prints how many were answered, and the worst wait."""

from __future__ import annotations

import select
import sys
import time
from http.client import HTTPConnection

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def main(port: int) -> None:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    count, worst = 0, 0.0
    while True:
        begun = time.perf_counter()
        connection.request("POST", "/mcp", PING, HEADERS)
        with connection.getresponse() as response:
            assert b'"result":{}' in response.read()
        if count == 0:
            print("begun", flush=True)  # connecting and warming up do not count
        else:
            worst = max(worst, time.perf_counter() - begun)
        count += 1
        if select.select([sys.stdin], [], [], 0.01)[0]:
            break
    print(count - 1, worst)


if __name__ == "__main__":
    main(int(sys.argv[1]))
