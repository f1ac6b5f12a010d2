"""What the agent counts in a real JMeter: users that die, and the rows that JMeter writes."""

import contextlib
import re
import signal
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base.errors import EXIT_INVALID
from harness.run.jmeter.connections import DEAD_NAME, ROWS_NAME
from tests.support.agent_runs import Agent, arrivals, concurrent, dies, does, group, tree
from tests.support.local_server import serving
from tests.support.off_host import element, flag, host, jmx, request, text
from tests.support.processes import wait_for
from tests.support.shop_runs import shop_run
from tests.support.tiny import TINY_PROFILE

pytestmark = pytest.mark.real
GB = 2**30


def test_a_user_of_any_thread_group_that_an_error_or_exception_ends_is_counted(tmp_path):
    rows = '<stringProp name="filename">none.csv</stringProp><stringProp name="variableNames">a</stringProp>'
    plan = tree(
        group("first", dies("AssertionError((Object) 'setUp')"), "SetupThreadGroup"),
        group("class", dies("NoClassDefFoundError('a/B')")),
        group("deep", does("def f; f = { f() }; f()"), users=2),
        group("killed", dies("ThreadDeath()")),
        group("memory", dies("OutOfMemoryError('Java heap space')"), users=2),
        group("no data", element("CSVDataSet", "rows", rows) + does("1"), users=3),
        arrivals("open", dies("Error('open')"), "rate(4/sec) even_arrivals(4 sec) pause(1 sec)"),
        concurrent("replaced", does("Thread.sleep(400); throw new Error('concurrent')"), 2),
        group("last", dies("LinkageError('tearDown')"), "PostThreadGroup"),
    )
    agent = Agent(tmp_path / "run", plan).ended()
    counts = agent.deaths
    assert counts.pop(("user", "java.lang.Error: open")) >= 1
    assert counts.pop(("user", "java.lang.Error: concurrent")) >= 2
    assert counts == {
        ("user", "java.lang.AssertionError: setUp"): 1,
        ("user", "java.lang.NoClassDefFoundError: a/B"): 1,
        ("user", "java.lang.StackOverflowError"): 2,
        ("user", "java.lang.ThreadDeath"): 1,
        ("user", "java.lang.OutOfMemoryError: Java heap space"): 2,
        ("user", "java.lang.IllegalArgumentException: File none.csv must exist and be readable"): 3,
        ("user", "java.lang.LinkageError: tearDown"): 1,
    }


@pytest.mark.counterpart
def test_users_that_stop_on_purpose_or_whose_samples_fail_are_no_deaths(tmp_path):
    pauses = does("Thread.sleep(60_000)")
    plan = tree(
        group("fails", dies("IllegalStateException('a')") + does("SampleResult.setSuccessful(false)"), loops=2),
        group("stops", dies("org.apache.jorphan.util.JMeterStopThreadException('enough')")),
        group("on error", does("SampleResult.setSuccessful(false)"), on_sample_error="stopthread"),
        group("ends", does("ctx.thread.stop()")),
        arrivals("open", pauses, "rate(4/sec) even_arrivals(1 sec)"),
        concurrent("replaced", pauses, 2),
        group("interrupted", pauses, users=2),
        group("stop", does("Thread.sleep(1500); ctx.engine.askThreadsToStop(); ctx.engine.stopTest(true)")),
    )
    agent = Agent(tmp_path / "run", plan).ended()
    assert agent.deaths == {}
    assert agent.noted.rows.written_count == len(agent.rows) > 6


class Shop(BaseHTTPRequestHandler):
    """A page that redirects twice, and one with images."""

    def do_GET(self):
        code, location, body = {
            "/old": (302, "/older", b""),
            "/older": (301, "/", b""),
            "/page": (200, "", b"<img src=1.png><img src=2.png><img src=none.png>"),
        }.get(self.path, (404 if "none" in self.path else 200, "", b"ok"))
        self.send_response(code)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", "text/html" if body != b"ok" else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.mark.counterpart
@pytest.mark.parametrize("parts", ["true", pytest.param("false", marks=pytest.mark.counterpart)])
def test_as_many_rows_are_counted_as_the_jtl_has_whatever_writes_them(tmp_path, parts):
    with serving(Shop) as port:
        local = (host("127.0.0.1"), text("HTTPSampler.port", str(port)))
        pages = request(*local, flag("HTTPSampler.follow_redirects"), name="moved", path="/old")
        pages += request(*local, flag("HTTPSampler.image_parser"), name="page", path="/page")
        pages += does("SampleResult.setSuccessful(false); SampleResult.setResponseMessage('two\\nlines, \"quoted\"')")
        parent = element("TransactionController", "whole", flag("TransactionController.parent"), below=pages)
        plan = tree(
            group("first", does("1"), "SetupThreadGroup"),
            group("users", parent + element("TransactionController", "beside", below=pages), users=3, loops=5),
            group("last", does("1"), "PostThreadGroup"),
        )
        options = (f"-Jjmeter.save.saveservice.subresults={parts}", "-Jsample_variables=a,b")
        agent = Agent(tmp_path / "run", plan, *options).ended()
    assert not agent.noted.rows.at_least
    written = agent.noted.rows.written_count
    # A message has two lines.
    assert written == sum(re.match(r"\d{13},", line) is not None for line in agent.rows) < len(agent.rows)
    # In each of 15 loops two transactions, of which one has no rows of its requests, unless sub-results have rows.
    assert written == 2 + 15 * (1 + 4 if parts == "false" else 2 * (1 + 3 + 3 + 4))


@pytest.mark.counterpart
def test_a_jmeter_that_is_killed_leaves_what_died_and_no_more_rows_than_it_wrote(tmp_path):
    plan = tree(group("users", does("Thread.sleep(5)"), users=4, loops=-1), group("dead", dies("Error('gone')")))
    agent = Agent(tmp_path / "run", plan)
    rows, dead = (agent.list.with_name(name) for name in (ROWS_NAME, DEAD_NAME))
    wait_for(lambda: dead.exists() and rows.exists() and rows.read_text().split()[:1] > ["0"])
    agent.process.send_signal(signal.SIGKILL)
    agent.ended()
    assert agent.deaths == {("user", "java.lang.Error: gone"): 1}
    assert agent.noted.rows.at_least
    assert 0 < agent.noted.rows.written_count <= len(agent.rows)
    assert agent.noted.rows.clock_step_ms == 0


class Huge(BaseHTTPRequestHandler):
    """Its fifth answer does not fit into the memory of JMeter."""

    def do_GET(self):
        self.count[0] += 1
        parts = 400 if self.count[0] == 5 else 0
        self.send_response(200)
        self.send_header("Content-Length", str(parts * 1_000_000))
        self.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(parts):
                self.wfile.write(bytes(1_000_000))

    def log_message(self, *_):
        pass


def pause(delay_ms):
    return element("ConstantTimer", "Pause", text("ConstantTimer.delay", str(delay_ms)))


@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("sampler", "jvm_args"),
    [pytest.param("lean", "", marks=pytest.mark.counterpart), ("jmeter", "-XX:+HeapDumpOnOutOfMemoryError")],
)
def test_a_user_that_has_no_memory_for_an_answer_makes_the_run_invalid(tmp_path, sampler, jvm_args):
    own = f"[generator]\nheap_mb = 97\njvm_args = '{jvm_args}'"
    profile = TINY_PROFILE.replace("[generator]", own)
    arguments = ("--users", "4", "--duration", "3", "--sampler", sampler)
    code, report, data = shop_run(tmp_path, Huge, jmx(request() + pause(50)), *arguments, profile=profile, count=[0])
    assert code == EXIT_INVALID
    assert "**INVALID: 1 of 4 users died: OutOfMemoryError: Java heap space, first at " in report
    assert r"set heap_mb = 194 in \[generator\] of the profile" in report
    assert data["run"]["rows"]["written_count"] == rows_of(data)
    dumps = list((tmp_path / "reports").rglob("*.hprof"))
    assert len(dumps) == bool(jvm_args)  # 0.3 to 1 GB, unless somebody wants it
    assert data["run"]["heap_dumps"] == {one.name: one.stat().st_size for one in dumps}
    assert all(f"run-01_1/{one.name}" in report for one in dumps)


# For 5 s nobody begins a request: from the third second on.
_WAVE = "${__jexl3(${__time()} - ${TESTSTART.MS} > 3000 && ${__time()} - ${TESTSTART.MS} < 3500 ? 5000 : 30)}"


@pytest.mark.counterpart
def test_a_load_that_pauses_and_transactions_with_pauses_are_no_missing_rows_and_no_step_of_the_clock(tmp_path):
    inner = request(name="a", below=pause(_WAVE)) + request(name="b", below=pause(_WAVE))
    whole = element("TransactionController", "whole", flag("TransactionController.parent"), below=inner)
    plan = jmx(request(name="single", below=pause(_WAVE)) + whole)
    _, report, data = shop_run(tmp_path, Shop, plan, "--users", "8", "--duration", "11")
    codes = [warning["code"] for warning in data["caveats"]]
    assert "load-paused" in codes
    assert not {"offered-read", "clock-step"} & set(codes)
    assert "missing, or a clock" not in report
    assert [gap["is_waited"] for gap in data["gaps"]] == [False]
    cut = sum(one["count"] for group in data["run"]["groups"] for one in group["cut"])
    assert data["run"]["rows"] == {"written_count": rows_of(data) + cut, "at_least": False, "clock_step_ms": 0}
    (users,) = data["run"]["groups"]
    assert (users["name"], users["step_s"], users["arrivals"], users["closed"]) == ("Users", 1, None, [])
    # Each user is there for 8 s or more, and pauses while no request waits: that depends on the machine.
    paused_ms, alive_ms = sum(users["pause_ms"]), sum(users["alive_ms"])
    requests = (data["whole"] or data["groups"][0])["total"]
    waited_ms = requests["sample_count"] * requests["average_ms"]
    assert 8 * 8_000 < alive_ms < 8 * 15_000
    assert 0.8 * alive_ms < paused_ms + waited_ms
    assert paused_ms < alive_ms
    assert max(users["alive_ms"]) <= 8000
    assert users["ended_early"] == []


def rows_of(data):
    return sum(code["sample_count"] for code in data["codes"])


def run_with_rows(tmp_path, *arguments):
    """Run four users who pause before each request, and end with a file of 80 rows."""
    rows = (text("filename", "rows.csv"), text("variableNames", "row"), flag("stopThread"))
    data = element("CSVDataSet", "rows", *rows, '<boolProp name="recycle">false</boolProp>')
    (tmp_path / "plans").mkdir(parents=True)
    (tmp_path / "plans" / "rows.csv").write_text("".join(f"{number}\n" for number in range(80)))
    return shop_run(tmp_path, Shop, jmx(data + request(below=pause(200))), "--users", "4", *arguments)


@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--loops", "100"), r"All 4 users ended before their 100 loops"),
        (("--loops", "20"), r""),
        (("--requests", "1000", "--duration", "20"), r"All 4 users ended at [3-9] s of the requested 20 s"),
    ],
)
def test_a_data_file_that_ends_a_load_before_its_loops_or_requests_makes_it_invalid(tmp_path, arguments, said):
    code, _, summary = run_with_rows(tmp_path, *arguments)
    lines = {line["code"]: line for line in summary["account"]}
    assert re.fullmatch(said, lines["asked-offered"]["text"])
    assert lines["asked-offered"]["balance"] == ("invalid" if said else "balanced")
    assert (code == EXIT_INVALID) is bool(said)


def test_a_data_file_that_ends_makes_a_run_invalid_and_its_own_timer_no_doubt(tmp_path):
    code, report, summary = run_with_rows(tmp_path, "--duration", "20")
    lines = {line["code"]: line for line in summary["account"]}
    assert code == EXIT_INVALID
    assert re.fullmatch(r"All 4 users ended at [3-9] s of the requested 20 s", lines["asked-offered"]["text"])
    assert "4 users had no more rows of a data file" in report
    assert "## The account\n" in report
    assert (lines["offered-read"]["balance"], lines["users-time"]["balance"]) == ("balanced", "balanced")
    assert "pausing" in lines["users-time"]["right"]


class OneGb(BaseHTTPRequestHandler):
    """Answers with a GB of zeros."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(GB))
        self.end_headers()
        for _ in range(1024):
            self.wfile.write(bytes(2**20))

    def log_message(self, *_):
        pass


@pytest.mark.counterpart
@pytest.mark.parametrize("sampler", ["lean", "jmeter"])
def test_an_answer_of_a_gb_that_fits_into_the_heap_is_received_whole(tmp_path, sampler):
    profile = TINY_PROFILE.replace("[generator]", "[generator]\nheap_mb = 4096")
    arguments = ("--users", "1", "--loops", "2", "--sampler", sampler)
    code, report, data = shop_run(tmp_path, OneGb, jmx(request()), *arguments, profile=profile)
    assert "users died" not in report
    assert data["run"]["deaths"] == []
    assert rows_of(data) == 2, code
    total = data["groups"][0]["total"]
    assert (total["error_count"], total["received_bytes_mean"] // GB) == (0, 1)
