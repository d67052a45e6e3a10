"""A picture of every page of the console, with state that looks like that of a server in use: ``make screenshots``."""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from browser.journeys import Console, chromium
from tooltrue.contract.contract import Contract
from tooltrue.state.log import timestamp
from tooltrue.state.urls import open_log

PAGES = {
    "now": "/now",
    "approvals": "/approvals",
    "calls": "/calls?log=attic",
    "call": "/calls/attic/40",
    "contracts": "/contracts",
    "contract": "/contracts/{pin}",
    "try": "/try/cellar/store",
    "rules": "/rules?tool=burn_box&effect=destructive&who=key:agent",
    "log": "/log?log=attic",
    "doctor": "/doctor?log=attic",
}
CUT = {"calls", "log", "rules"}
"""Pages of which the first screen says enough."""


def _tool(name: str, description: str, **properties: str) -> dict[str, Any]:
    members = {key: {"type": "string", "description": text} for key, text in properties.items()}
    schema = {"type": "object", "properties": members, "required": sorted(members)}
    return {"name": name, "description": description, "inputSchema": schema}


FORMER = _tool("find_boxes", "Find boxes in the attic.", word="A word of the label.")
FOUND = _tool("find_boxes", "Find the boxes in the attic whose label has a word.", word="A word of the label.")
ACCEPTED = Contract({"find_boxes": FOUND})
PUBLISHED = Contract(
    {
        "find_boxes": _tool(
            "find_boxes",
            "Find the boxes in the attic and the cellar whose label has a word.",
            word="A word of the label.",
            house="The house to search.",
        )
    }
)


class Furnished(Console):
    """A console over an example."""

    async def write_log(self) -> None:
        chance = random.Random(1)
        async with open_log(self.log) as log:
            for number in range(40):
                tool, effect = chance.choice(
                    (("find_boxes", "read"), ("label_box", "write"), ("burn_box", "destructive"))
                )
                is_refused = effect == "destructive" and number % 2 == 0
                outcome = (
                    {"outcome": "refused", "code": "TT2404", "rule": "ask-before-burning"}
                    if is_refused
                    else {"outcome": "ok"}
                )
                record = {
                    "at": timestamp(time.time() - 3_500 + 87 * number),
                    "kind": "call",
                    "subject": tool,
                    "effect": effect,
                }
                more = {
                    "who": chance.choice(("key:agent", "local")),
                    "instance": "attic",
                    "ms": chance.randrange(2, 90) / 2,
                }
                log.note({**record, **more, **outcome, "arguments": {"box": f"letters of {1900 + number}"}})
            await log.head()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, Furnished(Path(temporary)).running() as console:
        preview = "Would burn 3 boxes:\n- letters of 1931\n- photographs\n- a hat"
        arguments = {"box": "letters of 1931", "also": ["photographs", "a hat"]}
        console.ticket(
            "burn_box", principal="key:agent", reason="Rule ask-before-burning", preview=preview, arguments=arguments
        )
        pin = console.pin("attic", Contract({"find_boxes": FORMER}), ACCEPTED)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            page = browser.new_context(viewport={"width": 1100, "height": 700}, locale="en").new_page()
            page.goto(console.link())
            page.wait_for_url("**/console/now")
            page.goto(f"{console.base}/contracts/{pin.file.stem}")
            page.get_by_role("button", name="Accept all of it").click()
            page.locator("tbody details").wait_for()
            console.pin("attic", PUBLISHED)
            for name, path in PAGES.items():
                page.goto(f"{console.base}{path.format(pin=pin.file.stem)}")
                page.locator("tbody details").evaluate_all("all => all.forEach(one => one.open = true)")
                page.screenshot(path=folder / f"{name}.png", full_page=name not in CUT)
            browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
