"""scripts/ab as a user calls it; a stand-in for scripts/run leaves the results of runs that take no time."""

import json
import re
from argparse import Namespace
from dataclasses import replace

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.experiment import files as experiment_files
from harness.experiment import start
from harness.experiment.counting import results_of
from harness.experiment.files import Experiments
from harness.experiment.runner import Runner
from harness.experiment.sides import SideFiles, SideText, ready_side, what_runs
from harness.judge.result import NextStep
from harness.kinds.ab.outcome import headline, outcome_of
from harness.kinds.ab.record import AbRecord, order_of
from harness.kinds.ab.render import ab_report
from harness.report.junit_files import JUnitFile
from harness.site.html_option import publish
from tests.support.ab_tests import SIDES, commit, git, page_of, record_of
from tests.support.fake_runs import calls
from tests.support.junit_cases import cases_in
from tests.support.paths import FAKE_JMETER
from tests.support.processes import interrupted_when, processes_of
from tests.support.requests import options_of


@pytest.mark.real
def test_a_side_that_is_slower_is_found_in_pairs_that_alternate(ab, tmp_path, capsys):
    assert ab(*SIDES) == 1
    out = capsys.readouterr().out
    # The order is random, so six pairs are not always enough to be sure.
    headline = re.search(
        r"^tiny/ab-01: (REGRESSED after (6|8|10) pairs: \S+ 1\d\d → 12\d ms \(\+(19|20|21)\.\d %\), and 6 more m\S+)$",
        out,
        re.MULTILINE,
    )
    assert headline
    assert re.search(r"^report: .*ab/tiny/ab-01\.md$", out, re.MULTILINE)
    record = record_of(tmp_path)
    assert (record["verdict"], record["state"]) == ("REGRESSED", "finished")
    assert record["headline"].startswith(headline[1])
    # One warm-up run of A; then the order of each pair follows from the seed, so it can be checked and resumed.
    pairs = [(side, pair) for pair in range(1, int(headline[2]) + 1) for side in order_of(pair, record["seed"])]
    assert [(run["side"], run["pair"]) for run in record["runs"]] == [("A", 0), *pairs]
    values = {"A": "delay_ms=0", "B": "delay_ms=20"}
    assert [call["set"] for call in calls(tmp_path)[1:]] == [values[side] for side, _ in pairs]
    page = page_of(tmp_path)
    assert f"\u274c **{headline[1]}**\n" in page
    assert "](ab-01/intervals.svg)\n\n| label | metric | A | B | change | interval | verdict |\n" in page
    assert "- A: delay_ms=0 (profile local)" in page
    assert re.search(
        r"^\| TOTAL \| average ms \| 10[123] \| 12[123] \| \+(19|20|21)\.\d % \|.*\*\*REGRESSED\*\* \|$",
        page,
        re.MULTILINE,
    )
    assert f"- the runs of each pair: in random order (seed {record['seed']})" in page
    second = order_of(2, record["seed"])
    links = {side: f"[run-01_{number}](run-01_{number}.md)" for number, side in enumerate(second, start=4)}
    assert f"| 2 | {' '.join(second)} | {links['A']} | {links['B']} |" in page
    assert str(tmp_path) not in page


@pytest.mark.real
def test_sides_that_do_not_differ_are_ok_within_a_bound(ab, tmp_path):
    # The setting of B changes nothing that this stand-in would measure.
    assert ab("--a=delay_ms=0", "--b=python=python3.11") == 0
    record = record_of(tmp_path)
    assert record["verdict"] == "OK"
    assert re.match(r"OK within \d\.\d % after 4 pairs: no metric of B regressed\.$", record["headline"])


@pytest.mark.real
def test_a_faster_side_is_improved_and_the_step_summary_of_a_workflow_links_the_report_as_one_file(
    ab, tmp_path, monkeypatch, capsys
):
    summary = tmp_path / "summary.md"
    about = {"STEP_SUMMARY": str(summary), "REPOSITORY": "owner/name", "RUN_ID": "12"}
    for name, value in {**about, "SERVER_URL": "https://github.example"}.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    assert ab("--a=delay_ms=20", "--b=delay_ms=0", "--html", f"--junit={tmp_path / 'cases.xml'}") == 0
    assert record_of(tmp_path)["verdict"] == "IMPROVED"
    verdict = record_of(tmp_path)["headline"]
    assert re.match(
        r"IMPROVED after 6 pairs: throughput 16\.\d+ → 19\.\d+ req/s \(\+(19|20)\.\d %\), and 6 more", verdict
    )
    assert f"\u2705 **{verdict}**" in page_of(tmp_path)
    assert verdict in summary.read_text()
    assert "(https://github.example/owner/name/actions/runs/12#artifacts): `ab-01.html` in the" in summary.read_text()
    assert verdict in (tmp_path / "ab" / "tiny" / "ab-01.html").read_text()
    cases = cases_in(tmp_path / "cases.xml")
    assert cases["verdict"] == {"tiny: A against B (ab-01)": "passed"}
    assert [*cases["runs"].values()] == ["passed"] * 13  # the warm-up run and six pairs
    summary.unlink()
    summary.mkdir()
    publish(tmp_path / "ab" / "tiny" / "ab-01.md", Namespace(html=False, junit=JUnitFile()))
    assert "summary.md: the summary cannot be written (Is a directory); the report is" in capsys.readouterr().out


@pytest.mark.real
def test_a_pair_that_did_not_measure_the_system_does_not_count_and_another_one_follows(ab, tmp_path):
    assert ab(*SIDES, behaviour={"3": "doubt"}) == 1
    record = record_of(tmp_path)
    assert [bool(pair["problem"]) for pair in record["pairs"]] == [True, *[False] * 6]
    assert "after 6 pairs" in record["headline"]
    page = page_of(tmp_path)
    side = order_of(1, record["seed"])[1]
    assert f"no: {side}, run-01_3: DOUBTFUL: The generator used 99 % |" in page
    assert f"- {side}: tiny/run-01_3: The generator used 99 %." in page
    # When the budget ends before a pair counts, the reason is that it does not count, and not the time that is left.
    tests = Experiments(AbRecord, tmp_path / "ab")
    files = tests.find("ab-01")
    stored = tests.read(files)
    cut = replace(stored, runs=stored.runs[:3], stop_reason="the budget of 8 min is used up")
    outcome = outcome_of(cut, results_of(files, cut))
    assert headline(outcome) == "CANNOT TELL: 1 pair does not count."
    assert outcome.result.next_steps == (NextStep("Remove the cause, then repeat the test", record["command"]),)
    page = ab_report(outcome, (), "")
    assert "- The test ended early: the budget of 8 min is used up.\n" in page
    assert f"- Pair 1 does not count: {side}, run-01_3: DOUBTFUL: The generator used 99 %" in page


@pytest.mark.real
@pytest.mark.parametrize(
    ("behaviour", "headline"),
    [
        ({"1": "fail"}, "INVALID: the warm-up run of A failed: lth run ended with code 3: web ended with code 1."),
        ({"3": "fail", "4": "fail"}, "INVALID: SIDE: lth run ended with code 3: web ended with code 1."),
    ],
)
def test_a_side_that_does_not_run_ends_the_test(ab, tmp_path, behaviour, headline):
    assert ab(*SIDES, behaviour=behaviour) == 3
    record = record_of(tmp_path)
    # Run 4 is the first one of the second pair.
    assert record["headline"] == headline.replace("SIDE", order_of(2, record["seed"])[0])
    assert len(calls(tmp_path)) == max(map(int, behaviour)) + ("4" in behaviour)


@pytest.mark.real
def test_an_interrupted_test_writes_its_report_and_is_resumed_with_a_new_pair(ab, tmp_path, capsys):
    with interrupted_when((tmp_path / "fakes" / "waits").exists):
        assert ab(*SIDES, behaviour={"5": "wait"}) == 130
    assert "tiny/ab-01: not finished; resume with: lth ab --plan=tiny --resume=01\n" in capsys.readouterr().out
    assert "\u26a0\ufe0f **INTERRUPTED, so far CANNOT TELL after 1 pair: 3 more pairs are needed.**" in page_of(
        tmp_path
    )
    assert record_of(tmp_path)["state"] == "running"
    assert ab(*SIDES, "--resume") == 1
    # The pair that was interrupted is not completed hours later: another one takes its place.
    assert [run["pair"] for run in record_of(tmp_path)["runs"]] == [0, *sorted([1, 2, 3, 4, 5, 6, 7] * 2)]
    assert [pair["number"] for pair in record_of(tmp_path)["pairs"]] == [1, 3, 4, 5, 6, 7]
    assert ab(*SIDES) == 1
    assert record_of(tmp_path, "ab-02")["verdict"] == "REGRESSED"


def test_the_budget_ends_a_test_after_the_last_pair_that_fits(ab, tmp_path, monkeypatch):
    assert experiment_files.FIRST_GUESS_S == 10.0  # 12 s a run: two minutes are enough for four pairs
    # As if it took longer than it should.
    monkeypatch.setattr(start, "Runner", lambda *arguments: Runner(*arguments[:-1], 1000.0))
    assert ab(*SIDES, "--max=2m") == 0
    record = record_of(tmp_path)
    assert (record["verdict"], record["state"], calls(tmp_path)) == ("CANNOT TELL", "finished", [])
    assert record["headline"] == "CANNOT TELL: 4 more pairs are needed."
    used_up = "the budget of 2 min is used up: the next runs, warm-up and pair, take about 50 min 6 s."
    assert f"\n- The test ended early: {used_up}\n" in page_of(tmp_path)
    assert "\n- Continue the test with more time: `lth ab --plan=tiny --resume=01 --max=2h`\n" in page_of(tmp_path)


@pytest.mark.real
@pytest.mark.usefixtures("regressed")
def test_the_time_of_a_run_is_estimated_from_the_last_test_of_the_plan(ab, tmp_path):
    path, record = tmp_path / "ab" / "tiny" / "ab-01.json", record_of(tmp_path)
    path.write_text(json.dumps({**record, "runs": [{**run, "took_s": 5.0} for run in record["runs"]]}))
    with pytest.raises(UsageError, match="they are 9 runs of about 5 s, 45 s together"):
        ab(*SIDES, "--max=40s")
    path.write_text("damaged")
    with pytest.raises(UsageError, match="they are 9 runs of about 12 s"):
        ab(*SIDES, "--max=40s")


@pytest.mark.real
@pytest.mark.counterpart
def test_profile_and_the_receiver_of_otlp_are_those_of_both_sides(ab, tmp_path):
    assert ab(*SIDES, "--profile", "--otlp=http://127.0.0.1:4318") == 1
    assert {(call["profile"], call["otlp"]) for call in calls(tmp_path)} == {(True, "http://127.0.0.1:4318")}
    record = record_of(tmp_path)
    assert record["command"] == "lth ab --a=delay_ms=0 --b=delay_ms=20 --plan=tiny --profile"
    path = tmp_path / "ab" / "tiny" / "ab-01.json"
    path.write_text(json.dumps({**record, "state": "running"}))
    count = len(calls(tmp_path))
    assert ab("--resume") == 1  # with its settings
    assert all(call["profile"] for call in calls(tmp_path)[count:])
    with pytest.raises(UsageError, match="--resume: tiny/ab-01 has other settings: --duration"):
        ab(*SIDES, "--profile", "--duration=3", "--resume")


def test_profiles_that_differ_only_in_what_sends_the_requests_are_two_sides(home, tmp_path):
    profile = (home / "env" / "local.toml").read_text()
    assert "[generator]\n" in profile
    (home / "env" / "own.toml").write_text(profile.replace("[generator]\n", '[generator]\nsampler = "jmeter"\n'))
    files = SideFiles(home, tmp_path / "build", "working copy")
    options = options_of(home, tmp_path / "build", "tiny", set=None)
    a, same, own = (ready_side("A", SideText("", name), options, files) for name in ("local", None, "own"))
    assert what_runs(a) == what_runs(same) != what_runs(own)


BAD = [
    (["--a=delay_ms=0"], "one side is missing; give two sides"),
    (["--a=delay_ms=0", "--b=delay_ms=0"], "--a=delay_ms=0 and --b=delay_ms=0 are the same: nothing to compare"),
    (["--a=local", "--b=delay_ms=0"], "--a=local and --b=delay_ms=0 are the same: nothing to compare"),
    (["--a=local", "--b=delay_m=1"], "--b=delay_m=1: delay_m is neither a setting of tiny nor a property of tiny.jmx"),
    (["--a=local", "--b=delay_ms=x"], "--b=delay_ms=x: system tiny: setting delay_ms = 'x' is not a whole number"),
    (["--a=local", "--b=tiny.nothing=x"], "--b=tiny.nothing=x: tiny.nothing: tiny has no such setting"),
    (["--a=local", "--b=db_password=x"], "--b=db_password=x: db_password is a secret"),
    (["--a=local", "--b=lokal"], "--b=lokal: neither a profile nor a commit that git knows here; did you mean local?"),
    (["--a=local", "--b=local local"], "--b=local local: local is one word too many"),
    (["--a=local", "--b='x"], "'x: no closing quotation; close the quote"),
    (["--a=local", "--b=http://10.0.0.5:1"], "--b=http://10.0.0.5:1: --target=http://10.0.0.5:1: 10.0.0.5 is not this"),
    (["--a=local", "--b=http://127.0.0.1:1"], "--b=http://127.0.0.1:1: --target=http://127.0.0.1:1: nothing answers"),
    (
        ["--a=local", "--b=http://127.0.0.1:1", "--profile"],
        "--b=http://127.0.0.1:1: --profile and --target cannot be used together",
    ),
    (
        [*SIDES, "--max=1m"],
        "--max=1m is too short for 4 pairs: with the warm-up run they are 9 runs of about 12 s, 1 min 48 s",
    ),
    (
        [*SIDES, "--max=1m", "--duration=5s"],
        "--max=1m is too short for 4 pairs: with the warm-up run they are 9 runs of",
    ),
    ([*SIDES, "--duration=auto"], "--duration=auto: the runs would have different lengths"),
    (["--a=local", "--b=quick"], "the loads of --a=local and --b=quick differ: users: 2 in A, 3 in B; give both"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused_in_one_line_before_anything_runs(ab, home, tmp_path, arguments, message):
    profile = (home / "env" / "local.toml").read_text()
    (home / "env" / "quick.toml").write_text(profile + "[plan.tiny]\nusers = 3\n")
    with pytest.raises(UsageError) as refused:
        ab(*arguments)
    assert str(refused.value).startswith(message)
    assert len(str(refused.value).splitlines()) == 1
    assert calls(tmp_path) == []


@pytest.mark.counterpart
@pytest.mark.real
def test_two_commits_are_built_run_and_judged_by_the_whole_program(home, tmp_path, monkeypatch, capsys):
    """Nothing is faked but JMeter, whose answers take as long as a file says that the build of each commit makes.

    Its 13 runs take 15 s of CPU. tests/program/test_installed.py has the least A/B test of two commits.
    """
    tiny = home / "systems" / "tiny"
    system = (tiny / "system.toml").read_text()
    (tiny / "system.toml").write_text(system.replace('"127.0.0.1"]', '"127.0.0.1", "--directory", "{{ system_dir }}"]'))
    build = "cp systems/tiny/source systems/tiny/answer_ms && echo built >> built"
    profile = (home / "env" / "local.toml").read_text()
    (home / "env" / "local.toml").write_text(f'build = ["sh", "-c", "{build}"]\n{profile}')
    git(home, "init", "-q", "-b", "main")
    (tiny / "source").write_text("20")
    commit(home, "First")
    git(home, "checkout", "-q", "-b", "slow")
    (tiny / "source").write_text("30")
    commit(home, "Second")
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))
    monkeypatch.setenv("FAKE_JMETER", "asks")
    folders = [f"--home={home}", f"--reports={tmp_path / 'ab'}", f"--build={tmp_path / 'build'}"]
    assert main(["--plan=tiny", "--a=main", "--b=slow", "--duration=1", *folders], "scripts/ab") == 1
    assert "tiny/ab-01: REGRESSED after 6 pairs: average 20 → 30 ms (+50.0 %), and " in capsys.readouterr().out
    record = record_of(tmp_path)
    # A warm-up and the six pairs that count. On a busy machine a pair may not count, and another one follows it.
    assert {run["exit_code"] for run in record["runs"]} == {0}
    assert len(record["runs"]) >= 13
    assert len(record["runs"]) % 2 == 1
    trees = [tmp_path / "build" / "ab" / record[side]["commit"][:12] / "tree" for side in ("a", "b")]
    assert [(tree / "built").read_text() for tree in trees] == ["built\n"] * 2
    assert not (tiny / "answer_ms").exists()
    assert processes_of(tmp_path) == []
