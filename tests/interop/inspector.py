"""The official Inspector's command line: its view of a server, as one line of JSON.

Usage: inspector.py NODE SCRIPT ERA CALLS (URL | COMMAND ARGUMENT...)

It sends one request per run, so a server behind stdio is started anew for each.
"""

import json
import subprocess
import sys
from dataclasses import dataclass

TOOL_SAID_ERROR = 5


@dataclass(frozen=True, slots=True)
class Inspector:
    command: list[str]
    target: list[str]

    def ask(self, method: str, *options: str) -> dict:
        """The result of one request. A tool's own error is a result; any other failure raises."""
        line = [*self.command, "--method", method, *options, "--format", "json", *self.target]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, timeout=30, check=False)
        # A tool it does not find has the same exit code, but no result.
        if done.returncode not in (0, TOOL_SAID_ERROR) or not done.stdout:
            raise RuntimeError(f"the Inspector ended with {done.returncode} at {method}: {done.stdout}")
        return json.loads(done.stdout)["result"]

    def call(self, name: str, arguments: dict) -> dict:
        result = self.ask("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))
        text = "".join(block["text"] for block in result["content"] if block["type"] == "text")
        return {"text": text, "structured": result.get("structuredContent"), "is_error": result.get("isError", False)}


def arguments(target: list[str]) -> list[str]:
    return [*target, "--transport", "http"] if target[0].startswith("http://") else ["--", *target]


def seen(inspector: Inspector, calls: dict) -> dict:
    return {
        "revision": inspector.ask("initialize")["protocolVersion"],
        # --strict: a schema that other hosts cannot take is a failure.
        "tools": [tool["name"] for tool in inspector.ask("tools/list", "--strict")["tools"]],
        "results": {key: inspector.call(*made) for key, made in calls.items()},
    }


def main(node: str, script: str, era: str, calls: str, *target: str) -> None:
    command = [node, script, "--cli", "--protocol-era", era]
    print(json.dumps(seen(Inspector(command, arguments(list(target))), json.loads(calls))))


if __name__ == "__main__":
    main(*sys.argv[1:])
