"""`aggregate.py accept`: a change is marked as intended in a file that git keeps."""

from datetime import UTC, datetime, timedelta

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.history.acceptance import Acceptance, read_acceptances
from harness.metrics.metric import metric_of
from tests.support.report_folder import add_run

HEAD = "since,plan,users,env,label,metric,reason"


@pytest.fixture
def accept(tmp_path):
    """Return `accept` on a file and a folder of nightly runs of its own."""
    (tmp_path / "nightly").mkdir()

    def call(*arguments):
        file = tmp_path / "accepted.csv"
        return main(["accept", *arguments, "--file", str(file), "--reports", str(tmp_path / "nightly")])

    return call


def lines(tmp_path):
    return (tmp_path / "accepted.csv").read_text().splitlines()


def test_rows_are_sorted_and_read_back_as_they_were_given(accept, tmp_path, capsys):
    assert accept("--since", "2026-11-20", "--plan", "lb-nginx", "--reason", 'twice, "as told"') == 0
    narrow = ("--users", "10", "--env", "local", "--label", "Pay", "--metric", "p95", "--reason", "slower card")
    assert accept("--since", "2026-11-03", "--plan", "lb-nginx", *narrow) == 0
    assert lines(tmp_path) == [
        HEAD,
        "2026-11-03,lb-nginx,10,local,Pay,p95,slower card",
        '2026-11-20,lb-nginx,,,,,"twice, ""as told"""',
    ]
    assert read_acceptances(tmp_path / "accepted.csv")[0] == Acceptance(
        "2026-11-03", "lb-nginx", 10, "local", "Pay", metric_of("p95"), "slower card"
    )
    assert "the history restarts with the next nightly run" in capsys.readouterr().out
    assert accept("--list") == 0
    assert capsys.readouterr().out.splitlines() == lines(tmp_path)


def test_a_change_is_accepted_once_and_removed_once(accept, tmp_path):
    what = ("--since", "2026-11-20", "--plan", "lb-nginx")
    accept(*what, "--reason", "meant")
    with pytest.raises(UsageError, match="lb-nginx since 2026-11-20 is accepted already"):
        accept(*what, "--reason", "meant as well")
    assert accept("--remove", *what) == 0
    assert lines(tmp_path) == [HEAD]
    with pytest.raises(UsageError, match="no such change is accepted; nothing is accepted yet"):
        accept("--remove", *what)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--plan", "lb-nginx", "--reason", "x"), "--since missing"),
        (("--since", "2026-11-20"), "--plan and --reason missing"),
        (("--since", "20.11.", "--plan", "lb-nginx", "--reason", "x"), "--since 20.11.: not a date"),
        (("--since", "2026-11-20", "--plan", "lb-ngin", "--reason", "x"), "did you mean lb-nginx?"),
        (("--since", "2026-11-20", "--plan", "tiny", "--metric", "p96", "--reason", "x"), "did you mean p9"),
        (("--since", "2026-11-20", "--plan", "tiny", "--label", "Pai", "--reason", "x"), "did you mean Pay?"),
        (
            ("--since", "2026-11-20", "--plan", "tiny", "--users", "3", "--reason", "x"),
            "--users 3: no nightly run of tiny",
        ),
        (("--since", "2026-11-20", "--plan", "tiny", "--env", "loca", "--reason", "x"), "did you mean local?"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(accept, tmp_path, arguments, message):
    add_run(tmp_path / "nightly", "tiny/run-261120_1")
    with pytest.raises(UsageError) as error:
        accept(*arguments)
    assert message in str(error.value)
    assert not (tmp_path / "accepted.csv").exists()


def test_the_nightly_run_that_restarts_the_history_is_reported(accept, tmp_path, capsys):
    add_run(tmp_path / "nightly", "tiny/run-261121_1")
    assert accept("--since", "2026-11-20", "--plan", "tiny", "--label", "TOTAL", "--reason", "x") == 0
    assert "restarts with the nightly run of 2026-11-21" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("since,plan\n", ":1: its columns are since,plan"),
        (f"{HEAD}\n2026-11-20,tiny\n", ":2: not a valid row of"),
        (f"{HEAD}\n2026-11-20,tiny,ten,,,,x\n", ":2: not a valid row of"),
        (f"{HEAD}\n\n2026-11-40,tiny,,,,,x\n", ":3: 2026-11-40: not a date"),
        (f"{HEAD}\n2026-11-20,tiny,,,,p98,x\n", ":2: p98: no such metric"),
    ],
)
def test_a_bad_line_of_the_file_is_named(tmp_path, text, message):
    (tmp_path / "accepted.csv").write_text(text)
    with pytest.raises(UsageError) as error:
        read_acceptances(tmp_path / "accepted.csv")
    assert message in str(error.value)


def test_a_change_in_the_future_is_refused(accept):
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    with pytest.raises(UsageError, match=f"--since {tomorrow}: after today"):
        accept("--since", tomorrow, "--plan", "thruzero", "--reason", "new cache")
