"""What grew inside the system between the two sides of a named commit: from a stored bisection with profiles."""

import json
import tarfile
from dataclasses import asdict

import pytest

from harness.cli.verbs import main
from harness.system.profile import Collections, MethodUse, ProcessProfile
from tests.support.paths import ROOT
from tests.support.results import tail_account

# The step is between the candidates 1 and 2 (delay_ms=1 and 20).
BEFORE, NAMED = 1, 2


@pytest.fixture
def page_with(tmp_path):
    """Write the report with so many of 2,000 samples of a method by candidate, and their tails; return it."""
    with tarfile.open(ROOT / "tests" / "data" / "experiments.tar.xz") as archive:
        archive.extractall(tmp_path, [one for one in archive if one.name.startswith("bisect/")], filter="data")
    folder = tmp_path / "bisect" / "tiny"

    def write(samples, tails=None):
        for run in json.loads((folder / "bisect-01.json").read_text())["runs"]:
            path = folder / f"{run['run']}.json"
            data, count = json.loads(path.read_text()), samples.get(run["candidate"], 0)
            data["run"]["is_profiled"] = bool(samples)
            methods = (MethodUse("shop.Cart.lock", count, 2_000),)
            profile = ProcessProfile("web", 100.0, 2_000, methods, 0.0, (), 0, (), Collections(0, 0.0, 0.0))
            data["observed"]["profiles"] = [asdict(profile)] if samples else []
            data["observed"]["tails"] = [asdict(one) for one in (tails or {}).get(run["candidate"], ())]
            path.write_text(json.dumps(data))
        assert main(["experiment", "tiny/bisect-01", f"--reports={tmp_path / 'bisect'}"], "aggregate.py") == 0
        return (folder / "bisect-01.md").read_text()

    return write


def test_what_grew_with_the_named_one_is_a_table(page_with):
    page = page_with({BEFORE: 400, NAMED: 1_200})
    assert "## What grew inside the system\n\n| kind | process | what | before per request | after per" in page
    assert "| method | web | shop.Cart.lock | " in page
    assert "- See below what grew inside the system, first of all method Cart.lock of web +" in page


def test_what_slow_requests_wait_longer_for_with_the_named_one_is_said_with_its_interval(page_with):
    tails = {BEFORE: [tail_account(lock=390)], NAMED: [tail_account(900, lock=800)]}
    page = page_with({BEFORE: 400, NAMED: 400}, tails)
    assert "first of all slow requests of Pay: lock at Till +410 ms (" in page
    assert "| slow requests of Pay |  | lock at shop.Till | 390 ms | 800 ms | +410 ms (" in page


@pytest.mark.parametrize("samples", [{}, {BEFORE: 400, NAMED: 410}, {0: 400, BEFORE: 400, NAMED: 400, 4: 1_900}])
def test_nothing_is_said_without_profiles_or_when_nothing_grew_there_beyond_noise(page_with, samples):
    page = page_with(samples)
    assert "FOUND" in page
    assert "grew inside" not in page
