"""Requests and responses as lines and as a page."""

from dataclasses import replace

from harness.commands.check import CheckResult, check_sections, closing_line, finding_lines, pass_lines
from harness.plan.checks.finding import Finding, Rule
from harness.report.exchanges import Section, Style, exchange_lines, exchange_page
from harness.run.jmeter.exchanges import Assertion, Change
from tests.support.exchanges import ONE


def lines(one) -> list[str]:
    return [text for text, _ in exchange_lines(one)]


def test_an_exchange_shows_request_response_assertions_and_variables():
    assert lines(ONE) == [
        "Buy: FAILED, 500 Server Error, 12 ms",
        "  > POST http://127.0.0.1/buy",
        "  > Content-Type: text/plain",
        "  >",
        "  > one apple",
        "  < HTTP/1.1 500 Server Error",
        "  <",
        "  < sorry",
        "  assertion Code 200: FAILED: expected 200",
        "  variable id: not set → 7",
    ]
    styles = [style for _, style in exchange_lines(ONE)]
    assert (styles[0], styles[-2]) == (Style.BAD, Style.BAD)


def test_a_long_body_is_cut_at_2_kb_and_its_size_is_named():
    shown = lines(replace(ONE, response_body="x" * 3000, response_bytes=3000))
    assert "  < " + "x" * 2048 in shown
    assert "  < … (cut, 3000 bytes in all)" in shown
    assert not any("cut" in line for line in lines(replace(ONE, response_body="x" * 2048)))


def test_a_binary_body_is_its_size():
    assert "  < (binary, 70 bytes)" in lines(replace(ONE, response_body=None, response_bytes=70))


def test_no_text_controls_the_terminal():
    evil = replace(ONE, label="\x1b]0;x\x07", response_body="\x1b[2J\u202eabc", code="\x9b1m")
    assert not any(character in line for line in lines(evil) for character in "\x1b\x07\x9b\u202e")


EVIL = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>'\""


def test_a_page_is_inert_whatever_a_response_contains():
    evil = replace(
        ONE, label=EVIL, thread=EVIL, code=EVIL, url=EVIL, response_body=EVIL, request_headers=EVIL,
        assertions=(Assertion(EVIL, False, EVIL),), variables={EVIL: Change(EVIL, EVIL)},
    )  # fmt: skip
    page = exchange_page(EVIL, [Section(EVIL, EVIL, ((EVIL, Style.BAD),), (evil,))])
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</pre>") == 2
    assert "default-src 'none'" in page
    assert 'id="&lt;/pre&gt;' in page


def test_failed_exchanges_are_open_on_the_page_and_others_folded():
    page = exchange_page("t", [Section("a", "b", (), (ONE, replace(ONE, is_success=True)))])
    assert page.count('<details class="failed" open>') == 1
    assert page.count('<details class="passed">') == 1


FINDING = Finding(Rule.FIXED_HOST, "Buy", "has a host", "remove it", "Shop > Users > Buy", 12)


def test_findings_have_line_code_reason_and_remedy():
    shown = [text for text, _ in finding_lines(CheckResult("shop", "plans/shop.jmx", (FINDING,), ()))]
    assert shown == [
        "lth run refuses this plan: 1 finding",
        "  plans/shop.jmx:12: Shop > Users > Buy: has a host [fixed-host]",
        "    why: its requests go there and not to the target of the run",
        "    fix: remove it",
    ]


def test_a_plan_without_findings_has_a_line_that_states_it():
    assert [text for text, _ in finding_lines(CheckResult("s", "plans/s.jmx", (), ()))] == ["plans/s.jmx: no findings"]


def test_the_last_line_counts_failures_and_refusals():
    good = CheckResult("s", "plans/s.jmx", (), (), (replace(ONE, is_success=True),))
    assert closing_line(good) == ("s: 1 request, 0 failed", Style.GOOD)
    assert closing_line(replace(good, exchanges=(ONE, ONE))) == ("s: 2 requests, 2 failed", Style.BAD)
    text, style = closing_line(replace(good, refusals=(FINDING,)))
    assert (text, style) == ("s: 1 request, 0 failed; lth run refuses the plan: 1 finding above", Style.BAD)


def test_samplers_that_were_not_reached_are_named_on_the_page():
    sections = check_sections(CheckResult("s", "plans/s.jmx", (), (), (ONE,), ("Pay",)))
    assert "not reached in one pass: Pay" in exchange_page("t", sections)


def test_a_pass_that_was_stopped_is_not_a_good_one_and_its_page_states_where():
    stopped = CheckResult("s", "plans/s.jmx", (), (), (replace(ONE, is_success=True),), stopped="after 2 samples")
    assert closing_line(stopped) == ("s: 1 request, 0 failed; the pass is not complete", Style.BAD)
    assert "after 2 samples" in exchange_page("t", check_sections(stopped))


def test_what_a_pass_did_unlike_a_run_comes_before_its_requests():
    result = CheckResult("s", "plans/s.jmx", (), (), (ONE,), changes=("pauses last 1 s here",))
    assert next(pass_lines(result)) == ("unlike a run: pauses last 1 s here", Style.TITLE)
    assert "unlike a run: pauses last 1 s here" in exchange_page("t", check_sections(result))
