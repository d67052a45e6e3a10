"""The files that the console brings along: the script of others, and the phrases of the templates."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import tooltrue_console
from tooltrue_console.navigation import SECTIONS
from tooltrue_console.phrases import PHRASES
from tooltrue_console.web import HTMX_SETTINGS

FOLDER = Path(tooltrue_console.__file__).parent
TEMPLATES = {path.name: path.read_text("utf-8") for path in (FOLDER / "templates").glob("*.html")}
HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""SHA-256 of dist/htmx.min.js in htmx.org 2.0.11 of the npm registry."""


def test_htmx_is_the_file_of_its_release_with_its_licence():
    assert hashlib.sha256((FOLDER / "static/htmx.min.js").read_bytes()).hexdigest() == HTMX
    assert "Zero-Clause BSD" in (FOLDER / "static/htmx.LICENSE").read_text("utf-8")


def test_htmx_evaluates_no_text_and_writes_no_style():
    assert '"allowEval": false' in HTMX_SETTINGS
    assert '"includeIndicatorStyles": false' in HTMX_SETTINGS
    assert '"allowScriptTags": false' in HTMX_SETTINGS


def test_every_phrase_of_a_page_is_there_and_none_is_left_over():
    used = {name for text in TEMPLATES.values() for name in re.findall(r"\bt\('(\w+)'", text)}
    code = " ".join(path.read_text("utf-8") for path in FOLDER.rglob("*.py") if path.name != "phrases.py")
    titles = {section.name for section in SECTIONS}
    unused = {name for name in PHRASES if name not in used | titles and f'"{name}"' not in code}
    assert used - PHRASES.keys() == set()
    assert {name for name in unused if not name.startswith(("state_", "verdict_"))} == set()


def test_no_template_marks_a_text_as_safe_or_holds_script_or_style():
    forbidden = re.compile(
        r"\|\s*safe\b|autoescape|<script(?! src=)|<style|\sstyle=|\son\w+=|hx-on|hx-vals=.js:", re.ASCII
    )
    assert {name: match[0] for name, text in TEMPLATES.items() if (match := forbidden.search(text))} == {}


def test_nothing_comes_from_another_site():
    own = [*TEMPLATES.values(), (FOLDER / "static/console.css").read_text("utf-8")]
    own.append((FOLDER / "static/console.js").read_text("utf-8"))
    assert [address for text in own for address in re.findall(r"https?://[^\s\"']+", text)] == []
