"""The text of a person in a report survives when it is rendered again, wherever in the report they are."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.report.charts.run_charts import run_charts
from harness.report.files import summary_of_run, write_report
from harness.report.markdown import report
from harness.report.notes import NOTES_BEGIN, NOTES_END, notes_of, rendered_again
from harness.report.pages import write_page
from tests.support.report_folder import add_run

WORD = "the pool was 30 that day"


def page(notes, count=1):
    rows = "\n".join(f"| run {number} | {number * 7} |" for number in range(count))
    return f"# Report\n\n{rows}\n\n## Notes\n\n{NOTES_BEGIN}\n{notes}\n{NOTES_END}\n\n## Warnings\n\nNone.\n"


@pytest.fixture
def noted(tmp_path):
    """The report of a run with WORD in its notes."""
    directory = add_run(tmp_path / "reports", "tiny/run-01_1")
    text = directory.report.read_text(encoding="utf-8")
    directory.report.write_text(text.replace(f"\n{NOTES_END}", f"{WORD}\n{NOTES_END}"), encoding="utf-8")
    return directory


DAMAGES = {
    "no end": lambda text: text.replace(f"{NOTES_END}\n", ""),
    "no begin": lambda text: text.replace(f"{NOTES_BEGIN}\n", ""),
    "neither": lambda text: text.replace(f"{NOTES_END}\n", "").replace(f"{NOTES_BEGIN}\n", ""),
    "two ends": lambda text: text + f"{NOTES_END}\n",
    "two begins": lambda text: f"{NOTES_BEGIN}\n{text}",
    "nested": lambda text: text.replace(WORD, f"{NOTES_BEGIN}\n{WORD}\n{NOTES_END}\nmore"),
    "the wrong way round": lambda text: (
        text.replace(NOTES_BEGIN, "@").replace(NOTES_END, NOTES_BEGIN).replace("@", NOTES_END)
    ),
    "Windows": lambda text: "\ufeff" + text.replace("\n", "\r\n"),
}


def test_the_notes_of_an_older_report_are_read_and_survive():
    old_begin = "<!-- notes:begin: what stands here is kept when the report is rendered again -->"
    older = rendered_again(None, lambda notes: page(notes, 1), WORD).text.replace(NOTES_BEGIN, old_begin)
    assert notes_of(older) == WORD
    again = rendered_again(older, lambda notes: page(notes, 2))
    assert (again.moved_count, again.is_unclear, notes_of(again.text)) == (0, False, WORD)
    assert old_begin not in again.text


@pytest.mark.real
@pytest.mark.parametrize("damage", DAMAGES)
def test_notes_survive_a_damaged_block(noted, damage):
    damaged = DAMAGES[damage](noted.report.read_text(encoding="utf-8"))
    noted.report.write_text(damaged, encoding="utf-8", newline="")
    write_report(noted)
    again = noted.report.read_text(encoding="utf-8")
    assert WORD in notes_of(again)
    assert again.count("## Warnings") == 1
    assert not list(noted.path.parent.glob("*.old*"))
    write_report(noted)
    assert noted.report.read_text(encoding="utf-8") == again


@pytest.mark.real
def test_a_line_anywhere_in_a_real_report_survives(noted):
    summary = summary_of_run(noted)
    charts = run_charts(summary)
    lines = noted.report.read_text(encoding="utf-8").split("\n")
    for index in range(len(lines) + 1):
        older = "\n".join([*lines[:index], "- load: the pool was full", *lines[index:]])
        again = rendered_again(older, lambda notes: report(summary, charts, notes, noted.name))
        assert not again.is_unclear
        assert {"- load: the pool was full", WORD} <= set(notes_of(again.text).split("\n"))


@pytest.mark.real
def test_text_outside_of_the_block_moves_into_it_and_is_reported(noted, capsys):
    text = noted.report.read_text(encoding="utf-8")
    noted.report.write_text(text.replace("## Results\n", "## Results\n\nThe disk was full.\n\nSee the log.\n"), "utf-8")
    write_report(noted)
    assert notes_of(noted.report.read_text(encoding="utf-8")) == f"{WORD}\n\nThe disk was full.\n\nSee the log."
    where = os.path.relpath(noted.report)
    assert capsys.readouterr().err == f"{where}: 2 lines from outside of the notes block moved into it\n"


@pytest.mark.real
def test_a_generated_line_that_a_person_changed_is_saved_in_a_copy(noted, capsys):
    text = noted.report.read_text(encoding="utf-8").replace("**VALID:", "**VALID, but the disk was full:")
    noted.report.write_text(text, encoding="utf-8")
    write_report(noted)
    copy = noted.report.with_name("run-01_1.md.old")
    assert copy.read_text(encoding="utf-8") == text
    assert notes_of(noted.report.read_text(encoding="utf-8")) == WORD
    assert "run-01_1.md.old: copy what you need into the notes block\n" in capsys.readouterr().err
    write_report(noted)
    assert not noted.report.with_name("run-01_1.md.old2").exists()
    assert capsys.readouterr().err == ""


@pytest.mark.real
def test_the_summary_of_all_runs_keeps_text_although_its_rows_change(tmp_path):
    add_run(tmp_path, "tiny/run-01_1")
    write_summary(tmp_path)
    summary = tmp_path / SUMMARY_NAME
    summary.write_text(summary.read_text(encoding="utf-8") + "\nmine\n", encoding="utf-8")
    add_run(tmp_path, "tiny/run-01_2")
    write_summary(tmp_path)
    copies = [path for path in tmp_path.iterdir() if path.is_file() and "mine" in path.read_text(encoding="utf-8")]
    assert copies
    assert "run-01_2" in summary.read_text(encoding="utf-8")


def test_changed_metrics_alone_are_not_a_persons_text(tmp_path):
    path = tmp_path / "page.md"
    write_page(path, lambda notes: page(notes, 3))
    path.write_text(path.read_text().replace(f"\n{NOTES_END}", f"{WORD}\n{NOTES_END}"))
    write_page(path, lambda notes: page(notes, 5))
    assert notes_of(path.read_text()) == WORD
    assert [file.name for file in tmp_path.iterdir()] == ["page.md"]


def test_a_page_without_a_notes_block_is_copied_before_it_is_overwritten(tmp_path):
    path = tmp_path / "history.md"
    write_page(path, lambda _: "# History\n\n| a |\n")
    path.write_text(path.read_text() + "\nmine\n")
    write_page(path, lambda _: "# History\n\n| a |\n")
    assert "mine" in path.with_name("history.md.old").read_text()


def test_a_file_that_is_not_utf8_is_refused_with_its_line(tmp_path):
    path = tmp_path / "page.md"
    path.write_bytes(page("x").encode() + "für\n".encode("latin-1"))
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"page\.md:14: is not UTF-8 text, so its notes cannot be preserved; save it"):
        write_page(path, page)
    assert path.read_bytes() == before


LINE = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=30)
TEXTS = st.lists(
    st.one_of(LINE, st.sampled_from(("None.", "## Warnings", NOTES_BEGIN, NOTES_END, "", "| run 1 | 7 |")))
)


@pytest.mark.real
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    notes=TEXTS,
    inserts=st.lists(st.tuples(st.integers(0, 40), TEXTS), max_size=4),
    counts=st.tuples(st.integers(0, 5), st.integers(0, 5)),
)
def test_text_anywhere_survives_or_the_old_page_is_saved(notes, inserts, counts):
    lines = rendered_again(None, lambda text: page(text, counts[0]), "\n".join(notes)).text.split("\n")
    for index, inserted in inserts:
        lines[min(index, len(lines)) : min(index, len(lines))] = inserted
    again = rendered_again("\n".join(lines), lambda text: page(text, counts[1]))
    if again.is_unclear:
        return  # write_page copies the older page
    written = again.text.split("\n")
    for line in [*notes, *(line for _, inserted in inserts for line in inserted)]:
        assert (
            line.rstrip() in [one.rstrip() for one in written] or not line.strip() or line in (NOTES_BEGIN, NOTES_END)
        )
