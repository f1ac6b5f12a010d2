"""The page of real plans: its counts are those of the table, and a run that did not happen is an empty cell."""

from __future__ import annotations

from pathlib import Path

from bench.real_plans import measure, page
from tests.support.paths import ROOT


def test_the_page_counts_what_was_read_fixed_and_run(tmp_path: Path) -> None:
    own = ROOT / "tests" / "plan" / "adopt" / "a_users_own.jmx"
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "own.jmx").write_bytes(own.read_bytes())
    (tmp_path / "torn.jmx").write_bytes(own.read_bytes()[:900])
    runs = {
        ("shop/own.jmx", "pass"): {"samples": 4, "failed": 1, "state": "DOUBTFUL"},
        ("shop/own.jmx", "load"): {"samples": 60, "failed": 0, "state": "INVALID"},
    }
    rows = measure(tmp_path, tmp_path / "work")
    text = page(rows, runs)
    assert "- plans: 2; well-formed test plans: 1\n- without findings before: 0; after the fixes: 1\n" in text
    assert "- one pass: 1 plans tried, 1 VALID or DOUBTFUL, 0 without a failed sample\n" in text
    assert "- 30 s of load: 1 plans tried, 0 VALID or DOUBTFUL, 0 without a failed sample\n" in text
    own_row, torn_row = text.splitlines()[-2:]
    assert own_row == f"| shop/own.jmx | 1 | {rows[0].before} | 0 | 0 | 4, 1 failed | 60, 0 failed, INVALID |"
    assert rows[0].before > 10
    assert torn_row.startswith("| torn.jmx | not XML: ")
