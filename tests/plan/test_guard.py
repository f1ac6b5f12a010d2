"""A plan's files, properties and variables start no code, change no setting of JMeter, and send no credential."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.plan.load.model import ClosedLoad, LoadArguments, parse_load, resolve_load
from harness.run.preflight import check_request
from harness.run.replay.one_pass import run_once
from tests.support.off_host import element, flag, jmx, request, text
from tests.support.requests import request_of

Checked = Callable[..., str]
READ_BY_JMETER = (
    "user.properties", "system.properties", "USER.properties", "./user.properties", "jmeter.properties",
    "log4j2.xml", "log4j2-test.yaml", "log4j2.component.properties", "log4j.xml", "logback.xml", "jndi.properties",
    "simplelogger.properties", "saveservice.properties", "upgrade.properties", "reportgenerator.properties",
    "hc.parameters", "httpclient.parameters", "krb5.conf", "jaas.conf", "BeanShellSampler.bshrc", ".bshrc",
    "bin/utility.groovy", "META-INF/services/x", "lib/ext/x.jar", ".hotspotrc", ".hotspot_compiler", ".java.policy",
)  # fmt: skip
CODE = (
    "beanshell.init.file", "beanshell.sampler.init", "jsr223.init.file", "groovy.utilities", "user.classpath",
    "plugin_dependency_paths", "classfinder.functions.contain", "htmlParser.className", "saveservice_properties",
    "upgrade_properties", "tcp.handler", "hc.parameters.file", "template.files",
)  # fmt: skip
OF_THE_HARNESS = (
    "search_paths", "jmeterengine.nongui.port", "jmeter.save.saveservice.output_format", "user.properties",
    "system.properties", "beanshell.server.port", "remote_hosts", "server.rmi.localport", "http.proxyHost",
    "https.proxyPort", "log_config", "jmeter.home", "log_file",
)  # fmt: skip
ORDINARY = ("users.csv", "data/user.properties", "binary.csv", "user.csv", "properties/users.csv", "library.csv")
CREDENTIALS = (
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "MINIO_SECRET_ACCESS_KEY", "GITHUB_TOKEN",
    "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "AZURE_CLIENT_SECRET", "KUBECONFIG",
    "ARM_CLIENT_SECRET", "SSH_AUTH_SOCK", "NPM_TOKEN", "NODE_AUTH_TOKEN", "TWINE_PASSWORD", "VAULT_TOKEN",
    "DOCKER_PASSWORD", "CLOUDFLARE_API_TOKEN", "DIGITALOCEAN_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "HCLOUD_TOKEN",
)  # fmt: skip


@pytest.fixture
def checked(home: Path) -> Checked:
    """Check a plan as every command does before it starts anything; return the refusal, empty for none."""
    own = (home / "plans" / "tiny.toml").read_text().partition("[allow]")[0]

    def refusal(in_group: str, toml: str = "", files: tuple[str, ...] = (), first: str = "", **names: str) -> str:
        plans = home / "plans"
        (plans / "tiny.jmx").write_text(jmx(in_group), encoding="utf-8")
        (plans / "tiny.toml").write_text(f"{first}{own}\n{toml}\n")
        for name in files:
            (plans / name).parent.mkdir(parents=True, exist_ok=True)
            (plans / name).write_text("a\n1\n")
        try:
            found = request_of(home, home, "tiny", "local", "http://127.0.0.1:8098", **names)
            check_request(found, resolve_load(parse_load(LoadArguments()), found.plan.load))
        except UsageError as error:
            return str(error)
        return ""

    return refusal


def data_set(file: str) -> str:
    return element("CSVDataSet", "Rows", text("filename", file), text("variableNames", "a"))


@pytest.mark.parametrize("name", READ_BY_JMETER)
def test_a_data_file_with_a_name_that_jmeter_reads_itself_is_refused(checked, name):
    refusal = checked(request() + data_set(name), files=(name,))
    assert f"its data file {name} has the name of a file that JMeter reads itself" in refusal
    assert "\n" not in refusal


@pytest.mark.parametrize("name", ORDINARY)
def test_other_names_are_not(checked, name):
    assert checked(request() + data_set(name), files=(name,)) == ""


@pytest.mark.parametrize("name", ["user.properties", "bin/utility.groovy"])
def test_nor_may_a_plan_write_such_a_file(checked, name):
    saver = element("ResultSaver", "Save", text("FileSaver.filename", name))
    assert f"writes to {name}, which has the name of a file that JMeter reads itself" in checked(request(below=saver))


@pytest.mark.parametrize("name", CODE)
def test_a_property_that_is_code_needs_scripts_however_it_is_set(checked, name):
    reads = request(path=f"/x?${{__P({name},)}}")
    what = f"sets the property {name}, which names code that JMeter loads"
    assert what in checked(reads, f'[properties]\n"{name}" = "/tmp/x"')
    assert what in checked(request(), properties=f"{name}=/tmp/x")
    assert "." not in name or what in checked(request(), set=f"{name}=/tmp/x")
    assert what in checked(request(path=f"/${{__setProperty({name},/tmp/x)}}"))
    assert checked(reads, f'[properties]\n"{name}" = "/tmp/x"\n[allow]\nscripts = true') == ""


@pytest.mark.parametrize("name", OF_THE_HARNESS)
def test_a_setting_that_the_harness_relies_on_is_refused_even_with_scripts(checked, name):
    allow = "[allow]\nscripts = true"
    table = checked(request(path=f"/${{__P({name},)}}"), f'[properties]\n"{name}" = "x"\n{allow}')
    assert f"sets the property {name}" in table
    typed = checked(request(), allow, properties=f"{name}=x")
    assert f"sets the property {name}" in typed or f"{name} is set by the harness" in typed
    assert f"sets the property {name}" in checked(request(path=f"/${{__setProperty({name},x)}}"), allow)


def test_a_property_whose_name_only_the_run_knows_needs_scripts(checked):
    assert "whose name only the run knows" in checked(request(path="/${__setProperty(${__UUID()},x)}"))
    assert checked(request(path="/${__setProperty(order_${__threadNum},x)}")) == ""


@pytest.mark.parametrize("name", CREDENTIALS)
def test_no_request_carries_a_credential_of_the_machine(checked, monkeypatch, name):
    monkeypatch.setenv(name, "a-long-secret-value-4711")
    what = f"reads {name}: it is a credential of this machine or of its accounts, which no request may carry"
    assert what in checked(request(), f'[headers]\nX-Key = "Bearer ${name}"')
    assert what in checked(request(), header=(f"X-Key: ${name}",))
    assert what in checked(request(path=f'/${{__groovy(System.getenv("{name}"))}}'))
    assert what in checked(request(path=f"/${{__env({name})}}"), "[allow]\nscripts = true")
    assert "a-long-secret" not in checked(request(), f'[headers]\nX-Key = "${name}"')


def test_nor_does_the_list_of_secrets_name_one(checked, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-long-secret-value-4711")
    found = checked(request(), first='secrets = ["AWS_SECRET_ACCESS_KEY"]\n')
    assert found.startswith("the plan reads AWS_SECRET_ACCESS_KEY: it is a credential")


def test_a_variable_of_the_system_under_test_may_be_sent(checked, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "a-long-secret-value-4711")
    assert checked(request(), '[headers]\nX-Key = "Bearer $SHOP_TOKEN"') == ""


def test_one_pass_of_a_check_or_a_replay_goes_through_the_same_check(checked, home, tmp_path):
    """Nothing of a context is touched: the plan is refused first."""
    assert checked(request() + data_set("user.properties"), files=("user.properties",))
    found = request_of(home, home, "tiny", "local", "http://127.0.0.1:8098")
    spec = found.run_spec(ClosedLoad(1, 0.0, None, 1), note="", command="lth check tiny")
    with pytest.raises(UsageError, match="has the name of a file that JMeter reads itself"):
        run_once(spec, found, tmp_path / "pass", None, 1.0)  # type: ignore[arg-type]
    assert not (tmp_path / "pass").exists()


JAVA = text("HTTPSampler.implementation", "Java")
AUTO = flag("HTTPSampler.auto_redirects")
ACROSS = "[allow]\ncredentials_across = true"
CLIENT = '[properties]\n"jmeter.httpsampler" = "{}"'
# A plan's TOML sets only properties that the JMX reads.
READS = request(name="${__P(jmeter.httpsampler,)}")
OLD = "org.apache.jmeter.protocol.http.sampler.HTTPSampler"
LOG = "org.apache.jmeter.protocol.http.sampler.AccessLogSampler"
OTHERS = "[allow]\nother_protocols = true"


def with_header(name: str, value: str = "abc") -> str:
    pair = text("Header.name", name) + text("Header.value", value)
    row = f'<elementProp name="" elementType="Header">{pair}</elementProp>'
    return element("HeaderManager", "Headers", f'<collectionProp name="HeaderManager.headers">{row}</collectionProp>')


@pytest.mark.parametrize(
    ("plan", "toml", "is_refused"),
    [
        (request(JAVA, AUTO) + with_header("X-Api-Key"), "", True),
        (request(JAVA, AUTO) + with_header("Proxy-Authorization"), "", True),
        (request(JAVA, AUTO) + with_header("X-Shop", "${__P(shop_token)}"), "", True),
        (request(JAVA, AUTO), '[headers]\nX-Api-Key = "$SHOP_KEY"', True),
        (request(text("HTTPSampler.implementation", "${client}"), AUTO) + with_header("X-Api-Key"), "", True),
        (request(text("HTTPSampler.implementation", "HTTPSampler"), AUTO) + with_header("X-Api-Key"), "", True),
        (request(AUTO).replace("HTTPSamplerProxy", OLD) + with_header("X-Api-Key"), "", True),
        (request(AUTO).replace("HTTPSamplerProxy", LOG) + request() + with_header("X-Api-Key"), OTHERS, True),
        (READS + request(AUTO) + with_header("X-Api-Key"), CLIENT.format("Java"), True),
        (READS + request(AUTO) + with_header("X-Api-Key"), CLIENT.format("HTTPSampler"), True),
        (READS + request(AUTO) + with_header("X-Api-Key"), CLIENT.format("HttpClient4"), False),
        (request(JAVA, AUTO) + with_header("X-Api-Key"), ACROSS, False),
        (
            request(JAVA, AUTO) + with_header("Authorization") + with_header("Cookie") + with_header("X-Plain"),
            "",
            False,
        ),
        (request(JAVA, flag("HTTPSampler.follow_redirects")) + with_header("X-Api-Key"), "", False),
        (request(text("HTTPSampler.implementation", "HttpClient4"), AUTO) + with_header("X-Api-Key"), "", False),
        (request(AUTO) + with_header("X-Api-Key"), "", False),
    ],
)
def test_credentials_that_javas_client_would_send_on_are_refused(checked, monkeypatch, plan, toml, is_refused):
    """What it sends: tests/run/test_real_credentials.py."""
    monkeypatch.setenv("SHOP_KEY", "abcdefgh")
    said = checked(plan, toml)
    assert ("Java's client redirects automatically, and sends" in said) == is_refused
    assert is_refused or said == ""
