"""The served repositories: those that the operator has named, even if the token has access to others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tooltrue.errors import ConfigurationError, ToolError
from tooltrue_toolbox.github.wording import (
    GITHUB_REPOSITORIES_NOT_CONFIGURED,
    GITHUB_REPOSITORY_NOT_ALLOWED,
    GITHUB_REPOSITORY_SETTING_INVALID,
)

__all__ = ["Scope"]

_OWNER = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})"
_NAME = r"[A-Za-z0-9._-]{1,100}"
_PATTERN = re.compile(rf"({_OWNER})/({_NAME}|\*)")


@dataclass(frozen=True, slots=True)
class Scope:
    """``OWNER/REPO``, or ``OWNER/*`` for all of an owner. Case does not matter, as for the service."""

    allowed: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, repositories: Iterable[str]) -> Scope:
        """The scope of ``repositories``. ``ConfigurationError`` for an empty list, or an invalid repository name."""
        allowed: set[tuple[str, str]] = set()
        for repository in repositories:
            match = _PATTERN.fullmatch(repository)
            if match is None or match[2] in (".", ".."):
                raise ConfigurationError.of(GITHUB_REPOSITORY_SETTING_INVALID, repository=repository)
            allowed.add((match[1].casefold(), match[2].casefold()))
        if not allowed:
            raise ConfigurationError.of(GITHUB_REPOSITORIES_NOT_CONFIGURED)
        return cls(frozenset(allowed))

    @property
    def sorted_pairs(self) -> tuple[tuple[str, str], ...]:
        """Owner and name, sorted; ``*`` for all of an owner."""
        return tuple(sorted(self.allowed))

    def holds(self, full_name: str) -> bool:
        owner, _, name = full_name.casefold().partition("/")
        return (owner, name) in self.allowed or (owner, "*") in self.allowed

    def check(self, owner: str, repo: str) -> str:
        """The path of a repository. ``ToolError`` for one that is not served, whether it exists or not."""
        is_one = _PATTERN.fullmatch(f"{owner}/{repo}") and repo not in (".", "..", "*")
        if not (is_one and self.holds(f"{owner}/{repo}")):
            raise ToolError.of(
                GITHUB_REPOSITORY_NOT_ALLOWED, repository=f"{owner}/{repo}", served=", ".join(self._first_names())
            )
        return f"/repos/{owner}/{repo}"

    def qualifiers(self, owner: str | None, repo: str | None) -> Iterator[str]:
        """The qualifiers that narrow a search: the requested repository or owner, or all that are served."""
        if owner is not None and repo is not None:
            self.check(owner, repo)
            yield f"repo:{owner}/{repo}"
            return
        for served, name in self.sorted_pairs:
            if owner is None or served == owner.casefold():
                yield f"user:{served}" if name == "*" else f"repo:{served}/{name}"

    def _first_names(self) -> list[str]:
        return [f"{owner}/{name}" for owner, name in self.sorted_pairs[:20]]
