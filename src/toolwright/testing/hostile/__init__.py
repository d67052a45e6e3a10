"""A server that does what no server should, one misbehaviour by name: for tests of clients and hosts.

``python -m toolwright.testing.hostile --list`` names them. It speaks the protocol by hand, since a library would not
let it, and is good in everything else: ``look`` is always there and answers.
"""

from toolwright.testing.hostile.http import serving_http
from toolwright.testing.hostile.server import TRICKS, Era, Hostile, serve_stdio
from toolwright.testing.hostile.tricks import Trick

__all__ = ["TRICKS", "Era", "Hostile", "Trick", "serve_stdio", "serving_http"]
