"""Scripts of a plan are found, however they are hidden, and what only compares and counts is none."""

from __future__ import annotations

import pytest

from harness.plan.checks.reach import is_simple
from tests.plan.checks.test_reach import refusal
from tests.support.off_host import (
    collection,
    element,
    flag,
    jmx,
    request,
    script,
    text,
    variables,
)


@pytest.mark.parametrize(
    ("expression", "simple"),
    [
        ('vars.get("a") == "it is new URL()"', True),
        ("(${x} + 0.5).intValue()", True),
        ("!${JMeterThread.last_sample_ok}", True),
        ('System.getenv("SHOP_PASSWORD") ?: ""', True),
        ("System.getenv()", False),
        ("System.exit(1)", False),
        ("a.b()", False),
        ("vars.put('host','x')", False),
        ("''.class", False),
        ("x = 1", False),
        ('"$props"', False),
        ("props.get('a')", False),
        ("org.foo.Bar.run()", False),
        ("1; new URL('x')", False),
        ("'touch x'.'execute'()", False),
        ("'touch x'. & 'execute'", False),
        ("''.'class'.'forName'('java.lang.Runtime')", False),
        ("/'/.getClass() + /'/", False),
        ("1 && /'/.x() + /'/", False),
        ("'''a ' '''.execute() + '''' '''", False),
        ("'a' /* ' */ .execute() // '", False),
        ("${__P(a,'x'.execute())} > 0", False),
        ("${__V(a)}.${__char(101)}()", False),
        ("${__FileToString(a.txt)}", False),
        ("(${__P(duration_s,60)} / 60 + ${__Random(1,5)} / 2).intValue()", True),
        ('"${a}" != "NOT_FOUND" && ${__P(port,8080)} == 80 ? "x" : "y"', True),
    ],
)
def test_an_expression_that_only_compares_and_counts_is_not_a_script(expression, simple):
    assert is_simple(expression, {}) is simple


_RUNS = "java.lang.Runtime.getRuntime().exec('x')"
_CODE = script("JSR223Sampler", "Code", "1")
_HIDDEN = variables(a="${__char(36)}{__groovy(1.x())}")
_EXTRACTED = request(below=element("RegexExtractor", "Next", text("RegexExtractor.refname", "next")))
_ROWS = element("CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "id,next"))
_USER_PARAMETERS = element(
    "UserParameters", "Own", collection("UserParameters.names", "next"),
    f'<collectionProp name="UserParameters.thread_values">{collection("1", _RUNS)}</collectionProp>',
)  # fmt: skip


@pytest.mark.parametrize(
    "plan",
    [
        jmx(_HIDDEN + request(path="/${__eval(${a})}")),
        jmx(_HIDDEN + request(path="/${__evalVar(a)}")),
        jmx(request(path="/${__eval(${__char(36)}{__groovy(1.x())})}")),
        jmx(request(path="/${__eval(${__FileToString(rows.csv)})}")),
        jmx(_EXTRACTED + request(path="/${__evalVar(next)}")),
        jmx(_EXTRACTED + request(path="/${__eval(${next})}")),
        jmx(_EXTRACTED.replace("</RegexExtractor>", f"{text('RegexExtractor.default', _RUNS)}</RegexExtractor>")
            + request(path="/${__groovy(${next})}")),
        jmx(_EXTRACTED + request(path="/${__groovy('touch x'.${next}())}")),
        jmx(_USER_PARAMETERS + request(path="/${__groovy(${next})}")),
        jmx(_CODE.replace(" testname", ' enabled="TRUE" testname')),
        jmx(_CODE.replace(" testname", ' enabled="false" testname').replace(
            "<stringProp", '<boolProp name="TestElement.enabled">true</boolProp><stringProp', 1)),
        jmx(element("IfController", "If", flag("IfController.useExpression"), text("IfController.condition", _RUNS),
                    flag("IfController.useExpression").replace("true", "false"), below=request())),
        jmx(element("IfController", "If", text("IfController.condition", _RUNS),
                    f"<elementProp name='x'>{flag('IfController.useExpression')}</elementProp>", below=request())),
        jmx(request()).replace('elementType="LoopController"', 'elementType="IfController"'),
    ],
)  # fmt: skip
def test_code_that_is_hidden_from_a_reader_is_still_a_script(check, plan):
    refused = refusal(check, plan)
    assert "runs code" in refused or "is JavaScript" in refused or "has the main controller" in refused
    assert "\n" not in refused


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<HTTPSamplerProxy ", '<HTTPSamplerProxy class="JSR223Sampler" ', "has the class JSR223Sampler"),
        ("<stringProp", '<objProp><name>a</name><value class="java.net.URL">x</value></objProp><stringProp',
         "value has the class java.net.URL"),
        ("<TestPlan", "<DebugSampler/><hashTree/><TestPlan", "DebugSampler is not within the only Test Plan"),
        ("</hashTree></jmeterTestPlan>", "<SetupThreadGroup/><hashTree/></hashTree></jmeterTestPlan>",
         "SetupThreadGroup is not within the only Test Plan"),
        ("</hashTree></jmeterTestPlan>", "<WorkBench/><hashTree><ThreadGroup/></hashTree></hashTree></jmeterTestPlan>",
         "ThreadGroup is within the WorkBench"),
    ],
)  # fmt: skip
def test_a_plan_that_jmeter_reads_otherwise_than_it_looks_is_refused(check, old, new, message):
    plan = jmx(request())
    assert old in plan
    refused = refusal(check, plan.replace(old, new, 1))
    assert message in refused
    assert "\n" not in refused


def test_a_text_with_variables_that_is_evaluated_is_no_script(check):
    own = variables(query="?a=${next}&b=${__P(b,1)}")
    check(jmx(own + _EXTRACTED + request(path="/x${__eval(${query})}")))
    check(jmx(_ROWS + request(path="/x${__eval(${next})}")))
