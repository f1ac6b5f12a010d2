"""What else is typed wrongly in a project that has runs: one line that says what is meant, exit code 2, at once."""

import time

import pytest

from harness.base.install import before_setup
from harness.base.project import current_project, read_project
from tests.support.commands import command
from tests.support.report_folder import add_run

_PROJECT = """format_version = 1
plan = "shop"
target = "local"
[targets]
local = "http://127.0.0.1:8080"
staging = "http://127.0.0.1:8081"
"""


def forget_projects():
    current_project.cache_clear()
    read_project.cache_clear()


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with a plan, two runs, a suite with a wrong key, and a file that is no plan."""
    here = tmp_path_factory.mktemp("shop")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        forget_projects()
        assert command("lth", "init", "http://127.0.0.1:8080/", "--plan=shop").returncode == 0
    (here / "loadtest.toml").write_text(_PROJECT)
    (here / "env").mkdir()
    (here / "env" / "nightly.toml").write_text('format_version = 1\nbudget = "1m"\n[[run]]\nplan = "shop"\nuser = 5\n')
    (here / "notes.txt").write_text("hello")
    (here / "plans" / "über.toml").write_text("format_version = 1\n")
    for number in (1, 2):
        add_run(here / "reports", f"shop/run-01_{number}", elapsed_ms=100 + number)
    forget_projects()
    return here


@pytest.fixture(autouse=True)
def _in_project(project, monkeypatch):
    monkeypatch.chdir(project)
    monkeypatch.setattr(before_setup, "_is_ahead", True)  # nothing gets as far as a load
    forget_projects()
    yield
    forget_projects()


SAMPLES = "reports/shop/run-01_1/samples.jtl"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("run localhost:8080/items", "localhost:8080/items: neither a plan nor an address; did you mean http://local"),
        ("check 127.0.0.1", "127.0.0.1: neither a plan nor an address; did you mean http://127.0.0.1?"),
        ("init store.internal:8080", "store.internal:8080: there is no such file; did you mean http://store.intern"),
        ("run über", "--plan=über: not a name that can be used; rename plans/über.toml: a name begins with "),
        ("run -u five", "--users=five: not a whole number from 1 to 100000"),
        ("run -u 5,10", "--users=5,10: a run has one number; several are levels of "),
        ("run -d 5x", "--duration=5x: not a duration; give seconds or 90s, 2m, 1h30m"),
        ("run -g avg<500", "did you mean average?"),
        ("run -g p95=500", "p95=500 is no condition; write conditions such as p95<1500"),
        ("run -t stagin", "did you mean staging? there are: local, staging"),
        ("run -t 127.0.0.1:8080", "not an http or https address; give --target=http://host:8080"),
        ("run -t http://example.com", 'add "http://example.com:80" to allowed_targets there'),
        ("run --ramp 5m -d 1m", "give a longer --duration or a shorter --ramp"),
        ("run --on gen1", "--on=gen1: no such place; give local:2, ssh:gen1,gen2"),
        ("run --base run-09_9", "did you mean shop/run-01_1 or shop/run-01_2?"),
        ("run --sampler fast", "give lean or jmeter"),
        ("run --compare 2", "--compare=2: no such value; there are: 0, 1"),
        ("run --html=yes", "--html takes no value, such as 'yes'"),
        ("run notes.txt", "notes.txt: neither a test plan (.jmx) nor the name of a plan"),
        ("run http:/127.0.0.1:8080/a", "did you mean http://127.0.0.1:8080/a?"),
        ("run shop.jmx", "this is a file name; give the name only: --plan=shop"),
        ("sweep 1,5,10", "did you mean -u 1,5,10?"),
        ("sweep -u 1-50", "--users=1-50: not a list of levels; give each, such as --users=1,5,10,25,50"),
        ("sweep -u 1,,5", "not a list of levels"),
        ("sweep -u 5,5", "give --repeat=2 to measure every level twice"),
        ("capacity", "has no goal for the search; give one, such as --goal='p95<1s'"),
        ("ab shop main HEAD", "main HEAD: too many arguments; give the sides as --a=main --b=HEAD"),
        ("trust --detect 3", "has no % sign; give --detect=1% for one in a hundred"),
        ("check --max 0", "--max=0: must be more than 0"),
        ("nightly", "unknown key user; did you mean users?"),
        ("nightly --suite nope.toml", "nope.toml: no such file"),
        ("compare run-01_1 run-01_3", "did you mean run-01_1 or run-01_2?"),
        ("compare -9 -1", "-9: shop has 2 runs"),
        ("compare -2 -1 --threshold p95", "--threshold p95: no value; give one, such as p95=20%"),
        ("compare -2 -1 --threshold p93=5%", "did you mean p90, p95 or p99?"),
        ("compare -2 -1 --format xml", "--format=xml: no such value; there are: md, markdown, json"),
        ("compare -3 -2 -1", "lth compare: 3 arguments instead of two"),
        (f"table {SAMPLES} --format jsn", "did you mean json? there are: markdown, csv, json, jsonl"),
        (f"table {SAMPLES} --only Pya", "did you mean Pay?"),
        (f"table {SAMPLES} --sort p96", "did you mean p90_ms, p95_ms or p99_ms?"),
        (f"table {SAMPLES} --window 5m..", "--window begins at 300 s, but the run ends at 120 s"),
        ("table notes.txt", "notes.txt:1: not a CSV JTL"),
        ("table", "lth table: INPUT is missing; "),
        ("record", "PLAN and URL are missing"),
        ("history --label Pya", "did you mean Pay?"),
        ("history --metric p93", "did you mean p90, p95 or p99?"),
        ("baseline -1 --as a/b", "use letters, digits, - and _, such as release-4"),
        ("init --openapi nope.yaml", "nope.yaml: there is no such file; name an OpenAPI file"),
        ("init nope.har", "nope.har: there is no such file; name a file that exists"),
        ("help goalz", "did you mean goals?"),
        ("runs", "lth runs: no such verb; did you mean list?"),
        ("version", "did you mean --version?"),
        ("--vesion", "did you mean --version?"),
        ("reprot run-01_1", "lth reprot: no such verb; did you mean report?"),
        ("completion tcsh", "SHELL=tcsh: no such value; there are: bash, zsh, fish, markdown"),
        ("experiment ab-01", "no such A/B test; there are: none"),
    ],
)
def test_what_is_typed_wrongly_is_answered_in_one_line_with_what_is_meant(words, meant):
    began = time.process_time()
    done = command("lth", *words.split())
    assert (done.returncode, done.stdout) == (2, ""), done
    assert meant in done.stderr
    assert done.stderr.count("\n") == 1
    assert time.process_time() - began < 1
