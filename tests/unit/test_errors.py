"""The family of errors: the documented tree of classes, and the message of each error."""

from __future__ import annotations

import re

import pytest

from support.sources import FILES
from tooltrue import errors
from tooltrue.errors import InvalidParams, RpcError, ScopeNeeded, ToolError, TooltrueError, UnknownTool, fact_of
from tooltrue.wording import LABEL_NONE, SETTING_INVALID, Worded


def family(root: type[BaseException]) -> set[type[BaseException]]:
    return {root}.union(*map(family, root.__subclasses__()))


OURS = {kind for kind in family(TooltrueError) if kind.__module__ == errors.__name__}


def test_the_tree_at_the_top_is_the_tree():
    drawn: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"    ([│├└─ ]*)([A-Z]\w+)", line)
        if found:
            level = len(found[1]) // 4
            above[level:] = [found[2]]
            drawn[found[2]] = above[level - 1] if level else "Exception"
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in OURS}


def test_every_error_is_exported():
    assert {kind.__name__ for kind in OURS} - {"SchemaError"} <= set(errors.__all__)
    assert all(hasattr(errors, name) for name in errors.__all__)


def test_two_kinds_never_share_a_number_unless_one_is_the_other():
    numbers = [kind.number for kind in OURS if issubclass(kind, RpcError) and "number" in vars(kind)]
    assert sorted(set(numbers) - {-32603}) == sorted(number for number in numbers if number != -32603)


KINDS = sorted(family(RpcError) & OURS, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_arrives_becomes_its_kind(kind: type[RpcError]):
    got = RpcError.received(kind.number, "said", {"a": 1})
    assert type(got) is (InvalidParams if kind in (UnknownTool, InvalidParams) else type(got))
    assert got.number == kind.number
    assert (str(got), got.say("zh"), got.data) == ("said", "said", {"a": 1})


def test_an_unknown_error_number_is_preserved():
    got = RpcError.received(-1, "odd")
    assert (type(got), got.number) == (RpcError, -1)


JSON_RPC = {-32700, -32600, -32601, -32602, -32603}
OF_MCP = {-32020, -32021, -32022}


@pytest.mark.requirement("ERR-01", "ERR-02", "ERR-04", "ERR-10")
def test_no_number_is_our_own_invention():
    assert {kind.number for kind in OURS if issubclass(kind, RpcError)} == JSON_RPC | OF_MCP


@pytest.mark.requirement("ERR-03")
@pytest.mark.parametrize("number", [number for number in range(-32019, -31999) if number != -32002])
def test_a_number_that_anybody_may_have_taken_means_nothing(number: int):
    got = RpcError.received(number, "said", {"supported": ["2026-07-28"], "requiredCapabilities": {"roots": {}}})
    assert (type(got), got.number, str(got), got.code) == (RpcError, number, "said", "")


def test_an_error_says_its_sentence_with_its_code_in_both_languages():
    error = ToolError.of("TT2007", tool="wipe", reason="no")
    assert str(error) == "wipe may not be called so: no"
    assert error.say() == "wipe may not be called so: no [TT2007]"
    assert error.say("zh") == "不允许这样调用 wipe：no [TT2007]"


def test_words_of_an_author_are_said_as_they_are():
    assert ToolError("Too {large}: 100 %").say("zh") == "Too {large}: 100 %"


def test_facts_are_never_read_as_a_template():
    assert "{tool}" in ToolError.of("TT2007", tool="{tool}", reason="{0.__class__}").say()


def test_all_the_scopes_that_are_needed_are_named_once_and_in_one_order():
    error = ScopeNeeded.needing(["write", "read", "write"])
    assert (error.scopes, error.number) == (("read", "write"), InvalidParams.number)
    assert "read, write" in str(error)


@pytest.mark.requirement("ERR-06", "LCLI-10")
def test_retired_error_numbers_occur_only_in_the_code_for_older_revisions():
    def files_with(number: str) -> set[str]:
        return {name for name, path in FILES.items() if number in path.read_text()}

    assert files_with("32042") == set()
    assert files_with("32002") == {"errors.py", "server/legacy.py"}


def test_a_nested_error_has_the_language_of_the_sentence_around_it():
    inner = UnknownTool("a")
    outer = ToolError.of(SETTING_INVALID, name="x", wanted=fact_of(inner))
    assert outer.say("en").startswith("x must be Unknown tool: 'a'. Ask tools/list for the tools there are. [")
    assert outer.say("zh").startswith("x 必须是 未知工具：'a'。可用 tools/list 查看现有工具。 [")
    assert str(fact_of(inner, is_clause=False)).endswith(".")


def test_an_exception_may_be_raised_with_a_message():
    fact = fact_of(ValueError(Worded(LABEL_NONE, {})))
    assert isinstance(fact, Worded)
    assert (fact.say("en"), fact.say("zh")) == ("none", "无")


def test_an_error_without_a_message_is_its_text_or_its_type():
    assert fact_of(OSError("No space.")) == "No space"
    assert fact_of(KeyError()) == "KeyError"


def test_an_error_whose_text_was_changed_is_its_text():
    """As it is after redaction: the facts alone would bring the secret back."""
    error = UnknownTool("secret")
    error.args = ("Unknown tool: '…'.",)
    assert fact_of(error) == "Unknown tool: '…'"
