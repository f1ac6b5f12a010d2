"""Transaction Controllers in the report of a run: a table of their own, and no sample counted twice.

The samples are those of two rounds of a user: transaction "Check In" of two requests, one of which has its name.
"""

import re
from functools import cache

import pytest

from harness.base.records import build, to_plain
from harness.jtl.inputs import resolve
from harness.jtl.sample import TRANSACTION_MESSAGE
from harness.judge.summary import RunSummary
from harness.metrics.live import LiveTally
from harness.metrics.metric import AVERAGE
from harness.report.columns import DEFAULT, columns_of
from harness.report.jtls import summary_of_jtls
from harness.report.markdown_report import parse_report
from harness.report.run_result import RunResult
from harness.report.screen import closing
from harness.report.selection import Selection, parse_pattern
from harness.report.tables import parts_of, title_of
from harness.report.terminal import screen_table
from tests.report.test_markdown import report
from tests.support.factories import closed_load, failed, record, sample
from tests.support.paths import ROOT
from tests.support.summaries import summary_of

NAMED = "Check In"


def transaction(label=NAMED, start_ms=0, elapsed_ms=300, failing=0, **changes):
    message = f"{TRANSACTION_MESSAGE} 2, number of failing samples : {failing}"
    if failing:
        changes |= {"success": False, "error_count": 1, "code": ""}
    return sample(label, elapsed_ms, start_ms, **{"code": "200", "message": message, **changes})


def two_rounds():
    """Return GET 100 ms, POST "Check In" 200 ms, their transaction 300 ms; in the second round the POST fails."""
    return [
        sample("GET item", 100, 0),
        sample(NAMED, 200, 100),
        transaction(),
        sample("GET item", 100, 1000),
        failed(NAMED, elapsed_ms=200, start_ms=1100),
        transaction(start_ms=1000, failing=1),
    ]


@cache
def summary() -> RunSummary:
    return summary_of(two_rounds(), record())


@cache
def text() -> str:
    return report(summary(), "")


def section(title):
    return re.split(r"\n#{2,3} |</details>", re.split(rf"(?:#|<summary>) ?{title}(?:</summary>)?\n", text())[1])[0]


def rows(title):
    return [line.split(" | ")[:3] for line in section(title).strip().split("\n\n")[0].splitlines()][2:]


def test_total_counts_each_request_once_and_no_transaction():
    total = summary().groups[0].total
    assert (total.sample_count, total.average_ms, total.error_count, total.max_ms) == (4, 150.0, 1, 200)


def test_transactions_have_a_table_of_their_own_below_that_of_the_requests():
    assert rows("Load") == [["| GET item", "2", "100"], ["| Check In", "2", "200"], ["| TOTAL", "4", "150"]]
    assert rows("Transactions") == [["| Check In", "2", "300"]]
    assert text().index("### Load\n") < text().index("### Transactions\n") < text().index("<summary>Response codes")


def test_codes_and_causes_are_those_of_the_requests():
    assert rows("Response codes") == [
        ["| GET item", "201", "2"],
        ["| Check In", "201", "1"],
        ["| Check In", "402", "1"],
    ]
    assert rows("Errors by cause") == [["| Check In", "402", "expected 201"]]
    assert "Transaction Controllers that failed because of their samples: Check In 1." in section("Errors by cause")


def test_a_report_without_transactions_has_no_table_of_them():
    assert "Transaction" not in report(summary_of([sample()], record()), "")


def test_the_goal_of_each_label_applies_to_transactions_too():
    goal = record().goal.with_limits(each_average_ms=250)
    judged = summary_of(two_rounds(), record(goal=goal, load=closed_load(users=1)))
    assert "1 of 3 labels above 250 ms on average, the slowest is Check In with 300 ms" in judged.verdict.goals_missed
    table = report(judged, "").split("### Transactions\n")[1]
    assert "| **missed** |" in table.split("\n\n")[0]


def test_transactions_of_setup_are_apart_from_its_requests():
    threads = {"thread_name": "setUp 1-1"}
    samples = [sample("Log In", **threads), transaction("Prepare", **threads), sample()]
    found = report(summary_of(samples, record()), "")
    assert (
        found.index("### setUp\n") < found.index("### Transactions in setUp\n") < found.index("<summary>Response codes")
    )


def test_a_jtl_of_nothing_but_transactions_states_what_its_total_is_of():
    alone = summary_of([transaction(), transaction()], record())
    assert alone.groups[0].total.sample_count == 2
    found = report(alone, "")
    assert "The rows are of Transaction Controllers: their requests have no rows in the JTL." in found
    assert "### Transactions" not in found
    assert "| Check In | 200 | 2 | 0 |" in found


def test_with_transactions_requested_in_total_they_are_one_table():
    group = summary_of(two_rounds(), with_transactions=True).groups[0]
    assert group.total.sample_count == 6
    assert parts_of(group) == (group,)


def test_a_terminal_and_the_end_of_a_run_have_both_tables():
    parts = parts_of(summary().groups[0])
    tables = [screen_table(part, columns_of(DEFAULT), 200) for part in parts]
    assert [(table.title, table.has_total, [label for label, _ in table.rows]) for table in tables] == [
        ("Load", True, ["GET item", "Check In", "TOTAL"]),
        ("Transactions", False, ["Check In"]),
    ]
    last = closing(summary(), "x.md", "", 80)
    assert [(table.title, [label for label, _ in table.rows]) for table in last.tables] == [
        ("Load", ["GET item", "Check In", "TOTAL"]),
        ("Transactions", ["Check In"]),
    ]
    assert len({table.widths for table in last.tables}) == len({table.heads for table in last.tables}) == 1
    narrow = closing(summary(), "x.md", "", 30).tables
    assert len({table.heads for table in narrow}) == 1
    assert len(narrow[0].heads) < len(last.tables[0].heads)


def test_the_summary_of_a_report_has_both_tables_and_compare_reads_the_full_ones():
    part = text().split("\n## ")[0]
    assert [row.split(" | ")[:2] for row in part.splitlines() if row.startswith(("| GET", "| Check", "| TOTAL"))] == [
        ["| GET item", "2"], ["| Check In", "2"], ["| TOTAL", "4"], ["| Check In", "2"],
    ]  # fmt: skip
    assert "| TOTAL | 4 " in part.split("\n\n**Transactions**\n\n")[0]
    for markdown in (text(), text().partition("\n")[2]):  # with the line that names the program, and without
        result = parse_report(markdown, "x.md")
        assert result.total.average_ms is not None
        assert [label.label for label in result.labels][:1] == ["GET item"]


def test_labels_that_are_transactions_only_have_no_total():
    other = summary_of([*two_rounds(), transaction("Visit")])
    view = Selection(pattern=parse_pattern("Visit")).view(other, "tiny.jtl")
    assert [(title_of(part), part.total) for group in view.groups for part in parts_of(group)] == [
        ("Transactions", None)
    ]
    assert "There is no TOTAL: it is of requests, and only Transaction Controllers match --label." in view.remarks


def test_one_label_is_shown_in_each_table_that_has_it():
    view = Selection(only=NAMED).view(summary(), "tiny.jtl")
    assert [title_of(part) for part in parts_of(view.groups[0])] == ["Load", "Transactions"]


def test_in_comparisons_a_transaction_has_a_name_that_no_request_has():
    labels = [(label.label, label.is_transaction, label.average_ms) for label in RunResult.of(summary()).labels]
    assert labels == [("GET item", False, 100), ("Check In", False, 200), ("Check In (transaction)", True, 300)]
    alone = RunResult.of(summary_of([*two_rounds()[:2], transaction("Visit")]))
    assert [label.label for label in alone.labels] == ["GET item", "Check In", "Visit"]


def test_a_report_that_is_read_again_has_the_same_labels():
    found = parse_report(text(), "run-01_1.md")
    assert [(label.label, label.is_transaction, label.average_ms) for label in found.labels] == [
        (label.label, label.is_transaction, label.average_ms) for label in RunResult.of(summary()).labels
    ]
    assert found.total is not None and found.total.sample_count == 4


def test_json_marks_transactions_and_older_json_is_read():
    data = to_plain(summary())
    assert [label["is_transaction"] for label in data["groups"][0]["labels"]] == [False, False, True]
    assert sorted((code["label"], code["code"]) for code in data["codes"] if code["is_transaction"]) == [
        ("Check In", ""),
        ("Check In", "200"),
    ]
    for code in data["codes"]:
        del code["is_transaction"]
    older = build(RunSummary, data)
    assert older.groups == summary().groups
    assert [code.is_transaction for code in older.codes] == [False] * 5


def test_progress_counts_requests_only():
    tally = LiveTally()
    tally.tick(0.0, [], 0)
    assert tally.tick(1.0, two_rounds(), 6).sample_count == 4
    figures = tally.tick(2.0, [transaction()], 1)
    assert (figures.sample_count, figures.times_ms[AVERAGE], figures.error_count) == (4, 150.0, 1)
    alone = LiveTally()
    assert alone.tick(1.0, [transaction()], 1).sample_count == 1


def rounds_of_one_user():
    """Return ten rounds of two requests of 100 ms in a transaction, each followed by a pause of 1.8 s: 20 s in all."""
    found = []
    for start_ms in range(0, 20_000, 2_000):
        found += [sample("A", 100, start_ms), sample("B", 100, start_ms + 100), transaction("Visit", start_ms, 200)]
    return found


def test_littles_law_has_one_pause_per_transaction_where_the_plan_has_it():
    load = closed_load(users=1, think_time_s=1.8, think_time_per="transaction")
    # Ten rounds of 2 s in the 18.2 s from the first start to the last end: the last pause is not within them.
    law = summary_of(rounds_of_one_user(), record(load=load)).littles_law
    assert round(law.busy_users, 3) == round(20 / 18.2, 3)
    before_each = summary_of(rounds_of_one_user(), record(load=closed_load(users=1, think_time_s=1.8))).littles_law
    assert round(before_each.busy_users, 3) == round((2 + 20 * 1.8) / 18.2, 3)


# Written by JMeter 5.6.3: three rounds of the transactions Check Out (a parent sample with Cart and the transaction
# Payment of Pay and Receipt, which fails) and Browse (no parent sample: Search and Item), and of Ping.
@pytest.mark.parametrize(
    ("file", "requests", "transactions", "errors"),
    [
        ("with_requests", ["Cart", "Pay", "Receipt", "Search", "Item", "Ping"], ["Check Out", "Payment", "Browse"], 3),
        # With jmeter.save.saveservice.subresults=false: nothing within Check Out has a row.
        ("parent_sample_only", ["Search", "Item", "Ping"], ["Check Out", "Browse"], 0),
    ],
)
def test_a_real_jtl_with_parent_samples_counts_each_row_of_a_request_once(file, requests, transactions, errors):
    name = f"transactions_{file}.csv"
    found = summary_of_jtls(resolve([str(ROOT / "tests" / "data" / name)]))
    [group] = found.groups
    assert [label.label for label in group.labels if not label.is_transaction] == requests
    assert [label.label for label in group.labels if label.is_transaction] == transactions
    assert {label.sample_count for label in group.labels} == {3}
    assert (group.total.sample_count, group.total.error_count) == (3 * len(requests), errors)
    failed_label = "Receipt" if errors else "Check Out"
    assert [(kind.label, kind.count) for kind in found.errors] == [(failed_label, 3)]
    remarks = Selection().view(found, name).remarks
    number = len(transactions)
    assert f"TOTAL excludes the rows of {number} Transaction Controllers; it includes those of their" in str(remarks)
