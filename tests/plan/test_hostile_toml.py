"""Hostile values in the TOML of plans, profiles and suites: one line that names the file, and code 2."""

import random
import tomllib

import pytest

from harness.base.errors import UsageError
from harness.kinds.nightly.suite import load_suite
from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.plan.plan import load_plan
from harness.plan.spec import load_profile
from tests.support.paths import ROOT

DEEP = "[" * 5000 + "]" * 5000
PLANS = [
    ("duration_s = 2", "duration_s = inf", "duration_s"),
    ("duration_s = 2", "duration_s = nan", "duration_s"),
    ("duration_s = 2", "duration_s = 1e300", "duration_s"),
    ("duration_s = 2", f"duration_s = {'9' * 400}", "duration_s"),
    ("duration_s = 2", "duration_s = true", "duration_s"),
    ("duration_s = 2", f"duration_s = {DEEP}", "nested too deeply"),
    ("duration_s = 2", "duration_s = [[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]", "nested too deeply"),
    ("ramp_per_user_s = 0.0", "ramp_per_user_s = inf", "ramp_per_user_s"),
    ("ramp_per_user_s = 0.0", "think_time_s = inf", "think_time_s"),
    ("users = 2", "users = 100001", "users = 100001; give a number from 1 to 100000"),
    ("users = 2", "users = true", "users = True"),
    ("error_ratio = 0.01", "error_ratio = nan", "error_ratio"),
    ('shape = "tiny.jmx"', 'shape = "data"', "plans/data: cannot be read (Is a directory)"),
    ('shape = "tiny.jmx"', 'shape = ""', "shape is empty"),
    ('shape = "tiny.jmx"', 'shape = "a\\u0000b"', "NUL"),
]  # fmt: skip
PROFILES = ["heap_mb = -1", "heap_mb = 0", "heap_mb = true", "overrun_s = -5", "overrun_s = inf", "overrun_s = nan"]
VALUES = (
    "inf",
    "-inf",
    "nan",
    "-1",
    "0",
    "1e300",
    "true",
    '""',
    '"x"',
    '"\\u0000"',
    "[]",
    "[1]",
    "{}",
    "9" * 30,
    "1979-05-27",
)


@pytest.mark.parametrize(("old", "new", "message"), PLANS, ids=range(len(PLANS)))
def test_a_bad_value_of_a_plan_is_one_line_that_names_it(refused, home, old, new, message):
    (home / "plans" / "data").mkdir()
    plan = home / "plans" / "tiny.toml"
    plan.write_text(plan.read_text().replace(old, new))
    error = refused()
    assert message in error
    assert "plans" in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("line", PROFILES)
def test_a_bad_value_of_a_profile_is_one_line_that_names_it(refused, home, line):
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("overrun_s = 30", line))
    error = refused()
    assert "env/local.toml" in error
    assert line.partition(" ")[0] in error
    assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.real) for seed in (1, 2))])
@pytest.mark.parametrize("name", ["env/nightly.toml", "plans/killbill-stripe.toml", "env/local.toml", "env/lb.toml"])
def test_any_value_of_another_kind_is_refused_or_used(tmp_path, name, seed):
    text, chosen = (ROOT / name).read_text(), random.Random(seed)
    lines = [number for number, line in enumerate(text.splitlines()) if " = " in line and not line.startswith("#")]
    for jmx in (ROOT / "plans").glob("*.jmx"):
        (tmp_path / jmx.name).write_bytes(jmx.read_bytes())
    path = tmp_path / name.rpartition("/")[2]
    for _ in range(60):
        changed, at, value = text.splitlines(), chosen.choice(lines), chosen.choice(VALUES)
        changed[at] = f"{changed[at].partition(' = ')[0]} = {value}"
        path.write_text("\n".join(changed))
        try:
            if "nightly" in name:
                load_suite(path)
            elif "plans" in name:
                resolve_load(parse_load(LoadArguments()), load_plan(tmp_path, path.stem).load)
            else:
                load_profile(tmp_path, path.stem)
        except UsageError as error:
            assert "\n" not in str(error)
        except Exception as error:
            raise AssertionError(changed[at]) from error


def test_the_suite_refuses_an_infinite_budget(tmp_path):
    path = tmp_path / "nightly.toml"
    path.write_text('format_version = 1\nbudget = inf\n[[run]]\nplan = "tiny"\n')
    with pytest.raises(UsageError, match=r"nightly\.toml: budget = inf"):
        load_suite(path)
    assert tomllib.loads(path.read_text())["budget"] == float("inf")
