"""The families of this distribution, as the command finds them: their options, and their tools made from them.

The entry points of the group ``tooltrue.families`` name the objects below. Each family is imported when it is made.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tooltrue.cli.families import Family, FamilyOption
from tooltrue.cli.targets import Spec
from tooltrue.errors import ConfigurationError
from tooltrue.extras import required
from tooltrue.policy.consent.approvals import place_of
from tooltrue.state.places import without_password
from tooltrue.tools.local import LocalToolset
from tooltrue.transport.urls import shown_url
from tooltrue.wording import LABEL_ONE_OR_OTHER, SETTING_INVALID, Worded
from tooltrue_toolbox.cli.openapi_verb import missing as openapi_missing
from tooltrue_toolbox.distribution import DISTRIBUTION
from tooltrue_toolbox.wording import (
    CONFIG_WRITABLE_BY_TOOLS,
    LABEL_EITHER_OR,
    OPTION_REQUIRED,
    TOOLBOX_PACKAGE_MISSING,
)

if TYPE_CHECKING:
    from tooltrue_toolbox.openapi.credentials import SchemeSecret
    from tooltrue_toolbox.rooted_paths import PathRules

__all__ = [
    "CATALOG",
    "COMMAND",
    "FILES",
    "GITHUB",
    "LANGUAGE",
    "MAIL",
    "MATH",
    "OPENAPI",
    "SETTINGS",
    "SQL",
    "TABLES",
    "WEB",
]

# --- options ----------------------------------------------------------------------------------------------------------

_ROOT = FamilyOption(
    "--root",
    "DIR",
    "files, command, tables: a folder that the tools may use; openapi: whose files may be sent. Repeatable.",
    "files、command、tables：工具可以使用的目录；openapi：可以发送其中的文件。可重复。",
    chinese_placeholder="目录",
)
_ACCESS = FamilyOption(
    "--access",
    "HOW",
    "files, sql: read or write; read omits tools that write. Default: write for files, read for sql.",
    "files、sql：read 或 write，即是否提供写入工具。默认：files 为 write，sql 为 read。",
    chinese_placeholder="方式",
)
_COMMANDS = FamilyOption(
    "--commands",
    "FILE",
    "command: the allow-list, such as commands.toml.",
    "command：允许列表，例如 commands.toml。",
)
_ALLOW = FamilyOption(
    "--allow",
    "COMMAND",
    "command: allow it as it is, such as 'git status'. Repeatable.",
    "command：按原样允许此命令，例如 'git status'。可重复。",
    chinese_placeholder="命令",
)
_CONFINEMENT = FamilyOption(
    "--confinement",
    "HOW",
    "command: required, or available, which runs also where programs cannot be confined.",
    "command：required 或 available，后者在无法约束程序的机器上也运行。",
    chinese_placeholder="方式",
)
_STORE = FamilyOption(
    "--store",
    "FILE",
    "settings: the file that stores settings and the log.",
    "settings：保存设置和日志的文件。",
)
_CATALOG = FamilyOption(
    "--catalog",
    "FILE",
    "catalog: the products, one JSON object a line; a sample otherwise.",
    "catalog：产品文件，每行一个 JSON 对象；未指定时使用样例。",
)
_CURRENCY = FamilyOption(
    "--currency",
    "CODE",
    "catalog: the currency of prices, such as EUR.",
    "catalog：价格的货币，例如 EUR。",
    chinese_placeholder="代码",
)
_DATABASE = FamilyOption(
    "--database",
    "URL",
    "sql: sqlite:///FILE, duckdb:///FILE, postgresql://…, mysql://…; or $TOOLTRUE_DATABASE.",
    "sql：sqlite:///FILE、duckdb:///FILE、postgresql://…、mysql://…；或用 $TOOLTRUE_DATABASE。",
)
_TABLE = FamilyOption(
    "--table",
    "PATTERN",
    "sql: only tables whose names match. Repeatable.",
    "sql：仅使用名称匹配的表。可重复。",
    chinese_placeholder="通配符",
)
_HIDE = FamilyOption(
    "--hide",
    "PATTERN",
    "sql: hide this table, or TABLE.COLUMN. Repeatable.",
    "sql：隐藏此表，或 TABLE.COLUMN。可重复。",
    chinese_placeholder="通配符",
)
_ALLOW_FUNCTION = FamilyOption(
    "--allow-function",
    "NAME",
    "sql: a further function for statements. Repeatable.",
    "sql：语句中另行允许的函数。可重复。",
)
_ROLES = FamilyOption(
    "--roles",
    "HOW",
    "sql: any also accepts a role that can reach files of the server, or hidden data.",
    "sql：any 也接受能够访问服务器文件或隐藏数据的角色。",
    chinese_placeholder="方式",
)
_SMTP = FamilyOption(
    "--smtp",
    "URL",
    "mail: the server, smtp://[USER@]HOST[:PORT] or smtps://…",
    "mail：SMTP 服务器，smtp://[USER@]HOST[:PORT] 或 smtps://…",
)
_MAIL_FROM = FamilyOption(
    "--mail-from",
    "ADDRESS",
    "mail: the sender.",
    "mail：发件人。",
)
_MAIL_TO = FamilyOption(
    "--mail-to",
    "ADDRESS",
    "mail: an allowed recipient, or @DOMAIN. Repeatable.",
    "mail：允许的收件人，或 @DOMAIN。可重复。",
)
_INSIDE = FamilyOption(
    "--inside",
    "URL",
    "web: a host and port of a private network that may be fetched from. Repeatable.",
    "web：允许访问的专用网络主机和端口。可重复。",
)
_ROBOTS = FamilyOption(
    "--robots",
    "HOW",
    "web: obey asks robots.txt first; ignore, the default, does not.",
    "web：obey 先查询 robots.txt；ignore（默认）不查询。",
    chinese_placeholder="方式",
)
_PLACES_URL = FamilyOption(
    "--places-url",
    "URL",
    "web: the service that finds places, with the API of Open-Meteo.",
    "web：查询地点的服务，接口同 Open-Meteo。",
)
_WEATHER_URL = FamilyOption(
    "--weather-url",
    "URL",
    "web: the weather service, with the API of Open-Meteo.",
    "web：查询天气的服务，接口同 Open-Meteo。",
)
_REPO = FamilyOption(
    "--repo",
    "OWNER/REPO",
    "github: a repository that may be used; OWNER/* for all of an owner. Repeatable.",
    "github：可以使用的仓库；OWNER/* 表示该所有者的全部仓库。可重复。",
    chinese_placeholder="所有者/仓库",
)
_GITHUB_URL = FamilyOption(
    "--github-url",
    "URL",
    "github: the API, if it is not https://api.github.com.",
    "github：API 的地址，如果不是 https://api.github.com。",
)
_TRANSLATE_URL = FamilyOption(
    "--translate-url",
    "URL",
    "language: the translation service, with the API of LibreTranslate.",
    "language：翻译服务，接口同 LibreTranslate。",
)
_SPEC = FamilyOption(
    "--spec",
    "PLACE",
    "openapi: the file or the address of the description: OpenAPI 3 or Swagger 2.0, as JSON or YAML.",
    "openapi：描述的文件或地址：OpenAPI 3 或 Swagger 2.0，JSON 或 YAML 格式。",
    chinese_placeholder="位置",
)
_API_URL = FamilyOption(
    "--api-url",
    "URL",
    "openapi: the address of the API, to which all requests go.",
    "openapi：API 的地址，所有请求都发往此处。",
)
_API_VARIABLE = FamilyOption(
    "--api-variable",
    "NAME=VALUE",
    "openapi: the value of a variable {NAME} in --api-url. Repeatable.",
    "openapi：--api-url 中变量 {NAME} 的值。可重复。",
    chinese_placeholder="名称=值",
)
_OPERATIONS = FamilyOption(
    "--operations",
    "PATTERN",
    "openapi: only tag:PATTERN, path:PATTERN, method:NAME or id:PATTERN. Repeatable.",
    "openapi：仅使用符合 `tag:…`、`path:…`、`method:…` 或 `id:…` 的操作。可重复。",
    chinese_placeholder="通配符",
)
_API_PLAN = FamilyOption(
    "--api-plan",
    "FILE",
    "openapi: the operations and their tools, as tooltrue openapi plan writes them.",
    "openapi：操作及其工具，由 `tooltrue openapi plan` 写入。",
)
_API_SECRET = FamilyOption(
    "--api-secret",
    "SCHEME=VARIABLE",
    "openapi: the environment variable with the secret of a security scheme. Repeatable.",
    "openapi：存有某个安全方案之密钥的环境变量。可重复。",
    chinese_placeholder="方案=变量",
)
_API_AUTH = FamilyOption(
    "--api-auth",
    "FILE",
    "openapi: the credentials by security scheme: OAuth clients, token exchange, client certificates.",
    "openapi：按安全方案给出凭据的文件：OAuth 客户端、令牌交换、客户端证书。",
)
_API_RESPONSES = FamilyOption(
    "--api-responses",
    "HOW",
    "openapi: strict refuses an answer that differs from the description; log, the default, reports it; off.",
    "openapi：strict 拒绝与描述不符的应答；log（默认）仅记录；off 不检查。",
    chinese_placeholder="方式",
)

# --- tools ------------------------------------------------------------------------------------------------------------


def _files(spec: Spec) -> LocalToolset:
    roots, rules = _folders(spec, "files")
    from tooltrue_toolbox.files import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset(roots, rules=rules, read_only=_is_read_only(spec))


def _tables(spec: Spec) -> LocalToolset:
    roots, rules = _folders(spec, "tables")
    from tooltrue_toolbox.tables import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset(roots, rules=rules)


def _folders(spec: Spec, name: str) -> tuple[list[Path], PathRules]:
    """The folders of a family, and the rules on its paths."""
    if not spec.family["--root"]:
        raise ConfigurationError.of(OPTION_REQUIRED, name=name, option="--root DIR")
    if spec.config is not None:
        _check_out_of_reach(Path(spec.config[0]), spec.family["--root"])
    from tooltrue_toolbox.rooted_paths import PathRules  # noqa: PLC0415 - each family is loaded when it is named

    rules: PathRules = PathRules()
    rules = replace(rules, places=(*rules.places, *spec.protected_files()))
    return [Path(root) for root in spec.family["--root"]], rules


def _check_out_of_reach(config: Path, roots: Sequence[str]) -> None:
    """Check that tools cannot write the file that decides on their permissions."""
    place = config.resolve()
    for root in roots:
        from tooltrue_toolbox import rooted_paths  # noqa: PLC0415 - each family is loaded when it is named

        if place.is_relative_to(Path(root).resolve()) and not rooted_paths.is_protected(place.name):
            raise ConfigurationError.of(CONFIG_WRITABLE_BY_TOOLS, file=str(config), root=root)


def _is_read_only(spec: Spec, otherwise: str = "write") -> bool:
    access = spec.family.one("--access") or otherwise
    if access not in ("read", "write"):
        raise ConfigurationError.of(
            SETTING_INVALID, name="--access", wanted=Worded(LABEL_ONE_OR_OTHER, {"one": "read", "other": "write"})
        )
    return access == "read"


def _command(spec: Spec) -> LocalToolset:
    from tooltrue_toolbox import command  # noqa: PLC0415 - each family is loaded when it is named

    family, allow = command, spec.family["--allow"]
    file = spec.family.one("--commands")
    if not spec.family["--root"]:
        raise ConfigurationError.of(OPTION_REQUIRED, name="command", option="--root DIR")
    if (file is None) == (not allow):
        raise ConfigurationError.of(
            OPTION_REQUIRED,
            name="command",
            option=Worded(LABEL_EITHER_OR, {"one": "--commands FILE", "other": "--allow COMMAND"}),
        )
    allowed = family.read(file) if file is not None else family.simple(allow)
    if (confinement := spec.family.one("--confinement")) is not None:
        allowed = family.confined(allowed, confinement)
    from tooltrue_toolbox.rooted_paths import PathRules  # noqa: PLC0415 - each family is loaded when it is named

    rules = PathRules()
    rules = replace(rules, places=(*rules.places, *spec.protected_files()))
    return family.toolset(allowed, [Path(root) for root in spec.family["--root"]], rules=rules)


def _catalog(spec: Spec) -> LocalToolset:
    file = spec.family.one("--catalog")
    settings = {} if (currency := spec.family.one("--currency")) is None else {"currency": currency}
    from tooltrue_toolbox.catalog import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset(None if file is None else Path(file), **settings)


def _mail(spec: Spec) -> LocalToolset:
    from tooltrue_toolbox import mail as family  # noqa: PLC0415 - each family is loaded when it is named

    url, sender = spec.family.one("--smtp"), spec.family.one("--mail-from")
    if url is None or sender is None:
        option = "--smtp URL" if url is None else "--mail-from ADDRESS"
        raise ConfigurationError.of(OPTION_REQUIRED, name="mail", option=option)
    return family.toolset(family.MailServer.at(url), sender, spec.family["--mail-to"])


def _math(spec: Spec) -> LocalToolset:
    from tooltrue_toolbox.math import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset()


def _settings(spec: Spec) -> LocalToolset:
    file = spec.family.one("--store")
    if file is None:
        raise ConfigurationError.of(OPTION_REQUIRED, name="settings", option="--store FILE")
    from tooltrue_toolbox.settings import toolset  # noqa: PLC0415 - each family is loaded when it is named

    return toolset(Path(file))


def _web(spec: Spec) -> LocalToolset:
    from tooltrue_toolbox import web  # noqa: PLC0415 - each family is loaded when it is named

    family, options = web, spec.family
    robots = options.one("--robots") or "ignore"
    if robots not in ("obey", "ignore"):
        raise ConfigurationError.of(
            SETTING_INVALID, name="--robots", wanted=Worded(LABEL_ONE_OR_OTHER, {"one": "obey", "other": "ignore"})
        )
    services = {"places": options.one("--places-url"), "forecasts": options.one("--weather-url")}
    named = {name: url for name, url in services.items() if url is not None}
    return family.toolset(family.WebSettings(inside=options["--inside"], robots=robots == "obey", **named))


def _github(spec: Spec) -> LocalToolset:
    from tooltrue_toolbox import github  # noqa: PLC0415 - each family is loaded when it is named

    family, url = github, spec.family.one("--github-url")
    named = {} if url is None else {"url": url}
    return family.toolset(family.GitHubSettings(spec.family["--repo"], **named))


def _language(spec: Spec) -> LocalToolset:
    from tooltrue_toolbox import language  # noqa: PLC0415 - each family is loaded when it is named

    family, url = language, spec.family.one("--translate-url")
    return family.toolset(None if url is None else family.LanguageSettings(url))


def _sql(spec: Spec) -> LocalToolset:
    url = spec.family.one("--database") or os.environ.get("TOOLTRUE_DATABASE")
    if not url:
        raise ConfigurationError.of(OPTION_REQUIRED, name="sql", option="--database URL")
    with required("sqlglot", "sql", _sql_missing, DISTRIBUTION):
        from tooltrue_toolbox import sql  # noqa: PLC0415 - its parser comes with an extra
    access = sql.Access(
        writes=not _is_read_only(spec, "read"),
        tables=spec.family["--table"],
        hidden=spec.family["--hide"],
        functions=spec.family["--allow-function"],
        mighty_roles=spec.family.one("--roles") == "any",
    )
    return sql.toolset(url, access)


def _sql_missing(command: str) -> ConfigurationError:
    return ConfigurationError.of(TOOLBOX_PACKAGE_MISSING, family="sql", package="sqlglot", extra="sql", command=command)


def _openapi(spec: Spec) -> LocalToolset:
    options = spec.family
    if (file := options.one("--spec")) is None:
        raise ConfigurationError.of(OPTION_REQUIRED, name="openapi", option="--spec FILE")
    with required("openapi_spec_validator", "openapi", openapi_missing, DISTRIBUTION):
        from tooltrue_toolbox.openapi import openapi_tools as family  # noqa: PLC0415 - its validator comes with an extra
    responses = family.responses_of("--api-responses", options.one("--api-responses") or "log")
    api = family.load_api(file)
    plan = options.one("--api-plan")
    forms = family.forms_of(api, options["--operations"], None if plan is None else Path(plan))
    url = family.address_of(api.description, options.one("--api-url") or "", options["--api-variable"])
    secrets: dict[str, SchemeSecret] = {**family.secrets_from(options["--api-secret"], api.schemes)}
    if (auth_file := options.one("--api-auth")) is not None:
        from tooltrue_toolbox.openapi.auth_file import read_auth  # noqa: PLC0415 - few need it, and it is slow to load

        secrets |= read_auth(Path(auth_file), api.schemes, url)
    files = family.FileReferences(*_folders(spec, "openapi")) if options["--root"] else family.FileReferences()
    return family.toolset(api, forms, family.ApiSettings(url, secrets, responses, files=files))


# --- instances --------------------------------------------------------------------------------------------------------


def _folder_places(spec: Spec) -> Sequence[str]:
    return [place_of(root) for root in spec.family["--root"]]


def _store_place(spec: Spec) -> Sequence[str]:
    return [place_of(store) for store in spec.family["--store"]]


def _store_files(spec: Spec) -> Sequence[str]:
    return [f"{store}{ending}" for store in spec.family["--store"] for ending in ("", "-journal")]


def _api_url(spec: Spec) -> Sequence[str]:
    return [shown_url(url) for url in spec.family["--api-url"]]


def _api_files(spec: Spec) -> Sequence[str]:
    return [*spec.family["--spec"], *spec.family["--api-plan"], *spec.family["--api-auth"]]


def _smtp(spec: Spec) -> Sequence[str]:
    return spec.family["--smtp"]


def _database(spec: Spec) -> Sequence[str]:
    return [without_password(url) for url in spec.family["--database"]]


# --- families ---------------------------------------------------------------------------------------------------------

CATALOG = Family(_catalog, (_CATALOG, _CURRENCY))
COMMAND = Family(_command, (_ROOT, _COMMANDS, _ALLOW, _CONFINEMENT), instance=_folder_places)
FILES = Family(_files, (_ROOT, _ACCESS), instance=_folder_places)
GITHUB = Family(_github, (_REPO, _GITHUB_URL))
LANGUAGE = Family(_language, (_TRANSLATE_URL,))
MAIL = Family(_mail, (_SMTP, _MAIL_FROM, _MAIL_TO), instance=_smtp)
MATH = Family(_math)
OPENAPI = Family(
    _openapi,
    (_SPEC, _API_URL, _API_VARIABLE, _OPERATIONS, _API_PLAN, _API_SECRET, _API_AUTH, _API_RESPONSES, _ROOT),
    instance=_api_url,
    stores=_api_files,
    searches=True,
)
SETTINGS = Family(_settings, (_STORE,), instance=_store_place, stores=_store_files)
SQL = Family(_sql, (_DATABASE, _ACCESS, _TABLE, _HIDE, _ALLOW_FUNCTION, _ROLES), instance=_database)
TABLES = Family(_tables, (_ROOT,), instance=_folder_places)
WEB = Family(_web, (_INSIDE, _ROBOTS, _PLACES_URL, _WEATHER_URL))
