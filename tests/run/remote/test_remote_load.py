"""A load divided between load generators: their addresses, their parts, and what must be equal of them."""

import pytest

from harness.base.errors import UsageError
from harness.plan.allowed_targets import check_reach
from harness.plan.division import check_users, users_each
from harness.plan.jmx.csv_data import DataSet, data_sets, divided
from harness.plan.jmx.tree import plan_tree
from harness.plan.load.groups import GroupLoad, SeveralLoads, Stage
from harness.plan.load.model import ClosedLoad, OpenLoad
from harness.plan.spec import parse_target
from harness.run.remote.drive import distribute_data
from harness.run.remote.load import (
    Remote,
    controller_options,
    difference,
    far_first,
    parse_remotes,
    plan_of_all,
    records,
)
from tests.support.paths import ROOT

CLOSED, OPEN = ClosedLoad(5, 0.0, 10.0, None), OpenLoad(20.0, 0.0, 10.0)
FACTS = {"protocol": "1", "jmeter": "5.6.3", "java": "17.0.9", "jar lib/ext/a-1.jar": "abc", "jar lib/b-2.jar": ""}


def test_users_are_divided_and_the_first_generators_have_one_more():
    assert users_each(50, 3) == (17, 17, 16)
    assert users_each(5, 2) == (3, 2)
    assert users_each(2, 2) == (1, 1)


def test_a_generator_without_a_user_is_refused():
    with pytest.raises(UsageError, match="USERS=2 is less than the 3 generators"):
        check_users(ClosedLoad(2, 0.0, 10.0, None), 3)
    check_users(ClosedLoad(2, 0.0, 10.0, None), 0)
    check_users(OPEN, 3)


def test_each_generator_gets_its_part_of_an_open_loads_schedule():
    plan = plan_of_all(ROOT / "plans" / "thruzero.jmx", OPEN, 3)
    assert b"rate(6.66" in plan.jmx
    assert b"random_arrivals(10 sec) pause(10 sec)</stringProp>" in plan.jmx
    assert plan.properties == ({"users": ""},) * 3


def test_users_are_sent_to_each_generator_and_the_plan_stays():
    jmx = ROOT / "plans" / "thruzero.jmx"
    assert plan_of_all(jmx, CLOSED, 2).jmx == jmx.read_bytes()
    assert plan_of_all(jmx, CLOSED, 2).properties == ({"users": "3"}, {"users": "2"})


def test_a_run_records_the_load_of_each_generator():
    remotes = (Remote("127.0.0.1", 1099), Remote("10.0.0.7", 1099))
    first, second = records(remotes, [FACTS, FACTS], [0, -12], CLOSED)
    assert (first.name, first.users, first.rate_per_s, first.is_local) == ("127.0.0.1:1099", 3, None, True)
    assert (second.name, second.users, second.clock_ahead_ms, second.is_local) == ("10.0.0.7:1099", 2, -12, False)
    assert [record.rate_per_s for record in records(remotes, [FACTS, FACTS], [0, 0], OPEN)] == [10.0, 10.0]
    mixed = SeveralLoads((GroupLoad("A", (Stage(5, None, 0, 9),)), GroupLoad("B", (Stage(None, 3.0, 0, 9),))))
    found = records(remotes, [FACTS, FACTS], [0, 0], mixed)
    assert [(record.users, record.rate_per_s) for record in found] == [(3, 1.5), (2, 1.5)]


def test_addresses_have_jmeters_port_unless_they_name_one():
    assert parse_remotes("gen-1.example:4000, 10.0.0.8") == (Remote("gen-1.example", 4000), Remote("10.0.0.8", 1099))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,", "REMOTES=a,: an empty part is not host:port"),
        ("[::1]:1099", "is not host:port; give names or IPv4 addresses"),
        ("a:x", "the port in REMOTES=x: not a whole number"),
        ("a:65535", "the port in REMOTES=65535: not a whole number"),
        ("a,b,a:1099", "a:1099 is repeated"),
    ],
)
def test_an_invalid_list_of_generators_is_refused(text, message):
    with pytest.raises(UsageError) as caught:
        parse_remotes(text)
    assert message in str(caught.value)


def test_remote_generators_need_a_target_that_they_can_reach():
    there = ["10.0.0.7:1099"]
    check_reach([], None)
    check_reach([], parse_target("http://127.0.0.1:8080"))
    check_reach(there, parse_target("http://10.0.0.5:8080"))
    with pytest.raises(UsageError, match=r"10\.0\.0\.7:1099 cannot reach the system that is started here"):
        check_reach(there, None)
    with pytest.raises(UsageError, match="is a different system on"):
        check_reach(there, parse_target("http://localhost:8080"))


def test_samples_return_to_an_address_that_a_remote_generator_reaches():
    here, there = parse_remotes("127.0.0.1,10.0.0.7")
    assert far_first((here, there)) == there
    assert far_first((here,)) == here


def test_generators_are_equal_with_the_same_jmeter_jars_and_java_release():
    assert difference(FACTS, FACTS) == ""
    assert difference(FACTS, {**FACTS, "java": "17.0.12", "pid": "7"}) == ""
    assert difference(FACTS, {**FACTS, "java": "21.0.1"}) == "it has Java 21.0.1, this machine has 17.0.9"
    assert difference(FACTS, {**FACTS, "jmeter": "5.5"}) == "it has JMeter 5.5, this machine has 5.6.3"
    assert difference(FACTS, {**FACTS, "protocol": "2"}) == "it was started by another version of the harness"
    other = {**FACTS, "jar lib/ext/a-1.jar": "abd", "jar lib/c-3.jar": ""}
    del other["jar lib/b-2.jar"]
    assert difference(FACTS, other) == (
        "it lacks lib/b-2.jar; it also has lib/c-3.jar; it has a different lib/ext/a-1.jar"
    )


def test_properties_are_sent_to_the_generators_and_no_password_is_in_the_command():
    options = controller_options(parse_remotes("10.0.0.7,10.0.0.8:1200"), "10.0.0.1", {"loops": "3"})
    assert options[:2] == ["-R", "10.0.0.7:1099,10.0.0.8:1200"]
    assert "-Gloops=3" in options
    assert "-Djava.rmi.server.hostname=10.0.0.1" in options
    assert "-Jmode=StrippedBatch" in options
    assert not [option for option in options if "password" in option or option.startswith("-Jloops")]


def test_consumed_data_lines_are_distributed_in_turn_with_the_header_in_each_file():
    lines = [b"code\n", b"1\n", b"2\n", b"3\n"]
    assert divided(lines, True, 2) == ([b"code\n", b"1\n", b"3\n"], [b"code\n", b"2\n"])
    assert divided(lines[1:], False, 2) == ([b"1\n", b"3\n"], [b"2\n"])


def test_the_included_plans_consume_only_their_barcodes():
    barcodes, service_points = data_sets(plan_tree(ROOT / "plans" / "folio-checkin.jmx"))
    assert barcodes == DataSet("barcodes_file", "data/folio-barcodes.csv", is_used_up=True, has_head=True)
    assert service_points.is_used_up is False
    assert barcodes.file({}) == "data/folio-barcodes.csv"
    assert barcodes.file({"barcodes_file": "/mine.csv"}) == "/mine.csv"
    assert [data.is_used_up for data in data_sets(plan_tree(ROOT / "plans" / "thruzero.jmx"))] == [False, False]


@pytest.mark.parametrize(
    ("properties", "is_used_up"),
    [
        ({}, True),  # what is not set is false
        ({"rewindOnTheEndOfList": "false", "independentListPerThread": "false", "randomOrder": "true"}, True),
        ({"rewindOnTheEndOfList": "true", "independentListPerThread": "false"}, False),
        ({"rewindOnTheEndOfList": "false", "independentListPerThread": "true"}, False),
    ],
)
def test_each_generator_has_its_own_lines_of_a_random_csv_that_does_not_begin_again(tmp_path, properties, is_used_up):
    props = "".join(f'<boolProp name="{name}">{value}</boolProp>' for name, value in properties.items())
    jmx = tmp_path / "shop.jmx"
    jmx.write_text(
        '<jmeterTestPlan version="1.2"><hashTree><TestPlan testclass="TestPlan" testname="Shop"/><hashTree>'
        '<com.blazemeter.jmeter.RandomCSVDataSetConfig testclass="com.blazemeter.jmeter.RandomCSVDataSetConfig" '
        'testname="Customers"><stringProp name="filename">data/customers.csv</stringProp>'
        f'<stringProp name="variableNames">customer</stringProp>{props}</com.blazemeter.jmeter.RandomCSVDataSetConfig>'
        "<hashTree/></hashTree></hashTree></jmeterTestPlan>"
    )
    (data,) = data_sets(plan_tree(jmx))
    is_shared = properties.get("independentListPerThread") != "true"
    assert data == DataSet(None, "data/customers.csv", is_used_up=is_used_up, has_head=False, is_shared=is_shared)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "customers.csv").write_text("1\n2\n3\n")
    folders = [tmp_path / "one", tmp_path / "two"]
    distribute_data(tmp_path, jmx, (), {}, folders)
    found = [(folder / "data" / "customers.csv").read_text() for folder in folders]
    assert found == (["1\n3\n", "2\n"] if is_used_up else ["1\n2\n3\n"] * 2)
