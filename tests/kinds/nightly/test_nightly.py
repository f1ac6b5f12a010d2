"""The result of a nightly run, its report, JUnit XML and step summary: pure functions of its record and of the runs."""

import json
import re
import tarfile
from dataclasses import replace

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped

from harness.base.errors import UsageError
from harness.base.git import Commits
from harness.base.records import build, read_record, to_plain
from harness.cli.verbs import main
from harness.experiment.record import NOT_RUN, RUNNING, UNDER_WAY, RunTime
from harness.history.acceptance import Acceptance
from harness.judge.goals import GoalResult
from harness.judge.verdict import INTERRUPTED, INVALID, VALID, Verdict
from harness.kinds.nightly.answer import headline
from harness.kinds.nightly.message import nightly_message
from harness.kinds.nightly.outcome import nightly_result
from harness.kinds.nightly.record import LoadRun, NightlyRecord, order_of
from harness.kinds.nightly.render import nightly_charts
from harness.kinds.nightly.report_files import nightly_xml
from harness.run.record import HostRecord
from harness.site.html_option import LIMIT_BYTES, step_summary
from tests.support.factories import closed_load
from tests.support.nightly_runs import STEADY, ended, entries, entry, load, nightly_record, page_of, profiled, result_of
from tests.support.paths import ROOT
from tests.support.results import label_result, tail_account


def test_loads_run_in_rounds_until_their_repeats_are_done():
    loads = (load(repeats=2), load(repeats=1), load(repeats=3))
    assert [(run.load, run.round_number) for run in order_of(loads)] == [(0, 1), (1, 1), (2, 1), (0, 2), (2, 2), (2, 3)]


def test_a_record_comes_back_from_its_json():
    record = nightly_record(ended(), LoadRun(0, 2), commits=Commits("abc", 2, ("def two", "cde one")))
    assert build(NightlyRecord, json.loads(json.dumps(to_plain(record)))) == record


def test_durations_are_learnt_from_valid_runs_also_those_before_an_interruption():
    runs = (
        ended(), ended(2, exit_code=1, took_s=120.0), ended(3, exit_code=3, took_s=2.0), LoadRun(0, 4, exit_code=130),
    )  # fmt: skip
    assert nightly_record(*runs).lengths_s == (RunTime(100.0, 112.4), RunTime(100.0, 120.0))


def test_an_invalid_record_is_refused():
    with pytest.raises(UsageError, match=r"x\.json: not the JSON of a nightly run"):
        read_record(NightlyRecord, {"format_version": 1}, "x.json")


def test_an_unchanged_nightly_run_is_ok():
    result = result_of(nightly_record(ended()), *entries(*STEADY, 100.0))
    assert (result.verdict, result.exit_code_if(sure=False)) == ("OK", 0)
    assert headline(result) == "OK: 1 run, no metric regressed."


def test_the_headline_mentions_changes_within_the_usual_differences():
    # 12 nightly runs of about 100 ms, 9 of about 108 ms: there is a change point, and each run is within the limit.
    before = (103, 96, 98, 101, 97, 100, 101, 98, 96, 101, 103, 98)
    result = result_of(nightly_record(ended()), *entries(*before, 107, 113, 106, 106, 116, 103, 111, 102, 106))
    assert result.verdict == "OK"
    assert headline(result) == (
        "OK: 1 run, no metric regressed. 1 metric worse since 2026-11-13, within the usual differences."
    )
    assert "worse since 2026-11-13, but within the usual differences between nightly runs" in page_of(result)


def test_a_first_nightly_run_is_ok_and_reports_that_nothing_was_judged():
    result = result_of(nightly_record(ended()), *entries(100.0))
    assert (result.verdict, result.exit_code_if(sure=False)) == ("OK", 0)
    assert headline(result) == "OK: 1 run. 1 metric not judged yet: too few nightly runs."
    assert "- measured for the first time: tiny, 2 users\n" in page_of(result)


def test_a_slower_nightly_run_warns_and_a_second_fails():
    result = result_of(nightly_record(ended()), *entries(*STEADY, 130.0))
    assert (result.verdict, result.exit_code_if(sure=False)) == ("WARNED", 0)
    result = result_of(nightly_record(ended()), *entries(*STEADY, 130.0, 131.0))
    assert (result.verdict, result.exit_code_if(sure=False)) == ("REGRESSED", 1)
    text = page_of(result)
    assert "\u274c **REGRESSED: average 100 → 131 ms (+31.0 %).**\n" in text
    # 131 against 100, the median of the steady nightly runs.
    assert "- REGRESSED: tiny, 2 users: TOTAL average ms: 131 against 100 (+31.00 %, limit" in text
    assert "since 2026-11-20" in text
    assert "--since 2026-11-20 --plan tiny --users 2" in text


def test_a_step_that_is_no_longer_sent_fails_and_leads_the_page_and_junit():
    def without_pay(one):
        labels = [label_result("Home", 50.0), *([] if one.series == 261121 else one.result.labels)]
        return replace(one, result=replace(one.result, labels=tuple(labels)))

    usual = [entry(f"2611{day:02}", source_hashes={"plan": "1"}) for day in range(12, 22)]
    result = result_of(nightly_record(ended()), *map(without_pay, usual))
    assert (result.verdict, result.exit_code_if(sure=False)) == ("REGRESSED", 1)
    assert headline(result).startswith("REGRESSED: Pay: 10,000 samples → none. ")
    text = page_of(result)
    assert "- REGRESSED: tiny, 2 users: Pay; 10,000 samples → none; the nightly run of 2026-11-20 had it" in text
    assert "- OTHER WORK: tiny, 2 users: of TOTAL only errors are judged: Pay: 10,000 samples → none\n" in text
    assert "--since 2026-11-21 --plan tiny --users 2 --label Pay" in text
    assert nightly_charts(result) == {0: []}
    cases = {case.name: case for case in list(JUnitXml.fromstring(nightly_xml(result).encode()))[1]}
    assert [type(one) for one in cases["tiny, 2 users, local: Pay REGRESSED"].result] == [Failure]
    assert [type(one) for one in cases["tiny, 2 users, local: TOTAL OTHER WORK"].result] == [Skipped]
    assert "Pay; 10,000 samples" in nightly_message(result, "").lines[0]


@pytest.mark.parametrize(
    ("run", "verdict", "state", "exit_code"),
    [
        (ended(), Verdict(VALID, (), (), ("p90 2 ms, goal 1 ms",)), "GOAL MISSED", 1),
        (ended(), Verdict(INVALID, ("web died",), (), ()), "INVALID", 3),
        (ended(), Verdict(INTERRUPTED, ("stopped by hand",), (), ()), "INVALID", 3),
        (
            ended(run=None, problem="lth run ended with code 3: no licence"),
            Verdict(VALID, (), (), ()),
            "INVALID",
            3,
        ),
        (ended(run=None, state=NOT_RUN, problem="no time for it"), Verdict(VALID, (), (), ()), "INVALID", 3),
        (ended(run=None, state=UNDER_WAY), Verdict(VALID, (), (), ()), "INVALID", 3),
    ],
    ids=["goal missed", "invalid", "interrupted", "failed", "no time", "killed"],
)
def test_a_failed_or_missing_run_is_reported_with_its_reason(run, verdict, state, exit_code):
    result = result_of(nightly_record(run), *entries(*STEADY), entry(verdict=verdict))
    assert (result.verdict, result.exit_code_if(sure=False)) == (state, exit_code)
    why = run.problem or (*verdict.reasons, *verdict.goals_missed, "the nightly run was stopped before")[0]
    assert re.search(rf": {re.escape(why)}(; \[its output\]\(2026-11-21/01-tiny\.log\))?\n", page_of(result))


def test_a_regression_outranks_an_invalid_run_and_both_are_reported():
    broken = ended(2, load=1, run=None, problem="it hung")
    record = nightly_record(ended(), broken, loads=(load(), load(plan="shop", title="shop, 5 users")))
    result = result_of(record, *entries(*STEADY, 130.0, 131.0))
    assert result.exit_code_if(sure=False) == 1
    assert headline(result) == "REGRESSED: average 100 → 131 ms (+31.0 %). 1 of 2 runs FAILED."


def test_a_failed_upload_makes_the_nightly_run_incomplete():
    result = result_of(
        nightly_record(ended(), storage_problems=("tiny/run-261121_1 was not uploaded: 503",)), *entries(*STEADY)
    )
    assert (result.verdict, result.exit_code_if(sure=False)) == ("INVALID", 3)
    assert "- STORAGE: tiny/run-261121\\_1 was not uploaded: 503\n" in page_of(result).replace("_1 was", "\\_1 was")


def test_later_nightly_runs_and_other_folders_are_ignored():
    record = nightly_record(ended())
    runs = entries(*STEADY, 100.0)
    later = [entry("261122", 1, 900.0), entry("261123", 1, 900.0)]
    assert page_of(result_of(record, *runs, *later)) == page_of(result_of(record, *runs))


def test_changed_settings_and_commits_are_reported():
    before = entry("261120", versions={"java": "17.0.14", "jmeter": "5.6.3"})
    commits = Commits("aaaaaaaaaaaaaaaa", 3, ("ccc Faster | not", "bbb Slower"))
    text = page_of(result_of(nightly_record(ended(), commits=commits), before, entry()))
    assert "- version of java: 17.0.14 → 17.0.15 (last measured 2026-11-20)\n" in text
    assert "- 3 commits since the last nightly run, aaaaaaaaaaaa..0123456789ab:\n" in text
    assert "\n  - ccc Faster \\| not\n  - bbb Slower\n  - and 1 more\n" in text


def test_two_nightly_runs_of_one_date_are_said_to_count_as_one_and_settings_change_between_them():
    first, second = (entry(number=number, properties={"a": value}) for number, value in ((1, "0"), (2, "12")))
    record = nightly_record(ended(2), name="2026-11-21-2")
    text = page_of(result_of(record, *entries(*STEADY)[:-1], first, second))
    assert "- property a: 0 → 12 (last measured 2026-11-21)\n" in text
    assert (
        "- ONE DATE: tiny, 2 users: 1 more run of 2026-11-21, outside this nightly run, counts with it: "
        "all runs of a date are one nightly run\n"
    ) in text
    alone = page_of(result_of(nightly_record(ended(1)), *entries(*STEADY)[:-1], first))
    assert "ONE DATE" not in alone


def test_an_interrupted_nightly_run_reports_it_first():
    result = result_of(nightly_record(ended(), LoadRun(0, 2), state=RUNNING), *entries(*STEADY))
    assert headline(result).startswith("INTERRUPTED, so far INVALID: 1 of 2 runs NOT RUN")


def test_a_regression_shows_what_grew_since_the_last_profiled_nightly_run_before_it():
    runs = entries(*STEADY, 130.0, 131.0)
    slow = [profiled(one, 400 if one.series < 261120 else 1_200) for one in runs]
    text = page_of(result_of(nightly_record(ended()), *slow))
    assert "What grew inside the system since the nightly run of 2026-11-19:\n\n" in text
    assert "| kind | process | what | 2026-11-19 per request | tonight per request | growth |" in text
    # 400 and 1,200 times 10 ms, by 10,000 requests; of one run and of one.
    assert "| method | shop | shop.Cart.sum | 0.4 ms | 1.2 ms | +0.8 ms (0.722 to 0.878) |" in text
    first = "method Cart.sum of shop +0.8 ms (0.722 to 0.878)"
    assert f"See below what grew inside the system since 2026-11-19, first of all {first}" in text
    tailed = [
        replace(one, result=replace(one.result, tails=(tail_account(ms + 10, lock=ms),)))
        for one, ms in ((one, 390 if one.series < 261120 else 800) for one in slow)
    ]
    grown = "| slow requests of Pay |  | lock at shop.Till | 390 ms | 800 ms | +410 ms (396 to 424) |"
    assert grown in page_of(result_of(nightly_record(ended()), *tailed))
    assert "slow requests of" not in text
    # Without a profile of the baseline nothing is known, and what is not worse needs no explanation.
    usual = [profiled(one, 1_200) for one in entries(*STEADY, 100.0, 100.0)[-2:]]
    for others in ([*runs[:-1], slow[-1]], [*slow[:-2], *usual]):
        assert "What grew" not in page_of(result_of(nightly_record(ended()), *others))


def test_the_profiles_of_tonights_runs_are_linked_with_their_flame_graphs():
    tonight = profiled(entries(100.0)[0], 400)
    link = "Where the time went: [run-261121_1](tiny/run-261121_1.md#where-the-time-went)"
    assert f"\n{link}.\n" in page_of(result_of(nightly_record(ended()), tonight))
    (profile,) = tonight.result.profiles
    names = ("profile-shop-cpu.html", "profile-shop-wall.html")
    with_graphs = replace(tonight, result=replace(tonight.result, profiles=(replace(profile, flame_graphs=names),)))
    cpu, wall = (f"tiny/run-261121_1/{name}" for name in names)
    assert f"\n{link} (flame graphs: shop [cpu]({cpu}), [wall]({wall})).\n" in page_of(
        result_of(nightly_record(ended()), with_graphs)
    )
    assert "Where the time went" not in page_of(result_of(nightly_record(ended()), *entries(100.0)))


def test_the_report_is_reproducible_preserves_notes_and_escapes_text():
    record = nightly_record(ended(problem="a | b\n<script>"), title="Night | <b>", command="lth nightly --suite=-->x")
    runs = entries(*STEADY, 130.0, 131.0)
    text = page_of(result_of(record, *runs))
    assert text == page_of(result_of(record, *reversed(runs)))
    assert "\nseen by nobody\n" in text
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert text.count("-->") == text.count("<!--")


def test_junit_has_a_case_for_each_run_and_each_check(tmp_path):
    missed = Verdict(VALID, (), (), ("p90 2 ms, goal 1 ms",))
    runs = [ended(), ended(2), ended(3, run=None, problem="no \x1b[31mlicence\x00"), ended(4, state=NOT_RUN, run=None)]
    found = [*entries(*STEADY, 130.0), entry("261121", 1, 131.0), entry("261121", 2, 131.0, verdict=missed)]
    path = tmp_path / "x.xml"
    text = nightly_xml(result_of(nightly_record(*runs), *found))
    path.write_text(text, encoding="utf-8")
    ran, gate = JUnitXml.fromfile(str(path))
    assert [type(case.result[0]) if case.result else None for case in ran] == [None, Failure, Error, Skipped]
    assert [case.result[0].message for case in ran if case.result][1] == "no \ufffd[31mlicence\ufffd"
    assert (ran.tests, ran.failures, ran.errors, ran.skipped, ran.time) == (4, 1, 1, 1, 449.6)
    (check,) = gate
    assert (check.classname, check.name) == ("gate.tiny", "tiny, 2 users, local: TOTAL average ms")
    assert "\x1b" not in text


def test_each_goal_of_a_run_has_a_row_on_the_page_and_a_case_in_junit():
    goals = (
        GoalResult(None, "p90_ms", 1000, None, 900, None, 0, 0, True, "p90 900 ms, goal 1000 ms"),
        GoalResult("Pay|x", "error_ratio", 0.01, None, 0.3, "Pay", 1, 1, False, "Pay|x: errors 30.00 %, goal 1.00 %"),
    )
    verdict = Verdict(VALID, (), (goals[0].text,), (goals[1].text,), goals)
    result = result_of(nightly_record(ended()), *entries(*STEADY), entry(verdict=verdict))
    text = page_of(result)
    assert "| [run-261121_1](tiny/run-261121_1.md) | tiny, 2 users | 1 | p90 ≤ 1000 ms | 900 ms | met |\n" in text
    assert "| 1 | Pay\\|x: errors ≤ 1 % | 30.00 % | **missed** |\n" in text
    assert text.index("<summary>Goals<") < text.index("<summary>Runs<")
    met, missed = list(JUnitXml.fromstring(nightly_xml(result).encode()))[2]
    assert (met.name, met.classname, met.system_out) == ("tiny, 2 users: p90 ≤ 1000 ms", "goals.tiny", "900 ms")
    assert [failure.message for failure in missed.result] == ["Pay|x: errors 30.00 %, goal 1.00 %"]
    assert "\nGoal missed: Pay|x: errors 30.00 %, goal 1.00 %.\n" in text.replace("\\", "")
    assert "Goals" not in page_of(result_of(nightly_record(ended()), *entries(*STEADY)))


def test_a_warning_passes_in_junit_with_a_message_and_an_unjudged_check_is_skipped():
    warned = nightly_xml(result_of(nightly_record(ended()), *entries(*STEADY, 130.0)))
    gate = list(JUnitXml.fromstring(warned.encode()))[1]
    (case,) = gate
    assert case.result == []
    assert case.system_out.startswith("WARNED: TOTAL average ms: 130 against 100 (+30.00 %")
    first = nightly_xml(result_of(nightly_record(ended()), *entries(100.0)))
    (case,) = list(JUnitXml.fromstring(first.encode()))[1]
    assert "0 earlier nightly runs" in case.result[0].message


def test_times_of_a_few_ms_have_decimals():
    text = page_of(result_of(nightly_record(ended()), *entries(*(value / 70 for value in STEADY), 1.73)))
    assert "TOTAL average ms: 1.73 against 1.43 (+21.1" in text
    assert "| tiny, 2 users | TOTAL | average ms | WARNED | 1.43 | 1.73 |" in text


def test_a_better_nightly_run_also_reports_that_nothing_is_worse():
    result = result_of(nightly_record(ended()), *entries(*STEADY, 70.0))
    assert headline(result) == "OK: 1 run, no metric regressed. 1 metric IMPROVED."


def test_an_accepted_change_is_in_the_report_with_its_reason():
    accepted = Acceptance("2026-11-20", "tiny", None, None, None, None, "checked twice")
    result = nightly_result(nightly_record(ended()), entries(*STEADY, 130.0, 131.0), [accepted])
    assert "\nTOTAL average ms: accepted since 2026-11-20: checked twice.\n" in page_of(result)


def test_a_new_machine_is_not_called_unchanged():
    host = HostRecord("Other CPU", 4, 8 * 1024**3, "Linux 6", "3.11.7")
    result = result_of(nightly_record(ended()), *entries(*STEADY), entry(host=host))
    assert headline(result) == "OK: 1 run. 1 load not judged: a new history starts."
    assert (
        "- NEW ENVIRONMENT: tiny, 2 users: a new history starts; changed since the nightly run of 2026-11-20"
        in page_of(result)
    )


def test_a_missing_value_is_explained_once():
    verdict = Verdict(INVALID, ("web died; web.log: 100 words",), (), ())
    text = page_of(result_of(nightly_record(ended()), *entries(*STEADY), entry(verdict=verdict)))
    assert text.count("100 words") == 1
    assert "- NO VALUE: tiny, 2 users: no run is valid; its history continues without tonight\n" in text


def test_a_judged_label_that_no_run_has_is_not_ok():
    result = result_of(nightly_record(ended(), labels=("TOTAL", "Pya")), *entries(*STEADY))
    assert (result.verdict, result.exit_code_if(sure=False)) == ("INVALID", 3)
    assert "- NO LABEL: Pya: the suite judges it, but no run has it\n" in page_of(result)
    gate = list(JUnitXml.fromstring(nightly_xml(result).encode()))[1]
    assert [(case.name, type(case.result[0])) for case in gate if case.result] == [("Pya", Error)]
    # It may be that of a plan that did not run.
    assert (
        result_of(nightly_record(ended(state=NOT_RUN, run=None), labels=("Pya",)), *entries(*STEADY)).missing_labels
        == ()
    )


def test_a_summary_has_no_comments_charts_or_dead_links():
    page = (
        "<!-- generated -->\n# Nightly\n\n**OK.**\n\n![a \\[b\\] c](2026-11-21/x.svg)\n\n"
        "- [run-01_1](tiny/run-01_1.md) and [docs](https://example.org/a)\n"
    )
    assert step_summary(page, "x.md") == "# Nightly\n\n**OK.**\n\n- run-01_1 and [docs](https://example.org/a)\n"


def test_a_summary_that_is_too_long_is_cut_between_lines_with_a_remark():
    line = "ü" * 1000 + "\n"  # 2,001 bytes
    page = "# Nightly\n" + line * 600
    text = step_summary(page, "reports/nightly/x.md")
    assert LIMIT_BYTES - 2100 < len(text.encode()) <= LIMIT_BYTES
    kept = text.count(line)
    assert text.endswith(f"\n… cut here: {600 - kept} more lines in reports/nightly/x.md\n")
    assert set(re.sub("[ü\n]", "", text.partition("…")[0])) == set("# Nightly")


def test_a_summary_leaves_room_for_existing_text():
    # The last line takes 38 bytes when it says 100: there is room for eleven lines of two bytes.
    assert step_summary("a\n" * 100, "x.md", 60) == "a\n" * 11 + "\n… cut here: 89 more lines in x.md\n"


def test_metrics_with_too_few_samples_are_named():
    few = entry()
    assert few.result
    pay = few.result.labels[0]
    result = replace(few.result, total=replace(pay, sample_count=1_100))
    record = nightly_record(ended(), metrics=("average", "99"), labels=())
    text = page_of(result_of(record, replace(few, result=result)))
    # 99 % lines are judged from 5,000 samples on.
    assert "\nToo few samples to judge: TOTAL p99 ms.\n" in text


def test_a_load_with_too_few_samples_for_any_metric_is_not_called_ok():
    few = entry()
    assert few.result and few.result.total
    result = replace(few.result, total=replace(few.result.total, sample_count=99))
    found = result_of(nightly_record(ended()), replace(few, result=result))
    assert headline(found) == "OK: 1 run. 1 load not judged: too few samples."
    assert "\nToo few samples to judge: TOTAL average ms.\n" in page_of(found)


def test_an_ok_headline_does_not_cover_loads_that_were_not_judged():
    one, few = entry(), entry(number=2)
    assert few.run and few.result and few.result.total
    run = replace(few.run, load=closed_load(users=5))
    total = replace(few.result.total, sample_count=99)
    few = replace(few, run=run, result=replace(few.result, run=run, total=total))
    loads = (load(), load(title="tiny, 5 users", load=closed_load(users=5)))
    found = result_of(nightly_record(ended(), ended(2, load=1), loads=loads), *entries(*STEADY), one, few)
    assert headline(found) == ("OK: 2 runs, no judged metric regressed. 1 load not judged: too few samples.")


@pytest.mark.parametrize(("scatter", "is_named"), [(0.001, False), (0.05, True)])
def test_a_report_names_a_gate_that_cannot_see_its_threshold_and_only_such_a_one(tmp_path, scatter, is_named):
    with tarfile.open(ROOT / "tests" / "data" / "experiments.tar.xz") as archive:
        archive.extractall(tmp_path, [one for one in archive if re.match("nightly|trust", one.name)], filter="data")
    path = tmp_path / "trust" / "tiny" / "trust-01.json"
    record, run = json.loads(path.read_text()), path.with_name("run-01_1.json")
    for one in record["metrics"]:
        one["parts"] = one["parts"] and {**one["parts"], "total": dict.fromkeys(one["parts"]["total"], scatter)}
    path.write_text(json.dumps(record))
    nightly = json.loads((tmp_path / "nightly" / "2026-11-24.json").read_text())
    measured = json.loads(run.read_text())
    measured["run"]["load"] = nightly["loads"][2]["load"]
    run.write_text(json.dumps(measured))
    main(["experiment", "2026-11-24", f"--reports={tmp_path / 'nightly'}"], "aggregate.py")
    page = (tmp_path / "nightly" / "2026-11-24.md").read_text()
    assert ("this gate asks for" in page) is is_named
