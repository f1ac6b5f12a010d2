"""SET with several values makes variants."""

import pytest

from harness.base.errors import UsageError
from harness.kinds.overload.record import common_assignments, parse_variants, variant_names


def test_values_with_commas_make_every_combination():
    found = parse_variants("page_count=1 accept_count=10,1000 max_threads=20,50", ())
    assert found == (
        "page_count=1 accept_count=10 max_threads=20",
        "page_count=1 accept_count=10 max_threads=50",
        "page_count=1 accept_count=1000 max_threads=20",
        "page_count=1 accept_count=1000 max_threads=50",
    )
    assert common_assignments(found) == ("page_count=1",)


def test_variants_are_named_after_what_differs():
    found = parse_variants("page_count=1 accept_count=10,1000", ())
    assert list(variant_names(found).values()) == ["accept_count=10", "accept_count=1000"]
    assert variant_names(("page_count=1",)) == {"page_count=1": "page_count=1"}
    assert variant_names(("",)) == {"": "the plan's settings"}


def test_without_set_there_is_one_variant():
    assert parse_variants("", ()) == ("",)
    assert common_assignments(("",)) == ()


def test_a_setting_that_is_a_list_has_one_value():
    text = "killbill.dropped_indexes=a.b,c.d accept_count=10,1000"
    found = parse_variants(text, {"dropped_indexes"})
    assert found == (
        "killbill.dropped_indexes=a.b,c.d accept_count=10",
        "killbill.dropped_indexes=a.b,c.d accept_count=1000",
    )
    assert common_assignments(found) == ("killbill.dropped_indexes=a.b,c.d",)


def test_a_value_with_blanks_stays_quoted():
    assert parse_variants("'note=two words' accept_count=1,2", ())[0] == "'note=two words' accept_count=1"


@pytest.mark.parametrize("text", ["accept_count=10,", "accept_count=,10", "accept_count=10,10"])
def test_an_empty_or_repeated_value_is_refused(text):
    with pytest.raises(UsageError, match="empty or a repeated value"):
        parse_variants(text, ())


def test_too_many_variants_are_refused():
    with pytest.raises(UsageError, match="--set has 16 variants"):
        parse_variants("a=1,2,3,4 b=1,2,3,4", ())
