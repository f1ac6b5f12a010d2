"""A recorder is an entry in one table: what it does while the load lasts, and what it adds to the report."""

import json
from contextlib import contextmanager, nullcontext

import pytest

from harness.run import recorders
from harness.system.own_metrics import OwnMetrics, OwnMetricUse
from harness.system.recorder import Reading, Recorder, Recording, Started
from tests.support.tiny import arguments_of_run, finish_script, report, run_json

NAME = "weather.txt"


@pytest.mark.real
def test_an_added_recorder_follows_the_load_and_what_it_stored_is_in_the_report(home, tmp_path, monkeypatch):
    moments = []

    def start(of: Recording) -> Started:
        @contextmanager
        def during():
            moments.append(("start", (of.folder / "samples.jtl").is_file()))
            yield
            moments.append(("stop", (of.folder / "samples.jtl").is_file()))

        def stored():
            (of.folder / NAME).write_text("12.5")
            return (("sun", "it rained"),)

        return Started(during(), stored)

    def read(of: Reading):
        (mean,) = map(float, of.lines(NAME))
        return {"own_metrics": (OwnMetrics("sky", 1, (OwnMetricUse("temperature", "°C", mean, mean, mean),)),)}

    monkeypatch.setattr(recorders, "RECORDERS", (*recorders.RECORDERS, Recorder("weather", NAME, start, read=read)))
    arguments = arguments_of_run(home, tmp_path, ("--users", "1", "--duration", "1"))
    code, out = finish_script("run", arguments, tmp_path, "works", {})
    assert code == 0, out
    assert moments == [("start", False), ("stop", True)]
    assert (tmp_path / "reports" / "tiny" / "run-01_1" / NAME).read_text() == "12.5"
    assert run_json(tmp_path / "reports")["unknown"] == {"weather": [["sun", "it rained"]]}
    stored = json.loads((tmp_path / "reports" / "tiny" / "run-01_1.json").read_text())
    (sky,) = stored["observed"]["own_metrics"]
    assert (sky["process"], sky["metrics"][0]["name"], sky["metrics"][0]["mean"]) == ("sky", "temperature", 12.5)
    text = report(tmp_path / "reports")
    assert "| temperature | °C | 12.5 |" in text
    assert "<summary>Not recorded</summary>\n\n- weather of sun: it rained\n" in text


def test_what_a_recorder_cannot_store_costs_no_run_and_is_said():
    def full():
        raise OSError(28, "No space left on device")

    lines: list[str] = []
    taken = Started(nullcontext(), lambda: (("shop", "no jcmd"),))
    found = recorders.stored({"weather": Started(nullcontext(), full), "profile": taken}, lines.append)
    why = "what was recorded could not be stored ([Errno 28] No space left on device)"
    assert found == {"weather": (("all processes", why),), "profile": (("shop", "no jcmd"),)}
    assert lines == [f"warning: weather: {why}"]
