"""Sends a message to the webhook of a chat, or as a mail by SMTP. Errors never show a secret."""

from __future__ import annotations

import http.client
import json
import re
import smtplib
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from typing import ClassVar

from harness.base.errors import HarnessError, UsageError
from harness.base.http_client import BusyError, NoAnswerError, refusal_body, retry_after_s, send, short
from harness.base.secrecy import masked
from harness.notify.message import CHATS, Message, plain_text
from harness.notify.settings import STARTTLS, TLS, MailSettings

# Four attempts to send a message, with their waits, end before the limit of a delivery.
_ATTEMPT_S = 6.0
# A server that is overloaded, or limits the rate, takes the same message later.
_BUSY = (408, 425, 429)
# Shorter parts of an address are no secrets, such as `hooks`.
_SECRET_LEAST = 8
# RFC 5321, 4.2.1: a reply of 4yz is a transient failure, one of 5yz a permanent one.
_PERMANENT = 500
_TODO = "check [notify.mail]"
_CERTIFICATE = "SSL_CERT_FILE names a file with the certificates of your own authority"


@dataclass(frozen=True)
class Webhook:
    """The webhook of a chat; `variable` is the environment variable that has its address."""

    name: str
    variable: str
    address: str = field(repr=False)

    def send(self, message: Message) -> None:
        """Post a message. BusyError when the server fails or does not answer, UsageError when it refuses."""
        request = urllib.request.Request(self.address, json.dumps(CHATS[self.name](message)).encode(), method="POST")
        request.add_header("Content-Type", "application/json")
        try:
            send(request, _ATTEMPT_S)
        except NoAnswerError as error:
            raise BusyError(f"{self.name} does not answer ({self._short(str(error))})", self._todo) from None
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None

    def _refusal(self, error: urllib.error.HTTPError) -> HarnessError:
        try:
            reason = refusal_body(error).decode(errors="replace")
        except (OSError, http.client.HTTPException):
            reason = ""
        reason = self._short(reason or str(error.reason))
        if error.code >= 500 or error.code in _BUSY:
            what = f"{self.name}: the server failed ({error.code} {reason})"
            return BusyError(what, "", retry_after_s(error.headers))
        if error.code < 400:
            return UsageError(f"{self.name}: the address has moved ({error.code})", self._todo)
        return UsageError(f"{self.name} refuses the message ({error.code} {reason})", self._todo)

    @property
    def _todo(self) -> str:
        return f"check the address in {self.variable}"

    def _short(self, text: str) -> str:
        # The address, its path, and the parts of it that a server may repeat.
        path = self.address.partition("://")[2].partition("/")[2]
        parts = (part for part in re.split(r"[/?&=]", path) if len(part) >= _SECRET_LEAST)
        return short(masked(text, (self.address, path, *parts)))


@dataclass(frozen=True)
class Mail:
    """Mail to the addresses of its settings; `password` is empty without a login."""

    settings: MailSettings
    user: str = ""
    password: str = field(default="", repr=False)
    name: ClassVar = "mail"

    def send(self, message: Message) -> None:
        """Send a message. BusyError when the server fails for a moment, UsageError when it refuses."""
        mail = _mail_of(message, self.settings)
        try:
            with self._connection() as server:
                refused = server.send_message(mail)
        except smtplib.SMTPResponseException as error:
            raise self._failure(error.smtp_code, error.smtp_error) from None
        except smtplib.SMTPRecipientsRefused as error:
            raise self._failure(*next(iter(error.recipients.values()))) from None
        except smtplib.SMTPNotSupportedError as error:
            raise UsageError(f"mail: {self._where}: {self._short(str(error))}", _TODO) from None
        except ssl.SSLCertVerificationError as error:
            what = f"mail: {self._where}: its certificate is not trusted ({self._short(error.verify_message)})"
            raise UsageError(what, _CERTIFICATE) from None
        except (OSError, UnicodeError) as error:
            raise BusyError(f"mail: {self._where} does not answer ({self._short(str(error))})", _TODO) from None
        if refused:
            raise UsageError(f"mail: {self._where} refuses {', '.join(refused)}; the others got it", "check them")

    @contextmanager
    def _connection(self) -> Iterator[smtplib.SMTP]:
        settings = self.settings
        if settings.security == TLS:
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(settings.host, settings.port, timeout=_ATTEMPT_S, context=context)
        else:
            server = smtplib.SMTP(settings.host, settings.port, timeout=_ATTEMPT_S)
        try:
            if settings.security == STARTTLS:
                server.starttls(context=ssl.create_default_context())
            if self.password:
                server.login(self.user, self.password)
            yield server
            with suppress(OSError):  # the server has the mail already
                server.quit()
        finally:
            server.close()

    def _failure(self, code: int, reason: bytes | str) -> HarnessError:
        text = self._short(reason.decode(errors="replace") if isinstance(reason, bytes) else reason)
        what = f"mail: {self._where} refuses it ({code} {text})"
        return UsageError(what, _TODO) if code >= _PERMANENT else BusyError(what, "")

    @property
    def _where(self) -> str:
        return f"{self.settings.host}:{self.settings.port}"

    def _short(self, text: str) -> str:
        return short(masked(text, (self.password,)))


def _mail_of(message: Message, settings: MailSettings) -> EmailMessage:
    mail = EmailMessage()
    mail["Subject"] = message.texts[0]
    mail["From"] = settings.sender
    mail["To"] = ", ".join(settings.to)
    mail["Date"] = formatdate()
    mail["Message-ID"] = make_msgid(domain=settings.sender.rpartition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office reply
    mail.set_content(plain_text(message))
    return mail


# One way to send messages. Its `send` makes one attempt: BusyError when the next one can succeed, another HarnessError
# when not. The text of an error contains no secret.
Channel = Webhook | Mail
