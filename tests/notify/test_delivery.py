"""Messages to a webhook and to a mail server: repeated when they fail for a moment, given up in time, and no secret."""

from __future__ import annotations

import time

import pytest

from harness.notify.channels import Channel, Mail, Webhook
from harness.notify.delivery import deliver
from harness.notify.message import Message
from harness.notify.recipients import Recipients
from harness.notify.settings import MailSettings
from tests.support.message_servers import PASSWORD, PATH, Chat, Mailbox, chat_server, mail_server

# The login of the mail server is on the loopback interface.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")
MESSAGE = Message("Nightly 2026-11-21: WARNED", ("p90 131 ms",), "reports/nightly/2026-11-21.md")
SECRETS = {PASSWORD, PATH, *PATH.split("/")[1:]}


class Delivered:
    """A delivery without waits between the attempts: what it reported and logged, and how long it waited."""

    def __init__(self, *channels: Channel, limit_s: float = 30.0, unset: tuple[str, ...] = ()) -> None:
        self.logged: list[str] = []
        self.paused: list[float] = []
        recipients = Recipients("worse", "", channels, unset)
        self.problems = deliver(MESSAGE, recipients, self.logged.append, limit_s, self.paused.append)
        assert not [secret for secret in SECRETS if secret in str(self.logged) + str(self.problems)]


def slack(chat: Chat) -> Webhook:
    return Webhook("slack", "SLACK_WEBHOOK", chat.address)


def mail(box: Mailbox, password: str = PASSWORD, security: str = "none") -> Mail:
    settings = MailSettings(
        ("a@example.org", "b@example.org"), "load@example.org", "127.0.0.1", box.port, security, "load-tests", "X"
    )
    return Mail(settings, "load-tests", password)


@pytest.mark.real
def test_a_webhook_that_fails_once_gets_the_message_at_the_second_attempt() -> None:
    with chat_server(500) as chat:
        delivered = Delivered(slack(chat))
    assert delivered.problems == ()
    assert delivered.logged == ["sent to slack"]
    assert delivered.paused == [0.5]
    assert chat.texts == ["*Nightly 2026-11-21: WARNED*\np90 131 ms\nreport: reports/nightly/2026-11-21.md"]


def test_a_webhook_that_always_fails_is_given_up_after_four_attempts() -> None:
    with chat_server(500, 502, 503, 500, 200) as chat:
        delivered = Delivered(slack(chat))
    assert delivered.problems == ("slack: the server failed (500 no_service at /•••)",)
    assert delivered.logged == ["not delivered: slack: the server failed (500 no_service at /•••)"]
    assert delivered.paused == [0.5, 1, 2]
    assert chat.count == 4


@pytest.mark.parametrize("code", [400, 403, 404, 410])
def test_a_webhook_that_refuses_gets_no_second_request(code: int) -> None:
    with chat_server(code) as chat:
        delivered = Delivered(slack(chat))
    (problem,) = delivered.problems
    assert problem.startswith(f"slack refuses the message ({code} no_service")
    assert problem.endswith("; check the address in SLACK_WEBHOOK")
    assert chat.count == 1


def test_a_redirect_is_not_followed_since_the_next_server_would_get_the_secret() -> None:
    with chat_server() as other, chat_server(302) as chat:
        chat.headers["Location"] = other.address
        delivered = Delivered(slack(chat))
    assert delivered.problems == ("slack: the address has moved (302); check the address in SLACK_WEBHOOK",)
    assert other.count == 0


@pytest.mark.parametrize(("retry_after", "paused"), [("3", [3.0]), ("60", [])])
def test_a_rate_limit_is_waited_for_when_it_is_short(retry_after: str, paused: list[float]) -> None:
    with chat_server(429) as chat:
        chat.headers["Retry-After"] = retry_after
        delivered = Delivered(slack(chat))
    assert delivered.paused == paused
    assert bool(delivered.problems) is not bool(paused)


@pytest.mark.real
def test_a_webhook_that_never_answers_ends_at_the_limit_and_the_others_got_the_message() -> None:
    with chat_server(None) as slow, chat_server() as chat:
        begin_s = time.monotonic()
        delivered = Delivered(slack(slow), Webhook("teams", "TEAMS_WEBHOOK", chat.address), limit_s=0.5)
        took_s = time.monotonic() - begin_s
    assert took_s < 3
    assert delivered.problems == ("slack: no answer within 0.5 s",)
    assert "sending the result to slack: at most 0.5 s" in delivered.logged
    assert "sent to teams" in delivered.logged
    assert chat.messages[0]["attachments"]


def test_a_server_that_is_down_is_one_line() -> None:
    with chat_server() as chat:
        pass
    (problem,) = Delivered(slack(chat)).problems
    assert problem.startswith("slack does not answer (")
    assert problem.endswith("Connection refused); check the address in SLACK_WEBHOOK")


def test_a_channel_without_its_secret_is_reported_and_the_others_get_the_message() -> None:
    with chat_server() as chat:
        delivered = Delivered(slack(chat), unset=("mail: SMTP_PASSWORD is not set",))
    assert delivered.problems == ("mail: SMTP_PASSWORD is not set",)
    assert chat.count == 1


def test_a_mail_is_sent_with_a_login_also_when_the_server_is_busy_at_first() -> None:
    with mail_server("451 greylisted, try again") as box:
        delivered = Delivered(mail(box))
    assert delivered.problems == ()
    assert delivered.paused == [0.5]
    (sent,) = box.mails
    assert sent["Subject"] == "Nightly 2026-11-21: WARNED"
    assert (sent["From"], sent["To"]) == ("load@example.org", "a@example.org, b@example.org")
    assert sent["Message-ID"].endswith("@example.org>")
    assert sent["Auto-Submitted"] == "auto-generated"
    assert sent.get_content().splitlines() == [
        "Nightly 2026-11-21: WARNED", "p90 131 ms", "report: reports/nightly/2026-11-21.md",
    ]  # fmt: skip


def test_a_mail_server_that_refuses_the_password_gets_no_second_request() -> None:
    with mail_server() as box:
        delivered = Delivered(mail(box, "wrong-horse-7"))
        unencrypted = Delivered(mail(box, security="starttls"))
    (problem,) = delivered.problems
    assert problem.startswith(f"mail: 127.0.0.1:{box.port} refuses it (535 ")
    assert delivered.paused == unencrypted.paused == []
    # STARTTLS never falls back to a connection that is not encrypted.
    (problem,) = unencrypted.problems
    assert problem == f"mail: 127.0.0.1:{box.port}: STARTTLS extension not supported by server.; check [notify.mail]"
    assert box.mails == []


def test_a_mail_that_is_refused_for_good_is_not_repeated() -> None:
    with mail_server("554 no spam", asks_login=False) as box:
        delivered = Delivered(mail(box, ""))
    assert delivered.problems == (f"mail: 127.0.0.1:{box.port} refuses it (554 no spam); check [notify.mail]",)
    assert delivered.paused == []


@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\u2029", "\ud800", "\r\n"])
def test_a_title_with_an_odd_character_is_delivered_on_one_line(odd: str) -> None:
    message = Message(f"REGRESSED{odd}plan", (f"one{odd}line",), f"reports/a{odd}b.md")
    with chat_server() as chat, mail_server() as box:
        assert deliver(message, Recipients("worse", "", (slack(chat), mail(box)), ()), print) == ()
    assert "REGRESSED plan" in str(chat.messages)
    assert [one["Subject"] for one in box.mails] == ["REGRESSED plan"]
