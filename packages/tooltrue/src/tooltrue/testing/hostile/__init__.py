"""A hostile server with selectable misbehaviours, by name: for tests of clients and hosts.

``python -m tooltrue.testing.hostile --list`` names them. It speaks the protocol by hand, since a library would
prevent the misbehaviour, and is well-behaved otherwise: ``look`` is always there and answers.
"""

from tooltrue.testing.hostile.http import serving_http
from tooltrue.testing.hostile.server import TRICKS, Era, Hostile, serve_stdio
from tooltrue.testing.hostile.tricks import Trick

__all__ = ["TRICKS", "Era", "Hostile", "Trick", "serve_stdio", "serving_http"]
