"""The page of real plans: its counts are those of the table, and a run that did not happen is an empty cell."""

from __future__ import annotations

from pathlib import Path

from bench.plans.real_plans import measure, page
from bench.plans.real_runs import Result
from tests.support.paths import ROOT


def test_the_page_counts_what_was_read_fixed_and_run(tmp_path: Path) -> None:
    own = ROOT / "tests" / "plan" / "adopt" / "a_users_own.jmx"
    (tmp_path / "shop" / "tests").mkdir(parents=True)
    (tmp_path / "shop" / "tests" / "own.jmx").write_bytes(own.read_bytes())
    (tmp_path / "shop" / "tests" / "torn.jmx").write_bytes(own.read_bytes()[:900])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "own.jmx").write_bytes(own.read_bytes())
    plan = "shop/tests/own.jmx"
    results = [
        Result(plan, "pass", 4, 1, "FAILED", "GET /: FAILED, 404 Not Found | 3 ms"),
        Result(plan, "load", 60, 0, "INVALID", "no sample of the load"),
        Result("other/own.jmx", "pass", 4, 0, "PASSED"),
        Result("other/own.jmx", "load", 80, 0, "DOUBTFUL"),
    ]
    rows = measure(tmp_path, tmp_path / "work")
    text = page(rows, {(run.plan, run.kind): run for run in results})
    assert (
        "- all: 3 plans, 2 of them well-formed\n"
        "  - without findings: 0 before, 2 after the fixes\n"
        "  - `make check`: 2 plans tried, 1 without a failed sample\n"
        "  - 30 s of load: 2 plans tried, 1 VALID or DOUBTFUL, 1 without a failed sample\n"
        "- shop/tests: 2 plans, 1 of them well-formed\n"
    ) in text
    table = [line for line in text.splitlines() if line.startswith(("| shop", "| other"))]
    assert table[0] == f"| other/own.jmx | 1 | {rows[0].before} | 0 | 0 | 4 | 80 |"
    assert table[1] == f"| {plan} | 1 | {rows[0].before} | 0 | 0 | 4, 1 failed | 60, INVALID |"
    assert rows[0].before > 10
    assert table[2].startswith("| shop/tests/torn.jmx | not XML: ")
    assert table[3:] == [
        f"| {plan} | 30 s of load | no sample of the load |",
        f"| {plan} | `make check` | GET /: FAILED, 404 Not Found / 3 ms |",
    ]
