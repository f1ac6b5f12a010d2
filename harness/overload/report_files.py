"""Writes the report and the chart of an overload test from its record; the same record gives the same bytes."""

from __future__ import annotations

from harness.experiment.files import ExperimentFiles
from harness.overload.charts import FILE_NAME, goodput_chart
from harness.overload.record import OverloadRecord
from harness.overload.render import headline, overload_report
from harness.report.charts.files import write_charts
from harness.report.pages import write_page
from harness.report.results import store_result


def write_overload_report(files: ExperimentFiles, record: OverloadRecord) -> None:
    """Write the Markdown report and the chart, and the result into the record's file; the notes block is preserved."""
    chart = goodput_chart(record)
    write_page(files.report, lambda notes: overload_report(record, notes), record.note)
    store_result(files.report, "", headline(record))
    write_charts(files.folder, [chart] if chart else [], FILE_NAME)
