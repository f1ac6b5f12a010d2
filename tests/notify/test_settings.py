"""The valid values of [notify]. An invalid one is a one-line error that never shows a secret."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.kinds.nightly.suite import load_suite
from harness.notify.recipients import job_address, recipients_of
from harness.notify.settings import MailSettings, NotifySettings, parse_notify, requested
from harness.plan.spec import load_profile
from tests.support.paths import ROOT
from tests.support.requests import request_of

SECRET = "https://hooks.slack.example/services/T0A1B2C3D/x9Y8z7W6v5U4"
MAIL = """[mail]
to = ["a@example.org", "b@example.org"]
from = "load-tests@example.org"
server = "smtp.example.org"
"""
LOGIN = 'user = "load-tests"\npassword = "$SMTP_PASSWORD"\n'


def parsed(text: str) -> NotifySettings:
    settings = parse_notify(tomllib.loads(text), "env/x.toml [notify]")
    assert settings is not None
    return settings


def test_chats_are_named_by_environment_variables_and_a_message_is_due_when_it_is_worse() -> None:
    assert parsed('slack = "$SLACK_WEBHOOK"\nteams = "${TEAMS}"') == NotifySettings(
        "worse", "", (("slack", "SLACK_WEBHOOK"), ("teams", "TEAMS")), None
    )


@pytest.mark.parametrize(
    ("more", "port", "security"),
    [
        ("", 587, "starttls"),
        ('server = "smtp.example.org:465"', 465, "tls"),
        ('server = "smtp.example.org:2525"', 2525, "starttls"),
        ('security = "none"', 25, "none"),
        ('security = "tls"', 465, "tls"),
    ],
)
def test_the_port_of_a_mail_server_and_its_encryption_belong_together(more: str, port: int, security: str) -> None:
    text = MAIL.replace('server = "smtp.example.org"\n', "") if more.startswith("server") else MAIL
    assert parsed(text + more).mail == MailSettings(
        ("a@example.org", "b@example.org"), "load-tests@example.org", "smtp.example.org", port, security
    )


BAD = [
    ("", "nobody to notify; add one of: mattermost, slack, teams, mail"),
    ('slakc = "$X"', "unknown key slakc; did you mean slack?"),
    (f'slack = "{SECRET}"', "slack must name an environment variable: its value is a secret"),
    ("slack = 1234567", "slack must name an environment variable: its value is a secret"),
    ('slack = "$X"\nwhen = "wrose"', "when = 'wrose'; did you mean worse? there are: always, worse, changed"),
    ('slack = "$X"\nlink = "perf.example.org"', "link = 'perf.example.org': not an http address; write link = "),
    (MAIL.replace("from", "form"), "mail]: unknown key form; did you mean from?"),
    ('[mail]\nto = "a@example.org"', "mail]: from is missing; from = "),
    (MAIL.replace("b@example.org", "b"), "mail]: to = 'b': not a mail address"),
    (MAIL.replace("smtp.example.org", "smtp.example.org:x"), "mail]: server is not host:port"),
    (MAIL.replace("smtp.example.org", f"me:{SECRET[-12:]}@smtp.example.org"), "mail]: server is not host:port"),
    (MAIL + 'security = "ssl"', "mail]: security = 'ssl'; "),
    (MAIL + 'password = "$X"', "mail]: user and password belong together; give both, or none"),
    (MAIL + f'user = "x"\npassword = "{SECRET}"', "mail]: password must name an environment variable"),
    (MAIL + f'user = "x"\npassword = {SECRET.count("e")}567', "mail]: password must name an environment variable"),
    (MAIL + LOGIN + 'security = "none"', "mail]: the password would be sent unencrypted; use security"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[message for _, message in BAD])
def test_an_invalid_table_is_one_line_without_a_secret(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        parsed(text)
    assert message in str(refused.value)
    assert str(refused.value).startswith("env/x.toml [notify")
    assert "\n" not in str(refused.value)
    assert not {"1234567", "567", SECRET[-12:]} & set(str(refused.value).replace("'", " ").split())
    assert SECRET[-12:] not in str(refused.value)


def test_suites_and_profiles_have_the_table(tmp_path: Path) -> None:
    path = tmp_path / "env" / "x.toml"
    path.parent.mkdir()
    start, table = "format_version = 1\n", '[notify]\nslack = "$SLACK_WEBHOOK"\n'
    path.write_text(f'{start}budget = "5m"\n{table}[[run]]\nplan = "tiny"\n')
    suite = load_suite(path)
    path.write_text(start + table)
    of_profile = requested(load_profile(path.parent, "x").notify, "x")
    assert suite.notify == of_profile == parsed('slack = "$SLACK_WEBHOOK"')
    path.write_text(start + table.replace("slack", "slac"))
    with pytest.raises(UsageError, match=r"env/x\.toml \[notify\]: unknown key slac; did you mean slack\?"):
        requested(load_profile(path.parent, "x").notify, "x")


def test_a_wrong_table_of_a_profile_is_an_error_before_a_run(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "far.toml").write_text("format_version = 1\n[notify]\n")
    with pytest.raises(UsageError, match=r"env/far\.toml \[notify\]: nobody to notify"):
        request_of(tmp_path, ROOT, "lb-direct", "far")


def test_secrets_come_from_the_environment_and_no_text_of_them_shows_one() -> None:
    settings = parsed(f'slack = "$SLACK_WEBHOOK"\nteams = "$TEAMS_WEBHOOK"\n{MAIL}{LOGIN}')
    environment = {"SLACK_WEBHOOK": f" {SECRET}\n", "SMTP_PASSWORD": "correct-horse-7", "TEAMS_WEBHOOK": ""}
    recipients = recipients_of(settings, environment, "env/x.toml")
    assert [channel.name for channel in recipients.channels] == ["slack", "mail"]
    assert recipients.unset == ("teams: TEAMS_WEBHOOK is not set",)
    assert recipients.text == "result to: slack, mail, teams: TEAMS_WEBHOOK is not set (when = worse)"
    assert "x9Y8z7W6v5U4" not in repr(recipients)
    assert "correct-horse-7" not in repr(recipients)


def test_a_mail_without_its_password_is_not_sent() -> None:
    recipients = recipients_of(parsed(MAIL + LOGIN.replace('"load-tests"', '"$SMTP_USER"')), {}, "env/x.toml")
    assert recipients.channels == ()
    assert recipients.unset == ("mail: SMTP_USER, SMTP_PASSWORD is not set",)


@pytest.mark.parametrize(
    "value", ["hooks.slack.example/x9Y8z7W6v5U4", "ftp://x9Y8z7W6v5U4", "https://a b/x9Y8z7W6v5U4"]
)
def test_a_variable_without_an_address_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(UsageError) as refused:
        recipients_of(parsed('slack = "$SLACK_WEBHOOK"'), {"SLACK_WEBHOOK": value}, "env/x.toml")
    assert str(refused.value) == (
        "env/x.toml [notify]: SLACK_WEBHOOK is not an http address; set it to that of the webhook of slack"
    )


GITHUB = {"GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "owner/name", "GITHUB_RUN_ID": "12"}


@pytest.mark.parametrize(
    ("link", "environment", "expected"),
    [
        ("", {}, "reports/x.md"),
        ("https://perf.example/{report}.html", GITHUB, "https://perf.example/ab/lb-nginx/ab-01.html"),
        ("https://perf.example", {}, "https://perf.example"),
        ("", GITHUB, "https://github.example/owner/name/actions/runs/12"),
        ("", {"CI_JOB_URL": "https://gitlab.example/-/jobs/3"}, "https://gitlab.example/-/jobs/3"),
    ],
)
def test_the_link_is_that_of_the_table_else_of_the_ci_job_else_a_path(
    link: str, environment: dict[str, str], expected: str
) -> None:
    text = f'slack = "$X"\nlink = "{link}"' if link else 'slack = "$X"'
    assert recipients_of(parsed(text), environment, "x").link_to("ab/lb-nginx/ab-01", "reports/x.md") == expected


def test_outside_of_ci_there_is_no_job() -> None:
    assert job_address({"GITHUB_SERVER_URL": "https://github.example"}) == ""
