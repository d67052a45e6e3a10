"""The protocol revisions and their features. The only module that knows their order.

Stateless (``modern``) revisions carry the context in each request's ``_meta``; session-based (``legacy``) ones begin
with an ``initialize`` handshake. A new revision is a row here, a wire module and transcripts.
"""

from __future__ import annotations

import msgspec

__all__ = ["ALL", "ASSUMED", "BY_NAME", "LATEST", "LEGACY", "MODERN", "NEWEST_LEGACY", "Revision", "agree"]


class Revision(msgspec.Struct, frozen=True):
    """One revision and the columns in which revisions differ (legacy digest, "Feature matrix")."""

    name: str
    modern: bool = False
    batches: bool = False
    annotations: bool = True
    audio: bool = True
    progress_message: bool = True
    title: bool = True
    structured: bool = True
    resource_link: bool = True
    meta: bool = True
    last_modified: bool = True
    icons: bool = True
    completions: bool = True
    version_header: bool = True
    elicitation: bool = True
    elicitation_url: bool = True
    choices: bool = True
    sampling_tools: bool = True
    polling: bool = False
    tasks: bool = False


_R2024_11 = Revision(
    "2024-11-05",
    batches=True,
    annotations=False,
    audio=False,
    progress_message=False,
    title=False,
    structured=False,
    resource_link=False,
    meta=False,
    last_modified=False,
    icons=False,
    completions=False,
    version_header=False,
    elicitation=False,
    elicitation_url=False,
    choices=False,
    sampling_tools=False,
)
_R2025_03 = Revision(
    "2025-03-26",
    batches=True,
    title=False,
    structured=False,
    resource_link=False,
    meta=False,
    last_modified=False,
    icons=False,
    version_header=False,
    elicitation=False,
    elicitation_url=False,
    choices=False,
    sampling_tools=False,
)
_R2025_06 = Revision("2025-06-18", icons=False, elicitation_url=False, choices=False, sampling_tools=False)
_R2025_11 = Revision("2025-11-25", polling=True, tasks=True)
_R2026_07 = Revision("2026-07-28", modern=True)

_REVISIONS = (_R2026_07, _R2025_11, _R2025_06, _R2025_03, _R2024_11)

BY_NAME = {revision.name: revision for revision in _REVISIONS}
ALL = tuple(BY_NAME)
MODERN = tuple(revision.name for revision in _REVISIONS if revision.modern)
LEGACY = tuple(revision.name for revision in _REVISIONS if not revision.modern)
LATEST = MODERN[0]
NEWEST_LEGACY = LEGACY[0]

# The revision of a session-based HTTP request without version header and session (2025-06-18, basic/transports).
ASSUMED = "2025-03-26"


def agree(offered: str) -> Revision:
    """The revision that a handshake selects: the client's offer, else our newest session-based one
    (basic/lifecycle)."""
    revision = BY_NAME.get(offered)
    return revision if revision is not None and not revision.modern else BY_NAME[NEWEST_LEGACY]
