"""The estimate of the heap that a load needs, and the refusal of one that does not fit."""

import pytest

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.adopt.curl import OneRequest
from harness.plan.adopt.one_request import write_requests
from harness.plan.load.memory import Heap, check_memory, heap_of, user_kb, users_most
from harness.plan.load.model import ClosedLoad, OpenLoad
from harness.plan.spec import parse_target
from tests.support.paths import ROOT

_LARGE = 64 * 1024 * units.BYTES_PER_MB


def load(users: int) -> ClosedLoad:
    return ClosedLoad(users=users, ramp_s=0.0, duration_s=60.0, loops=None)


def test_users_who_do_not_fit_are_refused_with_the_heap_that_they_need():
    most = users_most(1024, 100.0)
    check_memory(load(most), 100.0, 1024)
    with pytest.raises(UsageError) as error:
        check_memory(load(20_000), 100.0, 1024)
    text = str(error.value)
    assert "20,000 users of this plan need a heap of about" in text
    assert "MB live, 100 KB each); the load generator has 1024 MB" in text
    heap_mb = int(error.value.todo.split("heap_mb = ")[1].split()[0])
    check_memory(load(20_000), 100.0, heap_mb)  # the heap that it proposes is enough
    check_memory(OpenLoad(100_000.0, 0.0, 60.0), 100.0, 1024)  # its users are bounded while it runs


def test_the_heap_begins_with_what_the_users_need_and_its_limit_has_room_for_bodies():
    # 64 MB and 50 KB per user, 6 less at the start, are 70 % of the old objects; new ones have 80 MB, or 74 with more
    # than 200 users, and 38 KB per user after 1,000.
    assert heap_of(load(1), 50.0, None, _LARGE) == Heap(first_mb=92 + 80, limit_mb=1024, young_mb=80)
    assert heap_of(load(1000), 51.2, None, _LARGE) == Heap(155 + 54, limit_mb=1024, young_mb=54, survivor_ratio=6)
    assert heap_of(load(20_000), 51.2, None, _LARGE) == Heap(1353 + 778, limit_mb=2304, young_mb=778, survivor_ratio=5)
    assert heap_of(OpenLoad(100.0, 0.0, 60.0), 50.0, None, _LARGE) == Heap(first_mb=92 + 80, limit_mb=1024, young_mb=80)


def test_without_heap_mb_the_heap_is_within_a_small_machine_or_container():
    small = 512 * units.BYTES_PER_MB
    assert heap_of(load(1), 50.0, None, small) == Heap(first_mb=92 + 80, limit_mb=384, young_mb=80)
    assert heap_of(load(5000), 50.0, None, small) == Heap(384, limit_mb=384, young_mb=128, survivor_ratio=5)
    assert heap_of(load(1), 50.0, 600, small) == Heap(600, 600, None)
    most = users_most(384, 50.0)
    check_memory(load(most), 50.0, heap_of(load(most), 50.0, None, small).limit_mb)
    with pytest.raises(UsageError, match="the load generator has 384 MB"):
        check_memory(load(most + 100), 50.0, heap_of(load(most + 100), 50.0, None, small).limit_mb)


@pytest.mark.parametrize(("users", "ratio"), [(200, None), (201, 8), (1000, 6), (2000, 5), (5000, 5), (20_000, 5)])
def test_what_is_in_use_when_new_objects_are_collected_has_room_for_each_user(users, ratio):
    heap = heap_of(load(users), 50.0, None, _LARGE)
    assert heap.survivor_ratio == ratio
    if ratio:
        assert heap.young_mb * 1024 / ratio / users > 7.8
        assert heap.young_mb * (1 - 2 / ratio) >= 36


@pytest.mark.parametrize("users", [1, 1000, 10_800, 50_000])
def test_the_users_of_a_load_fit_into_the_heap_that_follows_from_it(users):
    check_memory(load(users), 62.0, heap_of(load(users), 62.0, None, _LARGE).limit_mb)


def test_a_heap_that_is_given_is_used_as_it_is():
    assert heap_of(load(20_000), 51.2, 300, _LARGE) == Heap(300, 300, None)


def test_a_larger_plan_and_tls_need_more_for_each_user():
    small, large = ROOT / "plans" / "lb.jmx", ROOT / "plans" / "killbill.jmx"
    plain, tls = parse_target("http://shop:80"), parse_target("https://shop:443")
    assert user_kb(small, plain) == user_kb(small, None) < user_kb(small, tls)
    assert user_kb(small, plain) < user_kb(large, plain)


@pytest.mark.parametrize("plan", ["lb.jmx", "killbill.jmx", "folio-workflow.jmx", "thruzero.jmx"])
def test_a_thousand_users_of_a_shipped_plan_fit_into_the_default_heap(plan):
    check_memory(load(1000), user_kb(ROOT / "plans" / plan, None), 1024)


# Live heap per user, KB: docs/benchmarks.md.
@pytest.mark.parametrize(
    ("plan", "measured_kb"),
    [("lb.jmx", 58), ("thruzero.jmx", 133), ("folio-workflow.jmx", 116), ("killbill.jmx", 142)],
)
def test_the_estimate_is_near_what_was_measured(plan, measured_kb):
    assert 0.8 < user_kb(ROOT / "plans" / plan, None) / measured_kb < 1.2


def test_the_estimate_of_a_plan_with_one_request_is_near_what_was_measured(tmp_path):
    """29 KB with responses of up to 2 KB; the estimate is for those of more, whose connection has 6 KB more."""
    write_requests([OneRequest("http://shop/")], tmp_path, "one", "one")
    for target, measured_kb in (("http://shop:80", 29 + 6), ("https://shop:443", 59)):
        assert 0.8 < user_kb(tmp_path / "one.jmx", parse_target(target)) / measured_kb < 1.2


@pytest.mark.counterpart
def test_fifty_users_of_a_plan_of_400_requests_fit_into_half_a_gigabyte(tmp_path):
    write_requests([OneRequest(f"http://shop/{number}") for number in range(400)], tmp_path, "many", "many")
    each_kb = user_kb(tmp_path / "many.jmx", None)
    assert 400 < each_kb < 4000
    check_memory(load(50), each_kb, heap_of(load(50), each_kb, None, 512 * units.BYTES_PER_MB).limit_mb)


def kb_of(folder, *groups: str, variable: str = "") -> float:
    """Return what a user of a plan with these thread groups needs; each text is all that a group's tree has."""
    trees = "".join(f"<ThreadGroup>{_RAMP}</ThreadGroup><hashTree>{tree}</hashTree>" for tree in groups)
    plan = f"<TestPlan><stringProp name='a'>{variable}</stringProp></TestPlan><hashTree>{trees}{_SETUP}</hashTree>"
    (folder / "plan.jmx").write_text(f"<jmeterTestPlan><hashTree>{plan}</hashTree></jmeterTestPlan>")
    return user_kb(folder / "plan.jmx", None)


_JEXL = (
    "<ConstantTimer><stringProp name='ConstantTimer.delay'>${__jexl3(1 + 1)}</stringProp></ConstantTimer><hashTree/>"
)
_PLAIN = _JEXL.replace("${__jexl3(1 + 1)}", "2")
_RAMP = "<stringProp name='ThreadGroup.ramp_time'>${__jexl3(1 + 1)}</stringProp>"
_SETUP = f"<SetupThreadGroup/><hashTree>{_JEXL * 9}</hashTree>"
_FILE = "<CSVDataSet><stringProp name='shareMode'>shareMode.{}</stringProp></CSVDataSet><hashTree/>"


def test_what_only_other_threads_evaluate_or_read_is_not_counted(tmp_path):
    plain_kb = kb_of(tmp_path, _PLAIN)
    assert kb_of(tmp_path, _PLAIN, variable="${__jexl3(1 + 1)}") == plain_kb  # once, before threads start
    assert kb_of(tmp_path, _PLAIN, _PLAIN) == plain_kb  # a user is in one group
    assert kb_of(tmp_path, _PLAIN, _JEXL) == kb_of(tmp_path, _JEXL) == pytest.approx(plain_kb + 42)
    assert kb_of(tmp_path, _JEXL * 2) < plain_kb + 43  # one parser
    own_kb, shared_kb = (kb_of(tmp_path, _PLAIN + _FILE.format(mode)) for mode in ("thread", "all"))
    assert own_kb - shared_kb == pytest.approx(25)
    assert shared_kb < plain_kb + 1
