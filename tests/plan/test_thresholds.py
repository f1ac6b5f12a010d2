"""Which changes matter: the defaults, a plan's [compare], options."""

import pytest

from harness.base.errors import UsageError
from harness.metrics.metric import metric_of
from harness.plan.plan import load_plan
from harness.plan.thresholds import Thresholds
from tests.support.paths import ROOT
from tests.support.tiny import TINY_PLAN


def test_by_default_high_percentiles_may_change_more_than_averages():
    thresholds = Thresholds()
    assert [thresholds.of(metric_of(name)) for name in ("average", "50", "90", "99", "throughput")] == [
        0.05,
        0.05,
        0.1,
        0.1,
        0.05,
    ]
    assert (thresholds.of(metric_of("errors")), thresholds.alpha) == (0.005, 0.05)


@pytest.mark.parametrize(
    ("text", "name", "ratio"),
    [
        ("average=5%", "average", 0.05),
        ("p99=0.2", "99", 0.2),
        ("90 = 7.5 %", "90", 0.075),
        ("median=2%", "50", 0.02),
        ("errors=0.1%", "errors", 0.001),
    ],
)
def test_an_option_takes_a_percentage_or_a_ratio(text, name, ratio):
    assert Thresholds().with_option(text).of(metric_of(name)) == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("p9=5%", r"no such metric; did you mean p90, p95 or p99\? give one of: average, p50"),
        ("average", "--threshold average: no value; give one, such as average=20%"),
        ("average=200%", "not a number above 0 and up to 100"),
        ("average=5", "not a number above 0 and up to 1"),
        ("average=0", "not a number above 0"),
    ],
)
def test_an_invalid_option_is_refused(text, what):
    with pytest.raises(UsageError, match=what):
        Thresholds().with_option(text)


def test_a_plan_sets_its_own_thresholds(home):
    (home / "plans" / "tiny.toml").write_text(TINY_PLAN + "[compare]\naverage = 0.02\np99 = 0.3\nalpha = 0.01\n")
    assert load_plan(home / "plans", "tiny").thresholds == Thresholds().changed(
        {"average": 0.02, "p99": 0.3, "alpha": 0.01}
    )


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ("avrage = 0.1", r"plans/tiny.toml \[compare\]: unknown key avrage; did you mean average\? there are: alpha"),
        ('average = "5%"', r"plans/tiny.toml \[compare\]: average = '5%'; give a number"),
        ("average = 5", r"plans/tiny.toml \[compare\]: average=5: not a number above 0 and up to 1"),
    ],
)
def test_invalid_thresholds_of_a_plan_are_refused(home, table, what):
    (home / "plans" / "tiny.toml").write_text(f"{TINY_PLAN}[compare]\n{table}\n")
    with pytest.raises(UsageError, match=what):
        load_plan(home / "plans", "tiny")


def test_the_readme_of_plans_shows_the_defaults():
    text = (ROOT / "plans" / "README.md").read_text(encoding="utf-8")
    for line in ("average = 0.05 ", "p50, p75 (0.05), p90, p95, p99 (0.10)", "throughput = 0.05\n", "errors = 0.005 "):
        assert line in text
