"""How long a run waits for the last scrape."""

from harness.live.scrapers import Scraper, wait_s


def test_a_scraper_is_expected_a_period_after_its_last_scrape_and_may_be_a_second_late():
    scraper = Scraper(100.0).scraped(115.0, is_final=False)
    assert scraper.wait_s(120.0) == 11.0
    assert scraper.wait_s(140.0) == 0.0  # it is gone


def test_a_scraper_with_the_final_counts_is_not_waited_for():
    assert Scraper(100.0).scraped(115.0, is_final=True).wait_s(116.0) == 0.0


def test_one_scrape_has_no_period_and_a_period_over_a_minute_is_too_long():
    assert Scraper(100.0).wait_s(101.0) == 0.0
    assert Scraper(100.0).scraped(161.0, is_final=False).wait_s(162.0) == 0.0


def test_the_slowest_scraper_decides():
    fast = Scraper(100.0).scraped(101.0, is_final=False)
    slow = Scraper(80.0).scraped(95.0, is_final=False)
    assert wait_s([fast, slow], 101.0) == 10.0
    assert wait_s([], 101.0) == 0.0
