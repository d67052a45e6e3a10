"""Writes `errors.md`, the table of all error codes, from the words in `toolwright.wording`.

    python docs/generate.py

A test compares; run this after a sentence has changed.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from string import Formatter

from toolwright.wording import SENTENCES

PAGE = Path(__file__).with_name("errors.md")

GROUPS = {
    "1": ("Protocol", "Whoever asked broke the protocol. Answers of JSON-RPC, with one of its numbers."),
    "2": ("Tool calls", "For the model: the text of a result with `isError: true`."),
    "3": ("Definitions", "For the author: raised when a tool is registered or a schema compiled."),
    "4": ("Settings and commands", "For the operator: raised at start, printed by the command."),
    "5": ("Client and carrier", "For whoever uses `Client`: raised, never sent."),
    "6": ("The files tools", "For the model, but for TW6001 and TW6002, which end the command."),
    "7": ("State", "For the operator: the store that workers share."),
    "8": ("The kit", "For the author: what `toolwright test` found, and from TW8901 on why it did not look."),
}

HEAD = """\
# Errors

<!-- Made by docs/generate.py from src/toolwright/wording.py. Change it there. -->

Every error of toolwright has a code and a sentence in English and Chinese. A code never changes its meaning and is
never used again; sentences may be improved. What is sent or printed ends in the code in brackets. In a program,
`error.code` holds the code, `error.facts` what fills the sentence, and `error.say("zh")` is the sentence in Chinese. An
error that came from a server has the server's own words and no `code`.

Names in braces stand for what is filled in.
"""


def page() -> str:
    return HEAD + "".join(_sections())


def _sections() -> Iterator[str]:
    for group, codes in groupby(sorted(SENTENCES), key=lambda code: code[2]):
        title, text = GROUPS[group]
        rows = "".join(_row(code) for code in codes)
        yield f"\n## {title}\n\n{text}\n\n| code | English | 中文 |\n|---|---|---|\n{rows}"


def _row(code: str) -> str:
    english, chinese = map(_cell, SENTENCES[code])
    return f"| {code} | {english} | {chinese} |\n"


def _cell(template: str) -> str:
    """A template without its conversions, fit for a cell of a table."""
    parts = (text + (f"{{{name}}}" if name else "") for text, name, _, _ in Formatter().parse(template))
    text = "".join(parts)
    for plain, safe in (("<", "&lt;"), ("|", "\\|"), ("*", "\\*"), ("\n", "<br>")):
        text = text.replace(plain, safe)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
