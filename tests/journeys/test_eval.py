"""``tooltrue eval``, with a model that follows a script over real HTTP."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tooltrue.cli.main import cli
from tooltrue.testing.models import Call, Fails, ModelRequest, Says, ScriptedModel

OLD: list[dict[str, Any]] = [
    {
        "name": "read_note",
        "description": "A note.",
        "inputSchema": {
            "type": "object",
            "properties": {"key": {"type": "string"}, "limit": {"type": "integer", "default": 10}},
        },
    },
    {
        "name": "drop_note",
        "description": "Notes.",
        "inputSchema": {"type": "object", "properties": {"key": {"type": "string"}}},
    },
]
NEW = [{**OLD[0], "description": "Read a note."}, {**OLD[1], "description": "Remove a note for good."}]
ASKED = [
    {"question": "what is in my list?", "tool": "read_note", "arguments": {"key": "list"}},
    {"question": "throw my list away", "tool": "drop_note"},
    {"question": "good morning", "tool": None},
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tools.json").write_text(json.dumps({"tools": OLD}))
    ask(*ASKED)


def ask(*questions: dict[str, Any]) -> None:
    Path("asked.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))


@contextlib.contextmanager
def serving(script: ScriptedModel, target: str = "tools.json") -> Generator[Callable[..., Result]]:
    with script.serving() as url:
        said = ["eval", target, "--model", "gpt", "--base-url", url, "--questions", "asked.jsonl"]
        yield lambda *more: CliRunner().invoke(cli, [*said, *more])


def evaluated(script: ScriptedModel, *more: str, target: str = "tools.json") -> Result:
    with serving(script, target) as evaluate:
        return evaluate(*more)


def data(script: ScriptedModel, *more: str) -> Any:
    return json.loads(evaluated(script, "--format", "json", *more).stdout)


def question_of(request: ModelRequest) -> str:
    return next(one["content"] for one in request.body["messages"] if one["role"] == "user")


def by_question(**answers: Says) -> Callable[[ModelRequest], Says]:
    """Answer by the first word of the question, in any order of questions."""
    return lambda request: answers[question_of(request).split()[0]]


RIGHT = {
    "what": Says(calls=[Call("read_note", {"limit": 10, "key": "list"})]),
    "throw": Says(calls=[Call("drop_note", {"key": "list"})]),
    "good": Says("Good morning!"),
}


def test_choices_are_graded_by_tool_and_arguments_and_defaults_that_are_spelled_out_are_none():
    found = data(ScriptedModel(by_question(**RIGHT)))["evaluations"][0]
    assert [found[name]["right"] for name in ("tool", "arguments", "right")] == [3, 1, 3]
    assert [found[name]["of"] for name in ("tool", "arguments", "right")] == [3, 1, 3]
    assert found["tokens"] == {"input": 30, "output": 15}
    assert found["confusion"] == [
        {"expected": None, "chosen": None, "count": 1},
        {"expected": "drop_note", "chosen": "drop_note", "count": 1},
        {"expected": "read_note", "chosen": "read_note", "count": 1},
    ]


def test_an_endpoint_that_is_not_there_is_said_at_once_and_nothing_is_kept():
    said = ["--model", "gpt", "--base-url", "http://127.0.0.1:9/v1", "--questions", "asked.jsonl"]
    done = CliRunner().invoke(cli, ["eval", "tools.json", *said])
    assert (done.exit_code, done.stdout) == (4, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("tooltrue: No server answers at the endpoint of gpt: ")
    assert "127.0.0.1" in line
    assert line.endswith("[TT9530]")


def test_duplicate_tool_names_are_refused_with_their_positions():
    Path("tools.json").write_text(json.dumps({"tools": [*OLD, OLD[0]]}))
    said = ["--model", "gpt", "--base-url", "http://127.0.0.1:9/v1", "--questions", "asked.jsonl"]
    done = CliRunner().invoke(cli, ["eval", "tools.json", *said])
    assert done.exit_code == 2
    assert "tools.json: Definitions 1 and 3 of the list are both called 'read_note'" in done.stderr


def test_the_examples_can_be_asked_those_of_find_too():
    examples = Path(__file__).parents[2] / "examples"
    for name, asked in (("asked", 4), ("questions", 0)):
        lines = (examples / f"{name}.jsonl").read_text("utf-8")
        Path("asked.jsonl").write_text(lines, "utf-8")
        done = evaluated(
            ScriptedModel(lambda request: Says("No.")), "--format", "json", target=str(examples / "notes.py")
        )
        found = json.loads(done.stdout)["evaluations"][0]
        assert found["right"]["of"] == (asked or len(lines.splitlines()))


def test_a_wrong_choice_is_shown_with_the_chosen_tool():
    wrong = {
        "what": Says(calls=[Call("read_note", {"key": "lists", "mark": True})]),
        "throw": Says(calls=[Call("read_note", {"key": "list"})]),
        "good": Says(calls=[Call("remember", {})]),
    }
    done = evaluated(ScriptedModel(by_question(**wrong)))
    assert done.exit_code == 0
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert "right tool: 1 of 3: 33.3% (95 %: 6.1% to 79.2%)" in lines
    assert "right arguments: 0 of 1: 0.0% (95 %: 0.0% to 79.3%)" in lines
    assert {"drop_note → read_note: 1", "(none) → remember: 1"} <= {*lines}
    assert "read_note.key: right 0, different 1, missing 0, extra 0" in lines
    assert "read_note.mark: right 0, different 0, missing 0, extra 1" in lines
    assert 'called: read_note {"key":"list"}' in lines


@pytest.mark.parametrize("written", ["not JSON", "[1]", '{"key": "a", "key": "list"}', '{"key": "\\ud800"}'])
def test_arguments_that_are_no_object_are_wrong_and_never_kept_as_one(written: str):
    ask(ASKED[0])
    found = data(ScriptedModel(Says(calls=[Call("read_note", written)])))["evaluations"][0]
    assert (found["tool"]["right"], found["arguments"]["right"]) == (1, 0)
    assert found["graded"][0]["calls"] == [{"tool": "read_note", "arguments": written}]


def test_a_call_that_was_cut_is_no_choice():
    ask(ASKED[0])
    script = ScriptedModel(Says(calls=[Call("read_note", {"key": "list"})], stop="length"))
    assert data(script)["evaluations"][0]["confusion"] == [{"expected": "read_note", "chosen": None, "count": 1}]


# --- several calls ---------------------------------------------------------------------------------------------------

STEPS = {
    "question": "move my list to the bin",
    "steps": [
        {"tool": "read_note", "arguments": {"key": "list"}, "result": "milk"},
        {"tool": "drop_note", "result": "gone"},
    ],
    "answer": "MILK",
}


def test_several_calls_are_graded_in_order_with_the_results_of_the_file():
    ask(STEPS)
    script = ScriptedModel(
        Says(calls=[Call("read_note", {"key": "list"})]),
        Says(calls=[Call("drop_note", {"key": "list"})]),
        Says("There was milk on it."),
    )
    found = data(script)["evaluations"][0]
    assert (found["right"]["right"], found["graded"][0]["reached"]) == (1, 2)
    told = [one["content"] for one in script.requests[-1].body["messages"] if one["role"] == "tool"]
    assert told == ["milk", "gone"]
    assert script.refused == []


def test_several_calls_of_one_answer_are_several_steps():
    ask(STEPS)
    both = [Call("read_note", {"key": "list"}), Call("drop_note", {"key": "list"})]
    script = ScriptedModel(Says(calls=both), Says("Nothing was on it."))
    graded = data(script)["evaluations"][0]["graded"][0]
    assert (graded["reached"], graded["right"]) == (2, False)  # the last word is another one
    assert script.refused == []


def test_a_step_that_goes_another_way_is_the_last_one():
    ask(STEPS)
    script = ScriptedModel(Says(calls=[Call("drop_note", {"key": "list"})]))
    found = data(script)["evaluations"][0]
    assert found["graded"][0]["reached"] == 0
    assert found["confusion"] == [{"expected": "read_note", "chosen": "drop_note", "count": 1}]
    assert len(script.requests) == 1


# --- stored answers, and questions that are not counted --------------------------------------------------------------

BUSY = Fails(429, "slow down", {"retry-after": "0"})


def test_an_answered_question_is_asked_again_only_after_the_tools_change():
    script = ScriptedModel(by_question(**RIGHT))
    with serving(script) as evaluate:
        assert evaluate().exit_code == 0
        assert evaluate().exit_code == 0
        assert len(script.requests) == len(Path("asked.answers.jsonl").read_text().splitlines()) == 3
        Path("tools.json").write_text(json.dumps({"tools": NEW}))
        assert evaluate("--repeat", "2").exit_code == 0
        assert len(script.requests) == 3 + 6


def test_an_interrupted_run_goes_on_where_it_was():
    script, answers = ScriptedModel(by_question(**RIGHT)), Path("asked.answers.jsonl")
    with serving(script) as evaluate:
        whole = evaluate("--concurrency", "1").stdout
        kept = answers.read_bytes()
        answers.write_bytes(kept[: kept.index(b"\n") + 20])  # one answer, and a part of another
        assert evaluate("--concurrency", "1").stdout == whole
        assert len(script.requests) == 3 + 2
        assert evaluate().stdout == whole
        assert len(script.requests) == 5


def test_an_endpoint_that_is_busy_for_a_while_makes_nothing_wrong():
    ask(ASKED[0])
    found = data(ScriptedModel(BUSY, Fails(503, "", {"retry-after": "0"}), RIGHT["what"]))["evaluations"][0]
    assert (found["right"]["right"], found["unanswered"]) == (1, [])


def test_an_unanswered_question_is_not_counted_and_is_asked_at_the_next_run():
    script = ScriptedModel(RIGHT["what"], *[BUSY] * 5, by_question(**RIGHT))
    with serving(script) as evaluate:
        done = evaluate("--concurrency", "1", "--format", "json")
        found = json.loads(done.stdout)["evaluations"][0]
        assert (done.exit_code, found["right"]["of"], [one["place"] for one in found["unanswered"]]) == (
            4,
            2,
            ["asked.jsonl:2"],
        )
        done = evaluate("--format", "json")
        assert (done.exit_code, json.loads(done.stdout)["evaluations"][0]["right"]["of"]) == (0, 3)


def test_a_key_that_is_refused_ends_the_command_at_once():
    script = ScriptedModel(lambda request: Fails(401, "no such key"))
    done = evaluated(script, "--concurrency", "1")
    assert (done.exit_code, len(script.requests)) == (4, 1)
    assert "[TT9521]" in done.stderr


# --- two versions ----------------------------------------------------------------------------------------------------


def by_description(request: ModelRequest) -> Says:
    """A model that needs to be told which tool removes things."""
    told = [one["function"] for one in request.body["tools"]]
    knows = any("Remove" in one["description"] for one in told)
    return Says(calls=[Call("drop_note" if knows else "read_note", {"key": "list"})])


def remove(request: ModelRequest) -> Says:
    """A model that calls the tool for removal, which has a different name in each version."""
    names = [one["function"]["name"] for one in request.body["tools"]]
    return Says(calls=[Call(next(name for name in names if name != "read_note"), {"key": "list"})])


@pytest.mark.parametrize("named", ["drop_note", "delete_note"])
def test_a_tool_that_one_version_has_not_is_wrong_there_and_ends_nothing(named: str):
    Path("new.json").write_text(json.dumps({"tools": [OLD[0], {**OLD[1], "name": "delete_note"}]}))
    ask({"question": "throw my list away", "tool": named})
    done = evaluated(ScriptedModel(remove), "--against", "tools.json", "--format", "json", target="new.json")
    found = json.loads(done.stdout)["comparison"]
    assert (len(found["better"]), len(found["worse"])) == ((0, 1) if named == "drop_note" else (1, 0))
    assert "[TT9883]" not in done.stdout
    assert f"no tool called {named}, which 1 questions expect" in done.stderr


@pytest.mark.parametrize("named", ["drop_note", "delete_note"])
def test_a_renamed_tool_is_the_same_tool_in_both_versions(named: str):
    Path("new.json").write_text(json.dumps({"tools": [OLD[0], {**OLD[1], "name": "delete_note"}]}))
    ask({"question": "throw my list away", "tool": named})
    more = ["--against", "tools.json", "--renamed", "drop_note=delete_note", "--format", "json"]
    done = evaluated(ScriptedModel(remove), *more, target="new.json")
    assert json.loads(done.stdout)["comparison"]["same"] == 1
    assert "no tool called" not in done.stderr


def test_a_tool_that_neither_version_has_is_a_slip_of_the_questions():
    Path("new.json").write_text(json.dumps({"tools": NEW}))
    ask({"question": "a", "tool": "read_notes"})
    done = evaluated(script := ScriptedModel(), "--against", "tools.json", target="new.json")
    assert (done.exit_code, script.requests) == (2, [])


@pytest.mark.parametrize(
    ("count", "p", "says"), [(1, 1.0, "Fewer than 6 questions"), (6, 0.03125, "new.json is better: ")]
)
def test_two_versions_are_compared_question_by_question(count: int, p: float, says: str):
    Path("new.json").write_text(json.dumps({"tools": NEW}))
    ask(*({"question": f"throw list {number} away", "tool": "drop_note"} for number in range(count)))
    done = evaluated(ScriptedModel(by_description), "--against", "tools.json", "--format", "json", target="new.json")
    found = json.loads(done.stdout)["comparison"]
    assert (len(found["better"]), found["worse"], found["same"], found["p"]) == (count, [], 0, p)
    assert found["meaning"][0].startswith(says)


def test_a_share_that_is_too_small_fails():
    wrong = {**RIGHT, "good": Says(calls=[Call("read_note", {})])}
    with serving(ScriptedModel(by_question(**wrong))) as evaluate:
        assert evaluate("--fail-under", "66").exit_code == 0
        assert evaluate("--fail-under", "67").exit_code == 1


# --- reports ---------------------------------------------------------------------------------------------------------


def test_a_page_quotes_and_needs_nothing_beside_it():
    ask({"question": "<script>alert(1)</script>", "tool": "read_note"})
    done = evaluated(ScriptedModel(Says("<img src=x>")), "--format", "html", "-o", "page.html")
    page = Path("page.html").read_text()
    assert (done.exit_code, done.stdout) == (0, "")
    assert "&lt;script&gt;" in page
    assert "&lt;img" in page
    assert not any(mark in page for mark in ("<script", "<img", "http://", "https://"))


def test_the_text_of_a_model_reaches_the_terminal_only_escaped():
    ask({"question": "good morning", "tool": "read_note"})
    odd = "\x1b[2J\u202eolleh\u2028"
    with serving(ScriptedModel(Says(odd))) as evaluate:
        assert json.loads(evaluate("--format", "json").stdout)["evaluations"][0]["graded"][0]["text"] == odd
        for form in ("text", "json", "html"):
            assert not {*odd[:1], *"\u202e\u2028"} & {*evaluate("--format", form).stdout}


def test_a_report_is_said_in_chinese_too():
    with ScriptedModel(by_question(**RIGHT)).serving() as url:
        said = ["--lang", "zh", "eval", "tools.json", "--model", "gpt", "--base-url", url, "--questions", "asked.jsonl"]
        done = CliRunner().invoke(cli, said)
    assert "  工具正确：3 个中 3 个：100.0%（95%：43.9% 至 100.0%）" in done.stdout


# --- refused input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        '{"tool": "read_note"}',
        '{"question": " ", "tool": "read_note"}',
        '{"question": "a"}',
        '{"question": "a", "tool": 1}',
        '{"question": "a", "tool": "read_note", "steps": []}',
        '{"question": "a", "steps": []}',
        '{"question": "a", "steps": [1]}',
        '{"question": "a", "steps": [{"tool": null}]}',
        '{"question": "a", "tool": "read_note", "arguments": []}',
        '{"question": "a", "tool": "read_note", "argument": {}}',
        '{"question": "a", "tool": "read_note", "answer": 1}',
    ],
)
def test_a_line_that_is_no_question_is_named(line: str):
    Path("asked.jsonl").write_text(line)
    done = evaluated(ScriptedModel())
    assert done.exit_code == 2
    assert "[TT9881]" in done.stderr
    assert "asked.jsonl" in done.stderr


def test_a_tool_that_is_not_there_is_named_before_anything_is_asked():
    ask({"question": "a", "tool": "read_notes"})
    script = ScriptedModel()
    done = evaluated(script)
    assert (done.exit_code, script.requests) == (2, [])
    assert "[TT9882]" in done.stderr
    assert "read_note" in done.stderr


# --- with tools that run ---------------------------------------------------------------------------------------------

SHOP = """\
from tooltrue import Server

server = Server("shop")


@server.tool(effect="read")
def price(tea: str) -> int:
    \"\"\"What some tea costs.\"\"\"
    return 3


@server.tool(effect="destructive")
def close_shop() -> str:
    \"\"\"Close it for good.\"\"\"
    raise RuntimeError("closed")
"""


@pytest.fixture(name="shop")
def _shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("shop.py").write_text(SHOP)
    return "shop.py"


def told_last(script: ScriptedModel) -> str:
    return next(one["content"] for one in reversed(script.requests[-1].body["messages"]) if one["role"] == "tool")


def test_tools_run_where_that_is_asked_for(shop: str):
    ask({"question": "what is green tea?", "tool": "price", "arguments": {"tea": "green"}, "answer": "3 euros"})
    script = ScriptedModel(Says(calls=[Call("shop_price", {"tea": "green"})]), Says("It is 3 Euros."))
    with serving(script, shop) as evaluate:
        done = evaluate("--run", "--format", "json")
        assert (done.stderr, done.exception) == ("shop.py: 1/1\n", None)
        found = json.loads(done.stdout)["evaluations"][0]
        assert (found["right"]["right"], found["tokens"]["input"]) == (1, 20)
        assert "3" in told_last(script)
        assert evaluate("--run").exit_code == 0
        assert len(script.requests) == 2  # it is known


def test_a_call_that_needs_approval_does_not_run_in_an_evaluation(shop: str):
    ask({"question": "close down", "tool": "close_shop"})
    script = ScriptedModel(Says(calls=[Call("shop_close_shop", {})]), Says("I may not."))
    done = evaluated(script, "--run", "--format", "json", target=shop)
    assert json.loads(done.stdout)["evaluations"][0]["tool"]["right"] == 1
    assert "[TT" in told_last(script)
