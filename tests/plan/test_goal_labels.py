"""Goals for labels that the plan cannot have: refused before anything starts, where the plan shows it."""

import pytest

from harness.plan.checks.check import impossible_labels
from harness.plan.goal import Goal, GoalRule
from harness.plan.jmx.tree import enabled_nodes, plan_tree
from harness.plan.jmx.values import Values

PLAN = """<jmeterTestPlan version="1.2"><hashTree><TestPlan testname="Shop"/><hashTree>
<Arguments testname="Variables"><collectionProp name="Arguments.arguments">
<elementProp name="step" elementType="Argument">
<stringProp name="Argument.name">step</stringProp><stringProp name="Argument.value">Out</stringProp>
</elementProp></collectionProp></Arguments><hashTree/>
<ThreadGroup testname="Users"/><hashTree>
<TransactionController testname="Check-Out Controller"/><hashTree>
<HTTPSamplerProxy testname="Check-{0}"/><hashTree>{1}</hashTree></hashTree>
<LoopController testname="Loop"/><hashTree/>
<HTTPSamplerProxy testname="Old" enabled="false"/><hashTree/>
</hashTree></hashTree></hashTree></jmeterTestPlan>"""
SCRIPT = '<JSR223PostProcessor testname="x"><stringProp name="script">{}</stringProp></JSR223PostProcessor><hashTree/>'


def found(tmp_path, *labels, name="${step}", inside=""):
    jmx = tmp_path / "shop.jmx"
    jmx.write_text(PLAN.format(name, inside))
    nodes = enabled_nodes(plan_tree(jmx))
    goal = Goal(*(GoalRule("p99_ms", label, max=5) for label in labels))
    return [(one.what, one.todo) for one in impossible_labels(goal, nodes, Values.of(nodes, {}, tmp_path))]


def test_labels_of_samplers_and_transaction_controllers_can_have_a_goal(tmp_path):
    assert found(tmp_path, "Check-Out", "Check-Out Controller", "Check-.*", ".*", "Check-Out-0") == []


@pytest.mark.parametrize("label", ["Check-Uot", "Check", "Pay.*", "Loop", "Users", "Old", "Check-Out ("])
def test_any_other_label_is_refused_with_the_nearest_one_and_all_others(tmp_path, label):
    ((what, todo),) = found(tmp_path, label, label)
    assert what == f"no sampler or Transaction Controller has the label {label}"
    assert todo.endswith("there are: Check-Out Controller, Check-Out")
    assert todo.startswith("did you mean Check-Out") is (label in ("Check-Uot", "Check-Out (", "Check"))


def test_where_a_name_depends_on_the_run_only_other_beginnings_are_refused(tmp_path):
    assert found(tmp_path, "Check-7", "Pay.*", name="${page}") == []
    assert len(found(tmp_path, "Pay", name="${page}")) == 1


def test_nothing_is_refused_where_a_script_sets_labels(tmp_path):
    assert found(tmp_path, "Pay", inside=SCRIPT.format("prev.setSampleLabel('Pay')")) == []
    assert len(found(tmp_path, "Pay", inside=SCRIPT.format("log.info('x')"))) == 1


@pytest.mark.parametrize(
    ("parent", "pauses", "count"), [("true", "false", 1), ("true", "true", 0), ("false", "false", 0)]
)
def test_a_transaction_without_a_time_can_have_no_goal(tmp_path, parent, pauses, count):
    inner = (
        '<TransactionController testname="Pay"><boolProp name="TransactionController.parent">false</boolProp>'
        f'<boolProp name="TransactionController.includeTimers">{pauses}</boolProp></TransactionController>'
        '<hashTree><HTTPSamplerProxy testname="Card"/><hashTree/></hashTree>'
    )
    outer = (
        f'<boolProp name="TransactionController.parent">{parent}</boolProp></TransactionController><hashTree>{inner}'
    )
    plan = PLAN.replace('<TransactionController testname="Check-Out Controller"/><hashTree>',
                        f'<TransactionController testname="Check-Out Controller">{outer}')  # fmt: skip
    jmx = tmp_path / "shop.jmx"
    jmx.write_text(plan.format("Out", ""))
    nodes = enabled_nodes(plan_tree(jmx))
    goal = Goal(*(GoalRule("p99_ms", label, max=5) for label in ("Pay", "Card", ".*")))
    findings = list(impossible_labels(goal, nodes, Values.of(nodes, {}, tmp_path)))
    assert [one.what for one in findings] == [
        "JMeter writes 0 ms for the transaction Pay, which is inside a parent sample"
    ] * count
