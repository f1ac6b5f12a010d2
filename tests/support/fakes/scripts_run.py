"""Stands in for scripts/run in tests of what starts it: the run's JSON is a copy of a template, with other times.

FAKE_RUN names a folder: template.json is the JSON of a run of 100 ms on average, template.jtl has its samples, and
`calls` gets a line per call. The setting delay_ms, of SET or of the system's file, adds so
many ms. What a file `behaviour` there has for the number of the call decides: `fail` ends without a run, `wait` waits
until it is asked to stop, `doubt` is a run whose generator was too slow.

Tests start it hundreds of times: it imports little.
"""

import json
import os
import signal
import sys
import time


def read(name):
    with open(f"{folder}/{name}") as file:  # noqa: PTH123 - pathlib loads slowly
        return file.read()


def write(path, text, mode="w"):
    with open(path, mode) as file:  # noqa: PTH123
        file.write(text)


folder = os.environ["FAKE_RUN"]
options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--") and "=" in word)
options["profile"] = "--profile" in sys.argv
write(f"{folder}/calls", json.dumps(options) + "\n", "a")
count = len(read("calls").splitlines())
behaviour = json.loads(read("behaviour")) if os.access(f"{folder}/behaviour", os.R_OK) else {}
doing = behaviour.get(str(count), "")


def end(code, run, verdict, reasons=()):
    ended = {"format_version": 1, "run": run, "verdict": verdict, "reasons": list(reasons), "exit_code": code}
    write(options["result"], json.dumps({**ended, "not_stored": ""}))
    sys.exit(code)


if doing == "fail":
    end(3, None, None, ["web ended with code 1; see build/logs"])
if doing == "wait":
    signal.signal(signal.SIGINT, lambda *_: end(130, None, None, ["interrupted"]))
    write(f"{folder}/waits", "")
    time.sleep(60)
name = f"run-{options['series']}_{count}"
run = f"{options['reports']}/{options['plan']}/{name}"
given = dict(word.split("=") for word in options.get("set", "").split())
# Else that of its own files: a commit may have changed it.
system = f"{options.get('home', '')}/systems/tiny/system.toml"
if "delay_ms" not in given and os.access(system, os.R_OK):
    with open(system) as file:  # noqa: PTH123
        given |= dict(line.split(" = ") for line in file if line.startswith("delay_ms"))
delay_ms = float(given.get("delay_ms", 0))
# Neighbours differ by some tenths of a percent, and the machine becomes slower with each run.
factor = (100 + delay_ms) / 100 * (1 + 0.002 * (count % 3)) * 1.001**count
data = json.loads(read("template.json").replace("run-01_1", name))
for group in data["groups"]:
    for figures in (*group["labels"], group["total"]):
        figures["average_ms"] *= factor
        figures["percentiles_ms"] = {key: value * factor for key, value in figures["percentiles_ms"].items()}
        figures["rate_per_s"] /= factor
if doing == "doubt":
    data["verdict"] = {**data["verdict"], "state": "DOUBTFUL", "reasons": ["the load generator was busy"]}
    data["caveats"] = [{"code": "generator-cpu", "text": "The generator used 99 %."}]
os.makedirs(run)  # noqa: PTH103
if "overload" in options:  # its parent reads them
    write(f"{run}/samples.jtl", read("template.jtl"))
write(f"{run}.json", json.dumps(data))
write(f"{run}.md", f"# {name}\n")
end(0, f"{options['plan']}/{name}", data["verdict"]["state"])
