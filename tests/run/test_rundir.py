import pytest

from harness.base.errors import UsageError
from harness.run.directory import RunDirectory, check_space, read_json, reserve
from tests.support.factories import record


def test_runs_of_a_plan_are_numbered_from_run_01_1(tmp_path):
    assert [reserve(tmp_path, "tiny", None).name for _ in range(3)] == ["run-01_1", "run-01_2", "run-01_3"]


def test_the_last_series_is_used_until_another_is_given(tmp_path):
    names = [reserve(tmp_path, "tiny", series).name for series in ("07", None, "08", None, "07")]
    assert names == ["run-07_1", "run-07_2", "run-08_1", "run-08_2", "run-07_3"]


def test_a_number_of_which_only_the_report_exists_is_not_reused(tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "run-07_91.md").write_text("old")
    assert reserve(tmp_path, "tiny", None).name == "run-07_92"


def test_too_little_space_is_refused_before_anything_starts(tmp_path):
    with pytest.raises(UsageError, match=r"reports/ has \d+ MB free, a run needs 999999999 MB"):
        check_space(tmp_path / "reports", 999_999_999)


def test_a_reports_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "reports").write_text("")
    with pytest.raises(UsageError, match="reports/ cannot be written"):
        check_space(tmp_path / "reports", 1)


def test_json_of_another_format_version_is_refused(tmp_path):
    (tmp_path / "run.json").write_text('{"format_version": 99}')
    with pytest.raises(UsageError, match="not a file of format version 1"):
        read_json(tmp_path / "run.json", 1)


def test_a_run_json_is_never_half_written(tmp_path):
    directory = RunDirectory(tmp_path)
    directory.write_run(record(name="a"))
    directory.write_run(record(name="b"))
    assert directory.read_run() == record(name="b")
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


CSV_PLAN = """<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3"><hashTree><TestPlan testname="t"/><hashTree>
  <CSVDataSet testname="pages"><stringProp name="filename">FILE</stringProp></CSVDataSet><hashTree/>
</hashTree></hashTree></jmeterTestPlan>"""


def test_data_files_of_the_plan_are_copied_into_the_run_directory(tmp_path):
    jmx_path, directory = tmp_path / "plans" / "a.jmx", RunDirectory(tmp_path / "run-01_1")
    (tmp_path / "plans" / "data").mkdir(parents=True)
    (tmp_path / "plans" / "data" / "pages.csv").write_text("home,/\n")
    jmx_path.write_text(CSV_PLAN.replace("FILE", "data/pages.csv"))
    directory.path.mkdir()
    directory.add_plan(b"<effective/>", jmx_path)
    assert directory.effective_plan.read_bytes() == b"<effective/>"
    assert (directory.path / "data" / "pages.csv").read_text() == "home,/\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("data/none.csv", "plans/a.jmx: its data file data/none.csv: No such file or directory"),
        ("../a.csv", "plans/a.jmx: its data file ../a.csv is outside of the plan's folder"),
    ],
)
def test_a_data_file_that_cannot_be_copied_is_refused(tmp_path, name, message):
    jmx_path, directory = tmp_path / "plans" / "a.jmx", RunDirectory(tmp_path / "run-01_1")
    jmx_path.parent.mkdir()
    jmx_path.write_text(CSV_PLAN.replace("FILE", name))
    directory.path.mkdir()
    with pytest.raises(UsageError) as error:
        directory.add_plan(b"", jmx_path)
    assert str(error.value).startswith(message)
