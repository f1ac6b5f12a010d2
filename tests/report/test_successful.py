"""--successful: the times of successful samples only, beside those of all."""

import csv
import io
import json

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from tests.support.commands import command
from tests.support.report_folder import HEAD, add_run

_ALL, _OWN = "**Load**", "**Load, successful samples only**"


def jtl(path, *rows):
    """Write samples a second apart, of label, elapsed ms and whether it is successful, and return the path."""
    lines = [
        f"{1_700_000_000_000 + 1000 * number},{elapsed},{label},200,,Users 1-1,{str(good).lower()},,300,100"
        for number, (label, elapsed, good) in enumerate(rows)
    ]
    path.write_text("\n".join([HEAD, *lines]) + "\n")
    return path


@pytest.fixture
def samples(tmp_path):
    """Four payments of 100 to 400 ms, the slowest fails; two searches of 1 ms, which fail."""
    good = [("Pay", elapsed, elapsed < 400) for elapsed in (100, 200, 300, 400)]
    return jtl(tmp_path / "shop.jtl", *good, ("Search", 1, False), ("Search", 1, False))


def rows(*arguments):
    """Return count, average and maximum of each row of a table as CSV, by group and label."""
    done = command("lth", "table", *arguments, "--format=csv")
    assert done.returncode == 0, done
    found = csv.DictReader(io.StringIO(done.stdout))
    return {
        (row["group"], row["label"]): tuple(row[key] for key in ("sample_count", "average_ms", "max_ms"))
        for row in found
    }


def test_a_table_of_the_successful_samples_is_beside_that_of_all(samples):
    assert rows(samples, "--successful") == {
        ("load", "Pay"): ("4", "250.0", "400"),
        ("load", "Search"): ("2", "1.0", "1"),
        ("load", "TOTAL"): ("6", "167.0", "400"),
        ("load successful", "Pay"): ("3", "200.0", "300"),
        ("load successful", "TOTAL"): ("3", "200.0", "300"),
    }
    text = command("lth", "table", samples, "--successful").stdout
    assert text.index(_ALL) < text.index(_OWN)
    assert _OWN not in command("lth", "table", samples).stdout


def test_window_label_and_only_select_from_both_tables(samples):
    assert rows(samples, "--successful", "--window=0..2", "--only=TOTAL") == {
        ("load", "TOTAL"): ("2", "150.0", "200"),
        ("load successful", "TOTAL"): ("2", "150.0", "200"),
    }
    assert rows(samples, "--successful", "--label=Search").keys() == {("load", "Search"), ("load", "TOTAL")}


def test_goals_and_verdict_are_those_of_all_samples(samples):
    assert command("lth", "table", samples, "--successful", "--goal=average<160").returncode == 1


def test_without_a_successful_sample_the_table_says_so(tmp_path):
    text = command("lth", "table", jtl(tmp_path / "bad.jtl", ("Pay", 9, False)), "--successful").stdout
    assert "No sample of the load was successful.\n" in text
    assert _OWN not in text


def test_a_tally_has_no_successful_samples(samples, tmp_path):
    main(["tally", str(samples), "-o", str(tmp_path / "shop.tally")], "lth")
    with pytest.raises(UsageError, match="a tally has no single samples; name the JTLs of which it was made"):
        main(["table", str(tmp_path / "shop.tally"), "--successful"], "lth")


@pytest.mark.real
def test_a_report_has_them_when_they_are_asked_for(tmp_path):
    run = add_run(tmp_path, "shop/run-01_1", failures=20)
    plain = run.report.read_bytes()
    where = ("report", "shop/run-01_1", f"--reports={tmp_path}")
    assert command("lth", *where, "--successful").returncode == 0
    assert "### Load, successful samples only\n" in run.report.read_text()
    groups = {group["name"]: group for group in json.loads(run.summary_json.read_text())["groups"]}
    counts = {name: (group["total"]["sample_count"], group["total"]["error_count"]) for name, group in groups.items()}
    assert counts == {"load": (118, 19), "load successful": (99, 0)}
    assert command("lth", *where).returncode == 0
    assert run.report.read_bytes() == plain
