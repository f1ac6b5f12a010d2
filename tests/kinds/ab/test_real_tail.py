"""A real A/B test of a real site with a fault of its own: B's home page now and then reads all feeds itself."""

import json
import re

import pytest

from harness.cli.verbs import main
from tests.support.paths import ROOT

pytestmark = [pytest.mark.real, pytest.mark.counterpart]  # 13 runs of 15 s or more

LOAD = ("--users=8", "--think=300ms", "--ramp=0", "--duration=15", "--max=30m")
# Nine feeds of 60 ms, read again every three seconds: in B one after the other, by each request that finds them old.
FEEDS = f"store_query_ms=5 feed_refresh_s=3 feed_latencies_ms={','.join(['60'] * 9)}"
PLACE = "other service called at thruzero.FeedReader.titles"


def test_the_page_says_what_slow_requests_of_the_worse_side_wait_longer_for(tmp_path):
    pages = tmp_path / "pages.csv"
    pages.write_text("page,path,form,text\nhome,/home.jsf,,News of nine feeds\n")
    given = f"--set={FEEDS} page_count=1 pages_file={pages}"
    folders = (f"--reports={tmp_path}", f"--build={ROOT / 'build'}")
    sides = ("--a=local", "--b=faults=sequential-feeds")
    assert main(["--plan=thruzero", *sides, given, *LOAD, "--profile", *folders], "scripts/ab") == 1
    page = (tmp_path / "ab" / "thruzero" / "ab-01.md").read_text(encoding="utf-8")
    record = json.loads((tmp_path / "ab" / "thruzero" / "ab-01.json").read_text(encoding="utf-8"))
    assert record["verdict"] == "REGRESSED"
    first, *_ = page.partition("\n## ")
    said = r"first of all slow requests of home: other service called at FeedReader\.titles (at least )?\+(\d+) ms"
    found = re.search(said, first)
    assert found
    assert 400 < int(found[2]) < 700  # nine times 60 ms, less the most that A may have
    # Requests that read feeds at once wait for the parser's lock, too; the store of both sides is the same.
    slow = [one["name"] for one in record["causes"] if one["kind"] == "slow requests of home"]
    assert slow[0] == PLACE
    assert not [name for name in slow if "InfoNodeStore" in name]
