"""Pinned reference runs, and `aggregate.py pin` as a user calls it."""

import pytest

from harness.base.errors import UsageError
from harness.history.pin_files import read_pins, write_pins
from tests.support.commands import command
from tests.support.report_folder import add_run


@pytest.fixture
def reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    add_run(tmp_path / "reports", "tiny/run-01_1")
    return tmp_path / "reports"


def pin(*arguments, folder="reports"):
    return command("aggregate.py", "pin", "--reports", folder, *arguments)


def printed(*arguments):
    done = pin(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refused(*arguments):
    done = pin(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr.removeprefix("aggregate.py: ").rstrip("\n")


def test_a_pin_is_a_line_of_toml_that_names_the_run(reports):
    assert printed("run-01_1") == "reports/tiny/pinned.toml: baseline is run-01_1. Commit the file.\n"
    assert (reports / "tiny" / "pinned.toml").read_text() == (
        "# Reference runs of this plan: the report of every new run is compared with them. Written by lth pin; "
        'commit it.\nformat_version = 1\n[pins]\nbaseline = "run-01_1"\n'
    )
    assert read_pins(reports / "tiny") == {"baseline": "run-01_1"}


def test_pins_are_listed_moved_and_removed(reports):
    assert printed() == "No run is pinned. To pin the newest: lth baseline -1\n"
    add_run(reports, "tiny/run-01_2")
    printed("tiny/run-01_1", "--as", "release-4")
    printed("reports/tiny/run-01_1.md")
    assert "baseline is run-01_2 (it was run-01_1)." in printed("run-01_2", "--plan", "tiny")
    started = "VALID, started 2026-01-01T00:00:00Z"
    assert printed() == f"tiny: baseline is run-01_2, {started}\ntiny: release-4 is run-01_1, {started}\n"
    assert printed("--plan", "other") == "No run of other is pinned. To pin the newest: lth baseline -1\n"
    printed("--remove", "baseline")
    assert read_pins(reports / "tiny") == {"release-4": "run-01_1"}
    printed("--remove", "release-4", "--plan", "tiny")
    assert not (reports / "tiny" / "pinned.toml").exists()


def test_a_pin_of_a_deleted_run_is_listed_as_such(reports):
    write_pins(reports / "tiny", {"old": "run-09_9"})
    assert printed() == "tiny: old is run-09_9, deleted\n"


@pytest.mark.real
def test_a_doubtful_run_is_pinned_with_a_warning_and_an_invalid_one_is_refused(reports):
    add_run(reports, "tiny/run-01_2", samples=60, seconds=120)
    assert "tiny/run-01_2 is DOUBTFUL: every comparison with it is CANNOT TELL" in printed("run-01_2")
    add_run(reports, "tiny/run-01_3", failures=120)
    assert refused("run-01_3") == "tiny/run-01_3: INVALID, so nothing can be compared with it; pin a VALID run"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["run-01_9"],
            "run-01_9: neither a file nor a run in reports/; did you mean run-01_1? there are: tiny/run-01_1",
        ),
        (["run-01_1", "--as", "run-07_1"], "--as run-07_1: not a name of a pin; use letters, digits, - and _"),
        (["run-01_1", "--as", "a.b"], "--as a.b: not a name of a pin; use letters"),
        (["run-01_1", "--as", ""], "--as : not a name of a pin; use letters"),
        (["--as", "old"], "--as needs a run; name the run to pin"),
        (["--remove", "old"], "old: no plan has this pin; there are: none"),
        (["--remove", "old", "--plan", "tiny"], "old: no pin of tiny; it has no pins"),
        (["--remove", "old", "run-01_1"], "--remove takes neither a run nor --as; name only the pin"),
        (["reports/tiny"], "reports/tiny: not a run in reports/; name one such as run-07_1"),
    ],
)
@pytest.mark.usefixtures("reports")
def test_wrong_use_is_one_line(arguments, line):
    text = refused(*arguments)
    assert text.startswith(line)
    assert "\n" not in text


@pytest.mark.real
def test_a_pin_that_several_plans_have_needs_its_plan_to_be_removed(reports):
    add_run(reports, "other/run-01_1")
    for plan in ("tiny", "other"):
        printed(f"{plan}/run-01_1")
    assert refused("--remove", "baseline") == "baseline: 2 plans have this pin; add --plan: other, tiny"
    assert refused("--remove", "baselin", "--plan", "tiny") == (
        "baselin: no pin of tiny; did you mean baseline? there are: baseline"
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("format_version = 1\n[pins\n", "tiny/pinned.toml: Expected"),
        ("format_version = 2\n", "tiny/pinned.toml: format_version is 2; this version of the harness reads 1"),
        ("format_version = 1\n[pins]\nold = 3\n", "tiny/pinned.toml [pins]: old = 3; give the name of a run of this"),
        ('format_version = 1\n[pins]\nold = "../x"\n', "tiny/pinned.toml [pins]: old = '../x'; give the name of a run"),
        ('format_version = 1\n[pin]\nold = "run-01_1"\n', "tiny/pinned.toml: unknown key pin; did you mean pins?"),
    ],
)
def test_a_wrong_file_of_pins_is_refused_in_one_line(tmp_path, text, line):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "pinned.toml").write_text(text)
    with pytest.raises(UsageError) as error:
        read_pins(folder)
    assert str(error.value).startswith(line)
