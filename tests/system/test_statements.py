"""The statements of a database, as the command of its manifest prints them."""

import sys

import pytest

from harness.report.profiles import database_text
from harness.system.database_files import DatabaseReader, databases
from harness.system.statements import DatabaseUse, DatabaseWait, StatementUse, read_statements
from harness.system.system import StatementCommands

PRINTED = """\
statement\tcount\ttotal_ms\tlongest_ms\trows_examined\tcount_without_index\tlock_ms
SELECT * FROM a WHERE  x = ?\t4\t2.5000\t1.25\t4\t0\t0.1
SELECT * FROM b\t2\t80.0\t50.0\t9000\t2\tNULL
COMMIT\t0\t0\t0\t0\t0\t0
"""


def test_statements_are_ordered_by_their_time_in_all():
    assert read_statements("till", PRINTED.splitlines(keepends=True)) == DatabaseUse(
        "till",
        6,
        82.5,
        (
            StatementUse("SELECT * FROM b", 2, 80.0, 50.0, 9000, 2, None),
            StatementUse("SELECT * FROM a WHERE x = ?", 4, 2.5, 1.25, 4, 0, 0.1),
        ),
    )


def test_what_the_database_does_not_report_is_unknown():
    found = read_statements("till", ["count\tstatement\ttotal_ms", "1\tCOMMIT\t3"])
    assert found.statements == (StatementUse("COMMIT", 1, 3.0, None, None, None, None),)


def test_a_long_statement_keeps_its_beginning_and_its_table():
    text = f"SELECT {', '.join(f'column_{number}' for number in range(50))} FROM payments WHERE id = ?"
    found = read_statements("till", ["statement\tcount\ttotal_ms", f"{text}\t1\t3"])
    (use,) = found.statements
    assert use.statement == f"{text[:150]} … {text[-150:]}"
    assert use.statement.endswith("FROM payments WHERE id = ?")


@pytest.mark.parametrize("text", ["", "ERROR 1045 (28000): Access denied", "statement\tcount\na\t1"])
def test_another_output_is_no_table_of_statements(text):
    with pytest.raises(ValueError, match="has no column"):
        read_statements("till", text.splitlines())


def test_a_table_that_ends_within_a_line_is_none():
    with pytest.raises(ValueError, match="a line has too few columns: SELECT 1"):
        read_statements("till", [*PRINTED.splitlines(), "SELECT 1\t4"])


def test_the_report_has_executions_per_sample_and_rows_per_execution():
    text = database_text(read_statements("till", PRINTED.splitlines()), 3)
    assert "Statements: 6 in the whole load, 2.0 per sample of the load; together 82 ms." in text
    assert "| SELECT \\* FROM b | 2 | 80 | 40 | 50 | 4500.0 | 1.0 |  |" in text
    assert database_text(DatabaseUse("till", 0, 0.0, ()), 3) == "### till\n\nStatements: none."


def test_commits_and_settings_are_below_the_queries():
    rows = ["COMMIT\t9\t90", "SELECT 1\t3\t6", "set autocommit = ?\t2\t4", "SETTLE\t1\t2"]
    text = database_text(read_statements("till", ["statement\tcount\ttotal_ms", *rows]), 3)
    queries, controls = text.split("\n\nOf transactions and connections:\n\n")
    assert [line.split(" | ")[0] for line in queries.splitlines()[6:]] == ["| SELECT 1", "| SETTLE"]
    assert [line.split(" | ")[0] for line in controls.splitlines()[2:]] == ["| COMMIT", "| set autocommit = ?"]
    text = database_text(read_statements("till", ["statement\tcount\ttotal_ms", *rows[:1]]), 3)
    assert "| COMMIT | 9 | 90 | 10 |" in text
    assert "Of transactions" not in text


def test_statements_that_read_large_tables_without_an_index_are_named():
    long = f"SELECT {', '.join(f'column_{number}' for number in range(20))} FROM payments WHERE account = ?"
    rows = [
        f"{long}\t10\t9\t4\t16580\t9",
        "SELECT * FROM roles\t10\t8\t4\t30\t10",  # a small table
        "SELECT * FROM cards WHERE id = ?\t10\t7\t4\t2000\t4",  # mostly with an index
    ]
    head = PRINTED.splitlines()[0].removesuffix("\tlock_ms")
    text = database_text(read_statements("till", [head, *rows]), 3)
    line = text.partition("Read without an index: ")[2]
    assert line.startswith("SELECT column_0, column_1, ")
    assert line.endswith("FROM payments WHERE account = ? (9 of 10 executions, 1658.0 rows each).")
    # What H2 does not know is no reason to leave a statement out.
    text = database_text(read_statements("h2", [head, "SELECT * FROM roles\t10\t8\t4\t\t10"]), 3)
    assert text.endswith("Read without an index: SELECT \\* FROM roles (10 of 10 executions).")
    assert "Read without an index" not in database_text(read_statements("till", PRINTED.splitlines()[:2]), 3)


def test_the_commands_of_a_database_run_before_and_after_the_load(tmp_path):
    store = tmp_path / "store"
    reset = (sys.executable, "-c", f"open({str(store)!r}, 'w').write('statement\\tcount\\ttotal_ms\\nA\\t1\\t2\\n')")
    read = (sys.executable, "-c", f"print(open({str(store)!r}).read(), end='')")
    folder = tmp_path / "system"
    folder.mkdir()
    with DatabaseReader({"till": StatementCommands(reset, read)}, folder, {}) as reader:
        store.write_text(store.read_text() + "B\t1\t5\n")
    assert reader.unknown == []
    assert [use.statement for use in databases(folder)[0].statements] == ["B", "A"]
    assert [path.name for path in folder.iterdir()] == ["statements-till.tsv"]


WAITS = "statement\tcount\ttotal_ms\nrow locks\t{}\t{}\nlog file\t{}\t1.5\ntables\t5\t70\n"


@pytest.mark.real
def test_the_waits_of_a_database_are_those_of_the_load_and_the_longest_comes_first(tmp_path):
    store, folder = tmp_path / "store", tmp_path / "system"
    folder.mkdir()
    store.write_text(WAITS.format(10, 400, 0))
    waits = (sys.executable, "-c", f"print(open({str(store)!r}).read(), end='')")
    quiet = (sys.executable, "-c", f"print({PRINTED!r}, end='')")
    with DatabaseReader({"till": StatementCommands(quiet, quiet, waits=waits)}, folder, {}) as reader:
        store.write_text(WAITS.format(12, 900, 3))
    assert reader.unknown == []
    (found,) = databases(folder)
    # What was waited for before the load, or not at all during it, does not count.
    assert found.waits == (DatabaseWait("row locks", 2, 500.0), DatabaseWait("log file", 3, 0.0))
    assert "waited for in the whole load" in database_text(found, 3)
    assert "| row locks | 2 | 500 | 250 |\n| log file | 3 | 0.00 | 0.00 |" in database_text(found, 3)
    assert sorted(path.name for path in folder.iterdir()) == ["statements-till.tsv", "waits-till.tsv"]


def test_a_command_that_fails_is_named_and_leaves_no_table(tmp_path):
    fails = (sys.executable, "-c", "import sys; print('no access'); sys.exit(1)")
    with DatabaseReader({"till": StatementCommands(fails, fails)}, tmp_path, {}) as reader:
        pass
    assert reader.unknown == [("till", "its statements cannot be read (code 1: no access)")]
    assert list(tmp_path.iterdir()) == []
    assert databases(tmp_path) == ()
