"""Requests of described operations: every style against RFC 6570 as another library writes it, and no value that leaves
its place."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
import uritemplate
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.errors import ToolError
from tooltrue_toolbox.openapi.operation import ApiOperation, Body, Parameter, Style, Writing
from tooltrue_toolbox.openapi.parameter_styles import NotWritable, leaves_segment, path_text, query_pairs
from tooltrue_toolbox.openapi.request_building import ApiRequest, build_request

BASE = "https://api.example/v1"

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
plain = st.one_of(texts.filter(bool), st.integers(-(10**6), 10**6))
objects = st.dictionaries(texts.filter(bool), plain, min_size=1, max_size=3).map(lambda one: dict(sorted(one.items())))
values = st.one_of(plain, st.lists(plain, min_size=1, max_size=3), objects)


def operation(*parameters: Parameter, path: str = "/things", body: Body | None = None) -> ApiOperation:
    return ApiOperation("GET", path, "", "", "", (), False, parameters, body, (), ())


def parameter(location: Any, style: Style = "simple", *, explode: bool = False, reserved: bool = False) -> Parameter:
    return Parameter("x", location, True, {}, Writing(style, explode, reserved))


def request(one: Parameter, value: Any, path: str = "/things") -> ApiRequest:
    return build_request(BASE, operation(one, path=path), {"x": value}, {"x": one}, None)


def words(value: Any) -> Any:
    """The value as uritemplate takes it, which writes numbers as Python does."""
    if isinstance(value, dict):
        return {key: str(one) for key, one in value.items()}
    return [str(one) for one in value] if isinstance(value, list) else str(value)


@given(values, st.booleans(), st.sampled_from([("simple", ""), ("label", "."), ("matrix", ";")]))
def test_the_styles_of_a_path_are_those_of_rfc_6570(value: Any, explode: bool, style: tuple[Style, str]):
    name, sign = style
    template = f"{{{sign}x{'*' if explode else ''}}}"
    assert path_text("x", value, Writing(name, explode)) == uritemplate.expand(template, x=words(value))


@given(values, st.booleans())
def test_the_style_form_of_a_query_is_that_of_rfc_6570(value: Any, explode: bool):
    template = f"{{?x{'*' if explode else ''}}}"
    written = "&".join(query_pairs("x", value, Writing("form", explode)))
    assert f"?{written}" == uritemplate.expand(template, x=words(value))


@given(st.lists(plain, max_size=4), st.sampled_from([("spaceDelimited", " "), ("pipeDelimited", "|")]))
def test_a_delimited_list_comes_back_as_it_was(items: list[Any], style: tuple[Style, str]):
    written = "&".join(query_pairs("x", items, Writing(style[0], explode=False)))
    ((_, text),) = parse_qsl(written, keep_blank_values=True) or [("x", None)]
    separator = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}[style[0]]
    parts = written.partition("=")[2].split(separator) if items else []
    if not any(style[1] in str(item) for item in items):
        assert [unquote(part) for part in parts] == [str(item) for item in items]
    assert (text is None) == (not items)


@given(st.dictionaries(texts.filter(bool), st.one_of(plain, st.lists(plain, min_size=1, max_size=2)), max_size=3))
def test_a_deep_object_comes_back_as_it_was(value: dict[str, Any]):
    written = "&".join(query_pairs("x", value, Writing("deepObject", explode=True)))
    wanted = [
        (f"x[{key}]{number}", str(one))
        for key, many in value.items()
        for number, one in ([(f"[{n}]", one) for n, one in enumerate(many)] if isinstance(many, list) else [("", many)])
    ]
    assert parse_qsl(written, keep_blank_values=True) == wanted


@given(texts.filter(bool), st.booleans())
def test_a_query_value_ends_neither_its_place_nor_the_query(value: str, reserved: bool):
    url = urlsplit(request(parameter("query", "form", reserved=reserved), value).url)
    assert (url.scheme, url.netloc, url.path, url.fragment) == ("https", "api.example", "/v1/things", "")
    assert parse_qsl(url.query, keep_blank_values=True) == [("x", value)]


@given(values, st.booleans(), st.sampled_from(["simple", "label", "matrix"]))
def test_a_path_value_stays_within_its_segment(value: Any, explode: bool, style: Style):
    one = parameter("path", style, explode=explode)
    if leaves_segment(value):
        with pytest.raises(ToolError, match="No request was sent"):
            request(one, value, "/things/{x}/parts")
        return
    url = urlsplit(request(one, value, "/things/{x}/parts").url)
    before, base, things, segment, parts = url.path.split("/")
    assert (url.netloc, before, base, things, parts) == ("api.example", "", "v1", "things", "parts")
    assert unquote(segment) not in ("", ".", "..")
    assert (url.query, url.fragment) == ("", "")


def test_a_value_within_a_value_is_refused_where_the_style_has_no_form_for_it():
    with pytest.raises(NotWritable):
        list(query_pairs("x", [[1]], Writing("form", explode=True)))
    with pytest.raises(ToolError) as caught:
        request(parameter("query", "form"), [[1]])
    assert caught.value.code == "TT6902"


def test_a_parameter_with_content_is_json():
    one = Parameter("x", "query", True, {}, None)
    assert parse_qsl(urlsplit(request(one, {"a": [1, "&"]}).url).query) == [("x", '{"a":[1,"&"]}')]


def test_an_object_in_a_form_is_json_unless_the_description_says_how():
    own = {"deep": Writing("deepObject", explode=True), "list": Writing("form", explode=False)}
    body = Body("application/x-www-form-urlencoded", "form", {}, True, encodings=own)
    value = {"a": "x y", "object": {"k": 1}, "deep": {"k": 1}, "list": [1, 2], "many": ["p", "q"]}
    made = build_request(BASE, operation(body=body), {"body": value}, {}, "body")
    assert made.content == b"a=x%20y&object=%7B%22k%22%3A1%7D&deep%5Bk%5D=1&list=1,2&many=p&many=q"
