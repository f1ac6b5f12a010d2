"""What single rows of a bare JTL show: rows there twice, missing, of limited times; and of good files."""

import random

import pytest

from harness.jtl.inputs import resolve
from harness.judge.account import Balance
from harness.plan.jmx.steps import PlanStep
from harness.report.jtls import summary_of_jtls
from tests.judge.test_account_lines import line
from tests.support.factories import record, sample
from tests.support.summaries import summary_of

COLUMNS = (
    "timeStamp,elapsed,label,responseCode,threadName,success,bytes,sentBytes,grpThreads,allThreads,Latency,Connect,"
    "failureMessage"
)
LABELS = {"Home": 60, "Search": 150, "Pay": 240}
START_MS = 1_700_000_000_000


def rows_of(
    seed=1, users=8, pause_ms=0, name="Users 1-{}", labels=LABELS, rounds=20, every=1, last_ms=0, is_random=False
):
    """Return rows of users who do all labels in turn, with a pause before each; the label Search at one in `every`."""
    numbers, rows = random.Random(seed), []
    for user in range(1, users + 1):
        now_ms = START_MS + numbers.randrange(1000)
        for step in [*labels] * rounds:
            now_ms += round(numbers.uniform(0.5, 1.5) * pause_ms) + (last_ms if step == "Home" else 0)
            label = numbers.choice([*labels]) if is_random else step
            if every > 1 and label == "Search" and numbers.randrange(every) == 0:
                continue  # an If Controller
            elapsed_ms = 5 + round(labels[label] * numbers.lognormvariate(0, 0.4))
            size = numbers.randrange(900, 1100)
            rows.append([now_ms, elapsed_ms, label, 200, name.format(user), "true", size, 116, users, users,
                         elapsed_ms - 4, 0])  # fmt: skip
            now_ms += elapsed_ms
    return in_order(rows)


def in_order(rows):
    return sorted(rows, key=lambda row: row[0] + row[1])


def named(rows, name):
    return [[*row[:4], name(row[4]), *row[5:]] for row in rows]


def some(rows, ratio):
    numbers = random.Random(5)
    return [row for row in rows if numbers.random() < ratio]


def with_parts(rows):
    """Return rows with those of two resources that load at the same time after the page, by their addresses."""
    parts = [
        [row[0] + begin, max(1, length), f"{row[2]}.{kind}", *row[3:10], 1, 0]
        for row in rows
        for begin, length, kind in (
            (0, row[1] // 2, "html"),
            (row[1] // 2, row[1] // 3, "css"),
            (row[1] // 2 + 1, row[1] // 4, "js"),
        )
    ]
    return in_order([*rows, *parts])


def with_transactions(rows):
    """Return rows with those of transactions of three requests, without their message; pauses are in no time."""
    by_user = {}
    for row in rows:
        by_user.setdefault(row[4], []).append(row)
    found = list(rows)
    for own in by_user.values():
        for at in range(0, len(own) - 2, 3):
            first = own[at]
            found.append([first[0], sum(row[1] for row in own[at : at + 3]), "Order", *first[3:]])
    return in_order(found)


def limited(rows, most_ms):
    return [[row[0], min(row[1], most_ms), *row[2:10], min(row[10], most_ms), 0] for row in rows]


def ticks(rows, step_ms):
    found = [list(row) for row in rows]
    for row, (start_ms, elapsed_ms, *_) in zip(found, rows, strict=True):
        row[0] = start_ms // step_ms * step_ms
        row[1] = (start_ms + elapsed_ms) // step_ms * step_ms - row[0]
        row[10] = 0
    return found


def summary(folder, *files):
    names = []
    for number, rows in enumerate(files, 1):
        path = folder / f"{number}.jtl"
        full = ([*row, ""][: COLUMNS.count(",") + 1] for row in rows)
        path.write_text("\n".join([COLUMNS, *(",".join(map(str, row)) for row in full), ""]))
        names.append(str(path))
    return summary_of_jtls(resolve(names))


def messages(rows, labels, *, success="true", ratio=1.0):
    """Return rows of which so many of the labels have a message of a failure."""
    numbers = random.Random(3)
    return [
        [*row[:5], success, *row[6:12], "Test failed: text"] if row[2] in labels and numbers.random() < ratio else row
        for row in rows
    ]


BUSY, PAUSED, OTHER = rows_of(), rows_of(pause_ms=400), rows_of(seed=2, pause_ms=400)
# (The files, how the text begins; the good neighbours have none).
EVIL = {
    "half of a file is there twice": ([in_order([*PAUSED, *PAUSED[250:]])], "32 % of the rows are in the JTL twice"),
    "a fifth of the rows is there twice": ([in_order([*BUSY, *some(BUSY, 0.2)])], "17 % of the rows are in the JTL tw"),
    "the same file of two hosts": (
        [named(PAUSED, "10.0.0.1-{}".format), named(PAUSED, "10.0.0.2-{}".format)],
        "100 % of the rows are copies of each other (10.0.0.1-Users 1-",
    ),
    "the same rows of two groups": (
        [in_order([*BUSY, *named(BUSY, lambda name: name.replace("1-", "2-"))])],
        "100 % of the rows are copies of each other (Users 1-",
    ),
    "two generators in one file": (
        [in_order([*PAUSED, *OTHER])],
        "27 % of the rows begin before their thread's last one has ended",
    ),
    "half of the users lost": (
        [[row for row in PAUSED if row[4][-1] in "1357"]],
        "4 of 8 users of Users have no row",
    ),
    "one user lost": ([[row for row in BUSY if row[4] != "Users 1-3"]], "1 of 8 users of Users has no row"),
    "half of the rows lost": ([some(BUSY, 0.5)], "After 30 % of the rows the next one of the user is missing"),
    "only successes": ([some(BUSY, 0.8)], "After 11 % of the rows the next one of the user is missing"),
    "times limited to 350 ms": ([limited(PAUSED, 350)], "13 % of Pay took exactly 350 ms, and none longer"),
    "failures that a script made successes": (
        [messages(PAUSED, LABELS, ratio=0.2)], "19 % of the rows are successes of which an assertion failed",
    ),
    "half of the failures of a step": (
        [messages(BUSY, ["Pay"], ratio=0.5)], "15 % of the rows are successes of which an assertion failed",
    ),
    "elapsed in seconds": (
        [[[row[0], row[1] // 1000, *row[2:]] for row in PAUSED]],
        "Latency is longer than elapsed on average (",
    ),
}  # fmt: skip
GOOD = {
    "no pauses": [BUSY],
    "a script that gives each row a message": [messages(PAUSED, ["Pay"])],
    "failures with their messages": [messages(PAUSED, ["Pay"], success="false", ratio=0.2)],
    "few messages": [messages(PAUSED, LABELS, ratio=0.02)],
    "pauses": [PAUSED],
    "two generators in two files": [PAUSED, OTHER],
    "two groups": [in_order([*PAUSED, *rows_of(seed=3, pause_ms=400, name="Buyers 2-{}")])],
    "two hosts": [in_order([*named(PAUSED, "10.0.0.1-{}".format), *named(OTHER, "10.0.0.2-{}".format)])],
    "one label of a constant time": [rows_of(labels={"Sleep": 0}, pause_ms=20)],
    "an If Controller": [rows_of(every=3)],
    "an If Controller and pauses": [rows_of(every=3, pause_ms=200)],
    "sorted by thread": [sorted(rows_of(users=20, rounds=100, pause_ms=400), key=lambda row: row[4])],
    "a random order": [rows_of(pause_ms=200, is_random=True)],
    "a random order without pauses": [rows_of(is_random=True)],
    "an iteration that a failure ends, with a pause behind it": [rows_of(every=3, pause_ms=1, last_ms=120)],
    "resources with rows of their own": [with_parts(PAUSED)],
    "transactions without a message": [with_transactions(PAUSED)],
    "transactions without a message or pauses": [with_transactions(BUSY)],
    "a clock of 10 ms": [ticks(BUSY, 10)],
    "a clock of 100 ms": [ticks(BUSY, 100)],
    "time stamps in seconds": [[[row[0] // 1000 * 1000, *row[1:]] for row in BUSY]],
    "timeouts": [
        [
            [row[0], min(row[1], 350), row[2], 200 if row[1] < 350 else "", row[4], str(row[1] < 350).lower(), *row[6:]]
            for row in limited(PAUSED, 350)
        ]
    ],
    "a listener of one of two groups": [
        [[*row[:9], 20, *row[10:]] for row in PAUSED],
    ],
    "a parallel sampler": [
        named(in_order([*BUSY, *rows_of(seed=9)]), "parallel Images".format),
    ],
    "quick requests of many, alike by chance": [
        in_order([
            [START_MS + at // 4, 5 + at % 2, "Ping", 200, f"Users 1-{at % 8 + 1}", "true", 300, 116, 8, 8, 2, 0]
            for at in range(480)
        ])
    ],
}  # fmt: skip


@pytest.mark.parametrize("which", EVIL)
def test_rows_that_are_wrong_make_a_file_doubtful(tmp_path, which):
    files, text = EVIL[which]
    found = summary(tmp_path, *files)
    assert line(found, "offered-read").text.startswith(text)
    assert found.verdict.state == "DOUBTFUL"


@pytest.mark.parametrize("which", GOOD)
def test_good_files_are_not_doubted_for_their_rows(tmp_path, which):
    found = line(summary(tmp_path, *GOOD[which]), "offered-read")
    assert (found.balance, found.text) == (Balance.BALANCED, "")


def with_redirects(rows, share=1.0, label="Home"):
    """Return rows with those of two redirects within so many of a label's, as JMeter writes and names them."""
    numbers, found = random.Random(7), list(rows)
    for row in rows:
        if row[2] == label and numbers.random() < share:
            half_ms = row[1] // 2
            found.append([row[0], half_ms, f"{label}-0", *row[3:]])
            found.append([row[0] + half_ms, row[1] - half_ms, f"{label}-1", *row[3:]])
    return in_order(found)


NUMBERED = rows_of(labels={"Cart": 60, "Cart-0": 50, "Cart-1": 50}, pause_ms=100)


@pytest.mark.parametrize(
    ("rows", "stated", "text"),
    [
        (with_parts(PAUSED), "Home, Search, Pay", "25 % of the rows include others"),
        (with_transactions(PAUSED), "Order", "25 % of the rows include others"),
        (with_transactions(BUSY), "Order", "25 % of the rows include others"),
        (with_redirects(PAUSED), "Home", "20 % of the rows include others"),
        (with_redirects(BUSY, label="Pay"), "Pay", "20 % of the rows include others"),
        (with_redirects(ticks(BUSY, 10)), "Home", "20 % of the rows include others"),
        # Too few to move a number by much.
        (with_redirects(PAUSED, share=0.1), "Home", ""),
        (PAUSED, "", ""),
        (ticks(BUSY, 100), "", ""),
        (NUMBERED, "", ""),
        (ticks(NUMBERED, 10), "", ""),
    ],
)
def test_rows_that_include_others_are_doubted_where_total_is_off(tmp_path, rows, stated, text):
    found = line(summary(tmp_path, rows), "read-counted")
    assert found.right.partition("; rows that include others: ")[2] == stated
    assert found.text == (text and f"{text}, and TOTAL counts both ({stated})")


@pytest.mark.parametrize(
    ("steps", "balance"),
    [
        ((), Balance.DOUBT),
        ((PlanStep("Cart", False),), Balance.DOUBT),
        ((PlanStep("Cart", False), PlanStep("Cart-0", False)), Balance.BALANCED),
    ],
)
def test_rows_of_a_run_are_parts_by_their_names_unless_the_plan_has_such_steps(steps, balance):
    samples = [
        sample(label, ms, 1000 * at, thread_name=f"Users 1-{at % 2 + 1}", all_threads=2)
        for at in range(120)
        for label, ms in (("Cart", 300), ("Cart-0", 100), ("Cart-1", 200), ("Pay-0", 50))
    ]
    found = line(summary_of(samples, record(steps=steps)), "read-counted")
    assert found.balance is balance
    assert found.text == ("25 % of the rows include others, and TOTAL counts both (Cart)" if found.text else "")


@pytest.mark.parametrize(("ratio", "share"), [(0.5, 28), (0.8, 14)])
def test_rows_that_are_lost_or_left_out_by_the_plan_are_stated(tmp_path, ratio, share):
    found = line(summary(tmp_path, some(PAUSED, ratio)), "offered-read")
    rest = "of the rows the next one of the user is not there, lost or left out by the plan"
    assert (found.balance, found.right.partition("; ")[2]) == (Balance.BALANCED, f"after {share} % {rest}")


def test_time_stamps_of_ends_are_stated(tmp_path):
    rows = in_order([[row[0] + row[1], *row[1:]] for row in BUSY])
    found = line(summary(tmp_path, rows), "offered-read")
    assert (found.balance, found.right) == (
        Balance.BALANCED,
        "480 rows read; their time stamps are those of their ends",
    )


@pytest.mark.parametrize(("step_ms", "said"), [(1, ""), (10, ""), (15.625, "16 ms"), (20, "20 ms")])
def test_a_median_near_the_step_of_a_coarser_clock_is_a_warning(tmp_path, step_ms, said):
    rows = [[row[0], round(row[1] // step_ms * step_ms), *row[2:10], 0, 0] for row in PAUSED if row[2] == "Home"]
    text = {one.code: one.text for one in summary(tmp_path, rows).warnings}.get("coarse-clock", "")
    assert said in text
    assert bool(text) is bool(said)


@pytest.mark.real
def test_of_a_large_file_rows_in_the_middle_are_looked_at(tmp_path):
    rows = rows_of(users=20, rounds=100, pause_ms=100)
    found = summary(tmp_path, in_order([*rows, *rows[5500:]]))
    assert line(found, "offered-read").text.startswith("8 % of the rows are in the JTL twice")
