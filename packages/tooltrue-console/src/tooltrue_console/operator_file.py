"""The operator's file as the pages show it: the rules that hold, and the text on disk. Never written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tooltrue.errors import ConfigurationError
from tooltrue.policy.config import OperatorConfig, examine, text_of
from tooltrue.policy.guard import Guard
from tooltrue.policy.rules.rule import Rules
from tooltrue_check.excuses import Excuse, excuses_in
from tooltrue_check.findings import RuleFinding
from tooltrue_console.desk import DeskSettings
from tooltrue_console.wording import CONSOLE_FILE_WITHOUT_RULES, CONSOLE_RULES_UNKNOWN

__all__ = ["OperatorFile", "excused_by", "excuses_of", "guard_of", "operator_file", "rules_of", "without_passwords"]

_CREDENTIALS: Final = re.compile(r"(?<=://)[^\s\"'@]*@")


@dataclass(frozen=True, slots=True)
class OperatorFile:
    """``config`` is the file as it holds: as the server has read it, or as it is now. ``text`` is the text on disk, and
    ``has_changed`` tells whether a server has read another one. ``problems`` are those of the file on disk; without a
    server, no rule holds while there are some."""

    config: OperatorConfig
    text: str
    problems: tuple[ConfigurationError, ...] = ()
    has_changed: bool = False
    is_in_force: bool = True

    def in_force(self) -> OperatorConfig:
        """The file whose rules hold. ``ConfigurationError`` if it has a problem."""
        if not self.is_in_force:
            raise self.problems[0]
        return self.config


def operator_file(settings: DeskSettings) -> OperatorFile:
    """Read the file. ``ConfigurationError`` if there is none, or if it cannot be read."""
    in_force = None if settings.server is None else settings.server.operator_config
    if in_force is not None:
        try:
            text = text_of(in_force.name)
        except ConfigurationError as error:  # the server goes on with what it has read
            return OperatorFile(in_force, in_force.text, (error,))
        return OperatorFile(in_force, text, has_changed=text != in_force.text)
    if not settings.config:
        raise ConfigurationError.of(CONSOLE_RULES_UNKNOWN)
    config, problems = examine(settings.config)
    return OperatorFile(config, config.text, tuple(problems), is_in_force=not problems)


def guard_of(settings: DeskSettings, config: OperatorConfig | None, server: str = "") -> Guard:
    """The guard that decides: that of the server beside, or one with the settings of the file for a server of this
    name."""
    if settings.server is not None:
        return settings.server.settings
    return Guard() if config is None else config.over(Guard(), server)


def rules_of(config: OperatorConfig, server: str) -> Rules:
    """The rules of a file for a server of this name. ``ConfigurationError`` if there are none."""
    rules = config.over(Guard(), server).rules
    if rules is None:
        raise ConfigurationError.of(CONSOLE_FILE_WITHOUT_RULES)
    return rules


def excuses_of(settings: DeskSettings) -> Sequence[Excuse]:
    """The rules of check from which the file excuses tools; none if there is no file, or it has a mistake, which the
    page on rules tells."""
    try:
        return tuple(excuses_in(operator_file(settings).config))
    except ConfigurationError:
        return ()


def excused_by(finding: RuleFinding, excuses: Sequence[Excuse]) -> Excuse | None:
    """The excuse that covers a finding, if any does."""
    return next((one for one in excuses if one.covers(finding)), None)


def without_passwords(text: str) -> str:
    """The text in a form that every reader of the console may see: the credentials in URLs are left out."""
    return _CREDENTIALS.sub("…@", text)
