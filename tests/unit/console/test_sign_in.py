"""Signing in to the console: one-time links, keys, sessions, and the checks before every page."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.console import House, Visitor, fields_of
from tooltrue_console.web import HEADERS

PAGES = ["/approvals"]


def test_a_link_opens_the_console_once(tmp_path: Path):
    async def scenario(house: House) -> tuple[list[int], str]:
        token = await house.link()
        answers = []
        for _ in range(2):
            async with house.visitor() as visitor:
                answers.append(await visitor.sign_in(token=token))
        return [answer.status_code for answer in answers], answers[-1].text

    statuses, text = House(tmp_path).visited(scenario)
    assert statuses == [200, 400]
    assert "TT9403" in text


def test_the_cookie_of_a_session_is_read_by_no_script_and_sent_by_no_other_site(tmp_path: Path):
    async def scenario(house: House) -> str:
        async with house.visitor() as visitor:
            return (await visitor.sign_in(token=await house.link())).headers["set-cookie"]

    cookie = House(tmp_path).visited(scenario)
    assert cookie.startswith("tooltrue-session-8765=")
    assert {"httponly", "samesite=strict", "path=/console"} <= set(cookie.lower().split("; "))


def test_the_link_is_one_sent_to_no_server(tmp_path: Path):
    """A token in the query opens nothing: it would stand in logs and histories."""

    async def scenario(house: House) -> list[object]:
        token = await house.link()
        async with house.visitor() as visitor:
            page = await visitor.get(f"/sign-in?token={token}")
            later = await visitor.get("/approvals")
            return [page.status_code, later.status_code, later.headers["location"]]

    assert House(tmp_path).visited(scenario) == [200, 303, "/console/sign-in"]


def test_a_key_needs_the_scope_to_read(tmp_path: Path):
    async def scenario(house: House) -> list[int]:
        statuses = []
        for key in (house.keys["reader"], house.keys["caller"], "tt_reader_" + "x" * 43, ""):
            async with house.visitor() as visitor:
                statuses.append((await visitor.sign_in(key=key)).status_code)
        return statuses

    assert House(tmp_path).visited(scenario) == [200, 400, 400, 400]


def test_a_link_is_of_no_use_where_there_are_none(tmp_path: Path):
    async def scenario(house: House) -> int:
        async with house.visitor() as visitor:
            return (await visitor.sign_in(token=await house.link())).status_code

    assert House(tmp_path, by_link=False).visited(scenario) == 400


def test_attempts_to_sign_in_are_limited(tmp_path: Path):
    async def scenario(house: House) -> str:
        async with house.visitor() as visitor:
            answers = [await visitor.sign_in(token="guess") for _ in range(11)]
            return answers[-1].text

    assert "TT9412" in House(tmp_path).visited(scenario)


def test_a_session_ends_when_its_person_signs_out(tmp_path: Path):
    async def scenario(house: House) -> list[int]:
        async with house.visitor("operator") as visitor:
            cookies = dict(visitor.client.cookies)
            fields = fields_of((await visitor.get("/approvals")).text)
            await visitor.post("/sign-out", {"form_token": fields["form_token"]})
            visitor.client.cookies.update(cookies)  # a thief has kept it
            return [(await visitor.get("/approvals")).status_code]

    assert House(tmp_path).visited(scenario) == [303]


async def _refused(visitor: Visitor, **headers: str) -> str:
    fields = fields_of((await visitor.get("/approvals")).text)
    answer = await visitor.post("/sign-out", {"form_token": fields["form_token"]}, **headers)
    assert answer.status_code == 403
    return answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1:8765.evil.example"},
        {"host": "evil.example:8765", "origin": "http://evil.example:8765"},
    ],
)
def test_a_form_of_another_origin_is_refused(tmp_path: Path, headers: dict[str, str]):
    async def scenario(house: House) -> str:
        async with house.visitor("operator") as visitor:
            return await _refused(visitor, **headers)

    assert "TT9404" in House(tmp_path).visited(scenario)


def test_a_request_for_another_name_of_this_machine_is_refused(tmp_path: Path):
    async def scenario(house: House) -> list[int]:
        async with house.visitor("operator") as visitor:
            return [(await visitor.get(path, host="evil.example")).status_code for path in ("/approvals", "/sign-in")]

    assert House(tmp_path).visited(scenario) == [403, 403]


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/language", "/approvals/t-1/allow"])
def test_a_form_without_the_token_of_its_session_is_refused(tmp_path: Path, path: str):
    async def scenario(house: House) -> list[object]:
        async with house.visitor("operator") as visitor, house.visitor("ann") as other:
            theirs = fields_of((await other.get("/approvals")).text)["form_token"]
            answers = [await visitor.post(path, fields) for fields in ({"why": ""}, {"form_token": theirs})]
            return [(answer.status_code, "TT9405" in answer.text) for answer in answers]

    assert House(tmp_path).visited(scenario) == [(403, True)] * 2


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/language", "/approvals/t-1/allow", "/approvals/t-1/deny"])
def test_nothing_is_changed_by_a_get(tmp_path: Path, path: str):
    async def scenario(house: House) -> int:
        async with house.visitor("operator") as visitor:
            return (await visitor.get(path)).status_code

    assert House(tmp_path).visited(scenario) == (200 if path == "/sign-in" else 405)


@pytest.mark.parametrize("path", ["/", "/approvals", "/approvals/t-1", "/nowhere", "/sign-in", "/static/console.css"])
def test_every_answer_has_the_headers_that_protect_it(tmp_path: Path, path: str):
    async def scenario(house: House) -> list[dict[str, str]]:
        async with house.visitor() as stranger, house.visitor("operator") as person:
            return [dict((await visitor.get(path)).headers) for visitor in (stranger, person)]

    for headers in House(tmp_path).visited(scenario):
        expected = {**HEADERS, "cache-control": "no-cache"} if path.startswith("/static") else HEADERS
        assert expected.items() <= headers.items()


def test_the_policy_for_content_permits_no_inline_script_or_style_and_no_frame():
    policy = HEADERS["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert policy.startswith("default-src 'none'")


def test_an_unknown_address_is_answered_in_one_sentence(tmp_path: Path):
    async def scenario(house: House) -> list[str]:
        async with house.visitor("operator") as visitor:
            return [await visitor.text("/nowhere"), await visitor.text("/approvals/t-none")]

    unknown, gone = House(tmp_path).visited(scenario)
    assert "TT9400" in unknown
    assert "TT9409" in gone


def test_the_pages_are_in_chinese_for_who_asks_for_it(tmp_path: Path):
    async def scenario(house: House) -> list[str]:
        async with house.visitor("operator", **{"accept-language": "zh-CN,zh;q=0.9"}) as visitor:
            chinese = await visitor.text("/approvals")
            fields = fields_of((await visitor.get("/approvals")).text)
            await visitor.post("/language", {"form_token": fields["form_token"], "language": "en"})
            return [chinese, await visitor.text("/approvals")]

    chinese, english = House(tmp_path).visited(scenario)
    assert "审批" in chinese
    assert "Approvals" in english
