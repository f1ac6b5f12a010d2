"""A JMeter test plan as XML: what it reads, what is wrong with it, and the open model put into it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from defusedxml.ElementTree import fromstring

from harness.base.errors import UsageError
from harness.plan.checks.finding import Rule
from harness.plan.checks.lint import lint
from harness.plan.jmx.data_files import data_files
from harness.plan.jmx.thread_groups import with_open_model
from harness.plan.jmx.tree import parse, read_properties, reads_in, reads_of
from harness.plan.plan import load_plan
from tests.support.paths import ROOT

CODE_ASSERTION = """
<ResponseAssertion testname="Code 200">
  <stringProp name="Assertion.test_field">Assertion.response_code</stringProp>
</ResponseAssertion>
<hashTree/>"""
LOAD_GROUP = """
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="Users">
  <stringProp name="TestPlan.comments">The load.</stringProp>
  <stringProp name="ThreadGroup.num_threads">${users}</stringProp>
  <stringProp name="ThreadGroup.ramp_time">${__P(ramp_s,1)}</stringProp>
  <stringProp name="ThreadGroup.duration">${__jexl3((${duration_s} + 0.5).intValue())}</stringProp>
  <elementProp name="ThreadGroup.main_controller" elementType="LoopController">
    <stringProp name="LoopController.loops">${__P(loops,-1)}</stringProp>
  </elementProp>
</ThreadGroup>"""
VARIABLES = """
<elementProp name="users" elementType="Argument">
  <stringProp name="Argument.value">${__P(users,5)}</stringProp>
</elementProp>
<elementProp name="duration_s" elementType="Argument">
  <stringProp name="Argument.value">${__P(duration_s,10)}</stringProp>
</elementProp>
<elementProp name="others" elementType="Argument"><stringProp name="Argument.value">
  ${__P(scheme,http)}${__P(host,h)}${__P(port,1)}${__P(base_path,)}${__P(think_time_ms,0)}${__P(run_id,a)}
</stringProp></elementProp>"""


def sampler(label: str, below: str = CODE_ASSERTION, domain: str = "", path: str = "/") -> str:
    """An HTTP sampler with the elements below it."""
    return f"""
    <HTTPSamplerProxy testname="{label}">
      <stringProp name="HTTPSampler.domain">{domain}</stringProp>
      <stringProp name="HTTPSampler.path">{path}</stringProp>
    </HTTPSamplerProxy>
    <hashTree>{below}</hashTree>"""


def plan(in_group: str, beside_group: str = "", group: str = LOAD_GROUP) -> str:
    """A test plan with one thread group."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
    <jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree>
      <TestPlan testname="t">{VARIABLES}</TestPlan>
      <hashTree>{beside_group}{group}<hashTree>{in_group}</hashTree></hashTree>
    </hashTree></jmeterTestPlan>"""


Save = Callable[[str], Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Write a JMX; its path in messages is plans/plan.jmx."""

    def write(text: str) -> Path:
        path = tmp_path / "plans" / "plan.jmx"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("${__P(users,50)}", [("users", "50")]),
        ("${__P(users)}", [("users", None)]),
        ("${__P(base_path,)}", [("base_path", "")]),
        ("a ${__P(a,1)} and ${__P(b,2)}", [("a", "1"), ("b", "2")]),
        ("${__P(label,Stripe (Default) Method)}", [("label", "Stripe (Default) Method")]),
        (r"${__P(info,{\"a\":1\,\"b\":2})}", [("info", r"{\"a\":1,\"b\":2}")]),
        ("${__property(host,,local)}", [("host", "local")]),
        ("${__property(host)}", [("host", None)]),
        ("${__P(d,${__jexl3(${__P(loops,-1)} < 0)})}", [("d", "${__jexl3(${__P(loops,-1)} < 0)}"), ("loops", "-1")]),
        ("${__P(${name},1)}", []),
        ("${__Random(1,2)} P(x,1)", []),
        ("${__P(torn,1", [("torn", "1")]),
    ],
)
def test_properties_are_read_with_their_defaults(text: str, reads: list[tuple[str, str | None]]) -> None:
    assert list(reads_in(text)) == reads


def test_properties_are_found_in_texts_and_in_names(save: Save) -> None:
    jmx = save(plan(sampler("${__P(label,Search)}", path="/${__P(page,)}")))
    found = read_properties(jmx)
    assert found["label"] == "Search"
    assert found["page"] == ""
    assert found["users"] == "5"


def test_the_first_of_two_defaults_is_the_default(save: Save) -> None:
    jmx = save(plan(sampler("${__P(x,1)}", path="${__P(x,2)}")))
    assert read_properties(jmx)["x"] == "1"
    assert [read for read in reads_of(parse(jmx).getroot()) if read.name == "x"] == [("x", "1"), ("x", "2")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("users=5", "plans/plan.jmx: not XML: not well-formed (invalid token): line 1, column 5"),
        ("", "plans/plan.jmx: not XML"),
        ("<jmeterTestPlan><hashTree>", "plans/plan.jmx: not XML"),
        ("<project/>", "plans/plan.jmx: XML, but not a JMeter test plan"),
        ("<jmeterTestPlan><hashTree/></jmeterTestPlan>", "plans/plan.jmx: XML, but not a JMeter test plan"),
        (
            '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/hostname">]><jmeterTestPlan>&e;</jmeterTestPlan>',
            "plans/plan.jmx: declares a document type or entities",
        ),
    ],
)
def test_a_file_that_is_not_a_test_plan_is_refused(save: Save, text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        read_properties(save(text))
    assert str(error.value).startswith(message)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no\.jmx: there is no such file"):
        read_properties(tmp_path / "no.jmx")


def test_a_good_plan_has_no_findings(save: Save) -> None:
    assert lint(save(plan(sampler("A") + sampler("B")))) == ()


EXTRACTOR = '<RegexExtractor testname="id"/><hashTree/>'
FLAG = '<boolProp name="HTTPSampler.{}">true</boolProp></HTTP'
LISTENER = '<{kind} testname="Tree"/><hashTree/>'


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (plan(sampler("A") + LISTENER.format(kind="ResultCollector")), "Tree: a listener (ResultCollector) costs"),
        (plan(sampler("A") + LISTENER.format(kind="ResultSaver")), "Tree: a listener (ResultSaver) costs"),
        (
            plan(sampler("A"), LISTENER.format(kind="kg.apc.jmeter.vizualizers.CorrectedResultCollector")),
            "Tree: a listener (kg.apc.jmeter.vizualizers.CorrectedResultCollector) costs",
        ),
        (plan(sampler("A", below="")), "A: no assertion on the response code"),
        (
            plan(sampler("A", below=CODE_ASSERTION.replace("response_code", "response_data"))),
            "A: no assertion on the response code",
        ),
        (
            plan(sampler("A", below=CODE_ASSERTION.replace("testname", 'enabled="false" testname'))),
            "A: no assertion on the response code",
        ),
        (plan(sampler("A") + sampler("A")), "A: 2 samplers of Users share this label"),
        (plan(sampler("A", domain="example.com")), "A: the host is fixed (example.com)"),
        (
            plan(sampler("A").replace("</HTTP", '<stringProp name="X.password">hunter2</stringProp></HTTP')),
            "A: the plan contains a password, token or key",
        ),
        (plan(sampler("A").replace("</HTTP", FLAG.format("image_parser"))), "A: retrieves embedded resources"),
        (plan(sampler("A", path="http://example.com/x")), "A: the host is fixed (http://example.com/x)"),
        (
            plan(sampler("A"), group=LOAD_GROUP.replace("${__P(ramp_s,1)}", "25")),
            "Users: ThreadGroup.ramp_time is 25, not a property",
        ),
        (
            plan(sampler("A"), group=LOAD_GROUP.replace('"Users"', '"Load"')),
            "the load needs one thread group named Users; the plan has Load",
        ),
        (plan(sampler("${__P(x)}")), "x: a property without a default"),
        (plan(sampler("${__P(x,1)}${__P(x,2)}")), "x: a property with different defaults: 1, 2"),
        (
            plan(sampler("A")).replace("${__P(host,h)}", ""),
            "host of the run has no effect: no element uses this property",
        ),
    ],
)
def test_each_mistake_in_a_plan_is_found(save: Save, text: str, finding: str) -> None:
    texts = [found.text for found in lint(save(text))]
    assert any(found.startswith(finding) for found in texts), texts


def test_a_backend_listener_is_replaced_by_metrics(save: Save) -> None:
    [found] = [one for one in lint(save(plan(sampler("A") + LISTENER.format(kind="BackendListener")))) if one.todo]
    assert found.todo == (
        "disable it: the harness stores every sample, and --metrics=1 or --otlp=URL sends numbers while a run lasts"
    )


def test_a_finding_names_element_line_rule_reason_and_remedy(save: Save) -> None:
    text = plan(sampler("A", domain="example.com"))
    [found] = lint(save(text))
    [line] = [number for number, row in enumerate(text.splitlines(), 1) if 'HTTPSamplerProxy testname="A"' in row]
    assert (found.code, found.path, found.line) == ("fixed-host", "t > Users > A", line)
    assert found.attribute == "HTTPSampler.domain"
    assert found.why == "its requests go there and not to the target of the run"
    assert found.todo == "write ${__P(host,127.0.0.1)} for the host, and likewise port and scheme"
    assert found.text_in("plans/plan.jmx") == (
        f"plans/plan.jmx:{line}: t > Users > A: the host is fixed (example.com), so --target would be ignored"
    )


def test_a_plan_that_ignores_the_target_says_so_first(save: Save) -> None:
    text = plan(sampler("A"))
    for name in ("host", "port", "scheme", "base_path"):
        text = re.sub(rf"\$\{{__P\({name},[^)]*\)\}}", "", text)
    [found] = [one for one in lint(save(text)) if one.code == "unread-property"]
    assert found.what == "--target has no effect: no request uses the properties host, port, scheme, base_path"


def test_a_finding_about_the_whole_plan_names_no_element(save: Save) -> None:
    [found] = lint(save(plan(sampler("A")).replace("${__P(host,h)}", "")))
    assert (found.code, found.path, found.element) == ("unread-property", "t", "")
    assert found.text_in("plans/plan.jmx").endswith(": host of the run has no effect: no element uses this property")


def test_a_secret_of_a_disabled_element_and_of_a_comment_are_found(save: Save) -> None:
    secret = '<stringProp name="X.password">hunter2</stringProp></HTTP'
    disabled = sampler("A").replace("testname", 'enabled="false" testname').replace("</HTTP", secret)
    found = lint(save(plan(sampler("B", CODE_ASSERTION) + disabled + "<!-- password = 'hunter3' -->")))
    assert [(one.code, one.path) for one in found] == [("secret", "t > Users > A"), ("secret", "t")]


def test_the_codes_of_rules_differ() -> None:
    assert len({rule.code for rule in Rule}) == len(Rule)


@pytest.mark.parametrize(
    "text",
    [
        plan(sampler("A") + LISTENER.format(kind='ResultCollector enabled="false"')),
        plan(sampler("A", below=""), beside_group=CODE_ASSERTION),
        plan(
            sampler("A"),
            '<SetupThreadGroup testname="setUp"/><hashTree>'
            + sampler("A", CODE_ASSERTION + LISTENER.format(kind="ResultSaver"))
            + "</hashTree>",
        ),
        plan(sampler("A", CODE_ASSERTION + EXTRACTOR)),
        plan(sampler("A", domain="${host}", path="${scheme}://${host}/x")),
    ],
    ids=[
        "switched-off",
        "assertion-for-all",
        "setup-saves-and-shares-labels",
        "no-default",
        "host-property",
    ],
)
def test_harmless_elements_have_no_findings(save: Save, text: str) -> None:
    assert lint(save(text)) == ()


DATA = '<CSVDataSet testname="pages"><stringProp name="filename">{}</stringProp></CSVDataSet><hashTree/>'


@pytest.mark.parametrize(
    ("filename", "files"),
    [
        ("data/pages.csv", ("data/pages.csv",)),
        ("${__P(pages,data/pages.csv)}", ("data/pages.csv",)),
        ("${__P(pages,)}", ()),
        ("${folder}/pages.csv", ()),
        ("/tmp/pages.csv", ()),
    ],
)
def test_the_files_that_a_plan_reads_are_named_from_its_folder(save: Save, filename: str, files: tuple[str]) -> None:
    assert data_files(save(plan(sampler("A") + DATA.format(filename) * 2))) == files


def test_a_data_file_that_is_missing_is_found(save: Save) -> None:
    jmx = save(plan(sampler("A") + DATA.format("pages.csv")))
    assert [found.text for found in lint(jmx)] == ["pages: a CSV Data Set reads pages.csv, but it does not exist"]
    (jmx.parent / "pages.csv").touch()
    assert lint(jmx) == ()


def test_the_protos_of_a_grpc_request_are_files_of_the_plan(save: Save) -> None:
    folder = '<stringProp name="GRPCSampler.protoFolder">{}</stringProp>'
    call = f'<vn.zalopay.benchmark.GRPCSampler testname="Buy">{folder}</vn.zalopay.benchmark.GRPCSampler><hashTree/>'
    jmx = save(plan(sampler("A") + call.format("protos")))
    assert _files_missing(jmx) == ["Buy: the element reads the folder protos, but it does not exist"]
    (jmx.parent / "protos" / "v1").mkdir(parents=True)
    for name in ("shop.proto", "v1/item.proto"):
        (jmx.parent / "protos" / name).touch()
    assert (_files_missing(jmx), data_files(jmx)) == ([], ("protos/shop.proto", "protos/v1/item.proto"))
    for name in ("/srv/protos", "../protos", "${protos}"):
        jmx = save(plan(sampler("A") + call.format(name)))
        assert (_files_missing(jmx), data_files(jmx)) == ([], ())


def _files_missing(jmx: Path) -> list[str]:
    return [found.text for found in lint(jmx) if found.rule is Rule.MISSING_FILE]


def test_a_label_from_data_may_occur_twice(save: Save) -> None:
    assert lint(save(plan(sampler("${page}") + sampler("${page}")))) == ()
    # A User Defined Variable has one value.
    assert lint(save(plan(sampler("${users}") * 2))) != ()


def test_the_open_model_replaces_the_thread_group_of_the_load(save: Save) -> None:
    jmx = save(plan(sampler("A"), '<SetupThreadGroup testname="setUp"/><hashTree/>'))
    root = fromstring(with_open_model(jmx, "rate(5/sec) random_arrivals(10 sec)"))
    groups = root.find("hashTree/hashTree")
    assert groups is not None
    assert [element.tag for element in groups] == ["SetupThreadGroup", "hashTree", "OpenModelThreadGroup", "hashTree"]
    group = groups[2]
    assert group.attrib == {
        "guiclass": "OpenModelThreadGroupGui",
        "testclass": "OpenModelThreadGroup",
        "testname": "Users",
    }
    assert {prop.get("name"): prop.text for prop in group.iter("stringProp")} == {
        "TestPlan.comments": "The load.",
        "ThreadGroup.on_sample_error": "continue",
        "OpenModelThreadGroup.schedule": "rate(5/sec) random_arrivals(10 sec)",
        "OpenModelThreadGroup.random_seed": None,
    }
    assert [element.get("testname") for element in groups[3]] == ["A", None]


def test_the_open_model_keeps_the_rest_of_the_plan(save: Save) -> None:
    jmx = save(plan(sampler("Größe &amp; Maß", path="/a?b=1&amp;c=&lt;2&gt;")))
    before = dict(read_properties(jmx))
    text = with_open_model(jmx, "rate(1/sec) random_arrivals(1 sec)").decode("utf-8")
    assert 'testname="Größe &amp; Maß"' in text
    assert "/a?b=1&amp;c=&lt;2&gt;" in text
    # Only the thread group read these two.
    assert dict(read_properties(save(text))) == {k: v for k, v in before.items() if k not in ("loops", "ramp_s")}


def test_the_open_model_needs_one_load_group(save: Save) -> None:
    jmx = save(plan(sampler("A"), group=LOAD_GROUP.replace('"Users"', '"Load"')))
    with pytest.raises(UsageError, match=r"plans/plan\.jmx: 0 Thread Groups are named Users"):
        with_open_model(jmx, "rate(1/sec) random_arrivals(1 sec)")


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "plans").glob("*.toml")))
def test_every_included_plan_passes_the_linter(name: str) -> None:
    shipped = load_plan(ROOT / "plans", name)
    assert lint(shipped.jmx_path, has_loads=bool(shipped.load.loads)) == ()


def test_a_plan_without_http_needs_no_properties_of_a_target(save: Save) -> None:
    text = plan('<JDBCSampler testname="Query"/><hashTree/>')
    found = [one for one in lint(save(text)) if one.rule is Rule.UNREAD_PROPERTY]
    assert not any(name in one.what for one in found for name in ("host", "port", "scheme", "base_path", "--target"))


def test_a_plan_with_timers_of_its_own_needs_no_property_for_the_think_time(save: Save) -> None:
    timer = '<ConstantTimer testname="Think"><stringProp name="ConstantTimer.delay">300</stringProp></ConstantTimer>'
    own = sampler("Home", f"{CODE_ASSERTION}{timer}<hashTree/>")
    assert lint(save(plan(own).replace("${__P(think_time_ms,0)}", ""))) == ()
    (finding,) = lint(save(plan(sampler("Home")).replace("${__P(think_time_ms,0)}", "")))
    assert finding.what == "think_time_ms of the run has no effect: no element uses this property"
