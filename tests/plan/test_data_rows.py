"""The data sets of a plan, and which of their rows the parts of a run divide."""

import pytest

from harness.base.errors import UsageError
from harness.plan.allowed_targets import check_reach
from harness.plan.jmx.csv_data import DataSet, data_sets, divided
from harness.plan.jmx.tree import plan_tree
from harness.plan.load.model import Part
from harness.plan.spec import parse_target
from harness.run.parts.share import keep_rows
from tests.support.paths import ROOT


def test_parts_on_other_machines_need_a_target_that_they_can_reach():
    there = ["10.0.0.7"]
    check_reach([], None)
    check_reach([], parse_target("http://127.0.0.1:8080"))
    check_reach(there, parse_target("http://10.0.0.5:8080"))
    with pytest.raises(UsageError, match=r"10\.0\.0\.7 cannot reach the system that is started here"):
        check_reach(there, None)
    with pytest.raises(UsageError, match="is a different system on"):
        check_reach(there, parse_target("http://localhost:8080"))


def test_rows_are_divided_in_turn_with_the_header_in_each_file():
    lines = [b"code\n", b"1\n", b"2\n", b"3\n"]
    assert divided(lines, True, 2) == ([b"code\n", b"1\n", b"3\n"], [b"code\n", b"2\n"])
    assert divided(lines[1:], False, 2) == ([b"1\n", b"3\n"], [b"2\n"])


def test_the_file_of_a_shipped_plan_may_be_replaced_by_a_property():
    barcodes, _ = data_sets(plan_tree(ROOT / "plans" / "folio-checkin.jmx"))
    assert barcodes == DataSet("barcodes_file", "data/folio-barcodes.csv", has_head=True)
    assert barcodes.file({}) == "data/folio-barcodes.csv"
    assert barcodes.file({"barcodes_file": "/mine.csv"}) == "/mine.csv"


@pytest.mark.parametrize(
    ("properties", "is_shared"),
    [
        ({}, True),  # what is not set is false
        ({"rewindOnTheEndOfList": "false", "independentListPerThread": "false", "randomOrder": "true"}, True),
        ({"rewindOnTheEndOfList": "true", "independentListPerThread": "false"}, True),
        ({"rewindOnTheEndOfList": "false", "independentListPerThread": "true"}, False),
    ],
)
def test_each_part_has_its_own_rows_of_a_random_csv_unless_each_user_reads_all(tmp_path, properties, is_shared):
    props = "".join(f'<boolProp name="{name}">{value}</boolProp>' for name, value in properties.items())
    jmx = tmp_path / "shop.jmx"
    jmx.write_text(
        '<jmeterTestPlan version="1.2"><hashTree><TestPlan testclass="TestPlan" testname="Shop"/><hashTree>'
        '<com.blazemeter.jmeter.RandomCSVDataSetConfig testclass="com.blazemeter.jmeter.RandomCSVDataSetConfig" '
        'testname="Customers"><stringProp name="filename">customers.csv</stringProp>'
        f'<stringProp name="variableNames">customer</stringProp>{props}</com.blazemeter.jmeter.RandomCSVDataSetConfig>'
        "<hashTree/></hashTree></hashTree></jmeterTestPlan>"
    )
    (data,) = data_sets(plan_tree(jmx))
    assert data == DataSet(None, "customers.csv", has_head=False, is_shared=is_shared)
    found = []
    for number in (1, 2):
        file = tmp_path / "customers.csv"
        file.write_text("1\n2\n3\n")
        keep_rows(tmp_path, jmx, (), {}, Part(number, 2))
        found.append(file.read_text())
    assert found == (["1\n3\n", "2\n"] if is_shared else ["1\n2\n3\n"] * 2)
