"""Both sides of a comparison must be the same work: TOTAL of other work is never IMPROVED, OK or REGRESSED."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from harness.cli.verbs import main
from harness.compare.comparison import CANNOT_TELL, INVALID, OK, REGRESSED
from harness.compare.decision import compare
from harness.compare.render import headline
from harness.compare.sources import result_of_jtls
from harness.jtl.inputs import resolve
from harness.judge.account.line import Balance
from harness.metrics.figures import CodeCount
from harness.metrics.metric import AVERAGE, THROUGHPUT
from harness.plan.thresholds import Thresholds
from tests.support.comparisons import QUIET
from tests.support.results import label_result, run_result

START = 1_700_000_000_000


def side(name, counts, averages_ms, *, total_ms=None, with_record=True, **changes):
    """Return five runs with these samples and averages per label."""
    found = []
    for number, factor in enumerate(QUIET):
        labels = [
            label_result(label, averages_ms[label] * factor / 100, sample_count=count)
            for label, count in counts.items()
        ]
        count = sum(counts.values())
        mean = sum(counts[label] * averages_ms[label] for label in counts) / count if count else 0.0
        total = label_result("TOTAL", (total_ms or mean) * factor / 100, sample_count=count)
        found.append(run_result(f"{name}_{number}", *labels, total=total, **changes))
    return found if with_record else [replace(run, run=None, kind="JTL") for run in found]


TIMES = {"a": 100.0, "b": 100.0, "pay": 130.0, "pay v2": 130.0}


@pytest.mark.parametrize("with_record", [True, False])
@pytest.mark.parametrize("faster", [0.7, 1.0, 1.3])
@pytest.mark.parametrize("count", [0, None])
def test_a_step_that_is_never_sent_is_named_and_never_better_or_ok(with_record, faster, count):
    base = side("A", {"a": 6_667, "b": 6_667, "pay": 6_666}, TIMES, with_record=with_record)
    counts = {"a": 10_000, "b": 10_000} | ({"pay": 0} if count == 0 else {})
    new = side("B", counts, {label: ms * faster for label, ms in TIMES.items()}, with_record=with_record)
    found = compare(base, new, Thresholds())
    assert found.total and found.total.verdict == CANNOT_TELL
    assert {one.verdict for one in found.total.metrics} == {CANNOT_TELL}
    assert found.verdict == (REGRESSED if with_record or faster > 1 else CANNOT_TELL)
    if found.verdict == CANNOT_TELL or with_record:
        assert headline(found) == f"{found.verdict}: pay: 33,330 samples → none."


def test_a_step_that_is_new_or_renamed_says_nothing_about_total_and_is_no_regression():
    base = side("A", {"a": 5_000, "pay": 5_000}, TIMES)
    for counts, text in (
        ({"a": 5_000, "pay": 5_000, "b": 5_000}, "b: none → 25,000 samples"),
        ({"a": 5_000, "pay v2": 5_000}, "pay: 25,000 samples → none, and 1 more label"),
    ):
        found = compare(base, side("B", counts, TIMES), Thresholds())
        assert (found.verdict, headline(found)) == (CANNOT_TELL, f"CANNOT TELL: {text}.")


def test_another_mix_of_the_same_labels_says_nothing_about_total_but_about_its_labels():
    base = side("A", {"a": 5_000, "pay": 5_000}, TIMES)
    found = compare(base, side("B", {"a": 8_000, "pay": 2_000}, TIMES), Thresholds())
    assert headline(found) == "CANNOT TELL: another mix: a is 50 → 80 % of the samples."
    assert [label.verdict for label in found.labels] == [OK, OK]
    slower = compare(base, side("B", {"a": 8_000, "pay": 2_000}, {"a": 100.0, "pay": 200.0}), Thresholds())
    assert (slower.verdict, slower.total and slower.total.verdict) == (REGRESSED, CANNOT_TELL)


@pytest.mark.parametrize("pay", [0.25, 0.29, 0.37, 0.42])
def test_a_mix_that_alone_changes_the_average_of_total_is_no_change_of_the_system(pay):
    times = {"a": 50.0, "b": 100.0, "pay": 300.0}
    sides = [
        side(name, {"a": round(5e3 * (1 - part)), "b": round(5e3 * (1 - part)), "pay": round(1e4 * part)}, times)
        for name, part in (("A", 1 / 3), ("B", pay))
    ]
    found = compare(*sides, Thresholds())
    assert found.work == (f"another mix: pay is 33 → {100 * pay:.0f} % of the samples",)
    assert found.verdict == CANNOT_TELL
    assert {label.verdict for label in found.labels} == {OK}


@pytest.mark.parametrize(
    "changes",
    [
        {"counts": {"a": 5_000}},
        {"counts": {"a": 8_000, "pay": 2_000}},
        {"users": 30.0, "peak_users": 30, "rate": 300.0},
        {"dropped_ratio": 0.1},
        {},
    ],
    ids=lambda changes: next(iter(changes), "none"),
)
def test_the_account_of_both_sides_is_in_doubt_when_the_work_is_another_one(changes):
    counts, rate = changes.pop("counts", {"a": 5_000, "pay": 5_000}), changes.pop("rate", 100.0)
    base = side("A", {"a": 5_000, "pay": 5_000}, TIMES, with_record=False, users=10.0, peak_users=10)
    new = side("B", counts, TIMES, with_record=False, **{"users": 10.0, "peak_users": 10, **changes})
    new = [replace(run, total=replace(run.total, rate_per_s=rate)) for run in new]
    found = compare(base, new, Thresholds())
    assert found.same_work and bool(found.work) is (found.same_work.balance is Balance.DOUBT)
    assert bool(found.work) is (counts != {"a": 5_000, "pay": 5_000} or rate != 100.0 or "dropped_ratio" in changes)


def answering(name, average_ms=100.0, errors=0, **codes):
    """Return five runs of two labels; the codes of `a` are c200=4000, and so on."""
    counts = [CodeCount("b", "200", 5_000, 0), CodeCount("a", "500", errors, errors)]
    counts += [CodeCount("a", code[1:], count, 0) for code, count in codes.items()]
    own = side(name, {"a": 5_000, "b": 5_000}, {"a": average_ms, "b": 100.0})
    return [replace(run, codes=tuple(counts)) for run in own]


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ({"c200": 5_000}, {"c302": 5_000}, "other answers: 302 is 0 → 100 % of a"),
        ({"c302": 5_000}, {"c200": 5_000}, "other answers: 200 is 0 → 100 % of a"),
        ({"c200": 5_000}, {"c200": 4_000, "c404": 1_000}, "other answers: 404 is 0 → 20 % of a"),
        ({"c200": 2_500, "c304": 2_500}, {"c200": 500, "c304": 4_500}, "other answers: 304 is 50 → 90 % of a"),
        ({"c200": 5_000}, {"c201": 3_000, "c204": 2_000}, ""),
        ({"c200": 5_000}, {"c202": 5_000}, "other answers: 202 is 0 → 100 % of a"),
        ({"c202": 5_000}, {"c202": 5_000}, ""),
        ({"c206": 5_000}, {"c200": 5_000}, "other answers: 200 is 0 → 100 % of a"),
        ({"c200": 5_000}, {"c200": 4_900, "c404": 100}, ""),
        ({"c200": 5_000}, {"c200": 4_000, "errors": 1_000}, ""),
        ({"cOK": 5_000}, {"cDone": 5_000}, ""),
        ({}, {"c200": 5_000}, ""),
    ],
)
@pytest.mark.parametrize("average_ms", [50.0, 100.0, 200.0])
def test_other_answers_of_a_label_say_nothing_about_it_nor_about_total(before, after, text, average_ms):
    found = compare(answering("A", **before), answering("B", average_ms, **after), Thresholds())
    assert found.work == ((text,) if text else ())
    assert found.same_work and bool(text) is (found.same_work.balance is Balance.DOUBT)
    a, b = ({one.label: one for one in found.labels}[name] for name in "ab")
    if text:
        assert headline(found) == f"CANNOT TELL: {text}."
        assert found.total and found.total.verdict == CANNOT_TELL
        assert {one.verdict for one in a.metrics} == {CANNOT_TELL}
    else:
        assert (found.verdict == REGRESSED) is (average_ms > 100)
    assert b.verdict == OK


def test_the_rate_of_a_label_says_nothing_when_the_mix_is_another_one():
    base, new = side("A", {"a": 5_000, "pay": 5_000}, TIMES), side("B", {"a": 8_000, "pay": 2_000}, TIMES)
    new = [
        replace(run, labels=tuple(replace(one, rate_per_s=160.0 if one.label == "a" else 40.0) for one in run.labels))
        for run in new
    ]
    found = compare(base, new, Thresholds())
    assert headline(found) == "CANNOT TELL: another mix: a is 50 → 80 % of the samples."
    assert [label.verdict for label in found.labels] == [OK, OK]
    assert {label.of(THROUGHPUT).verdict for label in found.labels} == {CANNOT_TELL}


@pytest.mark.parametrize(
    ("rate", "average_ms", "is_other"),
    # 10 users: a round of 300 ms; a slower system has longer rounds by its own times, a faster one shorter ones.
    [(33.3, 100.0, False), (11.1, 100.0, True), (25.0, 200.0, False), (40.0, 50.0, False), (90.0, 100.0, True),
     (25.0, 100.0, True), (31.0, 100.0, False)],
)  # fmt: skip
def test_constant_users_of_files_who_paused_longer_are_another_load(rate, average_ms, is_other):
    sides = [
        [
            replace(run, total=replace(run.total, rate_per_s=per_s))
            for run in side(name, {"a": 10_000}, {"a": ms}, with_record=False, users=10.0, peak_users=10)
        ]
        for name, ms, per_s in (("A", 100.0, 33.3), ("B", average_ms, rate))
    ]
    found = compare(*sides, Thresholds())
    assert bool(found.work) is is_other
    if is_other:
        assert found.work[0].startswith("another load: users paused for 200 → ")
        assert found.verdict == CANNOT_TELL


@pytest.mark.parametrize("edited", ["plan", "properties", ""])
@pytest.mark.parametrize(
    ("rate", "average_ms", "is_other"),
    # 10 users: a round of 300 ms. Another timer changes rate and pauses in opposite directions; a slower system whose
    # users are paced loses rate and pauses at once, and one that does its best to keep the rate changes neither.
    [(11.1, 100.0, True), (90.0, 100.0, True), (25.0, 400.0, False), (25.0, 200.0, False), (33.3, 250.0, False)],
)
def test_timers_that_were_edited_in_a_plan_are_another_load(edited, rate, average_ms, is_other):
    def runs(name, per_s, ms, is_new):
        changed = {"plan": {"source_hashes": {"plan": f"p{is_new}"}}, "properties": {"properties": {"ms": f"{is_new}"}}}
        return [
            replace(run, total=replace(run.total, rate_per_s=per_s), run=replace(run.run, **changed.get(edited, {})))
            for run in side(name, {"a": 10_000}, {"a": ms}, users=10.0, peak_users=10)
        ]

    found = compare(runs("A", 33.3, 100.0, False), runs("B", rate, average_ms, True), Thresholds())
    assert bool(found.work) is (is_other and bool(edited))
    if found.work:
        assert found.work[0].startswith("another load: users paused for 200 → ")
        assert (found.verdict, found.same_work.balance) == (CANNOT_TELL, Balance.DOUBT)


@pytest.mark.parametrize(("size", "errors", "said"), [
    (60, 0.0, "a 500 → 60 bytes"), (5000, 0.0, "a 500 → 5,000 bytes"), (600, 0.0, ""), (60, 0.3, "")
])  # fmt: skip
def test_answers_of_another_size_are_a_warning(size, errors, said):
    sides = [
        [
            replace(run, labels=tuple(
                replace(one, received_bytes_per_s=100.0 * (each if one.label == "a" else 500), error_ratio=ratio)
                for one in run.labels
            ))
            for run in side(name, {"a": 5_000, "b": 5_000}, TIMES)
        ]
        for name, each, ratio in (("A", 500, 0.0), ("B", size, errors))
    ]  # fmt: skip
    texts = [text for text in compare(*sides, Thresholds()).warnings if text.startswith("Answers have another size")]
    assert len(texts) == bool(said)
    assert not said or said in texts[0]


@pytest.mark.real
def test_rare_labels_and_random_mixes_are_the_same_work():
    rng = Random(2)
    for _ in range(200):
        sides = []
        for name in "AB":
            drawn = rng.choices(["a", "b", "pay", "rare"], [4, 3, 3, 0.02], k=400)
            counts = {label: drawn.count(label) for label in ("a", "b", "pay", "rare") if label in drawn}
            sides.append(side(name, counts, {**TIMES, "rare": 500.0}, total_ms=110.0)[:1])
        found = compare(*sides, Thresholds())
        assert found.work == () and found.same_work and found.same_work.balance is Balance.BALANCED


@pytest.mark.parametrize(
    ("new_users", "new_rate", "is_other"), [(5.0, 50.0, True), (5.0, 100.0, False), (10.4, 100.0, False)]
)
def test_files_of_another_load_are_not_compared(new_users, new_rate, is_other):
    base = side("A", {"a": 10_000}, TIMES, with_record=False, users=10.0, peak_users=14)
    new = side("B", {"a": 10_000}, {"a": 80.0}, with_record=False, users=new_users, peak_users=14)
    new = [replace(run, total=replace(run.total, rate_per_s=new_rate)) for run in new]
    found = compare(base, new, Thresholds())
    assert bool(found.work) is is_other
    if is_other:
        assert headline(found) == "CANNOT TELL: another load: 10 → 5 active users."
        assert {one.verdict for row in (found.total, *found.labels) for one in row.metrics} == {CANNOT_TELL}


def test_constant_users_that_differ_are_another_load_even_at_the_same_throughput():
    base = side("A", {"a": 10_000}, TIMES, with_record=False, users=10.0, peak_users=10)
    new = side("B", {"a": 10_000}, {"a": 200.0}, with_record=False, users=20.0, peak_users=20)
    assert headline(compare(base, new, Thresholds())) == "CANNOT TELL: another load: 10 → 20 active users."


def test_rows_that_only_one_side_leaves_out_say_nothing_about_any_label():
    base = side("A", {"a": 10_000}, TIMES, with_record=False)
    new = side("B", {"a": 9_000}, {"a": 80.0}, with_record=False, dropped_ratio=0.1)
    found = compare(base, new, Thresholds())
    assert headline(found) == "CANNOT TELL: rows that could not be read: 0.0 → 10.0 %."
    assert found.labels[0].verdict == CANNOT_TELL


@pytest.mark.parametrize("order", [1, -1])
def test_a_side_without_a_request_is_invalid(order):
    sides = [side("A", {"a": 10_000}, TIMES), side("B", {"a": 0}, TIMES)][::order]
    found = compare(*sides, Thresholds())
    assert found.verdict == INVALID
    assert headline(found) == "INVALID: B_0 has no request: nothing was measured."


@pytest.mark.real
def test_jtl_files_of_which_one_lacks_a_step_cannot_be_compared(tmp_path):
    for name, labels, seed in (("base.csv", ("a", "b", "pay"), 3), ("new.csv", ("a", "b"), 9)):
        rng = Random(seed)
        rows = ["timeStamp,elapsed,label,responseCode,threadName,success,bytes,allThreads"]
        for number in range(20_000):
            label = labels[number % len(labels)]
            elapsed = int(rng.gauss(130 if label == "pay" else 100, 8))
            rows.append(f"{START + number * 20},{elapsed},{label},200,Users 1-{number % 5 + 1},true,500,5")
        (tmp_path / name).write_text("\n".join(rows))
    base, new = (result_of_jtls(resolve([str(tmp_path / name)]), name) for name in ("base.csv", "new.csv"))
    assert base.dropped_ratio == 0.0
    found = compare([base], [new], Thresholds())
    assert headline(found).startswith("CANNOT TELL: pay: ") and headline(found).endswith(" samples → none.")
    average = found.total and found.total.of(AVERAGE)
    assert average and average.reason.startswith("TOTAL is of other work: pay: ")


def test_a_locust_file_with_zero_requests_is_invalid(tmp_path, capsys):
    head = "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time," \
           "Max Response Time,Average Content Size,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%," \
           "99.99%,100%\n"  # fmt: skip
    (tmp_path / "good_stats.csv").write_text(
        head + "GET,/,1000,0,10,10.5,5,20,100,50.0,0,10,11,12,12,14,15,17,18,20,20,20\n"
        ",Aggregated,1000,0,10,10.5,5,20,100,50.0,0,10,11,12,12,14,15,17,18,20,20,20\n"
    )
    (tmp_path / "none_stats.csv").write_text(head + f",Aggregated,0,0,0,0.0,0,0,0,0.0,0.0{',N/A' * 11}\n")
    names = [str(tmp_path / name) for name in ("good_stats.csv", "none_stats.csv")]
    assert main(["compare", *names, f"--reports={tmp_path}"]) == 3
    assert "INVALID: " in capsys.readouterr().out


@pytest.mark.real
@pytest.mark.parametrize(("new_users", "is_other"), [(5, False), (10, True)])
def test_the_users_of_bare_jtl_files_are_those_of_their_rows(tmp_path, new_users, is_other):
    sides = []
    for name, users, seed in (("base.csv", 5, 1), ("new.csv", new_users, 2)):
        rng = Random(seed)
        rows = ["timeStamp,elapsed,label,responseCode,threadName,success,bytes,allThreads"]
        rows += [
            f"{START + number * 20},{int(rng.gauss(100, 8))},a,200,Users 1-{number % users + 1},true,500,{users}"
            for number in range(10_000)
        ]
        (tmp_path / name).write_text("\n".join(rows))
        sides.append(result_of_jtls(resolve([str(tmp_path / name)]), name))
    assert [(run.users, run.peak_users) for run in sides] == [(5, 5), (new_users, new_users)]
    found = compare(sides[:1], sides[1:], Thresholds())
    assert (found.work == ("another load: 5 → 10 active users",)) is is_other
    assert bool(found.work) is is_other
