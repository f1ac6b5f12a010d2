"""aggregate.py compare with pins: names of runs that may be moved to other runs."""

import shutil

import pytest

from harness.base.errors import UsageError
from harness.history.pin_files import write_pins


def pin(reports, plan, **runs):
    write_pins(reports / plan, runs)


@pytest.mark.parametrize("base", ["baseline", "tiny/baseline"])
def test_a_pin_is_a_name_of_its_run(compare, reports, capsys, base):
    pin(reports, "tiny", baseline="run-07_1")
    assert compare(base, "run-07_3", "--save") == 1
    # The pin may be moved later: the report names the run.
    saved = (reports / "tiny" / "compare-run-07_1-run-07_3.md").read_text()
    assert "lth compare tiny/run-07_1 tiny/run-07_3;" in saved
    assert "average 100 → 200 ms (+100 %)" in capsys.readouterr().out
    assert compare("--base", base, "run-07_2", "--new", "run-07_3", "--plan", "tiny") in (0, 1)


def test_a_pin_of_several_plans_is_that_of_the_plan_of_the_other_side(compare, reports):
    shutil.copytree(reports / "tiny", reports / "other")
    (reports / "other" / "run-07_3.json").rename(reports / "other" / "run-09_1.json")
    for plan in ("tiny", "other"):
        pin(reports, plan, baseline="run-07_1")
    compare("baseline", "tiny/run-07_2", "--save")
    assert (reports / "tiny" / "compare-run-07_1-run-07_2.md").is_file()
    compare("baseline", "run-09_1", "--save")
    assert (reports / "other" / "compare-run-07_1-run-09_1.md").is_file()
    compare("baseline", "run-07_2", "--save", "--plan", "other")
    assert (reports / "other" / "compare-run-07_1-run-07_2.md").is_file()
    with pytest.raises(UsageError, match="baseline: 2 plans have this pin; choose one: other/baseline, tiny/baseline"):
        compare("baseline", "run-07_2")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["baselin", "run-07_2"],
            "baselin: neither a file nor a run in reports/; did you mean baseline? pins: baseline, gone",
        ),
        (
            ["run-07_1", "tiny/baselin"],
            "tiny/baselin: neither a file nor a run in reports/; did you mean baseline? pins: baseline, gone",
        ),
        (["main", "run-07_2"], "main: neither a file nor a run in reports/; there are: tiny/run-07_1"),
        (["gone", "run-07_2"], "gone: the pinned run tiny/run-09_9 no longer exists; pin another run: lth pin"),
        (["baseline"], "compare: tiny/run-07_1 is one run, and no other run's table is pasted into it"),
        (["baseline", "run-07_1"], "tiny/run-07_1: given twice"),
    ],
)
def test_a_wrong_pin_is_refused_in_one_line(compare, reports, arguments, line):
    pin(reports, "tiny", baseline="run-07_1", gone="run-09_9")
    with pytest.raises(UsageError) as refused:
        compare(*arguments)
    assert str(refused.value).startswith(line)


def test_a_wrong_file_of_pins_does_not_concern_a_comparison_without_a_pin(compare, reports):
    (reports / "tiny" / "pinned.toml").write_text("[")
    assert compare("run-07_1", "tiny/run-07_2") == 0
    with pytest.raises(UsageError, match=r"tiny/pinned\.toml: "):
        compare("baseline", "run-07_2")
