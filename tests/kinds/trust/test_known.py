"""What a plan's newest trust test tells those who choose the length or the number of runs."""

import json
import math
import re
import tarfile

import pytest

from harness.kinds.trust.known import Known, known, known_of, known_text
from harness.metrics.metric import AVERAGE, P95, P99, metric_of
from harness.plan.load.model import LoadRecord
from harness.plan.thresholds import Thresholds
from harness.run.directory import json_text
from tests.kinds.trust.test_outcome import NOISY, QUIET, outcome
from tests.support.factories import closed_load
from tests.support.paths import ROOT

METRICS = (AVERAGE, P95)


def known_from(values_ms: list[tuple[float, float]], **given: object) -> Known:
    return known_of(json.loads(json_text(outcome(values_ms, **given).to_plain())), "tiny/trust-01")


def test_a_gate_that_sees_its_thresholds_is_not_mentioned():
    assert known_from(QUIET).gate_text(Thresholds(), METRICS, 60, 1) == ""


def test_a_gate_that_cannot_see_its_threshold_names_what_would_and_that_suffices():
    # A scatter of 2 %, most of it within the runs: the usual differences are 3.1 standard deviations and more.
    found = known_from([(100.0, 103.0), (101.0, 98.0), (99.0, 97.5), (102.0, 100.0)], within=0.02)
    thresholds = Thresholds()
    variance = found.variance(AVERAGE, 60)
    sees = math.expm1(3.1 * math.sqrt(variance * (1 + math.pi / 2 / 20)))
    text = found.gate_text(thresholds, METRICS, 60, 1)
    assert text.startswith(f"average: this gate asks for 5 %, runs of 1 min see {100 * sees:.1f} %: ")
    longer, runs = text.removesuffix(" (tiny/trust-01)").partition(" %: ")[2].split(" or ")
    minutes, seconds = re.fullmatch(r"(\d+) min(?: (\d+) s)?", longer).groups()
    longer_s, count = 60 * int(minutes) + int(seconds or 0), int(runs.removesuffix(" runs"))
    assert longer_s > 60
    assert found.gate_text(thresholds, METRICS, longer_s, 1) == ""
    assert found.gate_text(thresholds, METRICS, 60, count) == ""
    assert found.gate_text(thresholds, METRICS, 60, count - 1) != ""


def test_neither_length_nor_number_is_proposed_when_neither_helps():
    assert ": raise the threshold (tiny/trust-01)" in known_from(NOISY).gate_text(Thresholds(), METRICS, 60, 1)
    days = known_from(QUIET)
    of_days = {"ratio": 0.05, "low_ratio": 0.02, "high_ratio": 0.1}
    days = Known(days.test, days.costs, {"average": {**days.metrics["average"], "day": of_days}}, None)
    assert ": raise the threshold (tiny/trust-01)" in days.gate_text(Thresholds(), METRICS, 60, 1)


def test_the_duration_of_a_job_is_not_taken_for_the_average_of_the_load():
    # The scatter of the job is far above that of the load, and both have the metric average.
    found, alone = known_from(QUIET, job=[(10_000.0, 40_000.0)] * len(QUIET)), known_from(QUIET)
    assert found.metrics == alone.metrics
    assert found.variance(AVERAGE, 60) == alone.variance(AVERAGE, 60)


def test_a_metric_that_the_test_does_not_have_is_not_judged():
    found = known_from(NOISY)
    only_p99 = Known(found.test, found.costs, {"99": found.metrics["99"]}, None)
    assert only_p99.gate_text(Thresholds(), METRICS, 60, 1) == ""
    assert only_p99.gate_text(Thresholds(), (P99,), 60, 1) != ""
    assert only_p99.variance(metric_of("p75"), 60) is None


def test_what_is_not_known_is_said_with_the_command_that_measures_it():
    assert known_text(None, "shop") == "not known yet which change runs of shop see: lth trust shop"
    assert known_text(known_from(NOISY), "tiny") == "no A/B test with runs of up to 1 h sees it (tiny/trust-01)"
    assert known_text(known_from(QUIET), "tiny") == "6 pairs of 50 s (13 min) see 5 % in p95 (tiny/trust-01)"


@pytest.fixture
def reports(tmp_path):
    with tarfile.open(ROOT / "tests" / "data" / "experiments.tar.xz") as archive:
        archive.extractall(tmp_path, [one for one in archive if one.name.startswith("trust/")], filter="data")
    return tmp_path


def test_the_newest_test_of_the_plan_with_this_load_is_read_whatever_the_length(reports):
    data = json.loads((reports / "trust" / "tiny" / "run-01_1.json").read_text())["run"]
    load = LoadRecord(**{**data["load"], "duration_s": 900})
    for folder in (reports, reports / "nightly"):
        found = known(folder, "tiny", load, "local")
        assert found
        assert found.proposal
        assert found.test == "tiny/trust-01"
    assert known(reports, "tiny", load, "other") is None
    assert known(reports, "other", load, "local") is None
    assert known(reports, "tiny", closed_load(users=77), "local") is None
