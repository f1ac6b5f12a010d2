"""The section "Compared with" of a run that scripts/run ends, with a fake JMeter at the edge of the process."""

import json

import pytest

from harness.history.pin_files import write_pins
from tests.support.commands import command
from tests.support.tiny import report


@pytest.mark.real
def test_a_run_is_compared_at_its_end_and_its_report_keeps_that(run, target, tmp_path):
    reports = tmp_path / "reports"
    assert run("--target", target, "--duration", "1").returncode == 0
    assert "Compared with" not in report(reports)
    write_pins(reports / "tiny", {"baseline": "run-01_1", "gone": "run-09_9"})
    done = run("--target", target, "--duration", "1", "--properties", "httpclient4.retrycount=1")
    assert done.returncode == 0, done.stdout + done.stderr
    first = "compared with tiny/run-01_1 (previous run, pinned as baseline): CANNOT TELL: "
    assert [line.startswith(first) for line in done.stdout.splitlines()[-5:]] == [True, False, False, False, False]
    assert "not compared with tiny/run-09_9 (pinned as gone): it no longer exists\n" in done.stdout
    text = report(reports, "run-01_2")
    assert "\n### [run-01_1](run-01_1.md), previous run, pinned as baseline\n" in text
    assert "\n| property httpclient4.retrycount | none | 1 |\n" in text
    assert str(tmp_path) not in text
    # Neither another pin nor a deleted reference changes the report of the past.
    files = [reports / "tiny" / name for name in ("run-01_2.md", "run-01_2.json")]
    before = [path.read_bytes() for path in files]
    write_pins(reports / "tiny", {})
    (reports / "tiny" / "run-01_1.json").unlink()
    assert command("aggregate.py", "report", reports / "tiny" / "run-01_2").returncode == 0
    assert [path.read_bytes() for path in files] == before
    assert [one["problem"] for one in json.loads(before[1])["compared"]] == ["", "it no longer exists"]


def test_a_wrong_base_is_one_line_and_nothing_is_started(refused, tmp_path):
    assert refused("--base", "run-01_7").startswith(
        "scripts/run: --base run-01_7: neither a pin of tiny nor a run or a report; pins: none; there are no runs yet\n"
    )
    assert "--base and --compare 0 cannot be used together; give one" in refused("--base", "run-01_1", "--compare", "0")
    assert "--compare=no: no such value; there are: 0, 1" in refused("--compare", "no")
    (tmp_path / "reports" / "tiny").mkdir(parents=True)
    (tmp_path / "reports" / "tiny" / "pinned.toml").write_text("format_version = 1\n[pins]\nbaseline = 7\n")
    assert "tiny/pinned.toml [pins]: baseline = 7; give the name of a run of this plan" in refused()
