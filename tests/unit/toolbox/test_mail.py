"""The mail tools, with a real mail server: delivered messages, approval questions, and errors of failed deliveries."""

from __future__ import annotations

import asyncio
import email
import os
import signal
import ssl
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.policy import default
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from tooltrue import Client, ConfigurationError, Server, ToolError
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import Principal, RequestContext
from tooltrue_toolbox.mail import PASSWORD, Mail, MailServer, toolset

SENDER = "bot@acme.example"
ALLOWED = ("ann@example.com", "@acme.example")
MAIL: dict[str, Any] = {"to": ["ann@example.com"], "subject": "Minutes", "body": "Dear Ann,\n\nsee below.\n"}


def read(content: Any) -> EmailMessage:
    return email.message_from_bytes(content, policy=default)


class Post:
    """The messages that a mail server has accepted, and the failures that a test makes it answer with."""

    def __init__(self) -> None:
        self.taken: list[Envelope] = []
        self.refuses: dict[str, str] = {}
        self.answers = "250 taken"
        self.breaks_off = False

    async def handle_RCPT(self, server: SMTP, session: Any, envelope: Envelope, address: str, options: Any) -> str:
        if address in self.refuses:
            return self.refuses[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Envelope) -> str:
        if self.answers.startswith("250"):
            self.taken.append(envelope)
        if self.breaks_off:
            transport: Any = server.transport
            transport.abort()
        return self.answers

    def mails(self) -> list[EmailMessage]:
        return [read(envelope.content) for envelope in self.taken]


@asynccontextmanager
async def serving(post: Post, **settings: Any) -> AsyncGenerator[int]:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(post, loop=loop, hostname="mail", **settings), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


def sent(
    post: Post,
    *calls: dict[str, Any],
    agrees: Any = True,
    says: Callable[[Any], Any] | None = None,
    tool: str = "send_email",
    language: str = "en",
    at: Callable[[int], MailServer] = lambda port: MailServer("127.0.0.1", port, "none"),
    **settings: Any,
) -> list[Any]:
    """The results of calls to a server whose mail goes to ``post``. ``agrees`` is the person's answer to each
    approval question; ``says`` computes the answer instead."""

    async def conversation() -> list[Any]:
        async with serving(post, **settings) as port:
            server = Server("mail", toolsets=[toolset(at(port), SENDER, ALLOWED)], language=language)
            asked: list[str] = []

            def person(question: Any) -> Any:
                asked.append(question.message)
                if says is not None:
                    return says(question)
                return {"answer": "once"} if agrees else None

            async with Client(server, elicit=person) as client:
                return [*[await client.call_tool(tool, one) for one in calls], asked]

    return asyncio.run(asyncio.wait_for(conversation(), 30))


def text_of(message: EmailMessage) -> str:
    return message.get_content().replace("\r\n", "\n")


def mail(**settings: Any) -> Mail:
    return Mail(MailServer("127.0.0.1", 25, "none"), SENDER, ALLOWED, **settings)


def drafted(**arguments: Any) -> EmailMessage:
    said: dict[str, Any] = {"cc": [], **MAIL, **arguments}
    return mail()._message(**said)  # pyright: ignore[reportPrivateUsage]


def code_of(**arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        drafted(**arguments)
    return caught.value.code


# Delivered messages


def test_a_mail_arrives_as_it_was_given() -> None:
    post = Post()
    body = "Liebe Ann,\r\n.\r\n..\nFrom here 你好\r" + "long " * 500
    result, _ = sent(post, {**MAIL, "subject": "Grüße 你好", "body": body, "cc": ["Bob@ACME.example"]})
    assert result.value["recipients"] == ["ann@example.com", "Bob@ACME.example"]
    [envelope], [arrived] = post.taken, post.mails()
    assert (envelope.mail_from, envelope.rcpt_tos) == (SENDER, ["ann@example.com", "Bob@ACME.example"])
    assert {name: arrived[name] for name in ("From", "To", "Cc", "Subject", "Message-ID", "Auto-Submitted")} == {
        "From": SENDER,
        "To": "ann@example.com",
        "Cc": "Bob@ACME.example",
        "Subject": "Grüße 你好",
        "Message-ID": result.value["message_id"],
        "Auto-Submitted": "auto-generated",
    }
    assert text_of(arrived) == body.replace("\r\n", "\n").replace("\r", "\n") + "\n"


def test_the_date_is_that_of_the_clock() -> None:
    noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    message = mail(now=lambda: noon)._message(MAIL["to"], [], "a", "b")  # pyright: ignore[reportPrivateUsage]
    assert message["Date"].datetime == noon


def test_a_preview_shows_the_mail_and_sends_no_message() -> None:
    post = Post()
    result, asked = sent(post, {**MAIL, "body": "a\r\nb"}, tool="preview_email")
    size = result.value.pop("size")
    assert result.value == {"sender": SENDER, "to": MAIL["to"], "cc": [], "subject": "Minutes", "body": "a\nb"}
    assert size > 100
    assert (post.taken, asked) == ([], [])


@pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")  # of the test's own server
def test_an_smtp_login_uses_the_password_of_the_environment() -> None:
    seen: list[Any] = []

    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        seen.append((data.login, data.password))
        return AuthResult(success=data.password == b"right", handled=False)

    def at(password: str) -> Callable[[int], MailServer]:
        return lambda port: MailServer.at(f"smtp://bot%40acme@127.0.0.1:{port}", {PASSWORD: password})

    settings: dict[str, Any] = {"authenticator": check, "auth_required": True, "auth_require_tls": False}
    post = Post()
    result, _ = sent(post, MAIL, at=at("right"), **settings)
    assert not result.is_error
    assert seen == [(b"bot@acme", b"right")]
    result, _ = sent(post, MAIL, at=at("wrong"), **settings)
    assert result.text.endswith("[TT6722]")
    assert len(post.taken) == 1


# Failed deliveries


def test_one_refused_recipient_prevents_delivery_to_all_recipients() -> None:
    post = Post()
    post.refuses = {"eve@acme.example": "550 unknown"}
    result, _ = sent(post, {**MAIL, "cc": ["eve@acme.example"]})
    assert "eve@acme.example (answer 550). The mail was sent to no recipient." in result.text
    post.refuses = {"eve@acme.example": "450 later"}
    result, _ = sent(post, {**MAIL, "cc": ["eve@acme.example"]})
    assert result.text.endswith("try again in some minutes. [TT6724]")
    assert post.taken == []


@pytest.mark.parametrize(("answer", "code"), [("554 spam", "TT6722"), ("451 busy", "TT6725")])
def test_a_mail_that_the_server_does_not_take_was_not_sent(answer: str, code: str) -> None:
    post = Post()
    post.answers = answer
    result, _ = sent(post, MAIL)
    assert result.text.endswith(f"[{code}]")
    assert "The mail was not sent" in result.text


@pytest.mark.parametrize("answer", ["252 taken, and we shall see", "queued as 12"])
def test_an_answer_that_is_neither_a_yes_nor_a_no_leaves_it_open_and_says_so(answer: str) -> None:
    post = Post()
    post.answers = answer
    result, _ = sent(post, MAIL)
    assert "it may have been sent. Do not repeat the call" in result.text
    assert result.text.endswith("[TT6723]")


def test_a_connection_that_ends_in_the_middle_leaves_it_open_and_says_so() -> None:
    post = Post()
    post.breaks_off = True
    result, _ = sent(post, MAIL)
    assert "it may have been sent. Do not repeat the call" in result.text
    assert result.text.endswith("[TT6723]")


def test_a_server_that_is_not_there_or_not_safe_gets_nothing() -> None:
    post = Post()
    result, _ = sent(post, MAIL, at=lambda port: MailServer("127.0.0.1", 1, "none"))
    assert result.text.endswith("[TT6720]")
    result, _ = sent(post, MAIL, at=lambda port: MailServer("127.0.0.1", port, "starttls"))  # no STARTTLS there
    assert result.text.endswith("[TT6720]")
    assert post.taken == []


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://mail.example", "TT6701"),
        ("smtp://", "TT6701"),
        ("smtp://mail.example:99999", "TT6701"),
        ("smtp://mail.example/path", "TT6701"),
        ("smtp://bot:secret@mail.example", "TT6702"),
        ("smtp://bot@mail.example", "TT6703"),
    ],
)
def test_a_server_that_is_named_wrongly_is_refused(url: str, code: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        MailServer.at(url, {})
    assert caught.value.code == code
    assert "secret" not in str(caught.value)


def test_only_this_machine_gets_mail_without_tls() -> None:
    assert MailServer.at("smtp://mail.example", {}) == MailServer("mail.example", 587, "starttls")
    assert MailServer.at("smtps://mail.example", {}) == MailServer("mail.example", 465, "tls")
    assert MailServer.at("smtp://localhost:2525", {}) == MailServer("localhost", 2525, "none")
    with pytest.raises(ConfigurationError):
        Mail(MailServer("mail.example", 25, "none"), SENDER, ALLOWED)


@pytest.mark.parametrize(("sender", "allowed"), [("bot", ALLOWED), (SENDER, ()), (SENDER, ("*",)), (SENDER, ("a@b",))])
def test_settings_that_are_no_addresses_are_refused(sender: str, allowed: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError):
        Mail(MailServer("127.0.0.1", 25, "none"), sender, allowed)


# Attacks, and benign twins


@pytest.mark.parametrize(
    "subject", ["a\nBcc: eve@evil.example", "a\r\n\r\nbody", "a\rb", "a\u2028b", "a\x85b", "a\x00"]
)
def test_k01_a_subject_with_a_line_break_is_refused(subject: str) -> None:
    assert code_of(subject=subject) == "TT6712"
    result, asked = sent(Post(), {**MAIL, "subject": subject})
    assert result.is_error
    assert asked == []


@pytest.mark.parametrize(
    "subject",
    [
        "=?utf-8?q?a=0D=0ABcc:_eve@evil.example?=",
        "Re: =?utf-8?b?aGVsbG8=?=",
        "a =?utf-8?Q?=00?= b",
        "=?x?q?=E2=80=AE?=",
    ],
)
def test_k01_a_subject_that_is_written_in_code_is_refused(subject: str) -> None:
    assert code_of(subject=subject) == "TT6715"
    result, asked = sent(Post(), {**MAIL, "subject": subject})
    assert result.is_error
    assert asked == []


@pytest.mark.parametrize("subject", ["Bcc: eve@evil.example; " + "long " * 30, "Solve x=? or x=?b?=c", "=??= 二"])
def test_k01_twin_a_subject_that_reads_like_a_header_or_like_code_is_a_subject(subject: str) -> None:
    post = Post()
    sent(post, {**MAIL, "subject": subject})
    [arrived], [envelope] = post.mails(), post.taken
    assert arrived["Bcc"] is None
    assert arrived["Subject"] == subject
    assert envelope.rcpt_tos == ["ann@example.com"]


CODE = st.builds("=?{}?{}?{}?=".format, st.sampled_from(["utf-8", "x"]), st.sampled_from("qQbB"), st.text(max_size=20))


@given(st.lists(CODE | st.text(max_size=30), min_size=1, max_size=3).map(" ".join), st.text(min_size=1, max_size=200))
def test_k01_no_text_makes_another_header_or_another_recipient(subject: str, body: str) -> None:
    try:
        message = drafted(subject=subject, body=body)
    except ToolError:
        return
    arrived = read(message.as_bytes())
    assert list(arrived.keys()) == list(message.keys())
    assert arrived["To"] == "ann@example.com"
    assert str(message["Subject"]) == subject


@pytest.mark.parametrize(
    "address",
    [
        "eve@evil.example",
        "ann@example.com.evil.example",
        "ann@example.com@evil.example",
        "ann+x@example.com",
        "ann@example.com,eve@evil.example",
        "ann@example.com\neve@evil.example",
        '"ann@example.com"@evil.example',
        "ann@example.com <eve@evil.example>",
        "<ann@example.com>",
        "eve%evil.example@acme.example",
        "eve@sub.acme.example",
        "eve@acme.example.",
        "eve@аcme.example",
        "@acme.example",
        "-oQ/tmp@[127.0.0.1]",
    ],
)
def test_k02_an_address_that_only_looks_allowed_is_refused_before_anybody_is_asked(address: str) -> None:
    assert code_of(to=[address]) in ("TT6710", "TT6714")
    assert code_of(cc=[address]) in ("TT6710", "TT6714")
    post = Post()
    result, asked = sent(post, {**MAIL, "to": [address]})
    assert result.is_error
    assert (post.taken, asked) == ([], [])


def test_k02_twin_case_and_subaddresses_of_an_allowed_domain_are_allowed() -> None:
    for address in ("Ann@Example.COM", "bob+list@acme.example", "o'neill@ACME.example", "a.b_c@acme.example"):
        assert drafted(to=[address])["To"] == address
    assert code_of(to=["ann@example.com", "ANN@example.com"]) == "TT6711"


@pytest.mark.parametrize("end", ["\r\n.\r\n", "\n.\n", "\r.\r", "\n.\r\n", "\r\n.\r"])
def test_k03_a_body_that_ends_the_mail_early_arrives_as_one_mail(end: str) -> None:
    post = Post()
    smuggled = f"MAIL FROM:<{SENDER}>\r\nRCPT TO:<eve@evil.example>\r\nDATA\r\nSubject: two\r\n\r\nhello"
    sent(post, {**MAIL, "body": f"one{end}{smuggled}"})
    [arrived] = post.mails()
    assert "RCPT TO:<eve@evil.example>" in arrived.get_content()
    assert code_of(body="a\x00b") == "TT6713"


def test_k03_twin_lines_that_begin_with_a_dot_arrive_whole() -> None:
    post = Post()
    sent(post, {**MAIL, "body": ".\n..\n.hidden\n"})
    assert text_of(post.mails()[0]) == ".\n..\n.hidden\n"


def test_k04_a_mail_is_not_sent_without_approval() -> None:
    post = Post()
    refused, asked = sent(post, MAIL, agrees=False)
    assert refused.is_error
    assert "To: ann@example.com" in asked[0]
    assert "see below." in asked[0]
    assert post.taken == []


def test_k04_twin_a_mail_that_was_agreed_to_is_sent_once() -> None:
    post = Post()
    result, asked = sent(post, MAIL)
    assert not result.is_error, result.text
    assert (len(post.taken), len(asked)) == (1, 1)


def test_k04_a_yes_for_a_while_is_none_for_the_next_mail() -> None:
    post, answers = Post(), [{"answer": "session"}, False, True]
    results = sent(post, MAIL, MAIL, MAIL, says=lambda question: answers.pop(0))
    asked = results.pop()
    assert ["TT6717" in result.text for result in results] == [False, True, False]
    assert asked[1].startswith("Send this mail? It cannot be taken back.\n\nFrom: bot@acme.example\n")
    assert asked[1].endswith("Subject: Minutes\n\nDear Ann,\n\nsee below.\n")
    assert len(post.taken) == 2


@pytest.mark.parametrize(
    ("language", "cut", "sure"),
    [
        ("en", "(5000 characters, as above)", "Send this mail? It cannot be taken back."),
        ("zh", "（5000 个字符，同上）", "是否发送这封邮件？发送后无法撤回。"),
    ],
)
def test_k04_an_approval_question_for_a_mail_is_in_the_language_of_the_server(
    language: str, cut: str, sure: str
) -> None:
    answers = [{"answer": "session"}, True]
    long = {**MAIL, "body": "x" * 5_000}
    *_, asked = sent(Post(), long, long, says=lambda question: answers.pop(0), language=language)
    assert asked[0].endswith(cut)
    assert asked[1].startswith(sure)


def test_k04_a_client_without_elicitation_cannot_send_a_mail() -> None:
    post = Post()

    async def alone() -> str:
        async with serving(post) as port:
            tools = toolset(MailServer("127.0.0.1", port, "none"), SENDER, ALLOWED)
            server = Server("mail", toolsets=[tools]).with_guard(confirm=Confirm.never())
            async with Client(server) as client:
                return (await client.call_tool("send_email", MAIL)).text

    assert "[TT2403]" in asyncio.run(alone())
    assert post.taken == []


@pytest.mark.parametrize("tool", ["send_email", "preview_email"])
def test_a_secret_is_not_sent(tool: str) -> None:
    post = Post()
    result, asked = sent(post, {**MAIL, "body": "the token is ghp_" + "a1B2" * 9}, tool=tool)
    assert "TT6450" in result.text
    assert (post.taken, asked) == ([], [])


# On the way


def certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that vouches for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail")])
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(datetime.now(UTC) - timedelta(1)).not_valid_after(datetime.now(UTC) + timedelta(1))
    address = x509.IPAddress(ip_address("127.0.0.1"))
    made = made.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    plain = (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = folder / "both.pem"
    path.write_bytes(made.sign(key, SHA256()).public_bytes(Encoding.PEM) + key.private_bytes(*plain))
    return path


def test_mail_goes_by_tls_to_a_server_that_the_certificate_names_and_to_no_other(tmp_path: Path) -> None:
    pem = certificate(tmp_path)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(pem)
    knows = ssl.create_default_context(cafile=str(pem))
    settings: dict[str, Any] = {"tls_context": own, "require_starttls": True}
    post = Post()
    taken, _ = sent(post, MAIL, at=lambda port: MailServer("127.0.0.1", port, context=knows), **settings)
    assert not taken.is_error, taken.text
    for server in (("127.0.0.1", None), ("localhost", knows)):
        host, context = server
        refused, _ = sent(post, MAIL, at=lambda port, h=host, c=context: MailServer(h, port, context=c), **settings)
        assert refused.text.endswith("[TT6720]")
    assert len(post.taken) == 1


def test_a_call_that_is_cancelled_ends_the_conversation_with_the_mail_server() -> None:
    class Slow(Post):
        def __init__(self) -> None:
            super().__init__()
            self.asked, self.left = asyncio.Event(), asyncio.Event()

        async def handle_RCPT(self, server: SMTP, session: Any, envelope: Envelope, address: str, options: Any) -> str:
            self.asked.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
            raise AssertionError

    async def conversation() -> list[Envelope]:
        post = Slow()
        async with serving(post) as port:
            mail = Mail(MailServer("127.0.0.1", port, "none"), SENDER, ALLOWED)
            agreed = RequestContext(Principal("ann"), SILENT, agreed=True)
            call = asyncio.create_task(mail.send_email(MAIL["to"], MAIL["subject"], MAIL["body"], agreed))
            await post.asked.wait()
            call.cancel()
            await asyncio.wait([call])
            await post.left.wait()
            assert call.cancelled()
            return post.taken

    assert asyncio.run(asyncio.wait_for(conversation(), 30)) == []


# Crashes

SENDING = """
import asyncio, sys
from tooltrue_toolbox.mail import Mail, MailServer
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
mail = Mail(MailServer("127.0.0.1", int(sys.argv[1]), "none"), "bot@acme.example", ["@acme.example"])
agreed = RequestContext(LOCAL, SILENT, agreed=True)
asyncio.run(mail.send_email(["ann@acme.example"], "Minutes", "see below.\\n" * 9000, agreed, cc=["bob@acme.example"]))
"""


class Killing(SMTP):
    """Kills the process that sends when it has heard from it ``when`` times."""

    def __init__(self, post: Post, when: int) -> None:
        super().__init__(post, hostname="mail")
        self.sender: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.gone = asyncio.Event()
        self._left = when

    def data_received(self, data: bytes) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(self.sender.result(), signal.SIGKILL)
        super().data_received(data)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        self.gone.set()


@pytest.mark.process
def test_a_kill_during_sending_delivers_a_mail_to_all_recipients_or_to_no_recipient() -> None:
    """The process is killed at each of its words to the mail server in turn, until it comes to its end."""

    async def ended(post: Post, when: int) -> int:
        smtp = Killing(post, when)
        server = await asyncio.get_running_loop().create_server(lambda: smtp, "127.0.0.1", 0)
        async with server:
            port = server.sockets[0].getsockname()[1]
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", SENDING, str(port))
            smtp.sender.set_result(process.pid)
            status = await process.wait()
            await smtp.gone.wait()
        return status

    seen = set[int]()
    for when in range(1, 30):
        post = Post()
        status = asyncio.run(asyncio.wait_for(ended(post, when), 30))
        for envelope, message in zip(post.taken, post.mails(), strict=True):
            assert envelope.rcpt_tos == ["ann@acme.example", "bob@acme.example"]
            assert text_of(message) == "see below.\n" * 9000
        seen.add(len(post.taken))
        if status == 0:
            break
        assert status == -signal.SIGKILL
    else:
        pytest.fail("it never came to its end")
    assert seen == {0, 1}
