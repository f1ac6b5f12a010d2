"""The hashes of a run's sources: what changes them and what does not."""

import shutil
import subprocess

import pytest

from harness.base.git import facts
from harness.plan.plan import load_plan
from harness.plan.spec import load_profile
from harness.run.prepare import source_hashes
from tests.support.paths import ROOT


@pytest.mark.real
@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("plans/killbill.jmx", {"plan"}),
        ("plans/killbill-stripe.toml", {"plan"}),
        ("env/local.toml", {"profile"}),
        ("systems/killbill/system.toml", {"system"}),
        ("reports/SUMMARY.md", set()),
        ("plans/killbill-litle.toml", set()),
    ],
)
def test_only_the_sources_of_a_run_change_its_hashes(tmp_path, file, changed):
    for name in ("plans", "env", "systems"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / "reports").mkdir()

    def hashes():
        plan, profile = load_plan(tmp_path / "plans", "killbill-stripe"), load_profile(tmp_path / "env", "local")
        return source_hashes(plan, profile, tmp_path / "systems" / "killbill")

    before = hashes()
    with (tmp_path / file).open("a") as stream:
        stream.write("\n")
    after = hashes()
    assert set(before) == {"harness", "plan", "profile", "system"}
    assert {name for name in before if before[name] != after[name]} == changed


def test_a_changed_report_is_no_change_of_the_checkout(tmp_path):
    (tmp_path / "reports").mkdir()
    for name in ("reports/SUMMARY.md", "plan.toml"):
        (tmp_path / name).write_text("a\n")
    git = ["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@localhost"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run([*git, *arguments], check=True)
    (tmp_path / "reports" / "SUMMARY.md").write_text("b\n")
    assert facts(tmp_path).is_changed is False
    (tmp_path / "plan.toml").write_text("b\n")
    assert facts(tmp_path).is_changed is True
