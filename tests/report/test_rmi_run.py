"""A run of version 1.1 with two load generators by RMI, which went in 1.2.0: its report is still written."""

import shutil

from harness.report.files import stored_summary, write_report
from harness.run.directory import RunDirectory
from tests.support.paths import ROOT


def test_a_stored_run_with_rmi_load_generators_has_its_report(tmp_path):
    """Every sixth of its rows is stored here."""
    folder = tmp_path / "tiny" / "run-01_1"
    shutil.copytree(ROOT / "tests" / "data" / "rmi_run", folder)
    directory = RunDirectory(folder)
    assert [(one.name, one.users) for one in directory.read_run().generators] == [
        ("127.0.0.1:20592", 3),
        ("127.0.0.1:29385", 2),
    ]
    summary = write_report(directory)
    assert {one.name for one in summary.generators} == {"127.0.0.1:20592", "127.0.0.1:29385"}
    assert stored_summary(directory) == summary
    text = directory.report.read_text()
    assert "2 generators: 127.0.0.1:20592 with 3 users, 127.0.0.1:29385 with 2 users" in text
    assert "--remotes=127.0.0.1:20592,127.0.0.1:29385" in text
