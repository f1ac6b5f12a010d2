"""A recorder is an entry in two tables: what it does while the load lasts, and what it adds to the report."""

import json
from collections.abc import Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from harness.report import observations
from harness.run import recorders
from tests.support.tiny import arguments_of_run, finish_script, report, run_json

NAME = "weather.txt"


def test_an_added_recorder_follows_the_load_and_what_it_stored_is_in_the_report(home, tmp_path, monkeypatch):
    moments = []

    def weather(of: recorders.Recording) -> recorders.Recorder:
        directory = of.run.directory

        @contextmanager
        def during():
            moments.append(("start", directory.samples.is_file()))
            yield
            moments.append(("stop", directory.samples.is_file()))

        def stored() -> Mapping[str, Any]:
            (directory.path / NAME).write_text("rain.log")
            return {"histogram_unknown": (("web", "it rained"),)}

        return recorders.Recorder(during(), stored)

    def read(reading: observations.Reading, found: observations.Observed) -> observations.Observed:
        return replace(found, missing_logs=((reading.directory.path / NAME).read_text(),))

    monkeypatch.setattr(recorders, "RECORDERS", (*recorders.RECORDERS, weather))
    monkeypatch.setattr(observations, "OBSERVATIONS", (*observations.OBSERVATIONS, read))
    arguments = arguments_of_run(home, tmp_path, ("--users", "1", "--duration", "1"))
    code, out = finish_script("run", arguments, tmp_path, "works", {})
    assert code == 0, out
    assert moments == [("start", False), ("stop", True)]
    assert run_json(tmp_path / "reports")["histogram_unknown"] == [["web", "it rained"]]
    stored = json.loads((tmp_path / "reports" / "tiny" / "run-01_1.json").read_text())
    assert stored["observed"]["missing_logs"] == ["rain.log"]
    assert "rain.log" in report(tmp_path / "reports")


def test_what_a_recorder_cannot_store_costs_no_run_and_is_said():
    def full() -> Mapping[str, Any]:
        raise OSError(28, "No space left on device")

    lines: list[str] = []
    taken = recorders.Recorder(nullcontext(), lambda: {"profile_unknown": ()})
    assert recorders.stored([recorders.Recorder(nullcontext(), full), taken], lines.append) == {"profile_unknown": ()}
    (line,) = lines
    assert "could not be stored ([Errno 28] No space left on device)" in line
