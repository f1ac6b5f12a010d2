"""Compares the rows that JMeter wrote with those that were read.

Seen: Rows are missing, too many, or unreadable (INVALID from 3 % on), or none ended for a while without a stall. The
plan or a tool hid failures or slow results, the client repeated requests, or rows are none, or sums.

Why it matters: Lost rows are often the failures.

What to do: Look in `jmeter.log` for a full disk or a kill, and quote delimiters. Or count one part: `lth
table FILE --window FROM..TO`. A 401 that is meant: run its plan, with an assertion.
"""

from __future__ import annotations

from dataclasses import replace

from harness.base import units
from harness.judge.account.line import Balance, LineKind, Sides, judged
from harness.judge.evidence import GAP_INVALID_RATIO, Evidence, gaps_text, named_length
from harness.judge.ignored import with_ignored
from harness.judge.not_sent import with_not_sent
from harness.judge.rows import with_rows
from harness.judge.warning_kind import ReportPart

# Rows are counted: one that is missing is one too many.
DOUBT_RATIO, INVALID_RATIO = 0.0, 0.03


# A row may be the sum of several samples: of n it has their mean, rounded down by up to n - 1 parts of n, on average by
# half of that. So many parts for each sample are those of 2 to 4 % of the samples.
_ROUNDED_RATIO = 0.01

# Where rows are missing, their users seem to be, and the rest is another mix.
_FOLLOW = ("users-time", "one-state")


def measure(evidence: Evidence) -> Sides:
    """Return the rows that JMeter wrote, or that the file has, and those that were read."""
    of_rows = with_rows(evidence, _with_means(evidence, _measured(evidence)))
    sides = with_not_sent(evidence, with_ignored(evidence, of_rows))
    return replace(sides, explains=_FOLLOW)


def _with_means(evidence: Evidence, sides: Sides) -> Sides:
    """Return the line with rows that are the sum of several samples: a statement, and a doubt if they are many."""
    counts = [label.counts for label in evidence.whole_labels]
    rounded_ms = sum(one.elapsed_sum_ms - one.histogram.sum_ms for one in counts)
    if not rounded_ms:
        return sides
    sides = replace(sides, right=f"{sides.right}; some in sums of several samples")
    if sides.is_off or rounded_ms <= _ROUNDED_RATIO * sum(one.histogram.count for one in counts):
        return sides
    brief = "Rows are sums of several samples: the percentiles are those of means"
    return replace(sides, balance=Balance.DOUBT, brief=brief, advice=_MEANS)


def _measured(evidence: Evidence) -> Sides:
    run, dropped = evidence.run, evidence.dropped
    rows = run.rows if run else None
    unread, missing = dropped.unread_count, evidence.missing_row_count
    in_file = evidence.row_count - dropped.cut_count
    read = evidence.row_count - dropped.count
    of_file = f"{units.plural(in_file, 'row')} in the file"
    least = "at least " if rows and rows.at_least else ""
    left = f"{least}{units.plural(rows.written_count, 'row')} written" if rows else of_file
    sorted_by = f", sorted by {evidence.sorted_by}" if evidence.sorted_by else ""
    right = f"{units.plural(read, 'row')} read{sorted_by}{_beside(evidence)}"
    count = max(rows.written_count, in_file) if rows else in_file
    ratio = (unread + missing) / count if count else 0.0
    # A clock that was set, and another run in the file, leave such holes, too: they have warnings of their own.
    holes = () if evidence.clock_step or dropped.header_lines else evidence.holes
    if run and holes and dropped.count:
        brief = f"Samples of at least {named_length(holes)} are missing from the JTL: {gaps_text(holes)}"
        hole_s = sum(gap.length_s for gap in holes)
        return Sides(left, right, hole_s / evidence.window.run_s, Balance.INVALID, brief, _unread_advice(evidence))
    if unread >= missing and unread:
        balance = judged(ratio, DOUBT_RATIO, INVALID_RATIO)
        advice = _unread_advice(evidence)
        advice += f" More rows may be missing: no sample ended from {gaps_text(holes)}." if holes else ""
        return Sides(left, right, ratio, balance, _unread_text(evidence, unread), advice)
    if missing:
        brief = _missing_text(evidence)
        where = f" No sample ended from {gaps_text(holes)}." if holes else ""
        advice = f"All numbers lack them: a full disk loses rows, and so does a file that was cut.{where} {_REMEDY}"
        return Sides(left, right, ratio, judged(ratio, DOUBT_RATIO, INVALID_RATIO), brief, advice)
    if rows and not rows.at_least and (more := read - rows.written_count) > 0:
        brief = f"{units.plural(more, 'more row')} {'is' if more == 1 else 'are'} in the JTL than JMeter wrote"
        ratio = more / rows.written_count if rows.written_count else 1.0
        return Sides(left, right, ratio, judged(ratio, DOUBT_RATIO, INVALID_RATIO), brief, _MORE_ADVICE)
    if dropped.cut_count:
        advice = f"No number includes what is missing: {dropped.first_text}. Look for the whole file."
        return Sides(left, right, None, Balance.DOUBT, "A file ends early: its last rows are missing", advice)
    if holes:
        return _with_holes(evidence, left, right)
    return Sides(left, right, ratio, Balance.BALANCED)


_MEANS = (
    "Counts, errors and averages are right. Percentiles, minimum and maximum are not, and the seconds, so req/s, only "
    "about. A JMS step of several messages writes such rows. Remote JMeters do in mode Statistical: set StrippedBatch."
)
_MORE_ADVICE = (
    "Another run wrote to it, or samples are in it twice. Take the rows out that are not this run's, or run again."
)
_REMEDY = "Run again, or count one part: lth table FILE --window FROM..TO."


def _beside(evidence: Evidence) -> str:
    """Return what is in no table although nothing is wrong with it, after a comma; empty without any."""
    torn, cut = evidence.dropped.torn_end_count, sum(evidence.cut.values())
    texts = [f"{torn} torn at the end"] if torn else []
    if cut:
        texts.append(f"{units.plural(cut, 'transaction')} cut by the end left out ({', '.join(evidence.cut)})")
    if untimed := sum(evidence.untimed.values()):
        names = ", ".join(evidence.untimed)
        texts.append(f"{units.plural(untimed, 'transaction')} without a time left out ({names})")
    if closed := sum(evidence.closed.values()):
        names = ", ".join(evidence.closed)
        texts.append(f"{units.plural(closed, 'request')} closed by the end of the load left out ({names})")
    return "".join(f", {text}" for text in texts)


def _unread_text(evidence: Evidence, unread: int) -> str:
    rows = units.plural(evidence.row_count - evidence.dropped.cut_count, "row")
    if evidence.dropped.has_only_bad_times:
        verb = "has an impossible time stamp" if unread == 1 else "have impossible time stamps"
        return f"{unread:,} of {rows} of the JTL {verb}"
    return f"{unread:,} of {rows} of the JTL could not be read"


def _unread_advice(evidence: Evidence) -> str:
    """Return what is wrong with the rows that could not be read, and what to do."""
    dropped = evidence.dropped
    if surplus := dropped.surplus_fields:
        fields = f"{units.plural(surplus, 'field')} too many"
        why = f"Each has {fields}: a text of theirs has the delimiter, and the writer does not quote it."
        return (
            f"No number includes them. {why} First: {dropped.first_text}. Quote the fields, or use another delimiter."
        )
    more = " and more" if dropped.count > len(dropped.first) else ""
    if dropped.has_only_bad_times:
        first = replace(dropped, first=dropped.first[:1]).first_text
        return (
            f"No number includes them, not even the failures. First: {first}. JMeter writes 0 for a sample that never "
            "started: read its message in the file. Split a file of several runs."
        )
    return (
        f"No number includes them ({dropped.first_text}{more}). Look at these lines: a full disk or a killed JMeter "
        "leaves torn ones."
    )


def _missing_text(evidence: Evidence) -> str:
    rows = evidence.run.rows if evidence.run else None
    assert rows is not None  # otherwise it is not known that rows are missing
    least, count = "At least " if rows.at_least else "", evidence.missing_row_count
    verb = "is" if count == 1 else "are"
    return f"{least}{count} of {units.plural(rows.written_count, 'row')} that JMeter wrote {verb} missing"


def _with_holes(evidence: Evidence, left: str, right: str) -> Sides:
    """Return the line of a file in which rows may be missing: no sample ended for a while, and nothing waited."""
    holes, load, rest = evidence.holes, evidence.load, ""
    hole_s, run_s = sum(gap.length_s for gap in holes), evidence.window.run_s
    if load and load.rate_per_s and evidence.window.length_s == run_s:
        rest_s = load.sample_count / load.rate_per_s - hole_s
        rest = f" Without it the throughput is {load.sample_count / rest_s:.1f} req/s." if rest_s >= 1 else ""
    cause = _hole_cause(evidence)
    # Without a record, nothing was asked of the file: a part of it may be what its reader wants.
    balance = judged(hole_s / run_s, 0.0, GAP_INVALID_RATIO if evidence.run else None)
    if balance is Balance.INVALID:
        times = f"{units.duration_text(hole_s)} of {units.duration_text(run_s)}"
        brief = f"{cause}: no sample ended for {times}, and too few waited for a stall"
        return Sides(
            left, right, hole_s / run_s, balance, brief, f"They are missing from {gaps_text(holes)}. {_REMEDY}"
        )
    brief = f"{cause}: no samples for {named_length(holes)}"
    advice = f"This is no stall: too few samples waited meanwhile ({gaps_text(holes)}).{rest} {_REMEDY}"
    return Sides(left, right, hole_s / run_s, balance, brief, advice)


def _hole_cause(evidence: Evidence) -> str:
    """Return what a gap may be: of the two causes only those that are not excluded."""
    rows = evidence.run.rows if evidence.run else None
    is_counted = rows is not None and not rows.at_least and not evidence.dropped.count
    return "A clock was set, or the load paused" if is_counted else "Rows are missing, or a clock was set"


LINE = LineKind(
    code="offered-read",
    since="1.2.0",
    title="offered = read",
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW, ReportPart.COUNT),
    hides=_FOLLOW,
    formerly=("gap",),
    page=__doc__,
    measure=measure,
)
