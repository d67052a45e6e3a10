"""Makes tools of descriptions of real APIs, and calls each with generated arguments. Not collected by pytest.

    make openapi-apis OPENAPI_APIS="--apis GitHub,Stripe --count 2 --left-out --faults"

A server of ours receives the requests, and ``openapi-core`` judges each by the description, with the one path of the
operation that was called: a request that reaches another path is a fault. The exit code is 1 for a fault, for an error
of ``tooltrue check``, and for a description that takes longer than 5 s for 1,000 operations. A request that no
arguments would make right, by a mistake of the description, is no fault: ``sources.py`` names those operations.
"""

from __future__ import annotations

import argparse
import logging
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from request_judges import OperationJudge, first_page
from sources import APIS, Api, description_file

from services.calling import Waits, calls
from support.website import running
from tooltrue import Client
from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.testing.generate import valid_samples
from tooltrue.tools.local import LocalToolset
from tooltrue_toolbox.openapi.file_references import FileReferences
from tooltrue_toolbox.openapi.openapi_tools import ApiSettings, forms_of, load_api, toolset
from tooltrue_toolbox.openapi.operation import ApiOperation
from tooltrue_toolbox.openapi.operations import DescribedApi
from tooltrue_toolbox.openapi.tool_definition import ToolForm, argument_names

_NOT_SENT = ("[TT6450]", "[TT6900]", "[TT6901]", "[TT6902]")
"""A value that leaves its place or has no form there, and an example that looks like a secret."""
_FILE = "report.bin"
_LIMIT = 5.0
"""CPU seconds for 1,000 operations. A description with fewer than 100 is not held to it."""


@dataclass
class Row:
    api: Api
    version: str = ""
    operations: int = 0
    seconds: float = 0.0
    tools: int = 0
    left_out: Counter[str] = field(default_factory=Counter[str])
    errors: int = 0
    sent: int = 0
    right: int = 0
    refused: int = 0
    mistaken: int = 0
    faults: list[str] = field(default_factory=list[str])

    @property
    def is_good(self) -> bool:
        slow = self.operations >= 100 and self.seconds / self.operations * 1000 > _LIMIT
        return not (self.faults or self.errors or slow)

    def __str__(self) -> str:
        pace = f"{self.seconds / self.operations * 1000:.1f}" if self.operations >= 100 else "–"
        cells = (self.api.name, self.version, self.operations, self.tools, sum(self.left_out.values()), pace)
        return f"| {' | '.join(map(str, (*cells, self.errors, self.sent, self.right, self.mistaken, self.refused)))} |"


_HEAD = """\
| API | version | operations | tools | left out | CPU s per 1,000 | errors | requests | right | mistakes | not sent |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"""


def measured(api: Api, count: int) -> Row:
    file = description_file(api)
    begun = time.process_time()
    loaded = load_api(file)
    forms = forms_of(loaded)
    left_out = _reasons(loaded)
    tools = toolset(loaded, forms, _settings(loaded, "http://127.0.0.1:9/v1"))
    row = Row(api, loaded.description.version, len(loaded.operations) + len(loaded.left_out))
    row.seconds = time.process_time() - begun
    row.tools, row.left_out = len(tools.names), left_out
    row.left_out["its schema is refused"] += len(forms) - len(tools.names)
    row.errors = _errors_of_check(file)
    if count:
        _send(row, loaded, forms, file, count)
    return row


def _reasons(api: DescribedApi) -> Counter[str]:
    return Counter(re.sub(r"\(.*\)", "", str(one.problem)).strip() for one in api.left_out)


def _settings(api: DescribedApi, url: str, *folders: Path) -> ApiSettings:
    secrets = {name: f"{name}:of-the-test" for name in api.schemes}
    return ApiSettings(url, secrets, "off", patience=Waits().patience, files=FileReferences(folders))


def _errors_of_check(file: Path) -> int:
    command = (
        Path(sys.prefix) / "bin" / "tooltrue",
        "check",
        "openapi",
        "--spec",
        file,
        "--api-url",
        "https://a.example",
    )
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    found = re.search(r"^errors: (\d+),", done.stdout, re.MULTILINE)
    return int(found[1]) if found else 1


def _send(row: Row, api: DescribedApi, forms: Sequence[ToolForm], file: Path, count: int) -> None:
    judge = OperationJudge(file)
    by_name = {form.name: form.operation for form in forms}
    with tempfile.TemporaryDirectory() as folder, running(judge) as site:
        (Path(folder) / _FILE).write_bytes(b"a file")
        tools = toolset(api, forms, _settings(api, f"{site.url}/v1", Path(folder)))
        calls(tools, _every_tool(row, tools, by_name, judge, count))
        row.sent = len(site.asked)
    mistakes = tuple(f"{operation}: " for operation in row.api.mistakes)
    row.right, row.faults = judge.right, [fault for fault in judge.faults if not fault.startswith(mistakes)]
    row.mistaken = len(judge.faults) - len(row.faults)


def _every_tool(
    row: Row, tools: LocalToolset, operations: dict[str, ApiOperation], judge: OperationJudge, count: int
) -> Callable[[Client], Any]:
    async def use(client: Client) -> None:
        for tool in await client.list_tools():
            judge.begin(operations[tool.name])
            schema = compile_schema(tool.inputSchema, bounds=OWN)
            for sample in valid_samples(schema, seed=7, count=count):
                before = judge.right + len(judge.faults)
                arguments = _with_files(first_page(sample.value), operations[tool.name])
                result = await client.call_tool(tool.name, arguments)
                if result.is_error and result.text.endswith(_NOT_SENT):
                    row.refused += 1
                elif judge.right + len(judge.faults) == before:
                    judge.faults.append(f"{judge.operation}: no request: {result.text[:300]}")

    return use


def _with_files(arguments: Any, operation: ApiOperation) -> Any:
    """The arguments with a file that is there in place of each text that was generated for one."""
    body, (_, name) = operation.body, argument_names(operation)
    if body is None or name is None or name not in arguments:
        return arguments
    if body.kind == "bytes":
        return {**arguments, name: _FILE}
    content = arguments[name]
    for part in [part for part, one in body.parts.items() if one.is_file and part in content]:
        content = {**content, part: [_FILE for _ in content[part]] if isinstance(content[part], list) else _FILE}
    return {**arguments, name: content}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="tests/openapi_apis/run.py", description=__doc__)
    parser.add_argument("--apis", default="", metavar="NAME,…", help="only these")
    parser.add_argument("--count", type=int, default=2, help="arguments for each tool (%(default)s); 0 sends nothing")
    parser.add_argument("--left-out", action="store_true", help="print why operations are left out")
    parser.add_argument("--faults", action="store_true", help="print each request that is judged wrong")
    options = parser.parse_args()
    names = set(filter(None, options.apis.split(",")))
    if unknown := names - {api.name for api in APIS}:
        parser.error(f"no API is named {', '.join(sorted(unknown))}: {', '.join(api.name for api in APIS)}")
    print(_HEAD, flush=True)
    rows = list[Row]()
    for api in APIS:
        if names and api.name not in names:
            continue
        rows.append(measured(api, options.count))
        print(rows[-1], flush=True)
        for reason, number in rows[-1].left_out.most_common() if options.left_out else ():
            if number:
                print(f"  {api.name}: {number} × {reason}", flush=True)
        for fault in rows[-1].faults if options.faults else ():
            print(f"  {api.name}: {fault}", flush=True)
    return int(not all(row.is_good for row in rows))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore", module="openapi_core")
    sys.exit(main())
