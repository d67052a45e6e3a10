"""Links of a result: a link of any form is checked, and no spelling of an internal address passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.policy.sanitize.media import is_inside, link_problem

SCHEMES = [
    "http",
    "https",
    "ws",
    "ftp",
    "sftp",
    "gopher",
    "ldap",
    "ldaps",
    "smb",
    "redis",
    "rediss",
    "telnet",
    "rtsp",
    "git",
    "git+ssh",
    "svn",
    "dict",
    "tftp",
    "imap",
    "mongodb+srv",
    "postgresql",
    "mysql",
    "amqp",
    "mqtt",
    "rsync",
    "vnc",
    "dav",
    "jdbc:mysql",
    "jar:http",
    "feed:https",
]
INNER = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "017700000001",
    "10.0.0.1",
    "192.168.1.1",
    "172.16.5.4",
    "169.254.169.254",
    "0.0.0.0",
    "100.64.0.1",
    "[::1]",
    "[::]",
    "[::ffff:10.0.0.1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "[fd00::1]",
    "[fe80::1]",
    "[64:ff9b::7f00:1]",
    "%31%32%37.0.0.1",
    "１２７.０.０.１",
    "127。0。0。1",
    "127.0.0.1.",
    "127.0.0\u00ad.1",
    "localhost",
    "LOCALHOST.",
    "db.internal",
    "printer.lan",
    "10.0.0.1.nip.io",
]
ODD = st.text(st.sampled_from("ab.:/\\@[]%#?0127xF \t\n\x00。é\u202e\ud800١") | st.characters(), max_size=30)


@pytest.mark.attack("C21")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_c21_no_scheme_leads_to_an_inner_address_however_it_is_spelled(scheme: str):
    passed = [host for host in INNER for tail in ("/", ":6379/", "") if not link_problem(f"{scheme}://{host}{tail}")]
    assert passed == []


@pytest.mark.attack("C21")
@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "0x7f.0.0.1", "localhost"])
def test_c21_an_address_is_inner_in_a_scheme_of_somebodys_own(host: str):
    assert link_problem(f"notes://{host}/")


@pytest.mark.twin("C21")
@pytest.mark.parametrize(
    "uri",
    [
        "redis://cache.example.com:6379/0",
        "git+ssh://git@github.com/a/b.git",
        "ldap://ldap.example.org/dc=example",
        "reports://2026",
        "notes://home/today",
        "app://private/1",
        "shop://terms",
        "sip:ann@example.com",
        "jdbc:mysql://db.example.com/shop",
        "gopher://gopher.floodgap.com/",
        "mailto:ann@example.com",
        "tel:+4930123456",
        "doi:10.1000/182",
        "urn:uuid:3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    ],
)
def test_c21_twin_links_that_lead_outside_stay(uri: str):
    assert link_problem(uri) is None


@pytest.mark.attack("C21")
@pytest.mark.parametrize("sign", ["%00", "%0a", "%20", "%2f", "%5c", "%40", "%23", "%3f", "\\"])
@pytest.mark.parametrize("host", ["127.0.0.1", "evil.com"])
def test_c21_a_host_that_programs_read_in_two_ways_is_no_host(sign: str, host: str):
    assert link_problem(f"http://{host}{sign}.evil.com/")


@pytest.mark.attack("C21")
@given(st.sampled_from(["http", "redis", "x-own", "jar:http", "", "HTTP"]), ODD, ODD)
def test_c21_no_uri_is_beyond_judgement(scheme: str, host: str, path: str):
    for uri in (f"{scheme}://{host}/{path}", f"{scheme}:{host}", host + path):
        assert link_problem(uri) != ""
    assert is_inside(host) in (True, False)
