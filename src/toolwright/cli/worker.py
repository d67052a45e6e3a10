"""One HTTP worker: builds the application from what the parent left in the environment."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import asdict, dataclass
from typing import Any

from toolwright.cli.targets import Spec, load_server
from toolwright.state.urls import open_facts
from toolwright.transport.http_server import Access, HttpApp

__all__ = ["VARIABLE", "Job", "app"]

VARIABLE = "TOOLWRIGHT_WORKER"


@dataclass(frozen=True, slots=True)
class Job:
    """``hosts`` may be named in Host and Origin; ``key`` seals, base64; ``state`` is the URL of the shared facts."""

    spec: Spec
    hosts: tuple[str, ...]
    state: str
    key: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def read(text: str) -> Job:
        said = json.loads(text)
        spec = Spec(said["spec"]["target"], tuple(said["spec"]["roots"]))
        return Job(spec, tuple(said["hosts"]), said["state"], said["key"])


def app() -> HttpApp:
    """The application of this worker. The key does not stay where a tool's child process would inherit it."""
    job = Job.read(os.environ.pop(VARIABLE))
    facts = open_facts(job.state)
    server = load_server(job.spec)
    server.share(keys=[base64.b64decode(job.key)], facts=facts)
    return server.http_app(access=Access(job.hosts))
