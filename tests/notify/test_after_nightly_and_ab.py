"""Messages after nightly runs and A/B tests, as their users call them, with runs that take no time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.judge.verdict import INVALID, Verdict
from harness.kinds.ab import message as of_ab
from harness.kinds.ab.outcome import AbOutcome
from harness.kinds.nightly.message import is_due, nightly_message
from harness.kinds.nightly.outcome import NightlyResult, nightly_result
from tests.support.ab_tests import SIDES, finished_record
from tests.support.commands import command
from tests.support.fake_runs import behave, use_fake_children, with_delay
from tests.support.message_servers import PATH, Chat, chat_server
from tests.support.nightly_runs import ended, entries, entry, load, nightly_record, profiled

SUITE = 'format_version = 1\ntitle = "Nights"\nbudget = "10m"\n{}[[run]]\nplan = "tiny"\nusers = 4\nduration = 2\n'
NOTIFY = '[notify]\nmattermost = "$CHAT_WEBHOOK"\n'
STEADY = (100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0, 101.0, 99.0, 100.0)


@pytest.fixture
def call(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run a script in the home, whose system has the setting delay_ms; runs take no time."""
    use_fake_children(tmp_path, monkeypatch)
    with_delay(home)
    for name in ("CI_JOB_URL", "BUILD_URL", "GITHUB_RUN_ID", "GITHUB_STEP_SUMMARY", "CHAT_WEBHOOK"):
        monkeypatch.delenv(name, raising=False)

    def called(verb: str, *arguments: str, behaviour: dict[str, str] | None = None) -> int:
        behave(tmp_path, behaviour)
        folders = [f"--home={home}", f"--reports={tmp_path / 'reports' / verb}", f"--build={tmp_path / 'build'}"]
        return main([*arguments, *folders], f"scripts/{verb}")

    return called


@pytest.fixture
def nightly(call: Callable[..., int], home: Path) -> Callable[..., int]:
    """Run a nightly run of one run."""

    def called(*arguments: str, notify: str = NOTIFY, behaviour: dict[str, str] | None = None) -> int:
        path = home / "env" / "nightly.toml"
        path.write_text(SUITE.format(notify))
        return call("nightly", f"--suite={path}", *arguments, behaviour=behaviour)

    return called


@pytest.fixture
def chat(monkeypatch: pytest.MonkeyPatch) -> Iterator[Chat]:
    """A webhook whose address is in the environment."""
    with chat_server() as server:
        monkeypatch.setenv("CHAT_WEBHOOK", server.address)
        yield server


@pytest.mark.real
def test_a_nightly_run_reports_a_failure_and_that_it_is_over_and_not_that_all_is_well(nightly, chat, tmp_path, capsys):
    assert nightly(behaviour={"1": "fail"}) == 3
    (text,) = chat.texts
    title, finding, figures, time, report = text.splitlines()
    assert re.fullmatch(r"\*\*Nights 20\d\d-\d\d-\d\d: INVALID: 1 of 1 run FAILED\.\*\*", title)
    assert finding == "FAILED: tiny, 4 users: lth run ended with code 3: web ended with code 1"
    assert figures == "tiny, 4 users: no run is valid"
    assert time.startswith("0 of 1 run measured in ")
    assert report.startswith("report: ")
    assert report.endswith(".md")
    assert "sent to mattermost" in capsys.readouterr().out
    assert nightly() == 0
    assert "-2: OK: 1 run" in chat.texts[1]
    assert "tiny, 4 users: throughput " in chat.texts[1]
    assert nightly() == 0
    assert len(chat.texts) == 2
    assert list((tmp_path / "reports" / "nightly").glob("20*-3.md"))


@pytest.mark.real
def test_a_message_that_is_not_delivered_changes_no_verdict_and_is_in_the_report(
    nightly, monkeypatch, tmp_path, capsys
):
    with chat_server(404) as server:
        monkeypatch.setenv("CHAT_WEBHOOK", server.address)
        assert nightly(notify=f'{NOTIFY}when = "always"\n') == 0
    (page,) = (tmp_path / "reports" / "nightly").glob("20*.md")
    problem = "mattermost refuses the message (404 no_service at /•••); check the address in CHAT_WEBHOOK"
    assert f"\n- message not delivered: {problem}\n" in page.read_text()
    out = capsys.readouterr().out
    assert f"\nnot delivered: {problem}\n" in out
    record = json.loads(page.with_suffix(".json").read_text())
    assert record["undelivered"] == [problem]
    assert not [path for path in tmp_path.rglob("*.*") if path.is_file() and PATH in path.read_text(errors="replace")]


@pytest.mark.real
def test_a_nightly_run_without_the_variable_reports_it_at_its_start_and_runs(nightly, capsys):
    assert nightly("--dry-run") == 0
    assert "result to: mattermost: CHAT_WEBHOOK is not set (when = worse)\n" in capsys.readouterr().out
    assert nightly() == 0
    assert capsys.readouterr().out.startswith(
        "nightly.toml [notify]: mattermost: CHAT_WEBHOOK is not set, so the result is not sent there\n"
    )


def test_a_wrong_table_is_refused_before_anything_starts(nightly, tmp_path):
    with pytest.raises(UsageError, match=r"env/nightly\.toml \[notify\]: unknown key mattermots; did you mean matterm"):
        nightly(notify=NOTIFY.replace("mattermost", "mattermots"))
    assert not (tmp_path / "reports").exists()


@pytest.mark.real
def test_an_ab_test_reports_what_is_worse_and_its_message_can_be_sent_again(call, chat, home, tmp_path, capsys):
    profile = home / "env" / "local.toml"
    profile.write_text(f'{profile.read_text()}{NOTIFY}link = "https://perf.example/{{report}}.html"\n')
    assert call("ab", "--plan=tiny", *SIDES) == 1
    (text,) = chat.texts
    title, sides, figures, runs, report = text.replace("\\", "").splitlines()
    # On a busy machine the six pairs may not be enough.
    found = re.match(
        r"\*\*A/B test tiny/ab-01: REGRESSED after (6|8|10) pairs: \S+ 1\d\d → 12\d ms \(\+(19|20|21)\.", title
    )
    assert found
    pair_count = int(found[1])
    assert sides.startswith("A: delay_ms=0; B: delay_ms=20; closed model, ")
    assert re.search(r"average 1\d\d → 12\d ms, .*throughput \d+\.\d\d → \d+\.\d\d req/s", figures)
    assert re.match(rf"{1 + 2 * pair_count} runs in .+; commit ", runs)
    assert report == "[report](<https://perf.example/ab/tiny/ab-01.html>)"
    again = ("notify", "tiny/ab-01", f"--reports={tmp_path / 'reports'}", f"--home={home}")
    shown = command("aggregate.py", *again, "--dry-run").stdout
    assert shown.startswith(f"A/B test tiny/ab-01: REGRESSED after {pair_count} pairs")
    assert len(chat.texts) == 1
    assert main(list(again)) == 0
    assert chat.texts == [text, text]
    assert capsys.readouterr().out.endswith("sent to mattermost\n")


def test_an_ab_test_whose_message_is_not_delivered_reports_it(call, home, tmp_path):
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text() + NOTIFY)
    assert call("ab", "--plan=tiny", *SIDES, behaviour={"1": "fail"}) == 3
    page = tmp_path / "reports" / "ab" / "tiny" / "ab-01.md"
    assert "\n- message not delivered: mattermost: CHAT_WEBHOOK is not set\n" in page.read_text()
    before = page.read_bytes()
    main(["ab", "ab-01", f"--reports={tmp_path / 'reports' / 'ab'}"], "aggregate.py")
    assert page.read_bytes() == before


def test_a_webhook_is_tried_out_without_a_nightly_run(chat, home, monkeypatch, capsys):
    (home / "env" / "nightly.toml").write_text(SUITE.format(NOTIFY))
    assert main(["notify", f"--home={home}"]) == 0
    assert chat.texts[0].splitlines()[0] == "**Load tests: a test message**"
    monkeypatch.delenv("CHAT_WEBHOOK")
    assert main(["notify", f"--home={home}"]) == 3
    assert capsys.readouterr().out.endswith("not delivered: mattermost: CHAT_WEBHOOK is not set\n")
    with pytest.raises(UsageError, match=r"env/local\.toml has no \[notify\]; add one, such as \[notify\] with slack"):
        main(["notify", "--env=local", f"--home={home}"])
    with pytest.raises(UsageError, match="2026-11-21: no such nightly run"):
        main(["notify", "2026-11-21", f"--home={home}", f"--reports={home}"])


def result_of(*average_ms: float) -> NightlyResult:
    return nightly_result(nightly_record(ended()), entries(*average_ms), ())


def test_the_message_names_what_is_worse_the_key_metrics_and_the_commit():
    message = nightly_message(result_of(*STEADY, 130.0, 131.0), "x")
    assert message.title == "Nightly 2026-11-21: REGRESSED: average 100 → 131 ms (+31.0 %)."
    worse, figures, time = message.lines
    assert worse.startswith("REGRESSED: tiny, 2 users: TOTAL average ms: 131 against 100 (+31.00 %, limit ")
    assert re.match(r"tiny, 2 users: throughput \d+\.\d\d req/s, average 131 ms, p90 \d+ ms, errors 0\.00 %", figures)
    assert time.endswith("from 2026-11-21 02:00 UTC; commit 0123456789ab")


def test_the_message_says_what_grew_inside_the_system_else_which_runs_have_profiles():
    slow = [profiled(one, 400 if one.series < 261120 else 1_200) for one in entries(*STEADY, 130.0, 131.0)]
    *_, inside, _ = nightly_message(nightly_result(nightly_record(ended()), slow, ()), "x").lines
    # 400 and 1,200 times 10 ms, by 10,000 requests.
    assert inside == "grew most since 2026-11-19: method shop.Cart.sum of shop, 0.4 ms → 1.2 ms per request"
    usual = [profiled(one, 400) for one in entries(*STEADY, 100.0)]
    *_, inside, _ = nightly_message(nightly_result(nightly_record(ended()), usual, ()), "x").lines
    assert inside == "where the time went: see run-261121_1 in the report"


def test_the_message_gives_the_metrics_of_the_load_with_the_worst_finding_and_counts_the_others():
    loads = (load(), load(plan="shop", title="shop, 9 users"))
    bad = entry(verdict=Verdict(INVALID, ("web died",), (), ()))
    record = nightly_record(ended(), ended(load=1, run=None, problem="no licence"), loads=loads)
    worst, figures, _ = nightly_message(nightly_result(record, [bad], ()), "x").lines
    assert worst == "INVALID: tiny, 2 users, run-261121_1: web died (and 2 more findings)"
    assert figures == "tiny, 2 users: no run is valid (and 1 other load)"


@pytest.mark.parametrize(
    ("when", "verdict", "before", "expected"),
    [
        ("always", "OK", "OK", True),
        ("worse", "OK", "OK", False),
        ("worse", "OK", None, False),
        ("worse", "OK", "WARNED", True),
        ("worse", "REGRESSED", "REGRESSED", True),
        ("worse", "DOUBTFUL", None, True),
        ("changed", "REGRESSED", "REGRESSED", False),
        ("changed", "REGRESSED", "WARNED", True),
        ("changed", "OK", "INVALID", True),
        ("changed", "OK", None, False),
        ("changed", "INVALID", None, True),
    ],
)
def test_when_a_message_about_a_nightly_run_is_due(when: str, verdict: str, before: str | None, expected: bool) -> None:
    assert is_due(when, verdict, before) is expected


@pytest.mark.parametrize(
    ("when", "due"),
    [
        ("always", {"OK", "IMPROVED", "CANNOT TELL", "REGRESSED", "INVALID"}),
        ("worse", {"CANNOT TELL", "REGRESSED", "INVALID"}),
        ("changed", {"IMPROVED", "REGRESSED", "INVALID"}),
    ],
)
def test_when_a_message_about_an_ab_test_is_due(when: str, due: set[str]) -> None:
    verdicts = {"OK", "IMPROVED", "CANNOT TELL", "REGRESSED", "INVALID"}
    assert {one for one in verdicts if of_ab.is_due(when, ab_outcome(one))} == due
    assert not [one for one in verdicts if of_ab.is_due(when, ab_outcome(one, "running"))]


def ab_outcome(verdict: str, state: str = "finished") -> AbOutcome:
    return AbOutcome(finished_record(state=state), (), (), verdict)
