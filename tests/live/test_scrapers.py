"""How long a command waits for the last scrape, and which final counts every scraper has."""

from harness.live.metrics_collector import Scraper, seen_count, wait_s


def test_a_scraper_is_expected_a_period_after_its_last_scrape_and_may_be_a_second_late():
    scraper = Scraper(100.0).scraped(115.0, 0)
    assert scraper.wait_s(120.0, 1) == 11.0
    assert scraper.wait_s(140.0, 1) == 0.0  # it is gone


def test_a_scraper_with_the_final_counts_is_not_waited_for():
    scraper = Scraper(100.0).scraped(115.0, 2)
    assert scraper.wait_s(116.0, 2) == 0.0
    assert scraper.wait_s(116.0, 3) == 15.0  # a third run has ended since


def test_one_scrape_has_no_period_and_a_period_over_a_minute_is_too_long():
    assert Scraper(100.0).wait_s(101.0, 1) == 0.0
    assert Scraper(100.0).scraped(161.0, 0).wait_s(162.0, 1) == 0.0


def test_the_slowest_scraper_decides():
    fast = Scraper(100.0).scraped(101.0, 0)
    slow = Scraper(80.0).scraped(95.0, 0)
    assert wait_s([fast, slow], 101.0, 1) == 10.0
    assert wait_s([], 101.0, 1) == 0.0


def test_a_run_is_seen_when_every_scraper_has_its_final_counts_but_those_that_are_gone():
    fast, slow = Scraper(101.0, 1.0, 3), Scraper(95.0, 15.0, 2)
    assert seen_count([fast, slow], 101.0) == 2
    assert seen_count([fast, slow], 157.0) == 3  # the slow one stays away since 62 s
    assert seen_count([], 101.0) == 0
