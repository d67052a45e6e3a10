"""The mail tools: a plain-text mail to recipients that the operator has allowed, by SMTP. Extra ``mail``.

A person is asked before each mail, regardless of all settings, and sees the mail as it would be sent. It is sent to all
of its recipients or to none. If the outcome is unknown (the connection ended while the server was taking the mail), the
error says so, since a retry might send a second mail.

The owner of ``aiosmtplib``.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from typing import Annotated, Any, Final, Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field
from typing_extensions import TypedDict  # pydantic rejects the one of typing before Python 3.12

from tooltrue.errors import ConfigurationError, NeedsAgreement, ToolError
from tooltrue.extras import install_command
from tooltrue.tools.binding.forms import Form
from tooltrue.tools.bounds import Rate
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import Context
from tooltrue.wording import Worded, sentence
from tooltrue_toolbox.distribution import DISTRIBUTION
from tooltrue_toolbox.registration import add_tools, preview_of, tool
from tooltrue_toolbox.wording import (
    DUPLICATE_MAIL_RECIPIENT,
    LABEL_MAIL_BODY_ELIDED,
    MAIL_ADDRESS_INVALID,
    MAIL_ADDRESS_SETTING_INVALID,
    MAIL_APPROVAL_IMPOSSIBLE,
    MAIL_BODY_CONTROL_CHARACTER,
    MAIL_DEFERRED,
    MAIL_DELIVERY_UNKNOWN,
    MAIL_DENIED_BY_USER,
    MAIL_EXTRA_MISSING,
    MAIL_PASSWORD_IN_URL,
    MAIL_PASSWORD_MISSING,
    MAIL_RECIPIENT_DEFERRED,
    MAIL_RECIPIENT_NOT_ALLOWED,
    MAIL_RECIPIENT_REJECTED,
    MAIL_RECIPIENTS_NOT_CONFIGURED,
    MAIL_REJECTED,
    MAIL_SERVER_SETTING_INVALID,
    MAIL_SERVER_UNREACHABLE,
    MAIL_SUBJECT_CONTROL_CHARACTER,
    MAIL_SUBJECT_ENCODED_WORD,
    QUESTION_SEND_MAIL,
    REASON_MAIL_ANSWER_INVALID,
    REASON_MAIL_URL_INVALID,
    REASON_MAIL_WITHOUT_TLS,
)

try:
    import aiosmtplib
except ModuleNotFoundError as missing:
    raise ConfigurationError.of(MAIL_EXTRA_MISSING, command=install_command("mail", DISTRIBUTION)) from missing

__all__ = ["PASSWORD", "Mail", "MailServer", "toolset"]

PASSWORD: Final = "TOOLTRUE_SMTP_PASSWORD"
"""The environment variable that holds the password of the mail server."""

Security = Literal["tls", "starttls", "none"]

_PORTS: Final[dict[Security, int]] = {"tls": 465, "starttls": 587, "none": 25}
_SCHEMES: Final[dict[str, Security]] = {"smtps": "tls", "smtp": "starttls"}
_SECONDS: Final = 20.0
"""For each step of the conversation with the server."""
_MOST: Final = 10
_PREVIEW_CHARACTERS: Final = 1000
"""Characters of a body that the preview shows, beside the arguments; a longer body is shown only in the arguments."""

# No quoted local parts, no routes, no comments and no letters beyond ASCII, so that an address cannot look like another
# one.
_LOCAL: Final = r"[A-Za-z0-9_+'&=-]+(?:\.[A-Za-z0-9_+'&=-]+)*"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = rf"{_LABEL}(?:\.{_LABEL})+"
_ADDRESS: Final = rf"^{_LOCAL}@{_DOMAIN}$"
_ONE_LINE: Final = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$"
_HIDDEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

Recipient = Annotated[str, Field(pattern=_ADDRESS, max_length=254)]
Recipients = Annotated[list[Recipient], Field(max_length=_MOST)]

To = Annotated[
    list[Recipient],
    "Addresses that get it, e.g. ['ann@example.com']; ask the user for them, never guess",
    Field(min_length=1, max_length=_MOST, json_schema_extra={"uniqueItems": True}),
]
Cc = Annotated[
    list[Recipient],
    "Addresses that get a copy; all recipients see them",
    Field(max_length=_MOST, json_schema_extra={"uniqueItems": True}),
]
Subject = Annotated[str, "What it is about, on one line", Field(min_length=1, max_length=200, pattern=_ONE_LINE)]
Body = Annotated[str, "The text, plain: no HTML, no attachments", Field(min_length=1, max_length=100_000)]


@dataclass(frozen=True, slots=True)
class MailServer:
    """The server for outgoing mail. ``none`` is for a server on this machine alone; certificates are always checked."""

    host: str
    port: int
    security: Security = "starttls"
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    context: ssl.SSLContext | None = None

    @classmethod
    def at(cls, url: str, environment: Mapping[str, str] | None = None) -> MailServer:
        """The server of ``smtp://[user@]host[:port]`` (STARTTLS) or ``smtps://…`` (TLS), with the password from the
        environment. ``ConfigurationError`` for any other URL."""
        environment = os.environ if environment is None else environment
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise ConfigurationError.of(MAIL_SERVER_SETTING_INVALID, problem=str(error)) from error
        if parts.scheme not in _SCHEMES or not host or parts.path.strip("/") or parts.query or parts.fragment:
            raise ConfigurationError.of(MAIL_SERVER_SETTING_INVALID, problem=Worded(REASON_MAIL_URL_INVALID, {}))
        if parts.password is not None:
            raise ConfigurationError.of(MAIL_PASSWORD_IN_URL, variable=PASSWORD)
        security = _SCHEMES[parts.scheme]
        if security == "starttls" and _is_here(host):
            security = "none"
        username = unquote(parts.username) if parts.username else None
        password = environment.get(PASSWORD)
        if username is not None and password is None:
            raise ConfigurationError.of(MAIL_PASSWORD_MISSING, variable=PASSWORD)
        return cls(host, port or _PORTS[security], security, username, password)


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class MailDraft(TypedDict):
    """A mail as it would go out."""

    sender: str
    to: list[str]
    cc: list[str]
    subject: str
    body: str
    size: Annotated[int, Field(description="Bytes of the whole mail", ge=1)]


class SentMail(TypedDict):
    """A mail that the server has taken. Whether it arrives is another matter."""

    message_id: Annotated[str, Field(description="Names this mail; tell it to the user if they ask")]
    recipients: Annotated[list[str], Field(description="All who get it")]


def _utc() -> datetime:
    return datetime.now(UTC)


_EXAMPLE: Final = {
    "to": ["ann@example.com"],
    "subject": "Minutes of Monday",
    "body": "Dear Ann,\n\nthey are below.\n",
}


class Mail:
    """The tools that send from ``sender`` by ``server`` to ``allowed``: addresses, or ``@domain`` for all of a domain.

    ``ConfigurationError`` where one of these is no address, or ``allowed`` is empty.
    """

    def __init__(
        self, server: MailServer, sender: str, allowed: Sequence[str], *, now: Callable[[], datetime] = _utc
    ) -> None:
        self._server = server
        self._sender = sender
        self._allowed = frozenset(map(str.lower, allowed))
        self._now = now
        if server.security == "none" and not _is_here(server.host):
            raise ConfigurationError.of(MAIL_SERVER_SETTING_INVALID, problem=Worded(REASON_MAIL_WITHOUT_TLS, {}))
        if not re.fullmatch(_ADDRESS, sender):
            raise ConfigurationError.of(MAIL_ADDRESS_SETTING_INVALID, what=sender)
        if not allowed:
            raise ConfigurationError.of(MAIL_RECIPIENTS_NOT_CONFIGURED)
        for entry in allowed:
            if not re.fullmatch(rf"(?:{_LOCAL})?@{_DOMAIN}", entry):
                raise ConfigurationError.of(MAIL_ADDRESS_SETTING_INVALID, what=entry)

    @tool(
        effect="read",
        idempotent=True,
        title="Preview an email",
        sends=True,  # it does not send, but refuses the same mails as send_email
        examples=(_EXAMPLE,),
        blocking=False,
        excused={"TT9763": "It composes an email, here, and reaches nobody."},
    )
    def preview_email(self, to: To, subject: Subject, body: Body, cc: Cc = []) -> MailDraft:  # noqa: B006 - never changed
        """Preview an email without sending it (预览邮件, 不发送): what send_email would send, with all checks.

        Use when the user wants to see a mail first, or to find out whether it may be sent. Not for sending: use
        send_email. Side effects: none; nothing leaves this machine.
        """
        message = self._message(to, cc, subject, body)
        return MailDraft(
            sender=self._sender, to=to, cc=cc, subject=subject, body=_lines(body), size=len(message.as_bytes())
        )

    @tool(
        effect="open-world",
        idempotent=False,
        open_world=True,
        title="Send an email",
        sends=True,
        confirm=True,
        seconds=120.0,
        rate=Rate(per_second=20 / 3600, burst=10),
        examples=(_EXAMPLE,),
    )
    async def send_email(self, to: To, subject: Subject, body: Body, context: Context, cc: Cc = []) -> SentMail:  # noqa: B006
        """Send an email as plain text (发送邮件).

        Use when the user asks to send a mail, and has said to whom and what. Not for trying out: use preview_email.
        Side effects: sends a real mail that cannot be taken back, visible to all recipients; the user is asked first.
        Every call sends another one, so do not repeat it unless the result says that nothing was sent. Limits: 10
        recipients each in to and cc, only those that the operator allows.
        """
        message = self._message(to, cc, subject, body)
        _ask(f"{_headers(message)}\n{_lines(body)}", context)
        recipients = [*to, *cc]
        await _submit(self._server, self._sender, recipients, message.as_bytes())
        return SentMail(message_id=str(message["Message-ID"]), recipients=recipients)

    @preview_of(send_email)
    def preview(self, arguments: dict[str, Any]) -> str | Worded:
        """The mail, for the person who is asked. ``ToolError`` for one that would be refused, before the person is
        asked."""
        message = self._message(arguments["to"], arguments.get("cc", []), arguments["subject"], arguments["body"])
        headers, body = _headers(message), _lines(arguments["body"])
        if len(body) > _PREVIEW_CHARACTERS:
            return Worded(LABEL_MAIL_BODY_ELIDED, {"headers": headers, "count": len(body)})
        return f"{headers}\n{body}"

    def _message(self, to: Sequence[str], cc: Sequence[str], subject: str, body: str) -> EmailMessage:
        """The mail. ``ToolError`` where it may not be sent."""
        for name, addresses in (("to", to), ("cc", cc)):
            for number, address in enumerate(addresses):
                self._check(f"$.{name}[{number}]", address)
        if len({address.lower() for address in (*to, *cc)}) < len(to) + len(cc):
            raise ToolError.of(DUPLICATE_MAIL_RECIPIENT)
        if not re.fullmatch(_ONE_LINE, subject):
            raise ToolError.of(MAIL_SUBJECT_CONTROL_CHARACTER)
        if _HIDDEN.search(body):
            raise ToolError.of(MAIL_BODY_CONTROL_CHARACTER)
        message = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
        message["From"] = Address(addr_spec=self._sender)
        message["To"] = [Address(addr_spec=address) for address in to]
        if cc:
            message["Cc"] = [Address(addr_spec=address) for address in cc]
        message["Subject"] = subject
        if str(message["Subject"]) != subject:  # an encoded word (RFC 2047), which may also contain line breaks
            raise ToolError.of(MAIL_SUBJECT_ENCODED_WORD)
        message["Date"] = format_datetime(self._now())
        message["Message-ID"] = make_msgid(domain=self._sender.partition("@")[2])
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(_lines(body))
        return message

    def _check(self, where: str, address: str) -> None:
        if not re.fullmatch(_ADDRESS, address):
            raise ToolError.of(MAIL_ADDRESS_INVALID, where=where)
        lowercase = address.lower()
        if lowercase not in self._allowed and lowercase[lowercase.index("@") :] not in self._allowed:
            raise ToolError.of(
                MAIL_RECIPIENT_NOT_ALLOWED, where=where, address=address, allowed=", ".join(sorted(self._allowed)[:20])
            )


def _lines(body: str) -> str:
    """The body with one kind of line ending: mail servers differ on whether a lone CR or LF ends a mail."""
    return body.replace("\r\n", "\n").replace("\r", "\n")


def _headers(message: EmailMessage) -> str:
    """The headers that a person sees."""
    return "".join(f"{name}: {message[name]}\n" for name in ("From", "To", "Cc", "Subject") if message[name])


def _ask(mail: str, context: Context) -> None:
    """Return once a person has agreed to this very mail; an earlier approval was for another one."""
    if context.agreed:
        return
    question: Form[None] = Form(sentence(QUESTION_SEND_MAIL, context.language, {"mail": mail}))
    if not context.can_ask(question):
        raise NeedsAgreement.of(MAIL_APPROVAL_IMPOSSIBLE).because(question.message)
    if not context.ask(question, key="send"):
        raise ToolError.of(MAIL_DENIED_BY_USER)


# -- sending -----------------------------------------------------------------------------------------------------------


async def _submit(server: MailServer, sender: str, recipients: Sequence[str], message: bytes) -> None:
    """Send the mail to all ``recipients`` or to none. ``ToolError`` says whether it may have been sent all the same."""
    smtp = aiosmtplib.SMTP(
        hostname=server.host,
        port=server.port,
        timeout=_SECONDS,
        use_tls=server.security == "tls",
        start_tls=server.security == "starttls",
        tls_context=server.context,
    )
    try:
        try:
            await smtp.connect()
            if server.username is not None:
                await smtp.login(server.username, server.password or "")
            await smtp.mail(sender)
            for recipient in recipients:
                await smtp.rcpt(recipient)
        except aiosmtplib.SMTPRecipientRefused as error:
            code = MAIL_RECIPIENT_DEFERRED if _is_passing(error) else MAIL_RECIPIENT_REJECTED
            raise ToolError.of(code, address=error.recipient, number=error.code) from error
        except aiosmtplib.SMTPResponseException as error:
            raise _refusal(error) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise ToolError.of(MAIL_SERVER_UNREACHABLE, problem=type(error).__name__) from error
        try:
            await smtp.data(message)
        except aiosmtplib.SMTPResponseException as error:
            if not 400 <= error.code < 600:  # not a refusal: another success code, or an invalid one
                raise ToolError.of(MAIL_DELIVERY_UNKNOWN, problem=Worded(REASON_MAIL_ANSWER_INVALID, {})) from error
            raise _refusal(error) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise ToolError.of(MAIL_DELIVERY_UNKNOWN, problem=type(error).__name__) from error
        # The mail is accepted; the outcome of QUIT does not matter.
        with suppress(aiosmtplib.SMTPException, OSError, asyncio.TimeoutError):
            await smtp.quit()
    finally:
        smtp.close()


def _refusal(error: aiosmtplib.SMTPResponseException) -> ToolError:
    return ToolError.of(MAIL_DEFERRED if _is_passing(error) else MAIL_REJECTED, number=error.code)


def _is_passing(error: aiosmtplib.SMTPResponseException) -> bool:
    return 400 <= error.code < 500


def toolset(server: MailServer, sender: str, allowed: Sequence[str]) -> LocalToolset:
    """The mail tools, ready to be served; the settings are those of :class:`Mail`."""
    mail = Mail(server, sender, allowed)
    tools = LocalToolset()
    add_tools(tools, mail)
    return tools
