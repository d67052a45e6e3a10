"""``python -m tooltrue.testing.hostile NAME…``: a hostile server on the pipes of this process, or over HTTP."""

from __future__ import annotations

import argparse
import asyncio
import sys

from tooltrue.errors import ConfigurationError
from tooltrue.testing.hostile.http import serving_http
from tooltrue.testing.hostile.server import TRICKS, Hostile, serve_stdio


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tooltrue.testing.hostile", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="what it does; without one it is a good server")
    parser.add_argument(
        "--era", choices=("both", "modern", "legacy"), default="both", help="what it speaks (%(default)s)"
    )
    parser.add_argument("--http", type=int, metavar="PORT", help="serve HTTP on this machine; 0 for any port")
    parser.add_argument("--list", action="store_true", help="what it can do")
    options = parser.parse_args()
    if options.list:
        width = max(map(len, TRICKS))
        for trick in TRICKS.values():
            sys.stdout.write(f"{trick.name:<{width}}  {trick.about}  {trick.rows}".rstrip() + "\n")
        return
    try:
        server = Hostile(*options.names, era=options.era, owns_process=True)
    except ConfigurationError as error:
        sys.exit(error.say())
    asyncio.run(serve_stdio(server) if options.http is None else _over_http(server, options.http))


async def _over_http(server: Hostile, port: int) -> None:
    async with serving_http(server, port) as url:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
