"""What is a secret by its name, and that nothing of a run keeps one."""

import json
import re
from pathlib import Path

import pytest

from harness.jmx import fixed_secrets
from harness.plan import load_plan
from harness.secrecy import masked, masked_table, says_secret, secret_values, secrets_in
from tests.conftest import ROOT, TINY_JMX


@pytest.mark.parametrize(
    "name",
    [
        "password", "db_password", "shop.dbPassword", "PASSWORD", "apiSecret", "api_key", "apiKey", "X-Okapi-Token",
        "stripe.apiKey", "AWS_SECRET_ACCESS_KEY", "Authorization.password", "credentials", "passwd", "token2",
    ],
)  # fmt: skip
def test_a_name_says_that_its_value_is_a_secret(name):
    assert says_secret(name)


@pytest.mark.parametrize(
    "name", ["key", "token_url", "password_file", "externalKey2Count", "keyboard", "users", "secret_name", "tokens", ""]
)
def test_a_name_of_something_else_does_not(name):
    assert not says_secret(name)


def test_secrets_stand_in_texts_of_several_settings():
    text = 'org.killbill.stripe.apiKey=sk_live_1\norg.killbill.stripe.url=http://x\n{"password": "pa55", "key":"shop"}'
    assert secrets_in(text) == ("sk_live_1", "pa55")
    assert secrets_in('{"password":"${password}","token":""}') == ()


def test_the_shortest_values_are_not_masked_in_texts_as_they_stand_anywhere_by_chance():
    assert secret_values([("password", "abc"), ("token", "abcd"), ("title", "abcde"), ("secret", 12345)]) == ("abcd",)


def test_each_line_of_a_private_key_is_masked():
    assert masked("a\nMIIB\nx\nlast\nz", ["MIIB\nx\nlast"]) == "a\n•••\nx\n•••\nz"


def test_a_longer_secret_is_masked_before_one_that_it_holds():
    assert masked("secret1234, secret", ["secret", "secret1234"]) == "•••, •••"


def test_a_table_loses_its_secrets_by_name_and_by_value():
    table = {"password": "abc", "config": "key=hunter2;x", "users": 5}
    assert masked_table(table, ["password"], ["hunter2"]) == {"password": "•••", "config": "key=•••;x", "users": 5}


FIXED = """
<AuthManager><collectionProp name="AuthManager.auth_list"><elementProp name="" elementType="Authorization">
 <stringProp name="Authorization.username">admin</stringProp>
 <stringProp name="Authorization.password">{password}</stringProp>
</elementProp></collectionProp></AuthManager><hashTree/>
<HeaderManager><collectionProp name="HeaderManager.headers">
 <elementProp name="" elementType="Header"><stringProp name="Header.name">Authorization</stringProp>
  <stringProp name="Header.value">Basic {basic}</stringProp></elementProp>
 <elementProp name="" elementType="Header"><stringProp name="Header.name">X-Api-Key</stringProp>
  <stringProp name="Header.value">{key}</stringProp></elementProp></collectionProp></HeaderManager><hashTree/>
<HTTPSamplerProxy><elementProp name="HTTPsampler.Arguments" elementType="Arguments">
 <collectionProp name="Arguments.arguments"><elementProp name="" elementType="HTTPArgument">
  <stringProp name="Argument.value">{{"user": "bob", "password": "{body}"}}</stringProp></elementProp>
 </collectionProp></elementProp></HTTPSamplerProxy><hashTree/>
"""


def with_fixed(folder: Path, **values: str) -> Path:
    path = folder / "shape.jmx"
    group = '<ThreadGroup guiclass="ThreadGroupGui"'
    path.write_text(TINY_JMX.replace(group, FIXED.format(**values) + group))
    return path


def test_a_secret_that_stands_in_the_plan_itself_is_found(tmp_path):
    jmx = with_fixed(tmp_path, password="opensesame", basic="YWRtaW46eA==", key="k-123456", body="fromBody1")
    assert fixed_secrets(jmx) == ("opensesame", "YWRtaW46eA==", "k-123456", "fromBody1")


def test_variables_and_the_defaults_of_properties_are_no_secrets(tmp_path):
    jmx = with_fixed(tmp_path, password="${__P(password,hunter2)}", basic="${basic}", key="${key}", body="${body}")
    assert fixed_secrets(jmx) == ()


@pytest.mark.parametrize("path", sorted((ROOT / "plans").glob("*.toml")), ids=lambda path: path.stem)
def test_the_plans_of_the_project_hold_no_secrets_of_their_own(path):
    """KillBill's bob and lazar, and the test key of Stripe's stand-in, are public: they are shown as they are."""
    plan = load_plan(path.parent, path.stem)
    assert (plan.secret_properties, plan.hidden) == ((), ())


@pytest.mark.real
def test_a_system_that_does_not_come_up_tells_no_secrets(run, home, tmp_path):
    plan, manifest = home / "plans" / "tiny.toml", home / "systems" / "tiny" / "system.toml"
    plan.write_text(plan.read_text().replace("[load]", 'secrets = ["SHOP_PASSWORD"]\n[load]'))
    words = 'command = ["sh", "-c", "echo cannot log in with $SHOP_PASSWORD $AWS_SECRET_ACCESS_KEY; exit 1"]'
    manifest.write_text(re.sub(r"^command = .*", words, manifest.read_text(), flags=re.MULTILINE))
    done = run(SHOP_PASSWORD="hunter2hunter2", AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI/K7MDENG")
    assert done.returncode == 3
    assert "cannot log in with •••\n" in done.stderr
    assert (tmp_path / "build" / "failed-start" / "web.log").read_text() == "cannot log in with •••\n"


@pytest.mark.real
def test_passwords_of_properties_plan_and_note_are_in_nothing_that_is_kept(run, home, target, tmp_path):
    jmx = with_fixed(tmp_path, password="opensesame", basic="YWRtaW46eA==", key="k-123456", body="fromBody1")
    text = jmx.read_text().replace(
        "${__P(users,1)}", "${__P(users,1)}${__P(password,)}${__P(api_secret,lazar)}${__P(config,)}${__P(pin_token,)}"
    )
    (home / "plans" / "tiny.jmx").write_text(text)
    plan = home / "plans" / "tiny.toml"
    properties = '[properties]\npassword = "hunter2hunter2"\napi_secret = "lazar"\npin_token = "123"\n'
    plan.write_text(plan.read_text() + properties + 'config = "stripe.apiKey=sk_live_123;region=eu"\n')
    key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
    done = run(
        "--target", target, "--duration", "1", "--note", f"with hunter2hunter2 and {key}", AWS_SECRET_ACCESS_KEY=key
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kept = {path: path.read_text() for path in (tmp_path / "reports").rglob("*") if path.is_file()}
    secrets = ("hunter2hunter2", "sk_live_123", key, "opensesame", "YWRtaW46eA==", "k-123456", "fromBody1")
    assert [(path.name, secret) for path, text in kept.items() for secret in secrets if secret in text] == []
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    assert '<stringProp name="Authorization.password">•••</stringProp>' in (directory / "effective.jmx").read_text()
    facts = json.loads((directory / "run.json").read_text())
    assert facts["note"] == "with ••• and •••"
    own = {name: facts["properties"][name] for name in ("password", "api_secret", "pin_token", "config")}
    assert own == {
        "password": "•••",
        "api_secret": "lazar",
        "pin_token": "•••",
        "config": "stripe.apiKey=•••;region=eu",
    }
    assert "with ••• and •••" in directory.with_suffix(".md").read_text()
