"""`ours/calls.py` with only validation around its tools: the difference is the cost of the guard."""

import runpy
from pathlib import Path
from typing import Any

import tooltrue.app as app
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.errors_as_results import errors_as_results
from tooltrue.policy.layers.validate import validate
from tooltrue.tools.toolset import Provider, guarded


def validated(provider: Provider, guard: Guard, *rest: Any, **more: Any) -> Provider:
    return guarded(provider, errors_as_results(guard.language), validate)


app.standard = validated  # there is no setting for this, and there should not be one
server = runpy.run_path(str(Path(__file__).parents[1] / "ours" / "calls.py"))["server"]

if __name__ == "__main__":
    server.run()
