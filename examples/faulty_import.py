"""A server that cannot be loaded, for docs/troubleshooting.md."""

import acme_database  # pyright: ignore[reportMissingImports] - the fault

from tooltrue import Server

server = Server("faulty", instructions=acme_database.__doc__)
