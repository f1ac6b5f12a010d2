"""Steps of a plan: the labels that every user sends, those that logic may skip, and those that nobody knows."""

from dataclasses import replace

import pytest

from harness.plan.jmx.steps import PlanStep, includes_its_parts, plan_steps
from harness.plan.jmx.tree import plan_tree
from tests.support.agent_runs import whole
from tests.support.off_host import collection, element, flag, jmx, request, script, text, variables


def steps_of(tmp_path, in_group, **properties):
    (tmp_path / "plan.jmx").write_text(jmx(in_group))
    return plan_steps(tmp_path / "plan.jmx", properties)


def within(kind, *props, name="Pay"):
    return element(kind, "Logic", *props, below=request(name=name))


@pytest.mark.parametrize(
    ("kind", "props"),
    [
        ("GenericController", ()),
        ("OnceOnlyController", ()),
        ("RandomOrderController", ()),
        ("LoopController", (text("LoopController.loops", "3"),)),
        ("LoopController", (text("LoopController.loops", "${__P(rounds,2)}"),)),
    ],
)
def test_a_step_of_a_controller_that_runs_all_of_its_steps_is_certain(tmp_path, kind, props):
    assert steps_of(tmp_path, within(kind, *props)) == (PlanStep("Pay", may_be_skipped=False),)


@pytest.mark.parametrize(
    ("kind", "props"),
    [
        ("IfController", (text("IfController.condition", "false"),)),
        ("SwitchController", (text("SwitchController.value", "1"),)),
        ("WhileController", ()),
        ("ForeachController", ()),
        ("InterleaveControl", ()),
        ("RandomController", ()),
        ("RunTime", ()),
        ("ThroughputController", ()),
        ("com.shop.OwnController", ()),
        ("LoopController", (text("LoopController.loops", "0"),)),
        ("LoopController", (text("LoopController.loops", "${rounds}"),)),
    ],
)
def test_a_step_below_logic_may_be_skipped_unless_it_is_also_elsewhere(tmp_path, kind, props):
    (step,) = steps_of(tmp_path, within(kind, *props))
    assert replace(step, unset="") == PlanStep("Pay", may_be_skipped=True)
    deep = element("GenericController", "Part", below=within(kind, *props))
    found = [(one.label, one.may_be_skipped) for one in steps_of(tmp_path, deep + request(name="Show"))]
    assert found == [("Pay", True), ("Show", False)]


def test_a_step_outside_of_a_loop_without_an_end_may_end(tmp_path):
    def step(name, *, loops):
        return element("LoopController", "Loop", text("LoopController.loops", loops), below=request(name=name))

    both = (PlanStep("First", False, may_end=True), PlanStep("Then", False))
    assert steps_of(tmp_path, step("First", loops="3") + step("Then", loops="-1")) == both
    assert steps_of(tmp_path, request(name="First") + step("Then", loops="${__P(rounds,-1)}")) == both
    assert not any(one.may_end for one in steps_of(tmp_path, request(name="First") + step("Then", loops="9")))
    waits = within("WhileController", name="Wait")
    assert steps_of(tmp_path, request(name="First") + waits)[0] == PlanStep("First", False, may_end=True)


def test_a_transaction_is_certain_with_one_certain_step_and_a_parent_one_hides_its_steps(tmp_path):
    inside = request(name="a") + within("IfController", name="b")
    plain = element("TransactionController", "whole", below=inside)
    assert steps_of(tmp_path, plain) == (PlanStep("whole", False), PlanStep("a", False), PlanStep("b", True))
    parent = element("TransactionController", "whole", flag("TransactionController.parent"), below=inside)
    assert steps_of(tmp_path, parent) == (PlanStep("whole", False),)
    perhaps = element("TransactionController", "whole", below=within("IfController", name="b"))
    assert steps_of(tmp_path, perhaps) == (PlanStep("whole", True), PlanStep("b", True))


@pytest.mark.parametrize(
    ("includes", "timer_at", "is_paused"),
    [
        ("true", "inside", True),
        # What JMeter does where the property is missing.
        ("", "inside", True),
        ("true", "above", True),
        ("true", "action", True),
        ("false", "inside", False),
        ("true", "beside", False),
    ],
)
def test_a_transaction_includes_the_pauses_of_timers_in_its_scope_unless_it_says_no(
    tmp_path, includes, timer_at, is_paused
):
    timer = element("ConstantTimer", "Pause", text("ConstantTimer.delay", "300"))
    pauses = element("TestAction", "Pause", '<intProp name="ActionProcessor.action">1</intProp>')
    inside = request(name="a", below=timer if timer_at == "inside" else "") + (pauses if timer_at == "action" else "")
    says = f'<boolProp name="TransactionController.includeTimers">{includes}</boolProp>' if includes else ""
    whole = element("TransactionController", "whole", says, below=inside)
    outside = {"above": timer, "beside": request(name="b", below=timer)}.get(timer_at, "")
    found = steps_of(tmp_path, whole + outside)
    assert {one.label for one in found if one.includes_pauses} == ({"whole"} if is_paused else set())


def test_what_ends_an_iteration_or_hides_a_row_makes_all_steps_of_the_group_uncertain(tmp_path):
    actions = {0: False, 1: False, 2: False, 3: True, 4: True, 5: True}
    for action, may_be_skipped in actions.items():
        act = element("TestAction", "Act", f'<intProp name="ActionProcessor.action">{action}</intProp>')
        assert steps_of(tmp_path, act + request()) == (PlanStep("Buy", may_be_skipped),), action
    hides = script("JSR223PostProcessor", "Hide", "prev.setIgnore()")
    assert steps_of(tmp_path, request(below=hides)) == (PlanStep("Buy", True),)


@pytest.mark.parametrize(
    ("props", "method", "is_cached"),
    [
        ((flag("useExpires"),), "GET", True),
        ((flag("useExpires"), flag("clearEachIteration")), "GET", False),
        ((), "GET", False),
        ((flag("useExpires"),), "POST", False),
    ],
)
def test_a_cache_manager_may_answer_the_requests_in_its_scope(tmp_path, props, method, is_cached):
    inside = element("GenericController", "Part", below=element("CacheManager", "Cache", *props) + request(name="Pay"))
    found = steps_of(tmp_path, (inside + request(name="Show")).replace(">GET<", f">{method}<"))
    assert [(one.label, one.may_be_cached) for one in found] == [("Pay", is_cached), ("Show", False)]


def test_a_label_that_only_the_run_knows_is_no_step(tmp_path):
    names = request(name="${page}") + request(name="GET ${__P(item,1)}") + request(name="${__threadNum}")
    assert steps_of(tmp_path, names, item="7") == (PlanStep("GET 7", False),)
    renames = script("JSR223PostProcessor", "Name", "prev.setSampleLabel('x')")
    assert steps_of(tmp_path, request(below=renames)) == ()
    assert steps_of(tmp_path, element("JavaSampler", "Own") + element("com.shop.OwnSampler", "Own too")) == ()


def test_disabled_steps_and_those_of_other_thread_groups_are_none(tmp_path):
    disabled = request(name="Off").replace("<HTTPSamplerProxy ", '<HTTPSamplerProxy enabled="false" ', 1)
    other = element("ThreadGroup", "Others", below=request(name="Theirs"))
    (tmp_path / "plan.jmx").write_text(jmx(disabled + request(), beside=other))
    assert plan_steps(tmp_path / "plan.jmx", {}) == (PlanStep("Buy", False),)
    assert plan_steps(tmp_path / "plan.jmx", {}, ["Others"]) == (PlanStep("Theirs", False),)


@pytest.mark.parametrize(
    ("field", "patterns", "names", "checks"),
    [
        ("response_code", ("200|503",), True, True),
        ("response_code", ("200", "503"), True, True),
        ("response_code", (r"5\d\d",), True, True),
        ("response_code", ("${expected}",), True, True),
        ("response_code", ("200",), False, True),
        # Any code is right: nothing is said of an error.
        ("response_code", (".*",), False, False),
        ("response_code", (r"[2-5]\d\d",), False, False),
        ("response_data", ("503",), False, False),
    ],
)
def test_an_assertion_on_the_code_names_an_error_of_the_server_or_not(tmp_path, field, patterns, names, checks):
    rows = collection("Asserion.test_strings", *patterns)
    asserted = element("ResponseAssertion", "Code", rows, text("Assertion.test_field", f"Assertion.{field}"))
    (step,) = steps_of(tmp_path, request(below=asserted))
    assert (step.expects_5xx, step.checks_code) == (names, checks)
    must_not = asserted.replace("</ResponseAssertion>", f"{whole('Assertion.test_type', 6)}</ResponseAssertion>")
    (step,) = steps_of(tmp_path, request(below=must_not))
    assert (step.expects_5xx, step.checks_code) == (False, checks)


@pytest.mark.parametrize(
    ("code", "names"),
    [("if (prev.responseCode == '503') prev.successful = true", True), ("prev.successful = true; sleep(1500)", False)],
)
def test_a_script_names_an_error_of_the_server_or_not(tmp_path, code, names):
    below = script("JSR223PostProcessor", "Decide", code)
    (step,) = steps_of(tmp_path, request(below=below))
    assert (step.expects_5xx, step.checks_code) == (names, names)


def if_of(condition):
    return element("IfController", "If", text("IfController.condition", condition), below=request(name="Pay"))


_ASKED = '${__jexl3("${paid}" == "yes")}'


@pytest.mark.parametrize(
    "condition",
    [
        _ASKED, '"${paid}" == "yes"', '${__groovy("${paid}" == "yes" && ${__threadNum} > 0)}', '"${paid}" == ""',
        '${__jexl3("${paid}" == "${__P(wanted,yes)}")}',
    ],
)  # fmt: skip
def test_a_condition_that_compares_what_nothing_sets_is_known_by_the_variable(tmp_path, condition):
    (step,) = steps_of(tmp_path, if_of(condition))
    assert (step.may_be_skipped, step.unset) == (True, "paid")
    deep = element("WhileController", "While", text("WhileController.condition", condition), below=request(name="Pay"))
    assert [one.unset for one in steps_of(tmp_path, element("GenericController", "Part", below=deep))] == ["paid"]
    # What is sent, a comment and a read set nothing.
    reads = script("JSR223PreProcessor", "Reads", "vars.put('total', '1' + \"${paid}\")")
    argument = '<elementProp name="paid" elementType="HTTPArgument"><stringProp name="Argument.name">paid</stringProp>'
    sends = request(f"{argument}</elementProp>", name="paid", path="/paid?paid=${paid}", below=reads)
    assert {one.label: one.unset for one in steps_of(tmp_path, if_of(condition) + sends)} == {"Pay": "paid", "paid": ""}
    # Elsewhere it is sent whatever the condition says.
    assert [one.unset for one in steps_of(tmp_path, if_of(condition) + request(name="Pay"))] == [""]


@pytest.mark.parametrize(
    "condition",
    [
        # Asks whether it is set.
        '${__jexl3("${paid}" == "\\${paid}")}', '"${paid}" != "\\${paid}" && "${paid}" == "yes"',
        '${__groovy("${paid}".startsWith("$"))}', '${__groovy("${paid}".contains("{"))}', '"${paid}" == "$" + "{paid}"',
        "${__isVarDefined(paid)}", "${__groovy(vars.get('paid') == 'yes')}",
        # A switch, what JMeter sets, and a text.
        "${paid}", "${__jexl3(${JMeterThread.last_sample_ok})}", '${__jexl3("${__jm__Loop__idx}" == "1")}', "false",
        '${__jexl3("${__P(paid,no)}" == "yes")}',
    ],
)  # fmt: skip
def test_a_condition_that_asks_whether_a_variable_is_set_compares_nothing(tmp_path, condition):
    assert [one.unset for one in steps_of(tmp_path, if_of(condition))] == [""]


def _code(code):
    return request(name="First", below=script("JSR223PostProcessor", "Sets", code))


@pytest.mark.parametrize(
    ("sets", "name"),
    [
        (element("RegexExtractor", "Finds", text("RegexExtractor.refname", "paid")), "paid"),
        (element("RegexExtractor", "Finds", text("RegexExtractor.refname", "paid")), "paid_matchNr"),
        (element("RegexExtractor", "Finds", text("RegexExtractor.refname", "paid")), "paid_2_g1"),
        (element("JSONPostProcessor", "Finds", text("JSONPostProcessor.referenceNames", "id; paid")), "paid_1"),
        (element("CSVDataSet", "Rows", text("filename", "x.csv"), text("variableNames", "id,paid")), "paid"),
        (element("CSVDataSet", "Rows", text("filename", "${file}"), text("variableNames", "")), "paid"),
        (element("CounterConfig", "Counts", text("CounterConfig.name", "paid")), "paid"),
        (element("ForeachController", "Each", text("ForeachController.returnVal", "paid")), "paid"),
        (element("IncludeController", "Other file", text("IncludeController.includepath", "other.jmx")), "paid"),
        (element("com.shop.Finds", "Own", text("Finds.target", "paid")), "paid"),
        (request(name="First", path="/?x=${__RandomString(5,abc,paid)}"), "paid"),
        (request(name="First", path="/?x=${__groovy(vars.put('paid'\\,'yes'))}"), "paid"),
        (_code("vars.put('paid', prev.responseCode)"), "paid"),
        (_code('vars.put("pa" + "id", prev.responseCode)'), "paid"),
        (_code('def name = "paid"; ctx.getVariables().put(name, "yes")'), "paid"),
        (_code('vars["pa${1}"] = 2'), "paid"),
        (element("RegexExtractor", "Off", text("RegexExtractor.refname", "paid")).replace("<RegexExtractor ",
            '<RegexExtractor enabled="false" ', 1), "paid"),
    ],
)  # fmt: skip
def test_a_variable_that_something_in_the_plan_may_set_is_left_to_its_logic(tmp_path, sets, name):
    found = {one.label: one.unset for one in steps_of(tmp_path, sets + if_of(_ASKED.replace("paid", name)))}
    assert found["Pay"] == ""
    assert {one.label: one.unset for one in steps_of(tmp_path, if_of(_ASKED))} == {"Pay": "paid"}


def parent(value, below):
    return element("TransactionController", "Whole", text("TransactionController.parent", value), below=below)


FOLLOWS, EMBEDS = request(flag("HTTPSampler.follow_redirects")), request(flag("HTTPSampler.image_parser"))


@pytest.mark.parametrize(
    ("in_group", "includes"),
    [
        (request(), False),
        (FOLLOWS, True),
        (EMBEDS, True),
        (request(text("HTTPSampler.follow_redirects", "${__P(follow,true)}")), True),
        (parent("false", FOLLOWS), True),
        (FOLLOWS + script("JSR223PostProcessor", "Note", "vars.put('a', prev.getResponseCode())"), True),
        (FOLLOWS + element("DebugPostProcessor", "Variables"), True),
        # Whose parts are requests, or what somebody added on purpose, or unknown.
        (parent("true", FOLLOWS), False),
        (parent("${__P(parent,false)}", FOLLOWS), False),
        (FOLLOWS + parent("true", request(name="Pay")), False),
        (FOLLOWS + script("JSR223PostProcessor", "Add", "prev.addSubResult(other)"), False),
        (FOLLOWS + script("BeanShellPostProcessor", "Add", "prev.storeSubResult(other);"), False),
        (FOLLOWS + element("JSR223Sampler", "File", text("filename", "own.groovy")), False),
        (FOLLOWS + element("kg.apc.jmeter.modifiers.DummySubPostProcessor", "Part"), False),
        (FOLLOWS + element("JavaSampler", "Own", text("classname", "com.example.Own")), False),
        (FOLLOWS + element("IncludeController", "Other", text("IncludeController.includepath", "other.jmx")), False),
        (FOLLOWS + element("com.blazemeter.jmeter.controller.ParallelSampler", "At once", below=request()), False),
        (FOLLOWS + element("com.example.OwnSampler", "Own"), False),
    ],
)
def test_rows_include_others_of_redirects_and_embedded_resources_and_of_nothing_else(tmp_path, in_group, includes):
    (tmp_path / "plan.jmx").write_text(jmx(in_group))
    assert includes_its_parts(plan_tree(tmp_path / "plan.jmx")) is includes


def _each(kind, key, value):
    return element(kind, "Each", text(key, value), below=request(name="Pay"))


_LOOPS = {
    "paid": _each("LoopController", "LoopController.loops", "${paid}"),
    "seconds": _each("RunTime", "RunTime.seconds", " ${seconds} "),
    "ids": _each("ForeachController", "ForeachController.inputVal", "ids"),
}


@pytest.mark.parametrize(("name", "plan"), _LOOPS.items())
def test_loops_and_lists_of_what_nothing_sets_are_known_by_the_variable(tmp_path, name, plan):
    assert [(one.may_be_skipped, one.unset) for one in steps_of(tmp_path, plan)] == [(True, name)]
    numbers = variables(**{name: "2", f"{name}_1": "2"})
    for sets in numbers, _code(f"vars.put('{name}_1', 'x'); vars.put('{name}', '2')"), _code("vars['a'] = 1"):
        assert {one.label: one.unset for one in steps_of(tmp_path, sets + plan)}["Pay"] == ""
    assert [one.unset for one in steps_of(tmp_path, plan + request(name="Pay"))] == [""]


@pytest.mark.parametrize(
    "plan",
    [
        _each("LoopController", "LoopController.loops", "${__P(loops,2)}"),
        _each("LoopController", "LoopController.loops", "-1"),
        _each("LoopController", "LoopController.loops", "${__jexl3(${paid}+1)}"),
        variables(list="ids") + _each("ForeachController", "ForeachController.inputVal", "${list}"),
        _each("ForeachController", "ForeachController.inputVal", ""),
        variables(ids1="a") + _LOOPS["ids"],
        variables(ids_7="a") + _LOOPS["ids"],
        element("JSONPostProcessor", "Finds", text("JSONPostProcessor.referenceNames", "id;ids")) + _LOOPS["ids"],
        element("JDBCPostProcessor", "Asks", text("variableNames", "name,ids")) + _LOOPS["ids"],
        element("UserParameters", "Own", collection("UserParameters.names", "ids_1")) + _LOOPS["ids"],
        _code("(1..3).each { vars.put('ids_' + it, 'x') }") + _LOOPS["ids"],
        element("com.shop.Finds", "Own", text("Finds.target", "ids")) + _LOOPS["ids"],
    ],
)  # fmt: skip
def test_loops_and_lists_that_something_may_set_are_left_to_their_logic(tmp_path, plan):
    assert {one.label: one.unset for one in steps_of(tmp_path, plan)}["Pay"] == ""


def test_a_step_knows_the_lists_above_it(tmp_path):
    plan = variables(name="b") + element("ForeachController", "All", text("ForeachController.inputVal", "${name}"))
    nested = element("ForeachController", "All", text("ForeachController.inputVal", "${name}"), below=_LOOPS["ids"])
    found = {one.label: one.lists for one in steps_of(tmp_path, plan + nested + request())}
    assert found == {"Pay": ("ids", "b"), "Buy": ()}


def _share(style, percent, times):
    percents = text("ThroughputController.percentThroughput", percent)
    counts = text("ThroughputController.maxThroughput", times)
    props = whole("ThroughputController.style", style), percents, counts
    return element("ThroughputController", "Some", *props, below=request(name="Pay"))


@pytest.mark.parametrize(
    ("style", "percent", "times", "variable"),
    [
        (1, "${part}", "1", "part"),
        (0, "100", "${part}", "part"),
        (1, "100", "${part}", ""),
        (0, "${part}", "1", ""),
        (1, "${__P(part,5)}", "1", ""),
        (1, "30", "1", ""),
    ],
)
def test_a_share_of_what_nothing_sets_is_known_by_the_variable(tmp_path, style, percent, times, variable):
    plan = _share(style, percent, times)
    assert {one.label: one.unset_share for one in steps_of(tmp_path, plan + request())} == {"Pay": variable, "Buy": ""}
    sets = variables(part="5") + plan
    assert {one.unset_share for one in steps_of(tmp_path, sets)} == {""}


_CONSTANT = element("ConstantTimer", "Think", text("ConstantTimer.delay", "${think}"))
_UNIFORM = element(
    "UniformRandomTimer", "Think", text("ConstantTimer.delay", "0"), text("RandomTimer.range", "${think}")
)
_REST = element("TestAction", "Rest", whole("ActionProcessor.action", 1), text("ActionProcessor.duration", "${think}"))


@pytest.mark.parametrize("pause", [_CONSTANT, _UNIFORM, _REST])
def test_a_pause_of_what_nothing_sets_is_known_by_the_variable(tmp_path, pause):
    assert [one.unset_pause for one in steps_of(tmp_path, request() + pause)] == ["think"]
    for sets in variables(think="5"), _code("vars.put('think', '5')"):
        assert {one.label: one.unset_pause for one in steps_of(tmp_path, sets + request() + pause)}["Buy"] == ""
    below = request(name="Pay", below=_CONSTANT) + request()
    assert {one.label: one.unset_pause for one in steps_of(tmp_path, below)} == {"Pay": "think", "Buy": ""}


@pytest.mark.parametrize(
    "pause",
    [
        _CONSTANT.replace("${think}", "${__P(think_time_ms,200)}"),
        _CONSTANT.replace("${think}", "${__jexl3(${think} + 1)}"),
        _CONSTANT.replace("${think}", "300"),
        _CONSTANT.replace("<ConstantTimer ", '<ConstantTimer enabled="false" '),
        _REST.replace('action">1', 'action">3'),
        element("SyncTimer", "Meet", text("groupSize", "${think}")),
        element("JSR223Timer", "Own", text("script", "${think}"), text("scriptLanguage", "groovy")),
    ],
)
def test_a_pause_of_a_number_a_function_or_a_script_reads_nothing_unset(tmp_path, pause):
    assert [one.unset_pause for one in steps_of(tmp_path, request() + pause)] == [""]
