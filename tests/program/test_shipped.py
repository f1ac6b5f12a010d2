"""All files in plans/, env/ and systems/ fit together. What is added there is checked without a line here."""

from __future__ import annotations

import re

import pytest

from harness.plan.plan import load_plan
from harness.plan.spec import load_profile
from harness.system.manifest import load_manifest, system_names
from tests.support.paths import PROFILES, ROOT
from tests.support.requests import request_of

SYSTEMS = system_names(ROOT / "systems")
PLANS = sorted(path.stem for path in (ROOT / "plans").glob("*.toml"))


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_fits_the_system_that_it_starts(plan: str) -> None:
    target = None if load_plan(ROOT / "plans", plan).system else "http://127.0.0.1:8080"
    asked = request_of(ROOT, ROOT / "build", plan, "local", target)
    assert (asked.manifest is None) == (target is not None)


@pytest.mark.real
def test_every_jmx_has_a_plan_and_every_system_a_plan_that_starts_it() -> None:
    plans = [load_plan(ROOT / "plans", name) for name in PLANS]
    assert {plan.jmx_path for plan in plans} == set((ROOT / "plans").glob("*.jmx"))
    assert {plan.system for plan in plans} - {""} == set(SYSTEMS)


@pytest.mark.parametrize("name", [path.stem for path in PROFILES])
def test_a_profile_names_only_existing_plans_and_systems(name: str) -> None:
    profile = load_profile(ROOT / "env", name)
    assert set(profile.system_settings) <= set(SYSTEMS)
    assert set(profile.plan_changes) <= set(PLANS)
    for plan, changes in profile.plan_changes.items():
        load_plan(ROOT / "plans", plan, changes)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_readme_of_a_system_has_every_process_and_every_setting_and_no_other_setting(name: str) -> None:
    manifest = load_manifest(ROOT / "systems" / name)
    text = (manifest.folder / "README.md").read_text(encoding="utf-8")
    assert {*manifest.settings, *(process.name for process in manifest.processes)} <= set(
        re.findall(r"`([\w-]+)`", text)
    )
    table = text.partition("\n## Settings\n")[2].partition("\n## ")[0]
    first_cells = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    assert {setting for cell in first_cells for setting in re.findall(r"`(.+?)`", cell)} <= set(manifest.settings)
