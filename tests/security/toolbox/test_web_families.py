"""Rows H as families: addresses, names, answers and settings in each spelling, fetched by ``fetch_url``."""

from __future__ import annotations

import bz2
import contextlib
import datetime
import gzip
import ipaddress
import itertools
import lzma
import os
import socket
import ssl
import threading
import zlib
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from services.calling import call, calls
from services.test_web import TEXT, Names, web
from support.fake_secrets import FAKES
from support.variants import tried
from support.website import Asked, Said, running
from tooltrue import Client
from tooltrue.client.call_results import Result
from tooltrue.tools.local import LocalToolset


def fetched(tools: LocalToolset, urls: Iterable[str]) -> dict[str, Result]:
    """The result of ``fetch_url`` for each of these addresses."""

    async def all_of(client: Client) -> dict[str, Result]:
        return {url: await client.call_tool("fetch_url", url=url) for url in urls}

    return calls(tools, all_of)


def all_refused(urls: Iterable[str], *codes: str, tools: LocalToolset | None = None) -> None:
    """Each of these addresses is refused by one of these codes."""
    results = fetched(tools or web(names=Names({})), urls)
    for url in results:
        tried(url)
    passed = {
        url: one.text for url, one in results.items() if not one.text.endswith(tuple(f"[{code}]" for code in codes))
    }
    assert sorted(passed) == []


# -- H01 to H04: non-public addresses ----------------------------------------------------------------------------------

METADATA = {
    "Amazon, Google, Azure, Oracle and others": "169.254.169.254",
    "Amazon, for containers": "169.254.170.2",
    "Amazon, for pods": "169.254.170.23",
    "Alibaba": "100.100.100.200",
    "Oracle, the first": "192.0.0.192",
    "Azure, the wire server": "168.63.129.16",
    "Amazon, IPv6": "fd00:ec2::254",
    "Amazon, IPv6, for pods": "fd00:ec2::23",
    "Google, IPv6": "fd20:ce::254",
    "link-local": "fe80::a9fe:a9fe",
}
PATHS = [
    "",
    "latest/meta-data/iam/security-credentials/",
    "computeMetadata/v1/?recursive=true",
    "metadata/instance?x=1",
]


def literal(address: str) -> str:
    return f"[{address}]" if ":" in address else address


@pytest.mark.variants(90)
def test_h01_no_metadata_service_is_fetched_by_address_or_by_name() -> None:
    names = {f"m{number}.example": [address] for number, address in enumerate(METADATA.values())}
    named = {"metadata.google.internal": ["169.254.169.254"], "instance-data.ec2.internal": ["169.254.169.254"]}
    hosts = [*map(literal, METADATA.values()), *names, *named]
    urls = [f"{scheme}://{host}/{path}" for host in hosts for path in PATHS for scheme in ("http", "https")]
    all_refused(urls, "TT6402", tools=web(names=Names({**names, **named})))


@pytest.mark.variants(10)
def test_h01_a_name_that_the_operator_has_named_leads_to_no_metadata_service() -> None:
    """Such a host may be on this machine or in a private network, and nowhere else."""
    names = {f"m{number}.example": [address] for number, address in enumerate(METADATA.values())}
    urls = [f"http://{host}/" for host in names]
    all_refused(urls, "TT6402", tools=web(*urls, names=Names(names)))


def parts(address: str) -> list[str]:
    """The address as text in the ways that programs have read it in."""
    a, b, c, d = (int(part) for part in address.split("."))
    whole = a << 24 | b << 16 | c << 8 | d
    last_three, last_two = b << 16 | c << 8 | d, c << 8 | d
    octal = ".".join(f"{part:04o}" for part in (a, b, c, d))
    hexadecimal = ".".join(f"0x{part:02x}" for part in (a, b, c, d))
    wide = str.maketrans("0123456789.", "\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19\uff0e")
    ideographic = address.replace(".", "\u3002")
    return [
        str(whole), hex(whole), f"0X{whole:X}", f"0{whole:o}", f"{a}.{last_three}", f"{a}.{b}.{last_two}", octal,
        hexadecimal,
        f"{a}.0x{last_three:x}", f"0x{a:x}.{b}.{c}.{d}", f"{a}.{b:03d}.{c:03d}.{d:03d}", f"{address}.",
        address.translate(wide), ideographic, address.replace(".", "\uff61"), f"{a}.{b}.{c}.0{d:o}",
        f"00{hex(whole)[2:]}",
        f"%{ord(address[0]):02x}{address[1:]}", "".join(f"%{ord(sign):02x}" for sign in address),
        "".join(chr(0x2460 + int(sign) - 1) if sign in "123456789" else sign for sign in address),
    ]  # fmt: skip


@pytest.mark.variants(70)
def test_h02_no_spelling_of_an_address_leads_inside() -> None:
    addresses = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1")
    hosts = [host for address in addresses for host in parts(address)]

    class Lenient(Names):
        """As the resolvers of systems are, which read nearly all of these as numbers."""

        async def resolve(self, host: str, port: int) -> list[str]:
            try:
                return [socket.inet_ntoa(socket.inet_aton(host))]
            except OSError:
                return ["127.0.0.1"]

    all_refused([f"http://{host}/" for host in hosts], "TT6402", "TT6401", tools=web(names=Lenient({})))


def embedded(address: str) -> list[str]:
    """IPv6 addresses that lead, somewhere, to this IPv4 one."""
    packed = ipaddress.IPv4Address(address).packed
    high, low = packed[:2].hex(), packed[2:].hex()
    inverted = bytes(byte ^ 0xFF for byte in packed)
    return [
        f"::ffff:{address}", f"::ffff:{high}:{low}", f"0:0:0:0:0:FFFF:{high}:{low}", f"::{address}", f"::{high}:{low}",
        f"::ffff:0:{high}:{low}", f"64:ff9b::{high}:{low}", f"64:ff9b::{address}", f"64:ff9b:1::{high}:{low}",
        f"2002:{high}:{low}::", f"2002:{high}:{low}::1", f"2001:0:0:0:0:0:{inverted[:2].hex()}:{inverted[2:].hex()}",
        f"2001:0:{high}:{low}::1", f"fe80::5efe:{high}:{low}", f"fe80::200:5efe:{high}:{low}",
        f"fec0::5efe:{high}:{low}",
        f"0000:0000:0000:0000:0000:ffff:{high}:{low}", f"::ffff:{address}%25eth0", f"fd00::{high}:{low}",
    ]  # fmt: skip


@pytest.mark.variants(70)
def test_h03_no_ipv6_address_leads_to_an_ipv4_one_inside() -> None:
    addresses = ("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1")
    hosts = [host for address in addresses for host in embedded(address)]
    as_names = {f"n{number}.example": [host.replace("%25", "%")] for number, host in enumerate(hosts)}
    urls = [*(f"http://[{host}]/" for host in hosts), *(f"http://{name}/" for name in as_names)]
    all_refused(urls, "TT6402", "TT6401", tools=web(names=Names(as_names)))


NOT_PUBLIC = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
    "224.0.0.0/4",
    "233.252.0.0/24", "240.0.0.0/4", "255.255.255.255/32", "::/128", "::1/128", "64:ff9b::/96",
    "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7",
    "fe80::/10", "fec0::/10", "ff00::/8",
]  # fmt: skip


@pytest.mark.variants(90)
def test_h04_no_address_of_a_non_public_range_is_fetched() -> None:
    """The first, the middle and the last address of each range, as a literal and as the address of a host name."""
    hosts: list[str] = []
    for text in NOT_PUBLIC:
        network = ipaddress.ip_network(text)
        hosts += {str(network[at]) for at in (0, network.num_addresses // 2, network.num_addresses - 1)}
    names = {f"n{number}.example": [host] for number, host in enumerate(hosts)}
    urls = [*(f"http://{literal(host)}/" for host in hosts), *(f"http://{name}/" for name in names)]
    all_refused(urls, "TT6402", tools=web(names=Names(names)))


# -- H05, H07, H08, H09: redirects and resolved addresses --------------------------------------------------------------

INSIDE = [
    "http://10.0.0.1/", "http://169.254.169.254/", "//[::1]:1/", "http://127.0.0.1:9/", "http://0/",
    "http://localhost:9/",
    "https://192.168.1.1/", "http://[::ffff:10.0.0.1]/", "http://2130706433:9/", "http:10.0.0.1:9", "//10.0.0.1",
    "///10.0.0.1/", "http://inside.example/", "HTTP://10.0.0.1/", "\\\\10.0.0.1\\x", "http:\\\\10.0.0.1\\",
]  # fmt: skip


@pytest.mark.variants(70)
def test_h05_no_redirect_leads_inside_by_any_status_at_any_hop() -> None:
    moved: list[tuple[int, str, int]] = list(itertools.product((301, 302, 303, 307, 308), INSIDE, (1, 3)))

    def answers(asked: Asked) -> Said:
        number, _, hop = asked.path.strip("/").partition("/")
        if not number.isdecimal():
            return Said(404)  # an address without slashes, as "http:10.0.0.1:9", may be read as a path of the same site
        status, location, hops = moved[int(number)]
        at = int(hop or 1)
        return Said(status, "", (("location", location if at == hops else f"/{number}/{at + 1}"),))

    names = Names(
        {"inside.example": ["10.0.0.1"], "localhost": ["127.0.0.1"], "0": ["0.0.0.0"], "2130706433": ["127.0.0.1"]}
    )
    with running(answers) as site:
        results = fetched(web(site.url, names=names), [f"{site.url}/{number}" for number in range(len(moved))])
    wrong: dict[str, str] = {}
    for (status, location, hops), result in zip(moved, results.values(), strict=True):
        tried((status, location, hops))
        if not result.is_error:
            wrong[f"{status} {location} {hops}"] = result.text
    assert wrong == {}
    assert {f"/{number}" for number in range(len(moved))} <= {*site.paths}


SCHEMES = [
    "file", "ftp", "ftps", "sftp", "gopher", "dict", "ldap", "ldaps", "tftp", "telnet", "ssh", "smb", "jar", "data",
    "blob",
    "javascript", "vbscript", "ws", "wss", "unix", "http+unix", "about", "view-source", "chrome", "netdoc", "redis",
    "mailto",
    "tel", "php", "expect", "git", "rtsp", "httpx", "https+x", "h\u0442tp", "\uff48ttp",
]  # fmt: skip


@pytest.mark.variants(100)
def test_h07_no_other_scheme_is_fetched() -> None:
    shapes = ("{}://a.example/", "{}:/etc/passwd", "{}:a.example")
    all_refused([shape.format(scheme) for shape in shapes for scheme in SCHEMES], "TT2001", "TT6401")


@pytest.mark.variants(len(SCHEMES))
def test_h07_no_redirect_leads_to_another_scheme() -> None:
    ascii_ones = [scheme for scheme in SCHEMES if scheme.isascii()]

    def answers(asked: Asked) -> Said:
        if asked.path.startswith("/end"):
            return Said(200, "inside", TEXT)
        return Said(302, "", (("location", f"{ascii_ones[int(asked.path.strip('/'))]}://127.0.0.1/end"),))

    with running(answers) as site:
        results = fetched(web(site.url), [f"{site.url}/{number}" for number in range(len(ascii_ones))])
    for scheme in SCHEMES:
        tried(scheme)
    codes = {scheme: one.text[-8:] for scheme, one in zip(ascii_ones, results.values(), strict=True)}
    assert {scheme: code for scheme, code in codes.items() if code not in ("[TT6401]", "[TT6402]")} == {}
    assert not any(path.startswith("/end") for path in site.paths)


@pytest.mark.variants(40)
def test_h08_no_text_before_or_in_a_host_makes_it_another_host() -> None:
    good, evil = "good.example", "evil.example"
    before = [
        f"{good}@",
        f"{good}:80@",
        ":@",
        "@",
        f"{good}:%70@",
        "u@v@",
        f"{good}%40x@",
        "u:@",
        "%00@",
        "{}@".format("x" * 900),
    ]
    inside = [
        f"{good}\\@{evil}",
        f"{good}\\{evil}",
        f"\\\\{evil}",
        f"{good}%5c@{evil}\\",
        f"{good} {evil}",
        f"{good}\t{evil}",
    ]
    odd = [
        f"[{evil}]",
        f"[{evil}",
        f"{evil}]",
        f"[::1]{evil}",
        f"{evil}:80:80",
        f"{evil}:x",
        f"{evil}:-1",
        f"{evil}:99999",
    ]
    hosts = [*(f"{each}{evil}" for each in before), *inside, *odd]
    urls = [f"{scheme}://{host}/" for host in hosts for scheme in ("http", "https")]
    all_refused(urls, "TT6401", "TT2001", tools=web(names=Names({good: ["10.0.0.1"], evil: ["10.0.0.1"]})))


@pytest.mark.variants(120)
def test_h09_no_control_character_gets_into_a_request() -> None:
    signs = [chr(number) for number in (*range(0x21), 0x7F)]
    places = (
        "http://a.example/{}X: y",
        "http://a.example/?q={}",
        "http://a{}.example/",
        "http://a.example:80{}/",
        "http:{}//a.example/",
    )
    with running(lambda asked: Said(200, "tea", TEXT)) as site:
        urls = [place.format(sign) for place in places for sign in signs]
        all_refused(urls, "TT6401", "TT2001", tools=web(names=Names({"a.example": ["8.8.8.8"]})))
        assert site.asked == []


# -- H06: a name that means something else -----------------------------------------------------------------------------


class Answers:
    """A resolver that answers with several addresses at once, and with others each time."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def resolve(self, host: str, port: int) -> list[str]:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


@pytest.mark.variants(40)
def test_h06_a_name_of_which_one_address_leads_inside_is_not_asked() -> None:
    public, inside = ["8.8.8.8", "2606:4700:4700::1111"], ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fd00::1"]
    mixed = [[*order] for one in public for other in inside for order in ((one, other), (other, one))]
    mixed += [[*public, other] for other in inside] + [[other, *public] for other in inside]
    mixed += [[other, "no address", one] for one in public for other in inside]
    codes: dict[str, str] = {}
    for addresses in mixed:
        tried(addresses)
        answers = Answers(addresses, ["8.8.8.8"])
        result = call(web(resolve=answers.resolve), "fetch_url", url="http://rebind.example/")
        assert answers.asked == 1
        codes[str(addresses)] = result.text[-8:]
    assert set(codes.values()) == {"[TT6402]"}, codes


def test_h06_a_second_look_at_a_name_is_never_taken_for_the_first() -> None:
    """Each visit looks the name up once, and goes where that look led: also where it leads inside a moment later."""
    with running(lambda asked: Said(200, "tea", TEXT)) as site:
        url = site.url.replace("127.0.0.1", "rebind.example")
        for later in (["10.0.0.1"], ["169.254.169.254"], ["::1"], ["8.8.8.8"]):
            answers = Answers(["127.0.0.1"], later)
            assert call(web(url, resolve=answers.resolve), "fetch_url", url=url).value["text"] == "tea"
            assert answers.asked == 1


# -- H10, H18: settings that a model must not control ------------------------------------------------------------------

SETTINGS: dict[str, list[Any]] = {
    "headers": [{"Host": "evil.example"}, {"Authorization": "x"}, {}, [["Host", "x"]], "Host: x"],
    "header": ["Host: evil.example"],
    "host": ["evil.example"],
    "cookies": [{"a": "b"}],
    "cookie": ["a=b"],
    "auth": [["u", "p"], "u:p"],
    "user_agent": ["x"],
    "referer": ["http://a.example"],
    "method": ["POST", "DELETE"],
    "body": ["x"],
    "data": [{"a": "b"}],
    "json": [{"a": 1}],
    "params": [{"a": "b"}],
    "token": ["x"],
    "range": ["bytes=0-1"],
}
CHECKS: dict[str, list[Any]] = {
    "verify": [False, 0, None, "no", "/tmp/ca.pem"],
    "insecure": [True, 1],
    "verify_ssl": [False],
    "ssl": [False],
    "ssl_verify": [False],
    "check_hostname": [False],
    "cert": ["/tmp/cert.pem"],
    "ca": ["/tmp/ca.pem"],
    "tls": [{"verify": False}],
    "trust_env": [True],
    "allow_redirects": [True],
    "proxy": ["http://127.0.0.1:1"],
    "proxies": [{"http": "http://127.0.0.1:1"}],
    "timeout": [None, 1e9],
    "resolve": ["a.example:443:127.0.0.1"],
}


def set_by_a_model(given: dict[str, list[Any]]) -> None:
    pairs = [(name, value) for name, values in given.items() for value in values]

    async def all_of(client: Client) -> list[str]:
        return [(await client.call_tool("fetch_url", {"url": site.url, name: value})).text for name, value in pairs]

    with running(lambda asked: Said(200, "tea", TEXT)) as site:
        said = calls(web(site.url), all_of)
        assert site.asked == []
    for pair in pairs:
        tried(pair)
    assert [pair for pair, text in zip(pairs, said, strict=True) if not text.endswith("[TT2001]")] == []


@pytest.mark.variants(20)
def test_h10_a_model_sets_nothing_of_a_request_but_its_address() -> None:
    set_by_a_model(SETTINGS)


@pytest.mark.variants(20)
def test_h18_a_model_sets_nothing_of_the_connection() -> None:
    set_by_a_model(CHECKS)


def certificate(folder: Path, kind: str) -> tuple[Path, Path]:
    """An untrusted certificate of this kind, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    starts, ends = now - datetime.timedelta(days=1), now + datetime.timedelta(days=1)
    if kind == "too old":
        starts, ends = now - datetime.timedelta(days=9), now - datetime.timedelta(days=8)
    if kind == "too new":
        starts, ends = now + datetime.timedelta(days=8), now + datetime.timedelta(days=9)
    host = "other.example" if kind == "for another host" else "127.0.0.1"
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    alternative: x509.GeneralName = (
        x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
    )
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(starts)
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / f"{kind}.crt", folder / f"{kind}.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
    )
    return paths


@contextlib.contextmanager
def secured(paths: tuple[Path, Path], heard: list[bytes]) -> Generator[str]:
    """A TLS server with this certificate; ``heard`` collects the data of clients after the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*map(str, paths))
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), connection:
                connection.settimeout(5)
                with context.wrap_socket(connection, server_side=True) as secure:
                    heard.append(secure.recv(4096))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


TURNED_OFF = [
    "",
    "PYTHONHTTPSVERIFY=0",
    "CURL_CA_BUNDLE=",
    "REQUESTS_CA_BUNDLE=",
    "SSL_NO_VERIFY=1",
    "GIT_SSL_NO_VERIFY=1",
]


@pytest.mark.variants(len(TURNED_OFF))
@pytest.mark.parametrize("kind", ["signed by itself", "too old", "too new", "for another host"])
def test_h18_no_bad_certificate_is_accepted_under_any_environment(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []
    with secured(certificate(tmp_path, kind), heard) as url:
        for setting in TURNED_OFF:
            tried(setting)
            name, _, value = setting.partition("=")
            with monkeypatch.context() as patch:
                if name:
                    patch.setenv(name, value)
                result = call(web(url), "fetch_url", url=f"{url}/secret")
            assert result.text.endswith("[TT6403]"), result.text
            assert "certificate" in result.text.lower()
    assert heard == []


# -- H12: ports of other services --------------------------------------------------------------------------------------

PORTS = [
    0, 1, 7, 21, 22, 23, 25, 53, 69, 79, 81, 110, 111, 135, 139, 143, 389, 445, 465, 587, 631, 873, 993, 1433, 1521,
    2049,
    2375, 2379, 3000, 3306, 3389, 4194, 5000, 5432, 5672, 5900, 5984, 6379, 6443, 8000, 8080, 8086, 8443, 8500, 9000,
    9092,
    9200, 10250, 11211, 15672, 27017, 50070, 65535,
]  # fmt: skip


@pytest.mark.variants(2 * len(PORTS))
def test_h12_no_port_but_those_of_the_web_is_asked() -> None:
    tools = web(names=Names({"site.example": ["8.8.8.8"]}))
    all_refused(
        [f"{scheme}://site.example:{port}/" for port in PORTS for scheme in ("http", "https")],
        "TT6402",
        "TT6401",
        tools=tools,
    )


# -- H13: bodies that unpack without end -------------------------------------------------------------------------------

ZEROS = b"\0" * 12_000_000


def bombs() -> dict[str, tuple[str, bytes]]:
    packed = gzip.compress(ZEROS, mtime=0)
    raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    small = gzip.compress(b"tea" * 1_000, mtime=0)
    ones = zlib.compress(b"ab" * 6_000_000)
    return {
        "gzip": ("gzip", packed),
        "gzip by its old name": ("x-gzip", packed),
        "in capitals": ("GZIP", packed),
        "zlib": ("deflate", zlib.compress(ZEROS)),
        "zlib of two letters": ("deflate", ones),
        "zlib as gzip": ("gzip", ones),
        "gzip as deflate": ("deflate", packed),
        "raw deflate": ("deflate", raw.compress(ZEROS) + raw.flush()),
        "twice": ("gzip, gzip", gzip.compress(packed)),
        "gzip in deflate": ("deflate, gzip", zlib.compress(packed)),
        "gzip of gzip, named once": ("gzip", gzip.compress(gzip.compress(ZEROS * 2))),
        "bzip2": ("bzip2", bz2.compress(ZEROS)),
        "lzma": ("xz", lzma.compress(ZEROS[:3_000_000])),
        "brotli": ("br", b"\x1b"),
        "zstd": ("zstd", b"\x28\xb5\x2f\xfd"),
        "compress": ("compress", b"\x1f\x9d"),
        "cut": ("gzip", packed[:-20]),
        "cut in half": ("gzip", packed[: len(packed) // 2]),
        "a wrong sum": ("gzip", small[:-8] + b"\0" * 8),
        "no gzip": ("gzip", b"tea"),
        "plain, named deflate": ("deflate", b"tea" * 9),
        "a wrong head": ("gzip", b"\x1f\x8b\x09" + packed[3:]),
        "identity in front": ("identity, gzip", packed),
        "a list of names": ("gzip;q=1, *", packed),
    }


@pytest.mark.variants(24)
def test_h13_no_body_unpacks_without_end() -> None:
    kinds = list(bombs().items())

    def answers(asked: Asked) -> Said:
        coding, body = kinds[int(asked.path[1:])][1]
        return Said(200, body, (*TEXT, ("content-encoding", coding)))

    with running(answers) as site:
        results = fetched(web(site.url), [f"{site.url}/{number}" for number in range(len(kinds))])
    passed: dict[str, str] = {}
    for (name, _), result in zip(kinds, results.values(), strict=True):
        tried(name)
        if not result.text.endswith(("[TT6403]", "[TT6408]", "[TT6409]")):
            passed[name] = result.text[:200]
    assert sorted(passed) == []


# -- H16: hosts of look-alike letters ----------------------------------------------------------------------------------

LOOK_ALIKES = [
    "g\u0456thub.com", "githu\u0184.com", "\u0261ithub.com", "git\u04bbub.com", "g\u0131thub.com", "\u0440aypal.com",
    "p\u0430ypal.com", "\u0430pple.com", "appl\u0435.com", "g\u03bfogle.com", "goo\u0261le.com", "go\u043egle.com",
    "micr\u043esoft.com", "\u043ccrosoft.com", "faceb\u03bfok.com", "am\u0430zon.com", "\u0455lack.com",
    "twitt\u0435r.com",
    "b\u0430nk.example", "ban\u043a.example", "l\u043egin.example", "\u03c1aypal.com", "ex\u0430mple.com",
    "exampl\u0117.com",
]  # fmt: skip


@pytest.mark.variants(len(LOOK_ALIKES))
def test_h16_a_lookalike_host_is_shown_and_resolved_in_its_ascii_form() -> None:
    names = Names({})
    results = fetched(web(names=names), [f"http://{host}/" for host in LOOK_ALIKES])
    for host, result in zip(LOOK_ALIKES, results.values(), strict=True):
        tried(host)
        assert host not in result.text, host
        assert "http://xn--" in result.text, result.text
    assert len({*names.asked}) == len(LOOK_ALIKES)
    assert all(host.startswith("xn--") and host.isascii() for host in names.asked)


# -- H17: proxies of the environment -----------------------------------------------------------------------------------

PROXIES = [
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "FTP_PROXY",
    "CGI_HTTP_PROXY",
]


@pytest.mark.variants(24)
def test_h17_no_proxy_of_the_environment_sees_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with (
        running(lambda asked: Said(200, "stolen", TEXT)) as proxy,
        running(lambda asked: Said(200, "tea", TEXT)) as site,
    ):
        places = [proxy.url, proxy.url.replace("http://", "socks5://"), proxy.url.removeprefix("http://")]
        for name, place in itertools.product(PROXIES, places):
            tried((name, place))
            with monkeypatch.context() as patch:
                patch.setenv(name, place)
                assert call(web(site.url), "fetch_url", url=site.url).value["text"] == "tea"
        assert proxy.asked == []
    assert not {*PROXIES} & {*os.environ}


# -- H19: secrets in the address that is asked -------------------------------------------------------------------------


@pytest.mark.variants(120)
def test_h19_no_secret_leaves_in_any_part_of_an_address() -> None:
    kinds = {text for kind, text in FAKES if kind not in ("private-key", "connection-password", "azure-key")}
    places = ("/?d={}", "/{}", "/a/{}/b", "/?a=1&b={}&c=2")
    with running(lambda asked: Said(200, "tea", TEXT)) as site:
        urls = [site.url + place.format(quote(text, safe="")) for text in sorted(kinds) for place in places]
        results = fetched(web(site.url), urls)
        sent = {asked.path for asked in site.asked}
    for url in results:
        tried(url)
    assert {url: one.text[:80] for url, one in results.items() if not one.text.endswith("[TT6450]")} == {}
    assert sent == set()


# -- H20: redirects, heads and cookies without end ---------------------------------------------------------------------


@pytest.mark.variants(20)
def test_h20_a_circle_of_redirects_ends_however_it_is_made() -> None:
    ways = list(itertools.product((301, 302, 303, 307, 308), (1, 2, 3, 7)))

    def answers(asked: Asked) -> Said:
        number, _, at = asked.path.strip("/").partition("/")
        status, length = ways[int(number)]
        return Said(
            status, "", (("location", f"/{number}/{(int(at or 0) + 1) % length}"), ("set-cookie", "a=b; Path=/"))
        )

    with running(answers) as site:
        results = fetched(web(site.url), [f"{site.url}/{number}" for number in range(len(ways))])
        for way in ways:
            tried(way)
        assert {one.text[-8:] for one in results.values()} == {"[TT6412]"}
        assert len(site.asked) == 6 * len(ways)
        assert all("cookie" not in each.headers for each in site.asked)


@pytest.mark.variants(6)
def test_h20_a_head_without_end_is_given_up_however_it_is_filled() -> None:
    heads = {
        "many headers": tuple((f"x-{number}", "y" * 8_000) for number in range(200)),
        "very many short ones": tuple((f"x-{number}", "y") for number in range(30_000)),
        "one name many times": (("x", "y" * 1_000),) * 1_000,
        "one long value": (("x", "y" * 2_000_000),),
        "many cookies": tuple(("set-cookie", f"a{number}={'b' * 4_000}") for number in range(300)),
        "one long name": (("x" * 2_000_000, "y"),),
    }
    for name, head in heads.items():
        tried(name)
        with running(lambda asked, head=head: Said(200, "tea", (*TEXT, *head))) as site:
            result = call(web(site.url), "fetch_url", url=site.url)
        assert result.text.endswith("[TT6403]"), name
