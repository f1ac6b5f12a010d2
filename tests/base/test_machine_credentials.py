"""Credentials of this machine reach neither JMeter nor anybody that a project names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.base.machine_credentials import is_of_the_machine
from harness.base.process import Launch, start
from harness.notify.settings import parse_notify

_MAIL = {"to": "a@example.org", "from": "b@example.org", "server": "smtp.example.org:587"}
_OTHERS = (
    "SHOP_TOKEN", "API_KEY", "TOKEN", "PASSWORD", "DB_PASSWORD", "AWS_REGION", "AWS_DEFAULT_REGION", "HOME", "PATH",
    "SMTP_PASSWORD", "SLACK_WEBHOOK", "KEYCLOAK_CLIENT_SECRET", "OKAPI_TOKEN", "STRIPE_KEY", "SHOP_DB_PASSWORD", "USER",
)  # fmt: skip


@pytest.mark.parametrize("name", _OTHERS)
def test_a_variable_of_a_system_under_test_is_none(name):
    assert not is_of_the_machine(name)


def test_a_jvm_that_runs_a_plan_gets_no_credential_of_the_machine(tmp_path, monkeypatch):
    names = ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "KUBECONFIG", "SSH_AUTH_SOCK", "NPM_TOKEN", "SHOP_TOKEN")
    for name in names:
        monkeypatch.setenv(name, f"value of {name}")
    code = f"import os; print([name for name in {names} if name in os.environ])"

    def seen(*, is_jmeter: bool) -> str:
        log = Path(tmp_path / "log")
        command = [sys.executable, "-c", code]
        assert start(Launch("JMeter", command, tmp_path, {"GH_TOKEN": "x"}, log, is_jmeter=is_jmeter)).wait() == 0
        return log.read_text().strip()

    assert seen(is_jmeter=True) == "['SHOP_TOKEN']"
    assert "GITHUB_TOKEN" in seen(is_jmeter=False)  # a system that is started here may need it


@pytest.mark.parametrize(
    "login", [{"user": "x", "password": "$GITHUB_TOKEN"}, {"user": "$NPM_TOKEN", "password": "$P"}]
)
def test_no_login_of_a_message_is_one(login):
    with pytest.raises(UsageError, match="is a credential of this machine"):
        parse_notify({"mail": _MAIL | login}, "env/local.toml [notify]")


def test_nor_is_the_address_of_a_chat():
    with pytest.raises(UsageError, match=r"\[notify\] slack reads AWS_SECRET_ACCESS_KEY: it is a credential"):
        parse_notify({"slack": "$AWS_SECRET_ACCESS_KEY"}, "env/local.toml [notify]")
