"""No headline with CANNOT TELL, and no reason of that verdict, says in which direction something changed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from random import Random

import pytest

from harness.cli.verbs import main
from harness.compare.comparison import CANNOT_TELL, OK, REGRESSED
from harness.compare.decision import compare
from harness.compare.reference import compared_run
from harness.compare.render import headline
from harness.judge.verdict import DOUBTFUL, Verdict
from harness.kinds.ab.message import ab_message
from harness.kinds.ab.outcome import AbOutcome
from harness.kinds.ab.outcome import headline as ab_headline
from harness.kinds.ab.rule import PairSeries, judge, verdict_of
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT
from harness.plan.thresholds import Thresholds
from harness.sweep.level_verdicts import with_verdict
from harness.sweep.levels import Figures
from harness.sweep.pairs import LevelVerdict, compare_sweeps
from harness.sweep.pairs import headline as sweep_headline
from tests.support.ab_tests import finished_record
from tests.support.comparisons import LIMITS, QUIET, runs
from tests.support.releases import save_release
from tests.support.results import batched, run_result
from tests.support.sweeps import sweep

_WORDS = r"slow|fast|low|high|wors|bett|great|small|larg|less|fewer|improv|regress|ris|fall|grow|rose|fell|drop"
_DIRECTION = re.compile(rf"\b(?:{_WORDS})\w*|\bmore\b(?! (?:runs?|pairs?|metrics?|labels?)\b)", re.IGNORECASE)


def directions(text: str) -> list[str]:
    """Return the words of a text that claim a direction; "3 more runs" claims none."""
    return _DIRECTION.findall(text)


def test_a_direction_is_recognised():
    assert directions("B is 18 to 19 % slower, errors are worse, throughput is more than that") == [
        "slower", "worse", "more",
    ]  # fmt: skip
    assert directions("average +12.00 %; 3 more runs a side would be needed, and 2 more labels") == []


def test_a_comparison_that_cannot_tell_names_no_direction():
    rng, seen = Random(3), set()
    for change in (0.85, 0.93, 0.96, 1.0, 1.04, 1.05, 1.07, 1.15):
        for scatter in (0.0, 0.02, 0.1):
            new = [ms * change * (1 + rng.gauss(0, scatter)) for ms in QUIET]
            found = compare(runs("A", QUIET), runs("B", new), LIMITS)
            total = found.total
            assert total
            reasons = {one.reason for one in total.metrics if one.verdict == CANNOT_TELL}
            seen |= {found.verdict, *reasons}
            assert not [word for reason in reasons for word in directions(reason)], reasons
            if found.verdict == CANNOT_TELL:
                assert not directions(headline(found)), headline(found)
    assert {CANNOT_TELL, REGRESSED, OK, "not by chance, but possibly within the threshold"} <= seen


def test_the_comparison_in_the_report_of_a_run_names_no_direction_when_it_cannot_tell():
    base, new = (run_result(name, total=batched([(ms, ms + 40)] * 20)) for name, ms in (("A", 80), ("B", 99)))
    doubtful = replace(new, verdict=Verdict(DOUBTFUL, ("busy",), (), ()))
    for run in (new, doubtful):
        found = compared_run(base, run, Thresholds(), "previous run", "")
        assert found.verdict == CANNOT_TELL
        assert not directions(found.headline), found.headline


@pytest.mark.parametrize("repeated", [False, True])
def test_two_sweeps_that_cannot_be_told_apart_name_no_direction(repeated):
    states = ([REGRESSED, OK, OK, OK], [CANNOT_TELL] * 4, [OK, OK, CANNOT_TELL, OK])
    changes = ((1.19, 1.18, 1.19, 1.18), (1.3, 1.0, 0.8, 1.2), (1.19, 1.0, 1.0, 1.0))
    seen = set()
    for level_states in states:
        for ratios in changes:
            levels = (1, 5, 10, 20)
            sides = (
                sweep(name, {at: Figures(average_ms=100.0 * by) for at, by in zip(levels, factors, strict=True)})
                for name, factors in (("a", (1.0,) * 4), ("b", ratios))
            )
            verdicts = tuple(
                LevelVerdict(at, one, "", repeated, is_doubtful=one == CANNOT_TELL)
                for at, one in zip(levels, level_states, strict=True)
            )
            found = with_verdict(replace(compare_sweeps(*sides), verdicts=verdicts), Thresholds())
            seen.add(found.verdict)
            if found.verdict == CANNOT_TELL:
                assert not directions(sweep_headline(found)), sweep_headline(found)
    assert CANNOT_TELL in seen


def test_an_ab_test_that_cannot_tell_names_no_direction_in_its_headline_and_message():
    record = finished_record(seed=1)
    rng, seen = Random(5), 0
    for change in (-0.2, -0.06, 0.04, 0.06, 0.2):
        for count in (4, 6, 10):
            series = [
                PairSeries(metric, tuple(change * sign + rng.gauss(0, 0.05) for _ in range(count)), 100.0, 100.0)
                for metric, sign in ((AVERAGE, 1), (THROUGHPUT, -1), (ERRORS, 0.01))
            ]
            metrics = judge(series, Thresholds())
            if verdict_of(metrics) == CANNOT_TELL:
                outcome = AbOutcome(record, (), metrics, CANNOT_TELL)
                seen += 1
                texts = (ab_headline(outcome), ab_message(outcome, "").title, *(one.reason for one in metrics))
                assert not [word for text in texts for word in directions(text.replace("improved", ""))], texts
    assert seen > 3


@pytest.mark.real
def test_the_page_of_a_release_that_cannot_tell_names_no_direction_above_its_tables(tmp_path):
    reports = tmp_path / "reports"
    save_release(reports, "01")
    save_release(reports, "02", {"Search": 30.0, "Pay": 54.0}, started_at="2026-02-01T00:00:00Z")
    path = reports / "tiny" / "run-02_2.json"
    run = json.loads(path.read_text())
    run["verdict"] |= {"state": "DOUBTFUL", "reasons": ["not steady"]}
    path.write_text(json.dumps(run))
    assert main(["release", "--base=tiny/sweep-01", "--new=tiny/sweep-02", f"--reports={reports}"]) == 0
    page = (reports / "tiny" / "release-sweep-01-sweep-02.md").read_text()
    top = page[page.index("**") : page.index("## Test runs")]
    assert re.match(
        r"\*\*CANNOT TELL: a run at 4 users is DOUBTFUL\. Seen: average within ±[5-6]\.\d % over 2 levels", top
    )
    assert "runs are assumed to scatter by 3 % or more" in page
    assert not re.search(r"\b(slower|faster|worse|better|improved|regressed)\b", top, re.IGNORECASE)
