"""What the account of a real run says, line by line: of loads that do not balance, each for a cause of its own."""

import re
import threading
import time
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base.errors import EXIT_INVALID
from harness.judge.verdict import VALID
from harness.report.account_table import TITLE
from tests.support.agent_runs import extractor
from tests.support.commands import command
from tests.support.off_host import element, flag, jmx, request, script, text
from tests.support.shop_runs import shop_run
from tests.support.tiny import check_short_run

pytestmark = pytest.mark.real

BALANCED, DOUBT, INVALID = "balanced", "doubt", "invalid"


class Shop(BaseHTTPRequestHandler):
    """Answers after `wait_ms`, fails where `fails`; both of the seconds since its first request. `moved` redirects."""

    begin_s = None
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        kind = type(self)
        kind.begin_s = kind.begin_s or time.monotonic()
        passed_s = time.monotonic() - kind.begin_s
        time.sleep(self.wait_ms(passed_s) / 1000)
        code = 302 if self.moved() else 500 if self.fails(passed_s) else 200
        self.send_response(code)
        if code == 302:
            self.send_header("Location", self.moved())
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def wait_ms(self, _passed_s):
        return 5

    def moved(self):
        return "/new" if self.path == "/old" else ""

    def fails(self, _passed_s):
        return False

    def log_message(self, *_):
        pass


def pause(delay_ms):
    return element("ConstantTimer", "Pause", text("ConstantTimer.delay", str(delay_ms)))


def paced(delay_ms=40):
    return jmx(request(below=pause(delay_ms)))


def lines_of(summary):
    return {line["code"]: line for line in summary["account"]}


def balances(summary):
    return {line["code"]: line["balance"] for line in summary["account"]}


# Short runs: each line of them is a count, not an estimate.


@pytest.mark.counterpart
def test_users_that_a_failed_sample_ends_one_by_one_are_missing_with_the_step_that_ended_them(tmp_path):
    class Fails(Shop):
        count = 0

        def fails(self, _passed_s):
            type(self).count += 1
            return type(self).count % 40 == 0

    stops = text("ThreadGroup.on_sample_error", "stopthread")
    plan = paced(60).replace(
        '<stringProp name="ThreadGroup.num_threads">', f'{stops}<stringProp name="ThreadGroup.num_threads">'
    )
    code, report, summary = shop_run(tmp_path, Fails, plan, "--users", "4", "--duration", "10", "--errors", "50%")
    line = lines_of(summary)["asked-offered"]
    assert (code, line["balance"]) == (EXIT_INVALID, INVALID)
    assert re.fullmatch(r"All 4 users ended (at|from) \d+ s.* of the requested 10 s", line["text"]), line
    assert "4 users were stopped on a failed sample (Buy)" in report


@pytest.mark.counterpart
def test_a_step_that_no_user_reached_redirects_and_a_row_that_a_broken_writer_added(tmp_path):
    moved = request(flag("HTTPSampler.follow_redirects"), name="Moved", path="/old", below=pause(100))
    never = element("IfController", "If", text("IfController.condition", "false"), below=request(name="Sometimes"))
    forever = element("LoopController", "Loop", text("LoopController.loops", "-1"), below=request(below=pause(100)))
    once = element("OnceOnlyController", "Once", below=request(name="Log in"))
    plan = jmx(once + moved + never + forever + request(name="Pay"))
    _, report, summary = shop_run(tmp_path, Shop, plan, "--users", "4", "--duration", "13")
    line = lines_of(summary)["asked-offered"]
    assert (line["balance"], line["text"]) == (DOUBT, "Never sent: 1 step of the plan (Pay)")
    assert line["right"] == "4 users for 13 s; never sent, by the plan's logic: Sometimes"
    assert line["text"] in summary["verdict"]["reasons"]
    assert "| asked = offered | 4 users for 13 s | 4 users for 13 s; never sent" in report
    # Redirects have no rows beside those of their requests.
    assert {code["label"] for code in summary["codes"]} == {"Moved", "Buy", "Log in"}
    assert lines_of(summary)["offered-read"]["balance"] == BALANCED
    assert lines_of(summary)["users-time"]["balance"] in (BALANCED, "not known")
    jtl = tmp_path / "reports" / "shop" / "run-01_1" / "samples.jtl"
    with jtl.open("a") as rows:
        rows.write("1700000000000,1,Buy,500,no, sorry, wait,Users 1-1,text,false,,1,1,4,4,,0,0,0\n")
    command("aggregate.py", "report", "shop/run-01_1", "--reports", tmp_path / "reports")
    table = (tmp_path / "reports" / "shop" / "run-01_1.md").read_text()
    assert re.search(r"doubt: 1 of \d+ rows of the JTL could not be read", table), table.split(TITLE)[1][:2000]
    assert "the writer does not quote it" in table


@pytest.mark.counterpart
def test_rows_of_a_cache_are_no_requests_and_a_doubt_but_those_of_a_304_are_requests(tmp_path):
    class Tagged(Shop):
        def do_GET(self):
            if self.headers["If-None-Match"]:
                self.send_response(304)
                self.end_headers()
            else:
                super().do_GET()

        def end_headers(self):
            self.send_header("ETag", '"1"')
            super().end_headers()

    def cached(use_expires):
        expires = f'<boolProp name="useExpires">{use_expires}</boolProp>'
        return jmx(
            element("CacheManager", "Cache", expires) + request(below=pause(20)) + request(name="Image", path="/i")
        )

    for use_expires, mode, balance in ("true", "RETURN_200_CACHE", DOUBT), ("false", "RETURN_NO_SAMPLE", BALANCED):
        home = tmp_path / balance
        home.mkdir()
        mode = f"cache_manager.cached_resource_mode={mode}"
        _, report, summary = shop_run(
            home, Tagged, cached(use_expires), "--users", "4", "--duration", "8", "--properties", mode
        )
        line = lines_of(summary)["offered-read"]
        assert line["balance"] == balance, line
        assert ("never sent" in line["right"]) is (balance == DOUBT)
        if balance == DOUBT:
            assert re.fullmatch(
                r"\d+ % of the rows are no requests: nothing was sent for them \(.*Image.*\)", line["text"]
            )
            assert line["text"] in summary["verdict"]["reasons"]
            assert "RETURN_NO_SAMPLE" in report


@pytest.mark.counterpart
def test_ignored_polls_are_stated_and_ignored_failures_are_a_doubt(tmp_path):
    class Fails(Shop):
        def fails(self, _passed_s):
            return self.path == "/pay" and int(time.monotonic() * 1000) % 10 == 0

    quiet = script("JSR223PostProcessor", "Quiet", "prev.setIgnore()")
    hides = script("JSR223PostProcessor", "Hide", "if (!prev.isSuccessful()) prev.setIgnore()")
    poll, pay = request(name="Poll", below=pause(50) + quiet), request(name="Pay", path="/pay", below=pause(50) + hides)
    whole = element("TransactionController", "whole", flag("TransactionController.parent"), below=pay + request())
    for plan, balance in (poll + request(), BALANCED), (poll + whole, DOUBT):
        home = tmp_path / balance
        home.mkdir()
        scripts = "[allow]\nscripts = true\n"
        _, _, summary = shop_run(home, Fails, jmx(plan), "--users", "4", "--duration", "12", more=scripts)
        lines = lines_of(summary)
        assert lines["offered-read"]["balance"] == balance, lines
        assert re.search(r"; ignored by the plan: \d+ results \(Poll", lines["offered-read"]["right"])
        assert re.fullmatch(r"The plan ignored \d+ failures \(Pay\)|", lines["offered-read"]["text"])
        assert lines["asked-offered"]["balance"] == BALANCED


@pytest.mark.counterpart
def test_times_that_go_on_after_the_answer_and_a_header_as_data_are_doubts(tmp_path):
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "rows.csv").write_text("id\n1\n2\n3\n")
    rows = element("CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "id"), flag("recycle"))
    waits = script("JSR223PostProcessor", "Waits", "Thread.sleep(30)")
    after = pause(40) + waits + element("DebugPostProcessor", "Debug")
    plan, scripts = jmx(rows + request(path="/?id=${id}", below=after)), "[allow]\nscripts = true\n"
    _, _, summary = shop_run(tmp_path, Shop, plan, "--users", "4", "--duration", "12", more=scripts)
    lines = lines_of(summary)
    assert re.fullmatch(
        r"The header of a data file was sent as data by \d+ samples \(Buy\)", lines["asked-offered"]["text"]
    )
    said = re.fullmatch(
        r"The times of Buy go on after the answer: (\d+) of (\d+) ms on average", lines["read-counted"]["text"]
    )
    assert said and 25 <= int(said[1]) < int(said[2]) - 4, lines["read-counted"]
    assert lines["users-time"]["balance"] == BALANCED


@pytest.mark.counterpart
def test_data_that_ends_and_users_who_only_pause_are_doubts(tmp_path):
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "rows.csv").write_text("1\n2\n3\n")
    once = [f'<boolProp name="{name}">false</boolProp>' for name in ("recycle", "stopThread")]
    rows = element("CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "id"), *once)
    encoded = request(path="/?id=${__urlencode(${id})}", below=pause(100))
    _, _, summary = shop_run(tmp_path, Shop, jmx(rows + encoded), "--users", "4", "--duration", "12")
    line = lines_of(summary)["asked-offered"]
    assert re.fullmatch(r"A data file ended: \d+ samples had <EOF> in place of data \(Buy\)", line["text"])
    (home := tmp_path / "idle").mkdir()
    length = text("ActionProcessor.duration", "${__jexl3(${__threadNum} > 1 ? 600000 : 50)}")
    rest = element("TestAction", "Rest", '<intProp name="ActionProcessor.action">1</intProp>', length)
    _, _, summary = shop_run(home, Shop, jmx(request() + rest), "--users", "4", "--duration", "12")
    line = lines_of(summary)["asked-offered"]
    assert (line["balance"], line["text"]) == (DOUBT, "3 of 4 users only paused for most of the load (Rest)")
    # Many short pauses of a loop that does not end, and as many with a sample after each, also with one that is hidden.
    (home := tmp_path / "loop").mkdir()
    rest = rest.replace(length, text("ActionProcessor.duration", "50"))
    again = text("WhileController.condition", "${__jexl3(${__threadNum} > 1)}")
    loop = element("WhileController", "Until done", again, below=rest)
    hidden = again.replace("> 1", "== 1")
    hides = request(name="Poll", below=script("JSR223PostProcessor", "Hide", "prev.setIgnore()"))
    polls = element("WhileController", "Poll", hidden, below=rest + hides)
    plan, allow = jmx(request() + rest + loop + polls), "[allow]\nscripts = true\n"
    _, _, summary = shop_run(home, Shop, plan, "--users", "4", "--duration", "12", more=allow)
    line = lines_of(summary)["asked-offered"]
    assert (line["balance"], line["text"]) == (DOUBT, "3 of 4 users only paused for most of the load (Rest)")


@pytest.mark.counterpart
def test_users_who_wait_for_an_item_in_the_processor_of_a_plugin_pause(tmp_path):
    def when(condition, below):
        condition = text("IfController.condition", f"${{__jexl3(${{__threadNum}} {condition})}}")
        return element("IfController", "When", condition, flag("IfController.useExpression"), below=below)

    queue, package = text("FifoName", "Items"), "kg.apc.jmeter.modifiers"
    put = element(f"{package}.FifoPutPostProcessor", "Put", queue, text("Value", "7"))
    pop = element(f"{package}.FifoPopPreProcessor", "Pop", queue, text("Variable", "item"), text("Timeout", "9"))
    plan = jmx(when("== 1", request(name="Make", below=pause(100) + put)) + when("> 1", request(below=pop)))
    plugin = '[jmeter]\nplugins = ["kg.apc:jmeter-plugins-fifo:0.2"]\n'
    _, _, summary = shop_run(tmp_path, Shop, plan, "--users", "4", "--duration", "12", more=plugin)
    line = lines_of(summary)["users-time"]
    assert line["balance"] == BALANCED, line
    assert re.fullmatch(r"0\.\d waiting \+ 3\.\d pausing", line["right"])


@pytest.mark.counterpart
@pytest.mark.parametrize(("walls", "text_of_doubt"), [
    ((), r"An extractor found nothing in \d+ of \d+ answers \(token, of Log in\): its default was sent on"),
    (("/account", "/orders"), r"2 steps were redirected to /login \(Account, Orders\)"),
])  # fmt: skip
def test_what_an_extractor_did_not_find_and_a_wall_of_a_login_are_doubts(tmp_path, walls, text_of_doubt):
    class Site(Shop):
        def moved(self):
            return "/login" if self.path in walls else ""

    token = extractor("RegexExtractor", "token", "token=(.+?);", "NOT_FOUND")
    follows, asks = flag("HTTPSampler.follow_redirects"), "" if walls else "?token=${token}"
    steps = [request(name="Log in", below=pause(50) + token)]
    for name in ("account", "orders"):
        steps.append(request(follows, name=name.title(), path=f"/{name}{asks}", below=pause(50)))
    plan = jmx("".join(steps))
    _, report, summary = shop_run(tmp_path, Site, plan, "--users", "4", "--duration", "12")
    line = lines_of(summary)["asked-offered"]
    assert line["balance"] == DOUBT
    assert re.fullmatch(text_of_doubt, line["text"])
    assert line["text"] in report


def parallel(below, *, is_parent):
    """A Parallel Controller, with a row for all of its requests or one for each."""
    props = f'<boolProp name="PARENT_SAMPLE">{str(is_parent).lower()}</boolProp>', text("MAX_THREAD_NUMBER", "6")
    return element("com.blazemeter.jmeter.controller.ParallelSampler", "Page", *props, below=below)


@pytest.mark.counterpart
@pytest.mark.parametrize("is_parent", [True, False])
def test_requests_that_a_user_sends_at_the_same_time_are_one_wait_of_the_user(tmp_path, is_parent):
    class Slow(Shop):
        def wait_ms(self, _passed_s):
            return 50

    page = parallel("".join(request(name=name) for name in ("A", "B", "C")), is_parent=is_parent)
    plugins = '[jmeter]\nplugins = ["com.blazemeter:jmeter-parallel:0.12"]\n'
    plan = jmx(page + request(name="D", below=pause(50)))
    _, report, summary = shop_run(tmp_path, Slow, plan, "--users", "4", "--duration", "14", more=plugins)
    line = lines_of(summary)["users-time"]
    assert line["balance"] == BALANCED, report.split(TITLE)[1][:2000]
    assert ", samples of Page at once" in line["right"]
    assert [group["name"] for group in summary["run"]["groups"]] == ["Users"]


# Runs of a minute or more, which only an idle machine judges well.


def long_run(folder, handler, plan, *arguments, **more):
    return shop_run(folder, handler, plan, "--duration", "70", *arguments, **more)


@pytest.mark.counterpart
def test_a_good_run_with_a_cold_start_and_parent_transactions_with_timers_balances(tmp_path):
    class Cold(Shop):
        def wait_ms(self, passed_s):
            return 30 if passed_s > 8 else 300 - 30 * passed_s

    inside = request(name="a", below=pause(200)) + request(name="b", below=pause(200))
    whole = element("TransactionController", "whole", flag("TransactionController.parent"), below=inside)
    _, report, summary = long_run(tmp_path, Cold, jmx(whole + request(below=pause(100))), "--users", "6")
    assert set(balances(summary).values()) == {BALANCED}, report.split(TITLE)[1][:2000]
    check_short_run(summary["verdict"])


@pytest.mark.counterpart
def test_a_wave_of_the_system_makes_the_number_depend_on_when_one_looks(tmp_path):
    class Wave(Shop):
        def wait_ms(self, passed_s):
            return 100 if passed_s % 40 < 20 else 30

    _, _, summary = long_run(tmp_path, Wave, paced(), "--users", "6")
    line = lines_of(summary)["one-state"]
    assert line["balance"] == DOUBT
    assert "depends on when you look: " in line["text"]


@pytest.mark.counterpart
def test_errors_from_half_time_on_are_another_state(tmp_path):
    class Late(Shop):
        def wait_ms(self, _passed_s):
            return 100

        def fails(self, passed_s):
            return passed_s > 42 and int(passed_s * 1000) % 5 == 0

    _, _, summary = long_run(tmp_path, Late, paced(), "--users", "6", "--errors", "50%")
    line = lines_of(summary)["one-state"]
    assert line["balance"] == DOUBT, summary["account"]
    assert line["text"].startswith("The share of errors depends on when you look: 0.0 to ")


@pytest.mark.counterpart
def test_an_overloaded_system_at_a_rate_has_no_one_state(tmp_path):
    class Narrow(Shop):
        lock = threading.Lock()

        def wait_ms(self, _passed_s):
            with self.lock:
                time.sleep(0.05)
            return 0

    patient = jmx(request()).replace(">2000<", ">60000<")
    _, _, summary = long_run(tmp_path, Narrow, patient, "--rate", "23")
    line = lines_of(summary)["one-state"]
    assert line["balance"] == DOUBT, summary["account"]
    assert summary["verdict"]["state"] != VALID


@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("load", "hanging", "said"),
    [
        (("--rate", "10"), range(30, 700, 10), r"\d+ of \d+ requests were never answered, though all others were .*"),
        (("--users", "8"), (100, 200), r"1\.\d of 8 users waited for answers that are in no number"),
    ],
)
def test_requests_without_an_answer_are_missing_from_what_is_counted(tmp_path, load, hanging, said):
    class Hangs(Shop):
        count = 0

        def wait_ms(self, _passed_s):
            type(self).count += 1
            return 75_000 if self.count in hanging else 5

    patient = jmx(request(below=pause(300))).replace(">2000<", ">600000<")
    _, _, summary = long_run(tmp_path, Hangs, patient, *load)
    line = lines_of(summary)["read-counted"]
    assert re.fullmatch(said, line["text"]), summary["account"]
    assert line["text"] in summary["verdict"]["reasons"]


@pytest.mark.counterpart
def test_time_that_the_load_generator_takes_for_itself_is_a_share_of_the_users_time(tmp_path):
    own = script("JSR223PreProcessor", "Own", "Thread.sleep(60)")
    plan = jmx(request(below=pause(40) + own))
    _, _, summary = long_run(tmp_path, Shop, plan, "--users", "6", more="[allow]\nscripts = true\n")
    line = lines_of(summary)["users-time"]
    assert line["balance"] == DOUBT, line
    assert line["text"].startswith("The load generator may be the bottleneck: 6.0 users active, ")
    assert lines_of(summary)["asked-offered"]["balance"] == BALANCED
    assert lines_of(summary)["offered-read"]["balance"] == BALANCED


@pytest.mark.counterpart
def test_a_short_run_of_a_good_system_has_no_line_that_does_not_balance(tmp_path):
    _, _, summary = shop_run(tmp_path, Shop, paced(100), "--users", "4", "--duration", "20")
    assert not {DOUBT, INVALID} & set(balances(summary).values())
    check_short_run(summary["verdict"])
