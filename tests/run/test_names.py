"""The random ids in the names of runs and experiments, and the short names that lack them."""

import threading

import pytest

from harness.base.errors import UsageError
from harness.experiment.files import Experiments
from harness.history.pin_files import runs_of_pins, write_pins
from harness.kinds.nightly.record import NightlyRecord
from harness.kinds.overload.record import OverloadRecord
from harness.run import kinds, names
from harness.run.directory import ID_VARIABLE, reserve
from harness.run.kinds import RUN_NAME, full_names, short_name
from harness.run.names import as_samples, find_paths, find_run, full_path
from harness.storage.stored_runs import RunKey, StoredRun, Wanted, parse_folder
from harness.sweep.record import SweepRecord
from tests.support.report_folder import run_folder


@pytest.fixture
def _random(monkeypatch):
    monkeypatch.delenv(ID_VARIABLE)


def reports_with(folder, *names):
    """Make the JSON of runs and experiments of the plan `tiny`; return the reports folder."""
    (folder / "tiny").mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / "tiny" / f"{name}.json").write_text("{}")
    return folder


@pytest.mark.usefixtures("_random")
def test_names_have_random_ids_and_their_numbers_count_up(tmp_path):
    names = [reserve(tmp_path, "tiny", series).name for series in (None, None, "07")]
    assert [short_name(name) for name in names] == ["run-01_1", "run-01_2", "run-07_1"]
    assert all(RUN_NAME.fullmatch(name) and len(name) == len("run-01_1-4f2a") for name in names)
    sweep = Experiments(SweepRecord, tmp_path).reserve("tiny").name
    assert (short_name(sweep), kinds.SWEEP.series_of(sweep)) == ("sweep-08", "08")
    reserve(tmp_path, "tiny", "08")
    assert short_name(reserve(tmp_path, "tiny", None).name) == "run-07_2"  # no run joins the sweep
    nights = [Experiments(NightlyRecord, tmp_path).reserve("", "2026-11-26").name for _ in range(2)]
    assert [short_name(name) for name in nights] == ["2026-11-26", "2026-11-26-2"]


@pytest.mark.usefixtures("_random")
def test_runs_that_start_at_once_never_share_a_number(tmp_path):
    names: list[str] = []
    threads = [threading.Thread(target=lambda: names.append(reserve(tmp_path, "tiny", None).name)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(short_name, names)) == sorted(f"run-01_{number}" for number in range(1, 21))
    assert sorted(path.name for path in (tmp_path / "tiny").iterdir()) == sorted(names)


def test_the_environment_decides_the_id_of_reproducible_names(tmp_path, monkeypatch):
    monkeypatch.setenv(ID_VARIABLE, "4f2a")
    assert reserve(tmp_path, "tiny", None).name == "run-01_1-4f2a"
    monkeypatch.setenv(ID_VARIABLE, "")
    assert reserve(tmp_path, "tiny", None).name == "run-01_2"
    monkeypatch.setenv(ID_VARIABLE, "4F2A")
    with pytest.raises(UsageError, match="HARNESS_RUN_ID=4F2A: not an id; set four hexadecimal digits"):
        reserve(tmp_path, "tiny", None)


def test_the_number_after_two_merged_runs_of_one_number_is_the_next(tmp_path):
    reports = reports_with(tmp_path, "run-01_1-00aa", "run-01_1-00bb")
    assert reserve(reports, "tiny", None).name == "run-01_2"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("run-07_3-4f2a", "run-07_3"),
        ("run-07_3", "run-07_3"),
        ("run-07_3-4f2", "run-07_3-4f2"),
        ("run-07_3-4f2a-1a2b3c4d", "run-07_3-4f2a-1a2b3c4d"),
        ("sweep-1234", "sweep-1234"),  # a series of four digits is no id
        ("sweep-07-1234", "sweep-07"),
        ("2026-11-26", "2026-11-26"),
        ("2026-11-26-2", "2026-11-26-2"),
        ("2026-11-26-1234", "2026-11-26"),
        ("2026-11-26-2-1234", "2026-11-26-2"),
        ("compare-run-07_1-4f2a", "compare-run-07_1-4f2a"),
    ],
)
def test_a_short_name_lacks_the_id(name, short):
    assert short_name(name) == short


@pytest.mark.parametrize(("name", "number"), [("2026-11-26", None), ("2026-11-26-2", "2"), ("2026-11-26-1234", None)])
def test_an_id_of_digits_is_not_the_number_of_a_nightly_run(name, number):
    match = kinds.NIGHTLY.numbered.fullmatch(name)
    assert match
    assert match[4] == number


def test_a_name_that_is_there_is_no_short_name():
    assert full_names("run-07_3", ["run-07_3", "run-07_3-4f2a"]) == ["run-07_3"]
    assert full_names("run-07_3", ["run-07_3-9999", "run-07_3-4f2a"]) == ["run-07_3-4f2a", "run-07_3-9999"]
    assert full_names("run-07_3-4f2b", ["run-07_3-4f2a"]) == []


def test_a_run_is_found_by_its_short_name_with_and_without_plan_and_suffix(tmp_path, monkeypatch):
    reports = reports_with(tmp_path / "reports", "run-07_3-4f2a")
    monkeypatch.chdir(tmp_path)
    whole = reports / "tiny" / "run-07_3-4f2a"
    for name in ("run-07_3", "tiny/run-07_3", "reports/tiny/run-07_3", "reports/tiny/run-07_3.json", "run-07_3-4f2a"):
        assert [path.resolve() for path in find_paths([name], reports)] == [whole], name
    assert find_run("run-07_3", "tiny", reports) == whole
    assert [path.name for path in find_paths(["run-07_*"], reports)] == ["run-07_3-4f2a"]
    assert full_path(reports / "tiny" / "run-08_1") == reports / "tiny" / "run-08_1"
    with pytest.raises(UsageError, match=r"run-07_4: neither .* did you mean run-07_3-4f2a\?"):
        find_paths(["run-07_4"], reports)


def test_an_ambiguous_short_name_lists_the_full_ones(tmp_path):
    reports = reports_with(tmp_path, "run-07_3-4f2a", "run-07_3-9999", "sweep-07-4f2a", "sweep-07-9999")
    with pytest.raises(UsageError) as error:
        find_paths(["run-07_3"], reports)
    assert str(error.value) == (
        "run-07_3: 2 of tiny have this short name; choose one: tiny/run-07_3-4f2a, tiny/run-07_3-9999"
    )
    sweeps = Experiments(SweepRecord, reports)
    for text in ("sweep-07", "07", "7", "tiny/sweep-07"):
        with pytest.raises(UsageError, match="choose one: tiny/sweep-07-4f2a, tiny/sweep-07-9999"):
            sweeps.find(text, "tiny")


def test_experiments_are_found_by_short_names(tmp_path):
    reports = reports_with(tmp_path, "sweep-07-4f2a", "sweep-08", "overload-02-4f2a", "overload-03-4f2a")
    sweeps = Experiments(SweepRecord, reports)
    for text in ("sweep-07", "07", "7", "tiny/sweep-07", "07-4f2a", "sweep-07-4f2a"):
        assert sweeps.find(text, "tiny").name == "sweep-07-4f2a"
    assert sweeps.find("8", "tiny").name == "sweep-08"
    tests = Experiments(OverloadRecord, reports)
    for text in ("overload-02", "tiny/overload-02", "tiny/overload-02.json", "overload-02-4f2a"):
        assert tests.find(text).name == "overload-02-4f2a"
    (reports / "tiny" / "overload-02-0000.json").write_text("{}")
    for text in ("overload-02", "tiny/overload-02"):
        with pytest.raises(UsageError, match=r"choose one: tiny/overload-02-0000, tiny/overload-02-4f2a$"):
            tests.find(text)


def test_a_nightly_run_is_found_by_its_date(tmp_path):
    tmp_path = tmp_path / "nightly"
    tmp_path.mkdir()
    for name in ("2026-11-26-4f2a", "2026-11-26-2-00aa"):
        (tmp_path / f"{name}.json").write_text("{}")
    nightly = Experiments(NightlyRecord, tmp_path)
    assert nightly.find("2026-11-26").name == "2026-11-26-4f2a"
    assert nightly.find("2026-11-26-2").name == "2026-11-26-2-00aa"
    (tmp_path / "2026-11-26-9999.json").write_text("{}")
    several = r"2 of nightly have this short name; choose one: nightly/2026-11-26-4f2a, nightly/2026-11-26-9999$"
    with pytest.raises(UsageError, match=several):
        nightly.find("2026-11-26")


def test_a_pin_keeps_the_name_that_it_has(tmp_path):
    reports = reports_with(tmp_path, "run-01_1", "run-01_1-4f2a", "run-01_2-4f2a")
    write_pins(reports / "tiny", {"old": "run-01_1", "new": "run-01_1-4f2a", "short": "run-01_2"})
    names = runs_of_pins(["old", "new", "short"], [], reports)
    assert [path.name for path in find_paths(names, reports)] == ["run-01_1", "run-01_1-4f2a", "run-01_2-4f2a"]


def test_stored_runs_have_short_names_and_old_keys_remain_valid():
    ids = [
        "run-07_1-1a2b3c4d",
        "run-07_1-4f2a-1a2b3c4d",
        "run-07_2-4f2a-00000000",
        "run-07_3-4f2a-1",
        "run-07_3-9999-1",
    ]
    keys = [parse_folder(RunKey("tiny", "local", "2026-01-01", one).folder) for one in ids]
    assert [key.name for key in keys if key] == [one.rpartition("-")[0] for one in ids]
    assert [key.order[2:4] for key in keys if key] == [(7, 1), (7, 1), (7, 2), (7, 3), (7, 3)]
    runs = [StoredRun(key, True, 1, 1) for key in keys if key]
    for name, found in (("run-07_1", ids[:1]), ("tiny/run-07_1-4f2a", ids[1:2]), ("tiny/run-07_2", ids[2:3])):
        assert [run.key.run_id for run in Wanted((name,)).of(runs)] == found
    with pytest.raises(UsageError, match=r"choose one: tiny/run-07_3-4f2a, tiny/run-07_3-9999$"):
        Wanted(("run-07_3",)).of(runs)


NAMES = ("tiny/run-01_1-4f2a", "tiny/run-01_1", "run-01_1-4f2a", "run-01_1", "-1", "tiny/-1", "run-01_*", "tiny/run-*")


@pytest.mark.parametrize("name", [*NAMES, "reports/tiny/run-01_1-4f2a", "reports/tiny/run-01_1"])
def test_samples_are_found_by_each_name_of_a_run(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    reports_with(tmp_path / "reports")
    run_folder(tmp_path / "reports", "tiny/run-01_1-4f2a")
    assert as_samples(name, tmp_path / "reports") == ["reports/tiny/run-01_1-4f2a"]


def test_names_of_files_are_left_to_their_reader_and_wrong_ones_of_runs_are_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    reports = reports_with(tmp_path / "reports", "run-02_1-4f2a")
    (tmp_path / "run-9.jtl").touch()
    for name in ("-", "s3://bucket/run-01_1", "run-9.jtl", "*.jtl", "gone.jtl", "no-*.jtl", str(reports)):
        assert as_samples(name, reports) == [name]
    with pytest.raises(UsageError, match="run-07_1: neither a file nor a run in reports/; did you mean run-02"):
        as_samples("run-07_1", reports)
    with pytest.raises(UsageError, match="tiny/run-02_1-4f2a: its samples are not on this machine; lth pull"):
        as_samples("run-02_1", reports)


def test_a_file_is_read_beside_a_project_that_cannot_be(tmp_path, monkeypatch):
    def broken():
        raise UsageError("loadtest.toml: a wrong line", "correct the file")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(names, "current_project", broken)
    (tmp_path / "a.jtl").touch()
    assert as_samples("a.jtl") == ["a.jtl"]
    with pytest.raises(UsageError, match="a wrong line"):
        as_samples("run-01_1")
