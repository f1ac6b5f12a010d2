"""`scripts/check` up to the start of JMeter, and with a JMeter that runs no sampler."""

import signal

import pytest

from harness.run.jmeter.exchanges import exchanges_text
from tests.support.commands import command
from tests.support.exchanges import ONE
from tests.support.off_host import ALIAS, flag, host, jmx, request
from tests.support.paths import FAKE_JMETER
from tests.support.processes import processes_of, wait_for
from tests.support.tiny import start_script

EXCHANGE = exchanges_text([ONE])


@pytest.fixture
def check(home, tmp_path):
    """Check the tiny plan with the fake JMeter."""

    def checked(plan: str, *arguments: object, mode: str = "silent"):
        (home / "plans" / "tiny.jmx").write_text(plan)
        folders = ("--home", home, "--build", tmp_path / "build")
        environment = {"JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": mode, "EXCHANGE": EXCHANGE}
        return command("scripts/check", "--plan", "tiny", *folders, *arguments, **environment)

    return checked


def test_a_plan_that_could_reach_another_host_is_refused_with_its_findings_and_nothing_is_sent(check, target, tmp_path):
    page = tmp_path / "check.html"
    done = check(jmx(request(host(ALIAS))), "--target", target, "--html", page)
    assert done.returncode == 2
    assert "nothing was sent" in done.stderr
    assert "lth run refuses this plan: 1 finding" in done.stdout
    assert f"Off host > Users > Buy: uses the host {ALIAS}" in done.stdout
    assert "why: its requests go there and not to the target of the run" in done.stdout
    assert "one user, one pass" not in done.stdout
    assert f"uses the host {ALIAS}" in page.read_text()


def test_a_finding_is_printed_once_when_run_and_lint_find_it(check, target):
    done = check(jmx(request(flag("HTTPSampler.image_parser"))), "--target", target)
    assert done.stdout.count("[embedded-resources]") == 1


@pytest.mark.real
def test_a_plan_with_a_fixed_load_runs_and_is_still_refused_for_make_run(check, target):
    done = check(jmx(request()).replace("${__P(users,1)}", "5"), "--target", target)
    assert "Off host > Users: has 5; the run has 2 (users)" in done.stdout
    assert "one user, one pass" in done.stdout


@pytest.mark.real
def test_without_a_sample_the_code_is_3(check, target):
    done = check(jmx(request()), "--target", target)
    assert done.returncode == 3
    assert "tiny: JMeter ran no sampler" in done.stderr


@pytest.mark.real
def test_the_reason_why_jmeter_did_not_start_is_named(check, target):
    done = check(jmx(request()), "--target", target, mode="dies")
    assert done.returncode == 3
    assert "CannotResolveClass kg.apc.Gone" in done.stderr


def test_a_page_that_cannot_be_written_is_refused_before_anything_starts(check, target, tmp_path):
    done = check(jmx(request()), "--target", target, "--html", tmp_path / "none" / "check.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert "not a file in an existing folder" in done.stderr


@pytest.mark.real
def test_a_pass_that_does_not_end_shows_its_requests_and_names_the_one_that_it_waited_for(check, target, tmp_path):
    page = tmp_path / "check.html"
    # JMeter must have requested Slow by then, on a busy machine as well.
    arguments = ("--target", target, "--limit", "4s", "--html", page)
    done = check(jmx(request(name="Page") + request(name="Slow") + request(name="Last")), *arguments, mode="waits")
    assert done.returncode == 3
    assert "Page: passed, 200" in done.stdout
    assert "Slow: FAILED, 500" in done.stdout
    assert "not reached in one pass: Last (the pass was stopped)" in done.stdout
    assert "tiny: 2 requests, 1 failed; the pass is not complete" in done.stdout
    line = done.stderr
    assert "tiny: the pass did not end within 4 s: Slow (Users 1-1) had not ended; look for a loop" in line
    assert "the pass did not end within 4 s: Slow (Users 1-1) had not ended" in page.read_text()


@pytest.mark.real
def test_a_pass_that_is_interrupted_shows_its_requests(home, target, tmp_path):
    (home / "plans" / "tiny.jmx").write_text(jmx(request(name="Page") + request(name="Slow")))
    folders = ("--home", str(home), "--build", str(tmp_path / "build"))
    arguments = ("--plan", "tiny", "--target", target, *folders)
    process = start_script("check", arguments, tmp_path, "waits", {"EXCHANGE": EXCHANGE})
    wait_for(lambda: list((tmp_path / "tmp").glob("check-*/check/pass/.exchanges.jsonl")))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "Page: passed, 200" in out
    assert "Slow (Users 1-1) had not ended" in out
    assert processes_of(tmp_path) == []


@pytest.mark.parametrize("limit", ["0", "soon"])
def test_a_limit_that_is_no_time_is_refused(check, target, limit):
    done = check(jmx(request()), "--target", target, "--limit", limit)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--max={limit}: " in done.stderr


@pytest.mark.real
def test_advice_is_printed_last_and_changes_no_exit_code(check, home, target, tmp_path):
    toml, page = home / "plans" / "tiny.toml", tmp_path / "check.html"
    arguments = ("--target", target, "--limit", "4s", "--html", page)
    done = check(jmx(request(name="Slow")), *arguments, mode="waits")
    text = page.read_text()
    toml.write_text(toml.read_text() + '[check]\nsilence = ["no-think-time", "no-ramp", "unread-answer"]\n')
    silent = check(jmx(request(name="Slow")), *arguments, mode="waits")
    assert done.returncode == silent.returncode
    advice = done.stdout.partition("Advice:\n")[2]
    assert "  all users start at once: 2 users [no-ramp]\n    why: " in advice
    assert "[no-ramp]" in text
    assert "Advice:" not in silent.stdout
