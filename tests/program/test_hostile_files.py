"""Hostile and broken files in the reports folder: one line that names the file, and other runs go on."""

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import HarnessError
from harness.base.strict_json import parse_object
from harness.cli import verbs as aggregate
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.run.directory import json_text
from tests.support.report_folder import add_run
from tests.support.sweeps import NEW_SWEEP, measured_level

DEEP = "[" * 100_000 + "]" * 100_000
HOSTILE = {
    "deep": DEEP,
    "deep object": '{"format_version": 3, "groups": ' + DEEP + "}",
    "moderately deep": '{"format_version": 3, "groups": ' + "[" * 500 + "]" * 500 + "}",
    "huge integer": '{"format_version": ' + "9" * 5000 + "}",
    "large integer": '{"format_version": 3, "origin_s": ' + "9" * 400 + "}",
    "infinite": '{"format_version": 1e999}',
    "nan": '{"format_version": NaN}',
    "a number": "42",
    "a boolean as version": '{"format_version": true}',
    "nul bytes": "\0" * 100,
    "empty": "",
    "torn": '{"format_version": 3, "groups": [',
}
# All commands read each of them, which takes some time: all but these are left to `make test`.
QUICK = ("deep", "nan", "torn")
every_kind = pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.real) for kind in HOSTILE]
)
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 10**15, 10**18, -(10**18), 1e308, "", "x", "\0", "\ud800", [], [1], {}, {"a": 1},
    [[]], "../..",
)  # fmt: skip


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A folder with two good runs and a sweep of them."""
    folder = tmp_path / "reports"
    for number in (1, 2):
        add_run(folder, f"tiny/run-01_{number}")
    return folder


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit code of aggregate.py and what it wrote to stderr; an error of the harness itself is raised."""
    try:
        code = aggregate.main([*arguments])
    except HarnessError as error:
        return error.exit_code, str(error)
    return code, capsys.readouterr().err


def commands(reports: Path, site: Path) -> dict[str, list[str]]:
    """The commands that read the JSON of runs: those that name run-01_1, and those that read all of a folder."""
    here = ["--reports", str(reports)]
    one, two = str(reports / "tiny" / "run-01_1"), str(reports / "tiny" / "run-01_2")
    return {
        "report": ["report", one],
        "table": ["table", one],
        "compare": ["compare", one, two, *here],
        "history": ["history", str(reports), "--plan", "tiny"],
        "summary": ["summary", str(reports)],
        "site": ["site", str(reports), "--output", str(site)],
    }


@pytest.mark.parametrize("text", [text for name, text in HOSTILE.items() if "version" not in name], ids=len)
def test_json_with_unusable_values_is_refused(text):
    with pytest.raises(ValueError):
        parse_object(text.encode())


@pytest.mark.real
@every_kind
def test_a_hostile_json_of_a_run_ends_in_one_line_that_names_it(reports, tmp_path, capsys, kind):
    directory = reports / "tiny" / "run-01_1"
    (directory / "samples.jtl").unlink()  # else its report is made of the samples
    directory.with_suffix(".json").write_text(HOSTILE[kind])
    for name, arguments in commands(reports, tmp_path / "site").items():
        code, text = outcome(capsys, *arguments)
        assert "Traceback" not in text
        if name in ("report", "compare"):
            assert code == 2, name
            assert "run-01_1" in text, name
            assert len(text.strip().splitlines()) == 1, name
    write_summary(reports)
    page = (reports / SUMMARY_NAME).read_text()
    assert "run-01_2" in page
    assert "its JSON" in page


@pytest.mark.real
@pytest.mark.parametrize("text", [DEEP, '{"format_version": NaN}', "\0"], ids=["deep", "nan", "nul"])
def test_a_hostile_file_of_another_run_does_not_end_a_later_run(run, target, tmp_path, text):
    folder = tmp_path / "reports" / "tiny"
    folder.mkdir(parents=True)
    (folder / "run-01_1.json").write_text(text)
    (folder / "sweep-01.json").write_text(text)
    done = run("--target", target, "--duration", "1", "--series", "7")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert (folder / "run-07_1.md").is_file()


def test_errors_name_the_file_and_not_its_content(reports, capsys):
    path = reports / "tiny" / "run-01_1.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "source": None, "verdict": 5}))
    (reports / "tiny" / "run-01_1" / "run.json").unlink()
    code, text = outcome(capsys, "report", str(path.with_suffix("")))
    assert code == 2
    assert "run-01_1.json: not the JSON of a summary" in text
    assert "None:" not in text


@pytest.mark.real
@every_kind
def test_a_hostile_run_json_is_listed_and_named(reports, tmp_path, capsys, kind):
    directory = reports / "tiny" / "run-01_1"
    (directory / "run.json").write_text(HOSTILE[kind])
    code, text = outcome(capsys, "report", str(directory))
    assert (code, "run-01_1/run.json" in text, len(text.strip().splitlines())) == (2, True, 1)
    for arguments in commands(reports, tmp_path / "site").values():
        outcome(capsys, *arguments)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in plain data."""
    items = data.items() if isinstance(data, dict) else enumerate(data[:2]) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of the data with another value at a path."""
    copied = copy.deepcopy(data)
    at = copied
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return copied


def mutations(text: str, count: int, seed: int) -> Iterator[tuple[tuple[Any, ...], Any, str]]:
    """Yield `count` random changes of one value each, as path, value and JSON."""
    data, random_one = json.loads(text), random.Random(seed)
    every = list(places(data))
    for _ in range(count):
        path, value = random_one.choice(every), random_one.choice(VALUES)
        yield path, value, json.dumps(changed(data, path, value))


@pytest.mark.real
@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.counterpart) for one in (1, 2))])
@pytest.mark.parametrize("name", ["run-01_1.json", "run-01_1/run.json"])
def test_a_value_of_another_type_is_never_an_internal_error(reports, tmp_path, capsys, name, seed):
    path = reports / "tiny" / name
    good = path.read_text()
    every = list(commands(reports, tmp_path / "site").values())
    if name.endswith("_1.json"):
        (reports / "tiny" / "run-01_1" / "samples.jtl").unlink()
    for number, (where, value, text) in enumerate(mutations(good, 40, seed)):
        path.write_text(text)
        for arguments in (every[number % len(every)], ["summary", str(reports)]):
            try:
                outcome(capsys, *arguments)
            except (Exception, SystemExit) as error:
                raise AssertionError(f"{arguments[0]} with {where} = {value!r}") from error


@pytest.mark.real
@pytest.mark.parametrize("seed", range(2))
def test_a_value_of_another_type_in_a_sweeps_record_is_never_an_internal_error(tmp_path, capsys, seed):
    reports = tmp_path / "reports"
    for number in (1, 2):
        add_run(reports, f"tiny/run-01_{number}", users=number)
    path = reports / "tiny" / "sweep-01.json"
    runs = tuple(measured_level(number, 1, f"run-01_{number}") for number in (1, 2))
    good = json_text(replace(NEW_SWEEP, name="sweep-01", users=(1, 2), runs=runs))
    for where, value, text in mutations(good, 60, seed):
        path.write_text(text)
        try:
            outcome(capsys, "sweep", str(path.with_suffix("")), "--reports", str(reports))
        except (Exception, SystemExit) as error:
            raise AssertionError(f"{where} = {value!r}") from error
