"""The real site of JSF pages: what it serves, how its two faults show, what is left when it is stopped."""

from __future__ import annotations

import csv
import http.cookiejar
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

from harness.base.errors import StartError
from harness.system.exceptions import count_exceptions
from harness.system.heap import heap_uses, read_heaps
from harness.system.jfr import write_heap
from harness.system.manifest import load_manifest
from harness.system.profile import ProcessProfile
from harness.system.supervisor import Supervisor
from tests.support.paths import ROOT
from tests.support.processes import QUICK_JAVA
from tests.support.profiling import profiled

pytestmark = pytest.mark.real

MANIFEST = load_manifest(ROOT / "systems" / "thruzero")
PAGES = list(csv.DictReader((ROOT / "plans" / "data" / "thruzero-pages.csv").open(encoding="utf-8")))
VIEW_STATE = re.compile(r'name="jakarta\.faces\.ViewState"[^>]* value="([^"]+)"')
USERS = 8


class Answer(NamedTuple):
    """What a browser shows: redirects are not followed."""

    status: int
    text: str
    headers: dict[str, str]
    took_s: float

    @property
    def view_state(self) -> str:
        found = VIEW_STATE.search(self.text)
        return found[1] if found else ""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as it is."""

    def redirect_request(self, *_: object) -> None:
        return None


class Browser:
    """One user with cookies of their own."""

    def __init__(self, target_url: str) -> None:
        self.target_url = target_url
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(cookies, NoRedirect())

    def open(self, path: str, form: str = "", view_state: str = "") -> Answer:
        """Open a page, or send the form of the page that had this view state."""
        body = f"{form}&jakarta.faces.ViewState={urllib.parse.quote(view_state)}".encode() if form else None
        begin_s = time.monotonic()
        try:
            with self.opener.open(self.target_url + path, body, timeout=30) as answer:
                status, text, headers = answer.status, answer.read().decode(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                status, text, headers = error.code, error.read().decode(), dict(error.headers)
        return Answer(status, text, headers, time.monotonic() - begin_s)

    def visit(self, pages: list[dict[str, str]]) -> dict[str, Answer]:
        """Visit pages in their order, as the plan does."""
        answers: dict[str, Answer] = {}
        view_state = ""
        for page in pages:
            answer = self.open(page["path"], page["form"], view_state)
            answers[page["page"]], view_state = answer, answer.view_state
        return answers


@pytest.fixture(autouse=True, scope="module")
def _quick_java() -> Iterator[None]:
    """Starts are most of what the tests ask of Java: code that is compiled well does not pay."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", QUICK_JAVA["JDK_JAVA_OPTIONS"])
        yield


def started(settings: dict[str, Any], logs: Path) -> Supervisor:
    resolved = MANIFEST.resolve_settings(settings)
    supervisor = Supervisor(MANIFEST, resolved, build_dir=ROOT / "build", log_dir=logs)
    supervisor.prepare()
    supervisor.start()
    return supervisor


def at_once(target_url: str, path: str, rounds: int) -> list[Answer]:
    """The answers to users who all ask for one page, `rounds` times each."""
    with ThreadPoolExecutor(USERS) as pool:
        users = [Browser(target_url) for _ in range(USERS)]
        visits = pool.map(lambda user: [user.open(path) for _ in range(rounds)], users)
        return [answer for answers in visits for answer in answers]


def panels(supervisor: Supervisor) -> list[Answer]:
    return at_once(supervisor.target_url, "/apps/demo/multiplePanels.jsf", 20)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """The site without faults, with a store that takes next to no time."""
    with started({"store_query_ms": 1}, tmp_path_factory.mktemp("logs")) as supervisor:
        yield supervisor


@pytest.fixture
def browser(site: Supervisor) -> Browser:
    return Browser(site.target_url)


@pytest.mark.counterpart
def test_every_page_of_the_plan_exists_with_its_own_text(browser: Browser) -> None:
    answers = browser.visit(PAGES)
    assert len(answers) == 22
    assert {answer.status for answer in answers.values()} == {200}
    assert all(answer.text.rstrip().endswith("</html>") for answer in answers.values())
    # A text that is also on another page would take that page for this one.
    for page in PAGES:
        assert [name for name, answer in answers.items() if page["text"] in answer.text] == [page["page"]]
        assert f" nodes of {page['page']}</footer>" in answers[page["page"]].text


@pytest.mark.counterpart
def test_a_form_without_its_view_state_does_not_show_the_next_page(browser: Browser) -> None:
    answer = browser.open("/apps/demo/crudList.jsf", "f=f&f:create=New+viewer")
    assert "Name of the new viewer" not in answer.text


@pytest.mark.counterpart
def test_secured_pages_ask_for_a_login(browser: Browser) -> None:
    answer = browser.open("/apps/demo/secure/secure2.jsf")
    assert (answer.status, answer.headers["Location"]) == (302, "/auth/login.jsf")
    login = browser.open("/auth/login.jsf")
    wrong = browser.open("/auth/login.jsf", "f=f&f:user=guest&f:password=x&f:enter=Enter", login.view_state)
    assert "Welcome" not in wrong.text
    right = browser.open("/auth/login.jsf", "f=f&f:user=guest&f:password=demo&f:enter=Enter", wrong.view_state)
    assert "Welcome, guest" in right.text
    assert browser.open("/apps/demo/secure/secure2.jsf").status == 200


@pytest.mark.counterpart
def test_bootstrap_is_served_from_its_webjar(browser: Browser) -> None:
    href = re.search(r'href="([^"]*bootstrap[^"]*)"', browser.open("/home.jsf").text)
    assert href
    style = browser.open(href[1])
    assert (style.status, style.headers["Content-Type"]) == (200, "text/css")
    assert "Bootstrap  v5.3.8" in style.text


@pytest.mark.counterpart
def test_the_template_is_not_served(browser: Browser) -> None:
    assert browser.open("/WEB-INF/site.xhtml").status == 404
    assert browser.open("/apps/demo/none.jsf").status == 404


@pytest.mark.counterpart
def test_a_feed_slower_than_the_timeout_delays_nobody(browser: Browser) -> None:
    home = browser.open("/home.jsf")
    assert home.took_s < 3  # the slowest feed takes 4 s
    deadline_s = time.monotonic() + 10
    while "News 1 of feed 8" not in home.text and time.monotonic() < deadline_s:
        home = browser.open("/home.jsf")
    assert [f"News 1 of feed {number}" in home.text for number in range(1, 10)] == [True] * 8 + [False]
    status = json.loads(browser.open("/status.json").text)
    assert status["feed_refreshes"] == 9
    assert status["most_refreshes_of_a_feed_at_once"] == 1


@pytest.mark.counterpart
def test_concurrent_users_get_no_errors_without_the_fault(site: Supervisor, tmp_path: Path) -> None:
    answers, profile = profiled(site, "site", tmp_path, lambda: panels(site))
    assert {(answer.status, "Panel 6: Node 6" in answer.text) for answer in answers} == {(200, True)}
    assert profile.sample_count > 0
    assert [one for one in profile.thrown if one.method.startswith("thruzero.InfoNode")] == []
    # The store of a healthy site admits a few readers at a time: users wait for it, and for nothing else of the site.
    waited_in = {one.method.rpartition(".")[0] for one in profile.locks if one.method.startswith("thruzero.")}
    assert waited_in <= {"thruzero.InfoNodeStore"}


class SlowFeeds(NamedTuple):
    """What a site with the fault of the feeds answered: three users at once, who came first, and then one more.

    Its store has a connection for each of them, and fails when more users ask: `alone` before and after `together`.
    """

    first_hits: list[Answer]
    next_hit: Answer
    status: dict[str, int]
    profile: ProcessProfile
    alone: tuple[Answer, Answer]
    together: list[Answer]


class Faulty(NamedTuple):
    """What a site with the fault of the filter chain answered, and what it left when it was stopped."""

    alone: list[Answer]
    at_once: list[Answer]
    processes: list[int]
    logs: Path
    recordings: dict[str, Path]
    profile: ProcessProfile


@pytest.fixture(scope="module")
def slow_feeds(tmp_path_factory: pytest.TempPathFactory) -> SlowFeeds:
    settings = {
        # A query takes 35 to 105 ms: who finds no free connection waits for too long.
        "store_connections": 3,
        "store_query_ms": 70,
        "store_timeout_ms": 30,
        "max_connections": 20,
        "faults": ["sequential-feeds"],
        "feed_latencies_ms": ["100"] * 8 + ["600"],
        "feed_timeout_ms": 200,
    }
    with started(settings, tmp_path_factory.mktemp("slow-feeds")) as supervisor:
        url = supervisor.target_url

        def home() -> list[Answer]:
            with ThreadPoolExecutor(3) as pool:
                return list(pool.map(lambda user: user.open("/home.jsf"), [Browser(url) for _ in range(3)]))

        first_hits, profile = profiled(supervisor, "site", tmp_path_factory.mktemp("profile"), home)
        user = Browser(url)
        next_hit = user.open("/home.jsf")
        status = json.loads(user.open("/status.json").text)
        page = "/apps/demo/simplePanel.jsf"
        before, together, after = Browser(url).open(page), at_once(url, page, 1), Browser(url).open(page)
        return SlowFeeds(first_hits, next_hit, status, profile, (before, after), together)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Faulty:
    logs = tmp_path_factory.mktemp("faulty")
    with started({"store_query_ms": 0, "faults": ["shared-filter-chain"]}, logs) as supervisor:
        user = Browser(supervisor.target_url)
        alone = [user.open("/apps/demo/multiplePanels.jsf") for _ in range(20)]

        def until_one_fails() -> list[Answer]:
            answers = panels(supervisor)
            for _ in range(9):
                if any(answer.status == 500 for answer in answers):
                    break
                answers = panels(supervisor)
            return answers

        answers, profile = profiled(supervisor, "site", tmp_path_factory.mktemp("profile"), until_one_fails)
        processes = list(supervisor.processes.values())
        recordings = dict(supervisor.recordings)
    return Faulty(alone, answers, processes, logs, recordings, profile)


@pytest.mark.counterpart
def test_sequential_feeds_make_the_first_hits_wait_for_all_of_them(slow_feeds: SlowFeeds) -> None:
    assert {answer.status for answer in slow_feeds.first_hits} == {200}
    # Eight times 100 ms and 600 ms: the time-out is gone.
    assert min(answer.took_s for answer in slow_feeds.first_hits) >= 1.4
    assert all("News 1 of feed 9" in answer.text for answer in slow_feeds.first_hits)
    assert slow_feeds.next_hit.took_s < 1.4


@pytest.mark.counterpart
def test_concurrent_users_read_the_same_feed(slow_feeds: SlowFeeds) -> None:
    assert slow_feeds.status["most_refreshes_of_a_feed_at_once"] > 1
    assert slow_feeds.status["feed_refreshes"] > 9


@pytest.mark.counterpart
def test_a_request_that_waits_too_long_for_the_store_fails(slow_feeds: SlowFeeds) -> None:
    assert [answer.status for answer in slow_feeds.alone] == [200, 200]
    assert 500 in [answer.status for answer in slow_feeds.together]


@pytest.mark.counterpart
def test_a_single_user_never_hits_the_shared_filter_chain(faulty: Faulty) -> None:
    assert {answer.status for answer in faulty.alone} == {200}


@pytest.mark.counterpart
def test_concurrent_users_sometimes_get_error_pages_of_the_shared_filter_chain(faulty: Faulty) -> None:
    counts = Counter(answer.status for answer in faulty.at_once)
    assert set(counts) == {200, 500}
    failed = next(answer for answer in faulty.at_once if answer.status == 500)
    assert "Something went wrong" in failed.text
    with (faulty.logs / "site.log").open(encoding="utf-8") as lines:
        kinds = count_exceptions(lines, "site.log")
    assert {kind.cause or kind.class_name for kind in kinds} == {"java.lang.IndexOutOfBoundsException"}
    assert sum(kind.count for kind in kinds) >= counts[500]


@pytest.mark.counterpart
def test_the_profile_names_the_faulty_class_first(faulty: Faulty) -> None:
    first = faulty.profile.thrown[0]
    assert (first.exception, first.method) == (
        "java.lang.IndexOutOfBoundsException",
        "thruzero.InfoNodeFilterChain.proceed",
    )
    assert first.count >= Counter(answer.status for answer in faulty.at_once)[500]


@pytest.mark.counterpart
def test_the_profile_names_the_reader_of_the_feeds_where_users_wait_for_them(slow_feeds: SlowFeeds) -> None:
    first = slow_feeds.profile.waits[0]
    assert first.method == "thruzero.FeedReader.titles"
    # Three users, for a part of the whole seconds.
    assert 0.5 < first.thread_count < 3.5
    # Tomcat's main thread waits all the time, until it is stopped, and has nothing to do.
    assert not any("StandardServer" in wait.method for wait in slow_feeds.profile.waits)


@pytest.mark.counterpart
def test_a_stopped_site_has_recorded_its_heap_and_leaves_no_process(faulty: Faulty, tmp_path: Path) -> None:
    assert not any(psutil.pid_exists(pid) for pid in faulty.processes)
    assert faulty.recordings == {"site": faulty.logs / "site.jfr"}
    assert write_heap(tmp_path / "heap.csv", faulty.recordings, {}) == ()
    (use,) = heap_uses(read_heaps((tmp_path / "heap.csv").read_text().splitlines()), 0, 2**63)
    assert (use.process, use.reserved_bytes_max) == ("site", MANIFEST.settings["heap_max_mb"] * 1024**2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"faults": ["shared-chain"]},
            "faults: there is no fault 'shared-chain'; there is: shared-filter-chain, sequential-feeds",
        ),
        ({"feed_latencies_ms": ["100"] * 8}, "feed_latencies_ms: 8 of them; give one for each of the 9 feeds"),
        ({"feed_latencies_ms": ["1 s"] * 9}, "feed_latencies_ms: '1 s' is not a number from 0 to 600000"),
    ],
    ids=str,
)
def test_an_invalid_list_is_named(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(StartError) as caught:
        started(settings, tmp_path)
    assert message in caught.value.detail
