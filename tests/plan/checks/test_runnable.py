"""The lint names what keeps a plan from running at all: absent classes, placeholders, and a plan without a sampler."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.plan.checks.finding import Finding, Rule
from harness.plan.checks.lint import lint
from tests.support.off_host import element, host, jmx, request, text, variables

JSON = "com.atlantbh.jmeter.plugins.jsonutils.jsonpathextractor.JSONPathExtractor"
PLUGIN = "kg.apc:jmeter-plugins-json:2.7"
RULES = (Rule.ABSENT_CLASS, Rule.PLACEHOLDER, Rule.NO_SAMPLER)


@pytest.fixture
def found(tmp_path: Path):
    """Return the findings of these rules in a plan."""

    def findings(plan: str, *plugins: str) -> list[Finding]:
        (tmp_path / "own.jmx").write_text(plan)
        return [finding for finding in lint(tmp_path / "own.jmx", plugins=plugins) if finding.rule in RULES]

    return findings


def test_a_class_of_a_plugin_that_the_plan_does_not_list_is_named_with_the_plugin_and_its_line(found) -> None:
    plan = jmx(request(below=element(JSON, "Token") + element(JSON, "Id")))
    (finding,) = found(plan)
    assert finding.text == f"Token: needs the plugin {PLUGIN} (its class {JSON})"
    assert finding.todo == f'add plugins = ["{PLUGIN}"] under [jmeter] in the plan\'s TOML'
    assert found(plan, "kg.apc:jmeter-plugins-json:2.6") == []


def test_the_class_of_a_disabled_element_is_needed_too(found) -> None:
    disabled = element("FTPSampler", "Fetch").replace("testname", 'enabled="false" testname', 1)
    (finding,) = found(jmx(request() + disabled))
    assert '["org.apache.jmeter:ApacheJMeter_ftp:5.6.3"]' in finding.todo


def test_an_element_that_jmeter_no_longer_has_is_to_be_deleted(found) -> None:
    (finding,) = found(jmx(request() + element("SoapSampler", "Old")))
    assert finding.text == "Old: needs the class SoapSampler, which JMeter 5.6.3 does not have"
    assert finding.todo.startswith("delete the element")


def test_a_class_of_an_unknown_plugin_is_named_unless_the_plan_lists_plugins(found) -> None:
    plan = jmx(request() + element("com.shop.Graph", "Graph"))
    (finding,) = found(plan)
    assert "name its plugin, or put its jar beside the plan" in finding.todo
    assert found(plan, "com.shop:graphs:1.0") == []


def test_elements_of_the_harness_s_own_plugins_are_there(found) -> None:
    assert found(jmx(request() + element("kg.apc.jmeter.samplers.DummySampler", "Dummy"))) == []


@pytest.mark.parametrize(
    ("plan", "placeholder"),
    [
        (jmx(request(host("@@host@@"))), "@@host@@"),
        (jmx(request(path="/{{ tenant }}/items")), "{{ tenant }}"),
        (jmx(request(text("HTTPSampler.port", "[=port]"))), "[=port]"),
        (jmx(request(), variables(HOST="<your host>")), "<your host>"),
        (jmx(request(), variables(TENANT="${__P(tenant,[tenant])}")), "[tenant]"),
    ],
)
def test_a_placeholder_that_a_template_left_is_named(found, plan: str, placeholder: str) -> None:
    (finding,) = found(plan)
    assert finding.rule is Rule.PLACEHOLDER
    assert finding.what == f"contains the placeholder {placeholder}"


@pytest.mark.parametrize("value", ["${HOST}", "<b>bold</b> text", "a [b] c", "{{}}", "50%"])
def test_other_texts_are_no_placeholders(found, value: str) -> None:
    assert found(jmx(request(), variables(TEXT=value))) == []


def test_a_plan_without_an_enabled_sampler_is_named(found) -> None:
    for more in (
        "",
        element("DebugPostProcessor", "Debug"),
        request().replace("testname", 'enabled="false" testname', 1),
    ):
        (finding,) = found(jmx(more))
        assert finding.text == "the plan has no enabled sampler"
    assert found(jmx(element("IncludeController", "Part"))) == []
