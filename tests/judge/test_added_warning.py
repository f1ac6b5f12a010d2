"""What a warning costs: its own file. The verdict, the JSON, its schema, the report and the pages have it then."""

import json
import sys

import pytest

from harness.judge import warnings
from harness.judge.verdict import DOUBTFUL
from harness.judge.warnings import RunWarning, warning_kinds
from harness.report.schema.generate import schema_text
from tests.support.factories import two_users
from tests.support.report_folder import add_run
from tests.support.summaries import summary_of
from tests.support.warning_pages import doubtful_page, format_page

FILE = '''
"""Warns that all samples are of one label.

Seen: The plan has one label.

Why it matters: Users do more than one thing.

What to do: Add a step.
"""

from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence):
    if len(labels := {code.label for code in evidence.codes}) == 1:
        yield {"label": labels.pop()}


WARNING = WarningKind(
    code="one-label",
    since="1.1.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT,),
    needs=("codes",),
    hides=("closed-model", "too-few-samples", "too-short"),
    brief="All samples are of {label}",
    text="Add a second step.",
    page=__doc__,
    found_in=found_in,
)
'''
BRIEF = "All samples are of Pay"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of one more file with a warning."""
    folder = tmp_path / "warnings"
    folder.mkdir()
    monkeypatch.setattr(warnings, "__path__", [*warnings.__path__, str(folder)])
    yield folder
    sys.modules.pop("harness.judge.warnings.one_label", None)
    warning_kinds.cache_clear()


def added(folder, text=FILE):
    (folder / "one_label.py").write_text(text, encoding="utf-8")
    sys.modules.pop("harness.judge.warnings.one_label", None)
    warning_kinds.cache_clear()
    return warning_kinds()


def test_a_file_is_all_that_a_warning_needs(folder, tmp_path):
    *_, last = added(folder)
    assert last == "one-label"  # what has no weight is the lightest
    run = add_run(tmp_path / "reports", "tiny/run-07_1", samples=20)
    stored = json.loads(run.summary_json.read_text(encoding="utf-8"))
    assert (stored["verdict"]["state"], stored["verdict"]["reasons"]) == (DOUBTFUL, [BRIEF])
    assert {"code": "one-label", "text": f"{BRIEF}. Add a second step.", "subject": ""} in stored["caveats"]
    assert not {"closed-model", "too-few-samples", "too-short"} & {one["code"] for one in stored["caveats"]}
    report = run.report.read_text(encoding="utf-8")
    assert BRIEF in report and "Add a second step" in report
    assert RunWarning("one-label", "").page == "doubtful.md#one-label"


def test_its_pages_and_its_code_in_the_schema_are_generated(folder):
    added(folder)
    assert doubtful_page().endswith(
        "## one-label\n\n**Seen.** The plan has one label. (since 1.1.0)\n\n"
        "**Why it matters.** Users do more than one thing.\n\n**What to do.** Add a step.\n"
    )
    codes = json.loads(schema_text())["properties"]["caveats"]["items"]["properties"]["code"]["enum"]
    assert codes[-1] == "one-label"
    assert "`one-label`" not in format_page()

    plain = FILE.replace("    severity=Severity.DOUBTFUL,\n", "").replace('"1.1.0"', '"1.0.0"')
    for paragraph in ("Why it matters: Users do more than one thing.", "What to do: Add a step."):
        plain = plain.replace(f"\n{paragraph}\n", "")
    added(folder, plain)
    rows = "| `closed-model` | **note**: the load is a closed one |\n| `one-label` | The plan has one label |\n"
    assert rows in format_page()
    assert "one-label" not in doubtful_page()


@pytest.mark.parametrize("title", ["Why it matters", "What to do"])
def test_a_warning_that_makes_a_run_doubtful_explains_itself(folder, title):
    added(folder, FILE.replace(f"{title}: ", "Else: "))
    with pytest.raises(AssertionError, match="one-label: its docstring has Seen"):
        doubtful_page()


def test_it_is_not_looked_for_where_the_evidence_lacks_what_it_needs(folder):
    kind = added(folder, FILE.replace('needs=("codes",)', 'needs=("codes", "cloudwatch")'))["one-label"]
    asked = []
    object.__setattr__(kind, "found_in", lambda evidence: asked.append(evidence) or [])
    summary_of(two_users())
    assert asked == []
