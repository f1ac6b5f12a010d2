"""Add p99.9 to every table, and a metric that is no response time, then use the program; print what it wrote as JSON.

A program of its own, because modules build their columns from the list when they are imported.
"""

import contextlib
import io
import json
import sys
from dataclasses import replace
from pathlib import Path

from harness.base import units
from harness.base.records import to_plain
from harness.metrics import metric

ADDED = metric.percentile("99.9", metric.Table, threshold=0.10, samples_least=100, is_goal=True)
# A value of every label that is no metric: lists of runs, levels of a sweep and nightly runs show it with one entry.
RECEIVED = metric.Metric(
    "received_bytes_per_s", "received", "received B/s", "data received", "B/s", units.rate_text,
    frozenset({metric.Table.RUNS, metric.Table.SWEEP, metric.Table.BRIEF}), threshold=0.05, more_is_better=True,
)  # fmt: skip


def add_entries() -> None:
    """Replace the entry that only the wide table shows by p99.9, and add the other metric at the end."""
    metric.METRICS = (*(ADDED if one.key == ADDED.key else one for one in metric.METRICS), RECEIVED)


def printed(*arguments: str) -> str:
    """Return what ./aggregate.py prints."""
    from harness.cli.verbs import main

    with contextlib.redirect_stdout(io.StringIO()) as out:
        main(list(arguments), "aggregate.py")
    return out.getvalue()


def outputs(folder: Path) -> dict[str, str]:
    """Return the output of each part of the program, by the name of the part."""
    return {**_of_runs(folder), **_of_several_runs(folder), **_of_nightly(folder), **_of_goals()}


def _of_runs(folder: Path) -> dict[str, str]:
    from harness.plan.goal import Goal
    from harness.report.machine import generator_table
    from harness.report.schema.generate import schema_text
    from tests.support.report_folder import add_run

    goal = Goal(**{ADDED.key: 90.0, "error_ratio": 0.01})
    days = [f"2026-01-{day:02}T00:00:00Z" for day in range(1, 4)]
    for number, started_at in enumerate(days, start=1):
        add_run(folder, f"tiny/run-07_{number}", started_at=started_at, goal=goal, elapsed_ms=90 + 10 * number)
        add_run(folder, f"tiny/run-08_{number}", users=number, elapsed_ms=50 * number, seconds=60)
    one = folder / "tiny" / "run-07_1"
    table = [
        printed("table", str(one / "samples.jtl"), *more) for more in ((), ("--format", "csv"), ("--format", "json"))
    ]
    return {
        "progress": _progress(),
        "load generators": generator_table(()),
        "table": table[0],
        "table CSV": table[1],
        "table JSON": table[2],
        "report": one.with_suffix(".md").read_text(),
        "schema": schema_text(),
        "run JSON": one.with_suffix(".json").read_text(),
    }


def _progress() -> str:
    from harness.metrics.live import LiveTally
    from harness.run.jmeter.progress_line import plain_line
    from tests.support.factories import sample

    tally = LiveTally()
    tally.tick(0.0, [], 0)
    return plain_line(tally.tick(1.0, [sample(elapsed_ms=7)], 1), 1.0, None)


def _of_several_runs(folder: Path) -> dict[str, str]:
    from harness.history.files import read_catalogue
    from harness.history.summary_page import summary_page
    from harness.site.pages import Site

    catalogue = read_catalogue(folder)
    runs = [str(folder / "tiny" / f"run-07_{number}") for number in (1, 2)]
    sweep = ("sweep", "tiny/run-08_*", "--reports", str(folder), f"--{ADDED.name}", "120", "--format")
    history = ("history", str(folder), "--plan", "tiny", "--metric", ADDED.name)
    site = Site(catalogue, frozenset())
    return {
        "comparison": printed("compare", *runs, "--threshold", f"{ADDED.name}=20%"),
        "comparison JSON": printed("compare", *runs, "--threshold", f"{ADDED.name}=20%", "--format", "json"),
        "history": printed(*history),
        "history CSV": printed(*history, "--format", "csv"),
        "history JSON": printed(*history, "--format", "json"),
        "sweep": printed(*sweep, "markdown"),
        "sweep CSV": printed(*sweep, "csv"),
        "sweep JSON": printed(*sweep, "json"),
        "summary": summary_page(catalogue, ""),
        "site index": site.index("", ()).html,
        "site comparison": site.compare().html,
    }


def _of_nightly(folder: Path) -> dict[str, str]:
    from harness.history.acceptance import acceptances_csv, parse_acceptances
    from harness.kinds.nightly.outcome import nightly_result
    from harness.kinds.nightly.render import nightly_report
    from harness.kinds.nightly.suite import load_suite
    from tests.support.nightly_runs import ended, entries, nightly_record

    path = folder / "suite.toml"
    lines = (
        "format_version = 1",
        'budget = "1h"',
        f'gate = {{ metrics = ["{ADDED.name}"] }}',
        "[[run]]",
        'plan = "tiny"',
        "users = 2",
        f'goal = {{ "{ADDED.name}" = 500 }}',
        f'thresholds = {{ "{ADDED.name}" = 0.2 }}',
    )
    path.write_text("\n".join(lines))
    suite = load_suite(path)
    runs = []
    for one in entries(*[100.0] * 9, 200.0):
        assert one.result and one.result.total
        times = {**one.result.total.percentiles_ms, "99.9": 5 * (one.result.total.average_ms or 0)}
        total = replace(one.result.total, percentiles_ms=times)
        runs.append(replace(one, result=replace(one.result, total=total)))
    record = nightly_record(ended(), metrics=tuple(metric.id for metric in suite.metrics))
    accepted = parse_acceptances("since,plan,users,env,label,metric,reason\n2026-11-20,tiny,,,,99.9,x\n", "x")
    return {
        "suite": " ".join((*suite.runs[0].arguments, *suite.runs[0].thresholds)),
        "nightly": nightly_report(nightly_result(record, runs, ()), {}, "x"),
        "nightly JSON": json.dumps(to_plain(record)),
        "acceptances": acceptances_csv(accepted),
    }


def _of_goals() -> dict[str, str]:
    from harness.plan.goal_input import read_goal, resolve_goal

    plans = read_goal({ADDED.key: 700}, "plans/tiny.toml")
    given = resolve_goal({ADDED.name: "800"}, plans)
    return {"goal of a plan": str(to_plain(plans)), "goal of a run": str(to_plain(given))}


if __name__ == "__main__":
    add_entries()
    json.dump(outputs(Path(sys.argv[1])), sys.stdout)
