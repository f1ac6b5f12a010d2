"""Runs with two load generators on this machine, each a real JMeter, as a user starts them."""

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psutil
import pytest

from harness.base import toolchain
from harness.base.ports import free_port
from harness.report.files import summary_of_run
from harness.report.merge_files import merge
from harness.report.warnings import WarningCode
from harness.run.directory import RunDirectory
from harness.run.exchanges import parse_exchanges
from tests.support.load_generator import generator
from tests.support.local_server import serving
from tests.support.merges import figures, split
from tests.support.off_host import jmx, request
from tests.support.paths import ROOT
from tests.support.processes import processes_of, wait_for
from tests.support.several import BROWSE, BUY, HEAD, SPIKE, several_jmx
from tests.support.tiny import DUMMY_JMX, report, run_json, samples_under_way

pytestmark = pytest.mark.real

# Loops end the load when there is no duration, and each line of codes.csv is for one user once.
SHARED_JMX = (
    DUMMY_JMX.replace(
        '<boolProp name="ThreadGroup.scheduler">true</boolProp>',
        '<stringProp name="ThreadGroup.scheduler">${__jexl3(${__P(duration_s,0)} &gt; 0)}</stringProp>',
    )
    .replace(
        '<stringProp name="LoopController.loops">-1</stringProp>',
        '<stringProp name="LoopController.loops">${__P(loops,-1)}</stringProp>'
        '<boolProp name="LoopController.continue_forever">false</boolProp>',
    )
    .replace("Created, &quot;quoted&quot;", "${code}")
    .replace(
        "<kg.apc.jmeter.samplers.DummySampler ",
        """<CSVDataSet guiclass="TestBeanGUI" testclass="CSVDataSet" testname="Codes">
          <stringProp name="filename">${__P(codes_file,data/codes.csv)}</stringProp>
          <stringProp name="variableNames">code</stringProp>
          <boolProp name="ignoreFirstLine">true</boolProp>
          <stringProp name="delimiter">,</stringProp>
          <boolProp name="recycle">false</boolProp>
          <stringProp name="shareMode">shareMode.all</stringProp>
        </CSVDataSet>
        <hashTree/>
        <kg.apc.jmeter.samplers.DummySampler """,
    )
)


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("keys") / "generator-keys"
    subprocess.run([sys.executable, str(ROOT / "scripts" / "generator-keys"), "--keys", str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def two(keys, tmp_path_factory) -> Iterator[tuple[tuple[str, Path], ...]]:
    logs = tmp_path_factory.mktemp("logs")
    with ExitStack() as stack:
        yield tuple(stack.enter_context(generator(keys, logs / name)) for name in ("first", "second"))


@pytest.fixture
def shared(home, keys, target) -> Callable[..., tuple[tuple[str, ...], dict[str, str]]]:
    """Return a function: the arguments and the environment of a run of the shared plan with these generators."""
    (home / "plans" / "tiny.jmx").write_text(SHARED_JMX)
    (home / "plans" / "data").mkdir()
    (home / "plans" / "data" / "codes.csv").write_text("code\n" + "".join(f"c{number}\n" for number in range(9999)))
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("overrun_s = 30", "overrun_s = 90"))

    def of(remotes: str, *arguments: str, **environment: str) -> tuple[tuple[str, ...], dict[str, str]]:
        variables = {"JMETER_HOME": str(toolchain.ensure_jmeter()), **environment}
        return ("--target", target, "--remotes", remotes, "--keys", str(keys), *arguments), variables

    return of


@pytest.fixture
def start(shared, start_run) -> Callable[..., subprocess.Popen]:
    """Start scripts/run on the shared plan with the JMeter of `make setup` and these generators."""

    def started(remotes: str, *more: str) -> subprocess.Popen:
        arguments, variables = shared(remotes, *more)
        return start_run(*arguments, **variables)

    return started


@pytest.fixture
def ended(shared, run) -> Callable[..., subprocess.CompletedProcess]:
    """Run it to its end."""

    def to_the_end(remotes: str, *more: str, **environment: str) -> subprocess.CompletedProcess:
        arguments, variables = shared(remotes, *more, **environment)
        return run(*arguments, **variables)

    return to_the_end


def rows_of(reports: Path) -> list[dict[str, str]]:
    with (reports / "tiny" / "run-01_1" / "samples.jtl").open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_two_generators_divide_the_users_use_each_line_once_and_lose_no_sample(ended, two, tmp_path):
    (first, _), (second, _) = two
    # 6 s: on a busy machine the second generator begins some seconds after the first one, and all users count at once.
    done = ended(f"{first},{second}", "--users", "5", "--loops", "120")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = rows_of(tmp_path / "reports")
    users = Counter(row["threadName"] for row in rows)
    assert set(users.values()) == {120}
    assert Counter(name.partition("-Users")[0] for name in users) == {first: 3, second: 2}
    codes = [row["responseMessage"] for row in rows]
    assert len(codes) == len(set(codes)) == 600
    assert all(code.startswith("c") for code in codes)
    facts = run_json(tmp_path / "reports")
    assert [(one["name"], one["users"]) for one in facts["generators"]] == [(first, 3), (second, 2)]
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    assert {"generator-1.log", "generator-2.log"} <= {path.name for path in directory.iterdir()}
    for number in (1, 2):  # each restricted its connections, and none was refused
        assert (directory / f"foreign-connections-{number}.txt").read_text().count("\n") == 1
    assert not [path.name for path in directory.iterdir() if path.name.startswith(("rmi_", "generators."))]
    assert "2 generators" in report(tmp_path / "reports")
    # Without RMI: the runs of both generators, merged, have the figures of this one.
    whole = summary_of_run(RunDirectory(directory))
    _, merged = merge(split(RunDirectory(directory), tmp_path), tmp_path / "merged", None)
    assert {one.name: one.most_users for one in whole.generators} == {first: 3, second: 2}
    without = (WarningCode.SEPARATE_CLOCKS, "host-cpu", "generator-cpu", "other-cpu", "stolen-cpu", "other-run")
    # Only how busy the machine was may differ: of runs by themselves nobody adds up what they used.
    assert merged.verdict.state != "INVALID"
    assert figures(replace(merged, verdict=whole.verdict), without) == figures(whole, without)


def test_an_unusable_generator_is_named_at_once_and_nothing_is_left(ended, two, tmp_path):
    (first, _), _ = two
    other_keys = tmp_path / "other-keys"
    command = [sys.executable, str(ROOT / "scripts" / "generator-keys"), "--keys", str(other_keys)]
    subprocess.run(command, check=True)
    fewer = tmp_path / "jmeter"
    subprocess.run(["cp", "-as", f"{toolchain.ensure_jmeter()}/", str(fewer)], check=True)
    (jar,) = fewer.glob("lib/ext/jmeter-plugins-tst-*.jar")  # the plan does not need it
    jar.unlink()
    nobody = f"127.0.0.1:{free_port()}"
    for message, remotes, arguments, environment in (
        (f"{nobody}: nothing listens there", f"{first},{nobody}", (), {}),
        (f"{first}: it does not speak SSL with the keys", first, ("--keys", str(other_keys)), {}),
        (f"{first}: it also has lib/ext/{jar.name}", first, (), {"JMETER_HOME": str(fewer)}),
    ):
        done = ended(remotes, *arguments, **environment)
        assert f"generator {message}" in done.stderr
        assert done.returncode == 3
        assert len(done.stderr.strip().splitlines()) == 1
    assert not list((tmp_path / "reports").rglob("run-*"))


def test_generators_stop_and_become_free_when_their_harness_is_killed(start, two, tmp_path):
    (first, log), _ = two
    before = log.read_text().count("free")
    process = start(first, "--users", "2", "--duration", "60")
    samples_under_way(tmp_path, 5, 150)
    process.kill()
    process.communicate()
    wait_for(lambda: log.read_text().count("free") > before, 20)
    assert "stopping the load that still runs" in log.read_text()
    wait_for(lambda: not processes_of(tmp_path / "reports"), 15)
    # Not even a link to the keys, which a copy of the run would follow.
    wait_for(lambda: not [path for path in (tmp_path / "reports").rglob("*") if path.is_symlink()], 15)


def test_a_stop_condition_ends_the_load_of_all_generators_and_their_failures_are_stored(ended, home, two, tmp_path):
    (first, _), (second, _) = two
    failing = SHARED_JMX.replace('"SUCCESFULL">true', '"SUCCESFULL">false')
    (home / "plans" / "tiny.jmx").write_text(failing.replace("${code}", "from ${__P(generator,)}"))
    # Throughput is watched while both users are active: on a busy machine one begins some seconds after the other.
    done = ended(f"{first},{second}", "--users", "2", "--loops", "2000", "--stop", "throughput<900/s for 2s")
    assert done.returncode == 1, done.stdout + done.stderr
    facts = run_json(tmp_path / "reports")
    assert facts["stopped_early"].startswith("throughput below 900 req/s for 2 s; throughput ")
    assert (facts["exit_codes"], facts["stop_reasons"]) == ({"jmeter": 0}, [])
    rows = rows_of(tmp_path / "reports")
    assert {row["responseMessage"] for row in rows} == {"from 1", "from 2"}
    assert len(rows) < 4000
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    stored = parse_exchanges((directory / "failures.jsonl").read_text())
    assert Counter(one.message for one in stored) == {"from 1": 3, "from 2": 3}
    assert not [path.name for path in directory.iterdir() if path.name.startswith(".exchanges")]


SEVERAL = f"""{HEAD}
[[load]]
group = "Browse"
users = 3
duration_s = 4
[[load]]
group = "Night batch"
stages = [{{users = 2, for = 1}}, {{users = 5, for = 2}}, {{users = 2, for = 1}}]
[[load]]
group = "Buy"
rate_per_s = 10
"""


def test_two_generators_divide_each_of_several_loads(ended, home, two, tmp_path):
    (first, _), (second, _) = two
    (home / "plans" / "tiny.jmx").write_text(several_jmx(BROWSE, SPIKE, BUY))
    (home / "plans" / "tiny.toml").write_text(SEVERAL)
    done = ended(f"{first},{second}")
    text = done.stdout + done.stderr
    # On a busy machine the second generator begins seconds later: users were never all active at once, or for seconds
    # none was.
    assert done.returncode == 0 or re.search("not the requested|: no sample ended for ", done.stdout), text
    rows = rows_of(tmp_path / "reports")
    users = Counter(
        (row["threadName"].rpartition(" ")[0], row["threadName"]) for row in rows if "Buy" not in row["threadName"]
    )
    assert Counter(group for group, _ in users) == {
        f"{first}-Browse": 2, f"{second}-Browse": 1, f"{first}-Night batch": 3, f"{second}-Night batch": 2,
    }  # fmt: skip
    arrivals = Counter(name.partition("-Buy")[0] for name in {row["threadName"] for row in rows} if "Buy" in name)
    assert arrivals == {first: 20, second: 20}  # 5 a second for 4 s
    facts = run_json(tmp_path / "reports")
    assert [(one["users"], one["rate_per_s"]) for one in facts["generators"]] == [(5, 5.0), (3, 5.0)]
    assert f"{first} with 5 users and 5 new users/s" in report(tmp_path / "reports")


class Shop(BaseHTTPRequestHandler):
    """Records the path and the traceparent header of each request; /broken fails."""

    def do_GET(self):
        if self.path != "/":  # the harness asks whether the target answers
            self.seen.append((self.path, self.headers["traceparent"].split("-")[1]))
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_the_trace_ids_of_remote_requests_are_in_the_jtl_and_the_report(ended, home, two, tmp_path):
    (first, _), (second, _) = two
    requests = request(name="Page", path="/page") + request(name="Broken", path="/broken")
    (home / "plans" / "tiny.jmx").write_text(jmx(requests))
    seen = []
    with serving(Shop, seen=seen) as port:
        arguments = ("--target", f"http://127.0.0.1:{port}", "--users", "2", "--loops", "3", "--trace")
        done = ended(f"{first},{second}", *arguments)
    # Every second request fails; on a busy machine one user is done before the other begins.
    assert done.returncode in (1, 3), done.stdout + done.stderr
    rows = rows_of(tmp_path / "reports")
    assert sorted((row["label"], row["trace_id"]) for row in rows) == sorted(
        (path.removeprefix("/").capitalize(), trace_id) for path, trace_id in seen
    )
    assert len({trace_id for _, trace_id in seen}) == 12
    assert {row["threadName"].partition("-Users")[0] for row in rows} == {first, second}
    (stored,) = json.loads((tmp_path / "reports" / "tiny" / "run-01_1.json").read_text())["stored_failures"]
    assert stored["trace_ids"]
    assert set(stored["trace_ids"]) <= {trace_id for path, trace_id in seen if path == "/broken"}


def server_at(address: str) -> psutil.Process:
    port = address.partition(":")[2]
    (server,) = [
        found for found in psutil.process_iter(["cmdline"])
        if "GeneratorServer" in (found.info["cmdline"] or []) and port in found.info["cmdline"]
    ]  # fmt: skip
    return server


def test_a_run_ends_and_names_a_generator_that_hangs(start, two, tmp_path):
    (first, first_log), (second, log) = two
    process = start(f"{first},{second}", "--users", "2", "--duration", "60")
    samples_under_way(tmp_path, 5, 150)
    server_at(second).suspend()
    try:
        out, err = process.communicate(timeout=40)
    finally:
        server_at(second).resume()
    assert process.returncode == 3, out + err
    assert f"INVALID: generator {second} was lost: it does not answer" in out
    wait_for(lambda: all(one.read_text().rstrip().endswith("free") for one in (first_log, log)), 20)


def test_a_run_ends_keeps_its_samples_and_names_a_generator_that_dies(start, two, tmp_path):
    # The last one of the module: it costs the second generator.
    (first, _), (second, log) = two
    process = start(f"{first},{second}", "--users", "2", "--duration", "60")
    samples_under_way(tmp_path, 5, 150)
    server_at(second).kill()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, out + err
    assert f"INVALID: generator {second} was lost" in out
    assert len(rows_of(tmp_path / "reports")) > 5
    wait_for(lambda: "ended with exit code -9" in log.read_text(), 10)
