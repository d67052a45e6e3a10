"""The compose file and the manifests of Kubernetes: their schemas, and the programs that they start."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from release.archives import ROOT

from support.postgres import database
from support.redis_server import redis_url
from support.serving import STOPS, Process, command, environment, free_port, http, started, wait_for_port
from support.wire.raw_http import Endpoint, modern
from tooltrue.server.keys import new_key
from tooltrue.testing.state import LIMIT
from tooltrue.version import __version__

COMPOSE = ROOT / "docker" / "compose.yaml"
MANIFESTS = {path.stem: path for path in sorted((ROOT / "docker" / "kubernetes").glob("*.yaml"))}
VERSIONS = ("1.33", "1.34", "1.35", "1.36", "1.37")
KEY, DIGEST = new_key("ada")
SEALING_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def manifest(name: str) -> dict[str, Any]:
    return yaml.safe_load(MANIFESTS[name].read_text("utf-8"))


def template() -> dict[str, Any]:
    return manifest("deployment")["spec"]["template"]


def container() -> dict[str, Any]:
    (one,) = template()["spec"]["containers"]
    return one


# --- schemas ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", MANIFESTS)
def test_each_manifest_fits_its_schema(name: str, version: str) -> None:
    kubernetes_validate.validate(manifest(name), version, strict=True)


FREE = frozenset({"labels", "matchLabels", "data", "requests", "limits"})
"""Maps whose keys are names of their own; so are all keys with a slash."""


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each key of a manifest that the schema knows."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if "/" not in key:
                yield (*path, key)
            if key not in FREE:
                yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*path, number))


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_key_that_is_misspelt_anywhere_is_found(name: str) -> None:
    """A key that is no key of its object must not be ignored: a protection would be missing, and nobody told."""
    original = manifest(name)
    for path in places(original):
        if path in {("kind",), ("apiVersion",)}:  # they name the schema
            continue
        changed = copy.deepcopy(original)
        *above, key = path
        place: Any = changed
        for step in above:
            place = place[step]
        place[f"{key}x"] = place.pop(key)
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(changed, VERSIONS[-1], strict=True)


# --- choices ----------------------------------------------------------------------------------------------------------


def test_a_pod_has_no_right_that_it_does_not_need() -> None:
    pod, one = template()["spec"], container()
    user = re.search(r"^USER (\d+)$", (ROOT / "docker" / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert user is not None
    number = int(user[1])
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": number,
        "runAsGroup": number,
        "fsGroup": number,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert one["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert {"cpu", "memory"} == one["resources"]["limits"].keys() == one["resources"]["requests"].keys()


def test_what_is_written_to_is_a_volume() -> None:
    volumes = {one["name"]: one for one in template()["spec"]["volumes"]}
    writable = {one["mountPath"] for one in container()["volumeMounts"] if "emptyDir" in volumes[one["name"]]}
    (state,) = re.findall(r"XDG_STATE_HOME=(\S+)", (ROOT / "docker" / "Dockerfile").read_text("utf-8"))
    assert writable == {state, "/tmp"}
    assert all(one["readOnly"] for one in container()["volumeMounts"] if one["mountPath"] not in writable)


def test_a_pod_gets_more_time_than_its_drain_and_the_version_of_this_tree() -> None:
    words = container()["args"]
    drain = float(words[words.index("--drain") + 1])
    ready = container()["readinessProbe"]
    assert ready["periodSeconds"] * ready["failureThreshold"] < drain
    assert drain + 3 < template()["spec"]["terminationGracePeriodSeconds"]
    assert container()["image"].rpartition(":")[2] == __version__


def test_the_manifests_select_the_same_pods_and_no_file_holds_a_secret() -> None:
    labels = template()["metadata"]["labels"]
    assert manifest("deployment")["spec"]["selector"]["matchLabels"] == labels
    assert manifest("service")["spec"]["selector"] == labels
    assert manifest("networkpolicy")["spec"]["podSelector"]["matchLabels"] == labels
    assert manifest("poddisruptionbudget")["spec"]["selector"]["matchLabels"] == labels
    assert "Secret" not in {manifest(name)["kind"] for name in MANIFESTS}
    assert all("value" not in one for one in container()["env"])


# --- the programs -----------------------------------------------------------------------------------------------------


def mounted(folder: Path, files: Mapping[str, str]) -> Path:
    """A volume as the kubelet makes it: links to links, so that all files change at once."""
    data = folder / "..2026_11_26"
    data.mkdir(parents=True)
    (folder / "..data").symlink_to(data.name)
    for name, text in files.items():
        (data / name).write_text(text, "utf-8")
        (folder / name).symlink_to(f"..data/{name}")
    return folder


def moved(words: Sequence[str], places: Mapping[str, str]) -> list[str]:
    """The words of a container, with paths and addresses of this machine."""
    found: list[str] = []
    for word in words:
        for old, new in places.items():
            word = word.replace(old, new)
        found.append(word)
    return found


@contextmanager
def serving(words: Sequence[str], port: int, folder: Path, **env: str) -> Iterator[Process]:
    settings = {"env": environment(XDG_STATE_HOME=str(folder / "state"), **env), "cwd": folder}
    with started(command(*words), **settings) as process:
        wait_for_port(port, process)
        yield process


@pytest.mark.process
def test_the_deployment_starts_a_gateway_that_its_probes_find_ready(tmp_path: Path) -> None:
    port = free_port()
    notes = http(target=str(ROOT / "docker" / "server" / "server.py"))
    with notes as (url, _), redis_url() as store, database() as log:
        secrets = {"sealing-keys": SEALING_KEY, "keys.toml": f'[ada]\nsha256 = "{DIGEST}"\n', "weather-key": "secret"}
        where = {"/run/secrets/tooltrue": str(tmp_path / "secrets"), "/etc/tooltrue": str(tmp_path / "config")}
        where |= {"0.0.0.0:8000": f"127.0.0.1:{port}", "postgresql://tooltrue@postgres/tooltrue": log}
        where |= {f"https://{name}.example.com/mcp": url for name in ("docs", "weather")}
        items = next(one for one in template()["spec"]["volumes"] if one["name"] == "secrets")["secret"]["items"]
        mounted(tmp_path / "secrets", {one["path"]: secrets[one["key"]] for one in items})
        data = manifest("configmap")["data"]
        mounted(tmp_path / "config", {name: moved([text], where)[0] for name, text in data.items()})
        known = {"state-url": store, "postgres-password": "unused"}
        env = {one["name"]: known[one["valueFrom"]["secretKeyRef"]["key"]] for one in container()["env"]}

        async def scenario(process: Process) -> None:
            endpoint = Endpoint(port, "/mcp")
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                get = container()[probe]["httpGet"]
                page = Endpoint(port, get["path"])
                headers = [(one["name"], one["value"]) for one in get["httpHeaders"]]
                assert (await page.ask("GET", headers=headers)).status == 200
                assert (await page.ask("GET", headers=[("Host", "10.1.2.3:8000")])).status == 403
            message, headers = modern("tools/list")
            for host in ("tools.example.com", "tooltrue-gateway:8000"):
                answer = await endpoint.post(message, (*headers, ("Authorization", f"Bearer {KEY}"), ("Host", host)))
                names = {tool["name"] for tool in answer.json["result"]["tools"]}
                assert {"docs_get_notes", "weather_get_notes"} <= names
            assert (await endpoint.post(message, headers)).status == 401
            process.popen.send_signal(STOPS[0])
            ready = Endpoint(port, "/readyz")
            async with asyncio.timeout(LIMIT):
                while (status := (await ready.ask("GET")).status) == 200:
                    pass
            assert status == 503
            assert (await Endpoint(port, "/healthz").ask("GET")).status == 200

        with serving(moved(container()["args"], where), port, tmp_path, **env) as process:
            asyncio.run(scenario(process))


@pytest.mark.process
def test_the_compose_file_starts_its_server(tmp_path: Path) -> None:
    port, one = free_port(), yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]["server"]
    given = {"TOOLTRUE_POSTGRES_PASSWORD": "unused", "TOOLTRUE_SEALING_KEY": SEALING_KEY}
    named = re.compile(r"\$\{(\w+):\?[^}]*\}")
    env = {name: named.sub(lambda match: given[match[1]], text) for name, text in one["environment"].items()}
    with redis_url() as store, database() as log:
        where = {"0.0.0.0:8000": f"127.0.0.1:{port}", "redis://redis:6379/0": store}
        for file in (ROOT / "docker" / "server").iterdir():
            if file.is_file():
                text = file.read_text("utf-8").replace("postgresql://tooltrue@postgres/tooltrue", log)
                (tmp_path / file.name).write_text(text, "utf-8")
        (tmp_path / "keys.toml").write_text(f'[ada]\nsha256 = "{DIGEST}"\n', "utf-8")

        async def scenario() -> int:
            message, headers = modern("tools/list")
            answer = await Endpoint(port, "/mcp").post(message, (*headers, ("Authorization", f"Bearer {KEY}")))
            return len(answer.json["result"]["tools"])

        with serving(moved(one["command"], where), port, tmp_path, **env):
            assert asyncio.run(scenario()) == 2
