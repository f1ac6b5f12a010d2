"""KillBill's settings that decide its speed are stated: in the manifest, in the report, in comparisons."""

import pytest

from harness.compare.comparison_warnings import comparison_warnings
from harness.compare.setup_diff import setup_differences
from harness.plan.spec import load_profile
from harness.report.setup import setup_lines
from harness.system.manifest import load_manifest
from harness.system.system import render, render_facts
from tests.support.factories import record
from tests.support.paths import ROOT
from tests.support.results import run_result

FOLDER = ROOT / "systems" / "killbill"
MANIFEST = load_manifest(FOLDER)
# As killbill-api's SecurityConfig has it, and logback.xml in the WAR.
KILLBILLS_OWN = {"shiro_hash_iterations": 200_000, "log_level": "INFO"}


def context(**settings):
    return {
        "settings": MANIFEST.resolve_settings(settings),
        "ports": dict.fromkeys(MANIFEST.ports, 1),
        "work": "/work",
        "artifacts": "/artifacts",
        "java_version": "17",
        "is_profiled": False,
    }


def facts(**settings):
    return dict(render_facts(MANIFEST, context(**settings), lambda *_: ""))


def rendered(name, **settings):
    return render((FOLDER / "templates" / name).read_text(encoding="utf-8"), context(**settings), name)


def test_the_hashing_of_credentials_is_killbills_own_unless_a_profile_changes_it():
    assert MANIFEST.settings["shiro_hash_iterations"] == KILLBILLS_OWN["shiro_hash_iterations"]
    assert "org.killbill.security.shiroNbHashIterations=200000\n" in rendered("killbill.properties")
    assert "shiroNbHashIterations=7\n" in rendered("killbill.properties", shiro_hash_iterations=7)


@pytest.mark.parametrize(
    ("database", "is_profiled", "found"), [("mariadb", True, 2), ("mariadb", False, 0), ("h2", True, 0)]
)
def test_only_a_profiled_killbill_on_mariadb_does_without_prepared_statements(database, is_profiled, found):
    values = {**context(database=database), "is_profiled": is_profiled}
    text = render((FOLDER / "templates" / "killbill.properties").read_text(encoding="utf-8"), values, "here")
    assert text.count("dao.useServerPrepStmts=false\n") == found


@pytest.mark.parametrize("name", ["local", "local-mariadb", "local-mariadb-no-index"])
def test_a_profile_that_hashes_once_is_reported(name):
    assert load_profile(ROOT / "env", name).system_settings["killbill"]["shiro_hash_iterations"] == 1


@pytest.mark.parametrize("name", ["t2.medium", "t2.small"])
def test_the_profiles_of_2015_hash_as_killbill_does(name):
    own = load_profile(ROOT / "env", name).system_settings["killbill"]
    assert own.get("shiro_hash_iterations", MANIFEST.settings["shiro_hash_iterations"]) == 200_000


def test_the_report_has_how_often_credentials_are_hashed_and_what_killbill_would_do():
    assert facts(shiro_hash_iterations=1)["credentials"] == (
        "hashed 1 × for each request (shiroNbHashIterations; KillBill's own default is 200000)"
    )
    assert facts()["credentials"] == "hashed 200000 × for each request (shiroNbHashIterations)"


def test_the_log_level_is_a_setting_and_a_line_of_the_report():
    assert '<root level="WARN">' in rendered("logback.xml")
    assert '<root level="INFO">' in rendered("logback.xml", log_level="INFO")
    assert facts()["log level"] == "WARN (KillBill's own default is INFO)"
    assert facts(log_level="INFO")["log level"] == "INFO"


def test_the_readme_names_every_setting_whose_default_is_not_killbills_own():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    (sentence,) = [line for line in text.splitlines() if "KillBill's or Tomcat's own" in line]
    for name, value in KILLBILLS_OWN.items():
        if MANIFEST.settings[name] != value:
            assert f"`{name}`" in sentence


def test_a_comparison_warns_that_credentials_were_hashed_more_often():
    once, often = (
        run_result(name, run=record(name=name, system_settings={"shiro_hash_iterations": count}))
        for name, count in (("A", 1), ("B", 200_000))
    )
    (difference,) = setup_differences([once], [often])
    assert (difference.name, difference.baseline, difference.contender) == (
        "tiny: shiro_hash_iterations",
        "1",
        "200000",
    )


def test_a_target_against_a_system_that_was_started_here_is_a_warning_of_the_comparison():
    started = run_result("A", run=record(name="A"))
    target = run_result("B", run=record(name="B", target="http://127.0.0.1:8080", system_settings={}))
    text = "B measured a --target with unknown settings, A a system that the harness started"
    assert [
        warning for warning in comparison_warnings([started], [target], 0.05, None) if warning.startswith(text)
    ] != []
    for same in (started, target):
        assert [warning for warning in comparison_warnings([same], [same], 0.05, None) if "--target" in warning] == []


def test_the_report_of_a_target_warns_that_its_settings_are_not_known():
    lines = dict(setup_lines(record(target="http://127.0.0.1:8080")))
    assert lines["system"] == "http://127.0.0.1:8080, already running: its settings are not known here"
