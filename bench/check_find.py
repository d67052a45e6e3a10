"""`python bench/check_find.py DATA…`: how well the search of `tooltrue find` finds tools that somebody else wrote.

Each tool with three sentences or more is looked for, among all, by the first sentence of its description, which is left
out of its text. A draw is lost.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from definitions import servers, shelf
from tooltrue_check.findability import SearchQuestion, findability
from tooltrue_check.subject import Subject


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", type=Path)
    tools, questions = list[Subject](), list[SearchQuestion]()
    for tool, first in _halved(parser.parse_args().data):
        tools.append(tool)
        questions += [SearchQuestion(tool, first)] if first else []
    found = findability(tools, questions)
    shares = [100 * found.within(places) / len(questions) for places in (1, 5)]
    print(
        f"{len(tools)} tools, {len(questions)} questions: {shares[0]:.1f} % first, {shares[1]:.1f} % in the first five"
    )


def _halved(data: list[Path]) -> Iterator[tuple[Subject, str]]:
    """Each tool, and the sentence that was taken out of it. A definition that was there before is left out."""
    seen = list[Any]()
    for server, tools in servers(data):
        for tool in shelf(server, [one for one in tools if one not in seen]):
            seen.append(tool.definition)
            first, *rest = tool.text.sentences or ("",)
            if len(rest) < 2:
                yield tool, ""
            else:
                yield Subject(server, {**tool.definition, "description": "\n".join(rest)}), first


if __name__ == "__main__":
    main()
