"""Names of tools of many servers: legal everywhere, always the same, and never two for one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.errors import ConfigurationError
from tooltrue.host.aliases import MAX_NAME, RESERVED, alias, check_alias, marks

LEGAL = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}")
LABELS = st.text("abAB01_-. é文", min_size=1, max_size=40)
NAMES = st.text("abAB01_-.", min_size=1, max_size=128)


def test_a_name_is_the_servers_and_the_tools() -> None:
    assert marks(["git", "my_files", "文件", "1st"]) == {
        "git": "git",
        "my_files": "my-files",
        "文件": "s-39932f",
        "1st": "s-1st",
    }
    assert alias("git", "log") == "git_log"
    assert alias("my-files", "read-file") == "my-files_read-file"


@given(LABELS.filter(lambda label: label == label.strip()), NAMES)
def test_every_name_is_legal(label: str, name: str) -> None:
    try:
        mark = marks([label])[label]
    except ConfigurationError:
        return
    assert LEGAL.fullmatch(alias(mark, name))
    assert alias(mark, name) not in RESERVED


@given(st.sampled_from(["a", "a-b", "a-b-c"]), NAMES, st.sampled_from(["a", "a-b", "a-b-c"]), NAMES)
def test_a18_two_servers_never_share_a_name(mark: str, name: str, other: str, another: str) -> None:
    if mark != other:
        assert alias(mark, name) != alias(other, another)


def test_a18_twin_the_prefix_of_a_server_does_not_depend_on_the_other_servers() -> None:
    assert marks(["git", "hub"])["git"] == marks(["hub", "git", "more"])["git"] == "git"


def test_a19_no_separator_can_be_read_two_ways() -> None:
    with pytest.raises(ConfigurationError, match="look alike"):
        marks(["a_b", "a-b"])
    named = marks(["a_b", "a"])
    assert alias(named["a_b"], "c") == "a-b_c"
    assert alias(named["a"], "b_c") == "a_b_c"


def test_a19_twin_underscores_of_a_tool_stay() -> None:
    assert alias("a", "b__c") == "a_b__c"


@pytest.mark.parametrize(
    "labels",
    [
        ["ｇithub"],
        ["gith\u0443b"],  # a Cyrillic letter among Latin ones
        ["git\u200bhub"],
        ["github", "GitHub"],
        ["my server", "my_server"],
        [" git"],
        [""],
        ["ﬁles"],
    ],
)
def test_a16_a_label_that_looks_like_another_is_refused(labels: list[str]) -> None:
    with pytest.raises(ConfigurationError):
        marks(labels)


def test_a16_twin_labels_in_other_languages_are_labels() -> None:
    assert len(marks(["文件", "почта", "données", "github"])) == 4


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a20_a_name_that_the_host_keeps_is_nobodys(name: str) -> None:
    mark, _, tool = name.partition("_")
    assert alias(mark, tool) not in RESERVED
    with pytest.raises(ConfigurationError):
        check_alias(name)


def test_a20_twin_a_server_may_call_its_tools_so() -> None:
    assert alias("docs", "search_tools") == "docs_search_tools"
    check_alias("find_docs")


@given(NAMES, NAMES)
def test_a21_names_that_differ_in_a_byte_are_two(name: str, other: str) -> None:
    assert (alias("a", name) == alias("a", other)) == (name == other)


def test_a_long_name_is_cut_and_stays_its_own() -> None:
    one, other = alias("server", "x" * 100 + "1"), alias("server", "x" * 100 + "2")
    assert len(one) == len(other) == MAX_NAME
    assert one != other
    assert one == "server_" + "x" * 48 + "-" + one[-8:]
