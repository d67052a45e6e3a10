"""`python bench/layers.py`: what each layer of the guard costs a call, in µs of CPU, its threads included.

Each figure is the whole pipeline less the same without that layer, both called in turn in this process, the least of
many rounds. The records are written to a file, as a server does it.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from toolwright import LocalToolset, Principal, Rate
from toolwright.policy import pipeline
from toolwright.policy.audit_settings import Audit
from toolwright.policy.pipeline import Guard, standard
from toolwright.policy.rate import RateLimits
from toolwright.policy.recorder import Recorder
from toolwright.server.served import SILENT
from toolwright.state.facts import MemoryFacts
from toolwright.tools.toolset import Provider, RequestContext, ToolCall, guarded

CALLS = 2_000
Layers = Sequence[Callable[[Provider], Provider]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder) / "audit.db", parser.parse_args().rounds))


async def _measure(file: Path, rounds: int) -> None:
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def echo(text: str) -> str:
        """Echo."""
        return text

    guard = Guard(rate=RateLimits.of(Rate(1e6, 10**6)), audit=Audit.of(f"sqlite://{file}"))
    recorder = Recorder(guard.audit)
    async with recorder.open():
        layers = _layers(tools, guard, recorder)
        names = [getattr(layer, "__qualname__", str(layer)).split(".")[0] for layer in layers]
        whole = [guarded(tools, *layers), tools]
        lacking = [guarded(tools, *layers[:place], *layers[place + 1 :]) for place in range(len(layers))]
        least = [float("inf")] * (len(lacking) + 2)
        for _ in range(rounds):
            for place, provider in enumerate((*whole, *lacking)):
                least[place] = min(least[place], await _timed(provider, recorder))
    everything, bare, *without = least
    print("| layer | µs |\n|---|---|")
    for name, time_without in zip(names, without, strict=True):
        print(f"| {name} | {max(0.0, everything - time_without):.2f} |")
    print(f"| all | {everything - bare:.2f} |")


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


async def _timed(provider: Provider, recorder: Recorder) -> float:
    principal = Principal("local")
    began = time.process_time()
    for _ in range(CALLS):
        await provider.call_tool(ToolCall("echo", {"text": "hello, world"}, RequestContext(principal, SILENT)))
    await recorder.log.head()  # what was noted is written
    return (time.process_time() - began) / CALLS * 1e6


if __name__ == "__main__":
    main()
