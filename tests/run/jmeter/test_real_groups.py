"""What the agent counts of each thread group in a real JMeter: pauses, users, arrivals, and what the end cuts."""

from __future__ import annotations

import signal
import time

import pytest

from harness.run.group_counts import DIED, DONE, FAILED, NO_DATA, STOP, STOP_TEST, ExtractionCount, GroupCounts
from harness.run.jmeter.connections import ROWS_NAME
from harness.run.jmeter.groups import GROUPS_NAME
from tests.support.agent_runs import (
    ENDLESS,
    Agent,
    action,
    arrivals,
    concurrent,
    constant,
    controlled,
    dies,
    does,
    ended_after,
    group,
    table,
    tree,
)
from tests.support.extractor_shapes import DEFAULTS, EXTRACTIONS, extractions_of
from tests.support.off_host import element, flag, text
from tests.support.pausing_plan import pausing_plan
from tests.support.processes import wait_for

pytestmark = pytest.mark.real

_PLUGINS = "com.blazemeter.jmeter.threads"
_MAIN = '<elementProp name="ThreadGroup.main_controller" elementType="{0}" testclass="{0}">{1}</elementProp>'
_USER = f"{_PLUGINS.replace('threads', 'control')}.VirtualUserController"
_ARGUMENTS = "".join(
    f'<elementProp name="{name}" elementType="Argument">{text("Argument.name", name)}{text("Argument.value", value)}'
    "</elementProp>"
    for name, value in {"SleepTime": "200", "SleepMask": "0"}.items()
)
# A sample of 200 ms, without a script that must be compiled first.
_SLEEPS = element(
    "JavaSampler", "sleeps", text("classname", "org.apache.jmeter.protocol.java.test.SleepTest"),
    '<elementProp name="arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">'
    f"{_ARGUMENTS}</collectionProp></elementProp>",
)  # fmt: skip


@pytest.fixture(scope="module")
def pausing(tmp_path_factory: pytest.TempPathFactory) -> Agent:
    """A JMeter whose groups pause."""
    return Agent(tmp_path_factory.mktemp("paused") / "run", pausing_plan()).ended()


@pytest.fixture
def paused(pausing: Agent) -> dict[str, GroupCounts]:
    """The counts of groups that pause, by name."""
    return {one.name: one for one in pausing.noted.groups}


@pytest.mark.parametrize(
    ("name", "pause_ms", "pause_count"),
    [
        ("none", 0, 0),
        ("constant", 3000, 20),
        ("two", 600, 5),
        ("uniform", 400, 5),
        ("gaussian", 300, 5),
        ("action", 800, 4),
        ("first", 110, 1),
        ("last", 120, 1),
        ("at the end", 390, 3),
        ("Größe\\t\t\n1", 140, 1),
    ],
)
def test_a_pause_is_as_long_as_the_timers_ask(paused, name, pause_ms, pause_count):
    counts = paused[name]
    assert (sum(counts.pause_ms), counts.pause_count) == (pause_ms, pause_count)
    assert all(paused_ms <= alive_ms for paused_ms, alive_ms in zip(counts.pause_ms, counts.alive_ms, strict=True))


@pytest.mark.parametrize(
    ("name", "least_ms", "most_ms"),
    # A poisson timer of 0 asks for its offset, and a script takes its time. Others depend on when they are asked: of 16
    # requests by 5 per second at most 15 are sent within three seconds of the clock, of which two are whole.
    [
        ("poisson", 200, 230),
        ("script", 450, 3000),
        ("per minute", 500, 2000),
        ("precise", 20, 6000),
        ("meeting", 300, 5000),
        ("shaped", 2000, 9000),
    ],
)
def test_a_timer_that_decides_or_waits_by_itself_is_a_pause_of_that_length(paused, name, least_ms, most_ms):
    assert least_ms <= sum(paused[name].pause_ms) <= most_ms


@pytest.mark.parametrize("name", ["constant", "two", "script", "action", "per minute", "precise", "meeting", "shaped"])
def test_the_time_of_users_is_that_of_their_samples_their_pauses_and_some_of_the_generator(pausing, paused, name):
    rows = [row.split(",") for row in pausing.rows if row.split(",")[5].startswith(name)]
    sampled_ms = sum(int(row[1]) for row in rows)
    rest_ms = sum(paused[name].alive_ms) - sum(paused[name].pause_ms) - sampled_ms
    # A sample has whole milliseconds: it is up to one longer than it was. Each user may wait for the scripts' compiler.
    assert -len(rows) <= rest_ms <= 1500


@pytest.mark.parametrize(
    ("name", "least_count", "least", "most"),
    # A shaped timer has its rate each second.
    [
        ("per minute", 19, 0.9, 1.1),
        ("by two", 20, 0.9, 1.1),
        ("shaped", 12, 0.8, 2.0),
        ("late", 29, 0.1, 0.4),
    ],
)
def test_a_throughput_timer_has_as_many_samples_as_it_asks_for_unless_users_are_late(
    paused, name, least_count, least, most
):
    (made,), (due,) = paused[name].paced, paused[name].paced_due
    assert made.label == due.label
    assert made.count >= least_count
    assert least <= made.count / due.count <= most


def test_a_precise_timer_asks_for_the_time_of_its_group_and_catches_up_what_it_asked_for_before(paused):
    counts = paused["precise"]
    (made,), (due,) = counts.paced, counts.paced_due
    assert made.count == 49
    assert 0 < due.count <= 10 * sum(counts.alive_ms) / 1000 + 1  # 10 per second, from the first sample to the last


def test_a_script_that_sleeps_is_a_pause_and_the_time_of_one_that_computes_is_counted(paused):
    assert 500 <= sum(paused["sleeps"].pause_ms) <= 5000
    assert paused["sleeps"].pause_count == 5
    assert sum(paused["signs"].pause_ms) == 0
    assert [(one.label, 500 <= one.count <= 5000) for one in paused["signs"].scripts_ms] == [("Signs", True)]


def test_scripts_of_assertions_and_listeners_are_pauses_or_counted_like_any(paused):
    for name, count, least_ms in ("checked", 10, 800), ("told", 5, 250):
        # The first of them may wait for what another one compiles.
        assert count <= paused[name].pause_count <= count + 2
        assert sum(paused[name].pause_ms) >= least_ms
    assert [(one.label, one.count >= 500) for one in paused["told"].scripts_ms] == [("Tells", True)]


def test_by_how_much_a_sub_result_moves_the_end_of_a_sample_is_counted_by_label(pausing, paused):
    late = {one.label: one.count for one in paused["moved"].late_ms}
    rows = [row.split(",") for row in pausing.rows if ",moved " in row]
    assert 500 <= late["Moved"] <= sum(int(row[1]) for row in rows if row[2] == "Moved")
    # The one before the script moves it by what the plan did until then.
    assert late.get("Noted", 0) < 250
    assert not any(one.late_ms for name, one in paused.items() if name != "moved")


def test_results_that_the_plan_ignores_are_counted_by_label_with_their_failures_and_times(pausing, paused):
    ignored = {one.label: one for one in paused["ignored"].ignored}
    assert {label: (one.count, one.failed_count) for label, one in ignored.items()} == {"Poll": (4, 0), "Buy": (2, 2)}
    assert 400 <= ignored["Poll"].took_ms <= 4000
    assert abs(sum(paused["ignored"].pause_ms) - sum(one.took_ms for one in ignored.values())) < 10
    labels = [row.split(",")[2] for row in pausing.rows if ",ignored " in row]
    assert (labels.count("Seen"), labels.count("whole"), labels.count("Poll")) == (4, 4, 0)
    assert not any(one.ignored for name, one in paused.items() if name != "ignored")
    noted = [(paused[name].made_good, paused[name].not_sent) for name in ("made good", "not sent", "inside")]
    expected = [{"Pay": 3, "Passed": 3}, {}, {}, {"Debug": 3}, {"Mend": 2}, {"Debug": 2, "Quiet": 2, "Last": 2}]
    assert [{one.label: one.count for one in counts} for both in noted for counts in both] == expected
    counts = paused["names"].script_failed, paused["names"].conditions, paused["names"].bad_conditions
    expected = [{"Sent": 3, "Set": 3, "Read": 3, "Asked": 3}, {"fine": 3, "wrong": 3}, {"wrong": 3}]
    assert [{one.label: one.count for one in each} for each in counts] == expected


def test_the_time_in_which_users_wait_for_each_other_is_counted_by_controller(paused):
    # The second waits for the first, the third for both.
    assert [(one.label, 700 <= one.count <= 2500) for one in paused["locked"].locked_ms] == [("One by one", True)]
    assert not any(one.locked_ms for name, one in paused.items() if name != "locked")


@pytest.mark.parametrize(("variable", "counts"), EXTRACTIONS.items())
def test_a_miss_of_an_extractor_counts_as_sent_once_if_the_plan_sends_it_without_knowing(paused, variable, counts):
    assert extractions_of(paused["extractors"]).get(variable) == counts


def test_the_default_of_an_extractor_is_written_unless_it_is_computed_as_it_may_be_a_secret(paused):
    defaults = {one.variable: one.default for one in paused["extractors"].extractions}
    assert DEFAULTS.items() <= defaults.items()
    assert paused["names"].extractions == (ExtractionCount("", "order", "Sent", "${order}", 3, 3, 3, 0, 0),)


def test_each_group_has_the_times_of_its_users_by_second(paused):
    users = paused["constant"]
    assert 1000 <= max(users.alive_ms) <= 2000
    assert 3000 <= sum(users.alive_ms) <= 6000
    assert 900 <= sum(paused["none"].alive_ms) <= 2500
    assert paused["last"].from_s >= users.from_s + len(users.alive_ms) - 1
    assert all(counts.arrivals is None for counts in paused.values())


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Agent, dict[str, GroupCounts]]:
    """The counts of each kind of thread group, by name."""
    dynamic = {"TargetLevel": "10", "Hold": "2", "Unit": "S", "RampUp": "", "Steps": ""}
    props = tuple(text(*pair) for pair in dynamic.items())
    steps = {
        "ThreadGroup.num_threads": "3", "Threads initial delay": "0", "Start users count": "1",
        "Start users count burst": "0", "Start users period": "1", "Stop users count": "1", "Stop users period": "0",
        "flighttime": "2", "rampUp": "0",
    }  # fmt: skip
    plan = tree(
        group("warm", _SLEEPS, "SetupThreadGroup"),
        # Threads of an Arrivals Thread Group wait for arrivals until the engine ends them.
        group("stop", does("Thread.sleep(7000); ctx.engine.askThreadsToStop(); ctx.engine.stopTest(true)")),
        ended_after("plain", 3, _SLEEPS, users=2),
        arrivals("open", _SLEEPS, "rate(10/sec) even_arrivals(2 sec) pause(3 sec)"),
        controlled(f"{_PLUGINS}.arrivals.ArrivalsThreadGroup", "arrivals", _MAIN.format(_USER, ""), _SLEEPS, *props),
        controlled(f"{_PLUGINS}.arrivals.FreeFormArrivalsThreadGroup", "free form", _MAIN.format(_USER, ""), _SLEEPS,
                   text("Unit", "S"), table("Schedule", (10, 10, 2))),
        concurrent("concurrency", _SLEEPS, 3),
        controlled("kg.apc.jmeter.threads.UltimateThreadGroup", "ultimate", ENDLESS, _SLEEPS,
                   table("ultimatethreadgroupdata", (2, 0, 0, 3, 0), (2, 1, 0, 1, 0))),
        controlled("kg.apc.jmeter.threads.SteppingThreadGroup", "stepping", ENDLESS, _SLEEPS,
                   *(text(*pair) for pair in steps.items())),
    )  # fmt: skip
    agent = Agent(tmp_path_factory.mktemp("scheduled") / "run", plan).ended()
    return agent, {one.name: one for one in agent.noted.groups}


@pytest.mark.parametrize("name", ["plain", "concurrency", "ultimate", "stepping"])
def test_users_of_any_closed_group_are_counted_by_second(scheduled, name):
    most, least_s, most_s = {"plain": (2, 4.5, 8), "concurrency": (3, 2.5, 7), "ultimate": (4, 6.5, 12),
                             "stepping": (3, 5, 14)}[name]  # fmt: skip
    # On a busy machine users end late; users who are counted twice are more than there can be.
    counts = scheduled[1][name]
    # A level of one second may be in two of the series.
    assert most - 1.6 < max(counts.alive_ms) / 1000 <= most
    assert least_s <= sum(counts.alive_ms) / 1000 <= most_s
    assert counts.arrivals is None
    assert counts.ended_early == ()


@pytest.mark.parametrize("name", ["open", "arrivals", "free form"])
def test_arrivals_of_any_open_group_are_counted_by_second_with_their_users(scheduled, name):
    agent, groups = scheduled
    counts = groups[name]
    began = {row.split(",")[5] for row in agent.rows}
    assert any(thread.startswith(name) for thread in began)
    sent = sum(row.split(",")[5].startswith(name) for row in agent.rows)
    assert sum(counts.arrivals) == pytest.approx(20, abs=4)
    # One that has just arrived may have sent nothing when the load ends.
    assert sent <= sum(counts.arrivals) <= sent + 3
    # Each is there for the 200 ms of its request, not while its thread waits for the next arrival.
    assert sum(counts.alive_ms) / sum(counts.arrivals) == pytest.approx(210, abs=40)


def test_a_users_end_is_named_with_its_cause(tmp_path):
    (tmp_path / "run").mkdir()
    data = (
        text("filename", str(tmp_path / "rows.csv")), text("variableNames", "a"), flag("stopThread"),
        '<boolProp name="recycle">false</boolProp>', text("shareMode", "shareMode.group"),
    )  # fmt: skip
    (tmp_path / "rows.csv").write_text("1\n2\n3\n")
    (tmp_path / "heads.csv").write_text("A, b\n1,2\nA,4\n")
    heads = (text("filename", str(tmp_path / "heads.csv")), text("variableNames", "a,b"), flag("recycle"))
    fails = does("SampleResult.setSuccessful(false)", "Buy")
    (tmp_path / "run").rmdir()
    plan = tree(
        ended_after("data", 3, element("CSVDataSet", "rows", *data) + does("Thread.sleep(100)"), users=2),
        group(
            "goes on", element("CSVDataSet", "rows", *data[:2], *data[3:]) + does("'${a}'", "Ship") + does("1"), loops=5
        ),
        group(
            "head",
            element("CSVDataSet", "rows", *heads) + does("'${a}${b}'", "Both") + does("'${b}'", "Ship") + does("1"),
            loops=5,
        ),
        group("error", does("Thread.sleep(50)", "Look") + fails, loops=-1, users=3, on_sample_error="stopthread"),
        group("own", does("1") + action(0), loops=-1),
        group("asked", dies("org.apache.jorphan.util.JMeterStopThreadException('enough')"), loops=-1),
        group("result", does("SampleResult.setStopThread(true)", "Sign"), loops=-1),
        group("died", dies("Error('gone')"), loops=-1, users=2),
        group("script", dies("StackOverflowError()"), loops=-1),
        group("done", does("1"), loops=2, users=2),
        ended_after("scheduled", 3, does("Thread.sleep(50)") + constant(60_000)),
        ended_after("busy", 4, does("Thread.sleep(50)")),
    )
    before_ms = time.time() * 1000
    groups = {one.name: one for one in Agent(tmp_path / "run", plan).ended().noted.groups}
    after_ms = time.time() * 1000
    ends = {
        name: [(end.cause, end.detail.partition(":")[0], end.count) for end in counts.ended_early]
        for name, counts in groups.items()
    }
    assert ends == {
        "data": [(NO_DATA, "End of file", 2)],
        "goes on": [(DONE, "", 1)],
        "head": [(DONE, "", 1)],
        "error": [(FAILED, "Buy", 3)],
        "own": [(STOP, "Pause", 1)],
        "asked": [(STOP, "enough", 1)],
        "result": [(STOP, "Sign", 1)],
        "died": [(DIED, "", 2)],
        "script": [(DIED, "", 1)],
        "done": [(DONE, "", 2)],
        "scheduled": [],
        "busy": [],
    }
    assert [(one.label, one.count) for one in groups["goes on"].without_data] == [("Ship", 2)]
    # The first and the fourth line.
    assert {one.label: one.count for one in groups["head"].head_sent} == {"Both": 2, "Ship": 2}
    assert not any(one.head_sent for name, one in groups.items() if name != "head")
    for counts in groups.values():
        assert all(before_ms < end.first_ms < after_ms for end in counts.ended_early)


@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("steps", "on_sample_error", "end"),
    [
        (does("Thread.sleep(300); SampleResult.setSuccessful(false)", "Buy"), "stoptest", (STOP_TEST, "Buy")),
        (does("Thread.sleep(300); SampleResult.setSuccessful(false)", "Buy"), "stoptestnow", (STOP_TEST, "Buy")),
        (does("Thread.sleep(300); SampleResult.setStopTest(true)", "Pay"), "continue", (STOP_TEST, "Pay")),
        (does("Thread.sleep(300)") + action(2), "continue", (STOP, "Pause")),
    ],
)
def test_only_the_user_who_ends_the_test_ended_early(tmp_path, steps, on_sample_error, end):
    plan = tree(
        group("ends", steps, loops=-1, on_sample_error=on_sample_error),
        group("others", does("Thread.sleep(700)", "Wait"), users=3, loops=-1),
    )
    noted = Agent(tmp_path / "run", plan).ended().noted
    groups = {one.name: one for one in noted.groups}
    assert [(one.cause, one.detail, one.count) for one in groups["ends"].ended_early] == [(*end, 1)]
    assert groups["others"].ended_early == ()
    assert noted.busy["Wait"] == 3


@pytest.mark.counterpart
def test_a_jmeter_that_is_killed_leaves_what_its_groups_did_until_then(tmp_path):
    plan = tree(
        group("users", does("1") + constant(100), users=3, loops=-1),
        group("waits", does("1") + constant(60_000), loops=-1),
        group("dead", dies("Error('gone')")),
    )
    agent = Agent(tmp_path / "run", plan)
    file, rows = (agent.list.with_name(name) for name in (GROUPS_NAME, ROWS_NAME))
    wait_for(lambda: rows.exists() and int(rows.read_text().split()[0]) > 30)
    seconds = file.read_text().count("\nT\t")
    wait_for(lambda: file.read_text().count("\nT\t") >= seconds + 4)
    agent.process.send_signal(signal.SIGKILL)
    agent.ended()
    groups = {one.name: one for one in agent.noted.groups}
    users, waits = groups["users"], groups["waits"]
    assert users.alive_ms[-1] == 3000
    assert users.alive_ms[-2:] == (3000, 3000)
    assert all(2000 <= pause_ms <= 3000 for pause_ms in users.pause_ms[-2:])
    assert (waits.pause_ms[-2:], waits.alive_ms[-2:]) == ((1000, 1000), (1000, 1000))
    assert [(end.cause, end.count) for end in groups["dead"].ended_early] == [(DIED, 1)]
    assert not file.exists()
