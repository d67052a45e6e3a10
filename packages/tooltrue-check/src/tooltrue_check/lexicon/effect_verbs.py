"""The effects of a tool, by the verb in its name. Only verbs that hardly mean anything else count."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

from tooltrue_check.subject import Subject

__all__ = ["CONNECTS", "CREATES", "DESTROYS", "READS", "SENDS", "is_harmless", "verb"]

_WORDS: Final = {
    name: frozenset(words)
    for name, words in tomllib.loads(Path(__file__).with_name("effect_verbs.toml").read_text("utf-8")).items()
}
DESTROYS: Final = _WORDS["destroys"]
SENDS: Final = _WORDS["sends"]
CREATES: Final = _WORDS["creates"]
READS: Final = _WORDS["reads"]
CONNECTS: Final = _WORDS["connects"]
"""Words of names that refer to something beyond the machine."""
_VERBS: Final = DESTROYS | SENDS | CREATES | READS | _WORDS["changes"]


def verb(tool: Subject) -> str:
    """The first known verb in a tool's name; empty if there is none.

    Words before it are taken for the name of a product or of a thing: ``jira_issue_delete``.
    """
    return next((word for word in tool.name_words if word in _VERBS), "")


_HARMLESS: Final = re.compile(
    r"\bdry[ -]?run\b|\bpreview|\bsimulat|\bwithout (?:deleting|sending|removing|executing|changing)\b"
    r"|\b(?:does not|doesn't|never|not actually) (?:\w+ ){0,2}(?:delete|remove|send|change|modify|execute|pay|transfer)"
    r"|\bestimat|\bunsigned\b|预览|模拟|试运行|不会(?:实际|真正)?(?:删除|发送|修改|执行)|估算",
)


def is_harmless(tool: Subject) -> bool:
    """Whether the description denies the effect that the name suggests."""
    return _HARMLESS.search(tool.text.plain) is not None
