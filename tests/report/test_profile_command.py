"""aggregate.py profile: the profile of a stored run, and what the system did in the slow seconds of a label."""

import gzip

import pytest

from harness.report.files import write_report
from tests.support.commands import command
from tests.support.report_folder import HEAD, START_MS, add_run, run_folder

ORIGIN_S = START_MS // 1000
SECONDS = 60
SLOW = range(40, 46)


def rows():
    """Return ten samples a second of Pay, and one of Log; in six seconds Pay takes 600 ms instead of 60 ms."""
    for second in range(SECONDS):
        start_ms = START_MS + 1000 * second
        for number in range(10):
            elapsed_ms = 600 if second in SLOW else 60
            yield f"{start_ms + 30 * number},{elapsed_ms},Pay,200,OK,Users 1-1,true,,300,100"
        yield f"{start_ms},20,Log,200,OK,Users 1-2,true,,300,100"


def profile():
    yield "P\tshop\nR\tasync-profiler, ctimer\t\nS\t0\tjava.util.HashMap.get;shop.Till.pay\n"
    for second in range(SECONDS):
        yield f"E\tcpu\t{ORIGIN_S + second}\t0\t\t\t{20 + second % 3}\t0\t0\n"
        if second in SLOW:
            yield f"E\tlock\t{ORIGIN_S + second}\t0\tshop.Till\tcleaner\t7\t{3_000_000_000 + second}\t900000000\n"


@pytest.fixture
def reports(tmp_path):
    directory = run_folder(tmp_path, "shop/run-01_1", is_profiled=True, duration_s=float(SECONDS), took_s=65.0)
    directory.samples.write_text("\n".join([HEAD, *rows()]) + "\n")
    with gzip.open(directory.path / "profile.tsv.gz", "wt") as lines:
        lines.writelines(profile())
    write_report(directory)
    return tmp_path


def printed(reports, *arguments):
    return command("aggregate.py", "profile", *arguments, "--reports", reports)


@pytest.mark.real
def test_the_profile_of_a_stored_run_is_printed_as_in_its_report(reports):
    done = printed(reports, "shop/run-01_1")
    assert done.returncode == 0, done.stderr
    assert "| java.util.HashMap.get | 100.0 | 100.0 |" in done.stdout
    assert "| shop.Till | shop.Till.pay | cleaner | 42 |" in done.stdout
    assert "### Slowest samples" in done.stdout
    parts = [part for part in done.stdout.split("\n\n") if part.startswith("|")]
    report = (reports / "shop" / "run-01_1.md").read_text()
    assert all(part.strip() in report for part in parts)
    assert "- profiled: the JVMs of the system, with flight recordings" in report
    # Without the samples the stored JSON is enough.
    (reports / "shop" / "run-01_1" / "samples.jtl").unlink()
    assert printed(reports, "run-01_1", "--plan", "shop").stdout == done.stdout


@pytest.mark.real
def test_a_label_names_what_the_system_did_more_of_while_it_was_slow(reports):
    done = printed(reports, "shop/run-01_1", "--label", "Pay")
    assert done.returncode == 0, done.stderr
    assert "(mean of the samples in progress 600 ms) against the 29 normal ones (60 ms)." in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("| shop ")]
    assert rows == ["| shop | lock | shop.Till at shop.Till.pay | 3000 | 0 | ms |"]


@pytest.mark.real
def test_a_label_whose_seconds_do_not_differ_has_no_causes(reports):
    done = printed(reports, "shop/run-01_1", "--label", "Log")
    assert (done.returncode, "They do not differ enough" in done.stdout) == (0, True)


@pytest.mark.real
def test_what_cannot_be_printed_is_refused_in_one_line(reports):
    add_run(reports, "shop/run-02_1")
    plain = printed(reports, "shop/run-02_1")
    assert plain.returncode == 2
    assert plain.stderr == "aggregate.py: shop/run-02_1: has no profile; profile a run with lth run --profile\n"
    wrong = printed(reports, "shop/run-01_1", "--label", "pay")
    assert wrong.returncode == 2
    assert "--label pay: the load has no such label" in wrong.stderr
    assert "did you mean Pay? there are: " in wrong.stderr
    (reports / "shop" / "run-01_1" / "profile.tsv.gz").unlink()
    missing = printed(reports, "shop/run-01_1", "--label", "Pay")
    assert missing.returncode == 2
    assert "profile.tsv.gz: is missing; pull the run with all its files" in missing.stderr
