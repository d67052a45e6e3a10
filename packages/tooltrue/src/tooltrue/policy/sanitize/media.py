"""Checks of binary content and links: whether bytes are of their declared type, and where a link may lead."""

from __future__ import annotations

import binascii
import ipaddress
import re
import socket
import unicodedata
from urllib.parse import unquote, urlsplit

from tooltrue.protocol.media_types import OTHER_NAMES, type_of_bytes
from tooltrue.transport.addresses import is_public, parse

__all__ = ["bytes_problem", "is_inside", "link_problem"]


def bytes_problem(mime_type: str, digits: str) -> str | None:
    """Return the problem with these bytes of this type, in base64: invalid base64, an SVG picture, or another known
    type."""
    try:
        data = binascii.a2b_base64(digits, strict_mode=True)
    except (binascii.Error, ValueError):
        return "it is not base64"
    if len(digits) % 4 or digits.endswith("==="):  # strict mode accepts more padding than there may be
        return "it is not base64"
    declared = mime_type.partition(";")[0].strip().lower()
    if declared == "image/svg+xml":
        return "an SVG picture may run scripts; send it as text"
    if declared.startswith("text/") or declared.endswith(("+xml", "/xml", "/octet-stream")):
        return None
    actual = type_of_bytes(data)
    if actual is None or actual == OTHER_NAMES.get(declared, declared):
        return None
    return f"it is said to be {mime_type[:80]}, and is {actual}"


_SCRIPTS = frozenset({"javascript", "vbscript", "data", "blob", "about", "view-source"})
# Schemes whose host is a host of the network, whatever its form. In a custom scheme, as in `reports://2026`, a number
# is not an address.
_NETWORK = frozenset(
    [
        "http",
        "https",
        "ws",
        "wss",
        "ftp",
        "ftps",
        "sftp",
        "tftp",
        "ssh",
        "scp",
        "rsync",
        "telnet",
        "gopher",
        "gemini",
        "dict",
        "finger",
        "whois",
        "ldap",
        "ldaps",
        "smb",
        "cifs",
        "nfs",
        "afp",
        "dav",
        "davs",
        "webdav",
        "webdavs",
        "redis",
        "rediss",
        "memcached",
        "mongodb",
        "mongodb+srv",
        "postgres",
        "postgresql",
        "mysql",
        "mariadb",
        "mssql",
        "sqlserver",
        "oracle",
        "clickhouse",
        "cassandra",
        "couchbase",
        "couchdb",
        "neo4j",
        "bolt",
        "elasticsearch",
        "amqp",
        "amqps",
        "mqtt",
        "mqtts",
        "nats",
        "kafka",
        "stomp",
        "zookeeper",
        "etcd",
        "consul",
        "rtsp",
        "rtsps",
        "rtmp",
        "rtmps",
        "rtp",
        "mms",
        "sip",
        "sips",
        "xmpp",
        "irc",
        "ircs",
        "imap",
        "imaps",
        "pop",
        "pop3",
        "pop3s",
        "smtp",
        "smtps",
        "nntp",
        "git",
        "svn",
        "hg",
        "bzr",
        "cvs",
        "vnc",
        "rdp",
        "spice",
        "x11",
        "ipp",
        "ipps",
        "coap",
        "coaps",
        "tcp",
        "udp",
        "tls",
        "quic",
        "grpc",
        "docker",
        "snmp",
        "ntp",
        "dns",
        "syslog",
    ]
)
_BROWSED = frozenset({"http", "https", "ws", "wss", "ftp", "ftps", "sftp", "ssh"})  # they always have a host
_HERE = re.compile(
    r"(?:.*\.)?(?:localhost|local|internal|localdomain)"
    r"|.*\.(?:lan|intranet|corp|home|private|home\.arpa)"
    r"|(?:.*\.)?(?:localtest\.me|lvh\.me|vcap\.me|nip\.io|sslip\.io|xip\.io|traefik\.me)",
    re.IGNORECASE,
)
"""Names of internal networks, and public names that resolve to any address written in them."""
_NO_HOST = re.compile(r"[\x00-\x20\x7f-\xa0/\\@?#<>|^`\"]")
_UNCERTAIN = "which host it names is not certain"
_ADDRESS = re.compile(r"\[.*\]|[0-9a-fx]+(?:\.[0-9a-fx]+)+|0x[0-9a-f]+|[0-9]{8,}", re.IGNORECASE)
_INNER_URI = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def link_problem(uri: str) -> str | None:
    """Return why a client should not follow the link, unless this server itself serves it."""
    try:
        parts = urlsplit(uri)
        host = parts.hostname or ""
    except ValueError:
        return "it is no URI"
    scheme = parts.scheme.lower()
    if not scheme:
        return "it is no URI"
    if scheme in _SCRIPTS:
        return f"{scheme}: is no place"
    if scheme == "file":
        return "a file is not opened by its path"
    if not parts.netloc and (within := _uri_within(uri, scheme)):
        return link_problem(within)
    if scheme in _BROWSED and (not host or "\\" in uri):
        return _UNCERTAIN
    is_network = scheme in _NETWORK or scheme.partition("+")[0] in _NETWORK
    if is_network and not parts.netloc:
        host = _host_without_slashes(parts.path)
    return _host_problem(host, is_network=is_network)


def _host_without_slashes(path: str) -> str:
    """Return the host of a path as in `sip:ann@10.0.0.1:5060`."""
    return re.split("[:/;]", path.rpartition("@")[2], maxsplit=1)[0]


def _uri_within(uri: str, scheme: str) -> str | None:
    """Return the URI that follows another scheme, as in `jar:http://…` and `jdbc:mysql://…`."""
    rest = uri.lstrip()[len(scheme) + 1 :]
    return rest.lstrip(":") if "://" in rest and _INNER_URI.match(rest.lstrip(":")) else None


def _host_problem(host: str, *, is_network: bool) -> str | None:
    normalized = _as_read(host)
    if _NO_HOST.search(normalized):
        return _UNCERTAIN
    is_address = _ADDRESS.fullmatch(normalized) or parse(normalized) or normalized.lower() == "localhost"
    return f"{host[:80]} is of an inner network" if (is_network or is_address) and is_inside(host) else None


def is_inside(host: str) -> bool:
    """Return whether a host, as written, is this machine or on an internal network. No name is resolved."""
    host = _as_read(host)
    address = parse(host) or _ipv4(host)
    return _HERE.fullmatch(host) is not None if address is None else not is_public(address)


def _as_read(host: str) -> str:
    """Normalize a host as browsers do: unquoted, full-width and circled characters as plain ones, without a final
    dot."""
    return unicodedata.normalize("NFKC", unquote(host)).replace("\u3002", ".").translate(_IGNORED).rstrip(".")


_IGNORED: dict[int, None] = dict.fromkeys(
    (0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF)
)  # IDNA removes them from a name


def _ipv4(host: str) -> ipaddress.IPv4Address | None:
    """Parse an IPv4 address as browsers do: 127.1, 2130706433 and 0x7f000001 are 127.0.0.1."""
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):  # not an address, or a NUL or a lone surrogate in it
        return None
