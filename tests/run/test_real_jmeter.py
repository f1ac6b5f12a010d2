"""The real JMeter with its plugins under scripts/run: the dummy sampler answers, so no system is needed."""

import csv
import gzip
import json
import subprocess
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

from harness.base.install import toolchain
from harness.report.files import write_report
from harness.run.directory import RunDirectory
from tests.support.commands import command
from tests.support.processes import interrupted_after, meanwhile, press_ctrl_c, processes_of, wait_for
from tests.support.secret_spellings import assert_no_secret
from tests.support.tiny import DUMMY_JMX, arguments_of_run, report, run_json, samples_under_way, tiny_home

pytestmark = pytest.mark.real


@pytest.fixture
def real(home, start_run):
    """Start scripts/run on the dummy plan with the JMeter home of `make setup`."""
    (home / "plans" / "tiny.jmx").write_text(DUMMY_JMX)
    jmeter = str(toolchain.ensure_jmeter())

    def start(*arguments: str) -> subprocess.Popen[str]:
        return start_run(*arguments, JMETER_HOME=jmeter)

    return start


@pytest.fixture
def to_the_end(home, run):
    """Run scripts/run on the same plan to its end; return its exit code and what it prints."""
    (home / "plans" / "tiny.jmx").write_text(DUMMY_JMX)
    jmeter = str(toolchain.ensure_jmeter())

    def ended(*arguments: str) -> tuple[int, str]:
        done = run(*arguments, JMETER_HOME=jmeter)
        return done.returncode, done.stdout + done.stderr

    return ended


_FIXED, _OWN = "p&ss<w\"o'rd-1", "ключ & 2"
_MESSAGE = "${__groovy(vars.get('fixed'))} ${__urlencode(${__P(password,)})} ${__escapeXml(${__P(password,)})}"
_VARIABLES = (
    '<Arguments guiclass="ArgumentsPanel" testclass="Arguments" testname="Variables">'
    '<collectionProp name="Arguments.arguments"><elementProp name="fixed" elementType="Argument">'
    f'<stringProp name="Argument.name">fixed</stringProp><stringProp name="Argument.value">{escape(_FIXED)}'
    "</stringProp></elementProp>"
    '<elementProp name="db_password" elementType="Argument">'
    '<stringProp name="Argument.name">db_password</stringProp>'
    f'<stringProp name="Argument.value">{escape(_FIXED)}</stringProp></elementProp>'
    "</collectionProp></Arguments><hashTree/>"
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The reports of a run of four users, whose plan contains secrets and writes them into each sample."""
    folder = tmp_path_factory.mktemp("secrets")
    home = tiny_home(folder)
    jmx = DUMMY_JMX.replace("Created, &quot;quoted&quot;", _MESSAGE)
    jmx = jmx.replace(">201<", ">${__groovy(vars.get('fixed').length())}<")
    (home / "plans" / "tiny.jmx").write_text(jmx.replace("<ThreadGroup ", f"{_VARIABLES}<ThreadGroup "))
    plan = home / "plans" / "tiny.toml"
    plan.write_text(f"{plan.read_text()}[properties]\npassword = {json.dumps(_OWN)}\n")
    # Groovy takes seconds for its first answer.
    arguments = arguments_of_run(home, folder, ("--users", "4", "--duration", "8"))
    with interrupted_after(180):
        done = command("scripts/run", *arguments, JMETER_HOME=str(toolchain.ensure_jmeter()))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "reports"


def rows_of(directory: Path) -> list[dict[str, str]]:
    with (directory / "samples.jtl").open(newline="") as rows:
        return list(csv.DictReader(rows))


def test_every_sample_of_jmeter_is_in_the_report_with_the_configured_columns(reports):
    directory = reports / "tiny" / "run-01_1"
    rows = rows_of(directory)
    assert list(rows[0]) == [
        "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "success", "failureMessage",
        "bytes", "sentBytes", "grpThreads", "allThreads", "Latency", "Connect",
    ]  # fmt: skip
    assert not [path.name for path in directory.iterdir() if "failures" in path.name or "exchanges" in path.name]
    summary = json.loads(directory.with_suffix(".json").read_text())
    total = (summary["whole"] or summary["groups"][0])["total"]
    elapsed = sorted(int(row["elapsed"]) for row in rows)
    assert total["sample_count"] == len(rows) > 200
    assert total["average_ms"] == pytest.approx(sum(elapsed) / len(elapsed))
    assert (total["min_ms"], total["max_ms"]) == (elapsed[0], elapsed[-1])
    assert 50 <= total["percentiles_ms"]["50"] <= 60  # the dummy sampler waits for 50 ms
    assert summary["littles_law"]["peak_users"] == 4
    assert summary["generator_delay"]["p99_ms"] == summary["groups"][0]["total"]["percentiles_ms"]["99"]
    late = run_json(reports)["wake_delays"]
    assert 20 < sum(map(sum, late["counts"])) / len(late["counts"]) <= 100  # it sleeps for 10 ms and more
    versions = run_json(reports)["versions"]
    assert versions["jmeter"] == "5.6.3"
    assert {f"jmeter-plugins-{name}" for name in ("casutg", "cmn-jmeter", "tst", "dummy")} <= set(versions)


def test_jmeter_runs_the_plan_with_its_secrets_and_none_is_stored_in_any_spelling(reports):
    row, *_ = rows_of(reports / "tiny" / "run-01_1")
    assert (row["responseCode"], row["responseMessage"]) == (str(len(_FIXED)), "••• ••• •••")
    assert_no_secret(reports, [_FIXED, _OWN])
    ElementTree.parse(reports / "tiny" / "run-01_1" / "effective.jmx")


@pytest.mark.counterpart
def test_an_open_load_starts_as_many_users_as_its_rate_demands(to_the_end, target, tmp_path):
    # Each arrival runs the loop until its time is over in this plan, so users are counted, not samples.
    _, text = to_the_end("--target", target, "--rate", "5", "--duration", "4")
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    assert len({row["threadName"] for row in rows_of(directory)}) == 20, text
    assert "OpenModelThreadGroup" in (directory / "effective.jmx").read_text()


@pytest.mark.counterpart
def test_arrivals_that_find_no_memory_are_left_out_counted_and_said(to_the_end, home, target, tmp_path):
    plan, profile = home / "plans" / "tiny.jmx", home / "env" / "local.toml"
    plan.write_text(DUMMY_JMX.replace('"RESPONSE_TIME">50<', '"RESPONSE_TIME">3000<'))
    profile.write_text(profile.read_text().replace("[generator]", "[generator]\nheap_mb = 97"))
    _, text = to_the_end("--target", target, "--rate", "50", "--duration", "4")
    facts = run_json(tmp_path / "reports")
    users = len({row["threadName"] for row in rows_of(tmp_path / "reports" / "tiny" / "run-01_1")})
    assert users + facts["left_out_arrivals"] == 200, text
    # After three seconds the first have ended, and others take their place; some were starting when it was full.
    assert facts["users_most"] <= users < 2 * facts["users_most"]
    assert f"{facts['left_out_arrivals']} arrivals were not made" in report(tmp_path / "reports")


@pytest.mark.parametrize(
    "load", [("--users", "3"), pytest.param(("--rate", "5"), marks=pytest.mark.counterpart)], ids=["closed", "open"]
)
def test_ctrl_c_stops_a_real_jmeter_gracefully(to_the_end, target, tmp_path, load):
    def interrupt():
        samples_under_way(tmp_path, 20, 40)
        press_ctrl_c()

    with meanwhile(interrupt):
        code, text = to_the_end("--target", target, *load, "--duration", "60")
    assert code == 130, text
    assert "**INTERRUPTED: stopped by hand" in report(tmp_path / "reports")
    # 1 is JMeter's own word after StopTestNow when users are in the middle of a sample; a signal would be negative.
    assert run_json(tmp_path / "reports")["exit_codes"]["jmeter"] in ((0,) if load[0] == "--users" else (0, 1))
    assert processes_of(tmp_path) == []


def test_a_missing_plugin_is_refused_with_its_class_and_nothing_is_started(to_the_end, home, target, tmp_path):
    plan = home / "plans" / "tiny.jmx"
    plan.write_text(DUMMY_JMX.replace("kg.apc.jmeter.samplers.DummySampler", "kg.apc.jmeter.samplers.GoneSampler"))
    toml = home / "plans" / "tiny.toml"
    toml.write_text(f"{toml.read_text()}[allow]\nother_protocols = true\n")  # nobody knows what the plugin does
    code, text = to_the_end("--target", target)
    assert code == 2, text
    assert "needs the Java class kg.apc.jmeter.samplers.GoneSampler" in text
    assert not (tmp_path / "reports" / "tiny").exists()


def test_kill_9_of_the_harness_ends_a_real_jmeter_and_the_last_row_is_whole(real, target, tmp_path):
    process = real("--target", target, "--users", "5", "--duration", "60")
    samples = samples_under_way(tmp_path, 20, 40)
    process.kill()
    process.communicate()
    wait_for(lambda: not processes_of(tmp_path), 40)
    done = command("aggregate.py", "table", samples)
    assert done.returncode == 0
    assert "| Pay |" in done.stdout
    assert "could not be used" not in done.stdout


@pytest.mark.counterpart
@pytest.mark.parametrize("load", [("--users", "3"), pytest.param(("--rate", "30"), marks=pytest.mark.counterpart)])
def test_a_stop_condition_ends_jmeter_gracefully_with_all_its_samples(to_the_end, home, target, tmp_path, load):
    jmx = home / "plans" / "tiny.jmx"
    jmx.write_text(DUMMY_JMX.replace('"SUCCESFULL">true', '"SUCCESFULL">${__P(scheme,)}'))  # http: not true
    arguments = (*load, "--duration", "60", "--stop", "errors>50% for 2s", "--goal", "Pay: p90<2s")
    code, text = to_the_end("--target", target, *arguments)
    assert code == 1, text
    facts = run_json(tmp_path / "reports")
    assert facts["stopped_early"].startswith("errors above 50 % for 2 s; errors 100.00 % in the last second")
    assert (facts["exit_codes"], facts["stop_reasons"], facts["took_s"] < 30) == ({"jmeter": 0}, [], True)
    shown = report(tmp_path / "reports")
    assert "**DOUBTFUL. 2 goals missed. Stopped early: errors above 50 % for 2 s" in shown
    assert "| errors ≤ 1 % | 100.00 % | **missed** |" in shown
    assert processes_of(tmp_path) == []


@pytest.mark.counterpart
def test_the_rows_of_a_soak_are_packed_while_it_lasts_and_counted_exactly(to_the_end, home, target, tmp_path):
    plan = home / "plans" / "tiny.jmx"
    # Long rows: a step is full after the first second, and is packed three seconds later.
    jmx = DUMMY_JMX.replace('"RESPONSE_TIME">50<', '"RESPONSE_TIME">1<')
    plan.write_text(jmx.replace('"RESPONSE_MESSAGE">', f'"RESPONSE_MESSAGE">{"Created " * 60}'))
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("min_free_mb = 1", "min_free_mb = 1\npack_mb = 1"))
    directory = RunDirectory(tmp_path / "reports" / "tiny" / "run-01_1")
    with meanwhile(lambda: wait_for((directory.path / "samples.jtl.packed").is_file, 60)):
        code, text = to_the_end("--target", target, "--soak", "--users", "4", "--duration", "8")
    assert code == 0, text
    assert not (directory.path / "samples.jtl").exists()
    with gzip.open(directory.samples, "rt", newline="") as lines:
        rows = list(csv.DictReader(lines))
    summary = json.loads(directory.summary_json.read_text())
    load = summary["whole"] or summary["groups"][0]  # the window of a longer load leaves out its warm-up
    assert load["total"]["sample_count"] == len(rows) > 10_000
    packed = summary["run"]["packed_samples"]
    assert packed["packed_bytes"] == directory.samples.stat().st_size < packed["text_bytes"] / 5
    assert "- samples: packed while the run lasted: " in directory.report.read_text()
    before = directory.summary_json.read_bytes()
    write_report(directory)
    assert directory.summary_json.read_bytes() == before
