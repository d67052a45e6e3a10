"""`python bench/layers.py`: the CPU time of each layer of the guard for a call, in µs, threads included.

Each figure is the minimum over many rounds of the whole pipeline, less that of the pipeline without that layer, both
called in turn in this process. Calls take plans, and audit records go to a file, as in a server. With `--instructions`
the figures are thousands of CPU instructions, which do not depend on the load or the clock rate of the machine.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.instructions import instructions
from tooltrue import Layer, LocalToolset, Principal, Rate, Step, StepLayer, Tool
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.rate import RateLimits
from tooltrue.policy.pipeline import STAGES, LayerFactory, Parts
from tooltrue.policy.placing import placed, with_authors
from tooltrue.policy.plan import planned
from tooltrue.policy.rules.decision import decision
from tooltrue.server.service import SILENT
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import RequestContext, ToolCall

CALLS = 2_000
Layers = Sequence[tuple[str, LayerFactory]]
Cost = Callable[[], float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--instructions", action="store_true", help="thousands of instructions; Linux only")
    options = parser.parse_args()
    if options.instructions:
        count = instructions()  # before the threads begin that it is to count
        unit, cost = "thousand instructions", lambda: count() / 1e3
    else:
        unit, cost = "µs", lambda: time.process_time() * 1e6
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder) / "audit.db", options.rounds, unit, cost))


async def _measure(file: Path, rounds: int, unit: str, cost: Cost) -> None:
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def echo(text: str) -> str:
        """Echo."""
        return text

    guard = Guard(rate=RateLimits.of(Rate(1e6, 10**6)), audit=Audit.of(f"sqlite://{file}"))
    recorder = Recorder(guard.audit)
    async with recorder.open():
        layers = _layers(guard, recorder)
        # The write-ahead record and the audit record belong together: one layer alone writes other records. Without
        # `authorize`, the layers below it would look for the tool.
        names = [name for name, _ in layers if name not in ("write_ahead_audit", "authorize")]
        own = [
            planned(tools, with_authors(layers, [layer])) for layer in (Steps, Around, placed(Around, before="confirm"))
        ]
        providers = [planned(tools, layers), tools, *own, *(planned(tools, _without(layers, name)) for name in names)]
        least = [float("inf")] * len(providers)
        for _ in range(rounds):
            for place, provider in enumerate(providers):
                least[place] = min(least[place], await _measured(provider, recorder, cost))
    everything, bare, steps, around, general, *lacking = least
    print(f"| layer | {unit} |\n|---|---|")
    for name, rest in zip(names, lacking, strict=True):
        print(f"| {name} | {max(0.0, everything - rest):.2f} |")
    print(f"| all | {everything - bare:.2f} |")
    print(f"| an author's layer more, of steps | {steps - everything:.2f} |")
    print(f"| an author's layer more, without steps, right around the tools | {around - everything:.2f} |")
    print(f"| an author's layer more, without steps, before confirm | {general - everything:.2f} |")


class Steps(StepLayer, frozen=True):
    """A layer of an author that does nothing, before and after each call."""

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        return Step(lambda call: None, lambda call, outcome: outcome)


class Around(Layer, frozen=True):
    """The same in the general form."""

    async def around(self, operation: Any, proceed: Any) -> Any:
        return await proceed(operation)


def _without(layers: Layers, name: str) -> Layers:
    gone = {"audit", "write_ahead_audit"} if name == "audit" else {name}
    return [(one, layer) for one, layer in layers if one not in gone]


def _layers(guard: Guard, recorder: Recorder) -> Layers:
    """Those that `standard` puts around a provider, with their names."""
    facts = MemoryFacts()
    decide = decision(guard.rules, guard.decide, guard.local_scopes)
    parts = Parts(guard, facts, recorder, Approvals(facts), decide)
    return [(stage.name, stage.make(parts)) for stage in STAGES]


async def _measured(provider: Provider, recorder: Recorder, cost: Cost) -> float:
    principal = Principal("local")
    began = cost()
    for _ in range(CALLS):
        await provider.call_tool(ToolCall("echo", {"text": "hello, world"}, RequestContext(principal, SILENT)))
    await recorder.log.head()  # all records are written
    return (cost() - began) / CALLS


if __name__ == "__main__":
    main()
