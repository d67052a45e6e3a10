"""`python bench/layers.py`: what each layer of the guard costs a call, in µs of CPU, its threads included.

Each figure is the whole pipeline less the same without that layer, both called in turn in this process, the least of
many rounds. The records are written to a file, as a server does it. With `--instructions` they are thousands of
instructions of the CPU, which stay the same when the machine has other work, or a slower clock.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.instructions import instructions
from tooltrue import LocalToolset, Principal, Rate
from tooltrue.policy import pipeline
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.rate import RateLimits
from tooltrue.policy.pipeline import standard
from tooltrue.server.service import SILENT
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.toolset import Provider, guarded
from tooltrue.tools.vocabulary import RequestContext, ToolCall

CALLS = 2_000
Layers = Sequence[Callable[[Provider], Provider]]
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
        layers = _layers(tools, guard, recorder)
        # What is recorded is known where it ends and where it begins: one without the other makes other records.
        names = [name for name in dict.fromkeys(map(_name, layers)) if name != "intent"]
        providers = [guarded(tools, *layers), tools, *(guarded(tools, *_without(layers, name)) for name in names)]
        least = [float("inf")] * len(providers)
        for _ in range(rounds):
            for place, provider in enumerate(providers):
                least[place] = min(least[place], await _measured(provider, recorder, cost))
    everything, bare, *lacking = least
    print(f"| layer | {unit} |\n|---|---|")
    for name, rest in zip(names, lacking, strict=True):
        print(f"| {name} | {max(0.0, everything - rest):.2f} |")
    print(f"| all | {everything - bare:.2f} |")


def _name(layer: Callable[[Provider], Provider]) -> str:
    """That of the function that has made it."""
    return getattr(layer, "__qualname__", str(layer)).partition(".")[0].strip("_").lower()


def _without(layers: Layers, name: str) -> Layers:
    gone = {"audit", "intent"} if name == "audit" else {name}
    return [layer for layer in layers if _name(layer) not in gone]


def _layers(tools: LocalToolset, guard: Guard, recorder: Recorder) -> Layers:
    """Those that `standard` puts around a provider."""
    seen: list[Layers] = []

    def keep(provider: Provider, *layers: Callable[[Provider], Provider]) -> Provider:
        seen.append(layers)
        return guarded(provider, *layers)

    before, pipeline.guarded = pipeline.guarded, keep
    try:
        standard(tools, guard, MemoryFacts(), recorder)
    finally:
        pipeline.guarded = before
    return seen[0]


async def _measured(provider: Provider, recorder: Recorder, cost: Cost) -> float:
    principal = Principal("local")
    began = cost()
    for _ in range(CALLS):
        await provider.call_tool(ToolCall("echo", {"text": "hello, world"}, RequestContext(principal, SILENT)))
    await recorder.log.head()  # what was noted is written
    return (cost() - began) / CALLS


if __name__ == "__main__":
    main()
