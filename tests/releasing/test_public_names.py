"""The promise about public names: a release deprecates a name before another one removes it."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path

import pytest
from packaging.version import Version
from release.public_names import FILE, Name, deprecated_in_code, exported, faults, load

import tooltrue
from tooltrue.version import __version__

ROOT = Path(__file__).parents[2]
LISTED = load(FILE.read_text("utf-8"))


def test_every_public_name_of_a_release_is_there_or_was_deprecated_by_an_earlier_one():
    assert list(faults(LISTED, exported(), __version__)) == []


def test_the_list_has_every_name_of_the_last_release():
    tags = subprocess.run(["git", "tag", "--list", "v*"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    if not tags.split():
        return  # before the first release, there is no list to keep
    last = max(tags.split(), key=lambda tag: Version(tag.removeprefix("v")))
    path = FILE.relative_to(ROOT).as_posix()
    shown = subprocess.run(["git", "show", f"{last}:{path}"], cwd=ROOT, check=True, capture_output=True, text=True)
    for module, names in load(shown.stdout).items():
        assert names.keys() <= LISTED[module].keys(), f"{module}: a line of {path} was deleted"


@pytest.mark.parametrize(
    ("name", "is_exported", "version", "said"),
    [
        (Name("0.1.0"), True, "0.2.0", None),
        (Name("0.1.0"), False, "0.2.0", "has vanished, and no release deprecated it"),
        (Name("0.1.0", deprecated="0.2.0"), False, "0.2.0", "has vanished, and no release deprecated it"),
        (Name("0.1.0", deprecated="0.2.0"), False, "0.3.0", "has vanished: add removed = '0.3.0'"),
        (Name("0.1.0", deprecated="0.2.0"), True, "0.3.0", None),
        (Name("0.1.0", deprecated="0.2.0", removed="0.3.0"), False, "0.3.0", None),
        (Name("0.1.0", deprecated="0.2.0", removed="0.3.0"), True, "0.3.0", "is exported, but listed as removed"),
        (
            Name("0.1.0", deprecated="0.2.0", removed="0.2.0"),
            False,
            "0.2.0",
            "is removed without a release before that deprecates it",
        ),
        (Name("0.1.0", removed="0.2.0"), False, "0.2.0", "is removed without a release before that deprecates it"),
        (Name("0.2.0", deprecated="0.2.0"), True, "0.2.0", "is deprecated by the release that adds it, or before"),
    ],
)
def test_a_name_goes_only_after_a_release_that_warns(name: Name, is_exported: bool, version: str, said: str | None):
    found = faults({"tooltrue": {"Old": name}}, {"tooltrue": {"Old"} if is_exported else set()}, version)
    assert list(found) == ([] if said is None else [f"tooltrue: Old {said}"])


def test_a_new_name_has_to_be_listed():
    found = faults({"tooltrue": {}}, {"tooltrue": {"New"}}, "0.2.0")
    assert list(found) == ["tooltrue: New is new: run python -m release.public_names"]


def test_the_names_that_warn_are_those_of_the_list():
    warning = deprecated_in_code()
    assert warning == {
        module: {
            name: (one.deprecated, one.instead)
            for name, one in LISTED[module].items()
            if one.deprecated and not one.removed
        }
        for module in warning
    }


def test_each_use_of_a_deprecated_name_warns_and_gives_its_value(monkeypatch: pytest.MonkeyPatch):
    value = tooltrue.Client
    monkeypatch.setattr(tooltrue, "_DEPRECATED", {"Client": ("0.2.0", "tooltrue.Host")})
    monkeypatch.delitem(vars(tooltrue), "Client", raising=False)
    for _ in range(2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert tooltrue.Client is value
        (warning,) = caught
        assert (warning.category, warning.filename) == (DeprecationWarning, __file__)
        assert "Client is deprecated since tooltrue 0.2.0" in str(warning.message)
