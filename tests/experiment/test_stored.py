"""Experiments that an earlier version stored, one of each kind: their reports are written again with all numbers."""

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main

STORED = Path(__file__).parents[1] / "data" / "experiments.tar.xz"
# The verb, the folder in the archive, the experiment there, and the exit code of its result.
KINDS = {
    "ab": ("ab", "tiny/ab-01", 1),
    "tune": ("tune", "tiny/tune-01", 0),
    "bisect": ("bisect", "tiny/bisect-01", 0),
    "trust": ("trust", "tiny/trust-01", 0),
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


def numbers(page: str) -> set[str]:
    """Return the numbers of a page, 1.00 as 1; its last line has a checksum of the others."""
    found = re.findall(r"\d+(?:[.,]\d+)*", page.rpartition("\n<!-- outside")[0])
    return {number.removesuffix(".00") for number in found}


def decided(page: str) -> str:
    """Return a page without the numbers of rows with CANNOT TELL, of whose changes only the size is shown."""
    return "\n".join(line for line in page.splitlines() if "CANNOT TELL" not in line)


def spellings(number: str) -> set[str]:
    """Return a number with as many digits as it had, and with fewer: a change has no more than its interval."""
    try:
        value = float(number)
    except ValueError:  # a version, a count with commas
        return {number}
    # A number of two decimals was rounded itself.
    exact = (value - 0.005, value, value + 0.005)
    return {number, *(f"{one:.{decimals}f}" for one in exact for decimals in (0, 1))}


# Since 1.2.0 single runs are judged by how runs scatter: trust knows how often equal ones are REGRESSED.
KNOWN_LATER = (("alarm_ratio", None),)


def with_keys_of(new: Any, old: Any) -> Any:
    """Return plain data without keys and metrics that only later versions write, and with null where they know more."""
    if isinstance(new, dict) and isinstance(old, dict):
        return {
            key: None if (key, value) in KNOWN_LATER else with_keys_of(new.get(key), value)
            for key, value in old.items()
        }
    if isinstance(new, list) and isinstance(old, list):
        known = [one["metric"] for one in old if isinstance(one, dict) and "metric" in one]
        new = [one for one in new if one.get("metric") in known] if known else new
    if isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        return [with_keys_of(*pair) for pair in zip(new, old, strict=True)]
    return new


def rounded(value: Any) -> Any:
    """Return plain data with nine digits of each number: another processor adds in another order."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


@pytest.mark.parametrize("kind", KINDS)
def test_an_experiment_of_an_earlier_version_is_rendered_again_with_every_number(kind, stored):
    verb, name, code = KINDS[kind]
    path = stored / kind / f"{name}.json"
    page, record = path.with_suffix(".md").read_text(), json.loads(path.read_text())
    charts = {chart.name for chart in path.with_suffix("").glob("*.svg")}
    given = f"{stored / kind / name}.md" if verb in ("sweep", "overload") else name
    pages = set()
    for spelling in (verb, "experiment", "report"):
        assert main([spelling, given, f"--reports={stored / kind}"], "aggregate.py") == code
        pages.add(path.with_suffix(".md").read_text())
    [rendered] = pages
    shown = numbers(rendered)
    assert {
        number for number in numbers(decided(page)) if not any(text in shown for text in spellings(number))
    } == set()
    again = json.loads(path.read_text())
    for facts in (record, again, record.get("result", {}), again.get("result", {})):
        for words in ("headline", "next_steps"):  # texts, which may have other words
            facts.pop(words, None)
    assert rounded(with_keys_of(again, record)) == rounded(record)
    assert {chart.name for chart in path.with_suffix("").glob("*.svg")} >= charts
