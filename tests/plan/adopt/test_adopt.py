"""What `make init` changes in a JMX, and what it leaves: read from a plan as people write them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.adopt.draft import Fix
from harness.plan.adopt.files import write_adopted
from harness.plan.adopt.toml_text import plan_toml
from harness.plan.checks.finding import Rule
from harness.plan.checks.lint import lint
from harness.plan.jmx.tree import Node
from harness.plan.plan import load_plan
from tests.plan.adopt.conftest import OWN
from tests.support.off_host import element, host, jmx, request, text
from tests.support.off_host import variables as user_variables
from tests.support.several import group, several_jmx


def variable(node: Node, name: str) -> str | None:
    return node.element.findtext(f".//elementProp[@name='{name}']/stringProp[@name='Argument.value']")


@pytest.mark.usefixtures("fixed")
def test_the_fixed_plan_passes_the_lint(plans: Path) -> None:
    assert lint(plans / "shop.jmx") == ()


def test_a_host_in_a_variable_becomes_the_targets_for_all_who_read_the_variable(fixed: dict[str, Node]) -> None:
    assert variable(fixed["Variables"], "HOSTNAME") == "${__P(host,shop.example.org)}"
    defaults = fixed["HTTP Request Defaults"]
    assert [defaults.value(f"HTTPSampler.{name}") for name in ("domain", "port", "protocol")] == [
        "${HOSTNAME}", "${__P(port,443)}", "${__P(scheme,https)}",
    ]  # fmt: skip


def test_a_second_host_has_a_property_of_its_own_and_is_not_contacted(
    fixed: dict[str, Node], adoption: Adoption
) -> None:
    second = fixed["Users > Check In > GET item (2)"]
    assert second.value("HTTPSampler.domain") == "${__P(host_2,${__P(host,shop.example.org)})}"
    assert adoption.others == {"host_2": "covers.example.org"}


def test_the_variables_of_a_second_host_and_of_a_placeholder_follow_for_scripts(tmp_path: Path) -> None:
    values = {"shop": "h.org", "img": "i.org", "sso": "[host]"}
    requests = [request(host(f"${{{name}}}"), name=name) for name in ("shop", "shop", *values)]
    (tmp_path / "own.jmx").write_text(jmx("".join(requests), user_variables(**values), "${shop}"))
    nodes = list(adopt(tmp_path / "own.jmx", "shop", tmp_path).draft.plan.walk())
    table = next(node for node in nodes if node.kind == "Arguments" and variable(node, "img"))
    read = "${__P(host,127.0.0.1)}"  # the default that the JMX has
    assert [variable(table, name) for name in values] == [read, f"${{__P(host_2,{read})}}", read]


def test_a_backend_listener_is_disabled_and_what_sends_numbers_instead_is_named(tmp_path: Path) -> None:
    listeners = element("BackendListener", "Influx") + element("Summariser", "Log")
    (tmp_path / "own.jmx").write_text(jmx(request() + listeners))
    adopted = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    nodes = {node.name: node for node in adopted.draft.plan.walk_all()}
    assert [nodes[name].element.get("enabled") for name in ("Influx", "Log")] == ["false", "false"]
    texts = [fix for fix in adopted.draft.changes if "isteners are disabled" in fix]
    assert texts == [Fix.BACKENDS, Fix.LISTENERS]
    assert "lth run --metrics=1 (Prometheus) or --otlp=URL" in Fix.BACKENDS


def test_a_whole_address_in_a_path_is_split(fixed: dict[str, Node]) -> None:
    item = fixed["Users > Check In > GET item"]
    assert item.value("HTTPSampler.path") == "${__P(base_path,)}/items/${item_id}"
    assert item.value("HTTPSampler.domain") == "${HOSTNAME}"
    assert fixed["setUp Login > POST login"].value("HTTPSampler.path") == "${__P(base_path,)}/login"


def test_the_numbers_of_the_load_become_the_runs(fixed: dict[str, Node]) -> None:
    users = fixed["Users"]
    assert users.value("ThreadGroup.num_threads") == "${vusers}"
    assert variable(fixed["Variables"], "vusers") == "${__P(users,8)}"
    assert users.value("ThreadGroup.ramp_time") == "${__P(ramp_s,80)}"
    assert users.value("ThreadGroup.duration") == "${__P(duration_s,180)}"
    assert users.value("LoopController.loops") == "${__P(loops,-1)}"
    scheduler = users.element.find("stringProp[@name='ThreadGroup.scheduler']")
    assert scheduler is not None and scheduler.text == "${__jexl3(${__P(duration_s,180)} > 0)}"
    assert fixed["Users > Think time"].value("ConstantTimer.delay") == "${__P(think_time_ms,0)}"


def test_a_group_that_prepares_data_before_the_load_becomes_a_setup_group(fixed: dict[str, Node]) -> None:
    prepare = fixed["setUp Prepare"]
    assert (prepare.kind, prepare.element.get("testclass")) == ("SetupThreadGroup", "SetupThreadGroup")
    assert fixed["setUp Login"].kind == "SetupThreadGroup"


def test_a_module_controller_follows_the_new_name_of_its_group_only(fixed: dict[str, Node]) -> None:
    path = fixed["Users > Check In > Again"].element.find("collectionProp")
    assert path is not None
    assert [name.text for name in path] == ["Test Plan", "Shop", "Users", "Check In"]


@pytest.mark.usefixtures("fixed")
def test_a_module_controller_without_its_element_is_left(tmp_path: Path, plans: Path) -> None:
    own = OWN.read_text().replace(
        '<stringProp name="4">Check In</stringProp>', '<stringProp name="4">Check Out</stringProp>'
    )
    (tmp_path / "own.jmx").write_text(own)
    (left,) = adopt(tmp_path / "own.jmx", "shop", tmp_path).left
    assert left.rule is Rule.LOST_MODULE
    assert left.text == "Again: runs the element Old shop > Users > Check Out, which does not exist"
    assert Rule.LOST_MODULE in {finding.rule for finding in lint(OWN)}  # the Test Plan is called Shop
    assert Rule.LOST_MODULE not in {finding.rule for finding in lint(plans / "shop.jmx")}


def test_disabled_module_controllers_follow_too_and_plugins_are_named(tmp_path: Path) -> None:
    start = (
        '<ModuleController guiclass="ModuleControllerGui" testclass="ModuleController" testname="Again" enabled="{}">'
    )
    own = OWN.read_text().replace(start.format("true"), start.format("false"))
    own = own.replace("TransactionController", "com.blazemeter.jmeter.controller.ParallelSampler")
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    assert '<stringProp name="3">Users</stringProp>' in adoption.draft.text().decode()
    toml = tomllib.loads(plan_toml(adoption.contents, "shop", "own.jmx"))
    assert toml["jmeter"] == {"plugins": ["com.blazemeter:jmeter-parallel:0.12"]}


def test_the_number_of_a_groups_iteration_follows_its_new_name(tmp_path: Path) -> None:
    number = "${__jm__Shop__idx}"
    body = request(name=f"Item {number}", path=f"/item/{number}?a=${{__jm__Loop__idx}}")
    lone = several_jmx(group("Shop", body + element("JSR223Sampler", "Own", text("script", "'__jm__Shop__idx'"))))
    (tmp_path / "lone.jmx").write_text(lone)
    fixed = adopt(tmp_path / "lone.jmx", "shop", tmp_path).draft.text().decode()
    assert "__jm__Shop" not in fixed
    assert fixed.count("__jm__Users__idx") == lone.count("__jm__Shop__idx") == 3
    assert "${__jm__Loop__idx}" in fixed
    # Of two groups of one name the second becomes another: so does the variable in it, and no other one.
    (tmp_path / "two.jmx").write_text(several_jmx(group("Shop", body), group("Shop", body)))
    fixed = adopt(tmp_path / "two.jmx", "shop", tmp_path).draft.text().decode()
    assert [fixed.count(name) for name in ("__jm__Shop__idx", "__jm__Shop (2)__idx")] == [2, 2]


def test_redirects_are_followed_as_in_the_jmx(fixed: dict[str, Node]) -> None:
    assert fixed["setUp Login > POST login"].value("HTTPSampler.follow_redirects") == "true"


@pytest.mark.parametrize(
    ("flags", "beside", "code"),
    [
        ({}, "", r"[23]\d\d"),
        ({"follow_redirects": "true"}, "", r"2\d\d"),
        ({"follow_redirects": "false", "auto_redirects": "true"}, "", r"2\d\d"),
        ({"follow_redirects": "false"}, "", r"[23]\d\d"),
        ({"follow_redirects": "true"}, element("CacheManager", "Cache"), r"(2\d\d|304)"),
    ],
)
def test_the_asserted_code_suits_redirects_and_the_cache(
    tmp_path: Path, flags: dict[str, str], beside: str, code: str
) -> None:
    props = "".join(f'<boolProp name="HTTPSampler.{name}">{value}</boolProp>' for name, value in flags.items())
    (tmp_path / "own.jmx").write_text(jmx(request(props), beside))
    nodes = adopt(tmp_path / "own.jmx", "shop", tmp_path).draft.plan.walk()
    assert [node.value("code") for node in nodes if node.kind == "ResponseAssertion"] == [code]


def test_listeners_and_embedded_resources_are_switched_off(fixed: dict[str, Node]) -> None:
    assert fixed["HTTP Request Defaults"].value("HTTPSampler.image_parser") == "false"
    assert "View Results Tree" not in fixed


def test_only_requests_without_an_asserted_code_get_an_assertion(fixed: dict[str, Node]) -> None:
    added = [path for path, node in fixed.items() if node.name.startswith("Code 2xx")]
    assert added == [
        "setUp Login > POST login > Code 2xx",
        "setUp Prepare > GET desks > Code 2xx or 3xx",
        "Users > Check In > GET item (2) > Code 2xx or 3xx",
    ]
    assertion = fixed[added[0]]
    assert assertion.value("code") == r"2\d\d"
    assert assertion.value("Assertion.test_type") == "1"  # matches: the whole code


def test_properties_get_a_default_and_extractors_none(fixed: dict[str, Node]) -> None:
    assert fixed["setUp Login > POST login > Token"].value("RegexExtractor.default") == ""
    second = fixed["Users > Check In > GET item (2)"]
    assert second.value("HTTPSampler.path") == "${__P(base_path,)}/covers?title=%22${name}%22&token=${__P(token,1)}"


def test_an_assertion_of_a_variable_without_a_name_checks_the_response(fixed: dict[str, Node]) -> None:
    assert fixed["Users > Check In > GET item (2) > Body"].value("Assertion.scope") == "parent"


def test_the_lint_names_paths_and_assertions_that_can_only_fail() -> None:
    found = {finding.rule: finding.text for finding in lint(OWN)}
    assert found[Rule.NO_VARIABLE] == "Body: checks a variable without a name"
    path = '/covers?title="${name}"&token=${__P(token)}'
    assert found[Rule.BAD_PATH] == f"GET item: its path {path} has characters that no URL can have"


def test_a_password_moves_to_an_environment_variable(fixed: dict[str, Node], adoption: Adoption) -> None:
    assert variable(fixed["Variables"], "password") == '${__groovy(System.getenv("SHOP_PASSWORD"))}'
    assert adoption.secrets == {"SHOP_PASSWORD": "opensesame77"}
    assert "opensesame77" not in repr(adoption.secrets.keys()) + adoption.draft.text().decode()


def test_a_property_has_the_default_of_the_enabled_elements_and_two_different_ones_are_left(tmp_path: Path) -> None:
    read = "<HeaderManager testname='{}' enabled='{}'><stringProp name='x'>${{__P({})}}</stringProp></HeaderManager>"
    headers = [read.format(*values) for values in [("a", "true", "tenant,t1"), ("b", "false", "tenant,t2")]]
    headers += [read.format(*values) for values in [("c", "true", "zone,1"), ("d", "true", "zone,2")]]
    own = OWN.read_text().replace("<ResultCollector", "<hashTree/>".join(headers) + "<hashTree/><ResultCollector")
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    text = adoption.draft.text().decode()
    assert text.count("${__P(tenant,t1)}") == 2
    assert [left.text for left in adoption.left] == ["Shop: reads the property zone with the defaults 1, 2"]


def test_what_the_jmx_contains_is_listed(adoption: Adoption) -> None:
    found = adoption.contents
    (size,) = found.sizes
    assert (size.name, size.users, size.ramp_s, size.duration_s, size.loops) == ("Check In", 8, 80, 180, None)
    assert found.side_groups == ("Login", "Prepare")
    assert found.samplers == (("HTTPSamplerProxy", 4),)
    assert found.hosts == ("shop.example.org", "covers.example.org")
    (script,) = found.scripts
    assert (script.path.removeprefix("Shop > "), script.line, script.lines) == (
        "Login > POST login > Keep token", 64, 2,
    )  # fmt: skip


@pytest.mark.usefixtures("fixed")
def test_fixing_a_fixed_plan_changes_nothing(plans: Path) -> None:
    again = adopt(plans / "shop.jmx", "shop", plans)
    assert again.draft.changes == []
    assert again.draft.text() == (plans / "shop.jmx").read_bytes()


def test_several_groups_get_names_and_tables_of_their_own(tmp_path: Path) -> None:
    group = """<ThreadGroup testclass="ThreadGroup" testname="{}" enabled="true">
      <stringProp name="ThreadGroup.num_threads">{}</stringProp>
      <stringProp name="ThreadGroup.ramp_time">10</stringProp>
      <stringProp name="LoopController.loops">{}</stringProp>
      <boolProp name="ThreadGroup.scheduler">{}</boolProp>
      <stringProp name="ThreadGroup.duration">90</stringProp>
    </ThreadGroup><hashTree/>"""
    groups = [("Buy", 3, -1, "true"), ("Buy", 2, -1, "true"), ("Pay ${shop}", 1, 4, "false")]
    text = '<jmeterTestPlan><hashTree><TestPlan testname="Three"/><hashTree>{}</hashTree></hashTree></jmeterTestPlan>'
    (tmp_path / "three.jmx").write_text(text.format("".join(group.format(*values) for values in groups)))
    adoption = adopt(tmp_path / "three.jmx", "three", tmp_path)
    names = ["Buy", "Buy (2)", "Pay shop"]
    assert [node.name for node in adoption.draft.plan.walk() if node.is_thread_group] == names
    loads = tomllib.loads(plan_toml(adoption.contents, "three", "three.jmx"))["load"]
    assert loads == [
        {"group": name, "users": users, "ramp_s": 10, "duration_s": 90}
        for name, users in zip(names, (3, 2, 1), strict=True)
    ]
    write_adopted(tmp_path / "plans", "three", adoption, "three.jmx")
    plan = load_plan(tmp_path / "plans", "three")
    assert [(load.group, load.users) for load in plan.load.loads] == [("Buy", 3), ("Buy (2)", 2), ("Pay shop", 1)]
    rules = {finding.rule for finding in lint(tmp_path / "plans" / "three.jmx", has_loads=True)}
    assert rules == {Rule.NO_SAMPLER}  # without requests nothing needs to read TARGET


def test_what_no_fix_maps_is_named_with_its_path_and_line(tmp_path: Path) -> None:
    sampler = """<HTTPSamplerProxy testclass="HTTPSamplerProxy" testname="Upload" enabled="true">
      <stringProp name="HTTPSampler.domain">${bucket}</stringProp>
    </HTTPSamplerProxy>
    <hashTree><RegexExtractor testclass="RegexExtractor" testname="Bucket" enabled="true">
      <stringProp name="RegexExtractor.refname">bucket</stringProp>
    </RegexExtractor><hashTree/></hashTree>"""
    own = OWN.read_text().replace("<ResultCollector", sampler + "<ResultCollector")
    (tmp_path / "own.jmx").write_text(own)
    (left,) = adopt(tmp_path / "own.jmx", "shop", tmp_path).left
    line = own[: own.index('testname="Upload"')].count("\n") + 1
    assert left.text_in("shop.jmx") == (
        f"shop.jmx:{line}: Shop > Upload: its host ${{bucket}} is known only during the run (Bucket sets it)"
    )
    assert left.todo == "name the hosts: hosts = […] under [allow] in the plan's TOML"


@pytest.mark.parametrize("domain", ["", "${__P(shop,)}"])
def test_a_request_without_a_host_is_sent_to_target_and_named(tmp_path: Path, domain: str) -> None:
    (tmp_path / "own.jmx").write_text(jmx(request(host("h.example.org")) + request(name="Pay"), domain=domain))
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    (left,) = adoption.left
    assert left.text == "Pay: has no host in the JMX, so JMeter alone sends nothing; a run sends it to --target"
    assert adoption.others == {}


def test_every_kind_of_fix_has_an_example_here(adoption: Adoption) -> None:
    # That of BACKENDS has a test of its own: with a Backend Listener the plan would need a permission.
    assert {*adoption.draft.changes, Fix.BACKENDS} == set(Fix)
