"""What `make init` changes in a JMX, and what it leaves: read from a plan as people write them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.adopt.draft import Fix
from harness.plan.adopt.files import write_adopted
from harness.plan.adopt.toml_text import data_lines, plan_toml
from harness.plan.checks.finding import Rule
from harness.plan.checks.lint import lint
from harness.plan.jmx.data_files import data_files
from harness.plan.jmx.tree import Node, plan_tree
from harness.plan.plan import load_plan
from tests.support.off_host import element, host, jmx, request
from tests.support.off_host import variables as user_variables

OWN = Path(__file__).parent / "a_users_own.jmx"


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plans")


@pytest.fixture(scope="module")
def adoption(plans: Path) -> Adoption:
    return adopt(OWN, "shop", plans)


@pytest.fixture(scope="module")
def fixed(adoption: Adoption, plans: Path) -> dict[str, Node]:
    """The elements of the fixed plan by their paths."""
    (plans / "shop.jmx").write_bytes(adoption.draft.text())
    for file in adoption.data:
        (plans / file.name).parent.mkdir(parents=True, exist_ok=True)
        (plans / file.name).write_text(file.text)
    return {node.path.removeprefix("Shop > "): node for node in plan_tree(plans / "shop.jmx").walk()}


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


def test_an_absent_csv_file_gets_sample_values_with_its_columns(fixed: dict[str, Node], adoption: Adoption) -> None:
    assert fixed["Barcodes"].value("filename") == "data/shop/barcodes.csv"
    (file,) = adoption.data
    assert (file.name, file.source, file.columns) == ("data/shop/barcodes.csv", None, ("barcode", "item_id", "name"))
    head, first, *rest = file.text.splitlines()
    assert head == "barcode;item_id;name"
    barcode, item_id, name = first.split(";")
    assert (barcode, len(item_id), name) == ("3000000001", 36, "name-1")
    assert len(rest) == 99


def test_a_password_moves_to_an_environment_variable(fixed: dict[str, Node], adoption: Adoption) -> None:
    assert variable(fixed["Variables"], "password") == '${__groovy(System.getenv("SHOP_PASSWORD"))}'
    assert adoption.secrets == {"SHOP_PASSWORD": "opensesame77"}
    assert "opensesame77" not in repr(adoption.secrets.keys()) + adoption.draft.text().decode()


def test_scripts_and_uploads_become_data_files_of_the_plan(tmp_path: Path) -> None:
    script = '<stringProp name="script">def token'
    own = OWN.read_text().replace(
        script, f'<stringProp name="filename">${{base}}/tool/keep.groovy</stringProp>{script}'
    )
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "keep.groovy").write_text("1")
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path / "plans")
    assert [file.name for file in adoption.data] == ["data/shop/barcodes.csv", "data/shop/keep.groovy"]
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "shop.jmx").write_bytes(adoption.draft.text())
    assert data_files(tmp_path / "plans" / "shop.jmx") == ("data/shop/barcodes.csv", "data/shop/keep.groovy")


SCRIPT = 'new BufferedReader(new FileReader("${base}/data/places.csv"))\nnew File("out.csv").text = "a"\n'
PASSWORD = '<elementProp name="password"'
NAMED = """<elementProp name="ids" elementType="Argument">
  <stringProp name="Argument.name">ids</stringProp><stringProp name="Argument.value">{}</stringProp>
</elementProp>"""


def named_in_texts(tmp_path: Path, plans: Path) -> Adoption:
    """Return the fixes of a plan with a file in a script, and one in a variable."""
    own = OWN.read_text().replace('<stringProp name="script">', f'<stringProp name="script">{escape(SCRIPT)}')
    ids = NAMED.format("C:\\Users\\someone\\shelf names.csv")
    own = own.replace(PASSWORD, f"{ids}{PASSWORD}")
    (tmp_path / "own.jmx").write_text(own)
    return adopt(tmp_path / "own.jmx", "shop", plans)


def test_files_that_scripts_read_and_variables_name_are_copied_or_get_a_sample(tmp_path: Path) -> None:
    plans = tmp_path / "plans"
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "places.csv").write_text("Hall")
    adoption = named_in_texts(tmp_path, plans)
    write_adopted(plans, "shop", adoption, "own.jmx")
    names = ("data/shop/barcodes.csv", "data/shop/places.csv", "data/shop/shelf-names.csv")
    assert tuple(sorted(data_files(plans / "shop.jmx"))) == names
    assert (plans / names[1]).read_text() == "Hall"
    assert (plans / names[2]).read_text().splitlines()[:2] == ["shelf-names-1", "shelf-names-2"]
    nodes = {node.name: node for node in plan_tree(plans / "shop.jmx").walk()}
    assert variable(nodes["Variables"], "ids") == "data/shop/shelf-names.csv"
    script = nodes["Keep token"].value("script")
    assert script.startswith('new BufferedReader(new FileReader("data/shop/places.csv"))\nnew File("out.csv").text')
    assert adopt(plans / "shop.jmx", "shop", plans).draft.changes == []


def test_an_absent_file_that_a_script_reads_gets_a_sample(tmp_path: Path) -> None:
    places = next(file for file in named_in_texts(tmp_path, tmp_path / "plans").data if "places" in file.name)
    assert (places.source, places.text.splitlines()[:2]) == (None, ["places-1", "places-2"])


def test_a_random_csv_data_set_gets_sample_values_too(tmp_path: Path) -> None:
    own = OWN.read_text().replace("CSVDataSet", "com.blazemeter.jmeter.RandomCSVDataSetConfig")
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path / "plans")
    assert adoption.left == ()
    assert [(file.name, file.columns) for file in adoption.data] == [
        ("data/shop/barcodes.csv", ("barcode", "item_id", "name"))
    ]


def test_an_upload_that_only_the_run_knows_is_left(tmp_path: Path) -> None:
    prop = '<stringProp name="File.path">${base}/${name}.mrc</stringProp>'
    own = OWN.read_text().replace('<stringProp name="HTTPSampler.path">/desks</stringProp>', prop)
    (tmp_path / "own.jmx").write_text(own)
    (left,) = adopt(tmp_path / "own.jmx", "shop", tmp_path).left
    assert left.text == "GET desks: reads the file ${base}/${name}.mrc"


@pytest.mark.parametrize("path", ["/home/someone/items.csv", "C:\\someone\\items.csv", "${__P(items,/x/items.csv)}"])
def test_an_absent_upload_gets_a_sample(tmp_path: Path, path: str) -> None:
    prop = f'<stringProp name="File.path">{path}</stringProp>'
    own = OWN.read_text().replace('<stringProp name="HTTPSampler.path">/desks</stringProp>', prop)
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    assert adoption.left == ()
    upload = next(file for file in adoption.data if not file.columns)
    assert (upload.name, upload.source, upload.text) == ("data/shop/items.csv", None, "sample of items.csv\n")
    assert data_lines([upload]) == ["plans/data/shop/items.csv: SAMPLE contents: replace them"]


def test_an_upload_that_an_absent_csv_file_names_gets_a_sample(tmp_path: Path) -> None:
    prop = '<stringProp name="File.path">${base}/${name}</stringProp>'
    own = OWN.read_text().replace('<stringProp name="HTTPSampler.path">/desks</stringProp>', prop)
    (tmp_path / "own.jmx").write_text(own)
    adoption = adopt(tmp_path / "own.jmx", "shop", tmp_path)
    assert adoption.left == ()
    rows, upload = adoption.data
    assert {row.split(";")[2] for row in rows.text.splitlines()} == {"name", "name-1"}
    assert (upload.name, upload.text) == ("data/shop/uploads/name-1", "sample of name-1\n")
    assert '<stringProp name="File.path">data/shop/uploads/${name}</stringProp>' in adoption.draft.text().decode()


def test_files_that_functions_read_are_copied_and_each_run_gets_them(tmp_path: Path) -> None:
    plans, order = tmp_path / "plans", "/order?${__FileToString(${dir}/orders/%s,,)}"
    paths = [
        order % "one.json",
        order % "${__eval(${name})}.json",
        "/${__StringFromFile(words.txt)}",
        "/${__CSVRead(gone.csv,0)}",
    ]
    requests = "".join(request(host("h.org"), name=f"R{number}", path=path) for number, path in enumerate(paths))
    (tmp_path / "own.jmx").write_text(jmx(requests, user_variables(dir="${__BeanShell(getBaseDir())}")))
    (tmp_path / "orders").mkdir()
    for name in ("orders/one.json", "orders/two.json", "words.txt"):
        (tmp_path / name).write_text(name)
    adoption = adopt(tmp_path / "own.jmx", "shop", plans)
    assert [left.text for left in adoption.left] == ["R3: a function reads the file gone.csv"]
    write_adopted(plans, "shop", adoption, "own.jmx")
    uploads = ("data/shop/uploads/one.json", "data/shop/uploads/two.json")
    assert set(data_files(plans / "shop.jmx")) == {"data/shop/one.json", *uploads, "data/shop/words.txt"}
    text = (plans / "shop.jmx").read_text()
    assert "${__FileToString(data/shop/one.json,,)}" in text
    assert "${__FileToString(data/shop/uploads/${__eval(${name})}.json,,)}" in text
    assert (plans / uploads[1]).read_text() == "orders/two.json"
    assert adopt(plans / "shop.jmx", "shop", plans).draft.changes == []


def test_uploads_of_one_folder_are_copied_and_each_run_gets_them(tmp_path: Path) -> None:
    prop = '<stringProp name="File.path">${base}/records/${name}.mrc</stringProp>'
    own = OWN.read_text().replace('<stringProp name="HTTPSampler.path">/desks</stringProp>', prop)
    (tmp_path / "own.jmx").write_text(own)
    (tmp_path / "records").mkdir()
    for name in ("one.mrc", "two.mrc", "notes.txt"):
        (tmp_path / "records" / name).write_text(name)
    plans = tmp_path / "plans"
    adoption = adopt(tmp_path / "own.jmx", "shop", plans)
    assert adoption.left == ()
    write_adopted(plans, "shop", adoption, "own.jmx")
    uploads = ("data/shop/uploads/one.mrc", "data/shop/uploads/two.mrc")
    assert tuple(name for name in data_files(plans / "shop.jmx") if "uploads" in name) == uploads
    assert (plans / uploads[1]).read_text() == "two.mrc"
    assert '<stringProp name="File.path">data/shop/uploads/${name}.mrc</stringProp>' in (plans / "shop.jmx").read_text()
    assert adopt(plans / "shop.jmx", "shop", plans).draft.changes == []


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


def test_a_csv_file_beside_the_jmx_is_used_unless_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "own.jmx").write_bytes(OWN.read_bytes())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "barcodes.csv").write_text("barcode;item_id;name\n1;2;3\n")
    (file,) = adopt(tmp_path / "own.jmx", "shop", tmp_path / "plans").data
    assert file.source == tmp_path / "data" / "barcodes.csv"
    file.source.write_text("")
    (file,) = adopt(tmp_path / "own.jmx", "shop", tmp_path / "plans").data
    assert file.source is None and file.text.startswith("barcode;item_id;name\n")


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
    assert rules == {Rule.NO_SAMPLER, Rule.UNREAD_PROPERTY}  # the plan has no requests that could read TARGET


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
    assert set(adoption.draft.changes) == set(Fix)
