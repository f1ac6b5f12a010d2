"""DURATION=auto: ends when the load is steady and its mean known to 5 %, and not before; series of known warm-up."""

import random

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.metrics import window
from harness.plan.load.model import ClosedLoad, LoadArguments, PlanLoad, load_record, parse_load, resolve_load
from harness.report.setup import load_text, setup_lines
from harness.run.jmeter import auto_end
from harness.run.jmeter.auto_end import LOOK_PERIOD_S, PRECISION_RATIO, AutoEnd, enough_ms
from harness.run.record import AutoEndRecord
from tests.support.commands import command
from tests.support.factories import closed_load, record, sample
from tests.support.paths import FAKE_JMETER
from tests.support.tiny import arguments_of_run, report, run_json

DEFAULT = PlanLoad(users=10, ramp_per_user_s=0.5, duration_s=100, think_time_s=0)
LOAD = ClosedLoad(users=5, ramp_s=5, duration_s=600, loops=None, is_auto=True)


def drive(mean_ms, seed=1, *, spread=0.1, most_s=600, silent_from_s=None, rate=20):
    """Return when a load ends whose mean response time is mean_ms(second), most_s if it never does, and its AutoEnd."""
    noise, watch, drift = random.Random(seed), AutoEnd(LOAD), 0.0
    for second in range(most_s):
        drift = 0.5 * drift + noise.gauss(0, spread)  # neighbouring seconds resemble each other
        samples = []
        if silent_from_s is None or second < silent_from_s:
            for number in range(rate):
                elapsed_ms = max(1, round(mean_ms(second) * (1 + drift) * noise.lognormvariate(0, 0.3)))
                end_ms = 1_000_000 + 1000 * second + 1000 * number // rate
                users = min(5, 1 + second)
                samples.append(sample(elapsed_ms=elapsed_ms, start_ms=end_ms - elapsed_ms, all_threads=users))
        watch.add(float(second), samples, len(samples))
        if watch.is_enough(float(second)):
            return second, watch
    return most_s, watch


def steady(_):
    return 400.0


@pytest.mark.real
def test_a_steady_load_ends_after_a_minute_and_five_successful_checks():
    ended_s, watch = drive(steady)
    assert 60 + 4 * LOOK_PERIOD_S <= ended_s <= 240
    found = watch.record
    assert found.is_met
    assert found.within_ms <= PRECISION_RATIO * found.average_ms


@pytest.mark.real
def test_a_warm_up_is_excluded_before_the_load_ends():
    ended_s, watch = drive(lambda second: 400.0 * (3 if second < 60 else 1), spread=0.03)
    assert ended_s >= 60 + 60
    assert 58 <= watch.record.steady_from_s <= 75
    assert watch.record.average_ms == pytest.approx(400 * 1.046, rel=0.06)  # exp(0.3² / 2) of the log-normal noise


@pytest.mark.real
def test_a_load_that_is_never_steady_runs_to_its_maximum():
    ended_s, watch = drive(lambda second: 200.0 + 3 * second, spread=0.03, most_s=300)
    assert ended_s == 300
    assert watch.record == AutoEndRecord(False, watch.record.after_s, None, None, None)


@pytest.mark.real
def test_an_imprecise_mean_prolongs_the_load():
    ended_s, watch = drive(steady, spread=0.1)
    later_s, _ = drive(steady, spread=0.5, seed=3, most_s=400)
    assert ended_s < later_s
    assert watch.record.is_met


def test_five_checks_in_a_row_must_succeed():
    # Two let a load end while its scatter is underestimated by chance: its interval contained the truth in 90 % then.
    watch = AutoEnd(LOAD)
    looks = []
    watch._check = lambda: True
    watch.add(0.0, [sample()], 1)
    for now_s in range(0, 80):
        watch.add(float(now_s), [sample()], 1)
        if watch.is_enough(float(now_s)):
            looks.append(now_s)
            break
    assert looks == [40]


@pytest.mark.real
def test_a_stalled_system_does_not_end_the_load():
    ended_s, _ = drive(steady, silent_from_s=62, most_s=200)
    assert ended_s == 200


@pytest.mark.parametrize(("average_ms", "within_ms"), [(400, 20), (20, 1), (12, 1), (10, 1), (4, 0.4), (0.27, 0.027)])
def test_a_mean_is_known_to_5_percent_or_1_ms_of_short_times_and_at_most_10_percent(average_ms, within_ms):
    assert enough_ms(average_ms) == pytest.approx(within_ms)


def test_samples_of_set_up_are_not_counted():
    watch = AutoEnd(LOAD)
    watch.add(0.0, [sample(thread_name="setUp 1-1")], 1)
    assert not watch.is_enough(0.0)
    assert watch._first_s is None


def resolved(default: PlanLoad, **given: str):
    return resolve_load(parse_load(LoadArguments(**given)), default)


def test_duration_auto_lasts_at_most_ten_minutes_or_max():
    assert resolved(DEFAULT, duration="auto") == ClosedLoad(10, 5, 600, None, None, True)
    assert resolved(DEFAULT, duration="auto", most="90s") == ClosedLoad(10, 5, 90, None, None, True)
    assert resolved(DEFAULT, duration="60") == ClosedLoad(10, 5, 60, None, None, False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"most": "5m"}, "--max=300: needs --duration=auto"),
        ({"most": "5m", "duration": "60"}, "--max=300: needs --duration=auto"),
        ({"duration": "auto", "most": "1m"}, "--max=60: too short for --duration=auto"),
        ({"duration": "auto", "rate": "5"}, "--rate=5 and --duration=auto cannot be used together"),
        ({"duration": "auto", "loops": "5"}, "--loops=5 and --duration=auto cannot be used together"),
    ],
)
def test_options_that_contradict_auto_are_refused(given, said):
    with pytest.raises(UsageError, match=said):
        resolved(DEFAULT, **given)


def test_a_plan_may_have_auto_as_its_default():
    auto = PlanLoad(users=10, ramp_per_user_s=0.5, duration_s=100, think_time_s=0, auto_most_s=300)
    assert resolved(auto) == ClosedLoad(10, 5, 300, None, None, True)
    assert resolved(auto, most="200") == ClosedLoad(10, 5, 200, None, None, True)
    assert resolved(auto, duration="60") == ClosedLoad(10, 5, 60, None, None, False)
    assert resolved(auto, loops="3") == ClosedLoad(10, 5, None, 3, None, False)
    assert resolved(auto, rate="5").duration_s == 100


def test_the_report_states_how_an_auto_run_ended():
    load = closed_load(users=50, ramp_s=25.0, duration_s=600.0, is_auto=True)
    text = "closed model, 50 users, ramp 25 s, auto: until steady and ± 5 % (short times: ± 1 ms), 600 s at most"
    assert load_text(load) == text
    assert load_record(LOAD, DEFAULT).is_auto is True
    found = AutoEndRecord(True, 140, 60, 452.4, 21.3)
    lines = dict(setup_lines(record(load=load, auto_end=found)))
    assert lines["auto"] == (
        "ended after 140 s; last check: steady from 60 s on, mean 452 ± 21 ms (right in 92 to 99 % of simulated loads)"
    )
    lines = dict(setup_lines(record(load=load, auto_end=AutoEndRecord(False, 600, None, None, None))))
    assert lines["auto"] == "not reached, ended after 600 s; last check: not steady"
    lines = dict(setup_lines(record(load=load, auto_end=AutoEndRecord(False, 600, 30, 452.4, 50.0))))
    assert lines["auto"] == "not reached, ended after 600 s; last check: steady from 30 s on, mean 452 ± 50 ms"
    lines = dict(setup_lines(record(load=load, auto_end=AutoEndRecord(False, 118, 36, 0.272, 0.016))))
    assert lines["auto"] == "not reached, ended after 118 s; last check: steady from 36 s on, mean 0.27 ± 0.02 ms"
    assert "auto" not in dict(setup_lines(record()))


def test_a_budget_that_is_too_short_is_refused_on_the_command_line(refused, target):
    text = refused("--target", target, "--users", "2", "--duration", "auto", "--max", "3")
    assert "--max=3: too short for --duration=auto" in text


@pytest.mark.parametrize("script", ["sweep", "capacity"])
def test_levels_of_a_sweep_cannot_be_auto(script):
    users = ["--users", "1,2"] if script == "sweep" else []
    done = command(f"scripts/{script}", "--plan", "lb-direct", "--duration", "auto", *users)
    assert done.returncode == 2
    assert "--duration=auto is for lth run" in done.stderr


@pytest.mark.real
def test_a_run_with_duration_auto_ends_by_itself_and_reports_when(home, target, tmp_path, monkeypatch, capsys):
    # A steady window of 6 s is enough here instead of 60 s, with a look each second.
    monkeypatch.setattr(auto_end, "WINDOW_LEAST_S", 6)
    monkeypatch.setattr(auto_end, "LOOK_PERIOD_S", 1.0)
    monkeypatch.setattr(window, "BATCHES_NEEDED", 1)
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))
    arguments = ("--target", target, "--users", "2", "--duration", "auto", "--max", "5m")
    assert main(arguments_of_run(home, tmp_path, arguments), "scripts/run") == 0
    out = capsys.readouterr().out
    assert "steady state reached, and the mean is precise enough: JMeter finishes its running samples" in out
    facts = run_json(tmp_path / "reports")
    assert facts["load"]["is_auto"] is True
    assert facts["auto_end"]["is_met"] is True
    assert 6 < facts["took_s"] < 60
    assert "--duration=auto --max=5m" in facts["command"]
    assert "- auto: ended after " in report(tmp_path / "reports")
