"""scripts/tune as a user calls it; a stand-in for scripts/run leaves the results of runs that take no time."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli import main
from harness.history.summary_files import SUMMARY_NAME
from harness.run import child
from harness.tune import command, runner
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.processes import processes_of, wait_for
from tests.support.report_folder import add_run

FAKE_RUN = ROOT / "tests" / "support" / "fakes" / "scripts_run.py"
# The stand-in takes delay_ms longer; python changes nothing.
SETTINGS = "delay_ms=0,20 python=python3,python3.11"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The JSON of a run of 2,000 samples of 100 ms."""
    reports = tmp_path_factory.mktemp("template")
    add_run(reports, "tiny/run-01_1", samples=2000, seconds=100)
    return (reports / "tiny" / "run-01_1.json").read_text()


@pytest.fixture
def home(home):
    """The home with the tiny plan, whose system has the setting delay_ms."""
    system = home / "systems" / "tiny" / "system.toml"
    system.write_text(system.read_text() + "delay_ms = 0\n")
    return home


@pytest.fixture
def tune(home, tmp_path, template, monkeypatch):
    """Run scripts/tune on the tiny plan and return its exit code; runs take no time."""
    fakes = tmp_path / "fakes"
    fakes.mkdir()
    (fakes / "template.json").write_text(template)
    monkeypatch.setattr(child, "_RUN", FAKE_RUN)
    monkeypatch.setattr(command, "_chance", lambda: random.Random(1))  # of random orders 1 in 20 has a false effect
    monkeypatch.setenv("FAKE_RUN", str(fakes))
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))

    def run(*arguments, settings=SETTINGS, behaviour=None):
        (fakes / "behaviour").write_text(json.dumps(behaviour or {}))
        folders = [f"--home={home}", f"--reports={tmp_path / 'tune'}", f"--build={tmp_path / 'build'}"]
        given = [f"--set={settings}"] if settings else []
        return main(["--plan=tiny", *given, *arguments, *folders], "scripts/tune")

    return run


def record_of(tmp_path: Path, name: str = "tune-01") -> dict:
    return json.loads((tmp_path / "tune" / "tiny" / f"{name}.json").read_text())


def page_of(tmp_path: Path, name: str = "tune-01") -> str:
    return (tmp_path / "tune" / "tiny" / f"{name}.md").read_text()


def calls(tmp_path: Path) -> list[dict]:
    path = tmp_path / "fakes" / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def again(tmp_path: Path, name: str) -> int:
    """Run aggregate.py tune."""
    return main(["tune", name, f"--reports={tmp_path / 'tune'}"])


def test_a_setting_with_an_effect_is_found_and_one_without_is_not(tune, tmp_path, capsys):
    (tmp_path / SUMMARY_NAME).touch()
    assert tune() == 0
    out = capsys.readouterr().out
    assert "design: all 4 combinations, 2 times, 10 runs in 2 blocks; about 5 min 52 s\n" in out
    assert re.search(r"^tiny/tune-01: warm-up run, not counted, delay_ms=0 python=python3; about ", out, re.MULTILINE)
    assert re.search(r"^tiny/tune-01: run 10 of 10, block 2, delay_ms=\d+ python=\S+; about ", out, re.MULTILINE)
    assert re.search(r"^report: .*tune/tiny/tune-01\.md$", out, re.MULTILINE)
    record = record_of(tmp_path)
    headline = r"FOUND after 10 runs: p90 with delay_ms 0 → 20 \+(19|20)\.\d\d % \(.*\); no effect: python \(within "
    assert re.match(headline, record["headline"])
    assert record["headline"].endswith("best: delay_ms=0, over 99.9 % sure, the baseline's.")
    assert (record["verdict"], record["state"]) == ("FOUND", "finished")
    # A warm-up run, then two blocks, each with every combination and the baseline once more.
    assert [run["block"] for run in record["runs"]] == [0, *[1] * 5, *[2] * 5]
    assert [sorted(block) for block in record["blocks"]] == [[0, 0, 1, 2, 3]] * 2
    sets = [call["set"] for call in calls(tmp_path)]
    assert sets[0] == "delay_ms=0 python=python3"
    assert sorted(sets[1:6]) == sorted(sets[6:])
    assert len(set(sets)) == 4
    delay, python, both = record["effects"]
    assert (delay["text"], delay["verdict"]) == ("delay_ms 0 → 20", "FOUND")
    assert delay["delta_ratio"] == pytest.approx(0.2, abs=0.01)
    assert (python["text"], python["verdict"]) == ("python python3 → python3.11", "NO EFFECT")
    assert both["text"] == "delay_ms=20 × python=python3.11"
    assert 0 < record["scatter_ratio"] < 0.01
    assert record["best"]["choice"] == [0, None]
    assert record["next"] == [
        "delay_ms=0 is the smallest value that was tried: try smaller ones.",
        "python: no effect of 10 % or more; leave it out and vary something else.",
    ]
    check_page(page_of(tmp_path), record)
    assert str(tmp_path) not in page_of(tmp_path)
    check_rendered_again(tmp_path)
    summary = (tmp_path / SUMMARY_NAME).read_text()
    assert "Experiments:\n\n- [tune-01](tune/tiny/tune-01.md): FOUND after 10 runs" in summary
    assert "[tune-01](tiny/tune-01.md): FOUND" in (tmp_path / "tune" / SUMMARY_NAME).read_text()


def check_page(page: str, record: dict) -> None:
    assert page.startswith("<!-- generated by ./aggregate.py tune tiny/tune-01; only the notes block survives")
    assert f"<!-- command: make tune SET='{SETTINGS}' PLAN=tiny -->\n" in page
    assert "- delay_ms: 0, 20\n- python: python3, python3.11\n- judged by: p90; a change of 10.0 % matters\n" in page
    assert re.search(r"^\| delay_ms 0 → 20 \| \*\*worse\*\* \| \+\d+\.\d\d \| \+\d+\.\d\d to \+", page, re.M)
    assert re.search(r"^\| python python3 → python3\.11 \| no effect \| [+-]?0\.\d\d \| -\d", page, re.M)
    assert re.search(r"^\| delay_ms=20 × python=python3\.11 \| no effect \|", page, re.M)
    assert re.search(r"^\| delay_ms=0 python=python3 \| 4 \| 1\d\d \|", page, re.M)  # the baseline ran four times
    assert len(re.findall(r"^\| \[run-01_\d+\]\(run-01_\d+\.md\) \| delay_ms=", page, re.M)) == 10
    assert "Warm-up run, not counted: [run-01_1](run-01_1.md)." in page
    for chart in ("effects", "pair-1"):
        assert f"](tune-01/{chart}.svg)" in page
    for text in record["next"]:
        assert f"- {text}\n" in page


def check_rendered_again(tmp_path: Path) -> None:
    """The same runs give the same bytes, and notes are preserved."""
    folder = tmp_path / "tune" / "tiny"
    names = ("tune-01.json", "tune-01.md", "tune-01/effects.svg", "tune-01/pair-1.svg")
    before = {name: (folder / name).read_bytes() for name in names}
    page = folder / "tune-01.md"
    page.unlink()
    assert again(tmp_path, "tiny/tune-01") == 0
    assert {name: (folder / name).read_bytes() for name in names} == before
    page.write_text(page.read_text().replace("-->\n\n<!-- notes:end", "-->\nthe new pool\n<!-- notes:end"))
    assert again(tmp_path, str(page)) == 0
    assert "-->\nthe new pool\n<!-- notes:end" in page.read_text()
    (folder / "run-01_3.json").unlink()
    with pytest.raises(UsageError, match=r"tiny/tune-01: its run run-01_3 has no numbers any more; nothing was"):
        again(tmp_path, "tiny/tune-01")


def test_the_metric_decides_what_is_better(tune, tmp_path):
    assert tune("--metric=throughput", settings="delay_ms=20,0,40") == 0
    record = record_of(tmp_path)
    assert record["best"]["choice"] == [1]
    assert "best: delay_ms=0, over 99.9 % sure, better than the baseline's by +" in record["headline"]
    assert record["next"][0] == ("Confirm the best values: make ab A=delay_ms=20 B=delay_ms=0 PLAN=tiny")
    page = page_of(tmp_path)
    assert re.search(r"^\| delay_ms 20 → 0 \| \*\*better\*\* \| \+", page, re.M)
    assert re.search(r"^\| delay_ms 20 → 40 \| \*\*worse\*\* \| -", page, re.M)
    assert "## Pairs" not in page


def test_the_rest_of_an_interrupted_block_becomes_a_block_of_its_own_with_a_baseline(tune, tmp_path, capsys):
    def interrupt():
        wait_for(lambda: (tmp_path / "fakes" / "waits").exists())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert tune(behaviour={"4": "wait"}) == 130
    thread.join()
    assert f"resume with: make tune SET='{SETTINGS}' PLAN=tiny RESUME=1\n" in capsys.readouterr().out
    headline = "**INTERRUPTED, so far CANNOT TELL after 2 runs: too few runs to distinguish effects from scatter.**"
    assert headline in page_of(tmp_path)
    before = record_of(tmp_path)
    with pytest.raises(UsageError, match="--resume: tiny/tune-01 has other settings or another load; repeat"):
        tune("--resume", settings="delay_ms=0,30")
    assert tune("--resume") == 0
    record = record_of(tmp_path)
    assert record["state"] == "finished"
    first, rest, second = record["blocks"]
    assert first == before["blocks"][0][:2]
    assert second == before["blocks"][1]
    left = before["blocks"][0][2:]
    assert rest == (left if 0 in left else [0, *left])
    counted = [run for run in record["runs"] if run["block"] and run["state"] == "ended"]
    assert [run["cell"] for run in counted] == first + rest + second
    assert record["effects"][0]["verdict"] == "FOUND"
    with pytest.raises(UsageError, match="--resume: tiny/tune-01 is finished"):
        tune("--resume")


def test_a_run_that_did_not_measure_the_system_does_not_count_and_is_repeated(tune, tmp_path):
    assert tune(behaviour={"3": "doubt"}) == 0
    record = record_of(tmp_path)
    places = [(run["block"], run["place"]) for run in record["runs"]]
    assert places[2] == places[3] == (1, 1)
    assert len(record["runs"]) == 12
    assert "after 10 runs" in record["headline"]
    assert "| no: DOUBTFUL: the load generator used nearly all of the CPU | 1 |" in page_of(tmp_path)


@pytest.mark.parametrize(
    ("behaviour", "headline"),
    [
        ({"1": "fail"}, "INVALID: the warm-up run failed: scripts/run ended with code 3: web ended with code 1."),
        (
            {"3": "fail", "4": "fail"},
            r"INVALID: 2 runs in a row do not count, the last one with delay_ms=\d+ python=python\S+: "
            r"scripts/run ended with code 3: web ended with code 1\.",
        ),
    ],
)
def test_a_combination_that_does_not_run_ends_the_experiment(tune, tmp_path, behaviour, headline):
    assert tune(behaviour=behaviour) == 3
    assert re.fullmatch(headline, record_of(tmp_path)["headline"])
    assert len(calls(tmp_path)) == max(map(int, behaviour))
    assert again(tmp_path, "tiny/tune-01") == 3


def test_an_experiment_that_failed_is_resumed(tune, tmp_path, capsys):
    assert tune(behaviour={"3": "fail", "4": "fail"}) == 3
    assert " PLAN=tiny RESUME=1\n" in capsys.readouterr().out
    assert tune("--resume", behaviour={"5": "fail"}) == 0
    record = record_of(tmp_path)
    assert (record["verdict"], record["state"], record["resumed_at"]) == ("FOUND", "finished", 4)
    assert [bool(run["problem"]) for run in record["runs"]][:6] == [False, False, True, True, True, False]


def test_the_budget_ends_an_experiment_before_a_run_that_does_not_fit(tune, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "FIRST_GUESS_S", 1000.0)  # as if it took longer than it should
    assert tune("--max=6m") == 0
    record = record_of(tmp_path)
    assert (record["verdict"], record["state"], calls(tmp_path)) == ("CANNOT TELL", "finished", [])
    assert record["headline"] == (
        "CANNOT TELL after 0 runs: the budget of 6 min is used up, 11 runs left out; too few runs to distinguish "
        "effects from scatter."
    )
    monkeypatch.setattr(runner, "FIRST_GUESS_S", 30.0)
    assert "RESUME=1 and a larger MAX\n" in capsys.readouterr().out
    assert tune("--max=1h", "--resume") == 0
    record = record_of(tmp_path)
    assert (record["verdict"], record["budget_s"], len(record["runs"])) == ("FOUND", 3600, 11)


def test_an_unknown_name_lists_the_experiments(tmp_path):
    with pytest.raises(UsageError, match="tune-01: no such experiment; there are: none"):
        again(tmp_path, "tune-01")


BAD = [
    (None, [], "SET is missing; give the settings with the values to try"),
    ("delay_ms=0", [], "delay_ms=0: one value only, so there is nothing to compare"),
    ("delay_m=0,1", [], "SET=delay_m=0: delay_m is neither a setting of tiny nor a property of tiny.jmx"),
    ("delay_ms=0,x", [], "SET=delay_ms=x: system tiny: setting delay_ms = 'x' is not a whole number"),
    ("tiny.delay_ms=0,1 delay_ms=2,3", [], "SET=tiny.delay_ms=0 delay_ms=2: tiny.delay_ms occurs twice"),
    ("delay_ms=1,01", [], "SET: delay_ms=1 and delay_ms=01 run the same; give each value once"),
    ("db_password=x,y", [], "SET=db_password=x: db_password is a secret"),
    (SETTINGS, ["--metric=p91"], "METRIC p91: no such metric; did you mean p9"),
    (SETTINGS, ["--metric=errors"], "METRIC errors: no such metric; "),
    (SETTINGS, ["--repeat=0"], "REPEAT=0: "),
    (SETTINGS, ["--repeat=1"], "REPEAT=1 of 4 combinations is too few runs to know the scatter; give REPEAT=2 or more"),
    (SETTINGS, ["--max=soon"], "MAX=soon: "),
    (
        SETTINGS,
        ["--max=5m"],
        "MAX=5 min is too short: with the warm-up run, 4 of 4 combinations are 11 runs of about 32 s, "
        "5 min 52 s together; give MAX=6m, fewer values, or a shorter DURATION",
    ),
    (SETTINGS, ["--duration=auto"], "DURATION=auto: the runs would have different lengths"),
    (SETTINGS, ["--resume"], "--resume: there is no experiment of tiny yet; leave it out"),
    (" ".join(f"s{place}=1,2,3,4,5,6,7,8" for place in range(5)), [], "SET=s0=1"),
]


@pytest.mark.parametrize(("settings", "arguments", "message"), BAD, ids=[message for *_, message in BAD])
def test_bad_input_is_refused_in_one_line_before_anything_runs(tune, tmp_path, settings, arguments, message):
    with pytest.raises(UsageError) as refused:
        tune(*arguments, settings=settings)
    assert str(refused.value).startswith(message)
    assert len(str(refused.value).splitlines()) == 1
    assert calls(tmp_path) == []
    assert not list((tmp_path / "tune").glob("tiny/*"))


def test_more_combinations_than_a_design_can_have_are_refused(tune, home, tmp_path):
    system = home / "systems" / "tiny" / "system.toml"
    names = [f"size_{place}" for place in range(6)]
    system.write_text(system.read_text() + "".join(f"{name} = 0\n" for name in names))
    with pytest.raises(UsageError, match="4,096 combinations are too many: their effects and pairs are 154 unknowns"):
        tune(settings=" ".join(f"{name}=1,2,3,4" for name in names))
    assert calls(tmp_path) == []


@pytest.mark.real
def test_kill_9_leaves_no_process_and_keeps_what_was_measured(home, tmp_path):
    """The whole program, with a fake JMeter: its second run is killed, and its record is that of a resumable test."""
    environment = {**os.environ, "JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": "works", "TMPDIR": str(tmp_path)}
    command = [sys.executable, str(ROOT / "scripts" / "tune"), "--plan=tiny", "--set=delay_ms=0,20", "--duration=2"]
    command += [f"--home={home}", f"--reports={tmp_path / 'tune'}", f"--build={tmp_path / 'build'}"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        wait_for(lambda: list((tmp_path / "tune").glob("tiny/run-01_2/samples.jtl")), 60)
        process.kill()
    wait_for(lambda: not processes_of(tmp_path), 30)
    record = record_of(tmp_path)
    assert [(run["block"], run["place"], run["state"]) for run in record["runs"]] == [
        (0, 0, "ended"),
        (1, 0, "under way"),
    ]
    assert (record["state"], record["runs"][0]["run"]) == ("running", "run-01_1")
    assert (tmp_path / "tune" / "tiny" / "run-01_1.md").is_file()
