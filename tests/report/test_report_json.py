"""The JSON of a run and its schema: valid, strict, described, and read back equal."""

import json

import jsonschema
import pytest

from harness.base.records import build
from harness.jtl.sample import Dropped
from harness.judge.summarise import SummaryOptions, summarise
from harness.judge.summary import FORMAT_VERSION, RunSummary
from harness.report.files import write_report
from harness.run.directory import json_text
from tests.support.factories import closed_load, failed, record, sample, tally_of
from tests.support.full_run import START_MS, add_histograms, add_profile, add_snapshots
from tests.support.paths import ROOT

SCHEMA = json.loads((ROOT / "harness" / "report" / "schema" / "summary.schema.json").read_text(encoding="utf-8"))


def summaries():
    dropped = Dropped()
    dropped.note(7, "torn record")
    return {
        "a bare JTL of one sample": summarise(tally_of([sample()]), "samples.jtl"),
        "columns that are not there": summarise(
            tally_of([sample(sent_bytes=None, all_threads=None, latency_ms=None)], dropped=dropped), "samples.jtl"
        ),
        "no sample at all": summarise(tally_of([]), "tiny/run-01_1", record()),
        "setUp alone": summarise(tally_of([failed(thread_name="setUp 1-1")]), "tiny/run-01_1", record()),
        "open load": summarise(
            tally_of([sample(), failed()]),
            "tiny/run-01_1",
            record(load=closed_load(users=None, model="open", rate_per_s=2.0), target="http://shop", git_commit=None),
        ),
        "requested percentiles": summarise(
            tally_of([sample()]), "samples.jtl", options=SummaryOptions(percentiles=("50", "90", "99.99"))
        ),
    }


@pytest.mark.parametrize("name", summaries())
def test_the_json_of_any_summary_is_valid_and_reads_back_equal(name):
    summary = summaries()[name]
    data = json.loads(json_text(summary))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert build(RunSummary, data) == summary


@pytest.mark.real
def test_the_json_of_a_complete_run_is_valid_and_reads_back_equal(directory):
    add_profile(directory)
    add_snapshots(directory)
    add_histograms(directory)
    rows = directory.samples.read_text(encoding="utf-8")
    begin, middle, end = rows.partition(f"{START_MS + 50_000},")
    directory.samples.write_text(begin + middle + end.replace(",900,Pay", ",990,Pay", 6), encoding="utf-8")
    write_report(directory)
    text = directory.summary_json.read_text(encoding="utf-8")
    data = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert data["format_version"] == FORMAT_VERSION
    # A window of 100 s is too short for growth, the JVM is not one that runs elsewhere, no process was stopped, no
    # answer was streamed, and all is HTTP.
    lists = {key: values for key, values in data["observed"].items() if isinstance(values, list)}
    empty = [key for key, values in lists.items() if not values]
    assert empty == ["growths", "recorded", "stops", "streams", "amounts"]
    assert data["whole"]["total"]["sample_count"] == 190
    assert json_text(build(RunSummary, data)) == text


def test_an_unknown_or_missing_key_is_refused(reported):
    data = json.loads(reported.summary_json.read_text(encoding="utf-8"))
    for broken in ({**data, "extra": 1}, {key: value for key, value in data.items() if key != "window"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(broken)


def objects_of(schema):
    """Every object that the schema describes by its properties."""
    if isinstance(schema, list):
        return [found for item in schema for found in objects_of(item)]
    if not isinstance(schema, dict):
        return []
    here = [schema] if schema.get("type") == "object" and "properties" in schema else []
    return here + [found for item in schema.values() for found in objects_of(item)]


@pytest.mark.real
def test_the_schema_is_strict_and_describes_every_key():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found = objects_of(SCHEMA)
    assert len(found) > 20
    for schema in found:
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) == set(schema["properties"])
        for name, described in schema["properties"].items():
            assert "description" in described or "$ref" in described, name
    assert all("description" in definition for definition in SCHEMA["$defs"].values())


def test_a_time_series_is_one_line_of_the_json(reported):
    lines = reported.summary_json.read_text(encoding="utf-8").splitlines()
    assert sum(line.lstrip().startswith('"seconds": [') for line in lines) == 3  # two processes and a heap
    assert len(lines) < 860
