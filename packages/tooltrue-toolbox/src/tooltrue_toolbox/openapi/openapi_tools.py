"""Tools made of the operations of an API."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, overload

from tooltrue.errors import ConfigurationError, TooltrueError, fact_of
from tooltrue.jsonrpc.messages import Json, encode
from tooltrue.protocol.schema import sound_schema
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.search.token_estimate import estimated
from tooltrue.tools.settings import ToolSettings
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.transport import fetch
from tooltrue.transport.fetch import AppFetcher, Fetcher, Resolve
from tooltrue.transport.kept_connections import KeptConnections
from tooltrue.wording import LABEL_NONE, Worded, coded_sentence
from tooltrue_toolbox.openapi.api_client import ApiClient
from tooltrue_toolbox.openapi.credentials import ApiCredentials, SchemeSecret, secrets_from
from tooltrue_toolbox.openapi.description_source import description_at
from tooltrue_toolbox.openapi.document import UnusablePart
from tooltrue_toolbox.openapi.file_references import FileReferences
from tooltrue_toolbox.openapi.operation import Responses
from tooltrue_toolbox.openapi.operation_call import OperationCall
from tooltrue_toolbox.openapi.operation_choice import (
    AnyForm,
    ChoiceCall,
    ChoiceForm,
    Form,
    choice_schema,
    operations_of,
    part_of,
    tool_schema,
)
from tooltrue_toolbox.openapi.operations import DescribedApi, OmittedOperation, read_api
from tooltrue_toolbox.openapi.plan import planned_forms
from tooltrue_toolbox.openapi.response_check import AnswerCheck, published_schema, responses_of
from tooltrue_toolbox.openapi.response_shape import ResponseShapes
from tooltrue_toolbox.openapi.selection import selected
from tooltrue_toolbox.openapi.server_address import address_of
from tooltrue_toolbox.openapi.tool_definition import (
    ToolForm,
    argument_names,
    described,
    effect_of,
    input_schema,
    page_argument,
    tool_name,
)
from tooltrue_toolbox.openapi.wording import (
    API_URL_REQUIRED,
    API_URL_WITH_QUERY,
    MORE_LEFT_OUT,
    NO_OPERATION_LEFT,
    OPERATION_LEFT_OUT,
    REASON_SCHEMA_REFUSED,
)
from tooltrue_toolbox.service_client import ServicePatience, check_urls

__all__ = [
    "ApiSettings",
    "FileReferences",
    "address_of",
    "forms_of",
    "load_api",
    "responses_of",
    "secrets_from",
    "toolset",
    "within_budget",
]

_log = logging.getLogger("tooltrue")

_REPORTED: Final = 20
"""The operations that are left out whose reasons are logged one by one; a plan has all of them."""
_SECONDS: Final = 30.0
_MAX_BYTES: Final = 8 << 20
_REPEATABLE: Final = frozenset(("GET", "HEAD", "PUT", "DELETE", "QUERY"))


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """The settings of the operator. ``url``: the address of the API, which no description and no argument changes.
    ``secrets``: by the name of the security scheme. ``responses``: what happens to an answer that differs from the
    description. ``seconds`` and ``max_bytes``: the limits of one answer. ``files``: reads files for arguments.
    ``app``: an ASGI application of this process, which receives the requests in place of the address."""

    url: str
    secrets: Mapping[str, SchemeSecret] = field(default_factory=dict[str, SchemeSecret], repr=False)
    responses: Responses = "log"
    seconds: float = _SECONDS
    max_bytes: int = _MAX_BYTES
    patience: ServicePatience = field(default_factory=ServicePatience)
    files: FileReferences = field(default_factory=FileReferences)
    resolve: Resolve = fetch.resolve
    app: Any = None


def load_api(place: str | Path) -> DescribedApi:
    """The API of a description, by its file or its address. ``ConfigurationError`` for one that cannot be read."""
    return read_api(description_at(str(place)))


@overload
def forms_of(api: DescribedApi, patterns: Sequence[str] = (), plan: None = None) -> list[ToolForm]: ...


@overload
def forms_of(api: DescribedApi, patterns: Sequence[str] = (), plan: Path | None = None) -> Sequence[Form]: ...


def forms_of(api: DescribedApi, patterns: Sequence[str] = (), plan: Path | None = None) -> Sequence[Form]:
    """How the selected operations become tools: by the file ``plan``, or else by what the description says."""
    if plan is not None:
        planned = planned_forms(api, plan)
        operations = [one.operation for form in planned for one in operations_of(form)]
        keys = {operation.key for operation in selected(operations, patterns)}
        return [part for form in planned if (part := part_of(form, keys)) is not None]
    forms = dict[str, ToolForm]()
    for operation in selected(api.operations, patterns):
        effect = effect_of(operation)
        title, description = described(operation, effect)
        name = tool_name(operation, forms)
        forms[name] = ToolForm(operation, name, title, description, effect)
    return list(forms.values())


def within_budget(
    api: DescribedApi, forms: Sequence[AnyForm], budget: int
) -> tuple[Sequence[AnyForm], Sequence[AnyForm]]:
    """The tools whose definitions fit into ``budget`` tokens together, by an estimate, and the others. The first ones
    of the description are taken; one that is too large is passed over."""
    chosen, beyond, remaining = list[AnyForm](), list[AnyForm](), budget
    shapes = ResponseShapes(api.description)
    for form in forms:
        tokens = _tokens(api, form, shapes)
        (chosen if tokens <= remaining else beyond).append(form)
        remaining -= tokens if tokens <= remaining else 0
    return chosen, beyond


def _tokens(api: DescribedApi, form: Form, shapes: ResponseShapes) -> int:
    try:
        schema = tool_schema(api.description, form, patterns=True)
        output = None if isinstance(form, ChoiceForm) else published_schema(shapes, form, "log")
    except UnusablePart:  # it is left out when it is served, with the reason
        return 0
    return estimated(encode([form.name, form.title, form.description, schema, output]).decode())


def toolset(api: DescribedApi, forms: Sequence[Form], settings: ApiSettings) -> LocalToolset:
    """The tools of an API. An operation whose schema is refused is left out, and the log says why.

    ``ConfigurationError`` for an invalid address, and if no tool is left.
    """
    _check_url(api, settings.url)

    kept = KeptConnections()

    def fetcher_with(tls: ssl.SSLContext | None, keeps: bool) -> Fetcher:
        if settings.app is not None:
            return AppFetcher(settings.app, seconds=settings.seconds, max_bytes=settings.max_bytes)
        return Fetcher(
            (settings.url,),
            resolve=settings.resolve,
            seconds=settings.seconds,
            max_bytes=settings.max_bytes,
            named_tls=tls,
            kept=kept if keeps else None,
        )

    credentials = ApiCredentials(api.schemes, settings.secrets)
    client = ApiClient(fetcher_with, credentials, settings.patience)
    tools, left_out = LocalToolset(), list(api.left_out)
    adder = _ToolAdder(tools, api, client, credentials, settings, _etag_names(forms), ResponseShapes(api.description))
    for form in forms:
        try:
            adder.add(form)
        except UnusablePart as error:
            left_out += [OmittedOperation(one.operation.key, error.problem) for one in operations_of(form)]
    _report(left_out)
    if not tools.names:
        count = len(api.operations) + len(api.left_out)
        raise ConfigurationError.of(NO_OPERATION_LEFT, file=api.description.title, count=count)
    return tools


def _etag_names(forms: Sequence[Form]) -> Mapping[str, str]:
    """The arguments for the header ``If-Match``, by the path of their operations."""
    return {
        form.operation.path: name
        for one in forms
        for form in operations_of(one)
        for name, parameter in argument_names(form.operation)[0].items()
        if parameter.location == "header" and parameter.name.lower() == "if-match" and name not in form.hidden
    }


def _report(left_out: Sequence[OmittedOperation]) -> None:
    for one in left_out[:_REPORTED]:
        facts = {"operation": one.key, "problem": one.problem}
        _log.warning("%s", coded_sentence(OPERATION_LEFT_OUT, "en", facts))
    if (more := len(left_out) - _REPORTED) > 0:
        _log.warning("%s", coded_sentence(MORE_LEFT_OUT, "en", {"count": more}))


def _check_url(api: DescribedApi, url: str) -> None:
    if not url:
        servers = ", ".join(repr(server) for server in api.servers[:3]) or Worded(LABEL_NONE, {})
        raise ConfigurationError.of(API_URL_REQUIRED, servers=servers)
    check_urls(url)
    if "?" in url or "#" in url:
        raise ConfigurationError.of(API_URL_WITH_QUERY, url=url.partition("?")[0])


@dataclass(frozen=True, slots=True)
class _ToolAdder:
    """Adds the tools of one API. ``etag_names``: the arguments for ``If-Match`` by the path of their operations."""

    tools: LocalToolset
    api: DescribedApi
    client: ApiClient
    credentials: ApiCredentials
    settings: ApiSettings
    etag_names: Mapping[str, str]
    shapes: ResponseShapes

    def add(self, form: Form) -> None:
        """Raises ``UnusablePart`` for a schema that is refused."""
        for patterns in (True, False):
            try:
                if isinstance(form, ChoiceForm):
                    self._add_choice(form, patterns=patterns)
                else:
                    self._add_operation(form, patterns=patterns)
                return
            except TooltrueError as error:
                # A pattern may be of a dialect that is not understood, or too costly: the API judges the value itself.
                if not patterns:
                    problem = Worded(error.code, error.facts) if error.code else fact_of(error)
                    raise UnusablePart(REASON_SCHEMA_REFUSED, problem=problem) from None

    def _add_operation(self, form: ToolForm, *, patterns: bool) -> None:
        schema = input_schema(self.api.description, form, patterns=patterns)
        output = published_schema(self.shapes, form, form.responses or self.settings.responses)
        self._add(form, schema, self._call(form, output).run, output)

    def _add_choice(self, form: ChoiceForm, *, patterns: bool) -> None:
        """A tool of several operations has no output schema: its answers differ with the operation."""
        schema, parts = choice_schema(self.api.description, form, patterns=patterns)
        calls = [self._call(replace(one, name=form.name), None) for one in form.operations]
        self._add(form, schema, ChoiceCall(form.argument, parts, calls).run, None)

    def _call(self, form: ToolForm, output: dict[str, Json] | None) -> OperationCall:
        operation, settings = form.operation, self.settings
        return OperationCall(
            form,
            self.client,
            settings.url,
            settings.files,
            AnswerCheck(self.api.description, operation, form.responses or settings.responses),
            page_argument(operation),
            self.etag_names.get(operation.path) if operation.method == "GET" else None,
            None if output is None else sound_schema(output),
        )

    def _add(
        self,
        form: Form,
        schema: Mapping[str, Json],
        run: Callable[[dict[str, Json], RequestContext], Awaitable[object]],
        output: dict[str, Json] | None,
    ) -> None:
        operations = [one.operation for one in operations_of(form)]
        shared: ToolSettings = {
            "title": form.title,
            "description": form.description,
            "effect": form.effect,
            "idempotent": all(operation.method in _REPEATABLE for operation in operations),
            "open_world": True,
            "untrusted": True,
            "sends": True,
            "reads_stored": True,
            "seconds": self.settings.seconds * 2,
        }
        headers = ("authorization",) if any(map(self.credentials.are_of_callers, operations)) else ()
        self.tools.add_raw(form.name, schema, run, output_schema=output, credentials=headers, **shared)
