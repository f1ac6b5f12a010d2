from dataclasses import replace

import pytest

from harness.base.errors import UsageError
from harness.plan.load.model import ClosedLoad, LoadArguments, OpenLoad, PlanLoad, parse_load, resolve_load
from harness.plan.spec import load_profile, parse_series, parse_target
from tests.support.paths import PROFILES, ROOT

DEFAULT = PlanLoad(users=50, ramp_per_user_s=0.5, duration_s=100, think_time_s=0)


def load(**given):
    return resolve_load(parse_load(LoadArguments(**given)), DEFAULT)


def test_without_arguments_the_plans_load_is_used():
    assert load() == ClosedLoad(50, 25, 100, None)


def test_the_ramp_depends_on_the_users():
    assert load(users="100") == ClosedLoad(100, 50, 100, None)


def test_many_users_get_the_time_that_their_ramp_needs():
    assert load(users="500") == ClosedLoad(500, 250, 500, None)


def test_a_short_duration_cuts_the_default_ramp_to_a_quarter():
    assert load(duration="20") == ClosedLoad(50, 5, 20, None)


def test_loops_replace_the_duration():
    assert load(users="4", loops="10") == ClosedLoad(4, 2, None, 10)


LOOPED = PlanLoad(users=25, ramp_per_user_s=1, duration_s=None, think_time_s=0, loops=5)


def test_a_plan_of_loops_is_ended_by_them_unless_a_duration_is_given():
    assert resolve_load(parse_load(LoadArguments()), LOOPED) == ClosedLoad(25, 25, None, 5)
    assert resolve_load(parse_load(LoadArguments(users="4", loops="2")), LOOPED) == ClosedLoad(4, 4, None, 2)
    assert resolve_load(parse_load(LoadArguments(duration="60")), LOOPED) == ClosedLoad(25, 15, 60, None)
    with pytest.raises(UsageError, match="--rate=5: the plan has loops and no duration; give --duration, too"):
        resolve_load(parse_load(LoadArguments(rate="5")), LOOPED)


def test_requests_end_a_closed_load():
    default = replace(DEFAULT, requests=1_000_000)
    assert resolve_load(parse_load(LoadArguments()), default) == ClosedLoad(50, 25, 100, None, 1_000_000)
    assert resolve_load(parse_load(LoadArguments(requests="500")), default).requests == 500
    assert resolve_load(parse_load(LoadArguments(rate="5")), default) == OpenLoad(5, 0, 100)
    with pytest.raises(UsageError, match="--rate=5 and --requests=9 cannot be used together"):
        load(rate="5", requests="9")


def test_a_single_user_may_have_its_own_ramp():
    default = replace(DEFAULT, ramp_per_user_s=10, ramp_single_user_s=1)
    assert [resolve_load(parse_load(LoadArguments(users=users)), default).ramp_s for users in ("1", "2")] == [1, 20]


def test_seconds_are_whole_because_jmeter_takes_a_fraction_for_nothing():
    assert load(users="5") == ClosedLoad(5, 3, 100, None)
    assert load(users="5", ramp="0.2", duration="9.1") == ClosedLoad(5, 0, 10, None)


def test_a_rate_makes_the_load_open():
    assert load(rate="2.5", ramp="10", duration="1m") == OpenLoad(2.5, 10, 60)
    assert load(rate="20") == OpenLoad(20, 0, 100)


@pytest.mark.parametrize("given", [{"ramp": "100"}, {"ramp": "60", "duration": "60"}, {"rate": "5", "ramp": "200"}])
def test_a_ramp_that_leaves_no_time_is_refused(given):
    with pytest.raises(UsageError, match=f"--ramp={given['ramp']} is not shorter than"):
        load(**given)


@pytest.mark.parametrize("text", ["0", "0.5", "8d", "200h"])
def test_a_duration_out_of_bounds_is_refused(text):
    with pytest.raises(UsageError, match="--duration="):
        load(duration=text)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://kb.example", "http://kb.example:80"),
        ("https://kb.example/killbill/", "https://kb.example:443/killbill"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://[0:0:0:0:0:0:0:1]:1", "http://[::1]:1"),
        ("http://localhost.:1", "http://localhost:1"),
        ("http://LOCALHOST:1", "http://localhost:1"),
        ("http://localhost:", "http://localhost:80"),
    ],
)
def test_a_target_is_read_from_its_address(text, url):
    assert parse_target(text).url == url


@pytest.mark.parametrize(
    "text",
    ["", "kb:8080", "ftp://kb", "http://", "http://a:b@kb", "http://kb:99999", "http://kb/?a=1", "http://localhost:0"],
)
def test_an_invalid_address_is_refused(text):
    with pytest.raises(UsageError, match="--target="):
        parse_target(text)


def test_a_series_has_two_digits():
    assert [parse_series(text) for text in ("7", "07", "12", "100")] == ["07", "07", "12", "100"]


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_profile_of_the_project_can_be_read(path):
    profile = load_profile(ROOT / "env", path.stem)
    assert profile.title
    assert profile.generator_heap_mb is None or profile.generator_heap_mb >= 256


def test_an_unknown_key_of_a_profile_is_refused_with_the_known_ones(tmp_path):
    (tmp_path / "x.toml").write_text("format_version = 1\n[generator]\nheap = 5\n")
    with pytest.raises(UsageError, match=r"^env/x.toml \[generator\]: unknown key heap; did you mean heap_mb\?"):
        load_profile(tmp_path, "x")


def test_a_profile_can_change_a_plan_and_state_facts(tmp_path):
    (tmp_path / "x.toml").write_text(
        'format_version = 1\n[plan.shop]\nduration_s = 1800\n[facts]\n"heap of the balancer" = "4 GB"\n'
    )
    profile = load_profile(tmp_path, "x")
    assert profile.plan_changes == {"shop": {"duration_s": 1800}}
    assert profile.facts == (("heap of the balancer", "4 GB"),)


def test_a_nightly_suite_is_not_a_profile():
    with pytest.raises(UsageError) as error:
        load_profile(ROOT / "env", "nope")
    assert "local" in str(error.value)
    assert "nightly" not in str(error.value)
    with pytest.raises(
        UsageError, match=r"--env=nightly: env/nightly\.toml is a suite, not a profile; measure it: lth"
    ):
        load_profile(ROOT / "env", "nightly")
    with pytest.raises(
        UsageError, match=r"--env=env/local\.toml: this is a file name; give the name only: --env=local"
    ):
        load_profile(ROOT / "env", "env/local.toml")
