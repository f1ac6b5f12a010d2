"""What is a secret by its name, and that nothing of a run keeps one."""

import base64
import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

from harness.base.secrecy import is_secret_name, masked, masked_table, secret_values, secrets_in
from harness.plan.jmx.tree import fixed_secrets
from harness.plan.plan import load_plan
from tests.support.paths import ROOT
from tests.support.processes import wait_for
from tests.support.secret_spellings import assert_no_secret, every_spelling
from tests.support.tiny import TINY_JMX


@pytest.mark.parametrize(
    "name",
    [
        "password", "db_password", "shop.dbPassword", "PASSWORD", "apiSecret", "api_key", "apiKey", "X-Okapi-Token",
        "stripe.apiKey", "AWS_SECRET_ACCESS_KEY", "Authorization.password", "credentials", "passwd", "token2",
    ],
)  # fmt: skip
def test_names_of_secrets_are_recognised(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "key",
        "token_url",
        "password_file",
        "externalKey2Count",
        "keyboard",
        "users",
        "secret_name",
        "tokens",
        "",
        "serializerKey",
        "deSerializerKey",
        "kafkaMessageKey",
        "configKey",
    ],
)
def test_other_names_are_not_secrets(name):
    assert not is_secret_name(name)


def test_secrets_are_found_in_texts_with_several_settings():
    text = 'org.killbill.stripe.apiKey=sk_live_1\norg.killbill.stripe.url=http://x\n{"password": "pa55", "key":"shop"}'
    assert secrets_in(text) == ("sk_live_1", "pa55")
    assert secrets_in('{"password":"${password}","token":""}') == ()


def test_the_shortest_values_are_not_masked_because_they_occur_by_chance():
    assert secret_values([("password", "abc"), ("token", "abcd"), ("title", "abcde"), ("secret", 12345)]) == ("abcd",)


def test_each_line_of_a_private_key_is_masked():
    assert masked("a\nMIIB\nx\nlast\nz", ["MIIB\nx\nlast"]) == "a\n•••\nx\n•••\nz"


def test_a_longer_secret_is_masked_before_one_that_it_contains():
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
<HTTPSamplerProxy><stringProp name="HTTPSampler.domain">${{__P(host,127.0.0.1)}}</stringProp>
 <stringProp name="HTTPSampler.port">${{__P(port,8080)}}</stringProp>
 <stringProp name="HTTPSampler.protocol">${{__P(scheme,http)}}</stringProp>
 <elementProp name="HTTPsampler.Arguments" elementType="Arguments">
 <collectionProp name="Arguments.arguments"><elementProp name="" elementType="HTTPArgument">
  <stringProp name="Argument.value">{{"user": "bob", "password": "{body}"}}</stringProp></elementProp>
 </collectionProp></elementProp></HTTPSamplerProxy><hashTree/>
"""


def with_fixed(folder: Path, **values: str) -> Path:
    path = folder / "plan.jmx"
    group = '<ThreadGroup guiclass="ThreadGroupGui"'
    path.write_text(TINY_JMX.replace(group, FIXED.format(**values) + group))
    return path


def test_a_secret_in_the_plan_itself_is_found(tmp_path):
    jmx = with_fixed(tmp_path, password="opensesame", basic="YWRtaW46eA==", key="k-123456", body="fromBody1")
    assert fixed_secrets(jmx) == ("opensesame", "YWRtaW46eA==", "k-123456", "fromBody1")


def test_variables_and_defaults_of_properties_are_not_secrets(tmp_path):
    jmx = with_fixed(tmp_path, password="${__P(password,hunter2)}", basic="${basic}", key="${key}", body="${body}")
    assert fixed_secrets(jmx) == ()


@pytest.mark.parametrize("path", sorted((ROOT / "plans").glob("*.toml")), ids=lambda path: path.stem)
def test_the_plans_of_the_project_contain_no_secrets(path):
    """KillBill's bob and lazar, and the test key of Stripe's stand-in, are public: they are shown as they are."""
    plan = load_plan(path.parent, path.stem)
    assert (plan.secret_properties, plan.hidden) == ((), ())


@pytest.mark.real
def test_the_error_of_a_failed_system_start_contains_no_secrets(run, home, tmp_path):
    plan, manifest = home / "plans" / "tiny.toml", home / "systems" / "tiny" / "system.toml"
    plan.write_text(plan.read_text().replace("[load]", 'secrets = ["SHOP_PASSWORD"]\n[load]'))
    line = 'command = ["sh", "-c", "echo cannot log in with $SHOP_PASSWORD $AWS_SECRET_ACCESS_KEY; exit 1"]'
    manifest.write_text(re.sub(r"^command = .*", line, manifest.read_text(), flags=re.MULTILINE))
    done = run(SHOP_PASSWORD="hunter2hunter2", AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI/K7MDENG")
    assert done.returncode == 3
    assert "cannot log in with •••\n" in done.stderr
    assert (tmp_path / "build" / "failed-start" / "web.log").read_text() == "cannot log in with •••\n"


@pytest.mark.real
def test_passwords_of_properties_plan_and_note_are_in_no_stored_file(run, home, target, tmp_path):
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
    stored = {path: path.read_text() for path in (tmp_path / "reports").rglob("*") if path.is_file()}
    secrets = ("hunter2hunter2", "sk_live_123", key, "opensesame", "YWRtaW46eA==", "k-123456", "fromBody1")
    assert [(path.name, secret) for path, text in stored.items() for secret in secrets if secret in text] == []
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


SCRIPTS = """
<JSR223Sampler><stringProp name="script">def password = "p&amp;ss&lt;1"
vars.put('api_key', 'k"1234')
sampler.addHeader("Proxy-Authorization", "Basic " + token)
def token = vars.get("token")
new URL("http://bob:us%26er1@127.0.0.1/?access_token=q1w2e3&amp;x=1")</stringProp></JSR223Sampler><hashTree/>
<BeanShellSampler><stringProp name="BeanShellSampler.query">String dbPassword = "bean\\u0026shell";</stringProp>
</BeanShellSampler><hashTree/>
<JDBCDataSource><stringProp name="dbUrl">jdbc:mysql://db/shop?user=u&amp;password=jdbc-1</stringProp>
<stringProp name="password">jdbc-2</stringProp>
<stringProp name="connectionProperties">trustStorePassword=jdbc-3;x=1</stringProp></JDBCDataSource><hashTree/>
<JDBCDataSource><stringProp name="dbUrl">jdbc:oracle:thin:scott/jdbc-4@//db/x</stringProp></JDBCDataSource><hashTree/>
<HTTPSamplerProxy><stringProp name="HTTPSampler.path">/pay?api_key=path-1&amp;token=${token}</stringProp>
</HTTPSamplerProxy><hashTree/>
<HeaderManager><collectionProp name="HeaderManager.headers">
<elementProp name="" elementType="Header"><stringProp name="Header.name">Cookie</stringProp>
<stringProp name="Header.value">lang=en; session=cookie-0001</stringProp></elementProp>
<elementProp name="" elementType="Header"><stringProp name="Header.name">X-Auth</stringProp>
<stringProp name="Header.value">x-auth-1</stringProp></elementProp>
<elementProp name="" elementType="Header"><stringProp name="Header.name">Authorization</stringProp>
<stringProp name="Header.value">Basic Ym9iOmJhc2lj</stringProp></elementProp>
</collectionProp></HeaderManager><hashTree/>
<HTTPSamplerProxy><elementProp name="HTTPsampler.Arguments" elementType="Arguments">
<collectionProp name="Arguments.arguments"><elementProp name="" elementType="HTTPArgument">
<stringProp name="Argument.value">&lt;login&gt;&lt;password&gt;el&amp;amp;ement&lt;/password&gt;&lt;/login&gt;
</stringProp>
</elementProp></collectionProp></elementProp></HTTPSamplerProxy><hashTree/>
<CookieManager><collectionProp name="CookieManager.cookies"><elementProp name="sid" elementType="Cookie">
<stringProp name="Cookie.value">managed-1</stringProp></elementProp></collectionProp></CookieManager><hashTree/>
<RegexExtractor><stringProp name="RegexExtractor.regex">"token":"(.+?)"</stringProp></RegexExtractor><hashTree/>
<!-- password = "in-comment" -->
"""


def test_secrets_in_scripts_urls_jdbc_headers_bodies_and_comments_of_a_plan_are_found(tmp_path):
    path = tmp_path / "plan.jmx"
    group = '<ThreadGroup guiclass="ThreadGroupGui"'
    path.write_text(TINY_JMX.replace(group, SCRIPTS + group))
    found = set(fixed_secrets(path))
    wanted = {
        "p&ss<1", 'k"1234', "us&er1", "q1w2e3", "bean&shell", "jdbc-1", "jdbc-2", "jdbc-3", "jdbc-4", "path-1",
        "cookie-0001", "x-auth-1", "Ym9iOmJhc2lj", "basic", "el&ement", "managed-1", "in-comment",
    }  # fmt: skip
    assert wanted - found == set()
    escaped = {"us%26er1", "bean\\u0026shell", "el&amp;ement", "lang=en; session=cookie-0001"}
    assert found - wanted - escaped - {"sid=managed-1"} == set()


def test_a_value_of_a_properties_file_extends_to_the_end_of_its_line():
    assert "a b;c=d,e" in secrets_in("user = bob\n# comment\ndb.password = a b;c=d,e\n")
    assert "é&x" in secrets_in("user = bob\ndb.password = \\u00e9&x\n")


@pytest.mark.parametrize("word", ["true", "False", "null"])
def test_words_of_json_are_not_secrets(word):
    assert secret_values([("password", word)]) == ()


NASTY = ("p&ss<w\"o'rd-1", "ключ é-2 %41", 'jdbc";\\n&3', "he<a>der+4", "note:{x}/5", 'setting\\"6')


@pytest.mark.real
def test_no_spelling_of_a_secret_is_in_anything_that_a_run_stores(run, home, target, tmp_path):
    variable, own, fixed, header, body, script = NASTY
    texts = [text for secret in NASTY for text in every_spelling(secret).values()]
    (tmp_path / "echo.json").write_text(json.dumps(texts))
    jmx = with_fixed(
        tmp_path,
        password=escape(fixed),
        basic=base64.b64encode(f"bob:{header}".encode()).decode(),
        key="k-123456",
        body=escape(json.dumps(body)[1:-1]),
    )
    written = f'<JSR223Sampler><stringProp name="script">{escape(f"def password = {json.dumps(script)}")}</stringProp>'
    group = '<ThreadGroup guiclass="ThreadGroupGui"'
    text = jmx.read_text().replace(group, f"{written}</JSR223Sampler><hashTree/>{group}")
    (home / "plans" / "tiny.jmx").write_text(text.replace("${__P(users,1)}", "${__P(users,1)}${__P(password,)}"))
    plan = home / "plans" / "tiny.toml"
    plan.write_text(f"{plan.read_text()}\n[allow]\nscripts = true\n")
    lines = plan.read_text().replace("[load]", 'secrets = ["SHOP_PASSWORD"]\n[load]')
    plan.write_text(f"{lines}[properties]\npassword = {json.dumps(own)}\n")
    note = f"notes with {' and '.join(texts)}"
    done = run(
        "--target", target, "--duration", "1", "--note", note, mode="echoes", ECHO=str(tmp_path / "echo.json"),
        SHOP_PASSWORD=variable,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert_no_secret(tmp_path / "reports", list(NASTY))
    printed = done.stdout + done.stderr
    assert [text for text in texts if text in printed] == []
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    for path in (*directory.rglob("*.json"), directory.with_suffix(".json")):
        json.loads(path.read_bytes())
    for path in (*directory.rglob("*.xml"), *directory.rglob("*.jmx")):
        ElementTree.parse(path)
    with (directory / "samples.jtl").open(newline="") as rows:
        assert sum(len(row) == 14 for row in csv.reader(rows)) > len(texts)
    assert "could not be used" not in directory.with_suffix(".md").read_text()


@pytest.mark.real
def test_after_kill_9_while_the_system_starts_no_secret_is_left(start_run, home, tmp_path):
    plan, manifest = home / "plans" / "tiny.toml", home / "systems" / "tiny" / "system.toml"
    plan.write_text(plan.read_text().replace("[load]", 'secrets = ["SHOP_PASSWORD"]\n[load]'))
    line = 'command = ["sh", "-c", "echo logs in with $SHOP_PASSWORD; exec sleep 60"]'
    manifest.write_text(re.sub(r"^command = .*", line, manifest.read_text(), flags=re.MULTILINE))
    process = start_run(SHOP_PASSWORD="hunter&2hunter2")
    log = tmp_path / "reports" / "tiny" / "run-01_1" / "system" / "web.log"
    wait_for(lambda: log.is_file() and "hunter&2hunter2" in log.read_text())
    process.kill()
    process.wait()
    wait_for(lambda: "logs in with •••" in log.read_text())
