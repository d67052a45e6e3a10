"""The console in Chromium: decisions from two browsers, hostile texts, and requests that no page of it sends.

``make browser-tests`` runs this file in an environment with Playwright; the program is $CHROMIUM or ``chromium``.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright

from browser.payloads import PAYLOADS
from support.serving import command
from tooltrue.client.config import ServerConfig
from tooltrue.contract.contract import Contract
from tooltrue.contract.neighbours import NOBODY
from tooltrue.host.pins import Pin, Pins
from tooltrue.policy.consent.approvals import ApprovalRequest, Approvals, Ticket
from tooltrue.state.log import timestamp
from tooltrue.state.places import sqlite_url
from tooltrue.state.urls import open_facts, open_log
from tooltrue_console.sessions import Sessions

T = TypeVar("T")

expect.set_options(timeout=20_000)  # a browser and its console for each CPU: a page may come later

AXE = Path(os.environ.get("AXE", ".browser/node_modules/axe-core/axe.min.js"))
PAGES = (
    "/now",
    "/approvals",
    "/calls",
    "/contracts",
    "/try",
    "/try/cellar/store",
    "/rules?tool=burn",
    "/log",
    "/doctor?since=",
    "/nowhere",
)
THEMES = ("light", "dark")
SITE_NAME = "console.example"
"""A name for this machine that the browser takes for that of another one."""
BOX: dict[str, Any] = {"name": "find_box", "description": "Find a box.", "inputSchema": {"type": "object"}}


CELLAR = '''
import asyncio
import base64
import struct
import zlib
from typing import Literal

from tooltrue import Context, Form, Server
from tooltrue.protocol.types import CallToolResult, ImageContent

server = Server("cellar", audit=False)


def png() -> bytes:
    """A picture of four pixels."""
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\\0" + b"\\xff\\0\\0" * 2) * 2)
    return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@server.tool(effect="read")
async def store(name: str, tags: list[str], kind: Literal["box", "hat"] = "box", count: int | None = None,
                context: Context = None) -> list[dict[str, str]]:
    """Store a thing."""
    context.progress(1, 2, "half of it")
    await asyncio.sleep(0.5)
    return [{"name": name, "tag": tag, "kind": kind, "count": str(count)} for tag in tags]


@server.tool(effect="destructive")
def burn(box: str) -> str:
    return f"burnt {box}"


@server.tool(effect="read")
async def rest() -> str:
    await asyncio.sleep(60)
    return "rested"


@server.tool(effect="read")
def draw() -> CallToolResult:
    data = base64.b64encode(png()).decode()
    svg = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hit=1'/>").decode()
    images = [ImageContent(data=data, mimeType="image/png"), ImageContent(data=svg, mimeType="image/svg+xml")]
    return CallToolResult(images)


@server.tool(effect="read")
def echo(text: str, context: Context) -> list[dict[str, str]]:
    context.progress(1, 2, text)
    return [{text: text}]
'''
"""A server whose tools are tried."""


RULES = """
[[rules]]
name = "ask-before-burning"
tools = "burn*"
then = "ask"

[[rules]]
name = "the rest"
tools = "*"
then = "allow"
"""


class Console:
    """A console of its own: a process over stores in a folder, with further ``options`` and settings in its
    ``environment``."""

    def __init__(self, folder: Path, *options: str, rules: str = RULES, **environment: str) -> None:
        self.folder = folder
        self.options = options
        self.rules_text = rules
        self.environment = environment
        self.store = sqlite_url(folder / "approvals.db")
        self.log = sqlite_url(folder / "attic.db")
        self.acts = sqlite_url(folder / "acts.db")
        self.base = ""

    @contextmanager
    def running(self) -> Iterator[Console]:
        self.run(self.write_log)
        cellar = self.folder / "cellar.py"
        cellar.write_text(CELLAR)
        words = [str(cellar), "--store", self.store, "--log", f"attic={self.log}"]
        words += ["--acts", self.acts, "--config", self.rules().name]
        words += self.options or ["--http", "127.0.0.1:0"]
        state = {"XDG_STATE_HOME": str(self.folder / "state"), "LC_ALL": "C.UTF-8"}
        env = {**os.environ, **state, **self.environment}
        settings: dict[str, Any] = {"stderr": subprocess.PIPE, "text": True, "env": env, "cwd": self.folder}
        with subprocess.Popen(command("console", *words), **settings) as process:
            try:
                assert process.stderr is not None
                match = re.search(r"http://\S+/console", process.stderr.readline())
                assert match is not None
                self.base = match[0]
                yield self
            finally:
                process.terminate()

    def run(self, act: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine. Playwright's own loop runs on this thread, so that another one is needed."""
        results: list[T] = []
        thread = threading.Thread(target=lambda: results.append(asyncio.run(act())))
        thread.start()
        thread.join()
        return results[0]

    async def write_log(self) -> None:
        async with open_log(self.log) as log:
            for number, text in enumerate(PAYLOADS):
                record = {"at": timestamp(1_700_000_000 + number), "kind": "call", "subject": text, "who": text}
                log.note({**record, "rule": text, "instance": text, "outcome": text, "arguments": {text: text}})
            await log.head()

    def rules(self) -> Path:
        file = self.folder / "tooltrue.toml"
        file.write_text(self.rules_text, "utf-8")
        return file

    def pin(self, label: str, *contracts: Contract) -> Pin:
        """A server that has published these contracts, one after the other."""
        pins = Pins(self.folder / "state" / "tooltrue" / "pins")
        server = ServerConfig(label, label, url="https://attic.example/mcp")
        for contract in contracts:
            pins.of("servers.json", server).judge(contract, NOBODY)
        return pins.of("servers.json", server)

    def ticket(self, tool: str = "burn", **more: Any) -> Ticket:
        members = {"server": "attic", "principal": "ann", "effect": "destructive", "pin": tool, "arguments": {"box": 1}}

        async def opened() -> Ticket:
            async with open_facts(self.store) as facts:
                return await Approvals(facts).open(ApprovalRequest(**{**members, "tool": tool, **more}))

        return self.run(opened)

    def link(self) -> str:
        async def token() -> str:
            async with open_facts(self.store) as facts:
                return await Sessions(facts).new_link()

        return f"{self.base}/sign-in#{self.run(token)}"


def chromium() -> str:
    """The path of the browser."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "Chromium is needed: apt-get install chromium"
    return program


@pytest.fixture(scope="module", name="browser")
def running_browser() -> Iterator[Browser]:
    # A container has no user namespaces for Chromium's sandbox; the pages are ours.
    with sync_playwright() as playwright:
        resolved = f"--host-resolver-rules=MAP {SITE_NAME} 127.0.0.1"
        launched = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", resolved])
        yield launched
        launched.close()


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    with Console(tmp_path).running() as running:
        yield running


def signed_in(browser: Browser, console: Console, **options: Any) -> Page:
    """A page of a browser of its own, behind the link. A script that runs by mistake fails the test."""
    context: BrowserContext = browser.new_context(**options)
    page = context.new_page()
    page.on("dialog", lambda dialog: pytest.fail(f"a script has run: {dialog.message}"))
    page.goto(console.link())
    page.wait_for_url("**/console/now")
    page.goto(f"{console.base}/approvals")
    return page


def test_a_link_works_once_and_leaves_the_address_bar(browser: Browser, console: Console):
    link = console.link()
    first, second = browser.new_context().new_page(), browser.new_context().new_page()
    first.goto(link)
    first.wait_for_url("**/console/now")
    second.goto(link)
    expect(second.locator("#problem")).to_contain_text("TT9403")
    assert "#" not in second.url


def test_a_new_ticket_appears_and_one_of_two_people_decides(browser: Browser, console: Console):
    ann, bob = signed_in(browser, console), signed_in(browser, console)
    expect(ann.locator("#nothing")).to_be_visible()
    ticket = console.ticket()
    card = f"#ticket-{ticket.id}"
    expect(ann.locator(card)).to_contain_text("burn")
    expect(ann).to_have_title(re.compile(r"^\(1\)"))
    expect(bob.locator(card)).to_be_visible()
    ann.locator(card).get_by_role("button", name="Approve once").click()
    expect(ann.locator(card)).to_contain_text("approve once")
    expect(bob.locator(card)).to_have_attribute("data-gone", "")  # told without a reload
    expect(bob.locator("#count")).to_have_text("0")


NOTIFICATIONS = """
window.notes = [];
window.Notification = class {
    static permission = "default";
    static async requestPermission() { return Notification.permission = "granted"; }
    constructor(text) { window.notes.push(text); }
};
Object.defineProperty(document, "hidden", {get: () => window.away === true});
"""
"""Keeps the notifications, which a browser without a screen shows nowhere."""


def test_a_new_ticket_is_notified_to_a_person_who_has_allowed_it_and_is_elsewhere(browser: Browser, console: Console):
    page = signed_in(browser, console)
    page.add_init_script(NOTIFICATIONS)
    page.reload()
    for is_allowed in (False, True):
        if is_allowed:
            page.get_by_role("button", name="Notify me of new ones").click()
        page.evaluate("window.away = true")
        ticket = console.ticket(f"burn{is_allowed}")
        expect(page.locator(f"#ticket-{ticket.id}")).to_be_attached()
    page.wait_for_function("notes.length === 1")
    assert page.evaluate("notes") == ["A call waits for a decision"]


def test_a_decision_that_comes_too_late_is_told(browser: Browser, console: Console):
    ticket = console.ticket()
    late = signed_in(browser, console)
    late.goto(f"{console.base}/approvals/{ticket.id}")  # a page that is not live

    async def deny() -> None:
        async with open_facts(console.store) as facts:
            await Approvals(facts).deny(ticket)

    console.run(deny)
    late.get_by_role("button", name="Approve once").click()
    expect(late.locator("#problem")).to_contain_text("TT4406")


def test_a_reason_is_typed_by_the_keyboard_alone(browser: Browser, console: Console):
    ticket = console.ticket()
    page = signed_in(browser, console)
    page.get_by_label("Reason, which the model reads").focus()
    page.keyboard.type("letters")
    page.keyboard.press("Enter")
    expect(page.locator(f"#ticket-{ticket.id}")).to_contain_text("deny")


def test_no_hostile_text_runs_and_each_is_seen(browser: Browser, console: Console):
    page = signed_in(browser, console)
    messages: list[str] = []
    page.on("console", lambda message: messages.append(_told(message)))
    for part in range(0, len(PAYLOADS), 10):
        for number, text in enumerate(PAYLOADS[part : part + 10]):
            fields = {"server": text, "principal": f"{text}{part + number}", "reason": text, "preview": text}
            console.ticket(f"{text}{part + number}", **fields, instance=text, stake=f"{text}.", arguments={text: text})
        page.goto(f"{console.base}/approvals")
        cards = page.locator("article[data-ticket]")
        expect(cards).to_have_count(part + 10)
    _nothing_ran(page)
    for path in ("/calls?log=attic", "/log?log=attic"):
        page.goto(f"{console.base}{path}")
        expect(page.locator("tbody tr")).to_have_count(50)
        _nothing_ran(page)
    for number in range(1, len(PAYLOADS) + 1):
        page.goto(f"{console.base}/calls/attic/{number}")
        _nothing_ran(page)
        assert _visible(PAYLOADS[number - 1]) in page.locator("pre").inner_text()
    for text in PAYLOADS:
        filters = dict.fromkeys(("who", "subject", "rule", "since"), text)
        page.goto(f"{console.base}/calls?{urlencode(filters, errors='replace')}")
        _nothing_ran(page)
        page.goto(f"{console.base}/calls?{urlencode({'log': text}, errors='replace')}")
        _nothing_ran(page)
    assert [message for message in messages if "Content Security Policy" in message] == []


def test_hostile_rules_contracts_and_symptoms_run_nothing(browser: Browser, console: Console):
    page = signed_in(browser, console)
    tools = [{**BOX, "name": f"{text}{number}", "description": text} for number, text in enumerate(PAYLOADS)]
    # Poisoned definitions are not pinned, so that all of them wait.
    pin = console.pin("<img src=x onerror=alert(1)>", Contract.of([BOX]), Contract.of([BOX, *tools]))
    for path in ("/contracts", f"/contracts/{pin.file.stem}", "/doctor?log=attic&since="):
        page.goto(f"{console.base}{path}")
        _nothing_ran(page)
    expect(page.locator("h1")).to_have_text("Doctor")
    for text in PAYLOADS:
        fields = dict.fromkeys(("tool", "server", "who", "scopes", "arguments"), text)
        page.goto(f"{console.base}/rules?{urlencode(fields, errors='replace')}")
        _nothing_ran(page)
    page.goto(f"{console.base}/rules")
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#simulated tbody tr")).not_to_have_count(0)
    _nothing_ran(page)
    page.goto(f"{console.base}/calls/attic/1")
    page.get_by_role("link", name="Simulate with today's rules").click()
    expect(page.locator("h1")).to_have_text("Simulate with today's rules")
    _nothing_ran(page)


def test_a_changed_definition_is_refused_and_then_accepted(browser: Browser, console: Console):
    pin = console.pin("attic", Contract.of([BOX]), Contract.of([{**BOX, "description": "Find a box, and open it."}]))
    page = signed_in(browser, console)
    page.goto(f"{console.base}/contracts")
    page.get_by_role("link", name="attic").click()
    expect(page.locator(".sides .changed")).to_have_count(1)
    page.get_by_role("button", name="Refuse").click()
    expect(page.locator("h2").first).to_contain_text("A change that was refused")
    page.get_by_role("button", name="Accept all of it").click()
    expect(page.locator(".review")).to_have_count(0)
    expect(page.locator("tbody tr")).to_have_count(2)
    assert pin.review() is None


def test_a_definition_that_changes_while_it_is_read_is_not_accepted(browser: Browser, console: Console):
    changed = Contract.of([{**BOX, "description": "Find a box, and open it."}])
    pin = console.pin("attic", Contract.of([BOX]), changed)
    page = signed_in(browser, console)
    page.goto(f"{console.base}/contracts/{pin.file.stem}")
    console.pin("attic", Contract.of([{**BOX, "description": "Find a box, and burn it."}]))
    page.get_by_role("button", name="Accept all of it").click()
    expect(page.locator("#problem")).to_contain_text("TT9445")
    assert pin.contracts()[0].tools["find_box"] == BOX


def test_the_rule_that_decides_has_an_address_and_a_changed_text_is_replayed(browser: Browser, console: Console):
    page = signed_in(browser, console)
    page.goto(f"{console.base}/rules")
    page.get_by_role("textbox", name="Name or URI", exact=True).fill("burn_box")
    page.keyboard.press("Enter")
    expect(page.locator("main .card")).to_contain_text("a person is asked")
    other = signed_in(browser, console)
    other.goto(page.url)
    expect(other.locator("main .card")).to_contain_text("ask-before-burning")
    page.get_by_label("Text of the file").fill('[[rules]]\nthen = "perhaps"\n')
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#problem")).to_contain_text("TT")
    page.get_by_label("Text of the file").fill('[[rules]]\nthen = "deny"\n')
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#simulated")).to_contain_text("would be decided otherwise")


def _told(message: ConsoleMessage) -> str:
    return message.text


def _nothing_ran(page: Page) -> None:
    assert page.evaluate("window.hit === undefined")
    assert page.locator("main script, main iframe, main img, main object, main [onerror], main [onclick]").count() == 0


def _visible(text: str) -> str:
    """The beginning of a payload that is visible ASCII, as the page has it in JSON."""
    return re.split(r"[^\x21-\x7e]", text)[0].replace("\\", "\\\\").replace('"', '\\"')[:20].rstrip("\\")


@contextmanager
def another_site(body: str) -> Iterator[str]:
    """A page of another origin on this machine."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


def test_another_site_can_neither_send_a_form_nor_frame_a_page(browser: Browser, console: Console):
    ticket = console.ticket()
    page = signed_in(browser, console)
    action = f"{console.base}/approvals/{ticket.id}/allow"
    form = f'<form method="post" action="{action}"><input name="scope" value="once"><button>win</button></form>'
    with another_site(f'{form}<iframe id="frame" src="{console.base}/approvals"></iframe>') as site:
        attacked = page.context.new_page()
        attacked.goto(site)
        frame = attacked.frames[1]
        assert "Approvals" not in frame.content()
        with attacked.expect_response(action) as answer:
            attacked.get_by_role("button", name="win").click()
        assert answer.value.status == 403
    page.reload()
    expect(page.locator(f"#ticket-{ticket.id}")).to_contain_text("Approve once")


def test_a_form_without_its_token_is_refused(browser: Browser, console: Console):
    ticket = console.ticket()
    page = signed_in(browser, console)
    page.locator("input[name=form_token]").evaluate_all("fields => fields.forEach(field => field.remove())")
    page.locator(f"#ticket-{ticket.id}").get_by_role("button", name="Approve once").click()
    expect(page.locator("#problem")).to_contain_text("TT9405")


def test_a_search_goes_from_page_to_page_and_new_records_appear(browser: Browser, console: Console):
    page = signed_in(browser, console)
    page.goto(f"{console.base}/calls?log=attic&subject=quiet_tool")

    async def write() -> None:
        async with open_log(console.log) as log:
            await log.append({"at": timestamp(1_800_000_000), "kind": "call", "subject": "quiet_tool", "outcome": "ok"})

    console.run(write)
    expect(page.locator("tbody tr")).to_have_count(1)


def test_the_last_hour_renews_itself(browser: Browser, console: Console):
    page = signed_in(browser, console)
    page.goto(f"{console.base}/now")
    charts = page.locator("svg.chart")
    expect(charts).to_have_count(4)
    before = charts.first.locator("path").get_attribute("d")

    async def write() -> None:
        async with open_log(console.log) as log:
            moment = {"at": timestamp(time.time()), "kind": "call", "who": "ann", "instance": "new_server", "ms": 3}
            await log.append(
                {**moment, "subject": "find", "outcome": "refused", "paused": 60, "rule": "abuse: unknown"}
            )

    console.run(write)
    expect(page.locator("#now")).to_contain_text("new_server", timeout=20_000)
    expect(page.locator("#now")).to_contain_text("ann")
    assert charts.first.locator("path").get_attribute("d") != before
    _nothing_ran(page)


def test_a_tool_is_tried_with_errors_beside_the_fields(browser: Browser, console: Console):
    page = signed_in(browser, console)
    page.goto(f"{console.base}/try")
    page.get_by_role("link", name="store").click()
    page.get_by_role("button", name="Add an item").click()
    page.get_by_role("button", name="Add an item").click()
    expect(page.locator('[name="v/tags/1"]')).to_be_visible()
    page.locator('[name="v/name"]').fill("letters")
    page.locator('[name="v/tags/0"]').fill("old")
    page.locator('[name="v/tags/1"]').fill("red")
    page.locator('[name="u/count"]').select_option("0")
    page.locator('[name="v/count|0"]').fill("many")
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".wrong")).to_contain_text("integer")
    expect(page.locator('[name="v/count|0"]')).to_be_focused()
    page.locator('[name="v/count|0"]').fill("3")
    page.keyboard.press("Enter")
    expect(page.locator("#progress")).to_contain_text("half of it")
    expect(page.locator("#outcome tbody tr")).to_have_count(2)
    expect(page.locator("#outcome")).to_contain_text("letters")
    expect(page.locator("#progress")).to_be_empty()
    page.get_by_role("link", name="Address of this call").click()
    expect(page.locator('[name="v/tags/1"]')).to_have_value("red")


def test_a_question_is_answered_and_a_call_is_stopped(browser: Browser, console: Console):
    page = signed_in(browser, console)
    page.goto(f"{console.base}/try/cellar/burn")
    page.locator('[name="v/box"]').fill("old")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Answer").click()
    expect(page.locator("#outcome")).to_contain_text("burnt old")
    page.goto(f"{console.base}/try/cellar/rest")
    page.get_by_role("button", name="Run").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()


def test_a_picture_is_shown_and_svg_is_not(browser: Browser, console: Console):
    page = signed_in(browser, console)
    page.goto(f"{console.base}/try/cellar/draw")
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#outcome img")).to_have_count(1)
    page.wait_for_function("document.querySelector('#outcome img').naturalWidth === 2")
    assert page.evaluate("window.hit === undefined")


def test_hostile_results_are_seen_and_do_not_run(browser: Browser, console: Console):
    page = signed_in(browser, console)
    for text in PAYLOADS[::3]:
        page.goto(f"{console.base}/try/cellar/echo?{urlencode({'arguments': json.dumps({'text': text})})}")
        page.get_by_role("button", name="Run").click()
        expect(page.locator("#outcome section")).to_be_visible()
        _nothing_ran(page)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("language", ["en", "zh-CN"])
def test_the_accessibility_engine_finds_nothing_serious(browser: Browser, console: Console, theme: str, language: str):
    console.ticket(preview="burns 3 boxes", reason="a rule")
    pin = console.pin("attic", Contract.of([BOX]), Contract.of([{**BOX, "description": "Find a box, and open it."}]))
    for width in (1100, 360):
        page = signed_in(
            browser,
            console,
            color_scheme=theme,
            locale=language,
            viewport={"width": width, "height": 800},
            bypass_csp=True,
        )
        for path in (*PAGES, "/calls/attic/1", "/calls/attic/1/rules", f"/contracts/{pin.file.stem}"):
            page.goto(f"{console.base}{path}")
            page.add_script_tag(path=AXE)
            result = page.evaluate("axe.run()")
            serious = [
                (one["id"], [node["html"] for node in one["nodes"]][:3])
                for one in result["violations"]
                if one["impact"] in ("serious", "critical")
            ]
            assert (path, serious) == (path, [])
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, width)
