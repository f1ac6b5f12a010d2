"""The main job of the README: a run with a KillBill of its own, with H2; also beside that of the other tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.full_run import sections_of
from tests.support.killbill_client import KillBill, check_stored
from tests.support.killbill_instance import Job, Shared, codes_of, main_job
from tests.support.paths import ROOT
from tests.support.tiny import check_short_run

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The main job of the README, with a KillBill of its own, which is stopped again."""
    return main_job(tmp_path_factory.mktemp("reports"))


def test_one_command_writes_a_trustworthy_report(job: Job) -> None:
    summary, directory = job.summary, job.directory
    check_short_run(summary["verdict"])
    assert f"killbill-stripe/run-01_1: {summary['verdict']['state']}" in job.output
    groups = {group["name"]: {label["label"]: label for label in group["labels"]} for group in summary["groups"]}
    assert set(groups["load"]) == {"Authorize Payment", "Capture Payment", "Purchase Payment"}
    once = groups["once"]
    assert set(once) == {"Create Account", "Visit Account", "Stripe (Default) Payment Method"}
    assert {label["sample_count"] for label in once.values()} == {4}
    # A captured or purchased payment is a 201 and nothing else; the machine may be slow, but it may not fail.
    for label in groups["load"]:
        assert set(codes_of(summary, label)) == {"201"}
    # A window of some seconds: a request in flight at its beginning counts whole, one at its end not at all.
    law = summary["littles_law"]
    at_the_ends = max(label["average_ms"] for label in groups["load"].values()) / 1000 / law["over_s"]
    assert law["ratio"] == pytest.approx(1.0, abs=0.1 + at_the_ends)
    # A virtual machine may have been denied CPU time, which is a line of its own.
    used = {usage["process"] for usage in summary["observed"]["usages"]} - {"stolen"}
    assert used == {"jmeter", "harness", "host", "killbill", "stripe"}
    for name in ("threads-before.txt", "threads-after.txt", "metrics-before.json", "metrics-after.json"):
        assert (directory / name).stat().st_size > 1000
    figures = dict(summary["run"]["dump_figures"])
    assert int(figures["live threads in KillBill after the load"]) > 20


def test_the_report_of_the_one_command_is_complete_and_names_no_folder(job: Job) -> None:
    report = job.directory.with_suffix(".md").read_text()
    assert {"Set-up", "Results", "Response codes", "CPU and memory", "Warnings", "Notes"} <= set(sections_of(report))
    assert "A stand-in replaces Stripe" in report
    assert str(job.directory.parents[1]) not in report
    assert str(ROOT) not in report


@pytest.mark.counterpart
def test_two_instances_run_side_by_side(killbill: KillBill, shared: Shared, tmp_path: Path) -> None:
    job = main_job(tmp_path)
    assert job.port != str(shared.instance.ports["http"])
    assert job.processes == []  # the second one is stopped, and the first one takes payments
    check_stored(killbill)
