"""However a load ends, the plan's tearDown runs to its end, or the harness says that it did not."""

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from harness.base.install import toolchain
from harness.metrics.figures import TEARDOWN, group_of
from harness.run.jmeter import auto_end
from harness.run.record import AutoEndRecord
from tests.support.paths import ROOT
from tests.support.processes import meanwhile, press_ctrl_c, processes_of, wait_for
from tests.support.tiny import DUMMY_JMX, run_json, samples_under_way

_SAMPLER = re.search(r"<kg\.apc.*?</kg\.apc[^>]*>\s*<hashTree/>", DUMMY_JMX, re.DOTALL)[0]
_CLEAN_UP = ("Log out", "Delete order", "Delete user", "Metrics")


def with_teardown(answer_ms: int) -> str:
    """Return a plan whose tearDown has four samplers, which take so long each."""
    samplers = "".join(
        _SAMPLER.replace('testname="Pay"', f'testname="{name}"').replace(">50<", f">{answer_ms}<") for name in _CLEAN_UP
    )
    group = (
        '<PostThreadGroup guiclass="PostThreadGroupGui" testclass="PostThreadGroup" testname="tearDown">'
        '<stringProp name="ThreadGroup.num_threads">1</stringProp>'
        '<stringProp name="ThreadGroup.ramp_time">0</stringProp>'
        '<elementProp name="ThreadGroup.main_controller" elementType="LoopController" testclass="LoopController">'
        '<boolProp name="LoopController.continue_forever">false</boolProp>'
        '<stringProp name="LoopController.loops">1</stringProp></elementProp>'
        f"</PostThreadGroup><hashTree>{samplers}</hashTree>"
    )
    return DUMMY_JMX.replace("<ThreadGroup ", f"{group}<ThreadGroup ", 1)


@pytest.fixture
def ended(home: Path, run, target: str, tmp_path: Path) -> Callable[..., tuple[int, str, dict[str, Any]]]:
    """Run such a plan with a real JMeter; return the exit code, what is printed, and run.json."""

    def of(*arguments: str, answer_ms: int = 700) -> tuple[int, str, dict[str, Any]]:
        (home / "plans" / "tiny.jmx").write_text(with_teardown(answer_ms))
        done = run("--target", target, "--duration", "60", *arguments, JMETER_HOME=str(toolchain.ensure_jmeter()))
        return done.returncode, done.stdout + done.stderr, run_json(tmp_path / "reports")

    return of


def cleaned_up(tmp_path: Path) -> list[str]:
    """Return the labels of tearDown in the JTL, in their order."""
    with (tmp_path / "reports" / "tiny" / "run-01_1" / "samples.jtl").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return [row["label"] for row in rows if group_of(row["threadName"], row["label"], frozenset()) == TEARDOWN]


@pytest.mark.real
@pytest.mark.parametrize(
    ("load", "code"),
    [
        pytest.param(("--duration", "auto", "--max", "5m"), 0, marks=pytest.mark.counterpart),
        pytest.param(("--requests", "20"), 0, marks=pytest.mark.counterpart),
        (("--stop", "throughput<1000/s for 1s"), 1),
        # An open load, which only another request stops.
        pytest.param(("--rate", "5", "--stop", "p90>1ms for 1s"), 1, marks=pytest.mark.counterpart),
    ],
    ids=["--duration=auto", "--requests", "STOP", "STOP of an open load"],
)
def test_a_load_that_the_harness_ends_has_its_whole_teardown(ended, tmp_path, monkeypatch, load, code):
    # With DURATION=auto a load is long enough here after three seconds: when it really is, test_auto_end shows.
    monkeypatch.setattr(auto_end, "LOOK_PERIOD_S", 0.1)
    monkeypatch.setattr(
        auto_end, "check", lambda _, seconds: AutoEndRecord(len(seconds) > 3, len(seconds), 1, 50.0, 1.0)
    )
    exit_code, output, facts = ended(*load)
    assert cleaned_up(tmp_path) == list(_CLEAN_UP), output
    assert (exit_code, facts["exit_codes"], facts["stop_reasons"]) == (code, {"jmeter": 0}, []), output


@pytest.mark.real
def test_after_ctrl_c_the_whole_teardown_runs(ended, tmp_path):
    def interrupt() -> None:
        samples_under_way(tmp_path, 20, 40)
        press_ctrl_c()

    with meanwhile(interrupt):
        exit_code, output, facts = ended()
    assert cleaned_up(tmp_path) == list(_CLEAN_UP), output
    assert (exit_code, facts["exit_codes"], facts["stop_reasons"]) == (130, {"jmeter": 0}, []), output


@pytest.mark.counterpart
def test_ctrl_c_within_teardown_does_not_cut_it_short(ended, tmp_path):
    def interrupt() -> None:
        log = tmp_path / "reports" / "tiny" / "run-01_1" / "jmeter.log"
        wait_for(lambda: log.is_file() and "Starting tearDown thread groups" in log.read_text(), 40)
        press_ctrl_c()

    with meanwhile(interrupt):
        exit_code, output, _ = ended("--duration", "1")
    assert cleaned_up(tmp_path) == list(_CLEAN_UP), output
    assert exit_code == 130


@pytest.mark.counterpart
def test_a_teardown_that_hangs_is_stopped_and_named(ended, home, tmp_path):
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("overrun_s = 30", "overrun_s = 2"))
    exit_code, output, facts = ended("--requests", "20", answer_ms=100_000)
    assert cleaned_up(tmp_path) == []
    assert facts["stop_reasons"] == [
        "the plan's tearDown did not end within 2 s and was stopped; what it cleans up may be left behind"
    ]
    assert exit_code == 3, output
    assert facts["took_s"] < 30
    assert processes_of(tmp_path) == []


def test_the_teardown_of_each_included_plan_runs_after_a_stop_and_is_recognised():
    for path in sorted((ROOT / "plans").glob("*.jmx")):
        tree = ElementTree.parse(path)
        for group in tree.iter("PostThreadGroup"):
            assert group_of(f"{group.get('testname')} 1-1", "", frozenset()) == TEARDOWN, path.name
            assert tree.findtext(".//boolProp[@name='TestPlan.tearDown_on_shutdown']") == "true", path.name
