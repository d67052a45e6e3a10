"""`python bench/host.py`: the time until a host with ten servers is ready, and the memory that each of them costs.

The servers are `servers/ours/seven.py`, each in its own process, connected over stdio. Each round runs a host in its
own process, with one server and with ten: the difference is the cost of nine more servers. The program prints medians,
and the load of the machine, on which the times depend.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tooltrue import Host

SERVER = Path(__file__).parent / "servers/ours/seven.py"
SERVERS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hosting", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.hosting is not None:
        print(json.dumps(asyncio.run(_host(options.hosting))))
        return
    one, ten = ([_measured(count) for _ in range(options.rounds)] for count in (1, SERVERS))
    more = (_of(ten, "host") - _of(one, "host")) / (SERVERS - 1)
    print(f"time until a host with {SERVERS} servers is ready   {_of(ten, 'seconds'):.2f} s")
    print(f"the same with one                          {_of(one, 'seconds'):.2f} s")
    print(f"memory of the host for each idle server    {more:.0f} KiB")
    print(
        f"memory of an idle server, its process      {_of(ten, 'server') / 1024:.1f} MiB that it shares with no other"
    )
    print(f"load of the machine                        {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")


def _measured(count: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--hosting", str(count)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _of(rounds: Sequence[dict[str, Any]], name: str) -> float:
    return median(one[name] for one in rounds)


async def _host(count: int) -> dict[str, float]:
    servers = {f"server{number}": [sys.executable, str(SERVER)] for number in range(count)}
    begun = time.perf_counter()
    async with Host(servers, audit=False) as host:
        seconds = time.perf_counter() - begun
        for status in host.servers:
            if status.state != "ready":
                raise SystemExit(f"{status.name} is {status.state}: {status.reason}")
        return {"seconds": seconds, "host": _private("self"), "server": median(map(_private, _children()))}


def _children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def _private(process: str) -> float:
    """KiB of a process that are its own."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))


if __name__ == "__main__":
    main()
