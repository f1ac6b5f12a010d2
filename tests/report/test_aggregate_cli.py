"""aggregate.py table as a user calls it."""

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.report.files import write_report
from tests.support.commands import command
from tests.support.factories import closed_load
from tests.support.markdown_rows import cells_of, rows_of
from tests.support.paths import ROOT
from tests.support.report_folder import add_run, run_folder
from tests.support.terminals import in_terminal

HEAD = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,sentBytes,allThreads"
COMMAND = [sys.executable, str(ROOT / "aggregate.py"), "table"]


def jtl(path: Path, *rows: tuple[int, int, str, bool]) -> Path:
    """Write a JTL of (start ms, elapsed ms, label, success) and return its path."""
    lines = [
        f'{start},{elapsed},"{label}",{200 if success else 500},OK,Users 1-1,{str(success).lower()},1024,512,1'
        for start, elapsed, label, success in rows
    ]
    path.write_text("\n".join([HEAD, *lines, ""]), encoding="utf-8")
    return path


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """Four samples within two seconds: Pay 100 and 300 ms, Visit 50 ms and a failed one of 1000 ms."""
    return jtl(
        tmp_path / "samples.jtl",
        (0, 100, "Pay", True),
        (0, 50, "Visit", True),
        (200, 300, "Pay", True),
        (1000, 1000, "Visit", False),
    )


def table(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return command("aggregate.py", "table", *arguments, **environment)


def in_a_terminal(columns: int, *arguments: object, **environment: str) -> str:
    """Return what the command writes on a terminal of so many columns."""
    done = in_terminal(columns, [*COMMAND, *arguments], **environment)
    assert done.exit_code == 0
    return done.text


def test_a_pipe_gets_plain_markdown_with_warnings_below(samples):
    done = table(samples)
    assert (done.returncode, done.stderr) == (0, "")
    rows = rows_of(done.stdout)
    assert cells_of(rows, "label", "count", "average ms", "p50 ms", "max ms", "errors %", "errors", "req/s") == [
        ["Pay", "2", "200", "100", "300", "0.00", "0", "4.00"],
        ["Visit", "2", "525", "50", "1000", "50.00", "1", "1.00"],
        ["TOTAL", "4", "362", "100", "1000", "25.00", "1", "2.00"],
    ]
    lines = done.stdout.splitlines()
    assert lines[5] == ""
    assert lines[6] == (
        "DOUBTFUL: 25.00 % of the samples failed, and no goal limits errors; Too few samples: 4 measured, 100 needed."
    )
    assert lines[8].startswith("25.00 % of the samples failed, and no goal limits errors. Times of failures are not ")


@pytest.mark.real
def test_with_sure_a_table_and_a_report_fail_unless_the_verdict_is_valid(samples, tmp_path):
    good = add_run(tmp_path / "reports", "tiny/run-01_1", samples=3000, seconds=120)
    bad = add_run(tmp_path / "reports", "tiny/run-01_2", samples=3000, seconds=120, failures=600)
    codes = [table(one, *sure).returncode for one in (good.samples, samples) for sure in ((), ("--sure",))]
    assert codes == [0, 0, 0, 3]
    assert table("--each", good.samples, samples, "--sure", "--format", "json").returncode == 3
    assert table("--each", tmp_path / "none.jtl", samples, "--sure").returncode == 2
    folder = ("--reports", tmp_path / "reports")
    reported = [
        command("aggregate.py", "report", f"tiny/{one.name}", *folder, *sure).returncode
        for one in (good, bad)
        for sure in ((), ("--sure",))
    ]
    assert reported == [0, 0, 0, 3]


@pytest.mark.real
def test_several_files_are_one_run_and_each_is_a_table_of_its_own(samples, tmp_path):
    other = jtl(tmp_path / "other.jtl", (0, 700, "Pay", True))
    assert "| Pay | 3 | 367 |" in table(samples, other).stdout
    each = table("--each", samples, other).stdout
    assert "| Pay | 2 | 200 |" in each
    assert "| Pay | 1 | 700 |" in each
    headings = [line for line in each.splitlines() if line.startswith("## ")]
    assert [heading.replace("\\", "") for heading in headings] == [f"## {samples}", f"## {other}"]


@pytest.mark.real
def test_files_may_be_on_both_sides_of_an_option(samples, tmp_path):
    other = jtl(tmp_path / "other.jtl", (0, 700, "Pay", True))
    assert table(samples, "--layout", "wide", other).stdout == table(samples, other, "--layout", "wide").stdout


def test_with_each_a_bad_file_ends_with_code_2_and_the_others_are_shown(samples, tmp_path):
    done = table("--each", tmp_path / "none.jtl", samples, "--format", "json")
    assert done.returncode == 2
    assert [one["source"] for one in json.loads(done.stdout)] == [str(samples)]
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("lth: ")]
    assert "none.jtl" in line


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_machine_formats_contain_only_data_and_warnings_go_to_standard_error(samples, form):
    done = table(samples, "--format", form)
    assert done.returncode == 0
    assert done.stderr.startswith(
        "DOUBTFUL: 25.00 % of the samples failed, and no goal limits errors; Too few samples: 4 measured, 100 needed.\n"
        "25.00 % of the samples failed, and no goal limits errors. Times of failures"
    )
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert [(row["label"], row["average_ms"]) for row in rows] == [
            ("Pay", "200.0"),
            ("Visit", "525.0"),
            ("TOTAL", "362.5"),
        ]
    elif form == "jsonl":
        assert [json.loads(line)["error_ratio"] for line in done.stdout.splitlines()] == [0.0, 0.5, 0.25]
    else:
        data = json.loads(done.stdout)
        assert data["groups"][0]["total"]["rate_per_s"] == 2.0
        assert [one["code"] for one in data["caveats"]] == ["many-errors", "too-few-samples"]


@pytest.mark.real
def test_options_work_together(samples):
    done = table(samples, "--layout", "classic", "--sort", "-label", "--percentiles", "95", "--label", "i|y")
    labels = [line.split("|")[1].strip() for line in done.stdout.splitlines() if line.startswith("| ")]
    assert labels[2:] == ["Visit", "Pay", "TOTAL"]
    assert "|  95% |" in done.stdout
    assert table(samples, "--only", "TOTAL").stdout.count("\n| ") == 2


def test_the_measured_window_and_its_effect_are_printed(samples):
    out = table(samples, "--window", "..1").stdout
    assert "Measured window: 0 s to 1 s of 3 s." in out
    assert "average 362 → 150 ms" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--percentiles", "101"), "--percentiles=101: not a number above 0 and up to 100"),
        (("--sort", "speed"), "--sort speed: no such column"),
        (("--label", "("), "--label (: not a regular expression"),
        (("--label", "zzz"), "no label matches --label zzz; there are: Pay, Visit"),
        (("--only", "Pya"), "did you mean Pay?"),
        (("--window", "soon"), "--window soon: not a window"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use_is_one_line_and_code_2(samples, arguments, message):
    done = table(samples, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert message in line


@pytest.mark.real
def test_a_terminal_gets_a_table_with_signs_and_colours(samples):
    out = in_a_terminal(120, samples)
    assert "|" not in out
    assert "\x1b[1;31m" in out
    plain = re.sub(r"\x1b\[[\d;]*m", "", out).splitlines()
    (visit,) = [line.split() for line in plain if line.startswith("Visit")]
    assert visit[:5] == ["Visit", "2", "*525", "50", "*1000"]
    assert visit[7:9] == ["!50.00", "!1"]
    assert "! errors   * the slowest label of its group" in plain


@pytest.mark.real
def test_no_color_leaves_the_signs(samples):
    out = in_a_terminal(120, samples, NO_COLOR="1")
    assert not re.search(r"\x1b\[[\d;]*3\dm", out)
    assert "!50.00" in out


@pytest.mark.real
def test_a_narrow_terminal_lists_the_omitted_columns(samples):
    plain = re.sub(r"\x1b\[[\d;]*m", "", in_a_terminal(60, samples))
    assert max(map(len, plain.splitlines())) <= 60
    assert "columns that do not fit:" in plain
    assert "…" not in plain


@pytest.mark.real
def test_a_requested_format_is_also_used_in_a_terminal(samples):
    assert in_a_terminal(80, samples, "--format", "markdown").startswith("| label | count |")


@pytest.mark.real
def test_a_plain_table_loads_no_heavy_package(samples):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", str(ROOT / "aggregate.py"), "table", str(samples)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "harness.judge.summarise" in loaded
    assert {name.split(".")[0] for name in loaded} & {"jinja2", "rich", "pandas", "numpy", "psutil", "boto3"} == set()
    # What only runs have: its classes take longer than counting a small file.
    of_runs = (
        "run.record run.group_counts run.telemetry.table plan.job plan.load.model plan.load.groups judge.jobs "
        "judge.growth metrics.resource_growth metrics.beside base.secrecy"
    )
    assert loaded & {f"harness.{name}" for name in of_runs.split()} == set()


def test_help_teaches_with_examples():
    out = table("--help").stdout
    for word in ("examples:", "--window steady", "--sort p99", "--label", "--only TOTAL", "--format json"):
        assert word in out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("samples.jtl",), "samples.jtl: the verb is missing; do you mean: lth table samples.jtl\n"),
        (
            ("samples.jtl.gz",),
            "samples.jtl.gz: the verb is missing; do you mean: lth table samples.jtl.gz\n",
        ),
        (("run-01_1.md",), "run-01_1.md: the verb is missing; do you mean: lth compare run-01_1.md …\n"),
        (("run-01_1",), "run-01_1: the verb is missing; do you mean: lth report run-01_1\n"),
        (
            ("tabel", "samples.jtl"),
            "tabel: no such verb; did you mean table? lth help all lists them",
        ),
        (
            ("table", "run-01_1.md"),
            "run-01_1.md: a Markdown report, not a JTL; lth compare, history and sweep read reports; table",
        ),
    ],
)
def test_a_file_of_the_wrong_kind_is_answered_with_the_verb_that_reads_it(
    arguments, line, samples, tmp_path, monkeypatch
):
    (tmp_path / "samples.jtl.gz").write_bytes(samples.read_bytes())
    (tmp_path / "run-01_1").mkdir()
    (tmp_path / "run-01_1" / "run.json").write_text("{}")
    (tmp_path / "run-01_1.md").write_text("<!-- generated by lth report x -->\n# x\n")
    monkeypatch.chdir(tmp_path)
    done = command("aggregate.py", *arguments)
    assert done.returncode == 2
    assert line in done.stderr


# By what differs between the first and the second minute: the values of a row by its number and its half. TOTAL has the
# same average, errors and throughput in both.
_HALVES: dict[str, Callable[[int, int], dict[str, object]]] = {
    "": lambda number, _: {"label": "AB"[number % 20 // 10]},
    "share of ": lambda _, half: {"label": "AB"[half]},
    "size of responses ": lambda _, half: {"bytes": 3000 if half else 1000},
    "average of ": lambda number, half: {"elapsed": (90 if number % 2 == half else 30) + number % 7},
    "share of errors of ": lambda number, half: {"success": str(number % 2 != half or number % 3 > 0).lower()},
}


@pytest.mark.parametrize("reason", _HALVES)
def test_a_table_of_the_steady_window_compares_all_numbers_of_its_parts_as_a_run_does(reason, tmp_path):
    lines = ["timeStamp,elapsed,label,responseCode,threadName,success,bytes,allThreads"]
    for number in range(2_400):
        row = {"label": "AB"[number % 2], "elapsed": 40 + number * 37 % 23, "success": "true", "bytes": 1000}
        row |= _HALVES[reason](number, number // 1_200)
        start, thread = 1_700_000_000_000 + 50 * number, f"Users 1-{number % 20 + 1}"
        lines.append(f"{start},{row['elapsed']},{row['label']},200,{thread},{row['success']},{row['bytes']},20")
    (path := tmp_path / "halves.jtl").write_text("\n".join([*lines, ""]))
    shown = table(path, "--window", "steady", "--goal", "errors<50%", "--format", "json")
    assert shown.returncode == 0
    (line,) = (one for one in json.loads(shown.stdout)["account"] if one["code"] == "one-state")
    assert line["balance"] == ("doubt" if reason else "balanced")
    assert line["text"].startswith(f"The {reason}" if reason else "")


def load_tables(markdown: str) -> list[str]:
    """Return the table rows of Markdown, those of the load's labels and totals, with all columns."""
    rows = {}
    for cells in (line.split(" | ") for line in markdown.splitlines() if line.startswith(("| Pay", "| TOTAL"))):
        rows.setdefault(cells[0], [cells[0]]).extend(cell.removesuffix(" |") for cell in cells[1:])
    return list(rows.values())


@pytest.mark.real
def test_the_table_of_a_run_agrees_with_its_report(tmp_path):
    directory = run_folder(tmp_path, "tiny/run-01_1", once_labels=("Log In",), load=closed_load(users=2, ramp_s=20.0))
    rows = [(1_700_000_000_000 + 100 * number, 900 if number < 250 else 90, "Pay", True) for number in range(1000)]
    jtl(directory.samples, (1_700_000_000_000, 5000, "Log In", True), (1_700_000_000_100, 7000, "Log In", True), *rows)
    write_report(directory)
    report = directory.report.read_text(encoding="utf-8")
    steady, whole = report.split("### Load\n")[1].split("### Load, the whole run\n")
    whole = whole.split("\n### ")[0]
    assert load_tables(steady) != load_tables(whole)
    shown = table(directory.path, "--percentiles", "95,99")
    assert load_tables(shown.stdout.split("Once per user")[0]) == load_tables(whole)
    assert "“Load” in the report covers only the steady state: --window steady.\n" in shown.stdout
    counted = table(directory.samples, "--percentiles", "95,99", "--window", "steady").stdout
    assert load_tables(counted.split("Once per user")[0]) == load_tables(steady)
    assert "--window steady" not in counted
    bare = jtl(tmp_path / "bare.jtl", *rows)
    assert "The table covers the whole run" not in table(bare).stdout
