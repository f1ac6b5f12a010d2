"""The bench of real changes of the stated size: what it injects, and what counts as found."""

import pytest

from bench.runs.trust_real import injected, is_complete, is_found
from harness.base.errors import StartError
from harness.base.records import to_plain
from harness.compare.comparison import MetricComparison
from harness.metrics.metric import metric_of


def trust(ratio: float | None) -> dict:
    seen = [{"pairs": 6, "ratio": 0.9}, {"pairs": 8, "ratio": ratio}]
    return {"metric": "95", "mean": 210.0, "seen": seen, "reason": ""}


def ab(verdict: str, pairs: int, failed: int = 0, state: str = "finished") -> dict:
    of_pairs = [{"problem": ""}] * pairs + [{"problem": "DOUBTFUL"}] * failed
    one = MetricComparison(
        metric=metric_of("p95"), baseline=200.0, contender=210.0, baseline_n=pairs, contender_n=pairs,
        unit="runs", threshold_ratio=0.02, verdict=verdict,
    )  # fmt: skip
    return {"state": state, "verdict": verdict, "pairs": of_pairs, "metrics": [to_plain(one)]}


def test_the_injected_change_is_the_stated_one_in_whole_ms():
    found = injected(trust(0.04), 200)
    assert (found.delay_ms, found.ratio) == (8, pytest.approx(8 / 210))
    for ratio in (None, 32.0):
        with pytest.raises(StartError):
            injected(trust(ratio), 200)


def test_a_change_is_found_only_when_its_metric_regressed_within_eight_pairs():
    assert is_found(ab("REGRESSED", 8), "95")
    assert not is_found(ab("REGRESSED", 10), "95")
    assert not is_found(ab("REGRESSED", 8), "average")
    assert not is_found(ab("OK", 6), "95")


def test_a_test_whose_runs_did_not_count_is_repeated():
    assert is_complete(ab("REGRESSED", 6))
    assert is_complete(ab("CANNOT TELL", 10))
    assert not is_complete(ab("CANNOT TELL", 5, failed=2))
    assert not is_complete(ab("INVALID", 5))
    assert not is_complete(ab("OK", 6, state="running"))
    assert is_complete({"state": "finished", "verdict": "CANNOT TELL"})  # a trust test
