"""The page of a release: two stored sweeps, their changes, and what the findings lead to."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.judge.summary import Observed
from harness.metrics.resource_growth import GROWS, HEAP, Growth
from tests.support.first_screens import assert_first_screen
from tests.support.markdown_rows import cells_of, rows_of, tables_of
from tests.support.releases import NOTE, save_release

SLOWER_MS = {"Search": 30.0, "Pay": 65.0}
AVERAGE_VERDICT, P95_VERDICT = "sweep-01 average ms: verdict", "sweep-01 p95 ms: verdict"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Return the folder of two releases and the text of their page: Pay takes 65 instead of 50 ms."""
    reports = tmp_path_factory.mktemp("shop") / "reports"
    save_release(reports, "01")
    save_release(reports, "02", SLOWER_MS, failure_count=30, profile="new", started_at="2026-02-01T00:00:00Z")
    code, _ = release(reports)
    assert code == 0
    return reports / "tiny", (reports / "tiny" / "release-sweep-01-sweep-02.md").read_text()


def release(reports, base="tiny/sweep-01", new="tiny/sweep-02", *more):
    code = main(["release", "--base", base, "--new", new, "--reports", str(reports), *more])
    return code, reports / "tiny"


def section(text, heading):
    return re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def label_rows(text):
    """Return the rows of the labels: the table of averages with that of p95, whose last titles are equal."""
    tables = tables_of(text, "#### Average of labels")[:2]
    titles = [[title for title in table[0] if title.endswith(" ms")][-1] for table in tables]
    rows = []
    for parts in zip(*tables, strict=True):
        rows.append({})
        for title, part in zip(titles, parts, strict=True):
            rows[-1] |= {
                key if key in ("label", "users") or key.endswith(" ms") else f"{title}: {key}": value
                for key, value in part.items()
            }
    return rows


def recommended_on(text):
    """Return what the page recommends: the first recommendations at its top, the others in their section."""
    return text[text.index("**What to do next:**") : text.index("## Overview")] + section(text, "Recommendations")


@pytest.mark.real
def test_every_label_has_average_and_p95_of_both_releases_at_each_number_of_users(shop):
    rows = label_rows(shop[1])
    assert cells_of(rows, "label", "users") == [["Search", "2"], ["Search", "4"], ["Pay", "2"], ["Pay", "4"]]
    average = ("sweep-01 average ms", "sweep-02 average ms", AVERAGE_VERDICT)
    assert cells_of(rows[2:], *average, P95_VERDICT) == [["50", "65", "REGRESSED", "REGRESSED"]] * 2
    for row in rows[2:]:
        assert float(row["sweep-01 average ms: change %"]) == pytest.approx(30, abs=2)
        # 1.645 standard deviations of 10 % above the mean.
        assert float(row["sweep-02 p95 ms"]) == pytest.approx(65 * 1.1645, abs=2)


@pytest.mark.real
def test_the_first_screen_has_its_parts_in_their_order(shop):
    assert_first_screen(shop[1], "answer", "goals", "chart", "table", "doubts", "steps")


@pytest.mark.real
def test_a_label_that_did_not_change_is_not_called_slower(shop):
    search = [row for row in label_rows(shop[1]) if row["label"] == "Search"]
    assert {row[AVERAGE_VERDICT] for row in search} <= {"OK", "CANNOT TELL"}
    assert "Slower in sweep-02: TOTAL at 2 and 4 users; Pay at 2 and 4 users." in section(shop[1], "Summary")
    cause = next(line for line in recommended_on(shop[1]).splitlines() if "Find the cause" in line)
    assert "Search" not in cause


def test_the_headline_and_the_summary_have_verdict_and_percentages(shop):
    text = shop[1]
    headline = re.search(r"^❌ \*\*(.*)\*\*$", text, re.MULTILINE)[1]
    assert re.fullmatch(r"REGRESSED: at 2, 4 users\. Seen: average \+18\.\d+ to \+18\.\d+ % over 2 levels\.", headline)
    assert "\nGoal missed that sweep-01 meets: p90 ≤ " in text
    assert "Slower in sweep-02: TOTAL at 2 and 4 users; Pay at 2 and 4 users." in section(text, "Summary")
    level = next(line for line in section(text, "Summary").splitlines() if line.startswith("- 4 users: "))
    others = r"p95 .*; throughput .* req/s, -15\.\d+ %: REGRESSED"
    assert re.search(rf"average 40 → 47 ms, \+19 %: REGRESSED; {others}", level)


def test_the_plans_warning_is_at_the_top_of_the_page_once(shop):
    assert shop[1].index(f"> {NOTE}") < shop[1].index("## Overview")
    assert shop[1].count(NOTE) == 1


def test_every_run_is_in_the_table_of_test_runs_with_its_load_and_a_link(shop):
    rows = rows_of(shop[1], "## Test runs")
    assert cells_of(rows, "test", "release", "run") == [
        ["1", "sweep-02", "[run-02_1](run-02_1.md)"],
        ["2", "sweep-02", "[run-02_2](run-02_2.md)"],
        ["3", "sweep-01", "[run-01_1](run-01_1.md)"],
        ["4", "sweep-01", "[run-01_2](run-01_2.md)"],
    ]
    assert cells_of(rows, "users", "ramp-up s", "duration s") == [["2", "1", "50 loops"], ["4", "1", "50 loops"]] * 2


def test_goals_that_only_the_new_release_misses_are_a_recommendation(shop):
    p90 = [row for row in rows_of(shop[1], "## Goals (SLA)") if "p90" in row["goal"]]
    assert cells_of(p90, "users", "sweep-01: met", "sweep-02: met") == [["2", "met", "missed"], ["4", "met", "missed"]]
    assert "is met by sweep-01 and missed by sweep-02 at 2 and 4 users." in recommended_on(shop[1])


def test_failures_are_counted_per_release_and_new_ones_are_named(shop):
    rows = rows_of(shop[1], "## Errors")
    assert sum(int(row["sweep-01"]) for row in rows) == 0
    assert sum(int(row["sweep-02"]) for row in rows) == 60
    assert "Explain failures that only sweep-02 has: " in recommended_on(shop[1])


def test_a_set_up_that_differs_is_in_the_appendix_and_a_recommendation(shop):
    assert "| profile | new | local |" in section(shop[1], "Set-up")
    assert "The set-up differs (profile" in recommended_on(shop[1])


@pytest.mark.real
def test_notes_survive_and_the_same_sweeps_give_the_same_bytes(shop):
    page = shop[0] / "release-sweep-01-sweep-02.md"
    before = page.read_text()
    release(shop[0].parent)
    assert page.read_text() == before
    page.write_text(before.replace("rendered again -->\n", "rendered again -->\nPROJ-863: check the pool.\n", 1))
    release(shop[0].parent)
    assert "PROJ-863: check the pool." in section(page.read_text(), "Recommendations")
    page.write_text(before)


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """Return the text of the page of two releases without a change; only the new one was measured with 3 users."""
    reports = tmp_path_factory.mktemp("calm") / "reports"
    save_release(reports, "01", levels=(2,))
    save_release(reports, "02", levels=(2, 3), started_at="2026-02-01T00:00:00Z")
    release(reports)
    return (reports / "tiny" / "release-sweep-01-sweep-02.md").read_text()


@pytest.mark.real
def test_without_a_change_nothing_is_slower_and_nothing_is_recommended_for_it(calm):
    verdicts = {row[title] for row in label_rows(calm) for title in (AVERAGE_VERDICT, P95_VERDICT)}
    assert verdicts <= {"OK", "CANNOT TELL"}
    assert "Slower" not in calm
    assert "Find the cause" not in calm


@pytest.mark.real
def test_levels_with_a_doubtful_run_are_not_judged_and_are_to_be_measured_again(shop, tmp_path):
    reports = tmp_path / "reports"
    shutil.copytree(shop[0].parent, reports)
    path = reports / "tiny" / "run-02_2.json"
    run = json.loads(path.read_text())
    run["verdict"] |= {"state": "DOUBTFUL", "reasons": ["not steady"]}
    path.write_text(json.dumps(run))
    release(reports)
    text = (reports / "tiny" / "release-sweep-01-sweep-02.md").read_text()
    assert "- Measure 4 users again: runs are DOUBTFUL (not steady)." in recommended_on(text)
    pay = [row for row in label_rows(text) if row["label"] == "Pay"]
    assert cells_of(pay, "users", AVERAGE_VERDICT) == [["2", "REGRESSED"], ["4", "CANNOT TELL"]]
    assert "**REGRESSED: at 2 users. " in text
    assert "Slower in sweep-02: TOTAL at 2 users; Pay at 2 users." in section(text, "Summary")


@pytest.mark.real
def test_levels_of_one_side_only_are_named_and_not_compared(calm):
    assert "Only sweep-02 has 3 users: not compared with sweep-01." in section(calm, "What this page cannot tell")
    assert {row["users"] for row in label_rows(calm)} == {"2"}


@pytest.mark.real
def test_titles_name_the_releases(shop, tmp_path):
    reports = tmp_path / "reports"
    shutil.copytree(shop[0].parent, reports)
    release(reports, "Fameflower=tiny/sweep-01", "Goldenrod=tiny/sweep-02")
    text = (reports / "tiny" / "release-sweep-01-sweep-02.md").read_text()
    assert "# tiny: Goldenrod against Fameflower" in text
    assert "release Goldenrod=tiny/sweep-02 --base Fameflower=tiny/sweep-01;" in text
    assert "Slower in Goldenrod: TOTAL at 2 and 4 users" in text


@pytest.fixture(scope="module")
def unlike(tmp_path_factory):
    """Return a folder with sweeps that cannot be compared with each other."""
    reports = tmp_path_factory.mktemp("unlike") / "reports"
    save_release(reports, "02", levels=(2, 5))
    save_release(reports, "03", levels=(2,), plan="other")
    save_release(reports, "04", levels=(3,))
    record = json.loads((reports / "tiny" / "sweep-02.json").read_text())
    record["name"], record["runs"][0]["setting"] = "sweep-05", "delay_ms=20"
    (reports / "tiny" / "sweep-05.json").write_text(json.dumps(record))
    return reports


@pytest.mark.parametrize(
    ("base", "new", "words"),
    [
        ("tiny/sweep-09", "tiny/sweep-02", "tiny/sweep-09: no such sweep"),
        ("tiny/sweep-02", "tiny/sweep-02", "both --new and --base"),
        (
            "other/sweep-03",
            "tiny/sweep-02",
            "other/sweep-03 is of other, tiny/sweep-02 of tiny; give sweeps or runs of the",
        ),
        ("tiny/sweep-04", "tiny/sweep-02", "no level in common (3 users against 2 and 5 users)"),
        ("tiny/run-02_1", "tiny/sweep-02", "tiny/run-02_1 is both --new and --base"),
        ("tiny/run-02_9", "tiny/sweep-02", "neither a file nor a run"),
        ("tiny/sweep-05", "tiny/sweep-02", "is a sweep over delay_ms; give sweeps over users"),
    ],
)
def test_sweeps_that_cannot_be_compared_are_one_line(base, new, words, unlike):
    with pytest.raises(UsageError) as error:
        release(unlike, base, new)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
    assert not list(unlike.rglob("release-*"))


@pytest.mark.real
def test_the_page_is_in_the_summary_of_all_runs(shop):
    reports = shop[0].parent
    assert main(["summary", str(reports)]) == 0
    summary = (reports / "SUMMARY.md").read_text()
    assert "[tiny/release-sweep-01-sweep-02]" in summary or "(tiny/release-sweep-01-sweep-02.md)" in summary


@pytest.mark.real
def test_what_grows_in_the_long_run_is_named_and_leads_to_a_recommendation(shop, tmp_path):
    leak = {
        "process": "shop", "resource": "heap_after_gc_bytes", "point_count": 60, "first": 1e8, "last": 2e8,
        "per_hour": 10485760.0, "low_per_hour": 8388608.0, "high_per_hour": 12582912.0, "verdict": "grows",
        "limit": 5e8, "left_h": 30.0, "left_low_h": 25.0, "left_high_h": 40.0,
    }  # fmt: skip
    reports = tmp_path / "reports"
    shutil.copytree(shop[0], reports / "tiny")
    path = next(path for path in sorted((reports / "tiny").glob("run-02_*.json")))
    data = json.loads(path.read_text())
    # What else the run has is read from its folder: without it, from its JSON alone.
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)
    text = {}
    for verdict in ("grows", "steady"):
        data["observed"]["growths"] = [{**leak, "verdict": verdict}]
        path.write_text(json.dumps(data))
        code, folder = release(reports, "tiny/sweep-01", "tiny/sweep-02", "--long", f"tiny/{path.stem}")
        assert code in (0, 1)
        text[verdict] = (folder / "release-sweep-01-sweep-02.md").read_text()
    growth = "heap after GC of shop grows 10 MB/h (8-12): limit in 30 h (25-40)"
    assert f"- growth: {growth}\n" in text["grows"]
    assert f"In the long run the {growth}. Find what grows." in text["grows"]
    assert "- growth: no resource grows beyond chance" in text["steady"]
    assert "Find what grows" not in text["steady"]


@pytest.mark.real
def test_slopes_and_forecast_of_the_long_run_are_on_the_page_and_a_recommendation(shop, tmp_path):
    reports = tmp_path / "reports"
    shutil.copytree(shop[0].parent, reports)
    mb = 1024.0**2
    heap = Growth("shop", HEAP, 60, 100 * mb, 110 * mb, 4.1 * mb, 3.2 * mb, 5.0 * mb, GROWS, 1200 * mb, 264, 216, 336)
    save_release(reports, "07", levels=(2,), observed=Observed(growths=(heap,)))
    release(reports, "tiny/sweep-01", "tiny/sweep-02", "--long", "tiny/run-07_1")
    text = (reports / "tiny" / "release-sweep-01-sweep-02.md").read_text()
    grows = "heap after GC of shop grows 4.1 MB/h (3.2-5): limit in 11 days (9-14)"
    assert f"In the long run the {grows}. Find what grows." in recommended_on(text)
    long = section(text, "Long run")
    assert "- run: tiny/run-07_1" in long
    assert "| shop | heap after GC, MB | 100 | 110 | 4.1 | 3.2 to 5 | **grows** | 1200 | 11 days (9-14) |" in long


@pytest.mark.real
def test_a_long_run_without_slopes_has_the_reason(shop, tmp_path):
    reports = tmp_path / "reports"
    shutil.copytree(shop[0].parent, reports)
    release(reports, "tiny/sweep-01", "tiny/sweep-02", "--long", "tiny/run-02_1")
    text = (reports / "tiny" / "release-sweep-01-sweep-02.md").read_text()
    assert "No growth is estimated: the measurement window is shorter than 10 min" in section(text, "Long run")


@pytest.mark.parametrize(
    ("long", "words"),
    [
        ("tiny/run-02_9", "neither a file nor a run"),
        ("tiny/run-02_*", "--long tiny/run-02_*: is not one run"),
        ("other/run-03_1", "is a run of other, the page is of tiny; give a run of the same plan"),
    ],
)
def test_a_long_run_that_does_not_fit_is_one_line(unlike, long, words):
    with pytest.raises(UsageError) as error:
        release(unlike, "tiny/sweep-04", "tiny/sweep-02", "--long", long)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
