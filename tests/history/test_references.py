"""With which runs the report of a run compares it."""

import shutil

import pytest

from harness.base.errors import UsageError
from harness.history.files import read_catalogue
from harness.history.pin_files import write_pins
from harness.history.references import NO_REFERENCES, compared_with, previous_run, references_before
from harness.plan.thresholds import Thresholds
from harness.report.files import summary_of_run
from harness.report.run_result import RunResult
from harness.run.directory import RunDirectory
from tests.support.factories import closed_load
from tests.support.report_folder import add_run

LOAD = closed_load(duration_s=120.0)


@pytest.fixture
def reports(tmp_path):
    """Three comparable runs of a plan, the third of which is the new one; the first is pinned."""
    for number in (1, 2, 3):
        add_run(tmp_path, f"tiny/run-01_{number}", started_at=f"2026-01-0{number}T00:00:00Z")
    write_pins(tmp_path / "tiny", {"baseline": "run-01_1"})
    return tmp_path


def compared(reports, base=None, references=None):
    """Return what the third run is compared with."""
    chosen = references or references_before(base, reports, "tiny", LOAD)
    previous = previous_run(read_catalogue(reports).entries, "tiny/run-01_3")
    new = RunResult.of(summary_of_run(RunDirectory(reports / "tiny" / "run-01_3")))
    return compared_with(chosen.after(previous, reports), new, Thresholds(), reports)


def named(found):
    return [(one.name, one.role, one.problem) for one in found]


@pytest.mark.real
def test_a_run_is_compared_with_the_previous_one_and_with_each_pin(reports):
    write_pins(reports / "tiny", {"baseline": "run-01_1", "again": "run-01_1"})
    found = compared(reports)
    assert named(found) == [
        ("tiny/run-01_2", "previous run", ""),
        ("tiny/run-01_1", "pinned as again, pinned as baseline", ""),
    ]
    assert [one.link for one in found] == ["run-01_2.md", "run-01_1.md"]


@pytest.mark.real
def test_a_pinned_run_that_is_also_the_previous_one_is_compared_once(reports):
    write_pins(reports / "tiny", {"baseline": "run-01_2"})
    assert named(compared(reports)) == [("tiny/run-01_2", "previous run, pinned as baseline", "")]


@pytest.mark.real
@pytest.mark.parametrize("base", ["run-01_1", "tiny/run-01_1", "baseline"])
def test_base_replaces_the_previous_run_and_the_pins(reports, base):
    role = "pinned as baseline" if base == "baseline" else "--base"
    assert named(compared(reports, base)) == [("tiny/run-01_1", role, "")]


@pytest.mark.real
def test_base_may_be_a_report_outside_of_the_reports_folder(reports, tmp_path_factory):
    path = tmp_path_factory.mktemp("old") / "before.md"
    shutil.copy(reports / "tiny" / "run-01_1.md", path)
    (found,) = compared(reports, str(path))
    assert (found.name, found.link, found.verdict) == (f"{path.parent.name}/before.md", "", "CANNOT TELL")
    assert (found.metrics[0], found.total.base[0], found.total.new[0]) == ("average", 101.0, 101.0)


@pytest.mark.real
def test_compare_0_compares_with_nothing(reports):
    assert compared(reports, references=NO_REFERENCES) == ()


@pytest.mark.real
def test_a_deleted_or_unusable_reference_is_a_line_and_no_error(reports):
    chosen = references_before(None, reports, "tiny", LOAD)
    folder = reports / "tiny"
    for path in (folder / "run-01_1.md", folder / "run-01_1.json"):
        path.unlink()
    shutil.rmtree(folder / "run-01_1")
    found = compared(reports, references=chosen)
    assert named(found)[1] == ("tiny/run-01_1", "pinned as baseline", "it no longer exists")
    (folder / "run-01_1.json").write_text("{")
    broken = compared(reports, references=chosen)[1].problem
    assert broken.startswith("tiny/run-01_1.json: not the JSON of a run")
    add_run(reports, "tiny/run-02_1", failures=120)
    write_pins(folder, {"baseline": "run-02_1"})
    assert named(compared(reports))[1][2].startswith("tiny/run-02_1 is INVALID: all 120 samples failed")
    add_run(reports, "tiny/run-02_2", users=9)
    write_pins(folder, {"baseline": "run-02_2"})
    assert named(compared(reports))[1][2] == ("the runs are not alike: users: 9 in the baseline, 2 in the contender")


@pytest.mark.real
@pytest.mark.parametrize(
    ("base", "line"),
    [
        (
            "baselin",
            "--base baselin: neither a pin of tiny nor a run or a report; did you mean baseline? pins: baseline",
        ),
        (
            "run-09_1",
            "--base run-09_1: neither a pin of tiny nor a run or a report; pins: baseline, gone; did you mean",
        ),
        ("run-01_*", "--base run-01_*: 3 runs; name one run: a report is compared with single runs"),
        ("sweep-01", "--base sweep-01: a sweep; name one run"),
        ("gone", "--base gone: tiny/run-09_9 does not exist; pin another run: lth pin"),
        (
            "other/run-01_1",
            "--base other/run-01_1: not like this run: plan: other in the baseline, tiny in",
        ),
        ("run-02_1", "--base run-02_1: not like this run: users: 9 in the baseline, 2 in the contender;"),
    ],
)
def test_a_base_that_cannot_be_compared_is_refused_before_the_run(reports, base, line):
    if base != "baselin":
        write_pins(reports / "tiny", {"baseline": "run-01_1", "gone": "run-09_9"})
    add_run(reports, "other/run-01_1")
    add_run(reports, "tiny/run-02_1", users=9)
    (reports / "tiny" / "sweep-01.md").write_text("# a sweep\n")
    with pytest.raises(UsageError) as error:
        references_before(base, reports, "tiny", LOAD)
    assert str(error.value).startswith(line)
