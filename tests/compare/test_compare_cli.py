"""aggregate.py compare as a user calls it."""

import json
import os
import re
import subprocess
import sys

import pytest

from harness.base.errors import UsageError
from harness.cli.make_variables import arguments_of
from harness.cli.verbs import main, parser_of
from harness.report.notes import notes_of
from tests.support.paths import ROOT
from tests.support.spread_runs import make_run
from tests.support.terminals import in_terminal, screen

CLASSIC = """|  | #count | average | median | 90% | min | max | errors | bandwidth |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| Pay | 50000 | {average} | 6700 | 0 | 18 | 13315 | 0.00014% | 6.33/s |
| TOTAL | 50000 | {average} | 6700 | 0 | 18 | 13315 | 0.00014% | 6.33/s |
"""


# 15 samples of 200 ms a second.
LAW = "The load generator may be the bottleneck: 2.0 users active, 3.0 busy"


@pytest.mark.real
def test_two_equal_runs_are_ok_where_earlier_runs_show_that_runs_hardly_differ(compare, reports, capsys):
    assert compare("run-07_1", "run-07_2") == 0
    out = capsys.readouterr().out
    assert "**CANNOT TELL yet: 4 more runs a side are needed." in out
    assert "One run against one: runs are assumed to scatter by 5 %. Make 4 more runs a side" in out
    for number in range(1, 6):
        make_run(reports, f"tiny/run-06_{number}", least_ms=50)
    assert compare("run-07_1", "run-07_2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("One run against one: their scatter is that of 5 earlier runs." in line for line in lines)
    assert lines[1:4] == [
        "# tiny/run-07_1 → tiny/run-07_2",
        "",
        "\u2705 **OK: no metric regressed. Seen: average 0.0 %, p95 0.0 %.**",
    ]
    assert "- set-up differences: none recorded" in lines


@pytest.mark.real
def test_a_run_twice_as_slow_regressed_with_exit_code_1(compare, capsys):
    assert compare("run-07_1", "run-07_3", "--anyway") == 1
    text = capsys.readouterr().out
    assert "\n\u274c **REGRESSED: average 100 → 200 ms (+100 %), and 9 more metrics of 1 label.**" in text
    assert "| TOTAL | average ms | 100 | 200 | +100 % | " in text
    assert "| Pay | average ms | 100 | 200 | +100 % | " in text.split("\n<details>")[0]


def test_the_command_in_the_report_reproduces_it(compare, capsys):
    compare("run-07_1", "--threshold", "p95=20%", "run-07_3", "--label", "P.y", "--alpha", "0.01")
    first = capsys.readouterr().out
    command = first.splitlines()[0].split("lth ")[1].split(";")[0]
    assert command == "compare tiny/run-07_1 tiny/run-07_3 --threshold p95=20% --alpha 0.01 --label P.y"
    compare(*command.split()[1:])
    assert capsys.readouterr().out == first


def test_groups_are_named_by_patterns(compare, capsys):
    assert compare("--base", "run-07_[12]", "--new", "run-07_3") in (0, 1)
    assert "# tiny/run-07_1 and 1 more → tiny/run-07_3" in capsys.readouterr().out


def test_an_undecided_comparison_exits_with_0_and_with_sure_1(compare, reports, capsys):
    for name, average in (("a", 6741), ("b", 7128)):
        (reports.parent / f"{name}.md").write_text(CLASSIC.format(average=average))
    assert compare("a.md", "b.md") == 0
    text = capsys.readouterr().out
    assert "\n\u26a0\ufe0f **CANNOT TELL yet: 4 more runs a side are needed.**\n" in text
    assert "| TOTAL | average ms | 6741 | 7128 |  | " in text
    assert compare("a.md", "b.md", "--sure") == 1


@pytest.mark.real
def test_a_doubtful_run_is_judged_only_with_anyway(compare, reports, capsys):
    make_run(reports, "tiny/run-08_1", least_ms=150, is_doubtful=True)
    assert compare("run-07_1", "run-08_1") == 0
    text = capsys.readouterr().out
    assert "\u26a0\ufe0f **CANNOT TELL: tiny/run-08_1 is DOUBTFUL.**\n" in text
    assert f"\n- tiny/run-08_1 is DOUBTFUL: {LAW}" in text
    assert "| TOTAL | average ms | 100 | 200 | " in text
    assert f"tiny/run-08_1: {LAW}. Users ÷ throughput" in text
    assert compare("run-07_1", "run-08_1", "--sure") == 1
    assert compare("run-07_1", "run-08_1", "--anyway") == 1
    text = capsys.readouterr().out
    assert "\u274c **REGRESSED: average 100 → 200 ms (+" in text
    assert f"- Judged anyway, although tiny/run-08_1 is DOUBTFUL: {LAW}." in text


@pytest.mark.real
def test_an_invalid_run_exits_with_3(compare, reports):
    make_run(reports, "tiny/run-08_1", is_success=False)
    assert compare("run-07_1", "run-08_1") == 3


def test_a_saved_comparison_is_in_the_plans_folder_and_links_to_both_reports(compare, reports, capsys):
    assert compare("run-07_1", "run-07_2", "--save") == 0
    saved = reports / "tiny" / "compare-run-07_1-run-07_2.md"
    assert capsys.readouterr().out.splitlines() == [
        "CANNOT TELL yet: 4 more runs a side are needed. Seen: average within ±15 %, p95 within ±16 %.",
        "",
        "TOTAL           baseline  contender        delta  verdict",
        "average ms           100        100               CANNOT TELL",
        "p95 ms               145        145               CANNOT TELL",
        "req/s              15.00      15.00               CANNOT TELL",
        "errors %            0.00       0.00  0.00 points  OK",
        "Pay average ms       100        100               CANNOT TELL",
        "",
        "The account. All that is known balances.",
        "next: Measure 4 more runs a side, alternating between the sides: lth run --plan=tiny",
        "next: Measure which change runs of this plan can show: lth trust --plan=tiny",
        str(saved.relative_to(reports.parent)),
    ]
    assert "- baseline: [tiny/run-07_1](run-07_1.md)\n" in saved.read_text(encoding="utf-8")
    assert json.loads(saved.with_suffix(".json").read_text())["verdict"] == "CANNOT TELL"
    assert "1,395 samples from 50 to 150 ms" in saved.with_suffix(".svg").read_text(encoding="utf-8")
    assert "REGRESSED" not in saved.with_name(f"{saved.stem}-intervals.svg").read_text(encoding="utf-8")
    images = re.findall(r"\]\((compare\S+svg)\)", saved.read_text(encoding="utf-8"))
    assert images == ["compare-run-07_1-run-07_2-intervals.svg", "compare-run-07_1-run-07_2.svg"]


def test_a_saved_regression_says_in_terminal_page_and_json_what_to_do_next(compare, reports, capsys):
    assert compare("run-07_1", "run-07_3", "--save", "--anyway") == 1
    saved = reports / "tiny" / "compare-run-07_1-run-07_3.md"
    command = json.loads((reports / "tiny" / "run-07_3.json").read_text())["run"]["command"]
    step = {"text": "Find the cause: measure both sides with a profile", "command": f"{command} --profile"}
    assert f"\nnext: {step['text']}: {step['command']}\n" in capsys.readouterr().out
    assert f"\n- {step['text']}: `{step['command']}`\n" in saved.read_text(encoding="utf-8")
    assert json.loads(saved.with_suffix(".json").read_text())["result"]["next_steps"] == [step]


def test_saving_again_keeps_the_notes_and_writes_the_same_bytes(compare, reports):
    compare("run-07_1", "run-07_2", "--save")
    saved = reports / "tiny" / "compare-run-07_1-run-07_2.md"
    noted = saved.read_text(encoding="utf-8").replace("-->\n\n<!-- notes:end", "-->\nnew pool\n<!-- notes:end")
    saved.write_text(noted, encoding="utf-8")
    compare("run-07_1", "run-07_2", "--save")
    assert "new pool" in noted
    assert saved.read_text(encoding="utf-8") == noted


def test_text_outside_the_notes_of_a_saved_comparison_moves_into_them(compare, reports):
    compare("run-07_1", "run-07_2", "--save")
    saved = reports / "tiny" / "compare-run-07_1-run-07_2.md"
    saved.write_text(saved.read_text(encoding="utf-8") + "\nthe pool was full\n", encoding="utf-8")
    compare("run-07_1", "run-07_2", "--save")
    assert notes_of(saved.read_text(encoding="utf-8")) == "the pool was full"


def test_groups_are_saved_under_their_series(compare, reports):
    compare("--base", "run-07_1", "run-07_2", "--new", "run-07_3", "--save")
    assert (reports / "tiny" / "compare-run-07_1+2-run-07_3.md").is_file()


def test_json_is_printed_for_programs(compare, capsys):
    compare("run-07_1", "run-07_2", "--format", "json")
    data = json.loads(capsys.readouterr().out)
    assert (data["base"], data["verdict"]) == (["tiny/run-07_1"], "CANNOT TELL")
    assert data["total"]["metrics"][0]["metric"] == "average"


def test_the_plan_sets_thresholds_and_the_option_overrides_them(compare, home, capsys):
    plan = home / "plans" / "tiny.toml"
    plan.write_text(plan.read_text() + "[compare]\naverage = 0.9\np99 = 0.9\n")
    compare("run-07_1", "run-07_3", "--threshold", "p99=50%", "--format", "json")
    thresholds = json.loads(capsys.readouterr().out)["thresholds"]
    assert (thresholds["average"], thresholds["p99"], thresholds["p95"]) == (0.9, 0.5, 0.1)


@pytest.mark.real
def test_runs_with_other_users_are_refused_and_compared_with_anyway(compare, reports, capsys):
    make_run(reports, "tiny/run-08_1", users=5)
    with pytest.raises(UsageError, match=r"not alike: users: 2 in the baseline, 5 in the contender; .* --anyway"):
        compare("run-07_1", "run-08_1")
    assert compare("run-07_1", "run-08_1", "--anyway") == 0
    text = capsys.readouterr().out
    assert "| load: users | 2 | 5 |" in text
    assert "users: 2 in the baseline, 5 in the contender" in text.split("**What weakens it:**")[1]


@pytest.mark.real
def test_labels_that_exist_on_one_side_only_are_listed(compare, reports, capsys):
    make_run(reports, "tiny/run-08_1", label="Refund")
    compare("run-07_1", "run-08_1")
    assert "- baseline: Pay\n- contender: Refund\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["run-07_1"], "run-07_1 is one run, and no other run's table is pasted into it"),
        (["run-07_1", "run-07_2", "run-07_3"], "3 arguments instead of two"),
        (["run-07_1", "--base", "run-07_2"], "--base and --new go together"),
        (["--base", "run-07_2"], "--base and --new go together"),
        (["run-07_1", "run-07_1"], "tiny/run-07_1: given twice"),
        (["--base", "run-07_*", "--new", "run-07_3"], "tiny/run-07_3: given twice"),
        (["run-07_1", "run-07_4"], r"did you mean run-07_1, run-07_2 or run-07_3\?"),
        (["run-07_1", "run-07_2", "--label", "Nobody"], "--label Nobody matches no label; there are: Pay"),
        (["run-07_1", "run-07_2", "--threshold", "average=x"], "not a number"),
        (["run-07_1", "run-07_2", "--output", "no/x.md"], "its folder does not exist"),
    ],
)
def test_wrong_use_is_an_error_that_names_the_remedy(compare, arguments, what):
    with pytest.raises(UsageError, match=what):
        compare(*arguments)


def pasted(average_ms_by_line):
    head = "|  | #count | average | median |\n| --- | --- | --- | --- |\n"
    tables = [f"{line}\n\n{head}| TOTAL | 100 | {average} | 5 |\n" for line, average in average_ms_by_line]
    return "\n".join(tables)


def test_a_report_is_compared_with_each_table_that_is_pasted_into_it(compare, tmp_path, capsys):
    (tmp_path / "old.md").write_text(pasted([("## Results", 10), ("previous run", 20), ("reference run", 40)]))
    assert compare("old.md") == 0
    out = capsys.readouterr().out
    assert "| TOTAL | average ms | 20 | 10 |  |" in out
    assert "| TOTAL | average ms | 40 | 10 |  |" in out
    assert "below “previous run”" in out
    with pytest.raises(UsageError, match=r"tables of 2 other runs; name one: .*old.md#2 .*old.md#1"):
        compare("old.md", "--format", "json")


def test_one_table_of_a_report_is_compared_with_a_run(compare, tmp_path, capsys):
    (tmp_path / "old.md").write_text(pasted([("## Results", 10), ("previous run", 20)]))
    assert compare("old.md#previous", "run-07_1") == 0
    assert "# old.md#previous → " in capsys.readouterr().out.replace(f"{tmp_path.name}/", "")


@pytest.mark.real
def test_the_command_line_returns_the_exit_code(reports):
    command = [sys.executable, str(ROOT / "aggregate.py"), "compare", "run-07_1", "run-07_3"]
    done = subprocess.run([*command, "--reports", str(reports)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")


def test_make_passes_names_and_patterns_on_with_their_quotes(monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", r" -- BASE=run-07_1\ it's NEW=run-08_* THRESHOLD=p95=20%\ errors=1% SURE=1")
    thresholds = ["--threshold=p95=20%", "--threshold=errors=1%"]
    expected = ["--base", "run-07_1", "it's", "--contender", "run-08_*", *thresholds, "--sure"]
    assert arguments_of("compare", parser_of("compare")) == expected


def test_make_saves_the_comparison(reports, home, monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", f" -- BASE=run-07_1 NEW=run-07_2 REPORTS={reports}")
    assert main(["compare", "--home", str(home)], "make") == 0
    assert (reports / "tiny" / "compare-run-07_1-run-07_2.md").is_file()


@pytest.mark.real
def test_make_without_runs_names_its_variables():
    command = ["make", "-C", str(ROOT), "--no-print-directory", "compare", "BASE=run-01_1"]
    assert "or BASE " in subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_html_saves_the_comparison_and_writes_it_as_one_file_with_its_chart(compare, reports, capsys):
    assert compare("run-07_1", "run-07_2", "--html") == 0
    page = reports / "tiny" / "compare-run-07_1-run-07_2.html"
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"{page.relative_to(reports.parent)}: the report as one HTML file of ")
    text = page.read_text(encoding="utf-8")
    assert '<header class="judged doubt">' in text
    assert "<strong>CANNOT TELL yet: 4 more runs a side are needed. Seen: average within ±15 %, " in text
    assert '<img class="picture" src="data:image/svg+xml;base64,' in text
    assert page.with_suffix(".md").is_file()
    assert page.with_suffix(".json").is_file()


def test_html_next_to_json_is_refused(compare, reports):
    with pytest.raises(UsageError, match="--html: --format json writes no report; leave one of them out"):
        compare("run-07_1", "run-07_2", "--html", "--format", "json")
    assert not list(reports.glob("*/*.html"))


@pytest.mark.real
def test_a_terminal_gets_the_verdict_eight_lines_and_the_path_of_the_page_and_a_pipe_the_page(reports):
    command = [sys.executable, ROOT / "aggregate.py", "compare", "run-07_1", "run-07_2", "--reports", reports]
    shown = screen(in_terminal(100, command).text.rstrip("\n"))
    assert shown[0].startswith("CANNOT TELL yet: 4 more runs a side are needed.")
    page = reports / "tiny" / "compare-run-07_1-run-07_2.md"
    assert shown[-1] == os.path.relpath(page)
    assert len([line for line in shown if line]) <= 1 + 8 + 2
    assert "# tiny/run-07_1 → tiny/run-07_2" in page.read_text()
    piped = subprocess.run([*command, "--format", "md"], capture_output=True, text=True, check=True).stdout
    assert "# tiny/run-07_1 → tiny/run-07_2" in piped


@pytest.mark.real
def test_the_page_of_files_elsewhere_is_in_a_folder_of_the_reports(reports):
    for name, average in (("a", 6741), ("b", 7128)):
        (reports.parent / f"{name}.md").write_text(CLASSIC.format(average=average))
    files = [reports.parent / f"{name}.md" for name in "ab"]
    command = [sys.executable, ROOT / "aggregate.py", "compare", *files, "--reports", reports]
    shown = screen(in_terminal(100, command).text)
    assert shown[0].startswith("CANNOT TELL yet")
    assert [path.suffix for path in sorted((reports / "compare").iterdir())] == [".json", ".md"]
