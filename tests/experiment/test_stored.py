"""Experiments that an earlier version stored, one of each kind: their reports are written again to the byte."""

import json
import tarfile
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli import main

STORED = Path(__file__).parents[1] / "data" / "experiments.tar.xz"
# The verb, the folder in the archive, the experiment there, and the exit code of its result.
KINDS = {
    "ab": ("ab", "tiny/ab-01", 1),
    "tune": ("tune", "tiny/tune-01", 0),
    "nightly": ("nightly", "2026-11-24", 1),
    "sweep": ("sweep", "tiny/sweep-01", 0),
    "capacity": ("sweep", "tiny/sweep-01", 0),
    "overload": ("overload", "tiny/overload-01", 0),
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    with tarfile.open(STORED) as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_a_name_of_no_kind_is_refused_with_those_that_are():
    with pytest.raises(UsageError, match="release-01: no experiment has such a name; names are such as ab-01"):
        main(["experiment", "release-01"])


@pytest.mark.parametrize("kind", KINDS)
def test_an_experiment_of_an_earlier_version_is_rendered_again_to_the_byte(kind, stored):
    verb, name, code = KINDS[kind]
    path = stored / kind / f"{name}.json"
    page, record = path.with_suffix(".md").read_text(), json.loads(path.read_text())
    charts = {chart.name: chart.read_bytes() for chart in sorted(path.with_suffix("").glob("*.svg"))}
    given = f"{stored / kind / name}.md" if verb in ("sweep", "overload") else name
    for spelling in (verb, "experiment", "report"):
        assert main([spelling, given, f"--reports={stored / kind}"], "aggregate.py") == code
        assert path.with_suffix(".md").read_text() == page
    again = json.loads(path.read_text())
    assert {key: again[key] for key in record} == record
    assert {chart.name: chart.read_bytes() for chart in sorted(path.with_suffix("").glob("*.svg"))} == charts
