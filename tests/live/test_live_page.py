"""The live page of a run in a real browser: two viewers, the stop, and the last values."""

import json
import re

import pytest

from harness.metrics.figures import LOAD
from tests.support.processes import becomes, output_until, wait_for
from tests.support.tiny import run_json

pytestmark = pytest.mark.real


@pytest.fixture
def opened(browser):
    """Open the page of an address; the test fails on any error and on any request to another address."""
    wrong, contexts = [], []

    def page_of(url):
        context = browser.new_context(viewport={"width": 1300, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda sent: None if sent.url.startswith((url, "data:")) else wrong.append(sent.url))
        page.goto(url)
        return page

    yield page_of
    for context in contexts:
        context.close()
    assert wrong == []


def test_two_viewers_see_the_run_one_stops_it_and_the_last_values_are_the_reports(start_run, opened, tmp_path):
    process = start_run("--duration", "60", "--live", "1", "--compare", "0")
    text = output_until(process, "/\n")
    url = re.search(r"live page: (http://127\.0\.0\.1:\d+/)", text)[1]
    first, second = opened(url), opened(url)
    for page in (first, second):
        wait_for(lambda page=page: page.locator("#labels tbody tr").count() > 0)
        becomes(page.locator("#state").inner_text, "running")
    becomes(first.locator("#uses tbody tr", has_text="jmeter").count, 1)
    assert first.locator("figure.chart canvas").count() == 4
    count = "shown[1].chart.data.datasets[0].data.length"
    before = first.evaluate(count)
    wait_for(lambda: first.evaluate(count) > before)
    first.reload()
    wait_for(lambda: first.evaluate(count) > before)  # with the points before the reload
    second.once("dialog", lambda dialog: dialog.accept())
    second.get_by_role("button", name="Stop the load").click()
    wait_for(lambda: "INTERRUPTED" in first.locator("#state").inner_text())
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "stop: asked for on the live page" in out
    name = run_json(tmp_path / "reports")["name"]
    report = json.loads((tmp_path / "reports" / "tiny" / f"{name}.json").read_text())
    total = next(group for group in report["groups"] if group["name"] == LOAD)["total"]
    tiles = dict(zip(first.locator("dl dt").all_inner_texts(), first.locator("dl dd").all_inner_texts(), strict=True))
    assert tiles["samples"].strip() == str(total["sample_count"])
    assert tiles["p95"] == f"{total['percentiles_ms']['95']} ms"
    # The table and the points have every sample of the whole run, as the report.
    whole = (report["whole"] or {"total": total})["total"]["sample_count"]
    last = first.locator("#labels tbody tr").last.locator("td")
    assert last.all_inner_texts()[:2] == ["TOTAL", str(whole)]
    assert first.evaluate("shown[1].spec.lines[0].y.reduce((sum, count) => sum + count)") == whole


def test_a_wrong_address_is_refused_and_nothing_is_started(refused):
    assert "--live=99999: not a whole number from 1024 to 65535" in refused("--live", "99999")
    assert "LIVE_TOKEN: shorter than 16 characters" in refused("--live", "0.0.0.0:8090", LIVE_TOKEN="short")
