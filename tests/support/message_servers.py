"""Servers that take messages on 127.0.0.1: the webhook of a chat, and a mail server with a login."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from harness.base.ports import free_port
from tests.support.local_server import serving

PATH = "services/T0A1B2C3D/B4E5F6G7H/x9Y8z7W6v5U4"
PASSWORD = "correct-horse-7"


@dataclass
class Chat:
    """What a webhook got. It answers with `answers` one after the other, then with 200; None is no answer."""

    answers: list[int | None] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    count: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def address(self) -> str:
        """The secret address of the webhook."""
        return f"http://127.0.0.1:{self.port}/{PATH}"

    @property
    def texts(self) -> list[str]:
        """The texts of the messages to a chat other than Teams."""
        return [message["text"] for message in self.messages]


class _Webhook(BaseHTTPRequestHandler):
    chat: Chat

    def do_POST(self) -> None:
        self.chat.count += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.chat.answers.pop(0) if self.chat.answers else 200
        if answer is None:
            self.chat.released.wait(10)
            return
        if answer == 200:
            self.chat.messages.append(json.loads(body))
        self.send_response(answer)
        for name, value in self.chat.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"ok" if answer == 200 else f"no_service at /{PATH}".encode())

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def chat_server(*answers: int | None) -> Iterator[Chat]:
    """Serve a webhook."""
    chat = Chat(list(answers))
    with serving(_Webhook, chat=chat) as port:
        chat.port = port
        yield chat
        chat.released.set()


@dataclass
class Mailbox:
    """The mails that a server took, and its port."""

    mails: list[EmailMessage] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    port: int = 0

    async def handle_DATA(  # noqa: N802 - the name is aiosmtpd's
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        answer = self.answers.pop(0) if self.answers else "250 taken"
        if answer.startswith("250"):
            mail = message_from_bytes(envelope.original_content or b"", policy=policy.default)
            assert isinstance(mail, EmailMessage)
            self.mails.append(mail)
        return answer


@contextmanager
def mail_server(*answers: str, asks_login: bool = True) -> Iterator[Mailbox]:
    """Serve SMTP with the user load-tests; `answers` are those to the first mails."""

    def login(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any) -> AuthResult:
        expected = LoginPassword(b"load-tests", PASSWORD.encode())
        return AuthResult(success=data == expected, handled=False)

    mailbox = Mailbox(answers=list(answers), port=free_port())
    controller = Controller(
        mailbox,
        hostname="127.0.0.1",
        port=mailbox.port,
        authenticator=login if asks_login else None,
        auth_required=asks_login,
        auth_require_tls=False,
    )
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()
