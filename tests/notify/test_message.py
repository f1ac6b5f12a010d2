"""A message in the form of each chat: nothing in it mentions anybody, and a long line is cut."""

from __future__ import annotations

import pytest

from harness.notify.message import Message, mattermost, plain_text, slack, teams

LINK = "https://perf.example/nightly/2026-11-21.html?a=1&b=2"
MESSAGE = Message(
    "Nightly 2026-11-21: REGRESSED: 1 metric worse",
    ("p90 <!channel> & @here: 131 > 100", "tiny_shop\nwith *stars*", ""),
    LINK,
)


def test_slack_gets_text_without_mentions_and_a_link() -> None:
    assert slack(MESSAGE) == {
        "text": "*Nightly 2026-11-21: REGRESSED: 1 metric worse*\n"
        "p90 &lt;!channel&gt; &amp; @here: 131 &gt; 100\n"
        "tiny_shop with *stars*\n"
        "<https://perf.example/nightly/2026-11-21.html?a=1&amp;b=2|report>"
    }


def test_mattermost_gets_markdown_that_mentions_nobody() -> None:
    assert mattermost(MESSAGE) == {
        "text": "**Nightly 2026-11-21: REGRESSED: 1 metric worse**\n"
        "p90 \\<!channel\\> & @\u2060here: 131 \\> 100\n"
        "tiny\\_shop with \\*stars\\*\n"
        f"[report](<{LINK}>)"
    }


def test_teams_gets_an_adaptive_card_with_a_button() -> None:
    (attachment,) = teams(MESSAGE)["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert [block["text"] for block in card["body"]] == list(MESSAGE.texts)
    assert all(block["type"] == "TextBlock" and block["wrap"] for block in card["body"])
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Report", "url": LINK}]


def test_a_report_that_has_no_address_is_named_by_its_path() -> None:
    message = Message("Nightly", (), "reports/nightly/2026-11-21.md")
    assert slack(message)["text"] == "*Nightly*\nreport: reports/nightly/2026-11-21.md"
    assert mattermost(message)["text"].endswith("\nreport: reports/nightly/2026-11-21.md")
    card = teams(message)["attachments"][0]["content"]
    assert card["body"][-1]["text"] == "report: reports/nightly/2026-11-21.md"
    assert "actions" not in card
    assert plain_text(message) == "Nightly\nreport: reports/nightly/2026-11-21.md\n"


@pytest.mark.parametrize(("length", "expected"), [(300, "x" * 300), (301, "x" * 299 + "…")])
def test_a_line_of_more_than_300_characters_is_cut(length: int, expected: str) -> None:
    assert Message("Nightly", ("x" * length,), LINK).texts == ("Nightly", expected)
