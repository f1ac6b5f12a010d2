"""What a plan's own logic can see stays as it is when `lth init --fix` changes a JMX."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.commands.init import refused_with_fixes
from harness.plan.adopt.adopt import adopt
from harness.plan.checks.finding import Rule
from harness.plan.checks.lint import lint
from tests.support.off_host import element, flag, jmx, request, text
from tests.support.off_host import variables as user_variables


@pytest.mark.parametrize(
    "beside",
    [
        element("ResultAction", "On error", text("OnError.action", "5")),
        element("WhileController", "Until one fails", text("WhileController.condition", "LAST")),
        element("IfController", "Only after it", text("IfController.condition", "${JMeterThread.last_sample_ok}")),
        element("ThreadGroup", "Others", text("ThreadGroup.on_sample_error", "startnextloop")),
    ],
)
def test_only_what_jmeter_counts_as_a_failure_becomes_one_where_the_plan_sees_it(tmp_path: Path, beside: str) -> None:
    (tmp_path / "own.jmx").write_text(jmx(request(flag("HTTPSampler.follow_redirects")), beside))
    nodes = adopt(tmp_path / "own.jmx", "shop", tmp_path).draft.plan.walk()
    assert [node.value("code") for node in nodes if node.kind == "ResponseAssertion"] == [r"[23]\d\d"]


IGNORES = element("ResponseAssertion", "Any code", flag("Assertion.assume_success"))
DECIDES = element("JSR223PostProcessor", "Accepts 404", text("script", "prev.setSuccessful(true)"))


@pytest.mark.parametrize("more", [IGNORES, DECIDES])
def test_no_code_is_asserted_where_the_plan_decides_what_a_success_is(tmp_path: Path, more: str) -> None:
    (tmp_path / "own.jmx").write_text(jmx(request(below=more) + request(name="Pay")))
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    added = [node.path for node in adoption.draft.plan.walk() if node.name.startswith("Code")]
    assert added == ["Off host > Users > Pay > Code 2xx or 3xx"]
    (tmp_path / "fixed.jmx").write_bytes(adoption.draft.text())
    assert not any(finding.rule is Rule.NO_CODE_ASSERTION for finding in lint(tmp_path / "fixed.jmx"))


OTHERS = (
    "eu.luminis.jmeter.wssampler.OpenWebSocketSampler", "JDBCSampler", "TCPSampler", "JavaSampler", "JSR223Sampler",
    "kg.apc.jmeter.samplers.DummySampler", "DebugSampler", "net.xmeter.samplers.PubSampler", "JMSSampler",
)  # fmt: skip


@pytest.mark.parametrize("kind", OTHERS)
def test_codes_of_http_are_asserted_of_http_requests_only(tmp_path: Path, kind: str) -> None:
    (tmp_path / "own.jmx").write_text(jmx(element(kind, "Other") + request(name="Page") + request(name="Pay")))
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    added = [node.path for node in adoption.draft.plan.walk() if node.kind == "ResponseAssertion"]
    names = [f"Off host > Users > {name} > Code 2xx or 3xx" for name in ("Page", "Pay")]
    assert added == names
    (tmp_path / "fixed.jmx").write_bytes(adoption.draft.text())
    assert not any(finding.rule is Rule.NO_CODE_ASSERTION for finding in lint(tmp_path / "fixed.jmx"))


EXTRACTORS = (
    ("RegexExtractor", "RegexExtractor.refname", "RegexExtractor.default"),
    ("BoundaryExtractor", "BoundaryExtractor.refname", "BoundaryExtractor.default"),
    ("HtmlExtractor", "HtmlExtractor.refname", "HtmlExtractor.default"),
    ("JSONPostProcessor", "JSONPostProcessor.referenceNames", "JSONPostProcessor.defaultValues"),
    ("JMESPathExtractor", "JMESExtractor.referenceName", "JMESExtractor.defaultValue"),
    ("XPathExtractor", "XPathExtractor.refname", "XPathExtractor.default"),
    ("XPath2Extractor", "XPathExtractor2.refname", "XPathExtractor2.default"),
)


@pytest.mark.parametrize(("kind", "name", "default"), EXTRACTORS)
def test_the_default_of_an_extractor_stays_as_it_is(tmp_path: Path, kind: str, name: str, default: str) -> None:
    for props in ((), (text(default, ""),), (text(default, "none"),), (flag(f"{default}_empty_value"),)):
        extractor = element(kind, "Coupon", text(name, "coupon"), *props)
        (tmp_path / "own.jmx").write_text(jmx(request(below=extractor)))
        fixed = adopt(tmp_path / "own.jmx", "shop", tmp_path).draft.text().decode()
        assert extractor in fixed


@pytest.mark.parametrize(
    ("value", "path", "fixed"),
    [
        ("", "${ctx}/vets.html", "${__P(base_path,)}${ctx}/vets.html"),
        ("", "${ctx}vets.html", "${__P(base_path,)}/${ctx}vets.html"),
        ("", "${ctx}", "${__P(base_path,)}${ctx}"),
        ("", "${ctx}${ctx}/${ctx}a", "${__P(base_path,)}${ctx}${ctx}/${ctx}a"),
        ("", "${__P(ctx,${ctx})}/a", "${__P(base_path,)}${__P(ctx,${ctx})}/a"),
        ("/clinic", "${ctx}/owners", "${__P(base_path,)}${ctx}/owners"),
        ("clinic", "${ctx}/owners", "${__P(base_path,)}/${ctx}/owners"),
        ("?a=", "${ctx}1", "${__P(base_path,)}${ctx}1"),
    ],
)
def test_a_path_that_begins_with_a_variable_gets_a_slash_only_where_jmeter_adds_one(
    tmp_path: Path, value: str, path: str, fixed: str
) -> None:
    (tmp_path / "own.jmx").write_text(jmx(request(path=path), user_variables(ctx=value)))
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    sampler = next(node for node in adoption.draft.plan.walk() if node.kind == "HTTPSamplerProxy")
    assert sampler.value("HTTPSampler.path") == fixed
    assert refused_with_fixes(adoption, "shop", ()) == ()


def fixed_texts(folder: Path, in_group: str, beside: str = "") -> tuple[str, list[Rule]]:
    """The text of the fixed plan, and the rules of what is left."""
    (folder / "own.jmx").write_text(jmx(in_group, beside).replace('testname="Users"', 'testname="Shoppers"'))
    adoption = adopt(folder / "own.jmx", "shop", folder)
    return adoption.draft.text().decode(), [finding.rule for finding in adoption.left]


def test_a_property_without_a_default_is_still_what_jmeter_makes_of_it(tmp_path: Path) -> None:
    reads = request(path="/a?x=${__P(x)}&y=${__property(y)}&z=${__P(z)}&w=${__P(x,5)}")
    fixed, left = fixed_texts(tmp_path, reads)
    assert "x=${__P(x,1)}&amp;y=${__property(y,,y)}&amp;z=${__P(z,1)}&amp;w=${__P(x,5)}" in fixed
    assert left == [Rule.TWO_DEFAULTS]


@pytest.mark.parametrize(
    "reader",
    [
        request(name="Which", path="/a?label=${__samplerName()}"),
        element("JSR223PostProcessor", "Read", text("script", "vars.put('label', prev.getSampleLabel())")),
        element("JSR223PreProcessor", "Read", text("script", "log.info(sampler.getName())")),
        element("BeanShellPreProcessor", "Read", text("script", "log.info(sampler.name)")),
    ],
)
def test_labels_that_the_plan_reads_stay(tmp_path: Path, reader: str) -> None:
    fixed, _ = fixed_texts(tmp_path, request() + request(path="/2"), reader)
    assert fixed.count('testname="Buy"') == 2


@pytest.mark.parametrize("function", ["__threadGroupName", "__threadName", "__TestPlanName"])
def test_a_name_that_a_run_changes_and_a_request_reads_is_named(tmp_path: Path, function: str) -> None:
    sending = request(path=f"/a?by=${{{function}}}")
    assert fixed_texts(tmp_path, sending)[1] == [Rule.NAME_READ]
    assert fixed_texts(tmp_path, request(path="/a?by=${__threadNum}"))[1] == []


def test_a_variable_of_the_plan_named_run_id_is_not_defined_anew(tmp_path: Path) -> None:
    extractor = element("RegexExtractor", "Job", text("RegexExtractor.refname", "run_id"))
    fixed, _ = fixed_texts(tmp_path, request(path="/jobs/${run_id}", below=extractor))
    assert '<stringProp name="Argument.name">run_id</stringProp>' not in fixed
    assert "${__P(run_id,adhoc)}" in fixed
