"""The borders of docs/architecture.md, read from the imports themselves."""

import pytest

from tests.support.imports import MODULES, imports_of, name_of

# A module may import harness modules of its own layer and of those above it in this list.
LAYERS = (
    {"errors", "units"},
    {"config", "goal", "thresholds", "secrecy", "allowances", "spellings", "masking", "strict_json"},
    {
        "batches",
        "cloudwatch",
        "cloudwatch_points",
        "exceptions",
        "figures",
        "heap",
        "histogram",
        "jtl",
        "telemetry",
        "window",
        "steadiness",
        "gaps",
        "plan",
        "jmx",
        "jmx_lint",
        "jmx_values",
        "csv_data",
        "reach",
        "script_text",
        "plan_check",
        "connections",
        "system",
        "manifest",
        "spec",
        "allowed_targets",
        "generator",
        "generators",
        "data_sets",
        "record",
        "suite",
        "nightly",
    },
    {"xml_elements", "xml_jtl", "jtl_kind"},
    {"littles_law", "live", "timeline", "clock_steps", "coordinated_omission"},
    {"verdict", "caveats", "tally", "generator_figures"},
    {"storage"},
    {"summary"},
    {"merge"},
    {"markdown_tables", "result", "markdown_report"},
    {"catalogue"},
    {"stats"},
    {"render"},
    {"bench"},
    {"io"},
    {"cli"},
)
ACTING = {
    "subprocess",
    "socket",
    "time",
    "os",
    "signal",
    "threading",
    "psutil",
    "shutil",
    "http",
    "urllib.request",
    "rich",
}


def layer_of(name: str) -> int:
    part = name.removeprefix("harness.").split(".")[0]
    return next((place for place, names in enumerate(LAYERS) if part in names), -1)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_has_a_layer_and_imports_only_downwards(path):
    name = name_of(path)
    if name == "harness":
        assert imports_of(path) == set()
        return
    assert layer_of(name) >= 0, f"{name} stands in no layer of tests/program/test_imports.py"
    upward = {
        imported
        for imported in imports_of(path)
        if imported.startswith("harness.") and layer_of(imported) > layer_of(name)
    }
    assert upward == set()


@pytest.mark.parametrize("path", [path for path in MODULES if path.parent.name not in ("io", "cli")], ids=name_of)
def test_what_decides_neither_acts_nor_looks_at_the_clock(path):
    modules = {name.split(".")[0] for name in imports_of(path)} | imports_of(path)
    assert modules & ACTING == set()
