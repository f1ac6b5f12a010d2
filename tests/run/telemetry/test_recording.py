"""JFR=…: the recording of a system that runs elsewhere; what is wrong with it never costs the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.run.telemetry.recording import attach, attach_to, process_of
from harness.system.flight_recording import CPU, RecordedEvent
from harness.system.jfr import ReadRecording
from tests.support.paths import FAKE_JMETER
from tests.support.report_folder import run_folder
from tests.support.tiny import Run, report, run_json

TARGET = ("--target", "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--jfr", "shop.jfr"), "--jfr=shop.jfr: the harness starts the system, and reads its own recordings"),
        ((*TARGET, "--jfr", "nowhere/shop.jfr"), "--jfr=shop.jfr: its folder does not exist; give the file that"),
        ((*TARGET, "--jfr", "."), "is a folder"),
    ],
)
def test_a_recording_that_no_run_can_have_is_refused_before_it(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))
    folders = ["--home", str(home), "--reports", str(tmp_path / "reports"), "--build", str(tmp_path / "build")]
    with pytest.raises(UsageError) as caught:
        main(["--plan", "tiny", *folders, *arguments], "scripts/run")
    assert message in str(caught.value)
    assert not (tmp_path / "reports").exists()


def test_the_jvm_is_named_like_its_file() -> None:
    assert process_of(Path("x/gateway.jfr")) == "gateway"
    assert process_of(Path('my "shop", 2.jfr')) == "my-shop-2"
    assert process_of(Path("...jfr")) == "jvm"
    assert process_of(Path("+.jfr")) == "jvm"


@pytest.mark.real
def test_a_missing_recording_is_a_fact_of_the_run(run: Run, target: str, tmp_path: Path) -> None:
    done = run("--target", target, "--duration", "2", "--jfr", str(tmp_path / "shop.jfr"))
    assert done.returncode == 0, done.stdout + done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    assert "not known: the recording shop.jfr is missing; attach it later: " in said
    why = ["shop", "not known: the recording shop.jfr is missing"]
    assert run_json(tmp_path / "reports")["unknown"] == {"heap": [why]}
    text = report(tmp_path / "reports")
    assert "- shop: not known: the recording shop.jfr is missing" in text
    assert str(tmp_path) not in text


def test_a_recording_of_a_part_of_the_run_is_known_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = run_folder(tmp_path, "tiny/run-07_1", started_at="1970-01-01T00:01:40Z", took_s=100.0)
    events = tuple(RecordedEvent(second * 1000, CPU, jvm_cpu_ratio=0.1, machine_cpu_ratio=0.2) for second in range(151))
    monkeypatch.setattr("harness.run.telemetry.recording.read_recording", lambda *_: ReadRecording(events))
    why = attach(directory, tmp_path / "shop.jfr", "shop", {})
    assert why == "known in part: shop.jfr ends 50 s before the run does"
    assert directory.read_run().unknown == {"heap": (("shop", why),)}
    assert len((directory.path / "recording.csv").read_text().splitlines()) == 1 + 51
    whole = (*events, RecordedEvent(195_000, CPU, jvm_cpu_ratio=0.1, machine_cpu_ratio=0.2))
    monkeypatch.setattr("harness.run.telemetry.recording.read_recording", lambda *_: ReadRecording(whole))
    assert attach(directory, tmp_path / "shop.jfr", "shop", {}) == ""
    assert directory.read_run().unknown == {}


def test_each_run_of_a_sweep_gets_its_part_of_a_recording_that_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories = [
        run_folder(tmp_path, f"tiny/run-07_{number}", started_at=f"1970-01-01T00:0{number}:00Z", took_s=30.0)
        for number in (1, 2, 3)
    ]
    events = tuple(RecordedEvent(second * 1000, CPU, jvm_cpu_ratio=0.1, machine_cpu_ratio=0.2) for second in range(151))
    reads = []
    monkeypatch.setattr(
        "harness.run.telemetry.recording.read_recording", lambda *_: ReadRecording(reads.append(1) or events)
    )
    first, second, third = attach_to(directories, tmp_path / "shop.jfr", "shop", {})
    assert (first, second, len(reads)) == ("", "", 1)
    assert third.startswith("not known: shop.jfr has events from 1970-01-01 00:00:00 to 1970-01-01 00:02:30 UTC")
    assert [(one.path / "recording.csv").is_file() for one in directories] == [True, True, False]
    assert (directories[1].path / "recording.csv").read_text().splitlines()[1].startswith("120000,shop,cpu,")
