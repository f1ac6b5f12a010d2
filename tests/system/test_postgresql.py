"""The statements of a real PostgreSQL during an interval; not checked where none is installed."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.base.install import toolchain
from harness.base.ports import free_port
from harness.plan.spec import DatabaseSpec, parse_database
from harness.report.profiles import database_text
from harness.system import database_files
from harness.system.database_files import DatabaseReader, databases
from harness.system.statements import (
    POSTGRESQL,
    StatementInterval,
    difference,
    read_statements,
    statement_commands,
)
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.off_host import jmx, request
from tests.support.shop_runs import make_home
from tests.support.snapshots import wait_for_snapshot
from tests.support.tiny import TINY_PROFILE

BEFORE = "statement\tcount\ttotal_ms\tpage_count\nSELECT a\t10\t100.5\t40\nSELECT b\t9\t9\t9\nSELECT c\t1\t1\t1\n"
AFTER = "statement\tcount\ttotal_ms\tpage_count\nSELECT a\t30\t150.25\t440\nSELECT b\t2\t4\t6\nSELECT c\t1\t1\t1\n"


def test_the_difference_of_two_tables_is_what_the_load_did_and_a_forgotten_statement_counts_from_0():
    found = read_statements("db", difference(BEFORE.splitlines(), AFTER.splitlines()).splitlines())
    assert [(use.statement, use.count, use.total_ms, use.page_count) for use in found.statements] == [
        ("SELECT a", 20, 49.75, 400),
        ("SELECT b", 2, 4.0, 6),
    ]
    assert "| statement | count | all ms | mean ms | pages each |" in database_text(found, 10)


def test_no_statement_before_or_after_is_an_empty_difference():
    nothing = ["statement\tcount\ttotal_ms"]
    assert difference(nothing, nothing) == "statement\tcount\ttotal_ms\n"
    with pytest.raises(ValueError, match="has no column"):
        difference([], nothing)


def test_a_profile_names_a_database_without_its_password():
    assert parse_database({}, "x") is None
    url = "postgresql://perf@db.example.org:5432/shop"
    assert parse_database({"url": url, "password": "SHOP_DB"}, "x") == DatabaseSpec(url, "SHOP_DB")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://perf:secret@db/shop", "url contains a password"),
        ("postgresql://db/shop?password=secret", "url contains a password"),
        ("mysql://db/shop", "not the address of a PostgreSQL database"),
        ("postgresql://db", "not the address of a PostgreSQL database"),
        ("", "not the address of a PostgreSQL database"),
    ],
)
def test_an_address_that_is_none_or_has_a_password_is_refused_and_not_repeated(url, why):
    with pytest.raises(UsageError, match=why) as error:
        parse_database({"url": url}, "env/x.toml [database]")
    assert "secret" not in str(error.value)


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL with the extension, and a table of 20,000 rows without an index: its URL."""
    found = shutil.which("pg_ctl") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))), None)
    if not found or not shutil.which("psql"):
        pytest.skip("NOT CHECKED: no PostgreSQL is installed")
    with tempfile.TemporaryDirectory(prefix="postgresql-", ignore_cleanup_errors=True) as name:
        yield from serve(Path(found).parent, Path(name))


def serve(bin_folder, folder):
    """Serve from a folder on a free port, and yield the URL."""
    # PostgreSQL refuses to run as root.
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    if user:
        shutil.chown(folder, "nobody")
    port = free_port()

    def call(program, *arguments):
        argv = [str(bin_folder / program), *arguments]
        done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, **user)
        assert done.returncode == 0, done.stdout + done.stderr

    call("initdb", "--pgdata=data", "--username=perf", "--auth=trust", "--no-sync")
    argv = [str(bin_folder / "postgres"), "-D", "data", "-p", str(port), "-h", "127.0.0.1", "-k", str(folder)]
    argv += ["-c", "shared_preload_libraries=pg_stat_statements", "-c", "fsync=off"]
    process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)
    url = f"postgresql://perf@127.0.0.1:{port}/postgres"
    try:
        until_s = time.monotonic() + 30
        while subprocess.run(["psql", "-c", "SELECT 1", url], capture_output=True, check=False).returncode:
            assert time.monotonic() < until_s
            time.sleep(0.1)
        ask(url, "CREATE EXTENSION pg_stat_statements")
        ask(url, "CREATE TABLE payment AS SELECT n AS id, repeat('x', 100) AS text FROM generate_series(1, 20000) n")
        yield url
    finally:
        process.terminate()
        process.wait(30)


def ask(url, *statements):
    subprocess.run(["psql", *(f"--command={one}" for one in statements), url], check=True, capture_output=True)


@pytest.mark.real
def test_the_statements_of_a_load_on_a_real_postgresql(server, tmp_path, monkeypatch):
    by_id = "SELECT text\n FROM payment WHERE id = 4711"
    ask(server, *[by_id] * 3)  # before the load: not counted
    snapshots = tmp_path / "snapshots-postgresql.jsonl"
    monkeypatch.setattr(database_files, "SNAPSHOT_PERIOD_S", 0.1)
    monkeypatch.setattr(database_files, "SHARE_MOST", 1.0)
    with DatabaseReader({POSTGRESQL: statement_commands(server)}, tmp_path, {}) as reader:
        wait_for_snapshot(snapshots)
        ask(server, *[by_id] * 5, "SELECT 1")
        ask(server, "CREATE ROLE clerk PASSWORD 'topsecret'")
        wait_for_snapshot(snapshots)
    assert reader.unknown == []
    (found,) = databases(tmp_path)
    assert found.process == "postgresql"
    use = next(use for use in found.statements if "payment" in use.statement)
    assert (use.statement, use.count) == ("SELECT text FROM payment WHERE id = $1", 5)
    assert use.page_count > 5 * 250  # a table of 20,000 rows of some 130 bytes has over 250 pages
    assert use.total_ms > 0
    assert not [use for use in found.statements if "pg_stat_statements" in use.statement]
    assert 0 < use.mean_ms <= use.longest_ms
    (within,) = databases(tmp_path, 0, 2**62, lambda *ends_ms: StatementInterval(*ends_ms, request_count=5))
    of_interval = next(use for use in within.statements if "payment" in use.statement)
    assert of_interval.count == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == [snapshots.name, "statements-postgresql.tsv"]
    assert [path.name for path in tmp_path.iterdir() if "topsecret" in path.read_text()] == []


@pytest.mark.real
def test_a_database_that_cannot_be_read_is_named_with_the_reason(server, tmp_path):
    other = server.rpartition("/")[0] + "/nowhere"
    with DatabaseReader({POSTGRESQL: statement_commands(other)}, tmp_path, {}) as reader:
        pass
    ((name, why),) = reader.unknown
    assert name == "postgresql"
    assert 'database "nowhere" does not exist' in why
    assert databases(tmp_path) == ()


class Shop(BaseHTTPRequestHandler):
    """Reads a payment from the database for each request of the load."""

    database = ""

    def do_GET(self):
        if self.path == "/pay":
            ask(self.database, "SELECT text FROM payment WHERE id = 4711")
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.counterpart
def test_a_run_whose_profile_names_a_postgresql_has_its_statements_in_the_report(server, tmp_path):
    profile = f'{TINY_PROFILE}[database]\nurl = "{server}"\npassword = "SHOP_DB"\n'
    make_home(tmp_path, jmx(request(path="/pay")), profile=profile)
    with serving(Shop, database=server) as port:
        folders = ("--home", tmp_path, "--reports", tmp_path / "reports", "--target", f"http://127.0.0.1:{port}")
        secret = {"JMETER_HOME": str(toolchain.ensure_jmeter()), "SHOP_DB": "topsecret"}
        done = command("scripts/run", "--plan", "shop", "--users", "1", "--loops", "5", *folders, **secret)
    directory = tmp_path / "reports" / "shop" / "run-01_1"
    report = directory.with_suffix(".md").read_text()
    observed = json.loads(directory.with_suffix(".json").read_text())["observed"]
    (found,) = observed["databases"]
    (use,) = (one for one in found["statements"] if "payment" in one["statement"])
    assert (use["statement"], use["count"]) == ("SELECT text FROM payment WHERE id = $1", 5), done.stderr
    assert use["page_count"] > 5 * 250
    assert f"Statements: {found['count']} in the whole load, {found['count'] / 5:.1f} per sample of the load;" in report
    assert "### postgresql\n" in report.split("## Where the time went\n")[1]
    assert "not profiled" not in report
    stored = [path for path in (tmp_path / "reports").rglob("*") if path.is_file()]
    assert [path.name for path in stored if b"topsecret" in path.read_bytes()] == []
