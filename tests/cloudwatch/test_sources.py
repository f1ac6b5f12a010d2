"""Sources of metrics: a new one is an object in a table; profile, report and `metrics` then know it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import UsageError
from harness.base.log import Log
from harness.cli.verbs import main
from harness.cloudwatch import sources
from harness.cloudwatch.points import COMPLETE, Answers
from harness.cloudwatch.queries import CPU, STATISTICS, Metric, Query, whole_periods
from harness.cloudwatch.services import Missing, Services
from harness.cloudwatch.source import Fetched, MetricsSpec, Resource, ResourceFacts
from harness.metrics.window import Window
from harness.plan.spec import load_profile
from harness.report.cloudwatch import metrics_after
from harness.report.files import summary_of_run
from harness.report.schema import generate
from harness.sweep.levels import Figures, LevelRun, levels_of
from harness.sweep.processes import cloud_level_tables, cloud_title
from tests.support.report_folder import add_run


@dataclass(frozen=True)
class FakeSpec:
    """What [fake] requests; it has a field that CloudWatch does not know, and none of CloudWatch's own."""

    used_ratio: float
    period_s: int
    resources: tuple[Resource, ...]


class Fake:
    """A source whose hosts always use the same part of their CPU."""

    name = "fake"
    title = "Fake"
    spec_type = FakeSpec
    kinds: Mapping[str, str] = {"fake": "host"}
    metrics: Mapping[str, tuple[str, ...]] = {"fake": (CPU,)}

    def parse(self, table: Mapping[str, Any], where: str) -> FakeSpec:
        assert where == "env/far.toml [fake]"
        return FakeSpec(0.5, 60, tuple(Resource("fake", name) for name in table["hosts"]))

    def infrastructure(self, spec: FakeSpec, log: Log) -> tuple[ResourceFacts, ...]:
        log(f"Fake does not know how {len(spec.resources)} hosts are set up")
        return ()

    def services(self, spec: FakeSpec, origin_s: int, window: Window) -> Services:
        what = f"{len(spec.resources)} databases from {origin_s} to {origin_s + window.run_s}"
        return Services((Missing(self.title, what, "it has none"),))

    def fetch(self, spec: FakeSpec, from_s: int, to_s: int, log: Log) -> Fetched:
        log("one\nline")
        span = whole_periods(from_s, to_s, spec.period_s)
        cpu = Metric(CPU, "", "")
        queries = [Query(f"{one.name} {name}", one, cpu, name) for one in spec.resources for name in STATISTICS]
        values = {query.id: dict.fromkeys(span.starts_s, spec.used_ratio) for query in queries}
        answers = Answers(values, dict.fromkeys(values, COMPLETE))
        return Fetched(answers.to_csv(queries, span), span.period_s, not values)


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "SOURCES", (*sources.SOURCES, Fake()))


def profile(tmp_path: Path, *tables: str) -> MetricsSpec | None:
    (tmp_path / "far.toml").write_text("\n".join(("format_version = 1", *tables)))
    return load_profile(tmp_path, "far").cloudwatch


def test_an_added_source_is_requested_in_a_profile_and_fetched_into_the_report(tmp_path, capsys):
    spec = profile(tmp_path, '[fake]\nhosts = ["a", "b"]')
    assert spec is not None
    directory = add_run(tmp_path, "tiny/run-01_1", cloudwatch=spec)
    assert "<summary>Fake</summary>\n\nNo metrics were fetched. " in directory.report.read_text()
    assert main(["metrics", str(directory.path)]) == 0
    assert "one line\n" in capsys.readouterr().out
    report = directory.report.read_text()
    assert "| host a | 50.0 | 50.0-50.0 | 1 of 1 |" in report
    assert "<summary>Fake</summary>\n" in report
    assert "CPU in Fake" in report
    assert "- Fake: 2 databases from 1700000000 to 1700000120: it has none." in report
    assert "CloudWatch" not in report
    found = json.loads(directory.summary_json.read_text())["observed"]["cloudwatch"]["metrics"]
    assert [(one["kind"], one["resource"], one["mean"]) for one in found] == [("fake", "a", 0.5), ("fake", "b", 0.5)]


def test_an_added_source_is_fetched_after_a_run_and_has_a_table_in_the_report_of_a_sweep(tmp_path):
    spec = profile(tmp_path, '[fake]\nhosts = ["a"]')
    assert spec is not None
    directory = add_run(tmp_path, "tiny/run-01_1", cloudwatch=spec)
    logged: list[str] = []
    metrics_after("tiny/run-01_1", spec, [directory], logged.append)
    assert logged[:2] == ["Fake: fetching metrics", "one line"]
    assert logged[2].startswith("tiny/run-01_1: 1 resource in Fake, ")
    found = summary_of_run(directory).observed.cloudwatch
    levels = levels_of([(1, LevelRun("run-01_1", Figures(rate_per_s=1.0), cloudwatch=found))])
    assert cloud_title(levels) == "Fake"
    assert "| host a | 50.0 | 50.0-50.0 |" in cloud_level_tables(levels)[0].table


def test_a_profile_has_one_source(tmp_path):
    with pytest.raises(UsageError, match=r"far.toml: \[cloudwatch\] and \[fake\] cannot be used together"):
        profile(tmp_path, '[cloudwatch]\nrds = ["x"]', '[fake]\nhosts = ["a"]')


def test_what_a_run_requested_from_an_added_source_is_read_again_with_the_fields_of_that_source():
    spec = FakeSpec(0.5, 60, (Resource("fake", "a"),))
    assert sources.StoredSpec.from_plain(asdict(spec), "run.cloudwatch") == spec


@pytest.mark.parametrize("resources", [[], None, [None], [{"kind": ["fake"], "name": "a"}]])
def test_a_stored_request_without_a_known_kind_is_an_error_that_names_the_key(resources):
    with pytest.raises(ValueError, match=r"^run.cloudwatch"):
        sources.StoredSpec.from_plain({"used_ratio": 0.5, "period_s": 60, "resources": resources}, "run.cloudwatch")


def test_the_schema_of_a_run_allows_the_request_of_each_source(tmp_path, monkeypatch):
    about = {"about": "What Fake watches", "used_ratio": "CPU in use", "period_s": "Period, s", "resources": "Hosts"}
    section = "\n".join(["", "[FakeSpec]", *(f'{key} = "{text}"' for key, text in about.items()), ""])
    fields = tmp_path / "fields.toml"
    fields.write_text(generate.FIELDS.read_text(encoding="utf-8") + section, encoding="utf-8")
    monkeypatch.setattr(generate, "FIELDS", fields)
    monkeypatch.setattr(generate, "SOURCES", sources.SOURCES)
    of_run = generate.summary_schema()["$defs"]["run"]["properties"]
    cloudwatch, fake, null = of_run["cloudwatch"]["anyOf"]
    assert sorted(cloudwatch["properties"]) == ["endpoint_url", "period_s", "region", "resources"]
    assert sorted(fake["properties"]) == ["period_s", "resources", "used_ratio"]
    assert null == {"type": "null"}


def test_an_unknown_kind_of_resource_is_a_one_line_error():
    with pytest.raises(UsageError, match="moon x: no source has this kind"):
        sources.source_of(Resource("moon", "x"))
