"""What plan, profile and target come to: which system is started, with which settings, or none."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.commands import check, run, sweep
from harness.run.request import resolve_request
from tests.support.paths import ROOT
from tests.support.requests import request_of


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_settings_of_plan_and_profile_are_the_systems(home: Path) -> None:
    change(home / "systems" / "tiny" / "system.toml", "[settings]\n", '[settings]\ncache = "off"\nsize = 1\n')
    (home / "plans" / "tiny.toml").open("a").write('[embedded]\nsettings = { cache = "on" }\n')
    (home / "env" / "local.toml").open("a").write("[system.tiny]\nsize = 2\n")
    request = request_of(home, home, "tiny", "local")
    assert request.settings == {"cache": "on", "size": 2, "python": "python3"}


def test_a_profile_that_contradicts_the_plans_setting_is_refused(home: Path) -> None:
    (home / "plans" / "tiny.toml").open("a").write('[embedded]\nsettings = { python = "python3" }\n')
    (home / "env" / "local.toml").open("a").write('[system.tiny]\npython = "pypy"\n')
    with pytest.raises(UsageError) as error:
        request_of(home, home, "tiny", "local")
    assert str(error.value) == (
        "env/local.toml [system.tiny]: python = 'pypy', but the plan sets 'python3'; "
        "remove it from the profile, or choose another plan"
    )


def test_a_setting_that_the_system_does_not_have_is_refused(home: Path) -> None:
    (home / "plans" / "tiny.toml").open("a").write("[embedded]\nsettings = { pyton = 1 }\n")
    with pytest.raises(UsageError, match=r"system tiny: unknown setting 'pyton'; did you mean python\?"):
        request_of(home, home, "tiny", "local")


def test_a_plan_without_a_system_needs_a_target(home: Path) -> None:
    change(home / "plans" / "tiny.toml", 'system = "tiny"\n', "")
    with pytest.raises(UsageError) as error:
        request_of(home, home, "tiny", "local")
    assert str(error.value) == "--plan=tiny has no system to start; give --target=http://host:port of one that runs"
    request = request_of(home, home, "tiny", "local", "http://localhost:8290/stocks")
    assert request.target is not None
    assert (request.manifest, request.settings, request.target.url) == (None, {}, "http://localhost:8290/stocks")


def test_the_command_that_compares_two_runs_is_for_the_current_folder(tmp_path, monkeypatch) -> None:
    runs = "shop/run-01_1", "shop/run-01_2"
    monkeypatch.chdir(ROOT)
    default = ROOT / "reports"
    assert run.compare_command(*runs, default) == "lth compare shop/run-01_1 shop/run-01_2"
    assert run.compare_command(*runs, ROOT / "build" / "my runs").endswith("/run-01_2 --reports 'build/my runs'")
    monkeypatch.chdir(tmp_path)
    program, *rest = run.compare_command(*runs, tmp_path / "runs").split()
    assert (program, rest) == ("lth", ["compare", *runs, "--reports", "runs"])
    assert "--reports" not in run.compare_command(*runs, default)


@pytest.mark.parametrize("command", [run, sweep], ids=["run", "sweep"])
def test_a_relative_reports_folder_is_passed_as_an_absolute_path(command, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    assert parser.parse_args(["--reports", "reports"]).reports == tmp_path / "reports"


def test_what_cannot_be_traced_is_refused(refused) -> None:
    assert "has no HTTP request" in refused("--trace")


def test_a_profile_may_trace_all_its_runs(home: Path) -> None:
    assert not request_of(home, home, "tiny", "local").is_traced
    assert request_of(home, home, "tiny", "local", trace=True).is_traced
    (home / "env" / "local.toml").write_text((home / "env" / "local.toml").read_text() + "[trace]\non = true\n")
    assert request_of(home, home, "tiny", "local").is_traced


@pytest.mark.parametrize("command", [run, check], ids=["run", "check"])
def test_an_address_is_the_plan_of_one_run_only(command) -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    parsed = parser.parse_args(["http://127.0.0.1/x", "-H", "A: $B", "-H", "C: d"])
    assert (parsed.plan, parsed.header, parsed.curl) == ("http://127.0.0.1/x", ["A: $B", "C: d"], None)
    parser = argparse.ArgumentParser()
    parser.set_defaults(verb="sweep")
    sweep.add_arguments(parser)
    with pytest.raises(UsageError, match=r"sweep needs a plan; make one: lth init NAME http://127\.0\.0\.1/x"):
        resolve_request(parser.parse_args(["http://127.0.0.1/x", f"--home={ROOT}"]))
