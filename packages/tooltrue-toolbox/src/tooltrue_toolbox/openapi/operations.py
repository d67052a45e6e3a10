"""Reads the operations of a description. One that cannot be served is left out, with the reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from tooltrue.jsonrpc.messages import Json, is_array, is_object
from tooltrue.wording import Worded
from tooltrue_toolbox.openapi.document import ApiDescription, Node, UnusablePart
from tooltrue_toolbox.openapi.multipart import FILE_SCHEMA, file_text, form_schema, multipart_schema
from tooltrue_toolbox.openapi.operation import (
    EFFECT_LEVELS,
    ApiOperation,
    Body,
    BodyKind,
    BodyPart,
    Location,
    Parameter,
    Response,
    Scheme,
    Style,
    Writing,
)
from tooltrue_toolbox.openapi.swagger import METHODS
from tooltrue_toolbox.openapi.wording import (
    REASON_BODY_MEDIA_TYPE,
    REASON_BODY_STREAM,
    REASON_DESCRIPTION_NOT_OBJECT,
    REASON_EFFECT_UNKNOWN,
    REASON_HEADER_OF_TRANSPORT,
    REASON_INTERNAL,
    REASON_METHOD_NOT_SERVED,
    REASON_PARAMETER_NAME,
    REASON_PATH_PARAMETERS,
    REASON_SERVER_OF_ITS_OWN,
    REASON_STYLE_NOT_SERVED,
    REASON_WHOLE_QUERY,
)

__all__ = ["DescribedApi", "OmittedOperation", "read_api"]

_SERVED: Final = frozenset(("get", "head", "post", "put", "patch", "delete", "query"))
_LOCATIONS: Final = ("path", "query", "header", "cookie")
_EFFECT: Final = "x-tooltrue-effect"
_TEMPLATE: Final = re.compile(r"\{([^{}]*)\}")
_IGNORED_HEADERS: Final = frozenset(("accept", "content-type", "authorization"))
"""Those that OpenAPI describes elsewhere: parameters of these names are ignored."""
_TRANSPORT_HEADERS: Final = frozenset(
    (
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "cookie",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_STYLES: Final[Mapping[Location, tuple[Style, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
"""The styles of each place, the default first."""
_ANY_NAME: Final = re.compile(r".+", re.DOTALL)
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_NAMES: Final = {"header": _TOKEN, "cookie": _TOKEN}
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class OmittedOperation:
    """An operation that is not served, and why."""

    key: str
    problem: Worded


@dataclass(frozen=True, slots=True)
class DescribedApi:
    """The contents of a description. ``servers`` are the addresses of most operations; none of them is used."""

    description: ApiDescription
    operations: tuple[ApiOperation, ...]
    left_out: tuple[OmittedOperation, ...]
    schemes: Mapping[str, Scheme]
    servers: tuple[str, ...]


def read_api(description: ApiDescription) -> DescribedApi:
    """The operations of a description, in its order."""
    reader = _OperationReader(description)
    operations, left_out = list[ApiOperation](), list[OmittedOperation]()
    for path, method, item, node in reader.nodes():
        key = f"{method.upper()} {path}"
        try:
            operations.append(reader.operation(path, method, item, node))
        except UnusablePart as error:
            left_out.append(OmittedOperation(key, error.problem))
    return DescribedApi(description, tuple(operations), tuple(left_out), reader.schemes, reader.servers)


def _listed(value: Json) -> list[Json]:
    return value if is_array(value) else []


def _objects(value: Json) -> list[dict[str, Any]]:
    return [one for one in _listed(value) if is_object(one)]


def _urls(node: Node) -> tuple[str, ...]:
    """The servers at a place, without a slash at the end."""
    return tuple(_text(server, "url").rstrip("/") for server in _objects(node.get("servers")))


def _members(value: Json) -> Iterable[tuple[str, Json]]:
    return value.items() if is_object(value) else ()


class _OperationReader:
    def __init__(self, description: ApiDescription) -> None:
        self._description = description
        self._followed = description.followed
        self.schemes = self._schemes()
        self._parents = {_text(tag, "name"): _text(tag, "parent") for tag in _objects(description.root.get("tags"))}
        self.servers = self._most_common_servers()

    def nodes(self) -> Iterator[tuple[str, str, Node, Node]]:
        for path, item in _members(self._description.root.get("paths")):
            if not path.startswith("/"):
                continue  # an extension
            try:
                followed = self._followed(item)
            except UnusablePart:
                continue  # it has no operations that could be named
            others = followed.get("additionalOperations")
            for method, node in (
                *((method, followed.get(method)) for method in (*METHODS, "query")),
                *(others.items() if is_object(others) else ()),
            ):
                if is_object(node):
                    yield path, method, followed, node

    def _most_common_servers(self) -> tuple[str, ...]:
        """The servers of most operations: many descriptions name the one server of the API at each path."""
        counted = Counter(self._servers_of(item, node) for _, _, item, node in self.nodes())
        return counted.most_common(1)[0][0] if counted else _urls(self._description.root)

    def _servers_of(self, item: Node, node: Node) -> tuple[str, ...]:
        return _urls(node) or _urls(item) or _urls(self._description.root)

    def operation(self, path: str, method: str, item: Node, node: Node) -> ApiOperation:
        if method not in _SERVED:
            raise UnusablePart(REASON_METHOD_NOT_SERVED, method=method.upper())
        if self._servers_of(item, node) != self.servers:
            raise UnusablePart(REASON_SERVER_OF_ITS_OWN)
        if item.get("x-internal") is True or node.get("x-internal") is True:
            raise UnusablePart(REASON_INTERNAL)
        effect = node.get(_EFFECT, "read")
        if effect not in EFFECT_LEVELS:
            raise UnusablePart(REASON_EFFECT_UNKNOWN, key=_EFFECT, value=str(effect)[:40])
        security = self._security(node)
        parameters = self._parameters(path, item, node)
        return ApiOperation(
            method.upper(),
            path,
            _text(node, "operationId"),
            _text(node, "summary"),
            _text(node, "description"),
            self._with_parents(tag for tag in _listed(node.get("tags")) if isinstance(tag, str)),
            node.get("deprecated") is True,
            parameters,
            self._body(node.get("requestBody")),
            self._responses(node.get("responses")),
            security,
            effect,
        )

    def _with_parents(self, tags: Iterable[str]) -> tuple[str, ...]:
        """The tags and all tags above them."""
        named = dict.fromkeys(tags)
        waiting = [*named]
        while waiting:
            parent = self._parents.get(waiting.pop(), "")
            if parent and parent not in named:
                named[parent] = None
                waiting.append(parent)
        return tuple(named)

    # --- parameters ---------------------------------------------------------------------------------------------------

    def _parameters(self, path: str, item: Node, node: Node) -> tuple[Parameter, ...]:
        parameters = dict[tuple[str, str], Parameter]()
        for one in (*_listed(item.get("parameters")), *_listed(node.get("parameters"))):
            if (parameter := self._parameter(self._followed(one))) is not None:
                parameters[parameter.location, parameter.name] = parameter
        if any(sign in path for sign in "?#\\") or {".", ".."} & set(path.split("/")):
            raise UnusablePart(REASON_PATH_PARAMETERS)
        inside = {name for location, name in parameters if location == "path"}
        if inside != set(_TEMPLATE.findall(path)) or "{" in _TEMPLATE.sub("", path):
            raise UnusablePart(REASON_PATH_PARAMETERS)
        return tuple(parameters.values())

    def _parameter(self, node: Node) -> Parameter | None:
        """A parameter; ``None`` for one that no caller sets."""
        location, name = node.get("in"), _text(node, "name")
        if location == "querystring":
            raise UnusablePart(REASON_WHOLE_QUERY, name=name[:80])
        if location not in _LOCATIONS:
            raise UnusablePart(REASON_DESCRIPTION_NOT_OBJECT)
        required = location == "path" or node.get("required") is True
        if (location == "header" and name.lower() in _IGNORED_HEADERS) or self._is_credential(location, name):
            return None
        if node.get("x-internal") is True and not required:
            return None
        if location == "header" and name.lower() in _TRANSPORT_HEADERS:
            if required:
                raise UnusablePart(REASON_HEADER_OF_TRANSPORT, name=name)
            return None
        if _NAMES.get(location, _ANY_NAME).fullmatch(name) is None:
            if required:
                raise UnusablePart(REASON_PARAMETER_NAME, name=name[:80])
            return None
        schema, writing = node.get("schema"), self._writing(node, location)
        if is_object(content := node.get("content")) and content:
            (media, *_) = content.values()
            schema, writing = self._followed(media).get("schema"), None
        return Parameter(
            name,
            location,
            required,
            schema if is_object(schema) else {},
            writing,
            _text(node, "description"),
            node.get("deprecated") is True,
            node.get("allowEmptyValue") is True,
        )

    def _is_credential(self, location: str, name: str) -> bool:
        """Whether a security scheme has this place: a secret of the operator fills it, and never an argument."""
        return any(
            scheme.location == location
            and (scheme.name.lower() == name.lower() if location == "header" else scheme.name == name)
            for scheme in self.schemes.values()
        )

    def _writing(self, node: Node, location: Location) -> Writing:
        styles = _STYLES[location]
        style = node.get("style", styles[0])
        if style not in styles:
            raise UnusablePart(REASON_STYLE_NOT_SERVED, style=str(style)[:40], name=_text(node, "name"))
        explode = node.get("explode", style in ("form", "deepObject"))
        return Writing(style, explode is True, location == "query" and node.get("allowReserved") is True)

    # --- bodies and responses -----------------------------------------------------------------------------------------

    def _body(self, node: Json) -> Body | None:
        if node is None:
            return None
        body = self._followed(node)
        content = dict(_members(body.get("content")))
        chosen = sorted((_rank(media), media) for media in content if _kind(media) is not None)
        if not chosen:
            raise UnusablePart(REASON_BODY_MEDIA_TYPE, types=", ".join(content)[:200])
        media_type = chosen[0][1]
        kind = cast("BodyKind", _kind(media_type))
        media = self._followed(content[media_type])
        for keyword in ("itemSchema", "prefixEncoding", "itemEncoding"):
            if keyword in media:
                raise UnusablePart(REASON_BODY_STREAM, keyword=keyword)
        bare = _bare(media_type)
        schema, parts, is_base64 = media.get("schema"), dict[str, BodyPart](), False
        if kind == "multipart":
            encodings = media.get("encoding")
            schema, parts = multipart_schema(self._description, schema, encodings if is_object(encodings) else {})
        elif kind == "form":
            schema = form_schema(self._description, schema)
        elif kind == "bytes":
            schema, is_base64 = dict(FILE_SCHEMA), self._is_base64(schema)
        return Body(
            bare if "*" not in bare or kind == "bytes" else "text/plain" if kind == "text" else "application/json",
            kind,
            schema if is_object(schema) else {},
            body.get("required") is True,
            file_text(body.get("description")) if kind == "bytes" else _text(body, "description"),
            self._encodings(media) if kind == "form" else {},
            parts,
            is_base64,
        )

    def _is_base64(self, schema: Json) -> bool:
        if not is_object(schema):
            return False
        node = self._followed(schema)
        return node.get("format") == "byte" or node.get("contentEncoding") == "base64"

    def _encodings(self, media: Node) -> dict[str, Writing]:
        encodings = media.get("encoding")
        return {
            name: self._writing({**encoding, "name": name}, "query")
            for name, encoding in (encodings.items() if is_object(encodings) else ())
            if is_object(encoding) and ("style" in encoding or "explode" in encoding)
        }

    def _responses(self, node: Json) -> tuple[Response, ...]:
        responses = list[Response]()
        for status, one in node.items() if is_object(node) else ():
            try:
                response = self._followed(one)
                content = _members(response.get("content"))
                schemas = {media.lower(): self._followed(inner).get("schema") for media, inner in content}
            except UnusablePart:
                continue  # a response that is not described well does not take the operation away
            described = {media: schema if is_object(schema) else {} for media, schema in schemas.items()}
            responses.append(Response(status, _text(response, "description"), described))
        return tuple(responses)

    # --- security -----------------------------------------------------------------------------------------------------

    def _security(self, node: Node) -> tuple[tuple[str, ...], ...]:
        security = node.get("security", self._description.root.get("security"))
        return tuple(tuple(alternative) for alternative in _objects(security))

    def _schemes(self) -> dict[str, Scheme]:
        components = dict(_members(self._description.root.get("components")))
        schemes = dict[str, Scheme]()
        for name, node in _members(components.get("securitySchemes")):
            try:
                scheme = _scheme(self._followed(node))
            except UnusablePart:
                continue
            if scheme is not None:
                schemes[name] = scheme
        return schemes


def _scheme(node: Node) -> Scheme | None:
    """The scheme; ``None`` for one that is not filled."""
    kind, how, location = node.get("type"), _text(node, "scheme").lower(), node.get("in")
    if kind == "apiKey" and location in ("header", "query", "cookie"):
        return Scheme("apiKey", location, _text(node, "name"))
    if kind == "http" and how in ("basic", "bearer"):
        return Scheme("basic" if how == "basic" else "bearer")
    if kind == "mutualTLS":
        return Scheme("mutualTLS")
    return Scheme("bearer") if kind in ("oauth2", "openIdConnect") else None


def _text(node: Node, name: str) -> str:
    value = node.get(name)
    return value if isinstance(value, str) else ""


_KINDS: Final[Sequence[tuple[re.Pattern[str], BodyKind]]] = (
    (re.compile(r"application/json|application/[\w.+-]+\+json|\*/\*|application/\*", re.ASCII), "json"),
    (re.compile(re.escape(_FORM)), "form"),
    (re.compile(r"multipart/form-data"), "multipart"),
    (re.compile(r"text/[\w.+*-]+|application/(?:[\w.+-]+\+)?(?:xml|yaml|x-yaml|graphql|x-ndjson)", re.ASCII), "text"),
    (re.compile(r"(?:application|audio|font|image|model|video)/[\w.+*-]+", re.ASCII), "bytes"),
)


def _kind(media_type: str) -> BodyKind | None:
    bare = _bare(media_type)
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(bare)), None)


def _bare(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()


def _rank(media_type: str) -> tuple[int, bool]:
    kinds = [kind for _, kind in _KINDS]
    kind = _kind(media_type)
    return (kinds.index(kind) if kind is not None else len(kinds), media_type != "application/json")
