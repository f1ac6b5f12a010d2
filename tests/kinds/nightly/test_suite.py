"""What a nightly's suite contains, and what it may not contain."""

from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.kinds.nightly.suite import load_suite

RUN = '[[run]]\nplan = "tiny"\n'


def suite_of(tmp_path: Path, text: str, budget: str = 'budget = "90m"\n'):
    folder = tmp_path / "env"
    folder.mkdir(exist_ok=True)
    path = folder / "nights.toml"
    path.write_text(f"format_version = 1\n{budget}{text}")
    return load_suite(path)


def test_a_suite_has_a_run_for_each_number_of_users(tmp_path):
    suite = suite_of(
        tmp_path,
        """title = "Nights"
repeats = 3
env = "small"
[gate]
metrics = ["average", "median", "p95"]
labels = []
thresholds = { average = 0.1 }
[[run]]
plan = "shop"
users = [5, 50]
duration = "2m"
goal = { p90 = 800, errors = "0.5%" }
thresholds = { p95 = 0.2 }
[[run]]
plan = "tiny"
env = "local"
repeats = 1
rate = 2.5
loops = 4
at_most = "3m"
""",
    )
    assert (suite.title, suite.budget_s, suite.slack_s) == ("Nights", 5400, 300)
    assert ([metric.name for metric in suite.metrics], suite.labels) == (["average", "p50", "p95"], ())
    few, many, tiny = suite.runs
    assert few.arguments == (
        "--plan=shop", "--env=small", "--users=5", "--duration=2m", "--p90=800", "--errors=0.5%",
    )  # fmt: skip
    assert (few.repeats, few.thresholds, few.at_most_s) == (3, {"average": 0.1, "p95": 0.2}, None)
    assert many.options == {**few.options, "users": "50"}
    assert tiny.arguments == ("--plan=tiny", "--env=local", "--rate=2.5", "--loops=4")
    assert (tiny.repeats, tiny.thresholds, tiny.at_most_s) == (1, {"average": 0.1}, 180)
    assert [run.title for run in suite.runs] == ["shop, 5 users", "shop, 50 users", "tiny, 2.5 users/s"]


def test_a_run_may_set_settings(tmp_path):
    (run,) = suite_of(tmp_path, f'{RUN}set = "tiny.workers=4 amount=25"\n').runs
    assert run.arguments == ("--plan=tiny", "--env=local", "--set=tiny.workers=4 amount=25")
    message = r"tiny is listed twice; only set differs, and their histories would be one; name a plan for each"
    with pytest.raises(UsageError, match=message):
        suite_of(tmp_path, f'{RUN}set = "a=1"\n{RUN}set = "a=2"\n')


def test_the_defaults_are_average_p90_and_errors_of_total_measured_once(tmp_path):
    suite = suite_of(tmp_path, RUN)
    assert (suite.title, suite.labels) == ("nights", ("TOTAL",))
    assert [metric.name for metric in suite.metrics] == ["average", "p90", "errors"]
    (run,) = suite.runs
    assert (run.profile, run.repeats, run.options, run.title) == ("local", 1, {}, "tiny")


def test_a_suite_or_a_load_is_profiled_and_a_system_elsewhere_only_if_its_own_load_says_so(tmp_path):
    elsewhere = 'target = "http://127.0.0.1:1"\n'
    loads = ("", "profile = false\n", elsewhere, f"{elsewhere}profile = true\n")
    for more, expected in (("profile = true\n", [True, False, False, True]), ("", [False, False, False, True])):
        runs = (f"{RUN}users = {number}\n{keys}" for number, keys in enumerate(loads, start=1))
        suite = suite_of(tmp_path, more + "".join(runs))
        assert [run.is_profiled for run in suite.runs] == expected
        assert ["--profile" in run.arguments for run in suite.runs] == expected


def test_loads_that_differ_only_in_duration_are_distinguished_by_it(tmp_path):
    suite = suite_of(tmp_path, f'{RUN}users = 5\nduration = 60\n{RUN}users = 5\nduration = "5m"\n')
    assert [suite.title_of(run) for run in suite.runs] == [
        "tiny, 5 users (profile local, duration 60)",
        "tiny, 5 users (profile local, duration 5m)",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "env/nights.toml: has no [[run]]; add one"),
        ("run = 5", "env/nights.toml: run = 5"),
        ("run = [5]", "env/nights.toml [[run]]: 5; write each as [[run]] with its keys below"),
        (f"buget = 1\n{RUN}", "env/nights.toml: unknown key buget; did you mean budget? there are: budget"),
        (f"{RUN}user = 5", "env/nights.toml [[run]] tiny: unknown key user; did you mean users? there are:"),
        ("[[run]]\nusers = 5", "env/nights.toml [[run]]: plan is missing"),
        (f'{RUN}profile = "local"', "env/nights.toml [[run]] tiny: profile"),
        (f"{RUN}users = 5\n{RUN}users = 5\nprofile = true", "env/nights.toml: tiny, 5 users is listed twice"),
        (f"{RUN}users = 0", "env/nights.toml [[run]] tiny: users = 0; give a whole number of at least 1"),
        (f'{RUN}users = [5, "x"]', "env/nights.toml [[run]] tiny: users = 'x'; give a whole number"),
        (f"{RUN}users = []", "env/nights.toml [[run]] tiny: users = []; use one number or several"),
        (f"{RUN}users = 5\nrate = 1", "env/nights.toml [[run]] tiny: users and rate cannot be used together"),
        (f"{RUN}repeats = 101", "env/nights.toml [[run]] tiny: repeats = 101; give a number from 1 to 100"),
        (f"{RUN}goal = {{ p95 = 5 }}", "env/nights.toml [[run]] tiny goal: unknown key p95; did you mean p90?"),
        (f"{RUN}thresholds = {{ p95 = 5 }}", "env/nights.toml [[run]] tiny thresholds: p95=5: not a number"),
        (f'{RUN}at_most = "soon"', "env/nights.toml [[run]] tiny: at_most=soon: not a duration"),
        (f"{RUN}users = 5\n{RUN}users = 5", "env/nights.toml: tiny, 5 users is listed twice; use repeats = 2"),
        (f'[gate]\nmetrics = ["p89"]\n{RUN}', "env/nights.toml [gate] metrics: p89: no such metric; did you mean"),
        (f"[gate]\nmetrics = []\n{RUN}", "env/nights.toml [gate] metrics = []: nothing would be judged; use some of"),
        (f"[gate]\nlabels = [5]\n{RUN}", "env/nights.toml [gate] labels: 5; give texts"),
        (f"[gate]\nthresholds = {{ avrage = 0.1 }}\n{RUN}", "env/nights.toml [gate] thresholds: unknown key avrage"),
    ],
)
def test_an_invalid_suite_is_refused(tmp_path, text, message):
    with pytest.raises(UsageError) as refused:
        suite_of(tmp_path, text)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("", "env/nights.toml: budget is missing"),
        ("budget = 0\n", "env/nights.toml: budget = 0; use a duration up to 24h"),
        ('budget = "25h"\n', "env/nights.toml: budget = 25h; use a duration up to 24h"),
    ],
)
def test_a_budget_is_needed_and_a_day_at_most(tmp_path, budget, message):
    with pytest.raises(UsageError) as refused:
        suite_of(tmp_path, RUN, budget)
    assert str(refused.value).startswith(message)


def test_a_missing_suite_is_refused_with_a_similar_name(tmp_path):
    suite_of(tmp_path, RUN)
    with pytest.raises(UsageError) as refused:
        load_suite(tmp_path / "env" / "night.toml")
    assert str(refused.value).endswith("night.toml: no such file; did you mean nights.toml? lth help suite shows one")
