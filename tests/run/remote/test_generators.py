"""Runs with two load generators on this machine, each a real JMeter, as a user starts them."""

import csv
import json
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psutil
import pytest

from harness.base.install import toolchain
from harness.base.ports import free_port
from harness.report.files import summary_of_run
from harness.report.merge_files import merge
from harness.run.directory import RunDirectory
from harness.run.jmeter.exchanges import parse_exchanges
from tests.support.commands import command
from tests.support.load_generator import generators
from tests.support.local_server import serving
from tests.support.merges import figures, split
from tests.support.off_host import element, flag, jmx, request, script, text
from tests.support.processes import QUICK_JAVA, processes_of, wait_for
from tests.support.several import BROWSE, BUY, HEAD, SPIKE, several_jmx
from tests.support.tiny import DUMMY_JMX, report, run_json

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


def new_keys(folder: Path) -> Path:
    """Create the keys of generators in a new folder and return it."""
    assert command("scripts/generator-keys", "--keys", folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def keys(tmp_path_factory) -> Path:
    return new_keys(tmp_path_factory.mktemp("keys") / "generator-keys")


@pytest.fixture(scope="module")
def two(keys, tmp_path_factory) -> Iterator[tuple[tuple[str, Path], ...]]:
    logs = tmp_path_factory.mktemp("logs")
    with generators(keys, logs / "first", logs / "second") as both:
        yield both


@pytest.fixture
def shared(home, keys, target) -> Callable[..., tuple[tuple[str, ...], dict[str, str]]]:
    """Return a function: the arguments and the environment of a run of the shared plan with these generators."""
    (home / "plans" / "tiny.jmx").write_text(SHARED_JMX)
    (home / "plans" / "data").mkdir()
    (home / "plans" / "data" / "codes.csv").write_text("code\n" + "".join(f"c{number}\n" for number in range(9999)))
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("overrun_s = 30", "overrun_s = 90"))

    def of(remotes: str, *arguments: str, **environment: str) -> tuple[tuple[str, ...], dict[str, str]]:
        variables = {"JMETER_HOME": str(toolchain.ensure_jmeter()), **QUICK_JAVA, **environment}
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


def loaded(process: subprocess.Popen, tmp_path: Path) -> None:
    """Wait until the run of a process has samples; fail at once with its output when it ends without them."""
    samples = tmp_path / "reports" / "tiny" / "run-01_1" / "samples.jtl"

    def has_rows() -> bool:
        return samples.is_file() and samples.read_text().count("\n") > 5

    wait_for(lambda: has_rows() or process.poll() is not None, 150)
    assert process.poll() is None, process.communicate()


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
    assert facts["rows"] == {"written_count": 600, "at_least": False, "clock_step_ms": 0}
    assert [(one["name"], one["users"]) for one in facts["generators"]] == [(first, 3), (second, 2)]
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    assert {"generator-1.log", "generator-2.log"} <= {path.name for path in directory.iterdir()}
    for number in (1, 2):  # each restricted its connections, and none was refused
        assert (directory / f"foreign-connections-{number}.txt").read_text().count("\n") == 1
    assert not [path.name for path in directory.iterdir() if path.name.startswith(("rmi_", "generators."))]
    assert "2 generators" in report(tmp_path / "reports")
    # Without RMI: the runs of both generators, merged, have the figures of this one.
    whole = summary_of_run(RunDirectory(directory))
    merged = merge(split(RunDirectory(directory), tmp_path), tmp_path / "merged", None).summary
    assert {one.name: one.most_users for one in whole.generators} == {first: 3, second: 2}
    without = ("separate-clocks", "host-cpu", "generator-cpu", "other-cpu", "stolen-cpu", "other-run")
    # Only how busy the machine was may differ: of runs by themselves nobody adds up what they used.
    assert merged.verdict.state != "INVALID"
    assert figures(replace(merged, verdict=whole.verdict), without) == figures(whole, without)


class Moved(BaseHTTPRequestHandler):
    """Sends what asks for / to another server."""

    def do_GET(self):
        self.got.append((self.path, self.headers.get("Authorization")))
        self.send_response(302 if self.path == "/" else 200)
        self.send_header("Location", f"http://127.0.0.1:{self.other}/other")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def test_generators_keep_credentials_at_their_origin_and_their_users_that_die_make_the_run_invalid(
    ended, home, two, tmp_path
):
    (first, _), (second, _) = two
    names = text("Header.name", "Authorization") + text("Header.value", "Bearer x")
    row = (
        f'<collectionProp name="HeaderManager.headers"><elementProp name="" elementType="Header">{names}</elementProp>'
    )
    headers = element("HeaderManager", "h", f"{row}</collectionProp>").replace("TestBeanGUI", "HeaderPanel")
    dies = script("JSR223Sampler", "dies", "if (ctx.threadNum == 0) throw new Error('gone')")
    toml = home / "plans" / "tiny.toml"
    toml.write_text(f"{toml.read_text()}[allow]\nscripts = true\n")
    got = []
    with serving(Moved, got=got, other=0) as other, serving(Moved, got=got, other=other) as own:
        in_group = request(flag("HTTPSampler.follow_redirects"), below=headers) + dies
        (home / "plans" / "tiny.jmx").write_text(jmx(in_group))
        done = ended(f"{first},{second}", "--users", "4", "--loops", "3", "--target", f"http://127.0.0.1:{own}")
    assert {path: {one for at, one in got if at == path} for path, _ in got} == {"/": {"Bearer x"}, "/other": {None}}
    assert done.returncode == 3, done.stdout + done.stderr
    assert "2 of 4 users died: Error: gone, first at " in report(tmp_path / "reports")
    assert run_json(tmp_path / "reports")["rows"]["written_count"] == len(rows_of(tmp_path / "reports"))


def test_an_unusable_generator_is_named_at_once_and_nothing_is_left(ended, two, tmp_path):
    (first, _), _ = two
    other_keys = new_keys(tmp_path / "other-keys")
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


@pytest.mark.counterpart
def test_generators_stop_and_become_free_when_their_harness_is_killed(start, two, tmp_path):
    (first, log), _ = two
    before = log.read_text().count("free")
    process = start(first, "--users", "2", "--duration", "60")
    loaded(process, tmp_path)
    process.kill()
    process.communicate()
    wait_for(lambda: log.read_text().count("free") > before, 20)
    assert "stopping the load that still runs" in log.read_text()
    wait_for(lambda: not processes_of(tmp_path / "reports"), 15)
    # Not even a link to the keys, which a copy of the run would follow.
    wait_for(lambda: not [path for path in (tmp_path / "reports").rglob("*") if path.is_symlink()], 15)


class Shop(BaseHTTPRequestHandler):
    """Answers after 50 ms with a message that names the generator, and records the path and the traceparent header.

    /broken fails.
    """

    def do_GET(self):
        if self.path != "/":  # the harness asks whether the target answers
            self.seen.append((self.path, self.headers["traceparent"].split("-")[1]))
            time.sleep(0.05)
        self.send_response(500 if self.path.startswith("/broken/") else 200, f"from {self.path[-1]}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def stopped(ended, home, two) -> tuple[subprocess.CompletedProcess, list[tuple[str, str]]]:
    """A traced run of both generators that a stop condition ended, and what the server saw: every second one fails."""
    (first, _), (second, _) = two
    requests = [request(name=name, path=f"/{name.lower()}/${{__P(generator,)}}") for name in ("Page", "Broken")]
    (home / "plans" / "tiny.jmx").write_text(jmx("".join(requests)))
    seen = []
    with serving(Shop, seen=seen) as port:
        arguments = ("--target", f"http://127.0.0.1:{port}", "--users", "2", "--loops", "2000", "--trace")
        # Throughput is watched while both users are active: on a busy machine one begins seconds after the other.
        return ended(f"{first},{second}", *arguments, "--stop", "throughput<900/s for 2s"), seen


@pytest.mark.counterpart
def test_a_stop_condition_ends_the_load_of_all_generators_and_their_failures_are_stored_and_traced(
    stopped, two, tmp_path
):
    done, seen = stopped
    assert done.returncode == 1, done.stdout + done.stderr
    facts = run_json(tmp_path / "reports")
    assert facts["stopped_early"].startswith("throughput below 900 req/s for 2 s; throughput ")
    assert (facts["exit_codes"], facts["stop_reasons"]) == ({"jmeter": 0}, [])
    rows = rows_of(tmp_path / "reports")
    assert {row["responseMessage"] for row in rows} == {"from 1", "from 2"}
    assert {row["threadName"].partition("-Users")[0] for row in rows} == {name for name, _ in two}
    assert len(rows) < 4000
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    stored = parse_exchanges((directory / "failures.jsonl").read_text())
    assert Counter(one.message for one in stored) == {"from 1": 3, "from 2": 3}
    assert not [path.name for path in directory.iterdir() if path.name.startswith(".exchanges")]
    # The trace ids of all requests are in the JTL, those of stored failures in the report.
    assert sorted((row["label"], row["trace_id"]) for row in rows) == sorted(
        (path.split("/")[1].capitalize(), trace_id) for path, trace_id in seen
    )
    assert len({trace_id for _, trace_id in seen}) == len(rows)
    in_report = json.loads((tmp_path / "reports" / "tiny" / "run-01_1.json").read_text())["stored_failures"]
    for number, one in enumerate(sorted(in_report, key=lambda one: one["cause"]), start=1):
        assert one["trace_ids"]
        assert set(one["trace_ids"]) <= {trace_id for path, trace_id in seen if path == f"/broken/{number}"}
    assert len(in_report) == 2


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


@pytest.mark.counterpart
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


def server_at(address: str) -> psutil.Process:
    port = address.partition(":")[2]
    (server,) = [
        found for found in psutil.process_iter(["cmdline"])
        if "GeneratorServer" in (found.info["cmdline"] or []) and port in found.info["cmdline"]
    ]  # fmt: skip
    return server


@pytest.mark.counterpart
def test_a_run_ends_and_names_a_generator_that_hangs(start, two, tmp_path):
    (first, first_log), (second, log) = two
    process = start(f"{first},{second}", "--users", "2", "--duration", "60")
    loaded(process, tmp_path)
    server_at(second).suspend()
    try:
        out, err = process.communicate(timeout=40)
    finally:
        server_at(second).resume()
    assert process.returncode == 3, out + err
    assert f"INVALID: generator {second} was lost: it does not answer" in out
    wait_for(lambda: all(one.read_text().rstrip().endswith("free") for one in (first_log, log)), 20)


@pytest.mark.counterpart
def test_a_run_ends_keeps_its_samples_and_names_a_generator_that_dies(start, two, tmp_path):
    # The last one of the module: it costs the second generator.
    (first, _), (second, log) = two
    process = start(f"{first},{second}", "--users", "2", "--duration", "60")
    loaded(process, tmp_path)
    server_at(second).kill()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, out + err
    assert f"INVALID: generator {second} was lost" in out
    assert len(rows_of(tmp_path / "reports")) > 5
    wait_for(lambda: "ended with exit code -9" in log.read_text(), 10)
