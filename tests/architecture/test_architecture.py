"""The shape of the code, executed: layers, owners of packages, hidden imports, and where a revision may be named."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.sources import FILES, ROOT

# package → the files that may import it; each foreign package has one owner
OWNERS = {
    "pydantic": ("tools/binding/", "tooltrue_toolbox/"),
    "pydantic_core": ("tools/binding/",),
    "typing_extensions": ("tools/", "tooltrue_toolbox/", "client/call_results.py"),
    "msgspec": ("jsonrpc/", "protocol/", "tools/content.py", "tools/views.py", "client/"),
    "jsonschema_rs": ("protocol/schema/validator.py",),
    "docstring_parser": ("tools/docstrings.py",),
    "uvicorn": ("transport/http_runner.py",),
    "starlette": ("server/starlette_routes.py", "tooltrue_console/web.py"),
    "httpx2": (
        "transport/event_streams.py",
        "transport/fetch.py",
        "transport/kept_connections.py",
        "host/models/anthropic_sdk.py",
    ),
    "httptools": ("transport/http_connection.py", "transport/http_protocol.py"),
    "click": ("cli/", "tooltrue_check/cli/", "tooltrue_console/cli/", "tooltrue_toolbox/cli/"),
    "sqlite3": ("state/", "tools/search/index.py", "tooltrue_toolbox/database.py", "tooltrue_toolbox/sql/sqlite.py"),
    "sqlglot": ("tooltrue_toolbox/sql/statement.py",),
    "duckdb": ("tooltrue_toolbox/sql/duck.py", "tooltrue_toolbox/tables/engine.py"),
    "psycopg": ("state/postgres.py", "tooltrue_toolbox/sql/postgresql.py"),
    "pymysql": ("tooltrue_toolbox/sql/mysql.py",),
    "opentelemetry": ("observe/telemetry.py",),
    "psutil": ("_internal/platform/psutil_table.py",),
    "redis": ("state/redis.py", "state/redis_events.py"),
    "hyperscan": ("policy/sanitize/one_pass.py",),
    "orjson": ("jsonrpc/long_strings.py",),
    "uvloop": ("_internal/platform/event_loop.py",),
    "cryptography": ("server/cipher.py",),
    "joserfc": ("server/jwt.py", "client/auth/signing_keys.py"),
    "dbos": ("tasks/dbos_engine.py", "tasks/dbos_inspector.py", "tasks/dbos_checkpoints.py", "tasks/dbos_json.py"),
    "sqlalchemy": (
        "tasks/dbos_engine.py",
        "tasks/dbos_inspector.py",
        "tasks/dbos_checkpoints.py",
        "tasks/dbos_queries.py",
    ),
    "keyring": ("client/auth/keyring_credentials.py",),
    "openai": ("host/models/openai_sdk.py",),
    "aiosmtplib": ("tooltrue_toolbox/mail.py",),
    "anthropic": ("host/models/anthropic_sdk.py",),
    "langchain_core": ("host/adapters/langchain.py",),
    "pydantic_ai": ("host/adapters/pydantic_ai.py",),
    "matplotlib": ("tooltrue_toolbox/tables/charts.py",),
    "openpyxl": ("tooltrue_toolbox/tables/workbook_reader.py",),
    "backports": ("tooltrue_toolbox/tables/zstd.py",),
    "compression": ("tooltrue_toolbox/tables/zstd.py",),
    "pytest": ("testing/plugin.py",),
    "re2": ("tooltrue_toolbox/re2.py",),
    "html_to_markdown": ("tooltrue_toolbox/web/html_reader.py",),
    "selectolax": ("tooltrue_toolbox/web/html_reader.py",),
    "pypdf": ("tooltrue_toolbox/web/pdf_reader.py",),
    "rjieba": ("tooltrue_check/chinese_words.py",),
    "jinja2": ("tooltrue_console/rendering.py",),
    "openapi_spec_validator": ("tooltrue_toolbox/openapi/validation.py",),
    "yaml": ("tooltrue_toolbox/openapi/yaml_reader.py",),
    "protego": ("tooltrue_toolbox/web/robots.py",),
}

OURS = {"tooltrue", "tooltrue_check", "tooltrue_console", "tooltrue_toolbox"}

# files that may import by a computed name: the tables of exports, the loader of verbs and rules, and a user's own files
LAZY = {
    "wording.py",  # the catalogues
    "__init__.py",
    "testing/__init__.py",
    "_internal/computed_imports.py",
    "cli/targets.py",
    "tools/isolated_child.py",
}

# files whose code, not only prose, may name a revision
REVISIONS = {
    "protocol/versions.py",
    "protocol/wording.py",  # a sentence tells clients since when
    "protocol/schema/words.py",  # examples of dates
    "tooltrue_toolbox/github/api.py",  # the version of that API
    "testing/valid_values.py",  # the same
}


@dataclass(frozen=True, slots=True)
class Code:
    """Of a file, all that the tests here look at: it is parsed once, and its tree is not kept."""

    text: str
    packages: frozenset[str]
    hidden_imports: tuple[int, ...]
    revisions: tuple[str, ...]
    """Texts that name a revision and are no docstrings."""
    era_branches: tuple[str, ...]
    prints: tuple[str, ...]
    cached: tuple[str, ...]
    function_sizes: tuple[int, ...]
    docstring: str | None

    @staticmethod
    @functools.cache
    def of(path: Path) -> Code:
        text = path.read_text(encoding="utf-8")
        module = ast.parse(text)
        nodes = tuple(ast.walk(module))
        return Code(
            text,
            frozenset(name.partition(".")[0] for name in imported(nodes)),
            hidden(nodes, text.splitlines()),
            tuple(text for text in code_strings(nodes) if _REVISION.search(text)),
            era_branches(nodes),
            printed(module) if _MAY_PRINT.search(text) else (),
            tuple(cached(nodes)),
            tuple(function_sizes(nodes)),
            ast.get_docstring(module),
        )


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_imports_point_downward_only():
    lint = Path(sysconfig.get_path("scripts")) / "lint-imports"
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout


def failures(holds: Callable[[str, Code], bool]) -> list[str]:
    """The files of which something does not hold."""
    return [name for name, path in FILES.items() if not holds(name, Code.of(path))]


LATER_MODULES = {"annotationlib"}  # of Python 3.14
STANDARD_LIBRARY = sys.stdlib_module_names | LATER_MODULES


def test_a_foreign_package_is_imported_by_its_owner_only():
    def holds(name: str, code: Code) -> bool:
        foreign = code.packages - STANDARD_LIBRARY - OURS | (code.packages & OWNERS.keys())
        return all(package in OWNERS and name.startswith(OWNERS[package]) for package in foreign)

    assert failures(holds) == []


def test_every_owner_owns_something_and_every_dependency_is_owned():
    used = set[str]().union(*(Code.of(path).packages for path in FILES.values()))
    assert OWNERS.keys() - used == set()
    projects = [tomllib.loads(path.read_text())["project"] for path in ROOT.glob("packages/*/pyproject.toml")]
    declared = [line for project in projects for line in project["dependencies"]]
    names = {re.split(r"[<>=~\[; ]", line)[0].replace("-", "_") for line in declared}
    assert names - OWNERS.keys() - OURS == set()


def hidden(nodes: Iterable[ast.AST], lines: Sequence[str]) -> tuple[int, ...]:
    """The imports within functions without a reason on their line. Type checkers and import contracts see them all."""
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = [node for function in functions for node in ast.walk(function)]
    numbers = {node.lineno for node in inner if isinstance(node, ast.Import | ast.ImportFrom)}
    return tuple(sorted(number for number in numbers if not _REASON.search(lines[number - 1])))


_REASON = re.compile(r"  # noqa: PLC0415 - \w+ \w+")


def test_an_import_in_a_function_has_a_reason():
    assert failures(lambda name, code: code.hidden_imports == ()) == []


def test_no_module_is_loaded_by_name():
    def holds(name: str, code: Code) -> bool:
        return name in LAZY or not ("import_module(" in code.text or "__import__" in code.text)

    assert failures(holds) == []


_TRANSPORT_CLASS = re.compile(r"\bisinstance\([^()]*, \(?(?:asyncio\.)?(?:transports\.)?\w*Transport\b")


def test_no_module_asks_for_the_class_of_a_transport_of_the_event_loop():
    """Those of uvloop are no subclasses of asyncio's: the answer differs with the event loop."""
    assert failures(lambda name, code: not _TRANSPORT_CLASS.search(code.text)) == []
    assert _TRANSPORT_CLASS.search("assert isinstance(transport, asyncio.SubprocessTransport)")


_REVISION = re.compile(r"\b(?<!dialect/)20\d\d-\d\d-\d\d\b")  # OpenAPI has dialects by date


def code_strings(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """String constants that are not docstrings."""
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value


def test_only_one_file_knows_the_revisions():
    assert set(failures(lambda name, code: code.revisions == ())) == REVISIONS


def era_branches(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    tests = [node.test for node in nodes if isinstance(node, ast.If | ast.IfExp | ast.While)]
    return tuple(text for text in map(ast.unparse, tests) if re.search(r"\b(is_)?(modern|legacy)\b(?!\.)", text))


# The protocol revision of a message is decided where the message arrives; code further in has only a flag of an HTTP
# answer. Transcripts have a section for each revision.
BRANCHES = {"protocol/versions.py": 1, "server/http.py": 1, "testing/transcripts.py": 100}


def test_no_file_asks_twice_which_era_it_is():
    def holds(name: str, code: Code) -> bool:
        branches = [text for text in code.era_branches if "versions.MODERN" not in text]
        return len(branches) <= BRANCHES.get(name, 0)

    assert failures(holds) == []


def test_every_module_has_a_docstring():
    assert failures(lambda name, code: bool(code.docstring or not code.text)) == []


def function_sizes(nodes: Iterable[ast.AST]) -> Iterator[int]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            yield (body[-1].end_lineno or 0) - body[0].lineno + 1


def test_function_sizes_for_information(record_property: Callable[[str, object], None]):
    sizes = sorted(size for path in FILES.values() for size in Code.of(path).function_sizes)
    record_property("functions", len(sizes))
    record_property("median", sizes[len(sizes) // 2])
    record_property("nine in ten", sizes[len(sizes) * 9 // 10])
    record_property("longest", sizes[-1])


# --- the terminal -----------------------------------------------------------------------------------------------------

_PRINTS = re.compile(
    r"\bclick\.(?:echo|secho|style|confirm|prompt|pause|progressbar|clear|echo_via_pager|getchar)\b"
    r"|\bprint\(|\bsys\.(?:__)?std(?:out|err)(?:__)?\.(?:buffer\.)?write"
)
_MAY_PRINT = re.compile(r"\bclick\b|\bprint\b|_*std(?:out|err)")
_TERMINAL = {"protocol/terminal.py", "cli/printing.py", "host/prompters.py"}
"""The owners: what they print has been through `protocol/terminal.py`."""
_NO_TERMINAL = {"testing/hostile/__main__.py", "tooltrue_toolbox/web/child.py"}  # a pipe, and a list of our own names


def printed(module: ast.Module) -> tuple[str, ...]:
    """The calls that print."""
    code = ast.unparse(module)  # without comments
    code = re.sub(r"""'''.*?'''|\"\"\".*?\"\"\"|'[^'\n]*'|"[^"\n]*\"""", "", code)
    return tuple(found[0] for found in _PRINTS.finditer(code))


def test_only_the_owners_of_the_terminal_print():
    assert failures(lambda name, code: name in _TERMINAL | _NO_TERMINAL or code.prints == ()) == []


# functions with parameters that cache their results without expiry → the bound on the number of their keys
CACHED = {
    "caching.py:function": "this is the bound",
    "cli/plugins.py:_plugins": "our own groups",
    "contract/patterns.py:_lexicon": "our own languages",
    "contract/patterns.py:_read": "our own files",
    "contract/patterns.py:_needed": "our own lexicon",
    "contract/patterns.py:_group": "our own lexicon",
    "contract/patterns.py:_compiled": "our own lexicon",
    "contract/profile.py:profile": "only names of our own profiles have a result",
    "policy/sanitize/multiline_secrets.py:_bare": "our own shapes of secrets",
    "policy/sanitize/multiline_secrets.py:_compiled": "our own patterns",
    "policy/sanitize/multiline_secrets.py:_removed_beside": "one of three ends of a line",
    "policy/sanitize/one_pass.py:_scanner": "our own patterns",
    "policy/sanitize/personal_data.py:_compiled": "our own patterns",
    "policy/sanitize/secrets.py:_compiled": "our own patterns",
    "policy/sanitize/secrets.py:_patterns": "our own shapes of secrets",
    "protocol/characters.py:_bounded": "our own kinds of characters",
    "state/log.py:_second": "a number",
    "state/log_thread.py:take": "no key",
    "observe/telemetry.py:_telemetry": "the providers of this process",
    "tooltrue_toolbox/rooted_paths.py:_matches_secrets": "_is_secret passes long names by",
    "tooltrue_toolbox/rooted_paths.py:_table": "settings of the operator",
    "tooltrue_toolbox/tables/notation.py:_compiled": "made of a sign and a currency",
    "tooltrue_toolbox/tables/notation.py:_pattern": "a sign and a currency",
    "tools/binding/arguments.py:by_adapter": "no key",
    "tooltrue_console/activity.py:_minutes_to": "a number",
    "tools/binding/bind.py:_method_takes_context": "functions of the author",
    "tools/binding/forms.py:_of_type": "types of the author",
}


def cached(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The functions with parameters of which ``functools`` keeps results, as a decorator or called."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and ast.unparse(node.args):
            yield from (node.name for each in node.decorator_list if _CACHE.match(ast.unparse(each)))
        elif isinstance(node, ast.Call) and node.args and _CACHE.match(ast.unparse(node.func)):
            yield from (ast.unparse(each) for each in node.args if isinstance(each, ast.Name | ast.Attribute))


_CACHE = re.compile(r"(?:functools\.)?(?:lru_)?cache\b")


def test_a_cache_is_bounded_by_the_length_of_its_keys():
    found = {f"{name}:{function}" for name, path in FILES.items() for function in Code.of(path).cached}
    assert found == CACHED.keys()
