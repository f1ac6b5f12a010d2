from tests.support.factories import sample
from tests.support.summaries import warnings_of


def test_labels_that_differ_only_in_blanks_are_shown_to_differ():
    samples = [sample(label) for label in ("GET /a", "GET /a ", "Pay  now", "Pay\tnow", "Other")]
    assert warnings_of(samples)["alike-labels"].startswith(
        "Labels differ only in blanks: “GET␣/a” and “GET␣/a␣”; “Pay␣␣now” and “Pay⇥now”. "
    )


def test_labels_that_differ_in_more_than_blanks_are_no_warning():
    assert "alike-labels" not in warnings_of([sample("GET /a"), sample("GET /b"), sample("GET/a")])
