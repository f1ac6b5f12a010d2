import pytest

from tests.support.factories import sample
from tests.support.summaries import warnings_of


def test_labels_that_differ_only_in_blanks_are_shown_to_differ():
    samples = [sample(label) for label in ("GET /a", "GET /a ", "Pay  now", "Pay\tnow", "Other")]
    assert warnings_of(samples)["alike-labels"].startswith(
        "Labels differ only in blanks: “GET␣/a” and “GET␣/a␣”; “Pay␣␣now” and “Pay⇥now”. "
    )


def test_labels_that_differ_in_more_than_blanks_are_no_warning():
    assert "alike-labels" not in warnings_of([sample("GET /a"), sample("GET /b"), sample("GET/a")])


@pytest.mark.parametrize("form", ["GET /orders/{0}", "Order {0:03d} of 7", "GET /{0:08x}-0abc-4def/x"])
def test_many_labels_that_differ_only_in_an_id_are_named(form):
    labels = [form.format(1000 + number) for number in range(100)]
    said = warnings_of([sample(label) for label in labels for _ in range(3)])["numbered-labels"]
    assert said.startswith(
        f"100 labels differ only in numbers, such as “{labels[0]}” and “{labels[1]}”, with 3 samples"
    )


def test_numbered_labels_that_are_few_or_have_many_samples_or_other_names_are_no_warning():
    few = [sample(f"Page {number}") for number in range(99) for _ in range(3)]
    often = [sample(f"Page {number}") for number in range(100) for _ in range(100)]
    others = [sample("Page " + "x" * number) for number in range(1, 120)]
    assert [name for some in (few, often, others) for name in warnings_of(some) if name == "numbered-labels"] == []
