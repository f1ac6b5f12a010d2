"""Stands in for scripts/run in tests of what starts it: the run's JSON is a copy of a template, with other times.

FAKE_RUN names a folder: template.json is the JSON of a run of 100 ms on average, and `calls` gets a line per call. The
setting delay_ms adds so many ms. What a file `behaviour` there has for the number of the call decides: `fail` ends
without a run, `wait` waits until it is asked to stop, `doubt` is a run whose generator was too slow.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

folder = Path(os.environ["FAKE_RUN"])
options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--") and "=" in word)
options["profile"] = "--profile" in sys.argv
with (folder / "calls").open("a") as calls:
    calls.write(json.dumps(options) + "\n")
count = len((folder / "calls").read_text().splitlines())
behaviour = json.loads((folder / "behaviour").read_text()) if (folder / "behaviour").exists() else {}
doing = behaviour.get(str(count), "")
result = Path(options["result"])


def end(code, run, verdict, reasons=()):
    ended = {"format_version": 1, "run": run, "verdict": verdict, "reasons": list(reasons), "exit_code": code}
    result.write_text(json.dumps({**ended, "not_stored": ""}))
    sys.exit(code)


if doing == "fail":
    end(3, None, None, ["web ended with code 1; see build/logs"])
if doing == "wait":
    signal.signal(signal.SIGINT, lambda *_: end(130, None, None, ["interrupted"]))
    (folder / "waits").touch()
    time.sleep(60)
name = f"run-{options['series']}_{count}"
plan = Path(options["reports"]) / options["plan"]
delay_ms = float(dict(word.split("=") for word in options.get("set", "").split()).get("delay_ms", 0))
# Neighbours differ by some tenths of a percent, and the machine becomes slower with each run.
factor = (100 + delay_ms) / 100 * (1 + 0.002 * (count % 3)) * 1.001**count
text = (folder / "template.json").read_text().replace("run-01_1", name)
data = json.loads(text)
for group in data["groups"]:
    for figures in (*group["labels"], group["total"]):
        figures["average_ms"] *= factor
        figures["percentiles_ms"] = {key: value * factor for key, value in figures["percentiles_ms"].items()}
        figures["rate_per_s"] /= factor
if doing == "doubt":
    data["verdict"] = {**data["verdict"], "state": "DOUBTFUL", "reasons": ["the load generator was busy"]}
    data["caveats"] = [{"code": "generator-cpu", "text": "The generator used 99 %."}]
plan.mkdir(parents=True, exist_ok=True)
(plan / name).mkdir()
(plan / f"{name}.json").write_text(json.dumps(data))
(plan / f"{name}.md").write_text(f"# {name}\n")
end(0, f"{options['plan']}/{name}", data["verdict"]["state"])
