"""Detection rates of secrets in each spelling, and the rate of false positives.

    python tests/security/spellings.py

prints both, with the missed secrets. The families are generated: each kind of `fake_secrets.py` and of `more_fakes`, in
each spelling. The benign texts are texts of people, programs and documents that resemble secrets.
"""

from __future__ import annotations

import base64
import functools
import gzip
import html
import json
import random
import re
import string
import sys
import textwrap
import unicodedata
import urllib.parse
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1]))

from support.fake_secrets import FAKES
from tooltrue.policy.sanitize.prescan import prescan
from tooltrue.policy.sanitize.redactor import Redactor

__all__ = ["SPELLINGS", "benign", "family", "is_masked", "more_fakes", "swept"]


def swept(text: str) -> str:
    suspicion = prescan(text.encode(), True)
    return Redactor(suspicion).text(text) if suspicion else text


# -- secrets -----------------------------------------------------------------------------------------------------------

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_B32 = string.ascii_uppercase + "234567"


def more_fakes() -> tuple[tuple[str, str], ...]:
    """Secrets of further families, made like those of `fake_secrets.py`."""
    made = random.Random("more")

    def some(count: int, signs: str = _ALNUM) -> str:
        lead = "7Q2x" if {"7", "Q", "x"} <= set(signs) else ""
        return lead[:count] + "".join(made.choice(signs) for _ in range(count - len(lead)))

    hexed = lambda count: some(count, _HEX)  # noqa: E731
    dashed = "-".join(hexed(count) for count in (8, 4, 4, 4, 12))
    lines = "\r\n".join(some(64) for _ in range(3))
    return (
        ("docker-token", "dckr" + "_pat_" + some(27)),
        ("fly-token", "fo1" + "_" + some(43)),
        ("fly-token", "fm2" + "_" + some(120)),
        ("gitlab-token", "GR1348941" + some(20)),
        ("gitlab-token", "glrt" + "-" + some(20)),
        ("terraform-token", some(14) + ".atlasv1." + some(64)),
        ("twilio-key", "SK" + hexed(32)),
        ("mailgun-key", "key" + "-" + hexed(32)),
        ("rubygems-key", "rubygems" + "_" + hexed(48)),
        ("crates-token", "cio" + some(32)),
        ("netlify-token", "nfp" + "_" + some(36)),
        ("planetscale-token", "pscale" + "_tkn_" + some(43)),
        ("dynatrace-token", "dt0c01" + "." + "B3" + some(22, _B32) + "." + "C5" + some(62, _B32)),
        ("doppler-token", "dp.pt" + "." + some(43)),
        ("discord-token", "MTk4" + some(20) + "." + some(6) + "." + some(38)),
        ("square-token", "sq0atp" + "-" + some(22)),
        ("plaid-token", "access" + "-production-" + dashed),
        ("airtable-token", "pat" + some(14) + "." + hexed(64)),
        ("figma-token", "figd" + "_" + some(43)),
        ("sentry-token", "sntryu" + "_" + hexed(64)),
        ("sonar-token", "squ" + "_" + hexed(40)),
        ("circleci-token", "CCIPAT" + "_" + some(22) + "_" + hexed(40)),
        ("nvidia-key", "nvapi" + "-" + some(64)),
        ("tavily-key", "tvly" + "-" + some(32)),
        ("tailscale-key", "tskey" + "-auth-" + some(17) + "-" + some(32)),
        ("brevo-key", "xkeysib" + "-" + hexed(64) + "-" + some(16)),
        ("azure-secret", some(3) + "8Q" + "~" + some(34)),
        ("private-key", "PuTTY-User-Key-File-3: x\r\nPrivate" + f"-Lines: 3\r\n{lines}\r\nPrivate-MAC: {hexed(64)}"),
        ("authorization", "Authorization: Bearer " + some(32)),
        ("authorization", "Authorization: Basic " + base64.b64encode(f"ann:{some(12)}".encode()).decode()),
        ("cookie", "Set-Cookie: sid=" + some(32) + "; Path=/; HttpOnly"),
        ("cookie", "Cookie: lang=en; session_id=" + some(32)),
        ("password", "password=" + some(9) + "!x"),
        ("password", '"password": "' + some(12) + '"'),
        ("connection-password", "postgres://bob:p@ss" + some(5) + "@db.corp:5432/shop"),
        ("named-key", "API_KEY=" + some(32)),
        ("named-key", '"client_secret": "' + some(40) + '"'),
    )  # fmt: skip


# -- spellings ---------------------------------------------------------------------------------------------------------


def _middle(text: str) -> int:
    """A place within the token, behind its beginning."""
    return max(2, min(len(text) * 2 // 3, len(text) - 3))


def _split(by: str) -> Callable[[str], str]:
    return lambda text: text[: _middle(text)] + by + text[_middle(text) :]


def _each(write: Callable[[str], str], which: str = "_-.:/@") -> Callable[[str], str]:
    """Rewrite each of these characters, or the second character of a text that has none of them."""

    def spelled(text: str) -> str:
        if any(sign in which for sign in text):
            return "".join(write(sign) if sign in which else sign for sign in text)
        return text[0] + write(text[1]) + text[2:]

    return spelled


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _wrapped(width: int, indent: str) -> Callable[[str], str]:
    return lambda text: (
        "data:\n" + textwrap.indent("\n".join(textwrap.wrap(_base64(f"first: {text} and then some"), width)), indent)
    )


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "base64": _base64,
    "base64 of a sentence": lambda text: _base64(f"The value is {text}, keep it."),
    "base64 of umlauts": lambda text: _base64(f"Schlüssel für Jörg: {text} (geheim)"),
    "base64 of chinese": lambda text: _base64(f"密钥是 {text} 请保管"),
    "base64, no padding": lambda text: _base64(f"x {text}").rstrip("="),
    "base64url": lambda text: base64.urlsafe_b64encode(f"~~~ {text} ???".encode()).decode(),
    "base64 wrapped": _wrapped(76, ""),
    "base64 indented": _wrapped(60, "    "),
    "base64 indented by tabs": _wrapped(40, "\t"),
    "base64 quoted by mail": _wrapped(64, "> "),
    "base64 twice": lambda text: _base64(_base64(text)),
    "base64 of gzip": lambda text: base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode(),
    "base64 of zlib": lambda text: base64.b64encode(zlib.compress(text.encode())).decode(),
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16")).decode(),
    "base64 in a path": lambda text: f"/files/{_base64(text)}",
    "base64 in a data URI": lambda text: f"data:text/plain;base64,{_base64(text)}",
    "base64 of hex": lambda text: _base64(text.encode().hex()),
    "hex": lambda text: text.encode().hex(),
    "HEX": lambda text: text.encode().hex().upper(),
    "hex, blanks": lambda text: text.encode().hex(" "),
    "hex, colons": lambda text: text.encode().hex(":"),
    "hex, dashes": lambda text: text.encode().hex("-"),
    "hex, 0x": lambda text: ", ".join(f"0x{byte:02x}" for byte in text.encode()),
    "hex, 0x once": lambda text: "0x" + text.encode().hex(),
    "hex in lines": lambda text: "\n".join(textwrap.wrap(text.encode().hex(" "), 47)),
    "\\x of all": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "\\x of some": _each(lambda sign: f"\\x{ord(sign):02x}"),
    "\\u of some": _each(lambda sign: f"\\u{ord(sign):04x}"),
    "\\u of all": lambda text: "".join(f"\\u{ord(sign):04x}" for sign in text),
    "\\u{}": _each(lambda sign: f"\\u{{{ord(sign):x}}}"),
    "octal": _each(lambda sign: f"\\{ord(sign):03o}"),
    "octal of all": lambda text: "".join(f"\\{ord(sign):03o}" for sign in text),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text).replace("_", "\\u005f").replace("-", "\\u002d")),
    "entities, decimal": _each(lambda sign: f"&#{ord(sign)};"),
    "entities, hex": _each(lambda sign: f"&#x{ord(sign):x};"),
    "entities of all": lambda text: "".join(f"&#{ord(sign)};" for sign in text),
    "percent": _each(lambda sign: f"%{ord(sign):02X}"),
    "percent of all": lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    "percent twice": _each(lambda sign: f"%25{ord(sign):02X}"),
    "in a URL": lambda text: "https://x.example/?q=" + urllib.parse.quote(text, safe=""),
    "wide": lambda text: "".join(chr(ord(sign) + 0xFEE0) if "!" <= sign <= "~" else sign for sign in text),
    "wide in part": _each(lambda sign: chr(ord(sign) + 0xFEE0), "_-.gkpsA:"),
    "bold": lambda text: "".join(chr(0x1D5D4 + ord(sign) - 65) if "A" <= sign <= "Z" else sign for sign in text),
    "zero width": lambda text: "\u200b".join(text),
    "soft hyphen": _split("\u00ad"),
    "word joiner": _split("\u2060"),
    "tab": _split("\t"),
    "carriage return": _split("\r"),
    "line": _split("\n"),
    "CRLF and blanks": _split("\r\n    "),
    "U+2028": _split("\u2028"),
    "U+2029": _split("\u2029"),
    "next line": _split("\u0085"),
    "<wbr>": _split("<wbr>"),
    "numbered lines": lambda text: "\n".join(
        f"{number}: {text[at : at + 12]}" for number, at in enumerate(range(0, len(text), 12), 9)
    ),
    "numbers and tabs": lambda text: f"    12\t{text[: _middle(text)]}\n    13\t{text[_middle(text) :]}",
    "a numbered line": lambda text: f"  12: {text}",
    "put together": lambda text: f'"{_split(chr(34) + " + " + chr(34))(text)}"',
    "put together, tight": lambda text: f"'{_split(chr(39) + '+' + chr(39))(text)}'",
    "side by side": lambda text: f'("{_split(chr(34) + " " + chr(34))(text)}")',
    "put together in lines": lambda text: f'"{_split(chr(34) + " +" + chr(10) + "    " + chr(34))(text)}"',
    "behind a letter": lambda text: f"x{text}",
    "behind a word": lambda text: f"token{text}",
    "in JSON": lambda text: json.dumps({"a": f"x\n{text}\ny"}),
    "in a table": lambda text: f"| name | {text} |",
    "in markup": lambda text: f"<td>{text}</td>",
    "UTF-16 as bytes": lambda text: "\0".join(text),
}

_WHOLE = ("password", "authorization", "cookie", "named-key", "connection-password", "azure-key", "aws-secret-key")
"""Known by what stands before them: dividing or gluing makes other words of that."""
_OF_TOKENS = [
    "tab",
    "carriage return",
    "line",
    "CRLF and blanks",
    "U+2028",
    "U+2029",
    "next line",
    "<wbr>",
    "numbered lines",
    "numbers and tabs",
    "put together",
    "put together, tight",
    "side by side",
    "put together in lines",
    "behind a letter",
    "behind a word",
]
_PIECE = 10
"""So much of a secret in a row is too much to be left."""
_MASK = re.compile(r"\[secret masked: [^\]]*\]")


@functools.cache
def _core(secret: str) -> str:
    """The secret part of a text: the part that redaction masks in the plain spelling."""
    clean = swept(secret)
    mask = _MASK.search(clean)
    return secret[mask.start() : len(secret) - len(clean) + mask.end()] if mask else secret


def is_masked(secret: str, spelling: str) -> bool:
    """Whether the text is masked and the remaining text does not reveal the secret."""
    clean = swept(SPELLINGS[spelling](secret))
    if not _MASK.search(clean):
        return False
    core, left = _core(secret), _MASK.sub(" | ", clean)
    pieces = {core[at : at + _PIECE] for at in range(max(1, len(core) - _PIECE + 1))}
    pieces = {piece for piece in pieces if not re.search(r"\s", piece)}
    return not any(piece in reading for reading in _readings(left) for piece in pieces)


def _readings(text: str) -> Iterator[str]:
    """Decodings of a text that an attacker can compute with little effort."""
    text = unicodedata.normalize("NFKC", text)
    for plain in (text, html.unescape(text), urllib.parse.unquote(urllib.parse.unquote(text)), _unescaped(text)):
        yield plain
        yield re.sub(r"<wbr>|\d+[:\t]|[^\w=/+.~!@#$%^&*:-]", "", plain)
    for run in re.findall(r"[\w+/=-]{14,}", re.sub(r"\s", "", text)):
        for start in range(4):
            digits = re.sub("[^A-Za-z0-9+/]", "", run[start:].replace("-", "+").replace("_", "/"))
            yield base64.b64decode(digits[: len(digits) & ~3]).decode("latin-1")
    digits = re.sub(r"0x|[^0-9a-fA-F]", "", text)
    yield bytes.fromhex(digits[: len(digits) & ~1]).decode("latin-1")


def _unescaped(text: str) -> str:
    text = re.sub(r"\\+(?:x|u00|u\{)([0-9a-fA-F]{2})\}?", lambda found: chr(int(found[1], 16)), text)
    return re.sub(r"\\([01][0-7]{2})", lambda found: chr(int(found[1], 8)), text)


def family() -> Iterator[tuple[str, str, str]]:
    """The kind, the secret and the spelling of each."""
    for kind, secret in (*FAKES, *more_fakes()):
        for spelling in SPELLINGS:
            is_divided = spelling in _OF_TOKENS
            if not (is_divided and (kind in _WHOLE or kind.endswith(("-webhook", "private-key")))):
                yield kind, secret, spelling


# -- benign texts ------------------------------------------------------------------------------------------------------

_BENIGN = Path(__file__).parent / "benign"


def benign() -> list[str]:
    """Texts without secrets."""
    made = random.Random("benign")
    texts = [line for path in sorted(_BENIGN.iterdir()) for line in path.read_text(encoding="utf-8").splitlines()]
    texts += [path.read_text(encoding="utf-8") for path in sorted(_BENIGN.iterdir())]
    for size in range(12, 400, 4):
        data = made.randbytes(size)
        texts += (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode(), data.hex(), data.hex(" "))
        texts.append(base64.encodebytes(data).decode())
        texts.append(base64.b64encode(gzip.compress(data, mtime=0)).decode())
        texts.append(f"integrity sha512-{base64.b64encode(made.randbytes(64)).decode()}")
        texts.append(f"commit {made.randbytes(20).hex()}\nindex {made.randbytes(4).hex()}..{made.randbytes(4).hex()}")
        texts.append(str(uuid.UUID(bytes=made.randbytes(16))))
        texts.append(f"https://cdn.example.com/{made.randbytes(16).hex()}/app.{made.randbytes(5).hex()}.js?v={size}")
        texts.append(f'<img src="data:image/png;base64,iVBORw0KGgo{base64.b64encode(data).decode()}">')
        texts.append(base64.b64encode(f"A sentence of {size} words, for the birds.".encode()).decode())
        texts.append(f"cursor=eyJ{base64.urlsafe_b64encode(data[:24]).decode()}")
        texts.append(
            f"{size}\t{made.randbytes(20).hex()}\t{made.randbytes(16).hex()}\n{size + 1}\t{made.randbytes(20).hex()}"
        )
        texts.append(", ".join(f"0x{byte:02x}" for byte in data))
    return texts


# -- the figures -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Prints the figures, and the missed secrets by spelling and by kind."""
    missed: dict[str, list[str]] = {}
    for kind, secret, spelling in family():
        if not is_masked(secret, spelling):
            missed.setdefault(spelling, []).append(kind)
    for spelling, kinds in sorted(missed.items(), key=lambda row: -len(row[1])):
        print(f"missed {len(kinds):3} {spelling}: {', '.join(sorted(set(kinds)))}")
    for text in benign():
        if (clean := swept(text)) != text:
            print("false alarm:", ascii(text[:120]), "→", ascii(clean[:160]))
    total = sum(1 for _ in family())
    found = total - sum(map(len, missed.values()))
    print(f"secrets masked: {found} of {total} ({found / total:.1%}), in {len(SPELLINGS)} spellings")


if __name__ == "__main__":
    main()
