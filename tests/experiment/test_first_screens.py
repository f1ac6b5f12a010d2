"""What a reader sees first of a comparison, an A/B test, a designed experiment, a nightly run and a history."""

import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli.verbs import main
from harness.kinds.ab.outcome import outcome_of as ab_outcome
from harness.kinds.ab.record import AbRecord
from harness.kinds.ab.render import ab_report
from harness.kinds.nightly.outcome import nightly_result
from harness.kinds.nightly.record import LoadRun
from harness.kinds.nightly.render import nightly_report
from harness.kinds.tune.outcome import outcome_of as tune_outcome
from harness.kinds.tune.record import TuneRecord
from harness.kinds.tune.render import tune_report
from harness.run.directory import load_record
from tests.experiment.test_stored import STORED
from tests.support.first_screens import assert_first_screen, screen_of
from tests.support.nightly_runs import ended, entries, nightly_record

# The verb, the experiment in the archive, and the parts of its first screen.
KINDS = {
    "ab": ("ab", "tiny/ab-01", ("answer", "chart", "table", "doubts")),
    "tune": ("tune", "tiny/tune-01", ("answer", "chart", "table", "doubts", "steps")),
    "nightly": ("nightly", "2026-11-24", ("answer", "goals", "table", "doubts", "steps")),
}
STEADY = (100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0, 101.0)


@pytest.fixture
def stored(tmp_path) -> Path:
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def page_of(stored: Path, kind: str, **changes: object) -> str:
    """Return the page of a stored experiment, rendered again with changes of its record."""
    verb, name, _ = KINDS[kind]
    path = stored / kind / f"{name}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    main([verb, path.stem, f"--reports={stored / kind}"], "aggregate.py")
    return path.with_suffix(".md").read_text()


@pytest.mark.real
@pytest.mark.parametrize("kind", KINDS)
def test_a_finished_experiment_has_its_parts_in_their_order(kind, stored):
    assert_first_screen(page_of(stored, kind), *KINDS[kind][2])


@pytest.mark.real
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_experiment_says_so_first_and_how_it_continues(kind, stored):
    page = page_of(stored, kind, state="running")
    assert_first_screen(page, *KINDS[kind][2], "steps")
    assert "**INTERRUPTED, so far " in screen_of(page)
    assert "--resume=" in screen_of(page)


@pytest.mark.real
@pytest.mark.parametrize(
    ("kind", "record_type", "outcome_of", "render"),
    [("ab", AbRecord, ab_outcome, ab_report), ("tune", TuneRecord, tune_outcome, tune_report)],
)
def test_an_experiment_that_measured_nothing_says_what_is_missing(kind, record_type, outcome_of, render, stored):
    record = load_record(record_type, stored / kind / f"{KINDS[kind][1]}.json")
    page = render(outcome_of(replace(record, runs=()), {}), (), "")
    assert_first_screen(page, "answer", "steps")
    assert "\u26a0\ufe0f **CANNOT TELL" in page
    failed = replace(record.runs[0], run=None, exit_code=3, problem="lth run ended with code 3: " + "no " * 30)
    page = render(outcome_of(replace(record, runs=(failed,)), {}), (), "")
    assert_first_screen(page, "answer", "doubts", "steps")
    assert "\u274c **INVALID: the warm-up run" in page


@pytest.mark.parametrize(
    ("night", "parts"),
    [
        ((), ("answer", "table")),
        ((100.0,), ("answer", "table")),
        ((130.0,), ("answer", "table", "steps")),
        ((130.0, 131.0), ("answer", "table", "steps")),
    ],
    ids=["first", "ok", "warned", "regressed"],
)
def test_a_nightly_run_has_its_parts_in_their_order(night, parts):
    result = nightly_result(nightly_record(ended()), entries(*(STEADY if night else ()), *(night or (100.0,))), ())
    assert_first_screen(nightly_report(result, {}, ""), *parts)


def test_a_nightly_run_that_measured_nothing_is_invalid():
    record = nightly_record(LoadRun(0, 1), ended(2, run=None, problem="it hung"))
    page = nightly_report(nightly_result(record, (), ()), {}, "")
    assert_first_screen(page, "answer", "table", "doubts")
    assert "\u274c **INVALID: 1 of 2 runs NOT RUN, 1 FAILED.**" in page
