"""The dashboard for Grafana: the fields that an import needs, and metrics that exist."""

import json
import re

import jsonschema
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from harness.metrics import instruments
from harness.metrics.instruments import Instrument
from tests.support.paths import ROOT

TEXT = (ROOT / "docs" / "grafana" / "load-test.json").read_text(encoding="utf-8")
DASHBOARD = json.loads(TEXT)
_ABSENT = object()
_SOURCE = {
    "type": "object",
    "required": ["type", "uid"],
    "properties": {"type": {"const": "prometheus"}, "uid": {"const": "${datasource}"}},
}
# What Grafana's documentation of the JSON model asks for, and what an import with another data source needs.
SCHEMA = {
    "type": "object",
    "required": ["uid", "title", "schemaVersion", "time", "templating", "panels", "annotations"],
    "not": {"required": ["id"]},
    "properties": {
        "uid": {"type": "string", "maxLength": 40},
        "title": {"type": "string", "minLength": 1},
        "schemaVersion": {"type": "integer", "minimum": 36},
        "time": {"type": "object", "required": ["from", "to"]},
        "templating": {
            "properties": {
                "list": {"items": {"required": ["name", "type"], "properties": {"name": {"pattern": "^[a-z]+$"}}}}
            }
        },
        "panels": {
            "type": "array",
            "items": {
                "required": ["id", "type", "title", "gridPos", "datasource", "fieldConfig", "options", "targets"],
                "properties": {
                    "id": {"type": "integer"},
                    "type": {"enum": ["timeseries", "table", "heatmap"]},
                    "datasource": _SOURCE,
                    "gridPos": {
                        "required": ["x", "y", "w", "h"],
                        "properties": {
                            "x": {"type": "integer", "minimum": 0, "maximum": 23},
                            "w": {"type": "integer", "minimum": 1, "maximum": 24},
                        },
                    },
                    "fieldConfig": {"required": ["defaults", "overrides"]},
                    "targets": {
                        "minItems": 1,
                        "items": {"required": ["refId", "datasource", "expr"], "properties": {"datasource": _SOURCE}},
                    },
                },
            },
        },
    },
}


def test_the_dashboard_has_the_fields_that_grafana_needs():
    jsonschema.validate(DASHBOARD, SCHEMA)


def test_grafana_has_every_field_of_the_dashboard():
    """Grafana's own types, generated from its schemas, read all of it: what they do not know they lose."""
    register_default_plugins()
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(DASHBOARD)))
    assert list(_lost(DASHBOARD, read)) == []
    misspelt = DASHBOARD | {"schemaVersions": 39}
    assert list(_lost(misspelt, json.loads(JSONEncoder().encode(Dashboard.from_json(misspelt))))) == [".schemaVersions"]


def _lost(whole, read, path=""):
    """Yield the paths of the values that `read` does not have, or has otherwise."""
    if isinstance(whole, dict) and isinstance(read, dict):
        for name, value in whole.items():
            yield from _lost(value, read.get(name, _ABSENT), f"{path}.{name}")
    elif isinstance(whole, list) and isinstance(read, list) and len(whole) == len(read):
        for index, pair in enumerate(zip(whole, read, strict=True)):
            yield from _lost(*pair, f"{path}[{index}]")
    elif whole != read:
        yield path


def test_panels_have_ids_of_their_own_and_do_not_overlap():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_every_variable_is_defined_and_every_metric_exists():
    defined = {variable["name"] for variable in DASHBOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?([A-Za-z_]+)\}?", TEXT))
    assert used - {"__rate_interval", "__range"} == defined
    known = {one.name for one in vars(instruments).values() if isinstance(one, Instrument)}
    named = set(re.findall(r"loadtest_\w+", TEXT))
    assert {re.sub("_(total|bucket|info)$", "", name) for name in named} <= known


def test_the_page_lists_every_metric():
    page = (ROOT / "docs" / "prometheus.md").read_text(encoding="utf-8")
    for one in vars(instruments).values():
        if isinstance(one, Instrument):
            assert f"`{one.name}" in page
