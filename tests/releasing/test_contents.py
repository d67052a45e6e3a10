"""The licences of all dependencies, and the bill of materials."""

from __future__ import annotations

import json

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from release.contents import bill, is_allowed, licences, packages, settings

ALLOWED = settings()["allowed"]


def test_every_dependency_has_an_allowed_licence():
    assert {name: licence for name, licence in licences().items() if not is_allowed(licence, ALLOWED)} == {}


@pytest.mark.parametrize(
    ("licence", "is_fine"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("MPL-2.0 AND (Apache-2.0 OR GPL-2.0-only)", True),
        ("unknown: nothing is said", False),
        ("Commercial", False),
    ],
)
def test_a_licence_is_allowed_if_allowed_ones_fulfil_it(licence: str, is_fine: bool):
    assert is_allowed(licence, ALLOWED) is is_fine


def test_no_line_of_the_list_is_left_over():
    assert settings()["stated"].keys() <= packages().keys()


def test_the_bill_is_valid_and_the_same_twice():
    refs = {"ref": "tooltrue-1", "dependsOn": ["click-2@8.5.1", "tooltrue-check-3"]}
    exported = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "serialNumber": "urn:uuid:0c138274-b58c-4af8-a93d-c5d5fb21fc5a",
        "metadata": {
            "timestamp": "2026-01-01T00:00:00Z",
            "tools": [{"name": "uv", "version": "1"}],
            "component": {"type": "library", "bom-ref": "tooltrue-1", "name": "tooltrue"},
        },
        "components": [
            {"type": "library", "bom-ref": "click-2@8.5.1", "name": "click", "version": "8.5.1"},
            {"type": "library", "bom-ref": "tooltrue-check-3", "name": "tooltrue-check"},
        ],
        "dependencies": [refs, {"ref": "click-2@8.5.1", "dependsOn": []}, {"ref": "tooltrue-check-3", "dependsOn": []}],
    }
    made = bill(json.dumps(exported))
    later = {**exported, "serialNumber": "urn:uuid:00000000-0000-4000-8000-000000000000"}
    assert bill(json.dumps(later)) == made
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(json.dumps(made)) is None
    assert made["dependencies"][0] == {"ref": "tooltrue", "dependsOn": ["click-2@8.5.1", "tooltrue-check"]}
    assert {one["name"]: one["licenses"][0]["expression"] for one in made["components"]} == {
        "click": "BSD-3-Clause",
        "tooltrue-check": "Apache-2.0",
        "tooltrue-console": "Apache-2.0 AND 0BSD",
        "tooltrue-toolbox": "Apache-2.0",
    }
