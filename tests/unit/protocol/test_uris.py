"""URIs and templates of URIs."""

from __future__ import annotations

import pytest

from support.growth import grows_in_proportion
from tooltrue.errors import DefinitionError
from tooltrue.protocol.uris import MAX_URI, is_uri, read_template


@pytest.mark.parametrize(
    "text",
    ["a:b", "file:///a/b.txt", "https://e.com:8080/p?q=1#f", "urn:isbn:0-1", "ui://x/%C3%A4", "a+b-c.d://[::1]/"],
)
def test_an_absolute_uri_is_one(text: str):
    assert is_uri(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "a:", ":a", "1a:b", "/etc/passwd", "//e.com/a", "a b:c", "a:b c", "a:%", "a:%4", "a:%zz", "a:é"),
        *("a:{x}", "a:b\n", "a:<b>", 'a:"b"', "a:\\b", "a:" + "b" * MAX_URI),
    ],
)
def test_text_that_is_not_an_absolute_uri_is_refused(text: str):
    assert not is_uri(text)


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("a:{x}", "a:b", {"x": "b"}),
        ("a:{x}", "a:b%20c", {"x": "b c"}),
        ("a:{x}", "a:%E8%8C%B6", {"x": "茶"}),
        ("a:{x}", "a:...", {"x": "..."}),
        ("a:{x}", "a:%252F", {"x": "%2F"}),  # decoded once, and once only
        ("a:{x}/{y}", "a:1/2", {"x": "1", "y": "2"}),
        ("a:{x}.{y}", "a:1.2.3", {"x": "1", "y": "2.3"}),
        ("a:b/{x}/c", "a:b/1/c", {"x": "1"}),
        ("a:///{+p}", "a:///b/c.d", {"p": "b/c.d"}),
        ("a://{+p}", "a:///b", None),
        ("a:{+p}", "a:/b", None),
        ("a:{+p}", "a:b/c", {"p": "b/c"}),
        ("a:{+p}", "a:bb:c/d@e,(f)%20%3F%25", {"p": "bb:c/d@e,(f) ?%"}),
        ("a:{x}", "a:b%40c~d", {"x": "b@c~d"}),
        ("a:{+p}/end", "a:1/end/2/end", {"p": "1/end/2"}),
        ("a:{x}/{+p}", "a:1/2/3", {"x": "1", "p": "2/3"}),
        ("a:{x}", "a:", None),
        ("a:{x}", "b:1", None),
        ("a:{x}", "a:1/2", None),
        ("a:{x}", "a:1?2", None),
        ("a:{x}/b", "a:1/c", None),
    ],
)
def test_a_uri_gives_the_variables_of_its_template(template: str, uri: str, values: dict[str, str] | None):
    assert read_template(template).match(uri) == values


@pytest.mark.parametrize(
    "value",
    [
        *(".", "..", "%2e%2E", "a%2Fb", "a%5Cb", "%5C", "a%00", "%ff", "%C3", "/"),
        *("a%0A", "%1B%5B8m", "%7F", "%C2%9B", "%EF%BF%BD%FF"),
    ],
)
def test_a_template_value_that_could_name_another_file_does_not_match(value: str):
    assert read_template("a:b/{x}").match(f"a:b/{value}") is None


@pytest.mark.parametrize(
    "value",
    [
        *("..", "../a", "a/../b", "a/..", "%2e%2e/a", "a%2f..%2fb", "a%5C..%5Cb", "/etc", "%2Fetc", "%5Ca", "a%00/b"),
        *(".", "./a", "a/.", "a/./b", "a//b", "a/", "a%5Cb", "c:", "C:/a", "c:a", "C%3A%5Ca", "a%0Ab", "a/%C2%85"),
        *("C%3A/a", "c%3a", ".%2e/a", "%2E./a", "%2e%2e", "a/%2E%2e", "%2E%2E%2Fa", "%c0%ae%c0%ae/a", "%5c%5ca/b"),
        # paths that leave the folder after a second decoding
        *("%252e%252e/a", "a/.%252E", "%25252e%25252e", "a%252F..%252Fb", "%252Fetc", "a%255Cb", "c%253A/a", "a%2500"),
    ],
)
@pytest.mark.parametrize("template", ["a:///{+path}", "a:{+path}"])
def test_a_template_path_that_could_leave_its_folder_does_not_match(template: str, value: str):
    assert read_template(template).match(template.replace("{+path}", value)) is None


@pytest.mark.parametrize(
    "path",
    [
        *("a b.txt", "my notes/my file.txt", ".hidden/a", "a/...", "..a/b..", "v1.2/a.tar.gz", "100%", "50% of a/b"),
        *("ä/ö.txt", "茶/绿 茶.md", "-", "~a/b", "ab:c", "2024-01-01T10:00/a", "C", "c/d:", "%", "%41", "%zz"),
    ],
)
@pytest.mark.parametrize("template", ["a:///{+path}", "a:{+path}"])
def test_the_name_of_a_file_is_a_path_however_odd(template: str, path: str):
    read = read_template(template)
    assert read.match(read.expand({"path": path})) == {"path": path}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        *(
            ("a:{x}", value)
            for value in ("%61dmin", "adm%69n", "%7Ea", "a%2Db", "a%3a", "a:b", "a@b", "a(b)", "%c3%A4")
        ),
        *(("a:{+x}", value) for value in ("%61/b", "a%2Fb", "a%2fb", "a%3Ab", "a%40b", "a%3f", "%c3%A4")),
    ],
)
def test_another_spelling_of_a_value_is_no_match(template: str, value: str):
    assert read_template(template).match(f"a:{value}") is None


@pytest.mark.parametrize("template", ["a:{x}", "a:b/{x}/c", "a:{+x}"])
@pytest.mark.parametrize("value", ["admin", "a b", "ä茶", "50%", "%41", "a?b#c", "a.b-c_d~e", "b@c:d,e;f=(g)*!$&'+[h]"])
def test_an_expanded_uri_template_matches_its_expansion(template: str, value: str):
    read = read_template(template)
    assert read.match(read.expand({"x": value})) == {"x": value}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{x}", "TT3022"),
        ("{x}:a", "TT3022"),
        ("a{x}:b", "TT3022"),
        ("a:{x", "TT3022"),
        ("a:x}", "TT3022"),
        ("a: {x}", "TT3022"),
        ("a:{}", "TT3023"),
        ("a:{?x}", "TT3023"),
        ("a:{x,y}", "TT3023"),
        ("a:{x*}", "TT3023"),
        ("a:{x:3}", "TT3023"),
        ("a:{/x}", "TT3023"),
        ("a:{x}{y}", "TT3023"),
        ("a:{x}/{x}", "TT3023"),
        ("a:{+x}/{y}", "TT3023"),
    ],
)
def test_a_template_that_cannot_be_matched_unambiguously_is_refused(text: str, code: str):
    with pytest.raises(DefinitionError) as caught:
        read_template(text)
    assert caught.value.code == code


def test_a_hostile_uri_is_read_in_linear_time():
    template = read_template("a:{a}-{b}.{c}-{d}/{e}-{f}")

    def matched(uri: str) -> None:
        assert template.match(uri) is None

    for piece, end in (("-", ""), ("x-.-", ""), ("a-", "/")):

        def made(size: int, piece: str = piece, end: str = end) -> str:
            return "a:" + piece * (size // len(piece)) + end

        assert grows_in_proportion(matched, made, 6_000), piece
