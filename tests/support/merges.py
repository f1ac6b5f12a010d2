"""Runs of independent load generators: written as folders, split from a distributed run, and compared."""

from __future__ import annotations

import json
from dataclasses import replace

from harness.base.records import to_plain
from harness.run.directory import json_text

START_MS = 1_700_000_000_000
HEAD = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,allThreads"
)


def run_folder(path, run, rows, telemetry="", head=HEAD):
    path.mkdir(parents=True)
    (path / "run.json").write_text(json_text(run))
    end = "" if rows and rows[-1].startswith("torn") else "\n"
    (path / "samples.jtl").write_text("\n".join([head, *rows]) + end)
    if telemetry:
        (path / "telemetry.csv").write_text(telemetry)
    return path


def figures(summary, without=()):
    """All figures of a summary as plain data, labels by name, and names of generators left out."""
    data = json.loads(json.dumps(to_plain(summary)))
    del data["account"]  # a part may end with a torn row
    del data["result"]  # of a report that was written: its title and its chart are those of its file
    for group in [*data["groups"], *([data["whole"]] if data["whole"] else [])]:
        group["labels"].sort(key=lambda label: label["label"])
    for generator in data["generators"]:
        del generator["name"]
    data["generators"].sort(key=str)  # by address in the one, in the order given in the other
    data["codes"].sort(key=lambda code: (code["label"], code["code"]))
    data["caveats"] = [caveat["code"] for caveat in data["caveats"] if caveat["code"] not in without]
    left_out = {"run", "source", "observed", "dropped_count", "dropped_first"}
    return {key: value for key, value in data.items() if key not in left_out}


def split(directory, folder):
    """Split the samples of a distributed run into runs of its generators; return their paths."""
    head, *lines = directory.samples.read_text().splitlines()
    run = directory.read_run()
    paths = []
    for number, generator in enumerate(run.generators, start=1):
        changes = {"users": generator.users, "rate_per_s": generator.rate_per_s}
        rows = [line for line in lines if f",{generator.name}-" in line]
        own = replace(
            run,
            load=replace(run.load, **changes),
            generators=(),
            rows=run.rows and replace(run.rows, written_count=len(rows)),
            properties={**run.properties, "run_id": f"run-01_1-{number}"},
        )
        path = folder / f"gen{number}" / "run-01_1"
        run_folder(path, own, rows, head=head)
        paths.append(str(path))
    return paths
